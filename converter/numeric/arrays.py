"""Types of arrays, and what several modules do with them: limits for foreign input, near rows, distances, polygons."""

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
    """Return the pairs of points whose coordinates all differ by ``distance`` at most.

    Points are sorted into cubes of that size: a pair lies in one, or in two that touch.

    Args:
        points: (n, 3) float64, finite.
        distance: the largest difference of a coordinate.

    Returns:
        (K,) and (K,) rows, each pair once, the lower row first.
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


def triangulate(points: F64, start: I64) -> I64:
    """Return the triangles of polygons, ``n - 2`` per polygon, in order.

    Args:
        points: (V, 2) corners, polygon after polygon, counter-clockwise.
        start: (P + 1,) first corner of each polygon.

    Returns:
        (T, 3) rows of ``points``.
    """
    count = np.diff(start)
    triangles = np.maximum(count - 2, 0)
    polygon = np.repeat(np.arange(len(count)), triangles)
    first = np.cumsum(triangles) - triangles
    step = np.arange(int(triangles.sum())) - first[polygon]
    base = start[polygon]
    out = np.stack([base, base + step + 1, base + step + 2], axis=1)
    a, b, c = (points[out[:, k]] for k in range(3))
    ahead, beyond = b - a, c - a
    bent = ahead[:, 0] * beyond[:, 1] - ahead[:, 1] * beyond[:, 0] <= 0
    is_bent = np.zeros(len(count), np.bool_)
    is_bent[polygon[bent]] = True
    clipped = np.flatnonzero(is_bent)
    _clip_ears(points, start[clipped], count[clipped], first[clipped], out)
    return out


def triangulate_flat(corners: F64) -> I64:
    """Return the triangles of polygons in space that have equally many corners.

    Each is seen along the axis that it faces most.

    Args:
        corners: (P, n, 3), either way round.

    Returns:
        (P * (n - 2), 3) rows of all corners, which turn as their polygon does.
    """
    ahead = corners - corners[:, :1]
    with np.errstate(over="ignore", invalid="ignore"):
        normal = np.cross(ahead[:, 1:-1], ahead[:, 2:]).sum(axis=1)
        axis = np.abs(normal).argmax(axis=1)
        seen = np.array([[1, 2], [2, 0], [0, 1]])[axis]
        away = np.take_along_axis(normal, axis[:, None], axis=1) < 0
        seen = np.where(away, seen[:, ::-1], seen)
        flat = np.take_along_axis(ahead, seen[:, None], axis=2)
        start = np.arange(len(corners) + 1) * corners.shape[1]
        return triangulate(flat.reshape(-1, 2), start)


def _clip_ears(points: F64, start: I64, count: I64, row: I64, out: I64) -> None:
    """Cut one corner after the other off polygons; where no ear is left, the second one.

    Polygons with equally many corners left are cut together.

    Args:
        points: (V, 2) corners of all polygons.
        start, count: (P,) the first corner of each polygon, and how many it has.
        row: (P,) where its triangles go.
        out: (T, 3) is filled in.
    """
    polygon = np.empty(0, np.int64)
    left = np.empty(0, np.int64)
    for size in range(int(count.max(initial=0)), 2, -1):
        new = np.flatnonzero(count == size)
        polygon = np.append(polygon, new)
        whole = start[new, None] + np.arange(size)
        left = np.concatenate([left.reshape(-1, size), whole])
        ear = _first_ears(points.T.take(left, axis=1)) if size > 3 else np.ones(len(left), np.int64)
        ends = np.stack([ear - 1, ear, (ear + 1) % size], axis=1)
        out[row[polygon] + count[polygon] - size] = np.take_along_axis(left, ends, axis=1)
        left = left[np.arange(size) != ear[:, None]]


def _first_ears(corners: F64) -> I64:
    """The first ear of each polygon, 1 where it has none. (2, P, n) -> (P,).

    An ear is a corner that sticks out, and no other corner lies in its triangle.
    """
    places = np.arange(corners.shape[2])
    before, after = (corners.take(places + k, axis=2, mode="wrap") for k in (-1, 1))
    sticks_out = _side(before, corners, after) > 0
    ear = np.ones(corners.shape[1], np.int64)
    without = np.arange(len(ear))
    for i in np.flatnonzero(sticks_out.any(axis=0)).tolist():
        found = sticks_out[without, i] & _is_free(corners, i)
        ear[without[found]] = i
        without, corners = without[~found], corners[:, ~found]
        if not without.size:
            break
    return ear


def _is_free(corners: F64, i: int) -> Bools:
    """Whether no other corner lies in the triangle of corner ``i``. (2, P, n) -> (P,)."""
    ends = [i - 1, i, (i + 1) % corners.shape[2]]
    a, b, c = (corners[:, :, end, None] for end in ends)
    inside = (_side(a, b, corners) >= 0) & (_side(b, c, corners) >= 0) & (_side(c, a, corners) >= 0)
    inside[:, ends] = False
    return np.asarray(~inside.any(axis=1))


def _side(a: F64, b: F64, points: F64) -> F64:
    """Twice the signed area of the triangles (a, b, point); x and y first."""
    edge, away = b - a, points - a
    return np.asarray(edge[0] * away[1] - edge[1] * away[0])


#: An areal overlaps a cell if they share more than this part of the cell.
_OVERLAP = 1e-9
#: Elements of one round of an all-pairs computation, which bounds its memory.
_AT_ONCE = 1 << 20


def cells_under(polygon: F64, borders_x: F64, borders_y: F64) -> tuple[I64, Bools, Bools]:
    """Return the cells around a polygon: which it touches, which it overlaps.

    Args:
        polygon: (n, 2) float64, counter-clockwise.
        borders_x: (cells_x + 1,) increasing x of the columns' borders.
        borders_y: (cells_y + 1,) likewise of the rows' borders.

    Returns:
        Rows of the K cells that the polygon's box touches (``x * cells_y + y``); (K,) whether
        the polygon shares a point with the closed cell; (K,) whether it shares an area, more
        than 1e-9 of the cell's.
    """
    spans = []
    for k, borders in enumerate((borders_x, borders_y)):
        first = int(np.searchsorted(borders, polygon[:, k].min(), "left")) - 1
        last = int(np.searchsorted(borders, polygon[:, k].max(), "right")) - 1
        spans.append(np.arange(max(first, 0), min(last, len(borders) - 2) + 1))
    x, y = (grid.ravel() for grid in np.meshgrid(*spans, indexing="ij"))
    rows = x * (len(borders_y) - 1) + y
    low = np.stack([borders_x[x], borders_y[y]], 1)
    high = np.stack([borders_x[x + 1], borders_y[y + 1]], 1)
    touch, overlap = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    for part in np.array_split(np.arange(len(rows)), 1 + len(rows) * len(polygon) // _AT_ONCE):
        shared = _shared_area(polygon, low[part], high[part])
        overlap[part] = shared > _OVERLAP * (high[part] - low[part]).prod(1)
        touch[part] = overlap[part] | _edges_touch(polygon, low[part], high[part])
    return rows, touch, overlap


def _shared_area(polygon: F64, low: F64, high: F64) -> F64:
    """(K,) the area that a polygon shares with each rectangle, (K, 2) its corners.

    Over the columns of the rectangle, the polygon's inside is what lies below its upper edges
    less what lies below its lower ones; both are cut to the rectangle's height, and each edge
    adds one integral.
    """
    a, b = polygon, np.roll(polygon, -1, 0)
    along = b - a
    begin = np.clip(a[None, :, 0], low[:, :1], high[:, :1])
    end = np.clip(b[None, :, 0], low[:, :1], high[:, :1])
    slope = np.divide(along[:, 1], along[:, 0], out=np.zeros(len(a)), where=along[:, 0] != 0)
    y_begin = a[:, 1] + (begin - a[:, 0]) * slope
    y_end = a[:, 1] + (end - a[:, 0]) * slope

    def above(base: F64) -> F64:
        """Mean of ``max(y - base, 0)`` along each edge's part."""
        u, v = y_begin - base, y_end - base
        both = (u >= 0) & (v >= 0)
        height = np.where(both, 0, np.abs(u - v))
        peak = np.maximum(np.maximum(u, v), 0)
        crossing = np.divide(peak * peak, height, out=np.zeros_like(u), where=height > 0)
        return np.where(both, u + v, crossing) / 2

    inside: F64 = ((begin - end) * (above(low[:, 1:]) - above(high[:, 1:]))).sum(1)
    return inside


def _edges_touch(polygon: F64, low: F64, high: F64) -> Bools:
    """(K,) whether an edge of the polygon shares a point with each closed rectangle."""
    a, b = polygon, np.roll(polygon, -1, 0)
    boxes = (np.minimum(a, b) <= high[:, None]) & (np.maximum(a, b) >= low[:, None])
    along = b - a
    # the rectangle's corners, seen from the edge: on both sides of it, or on its line
    sides = np.stack(
        [
            along[:, 0] * (y[:, None] - a[:, 1]) - along[:, 1] * (x[:, None] - a[:, 0])
            for x in (low[:, 0], high[:, 0])
            for y in (low[:, 1], high[:, 1])
        ]
    )
    crossed = boxes.all(2) & (sides.min(0) <= 0) & (sides.max(0) >= 0)
    return np.asarray(crossed.any(1))
