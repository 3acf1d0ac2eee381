"""Real Blender imports our files and sees what the recorded truth says."""

import numpy as np
import pytest

from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.numeric.pose import compose, rotation, rotation_matrix
from tests.support.blender import blender
from tests.support.corpus import sample_called
from tests.support.runs import to_gltf


@pytest.fixture(scope="module", params=["retail__odd__s_rock_009", "spec__system__a_bird_007"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """(sample, frames, what Blender made of it)."""
    sample = sample_called(request.param)
    folder = tmp_path_factory.mktemp("blender")
    target = to_gltf(sample, folder / "model.glb")
    last = sample.truth["frame_count"] - 1
    frames = sorted({0, 1, last // 2, last})
    blender("probe.py", target, folder / "out.npz", *frames)
    with np.load(folder / "out.npz") as file:
        return sample, frames, dict(file)


def test_world_matrices(seen: tuple) -> None:
    """Every node at several frames: the runtime's samples, composed down the hierarchy."""
    sample, frames, found = seen
    truth, nodes = sample.arrays, sample.truth["nodes"]
    assert int(found["fps"]) == 24
    parents = [NONE16 if n["parent"] < 0 else n["parent"] for n in nodes]
    at = {float(t): i for i, t in enumerate(truth["times"])}
    for k, frame in enumerate(frames):
        i = at[float(frame)]
        turned = rotation(truth["quat"][:, i])
        world_r, world_t = compose(parents, turned, truth["pos"][:, i].astype(np.float64))
        size = max(1.0, np.abs(world_t).max())
        for n, node in enumerate(nodes):
            got = found[f"world/{node['name_cp1251']}"][k]
            np.testing.assert_allclose(got[:3, :3], rotation_matrix(world_r[n]), atol=2e-5)
            np.testing.assert_allclose(got[:3, 3], world_t[n], atol=2e-5 * size)


def test_vertices(seen: tuple) -> None:
    """Positions bit for bit, texture coordinates too (v flipped), normals within 0.1 degree."""
    sample, _, found = seen
    truth = sample.arrays
    meshes = 0
    for node, lod, group, _slot, start, count in truth["soup_dir"].tolist():
        name = sample.truth["nodes"][node]["name_cp1251"]
        if (lod, group) != (0, 0) or f"corners/{name}" not in found:
            continue
        meshes += 1
        rows = slice(start, start + count)
        corners = truth["vertex_pos"][truth["tri_vertex"][truth["soup_tri"][rows]]]
        uv = truth["soup_uv"][rows].astype(np.float64) * [1, -1] + [0, 1]
        got = np.concatenate([found[f"corners/{name}"], found[f"uv/{name}"]], axis=2)
        expected = np.concatenate([corners.astype(np.float64), uv], axis=2)
        assert sorted(map(_corner_set, got)) == sorted(map(_corner_set, expected))
        lengths = np.linalg.norm(found[f"normals/{name}"], axis=2)
        np.testing.assert_allclose(lengths, 1, atol=1e-3)
    assert meshes >= 3


def _corner_set(triangle: np.ndarray) -> tuple:
    corners = [tuple(np.float32(v) for v in corner) for corner in triangle]
    first = corners.index(min(corners))
    return tuple(corners[first:] + corners[:first])


def test_one_clean_model_is_shown(seen: tuple) -> None:
    """The default scene only: no other LOD, no damage stage, no cockpit part."""
    sample, _, found = seen
    names = {n["name_cp1251"] for n in sample.truth["nodes"]}
    assert set(found["shown"].tolist()) == names
    for index, node in enumerate(sample.truth["nodes"]):
        assert int(found[f"node/{node['name_cp1251']}"]) == index
        if node["cockpit"]:
            assert f"corners/{node['name_cp1251']}" not in found
