"""Axes and rest poses: the worked vectors of docs/reference/conventions.md, and recorded truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric import pose
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.scene.decode import decode, rest_pose
from msh_gltf.converter.scene.dialect import Dialect
from tests.support.corpus import SAMPLES

R = float(np.sqrt(0.5))


@pytest.mark.parametrize(
    ("q", "v", "result", "gltf"),
    [
        ([1, 0, 0, 0], (1, 2, 3), (1, 2, 3), (0, 0, 0, 1)),
        ([R, 0, 0, R], (1, 0, 0), (0, -1, 0), (0, -R, 0, R)),
        ([R, R, 0, 0], (0, 1, 0), (0, 0, -1), (-R, 0, 0, R)),
        ([R, 0, R, 0], (0, 0, 1), (-1, 0, 0), (0, 0, R, R)),
    ],
)
def test_worked_vectors(q: list, v: tuple, result: tuple, gltf: tuple) -> None:
    rotation = pose.rotation(np.array(q, np.float32))
    np.testing.assert_allclose(pose.rotate(rotation, np.array(v, float)), result, atol=1e-7)
    np.testing.assert_allclose(pose.rotation_to_gltf(rotation), gltf, atol=1e-7)


@given(st.lists(st.floats(width=32), min_size=3, max_size=3))
def test_axis_map_is_exact(v: list[float]) -> None:
    game = np.array(v, np.float32)
    gltf = pose.game_to_gltf(game)
    assert pose.gltf_to_game(gltf).tobytes() == game.tobytes()  # -0.0 and NaN included
    assert gltf[:2].tobytes() == game[[0, 2]].tobytes()
    assert gltf[2].tobytes() == (-game[1]).tobytes()


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4))
def test_rotation_map_is_exact(q: list[float]) -> None:
    array = np.array(q)
    assert pose.rotation_to_game(pose.rotation_to_gltf(array)).tobytes() == array.tobytes()


def test_zero_key_is_identity() -> None:
    assert pose.rotation(np.zeros(4, np.float32)).tolist() == [1, 0, 0, 0]


def test_parents_first() -> None:
    assert pose.parents_first([NONE16, 2, 0]) == [0, 2, 1]
    assert pose.parents_first([NONE16, 2, 1]) == [0]  # 1 and 2 are a cycle


UNIT = st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: sum(map(abs, q)) > 0.1)


@given(st.lists(st.tuples(st.integers(-1, 6), UNIT, st.lists(st.floats(-9, 9), min_size=3, max_size=3)), max_size=7))
def test_compose_is_a_product_of_matrices(nodes: list[tuple[int, list[float], list[float]]]) -> None:
    """Two poses at once, parents in any order; against 4 x 4 matrices."""
    parents = [NONE16 if up < 0 or up >= len(nodes) else up for up, _, _ in nodes]
    parents = [up if up in pose.parents_first(parents) else NONE16 for up in parents]
    if len(pose.parents_first(parents)) != len(nodes):
        return
    turns = np.array([q for _, q, _ in nodes]).reshape(-1, 4)
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    moves = np.array([t for _, _, t in nodes]).reshape(-1, 3)
    both = np.stack([turns, turns[:, [0, 2, 3, 1]]]), np.stack([moves, 2 * moves])
    world_r, world_t = pose.compose(parents, *both)
    assert world_r.shape == both[0].shape
    assert world_t.shape == both[1].shape
    for k in range(2):
        for i in range(len(nodes)):
            matrix, node = np.eye(4), i
            while node != NONE16:
                own = np.eye(4)
                own[:3, :3] = pose.rotation_matrix(both[0][k, node])
                own[:3, 3] = both[1][k, node]
                matrix, node = own @ matrix, parents[node]
            np.testing.assert_allclose(pose.rotation_matrix(world_r[k, i]), matrix[:3, :3], atol=1e-9)
            np.testing.assert_allclose(world_t[k, i], matrix[:3, 3], atol=1e-9)


POSED = [s for s in SAMPLES if not s.truth["legacy"]]


@pytest.mark.parametrize("sample", POSED, ids=[s.id for s in POSED])
def test_rest_pose(sample) -> None:
    scene = decode(read_msh(sample.path, sample.entry), Dialect(sample.dialect), "x")
    world_r, world_t = rest_pose(scene)
    truth = sample.arrays["rest_world"]
    scale = max(1.0, np.abs(truth).max())
    np.testing.assert_allclose(pose.rotation_matrix(world_r), truth[:, :3, :3], atol=1e-6)
    np.testing.assert_allclose(world_t, truth[:, :3, 3], atol=1e-6 * scale)
