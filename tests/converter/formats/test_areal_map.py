"""Areal maps: what one asks them, and what is found in them."""

from __future__ import annotations

import heapq
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.checks.areal_map import check_areal_map
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.archive import Archive
from msh_gltf.converter.formats.areal_map import (
    AREALS,
    CELLS,
    LINKS,
    ArealMap,
    anchor_inside,
    cell_words,
    link_targets,
    pack_cells,
    points_inside,
    signed_areas,
    unpack_cells,
)
from msh_gltf.converter.queries.areal_map import areal_at, link_graph, shortest_path
from msh_gltf.exporters.areal_map import areal_payload
from msh_gltf.importers.areal_map import read_areal_map
from msh_gltf.importers.nres import read_file, read_nres
from tests.support.maps import every_level, level_called

ROOT = Path(__file__).parents[3]
LEVEL = "spec__AutoMAP_00"


@cache
def read(path: Path) -> ArealMap:
    return read_areal_map(read_nres(read_file(path), str(path)))


def sample(name: str = LEVEL) -> ArealMap:
    return read(level_called(name).folder / "Land.map")


def polygons(areals: ArealMap) -> list[list[tuple[float, float]]]:
    corners, start = areals.vertices[:, :2].tolist(), areals.vertex_start.tolist()
    return [[(x, y) for x, y in corners[a:b]] for a, b in pairwise(start)]


def brute_inside(polygon: list[tuple[float, float]], x: float, y: float) -> bool:
    """Even-odd in exact fractions: edges that pass strictly left of, or through, the point."""
    inside = False
    for (ax, ay), (bx, by) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if (ay <= y) != (by <= y):
            t = (Fraction(y) - Fraction(ay)) / (Fraction(by) - Fraction(ay))
            if Fraction(ax) + t * (Fraction(bx) - Fraction(ax)) <= Fraction(x):
                inside = not inside
    return inside


def areal_at_brute(areals: ArealMap, points: np.ndarray) -> list[int]:
    """Every polygon is asked about every point."""
    boxed = [(p, *np.ptp(p, 0).tolist(), *np.min(p, 0).tolist()) for p in polygons(areals)]
    out = []
    for x, y in points.tolist():
        hit = (
            i
            for i, (polygon, width, height, left, bottom) in enumerate(boxed)
            if left <= x <= left + width and bottom <= y <= bottom + height
            if brute_inside(polygon, x, y)
        )
        out.append(next(hit, -1))
    return out


def probes(areals: ArealMap, seed: int, count: int = 150) -> np.ndarray:
    """Anywhere and outside; vertices; middles of edges; borders and corners of cells."""
    rng = np.random.default_rng(seed)
    low, high = areals.vertices[:, :2].min(0), areals.vertices[:, :2].max(0)
    size = (high.astype(float) - low) / (areals.cells_x, areals.cells_y)
    anywhere = rng.uniform(low - size, high + size, (count, 2))
    corner = rng.integers(0, len(areals.vertices), count)
    inner = corner[~np.isin(corner + 1, areals.vertex_start)]
    a, b = areals.vertices[inner, :2].astype(float), areals.vertices[inner + 1, :2].astype(float)
    crossing = low + size * rng.integers(0, 129, (count, 2))
    border = anywhere.copy()
    border[::2, 0], border[1::2, 1] = crossing[::2, 0], crossing[1::2, 1]
    ends = np.array([low, high, (low[0], high[1]), (high[0], low[1])])
    return np.concatenate([anywhere, a, (a + b) / 2, crossing, border, ends])


# ------------------------------------------------------------------ queries


@every_level
def test_areal_at_equals_brute_force(level) -> None:
    areals = read(level.folder / "Land.map")
    points = probes(areals, 3)
    got = areal_at(areals, points)
    assert got.dtype == np.int64
    assert got.tolist() == areal_at_brute(areals, points)
    inside = (points > areals.extent[0]).all(1) & (points < areals.extent[1]).all(1)
    assert (got[inside] >= 0).all()  # a tiling has no gaps, not even on its edges


