"""Edited and new colours, pictures and materials arrive in the game's libraries, and nothing else does.

What each edit makes of the example game stands in ``library_edits.txt``; ``python -m
tests.converter.game.test_library_edits`` writes it again, for you to read what became different.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.formats.texture import read_texm
from tests.converter.game.library_edits import (
    BLUE,
    BRICK,
    PURPLE,
    RED,
    TURRETS,
    Edit,
    Json,
    Paint,
    colour,
    made,
    make,
    png,
    read_png,
)
from tests.support.game import snapshot
from tests.support.gltf_edit import Editable
from tests.support.recorded import Recorded
from tests.support.runs import run
from tests.support.vault import originals

__all__ = ["made"]
FOUND = Recorded(__file__, "library_edits.txt")
ONE, TWO = TURRETS
LAND = "DATA/MAPS/Tut_1/Land.glb"


def resaved(e: Edit) -> None:
    for model in TURRETS:
        e.material(model, "none of these", lambda _: None)
    e.back("--require-all")


def emission_alpha_mode(e: Edit) -> None:
    def change(material: Json) -> None:
        material["pbrMetallicRoughness"]["baseColorFactor"][3] = 0.25
        material["alphaMode"] = "BLEND"

    e.material(ONE, "joint", change)
    e.material(ONE, "glow", lambda m: m.update(emissiveFactor=[1, 0, 0]))
    e.back("--require-all")


def polish(material: Json) -> None:
    material["pbrMetallicRoughness"] |= {"metallicFactor": 0.5}
    material["extensions"] = {"KHR_materials_transmission": {"transmissionFactor": 1}}


def polished(e: Edit) -> None:
    e.material(ONE, "armour", polish)
    e.back()
    e.back("--require-all")


def repainted(e: Edit) -> None:
    e.repaint(ONE, "armour.0", (255, 0, 0))
    e.back("--require-all")


def original_again(e: Edit) -> None:
    e.repaint(ONE, "armour.0", (255, 0, 0))
    e.material(ONE, "armour", colour(0, 0, 0, 1))
    e.back()
    shutil.copy(e.made / "out" / ONE, e.out / ONE)
    e.back()


def alike_and_otherwise(e: Edit) -> None:
    """Equal edits are one, and different ones none."""
    for model in TURRETS:
        e.repaint(model, "armour.0", (255, 0, 0))
        e.material(model, "joint", RED)
    e.material(TWO, "armour", colour(0, 1, 0, 1))
    e.back("--require-all")
    e.repaint(TWO, "armour.0", (0, 255, 0))
    e.material(ONE, "armour", BLUE)
    e.back()


def picture_of_the_run(e: Edit) -> None:
    """It counts as those inside of models do."""
    e.repaint(ONE, "armour.0", (255, 0, 0))
    picture = e.out / "textures/armour.0.png"
    pixels = read_png(picture)
    for green in (0, 9):
        pixels[0, 0, :3] = (255, green, 0)
        picture.write_bytes(png(pixels))
        e.back(*["--require-all"] * (not green))


def without_alpha(e: Edit, factor: int) -> None:
    picture = e.out / "textures/leaf.0.png"
    picture.write_bytes(png(np.asarray(Image.open(picture).convert("RGB")).repeat(factor, 0).repeat(factor, 1)))
    e.back("--require-all")
    e.back("--require-all", "--keep-alpha", "--force")


def strays(e: Edit) -> None:
    """Pictures that nothing reads are named with the name that counts."""
    folder = e.out / "textures"
    for name in ("armour.png", "armour.0 (1).png", "armour.0.jpg", "ARMOUR.0.PNG", "sky of mine.tga"):
        shutil.copy(folder / "wall.0.png", folder / name)
    (folder / "armour.xcf").write_bytes(b"a painter's own file")
    e.back("--require-all")
    e.said += e.skipped()


def changed_since(e: Edit) -> None:
    """Libraries that changed since the export are not overwritten."""
    e.repaint(ONE, "armour.0", (255, 0, 0))
    e.game = shutil.copytree(e.game, e.folder / "GAME2")
    (e.folder / "armour.png").write_bytes(png(np.full((32, 32, 4), 9, np.uint8)))
    e.run("gltf2msh", e.folder / "armour.png", "--into", e.game / "Textures.lib")
    e.back()
    e.back("--force")


def single_file(e: Edit, *into: tuple[str, str]) -> None:
    """It gives files of what is edited and new, which go into the libraries."""
    one = e.folder / "one"
    e.run("gltf2msh", e.out / ONE, "-o", "one/", "--game", e.game)
    e.said.append(", ".join(sorted(path.name for path in one.iterdir())))
    shutil.copytree(e.game, e.new)
    for file, library in into:
        e.run("gltf2msh", one / file, "--into", e.new / library)
    e.said += e.differences()


def single_edited(e: Edit) -> None:
    e.repaint(ONE, "armour.0", (255, 0, 0))
    e.material(ONE, "armour", RED)
    single_file(e, ("armour.0", "Textures.lib"), ("armour.mat0", "Material.lib"))


def single_new(e: Edit) -> None:
    e.rename(ONE, "armour", "rust")
    e.rename(ONE, "glass", "bark")
    e.assign(ONE, "joint", "BRICK", BRICK)
    single_file(e, ("BRICK.0", "Textures.lib"), ("rust.mat0", "Material.lib"))
    e.run("gltf2msh", e.out / ONE, "-o", "two/")
    assert (e.folder / "two/rust.mat0").read_bytes() == (e.folder / "one/rust.mat0").read_bytes()


def called_as_another(e: Edit) -> None:
    """It does not colour the other one."""
    e.material(ONE, "armour", colour(0, 1, 0, 1))
    e.rename(ONE, "armour", "joint")
    e.back()


def renamed(e: Edit, *, bare: bool = False, paint: Paint | None = None) -> None:
    """It is a copy, with its edits."""
    if paint:
        e.material(ONE, "armour", paint)
    e.rename(ONE, "armour", "ржавчина", bare=bare)
    e.back("--require-all")


def another_picture(e: Edit) -> None:
    e.assign(ONE, "armour", "BRICK", BRICK)
    e.back("--require-all")
    np.testing.assert_array_equal(read_texm(e.entry("Textures.lib", "BRICK.0").payload, "").rgba(), BRICK)


def new_with_a_picture(e: Edit) -> None:
    """It is like DEFAULT, but for what the file shows; odd sides are resampled."""
    clear = np.full((24, 50, 4), 200, np.uint8)
    clear[:12, :, 3] = 0
    e.rename(ONE, "armour", "жесть", bare=True)
    e.assign(ONE, "жесть", "жесть*2.5.png", clear)

    def look(material: Json) -> None:
        colour(0.2140411, 1, 0, 0.5)(material)
        material |= {"alphaMode": "BLEND", "emissiveFactor": [0, 0, 1]}
        material["emissiveTexture"] = material["pbrMetallicRoughness"]["baseColorTexture"]

    e.material(ONE, "жесть", look)
    e.back("--require-all")
    shown = read_texm(e.entry("Textures.lib", "жесть_2.5").payload, "").rgba()
    assert shown[[0, -1], 0].tolist() == [[0, 0, 0, 0], [200] * 4]


def like_another(e: Edit) -> None:
    e.rename(ONE, "armour", "fence", bare=True)
    e.assign(ONE, "fence", "FENCE", BRICK)
    e.back("--require-all", "--like", "glow")
    e.back("--like", "nobody")


def pictures_of_one_name(e: Edit) -> None:
    """They get numbers, and equal ones are one."""
    known = read_png(e.out / "textures/wall.0.png")
    for model in TURRETS:
        e.assign(model, "joint", "wall", BRICK)
    e.assign(ONE, "armour", "wall", BRICK[::-1].copy())
    e.assign(ONE, "glass", "copy of a picture of the game", known)
    e.back("--require-all")
    e.assign(ONE, "glass", "wall", known)
    e.back("--require-all")


def name_of_the_game(e: Edit) -> None:
    """Colours that nobody chose and a missing picture change nothing; a picture is reported."""
    e.rename(ONE, "armour", "BARK", bare=True)
    e.material(ONE, "BARK", lambda m: m.update(pbrMetallicRoughness={"baseColorFactor": [0.8, 0.8, 0.8, 1]}))
    e.back("--require-all")
    e.assign(ONE, "BARK", "BRICK", BRICK)
    e.back()


def two_of_one_name(e: Edit) -> None:
    for model, pixels in zip(TURRETS, (BRICK, BRICK[::-1].copy()), strict=True):
        e.rename(model, "armour", "rust", bare=True)
        e.assign(model, "rust", "RUST", pixels)
    e.back()


def translucent(material: Json) -> None:
    colour(0.8, 0.8, 0.8, 0.5)(material)
    material["alphaMode"] = "BLEND"


def second_model(e: Edit, paint: Paint | None) -> None:
    """It does not take the first one's look in silence: one file after another, and a run over such a game."""
    shutil.copytree(e.game, e.new)
    one, two = e.look("one", RED), e.look("two", paint)
    for file, options in ((one, ()), (two, ("--require-all",))):
        e.run("gltf2msh", file, "--into", e.new / "turrets.rlb", "--add", *options)
        e.said += e.differences()
    one.unlink()
    e.game, e.new = e.new, e.folder / "NEWER"
    e.back("--add")


