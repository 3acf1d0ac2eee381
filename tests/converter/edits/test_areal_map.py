"""Edited areals: area, normal, anchor, links and cells follow, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

from msh_gltf.converter.edits.areal_changes import warn_of_lost_neighbours
from msh_gltf.converter.edits.areal_map import NewAreal, add_areal, remove_areals, replace_polygons
from msh_gltf.converter.files import read_file
from msh_gltf.converter.findings import Report
from msh_gltf.converter.formats.areal_map import anchor_inside, areal_payload, read_areal_map, write_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.queries.landscape import areal_at
from tests.support.areal_edits import (
    compare_cells,
    inner,
    lists,
    own,
    require_mutual,
    require_valid,
    require_written,
    row_of,
)
from tests.support.areals import areal_at_brute, linked, probes, read, sample, square, tiny
from tests.support.maps import every_level


@every_level
def test_same_vertices_change_nothing(level) -> None:
    source = bytes(read_file(level.folder / "Land.map"))
    areals = read_areal_map(read_nres(source, "x"))
    same = replace_polygons(areals, {i: own(areals, i) for i in range(len(areals.records))})
    assert write_areal_map(same) == source
    assert write_areal_map(replace_polygons(areals, {})) == source


@every_level
def test_moved_away_and_back(level) -> None:
    areals = read(level.folder / "Land.map")
    low, high = areals.extent
    for index in inner(areals, 3, 2):
        polygon = own(areals, index)
        side = np.where(polygon[0, :2] < (low + high) / 2, 1, -1) * 0.3 * (high - low)
        away = replace_polygons(areals, {index: polygon + np.append(side, 0).astype(np.float32)})
        mine = areals.owner == index
        led_here = areals.links["areal"] == index
        assert led_here.sum() == mine.sum() > 2
        gone = mine | led_here
        assert (away.links["areal"][gone] == -1).all()
        assert (away.links["edge"][gone] == -1).all()
        assert away.links[~gone].tobytes() == areals.links[~gone].tobytes()
        compare_cells(areals, away, [index])
        require_valid(away)
        require_written(away)
        assert anchor_inside(away)[index]
        assert away.records["anchor"][index, 2] == areals.records["anchor"][index, 2]
        points = probes(away, 7, 40)
        assert areal_at(away, points).tolist() == areal_at_brute(away, points)

        back = replace_polygons(away, {index: polygon})
        assert back.links.tobytes() == areals.links.tobytes()
        assert back.cell_ids.tobytes() == areals.cell_ids.tobytes()
        assert back.cell_start.tobytes() == areals.cell_start.tobytes()
        assert back.vertices.tobytes() == areals.vertices.tobytes()
        require_written(back)


@pytest.mark.parametrize("name", ["spec__AutoMAP_00", "mixed__MULTI02"])
def test_random_edits(name: str) -> None:
    """Corners added, moved, taken away, several areals at once: all invariants hold."""
    areals = sample(name)
    rng = np.random.default_rng(8)
    for turn in range(8):
        polygons = {}
        for index in inner(areals, 5, turn):
            if areals.records["poly_count"][index]:
                continue
            polygon = own(areals, index)
            k = int(rng.integers(len(polygon)))
            middle = (polygon[k] + np.roll(polygon, -1, 0)[k]) / 2
            centre = polygon.mean(0)
            split = np.insert(polygon, k + 1, middle, 0)
            shrunk = centre + (polygon - centre) * np.float32(0.9)
            polygons[index] = (split, shrunk)[int(rng.integers(2))]
        new = replace_polygons(areals, polygons)
        require_valid(new)
        require_written(new)
        compare_cells(areals, new, sorted(polygons))
        untouched = ~np.isin(areals.owner, [*polygons])
        stays = untouched & ~np.isin(areals.links["areal"], [-1, *polygons])
        stays_new = ~np.isin(new.owner, [*polygons])
        assert areals.links[stays].tobytes() == new.links[stays_new][stays[untouched]].tobytes()
        areals = new
    points = probes(areals, 9, 60)
    assert areal_at(areals, points).tolist() == areal_at_brute(areals, points)


def test_split_edge_is_a_border() -> None:
    """Half an edge is not the neighbour's edge: both sides lose the link."""
    areals = replace_polygons(row_of(3), {1: [(1, 0, 0), (2, 0, 0), (2, 1, 0), (1, 1, 0), (1, 0.5, 0)]})
    assert areals.links[areals.owner == 1].tolist() == [(-1, -1), (2, 3), (-1, -1), (-1, -1), (-1, -1)]
    assert areals.links[areals.owner == 0].tolist() == [(-1, -1)] * 4
    assert areals.links[areals.owner == 2].tolist()[3] == (1, 1)
    assert areals.records["vertex_count"].tolist() == [4, 5, 4]
    report = Report()
    warn_of_lost_neighbours(report, row_of(3), areals, [])
    (warning,) = report.warnings
    assert warning.startswith("areal 0 near (1, 0.75, 0), areal 1 near (1, 0.25, 0) lost a neighbour: "), warning
    report = Report()
    warn_of_lost_neighbours(report, areals, areals, [])  # it was so before
    assert report.warnings == []


