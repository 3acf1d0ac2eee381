"""Compute bounds of slots and of whole models (docs/reference/model.md, Res2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import cross_products

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]


def round_up(value: float) -> np.float32:
    """Return the smallest float32 that is not below a value."""
    near = np.float32(value)
    return near if float(near) >= value else np.nextafter(near, np.float32(np.inf))


def round_down(value: float) -> np.float32:
    """Return the largest float32 that is not above a value."""
    return -round_up(-value)


def sphere_radius(center: F32, points: NDArray[np.floating]) -> np.float32:
    """Return the smallest float32 radius of a sphere round all points. (3,), (n, 3)."""
    away = points.astype(np.float64) - center.astype(np.float64)
    return round_up(float(np.sqrt(np.einsum("ni,ni->n", away, away).max(initial=0))))


def slot_bounds(corners: F32) -> dict[str, object]:
    """Return the bound fields of a slot, node-local.

    Args:
        corners: (T, 3, 3) float32 corner positions.

    Returns:
        ``aabb_min``, ``aabb_max``, ``sphere_center``, ``sphere_radius``, ``area``, ``volume``.
    """
    points = corners.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    center = ((low + high) * np.float32(0.5)).astype(np.float32)
    exact = corners.astype(np.float64)
    cross = cross_products(exact)
    size = high.astype(np.float64) - low.astype(np.float64)
    return {
        "aabb_min": low,
        "aabb_max": high,
        "sphere_center": center,
        "sphere_radius": sphere_radius(center, points),
        "area": np.float32(np.sqrt(np.einsum("ti,ti->t", cross, cross)).sum() / 2),
        "volume": np.float32(size.prod()),
    }


def hull(low: F32, high: F32) -> F32:
    """Return the eight corners of a box in the header's order. (3,), (3,) -> (8, 3) float32."""
    sides = [low, high]
    # 0 (lo,lo,lo) 1 (hi,lo,lo) 2 (hi,hi,lo) 3 (lo,hi,lo) 4 (lo,hi,hi) 5 (lo,lo,hi) 6 7
    order = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 1), (1, 1, 1)]
    corners = [[sides[pick][axis] for axis, pick in enumerate(c)] for c in order]
    return np.array(corners, np.float32)
