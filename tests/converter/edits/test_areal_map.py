"""Edited areals: area, normal, anchor, links and cells follow, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.checks.areal_map import check_areal_map
from msh_gltf.converter.edits.areal_map import (
    add_areal,
    remove_areals,
    repair_anchors,
    replace_polygons,
)
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import (
    AREALS,
    CELLS,
    ArealMap,
    anchor_inside,
    signed_areas,
)
from msh_gltf.converter.numeric.polygon_cells import cells_under
from msh_gltf.converter.queries.areal_map import areal_at
from msh_gltf.exporters.areal_map import areal_payload, write_areal_map
from msh_gltf.importers.areal_map import read_areal_map
from msh_gltf.importers.nres import read_file, read_nres
from tests.converter.formats.test_areal_map import (
    areal_at_brute,
    brute_inside,
    linked,
    probes,
    read,
    sample,
    square,
    tiny,
)
from tests.support.maps import every_level

Point = tuple[float, float]


def own(areals: ArealMap, index: int) -> np.ndarray:
    return areals.vertices[areals.vertex_start[index] : areals.vertex_start[index + 1]]


def record_bytes(areals: ArealMap, payload: bytes) -> list[bytes]:
    at = areals.record_offsets.tolist()
    return [payload[a:b] for a, b in pairwise(at)]


def lists(areals: ArealMap) -> list[list[int]]:
    start, ids = areals.cell_start.tolist(), areals.cell_ids.tolist()
    return [ids[a:b] for a, b in pairwise(start)]


def shared(polygon: list[Point], low: Point, high: Point) -> float:
    """Area that a polygon shares with a rectangle: cut by its four sides, one after another."""
    for axis, limit, sign in ((0, low[0], 1), (0, high[0], -1), (1, low[1], 1), (1, high[1], -1)):
        kept: list[Point] = []
        for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
            u, v = sign * (a[axis] - limit), sign * (b[axis] - limit)
            if u >= 0:
                kept.append(a)
            if u * v < 0:
                t = u / (u - v)
                kept.append((a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))
        polygon = kept
    pairs = zip(polygon, [*polygon[1:], *polygon[:1]], strict=True)
    return sum((a[0] - low[0]) * (b[1] - low[1]) - (b[0] - low[0]) * (a[1] - low[1])
               for a, b in pairs) / 2  # fmt: skip


def meets(polygon: list[Point], low: Point, high: Point) -> bool:
    """Whether a polygon and a closed rectangle share a point, in exact fractions."""
    for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        first, last = Fraction(0), Fraction(1)
        for axis in (0, 1):
            start, step = Fraction(a[axis]), Fraction(b[axis]) - Fraction(a[axis])
            if not step:
                if not low[axis] <= start <= high[axis]:
                    last = Fraction(-1)
                continue
            ends = sorted((Fraction(side[axis]) - start) / step for side in (low, high))
            first, last = max(first, ends[0]), min(last, ends[1])
        if first <= last:
            return True
    return brute_inside(polygon, *low)


def brute_cells(areals: ArealMap, index: int) -> tuple[set[int], set[int]]:
    """The cells that an areal overlaps, and those that it touches, one by one."""
    (left, bottom), (right, top) = (e.tolist() for e in areals.extent)
    width, height = (right - left) / areals.cells_x, (top - bottom) / areals.cells_y
    polygon = [(x, y) for x, y, _ in own(areals, index).tolist()]
    xs, ys = zip(*polygon, strict=True)
    overlaps, touches = set(), set()
    for x in range(areals.cells_x):
        for y in range(areals.cells_y):
            low = (left + x * width, bottom + y * height)
            high = (left + (x + 1) * width, bottom + (y + 1) * height)
            if max(xs) < low[0] or min(xs) > high[0] or max(ys) < low[1] or min(ys) > high[1]:
                continue
            if shared(polygon, low, high) > 1e-9 * width * height:
                overlaps.add(x * areals.cells_y + y)
            if meets(polygon, low, high):
                touches.add(x * areals.cells_y + y)
    return overlaps, touches


def require_valid(areals: ArealMap) -> None:
    assert [f for f in check_areal_map(areals) if f.severity != "note"] == []


def require_written(areals: ArealMap) -> None:
    """What is written is read back the same."""
    again = read_areal_map(read_nres(write_areal_map(areals), "again"))
    for name, value in vars(areals).items():
        if isinstance(value, np.ndarray) and name in vars(again):
            assert value.dtype == getattr(again, name).dtype, name
            assert value.tobytes() == getattr(again, name).tobytes(), name
    assert again.polys == areals.polys
    assert again.entry.attr1 == len(areals.records)


def inner(areals: ArealMap, count: int, seed: int) -> list[int]:
    """Some areals that lie inside the map."""
    low, high = areals.extent
    fits = [
        i
        for i in range(len(areals.records))
        if (own(areals, i)[:, :2] > low).all() and (own(areals, i)[:, :2] < high).all()
    ]
    return np.random.default_rng(seed).choice(fits, count, replace=False).tolist()


# ------------------------------------------------------------------ replace_polygons


@every_level
def test_same_vertices_change_nothing(level) -> None:
    source = bytes(read_file(level.folder / "Land.map"))
    areals = read_areal_map(read_nres(source, "x"))
    same = replace_polygons(areals, {i: own(areals, i) for i in range(len(areals.records))})
    assert write_areal_map(same) == source
    assert write_areal_map(replace_polygons(areals, {})) == source


@every_level
def test_moved_corner_keeps_links(level) -> None:
    """A corner moved in every areal that has it: shapes follow, neighbours stay neighbours."""
    areals = read(level.folder / "Land.map")
    before = areal_payload(areals)
    rng = np.random.default_rng(5)
    for index in inner(areals, 4, 1):
        corner = own(areals, index)[0].copy()
        users = np.unique(areals.owner[(areals.vertices == corner).all(1)]).tolist()
        to = corner + rng.uniform(-0.5, 0.5, 3).astype(np.float32)
        moved = {}
        for user in users:
            moved[user] = own(areals, user).copy()
            moved[user][(moved[user] == corner).all(1)] = to
        new = replace_polygons(areals, moved)
        assert len(users) > 1
        assert new.links.tobytes() == areals.links.tobytes()
        require_valid(new)
        require_written(new)
        np.testing.assert_allclose(
            new.records["area"][users], signed_areas(new)[users].astype(np.float32), rtol=1e-7
        )
        rows, wanted = record_bytes(new, areal_payload(new)), record_bytes(areals, before)
        assert [i for i, (a, b) in enumerate(zip(rows, wanted, strict=True)) if a != b] == users
        compare_cells(areals, new, users)
    assert areal_payload(areals) == before


def compare_cells(old: ArealMap, new: ArealMap, edited: list[int]) -> None:
    """Cells by the rule, from brute force; lists that did not change keep their order."""
    brute = {i: brute_cells(new, i) for i in edited}
    for row, (was, now) in enumerate(zip(lists(old), lists(new), strict=True)):
        wanted = {i for i in was if i not in brute or row in brute[i][1]}
        wanted |= {i for i in brute if row in brute[i][0]}
        assert now == (was if wanted == set(was) else sorted(wanted)), row


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
    areals = replace_polygons(
        row_of(3), {1: [(1, 0, 0), (2, 0, 0), (2, 1, 0), (1, 1, 0), (1, 0.5, 0)]}
    )
    assert areals.links[areals.owner == 1].tolist() == [
        (-1, -1),
        (2, 3),
        (-1, -1),
        (-1, -1),
        (-1, -1),
    ]
    assert areals.links[areals.owner == 0].tolist() == [(-1, -1)] * 4
    assert areals.links[areals.owner == 2].tolist()[3] == (1, 1)
    assert areals.records["vertex_count"].tolist() == [4, 5, 4]


def row_of(count: int, cells: int = 3) -> ArealMap:
    """Unit squares side by side, linked; every cell lists every areal."""
    areals = tiny(*(square(i, 0, 1) for i in range(count)), cells=cells)
    pairs = {}
    for i in range(count - 1):
        pairs[4 * i + 1], pairs[4 * i + 7] = (i + 1, 3), (i, 1)
    return linked(areals, pairs)


# ------------------------------------------------------------------ links


@pytest.mark.parametrize(
    ("shift", "found"),
    [
        ((0.0009, 0, 0), True),
        ((0.0009, -0.0009, 0.0009), True),
        ((0.0012, 0, 0), False),
        ((0, 0.0012, 0), False),
        ((0, 0, 0.0012), False),
    ],
)
def test_distance_of_a_match(shift: tuple[float, float, float], found: bool) -> None:
    areals = tiny(square(0, 0, 1), square(5, 0, 1))
    moved = np.array(square(1, 0, 1)) + np.array(shift)
    links = replace_polygons(areals, {1: moved}).links.tolist()
    assert links[1] == ((1, 3) if found else (-1, -1))
    assert links[7] == ((0, 1) if found else (-1, -1))
    assert sum(link != (-1, -1) for link in links) == 2 * found


def test_which_edge_is_matched() -> None:
    """Linked before, then opposite, then same direction; by areal and edge; never twice."""
    same = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]  # runs (1, 0) to (1, 1) like areal 3
    other = [(1, 1, 0), (1, 0, 0), (2, 0, 0)]  # runs it the other way
    away = square(9, 9, 1)
    areals = tiny(same, other, other, away)
    new = replace_polygons(areals, {3: square(0, 0, 1)})
    assert new.links.tolist()[10] == (1, 0)  # opposite and first, not areal 0, not areal 2
    assert new.links.tolist()[3] == (3, 1)
    assert new.links.tolist()[1] == new.links.tolist()[6] == (-1, -1)
    alone = replace_polygons(tiny(same, away), {1: square(0, 0, 1)})
    assert alone.links.tolist()[4] == (0, 1)  # the same direction is better than nothing
    known = linked(tiny(same, other, other, square(0, 0, 1)), {10: (2, 0), 6: (3, 1)})
    raised = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 5)]
    kept = replace_polygons(known, {3: raised})
    assert kept.links.tolist()[10] == (2, 0)  # areal 1 would be first, but was not linked
    assert kept.links.tolist()[3] == (-1, -1)


def test_links_of_others_are_not_taken() -> None:
    """A second areal in one place: it gets the border edges, not those that are linked."""
    areals = row_of(3)
    new = replace_polygons(tiny_with(areals, square(9, 9, 1)), {3: square(1, 0, 1)})
    taken = dict(enumerate(areals.links.tolist())) | {4: (3, 0), 6: (3, 2)}
    assert new.links.tolist() == [*taken.values(), (1, 0), (-1, -1), (1, 2), (-1, -1)]
    require_mutual(new)


def tiny_with(areals: ArealMap, shape: list) -> ArealMap:
    count = len(areals.records)
    shapes = [own(areals, i).tolist() for i in range(count)]
    new = tiny(*shapes, shape)
    return linked(new, dict(enumerate(areals.links.tolist())))


def require_mutual(areals: ArealMap) -> None:
    codes = {f.code for f in check_areal_map(areals)}
    assert not codes & {"areal-link", "areal-link-mutual"}


def test_an_areal_is_no_neighbour_of_its_own() -> None:
    """Two edges of one areal on the same line: a slit."""
    slit = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (2, 4, 0), (2, 2, 0), (2, 4, 0), (0, 4, 0)]
    areals = replace_polygons(tiny(square(0, 0, 4), square(6, 6, 1)), {0: slit})
    assert areals.links.tolist() == [(-1, -1)] * 11


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_greedy_pairs(places: list[int]) -> None:
    """Squares in few places, many on top of each other: pairs as a plain loop would take them."""
    away = tiny(*(square(20 + 3 * i, 20, 1) for i in range(len(places))))
    shapes = [square(place, 0, 1) for place in places]
    new = replace_polygons(away, dict(enumerate(shapes)))
    edges = [(i, k) for i in range(len(places)) for k in range(4)]
    ends = {(i, k): (shapes[i][k], shapes[i][(k + 1) % 4]) for i, k in edges}
    expected = dict.fromkeys(edges, (-1, -1))
    for turned in (True, False):
        for one in edges:
            for two in edges:
                fits = ends[one] == (ends[two][::-1] if turned else ends[two])
                free = expected[one] == expected[two] == (-1, -1)
                if fits and free and one[0] < two[0]:
                    expected[one], expected[two] = two, one
    assert new.links.tolist() == [expected[edge] for edge in edges]


# ------------------------------------------------------------------ cells


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=7, unique=True)
)
def test_cells_under_equal_brute_force(corners: list[tuple[int, int]]) -> None:
    """Star-shaped polygons round the grid's middle, on and off the borders of cells."""
    middle = np.array((4.1, 3.9))
    spokes = np.array(corners) - middle
    order = np.argsort(np.arctan2(spokes[:, 1], spokes[:, 0]))
    polygon = np.array(corners, np.float64)[order]
    following = np.roll(polygon, -1, 0)
    if (polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]).sum() <= 0:
        return
    borders = np.linspace(-1, 9, 6)
    rows, touch, overlap = cells_under(polygon, borders, borders)
    shape = [(x, y) for x, y in polygon.tolist()]
    for x in range(5):
        for y in range(5):
            low, high = (borders[x], borders[y]), (borders[x + 1], borders[y + 1])
            at = np.flatnonzero(rows == 5 * x + y)
            assert (at.size and touch[at[0]]) == meets(shape, low, high)
            assert (at.size and overlap[at[0]]) == (shared(shape, low, high) > 4e-9)


