"""Pictures of any kind become textures; how their pixels are stored is recorded in ``formats/written.txt``."""

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.formats.texture import PAGE_DTYPE, new_texm, read_texm, with_pages_of
from tests.support.runs import call, run


def test_other_kinds_of_png(tmp_path: Path) -> None:
    """Palettes with transparency, and shades of grey."""
    pixels = np.random.default_rng(0).integers(0, 256, (4, 8, 3), np.uint8)
    grey, palette = Image.fromarray(pixels[..., 0]), Image.fromarray(pixels).quantize(7)
    clear = palette.copy()
    clear.info["transparency"] = 3
    for i, picture in enumerate((grey, palette, clear, grey.convert("LA"), grey.convert("1"))):
        picture.save(tmp_path / f"{i}.png")
        assert call(cli.gltf2msh, tmp_path / f"{i}.png", "-o", tmp_path / f"{i}.0", "-q") == 0
        made = read_texm((tmp_path / f"{i}.0").read_bytes(), "x").rgba()
        np.testing.assert_array_equal(made, np.asarray(picture.convert("RGBA")))
        assert (made[..., 3] == 0).any() == (picture is clear)


def test_rectangles_beyond_16_bits_do_not_wrap() -> None:
    old = new_texm(np.zeros((2, 2, 4), np.uint8), 565)
    rects = np.array([(40000, 1, 0, 2)], PAGE_DTYPE)
    new = new_texm(np.zeros((4, 4, 4), np.uint8), 565)
    assert with_pages_of(new, replace(old, rects=rects)) is None


def deep(colour: int, channels: int) -> bytes:
    """A PNG of 4 x 4 pixels with 16 bits a channel."""
    head = struct.pack(">IIBBBBB", 4, 4, 16, colour, 0, 0, 0)
    rows = zlib.compress(bytes(1 + 8 * channels) * 4)
    chunks = [(b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def test_sixteen_bits_a_channel_are_refused(tmp_path: Path) -> None:
    for colour, channels in ((0, 1), (2, 3), (6, 4)):
        (tmp_path / "wall.png").write_bytes(deep(colour, channels))
        out = run("gltf2msh", "wall.png", cwd=tmp_path)
        assert (out.returncode, "picture has 16 bits a channel" in out.stderr) == (2, True)
