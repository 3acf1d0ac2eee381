"""The judge finds what a comparator misses: each mutant ignores its kind of edit, in a real import."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.edits.poses import PoseChanges
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.judge.explain import JUDGED
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.kinds.test_every_difference import MODELS, edited, exported
from tests.support.random_edits import NotHere

EDITS = "msh_gltf.converter.edits"
UNCHANGED = f"{EDITS}.plan.PartPlan.unchanged"


def nothing(*_: object, **__: object) -> None:
    return None


def _alike(a: Any, *_: object) -> Any:
    return np.zeros(a.shape[:-1], np.bool_)


#: What is replaced by what, and the edits that then are ignored.
MUTANTS: list[tuple[str, object, tuple[str, ...]]] = [
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move node", "turn node")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move key", "turn key")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("offset animation",)),
    (UNCHANGED, property(lambda _: True), ("move vertices", "delete triangles", "add triangles", "flip triangles")),
    (UNCHANGED, property(lambda _: True), ("change uv", "change lightmap uv", "change colours")),
    (UNCHANGED, property(lambda _: True), ("assign material",)),
    (f"{EDITS}.triangles.normals_apart", _alike, ("change normals",)),
    (f"{EDITS}.triangles.colours_apart", _alike, ("change colours",)),
    (f"{EDITS}.triangles.Match.compare_materials", nothing, ("assign material",)),
    (f"{EDITS}.model._name_changes", nothing, ("rename node",)),
    (f"{EDITS}.model._label_changes", nothing, ("change label",)),
    (f"{EDITS}.model._node_changes", nothing, ("change flags",)),
    (f"{EDITS}.model.compare_parts", nothing, ("delete part", "move vertices", "move part to another cell")),
    (f"{EDITS}.plan._missing_parts", nothing, ("delete part", "delete shown part")),
    ("msh_gltf.converter.kinds.import_model.place_parts", nothing, ("move part object", "scale part object")),
    (f"{EDITS}.nodes.rigid_part", lambda name, world, above: _rigid(world), ("mirror node", "scale node")),
]


def _rigid(world: Any) -> Any:
    """A transform as if nothing in it was scaled."""
    return np.array([1.0, 0, 0, 0]), world[:3, 3].astype(np.float32), None, (np.array([1.0, 0, 0, 0]), world[:3, 3])


def places(kind: str, count: int) -> list[tuple[Path, int]]:
    """Models and seeds that have a place for an edit."""
    found = []
    for seed in range(5):
        for model in MODELS:
            try:
                edited(model, [kind], seed, "sidecar")
            except NotHere:
                continue
            found.append((model, seed))
            if len(found) == count:
                return found
    return found


def imported(model: Path, kinds: list[str], seed: int, folder: Path) -> ImportResult:
    document, _ = edited(model, kinds, seed, "sidecar")
    given = document.save(folder / "first.glb")
    shutil.copy(exported(model)[0].with_suffix(".msh-sidecar"), folder)
    return import_gltf(given, None, ImportOptions(libraries=False))


def judged(back: ImportResult) -> list[str]:
    """The lines that the judge adds."""
    return [one.where for one in back.not_applied if one.why == JUDGED]


@pytest.mark.parametrize(
    ("target", "instead", "kinds"), MUTANTS, ids=[f"{m[0].rpartition('.')[2]} {m[2][0]}" for m in MUTANTS]
)
def test_an_ignored_edit_is_named(
    target: str, instead: object, kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in kinds:
        found = places(kind, 4)
        assert found, kind
        monkeypatch.undo()
        assert judged(imported(*_one(found[0], kind), tmp_path)) == []
        monkeypatch.setattr(target, instead)
        assert any(_is_named(place, kind, tmp_path) for place in found), kind


def _one(place: tuple[Path, int], kind: str) -> tuple[Path, list[str], int]:
    return place[0], [kind], place[1]


def _is_named(place: tuple[Path, int], kind: str, folder: Path) -> bool:
    try:
        return bool(judged(imported(*_one(place, kind), folder)))
    except ConversionError:
        return False
