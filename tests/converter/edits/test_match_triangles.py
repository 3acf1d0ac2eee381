"""Matching triangles where there are none."""

from __future__ import annotations

import numpy as np

from msh_gltf.converter.edits.match_triangles import TriangleList, match


def triangles(count: int) -> TriangleList:
    positions = np.arange(9 * count, dtype=np.float32).reshape(count, 3, 3)
    vertex = np.arange(3 * count).reshape(count, 3)
    material = np.zeros(count, np.int64)
    return TriangleList(
        positions, None, None, None, material=material, vertex=vertex, lightmap=False
    )


def test_lists_without_triangles_are_compared() -> None:
    assert match(triangles(0), triangles(0), [{0}]).unchanged
    assert match(triangles(0), triangles(2), [{0}]).lost.tolist() == [0, 1]
    assert match(triangles(2), triangles(0), [{0}]).old_of.tolist() == [-1, -1]
