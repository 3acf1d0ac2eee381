"""Edited colours and pictures arrive in the game's libraries, and nothing else does."""

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.texture import read_texm
from tests.support.game import snapshot
from tests.support.gltf_edit import Editable
from tests.support.runs import run
from tests.support.vault import originals

ROOT = Path(__file__).resolve().parents[3]
TURRETS = ("turrets.rlb/e_tur_01.glb", "turrets.rlb/e_tur_02.glb")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    script = [sys.executable, ROOT / "examples/make_game.py", folder / "GAME"]
    subprocess.run(script, check=True, capture_output=True)
    assert run("msh2gltf", folder / "GAME", "-o", folder / "out", "-q").returncode == 0
    return folder


class Edit:
    """A game, its glTF, and what comes of edits of it."""

    def __init__(self, made: Path, folder: Path) -> None:
        self.game, self.out, self.new = made / "GAME", folder / "out", folder / "NEW"
        shutil.copytree(made / "out", self.out)

    def material(self, model: str, name: str, edit: Callable[[Json], None]) -> None:
        path = self.out / model
        document = Editable(path)
        for material in document.json["materials"]:
            if material["name"] == name:
                edit(material)
        document.save(path)

    def repaint(self, model: str, name: str, colour: tuple[int, int, int]) -> None:
        """Paint the first pixel, in a picture inside the file, as Blender leaves it."""
        path = self.out / model
        document = Editable(path)
        names = (name, name.rpartition(".")[0])
        image = next(i for i in document.json["images"] if i["name"] in names)
        pixels = np.asarray(Image.open(self.out / f"textures/{name}.png").convert("RGBA")).copy()
        pixels[0, 0, :3] = colour
        image["uri"] = "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
        image["name"] = names[1]
        document.save(path)

    def back(self, *options: str) -> tuple[str, set[str]]:
        """What is printed, and the files that differ."""
        shutil.rmtree(self.new, ignore_errors=True)
        done = run("gltf2msh", self.out, "--game", self.game, "-o", self.new, *options)
        before, after = snapshot(self.game), snapshot(self.new) if self.new.is_dir() else {}
        self.code = done.returncode
        return done.stdout + done.stderr, {name for name in after if after[name] != before[name]}

    def differing(self, library: str) -> list[str]:
        """Names of the entries that differ."""
        before, after = (read_nres(read_file(root / library), library) for root in (self.game, self.new))
        pairs = zip(before.entries, after.entries, strict=True)
        return [a.name for a, b in pairs if (a.payload, a.attr1) != (b.payload, b.attr1)]

    def entry(self, library: str, name: str, *, old: bool = False) -> Any:
        archive = read_nres(read_file((self.game if old else self.new) / library), library)
        index = archive.find(name)
        assert index is not None
        return archive.entries[index]


def png(pixels: np.ndarray) -> bytes:
    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=1)
    return out.getvalue()


@pytest.fixture
def edit(made: Path, tmp_path: Path) -> Edit:
    return Edit(made, tmp_path)


def colour(*factor: float) -> Callable[[Json], None]:
    return lambda m: m["pbrMetallicRoughness"].update(baseColorFactor=list(factor))


def test_nothing_changes_without_an_edit(edit: Edit) -> None:
    for model in TURRETS:
        edit.material(model, "none of these", lambda _: None)
    text, files = edit.back("--require-all")
    assert (files, edit.code) == (set(), 0), text


def test_a_colour_changes_three_bytes_of_one_definition(edit: Edit) -> None:
    edit.material(TURRETS[0], "armour", colour(0.2140411, 0, 1, 1))
    text, files = edit.back("--require-all")
    assert files == {"Material.lib"}, text
    assert edit.differing("Material.lib") == ["armour"]
    old, new = (edit.entry("Material.lib", "armour", old=old) for old in (True, False))
    apart = np.flatnonzero(np.frombuffer(old.payload, "u1") != np.frombuffer(new.payload, "u1"))
    assert set(apart) <= {18, 19, 20}
    assert read_material(new, "").phases["diffuse"][0, :3].tolist() == [127, 0, 255]
    assert "armour of Material.lib is used by" in text
    assert "1 material went into" in text