def second_edit(e: Edit) -> None:
    """What an earlier run made of a new material is not another one's."""
    shutil.copytree(e.game, e.new)
    for paint in (RED, BLUE):
        e.look("one", paint)
        e.run("gltf2msh", e.out, "--game", e.new, "--in-place", "--add", "--require-all")
        e.said += e.differences()


def own_materials(e: Edit) -> None:
    e.material(ONE, "armour", PURPLE)
    e.repaint(ONE, "joint.0", (255, 0, 0))
    e.back("--require-all", "--own-materials")


def new_model(e: Edit) -> None:
    """Its materials come with it, and are shown again."""
    document = Editable(e.out / ONE)
    for node in (*document.json["nodes"], document.json["scenes"][0]):
        node.pop("extras", None)
    new = "turrets.rlb/tower.glb"
    document.save(e.out / new)
    e.rename(new, "armour", "brick", bare=True)
    e.assign(new, "brick", "BRICK", BRICK)
    e.rename(new, "joint", "floors", bare=True)
    e.back("--add", "--require-all")
    out = e.folder / "again"
    assert run("msh2gltf", e.new, "-o", out).returncode == 0
    np.testing.assert_array_equal(read_png(out / "textures/BRICK.0.png"), BRICK)
    shown = Editable(out / new).json
    brick = next(m for m in shown["materials"] if m["name"] == "brick")
    texture = brick["pbrMetallicRoughness"]["baseColorTexture"]["index"]
    assert shown["images"][shown["textures"][texture]["source"]]["name"] == "BRICK.0"
    e.run("msh-inspect", "--check", e.new)


