"""Face flags: filters, words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.numeric.surfaces import describe, passes

flags32 = st.integers(0, 0xFFFFFFFF)


@given(st.lists(flags32, max_size=20), flags32, flags32, flags32)
def test_filter(values: list[int], required: int, forbidden: int, thin: int) -> None:
    """Bit by bit; ``thin`` makes sparse masks, which pass now and then."""
    for need, clear in ((required, forbidden), (required & thin & 0x208, forbidden & thin & 0x4)):
        expected = [
            all(value >> b & 1 for b in range(32) if need >> b & 1)
            and not any(value >> b & 1 for b in range(32) if clear >> b & 1)
            for value in values
        ]
        got = passes(np.array(values, np.uint32), need, clear)
        assert got.dtype == np.bool_
        assert got.tolist() == expected


@pytest.mark.parametrize("mask", [-1, 1 << 32])
def test_masks_have_32_bits(mask: int) -> None:
    with pytest.raises(ConversionError, match="32-bit"):
        passes(np.zeros(1, np.uint32), mask)
    with pytest.raises(ConversionError, match="32-bit"):
        passes(np.zeros(1, np.uint32), 0, mask)
    with pytest.raises(ConversionError, match="32-bit"):
        describe(mask)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (0, "none"),
        (0x100604, "second material, every face, not lava"),
        (0x20608, "water, every face, water (high)"),
        (0x102600, "every face, liquid bed, not lava"),
        (0x200, "0x200"),  # half of "every face" is not it
        (0x80000600 | 0x1, "every face, 0x1, 0x80000000"),
    ],
)
def test_describe(flags: int, text: str) -> None:
    assert describe(flags) == text
