"""Materials as the game shows them, against recorded truth: pictures, lightmaps and the ground of terrains.

What comes of looks, of options and of games that lack something stands in ``pictures.txt``.
"""

import dataclasses
import json
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.appearance import Appearance, Picture
from msh_gltf.exporters.gltf import export_gltf
from tests.support.blender import needs_blender, round_trip
from tests.support.corpus import LIBS, SAMPLES, sample_called
from tests.support.game import MESH, archive, entry
from tests.support.gltf_view import GltfView
from tests.support.maps import level_called
from tests.support.recorded import Recorded, digest, shown
from tests.support.runs import call, run

PICTURES = Recorded(__file__, "pictures.txt")
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
    return np.asarray(Image.open(BytesIO(view.picture(image))).convert("RGBA"))


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


def test_lightmaps(game: Path, tmp_path: Path) -> None:
    """Emission through the second UV set, with the material's own light as its factor."""
    view, seen = export(game / "lit.msh", tmp_path / "lit.glb"), 0
    for made in view["materials"]:
        about = made["extras"]["msh"]
        if about["lightmap"] == 255:
            continue
        emission, name = made["emissiveTexture"], LIT.truth["lightmaps"][about["lightmap"]][1]
        assert (emission["texCoord"], about["light"].casefold()) == (1, name.casefold())
        shown = picture(view, view["images"][view["textures"][emission["index"]]["source"]])
        np.testing.assert_array_equal(shown, truth()[f"lightmap.lib::{name}".casefold()])
        assert any(made["emissiveFactor"])
        seen += 1
    assert seen


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


# ------------------------------------------------------------------ what else comes of it


def said(result: CompletedProcess, game: Path, out: Path) -> str:
    """What a command says, and digests of what it leaves in a folder but for sidecars and manifests."""
    files = sorted(path for path in out.rglob("*.*") if path.suffix in (".glb", ".gltf", ".png"))
    made = [f"{path.relative_to(out).as_posix()} {about(path)}" for path in files]
    return "; ".join([str(result.returncode), *result.stderr.replace(f"{game.parent}/", "").splitlines(), *made])


def about(path: Path) -> str:
    if path.suffix != ".gltf":
        return shown(path)
    document = json.loads(path.read_text("utf-8"))
    return digest(json.dumps({key: document[key] for key in document if key not in ("asset", "buffers")}).encode())


def broken(change: Callable[[Path], object]) -> Callable[[Path], str]:
    """Models are shown without what is not there, alone and in a run."""

    def found(game: Path) -> str:
        change(game)
        alone, whole = game.parent / "alone", game.parent / "whole"
        result = run("msh2gltf", game / "lit.msh", "--game", game, "-o", alone / "lit.glb")
        return f"{said(result, game, alone)}; in a run {run('msh2gltf', game, '-o', whole).returncode}"

    return found


def break_textures(game: Path) -> None:
    library = read_nres(read_file(game / "Textures.lib"), "")
    for index in range(len(library.entries)):
        library = replace_entry(library, index, b"Texm, not really")
    (game / "Textures.lib").write_bytes(write_nres(library))


def rename_a_material(game: Path) -> None:
    wear = (game / "lit.wea").read_bytes()
    (game / "lit.wea").write_bytes(wear.replace(wear.split()[2], b"Nothing_9"))


def beside(*options: str) -> Callable[[Path], str]:
    """Pictures lie beside a .gltf, where another model finds them; one that was edited is not lost unasked."""

    def found(game: Path) -> str:
        out, lines = game.parent / "out", []
        for model, edited in (("lit", ""), ("models/room", ""), ("models/room", "textures/*.png")):
            for path in [*out.glob(edited or "none"), *out.glob("room.*")]:
                Image.new("RGB", (4, 4), "red").save(path) if path.suffix == ".png" else path.unlink()
            target = out / f"{Path(model).name}.gltf"
            result = run("msh2gltf", game / f"{model}.msh", "--game", game, "-o", target, *options)
            lines.append(said(result, game, out))
        assert import_gltf(out / "lit.gltf").data == LIT.source
        return " / ".join(lines)

    return found


