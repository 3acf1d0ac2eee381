"""Generated levels of detail stay inside the parts that they are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Report
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.rebuild.lods import generate_lods, level_of
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import Mesh, Node, Part, Primitive, Scene, Streams
from tests.support.corpus import Sample, every_sample, sample_called
from tests.support.rebuilt import parse
from tests.support.runs import to_gltf

RATIOS = (0.5, 0.25)
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
    generate_lods(scene, RATIOS, set(), Report(), dialect)
    assert assert_inside(scene, dialect) or not scene.parts


def test_a_simplification_that_leaves_its_part_is_reported(tmp_path: Path) -> None:
    """The part keeps the triangles of the level before; the file is what the report says."""
    gltf = to_gltf(sample_called(LEAVES), tmp_path / "m.glb")
    options = ImportOptions(use_sidecar=False, lod_ratios=RATIOS, dialect="spec")
    result = import_gltf(gltf, None, options)
    (first, *_) = [one for one in result.warnings if one.startswith("--generate-lods")]
    assert first.startswith("--generate-lods: level 1 of 1 part keeps more triangles")
    assert "moved a vertex out of the bounding box: BTCP_6 (group 4)" in first
    assert_inside(decode(parse(result.data), Dialect.SPEC, "m"), Dialect.SPEC)


@every_sample
def test_levels_of_retail_are_columns_of_their_stage(sample: Sample, tmp_path: Path) -> None:
    """Words 1 and 2 of rows whose word 0 is used are filled where they were empty, and nothing else."""
    if sample.truth["dialect"] != "retail" or sample.truth["legacy"]:
        return
    gltf = to_gltf(sample, tmp_path / "m.glb")
    result = import_gltf(gltf, tmp_path / "m.msh-sidecar", ImportOptions(lod_ratios=RATIOS))
    before, after = (parse(data).nodes["slot_index"].reshape(-1, 3, 5) for data in (sample.source, result.data))
    made = (before == NONE16) & (after != NONE16)
    wanted = (before[..., :1] != NONE16) & (before == NONE16)
    wanted[..., 0], wanted[..., 3:] = False, False
    assert (made == wanted).all()
    assert (after == before)[~made].all()
    assert made.any() or not wanted.any()


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
        generate_lods(scene, RATIOS, set(), Report(), Dialect.SPEC)
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
    generate_lods(scene, RATIOS, set(), Report(), Dialect.SPEC)
    assert assert_inside(scene, Dialect.SPEC) == 2
