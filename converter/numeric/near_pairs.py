"""Find points that are close to each other, without SciPy: Blender's extension has none."""

from __future__ import annotations

from itertools import product

import numpy as np

from .adjacency import row_ids
from .arrays import Floats, Ints, ranges


def near_pairs(points: Floats, distance: float) -> tuple[Ints, Ints]:
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
