"""Bounds of slots: boxes, spheres, areas and volumes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.numeric.surfaces import slot_bounds


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
