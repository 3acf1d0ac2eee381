"""The tutorials' scripts, run by real Blender: they make what the repository keeps, which the pages convert."""

from pathlib import Path

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.docs.materials import EXAMPLES, example_game
from tests.support.blender import blender
from tests.support.recorded import summary
from tests.support.runs import run

#: What is made -> the sidecar of what it was made from, if anything; the file that is kept has the same name.
MADE = {
    "e_tur_01": "turrets.rlb/e_tur_01",
    "Land": "DATA/MAPS/Tut_1/Land",
    **{f"habits/{name}": "turrets.rlb/e_tur_02" for name in ("untouched", "cube", "reopened", "moved", "renamed")},
    "my_robot": None,
    "my_bunker": None,
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example game as glTF, with the tutorials' steps done in Blender."""
    folder = tmp_path_factory.mktemp("tutorials") / "out"
    assert run("msh2gltf", example_game(), "-o", folder, "-q").returncode == 0
    (folder / "habits").mkdir()
    blender(EXAMPLES / "blender/habits.py", folder / "turrets.rlb/e_tur_02.glb", folder / "habits")
    scripts = {"second_gun": MADE["e_tur_01"], "hill": MADE["Land"], "bunker": "my_bunker", "robot": "my_robot"}
    for script, place in scripts.items():
        blender(EXAMPLES / f"blender/{script}.py", folder / f"{place}.glb")
    return folder


@pytest.mark.parametrize("name", MADE)
def test_blender_makes_what_is_kept(out: Path, name: str) -> None:
    """All that comes of the two files is the same: tables, materials, pictures, control points, the report."""
    source = MADE[name]
    sidecar = None if source is None else out / f"{source}.msh-sidecar"
    made = out / f"{name if source is None or '/' in name else source}.glb"
    options = ImportOptions("auto" if source else "retail")
    now, then = (import_gltf(path, sidecar, options) for path in (made, EXAMPLES / f"edits/{name}.glb"))
    assert now.data == then.data
    assert summary(now) == summary(then)
    assert str(now.new_materials) == str(then.new_materials)