def test_areal_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    points = probes(sample(), 4)
    whole = areal_at(sample(), points)
    monkeypatch.setattr("msh_gltf.converter.queries.areal_map._POINTS_AT_ONCE", 7)
    np.testing.assert_array_equal(areal_at(sample(), points), whole)


def square(x: float, y: float, side: float) -> list[tuple[float, float, float]]:
    return [(x, y, 0), (x + side, y, 0), (x + side, y + side, 0), (x, y + side, 0)]


def tiny(*shapes: list[tuple[float, float, float]], cells: int = 1) -> ArealMap:
    """A map of polygons; every cell lists every areal, the last one first."""
    base = sample()
    lengths = [len(shape) for shape in shapes]
    records = np.zeros(len(shapes), base.records.dtype)
    records["vertex_count"], records["normal"] = lengths, (0, 0, 1)
    areals = replace(
        base,
        records=records,
        vertices=np.array([v for shape in shapes for v in shape], np.float32).reshape(-1, 3),
        vertex_start=np.cumsum([0, *lengths]),
        links=np.full(sum(lengths), -1, base.links.dtype),
        extra_start=np.zeros(len(shapes) + 1, np.int64),
        polys=[b""] * len(shapes),
        cells_x=cells,
        cells_y=cells,
        cell_start=np.arange(cells * cells + 1) * len(shapes),
        cell_ids=np.tile(np.arange(len(shapes))[::-1], cells * cells).astype(np.uint16),
    )
    records["area"] = signed_areas(areals)
    for row, shape in enumerate(shapes):
        records["anchor"][row] = np.mean(shape, 0) if shape else 0
    return areals


def test_areal_at_by_hand() -> None:
    areals = tiny(square(0, 0, 2), square(1, 1, 2), cells=3)
    points = [(0, 0), (1.5, 1.5), (2.5, 2.5), (2, 2), (3, 3), (0.5, 2.5), (-1, 0), (math.nan, 1)]
    assert areal_at(areals, points).tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    hidden = replace(areals, cell_ids=areals.cell_ids[:0], cell_start=areals.cell_start * 0)
    assert areal_at(hidden, points).tolist() == [-1] * 8  # found through the cells, or not
    unknown = replace(areals, cell_ids=areals.cell_ids + np.uint16(1))
    assert areal_at(unknown, [(0, 0), (2.5, 2.5)]).tolist() == [-1, 1]
    none = replace(areals, cells_x=0, cells_y=0, cell_start=np.zeros(1, np.int64))
    assert areal_at(none, points).tolist() == [-1] * 8
    assert areal_at(tiny([(0, 0, 0), (1, 0, 0), (2, 0, 0)]), [(1, 0)]).tolist() == [-1]
    assert areal_at(tiny(), [(1, 0)]).tolist() == [-1]
    assert areal_at(areals, np.empty((0, 2))).tolist() == []
    with pytest.raises(ValueError, match=r"\(3,\)"):
        areal_at(areals, [1, 2, 3])


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), max_size=9), st.integers(-9, 9))
def test_points_inside_equals_fractions(shape: list[tuple[int, int]], y: int) -> None:
    """Any polygon, crossing itself or degenerate; also with its vertices the other way."""
    points = np.array([(x / 2, y / 2) for x in range(-9, 10)])
    start = np.array([0, len(shape)])
    zero = np.zeros(len(points), np.int64)
    expected = [brute_inside([*shape], *point) for point in points.tolist()]
    for way in (shape, shape[::-1]):
        xy = np.array(way, np.float64).reshape(-1, 2)
        assert points_inside(xy, start, points, zero).tolist() == expected


