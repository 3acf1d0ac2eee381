"""The judge finds what a comparator misses.

What it sees between a file with each edit and what is stored, which is what an importer makes of it that ignores the
edit, stands in ``reports.txt``, and of models in ``converter/kinds/reports.txt``; ``test_agreement`` has importers that
do. ``python -m tests.converter.judge.test_mutants`` writes it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import trimesh

from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.edits.materials import NewMaterial
from msh_gltf.converter.formats.gltf import surface_of
from msh_gltf.converter.formats.material import NewPicture
from msh_gltf.converter.judge.difference import JUDGED, LIGHTMAPS_LOST
from msh_gltf.converter.judge.shown import WrittenLooks, named
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.rebuild import lods
from msh_gltf.converter.rebuild.lods import Simplifier
from tests.converter.edits.obj import SHAPES, Edited, Row
from tests.converter.judge.agreement import UNCHANGED, ignored, nothing
from tests.converter.judge.worlds import WORLDS
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.recorded import Recorded, judged_as_stored, summary
from tests.support.runs import call, to_gltf

#: What comes of each edit.
REPORTS = Recorded(__file__, "reports.txt")
#: Edits that change nothing of the game, or not at each place.
HARMLESS = ("write as pieces", "reorder", "scale inner", "type property")
HARMLESS += ("drop scenes", "drop animations", "drop material")
#: Every edit of every world, and none.
NAMED = [(name, kind) for name in WORLDS for kind in ["", *WORLDS[name].edits]]
#: Edits of an OBJ's faces, which :data:`UNCHANGED` ignores.
FACES = ("a vertex moved", "a face deleted", "another material", "texture coordinates and normals", "everything scaled")


def judged(back: ImportResult) -> list[str]:
    return [str(one) for one in back.not_applied if one.why == JUDGED]


def of_world(name: str, kind: str, folder: Path) -> ImportResult:
    world = WORLDS[name](folder)
    if kind:
        world.edits[kind](world, np.random.default_rng(0))
    return world.back()


@pytest.mark.plants_faults  # an object may name a clan that is not there
@pytest.mark.parametrize(("name", "kind"), NAMED)
def test_no_edit_is_named_as_it_is(name: str, kind: str, tmp_path: Path) -> None:
    """Nor is a file without an edit."""
    with judged_as_stored() as unlike:
        back = of_world(name, kind, tmp_path / "world")
    assert not judged(back)
    assert kind in HARMLESS or bool(kind) != back.unchanged
    REPORTS.require(f"{name}, {kind}", summary(back, unlike))


def test_lightmaps_that_a_dialect_lacks_are_one_line(tmp_path: Path) -> None:
    """Of a file of the game that says so no more, and is made in the other dialect."""
    document = Editable(to_gltf(sample_called("retail__system__R_H_002"), tmp_path / "m.glb"))
    for scene in document.json["scenes"]:
        scene.pop("extras", None)
    back = import_gltf(document.save(tmp_path / "m.glb"), None, ImportOptions(use_sidecar=False))
    assert back.dialect == "spec"
    assert [one.where for one in back.not_applied] == ["second set of texture coordinates", LIGHTMAPS_LOST.where]


def test_internal_parts_that_a_file_shows_are_not_named(tmp_path: Path) -> None:
    parts = GameParts()
    parts.units[ROBOT][2] = ("e_gun_1", 3, 0, 0)
    unit = parts.write(tmp_path / "GAME").parents[2] / ROBOT.replace("\\", "/")
    target = tmp_path / "all.glb"
    assert call(msh2gltf, unit, "-o", target, "--parts", "all", "--quiet") == 0
    assert import_gltf(target).unchanged


def test_of_materials_of_one_name_only_what_they_show_alike_counts() -> None:
    """As pairs of grounds with other microtextures are."""
    plain = surface_of({}, [], nothing)
    shown = [plain._replace(colour=(red, 0.0, 0.0, 1.0)) for red in (0.0, 1.0)]
    (look,) = WrittenLooks(named(["A+B", "A+B"]), shown).of(named(["a+b"]))
    assert (look.colour, look.light) == (None, (0, 0, 0))
    (look,) = WrittenLooks(named(["A", "A+B"]), shown).of(named(["a+b"]))
    assert look.colour == (255, 0, 0)


def test_a_new_light_goes_through_the_picture() -> None:
    """Of a material that had none, no comparator sees that the file shows it in one colour."""
    new = NewMaterial("A", "", values={"light": b"\t\t\t"}, picture=NewPicture("P", "1", b""), certain=True)
    (look,) = WrittenLooks(new=[new]).of(named(["A"]))
    one_colour = "shines in one colour in the file, and through its picture in the game"
    assert replace(look, lit="").other_than(look) == [one_colour]


# ------------------------------------------------------------------ generated levels

LODS = "msh_gltf.converter.rebuild.lods"
_vertices, _possible = lods._vertices, Simplifier._possible


def other_vertices(*arguments: Any) -> Any:
    """The vertices of a level, one of them another."""
    out = _vertices(*arguments)
    out[0, 0] = out[-1, 2]
    return out


def far_away(simplifier: Simplifier, goes: int, target: int) -> Any:
    """A collapse that is possible however far it is."""
    simplifier._limit = float("inf")
    return _possible(simplifier, goes, target)


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with levels to make: one that was made of a glTF file, and exported."""
    folder = tmp_path_factory.mktemp("smooth")
    mesh = trimesh.creation.icosphere(3)
    mesh.vertices *= 1 + 0.2 * np.sin(5 * mesh.vertices[:, :1])
    (folder / "ball.glb").write_bytes(trimesh.Scene(mesh).export(file_type="glb"))
    back = import_gltf(folder / "ball.glb", None, ImportOptions(dialect="retail"))
    (folder / "ball.msh").write_bytes(back.data)
    assert call(msh2gltf, folder / "ball.msh", "-o", folder / "out" / "ball.glb", "--dialect", "retail", "--quiet") == 0
    return folder


