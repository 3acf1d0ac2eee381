"""What an .mtl shows otherwise goes into the game's libraries, or is reported."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.formats.material import MATERIALS, TEXTURES
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.kinds.obj import import_obj
from tests.support.runs import call

EXAMPLES = Path(__file__).parents[3] / "examples"
SOURCE = (EXAMPLES / "hangar.msh").read_bytes()


class Edit:
    """The hangar as an OBJ, with the example's libraries; its materials as text."""

    def __init__(self, folder: Path, *options: object) -> None:
        self.path, self.mtl = folder / "hangar.obj", folder / "hangar.mtl"
        for ending in ("msh", "wea"):
            shutil.copy(EXAMPLES / f"hangar.{ending}", folder)
        source = folder / "hangar.msh"
        options = options or ("--game", EXAMPLES / "textures")
        assert call(cli.msh2gltf, source, "-o", self.path, *options, "-q") == 0

    def replace(self, name: str, before: str, after: str) -> None:
        """Change a line of one material."""
        head, mark, rest = self.mtl.read_text("utf-8").partition(f"newmtl {name}\n")
        assert before in rest.partition("newmtl")[0]
        self.mtl.write_text(head + mark + rest.replace(before, after, 1), "utf-8")

    def picture(self, name: str) -> Path:
        return self.path.with_name(f"hangar.{name}.png")

    def back(self) -> ImportResult:
        out = import_obj(self.path)
        assert out.data == SOURCE
        return out


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    return Edit(tmp_path)


def said(back: ImportResult) -> list[str]:
    return [str(one) for one in back.changes]


def refused(back: ImportResult) -> list[str]:
    return [f"{one.where}: {one.what}" for one in back.not_applied]


def test_untouched(edit: Edit) -> None:
    back = edit.back()
    assert (back.unchanged, back.library, back.new_materials) == (True, [], [])


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("Kd 1 1 1", "Kd 1 0 0", "colour 1 1 1 became 1 0 0"),
        ("Kd 1 1 1", "Kd\t 1  0   0 ", "colour 1 1 1 became 1 0 0"),
        ("d 1\n", "d 0.5\n", "alpha 100% became 50%, alpha mode OPAQUE became BLEND"),
        ("d 1\n", "Tr 0.5\n", "alpha 100% became 50%, alpha mode OPAQUE became BLEND"),
        ("hangar.armour.0.png", "hangar.floor.0.png", "picture armour.0 became floor.0"),
        ("illum 1\n", "illum 1\nKe 0 1 0\n", "emission 0 0 0 became 0 1 0"),
    ],
)
def test_what_a_material_can_hold(edit: Edit, before: str, after: str, what: str) -> None:
    edit.replace("armour", before, after)
    back = edit.back()
    assert (said(back), refused(back)) == ([f"material 'armour': {what}"], [])
    (one,) = back.library
    assert (one.entry.library, one.entry.name) == (MATERIALS, "armour")


def test_a_picture_that_was_painted_over(edit: Edit) -> None:
    pixels = np.asarray(Image.open(edit.picture("wall.0"))).copy()
    pixels[3, 4, :3] = 200, 10, 20
    Image.fromarray(pixels).save(edit.picture("wall.0"))
    back = edit.back()
    assert said(back) == ["material 'wall': picture wall.0 is repainted"]
    (one,) = back.library
    assert (one.entry.library, one.entry.name) == (TEXTURES, "wall.0")
    assert one.rgba is not None
    np.testing.assert_array_equal(one.rgba[..., :3], pixels[..., :3])


def test_a_picture_of_your_own(edit: Edit) -> None:
    Image.new("RGB", (32, 32), (9, 8, 7)).save(edit.path.with_name("моя стена.png"))
    edit.replace("wall", "hangar.wall.0.png", "-s 1 1 1 -bm 0.5 моя стена.png")
    back = edit.back()
    assert said(back) == ["material 'wall': picture wall.0 became моя стена, a new one"]
    assert back.library[0].picture is not None


