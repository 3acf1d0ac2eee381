"""Bounds of slots: boxes, spheres, areas and volumes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.numeric.surfaces import slot_bounds

#: A right triangle of 3, 4, 5, in each of the coordinate planes.
FLAT = np.array([[0, 0, 0], [3, 0, 0], [0, 4, 0]], np.float32)


@pytest.mark.parametrize("turn", [[0, 1, 2], [2, 0, 1], [1, 2, 0]], ids=["xy", "yz", "zx"])
def test_the_area_of_a_slot_is_the_sum_of_its_triangles(turn: list[int]) -> None:
    one, three = FLAT[None][..., turn], np.stack([FLAT, FLAT + 1, 2 * FLAT])[..., turn]
    assert slot_bounds(one)["area"] == 6
    assert slot_bounds(three)["area"] == 6 + 6 + 24
    assert slot_bounds(one[:, ::-1])["area"] == 6, "whatever the winding"


def test_a_degenerate_triangle_has_no_area() -> None:
    flat = np.array([[[0, 0, 0], [1, 1, 1], [2, 2, 2]]], np.float32)
    assert slot_bounds(flat)["area"] == 0
    assert slot_bounds(flat)["volume"] == 8, "that of the box"


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