def test_cells_under_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    polygon = own(sample(), 3)[:, :2].astype(np.float64)
    borders = np.linspace(0, 1200, 129)
    whole = cells_under(polygon, borders, borders)
    monkeypatch.setattr("msh_gltf.converter.numeric.polygon_cells._AT_ONCE", 5)
    for a, b in zip(whole, cells_under(polygon, borders, borders), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(whole[0]) > 9


def test_lists_keep_what_they_may() -> None:
    """The map's cells list everything, backwards: an edit leaves what it may leave."""
    areals = row_of(3)  # x cells and squares coincide: every square fills 3 cells
    new = replace_polygons(areals, {2: [(2, 0, 0), (2.5, 0, 0), (3, 1, 0), (2, 1, 0)]})
    rest = [2, 1, 0]
    assert lists(new) == [[0, 1]] * 3 + [rest] * 6  # areal 2 touches column 1 at x = 2
    again = replace_polygons(new, {0: [(0, 0, 0), (1.5, 0, 0), (1.5, 1, 0), (0, 1, 0)]})
    assert lists(again) == [[0, 1]] * 3 + [rest] * 3 + [[1, 2]] * 3
    back = replace_polygons(again, {2: [(1.5, 0, 0), (3, 0, 0), (3, 1, 0), (1.5, 1, 0)]})
    assert lists(back) == [[0, 1]] * 3 + [rest] * 3 + [[1, 2]] * 3


@pytest.mark.parametrize("shift", [(0.5, 0), (0, -0.5)])
def test_moved_grid(shift: tuple[float, float]) -> None:
    """The extent changes, so every cell does: all lists by exact overlap."""
    areals = row_of(3, cells=4)
    shape = np.array(square(2, 0, 1), np.float64)
    shape[1, :2] += shift
    new = replace_polygons(areals, {2: shape})
    brute = {i: brute_cells(new, i)[0] for i in range(3)}
    assert lists(new) == [sorted(i for i in brute if row in brute[i]) for row in range(16)]
    require_written(new)
    unmoved = replace_polygons(areals, {1: [(x, y, 9) for x, y, _ in square(1, 0, 1)]})
    # height is no extent: the lists stay, backwards, but for the edited areal
    assert lists(unmoved) == [[0, 2]] * 4 + [[2, 1, 0]] * 8 + [[0, 2]] * 4


def test_moved_grid_of_a_level() -> None:
    areals = sample()
    index = int(areals.owner[np.argmax(areals.vertices[:, 0])])
    polygon = own(areals, index).copy()
    polygon[np.argmax(polygon[:, 0]), 0] += 37
    new = replace_polygons(areals, {index: polygon})
    require_valid(new)
    require_written(new)
    listed = lists(new)
    for i in [index, *inner(areals, 6, 3)]:
        assert {row for row, ids in enumerate(listed) if i in ids} == brute_cells(new, i)[0]
    assert sum(map(len, listed)) == len(new.cell_ids)
    assert all(ids == sorted(set(ids)) for ids in listed)
    points = probes(new, 5, 60)
    assert areal_at(new, points).tolist() == areal_at_brute(new, points)


def test_full_cell() -> None:
    areals = tiny(square(0, 0, 4), square(0, 0, 1), cells=2)
    ids = np.zeros(1023 + 3, np.uint16)  # cell 1, 1 lists areal 0 so often
    crowded = replace(areals, cell_start=np.array([0, 1, 2, 3, 1026]), cell_ids=ids)
    assert len(replace_polygons(crowded, {1: square(0, 0, 1.5)}).cell_ids) == 1027
    with pytest.raises(ConversionError, match="cell 1, 1 would list too many") as caught:
        replace_polygons(crowded, {1: square(2.5, 2.5, 1)})
    error = caught.value
    assert (error.table, error.row, error.value) == (CELLS, 3, 1024)
    assert str(error.expected) == "at most 1023"


# ------------------------------------------------------------------ add and remove


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


def test_unknown_ids_and_links_stay() -> None:
    areals = linked(row_of(3), {0: (77, 5), 2: (-1, 3)})
    ids = areals.cell_ids.copy()
    ids[1] = 999
    new = remove_areals(replace(areals, cell_ids=ids), [1])
    assert new.links.tolist()[:3] == [(77, 5), (-1, -1), (-1, 3)]
    assert lists(new) == [[1, 999, 0]] + [[0, 1]] * 8
    moved = replace_polygons(areals, {1: square(1, 0, 0.5)})
    assert moved.links.tolist()[:3] == [(77, 5), (-1, -1), (-1, 3)]


@every_level
def test_removed_and_added_again(level) -> None:
    areals = read(level.folder / "Land.map")
    last = len(areals.records) - 1
    for index in inner(areals, 2, 4):
        record = areals.records[index]
        without = remove_areals(areals, [index])
        again = add_areal(
            without,
            own(areals, index),
            class_id=int(record["class_id"]),
            logic=int(record["logic"]),
            anchor=record["anchor"],
            normal=record["normal"],
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
        new["area"], new["poly_count"] = record["area"], record["poly_count"]
        assert new.tobytes() == record.tobytes()
        require_valid(again)
        require_written(again)


def test_added_defaults() -> None:
    areals = row_of(2)
    new = add_areal(areals, [(2, 0, 1), (3, 0, 2), (3, 1, 3), (2, 1, 4)], class_id=240, logic=1)
    record = new.records[2]
    assert record["anchor"].tolist() == [2.5, 0.5, 2.5]
    assert record["normal"].tolist() == [0, 0, 1]
    assert (record["class_id"], record["logic"], record["area"]) == (240, 1, 1)
    assert [record[k] for k in ("opaque12", "opaque36", "opaque44", "poly_count")] == [0] * 4
    assert new.polys == [b""] * 3
    tilted = add_areal(areals, square(0, 3, 1), class_id=1, logic=0, normal=(0, 3, 4))
    assert tilted.records["normal"][2].tolist() == pytest.approx([0, 0.6, 0.8])
    outside = add_areal(areals, square(0, 3, 1), class_id=1, logic=0, anchor=(9, 9, 7))
    assert outside.records["anchor"][2].tolist() == [0.5, 3.5, 7]
    inside = add_areal(areals, square(0, 3, 1), class_id=1, logic=0, anchor=(0.1, 3.1, 7))
    assert inside.records["anchor"][2].tolist() == pytest.approx([0.1, 3.1, 7])
    require_valid(inside)
    empty = replace(tiny(), cell_start=np.zeros(2, np.int64))
    first = add_areal(empty, square(0, 0, 1), class_id=1, logic=0)
    assert lists(first) == [[0]]
    nowhere = replace(areals, cells_x=0, cells_y=0, cell_start=np.zeros(1, np.int64))
    nowhere = replace(nowhere, cell_ids=nowhere.cell_ids[:0])
    assert len(add_areal(nowhere, square(0, 3, 1), class_id=1, logic=0).records) == 3


def test_bogus_ids_do_not_become_the_new_areal() -> None:
    areals = tiny(square(0, 0, 4), cells=2)
    ids = areals.cell_ids.copy()
    ids[:] = (0, 1, 0, 0)
    start = np.arange(5)
    new = add_areal(
        replace(areals, cell_ids=ids, cell_start=start), square(3, 3, 1), class_id=1, logic=0
    )
    assert lists(new) == [[0], [], [0], [0, 1]]


# ------------------------------------------------------------------ refused


U = [(0, 0, 0), (9, 0, 0), (9, 9, 0), (8, 9, 0), (8, 1, 0), (1, 1, 0), (1, 9, 0), (0, 9, 0)]


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        (square(0, 0, 1)[::-1], "clockwise"),
        (square(0, 0, 1)[:2], "too few vertices"),
        (np.empty((0, 3)), "too few vertices"),
        ([(0, 0, 0), (1, 0, np.nan), (1, 1, 0)], "not finite"),
        ([(0, 0, 0), (1e39, 0, 0), (1, 1, 0)], "not finite"),
        ([(0, 0, 0), (1, 1, 0), (3, 3, 7)], "no area"),
        ([(7, 7, 0)] * 3, "no area"),
        ([(0, 0, 0), (1e5, 1e-9, 0), (2e5, 3e-9, 0)], "no area"),
        ([(0, 0), (1, 0), (1, 1)], "wrong shape"),
        ([1, 2, 3], "wrong shape"),
        ([(0, 0, 0), (9, 0, 0), (1, 4, 0), (8, 4, 0)], "edges of the polygon cross: 1 and 3"),
    ],
)
def test_refused_polygons(shape: list, problem: str) -> None:
    areals = row_of(2)
    for edit, row in (
        (lambda: replace_polygons(areals, {1: shape}), 1),
        (lambda: add_areal(areals, shape, class_id=1, logic=0), 2),
    ):
        with pytest.raises(ConversionError, match=problem) as caught:
            edit()
        error = caught.value
        assert (error.file, error.table, error.row) == (areals.archive.label, AREALS, row)
        assert "\n" not in str(error)