def test_a_new_areal_at_half_an_edge_is_named() -> None:
    """It has no neighbour there, nor had one: nobody can enter it."""
    old = row_of(3)
    new = add_areal(old, NewAreal([(1.5, 1, 0), (2, 1, 0), (2, 2, 0), (1.5, 2, 0)], 0, 0))
    report = Report()
    warn_of_lost_neighbours(report, old, new, [])
    (warning,) = report.warnings
    assert warning.startswith("areal 3 near (1.75, 1, 0) lost a neighbour: "), warning


@every_level
def test_removed_areals(level) -> None:
    areals = read(level.folder / "Land.map")
    before = areal_payload(areals)
    count = len(areals.records)
    gone = inner(areals, 12, 6)
    new = remove_areals(areals, [*gone, gone[0]])
    kept = [i for i in range(count) if i not in gone]
    number = {old: i for i, old in enumerate(kept)}
    assert new.records.tobytes() == areals.records[kept].tobytes()
    assert new.polys == [areals.polys[i] for i in kept]
    expected, extras = [], []
    for i in kept:
        a, b = areals.vertex_start[i : i + 2]
        for areal, edge in areals.links[a:b].tolist():
            expected.append((number[areal], edge) if areal in number else (-1, -1))
        a, b = areals.extra_start[i : i + 2]
        extras.append(areals.extra_links[a:b].tobytes())
    assert new.links.tolist() == expected
    assert new.extra_links.tobytes() == b"".join(extras)
    assert lists(new) == [[number[i] for i in ids if i in number] for ids in lists(areals)]
    require_mutual(new)
    require_written(new)
    points = probes(new, 5, 30)
    assert areal_at(new, points).tolist() == areal_at_brute(new, points)
    assert areal_payload(areals) == before
    assert areal_payload(remove_areals(areals, [])) == before


def test_removed_corner_moves_the_grid() -> None:
    new = remove_areals(row_of(3), [2])
    assert new.extent[1].tolist() == [2, 1]
    assert lists(new) == [[0]] * 3 + [[0, 1]] * 3 + [[1]] * 3


def test_ids_and_links_that_name_nothing_go() -> None:
    """The checks refuse such a map before an import edits it."""
    areals = linked(row_of(3), {0: (77, 5), 2: (-1, 3)})
    ids = areals.cell_ids.copy()
    ids[1] = 999
    new = remove_areals(replace(areals, cell_ids=ids), [1])
    assert new.links.tolist()[:3] == [(-1, -1)] * 3
    assert lists(new) == [[0, 1]] * 9
    moved = replace_polygons(areals, {1: square(1, 0, 0.5)})
    assert moved.links.tolist()[:3] == [(-1, -1)] * 3


@every_level
def test_removed_and_added_again(level) -> None:
    areals = read(level.folder / "Land.map")
    last = len(areals.records) - 1
    for index in inner(areals, 2, 4):
        record = areals.records[index]
        without = remove_areals(areals, [index])
        again = add_areal(
            without, NewAreal(own(areals, index), int(record["class_id"]), int(record["logic"]), record["normal"])
        )
        number = {i: i - (i > index) for i in range(last + 1)} | {index: last, -1: -1}
        order = [i for i in range(last + 1) if i != index] + [index]
        expected = [
            (number[a], e)
            for i in order
            for a, e in areals.links[areals.vertex_start[i] : areals.vertex_start[i + 1]].tolist()
        ]
        assert again.links.tolist() == expected
        assert lists(again) == [sorted(number[i] for i in ids) for ids in lists(areals)]
        new = again.records[last].copy()
        assert new["area"] == pytest.approx(record["area"], rel=0.15)
        for name in ("area", "poly_count", "anchor"):
            new[name] = record[name]
        assert new.tobytes() == record.tobytes()
        require_valid(again)
        require_written(again)


def test_added_defaults() -> None:
    areals = row_of(2)
    new = add_areal(areals, NewAreal([(2, 0, 1), (3, 0, 2), (3, 1, 3), (2, 1, 4)], 240, 1))
    record = new.records[2]
    assert record["anchor"].tolist() == [2.5, 0.5, 2.5]
    assert record["normal"].tolist() == [0, 0, 1]
    assert (record["class_id"], record["logic"], record["area"]) == (240, 1, 1)
    assert [record[k] for k in ("opaque12", "opaque36", "opaque44", "poly_count")] == [0] * 4
    assert new.polys == [b""] * 3
    tilted = add_areal(areals, NewAreal(square(0, 3, 1), 1, 0, (0, 3, 4)))
    assert tilted.records["normal"][2].tolist() == pytest.approx([0, 0.6, 0.8])
    require_valid(tilted)
    empty = replace(tiny(), cell_start=np.zeros(2, np.int64))
    first = add_areal(empty, NewAreal(square(0, 0, 1), 1, 0))
    assert lists(first) == [[0]]
    nowhere = replace(areals, cells_x=0, cells_y=0, cell_start=np.zeros(1, np.int64))
    nowhere = replace(nowhere, cell_ids=nowhere.cell_ids[:0])
    assert len(add_areal(nowhere, NewAreal(square(0, 3, 1), 1, 0)).records) == 3


def test_bogus_ids_do_not_become_the_new_areal() -> None:
    areals = tiny(square(0, 0, 4), cells=2)
    ids = areals.cell_ids.copy()
    ids[:] = (0, 1, 0, 0)
    start = np.arange(5)
    new = add_areal(replace(areals, cell_ids=ids, cell_start=start), NewAreal(square(3, 3, 1), 1, 0))
    assert lists(new) == [[0], [], [0], [0, 1]]
