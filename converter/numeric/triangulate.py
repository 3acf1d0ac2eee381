"""Triangulate simple polygons by ear clipping, to show areals.

Convex polygons, which are most, are fans; a loop runs over the others only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: From so many corners on arrays are faster than plain floats.
_MANY = 64


def triangulate(points: NDArray[np.float64], start: NDArray[np.int64]) -> NDArray[np.int64]:
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
    for number in np.unique(polygon[bent]).tolist():
        low, high = int(start[number]), int(start[number + 1])
        row = int(first[number])
        out[row : row + high - low - 2] = low + np.array(_clip_ears(points[low:high]))
    return out


def _clip_ears(points: NDArray[np.float64]) -> list[tuple[int, int, int]]:
    """Triangles of one simple polygon; where no ear is left, a fan of what remains."""
    left = list(range(len(points)))
    corners = [(x, y) for x, y in points.tolist()]
    out = []
    while len(left) > 3:
        if len(left) > _MANY:
            ears = (i for i in range(len(left)) if _is_ear_of_many(points, left, i))
        else:
            ears = (i for i in range(len(left)) if _is_ear(corners, left, i))
        ear = next(ears, 1)
        out.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    return [*out, (left[0], left[1], left[2])]


def _is_ear(points: list[tuple[float, float]], left: list[int], i: int) -> bool:
    """Whether a corner sticks out, and no other corner lies in its triangle."""
    before, own, after = left[i - 1], left[i], left[(i + 1) % len(left)]
    (ax, ay), (bx, by), (cx, cy) = points[before], points[own], points[after]
    abx, aby, bcx, bcy, cax, cay = bx - ax, by - ay, cx - bx, cy - by, ax - cx, ay - cy
    if abx * (cy - ay) - aby * (cx - ax) <= 0:
        return False
    for k in left:
        x, y = points[k]
        if (
            abx * (y - ay) - aby * (x - ax) >= 0
            and bcx * (y - by) - bcy * (x - bx) >= 0
            and cax * (y - cy) - cay * (x - cx) >= 0
            and k not in (before, own, after)
        ):
            return False
    return True


def _is_ear_of_many(points: NDArray[np.float64], left: list[int], i: int) -> bool:
    """The same in arrays, which pays where there are many other corners."""
    a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
    corner = points[[a, b, c]]
    if _side(corner[0], corner[1], corner[2:3])[0] <= 0:
        return False
    others = points[[k for k in left if k not in (a, b, c)]]
    inside = np.ones(len(others), np.bool_)
    for k in range(3):
        inside &= _side(corner[k], corner[(k + 1) % 3], others) >= 0
    return not inside.any()


def _side(
    a: NDArray[np.float64], b: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Twice the signed area of the triangles (a, b, point)."""
    edge, away = b - a, points - a
    return np.asarray(edge[0] * away[:, 1] - edge[1] * away[:, 0])
