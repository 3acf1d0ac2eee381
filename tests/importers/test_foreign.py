"""glTF files that this project did not make: they convert, or say what is in the way.

Built by trimesh, by DracoPy, and by hand straight from the specification. What comes out is
compared in world space with what the file holds."""

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.importers.gltf_file import _draco_counts
from tests.support.foreign import (
    QUAD,
    TO_GAME,
    Builder,
    Json,
    convert,
    matrix_of,
    quad,
    quaternion,
    same_triangles,
    world,
)
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


@pytest.mark.parametrize("as_matrix", [False, True])
@pytest.mark.parametrize("outer", [(2, 2, 2), (1, 3, 0.5), (-1, 1, 1), (1, 1, 1)])
@pytest.mark.parametrize("inner", [(1, 1, 1), (0.5, 2, 1), (1, -2, 1)])
def test_nested_transforms(as_matrix: bool, outer: tuple, inner: tuple, tmp_path: Path) -> None:
    """Scale, shear and mirrors go into the vertices; nodes stay rigid."""
    axes = ((1, 2, 3), (3, 1, -2))
    moves = ([1.0, 2, 3], [-1.0, 0.5, 2])
    b = Builder()
    matrices = []
    for i, (axis, move, scale) in enumerate(zip(axes, moves, (outer, inner), strict=True)):
        matrices.append(matrix_of(move, axis, 0.8, scale))
        if as_matrix:
            data: Json = {"matrix": matrices[-1].T.reshape(-1).tolist()}
        else:
            data = {"translation": move, "rotation": quaternion(axis, 0.8), "scale": list(scale)}
        if i == 0:
            data["children"] = [1]
        b.node(name=f"n{i}", **data)
    b.json["nodes"][1]["mesh"] = b.mesh()
    scene, _ = convert(b.save(tmp_path))
    same_triangles(world(scene), quad(matrices[0] @ matrices[1]))
    for node in scene.nodes:
        assert np.linalg.norm(node.rotation) == pytest.approx(1)


def test_several_scenes(tmp_path: Path) -> None:
    b = Builder()
    mesh = b.mesh()
    nodes = [b.node(name=f"n{i}", mesh=mesh, translation=[i, 0, 0]) for i in range(2)]
    b.json["scenes"] = [{"name": "one", "nodes": nodes[:1]}, {"name": "two", "nodes": nodes[1:]}]
    path = b.save(tmp_path)
    scene, warnings = convert(path)
    assert [n.name for n in scene.nodes] == ["n0"]
    assert any("--scene" in warning for warning in warnings)
    for choice in ("two", "1"):
        assert [n.name for n in convert(path, scene=choice)[0].nodes] == ["n1"]
    with pytest.raises(ConversionError, match=r"no such scene: three \(expected 0 one, 1 two\)"):
        convert(path, scene="three")


def test_lines_without_a_name_are_skipped(tmp_path: Path) -> None:
    b = Builder()
    nodes = [b.node(name="body", mesh=b.mesh()), b.node(name="wire", mesh=b.mesh(mode=1))]
    b.json["scenes"][0]["nodes"] = nodes
    for mesh in b.json["meshes"]:
        mesh.pop("name", None)
    path = b.save(tmp_path)
    scene, _ = convert(path)
    (fact,) = import_gltf(path, None).not_applied
    assert (fact.where, fact.what) == ("mesh 1 of node 'wire'", "has lines")
    same_triangles(world(scene), quad())


