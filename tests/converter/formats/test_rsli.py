"""RsLi libraries: the cipher, the packers, what is refused, and textures as PNG."""

import hashlib
import random
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from msh_gltf.converter.cli import msh2gltf, msh_inspect
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.rsli import decipher, read_rsli, unpack, with_contents
from tests.support import rsli as make
from tests.support.runs import call

METHODS = [0x000, 0x020, 0x040, 0x060, 0x080, 0x0A0, 0x100]


@pytest.mark.parametrize("seed", [0, 1, 0x733E, 0xFFFF])
def test_a_long_stream_repeats_as_the_cipher_does(seed: int) -> None:
    data = bytes(200_000)
    assert decipher(data, seed) == make.cipher(data, seed)


PARTS = st.lists(st.sampled_from([b"a", b"abc", b"\0", b" ", b"xyxyxyxyxyxyxyxyxyxyxyxyxy"])).map(b"".join)


@pytest.mark.parametrize("method", METHODS)
@given(PARTS, PARTS, st.sampled_from([None, 0, 7]))
def test_every_method_is_unpacked_and_packed(method: int, data: bytes, other: bytes, overlay: int | None) -> None:
    library = read_rsli(make.library([("ONE", data, method), ("TWO", b"2", 0)], overlay), "x.lib")
    assert [unpack(library, row) for row in (0, 1)] == [data, b"2"]
    made = with_contents(library, {0: other, 1: b"3"})
    assert made.endswith(library.data[-6:] if overlay is not None else b"")
    again = read_rsli(made, "x.lib")
    assert ([unpack(again, row) for row in (0, 1)], again.overlay) == ([other, b"3"], overlay or 0)
    assert with_contents(again, {0: other, 1: b"3"}) == made, "what is not longer stays where it is"


@pytest.mark.parametrize("method", [0x080, 0x0A0])
def test_huffman_codes_with_copies(method: int) -> None:
    """So many steps that frequencies are halved. Lhasa, the free LHA, unpacks these bytes to the same (``-lh1-``)."""
    dice = random.Random(5)
    content = b" " * 70 + dice.randbytes(40_000) + b"abcabcabd" * 900 + dice.randbytes(60) * 60
    library = read_rsli(make.library([("A", b"a", method), ("B", b"b", 0)]), "x.lib")
    made = read_rsli(with_contents(library, {0: content}), "x.lib")
    assert (unpack(made, 0), unpack(made, 1)) == (content, b"b")
    packed = bytes(made.data[-int(made.rows["packed_size"][0]) :])
    plain = make.cipher(packed) if method & 0x20 else packed
    assert hashlib.sha256(plain).hexdigest()[:16] == "415016f8d174e601"
    for end in (0, 1, 100, 30_000):
        cut = bytearray(made.data)
        cut[len(cut) - len(packed) + end :] = bytes(len(packed) - end)
        with suppress(ConversionError):
            unpack(read_rsli(bytes(cut), "x.lib"), 0)


def test_a_texture_becomes_a_png_and_nothing_else_does(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    sprites, out = tmp_path / "sprites.lib", tmp_path / "logo.png"
    pixels = struct.pack("<8B", 255, 0, 0, 255, 0, 255, 0, 128)
    texm = struct.pack("<4s7I", b"Texm", 2, 1, 1, 0, 0, 0, 8888) + pixels
    sprites.write_bytes(make.library([("LOGO", texm, 0x60), ("TEXT", b"words", 0x100)]))
    assert call(msh2gltf, sprites, "--entry", "logo", "-o", out, "-q") == 0
    assert np.asarray(Image.open(out).convert("RGBA")).tolist() == [[[0, 0, 255, 255], [0, 255, 0, 128]]]
    for name, text in (("TEXT", "entry TEXT: is not a texture"), ("nobody", "no such entry: nobody")):
        assert call(msh2gltf, sprites, "--entry", name, "-o", tmp_path / "no.png") == 2
        assert text in capsys.readouterr().err
    assert call(msh_inspect, sprites, "--entry", "LOGO") == 0
    assert "2 x 1" in capsys.readouterr().out
    assert sorted(tmp_path.iterdir()) == [out, sprites]