def lacking(e: Edit) -> None:
    """A row of the .wea that the game shows as DEFAULT is made when it is recoloured."""
    e.game = shutil.copytree(e.game, e.folder / "GAME2")
    path = e.game / "turrets.rlb"
    path.write_bytes(path.read_bytes().replace(b"0 armour\r\n", b"0 ARMOR1\r\n"))
    shutil.rmtree(e.out)
    assert run("msh2gltf", e.game, "-o", e.out, "-q").returncode == 0
    e.material(ONE, "ARMOR1", RED)
    e.back("--require-all")


def new_polished(e: Edit) -> None:
    e.rename(ONE, "armour", "brick", bare=True)
    e.assign(ONE, "brick", "BRICK", BRICK)
    e.material(ONE, "brick", lambda m: (polish(m), m.update(normalTexture={"index": 0})))
    e.back()


def of_two_grounds(e: Edit, also: str = "") -> None:
    """The second one is meant where it is recoloured alike, the extras name it or it is new; else the first one."""
    names = [m["name"] for m in Editable(e.out / LAND).json["materials"]]
    both = next(n for n in names if "+" in n and {*n.split("+")} <= {*names})
    first, _, second = both.partition("+")
    if also == "new":
        e.rename(LAND, both, both := f"{first}+mud")
    e.material(LAND, both, PURPLE)
    if also == "extras":
        e.material(LAND, both, lambda material: material["extras"]["msh"].update(material=second))
    elif also == "the second":
        e.material(LAND, second, PURPLE)
    e.back("-v", *["--own-materials"] * (not also))


