"""Materials and pictures that the game does not have arrive in its libraries."""

import base64
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.texture import read_texm
from msh_gltf.converter.formats.wear import read_wear_names
from tests.converter.game.test_library_edits import TURRETS, Edit, colour, made, png
from tests.support.gltf_edit import Editable
from tests.support.runs import run

__all__ = ["made"]
Json = dict[str, Any]
MEANT = "Material.lib has this material already, and its colours and picture count, not the file's"
BRICK = np.random.default_rng(19).integers(0, 256, (16, 32, 4), np.uint8)
BRICK[..., 3] = 255


class NewEdit(Edit):
    """Edits that bring new things."""

    def assign(self, model: str, material: str, name: str, pixels: np.ndarray) -> None:
        """Give a material a picture of its own, as Blender writes it."""
        path = self.out / model
        document = Editable(path)
        json = document.json
        uri = "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
        json["images"].append({"name": name, "uri": uri})
        json["textures"].append({"source": len(json["images"]) - 1})
        for one in json["materials"]:
            if one["name"] == material:
                info = {"index": len(json["textures"]) - 1}
                one["pbrMetallicRoughness"]["baseColorTexture"] = info
        document.save(path)

    def rename(self, model: str, material: str, name: str, *, bare: bool = False) -> None:
        path = self.out / model
        document = Editable(path)
        for one in document.json["materials"]:
            if one["name"] == material:
                one["name"] = name
                if bare:
                    one.pop("extras", None)
        document.save(path)

    def names(self, library: str, *, old: bool = False) -> list[str]:
        archive = read_nres(read_file((self.game if old else self.new) / library), library)
        return [entry.name for entry in archive.entries]

    def added(self, library: str) -> list[str]:
        """Names of new entries; the others are as they were."""
        before, after = (read_nres(read_file(root / library), library) for root in (self.game, self.new))
        count = len(before.entries)
        for a, b in zip(before.entries, after.entries[:count], strict=True):
            assert (a.name, a.payload, a.attr1, a.attr2) == (b.name, b.payload, b.attr1, b.attr2)
        return [entry.name for entry in after.entries[count:]]

    def wear(self, name: str) -> list[str]:
        archive = read_nres(read_file(self.new / "turrets.rlb"), "")
        index = archive.find(name)
        assert index is not None
        return read_wear_names(archive.entries[index].payload)


@pytest.fixture
def edit(made: Path, tmp_path: Path) -> NewEdit:
    return NewEdit(made, tmp_path)


@pytest.mark.parametrize("bare", [False, True])
def test_a_renamed_material_is_a_copy(edit: NewEdit, bare: bool) -> None:
    edit.rename(TURRETS[0], "armour", "ржавчина", bare=bare)
    text, files = edit.back("--require-all")
    assert files == {"Material.lib", "turrets.rlb"}, text
    assert edit.added("Material.lib") == ["ржавчина"]
    old, new = (edit.entry("Material.lib", "armour", old=True), edit.entry("Material.lib", "ржавчина"))
    assert (old.payload, old.attr1, old.attr2) == (new.payload, new.attr1, new.attr2)
    assert "ржавчина" in edit.wear("e_tur_01.wea")
    assert "armour" in edit.wear("e_tur_02.wea")


def test_a_renamed_material_is_a_copy_with_its_edits(edit: NewEdit) -> None:
    edit.material(TURRETS[0], "armour", colour(0.2140411, 0, 1, 1))
    edit.rename(TURRETS[0], "armour", "rust")
    text, files = edit.back("--require-all")
    assert files == {"Material.lib", "turrets.rlb"}, text
    assert edit.added("Material.lib") == ["rust"]
    new = read_material(edit.entry("Material.lib", "rust"), "")
    assert new.phases["diffuse"][0, :3].tolist() == [127, 0, 255]
    assert new.texture == "armour.0"


def test_another_picture_is_a_new_texture(edit: NewEdit) -> None:
    edit.assign(TURRETS[0], "armour", "BRICK", BRICK)
    text, files = edit.back("--require-all")
    assert files == {"Material.lib", "Textures.lib"}, text
    assert edit.added("Textures.lib") == ["BRICK.0"]
    assert edit.differing("Material.lib") == ["armour"]
    assert read_material(edit.entry("Material.lib", "armour"), "").texture == "BRICK.0"
    texture = edit.entry("Textures.lib", "BRICK.0")
    texm = read_texm(texture.payload, "")
    np.testing.assert_array_equal(texm.rgba(), BRICK)
    assert (texm.format, len(texm.levels)) == (888, 5)
    like = edit.entry("Textures.lib", "armour.0", old=True)
    assert (texture.type_id, texture.attr1, texture.attr2) == (like.type_id, 0, 0)


