"""Materials as the game shows them, pictures beside the glTF, lightmaps, silhouettes, and the ground of terrains."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import MANIFEST, cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.appearance import Appearance, Picture
from msh_gltf.converter.storage import VAULT
from msh_gltf.exporters.gltf import export_gltf
from tests.support.blender import needs_blender, round_trip
from tests.support.corpus import LIBS, SAMPLES, sample_called
from tests.support.game import MESH, archive, entry
from tests.support.gltf_view import GltfView
from tests.support.maps import level_called
from tests.support.runs import call, run

LIT = sample_called("retail__system__R_H_002")
LIBRARIES = ("Material.lib", "Textures.lib", "lightmap.lib")
GROUNDS = [f"LND_0{i}" for i in range(9)]


def make_game(folder: Path) -> Path:
    """The libraries, a lit model on its own and one in a folder below."""
    game = folder / "game"
    (game / "models").mkdir(parents=True)
    for name in LIBRARIES:
        shutil.copy(LIBS / name, game / name)
    for suffix in (".msh", ".wea"):
        shutil.copy(LIT.path.with_suffix(suffix), game / f"lit{suffix}")
        room = sample_called("retail__static__i_room_006").path.with_suffix(suffix)
        shutil.copy(room, game / "models" / f"room{suffix}")
    return game


@pytest.fixture
def game(tmp_path: Path) -> Path:
    return make_game(tmp_path)


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


def require_as_recorded(view: GltfView, materials: dict[str, Any]) -> int:
    """Compare every named material with what was recorded of it; return how many have a texture."""
    textured, pixels = 0, truth()
    for made in view["materials"]:
        about, surface = made["extras"]["msh"], made["pbrMetallicRoughness"]
        if "material" not in about:
            continue  # a row without a name
        known = materials.get(made["name"].casefold(), materials["default"])
        expected = [*linear(known["diffuse"]), known["alpha"] / 100]
        np.testing.assert_allclose(surface["baseColorFactor"], expected, atol=1e-6)
        np.testing.assert_allclose(made.get("emissiveFactor", [0, 0, 0]), linear(known["ambient"]), atol=1e-6)
        assert made.get("alphaMode", "OPAQUE") == ("BLEND" if known["flags"] in (4, 8) else "OPAQUE")
        assert (about["phases"], "additive" in about) == (known["phases"], known["flags"] == 8)
        key = f"textures.lib::{known['texture']}".casefold()
        assert ("baseColorTexture" in surface) == (key in pixels)
        if key in pixels:
            texture = view["textures"][surface["baseColorTexture"]["index"]]
            np.testing.assert_array_equal(picture(view, view["images"][texture["source"]]), pixels[key])
            textured += 1
    return textured


def test_materials_are_as_recorded(tmp_path: Path) -> None:
    """Of every model whose materials the bundled libraries have, or show as DEFAULT."""
    recorded = json.loads((LIBS / "materials.json").read_text("utf-8"))["materials"]
    materials = {name.casefold(): about for name, about in recorded.items()}
    names = [sample.path for sample in SAMPLES if sample.entry is None and sample.dialect == "spec"]
    views = [export(path, tmp_path / f"{path.stem}.glb", "--textures", LIBS) for path in names]
    assert sum(require_as_recorded(view, materials) for view in views) > len(views)


def truth() -> dict[str, np.ndarray]:
    with np.load(LIBS / "textures.npz") as file:
        return {key.casefold(): file[key] for key in file}


def images_of(target: Path) -> list[Path]:
    """Where the pictures beside a glTF lie."""
    view = GltfView(target)
    return [target.parent / unquote(image["uri"]) for image in view["images"]]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file but a manifest, whose id is random, and what a vault keeps."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.is_file() and path.name != MANIFEST and VAULT not in path.parts
    }


def change_texture(game: Path, name: str, at: int = -1) -> None:
    """Another byte in the pixels of a texture of the game."""
    library = read_nres(read_file(game / "Textures.lib"), "")
    index = library.find(name)
    assert index is not None
    data = bytearray(library.entries[index].payload)
    data[at] ^= 0xFF
    (game / "Textures.lib").write_bytes(write_nres(replace_entry(library, index, bytes(data))))


def test_an_archive_called_textures(game: Path, tmp_path: Path) -> None:
    """Its folder does not meet that of the pictures."""
    (game / "textures").write_bytes(archive([entry(MESH, b"lit.msh", LIT.source)]))
    out = tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    assert (out / "textures~2/lit.glb").is_file()
    assert not list((out / "textures").rglob("*.glb"))


def break_textures(game: Path) -> None:
    library = read_nres(read_file(game / "Textures.lib"), "")
    for index in range(len(library.entries)):
        library = replace_entry(library, index, b"Texm, not really")
    (game / "Textures.lib").write_bytes(write_nres(library))


def rename_a_material(game: Path) -> None:
    wear = (game / "lit.wea").read_bytes()
    name = wear.split()[2]
    (game / "lit.wea").write_bytes(wear.replace(name, b"Nothing_9"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (break_textures, "shown without it"),
        (rename_a_material, "has no material 'Nothing_9': 'DEFAULT' is shown"),
        (lambda game: (game / "Textures.lib").unlink(), "no Textures.lib in"),
        (lambda game: (game / "Material.lib").unlink(), "no Material.lib in"),
        (lambda game: (game / "lightmap.lib").unlink(), "no lightmap.lib in"),
        (lambda game: (game / "Material.lib").write_bytes(b"junk"), "Material.lib"),
    ],
)
def test_broken_links_are_warnings(change: Callable[[Path], object], said: str, game: Path, tmp_path: Path) -> None:
    """Models are shown without what is not there, alone and in a run."""
    change(game)
    result = run("msh2gltf", game / "lit.msh", "--game", game, "-o", tmp_path / "lit.glb")
    assert result.returncode == 0
    assert said in result.stderr
    assert run("msh2gltf", game, "-o", tmp_path / "out").returncode == 0


def test_a_single_gltf_has_its_pictures_beside(game: Path, tmp_path: Path) -> None:
    target = tmp_path / "there" / "lit.gltf"
    target.parent.mkdir()
    export(game / "lit.msh", target)
    for path in images_of(target):
        assert path.parent in (target.parent / "textures", target.parent / "textures/lightmaps")
        assert path.is_file()
    assert import_gltf(target).data == LIT.source
    # another model in the same folder shares them; an edited one is not lost unasked
    room = ("msh2gltf", game / "models/room.msh", "--game", game, "-o", target.parent / "room.gltf")
    assert run(*room).returncode == 0
    edited = next(p for p in images_of(target) if p in images_of(target.parent / "room.gltf"))
    Image.new("RGB", (4, 4), "red").save(edited)
    for path in target.parent.glob("room.*"):
        path.unlink()
    refused = run(*room)
    assert refused.returncode == 2
    assert f"{edited}: output exists already" in refused.stderr
    inside = tmp_path / "inside.gltf"
    export(game / "lit.msh", inside, "--embed-textures")
    assert not (tmp_path / "textures").exists()
    assert all("bufferView" in image for image in GltfView(inside)["images"])


def lit_materials(view: GltfView) -> list[dict[str, Any]]:
    return [m for m in view["materials"] if m["extras"]["msh"]["lightmap"] != 255]


def test_lightmaps(game: Path, tmp_path: Path) -> None:
    """Emission through the second UV set, with the material's own light as its factor."""
    target = tmp_path / "lit.glb"
    view = export(game / "lit.msh", target)
    lit = lit_materials(view)
    assert lit
    names = LIT.truth["lightmaps"]
    for made in lit:
        emission = made["emissiveTexture"]
        assert emission["texCoord"] == 1
        about = made["extras"]["msh"]
        name = names[about["lightmap"]][1]
        assert about["light"].casefold() == name.casefold()
        shown = picture(view, view["images"][view["textures"][emission["index"]]["source"]])
        np.testing.assert_array_equal(shown, truth()[f"lightmap.lib::{name}".casefold()])
        assert any(made["emissiveFactor"])
    off = export(game / "lit.msh", target, "--lightmaps", "off")
    for made in lit_materials(off):
        assert "texCoord" not in made.get("emissiveTexture", {})
        assert "light" not in made["extras"]["msh"]


