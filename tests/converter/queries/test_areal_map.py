"""What one asks areal maps: areals at points, links, paths; and the example that asks it."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import anchor_inside, link_targets, points_inside, signed_areas
from msh_gltf.converter.queries.landscape import areal_at, link_graph, shortest_path
from tests.docs.materials import call_example
from tests.support.areals import LEVEL, S, areal_at_brute, brute_inside, linked, polygons, probes, read, square, tiny
from tests.support.maps import every_level, level_called


@every_level
def test_areal_at_equals_brute_force(level) -> None:
    areals = read(level.folder / "Land.map")
    points = probes(areals, 3)
    got = areal_at(areals, points)
    with mock.patch("msh_gltf.converter.queries.landscape._POINTS_AT_ONCE", 7):
        np.testing.assert_array_equal(areal_at(areals, points), got)
    assert got.dtype == np.int64
    assert got.tolist() == areal_at_brute(areals, points)
    inside = (points > areals.extent[0]).all(1) & (points < areals.extent[1]).all(1)
    assert (got[inside] >= 0).all()  # a tiling has no gaps, not even on its edges


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
    far = tiny(square(1 << 20, 1 << 20, 0.125), square(-(1 << 20), 1 << 20, 0.125))
    assert signed_areas(far).tolist() == [0.125**2] * 2
    assert areals.owner.tolist() == [1, 1, 1, 1]
    assert areals.following.tolist() == [1, 2, 3, 0]


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
    got = dict(zip(zip(*map(list, (graph.row, graph.col)), strict=True), graph.data, strict=True))
    assert got == pytest.approx(ways)
    assert len(graph.data) == len(ways)
    away = np.where(np.arange(len(areals.records)) == 2, 0, np.inf)
    (one, other), lengths = np.transpose([*ways]), np.array([*ways.values()])
    for _ in range(len(away)):
        np.minimum.at(away, other, away[one] + lengths)
    for goal in (len(areals.records) - 1, 5):
        path = shortest_path(areals, 2, goal)
        assert (path[0], path[-1]) == (2, goal)
        assert sum(ways[step] for step in pairwise(path)) == pytest.approx(away[goal])


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


def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(level_called(LEVEL).folder / "Land.map")
    assert call_example("areal_path.py", "main", [path, "10", "10", "1100", "1000"]) == 0
    way = shortest_path(S, *areal_at(S, [(10, 10), (1100, 1000)]).tolist())
    *lines, last = capsys.readouterr().out.splitlines()
    assert [int(line.split()[1]) for line in lines] == way
    assert last == f"length {sum(math.dist(a, b) for a, b in pairwise(S.records['anchor'][way, :2].tolist())):.2f}"
    for arguments, problem in (
        ([path, "-1", "0", "5", "5"], "no areal at -1, 0"),
        (["README.md", "0", "0", "5", "5"], "README.md"),
        ([path, "0", "0", "5", "x"], "not four numbers"),
        ([path], "usage"),
    ):
        assert call_example("areal_path.py", "main", arguments)
        assert problem in capsys.readouterr().err