@every_level
def test_anchors_and_areas(level) -> None:
    areals = read(level.folder / "Land.map")
    anchors = areals.records["anchor"].astype(float).tolist()
    inside = [brute_inside(p, x, y) for p, (x, y, _) in zip(polygons(areals), anchors, strict=True)]
    assert anchor_inside(areals).tolist() == inside == [True] * len(inside)
    area = [
        sum(
            Fraction(a[0]) * Fraction(b[1]) - Fraction(b[0]) * Fraction(a[1])
            for a, b in zip(p, p[1:] + p[:1], strict=True)
        )
        / 2
        for p in polygons(areals)
    ]
    np.testing.assert_allclose(signed_areas(areals), [float(a) for a in area], rtol=1e-12)
    assert sum(area) == pytest.approx(level.facts("areal")["total_area"])


def test_areals_without_vertices() -> None:
    areals = tiny([], square(0, 0, 2), [])
    assert signed_areas(areals).tolist() == [0, 4, 0]
    assert anchor_inside(replace(areals)).tolist() == [False, True, False]
    assert areals.owner.tolist() == [1, 1, 1, 1]
    assert areals.following.tolist() == [1, 2, 3, 0]


def test_small_areals_far_away() -> None:
    far = tiny(square(1 << 20, 1 << 20, 0.125), square(-(1 << 20), 1 << 20, 0.125))
    assert signed_areas(far).tolist() == [0.125**2] * 2


def test_record_offsets() -> None:
    areals = sample("mixed__MULTI02")
    payload = areal_payload(areals)
    for row in (0, 1, 2, 300, 586):
        at = int(areals.record_offsets[row])
        assert payload[at : at + 56] == areals.records[row].tobytes()
    grid = int(areals.record_offsets[-1])
    assert np.frombuffer(payload[grid : grid + 8], "<u4").tolist() == [128, 128]


@every_level
def test_links(level) -> None:
    areals = read(level.folder / "Land.map")
    start = areals.vertex_start.tolist()
    expected = [-1 if a < 0 else start[a] + e for a, e in level.areal["link"].tolist()]
    assert link_targets(areals).tolist() == expected
    ways = {}
    for edge, target in enumerate(expected):
        if target >= 0:
            i = int(np.searchsorted(start, edge, "right")) - 1
            j = int(np.searchsorted(start, target, "right")) - 1
            ways[i, j] = math.dist(*areals.records["anchor"][[i, j], :2].astype(float).tolist())
    graph = link_graph(areals).tocoo()
    assert graph.shape == (len(areals.records),) * 2
    got = dict(zip(zip(*map(list, graph.coords), strict=True), graph.data, strict=True))
    assert got == pytest.approx(ways)
    assert len(graph.data) == len(ways)
    for goal in (len(areals.records) - 1, 5):
        path = shortest_path(areals, 2, goal)
        assert (path[0], path[-1]) == (2, goal)
        length = sum(ways[step] for step in pairwise(path))
        assert length == pytest.approx(brute_distance(ways, 2, goal))


def brute_distance(ways: dict[tuple[int, int], float], start: int, goal: int) -> float:
    out: dict[int, list[tuple[int, float]]] = {}
    for (i, j), length in ways.items():
        out.setdefault(i, []).append((j, length))
    heap, seen = [(0.0, start)], set()
    while heap:
        so_far, at = heapq.heappop(heap)
        if at == goal:
            return so_far
        if at not in seen:
            seen.add(at)
            for other, length in out.get(at, []):
                heapq.heappush(heap, (so_far + length, other))
    return math.inf


def linked(areals: ArealMap, pairs: dict[int, tuple[int, int]]) -> ArealMap:
    links = areals.links.copy()
    for edge, link in pairs.items():
        links[edge] = link
    return replace(areals, links=links)


def test_paths_by_hand() -> None:
    areals = tiny(*(square(i, 0, 1) for i in range(4)))
    areals = linked(areals, {0: (1, 0), 1: (1, 1), 4: (0, 0), 5: (2, 9), 6: (-1, 0), 12: (9, 0)})
    assert shortest_path(areals, 0, 1) == [0, 1]
    assert shortest_path(areals, 0, 0) == [0]
    assert shortest_path(areals, 0, 2) == []  # edge 9 does not exist
    assert link_targets(areals).tolist()[4:7] == [0, -1, -1]
    assert link_graph(areals).toarray()[0].tolist() == [0, 1, 0, 0]  # two edges, one neighbour
    records = areals.records.copy()
    records["anchor"][1] = records["anchor"][0]
    assert shortest_path(replace(areals, records=records), 1, 0) == [1, 0]  # length 0 is a way
    records["anchor"][1] = np.nan
    assert shortest_path(replace(areals, records=records), 1, 0) == []
    assert link_graph(tiny()).shape == (0, 0)
    for start, goal in ((0, 4), (-1, 0)):
        with pytest.raises(ConversionError, match=r"no such areal: (4|-1) \(expected 0\.\.3\)"):
            shortest_path(areals, start, goal)


