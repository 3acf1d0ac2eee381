"""Generated levels of detail stay inside the parts that they are made of."""

import itertools
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Report
from msh_gltf.converter.formats.model import StreamType
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.rebuild.lods import _rounded_up, generate_lods, level_of
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import Mesh, Node, Part, Primitive, Scene, Streams
from tests.support.corpus import Sample, every_sample, sample_called
from tests.support.rebuilt import parse
from tests.support.runs import to_gltf

RATIOS = (0.5, 0.25)
LIMIT = 0.05
#: A model of the data where simplifying moves vertices out.
LEAVES = "retail__odd__s_rock_009"


def boxes(scene: Scene) -> dict[tuple[int, int, int], np.ndarray]:
    """The bounding box of each part's triangles, (2, 3), in the node's frame."""
    out = {}
    for part in scene.parts:
        corners = np.concatenate(
            [
                scene.streams.positions[
                    p.vertex_start + scene.streams.indices[p.index_start : p.index_start + p.index_count]
                ]
                for p in scene.meshes[part.mesh].primitives
            ]
        )
        if part.matrix is not None:
            corners = (corners @ part.matrix[:3, :3].T + part.matrix[:3, 3]).astype(np.float32)
        if len(corners):
            out[part.node, part.lod, part.group] = np.stack([corners.min(0), corners.max(0)])
    return out


def assert_inside(scene: Scene, dialect: Dialect) -> int:
    """Every generated part lies in the box of its level 0; how many there are."""
    made = 0
    found = boxes(scene)
    for (node, lod, group), box in found.items():
        whole = found[(node, lod, 0) if dialect is Dialect.RETAIL else (node, 0, group)]
        assert (box[0] >= whole[0]).all(), (node, lod, group)
        assert (box[1] <= whole[1]).all(), (node, lod, group)
        made += (group if dialect is Dialect.RETAIL else lod) > 0
    return made


@every_sample
def test_no_vertex_of_a_generated_lod_leaves_its_part(sample: Sample) -> None:
    dialect = Dialect.SPEC if sample.dialect == "auto" else Dialect(sample.dialect)
    scene = decode(parse(sample.source), dialect, "m")
    scene.parts[:] = [part for part in scene.parts if level_of(part, dialect) == 0]
    generate_lods(scene, RATIOS, set(), Report(), dialect, LIMIT)
    assert assert_inside(scene, dialect) or not scene.parts


def edges(faces: np.ndarray) -> dict[frozenset[tuple[float, ...]], int]:
    """How many triangles each edge has, by the places of its ends. (F, 3, 3)."""
    out: dict[frozenset[tuple[float, ...]], int] = {}
    for face in faces.tolist():
        places = [tuple(corner) for corner in face]
        for k in range(3):
            edge = frozenset((places[k], places[k - 1]))
            out[edge] = out.get(edge, 0) + 1
    return out


def primitives(scene: Scene, part: Part) -> dict[int, np.ndarray]:
    """Corners of a part's triangles by material: (F, 3) vertices."""
    out = {}
    for p in scene.meshes[part.mesh].primitives:
        own = scene.streams.indices[p.index_start : p.index_start + p.index_count].astype(int) + p.vertex_start
        out[p.material] = own.reshape(-1, 3)
    return out


