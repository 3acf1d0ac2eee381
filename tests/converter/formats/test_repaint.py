"""Painted pixels arrive within the format's precision; everything else keeps its bytes."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.formats.texture import (
    FORMATS,
    TEXM_HEADER_DTYPE,
    Texm,
    _fewer,
    new_texm,
    read_texm,
    repainted,
    write_texm,
)
from msh_gltf.converter.kinds.open_files import open_nres
from tests.converter.formats.test_texture import libraries

#: Largest error of a channel, by format; 255 = it is not stored.
PRECISION = {
    0: (0, 0, 0, 255),
    565: (4, 2, 4, 255),
    556: (4, 4, 2, 255),
    4444: (9, 9, 9, 9),
    888: (0, 0, 0, 255),
    8888: (0, 0, 0, 0),
}


def every_texture() -> list[Texm]:
    return [
        read_texm(entry.payload, f"{path.parent}: {entry.name}")
        for _, paths, _ in libraries()
        for path in paths
        for entry in open_nres(path, str(path)).entries
    ]


TEXTURES = every_texture()


def words(texm: Texm) -> np.ndarray:
    return np.frombuffer(write_texm(texm), np.uint8)


def test_the_formats_of_the_game_are_here() -> None:
    assert {texm.format for texm in TEXTURES} == set(PRECISION)


@pytest.mark.parametrize("texm", TEXTURES, ids=lambda texm: Path(texm.label).name)
def test_one_pixel(texm: Texm) -> None:
    rgba = texm.rgba().copy()
    assert (words(repainted(texm, rgba)) == words(texm)).all()
    y, x = texm.height // 2, texm.width // 3
    rgba[y, x, :3] = rgba[y, x, :3] ^ 0x80
    if texm.has_alpha:
        rgba[y, x, 3] ^= 0x40
    new = repainted(texm, rgba)
    again = read_texm(write_texm(new), "again")
    apart = np.abs(again.rgba().astype(int) - rgba)
    assert (apart[y, x] <= PRECISION[texm.format]).all()
    apart[y, x] = 0
    assert not apart.any()
    assert (again.header.tobytes(), again.trailing) == (texm.header.tobytes(), texm.trailing)
    assert again.pages.tobytes() == texm.pages.tobytes()
    for i, (level, before) in enumerate(zip(again.levels, texm.levels, strict=True)):
        differing = np.argwhere(level != before).tolist()
        assert differing in ([], [[y >> i, x >> i]])
    changed = np.count_nonzero(words(new) != words(texm))
    assert 0 < changed <= len(texm.levels) * FORMATS[texm.format][0].itemsize + 3


@pytest.mark.parametrize("format", [565, 556, 4444, 88, 888, 8888])
def test_all_pixels_make_what_a_new_texture_has(format: int) -> None:
    rng = np.random.default_rng(format)
    old, rgba = (rng.integers(0, 256, (16, 8, 4), np.uint8) for _ in range(2))
    if format == 88:
        old[..., 1:3], rgba[..., 1:3] = old[..., :1], rgba[..., :1]
    expected = made(rgba, format)
    assert write_texm(repainted(made(old, format), rgba)) == write_texm(expected)


def made(rgba: np.ndarray, format: int) -> Texm:
    """A texture of any format without a palette, level by level."""
    levels = new_texm(rgba, 8888)
    texm = new_texm(rgba, format if format != 88 else 4444)
    texm.header["format"] = format
    if format == 88:
        texm.levels[:] = [
            (shown[..., 0].astype("<u2") | shown[..., 3].astype("<u2") << 8)
            for shown in map(levels.rgba, range(len(levels.levels)))
        ]
    return texm


def indexed(colours: int) -> Texm:
    """32 x 32 pixels of some colours, in one level."""
    header = np.zeros(1, TEXM_HEADER_DTYPE)
    header["magic"] = np.void(b"Texm")
    header["width"] = header["height"] = 32
    header["mips"] = 1
    palette = (np.arange(256, dtype="<u4") * 0x010201) | 0xAB000000
    pixels = (np.arange(1024) % colours).astype(np.uint8).reshape(32, 32)
    return Texm("indexed", header, palette, [pixels])


def test_new_colours_take_free_places_of_a_palette() -> None:
    old = indexed(200)
    rgba = old.rgba().copy()
    rgba[0, :32, :3] = np.stack([np.arange(32) * 8, np.full(32, 3), np.arange(32)], 1)
    new = repainted(old, rgba)
    assert (new.rgba() == rgba).all()
    assert new.palette is not None
    assert old.palette is not None
    assert (new.palette[:200] == old.palette[:200]).all()
    assert ((new.palette & 0xFF000000) == 0xAB000000).all()
    assert (new.levels[0][1:] == old.levels[0][1:]).all()


@pytest.mark.parametrize("colours", [250, 256])
def test_colours_without_a_place_become_near_ones(colours: int) -> None:
    old = indexed(colours)
    rgba = old.rgba().copy()
    rgba[0, :, :3] = [(i * 8, 255 - i * 8, 128) for i in range(32)]
    new = repainted(old, rgba)
    assert (new.levels[0][1:] == old.levels[0][1:]).all()
    shown = new.rgba()
    assert (shown[1:] == rgba[1:]).all()
    palette = np.stack([new.palette >> s & 255 for s in (16, 8, 0)], 1).astype(int)
    for x in range(32):
        apart = ((palette - rgba[0, x, :3]) ** 2).sum(1)
        assert ((shown[0, x, :3].astype(int) - rgba[0, x, :3]) ** 2).sum() == apart.min()


def test_alpha_that_is_not_stored_changes_nothing() -> None:
    old = new_texm(np.full((4, 4, 4), 255, np.uint8), 888)
    rgba = old.rgba().copy()
    rgba[..., 3] = 7
    assert write_texm(repainted(old, rgba)) == write_texm(old)


def test_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="is not the texture's"):
        repainted(indexed(3), np.zeros((4, 4, 4), np.uint8))


def test_few_colours_stand_for_themselves() -> None:
    pixels = np.array([[255, 0, 0, 9], [0, 0, 255, 9], [0, 128, 0, 9]] * 5, np.uint8)
    assert _fewer(pixels, 3).tolist() == [0x0000FF, 0x008000, 0xFF0000]
    assert _fewer(pixels, 0).tolist() == []