# ------------------------------------------------------------------ cell words


def test_cell_words_by_hand() -> None:
    words = pack_cells([0, 1, 1023, 5], [0, 1, 4194303, 7])
    assert words.tolist() == [0, 1 << 22 | 1, 0xFFFFFFFF, 5 << 22 | 7]
    assert words.dtype == np.uint32
    counts, starts = unpack_cells(words)
    assert counts.tolist() == [0, 1, 1023, 5]
    assert starts.tolist() == [0, 1, 4194303, 7]


@pytest.mark.parametrize(
    ("counts", "starts", "row", "value"),
    [
        ([1, 1024], [1, 2], 1, 1024),
        ([1, 2, -1], [1, 2, 4], 2, -1),
        ([1, 0, 3], [1, 2, 1 << 22], 2, 1 << 22),
        ([1, 2], [0, 1], 0, 0),
        ([0], [-1], 0, -1),
    ],
)
def test_cell_words_that_do_not_fit(counts: list, starts: list, row: int, value: int) -> None:
    with pytest.raises(ConversionError) as caught:
        pack_cells(counts, starts)
    assert (caught.value.table, caught.value.row, caught.value.value) == (CELLS, row, value)


@every_level
def test_cell_words_of_a_map(level) -> None:
    areals = read(level.folder / "Land.map")
    pool = areals.cell_ids.tolist()
    start = level.areal["cell_start"].tolist()
    for row, word in enumerate(cell_words(areals).tolist()):
        count, first = word >> 22, word & 0x3FFFFF  # the source's formula
        assert pool[first - 1 : first - 1 + count] == pool[start[row] : start[row + 1]]


def test_cell_words_name_the_file() -> None:
    areals = tiny(square(0, 0, 1))
    full = replace(areals, cell_start=np.array([0, 1024]), cell_ids=np.zeros(1024, np.uint16))
    with pytest.raises(ConversionError, match=r"Land\.map, Type 12 \(cells\), row 0"):
        cell_words(full)


# ------------------------------------------------------------------ findings


@every_level
def test_the_corpus_is_sound(level) -> None:
    found = {(f.severity, f.code) for f in check_areal_map(read(level.folder / "Land.map"))}
    poly = level.facts("areal")["poly_records"]
    assert found == ({("note", "areal-polys")} if poly else set())


def edited(areals: ArealMap, field: str, row: int, value: object) -> ArealMap:
    """A map with one value of a record, or of an array, replaced."""
    if field in areals.records.dtype.names:
        records = areals.records.copy()
        records[field][row] = value
        return replace(areals, records=records)
    array = getattr(areals, field).copy()
    array[row] = value
    return replace(areals, **{field: array})


def reversed_polygon(areals: ArealMap, row: int) -> ArealMap:
    own = slice(*areals.vertex_start[row : row + 2])
    return edited(areals, "vertices", own, areals.vertices[own][::-1])


S = sample()
FAR = S.vertices[int(S.vertex_start[9])] + np.float32(5000)