def test_a_new_material_with_a_new_picture(edit: NewEdit) -> None:
    """It is like DEFAULT, but for what the file shows; odd sides are resampled."""
    clear = np.full((24, 50, 4), 200, np.uint8)
    clear[:12, :, 3] = 0
    edit.rename(TURRETS[0], "armour", "жесть", bare=True)
    edit.assign(TURRETS[0], "жесть", "жесть*2.5.png", clear)

    def look(material: Json) -> None:
        colour(0.2140411, 1, 0, 0.5)(material)
        material |= {"alphaMode": "BLEND", "emissiveFactor": [0, 0, 1]}
        material["emissiveTexture"] = material["pbrMetallicRoughness"]["baseColorTexture"]

    edit.material(TURRETS[0], "жесть", look)
    text, files = edit.back("--require-all")
    assert files == {"Material.lib", "Textures.lib", "turrets.rlb"}, text
    assert "has 50 x 24 pixels: it is resampled to 64 x 32" in text
    assert edit.added("Textures.lib") == ["жесть_2.5"]
    texm = read_texm(edit.entry("Textures.lib", "жесть_2.5").payload, "")
    assert (texm.width, texm.height, texm.format, len(texm.levels)) == (64, 32, 8888, 6)
    assert texm.rgba()[[0, -1], 0].tolist() == [[0, 0, 0, 0], [200] * 4]
    assert edit.added("Material.lib") == ["жесть"]
    new = edit.entry("Material.lib", "жесть")
    made = read_material(new, "")
    assert (new.attr1, made.texture, made.alpha) == (4, "жесть_2.5", 0.5)
    assert made.phases["diffuse"][0, :3].tolist() == [127, 255, 0]
    assert made.self_light == (0, 0, 1)
    like = read_material(edit.entry("Material.lib", "DEFAULT"), "")
    assert made.header.tobytes() == like.header.tobytes()
    assert made.phases["specular"].tobytes() == like.phases["specular"].tobytes()


def test_new_materials_are_made_like_another_one(edit: NewEdit) -> None:
    edit.rename(TURRETS[0], "armour", "fence", bare=True)
    edit.assign(TURRETS[0], "fence", "FENCE", BRICK)
    text, _ = edit.back("--require-all", "--like", "glow")
    assert edit.added("Material.lib") == ["fence"], text
    new = read_material(edit.entry("Material.lib", "fence"), "")
    assert new.self_light == (0, 0, 0)
    assert new.header.tobytes() == read_material(edit.entry("Material.lib", "glow"), "").header.tobytes()
    text, _ = edit.back("--like", "nobody")
    assert edit.code == 2
    assert "has no such material: nobody" in text


def test_textures_of_one_name_get_numbers_and_equal_ones_are_one(edit: NewEdit) -> None:
    other = BRICK[::-1].copy()
    known = edit.out / "textures/wall.0.png"
    for model in TURRETS:
        edit.assign(model, "joint", "wall", BRICK)
    edit.assign(TURRETS[0], "armour", "wall", other)
    edit.assign(TURRETS[0], "glass", "copy of a picture of the game", read_png(known))
    text, _ = edit.back("--require-all")
    assert edit.added("Textures.lib") == ["copy of a pict.0", "wall_2.0", "wall_3.0"], text
    for name, texture in (("joint", "wall_3.0"), ("armour", "wall_2.0")):
        assert read_material(edit.entry("Material.lib", name), "").texture == texture
    edit.assign(TURRETS[0], "glass", "wall", read_png(known))
    edit.back("--require-all")
    assert read_material(edit.entry("Material.lib", "glass"), "").texture == "wall.0"


def read_png(path: Path) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(path).convert("RGBA")).copy()


def test_a_name_of_the_game_is_a_reference(edit: NewEdit) -> None:
    """Colours that nobody chose and a missing picture change nothing; a picture is reported."""
    edit.rename(TURRETS[0], "armour", "BARK", bare=True)
    document = Editable(edit.out / TURRETS[0])
    for one in document.json["materials"]:
        if one["name"] == "BARK":
            one["pbrMetallicRoughness"] = {"baseColorFactor": [0.8, 0.8, 0.8, 1]}
    document.save(edit.out / TURRETS[0])
    text, files = edit.back("--require-all")
    assert files == {"turrets.rlb"}, text
    words = " ".join(text.split())
    assert f"{MEANT}: bark" in words
    edit.assign(TURRETS[0], "BARK", "BRICK", BRICK)
    text, files = edit.back()
    assert files == {"turrets.rlb"}, text
    assert "material 'BARK': its picture BRICK; the game has a material 'bark', which is" in text