def test_frame_rates(tmp_path: Path) -> None:
    b = Builder()
    b.clip(b.node(mesh=b.mesh()), "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    assert convert(b.save(tmp_path))[0].frame_count == 25
    assert convert(b.save(tmp_path), fps=30.0)[0].frame_count == 31


def test_clips(tmp_path: Path) -> None:
    b = Builder()
    node = b.node(mesh=b.mesh())
    b.clip(node, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.json["animations"][0]["name"] = "walk"
    b.json["animations"].append(json.loads(json.dumps(b.json["animations"][0])) | {"name": "run"})
    b.json["animations"][1]["samplers"][0]["input"] = b.accessor(np.float32([0, 2]))
    path = b.save(tmp_path)
    assert convert(path)[0].frame_count == 25
    assert convert(path, clip="run")[0].frame_count == 49
    with pytest.raises(ConversionError, match="no such clip: fly"):
        convert(path, clip="fly")


def skinned(tmp_path: Path) -> Path:
    """Two joints; the first triangle leans on one, the second on the other."""
    b = Builder()
    joints = np.zeros((4, 4), np.uint8)
    joints[:, 1] = 1
    weights = np.zeros((4, 4), np.float32)
    weights[:, 0] = [1, 0.4, 1, 0]
    weights[:, 1] = 1 - weights[:, 0]
    extra = {"JOINTS_0": b.accessor(joints), "WEIGHTS_0": b.accessor(weights)}
    mesh = b.mesh(attributes=extra)
    bind = np.stack([matrix_of((0, 0, 0)), matrix_of((-1, 0, 0))]).transpose(0, 2, 1)
    skin = {"joints": [1, 2], "inverseBindMatrices": b.accessor(bind.astype(np.float32))}
    b.json["skins"] = [skin]
    b.node(name="body", mesh=mesh, skin=0)
    b.node(name="hip", children=[2])
    b.node(name="knee", translation=[1, 0, 0])
    b.json["scenes"][0]["nodes"] = [0, 1]
    return b.save(tmp_path)


def test_draco(tmp_path: Path) -> None:
    dracopy = pytest.importorskip("DracoPy", reason="DracoPy is not installed")
    b = Builder()
    mesh = b.mesh()
    faces = np.array([[0, 1, 2], [1, 3, 2]], np.uint32)
    for ordered in (True, False):  # one after another, and edge by edge
        packed = dracopy.encode(QUAD, faces=faces, quantization_bits=14, preserve_order=ordered)
        assert _draco_counts(packed) == (2, 4)
    primitive = b.json["meshes"][0]["primitives"][0]
    primitive["extensions"] = {
        "KHR_draco_mesh_compression": {"bufferView": b.view(packed), "attributes": {"POSITION": 0}}
    }
    b.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    b.node(mesh=mesh)
    same_triangles(world(convert(b.save(tmp_path))[0]), quad(), 2e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b: b.json["nodes"][0].update(extras={"msh": {"flags": 1 << 16}}), "flags beyond 16 bits: 65536"),
        (lambda b: b.json["nodes"][0].update(extras={"msh": {"flags": -1}}), "flags beyond 16 bits: -1"),
        (lambda b: b.json.update(extensionsRequired=["KHR_magic"]), "KHR_magic; export it without"),
        (
            lambda b: b.json.update(extensionsRequired=["EXT_meshopt_compression"]),
            "EXT_meshopt_compression; clear Compression",
        ),
        (
            lambda b: b.json["meshes"][0]["primitives"][0].update(targets=[{"POSITION": 0}]),
            "has morph targets; a model of the game has none",
        ),
        (lambda b: b.json["accessors"][0].update(count=99), "runs past its buffer view"),
        (lambda b: b.node(mesh=b.mesh(indices=(0, 1, 9))), "past its vertices"),
        (lambda b: b.json["nodes"][0].update(scale=[1, 1, 0]), "n' is scaled to nothing: 1 x 0 x 1; give"),
        (
            lambda b: b.json["nodes"][0].update(mesh=7),
            "is not valid glTF 2.0: nodes[0].mesh: 7 (expected an index into meshes (0 to 0)); export it again",
        ),
        (lambda b: b.json["nodes"][0].update(children=[0]), "nodes form a loop"),
        (lambda b: b.json["nodes"][0].update(translation=[0, 0, float("nan")]), "not finite"),
        (lambda b: b.json.update(scenes=[{}]), "has no nodes to make a model of; export at least one"),
        (
            lambda b: (
                b.json["meshes"][0].pop("name"),
                b.json["meshes"][0]["primitives"][0].update(targets=[{"POSITION": 0}]),
            ),
            "mesh 0 of node 'n' has morph targets",
        ),
    ],
)
def test_refused(change, said: str, tmp_path: Path) -> None:
    b = Builder()
    b.node(name="n", mesh=b.mesh())
    change(b)
    b.json["scenes"][0]["nodes"] = list(range(len(b.json["nodes"]))) if b.json["scenes"][0] else []
    with pytest.raises(ConversionError) as caught:
        convert(b.save(tmp_path))
    assert said in str(caught.value)
    assert "in.gltf" in str(caught.value)


