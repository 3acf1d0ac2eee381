"""Triangulate simple polygons, and find the cells of an areal map's grid that they overlap."""

from __future__ import annotations

import numpy as np

from .arrays import F64, I64, Bools


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