def test_two_materials_of_one_name_are_two(edit: NewEdit) -> None:
    for model, pixels in zip(TURRETS, (BRICK, BRICK[::-1].copy()), strict=True):
        edit.rename(model, "armour", "rust", bare=True)
        edit.assign(model, "rust", "RUST", pixels)
    text, files = edit.back()
    assert files == {"turrets.rlb", "Material.lib", "Textures.lib"}, text
    assert "the game has it as 'rust_2'" in " ".join(text.split())
    shown = [read_material(edit.entry("Material.lib", name), "").texture for name in ("rust", "rust_2")]
    assert len({name.lower() for name in shown}) == 2
    for number, name in enumerate(("rust", "rust_2"), 1):
        assert name in read_wear_names(edit.entry("turrets.rlb", f"e_tur_0{number}.wea").payload)


def look(edit: NewEdit, name: str, paint: Callable[[Json], None] | None, folder: str = "turrets.rlb") -> Path:
    """A new model that has a new material ``Material``; ``None``: as Blender makes it."""
    document = Editable(edit.out / TURRETS[0])
    for node in document.json["nodes"]:
        node.pop("extras", None)
    document.json["scenes"][0].pop("extras", None)
    armour = next(one for one in document.json["materials"] if one["name"] == "armour")
    armour.clear()
    armour |= {"name": "Material", "doubleSided": True}
    plain = {"baseColorFactor": [0.8, 0.8, 0.8, 1], "metallicFactor": 0, "roughnessFactor": 0.5}
    armour["pbrMetallicRoughness"] = plain
    if paint is not None:
        paint(armour)
    return document.save(edit.out / folder / f"{name}.glb")


def translucent(material: Json) -> None:
    colour(0.8, 0.8, 0.8, 0.5)(material)
    material["alphaMode"] = "BLEND"


def glowing(material: Json) -> None:
    material["emissiveFactor"] = [1, 0, 0]


RED, BLUE = colour(1, 0, 0, 1), colour(0, 0, 1, 1)


@pytest.mark.parametrize(
    ("paint", "line"),
    [
        (BLUE, "not applied: material 'Material': its colour #0000ff; the game has a material "),
        (glowing, "not applied: material 'Material': its emission #ff0000; the game has a"),
        (translucent, "not applied: material 'Material': its alpha mode; the game has a material"),
        (None, f"{MEANT}: Material"),
        (RED, ""),
    ],
)
def test_a_second_model_does_not_take_the_first_ones_look_in_silence(
    edit: NewEdit, tmp_path: Path, paint: Callable[[Json], None] | None, line: str
) -> None:
    """One file after another into a game, and a run over a game that has the first one's."""
    shutil.copytree(edit.game, edit.new)
    one, two = look(edit, "one", RED), look(edit, "two", paint)
    into = ("--into", edit.new / "turrets.rlb", "--add")
    first = run("gltf2msh", one, *into)
    assert (first.returncode, "Material'" in first.stderr) == (0, False), first.stderr
    made = edit.entry("Material.lib", "Material").payload
    assert read_material(edit.entry("Material.lib", "Material"), "").diffuse == (1, 0, 0)
    second = run("gltf2msh", two, *into, "--require-all")
    said = second.stdout + second.stderr
    assert second.returncode == line.startswith("not applied"), said
    assert line in said
    assert ("Material'" in said) == line.startswith("not applied")
    assert (MEANT in said) == line.startswith(MEANT)
    assert edit.entry("Material.lib", "Material").payload == made
    one.unlink()
    edit.game = edit.new
    edit.new = tmp_path / "NEWER"
    text, _ = edit.back("--add")
    text = " ".join(text.split())
    assert line.removeprefix("not applied: ") in text
    assert ("Material'" in text) == line.startswith("not applied")
    assert (MEANT in text) == line.startswith(MEANT)


def test_a_second_edit_of_a_new_material_arrives(edit: NewEdit) -> None:
    """What an earlier run made of it is not another one's."""
    shutil.copytree(edit.game, edit.new)
    for paint, diffuse in ((RED, (1, 0, 0)), (BLUE, (0, 0, 1))):
        look(edit, "one", paint)
        done = run("gltf2msh", edit.out, "--game", edit.new, "--in-place", "--add", "--require-all")
        assert done.returncode == 0, done.stderr
        assert "Material'" not in done.stdout + done.stderr
        assert read_material(edit.entry("Material.lib", "Material"), "").diffuse == diffuse
        assert edit.names("Material.lib").count("Material") == 1


