"""Stored words and values: every representable word, and C's rounding."""

from collections.abc import Callable

import numpy as np
import pytest

from msh_gltf.converter.numeric import quantize as q


def test_every_normal_byte() -> None:
    words = np.arange(-128, 128, dtype=np.int8)[:, None].repeat(3, 1)
    values = q.decode_normals(words)
    assert values.min() == -1.0
    assert values.max() == 1.0
    assert values[0, 0] == values[1, 0]  # -128 clamps to the same -1 as -127
    np.testing.assert_array_equal(q.encode_normals(values)[1:], words[1:])
    assert values[128 + 64, 0] == np.float32(64) / np.float32(127)  # not / 128


@pytest.mark.parametrize(
    ("words", "decode", "encode"),
    [
        (np.arange(-32768, 32768, dtype=np.int16), q.decode_uv, lambda values: q.encode_uv(values)[0]),
        (np.arange(65536, dtype=np.uint16), q.decode_lightmap_uv, lambda values: q.encode_lightmap_uv(values)[0]),
        (np.arange(-32767, 32768, dtype=np.int16), q.decode_unit, q.encode_unit),
    ],
    ids=["uv", "lightmap", "unit"],
)
def test_every_word_comes_back(words: np.ndarray, decode: Callable, encode: Callable) -> None:
    np.testing.assert_array_equal(encode(decode(words)), words)


def test_scales() -> None:
    assert q.decode_uv(np.array([1024], np.int16))[0] == 1.0
    # the source's formula: a product with the binary32 reciprocal, not a division
    words = np.arange(-32767, 32768, dtype=np.int16)
    assert q.decode_unit(words).tobytes() == (words.astype(np.float32) * np.float32(1 / 32767)).tobytes()


def test_normalising_in_between_is_not_harmless() -> None:
    """Why unedited keys come from the sidecar (docs/reference/conventions.md)."""
    rng = np.random.default_rng(1)
    unit = q.normalise(rng.normal(size=(20000, 4)), 0)
    words = q.encode_unit(unit)
    again = q.encode_unit(q.normalise(q.decode_unit(words), 0))
    moved = float((words != again).any(1).mean())
    assert 0.001 < moved < 0.1


@pytest.mark.parametrize(
    ("value", "word"), [(0.5, 1), (-0.5, -1), (1.5, 2), (2.5, 3), (0.49999999999999994, 0), (-2.5, -3), (0.0, 0)]
)
def test_rounds_half_away_from_zero(value: float, word: int) -> None:
    assert q.encode_uv([value / 1024])[0][0] == word


def test_clamps() -> None:
    words, clamped = q.encode_uv([[40.0, -40.0], [1.0, 0.0]])
    assert words.tolist() == [[32767, -32768], [1024, 0]]
    assert clamped == 2
    assert q.encode_normals([2.0, -2.0, 0.0]).tolist() == [127, -128, 0]
    assert q.encode_unit([1.5, -1.5]).tolist() == [32767, -32767]


def test_normalise() -> None:
    out = q.normalise(np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]], np.float32), (0, 0, 1))
    np.testing.assert_allclose(out, [[0.6, 0, 0.8], [0, 0, 1]])
