"""Compute the area that pairs of triangles share, and where.

One triangle is cut by the sides of the other. Cutting keeps closed rings of points: an edge that
is outside lies down on the line that cuts, where it encloses nothing.
"""

from __future__ import annotations

import numpy as np

from .arrays import Floats


def shared_area(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the area that triangles share, and its centroid.

    Args:
        first, second: (K, 3, 2) float64, counter-clockwise.

    Returns:
        (K,) areas, and (K, 2) centroids, the first corner where there is no area.
    """
    origin = first[:, :1]
    ring, other = first - origin, second - origin
    for k in range(3):
        ring = _cut(ring, other[:, k], other[:, (k + 1) % 3])
    after = np.roll(ring, -1, axis=1)
    cross = ring[..., 0] * after[..., 1] - ring[..., 1] * after[..., 0]
    twice = cross.sum(axis=1)
    moment = ((ring + after) * cross[..., None]).sum(axis=1)
    some = twice > 0
    centroid = np.where(some[:, None], moment / np.where(some, 3 * twice, 1)[:, None], 0)
    return np.maximum(twice / 2, 0), centroid + origin[:, 0]


def _cut(ring: Floats, a: Floats, b: Floats) -> Floats:
    """What lies left of lines from ``a`` to ``b``, (K, 2), of rings, (K, n, 2): (K, 2n, 2)."""
    along = (b - a)[:, None]
    length = np.maximum((along**2).sum(axis=2), 1e-300)
    after = np.roll(ring, -1, axis=1)

    def height(points: Floats) -> Floats:
        away = points - a[:, None]
        return np.asarray(along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0])

    def foot(points: Floats, heights: Floats) -> Floats:
        across = np.stack([-along[..., 1], along[..., 0]], axis=2)
        return np.asarray(points - across * (heights / length)[..., None])

    here, there = height(ring), height(after)
    ratio = np.divide(here, here - there, out=np.zeros_like(here), where=here != there)
    crossing = ring + (after - ring) * ratio[..., None]
    crosses = ((here < 0) != (there < 0))[..., None]
    begin = np.where(here[..., None] >= 0, ring, np.where(crosses, crossing, foot(ring, here)))
    end = np.where(there[..., None] >= 0, after, np.where(crosses, crossing, foot(after, there)))
    return np.stack([begin, end], axis=2).reshape(len(ring), -1, 2)
