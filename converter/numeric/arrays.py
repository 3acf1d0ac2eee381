"""Types of arrays, and what several modules do with them: limits for untrusted input, near rows, distances."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
Bools = NDArray[np.bool_]
#: Structured rows.
Records = NDArray[np.void]

#: "No slot", "no parent", "no map", "no neighbour".
NONE16 = 0xFFFF
#: How often a row of a table may be used on average, and how far payloads may overlap: valid
#: files use each once. What is made of a file then stays a small multiple of its size.
MAX_USES = 16
#: How many uses of a table are allowed whatever its size.
USES_FLOOR = 1 << 20

F = TypeVar("F", np.float32, np.float64)
_YZX, _ZXY = [1, 2, 0], [2, 0, 1]


def field_offset(record: np.dtype[np.void], field: str) -> int:
    """Return where a field lies in a record, bytes."""
    assert record.fields is not None
    return int(record.fields[field][1])


def ranges(start: I64, count: I64) -> I64:
    """Return all ``start[i] .. start[i] + count[i]``, end to end. (n,), (n,) -> (sum,)."""
    first = np.repeat(start - (np.cumsum(count) - count), count)
    return np.asarray(first + np.arange(int(count.sum())), np.int64)


def covered(starts: NDArray[np.integer], counts: NDArray[np.integer], size: int) -> Bools:
    """Return which rows lie in any of some ranges. (n,), (n,) -> (size,) bool."""
    depth = np.zeros(size + 1, np.int64)
    begin = np.clip(starts.astype(np.int64), 0, size)
    end = np.clip(starts.astype(np.int64) + counts, 0, size)
    np.add.at(depth, begin, 1)
    np.add.at(depth, end, -1)
    return np.asarray(np.cumsum(depth)[:size] > 0)


def cross_products(corners: NDArray[F]) -> NDArray[F]:
    """Return ``(p1 - p0) x (p2 - p0)`` of triangles, twice their area long. (T, 3, 3) -> (T, 3).

    As ``np.cross``, which takes ten times as long on few.
    """
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    out: NDArray[F] = a[:, _YZX] * b[:, _ZXY] - a[:, _ZXY] * b[:, _YZX]
    return out


def summed_cross_products(corners: F64, vertex: I64) -> F64:
    """Return the sum of the cross products of the triangles that each vertex has: area-weighted normals, not yet unit.

    Args:
        corners: (T, 3, 3).
        vertex: (T, 3) the number of each corner's vertex.
    """
    cross = cross_products(corners)
    out = np.zeros((int(vertex.max(initial=-1)) + 1, 3))
    for corner in range(3):
        np.add.at(out, vertex[:, corner], cross)
    return out


def concatenate_records(parts: Sequence[Records]) -> Records:
    """Concatenate records of one dtype: ``np.concatenate`` promotes every field of every part."""
    dtype = parts[0].dtype
    plain = [np.ascontiguousarray(part).view(f"V{dtype.itemsize}") for part in parts]
    return np.concatenate(plain).view(dtype)


def fill_non_finite(rows: NDArray[F]) -> NDArray[F]:
    """Replace each row that is not finite by the finite one before it. (n, k).

    Those before the first finite one are as that one; without any, all are 0.
    """
    finite = np.isfinite(rows).all(axis=1)
    if not finite.any():
        return np.zeros_like(rows)
    before = np.maximum.accumulate(np.where(finite, np.arange(len(rows)), -1))
    return rows[np.where(before < 0, int(np.argmax(finite)), before)]


def max_uses(rows: int) -> int:
    """Return how often a file may use the rows of a table in all, before anything is made of it."""
    return max(USES_FLOOR, MAX_USES * rows)


def beyond(words: U16, rows: int) -> Bools:
    """Return which indices, ``NONE16`` aside, are past ``rows`` rows. Same shape."""
    return np.asarray(words + np.uint16(1) > rows)  # NONE16 becomes 0


def largest_known(words: U16) -> int:
    """Return the largest index, ``NONE16`` aside; -1 where there is none."""
    return int(words[words != NONE16].max(initial=0)) if (words != NONE16).any() else -1


def row_ids(rows: NDArray[np.uint64]) -> I64:
    """Number distinct rows, in no particular order. (n, k) -> (n,)."""
    order = np.lexsort(rows.T)
    sorted_rows = rows[order]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    out = np.empty(len(rows), np.int64)
    out[order] = np.cumsum(fresh) - 1
    return out


def join(old_of: I64, new_keys: list[I64], old_keys: list[I64]) -> None:
    """Pair what is still free on both sides and has equal keys, in order.

    Args:
        old_of: (n,) old row per new one, -1 = free; filled in.
        new_keys, old_keys: columns, (n,) and (m,) each.
    """
    free_new = np.flatnonzero(old_of < 0)
    taken = np.zeros(len(old_keys[0]), np.bool_)
    taken[old_of[old_of >= 0]] = True
    free_old = np.flatnonzero(~taken)
    if not free_new.size or not free_old.size:
        return
    rows = np.concatenate(
        [np.stack([k[free_new] for k in new_keys], axis=1), np.stack([k[free_old] for k in old_keys], axis=1)]
    )
    ids = row_ids(rows.view(np.uint64))
    a, b = ids[: len(free_new)], ids[len(free_new) :]
    a_key, b_key = a * (len(rows) + 1) + _rank(a), b * (len(rows) + 1) + _rank(b)
    _, at_a, at_b = np.intersect1d(a_key, b_key, assume_unique=True, return_indices=True)
    old_of[free_new[at_a]] = free_old[at_b]


def _rank(values: I64) -> I64:
    """How many equal values come before each."""
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    first = np.concatenate([[True], sorted_values[1:] != sorted_values[:-1]])
    starts = np.maximum.accumulate(np.where(first, np.arange(len(values)), 0))
    out = np.empty(len(values), np.int64)
    out[order] = np.arange(len(values)) - starts
    return out


def near_pairs(points: F64, distance: float) -> tuple[I64, I64]:
    """Return the pairs of points, (n, 3) finite, whose coordinates all differ by ``distance`` at most.

    Points are sorted into cubes of that size: a pair lies in one, or in two that touch. (K,) and (K,) rows, each pair
    once, the lower row first.
    """
    low = points.min(axis=0, initial=0)
    cube = np.floor((points - low) / distance)
    pairs = []
    # half of the neighbours, and the cube itself: the others find the same pairs from there
    for step in [step for step in product((-1, 0, 1), repeat=3) if step >= (0, 0, 0)]:
        both = np.concatenate([cube, cube + step]) + 0.0
        ids = row_ids(both.view(np.uint64))
        here, there = ids[: len(cube)], ids[len(cube) :]
        order = np.argsort(here, kind="stable")
        ranked = here[order]
        first = np.searchsorted(ranked, there, "left")
        count = np.searchsorted(ranked, there, "right") - first
        i = np.repeat(np.arange(len(points)), count)
        j = order[ranges(first, count)]
        if not any(step):
            once = i < j
            i, j = i[once], j[once]
        pairs.append(np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1))
    i, j = np.concatenate(pairs).T
    close = (np.abs(points[i] - points[j]) <= distance).all(axis=1)
    return i[close], j[close]


#: Samples that are compared with all triangles at once.
_CHUNK = 64
#: Cells of a grid along each axis, less one; places that are looked at on either side of a point along the curve.
_GRID, _BESIDE = 1023, 4
#: How the ten bits of a number get two zeros between them.
_SPREAD = ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249))


def surface_distance(one: F64, other: F64) -> float:
    """Return how far two surfaces, (n, 3, 3) each, are from each other: the larger of both ways; infinity where one is
    empty.

    Measured from the corners, the middles of edges and of triangles; triangles that both have are not looked at.
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
    """Return how far a place that is near each point is, and its row: of those beside it along a curve through space.

    The curve (Morton's) goes through all cells of a grid; what is near each other on it is near each other. (n, 3)
    points, (m, 3) places -> (n,), (n,).
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
    """Distance of points, (n, 3), to the nearest of their candidates among triangles, (m, 3, 3).

    ``count``: (n,) candidates of each point, one at least; ``candidates``: (sum,) their rows, point after point.
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


def first_appearance(values: I64) -> tuple[I64, I64]:
    """Number values in order of first appearance: (n,) the number of each, and (k,) where each number appears first."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    return rank[inverse.reshape(-1)], first[order]
