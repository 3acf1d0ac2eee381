"""Textures against recorded pixels and a scalar reference; hostile headers are refused."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import Archive, read_nres
from msh_gltf.converter.formats.texture import FORMATS, WRITABLE_FORMATS, new_texm, read_texm, write_texm
from tests.support.corpus import CORPUS, LIBS

BYTES = {0: 1, 565: 2, 556: 2, 4444: 2, 88: 2, 888: 4, 8888: 4}


def libraries() -> list[tuple[str, list[Path], Path]]:
    out = [("bundled", [LIBS / "Textures.lib", LIBS / "lightmap.lib"], LIBS / "textures.npz")]
    for truth in sorted(Path(CORPUS).glob("*/truth/textures.npz")) if CORPUS else ():
        game = truth.parents[1] / "game"
        out.append((game.parent.name, [game / "Textures.lib", game / "lightmap.lib"], truth))
    return out


every_library = pytest.mark.parametrize(
    ("paths", "truth"), [case[1:] for case in libraries()], ids=[case[0] for case in libraries()]
)


def load(path: Path) -> Archive:
    return read_nres(read_file(path), path.name)


def pixel(data: bytes, at: int, kind: int, palette: bytes) -> tuple[int, ...]:
    """One stored pixel, by the bits' names and in floating point."""

    def scaled(bits: str) -> int:
        return int(int(bits, 2) * 255 / (2 ** len(bits) - 1) + 0.5)

    if kind == 0:
        blue, green, red = palette[4 * data[at] : 4 * data[at] + 3]
        return red, green, blue, 255
    if kind in (888, 8888):
        blue, green, red, alpha = data[at : at + 4]
        return red, green, blue, alpha if kind == 8888 else 255
    if kind == 88:
        return data[at], data[at], data[at], data[at + 1]
    bits = f"{data[at + 1]:08b}{data[at]:08b}"
    if kind == 4444:
        return scaled(bits[4:8]), scaled(bits[8:12]), scaled(bits[12:]), scaled(bits[:4])
    border = 11 if kind == 565 else 10
    return scaled(bits[:5]), scaled(bits[5:border]), scaled(bits[border:]), 255


def sizes(width: int, height: int, mips: int) -> list[tuple[int, int]]:
    out = []
    for _ in range(mips):
        out.append((height, width))
        width, height = width // 2 or 1, height // 2 or 1
    return out


