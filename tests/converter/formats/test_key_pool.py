"""The key pool: keys survive encoding and decoding in either order of the words."""

import numpy as np
import pytest

from msh_gltf.converter.formats.tables import decode_keys, encode_keys
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