def rock() -> Scene:
    """A rough sphere of two materials, open at both poles, with a seam of texture coordinates along a meridian."""
    mesh = trimesh.creation.uv_sphere(count=[24, 24])
    points = mesh.vertices * (1 + 0.1 * np.sin(5 * mesh.vertices[:, :1]))
    faces = mesh.faces[np.abs(mesh.triangles_center[:, 2]) < 0.9]
    corners = faces.reshape(-1)
    turn = np.arctan2(points[corners, 1], points[corners, 0]).reshape(-1, 3) / (2 * np.pi)
    turn[np.ptp(turn, axis=1) > 0.5] %= 1  # the seam
    uv = np.column_stack([turn.reshape(-1), points[corners, 2]])
    rows, indices = np.unique(np.column_stack([points[corners], uv]).astype(np.float32), axis=0, return_inverse=True)
    indices = indices.reshape(-1, 3)
    upper = rows[indices, 2].mean(1) > 0.3
    indices = np.concatenate([indices[upper], indices[~upper]])
    split = 3 * int(upper.sum())
    normals = (rows[:, :3] / np.linalg.norm(rows[:, :3], axis=1, keepdims=True)).astype(np.float32)
    streams = Streams(
        rows[:, :3].copy(), indices.reshape(-1).astype(np.uint32), normals=normals, uv0=rows[:, 3:].copy()
    )
    scene = Scene("rock", streams)
    scene.nodes.append(Node("rock", 0, -1, np.array([1.0, 0, 0, 0]), np.zeros(3, np.float32)))
    windows = [(0, 0, split), (1, split, indices.size - split)]
    scene.meshes.append(Mesh("rock", [Primitive(m, 0, len(rows), start, count) for m, start, count in windows]))
    scene.parts.append(Part(0, 0, 0, 0))
    return scene


def test_generated_levels_keep_borders_and_whole_vertices() -> None:
    """Open edges and borders between materials stay; each vertex is one of the part's, with all that it has."""
    scene = rock()
    before = scene.streams
    report = Report()
    generate_lods(scene, RATIOS, set(), report, Dialect.RETAIL, LIMIT)
    whole, *levels = scene.parts
    assert [(p.lod, p.group) for p in levels] == [(0, 1), (0, 2)]
    known = {tuple(row) for row in np.column_stack([before.positions, before.normals, before.uv0]).tolist()}
    rows = np.column_stack([scene.streams.positions, scene.streams.normals, scene.streams.uv0])
    old = primitives(scene, whole)
    for level, ratio in zip(levels, RATIOS, strict=True):
        new = primitives(scene, level)
        assert sum(map(len, new.values())) <= ratio * sum(map(len, old.values()))
        for material, faces in new.items():
            assert {tuple(row) for row in rows[faces].reshape(-1, 8).tolist()} <= known
            wanted, got = (edges(scene.streams.positions[f]) for f in (old[material], faces))
            assert {e for e, n in got.items() if n == 1} == {e for e, n in wanted.items() if n == 1}
            assert max(got.values()) == 2
    assert not report.warnings


def test_a_seam_of_texture_coordinates_stays() -> None:
    """No triangle of a level stretches over the seam: it would show the whole texture on one triangle."""
    scene = rock()
    generate_lods(scene, RATIOS, set(), Report(), Dialect.RETAIL, LIMIT)
    for part in scene.parts:
        for faces in primitives(scene, part).values():
            assert np.ptp(scene.streams.uv0[faces, 0], axis=1).max() < 0.6


def largest_distance(one: np.ndarray, other: np.ndarray) -> float:
    """Largest distance of corners, middles of edges and of triangles to another surface. (n, 3, 3) each."""
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import mutable, vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData, vtkStaticCellLocator

    points, cells = vtkPoints(), vtkCellArray()
    points.SetData(numpy_to_vtk(other.reshape(-1, 3), deep=True))
    for k in range(len(other)):
        cells.InsertNextCell(3, [3 * k, 3 * k + 1, 3 * k + 2])
    surface = vtkPolyData()
    surface.SetPoints(points)
    surface.SetPolys(cells)
    locator = vtkStaticCellLocator()
    locator.SetDataSet(surface)
    locator.BuildLocator()
    found = 0.0
    for sample in np.concatenate([*one, *(one + np.roll(one, 1, 1)) / 2, one.mean(1)]).tolist():
        nearest, cell, sub, squared = [0.0] * 3, mutable(0), mutable(0), mutable(0.0)
        locator.FindClosestPoint(sample, nearest, cell, sub, squared)
        found = max(found, float(squared))
    return found**0.5


def test_what_is_stated_is_rounded_up() -> None:
    stated = [_rounded_up(value) for value in (0.0, 1.0, 12.01, 0.0351, 99.5)]
    assert stated == pytest.approx([0, 1, 13, 0.036, 100])