def test_touching_edges_are_no_crossing() -> None:
    pinched = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (2, 0, 0), (0, 4, 0)]
    assert len(replace_polygons(row_of(2), {1: pinched}).vertices) == 9


def test_crossing_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("msh_gltf.converter.numeric.polygon_cells._AT_ONCE", 5)
    with pytest.raises(ConversionError, match="cross: 1 and 3"):
        replace_polygons(row_of(2), {1: [(0, 0, 0), (9, 0, 0), (1, 4, 0), (8, 4, 0)]})
    assert len(replace_polygons(row_of(2), {1: U}).vertices) == 12


def test_other_refusals() -> None:
    areals = row_of(2)
    for edit, problem in (
        (lambda: replace_polygons(areals, {2: square(0, 0, 1)}), "no such areal: 2"),
        (lambda: replace_polygons(areals, {-1: square(0, 0, 1)}), "no such areal: -1"),
        (lambda: remove_areals(areals, [0, 2]), "no such areal: 2"),
        (lambda: remove_areals(areals, [0, 1]), "at least one areal: all 2"),
        (lambda: repair_anchors(areals, [5]), "no such areal: 5"),
        (lambda: add_areal(areals, U, class_id=-1, logic=0), "class_id does not fit: -1"),
        (lambda: add_areal(areals, U, class_id=0, logic=1 << 32), "logic does not fit"),
        (lambda: add_areal(areals, U, class_id=0, logic=0, anchor=(1, 2)), "anchor does not fit"),
        (
            lambda: add_areal(areals, U, class_id=0, logic=0, normal=(0, np.inf, 1)),
            "normal does not fit",
        ),
    ):
        with pytest.raises(ConversionError, match=problem) as caught:
            edit()
        assert caught.value.table == AREALS
    broken = areals.vertices.copy()
    broken[5] = np.nan
    for edit in (
        lambda m: replace_polygons(m, {0: square(0, 0, 0.5)}),
        lambda m: remove_areals(m, [0]),
    ):
        with pytest.raises(ConversionError, match="not a finite number"):
            edit(replace(areals, vertices=broken))
    healed = remove_areals(replace(areals, vertices=broken), [1])
    assert lists(healed) == [[0]] * 9


