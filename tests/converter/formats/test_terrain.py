"""Terrains against recorded truth; every check has a terrain that breaks it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter.checks.terrain import check_terrain, checked_terrain
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.formats.terrain import COARSE, FINE, Terrain, TerrainStream, read_terrain, write_terrain
from msh_gltf.converter.numeric.surfaces import hull, sphere_radius
from tests.support.maps import every_level, level_called
from tests.support.runs import first_difference
from tests.support.terrain_twin import check

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


@every_level
def test_the_corpus_is_sound(level) -> None:
    terrain = load(level)
    assert check_terrain(terrain) == []
    check((level.folder / "Land.msh").read_bytes())  # the reference agrees that the rules hold


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


@pytest.mark.parametrize(
    ("code", "severity", "stream", "row", "field", "value", "within"),
    [
        ("terrain-finite", "error", T.POSITIONS, 7, None, (0, np.nan, 0), 0),
        ("terrain-blend-finite", "error", T.BLEND, 7, None, np.inf, 0),
        ("terrain-blend", "warning", T.BLEND, 7, None, 1.5, 0),
        ("terrain-face-vertex", "error", T.FACES, 3, "vertex", (0, 1, 60000), 8),
        ("terrain-face-link", "error", T.FACES, 3, "link", (0, 1, 60000), 14),
        ("terrain-square-slot", "error", T.SQUARES, 2, "slot_index", 9999, 8),
        ("terrain-slot-faces", "error", T.SLOTS, 5, "tri_count", 60000, 0),
        ("terrain-slot-box", "error", T.SLOTS, 5, "aabb_min", np.inf, 8),
        ("terrain-slot-run", "warning", T.SLOTS, 5, "tri_start", 0, 0),
        ("terrain-edge-class", "warning", T.FACES, 3, "selectors", 0x3F, 26),
        ("terrain-second-material", "warning", T.FACES, 3, "flags", 0x604, 0),
        ("terrain-draw-order", "warning", T.DRAW_ORDER, 3, "face", 1999, 0),
    ],
)
def test_findings_say_where(
    code: str, severity: str, stream: T, row: int, field: str | None, value: object, within: int
) -> None:
    terrain = broken(stream, row, field, value)
    found = [f for f in check_terrain(terrain) if f.code == code and f.severity == severity]
    assert found, [f.code for f in check_terrain(terrain)]
    if code not in ("terrain-draw-order", "terrain-slot-run"):
        assert found[0].row == row
        assert found[0].offset == terrain.offset_of(stream, row, within)
    if severity == "error":
        with pytest.raises(ConversionError, match=r"Land\.msh"):
            checked_terrain(terrain, "default")


@pytest.mark.parametrize("past", [-1, 0, 1])
def test_the_first_row_past_the_vertices_is_an_error(past: int) -> None:
    """A face may name the last vertex, and no row after it."""
    count = len(load(level_called(LEVEL)).positions)
    terrain = broken(T.FACES, 3, "vertex", (0, 1, count + past))
    found = [f for f in check_terrain(terrain) if f.code == "terrain-face-vertex"]
    assert len(found) == (past >= 0)


def test_findings_about_geometry() -> None:
    terrain = load(level_called(LEVEL))
    moved = terrain.positions.copy()
    moved[terrain.faces["vertex"][0]] += [400, 0, 0]
    codes = {f.code for f in check_terrain(replace(terrain, streams=terrain.streams | {3: moved}))}
    assert "terrain-face-square" in codes
    links = terrain.faces.copy()
    links["link"][0] = links["link"][0][::-1]
    codes = {f.code for f in check_terrain(replace(terrain, streams=terrain.streams | {21: links}))}
    assert "terrain-link-mutual" in codes
    short = replace(terrain, streams=terrain.streams | {4: terrain.normals[:-1]})
    assert [f.code for f in check_terrain(short)] == ["terrain-vertex-count"]


@pytest.mark.parametrize("missing", [1, 2, 3, 4, 5, 11, 18, 21])
def test_required_tables(missing: int) -> None:
    path = level_called(LEVEL).folder / "Land.msh"
    entries = [e for e in read_nres(read_file(path), "x").entries if e.type_id != missing]
    with pytest.raises(ConversionError, match=f"not a terrain: .* without Res{missing} "):
        read_terrain(new_archive(entries, "x"), "x")


def test_optional_table_and_sizes() -> None:
    path = level_called(LEVEL).folder / "Land.msh"
    entries = read_nres(read_file(path), "x").entries
    terrain = read_terrain(new_archive([e for e in entries if e.type_id != 14], "x"), "x")
    assert terrain.blend is None
    assert check_terrain(terrain) == []
    for kind, size in ((21, 27), (2, 139), (2, 141), (18, 3)):
        cut = [replace(e, payload=bytes(size)) if e.type_id == kind else e for e in entries]
        with pytest.raises(ConversionError, match=rf"Res{kind} .*size does not fit its records"):
            read_terrain(new_archive(cut, "x"), "x")


@settings(max_examples=30)
@given(st.permutations([1, 2, 3, 4, 5, 11, 14, 18, 21, 99]), st.binary(max_size=40))
def test_any_order_and_unknown_entries(order: list[int], unknown: bytes) -> None:
    """Order is not meaning, but it is kept, like everything that nobody knows."""
    path = level_called(LEVEL).folder / "Land.msh"
    entries = {e.type_id: e for e in read_nres(read_file(path), "x").entries}
    entries[99] = replace(entries[3], type_id=99, payload=unknown)
    data = write_nres(new_archive([entries[kind] for kind in order], "x"))
    terrain = read_terrain(read_nres(data, "x"), "x")
    assert write_terrain(terrain) == data
    assert check_terrain(terrain) == []