def test_emission_alpha_and_draw_mode(edit: Edit) -> None:
    def change(material: Json) -> None:
        material["pbrMetallicRoughness"]["baseColorFactor"][3] = 0.25
        material["alphaMode"] = "BLEND"

    edit.material(TURRETS[0], "joint", change)
    edit.material(TURRETS[0], "glow", lambda m: m.update(emissiveFactor=[1, 0, 0]))
    text, files = edit.back("--require-all")
    assert files == {"Material.lib"}, text
    assert set(edit.differing("Material.lib")) == {"joint", "glow"}
    joint = read_material(edit.entry("Material.lib", "joint"), "")
    assert (joint.kind, joint.alpha) == (4, 0.25)
    glow = read_material(edit.entry("Material.lib", "glow"), "")
    assert glow.self_light == (1, 0, 0)
    assert glow.alpha == read_material(edit.entry("Material.lib", "glow", old=True), "").alpha


def test_what_a_definition_cannot_hold_is_reported(edit: Edit) -> None:
    def polish(material: Json) -> None:
        material["pbrMetallicRoughness"] |= {"metallicFactor": 0.5}
        material["extensions"] = {"KHR_materials_transmission": {"transmissionFactor": 1}}

    edit.material(TURRETS[0], "armour", polish)
    text, files = edit.back()
    assert files == set()
    assert "material 'armour': metallic 0 became 0.5, extensions none became KHR_mat" in text
    assert "materials of the game have no such value" in text
    text, files = edit.back("--require-all")
    assert (edit.code, files) == (1, set())


def test_a_picture_inside_a_model_is_one_entry(edit: Edit) -> None:
    edit.repaint(TURRETS[0], "armour.0", (255, 0, 0))
    text, files = edit.back("--require-all")
    assert files == {"Textures.lib"}, text
    assert edit.differing("Textures.lib") == ["armour.0"]
    old, new = (read_texm(edit.entry("Textures.lib", "armour.0", old=old).payload, "") for old in (True, False))
    assert np.argwhere((old.rgba() != new.rgba()).any(2)).tolist() == [[0, 0]]
    assert new.rgba()[0, 0].tolist() == [255, 0, 0, 255]
    assert new.header.tobytes() == old.header.tobytes()


def test_the_original_file_gives_the_original_library(edit: Edit, made: Path) -> None:
    edit.repaint(TURRETS[0], "armour.0", (255, 0, 0))
    edit.material(TURRETS[0], "armour", colour(0, 0, 0, 1))
    assert edit.back()[1] == {"Textures.lib", "Material.lib"}
    shutil.copy(made / "out" / TURRETS[0], edit.out / TURRETS[0])
    assert edit.back()[1] == set()


def test_equal_edits_are_one_and_different_ones_none(edit: Edit) -> None:
    for model in TURRETS:
        edit.repaint(model, "armour.0", (255, 0, 0))
        edit.material(model, "joint", colour(1, 0, 0, 1))
    edit.material(TURRETS[1], "armour", colour(0, 1, 0, 1))
    text, files = edit.back("--require-all")
    assert edit.differing("Textures.lib") == ["armour.0"], text
    assert set(edit.differing("Material.lib")) == {"joint", "armour"}
    edit.repaint(TURRETS[1], "armour.0", (0, 255, 0))
    edit.material(TURRETS[0], "armour", colour(0, 0, 1, 1))
    text, files = edit.back()
    assert edit.differing("Material.lib") == ["joint"]
    assert files == {"Material.lib"}
    for model in ("e_tur_01", "e_tur_02"):
        for lines in ("changes armour.0 of Textures.lib", "changes armour of Material.lib"):
            assert f"turrets.rlb::{model}.msh {lines} in another way" in text


def test_a_picture_of_the_run_counts_too(edit: Edit) -> None:
    edit.repaint(TURRETS[0], "armour.0", (255, 0, 0))
    picture = edit.out / "textures/armour.0.png"
    pixels = np.asarray(Image.open(picture).convert("RGBA")).copy()
    pixels[0, 0, :3] = (255, 0, 0)
    picture.write_bytes(png(pixels))
    assert edit.back("--require-all")[1] == {"Textures.lib"}
    pixels[0, 0, :3] = (255, 9, 0)
    picture.write_bytes(png(pixels))
    text, files = edit.back()
    assert files == set()
    assert "its picture in out changes armour.0 of Textures.lib in another way" in text


