"""Face flags: every bit through both tables, which are typed again here in another form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.numeric.surfaces import FaceFlag, describe, edges, passes, to_compact, to_full

# Position in the string = number of the full bit, counted from bit 0; the letter or digit is the
# number of the compact bit in hex, "." = none. Typed from terrain-map-loading, not from the code.
#       full bit 0         8         16
MAIN = "06c123d" + "." + ".b784a5." + ".9...f" + "." * 10
MATERIAL = "......." + "5" + "0......1" + "2.34" + "." * 12

flags32 = st.integers(0, 0xFFFFFFFF)


def partner(table: str, bit: int) -> int:
    return 0 if table[bit] == "." else 1 << int(table[bit], 16)


def test_the_tables_have_a_place_for_every_bit() -> None:
    assert len(MAIN) == len(MATERIAL) == 32
    assert (sum(c != "." for c in MAIN), sum(c != "." for c in MATERIAL)) == (15, 6)


@pytest.mark.parametrize("bit", range(32))
def test_every_full_bit(bit: int) -> None:
    main, material, rest = to_compact(np.array([1 << bit], np.uint32))
    assert (main.dtype, material.dtype, rest.dtype) == (np.uint16, np.uint8, np.uint32)
    assert int(main[0]) == partner(MAIN, bit)
    assert int(material[0]) == partner(MATERIAL, bit)
    alone = MAIN[bit] == MATERIAL[bit] == "."
    assert int(rest[0]) == (1 << bit if alone else 0)


@pytest.mark.parametrize("bit", range(16))
def test_every_main_bit(bit: int) -> None:
    flags, rest_main, rest_material = to_full(np.array([1 << bit], np.uint16), np.zeros(1, np.uint8))
    assert (flags.dtype, rest_main.dtype, rest_material.dtype) == (np.uint32, np.uint16, np.uint8)
    where = MAIN.find(f"{bit:x}")
    assert int(flags[0]) == (0 if where < 0 else 1 << where)
    assert int(rest_main[0]) == (0x4000 if bit == 14 else 0)
    assert int(rest_material[0]) == 0


@pytest.mark.parametrize("bit", range(8))
def test_every_material_bit(bit: int) -> None:
    flags, rest_main, rest_material = to_full(np.zeros(1, np.uint16), np.array([1 << bit], np.uint8))
    where = MATERIAL.find(f"{bit:x}")
    assert int(flags[0]) == (0 if where < 0 else 1 << where)
    assert int(rest_main[0]) == 0
    assert int(rest_material[0]) == (1 << bit if bit > 5 else 0)


@given(st.lists(flags32, max_size=20))
def test_full_compact_full(values: list[int]) -> None:
    flags = np.array(values, np.uint32)
    main, material, rest = to_compact(flags)
    back, rest_main, rest_material = to_full(main, material)
    assert (back | rest).tolist() == values
    assert not (back & rest).any()
    assert not rest_main.any()
    assert not rest_material.any()


def test_compact_full_compact_is_exhaustive() -> None:
    main = np.arange(0x10000, dtype=np.uint16)
    material = (main >> 3).astype(np.uint8)
    full = to_full(main, material)
    again = to_compact(full.flags)
    assert not again.rest.any()
    assert np.array_equal(again.main | full.rest_main, main)
    assert np.array_equal(again.material | full.rest_material, material)


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


def test_filter_by_default_passes_everything() -> None:
    assert passes(np.array([0, 0xFFFFFFFF], np.uint32)).all()


@pytest.mark.parametrize("mask", [-1, 1 << 32])
def test_masks_have_32_bits(mask: int) -> None:
    with pytest.raises(ConversionError, match="32-bit"):
        passes(np.zeros(1, np.uint32), mask)
    with pytest.raises(ConversionError, match="32-bit"):
        passes(np.zeros(1, np.uint32), 0, mask)
    with pytest.raises(ConversionError, match="32-bit"):
        describe(mask)


def test_edges_of_every_byte() -> None:
    got = edges(np.arange(256, dtype=np.uint8))
    assert got.shape == (256, 3)
    assert got.dtype == np.uint8
    for value, row in enumerate(got.tolist()):
        digits = [value % 4, value // 4 % 4, value // 16 % 4]
        assert row == digits


def test_named_bits() -> None:
    assert {flag.name: int(flag) for flag in FaceFlag} | {"EVERY_FACE": 0x600} == {
        "SECOND_MATERIAL": 0x4,
        "WATER": 0x8,
        "LIQUID_BED": 0x2000,
        "WATER_HIGH": 0x2 << 16,
        "NOT_LAVA": 0x10 << 16,
        "EVERY_FACE": 0x600,
    }
    assert FaceFlag.EVERY_FACE == 0x600


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
