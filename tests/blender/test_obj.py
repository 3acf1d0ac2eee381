"""Materials of an OBJ through real Blender: untouched, and with an artist's edits."""

from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.kinds.obj import import_obj
from tests.support.blender import blender
from tests.support.runs import call

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
EDITS = ("nothing", "alpha", "other_picture", "no_picture")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, game = tmp_path_factory.mktemp("obj"), EXAMPLES / "textures"
    source = EXAMPLES / "hangar.msh"
    assert call(cli.msh2gltf, source, "-o", folder / "hangar.obj", "--game", game, "-q") == 0
    blender("edit_obj.py", folder / "hangar.obj", folder, *EDITS)
    return folder


def back(folder: Path, name: str) -> ImportResult:
    out = import_obj(folder / f"{name}.obj", folder / "hangar.msh-sidecar")
    assert out.data == (EXAMPLES / "hangar.msh").read_bytes()
    return out


def test_untouched(folder: Path) -> None:
    assert back(folder, "nothing").unchanged


def test_alpha(folder: Path) -> None:
    (change,) = back(folder, "alpha").changes
    assert str(change).startswith("material 'armour': alpha 100% became 50%")


def test_another_picture(folder: Path) -> None:
    (change,) = back(folder, "other_picture").changes
    assert str(change) == "material 'armour': picture armour.0 became floor.0"


def test_a_picture_that_is_taken_away(folder: Path) -> None:
    out = back(folder, "no_picture")
    assert [f"{one.where}: {one.what}" for one in out.not_applied] == ["material 'armour': picture is gone"]
