"""What the runtime asks an areal map: the areal at a point, and paths over links.

Source: docs/reference/areal_map.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..formats.areal_map import ArealMap, game_xy, require_areal
from ..formats.areal_polygons import link_targets, points_inside
from ..numeric.arrays import Floats, Ints, ranges
from ..requirements import needed_for

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Points that one round of :func:`areal_at` takes, which bounds its memory.
_POINTS_AT_ONCE = 1 << 16


def areal_at(areals: ArealMap, points: ArrayLike) -> Ints:
    """The areal under each point, found through the cells as the runtime does.

    A point's cell is ``floor((p - low) / size)`` over the vertices' extent, the last one on the
    upper border (docs/reference/areal_map.md). Of the areals which the cell lists and which
    contain the point (:func:`points_inside`), the lowest index.

    Args:
        areals: the map.
        points: (P, 2) x, y in map units.

    Returns:
        (P,) int64, -1 = none: outside the extent, or no listed areal is there.

    Raises:
        ValueError: ``points`` has another shape.
    """
    wanted = np.asarray(points, np.float64)
    if wanted.ndim != 2 or wanted.shape[1] != 2:
        raise ValueError(f"points have shape {wanted.shape}, not (P, 2)")
    out = np.full(len(wanted), -1, np.int64)
    if areals.cells_x and areals.cells_y:
        for at in range(0, len(wanted), _POINTS_AT_ONCE):
            part = slice(at, at + _POINTS_AT_ONCE)
            out[part] = _areal_at(areals, wanted[part])
    return out


def _areal_at(areals: ArealMap, points: Floats) -> Ints:
    low, high = areals.extent
    grid = np.array([areals.cells_x, areals.cells_y])
    span = high - low
    span[span == 0] = 1  # all vertices in a line: one row of cells
    known = np.flatnonzero(((low <= points) & (points <= high)).all(1))
    # dividing last, so that a point on a border gets a whole number
    place = np.floor((points[known] - low) * grid / span).astype(np.int64)
    place = np.minimum(place, grid - 1)
    cell = place[:, 0] * areals.cells_y + place[:, 1]
    count = np.diff(areals.cell_start)[cell]
    who = np.repeat(known, count)
    candidate = areals.cell_ids[ranges(areals.cell_start[:-1][cell], count)].astype(np.int64)
    real = candidate < len(areals.records)
    who, candidate = who[real], candidate[real]
    hit = points_inside(game_xy(areals.vertices), areals.vertex_start, points[who], candidate)
    best = np.full(len(points), len(areals.records), np.int64)
    np.minimum.at(best, who[hit], candidate[hit])
    return np.where(best == len(areals.records), -1, best)


def link_graph(areals: ArealMap) -> csr_array:
    """The links as a sparse graph for ``scipy.sparse.csgraph``.

    Returns:
        (N, N) ``csr_array`` of float64: from each areal to each areal that it links to, the
        distance of their anchors in x and y, map units. The logic flag does not count: what its
        values 0 and 1 tell apart is not established (docs/reference/areal_map.md).
    """
    with needed_for("the graph of links", "scipy"):
        from scipy.sparse import csr_array

    count = len(areals.records)
    target = link_targets(areals)
    linked = target >= 0
    # several edges may lead to one neighbour; a sparse matrix would add them up
    code = np.unique(areals.owner[linked] * count + areals.owner[target[linked]])
    # older versions of SciPy want 32-bit indices in their graphs
    source, goal = (part.astype(np.int32) for part in np.divmod(code, max(count, 1)))
    anchor = game_xy(areals.records["anchor"])
    with np.errstate(invalid="ignore"):
        length = np.hypot(*(anchor[source] - anchor[goal]).T)
    known = np.isfinite(length)
    return csr_array((length[known], (source[known], goal[known])), shape=(count, count))


def shortest_path(areals: ArealMap, start: int, goal: int) -> list[int]:
    """The shortest way from areal to areal over :func:`link_graph`, both ends included.

    Returns:
        Indices of areals; empty if no way leads there.

    Raises:
        ConversionError: there is no such areal.
    """
    with needed_for("the shortest path", "scipy"):
        from scipy.sparse.csgraph import dijkstra

    for index in (start, goal):
        require_areal(areals, index)
    before = dijkstra(link_graph(areals), indices=[start], return_predecessors=True)[1][0].tolist()
    path = [goal]
    while path[-1] != start:
        if before[path[-1]] < 0:
            return []
        path.append(before[path[-1]])
    return path[::-1]
