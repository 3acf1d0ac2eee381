"""Measure how far surfaces are from each other."""

from __future__ import annotations

import numpy as np

from .arrays import F64, I64, Bools, ranges, row_ids

#: Samples that are compared with all triangles at once.
_CHUNK = 64
#: Cells of a grid along each axis, less one; places that are looked at on either side of a point along the curve.
_GRID, _BESIDE = 1023, 4
#: How the ten bits of a number get two zeros between them.
_SPREAD = ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249))


def surface_distance(one: F64, other: F64) -> float:
    """Return how far two surfaces are from each other: the larger of both ways.

    Measured from the corners, the middles of edges and of triangles; triangles that both have are not looked at.

    Args:
        one, other: (n, 3, 3) corners of triangles.

    Returns:
        Infinity where one of both has no triangle.
    """
    if not len(one) or not len(other):
        return 0.0 if len(one) == len(other) else float("inf")
    return max(_one_way(one, other), _one_way(other, one))


def _one_way(one: F64, other: F64) -> float:
    """The largest distance of samples of a surface to the other one.

    Each sample is at most as far as the nearest of the triangles at a corner near to it. The samples that may
    have the largest distance are compared with all triangles first; most turn out to be nearer.
    """
    corners = one[~_shared(one, other)]
    middles = (corners + np.roll(corners, 1, axis=1)) / 2
    samples = np.concatenate([corners, middles, corners.mean(1, keepdims=True)], axis=1).reshape(-1, 3)
    if not len(samples):
        return 0.0
    places, place = np.unique(other.reshape(-1, 3), axis=0, return_inverse=True)
    order = np.argsort(place.reshape(-1), kind="stable")
    start = np.searchsorted(place.reshape(-1)[order], np.arange(len(places) + 1))
    apart, nearest = _near(samples, places)
    samples, nearest = samples[apart > 0], nearest[apart > 0]
    count = np.diff(start)[nearest]
    most = _nearest(samples, other, count, order[ranges(start[nearest], count)] // 3)
    low, high, away = other.min(1), other.max(1), 0.0
    largest_first = np.argsort(-most)
    for k in range(0, len(most), _CHUNK):
        rows = largest_first[k : k + _CHUNK]
        rows = rows[most[rows] > away]
        if not len(rows):
            break
        own, room = samples[rows, None], most[rows, None, None] * (1 + 1e-9)
        sample, triangle = np.nonzero(((low <= own + room) & (high >= own - room)).all(2))
        away = max(
            away, float(_nearest(samples[rows], other, np.bincount(sample, minlength=len(rows)), triangle).max())
        )
    return away


def _near(points: F64, places: F64) -> tuple[F64, I64]:
    """Return a place that is near each point, and how far that is: of those beside it along a curve through space.

    The curve (Morton's) goes through all cells of a grid; what is near each other on it is near each other.

    Args:
        points: (n, 3).
        places: (m, 3), one at least.

    Returns:
        (n,) distances; (n,) rows of places.
    """
    low = places.min(0)
    cell = (np.ptp(places, axis=0).max() or 1.0) / _GRID
    curve, own = (_morton(np.clip((p - low) / cell, 0, _GRID).astype(np.int64)) for p in (places, points))
    order = np.argsort(curve, kind="stable")
    beside = np.searchsorted(curve[order], own)[:, None] + np.arange(-_BESIDE, _BESIDE)
    rows = order[np.clip(beside, 0, len(places) - 1)]
    squared = ((places[rows] - points[:, None]) ** 2).sum(2)
    best = squared.argmin(1)[:, None]
    return np.sqrt(np.take_along_axis(squared, best, 1)[:, 0]), np.take_along_axis(rows, best, 1)[:, 0]


def _morton(cells: I64) -> I64:
    """The bits of three numbers in turns. (n, 3) -> (n,)."""
    for shift, mask in _SPREAD:
        cells = (cells | cells << shift) & mask
    return np.asarray(cells @ np.array([1, 2, 4]), np.int64)


def _shared(one: F64, other: F64) -> Bools:
    """Which triangles the other surface has, too, whatever corner is first. (n, 3, 3) -> (n,)."""
    both = np.concatenate([one, other]) + 0.0
    _, place = np.unique(both.reshape(-1, 3), axis=0, return_inverse=True)
    ids = row_ids(np.sort(place.reshape(-1, 3), axis=1).astype(np.uint64))
    return np.isin(ids[: len(one)], ids[len(one) :])


def _nearest(points: F64, triangles: F64, count: I64, candidates: I64) -> F64:
    """Distance of points to the nearest of their candidates.

    Args:
        points: (n, 3).
        triangles: (m, 3, 3).
        count: (n,) candidates of each point, one at least.
        candidates: (sum,) rows of triangles, point after point.
    """
    p, corners = np.repeat(points, count, axis=0), triangles[candidates]
    a = corners[:, 0]
    u, v, to = corners[:, 1] - a, corners[:, 2] - a, p - a
    uu, uv, vv, pu, pv = (np.einsum("ij,ij->i", x, y) for x, y in ((u, u), (u, v), (v, v), (to, u), (to, v)))
    area = uu * vv - uv * uv
    safe = np.where(area > 0, area, 1)
    s, t = (vv * pu - uv * pv) / safe, (uu * pv - uv * pu) / safe
    inside = (area > 0) & (s >= 0) & (t >= 0) & (s + t <= 1)
    squared = np.where(inside, ((to - s[:, None] * u - t[:, None] * v) ** 2).sum(1), np.inf)
    for k in range(3):
        away, along = p - corners[:, k], corners[:, (k + 1) % 3] - corners[:, k]
        part = np.clip(np.einsum("ij,ij->i", away, along) / np.maximum((along**2).sum(1), 1e-300), 0, 1)
        squared = np.minimum(squared, ((away - part[:, None] * along) ** 2).sum(1))
    return np.asarray(np.sqrt(np.minimum.reduceat(squared, np.cumsum(count) - count)))
