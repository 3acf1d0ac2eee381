"""Colours as the game stores them (sRGB) and as glTF multiplies them (linear)."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from functools import lru_cache

#: Decimals of a linear colour in glTF: more than 32 bits keep.
_DECIMALS = 7


def to_linear(colour: Sequence[float]) -> list[float]:
    """Return sRGB values, 0..1, as linear ones (IEC 61966-2-1), rounded for glTF."""
    return [round(v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4, _DECIMALS) for v in colour]


def to_bytes(linear: Sequence[float]) -> tuple[int, ...]:
    """Return linear values as the nearest sRGB bytes; values beyond 0..1 become 0 and 255."""
    clipped = [min(1.0, max(0.0, value)) for value in linear]
    return tuple(round(255 * (v * 12.92 if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055)) for v in clipped)


@lru_cache(maxsize=256)
def colour_of_row(row: int) -> tuple[float, float, float]:
    """Return the stable, distinct colour that a material row has without a game's libraries."""
    red, green, blue = colorsys.hsv_to_rgb((0.08 + row * 0.6180339887) % 1.0, 0.7, 0.6)
    return round(red, 4), round(green, 4), round(blue, 4)