def test_more_areals_than_ids() -> None:
    areals = row_of(1)
    many = replace(
        areals,
        records=np.repeat(areals.records, 0x10000),
        vertices=np.tile(areals.vertices, (0x10000, 1)),
        vertex_start=np.arange(0x10001) * 4,
        links=np.tile(areals.links, 0x10000),
        extra_start=np.zeros(0x10001, np.int64),
        polys=[b""] * 0x10000,
    )
    with pytest.raises(ConversionError, match="16-bit ids: 65537"):
        add_areal(many, square(0, 0, 1), class_id=0, logic=0)


def test_polys_are_kept_and_not_invented() -> None:
    areals = sample("mixed__MULTI02")
    index = int(np.argmax(areals.records["poly_count"]))
    polygon = own(areals, index)
    raised = replace_polygons(areals, {index: polygon + np.float32(0.001)})
    assert raised.polys == areals.polys
    assert raised.extra_links.tobytes() == areals.extra_links.tobytes()
    require_written(raised)
    with pytest.raises(ConversionError, match="vertex count must stay") as caught:
        replace_polygons(areals, {index: polygon[:-1]})
    assert caught.value.row == index
    assert str(caught.value.expected) == str(len(polygon))


# ------------------------------------------------------------------ normals and anchors


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ((0, 0, 1), (0, 0, 1)),
        ((0, 3, 4), (0, 0.6, 0.8)),
        ((0, 0, 0), (0, 0, 1)),
        ((np.nan, 0, 1), (0, 0, 1)),
        ((0, 0, 1.00000012), (0, 0, 1.00000012)),  # unit as far as float32 goes: kept
    ],
)
def test_normal_follows(stored: tuple, expected: tuple) -> None:
    areals = row_of(2)
    records = areals.records.copy()
    records["normal"] = stored
    new = replace_polygons(replace(areals, records=records), {1: square(1, 0, 0.5)})
    np.testing.assert_array_equal(new.records["normal"][1], np.array(expected, np.float32))
    assert new.records["normal"][0].tobytes() == records["normal"][0].tobytes()


