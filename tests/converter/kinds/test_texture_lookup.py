"""Every chain from a WEAR row to a picture leads where the recorded truth says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.files import Later
from msh_gltf.converter.formats.material import LIGHTMAPS, TEXTURES
from msh_gltf.converter.kinds.appearance import Libraries, with_libraries_around
from tests.support.corpus import CORPUS, LIBS
from tests.support.runs import require


def test_missing_libraries(tmp_path: Path) -> None:
    """Nothing there: a grey look, and one warning that names the places tried."""
    libraries = Libraries([tmp_path, tmp_path / "nowhere"])
    look = libraries.material("Metal_002")
    assert (look.step, look.material, look.texture) == ("missing", "", "")
    assert libraries.find(TEXTURES, "TEX_000.0") is None
    assert libraries.material("other").colour == look.colour
    assert len(libraries.warnings) == 2
    assert f"no Material.lib in {tmp_path}, {tmp_path / 'nowhere'}" in libraries.warnings[0]


def test_unknown_names_and_case(tmp_path: Path) -> None:
    for name in ("Material.lib", "Textures.lib"):
        (tmp_path / name.upper()).write_bytes((LIBS / name).read_bytes())
    libraries = Libraries([tmp_path])
    assert libraries.material("mEtAl_002").step == "name"
    look = libraries.material("of no library")
    assert look.step == "DEFAULT"
    assert look.material == "DEFAULT"
    assert libraries.find(TEXTURES, look.texture.lower()) is not None
    assert libraries.find(TEXTURES, "no such") is None
    libraries.material("of no library")
    assert len(libraries.warnings) == 2
    assert "has no material 'of no library': 'DEFAULT' is shown" in libraries.warnings[0]
    assert "has no texture 'no such'" in libraries.warnings[1]


def test_libraries_beside_what_is_converted_are_looked_in_too(tmp_path: Path) -> None:
    """After those that the user named, and before those of the game around it."""
    own = tmp_path / "game" / "level"
    own.mkdir(parents=True)
    (own / "Textures.lib").write_bytes((LIBS / "Textures.lib").read_bytes())
    assert with_libraries_around(own, []) == []
    assert with_libraries_around(own, [LIBS]) == [LIBS, own]
    (own.parent / "Material.lib").write_bytes((LIBS / "Material.lib").read_bytes())
    assert with_libraries_around(own, []) == [own.parent]
    assert with_libraries_around(own, [LIBS]) == [LIBS, own, own.parent]
    assert with_libraries_around(own.parent, [LIBS]) == [LIBS, own.parent]


def test_a_texture_is_read_once() -> None:
    libraries = Libraries([LIBS])
    library = libraries.library(TEXTURES)
    assert library is not None
    entry, reads = library.entries[0], []
    stored = entry.__dict__["_payload"]
    assert isinstance(stored, Later)

    def read(start: int, count: int) -> memoryview | bytes:
        reads.append(count)
        return stored.read(start, count)

    entry.__dict__["_payload"] = Later(stored.size, read)
    assert libraries.picture(TEXTURES, entry.name) is not None
    assert libraries.picture(TEXTURES, entry.name) is not None
    assert reads == [stored.size]


@pytest.mark.parametrize("name", ["spec", "retail", "mixed"])
def test_whole_games(name: str) -> None:
    require(CORPUS, "no corpus: MSH_GLTF_CORPUS names no folder of whole games")
    game = Path(str(CORPUS)) / name
    facts: dict[str, Any] = json.loads((game / "truth/manifest.json").read_text("utf-8"))
    with np.load(game / "truth/textures.npz") as file:
        pixels = {key.casefold(): file[key] for key in file}
    libraries = Libraries([game / "game"])
    known = {key.casefold(): value for key, value in facts["materials"].items()}
    shown = 0
    for model in [*facts["models"], facts["loose_model"]]:
        truth = json.loads((game / "truth" / model["truth"]).with_suffix(".json").read_text("utf-8"))
        for _, row in truth["wear"]:
            look = libraries.material(row)
            expected = known.get(row.casefold(), known["default"])
            assert look.step == ("name" if row.casefold() in known else "DEFAULT")
            assert look.colour[:3] == tuple(v / 255 for v in expected["diffuse"])
            assert look.colour[3] == expected["alpha"] / 100
            assert look.self_light == tuple(v / 255 for v in expected["ambient"])
            assert look.texture.casefold() == expected["texture"].casefold()
            assert look.phases == expected["phases"]
            assert look.translucent == (expected["flags"] in (4, 8))
            assert look.additive == (expected["flags"] == 8)
            texture = libraries.find(TEXTURES, look.texture)
            if texture is None:
                assert f"textures.lib::{look.texture}".casefold() not in pixels
                continue
            shown += 1
            expected_pixels = pixels[f"textures.lib::{look.texture}".casefold()]
            np.testing.assert_array_equal(texture[1].rgba(), expected_pixels)
        for _, row in truth["lightmaps"]:
            lightmap = libraries.find(LIGHTMAPS, row)
            assert lightmap is not None
            expected_pixels = pixels[f"lightmap.lib::{row}".casefold()]
            np.testing.assert_array_equal(lightmap[1].rgba(), expected_pixels)
    assert shown
