"""Find the cells of an areal map's grid that a polygon touches, and those it overlaps.

Exact: edges against rectangles, and the area that both share (docs/reference/areal_map.md, Cells).
"""

from __future__ import annotations

import numpy as np

from .arrays import Bools, Floats, Ints

#: An areal overlaps a cell if they share more than this part of the cell.
_OVERLAP = 1e-9
#: Elements of one round of an all-pairs computation, which bounds its memory.
_AT_ONCE = 1 << 20


def cells_under(polygon: Floats, borders_x: Floats, borders_y: Floats) -> tuple[Ints, Bools, Bools]:
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


def _shared_area(polygon: Floats, low: Floats, high: Floats) -> Floats:
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

    def above(base: Floats) -> Floats:
        """Mean of ``max(y - base, 0)`` along each edge's part."""
        u, v = y_begin - base, y_end - base
        both = (u >= 0) & (v >= 0)
        height = np.where(both, 0, np.abs(u - v))
        peak = np.maximum(np.maximum(u, v), 0)
        crossing = np.divide(peak * peak, height, out=np.zeros_like(u), where=height > 0)
        return np.where(both, u + v, crossing) / 2

    inside: Floats = ((begin - end) * (above(low[:, 1:]) - above(high[:, 1:]))).sum(1)
    return inside


def _edges_touch(polygon: Floats, low: Floats, high: Floats) -> Bools:
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