def anchored(shape: list, anchor: tuple[float, float, float]) -> ArealMap:
    areals = tiny(shape)
    areals.records["anchor"][0] = anchor
    return areals


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        (square(2, 4, 2), (3, 5)),  # the centroid
        (U, (0.5, 4.5)),  # the centroid is in the gap; of two spans as long, the first
        ([*U[:3], (7, 9, 0), (7, 1, 0), *U[5:]], (8, 4.5)),  # the right arm is wider
    ],
)
def test_repaired_anchor(shape: list, place: tuple[float, float]) -> None:
    areals = anchored(shape, (-50, 0, 7))
    fixed = repair_anchors(areals)
    assert fixed.records["anchor"][0].tolist() == [*place, 7]
    assert brute_inside([(x, y) for x, y, _ in shape], *place)
    assert areals.records["anchor"][0].tolist() == [-50, 0, 7]
    assert repair_anchors(fixed, [0]).records.tobytes() == fixed.records.tobytes()
    assert repair_anchors(areals, []).records.tobytes() == areals.records.tobytes()


def test_anchor_on_another_line() -> None:
    """Half the height cuts only through a corner: the next line has a span."""
    bow = [(0, 0, 0), (8, 0, 0), (4, 4, 0), (8, 8, 0), (0, 8, 0), (4, 4, 0)]
    fixed = repair_anchors(anchored(bow, (-50, 0, 7)))
    assert fixed.records["anchor"][0].tolist() == [4, 2, 7]


