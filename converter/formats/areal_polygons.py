"""The polygons of an areal map: their areas, what lies in them, what their links name."""

from __future__ import annotations

import numpy as np

from ..numeric.arrays import Bools, Floats, Ints, ranges
from .areal_map import ArealMap, game_xy


def signed_areas(areals: ArealMap) -> Floats:
    """(N,) float64: shoelace area of each polygon in x and y, negative if clockwise."""
    xy = game_xy(areals.vertices)
    with np.errstate(invalid="ignore"):
        # from the polygon's first vertex: far from the origin the products would cancel badly
        xy = xy - xy[areals.vertex_start[:-1][areals.owner]]
        following = xy[areals.following]
        twice = xy[:, 0] * following[:, 1] - xy[:, 1] * following[:, 0]
    return np.bincount(areals.owner, twice, minlength=len(areals.records)) / 2


def points_inside(xy: Floats, start: Ints, points: Floats, polygon: Ints) -> Bools:
    """Whether each point lies inside its polygon: even-odd, half-open.

    A point on an edge belongs to the polygon on the right of it (on a horizontal edge: above
    it). Both neighbours of an edge compute the same, so a point of a tiling is in exactly one.

    Args:
        xy: (V, 2) float64, vertices of all polygons end to end.
        start: (N + 1,) where each polygon starts.
        points: (K, 2) float64.
        polygon: (K,) which polygon each point is tested against.

    Returns:
        (K,) bool; false for points and polygons that are not finite.
    """
    count = np.diff(start)[polygon]
    edge = ranges(start[:-1][polygon], count)
    pair = np.repeat(np.arange(len(points)), count)
    last = start[1:][polygon][pair] - 1
    a, b = xy[edge], xy[np.where(edge == last, start[:-1][polygon][pair], edge + 1)]
    p = points[pair]
    flip = (a[:, 1] > b[:, 1])[:, None]
    low, high = np.where(flip, b, a), np.where(flip, a, b)
    with np.errstate(invalid="ignore"):
        along, across = high - low, p - low
        spans = (low[:, 1] <= p[:, 1]) & (p[:, 1] < high[:, 1])
        left = across[:, 0] * along[:, 1] < across[:, 1] * along[:, 0]
    crossings = np.bincount(pair[spans & left], minlength=len(points))
    broken = np.bincount(pair[~np.isfinite(a).all(1)], minlength=len(points))
    return np.asarray((crossings % 2 == 1) & (broken == 0))


def anchor_inside(areals: ArealMap) -> Bools:
    """(N,) bool: whether each areal's anchor lies in its polygon (x and y).

    The runtime moves an anchor that does not: up to 100 random tries within about 30 units,
    then 200 within about 100 (docs/reference/areal_map.md). ``edits.areal_map.repair_anchors`` is
    deterministic.
    """
    return points_inside(
        game_xy(areals.vertices), areals.vertex_start, game_xy(areals.records["anchor"]), np.arange(len(areals.records))
    )


# ------------------------------------------------------------------ links


def link_targets(areals: ArealMap) -> Ints:
    """(V,) int64: the edge across each edge, as an index into ``links``.

    -1 where there is none, or where the link names no edge that exists.
    """
    areal, edge = (areals.links[k].astype(np.int64) for k in ("areal", "edge"))
    exists = (areal >= 0) & (areal < len(areals.records))
    areal = np.where(exists, areal, 0)
    exists &= (edge >= 0) & (edge < np.append(np.diff(areals.vertex_start), 0)[areal])
    return np.where(exists, areals.vertex_start[areal] + edge, -1)
