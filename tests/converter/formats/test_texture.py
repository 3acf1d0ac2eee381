"""Textures: words of 16 bits, smaller levels, and painted pixels, which arrive within the format's precision."""

import struct
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.texture import (
    FORMATS,
    TEXM_HEADER_DTYPE,
    WRITABLE_FORMATS,
    Texm,
    _fewer,
    new_texm,
    read_texm,
    repainted,
    write_texm,
)
from tests.converter.formats.files import entries_of

#: Largest error of a channel, by format; 255 = it is not stored.
PRECISION = {
    0: (0, 0, 0, 255),
    565: (4, 2, 4, 255),
    556: (4, 4, 2, 255),
    4444: (9, 9, 9, 9),
    888: (0, 0, 0, 255),
    8888: (0, 0, 0, 0),
}
TEXTURES = [read_texm(data, name) for name, data in entries_of("Textures.lib", "lightmap.lib")().items()]


def pixel(word: int, kind: int) -> tuple[int, ...]:
    """One stored word, by the bits' names and in floating point."""

    def scaled(bits: str) -> int:
        return int(int(bits, 2) * 255 / (2 ** len(bits) - 1) + 0.5)

    bits = f"{word:016b}"
    if kind == 4444:
        return scaled(bits[4:8]), scaled(bits[8:12]), scaled(bits[12:]), scaled(bits[:4])
    border = 11 if kind == 565 else 10
    return scaled(bits[:5]), scaled(bits[5:border]), scaled(bits[border:]), 255


@pytest.mark.parametrize("kind", [565, 556, 4444])
def test_every_word_of_16_bits(kind: int) -> None:
    """All words: expanded as the reference does, and packed into the same word again."""
    pixels = np.arange(65536, dtype="<u2").tobytes()
    data = struct.pack("<4s7I", b"Texm", 256, 256, 1, 0, 0, 0, kind) + pixels
    rgba = read_texm(data, "x").rgba()
    for at in range(0, 65536, 97):
        assert tuple(rgba[at // 256, at % 256]) == pixel(at, kind)
    assert write_texm(new_texm(rgba, kind, levels=1)) == data


@pytest.mark.parametrize("kind", WRITABLE_FORMATS)
def test_smaller_levels_are_means_of_blocks(kind: int) -> None:
    rgba = np.random.default_rng(3).integers(0, 256, (8, 4, 4)).astype(np.uint8)
    texm = new_texm(rgba, kind)
    assert texm.header["word16"] == 32
    for level in range(1, 3):
        side = 2**level
        means = np.zeros((8 // side, 4 // side, 4), np.uint8)
        for row, column, channel in np.ndindex(means.shape):
            block = rgba[row * side : row * side + side, column * side : column * side + side]
            means[row, column, channel] = int(block[..., channel].astype(float).mean() + 0.5)
        expected = new_texm(means, kind, levels=1)
        np.testing.assert_array_equal(texm.rgba(level), expected.rgba())
    assert len(texm.levels) == 3


@pytest.mark.parametrize(
    ("shape", "kind", "problem"),
    [
        ((4, 6, 4), 8888, "sides of a texture must be powers of two: 6 x 4"),
        ((3, 4, 4), 565, "sides of a texture must be powers of two: 4 x 3"),
        ((0, 4, 4), 565, "sides of a texture must be powers of two: 4 x 0"),
        ((4, 4, 4), 0, "textures of this format cannot be made: 0"),
        ((4, 4, 4), 88, "textures of this format cannot be made: 88"),
    ],
)
def test_pictures_that_cannot_be_textures(shape: tuple[int, ...], kind: int, problem: str) -> None:
    with pytest.raises(ConversionError) as caught:
        new_texm(np.zeros(shape, np.uint8), kind, label="wall.png")
    assert str(caught.value).startswith("wall.png, ")
    assert problem in str(caught.value)


def test_other_arrays_are_a_programs_error() -> None:
    for wrong in (np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4)), np.zeros((4, 4, 4), float)):
        with pytest.raises(ValueError, match="not uint8"):
            new_texm(wrong, 8888)


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