@pytest.mark.parametrize("kept", [True, False], ids=["sidecar", "alone"])
@pytest.mark.parametrize(
    ("mutant", "words"),
    [
        ({}, ""),
        ({f"{LODS}.surface_distance": lambda *_: 0.001, f"{LODS}.Simplifier._possible": far_away}, "from its part"),
        ({f"{LODS}._vertices": other_vertices}, "its part"),
    ],
    ids=["none", "farther than stated", "other vertices"],
)
def test_a_level_that_is_not_as_stated_is_named(
    smooth: Path, kept: bool, mutant: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for target, instead in mutant.items():
        monkeypatch.setattr(target, instead)
    options = ImportOptions(lod_ratios=(0.5, 0.05), dialect="retail")
    source = smooth / "out" / "ball.glb" if kept else smooth / "ball.glb"
    back = import_gltf(source, smooth / "out" / "ball.msh-sidecar" if kept else None, options)
    assert len(back.levels) == 2
    lines = judged(back)
    assert bool(lines) == bool(words)
    assert all(line.startswith("generated level 'geometry_0.level") and words in line for line in lines), lines


# ------------------------------------------------------------------ OBJ


@pytest.mark.parametrize("edit", [None, *FACES])
@pytest.mark.parametrize("frame", [0.0, 4.5])
def test_an_ignored_edit_of_an_obj_is_named(edit: str | None, frame: float, tmp_path: Path) -> None:
    """Of a model that a clip moves, too: an OBJ shows one frame of it."""
    given = Edited(tmp_path, Row(nothing, frame=frame))
    if edit is not None:
        SHAPES[edit](given)
        assert judged(given.back()) == []
    with ignored(UNCHANGED, True) if edit else nullcontext():
        assert bool(judged(given.back())) == (edit is not None)
    given.use_sidecar = False
    assert judged(given.back()) == []  # materials are called by their names, not as the OBJ tells them apart


def reports(folder: Path) -> Iterator[tuple[str, str]]:
    for name, kind in NAMED:
        with judged_as_stored() as unlike:
            back = of_world(name, kind, folder / f"{name} {kind}")
        yield f"{name}, {kind}", summary(back, unlike)


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        REPORTS.write(reports(Path(place)))
