"""The steps of the tutorials, done by real Blender: they do what the pages say."""

import shutil
from pathlib import Path

import pytest

from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.differences import diff_models
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
    """Two parts of one model change; Blender does today what the kept file says."""
    back = import_gltf(out / TURRET, None)
    assert [(change.where, change.what) for change in back.changes] == [
        ("part 'gun' stage 0 level 0", "24 triangles became 48"),
        ("part 'gun' stage 0 level 1", "12 triangles became 24"),
    ]
    assert back.data == kept(out, "e_tur_01.glb", TURRET).data
    archive = read_nres((example_game() / "turrets.rlb").read_bytes(), "x")
    old = read_model(read_nres(archive.entries[archive.find("e_tur_01.msh")].payload, "x"), "x")
    new = read_model(read_nres(back.data, "x"), "x")
    changed = {item["table"].partition(" ")[0] for item in diff_models(old, new)}
    geometry = {"Res2", "Res3", "Res4", "Res5", "Res15", "Res13", "Res6", "Res7"}
    assert changed <= geometry | {"Res2 (slots), header"}
    assert (old.nodes == new.nodes).all()
    assert (old.keys == new.keys).all()


def test_landscape(out: Path) -> None:
    back = import_gltf(out / LAND, None)
    assert back.warnings == []
    assert back.data == kept(out, "Land.glb", LAND).data


def test_building(out: Path) -> None:
    for path in (out / "my_bunker.glb", EXAMPLES / "edits/my_bunker.glb"):
        back = import_gltf(path, None, ImportOptions("retail"))
        assert back.wear == ["BRICK", "armour", "joint"]
        shutil.copy(path, out / f"{len(back.data)}.glb")
    assert len(list(out.glob("*.glb"))) == 2, "both gave a model of one size"


@pytest.mark.parametrize("habit", ["untouched", "cube", "reopened", "moved", "renamed"])
def test_habits(out: Path, habit: str) -> None:
    sidecar = out / "turrets.rlb/e_tur_02.msh-sidecar"
    now = import_gltf(out / f"habits/{habit}.glb", sidecar)
    then = import_gltf(EXAMPLES / f"edits/habits/{habit}.glb", sidecar)
    assert now.data == then.data
    assert now.changes == then.changes
