"""Nodes without names are paired by where they stand, the nearest first."""

import tracemalloc
from itertools import product

import numpy as np
import pytest

from msh_gltf.converter.judge.compare import Comparison
from msh_gltf.converter.judge.difference import candidates, nearest, pairs
from msh_gltf.converter.judge.shown import Shown, Thing, Triangles, ways


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


def crowd(count: int) -> np.ndarray:
    """Triangles in one place, and as many of other sizes with the same middle."""
    dice = np.random.default_rng(3)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float64)
    middle = corners.mean(axis=0)
    sizes = np.concatenate([np.ones(count), dice.uniform(2, 900, count)])
    return middle + (corners - middle) * sizes[:, None, None]


def turned(array: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Corners of triangles that begin elsewhere."""
    return np.take_along_axis(array, ((np.arange(3) + by[:, None]) % 3)[..., None], axis=1)


def test_pairs_of_a_crowd_grow_with_its_triangles() -> None:
    """By how many pairs are compared: four times as many triangles are four times as many pairs, not sixteen times."""
    counts = []
    for count in (1000, 4000):
        a = crowd(count)
        dice = np.random.default_rng(4)
        order = dice.permutation(len(a))
        b = turned(a[order], dice.integers(0, 3, len(a)))
        tolerance = np.full(len(a), 1e-4)
        counts.append(len(candidates(a, b, 1e-4)[0]))
        assert set(pairs(a, b, tolerance)[0].tolist()) == {*range(len(a))}
    assert counts[1] < 5 * counts[0] < 5 * 100 * 2000


def corners_have(what: str, dice: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Something of each corner of a crowd, what editors make of it by rounding, and what is another one."""
    if what == "normals":
        normals = dice.normal(size=(count, 3, 3))
        normals /= np.linalg.norm(normals, axis=2, keepdims=True)
        return normals, normals + dice.uniform(-1e-3, 1e-3, normals.shape), -normals
    if what == "colours":
        colours = dice.integers(8, 200, (count, 3, 4)).astype(np.uint8)
        return colours, colours, colours + np.uint8(40)
    turns = dice.integers(-2, 3, (count, 1, 2)) if what == "uv0" else 0  # whole ones look the same
    found = dice.uniform(0, 8, (count, 3, 2)).astype(np.float32)
    near = found + turns + dice.uniform(-1e-6, 1e-6, found.shape)
    return found, near.astype(np.float32), found + np.float32(0.25)


@pytest.mark.parametrize("what", ["uv0", "uv1", "normals", "colours"])
@pytest.mark.parametrize("other", [0, 7])
@pytest.mark.parametrize("count", [20, 1000])  # of 20 in one place, all are compared with all
def test_a_crowd_is_compared_by_what_its_corners_have(count: int, other: int, what: str) -> None:
    """In another order, turned, and with what editors round: only those that differ are found."""
    a = crowd(count)
    dice = np.random.default_rng(5)
    order, by = dice.permutation(len(a)), dice.integers(0, 3, len(a))
    mine, near, unlike = corners_have(what, dice, len(a))
    theirs = turned(near[order], by)
    theirs[:other] = turned(unlike[order], by)[:other]
    sides = []
    for corners, had in ((a, mine), (turned(a[order], by), theirs)):
        all_known = {"known": np.ones((len(a), 4), np.bool_)}
        known = all_known if what == "colours" else {}
        more = {} if corners is a else {"normals": np.ones((len(a), 3, 3)), "uv1": had}  # the file does not say
        if what == "uv1":  # with colours that an editor rounded, by which a crowd would be in another order
            colours = 100 + (np.arange(9 * len(a)) % 89).reshape(-1, 3, 3)
            colours = colours if corners is a else turned(colours[order] + dice.integers(-1, 2, colours.shape), by)
            more["colours"], known = np.dstack([colours, colours[..., :1]]).astype(np.uint8), all_known
        rest = {**more, what: had, **known}
        triangles = Triangles(corners, np.zeros(len(a), np.int64), np.full(len(a), -1), **rest)
        sides.append(Shown(things(np.zeros((1, 3)), ["x"]), cells={(0, 0): triangles}))
    found = Comparison(*sides)
    found.cell((0, 0))
    assert [one.amount for one in found.found] == ([other] if other else [])


@pytest.mark.parametrize("name", ["e_gun_01", "E_Gun_01#2", "e_gun_01.001", "e_gun_01#2.001", "e_gun_01.001#2"])
def test_what_exporter_and_blender_append_is_no_other_name(name: str) -> None:
    assert "e_gun_01" in ways(name)
    assert "e_gun_01" not in ways(f"x{name}")