@pytest.mark.skipif(find_spec("vtkmodules") is None, reason="VTK is not installed")
def test_the_stated_error_is_what_is_measured_and_bounded() -> None:
    """By VTK, which shares no code with what is tested."""
    for limit in (0.05, 0.01, 0.002):
        scene, report = rock(), Report()
        generate_lods(scene, (0.1,), set(), report, Dialect.RETAIL, limit)
        whole, level = (
            scene.streams.positions[np.concatenate([*primitives(scene, part).values()])].astype(float)
            for part in scene.parts
        )
        away = max(largest_distance(whole, level), largest_distance(level, whole))
        away /= np.linalg.norm(np.ptp(whole.reshape(-1, 3), axis=0))
        assert 0 < away <= limit
        (change,) = report.changes
        stated = re.search(r"at most ([0-9.]+) % of the part's diagonal away", change.what)
        assert stated is not None
        assert float(stated[1]) / 100 == pytest.approx(away, rel=0.06)
        assert level.shape[0] > 0.1 * whole.shape[0]
        (warning,) = report.warnings
        assert f"fewer would be more than {100 * limit:g} %" in warning


@every_sample
def test_levels_of_retail_are_columns_of_their_stage(sample: Sample, tmp_path: Path) -> None:
    """Words 1 and 2 of rows whose word 0 is used are filled where they were empty, and nothing else.

    But for those that would be finer than a nearer one, which are named.
    """
    if sample.truth["dialect"] != "retail" or sample.truth["legacy"]:
        return
    gltf = to_gltf(sample, tmp_path / "m.glb")
    result = import_gltf(gltf, tmp_path / "m.msh-sidecar", ImportOptions(lod_ratios=RATIOS))
    before, after = (parse(data).nodes["slot_index"].reshape(-1, 3, 5) for data in (sample.source, result.data))
    made = (before == NONE16) & (after != NONE16)
    wanted = (before[..., :1] != NONE16) & (before == NONE16)
    wanted[..., 0], wanted[..., 3:] = False, False
    finer = [re.search(r"of (\d+) parts? is not made: it would have more", line) for line in result.warnings]
    assert not (made & ~wanted).any()
    assert (wanted & ~made).sum() == sum(int(found[1]) for found in finer if found)
    assert (after == before)[~made].all()
    old, new = read_nres(sample.source, "old").entries, read_nres(result.data, "new").entries
    assert [one.type_id for one in old] == [one.type_id for one in new]
    for one, other in zip(old, new, strict=True):
        if one.type_id != StreamType.NODES:
            assert bytes(other.payload).startswith(bytes(one.payload)), one.type_id
    rest = [parse(data).nodes.copy() for data in (sample.source, result.data)]
    for nodes in rest:
        nodes["slot_index"] = 0
    assert rest[0].tobytes() == rest[1].tobytes()
    assert result.not_applied == []


def test_a_further_level_is_never_finer_than_a_nearer_one() -> None:
    """Neither than one that was made, nor than one that is there; levels that are there are named."""
    for kept in (None, 1, 2):
        for seed, limit in itertools.product((6, 19, 51), (LIMIT, 0.1)):
            scene, report = wheel(seed), Report()
            if kept is not None:  # with 15 of 32 triangles, as an author drew it
                first = scene.meshes[0].primitives[0]
                scene.meshes.append(Mesh("drawn", [first._replace(index_count=45)]))
                scene.parts.append(Part(0, 0, kept, 1))
            generate_lods(scene, (0.9, 0.5, 0.1), set(), report, Dialect.RETAIL, limit)
            counts = [scene.triangle_count(part.mesh) for part in sorted(scene.parts, key=lambda part: part.group)]
            assert counts == sorted(counts, reverse=True), (kept, seed, limit)
            made = {part.group for part in scene.parts} - {0, kept}
            named = [line for line in report.warnings if "is not made: it would have more" in line]
            assert len(made) + len(named) == (3 if kept is None else 2)
            assert len([line for line in report.warnings if "is there already and stays" in line]) == (kept is not None)