def test_anchor_without_room() -> None:
    flat = [(0, 0, 0), (4, 0, 0), (8, 0, 0)]
    for shape in (flat, [(0, 0, 0), (np.nan, 0, 0), (1, 1, 0)], flat[:2]):
        with pytest.raises(ConversionError, match="no room for an anchor") as caught:
            repair_anchors(anchored(shape, (-50, 0, 7)), [0])
        assert (caught.value.table, caught.value.row) == (AREALS, 0)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=8))
def test_repair_finds_a_place(corners: list[tuple[int, int]]) -> None:
    """Any polygon at all, crossing itself or not: inside, or refused because nothing is."""
    areals = anchored([(x, y, 0) for x, y in corners], (-50, 0, 7))
    try:
        fixed = repair_anchors(areals)
    except ConversionError:
        grid = np.arange(0, 8, 0.25) + 0.03
        assert not any(brute_inside([*corners], x, 4.0) for x in grid.tolist())
        return
    assert brute_inside([*corners], *fixed.records["anchor"][0, :2].astype(float).tolist())


def test_anchors_of_a_level() -> None:
    areals = sample("mixed__tut_1")
    records = areals.records.copy()
    records["anchor"][:, :2] -= 9000
    fixed = repair_anchors(replace(areals, records=records))
    assert anchor_inside(fixed).all()
    np.testing.assert_array_equal(fixed.records["anchor"][:, 2], areals.records["anchor"][:, 2])