@pytest.mark.parametrize(
    ("code", "severity", "change", "table", "row", "within"),
    [
        ("areal-anchor-finite", "error", ("anchor", 7, (0, np.nan, 0)), AREALS, 7, 0),
        ("areal-normal", "error", ("normal", 7, (0, 0, 1.002)), AREALS, 7, 20),
        ("areal-normal", "error", ("normal", 7, (0, 0, 0)), AREALS, 7, 20),
        ("areal-normal", "error", ("normal", 7, (np.nan, 0, 1)), AREALS, 7, 20),
        ("areal-area", "warning", ("area", 7, S.records["area"][7] * 1.2 + 60), AREALS, 7, 16),
        ("areal-area", "warning", ("area", 7, S.records["area"][7] * 0.8 - 60), AREALS, 7, 16),
        ("areal-area", "warning", ("area", 7, np.nan), AREALS, 7, 16),
        ("areal-anchor", "warning", ("anchor", 9, FAR), AREALS, 9, 0),
        ("areal-polys", "note", ("poly_count", 7, 1), AREALS, 7, 52),
        ("areal-logic", "note", ("logic", 7, 2), AREALS, 7, 32),
        ("areal-opaque", "note", ("opaque12", 7, 1), AREALS, 7, 12),
        ("areal-opaque", "note", ("opaque36", 7, 1), AREALS, 7, 36),
        ("areal-opaque", "note", ("opaque44", 7, 1), AREALS, 7, 44),
    ],
)
def test_records_that_break_a_rule(
    code: str, severity: str, change: tuple, table: str, row: int, within: int
) -> None:
    found = check_areal_map(edited(S, *change))
    assert [(f.code, f.severity, f.table, f.row) for f in found] == [(code, severity, table, row)]
    assert found[0].offset == S.entry.data_offset + int(S.record_offsets[row]) + within
    assert found[0].value is not None
    assert found[0].expected is not None
    assert found[0].to_error().row == row


def test_what_is_still_sound() -> None:
    for change in (
        ("normal", 7, (0, 0, 1.0009)),
        ("area", 7, S.records["area"][7] + 51),
        ("area", 7, S.records["area"][7] * 1.14),
        ("logic", 7, 1),
    ):
        assert check_areal_map(edited(S, *change)) == []
    small = tiny(square(0, 0, 9))
    assert check_areal_map(edited(small, "area", 0, 81 + 51)) == []
    assert len(check_areal_map(edited(small, "area", 0, 81 + 53))) == 1


def test_polygons_that_break_a_rule() -> None:
    vertex = int(S.vertex_start[9]) + 2
    found = check_areal_map(edited(S, "vertices", vertex, (0, np.inf, 0)))
    assert [(f.code, f.severity, f.row) for f in found] == [("areal-vertex-finite", "error", 9)]
    assert "vertex 2" in found[0].problem
    payload = bytes(S.entry.payload)
    at = found[0].offset - S.entry.data_offset
    assert payload[at : at + 12] == S.vertices[vertex].tobytes()
    found = check_areal_map(reversed_polygon(S, 9))
    assert ("areal-winding", "warning", 9) in {(f.code, f.severity, f.row) for f in found}
    few = tiny(square(0, 0, 9), [(0, 0, 0), (1, 1, 0)], [])
    found = check_areal_map(few)
    assert [(f.code, f.severity, f.row, f.value) for f in found] == [
        ("areal-vertices", "error", 1, 2)
    ]
    assert "and in 1 more rows" in found[0].problem
    two = edited(S, "vertices", slice(vertex, vertex + 2), np.nan)
    assert "and in 1 more vertices" in check_areal_map(two)[0].problem


@pytest.mark.parametrize(
    ("link", "code", "severity"),
    [
        ((160, 0), "areal-link", "error"),
        ((0, 99), "areal-link", "error"),
        ((-1, 0), "areal-link", "error"),
        ((0, -1), "areal-link", "error"),
        ((5, -1), "areal-link", "error"),
        ((-2, -2), "areal-link", "error"),
        ((4, 0), "areal-link-mutual", "warning"),
    ],
)
def test_links_that_break_a_rule(link: tuple, code: str, severity: str) -> None:
    edge = int(np.flatnonzero(S.links["areal"] < 0)[3])  # a border edge: nobody links to it
    found = check_areal_map(edited(S, "links", edge, link))
    assert [(f.code, f.severity, f.table, f.row) for f in found] == [(code, severity, LINKS, edge)]
    areal = int(np.searchsorted(S.vertex_start, edge, "right")) - 1
    assert f"edge {edge - S.vertex_start[areal]} of areal {areal} " in found[0].problem
    payload = bytearray(S.entry.payload)
    at = found[0].offset - S.entry.data_offset
    payload[at : at + 8] = np.array(link, "<i4").tobytes()
    assert payload == areal_payload(edited(S, "links", edge, link))