def written(**changes: Any) -> dict[str, Any]:
    """A material of a model whose every row has one look and one picture."""
    alpha = changes.pop("alpha_values", [255, 255, 255, 255])
    loaded = load_file(LIT.path, None, ExportOptions(textures=(str(LIBS),)))
    assert loaded.appearance is not None
    pixels = np.full((2, 2, 4), 128, np.uint8)
    pixels[..., 3] = np.reshape(alpha, (2, 2))
    plain = next(iter(loaded.appearance.materials.values()))
    look = dataclasses.replace(
        plain, texture="T", colour=(0.5, 1.0, 0.25, 1.0), self_light=(0, 0, 0), translucent=False, additive=False
    )
    look = dataclasses.replace(look, **changes)
    drawn = Picture("T", "", "1", lambda: pixels)
    lights = {0: Picture("L", "", "2", lambda: pixels)} if changes.get("phases") == 7 else {}
    appearance = Appearance(dict.fromkeys(range(256), look), {"T": drawn}, lights)
    made = export_gltf(loaded.scene, ExportOptions(), appearance=appearance).json["materials"]
    return next(m for m in made if m["extras"]["msh"]["lightmap"] != 255)


@pytest.mark.parametrize(
    ("alpha", "changes", "mode"),
    [
        ([0, 255, 0, 255], {}, None),
        ([255] * 4, {"translucent": True}, "BLEND"),
        ([0, 255, 0, 255], {"translucent": True}, "MASK"),
        ([0, 255, 9, 255], {"translucent": True}, "BLEND"),
        ([0] * 4, {"translucent": True}, "BLEND"),
        ([0, 255, 0, 255], {"translucent": True, "colour": (1, 1, 1, 0.5)}, "BLEND"),
        ([0, 255, 0, 255], {"translucent": True, "additive": True}, "BLEND"),
    ],
)
def test_how_alpha_is_drawn(alpha: list[int], changes: dict[str, Any], mode: str | None) -> None:
    made = written(alpha_values=alpha, **changes)
    assert made.get("alphaMode") == mode
    assert made.get("emissiveFactor") == ([0.2140411, 1.0, 0.0508761] if "additive" in changes else None)
    assert made["extras"]["msh"].get("additive") == (1 if "additive" in changes else None)


