"""Terrains against recorded truth; every check has a terrain that breaks it."""

from dataclasses import replace

import numpy as np
import pytest

from msh_gltf.converter.checks.terrain import check_terrain
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import COARSE, FINE, Terrain, TerrainStream, read_terrain, write_terrain
from msh_gltf.converter.numeric.surfaces import hull, sphere_radius
from tests.support.maps import every_level, level_called
from tests.support.runs import first_difference

T = TerrainStream
LEVEL = "spec__AutoMAP_00"


def load(level) -> Terrain:
    path = level.folder / "Land.msh"
    return read_terrain(read_nres(read_file(path), str(path)), path.name)


@every_level
def test_bytes_come_back(level) -> None:
    source = (level.folder / "Land.msh").read_bytes()
    assert first_difference(source, write_terrain(load(level))) is None


@every_level
def test_tables_equal_the_truth(level) -> None:
    terrain, truth = load(level), level.terrain
    np.testing.assert_array_equal(terrain.positions, truth["pos"])
    np.testing.assert_array_equal(terrain.blend, truth["weight"])
    for name, key in (
        ("vertex", "face"),
        ("flags", "flags"),
        ("first", "mat1"),
        ("second", "mat2"),
        ("link", "link"),
        ("selectors", "edge_class"),
        ("normal", "face_normal"),
        ("opaque27", "unk27"),
    ):
        np.testing.assert_array_equal(terrain.faces[name], truth[key])
    np.testing.assert_array_equal(terrain.draw_order["face"], truth["draw_face"])
    np.testing.assert_array_equal(terrain.draw_order["flags"], truth["draw_flags"])
    for level_number in (FINE, COARSE):
        rows = terrain.faces_of(level_number)
        np.testing.assert_array_equal(rows, np.flatnonzero(truth["level"] == level_number))
    assert terrain.across == terrain.down == level.facts("terrain")["squares"]
    middle = truth["pos"][truth["face"]].mean(axis=1)
    np.testing.assert_array_equal(terrain.grid.squares_at(middle), terrain.square_of_face)
    box = terrain.slots
    for row in range(len(box)):  # the sphere is that of the box
        low, high = box["aabb_min"][row], box["aabb_max"][row]
        center = ((low + high) * np.float32(0.5)).astype(np.float32)
        np.testing.assert_array_equal(center, box["sphere_center"][row])
        assert sphere_radius(center, hull(low, high)) == box["sphere_radius"][row]


def test_squares_may_run_down_first() -> None:
    terrain = load(level_called(LEVEL))
    across = terrain.across
    order = np.arange(across * across).reshape(across, across).T.reshape(-1)
    turned = replace(terrain, streams=dict(terrain.streams))
    turned.streams[T.SQUARES] = terrain.squares[order]
    assert not turned.grid.x_first
    assert check_terrain(turned) == []
    middle = terrain.positions[terrain.faces["vertex"]].mean(axis=1)
    np.testing.assert_array_equal(turned.grid.squares_at(middle), turned.square_of_face)


def broken(stream: TerrainStream, row: int, field: str | None, value: object) -> Terrain:
    terrain = load(level_called(LEVEL))
    if stream is T.SLOTS:
        terrain.slots = terrain.slots.copy()
        terrain.slots[field][row] = value
    else:
        table = terrain.streams[stream].copy()
        if field is None:
            table[row] = value
        else:
            table[field][row] = value
        terrain.streams[stream] = table
    return terrain


@pytest.mark.parametrize("past", [-1, 0, 1])
def test_the_first_row_past_the_vertices_is_an_error(past: int) -> None:
    """A face may name the last vertex, and no row after it."""
    count = len(load(level_called(LEVEL)).positions)
    terrain = broken(T.FACES, 3, "vertex", (0, 1, count + past))
    found = [f for f in check_terrain(terrain) if f.code == "terrain-face-vertex"]
    assert len(found) == (past >= 0)
