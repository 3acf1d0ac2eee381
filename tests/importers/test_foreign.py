"""glTF files that this project did not make: they convert, or say what is in the way.

Built by trimesh, by DracoPy, and by hand straight from the specification. What comes out is
compared in world space with what the file holds."""

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh

from msh_gltf.converter.errors import ConversionError
from msh_gltf.importers.gltf_file import _draco_counts
from tests.support.foreign import QUAD, TO_GAME, Builder, convert, quad, same_triangles, world
from tests.support.gltf_edit import PATHS_ELSEWHERE


def trimesh_scenes() -> dict[str, trimesh.Scene]:
    turn = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3], [0.1, 0.2, 0.3])
    nested = trimesh.Scene()
    nested.add_geometry(trimesh.creation.box(), node_name="body", geom_name="g1")
    nested.add_geometry(
        trimesh.creation.cone(1, 2), node_name="head", geom_name="g2", parent_node_name="body", transform=turn
    )
    scaled = trimesh.Scene()
    scaled.add_geometry(trimesh.creation.icosphere(1), transform=turn @ np.diag([2, 0.5, 1, 1]))
    mirrored = trimesh.Scene()
    mirrored.add_geometry(trimesh.creation.annulus(1, 2, 1), transform=np.diag([-1, 1, 1, 1]))
    coloured = trimesh.creation.box()
    coloured.visual.vertex_colors = np.arange(32).reshape(8, 4) * 7
    return {
        "box": trimesh.Scene(trimesh.creation.box([1, 2, 3])),
        "icosphere": trimesh.Scene(trimesh.creation.icosphere(2)),
        "cylinder": trimesh.Scene(trimesh.creation.cylinder(1, 3)),
        "torus": trimesh.Scene(trimesh.creation.torus(2, 0.5)),
        "capsule": trimesh.Scene(trimesh.creation.capsule(2, 0.5)),
        "nested": nested,
        "scaled": scaled,
        "mirrored": mirrored,
        "coloured": trimesh.Scene(coloured),
        "triangles": trimesh.Scene(trimesh.creation.random_soup(50)),
    }


@pytest.mark.parametrize("name", trimesh_scenes())
def test_made_by_trimesh(name: str, tmp_path: Path) -> None:
    scene = trimesh_scenes()[name]
    path = tmp_path / f"{name}.glb"
    path.write_bytes(scene.export(file_type="glb"))
    got, _ = convert(path)
    expected = scene.to_mesh() if hasattr(scene, "to_mesh") else scene.dump(concatenate=True)
    same_triangles(world(got), np.asarray(expected.triangles) @ TO_GAME.T)


def test_draco(tmp_path: Path) -> None:
    dracopy = pytest.importorskip("DracoPy", reason="DracoPy is not installed")
    b = Builder()
    mesh = b.mesh()
    faces, ball = np.array([[0, 1, 2], [1, 3, 2]], np.uint32), trimesh.creation.icosphere(3)
    for ordered in (True, False):  # one after another, and edge by edge; numbers of several bytes
        packed = dracopy.encode(ball.vertices, faces=ball.faces, quantization_bits=14, preserve_order=ordered)
        assert _draco_counts(packed) == (len(ball.faces), len(ball.vertices)) == (1280, 642)
        packed = dracopy.encode(QUAD, faces=faces, quantization_bits=14, preserve_order=ordered)
        assert _draco_counts(packed) == (2, 4)
    primitive = b.json["meshes"][0]["primitives"][0]
    primitive["extensions"] = {
        "KHR_draco_mesh_compression": {"bufferView": b.view(packed), "attributes": {"POSITION": 0}}
    }
    b.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    b.node(mesh=mesh)
    same_triangles(world(convert(b.save(tmp_path))[0]), quad(), 2e-4)


@pytest.mark.parametrize("uri", PATHS_ELSEWHERE)
def test_paths_to_other_machines_are_refused_before_anything_looks_there(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Builder()
    builder.node(mesh=builder.mesh())
    path = builder.save(tmp_path)
    document = json.loads(path.read_text())
    document["buffers"][0]["uri"] = uri
    path.write_text(json.dumps(document))

    def looked(self: Path, strict: bool = False) -> Path:
        raise AssertionError(f"{self} was resolved")

    monkeypatch.setattr(Path, "resolve", looked)
    with pytest.raises(ConversionError, match="lies outside the file's directory"):
        convert(path, use_sidecar=False)
