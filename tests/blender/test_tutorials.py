"""The steps of the tutorials, done by real Blender: they do what the pages say."""

from pathlib import Path

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.docs.materials import EXAMPLES, example_game
from tests.support.blender import blender
from tests.support.runs import call

TURRET, LAND = "turrets.rlb/e_tur_01.glb", "DATA/MAPS/Tut_1/Land.glb"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example game as glTF, with the tutorials' steps done in Blender."""
    from msh_gltf.converter import cli

    folder = tmp_path_factory.mktemp("tutorials") / "out"
    assert call(cli.msh2gltf, example_game(), "-o", folder, "-q") == 0
    (folder / "habits").mkdir()
    blender(EXAMPLES / "blender/habits.py", folder / "turrets.rlb/e_tur_02.glb", folder / "habits")
    blender(EXAMPLES / "blender/second_gun.py", folder / TURRET)
    blender(EXAMPLES / "blender/hill.py", folder / LAND)
    blender(EXAMPLES / "blender/bunker.py", folder / "my_bunker.glb")
    return folder


def kept(out: Path, edit: str, place: str) -> ImportResult:
    """What becomes of the file that the repository keeps of an edit."""
    sidecar = (out / place).with_suffix(".msh-sidecar")
    return import_gltf(EXAMPLES / "edits" / edit, sidecar, ImportOptions())


def test_turret(out: Path) -> None:
    """Blender does today what the kept file says."""
    back = import_gltf(out / TURRET, None)
    assert [(change.where, change.what) for change in back.changes] == [
        ("part 'gun' stage 0 level 0", "24 triangles became 48"),
        ("part 'gun' stage 0 level 1", "12 triangles became 24"),
    ]
    assert back.data == kept(out, "e_tur_01.glb", TURRET).data


def test_landscape(out: Path) -> None:
    back = import_gltf(out / LAND, None)
    assert back.warnings == []
    assert back.data == kept(out, "Land.glb", LAND).data


def test_building(out: Path) -> None:
    paths = (out / "my_bunker.glb", EXAMPLES / "edits/my_bunker.glb")
    now, then = (import_gltf(path, None, ImportOptions("retail")) for path in paths)
    assert now.wear == then.wear == ["BRICK", "armour", "joint"]
    assert len(now.data) == len(then.data)


@pytest.mark.parametrize("habit", ["untouched", "cube", "reopened", "moved", "renamed"])
def test_habits(out: Path, habit: str) -> None:
    sidecar = out / "turrets.rlb/e_tur_02.msh-sidecar"
    now = import_gltf(out / f"habits/{habit}.glb", sidecar)
    then = import_gltf(EXAMPLES / f"edits/habits/{habit}.glb", sidecar)
    assert now.data == then.data
    assert now.changes == then.changes
