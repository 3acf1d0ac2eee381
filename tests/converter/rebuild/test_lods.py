"""Generated levels of detail stay inside the parts that they are made of."""

import itertools
import re

import numpy as np
import pytest
import trimesh

from msh_gltf.converter.findings import Report
from msh_gltf.converter.rebuild.lods import _rounded_up, generate_lods, level_of
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import Mesh, Node, Part, Primitive, Scene, Streams
from tests.converter.numeric.test_arrays import one_way
from tests.support.corpus import Sample, every_sample
from tests.support.rebuilt import parse

RATIOS = (0.5, 0.25)
LIMIT = 0.05


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


def assert_inside(scene: Scene, dialect: Dialect, steps: int = 0) -> int:
    """Every generated part lies in the box of its level 0, but for steps of float32; how many there are."""
    made = 0
    found = boxes(scene)
    for (node, lod, group), box in found.items():
        whole = found[(node, lod, 0) if dialect is Dialect.RETAIL else (node, 0, group)]
        slack = steps * np.spacing(np.abs(whole).max(0))
        assert (box[0] >= whole[0] - slack).all(), (node, lod, group)
        assert (box[1] <= whole[1] + slack).all(), (node, lod, group)
        made += (group if dialect is Dialect.RETAIL else lod) > 0
    return made


@pytest.mark.parametrize("turned", [False, True])
@every_sample
def test_no_vertex_of_a_generated_lod_leaves_its_part(sample: Sample, turned: bool) -> None:
    """To be inside the box of its own frame is not enough for a part that is turned in its node's."""
    dialect = Dialect.SPEC if sample.dialect == "auto" else Dialect(sample.dialect)
    scene = decode(parse(sample.source), dialect, "m")
    matrices = np.tile(np.eye(4), (len(scene.parts), 1, 1))
    matrices[:, :3] = np.random.default_rng(12).normal(size=(len(scene.parts), 3, 4))
    scene.parts[:] = [
        part._replace(matrix=matrix) if turned else part
        for part, matrix in zip(scene.parts, matrices, strict=True)
        if level_of(part, dialect) == 0
    ]
    generate_lods(scene, RATIOS, set(), Report(), dialect, LIMIT)
    assert assert_inside(scene, dialect, steps=2 * turned) or not scene.parts


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
    """Open edges and borders between materials stay; each vertex is one of the part's, with all that it has.

    No triangle stretches over the seam of texture coordinates: it would show the whole texture.
    """
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
            assert np.ptp(scene.streams.uv0[faces, 0], axis=1).max() < 0.6
            assert {tuple(row) for row in rows[faces].reshape(-1, 8).tolist()} <= known
            wanted, got = (edges(scene.streams.positions[f]) for f in (old[material], faces))
            assert {e for e, n in got.items() if n == 1} == {e for e, n in wanted.items() if n == 1}
            assert max(got.values()) == 2
    assert not report.warnings


def test_what_is_stated_is_rounded_up() -> None:
    stated = [_rounded_up(value) for value in (0.0, 1.0, 12.01, 0.0351, 99.5)]
    assert stated == pytest.approx([0, 1, 13, 0.036, 100])


def test_the_stated_error_is_what_is_measured_and_bounded() -> None:
    """By trimesh, which shares no code with what is tested."""
    for limit in (0.05, 0.01, 0.002):
        scene, report = rock(), Report()
        generate_lods(scene, (0.1,), set(), report, Dialect.RETAIL, limit)
        whole, level = (
            scene.streams.positions[np.concatenate([*primitives(scene, part).values()])].astype(float)
            for part in scene.parts
        )
        away = max(one_way(whole, level), one_way(level, whole))
        away /= np.linalg.norm(np.ptp(whole.reshape(-1, 3), axis=0))
        assert 0 < away <= limit
        (change,) = report.changes
        stated = re.search(r"at most ([0-9.]+) % of the part's diagonal away", change.what)
        assert stated is not None
        assert float(stated[1]) / 100 == pytest.approx(away, rel=0.06)
        assert level.shape[0] > 0.1 * whole.shape[0]
        (warning,) = report.warnings
        assert f"fewer would be more than {100 * limit:g} %" in warning


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
