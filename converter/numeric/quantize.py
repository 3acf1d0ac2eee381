"""Encode and decode quantised words and colours; no other module knows divisors."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import F32, F64, U16, cross_products

NORMAL_SCALE = 127
UV_SCALE = 1024
UNIT_SCALE = 32767

#: How much longer than a unit vector words may be, in steps: rounding moves each of four by half a step.
_LENGTHS = (0.5, -0.5, 1.0, -1.0)
#: How far float32 moves a unit vector on its way through a file.
_SHOWN = 2.5e-7
_UNIT = np.float32(1) / np.float32(UNIT_SCALE)


def _round(values: ArrayLike) -> F64:
    """C's ``round``: exact, half away from zero."""
    exact = np.asarray(values, np.float64)
    whole = np.trunc(exact)
    return np.asarray(whole + np.copysign(np.abs(exact - whole) >= 0.5, exact), np.float64)


def decode_normals(words: NDArray[np.int8]) -> F32:
    """Return ``clamp(n / 127, -1, 1)`` of packed normals. (..., 3+) -> (..., 3)."""
    values = words[..., :3].astype(np.float32) / np.float32(NORMAL_SCALE)
    return np.asarray(np.maximum(values, np.float32(-1)), np.float32)


def encode_normals(values: ArrayLike) -> NDArray[np.int8]:
    """Return ``clamp(round(v * 127), -128, 127)``. (..., 3) float -> (..., 3) int8."""
    scaled = np.asarray(values, np.float64) * NORMAL_SCALE
    return np.clip(_round(scaled), -128, 127).astype(np.int8)


def decode_uv(words: NDArray[np.int16]) -> F32:
    """Return ``word / 1024``, exact in binary32."""
    return words.astype(np.float32) / np.float32(UV_SCALE)


def encode_uv(values: ArrayLike) -> tuple[NDArray[np.int16], int]:
    """Return ``clamp(round(v * 1024), -32768, 32767)`` and how many values were clamped."""
    scaled = _round(np.asarray(values, np.float64) * UV_SCALE)
    clamped = np.clip(scaled, -32768, 32767)
    return clamped.astype(np.int16), int(np.count_nonzero(clamped != scaled))


def decode_lightmap_uv(words: U16) -> F32:
    """Return ``word / 1024`` of unsigned words: lightmap coordinates."""
    return words.astype(np.float32) / np.float32(UV_SCALE)


def encode_lightmap_uv(values: ArrayLike) -> tuple[U16, int]:
    """Return ``clamp(round(v * 1024), 0, 65535)`` and how many values were clamped."""
    scaled = _round(np.asarray(values, np.float64) * UV_SCALE)
    clamped = np.clip(scaled, 0, 65535)
    return clamped.astype(np.uint16), int(np.count_nonzero(clamped != scaled))


def decode_unit(words: NDArray[np.int16]) -> F32:
    """Return ``word * (1 / 32767)`` in binary32: key quaternions."""
    return words.astype(np.float32) * _UNIT


def encode_unit(values: ArrayLike) -> NDArray[np.int16]:
    """Return ``clamp(round(v * 32767), -32767, 32767)``: quaternions and triangle normals."""
    scaled = np.asarray(values, np.float64) * UNIT_SCALE
    return np.clip(_round(scaled), -UNIT_SCALE, UNIT_SCALE).astype(np.int16)


def normalise(vectors: NDArray[np.number], zero: ArrayLike) -> F64:
    """Return unit vectors in float64 along the last axis; all-zero vectors become ``zero``."""
    exact = vectors.astype(np.float64)
    length = np.sqrt(np.einsum("...i,...i->...", exact, exact))[..., None]
    if np.count_nonzero(length) == length.size and math.isfinite(np.add.reduce(length, axis=None)):
        whole: F64 = exact / length
        return whole
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: F64 = exact / length
    return np.where(length > 0, unit, np.asarray(zero, np.float64))


def encode_shown(unit: F64, encode: Callable[[ArrayLike], NDArray[Any]]) -> NDArray[Any]:
    """Return stored words of unit vectors, (n, k); those whose normalised vector one is come back as they were.

    Words are vectors that are not quite unit: what a file shows of them is normalised, and may round to other words.
    ``encode``: :func:`encode_unit` or :func:`encode_normals`.
    """
    scale = UNIT_SCALE if encode is encode_unit else NORMAL_SCALE
    zero = np.zeros(unit.shape[-1])

    def comes_back(words: NDArray[Any], of: F64) -> NDArray[np.bool_]:
        return np.asarray((np.abs(normalise(words, zero) - of) <= _SHOWN).all(axis=1))

    words = encode(unit)
    open_rows = np.flatnonzero(~comes_back(words, unit))
    for step in _LENGTHS:
        if not len(open_rows):
            break
        wanted = unit[open_rows]
        trial = encode(wanted * (1 + step / scale))
        shown = comes_back(trial, wanted)
        words[open_rows[shown]] = trial[shown]
        open_rows = open_rows[~shown]
    return words


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


def triangle_normals(positions: F32, normals: NDArray[np.int8]) -> tuple[NDArray[np.int16], int]:
    """Return stored triangle normals, (T, 3), and how many triangles have no area.

    ``normalize(cross(p1-p0, p2-p0))`` in float64. Zero area (|cross| <= 1e-12 x longest edge squared): the mean of the
    vertex normals, (T, 3, 4) int8, else (0, 0, 32767).
    """
    p = positions.astype(np.float64)
    cross = cross_products(p)
    edges = p[:, [1, 2, 0]] - p
    longest = np.einsum("tei,tei->te", edges, edges).max(axis=1, initial=0)
    flat = np.sqrt(np.einsum("ti,ti->t", cross, cross)) <= 1e-12 * longest
    unit = normalise(cross, (0, 0, 1))
    if flat.any():
        mean = decode_normals(normals[flat]).astype(np.float64).mean(axis=1)
        unit[flat] = normalise(mean, (0, 0, 1))
    return encode_unit(unit), int(flat.sum())
