"""The glTF against recorded truth, name by name."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from msh_gltf.converter.formats.model import StreamType
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.pose import rotation, rotation_matrix
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.assembly import turned
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import Material, Mesh, Node, Part, Primitive, Scene, Streams
from msh_gltf.exporters.gltf import export_gltf
from msh_gltf.exporters.gltf_file import glb_bytes
from tests.support.corpus import SAMPLES, Sample, every_sample, sample_called
from tests.support.gltf_view import TO_GAME, GltfView
from tests.support.runs import to_gltf


@pytest.fixture
def view(sample: Sample, tmp_path: Path) -> GltfView:
    return GltfView(to_gltf(sample, tmp_path / "model.glb"))


POSED = [s for s in SAMPLES if not s.truth["legacy"]]


@pytest.mark.parametrize("sample", POSED, ids=[s.id for s in POSED])
def test_posed_triangles(sample: Sample, view: GltfView) -> None:
    """Every part of every cell: corners, normals, texture coordinates, materials."""
    truth, parts = sample.arrays, view.scene_parts()
    size = max(1.0, np.abs(truth["soup_pos"]).max(initial=0))
    expected_cells = {tuple(row[:3]) for row in truth["soup_dir"].tolist() if row[5]}
    assert set(parts) == expected_cells
    for node, lod, group, _slot, start, count in truth["soup_dir"].tolist():
        if not count:
            continue
        rows = slice(start, start + count)
        shown = view.triangles(parts[node, lod, group])
        np.testing.assert_allclose(shown["POSITION"], truth["soup_pos"][rows], atol=2e-6 * size)
        normals = truth["soup_nrm"][rows].astype(np.float64)
        length = np.linalg.norm(normals, axis=-1, keepdims=True)
        given = length[..., 0] > 0
        np.testing.assert_allclose(shown["NORMAL"][given], (normals / length)[given], atol=1e-5)
        np.testing.assert_array_equal(shown["TEXCOORD_0"], truth["soup_uv"][rows])
        if "soup_uv2" in truth:
            np.testing.assert_array_equal(shown["TEXCOORD_1"], truth["soup_uv2"][rows])
        if "soup_bgra" in truth:
            bgra = truth["soup_bgra"][rows]
            np.testing.assert_array_equal(shown["COLOR_0"], bgra[..., [2, 1, 0, 3]])
        extras = [m["extras"]["msh"] for m in view["materials"]]
        rows_of = np.array([e["row"] for e in extras])[shown["material"]]
        lights = np.array([e["lightmap"] for e in extras])[shown["material"]]
        np.testing.assert_array_equal(rows_of, truth["soup_row"][rows])
        np.testing.assert_array_equal(lights, truth["soup_light"][rows])


@every_sample
def test_hierarchy_and_names(sample: Sample, view: GltfView) -> None:
    if sample.truth["legacy"]:
        return
    nodes, parents = sample.truth["nodes"], view.parents()
    rest = {"translation": [0, 0, 0], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1]}
    assert not [node for node in view["nodes"] for name, value in rest.items() if node.get(name) == value]
    met: set[str] = set()
    for i, node in enumerate(nodes):
        got = view["nodes"][i]
        name = node["name_cp1251"] or f"node_{i}"
        while name in met:
            name += f"#{i}"
        met.add(name)
        assert got["name"] == name
        assert parents.get(i, -1) == node["parent"]
        extras = got["extras"]["msh"]
        assert extras["node"] == i
        assert extras["flags"] == node["hdr0"]
        label = node["label"] if sample.dialect == "retail" else ""
        assert extras.get("label", "") == label
        assert ("frame_count" in extras) == ("fps" in extras) == node["animated"]
    all_names = [node["name"] for node in view["nodes"]]
    assert len(set(all_names)) == len(all_names)


@every_sample
def test_every_frame(sample: Sample, view: GltfView) -> None:
    """Each key of the clip is the runtime's sample, normalised; the times are whole frames."""
    truth, clips = sample.arrays, view["animations"]
    animated = [n["index"] for n in sample.truth["nodes"] if n["animated"]]
    if not animated:
        assert not clips
        return
    (clip,) = clips
    assert clip["name"] == view["scenes"][0]["name"]
    frames = sample.truth["frame_count"]
    assert {c["target"]["node"] for c in clip["channels"]} == set(animated)
    assert len({s["input"] for s in clip["samplers"]}) == 1
    assert all(s.get("interpolation", "LINEAR") == "LINEAR" for s in clip["samplers"])
    times = view.array(clip["samplers"][0]["input"])[:, 0]
    np.testing.assert_array_equal(times, (np.arange(frames) / 24).astype(np.float32))
    at = {float(t): i for i, t in enumerate(truth["times"])}
    for channel in clip["channels"]:
        node, path = channel["target"]["node"], channel["target"]["path"]
        got = view.array(clip["samplers"][channel["sampler"]]["output"])
        assert len(got) == frames
        if path == "rotation":
            assert (np.einsum("ij,ij->i", got[1:], got[:-1]) >= 0).all()
        for frame in range(frames):
            index = at[float(frame)]
            if path == "translation":
                x, y, z = truth["pos"][node, index]
                assert got[frame].tolist() == [x, z, -y]
            else:
                turned = view.local(node, frame)[:3, :3]
                expected = rotation_matrix(rotation(truth["quat"][node, index]))
                np.testing.assert_allclose(TO_GAME @ turned @ TO_GAME.T, expected, atol=1e-6)