@pytest.mark.parametrize("key", ["POSITION", "NORMAL", "TEXCOORD_0", "TEXCOORD_1", "COLOR_0"])
def test_values_of_vertices_must_be_finite(key: str, tmp_path: Path) -> None:
    b = Builder()
    width = {"POSITION": 3, "NORMAL": 3, "COLOR_0": 4}.get(key, 2)
    values = QUAD.copy() if key == "POSITION" else np.ones((4, width), np.float32)
    values[2, 1] = np.nan
    points = values if key == "POSITION" else QUAD
    b.node(name="hull", mesh=b.mesh(points, attributes={} if key == "POSITION" else {key: b.accessor(values)}))
    said = rf"primitive 0, row 2: {key} is not finite in mesh 'mesh'"
    with pytest.raises(ConversionError, match=said):
        convert(b.save(tmp_path))


def test_parts_by_name(tmp_path: Path) -> None:
    """``.lod1`` beside a node, or ``.lod0`` that founds one."""
    for first in ("tree", "tree.lod0"):
        b = Builder()
        names = (first, "tree.lod1", "tree.lod2.group1")
        roots = [b.node(name=name, mesh=b.mesh(), translation=[2, 0, 0]) for name in names]
        b.json["scenes"][0]["nodes"] = roots
        scene, _ = convert(b.save(tmp_path))
        assert [n.name for n in scene.nodes] == ["tree"]
        assert {(p.lod, p.group) for p in scene.parts} == {(0, 0), (1, 0), (2, 1)}
        same_triangles(world(scene, 1), quad(matrix_of((2, 0, 0))))


def test_generated_lods(tmp_path: Path) -> None:
    sphere = trimesh.creation.icosphere(3)
    path = tmp_path / "sphere.glb"
    path.write_bytes(trimesh.Scene(sphere).export(file_type="glb"))
    scene, _ = convert(path, lod_ratios=(0.5, 0.25), dialect="spec")
    counts = {part.lod: scene.triangle_count(part.mesh) for part in scene.parts}
    assert counts[0] == len(sphere.faces)
    for lod, share in ((1, 0.5), (2, 0.25)):
        assert counts[lod] == pytest.approx(share * len(sphere.faces), rel=0.1)
        points = world(scene, lod).reshape(-1, 3)
        assert np.linalg.norm(points, axis=1).max() < 1.1


def test_a_curve_that_is_there_twice_is_named(tmp_path: Path) -> None:
    b = Builder()
    b.node(name="n", mesh=b.mesh())
    b.clip(0, "translation", [0, 1], [[0, 0, 0], [3, 0, 0]])
    b.json["animations"][0]["channels"] *= 2
    _, warnings = convert(b.save(tmp_path))
    assert any("has curves of node 'n' twice" in text for text in warnings)


def test_nothing_but_degenerate_triangles(tmp_path: Path) -> None:
    b = Builder()
    b.node(name="n", mesh=b.mesh(indices=(0, 0, 1)))
    scene, warnings = convert(b.save(tmp_path))
    assert (len(scene.nodes), scene.parts) == (1, [])
    assert "1 degenerate triangle dropped" in warnings


def test_names(tmp_path: Path) -> None:
    """Equal names stay equal, Russian ones are CP1251, what that lacks is said."""
    b = Builder()
    names = ["wheel", "wheel", "башня", "", "🤖"]
    b.json["scenes"][0]["nodes"] = [b.node(**({"name": n} if n else {})) for n in names]
    back = import_gltf(b.save(tmp_path), None, ImportOptions())
    model = read_model(read_nres(back.data, "x"), "x")
    assert model.node_names == [b"wheel", b"wheel", "башня".encode("cp1251"), b"node_3", b"?"]
    assert [str(one).partition("; ")[0] for one in back.not_applied] == ["node '🤖': is called '?' in the game"]


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


@pytest.mark.parametrize(("kind", "expected"), [("LINEAR", 2), ("CUBICSPLINE", 6)])
def test_too_few_values_of_an_animation_are_counted(kind: str, expected: int, tmp_path: Path) -> None:
    b = Builder()
    b.node(name="n", mesh=b.mesh())
    b.clip(0, "translation", [0, 1], [[0, 0, 0]] * 3, kind)
    with pytest.raises(ConversionError, match=rf"key times: 3 \(expected {expected}\)"):
        convert(b.save(tmp_path))
