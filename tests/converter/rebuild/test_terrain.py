"""Terrains rebuilt: what an edit does not concern stays, and rebuilding again changes nothing.

The second reader holds every terrain that is made; what comes of single edits stands in ``edits/terrain.txt``.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter.checks.terrain import check_terrain
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import read_terrain, write_terrain
from tests.converter.edits.test_terrain import Edit
from tests.support.terrain_maker import make_terrain
from tests.support.terrain_twin import Tables


def differing(before: bytes, after: bytes) -> set[int]:
    """Types of the tables that differ."""
    a, b = Tables(before), Tables(after)
    return {kind for kind in a.tables if a.tables[kind] != b.tables[kind]}


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
        # rebuilding what was rebuilt changes nothing
        (folder / "Land.msh").write_bytes(back.data)
        assert Edit(folder, folder).back().kept_all