def test_one_end_of_a_link_cut() -> None:
    edge = int(np.flatnonzero(S.links["areal"] >= 0)[3])
    found = check_areal_map(edited(S, "links", edge, (-1, -1)))
    other = S.vertex_start[S.links["areal"][edge]] + S.links["edge"][edge]
    assert [(f.code, f.row) for f in found] == [("areal-link-mutual", other)]


def test_cells_that_break_a_rule() -> None:
    where = int(S.cell_start[301]) - 1
    bad = edited(S, "cell_ids", where, 160)
    found = check_areal_map(bad)
    assert [(f.code, f.severity, f.table, f.row, f.value) for f in found] == [
        ("areal-cell-id", "error", CELLS, 300, 160)
    ]
    at = found[0].offset - S.entry.data_offset
    assert areal_payload(bad)[at : at + 2] == b"\xa0\0"
    areals = tiny(square(0, 0, 9), cells=2)
    full = replace(
        areals, cell_start=np.array([0, 1, 1, 1025, 1026]), cell_ids=np.zeros(1026, np.uint16)
    )
    found = check_areal_map(full)
    assert [(f.code, f.severity, f.table, f.row, f.value) for f in found] == [
        ("areal-cell-full", "error", CELLS, 2, 1024)
    ]
    at = found[0].offset - S.entry.data_offset
    assert areal_payload(full)[at : at + 2] == (1024).to_bytes(2, "little")
    most = replace(full, cell_start=np.array([0, 2, 2, 1025, 1026]))
    assert check_areal_map(most) == []


def test_empty_maps() -> None:
    found = check_areal_map(tiny())
    assert [(f.code, f.severity) for f in found] == [("areal-none", "error")]
    for x, y in ((0, 1), (1, 0)):
        bare = replace(tiny(square(0, 0, 9)), cells_x=x, cells_y=y, cell_start=np.zeros(1, int))
        bare = replace(bare, cell_ids=bare.cell_ids[:0])
        found = check_areal_map(bare)
        assert [(f.code, f.severity) for f in found] == [("areal-grid", "error")]
        at = found[0].offset - S.entry.data_offset
        assert np.frombuffer(areal_payload(bare)[at : at + 8], "<u4").tolist() == [x, y]


def test_an_archive_without_a_map() -> None:
    with pytest.raises(ConversionError, match="no areal map"):
        _ = replace(S, archive=Archive("x")).entry


# ------------------------------------------------------------------ the example


def run_example(*arguments: object) -> subprocess.CompletedProcess[str]:
    script = ROOT / "examples/areal_path.py"
    return subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_example() -> None:
    path = level_called(LEVEL).folder / "Land.map"
    done = run_example(path, 10, 10, 1100, 1000)
    assert done.returncode == 0, done.stderr
    ends = areal_at(S, [(10, 10), (1100, 1000)]).tolist()
    way = shortest_path(S, *ends)
    *lines, last = done.stdout.splitlines()
    assert [int(line.split()[1]) for line in lines] == way
    anchors = S.records["anchor"][way, :2].astype(float).tolist()
    length = sum(math.dist(a, b) for a, b in pairwise(anchors))
    assert last == f"length {length:.2f}"
    for arguments, problem in (
        ((path, -1, 0, 5, 5), "no areal at -1, 0"),
        ((ROOT / "README.md", 0, 0, 5, 5), "not an NRes file"),
        ((path, 0, 0, 5, "x"), "not four numbers"),
        ((path,), "usage"),
    ):
        done = run_example(*arguments)
        assert done.returncode
        assert problem in done.stderr
        assert len(done.stderr.splitlines()) == 1
