"""Convert and filter the face flags of a terrain: full and compact masks, edge selectors.

A terrain face carries 32 flags (``full``). The runtime's queries also take two compact masks,
``main`` (16 bits) and ``material`` (6 bits). Only the documented bits have partners; a bit
without one is handed back, never invented (docs/reference/terrain.md, Flags of
a face).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError

U8 = NDArray[np.uint8]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]

#: (full bit, bit of compactMain16), in the order of docs/reference/terrain.md.
COMPACT_MAIN: tuple[tuple[int, int], ...] = (
    (0x00000001, 0x0001),
    (0x00000008, 0x0002),
    (0x00000010, 0x0004),
    (0x00000020, 0x0008),
    (0x00001000, 0x0010),
    (0x00004000, 0x0020),
    (0x00000002, 0x0040),
    (0x00000400, 0x0080),
    (0x00000800, 0x0100),
    (0x00020000, 0x0200),
    (0x00002000, 0x0400),
    (0x00000200, 0x0800),
    (0x00000004, 0x1000),
    (0x00000040, 0x2000),
    (0x00200000, 0x8000),
)
#: (full bit, bit of compactMaterial6), in the order of docs/reference/terrain.md.
COMPACT_MATERIAL: tuple[tuple[int, int], ...] = (
    (0x00000100, 0x01),
    (0x00008000, 0x02),
    (0x00010000, 0x04),
    (0x00040000, 0x08),
    (0x00080000, 0x10),
    (0x00000080, 0x20),
)

_ALL32 = 0xFFFFFFFF


class FaceFlag(IntFlag):
    """The full bits whose meaning is known (docs/reference/terrain.md, Flags of a face)."""

    SECOND_MATERIAL = 0x4
    WATER = 0x8
    EVERY_FACE = 0x600  # two bits, set on every face of the game's terrains
    LIQUID_BED = 0x2000
    WATER_HIGH = 0x20000  # goes with WATER
    NOT_LAVA = 0x100000  # clear on lava


_WORDS = {
    FaceFlag.SECOND_MATERIAL: "second material",
    FaceFlag.WATER: "water",
    FaceFlag.EVERY_FACE: "every face",
    FaceFlag.LIQUID_BED: "liquid bed",
    FaceFlag.WATER_HIGH: "water (high)",
    FaceFlag.NOT_LAVA: "not lava",
}


class Compact(NamedTuple):
    """Compact masks and the full bits that have no partner. Same shapes."""

    main: U16
    material: U8
    rest: U32


class Full(NamedTuple):
    """Full flags and the compact bits that have no partner. Same shapes."""

    flags: U32
    rest_main: U16
    rest_material: U8


def to_compact(flags: U32) -> Compact:
    """Convert full flags to compact masks (``sub_10013FC0``, ``sub_10014090``).

    Args:
        flags: (...) uint32.
    """
    flags = np.asarray(flags, np.uint32)
    main = _remap(flags, COMPACT_MAIN)
    material = _remap(flags, COMPACT_MATERIAL)
    rest = flags & np.uint32(_ALL32 & ~_mask_of(full for full, _ in COMPACT_MAIN + COMPACT_MATERIAL))
    return Compact(main.astype(np.uint16), material.astype(np.uint8), rest)


def to_full(main: U16, material: U8) -> Full:
    """Convert compact masks to full flags (``sub_10015680``).

    ``main`` 0x4000 and ``material`` 0x40 and 0x80 have no partner.

    Args:
        main: (...) uint16.
        material: uint8 of the same shape.
    """
    main, material = np.asarray(main, np.uint16), np.asarray(material, np.uint8)
    flags = _remap(main, [(compact, full) for full, compact in COMPACT_MAIN])
    flags = flags | _remap(material, [(compact, full) for full, compact in COMPACT_MATERIAL])
    known_main = _mask_of(compact for _, compact in COMPACT_MAIN)
    known_material = _mask_of(compact for _, compact in COMPACT_MATERIAL)
    return Full(flags, main & np.uint16(0xFFFF & ~known_main), material & np.uint8(0xFF & ~known_material))


def passes(flags: U32, required: int = 0, forbidden: int = 0) -> NDArray[np.bool_]:
    """Return which flags pass: every required bit set, every forbidden one clear.

    ``(flags & required) == required && (flags | ~forbidden) == ~forbidden``, as the runtime has it.

    Args:
        flags: (...) uint32.
        required, forbidden: masks of 32 bits.

    Returns:
        (...) bool.

    Raises:
        ConversionError: a mask that is not a 32-bit number.
    """
    flags = np.asarray(flags, np.uint32)
    need, clear = np.uint32(_checked(required)), np.uint32(_ALL32 & ~_checked(forbidden))
    passed: NDArray[np.bool_] = ((flags & need) == need) & ((flags | clear) == clear)
    return passed


def edges(selectors: U8) -> U8:
    """Unpack ``edgeClass`` into three 2-bit values, edge 0 in the lowest bits.

    Each is the index of the same edge in the neighbouring face, 3 where there is none.
    The upper two bits are ignored.

    Args:
        selectors: (n,) uint8.

    Returns:
        (n, 3) uint8.
    """
    shifts = np.array([0, 2, 4], np.uint8)
    return np.asarray(selectors, np.uint8)[..., None] >> shifts & np.uint8(3)


def describe(flags: int) -> str:
    """Return full flags in words: names of known bits, other bits in hex; ``none`` for 0.

    Raises:
        ConversionError: not a 32-bit number.
    """
    rest = _checked(flags)
    words = []
    for flag, word in _WORDS.items():
        if rest & flag == flag:
            words.append(word)
            rest &= ~int(flag)
    words += [f"{1 << bit:#x}" for bit in range(32) if rest >> bit & 1]
    return ", ".join(words) or "none"


def _remap(flags: U32 | U16 | U8, rows: Iterable[tuple[int, int]]) -> U32:
    wide = flags.astype(np.uint32)
    out = np.zeros_like(wide)
    for source, target in rows:
        out |= np.where(wide & np.uint32(source), np.uint32(target), np.uint32(0))
    return out


def _mask_of(bits: Iterable[int]) -> int:
    mask = 0
    for bit in bits:
        mask |= bit
    return mask


def _checked(mask: int) -> int:
    if not 0 <= mask <= _ALL32:
        raise ConversionError("mask is not a 32-bit number", value=mask, expected="0..0xFFFFFFFF")
    return mask