def test_own_light_of_what_adds_is_kept() -> None:
    made = written(self_light=(0.5, 0.25, 0), additive=True, translucent=True)
    assert made["emissiveFactor"] == [0.2140411, 0.0508761, 0]


def test_light_without_own_light_has_the_surface_colour() -> None:
    made = written(phases=7)
    factor = [((c * 128 / 255 + 0.055) / 1.055) ** 2.4 for c in (0.5, 1.0, 0.25)]
    np.testing.assert_allclose(made["emissiveFactor"], factor, atol=1e-6)
    assert made["emissiveTexture"]["texCoord"] == 1


def make_land(game: Path) -> Path:
    """A level in the game, and a Material.lib whose grounds have textures."""
    folder = game / "DATA/MAPS/Tut_1"
    shutil.copytree(level_called("mixed__tut_1").folder, folder)
    library = read_nres(read_file(game / "Material.lib"), "")
    textures = [e.name for e in read_nres(read_file(game / "Textures.lib"), "").entries]
    for number, name in enumerate(GROUNDS):
        index = library.find(name)
        assert index is not None
        data = bytearray(library.entries[index].payload)
        data[14 + 18 : 14 + 34] = textures[number].encode().ljust(16, b"\0")
        library = replace_entry(library, index, bytes(data))
    (game / "Material.lib").write_bytes(write_nres(library))
    return folder / "Land.msh"