def wheel(seed: int) -> Scene:
    """An uneven, closed shape of 32 triangles: some collapses that are possible lead too far."""
    mesh = trimesh.creation.capsule(1, 0.5, count=[4, 4])
    corners = mesh.vertices * (1 + np.random.default_rng(seed).uniform(-0.2, 0.2, mesh.vertices.shape))
    streams = Streams(corners.astype(np.float32), mesh.faces.reshape(-1).astype(np.uint32))
    scene = Scene("m", streams, parts=[Part(0, 0, 0, 0)])
    scene.meshes = [Mesh("body", [Primitive(0, 0, len(corners), 0, streams.indices.size)])]
    scene.nodes = [Node("body", None, -1, np.array([1.0, 0, 0, 0]), np.zeros(3))]
    return scene


def test_levels_of_a_new_model_need_a_dialect(tmp_path: Path) -> None:
    """Nothing says where they go: spec would make damage stages of them in the game."""
    path = tmp_path / "sphere.glb"
    path.write_bytes(trimesh.Scene(trimesh.creation.icosphere(2)).export(file_type="glb"))
    with pytest.raises(ConversionError, match="--dialect retail"):
        import_gltf(path, None, ImportOptions(lod_ratios=RATIOS))
    cells = {}
    for dialect in Dialect:
        data = import_gltf(path, None, ImportOptions(lod_ratios=RATIOS, dialect=dialect)).data
        cells[dialect] = [(part.lod, part.group) for part in decode(parse(data), dialect, "m").parts]
    assert cells == {Dialect.SPEC: [(0, 0), (1, 0), (2, 0)], Dialect.RETAIL: [(0, 0), (0, 1), (0, 2)]}
    with pytest.raises(ConversionError, match="at most 2"):
        import_gltf(path, None, ImportOptions(lod_ratios=(0.5, 0.3, 0.2), dialect="spec"))


def test_a_part_that_is_turned_in_its_node_stays_in_the_nodes_box() -> None:
    """To be inside the box of its own frame is not enough: the node's frame is stored."""
    random = np.random.default_rng(12)
    for name in ("spec__system__a_bird_007", LEAVES):
        scene = decode(parse(sample_called(name).source), Dialect(name.split("__")[0]), "m")
        matrices = np.zeros((len(scene.parts), 4, 4))
        matrices[:, :3] = random.normal(size=(len(scene.parts), 3, 4))
        matrices[:, 3, 3] = 1
        scene.parts[:] = [
            part._replace(matrix=matrix) for part, matrix in zip(scene.parts, matrices, strict=True) if part.lod == 0
        ]
        generate_lods(scene, RATIOS, set(), Report(), Dialect.SPEC, LIMIT)
        found = boxes(scene)
        for (node, _, group), box in found.items():
            whole = found[node, 0, group]
            slack = 2 * np.spacing(np.abs(whole).max(0))
            assert (box[0] >= whole[0] - slack).all(), (name, node, group)
            assert (box[1] <= whole[1] + slack).all(), (name, node, group)


@settings(max_examples=40)
@given(
    rows=st.integers(3, 9),
    bend=st.sampled_from([0.0, 1e-7, 1e-5, 1e-3, 0.1, 1.0]),
    size=st.sampled_from([1e-3, 1.0, 4e3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_vertex_leaves_nearly_flat_sheets(rows: int, bend: float, size: float, seed: int) -> None:
    """Planes that are nearly parallel meet far away: where a simplifier places vertices."""
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(rows), np.arange(rows))
    points = np.stack([x, y, bend * random.normal(size=x.shape)], -1).reshape(-1, 3) * size
    i = (np.arange(rows - 1)[:, None] * rows + np.arange(rows - 1)).reshape(-1)
    corners = np.stack([i, i + 1, i + rows, i + rows, i + 1, i + rows + 1], -1)
    streams = Streams(points.astype(np.float32), corners.reshape(-1).astype(np.uint32))
    scene = Scene("sheet", streams)
    scene.nodes.append(Node("sheet", 0, -1, np.array([1.0, 0, 0, 0]), np.zeros(3, np.float32)))
    scene.meshes.append(Mesh("sheet", [Primitive(0, 0, len(points), 0, corners.size)]))
    scene.parts.append(Part(0, 0, 1, 0))
    generate_lods(scene, RATIOS, set(), Report(), Dialect.SPEC, LIMIT)
    assert assert_inside(scene, Dialect.SPEC) == 2
