"""A robot that a script makes in real Blender is in the game after one command, with its materials and pictures."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.texture import read_texm
from tests.blender.trials import differing
from tests.docs.materials import EXAMPLES, example_game
from tests.support.blender import blender
from tests.support.gltf_edit import Editable
from tests.support.runs import call, run


def test_a_robot_from_nothing(tmp_path: Path) -> None:
    """Materials, textures, hierarchy, clip, control point; the gallery shows it with its pictures.

    Whoever has no Blender takes the file that the repository keeps of it.
    """
    out, new, again = (tmp_path / name for name in ("out", "new", "again"))
    assert call(cli.msh2gltf, example_game(), "-o", out, "-q", "--include", "static.rlb") == 0
    blender(EXAMPLES / "blender/robot.py", out / "static.rlb/my_robot.glb")
    shutil.copy(EXAMPLES / "edits/my_robot.glb", out / "static.rlb/kept.glb")
    done = run("gltf2msh", out, "--game", example_game(), "-o", new, "--add", "--require-all")
    assert done.returncode == 0, done.stdout + done.stderr
    added = [f"{name}.{end}" for name in ("kept", "my_robot") for end in ("cpt", "msh", "wea")]
    assert differing(example_game(), new) == [
        "Material.lib (MY_PLATE, MY_STEEL)",
        "Textures.lib (MY_PLATE.0, MY_STEEL.0)",
        f"static.rlb ({', '.join(added)})",
    ]
    static, textures = (read_nres((new / name).read_bytes(), "x") for name in ("static.rlb", "Textures.lib"))
    kept, mine = (
        [static.entries[static.find(f"{name}.{end}") or 0].payload for end in ("cpt", "msh", "wea")]
        for name in ("kept", "my_robot")
    )
    assert mine == kept
    texm = read_texm(textures.entries[textures.find("MY_PLATE.0") or 0].payload, "x")
    assert (texm.width, texm.height, texm.format, len(texm.levels)) == (64, 64, 888, 7)
    checked = run("msh-inspect", "--check", "--strict", new)
    assert checked.returncode == 0, checked.stdout
    drawn = ["--thumbnails"] if find_spec("vtkmodules") else []  # the preview extra
    assert call(cli.msh2gltf, new, "-o", again, "-q", "--include", "*my_robot*", *drawn) == 0
    view = Editable(again / "static.rlb/my_robot.glb").json
    assert [node["name"] for node in view["nodes"]][:3] == ["hull", "head", "gun"]
    assert "Muzzle.point" in {node["name"] for node in view["nodes"]}
    assert view["animations"]
    assert {image["name"] for image in view["images"]} == {"MY_PLATE.0", "MY_STEEL.0"}
    for thumbnail in again.rglob("gallery/**/*my_robot*.png"):
        with Image.open(thumbnail) as image:
            red, green, blue, _ = np.asarray(image.convert("RGBA"), int).reshape(-1, 4).T
        assert ((red > 100) & (2 * green < red) & (2 * blue < red)).sum() > 500, "no red stripes"
        assert ((red > 100) & (2 * green > red) & (2 * blue < green)).sum() > 500, "no yellow stripes"
