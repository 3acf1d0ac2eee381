"""Terrains rebuilt: what an edit does not concern stays, and rebuilding again changes nothing.

The second reader holds every terrain that is made; what comes of single edits stands in ``edits/terrain.txt``.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter import cli
from msh_gltf.converter.checks.terrain import check_terrain
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import read_terrain, write_terrain
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.converter.edits.test_terrain import Edit, inner_vertex
from tests.support.gltf_edit import Editable
from tests.support.maps import every_level
from tests.support.runs import call
from tests.support.terrain_maker import make_terrain
from tests.support.terrain_twin import Tables


def differing(before: bytes, after: bytes) -> set[int]:
    """Types of the tables that differ."""
    a, b = Tables(before), Tables(after)
    return {kind for kind in a.tables if a.tables[kind] != b.tables[kind]}


@every_level
def test_a_raised_vertex_touches_what_depends_on_it(level, tmp_path: Path) -> None:
    edit = Edit(level.folder, tmp_path)
    vertex = inner_vertex(edit)
    edit.positions[vertex, 1] += 3
    back = edit.back()
    assert differing(edit.source, back.data) <= {2, 3, 21}
    before, after = Tables(edit.source), Tables(back.data)
    moved = np.flatnonzero((before.positions != after.positions).any(axis=1))
    assert moved.tolist() == [vertex]
    assert after.positions[vertex, 2] == edit.positions[vertex, 1]
    for i, (a, b) in enumerate(zip(before.faces, after.faces, strict=True)):
        if vertex in before.vertex[i]:
            assert a[:14] + a[27:] == b[:14] + b[27:]
        else:
            assert a == b
    again = tmp_path / "again.glb"
    (tmp_path / "Land.msh").write_bytes(back.data)
    assert call(cli.msh2gltf, tmp_path / "Land.msh", "-o", again, "-q") == 0
    shown = Editable(again)
    positions = shown.arrays[shown.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
    np.testing.assert_array_equal(positions, edit.positions)


@every_level
def test_random_edits_keep_every_rule(level, tmp_path: Path) -> None:
    """Heights, deletions, cuts and materials at once, twice over."""
    for seed in range(2):
        edit = Edit(level.folder, tmp_path)
        chance = np.random.default_rng(seed)
        number = len(edit.positions)
        up = chance.random(number) < 0.05
        for primitive in edit.primitives(1):  # a corner that both levels use may lose its fine faces
            up[edit.index(primitive)] = False
        edit.positions[up, 1] += chance.normal(0, 2, int(up.sum())).astype("<f4")
        total = 0
        for primitive in edit.primitives():
            index = edit.index(primitive)
            keep = chance.random(len(index)) > 0.02
            cut = np.flatnonzero(keep & (chance.random(len(index)) < 0.02))
            fresh = []
            for row in cut.tolist():
                a, b, c = index[row].tolist()
                middle = edit.stream("POSITION")[[a, b, c]].astype("f8").mean(axis=0)
                m = edit.append(POSITION=middle.tolist())
                fresh += [(a, b, m), (b, c, m), (c, a, m)]
            keep[cut] = False
            triangles = np.concatenate([index[keep], np.array(fresh).reshape(-1, 3)])
            edit.set_index(primitive, triangles)
            total += len(triangles)
        first = edit.primitives()[0]
        first["material"] = edit.primitives()[-1]["material"]
        back = edit.back()
        tables = Tables(back.data)
        assert sum(tables.runs[s[0]][1] for s in tables.squares) == total
        # rebuilding what was rebuilt changes nothing
        (tmp_path / "again").mkdir(exist_ok=True)
        (tmp_path / "again/Land.msh").write_bytes(back.data)
        again = tmp_path / "again/Land.glb"
        assert call(cli.msh2gltf, tmp_path / "again/Land.msh", "-o", again, "-q", "--force") == 0
        assert import_gltf(again).kept_all


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    across=st.integers(1, 4),
    down=st.integers(1, 4),
    steps=st.integers(1, 4),
    blend=st.booleans(),
    x_first=st.booleans(),
)
def test_generated_terrains(
    seed: int, across: int, down: int, steps: int, blend: bool, x_first: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Terrains of any shape come back byte for byte, and keep the rules when they are edited."""
    folder = tmp_path_factory.mktemp("made")
    data = make_terrain(seed, across=across, down=down, steps=steps, blend=blend, x_first=x_first)
    (folder / "Land.msh").write_bytes(data)
    terrain = read_terrain(read_nres(data, "Land.msh"), "Land.msh")
    assert write_terrain(terrain) == data
    assert [f for f in check_terrain(terrain) if f.severity != "note"] == []
    edit = Edit(folder, folder)
    back = edit.back()
    assert back.kept_all
    assert back.data == data
    chance = np.random.default_rng(seed)
    edit.positions[:, 1] += chance.normal(0, 1, len(edit.positions)).astype("<f4")
    back = edit.back()
    after = Tables(back.data)
    np.testing.assert_array_equal(after.positions[:, 2], edit.positions[:, 1])
    assert differing(data, back.data) <= {2, 3, 21}
    edit = Edit(folder, folder)
    primitive = edit.primitives()[0]
    index = edit.index(primitive)
    if len(index) > 1:
        edit.set_index(primitive, index[1:])
        back = edit.back()
        assert len(Tables(back.data).faces) == len(after.faces) - 1