@st.composite
def textures(draw: st.DrawFn) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a texture with anything in its free words, and what they mean."""
    kind = draw(st.sampled_from(sorted(BYTES)))
    width, height = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    mips = draw(st.integers(1, max(width, height).bit_length()))
    words = draw(st.tuples(*[st.integers(0, 2**32 - 1)] * 3))
    shapes = sizes(width, height, mips)
    count = BYTES[kind] * sum(h * w for h, w in shapes)
    random = np.random.default_rng(draw(st.integers(0, 99)))
    palette = random.bytes(1024) if kind == 0 else b""
    pixels = random.bytes(count)
    data = struct.pack("<4s7I", b"Texm", width, height, mips, *words, kind) + palette + pixels
    rects = draw(st.none() | st.lists(st.tuples(*[st.integers(0, 65535)] * 4), max_size=3))
    if rects is not None:
        data += b"Page" + struct.pack("<I", len(rects))
        data += b"".join(struct.pack("<4H", *rect) for rect in rects)
    tail = draw(st.sampled_from([b"", b"\0", b"tail", b"Page", b"Page\xff\xff\xff\xff\0\0\0\0"]))
    if rects is None and not tail.startswith(b"Page"):
        tail = draw(st.sampled_from([b"", tail, b"page\0\0\0\0"]))
    facts = {
        "kind": kind,
        "shapes": shapes,
        "palette": palette,
        "pixels": pixels,
        "words": words,
        "rects": rects,
        "tail": tail,
    }
    return data + tail, facts


@every_library
def test_pixels_equal_the_truth_and_bytes_come_back(paths: list[Path], truth: Path) -> None:
    formats, pages, seen = set(), 0, 0
    with np.load(truth) as recorded:
        for path in paths:
            for entry in load(path).entries:
                texm = read_texm(entry.payload, entry.name)
                np.testing.assert_array_equal(texm.rgba(), recorded[f"{path.name}::{entry.name}"])
                assert write_texm(texm) == entry.payload
                assert texm.trailing == b"", "header, levels and Page are all there is"
                if len(texm.pages):
                    pages += 1
                    covered = np.zeros((texm.height, texm.width), bool)
                    for left, top, width, height in texm.rectangles:
                        covered[top : top + height, left : left + width] = True
                    assert covered.all()
                formats.add(texm.format)
                seen += 1
        assert seen == len(recorded.files)
    assert pages
    assert formats == set(BYTES) - {88}


@every_library
def test_header_words_are_as_new_textures_get_them(paths: list[Path], truth: Path) -> None:
    """word16, flags, the word at 24 and the smallest level, as :func:`new_texm` has them."""
    smallest = set()
    for path in paths:
        for entry in load(path).entries:
            texm = read_texm(entry.payload, entry.name)
            mips = len(texm.levels)
            made = new_texm(texm.rgba(), 8888, None if mips > 1 else 1)
            for word in ("word16", "flags", "opaque24", "magic", "width", "height"):
                assert made.header[word] == texm.header[word], word
            assert mips <= len(new_texm(texm.rgba(), 8888).levels)
            smallest.add(min(texm.levels[-1].shape))
            if texm.format in (888, 8888) and mips == 1:
                again = write_texm(new_texm(texm.rgba(), texm.format, 1))
                assert again == entry.payload[: len(again)]
    assert min(smallest) == 1


@given(textures())
def test_made_textures(made: tuple[bytes, dict[str, Any]]) -> None:
    data, facts = made
    texm = read_texm(data, "x")
    assert write_texm(texm) == data
    kind, at = facts["kind"], 0
    assert texm.format == kind
    assert texm.has_alpha == (kind in (4444, 88, 8888))
    assert (texm.height, texm.width) == facts["shapes"][0]
    words = tuple(int(texm.header[k][0]) for k in ("word16", "flags", "opaque24"))
    assert words == facts["words"]
    assert texm.pages.tolist() == (facts["rects"] or [])
    assert (texm.rects is None) == (facts["rects"] is None)
    assert texm.trailing == facts["tail"]
    assert len(texm.levels) == len(facts["shapes"])
    for level, (rows, across) in enumerate(facts["shapes"]):
        rgba = texm.rgba(level)
        assert rgba.dtype == np.uint8
        expected = []
        for _ in range(rows * across):
            expected.append(pixel(facts["pixels"], at, kind, facts["palette"]))
            at += BYTES[kind]
        np.testing.assert_array_equal(rgba.reshape(-1, 4), expected)
        assert rgba.shape == (rows, across, 4)
    with pytest.raises(IndexError):
        texm.rgba(len(texm.levels))


@pytest.mark.parametrize("kind", [565, 556, 4444])
def test_every_word_of_16_bits(kind: int) -> None:
    """All words: expanded as the reference does, and packed into the same word again."""
    pixels = np.arange(65536, dtype="<u2").tobytes()
    data = struct.pack("<4s7I", b"Texm", 256, 256, 1, 0, 0, 0, kind) + pixels
    rgba = read_texm(data, "x").rgba()
    for at in range(0, 65536, 97):
        assert tuple(rgba[at // 256, at % 256]) == pixel(pixels, 2 * at, kind, b"")
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


HUGE = 2**32 - 1


def test_every_format_of_the_page_is_read() -> None:
    assert set(FORMATS) == set(BYTES)
    assert {kind: dtype.itemsize for kind, (dtype, _) in FORMATS.items()} == BYTES