@pytest.fixture
def land(game: Path) -> Path:
    return make_land(game)


def test_the_ground_shows_its_textures(land: Path, game: Path, tmp_path: Path) -> None:
    target = tmp_path / "Land.glb"
    view, recorded = export(land, target, "--game", game), truth()
    level = level_called("mixed__tut_1")
    names = [name for _, name in level.facts("terrain")["materials1"]]
    textures = [e.name for e in read_nres(read_file(game / "Textures.lib"), "").entries]
    by_ground = dict(zip(GROUNDS, textures, strict=False))
    fine, blend = level.terrain["level"] == 0, level.terrain["weight"]
    pairs = 0
    for made in view["materials"]:
        about = made["extras"]["msh"]
        first, second = names[about["first"]], about["second"]
        assert about["material"].casefold() == first.casefold()
        if first not in by_ground:
            continue
        texture = made["pbrMetallicRoughness"]["baseColorTexture"]["index"]
        shown = picture(view, view["images"][view["textures"][texture]["source"]])
        one = recorded[f"textures.lib::{by_ground[first]}".casefold()]
        if second == 255 or names[second] not in by_ground:
            np.testing.assert_array_equal(shown, one)
            continue
        rows = fine & (level.terrain["mat1"] == about["first"]) & (level.terrain["mat2"] == second)
        if not rows.any():
            continue
        pairs += 1
        other = recorded[f"textures.lib::{by_ground[names[second]]}".casefold()]
        share = blend[level.terrain["face"][rows]].mean()
        mean = [picture[..., :3].reshape(-1, 3).mean(0) for picture in (one, other)]
        expected = mean[0] * (1 - share) + mean[1] * share
        np.testing.assert_allclose(shown[..., :3].reshape(-1, 3).mean(0), expected, atol=4)
        assert shown.shape[:2] == tuple(np.maximum(one.shape[:2], other.shape[:2]))
    assert pairs
    assert import_gltf(target).data == land.read_bytes()


@needs_blender
def test_through_blender(land: Path, game: Path, tmp_path: Path) -> None:
    """Pictures beside the glTF, lightmaps and grounds do not disturb the import."""
    out = tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    terrain = next(p for p in out.rglob("Land.glb") if GltfView(p).info["kind"] == "terrain")
    room = sample_called("retail__static__i_room_006").source
    sources = {out / "lit.glb": LIT.source, out / "models/room.glb": room, terrain: land.read_bytes()}
    round_trip(tmp_path, *sources)
    for kind in ("plain", "extras"):
        for glb, source in sources.items():
            back = import_gltf(tmp_path / kind / glb.name, glb.with_suffix(".msh-sidecar"))
            assert back.data == source


def test_pictures_that_were_saved_unchanged(game: Path, tmp_path: Path) -> None:
    """Another PNG of the same pixels is no edit; a removed one neither."""
    out, new = tmp_path / "out", tmp_path / "new"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    pictures = sorted((out / "textures").rglob("*.png"))
    for path in pictures[1:]:
        with Image.open(path) as old:
            pixels = old.convert("RGBA")
        pixels.save(path, compress_level=1)
    pictures[0].unlink()
    assert call(cli.gltf2msh, out, "--game", game, "-o", new, "-q") == 0
    assert snapshot(new) == snapshot(game)


def test_a_texture_that_changed_in_the_game(game: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    painted = next(path for path in (out / "textures").rglob("*.png") if path.stem.casefold() == "tex_012.0")
    with Image.open(painted) as old:
        Image.new("RGB", old.size, (200, 16, 99)).save(painted)
    change_texture(game, painted.stem)
    result = run("gltf2msh", out, "--game", game, "-o", tmp_path / "new")
    assert result.returncode == 1
    assert "has changed since it was converted" in result.stdout
    forced = run("gltf2msh", out, "--game", game, "-o", tmp_path / "forced", "--force")
    assert forced.returncode == 0
    assert "1 texture went into" in forced.stdout
