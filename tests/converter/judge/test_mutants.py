"""The judge finds what a comparator misses: each mutant ignores its kind of edit, in a real import."""

import shutil
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.judge.difference import JUDGED
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.judge import mutants
from tests.converter.kinds.test_every_difference import MODELS, edited, exported
from tests.support.random_edits import NotHere


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


ALL = [*mutants.MODELS, *mutants.UNSEEN]


@pytest.mark.parametrize(("target", "instead", "kinds"), ALL, ids=[f"{m[0].rpartition('.')[2]} {m[2][0]}" for m in ALL])
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


def test_motion_between_frames_is_named_once(tmp_path: Path) -> None:
    """A clip whose keys hold until the next is where the game is on whole frames alone."""
    for place in places("step interpolation", 4):
        back = imported(*_one(place, "step interpolation"), tmp_path)
        assert len(back.not_applied) == 1
        assert "away between frames (node" in back.not_applied[0].what
        assert back.data == place[0].read_bytes()
