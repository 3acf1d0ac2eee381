"""Nodes without names are paired by where they stand, the nearest first."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest

from msh_gltf.converter.judge.match import nearest
from msh_gltf.converter.judge.shown import Thing


def things(points: np.ndarray, names: list[str] | None = None) -> list[Thing]:
    """Nodes at points, (n, 3)."""
    worlds = np.tile(np.eye(4), (len(points), 1, 1, 1))
    worlds[:, 0, :3, 3] = points
    return [Thing("" if names is None else names[i], -1, world) for i, world in enumerate(worlds)]


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_pairs_come_first(seed: int) -> None:
    """As of all pairs, sorted by distance; some stand in one place, and either side may have more."""
    dice = np.random.default_rng(seed)
    a, b = (dice.uniform(-1, 1, (dice.integers(1, 12), 3)) for _ in range(2))
    a[: min(3, len(a), len(b))] = b[: min(3, len(a), len(b))]
    expected: dict[int, int] = {}
    for i, k in sorted(product(range(len(a)), range(len(b))), key=lambda p: float(np.linalg.norm(a[p[0]] - b[p[1]]))):
        if i not in expected and k not in expected.values():
            expected[i] = k
    assert dict(nearest(things(a), things(b))) == expected


def test_a_name_decides_between_nodes_in_one_place() -> None:
    points = np.zeros((3, 3))
    pairs = nearest(things(points, ["x", "y", "z"]), things(points, ["z", "q", "x"]))
    assert dict(pairs) == {0: 2, 2: 0, 1: 1}


@pytest.mark.parametrize("away", [0.0, 0.5])
def test_memory_is_for_nodes_and_not_for_pairs(away: float) -> None:
    """2,000 nodes that stand in one place, and as many that stand elsewhere."""
    count = 2000
    a, b = things(np.zeros((count, 3))), things(np.full((count, 3), away))
    tracemalloc.start()
    try:
        assert len(dict(nearest(a, b))) == count
        assert tracemalloc.get_traced_memory()[1] < 4 * count * 1024
    finally:
        tracemalloc.stop()


def test_nothing_is_paired_with_nothing() -> None:
    assert [*nearest(things(np.zeros((2, 3))), [])] == []
    assert [*nearest([], things(np.zeros((2, 3))))] == []