@pytest.mark.parametrize("place", ["../hangar.png", "//server/share/x.png", "\\\\server\\share\\x.png", "/etc/x.png"])
def test_pictures_elsewhere_are_reported_and_not_opened(edit: Edit, tmp_path: Path, place: str) -> None:
    edit.replace("wall", "hangar.wall.0.png", place)
    back = edit.back()
    assert (said(back), back.library) == ([], [])
    (text,) = refused(back)
    assert text.startswith("material 'wall': picture ")


def test_an_absolute_path_into_the_folder(edit: Edit) -> None:
    """Blender writes such, by its Path Mode."""
    edit.replace("wall", "hangar.wall.0.png", str(edit.picture("wall.0")))
    assert edit.back().unchanged


def test_a_picture_that_is_taken_away(edit: Edit) -> None:
    edit.replace("wall", "map_Kd hangar.wall.0.png\n", "")
    assert refused(edit.back()) == ["material 'wall': picture is gone"]


def test_own_light_that_an_editor_leaves_out(edit: Edit) -> None:
    """Blender 4.2 does; a file with the light of another material is an edit."""
    edit.replace("glow", "Ke 1 0.54902 0.235294\n", "")
    back = edit.back()
    assert back.unchanged
    assert any("has no own light (Ke)" in text for text in back.warnings)
    edit.replace("wall", "illum 1\n", "illum 1\nKe 1 1 1\n")
    assert len(edit.back().changes) == 2


@pytest.mark.parametrize("data", [b"", b"Kd 1 0 0\nd\n", b"newmtl \xff\xfe\nKd a b c\n", None])
def test_an_mtl_that_does_not_tell(edit: Edit, data: bytes | None) -> None:
    """Nothing is compared, and that is said."""
    if data is None:
        edit.mtl.unlink()
    else:
        edit.mtl.write_bytes(data)
    back = edit.back()
    assert back.unchanged
    (text,) = [text for text in back.warnings if ".mtl" in text]
    assert text.endswith("colours and pictures of materials are not compared")


@pytest.mark.parametrize("values", ["nan 1e999 -5", "1 2", "1e308 1e308 1e308", "x"])
def test_numbers_that_are_none(edit: Edit, values: str) -> None:
    edit.replace("wall", "Kd 1 1 1", f"Kd {values}\nKe {values}\nd {values}")
    edit.back()


@pytest.mark.parametrize("first", ["glb", "obj"])
def test_a_gltf_and_an_obj_beside_one_sidecar(tmp_path: Path, first: str) -> None:
    """The last one that was written knows what its materials showed; the other one says so."""
    edit = Edit(tmp_path)
    game = ("--game", EXAMPLES / "textures", "-q", "--force")
    assert call(cli.msh2gltf, tmp_path / "hangar.msh", "-o", tmp_path / "hangar.glb", *game) == 0
    if first == "glb":
        assert call(cli.msh2gltf, tmp_path / "hangar.msh", "-o", edit.path, *game) == 0
    glb, obj = import_gltf(tmp_path / "hangar.glb"), import_obj(edit.path)
    assert (glb.unchanged, obj.unchanged) == (True, True)
    for back, knows in ((glb, first == "obj"), (obj, first == "glb")):
        assert knows is not any("are not compared" in text for text in back.warnings)


def test_without_a_game(tmp_path: Path) -> None:
    """The colour of a row is none of a material; another one makes a material of the name."""
    edit = Edit(tmp_path, "--no-textures")
    assert edit.back().unchanged
    line = next(line for line in edit.mtl.read_text("utf-8").splitlines() if line[:2] == "Kd")
    edit.replace("wall", line, "Kd 1 0 0")
    back = edit.back()
    assert [(one.name, one.values["colour"]) for one in back.new_materials] == [("wall", bytes([255, 0, 0]))]


def test_a_new_model_brings_its_materials(tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), (9, 8, 7)).save(tmp_path / "brick.png")
    (tmp_path / "box.mtl").write_text("newmtl mine\nKd 1 1 1\nmap_Kd brick.png\n", "utf-8")
    text = "mtllib box.mtl\no box\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl mine\nf 1 2 3\n"
    (tmp_path / "box.obj").write_text(text, "utf-8")
    (one,) = import_obj(tmp_path / "box.obj").new_materials
    assert (one.name, one.certain) == ("mine", True)
    assert one.picture is not None
