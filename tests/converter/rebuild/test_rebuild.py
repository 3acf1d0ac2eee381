"""Whole models rebuilt: invariants, idempotence, limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.checks.model import check_model
from msh_gltf.converter.edits.nodes import Identified
from msh_gltf.converter.errors import ConversionError, plural
from msh_gltf.converter.formats.model import MshModel, write_model
from msh_gltf.converter.rebuild.model import new_model
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import ImportedScene, Material, Mesh, Node, Part, Primitive, Scene, Streams
from tests.second.model import model_problems
from tests.support.corpus import Sample, every_sample
from tests.support.rebuilt import parse


def check_canonical(model: MshModel) -> None:
    """What the rules promise of a model rebuilt in full: the second reader finds nothing, all vertices are reached."""
    assert not [f for f in check_model(model) if f.severity == "error"]
    assert not model_problems(write_model(model))
    batches = model.batches
    starts, counts = batches["index_start"].astype(int), batches["index_count"].astype(int)
    assert starts.tolist() == [0, *np.cumsum(counts)[:-1]][: len(starts)]  # batches tile Res6
    batch = np.repeat(np.arange(len(batches)), counts)
    corner = model.indices.astype(int) + batches["base_vertex"].astype(int)[batch]
    assert {*corner.tolist()} == {*range(len(model.positions))}


@every_sample
def test_header_of_canonical_models(sample: Sample) -> None:
    """The header box of the recorded truth, from the posed vertices."""
    if sample.truth["legacy"] or not sample.truth.get("header_box"):
        return
    from msh_gltf.converter.scene.dialect import posed_header

    model = parse(sample.source)
    got = posed_header(model, Dialect(sample.dialect))["hull"][0]
    box = sample.truth["header_box"]
    size = np.abs(got).max()
    np.testing.assert_allclose(got.min(0), box["min"], atol=1e-4 * size)
    np.testing.assert_allclose(got.max(0), box["max"], atol=1e-4 * size)


def scene_of(positions: np.ndarray, faces: np.ndarray, materials: np.ndarray) -> Identified:
    """One node with one mesh; a primitive per run of equal materials."""
    streams = Streams(positions.astype(np.float32), faces.reshape(-1).astype(np.uint32))
    streams.normals = np.tile(np.float32([0, 0, 1]), (len(positions), 1))
    streams.uv0 = np.zeros((len(positions), 2), np.float32)
    node = Node("n", None, -1, np.array([1.0, 0, 0, 0]), np.zeros(3, np.float32))
    scene = Scene("m", streams, [node])
    primitives = [Primitive(int(m), 0, len(positions), 3 * i, 3) for i, m in enumerate(materials)]
    scene.meshes = [Mesh("n", primitives)]
    scene.parts = [Part(0, 0, 0, 0)]
    scene.materials = [Material(f"m{i}", i, 255, -1, -1, -1, -1) for i in range(4)]
    return Identified(scene, ImportedScene("", {}), np.zeros((0, 4, 4)))


@st.composite
def meshes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Manifold, open, non-manifold, with duplicate and degenerate triangles."""
    vertices = draw(st.integers(3, 8))
    grid = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
    positions = np.array(draw(st.lists(st.tuples(grid, grid, grid), min_size=vertices, max_size=vertices)))
    index = st.integers(0, vertices - 1)
    count = draw(st.integers(1, 12))
    faces = np.array(draw(st.lists(st.tuples(index, index, index), min_size=count, max_size=count)))
    materials = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    return positions, faces, materials


@given(meshes(), st.sampled_from(list(Dialect)))
def test_random_meshes(mesh: tuple, dialect: Dialect) -> None:
    positions, faces, _ = mesh
    flat = (positions[faces] == np.roll(positions[faces], 1, axis=1)).all(-1).any(-1)
    if flat.all():
        return
    identified = scene_of(*mesh)
    built = new_model(identified, "m.msh", dialect)
    data = write_model(built.model)
    model = parse(data)
    check_canonical(model)
    assert len(model.indices) // 3 == int((~flat).sum())
    dropped = int(flat.sum())
    assert (f"{plural(dropped, 'degenerate triangle')} dropped" in identified.report.warnings) == bool(dropped)
    assert write_model(new_model(scene_of(*mesh), "m.msh", dialect).model) == data


def strip(count: int, materials: int = 1) -> Identified:
    """A row of separate triangles."""
    i = np.arange(count, dtype=np.float64)
    corners = np.stack(
        [np.stack([i, 0 * i, 0 * i], 1), np.stack([i + 0.5, 0 * i, 0 * i], 1), np.stack([i, 0 * i + 1, 0 * i], 1)],
        axis=1,
    )
    out = scene_of(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3), np.zeros(0, int))
    share = count // materials
    out.scene.meshes[0].primitives = [
        Primitive(m, 0, 3 * count, 3 * m * share, 3 * (share if m < materials - 1 else count - m * share))
        for m in range(materials)
    ]
    return out


def build(identified: Identified, *, reduce: bool = True) -> MshModel:
    return parse(write_model(new_model(identified, "m", Dialect.SPEC, reduce=reduce).model))


def test_most_triangles() -> None:
    model = build(strip(65535))
    assert len(model.indices) == 3 * 65535
    with pytest.raises(ConversionError, match=r"too many triangles.*65,536.*at most 65,535"):
        build(strip(65536))


def animated(nodes: int, frames: int) -> Identified:
    from msh_gltf.converter.scene.scene import Channel, Track

    out = strip(1)
    turn = np.array([1.0, 0, 0, 0])
    out.scene.nodes = [Node(f"n{i}", None, -1, turn, np.zeros(3, np.float32)) for i in range(nodes)]
    values = np.zeros((2, 3))
    values[1] = 1
    channel = Channel(np.array([0.0, frames - 1.0]), values)
    out.scene.tracks = [Track(i, None, channel) for i in range(nodes)]
    out.scene.frame_count = frames
    return out


def test_longest_timelines() -> None:
    assert len(build(animated(1, 65535), reduce=False).frame_map) == 65535
    with pytest.raises(ConversionError, match=r"too many animated frames.*65540.*65535 map words"):
        build(animated(5, 13108))
