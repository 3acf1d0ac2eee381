"""Colours of the game in glTF."""

import numpy as np
import pytest

from msh_gltf.converter.numeric.quantize import colour_of_row, to_bytes, to_linear


def test_every_byte_comes_back_also_as_blender_rounds_it() -> None:
    linear = to_linear([value / 255 for value in range(256)])
    assert to_bytes(linear) == tuple(range(256))
    assert to_bytes(np.float32(linear).tolist()) == tuple(range(256))
    assert to_bytes([value + 1e-5 for value in linear]) == tuple(range(256))
    assert to_bytes([value - 1e-5 for value in linear]) == tuple(range(256))
    assert linear == sorted(set(linear))


def test_values_of_the_standard() -> None:
    assert to_linear([0, 0.5, 1]) == pytest.approx([0, 0.2140411, 1])
    assert to_linear([0.04045]) == pytest.approx([0.0031308], abs=1e-7)
    assert to_bytes([0.2158605, 2, -1]) == (128, 255, 0)
    assert colour_of_row(0) == (0.6, 0.3816, 0.18)
    assert colour_of_row(1) == (0.259, 0.18, 0.6)
