"""Matching triangles: in order, in any order, and where there are none."""

from dataclasses import replace

import numpy as np

from msh_gltf.converter.edits.triangles import TriangleList, match


def triangles(count: int) -> TriangleList:
    positions = np.arange(9 * count, dtype=np.float32).reshape(count, 3, 3)
    vertex = np.arange(3 * count).reshape(count, 3)
    material = np.zeros(count, np.int64)
    return TriangleList(positions, None, None, None, material=material, vertex=vertex, lightmap=False)


def test_lists_without_triangles_are_compared() -> None:
    assert match(triangles(0), triangles(0), [{0}]).unchanged
    assert match(triangles(0), triangles(2), [{0}]).lost.tolist() == [0, 1]
    assert match(triangles(2), triangles(0), [{0}]).old_of.tolist() == [-1, -1]


def test_triangles_in_their_old_order_match_as_in_any_other() -> None:
    chance = np.random.default_rng(1)
    old = triangles(30)
    old.positions[10:20] = old.positions[:10]  # twice, with another material or the same
    old.positions[25, 1] = old.positions[25, 0]
    old.normals = chance.normal(size=(30, 3, 3)).astype(np.float32)
    old.normals[10:20] = old.normals[:10]
    old.uv0 = chance.integers(-9, 9, (30, 3, 2)).astype(np.int16)
    old.uv0[10:20] = old.uv0[:10]
    old.material = np.repeat([0, 1, 0, 2], [10, 5, 5, 10])
    same = [{0}, {1}, {2}]
    assert match(old, old, same).old_of.tolist() == list(range(30))
    for order in (np.arange(30), chance.permutation(30)):
        turn = [0, 1, 2] if order[0] == 0 else [1, 2, 0]
        new = replace(
            old,
            positions=old.positions[order][:, turn],
            normals=old.normals[order][:, turn],
            uv0=old.uv0[order][:, turn],
            material=old.material[order],
        )
        assert match(new, old, same).unchanged
        assert match(new, old, ()).same_triangles
        new.normals[3] *= -1
        new.material[4] = (new.material[4] + 1) % 3
        found = match(new, old, same)
        assert np.flatnonzero(found.normals_differ).tolist() == [3]
        assert found.materials_differ.sum() == 1
        edited = int(np.argmax(order == 29))
        new.uv0[edited, 0, 0] += 40
        found = match(new, old, same)
        assert np.flatnonzero(found.old_of < 0).tolist() == [edited]
        assert found.lost.tolist() == [29]
