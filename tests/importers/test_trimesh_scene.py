"""Scenes of trimesh: what they do not say is made up as it should be."""

import numpy as np
import trimesh

from msh_gltf.importers.trimesh_scene import read_scene


def test_missing_normals_are_those_of_every_face_of_a_vertex() -> None:
    """Area-weighted, whichever corner of a face a vertex is."""
    points = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, -2]]
    mesh = trimesh.Trimesh(points, [[0, 1, 2], [1, 3, 2]], process=False)
    given, bare = read_scene(trimesh.Scene({"hull": mesh}), "hull.ply", up="z")
    assert bare == {0}
    both = np.array([2.0, 0, 1]) / np.sqrt(5)  # areas 1 and 1/2
    np.testing.assert_allclose(given.streams.normals, [[0, 0, 1], both, both, [1, 0, 0]], atol=1e-6)
