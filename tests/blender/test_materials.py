"""Materials and textures edited in real Blender arrive in the game, and nothing else changes."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.texture import read_texm
from msh_gltf.converter.formats.wear import read_wear_names
from tests.docs.materials import EXAMPLES, example_game
from tests.support.blender import blender
from tests.support.gltf_edit import Editable
from tests.support.runs import call, run

HERE = Path(__file__).parent
TURRET = "turrets.rlb/e_tur_01.glb"
LIBRARIES = ("turrets.rlb", "Material.lib", "Textures.lib")
#: Edit -> entries that differ, by archive.
EDITS: dict[str, dict[str, list[str]]] = {
    "nothing": {},
    "recolour": {"Material.lib": ["glow"]},
    "repaint": {"Textures.lib": ["joint.0"]},
    "new": {"turrets.rlb": ["e_tur_01.msh", "e_tur_01.wea"], "Material.lib": ["brass"], "Textures.lib": ["BRASS.0"]},
    "rename": {"turrets.rlb": ["e_tur_01.wea"], "Material.lib": ["rust"]},
    "reassign": {"turrets.rlb": ["e_tur_01.msh"]},
    "delete": {"turrets.rlb": ["e_tur_01.msh"]},
    "another_image": {"Material.lib": ["glass"], "Textures.lib": ["PANE.0"]},
}


def read_png(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGBA"))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("materials") / "out"
    assert call(cli.msh2gltf, example_game(), "-o", folder, "-q") == 0
    return folder


def differing(new: Path) -> dict[str, list[str]]:
    """Entries that are new or another one; every other file of the game is as it was."""
    found: dict[str, list[str]] = {}
    for path in (path for path in example_game().rglob("*") if path.is_file()):
        before, after = path.read_bytes(), (new / path.relative_to(example_game())).read_bytes()
        if before == after:
            continue
        old, now = (
            {e.name: (bytes(e.payload), e.attr1, e.attr2) for e in read_nres(data, "x").entries}
            for data in (before, after)
        )
        assert old.keys() <= now.keys()
        found[path.name] = sorted(name for name in now if now[name] != old.get(name))
    return found


def shown(folder: Path, model: str) -> dict[str, tuple[Any, ...]]:
    """Materials on faces of the default scene: colour, emission, the name of the picture."""
    json = Editable(folder / model).json
    used = {p["material"] for mesh in json["meshes"] for p in mesh["primitives"]}
    out = {}
    for material in (json["materials"][i] for i in sorted(used)):
        surface = material["pbrMetallicRoughness"]
        texture = surface.get("baseColorTexture")
        image = json["images"][json["textures"][texture["index"]]["source"]] if texture else {}
        look = (surface.get("baseColorFactor"), material.get("emissiveFactor"), image.get("name"))
        out[material["name"]] = look
    return out


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_materials_arrives(edit: str, out: Path, tmp_path: Path) -> None:
    blender("edit_materials.py", out / TURRET, tmp_path, edit)
    for kind in ("extras", "plain"):
        work, new = tmp_path / f"out_{kind}", tmp_path / f"new_{kind}"
        shutil.copytree(out, work)
        shutil.copy(tmp_path / f"{edit}-{kind}.glb", work / TURRET)
        done = run("gltf2msh", work, "--game", example_game(), "-o", new, "--require-all")
        assert done.returncode == 0, (kind, done.stdout + done.stderr)
        assert differing(new) == EDITS[edit], (kind, done.stdout)
        checked = run("msh-inspect", "--check", "--strict", new)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        again = tmp_path / f"again_{kind}"
        assert call(cli.msh2gltf, new, "-o", again, "-q") == 0
        before, after = shown(out, TURRET), shown(again, TURRET)
        if edit == "recolour":
            assert (before["glow"][1] is None, after["glow"][1]) == (False, None)
        elif edit == "new":
            assert after["brass"][2] == "BRASS.0"
            assert read_png(again / "textures/BRASS.0.png").shape == (32, 32, 4)
        elif edit == "rename":
            assert after["rust"] == before["armour"]
        elif edit == "delete":
            assert set(before) - set(after) == {"glass"}
        elif edit == "another_image":
            assert after["glass"][2] == "PANE.0"
        elif edit == "repaint":
            old, now = (read_png(root / "textures/joint.0.png") for root in (out, again))
            assert np.argwhere((old != now).any(2)).tolist() == [[len(old) - 1, 0]]


def test_a_robot_from_nothing_is_in_the_game_after_one_command(tmp_path: Path) -> None:
    """Materials, textures, hierarchy, clip, control point; the gallery shows it with its pictures.

    Whoever has no Blender takes the file that the repository keeps of it.
    """
    out, new, again = (tmp_path / name for name in ("out", "new", "again"))
    arguments = (example_game(), "-o", out, "-q", "--include", "static.rlb")
    assert call(cli.msh2gltf, *arguments) == 0
    blender(EXAMPLES / "blender/robot.py", out / "static.rlb/my_robot.glb")
    shutil.copy(EXAMPLES / "edits/my_robot.glb", out / "static.rlb/kept.glb")
    done = run("gltf2msh", out, "--game", example_game(), "-o", new, "--add", "--require-all")
    assert done.returncode == 0, done.stdout + done.stderr
    endings = ("msh", "wea", "cpt")
    assert differing(new) == {
        "static.rlb": sorted(f"{name}.{end}" for name in ("kept", "my_robot") for end in endings),
        "Material.lib": ["MY_PLATE", "MY_STEEL"],
        "Textures.lib": ["MY_PLATE.0", "MY_STEEL.0"],
    }
    archive = read_nres((new / "static.rlb").read_bytes(), "x")
    for ending in endings:
        mine, kept = (archive.entries[archive.find(f"{n}.{ending}") or 0] for n in ("my_robot", "kept"))
        assert mine.payload == kept.payload, ending
    names = read_wear_names(archive.entries[archive.find("my_robot.wea") or 0].payload)
    assert sorted(names) == ["MY_PLATE", "MY_STEEL"]
    textures = read_nres((new / "Textures.lib").read_bytes(), "x")
    texm = read_texm(textures.entries[textures.find("MY_PLATE.0") or 0].payload, "x")
    assert (texm.width, texm.height, texm.format, len(texm.levels)) == (64, 64, 888, 7)
    checked = run("msh-inspect", "--check", "--strict", new)
    assert checked.returncode == 0, checked.stdout
    assert call(cli.msh2gltf, new, "-o", again, "-q") == 0
    view = Editable(again / "static.rlb/my_robot.glb").json
    assert [node["name"] for node in view["nodes"]][:3] == ["hull", "head", "gun"]
    assert {node["name"] for node in view["nodes"]} >= {"Muzzle.point"}
    assert view["animations"]
    looks = shown(again, "static.rlb/my_robot.glb")
    assert {look[2] for look in looks.values()} == {"MY_PLATE.0", "MY_STEEL.0"}


def test_the_gallery_shows_a_new_robot_with_its_pictures(tmp_path: Path) -> None:
    pytest.importorskip("vtk", reason="no VTK (the preview extra)")
    out, new, again = (tmp_path / name for name in ("out", "new", "again"))
    arguments = (example_game(), "-o", out, "-q", "--include", "static.rlb")
    assert call(cli.msh2gltf, *arguments) == 0
    shutil.copy(EXAMPLES / "edits/my_robot.glb", out / "static.rlb/my_robot.glb")
    arguments = (out, "--game", example_game(), "-o", new, "--add", "-q")
    assert call(cli.gltf2msh, *arguments) == 0
    done = run("msh2gltf", new, "-o", again, "--thumbnails", "--include", "*my_robot*")
    assert done.returncode == 0, done.stdout + done.stderr
    (thumbnail,) = again.rglob("*my_robot*.png")
    red, green, blue, _ = read_png(thumbnail).reshape(-1, 4).astype(int).T
    assert ((red > 100) & (2 * green < red) & (2 * blue < red)).sum() > 500, "no red stripes"
    assert ((red > 100) & (2 * green > red) & (2 * blue < green)).sum() > 500, "no yellow stripes"