def an_archive_called_textures(game: Path) -> str:
    """Its folder does not meet that of the pictures."""
    (game / "textures").write_bytes(archive([entry(MESH, b"lit.msh", LIT.source)]))
    out = game.parent / "out"
    return said(run("msh2gltf", game, "-o", out, "-q"), game, out)


def the_ground(game: Path) -> str:
    """Pairs of grounds are mixed by the mean share of the second."""
    land, out = make_land(game), game.parent / "out"
    result = run("msh2gltf", land, "--game", game, "-o", out / "Land.glb")
    assert import_gltf(out / "Land.glb").data == land.read_bytes()
    return said(result, game, out)


def looks(alpha: tuple[int, ...], **changes: Any) -> Callable[[Path], str]:
    """A material of a model whose every row has one look, and one picture of this alpha."""

    def found(_: Path) -> str:
        loaded = load_file(LIT.path, None, ExportOptions(textures=(str(LIBS),)))
        pixels = np.full((2, 2, 4), 128, np.uint8)
        pixels[..., 3] = np.reshape(alpha, (2, 2))
        first = next(iter(loaded.appearance.materials.values()))
        look = dataclasses.replace(first, **{"texture": "T", **SOLID, **changes})
        lights = {0: Picture("L", "", "2", lambda: pixels)} if changes.get("phases") == 7 else {}
        appearance = Appearance(dict.fromkeys(range(256), look), {"T": Picture("T", "", "1", lambda: pixels)}, lights)
        made = export_gltf(loaded.scene, ExportOptions(), appearance=appearance).json["materials"]
        one = next(m for m in made if m["extras"]["msh"]["lightmap"] != 255)
        shown = {
            key: one[key] for key in ("alphaMode", "alphaCutoff", "emissiveFactor", "emissiveTexture") if key in one
        }
        return f"{shown}, additive {one['extras']['msh'].get('additive')}"

    return found


SOLID = {"colour": (0.5, 1.0, 0.25, 1.0), "self_light": (0, 0, 0), "translucent": False, "additive": False}
FULL, HOLES, NEARLY = (255,) * 4, (0, 255, 0, 255), (0, 255, 9, 255)
ROWS: dict[str, Callable[[Path], str]] = {
    "beside": beside(),
    "inside": beside("--embed-textures"),
    "lightmaps off": beside("--lightmaps", "off"),
    "an archive called textures": an_archive_called_textures,
    "textures that are broken": broken(break_textures),
    "a material that no library has": broken(rename_a_material),
    **{f"no {name}": broken(lambda game, name=name: (game / name).unlink()) for name in LIBRARIES},
    "Material.lib is no archive": broken(lambda game: (game / "Material.lib").write_bytes(b"junk")),
    "grounds": the_ground,
    "alpha, solid": looks(FULL),
    "alpha, holes that are not asked for": looks(HOLES),
    "alpha, translucent": looks(FULL, translucent=True),
    "alpha, holes": looks(HOLES, translucent=True),
    "alpha, nearly holes": looks(NEARLY, translucent=True),
    "alpha, nothing": looks((0,) * 4, translucent=True),
    "alpha, half a colour with holes": looks(HOLES, translucent=True, colour=(1, 1, 1, 0.5)),
    "alpha, added to what is behind": looks(HOLES, translucent=True, additive=True),
    "alpha, added, with light of its own": looks(FULL, translucent=True, additive=True, self_light=(0.5, 0.25, 0)),
    "a lightmap, without light of its own": looks(FULL, phases=7),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_comes_of_it(name: str, game: Path) -> None:
    PICTURES.require(name, ROWS[name](game))


if __name__ == "__main__":
    PICTURES.write_each(ROWS, lambda name, folder: ROWS[name](make_game(folder)))