CASES: dict[str, Callable[[Edit], object]] = {
    "nothing": resaved,
    "a colour": lambda e: (e.material(ONE, "armour", PURPLE), e.back("--require-all")),
    "emission, alpha and mode": emission_alpha_mode,
    "what a definition cannot hold": polished,
    "a picture inside a model": repainted,
    "the original file again": original_again,
    "alike, and otherwise": alike_and_otherwise,
    "a picture of the run": picture_of_the_run,
    "a picture without alpha": lambda e: without_alpha(e, 1),
    "a larger picture without alpha": lambda e: without_alpha(e, 2),
    "pictures of other names": strays,
    "a library that changed": changed_since,
    "a single file": single_edited,
    "a single file of new ones": single_new,
    "called as another": called_as_another,
    "renamed": renamed,
    "renamed, bare": lambda e: renamed(e, bare=True),
    "renamed and recoloured": lambda e: renamed(e, paint=PURPLE),
    "another picture": another_picture,
    "new with a picture": new_with_a_picture,
    "like another": like_another,
    "pictures of one name": pictures_of_one_name,
    "a name of the game": name_of_the_game,
    "two of one name": two_of_one_name,
    "a second model, blue": lambda e: second_model(e, BLUE),
    "a second model, glowing": lambda e: second_model(e, lambda m: m.update(emissiveFactor=[1, 0, 0])),
    "a second model, translucent": lambda e: second_model(e, translucent),
    "a second model, plain": lambda e: second_model(e, None),
    "a second model, alike": lambda e: second_model(e, RED),
    "a second edit": second_edit,
    "materials of its own": own_materials,
    "a new model": new_model,
    "one that the game lacks": lacking,
    "what a new one cannot hold": new_polished,
    **{
        f"two grounds {also}".strip(): lambda e, a=also: of_two_grounds(e, a)
        for also in ("", "the second", "extras", "new")
    },
}


def found(name: str, made: Path, folder: Path) -> str:
    edit = Edit(made, folder)
    CASES[name](edit)
    return "; ".join(edit.said)


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, made: Path, tmp_path: Path) -> None:
    FOUND.require(name, found(name, made, tmp_path))


def test_in_place_keeps_the_original(made: Path, tmp_path: Path) -> None:
    edit = Edit(made, tmp_path)
    game = shutil.copytree(edit.game, tmp_path / "GAME2")
    edit.material(ONE, "armour", RED)
    assert run("gltf2msh", edit.out, "--game", game, "--in-place").returncode == 0
    now, before = snapshot(game), snapshot(edit.game)
    assert originals(game) == {"Material.lib": (edit.game / "Material.lib").read_bytes()}
    assert {name for name in now if now[name] != before[name]} == {"Material.lib"}
    again = run("gltf2msh", edit.out, "--game", game, "--in-place")
    assert "nothing went into" in again.stdout, again.stderr


if __name__ == "__main__":
    with TemporaryDirectory() as whole:
        made_once = make(Path(whole))
        FOUND.write_each(CASES, lambda name, folder: found(name, made_once, folder))
