"""Pictures to textures and back, as files, through the commands."""

import shutil
import struct
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.files import only_run
from msh_gltf.converter.formats.nres import Archive, read_nres
from msh_gltf.converter.formats.texture import PAGE_DTYPE, new_texm, read_texm, with_pages_of
from tests.support.corpus import LIBS
from tests.support.runs import call, run

#: Bits of red, green, blue, alpha that a format stores; 0: alpha is lost.
BITS = {8888: (8, 8, 8, 8), 888: (8, 8, 8, 0), 565: (5, 6, 5, 0), 4444: (4, 4, 4, 4)}


def save(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels).save(path)
    return path


def noise(height: int, width: int, seed: int = 0, *, alpha: bool = True) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3 + alpha), np.uint8)


def shown(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGBA"))


def load(path: Path) -> Archive:
    return read_nres(path.read_bytes(), path.name)


@st.composite
def pictures(draw: st.DrawFn) -> np.ndarray:
    """Any pixels, mostly of few colours, some of them opaque."""
    height, width = 2 ** draw(st.integers(0, 5)), 2 ** draw(st.integers(0, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    palette = random.integers(0, 256, (draw(st.integers(1, 300)), 4), np.uint8)
    if draw(st.booleans()):
        palette[:, 3] = 255
    return palette[random.integers(0, len(palette), (height, width))]


@given(pixels=pictures(), format=st.sampled_from([None, *BITS]))
def test_pictures_come_back(pixels: np.ndarray, format: int | None) -> None:
    """PNG -> Texm -> PNG: exact by default and with 8888, within channel depth elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        source = save(Path(folder) / "wall.png", pixels)
        texture, back = Path(folder) / "wall.0", Path(folder) / "back.png"
        asked = () if format is None else ("--texm", format)
        assert call(cli.gltf2msh, source, "-o", texture, "-q", *asked) == 0
        assert call(cli.msh2gltf, texture, "-o", back, "-q") == 0
        made = read_texm(texture.read_bytes(), "wall.0")
        got = shown(back).astype(int)
    opaque = bool((pixels[..., 3] == 255).all())
    assert made.format == (format or (888 if opaque else 8888))
    if format in (None, 8888):
        np.testing.assert_array_equal(got, pixels)
        return
    for i, bits in enumerate(BITS[format]):
        if bits == 0:
            assert (got[..., i] == 255).all()
            continue
        # half a step of the channel, and the half that 8 bits round away
        step = 255 / (2**bits - 1)
        assert np.abs(got[..., i] - pixels[..., i].astype(int)).max() <= step / 2 + 0.5


def test_the_commands_show_the_recorded_pixels(tmp_path: Path) -> None:
    """Every format of the libraries, from the library's entry and from a loose file."""
    formats = set()
    with np.load(LIBS / "textures.npz") as recorded:
        for path in (LIBS / "Textures.lib", LIBS / "lightmap.lib"):
            for i, entry in enumerate(load(path).entries):
                target, loose = tmp_path / f"{i}.png", tmp_path / "loose.0"
                where = (path, "--entry", entry.name)
                assert call(cli.msh2gltf, *where, "-o", target, "-q", "--force") == 0
                pixels = recorded[f"{path.name}::{entry.name}"]
                np.testing.assert_array_equal(shown(target), pixels)
                loose.write_bytes(entry.payload)
                assert call(cli.msh2gltf, loose, "-o", target, "-q", "--force") == 0
                np.testing.assert_array_equal(shown(target), pixels)
                formats.add(read_texm(entry.payload, "x").format)
    assert formats == {0, 565, 556, 4444, 888, 8888}


def test_other_kinds_of_png(tmp_path: Path) -> None:
    """Palettes with transparency, and shades of grey."""
    grey = Image.fromarray(noise(4, 8)[..., 0])
    palette = Image.fromarray(noise(4, 8, alpha=False)).quantize(7)
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


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """Two that read the same library would lose one of two textures."""
    (tmp_path / "game").mkdir()
    library = Path(shutil.copyfile(LIBS / "Textures.lib", tmp_path / "game" / "Textures.lib"))
    source = save(tmp_path / "new.png", noise(4, 4))
    with only_run(library.parent):
        out = run("gltf2msh", source, "--into", library)
    assert (out.returncode, "another run is at work" in out.stderr) == (2, True)
    assert library.read_bytes() == (LIBS / "Textures.lib").read_bytes()


def deep(colour: int, channels: int) -> bytes:
    """A PNG of 4 x 4 pixels with 16 bits a channel."""
    head = struct.pack(">IIBBBBB", 4, 4, 16, colour, 0, 0, 0)
    rows = zlib.compress(bytes(1 + 8 * channels) * 4)
    chunks = [(b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


@pytest.mark.parametrize(("colour", "channels"), [(0, 1), (2, 3), (6, 4)])
def test_sixteen_bits_a_channel_are_refused(colour: int, channels: int, tmp_path: Path) -> None:
    (tmp_path / "wall.png").write_bytes(deep(colour, channels))
    out = run("gltf2msh", "wall.png", cwd=tmp_path)
    assert (out.returncode, "picture has 16 bits a channel" in out.stderr) == (2, True)
