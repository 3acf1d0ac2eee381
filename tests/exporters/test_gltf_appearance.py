"""Materials as the game shows them: colours, textures, translucency, in the glTF and back."""

import json
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.blender import blender, needs_blender
from tests.support.corpus import CORPUS, LIBS, sample_called
from tests.support.gltf_view import GltfView
from tests.support.runs import call, require, run
from tests.support.validator import issues

ROOM = sample_called("retail__static__i_room_006")


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """The libraries, and a model with its WEAR in a folder below."""
    game = tmp_path / "game"
    (game / "models").mkdir(parents=True)
    for name in ("Material.lib", "Textures.lib"):
        shutil.copy(LIBS / name, game / name)
    for suffix in (".msh", ".wea"):
        shutil.copy(ROOM.path.with_suffix(suffix), game / "models" / f"room{suffix}")
    return game


def export(source: Path, target: Path, *options: object) -> GltfView:
    assert call(cli.msh2gltf, source, "-o", target, "-q", "--force", *options) == 0
    return GltfView(target)


def picture(view: GltfView, image: dict[str, Any]) -> np.ndarray:
    where = view["bufferViews"][image["bufferView"]]
    raw = view.buffer[where["byteOffset"] : where["byteOffset"] + where["byteLength"]]
    return np.asarray(Image.open(BytesIO(raw)).convert("RGBA"))


def linear(values: list[int]) -> list[float]:
    """sRGB bytes as glTF has colours."""
    srgb = np.array(values) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4).tolist()


def check_materials(view: GltfView, materials: dict[str, Any], pixels: dict[str, np.ndarray]) -> int:
    """Every named material against the recorded truth; returns how many have a texture."""
    textured = 0
    for made in view["materials"]:
        about = made["extras"]["msh"]
        if "material" not in about:
            continue
        name = made["name"].casefold()
        truth = materials.get(name, materials["default"])
        if name not in materials:
            assert about["material"].casefold() == "default"
        surface = made["pbrMetallicRoughness"]
        expected = [*linear(truth["diffuse"]), truth["alpha"] / 100]
        np.testing.assert_allclose(surface["baseColorFactor"], expected, atol=1e-6)
        emissive = linear(truth["ambient"])
        np.testing.assert_allclose(made.get("emissiveFactor", [0, 0, 0]), emissive, atol=1e-6)
        assert made.get("alphaMode", "OPAQUE") == ("BLEND" if truth["flags"] in (4, 8) else "OPAQUE")
        assert about["phases"] == truth["phases"]
        assert ("additive" in about) == (truth["flags"] == 8)
        key = f"textures.lib::{truth['texture']}".casefold()
        if key in pixels:
            texture = view["textures"][surface["baseColorTexture"]["index"]]
            shown = picture(view, view["images"][texture["source"]])
            np.testing.assert_array_equal(shown, pixels[key])
            textured += 1
        else:
            assert "baseColorTexture" not in surface
    return textured


def truth_of(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    materials = json.loads((folder / "manifest.json").read_text("utf-8"))["materials"]
    with np.load(folder / "textures.npz") as file:
        pixels = {key.casefold(): file[key] for key in file}
    return {key.casefold(): value for key, value in materials.items()}, pixels


@pytest.mark.parametrize("name", ["spec", "retail", "mixed"])
def test_whole_games(name: str, tmp_path: Path) -> None:
    """Every model of a game with its textures embedded; and all of them back."""
    require(CORPUS, "no corpus: MSH_GLTF_CORPUS names no folder of whole games")
    root = Path(str(CORPUS)) / name
    out = tmp_path / "out"
    assert call(cli.msh2gltf, root / "game", "-o", out, "--embed-textures", "-q") == 0
    truth = truth_of(root / "truth")
    models = [p for p in out.rglob("*.glb") if not p.name.startswith("Land")]
    assert sum(check_materials(GltfView(p), *truth) for p in models) > len(models)
    arguments = ("--game", root / "game", "-o", tmp_path / "new", "-q")
    assert call(cli.gltf2msh, out, *arguments) == 0


def test_missing_links_are_warnings(game: Path, tmp_path: Path) -> None:
    (game / "Textures.lib").unlink()
    wear = game / "models/room.wea"
    wear.write_text(wear.read_text().replace("Metal_002", "Nothing_9"))
    target = tmp_path / "room.glb"
    result = run("msh2gltf", game / "models/room.msh", "--game", game, "-o", target)
    assert result.returncode == 0
    assert f"no Textures.lib in {game}, {game / 'models'}" in result.stderr
    assert "has no material 'Nothing_9': 'DEFAULT' is shown" in result.stderr
    (game / "Material.lib").unlink()
    result = run("msh2gltf", game / "models/room.msh", "--game", game, "-o", target, "--force")
    assert f"no Material.lib in {game}, {game / 'models'}" in result.stderr
    view = GltfView(target)
    assert len({str(m["pbrMetallicRoughness"]) for m in view["materials"]}) > 1
    wrong = run("msh2gltf", game / "models/room.msh", "--game", tmp_path / "none", "-o", target)
    assert wrong.returncode == 2
    assert "expected a directory with the game's libraries" in wrong.stderr


def test_way_back_and_validator(game: Path, tmp_path: Path) -> None:
    files = []
    for suffix in ("glb", "gltf"):
        target = tmp_path / f"room.{suffix}"
        export(game / "models/room.msh", target, "--game", game)
        assert import_gltf(target).data == ROOM.source
        files.append(target)
    assert issues(files) == {}


@needs_blender
def test_through_blender(game: Path, tmp_path: Path) -> None:
    export(game / "models/room.msh", tmp_path / "room.glb", "--game", game)
    blender("roundtrip.py", tmp_path, tmp_path / "room.glb")
    for kind in ("plain", "extras"):
        shown = GltfView(tmp_path / kind / "room.glb")
        assert shown.json["images"]
        back = import_gltf(tmp_path / kind / "room.glb", tmp_path / "room.msh-sidecar")
        assert back.data == ROOM.source
