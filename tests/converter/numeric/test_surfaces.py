"""Bounds of slots, cells under polygons, areas that triangles share."""

from fractions import Fraction
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.numeric import surfaces
from msh_gltf.converter.numeric.surfaces import cells_under, shared_area, slot_bounds
from tests.support.areals import brute_inside

Point = tuple[float, float]


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_bounds_of_random_triangles(seed: int, count: int) -> None:
    """Heron's formula, a corner search, and containment."""
    corners = np.random.default_rng(seed).normal(size=(count, 3, 3)).astype(np.float32)
    bounds = slot_bounds(corners)
    sides = np.linalg.norm(corners - corners[:, [1, 2, 0]], axis=2).astype(np.float64)
    half = sides.sum(axis=1) / 2
    heron = np.sqrt(np.maximum(half * np.prod(half[:, None] - sides, axis=1), 0)).sum()
    assert bounds["area"] == pytest.approx(heron, rel=1e-4, abs=1e-4)
    low, high = bounds["aabb_min"], bounds["aabb_max"]
    assert (corners.min(axis=(0, 1)) == low).all()
    assert (corners.max(axis=(0, 1)) == high).all()
    assert bounds["volume"] == pytest.approx(float(np.prod(high.astype(float) - low)), rel=1e-6)
    away = np.linalg.norm(corners.astype(np.float64) - bounds["sphere_center"], axis=2)
    assert (away <= bounds["sphere_radius"]).all()


def shared(polygon: list[Point], other: list[Point]) -> list[Point]:
    """What a polygon shares with a convex one, counter-clockwise: cut by its sides, one after another."""
    for p, q in zip(other, [*other[1:], *other[:1]], strict=True):
        kept: list[Point] = []
        for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
            u, v = ((q[0] - p[0]) * (c[1] - p[1]) - (q[1] - p[1]) * (c[0] - p[0]) for c in (a, b))
            if u >= 0:
                kept.append(a)
            if u * v < 0:
                t = u / (u - v)
                kept.append((a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))
        polygon = kept
    return polygon


def area_of(polygon: list[Point]) -> float:
    x, y = np.reshape(polygon, (-1, 2)).T - (np.reshape(polygon[:1], (2, 1)) if polygon else 0)
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2)


def meets(polygon: list[Point], low: Point, high: Point) -> bool:
    """Whether a polygon and a closed rectangle share a point, in exact fractions."""
    for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        first, last = Fraction(0), Fraction(1)
        for axis in (0, 1):
            start, step = Fraction(a[axis]), Fraction(b[axis]) - Fraction(a[axis])
            if not step:
                if not low[axis] <= start <= high[axis]:
                    last = Fraction(-1)
                continue
            ends = sorted((Fraction(side[axis]) - start) / step for side in (low, high))
            first, last = max(first, ends[0]), min(last, ends[1])
        if first <= last:
            return True
    return brute_inside(polygon, *low)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=7, unique=True),
    st.sampled_from([5, 1 << 20]),
)
def test_cells_under_equal_brute_force(corners: list[tuple[int, int]], at_once: int) -> None:
    """Star-shaped polygons round the grid's middle, on and off the borders of cells; in pieces, too."""
    middle = np.array((4.1, 3.9))
    spokes = np.array(corners) - middle
    order = np.argsort(np.arctan2(spokes[:, 1], spokes[:, 0]))
    polygon = np.array(corners, np.float64)[order]
    following = np.roll(polygon, -1, 0)
    if (polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]).sum() <= 0:
        return
    borders = np.linspace(-1, 9, 6)
    with mock.patch.object(surfaces, "_AT_ONCE", at_once):
        rows, touch, overlap = cells_under(polygon, borders, borders)
    shape = [(x, y) for x, y in polygon.tolist()]
    for x in range(5):
        for y in range(5):
            low, high = (borders[x], borders[y]), (borders[x + 1], borders[y + 1])
            at = np.flatnonzero(rows == 5 * x + y)
            assert (at.size and touch[at[0]]) == meets(shape, low, high)
            cell = [low, (high[0], low[1]), high, (low[0], high[1])]
            assert (at.size and overlap[at[0]]) == (area_of(shared(shape, cell)) > 4e-9)


def test_shared_area_of_triangles() -> None:
    """And its centre: a fan of the polygon that is shared."""
    rng = np.random.default_rng(3)
    first, second = rng.uniform(0, 1, (2, 40, 3, 2))
    for one in (first, second):
        across = one[:, 1:] - one[:, :1]
        flip = across[:, 0, 0] * across[:, 1, 1] < across[:, 0, 1] * across[:, 1, 0]
        one[flip] = one[flip][:, ::-1]
    area, centre = shared_area(first, second)
    for k in range(40):
        polygon = shared([(x, y) for x, y in first[k].tolist()], second[k].tolist())
        assert area[k] == pytest.approx(area_of(polygon), abs=1e-12)
        if area[k] > 1e-6:
            fan = [[polygon[0], *pair] for pair in pairwise(polygon[1:])]
            middle = sum(area_of(one) * np.mean(one, axis=0) for one in fan) / area[k]
            assert np.allclose(centre[k], middle, atol=1e-6)
    beside = np.array([[[0.0, 0], [1, 0], [0, 1]]])
    assert shared_area(beside, np.array([[[1.0, 0], [1, 1], [0, 1]]]))[0] == pytest.approx(0)
