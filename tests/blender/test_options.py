"""What real Blender writes with damaging options is recognised, and the option named."""

from pathlib import Path

import pytest

from msh_gltf import ConversionError, import_gltf
from tests.support.blender import blender
from tests.support.corpus import LIBS, sample_called
from tests.support.runs import require, to_gltf

WALKER = sample_called("retail__system__R_H_002")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("options")
    source = to_gltf(WALKER, out / "m.glb", "--textures", LIBS)
    blender("options.py", source, out)
    return out


@pytest.mark.parametrize(
    ("name", "where"),
    [("no_materials", "materials"), ("placeholder", "materials"), ("no_images", "pictures"), ("jpeg", "pictures")],
)
def test_what_is_left_out_is_one_line(folder: Path, name: str, where: str) -> None:
    back = import_gltf(folder / f"{name}.glb", sidecar=folder / "m.msh-sidecar")
    assert [fact.where for fact in back.not_applied] == [where]
    assert back.data == WALKER.source


@pytest.mark.parametrize(("name", "option"), [("z_up", r"\+Y Up"), ("draco", "Compression")])
def test_what_moves_every_vertex_is_refused(folder: Path, name: str, option: str) -> None:
    path = folder / f"{name}.glb"
    if name == "draco":
        require(b"KHR_draco" in path.read_bytes(), "this bpy came without its Draco library")
    with pytest.raises(ConversionError, match=option):
        import_gltf(path, sidecar=folder / "m.msh-sidecar")


def test_an_edited_material_is_reported(folder: Path) -> None:
    back = import_gltf(folder / "edited.glb", sidecar=folder / "m.msh-sidecar")
    assert back.data == WALKER.source
    assert back.not_applied
    assert {fact.what for fact in back.not_applied} == {"roughness 0.9 became 0.25"}