def test_a_model_gets_materials_of_its_own(edit: NewEdit) -> None:
    edit.material(TURRETS[0], "armour", colour(0.2140411, 0, 1, 1))
    edit.repaint(TURRETS[0], "joint.0", (255, 0, 0))
    text, files = edit.back("--require-all", "--own-materials")
    assert files == {"Material.lib", "Textures.lib", "turrets.rlb"}, text
    assert sorted(edit.added("Material.lib")) == ["armour_e_tur_01", "joint_e_tur_01"]
    assert edit.added("Textures.lib") == ["joint_2.0"]
    assert edit.wear("e_tur_01.wea")[:2] == ["armour_e_tur_01", "joint_e_tur_01"]
    assert edit.wear("e_tur_02.wea")[:2] == ["armour", "joint"]
    own = read_material(edit.entry("Material.lib", "armour_e_tur_01"), "")
    assert own.phases["diffuse"][0, :3].tolist() == [127, 0, 255]
    own = read_material(edit.entry("Material.lib", "joint_e_tur_01"), "")
    assert own.texture == "joint_2.0"
    texm = read_texm(edit.entry("Textures.lib", "joint_2.0").payload, "")
    old = read_texm(edit.entry("Textures.lib", "joint.0").payload, "")
    assert np.argwhere((old.rgba() != texm.rgba()).any(2)).tolist() == [[0, 0]]


def test_a_new_model_brings_its_materials(edit: NewEdit) -> None:
    document = Editable(edit.out / TURRETS[0])
    for node in document.json["nodes"]:
        node.pop("extras", None)
    document.json["scenes"][0].pop("extras", None)
    new = "turrets.rlb/tower.glb"
    document.save(edit.out / new)
    edit.rename(new, "armour", "brick", bare=True)
    edit.assign(new, "brick", "BRICK", BRICK)
    edit.rename(new, "joint", "floors", bare=True)
    text, files = edit.back("--add", "--require-all")
    assert files == {"Material.lib", "Textures.lib", "turrets.rlb"}, text
    floors = read_material(edit.entry("Material.lib", "floors"), "")
    assert floors.texture == "joint.0", "a picture of the run"
    assert sorted(edit.added("Material.lib")) == ["brick", "floors"]
    assert edit.added("Textures.lib") == ["BRICK.0"]
    assert "1 model and 1 texture and 2 materials went into" in text
    out = edit.new.parent / "again"
    assert run("msh2gltf", edit.new, "-o", out).returncode == 0
    np.testing.assert_array_equal(read_png(out / "textures/BRICK.0.png"), BRICK)
    shown = Editable(out / new).json
    brick = next(m for m in shown["materials"] if m["name"] == "brick")
    texture = brick["pbrMetallicRoughness"]["baseColorTexture"]["index"]
    assert shown["images"][shown["textures"][texture]["source"]]["name"] == "BRICK.0"
    checked = run("msh-inspect", "--check", edit.new)
    assert "0 errors, 0 warnings" in checked.stdout


def test_a_material_that_the_game_lacks_is_made_when_it_is_recoloured(edit: NewEdit, tmp_path: Path) -> None:
    """A row of the .wea that the game shows as DEFAULT."""
    edit.game = shutil.copytree(edit.game, tmp_path / "GAME2")
    path = edit.game / "turrets.rlb"
    path.write_bytes(path.read_bytes().replace(b"0 armour\r\n", b"0 ARMOR1\r\n"))
    shutil.rmtree(edit.out)
    assert run("msh2gltf", edit.game, "-o", edit.out, "-q").returncode == 0
    edit.material(TURRETS[0], "ARMOR1", colour(1, 0, 0, 1))
    text, files = edit.back("--require-all")
    assert files == {"Material.lib"}, text
    assert edit.added("Material.lib") == ["ARMOR1"]
    made = read_material(edit.entry("Material.lib", "ARMOR1"), "")
    assert (made.diffuse, made.texture) == ((1, 0, 0), "DEFAULT.0")


def test_what_a_new_material_cannot_hold_is_reported(edit: NewEdit) -> None:
    edit.rename(TURRETS[0], "armour", "brick", bare=True)
    edit.assign(TURRETS[0], "brick", "BRICK", BRICK)

    def polish(material: Json) -> None:
        material["pbrMetallicRoughness"] |= {"metallicFactor": 0.5, "roughnessFactor": 0.5}
        material["normalTexture"] = {"index": 0}
        material["extensions"] = {"KHR_materials_transmission": {"transmissionFactor": 1}}

    edit.material(TURRETS[0], "brick", polish)
    text, _ = edit.back()
    assert "material 'brick': has normalTexture, KHR_materials_transmission, metallic 0.5" in text
    assert edit.added("Material.lib") == ["brick"]