@pytest.mark.parametrize("factor", [1, 2])
def test_a_picture_of_the_run_without_its_alpha_is_reported(edit: Edit, factor: int) -> None:
    picture = edit.out / "textures/leaf.0.png"
    pixels = np.asarray(Image.open(picture).convert("RGB")).repeat(factor, 0).repeat(factor, 1)
    picture.write_bytes(png(pixels))
    text, files = edit.back("--require-all")
    assert files == {"Textures.lib"}
    words = " ".join(text.split())
    assert "leaf.0 had alpha (format 4444), and the picture has none: what was clear" in words
    text, _ = edit.back("--require-all", "--keep-alpha", "--force")
    assert "had alpha" not in text


def test_pictures_that_nothing_reads_are_named_with_the_name_that_counts(edit: Edit, tmp_path: Path) -> None:
    folder = edit.out / "textures"
    strays = {
        "armour.png": "save it as textures/armour.0.png (a PNG) to change that texture",
        "armour.0 (1).png": "save it as textures/armour.0.png (a PNG) to change that texture",
        "armour.0.jpg": "save it as textures/armour.0.png (a PNG) to change that texture",
        "ARMOUR.0.PNG": "save it as textures/armour.0.png (a PNG) to change that texture",
        "sky of mine.tga": "gltf2msh sky of mine.png --into Textures.lib adds it",
    }
    for name in strays:
        shutil.copy(folder / "wall.0.png", folder / name)
    (folder / "armour.xcf").write_bytes(b"a painter's own file")
    report = tmp_path / "report.json"
    _, files = edit.back("--require-all", "--report", str(report))
    assert (edit.code, files) == (0, set())
    skipped = {row["id"]: row["reason"] for row in json.loads(report.read_text("utf-8"))["skipped"]}
    assert skipped == {f"textures/{name}": f"not a texture of this run; {do}" for name, do in strays.items()}


def test_libraries_that_changed_since_are_not_overwritten(edit: Edit, tmp_path: Path) -> None:
    edit.repaint(TURRETS[0], "armour.0", (255, 0, 0))
    edit.game = shutil.copytree(edit.game, tmp_path / "GAME2")
    other = tmp_path / "armour.png"
    other.write_bytes(png(np.full((32, 32, 4), 9, np.uint8)))
    assert run("gltf2msh", other, "--into", edit.game / "Textures.lib").returncode == 0
    text, files = edit.back()
    assert (edit.code, files) == (1, set())
    assert "has changed since it was converted" in text
    text, files = edit.back("--force")
    assert files == {"Textures.lib"}, text


def test_in_place_keeps_the_original(edit: Edit, tmp_path: Path) -> None:
    game = shutil.copytree(edit.game, tmp_path / "GAME2")
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    assert run("gltf2msh", edit.out, "--game", game, "--in-place").returncode == 0
    now, before = snapshot(game), snapshot(edit.game)
    assert originals(game) == {"Material.lib": (edit.game / "Material.lib").read_bytes()}
    assert {name for name in now if now[name] != before[name]} == {"Material.lib"}
    again = run("gltf2msh", edit.out, "--game", game, "--in-place")
    assert "nothing went into" in again.stdout, again.stderr


def test_a_single_file_gives_files_that_go_into_the_libraries(edit: Edit, tmp_path: Path) -> None:
    edit.repaint(TURRETS[0], "armour.0", (255, 0, 0))
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    one = tmp_path / "one"
    done = run("gltf2msh", edit.out / TURRETS[0], "-o", f"{one}/")
    assert done.returncode == 0
    assert {path.name for path in one.iterdir()} == {"e_tur_01.msh", "armour.0", "armour.mat0"}
    assert "armour.0 --into Textures.lib" in done.stderr
    shutil.copytree(edit.game, edit.new)
    for file, library in (("armour.0", "Textures.lib"), ("armour.mat0", "Material.lib")):
        assert run("gltf2msh", one / file, "--into", edit.new / library).returncode == 0
    assert edit.differing("Textures.lib") == ["armour.0"]
    assert edit.differing("Material.lib") == ["armour"]
    new = read_texm(edit.entry("Textures.lib", "armour.0").payload, "")
    old = read_texm(edit.entry("Textures.lib", "armour.0", old=True).payload, "")
    assert np.argwhere((old.rgba() != new.rgba()).any(2)).tolist() == [[0, 0]]
    assert (new.format, len(new.levels)) == (old.format, len(old.levels))


def test_a_renamed_material_does_not_colour_the_old_one(edit: Edit) -> None:
    def rename(material: Json) -> None:
        material["name"] = "joint"
        colour(0, 1, 0, 1)(material)

    edit.material(TURRETS[0], "armour", rename)
    assert "Material.lib" not in edit.back()[1]
