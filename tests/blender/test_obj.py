"""Materials of an OBJ through real Blender: untouched, and with an artist's edits."""

from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.obj import import_obj
from tests.support.blender import blender
from tests.support.runs import call

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
#: Edit -> what is said of it.
EDITS = {
    "nothing": "",
    "alpha": "material 'armour': alpha 100% became 50%",
    "other_picture": "material 'armour': picture armour.0 became floor.0",
    "no_picture": "material 'armour': picture is gone",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, game = tmp_path_factory.mktemp("obj"), EXAMPLES / "textures"
    source = EXAMPLES / "hangar.msh"
    assert call(cli.msh2gltf, source, "-o", folder / "hangar.obj", "--game", game, "-q") == 0
    blender("edit_obj.py", folder / "hangar.obj", folder, *EDITS)
    return folder


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_named(folder: Path, edit: str) -> None:
    out = import_obj(folder / f"{edit}.obj", folder / "hangar.msh-sidecar")
    assert out.data == (EXAMPLES / "hangar.msh").read_bytes()
    said = [*map(str, out.changes), *(f"{one.where}: {one.what}" for one in out.not_applied)]
    assert [one.startswith(EDITS[edit]) for one in said] == [True] * (edit != "nothing")