def test_legacy_model(tmp_path: Path) -> None:
    sample = sample_called("retail__system__MTCHECK")
    view = GltfView(to_gltf(sample, tmp_path / "m.glb"))
    assert [node["name"] for node in view["nodes"]] == ["legacy"]
    shown, truth = view.triangles(0), sample.arrays
    assert len(shown["POSITION"]) == len(truth["tri_vertex"])
    local = truth["vertex_pos"][truth["tri_vertex"]]
    np.testing.assert_array_equal(shown["POSITION"].astype(np.float32), local)


def test_wide_indices_and_restart(tmp_path: Path) -> None:
    """65,535 is reserved in u16 indices: a window of 65,536 vertices takes u32, 65,535 does not."""
    rng = np.random.default_rng(0)
    positions = rng.normal(size=(65536, 3)).astype(np.float32)
    for top, component in ((65534, 5123), (65535, 5125)):
        streams = Streams(positions, np.array([0, 1, top], np.uint16))
        scene = Scene("m", streams, [Node("n", 0, -1, np.eye(4)[0], np.zeros(3, np.float32))])
        scene.meshes = [Mesh("n", [Primitive(0, 0, top + 1, 0, 3)], 0, 0, 0)]
        scene.parts = [Part(0, 0, 0, 0)]
        scene.materials = [Material("m", 0, 255, 0xFFFFFFFF, 0, 0, 0)]
        path = tmp_path / f"{top}.glb"
        path.write_bytes(glb_bytes(export_gltf(scene, ExportOptions())))
        view = GltfView(path)
        primitive = view["meshes"][0]["primitives"][0]
        assert view["accessors"][primitive["indices"]]["componentType"] == component
        assert view.array(primitive["indices"])[:, 0].tolist() == [0, 1, top]
        assert view["materials"][0]["extras"]["msh"]["batch_flags"] == "0xffffffff"


def test_zero_normals_take_the_triangle(tmp_path: Path) -> None:
    sample = sample_called("spec__static__b_bun_000")
    model = read_msh(sample.path)
    normals = model.normals.copy()
    corner = sample.arrays["tri_vertex"][5]
    normals[corner[0], :3] = 0
    model.streams[StreamType.NORMALS] = normals
    got = decode(model, Dialect.SPEC, "x").streams.normals[corner[0]]
    first = next(t for t in sample.arrays["tri_vertex"] if corner[0] in t)
    a, b, c = model.positions[first].astype(np.float64)
    expected = np.cross(b - a, c - a)
    np.testing.assert_allclose(got, expected / np.linalg.norm(expected), atol=1e-6)


def test_turns_are_applied_about_x_then_y_then_z() -> None:
    turns = [
        trimesh.transformations.rotation_matrix(angle, np.eye(3)[axis]) for axis, angle in enumerate((0.3, -0.5, 1.2))
    ]
    expected = turns[2] @ turns[1] @ turns[0]
    np.testing.assert_allclose(rotation_matrix(turned([0.3, -0.5, 1.2])), expected[:3, :3], atol=1e-12)