def test_a_single_file_gives_files_of_what_is_new(edit: NewEdit, tmp_path: Path) -> None:
    edit.rename(TURRETS[0], "armour", "rust")
    edit.rename(TURRETS[0], "glass", "bark")
    edit.assign(TURRETS[0], "joint", "BRICK", BRICK)
    one = tmp_path / "one"
    done = run("gltf2msh", edit.out / TURRETS[0], "-o", f"{one}/", "--game", edit.game)
    assert done.returncode == 0, done.stderr
    files = {"e_tur_01.msh", "e_tur_01.wea", "joint.mat0", "BRICK.0", "rust.mat0"}
    assert {path.name for path in one.iterdir()} == files
    assert "rust.mat0 is a new material: gltf2msh rust.mat0 --into Material.lib puts" in done.stderr
    shutil.copytree(edit.game, edit.new)
    for file, library in (("BRICK.0", "Textures.lib"), ("rust.mat0", "Material.lib")):
        assert run("gltf2msh", one / file, "--into", edit.new / library).returncode == 0
    assert edit.added("Textures.lib") == ["BRICK.0"]
    assert edit.added("Material.lib") == ["rust"]
    bare = run("gltf2msh", edit.out / TURRETS[0], "-o", f"{tmp_path / 'two'}/")
    assert "unless the game has a material of this name (--game DIR looks)" in bare.stderr
    assert (tmp_path / "two/rust.mat0").read_bytes() == (one / "rust.mat0").read_bytes()


@pytest.mark.parametrize("also", ["", "the second", "extras"])
def test_a_recolour_of_two_grounds_is_of_the_one_that_was_changed_and_says_so(edit: NewEdit, also: str) -> None:
    """The second one, where it is recoloured alike or the extras name it; else the first one."""
    land = "DATA/MAPS/Tut_1/Land.glb"
    names = [m["name"] for m in Editable(edit.out / land).json["materials"]]
    both = next(n for n in names if "+" in n and {*n.split("+")} <= {*names})
    edit.material(land, both, colour(0.2140411, 0, 1, 1))
    if also:
        first, _, second = both.partition("+")
        if also == "extras":
            edit.material(land, both, lambda material: material["extras"]["msh"].update(material=second))
        else:
            edit.material(land, second, colour(0.2140411, 0, 1, 1))
        report = edit.out.parent / "report.json"
        edit.back("--report", str(report))
        assert edit.differing("Material.lib") == [second]
        assert f"(of {second}, the second of the two)" in report.read_text("utf-8")
        return
    report = edit.out.parent / "report.json"
    text, files = edit.back("--report", str(report), "--own-materials")
    assert files == {"Material.lib"}, text
    assert "a terrain gets no materials of its own" in report.read_text("utf-8")
    first = both.partition("+")[0]
    assert edit.differing("Material.lib") == [first]
    assert f"(of {first}, the first of the two)" in report.read_text("utf-8")
    assert f"{first} changes everywhere, and the file shows it as it was in {first}" in report.read_text("utf-8")


def test_a_recolour_of_two_grounds_is_of_the_one_that_is_new(edit: NewEdit) -> None:
    """The second of a pair was renamed, and the pair recoloured: the first ground keeps its colour everywhere."""
    land = "DATA/MAPS/Tut_1/Land.glb"
    names = [m["name"] for m in Editable(edit.out / land).json["materials"]]
    first, _, second = (both := next(name for name in names if "+" in name)).partition("+")
    edit.rename(land, both, f"{first}+mud")
    edit.material(land, f"{first}+mud", colour(0.2140411, 0, 1, 1))
    text, files = edit.back()
    assert {Path(file).name.lower() for file in files} >= {"material.lib", "land1.wea"}, text
    assert edit.added("Material.lib") == ["mud"]
    old, new = (read_nres(read_file(game / "Material.lib"), "x").entries for game in (edit.game, edit.new))
    assert all(bytes(a.payload) == bytes(b.payload) for a, b in zip(old, new, strict=False))
    made = read_material(edit.entry("Material.lib", "mud"), "")
    assert made.diffuse == pytest.approx((127 / 255, 0, 1), abs=1 / 255)
    origin = read_material(edit.entry("Material.lib", second), "")
    assert made.texture == origin.texture
