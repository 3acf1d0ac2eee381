"""The key pool: keys survive encoding and decoding in either order of the words."""

import numpy as np
import pytest

from msh_gltf.converter.formats.tables import count_identities, decode_keys, encode_keys
from msh_gltf.converter.numeric.quantize import encode_unit
from msh_gltf.converter.scene.dialect import Dialect, key_order

POSITIONS = np.array([[1, 2, 3], [-4, 5.5, 0], [0, 0, 0]], np.float32)
FRAMES = np.array([0, 3, 7])
ROTATIONS = np.array([[1, 0, 0, 0], [0.5, 0.5, -0.5, 0.5], [0, 1, 0, 0]])


@pytest.mark.parametrize("dialect", Dialect)
def test_keys_come_back(dialect: Dialect) -> None:
    order = key_order(dialect)
    pool = encode_keys(POSITIONS, FRAMES, encode_unit(ROTATIONS), order)
    keys = decode_keys(pool, order)
    np.testing.assert_array_equal(keys.position, POSITIONS)
    np.testing.assert_array_equal(keys.time, FRAMES)
    np.testing.assert_allclose(keys.quaternion, ROTATIONS, atol=1 / 32767)
    np.testing.assert_array_equal(encode_unit(keys.quaternion), encode_unit(ROTATIONS))


def test_the_stored_place_of_w_is_the_dialects() -> None:
    words = encode_unit(ROTATIONS)
    stored = {d: encode_keys(POSITIONS, FRAMES, words, key_order(d))["quaternion"] for d in Dialect}
    assert stored[Dialect.SPEC][0].tolist() == [0, 0, 0, 32767]
    assert stored[Dialect.RETAIL][0].tolist() == [32767, 0, 0, 0]


def test_identities_are_counted_per_order() -> None:
    pool = encode_keys(POSITIONS, FRAMES, encode_unit(ROTATIONS), key_order(Dialect.SPEC))
    orders = [key_order(Dialect.SPEC), key_order(Dialect.RETAIL)]
    assert count_identities(pool, *orders) == [1, 1]  # x = 1 reads as w = 1
    assert count_identities(pool[:1], *orders) == [1, 0]
    assert count_identities(pool[:0], *orders) == [0, 0]
