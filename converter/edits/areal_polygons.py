"""Check the polygon of an areal, and find a place inside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConversionError
from ..formats.areal_map import AREALS, ArealMap
from ..formats.areal_polygons import points_inside
from ..numeric.arrays import Floats, Ints

#: A polygon of less than this part of its extent's square has no area.
_FLAT = 1e-9
#: Where an anchor is looked for, as fractions of the polygon's height.
_LINES = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8, 1 / 16, 15 / 16)
#: Elements of one round of an all-pairs computation, which bounds its memory.
_AT_ONCE = 1 << 20


def vertices_of(areals: ArealMap, row: int, value: ArrayLike) -> NDArray[np.float32]:
    """Return (n, 3) float32 vertices.

    Raises:
        ConversionError: another shape.
    """
    with np.errstate(over="ignore"):  # becomes infinite, which is refused
        polygon = np.array(value, np.float32)
    if polygon.ndim != 2 or polygon.shape[1] != 3:
        raise refused(areals, row, "polygon has a wrong shape", value=polygon.shape, expected="(n, 3)")
    return polygon


def require_polygon(areals: ArealMap, row: int, polygon: NDArray[np.float32]) -> None:
    """Refuse what is not a simple, counter-clockwise polygon with an area. (n, 3) float32."""
    if len(polygon) < 3:
        raise refused(areals, row, "polygon has too few vertices", value=len(polygon), expected="at least 3")
    if not np.isfinite(polygon).all():
        raise refused(areals, row, "polygon is not finite", value="inf or NaN", expected="finite")
    xy = polygon[:, :2].astype(np.float64)
    xy -= xy[0]
    following = np.roll(xy, -1, 0)
    area = float((xy[:, 0] * following[:, 1] - xy[:, 1] * following[:, 0]).sum() / 2)
    if abs(area) <= _FLAT * float(np.ptp(xy, 0).max()) ** 2:
        raise refused(areals, row, "polygon has no area", value=area, expected="a positive area")
    if area < 0:
        expected = "counter-clockwise"
        error = refused(areals, row, "polygon is clockwise", value=f"area {area:g}", expected=expected)
        error.hint = "give the vertices counter-clockwise, seen from above"
        raise error
    crossing = crossing_edges(xy)
    if crossing is not None:
        text = f"{crossing[0]} and {crossing[1]}"
        raise refused(areals, row, "edges of the polygon cross", value=text, expected="none")


def refused(areals: ArealMap, row: int, problem: str, *, value: object, expected: object) -> ConversionError:
    """Return the error for an areal that an edit cannot have."""
    label = areals.archive.label
    return ConversionError(problem, file=label, table=AREALS, row=row, value=value, expected=expected)


def crossing_edges(xy: Floats) -> tuple[int, int] | None:
    """Return two edges of a polygon that cross in a point inside both; touching does not count.

    (n, 2) float64.
    """
    following = np.roll(xy, -1, 0)
    along = following - xy

    def sides(edges: Ints, points: Floats) -> Floats:
        across = points[None] - xy[edges, None]
        cross = along[edges, None, 0] * across[..., 1] - along[edges, None, 1] * across[..., 0]
        return np.sign(cross)

    every = np.arange(len(xy))
    for edges in np.array_split(every, 1 + len(xy) ** 2 // _AT_ONCE):
        apart = sides(edges, xy) * sides(edges, following) < 0  # their ends, seen from ours
        mine = sides(every, xy[edges]) * sides(every, following[edges]) < 0
        hits = np.argwhere(apart & mine.T)
        if len(hits):
            return int(edges[hits[0, 0]]), int(hits[0, 1])
    return None


def inner_point(xy: Floats) -> NDArray[np.float32] | None:
    """Return a place inside a polygon, exact in float32; ``None`` where there is no room.

    Its centroid if that is inside, else the middle of the longest span inside on the horizontal
    line at half of its height, or on further lines at fixed fractions. (n, 2) float64.
    """
    start = np.array([0, len(xy)])

    def inside(place: Floats) -> NDArray[np.float32] | None:
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = place.astype(np.float32)
        hit = points_inside(xy, start, rounded[None].astype(np.float64), np.zeros(1, np.int64))
        return rounded if hit[0] else None

    if len(xy) < 3 or not np.isfinite(xy).all():
        return None
    following = np.roll(xy, -1, 0)
    local, ahead = xy - xy[0], following - xy[0]
    weight = local[:, 0] * ahead[:, 1] - local[:, 1] * ahead[:, 0]
    if weight.sum() != 0:
        centroid = (weight[:, None] * (local + ahead)).sum(0) / (3 * weight.sum()) + xy[0]
        if (place := inside(centroid)) is not None:
            return place
    low, high = xy[:, 1].min(), xy[:, 1].max()
    for fraction in _LINES:
        y = low + fraction * (high - low)
        cut = (xy[:, 1] <= y) != (following[:, 1] <= y)
        a, b = xy[cut], following[cut]
        x = np.sort(a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1]))
        if len(x):
            longest = int(np.argmax(x[1::2] - x[::2]))
            middle = (x[2 * longest] + x[2 * longest + 1]) / 2
            if (place := inside(np.array([middle, y]))) is not None:
                return place
    return None
