"""Areals replaced, added and removed: area, normal, anchor, links and cells follow, and nothing else changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import ArrayLike

from msh_gltf.converter.checks.areal_map import check_areal_map
from msh_gltf.converter.edits.areal_changes import warn_of_lost_neighbours
from msh_gltf.converter.edits.areal_map import NewAreal, add_areal, remove_areals, repair_anchors, replace_polygons
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Report
from msh_gltf.converter.formats.areal_map import ArealMap, areal_payload, read_areal_map, write_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.numeric import surfaces
from msh_gltf.converter.queries.landscape import areal_at
from tests.support.areals import areal_at_brute, inner, linked, lists, own, probes, read, sample, square, tiny
from tests.support.maps import BUNDLED
from tests.support.recorded import digest

Edit = Callable[[ArealMap], ArealMap]
Shape = Sequence[tuple[float, float, float]]

U = [(0, 0, 0), (9, 0, 0), (9, 9, 0), (8, 9, 0), (8, 1, 0), (1, 1, 0), (1, 9, 0), (0, 9, 0)]
WIDE_U = [*U[:3], (7, 9, 0), (7, 1, 0), *U[5:]]
CROSSING = [(0, 0, 0), (9, 0, 0), (1, 4, 0), (8, 4, 0)]
PINCHED = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (2, 0, 0), (0, 4, 0)]
#: Two edges on one line.
SLIT = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (2, 4, 0), (2, 2, 0), (2, 4, 0), (0, 4, 0)]
#: Half the height cuts only through a corner.
BOW = [(0, 0, 0), (8, 0, 0), (4, 4, 0), (8, 8, 0), (0, 8, 0), (4, 4, 0)]
#: It runs from (1, 0) to (1, 1), as the square at the origin does; the other one runs there the other way.
SAME, OTHER = [(0, 0, 0), (1, 0, 0), (1, 1, 0)], [(1, 1, 0), (1, 0, 0), (2, 0, 0)]
AWAY = square(9, 9, 1)
#: What no areal can be.
WRONG: dict[str, ArrayLike] = {
    "clockwise": AWAY[::-1],
    "of two vertices": AWAY[:2],
    "of nothing": np.empty((0, 3)),
    "of a NaN": [(0, 0, 0), (1, 0, np.nan), (1, 1, 0)],
    "too large": [(0, 0, 0), (1e39, 0, 0), (1, 1, 0)],
    "on a line": [(0, 0, 0), (1, 1, 0), (3, 3, 7)],
    "at one place": [(7, 7, 0)] * 3,
    "very thin": [(0, 0, 0), (1e5, 1e-9, 0), (2e5, 3e-9, 0)],
    "of pairs": [(0, 0), (1, 0), (1, 1)],
    "of numbers": [1, 2, 3],
    "whose edges cross": CROSSING,
}


def row_of(count: int, cells: int = 3, more: Sequence[Shape] = ()) -> ArealMap:
    """Unit squares side by side, linked, and more shapes; every cell lists every areal, backwards."""
    areals = tiny(*(square(i, 0, 1) for i in range(count)), *more, cells=cells)
    pairs = {}
    for i in range(count - 1):
        pairs[4 * i + 1], pairs[4 * i + 7] = (i + 1, 3), (i, 1)
    return linked(areals, pairs)


def with_records(areals: ArealMap, row: int | list[int], **values: Any) -> ArealMap:
    records = areals.records.copy()
    for name, value in values.items():
        records[name][row] = value
    return replace(areals, records=records)


def with_vertex(areals: ArealMap, row: int, value: float) -> ArealMap:
    vertices = areals.vertices.copy()
    vertices[row] = value
    return replace(areals, vertices=vertices)


def with_ids(areals: ArealMap, ids: ArrayLike, start: ArrayLike | None = None) -> ArealMap:
    where = areals.cell_start if start is None else np.array(start, np.int64)
    return replace(areals, cell_ids=np.array(ids, np.uint16), cell_start=where)


def anchored(shape: Shape) -> ArealMap:
    """One areal whose anchor is outside."""
    return with_records(tiny(shape), 0, anchor=(-50, 0, 7))


def shaped(row: int, shape: ArrayLike) -> Edit:
    return lambda areals: replace_polygons(areals, {row: shape})


def new(shape: ArrayLike, class_id: int = 1, logic: int = 0, normal: ArrayLike = (0, 0, 1)) -> Edit:
    return lambda areals: add_areal(areals, NewAreal(shape, class_id, logic, normal))


def without(*rows: int) -> Edit:
    return lambda areals: remove_areals(areals, rows)


def in_pieces(areals: ArealMap, shape: Shape) -> ArealMap:
    """Five pairs of edges are compared at once."""
    with mock.patch.object(surfaces, "_AT_ONCE", 5):
        return replace_polygons(areals, {1: shape})


def in_turn(areals: ArealMap) -> ArealMap:
    """Edits of one map: lists that may stay keep their order."""
    areals = replace_polygons(areals, {2: [(2, 0, 0), (2.5, 0, 0), (3, 1, 0), (2, 1, 0)]})
    areals = replace_polygons(areals, {0: [(0, 0, 0), (1.5, 0, 0), (1.5, 1, 0), (0, 1, 0)]})
    return replace_polygons(areals, {2: [(1.5, 0, 0), (3, 0, 0), (3, 1, 0), (1.5, 1, 0)]})


def many() -> ArealMap:
    """As many areals as a cell can name."""
    one, count = row_of(1), 0x10000
    return replace(
        one,
        records=np.repeat(one.records, count),
        vertices=np.tile(one.vertices, (count, 1)),
        vertex_start=np.arange(count + 1) * 4,
        links=np.tile(one.links, count),
        extra_start=np.zeros(count + 1, np.int64),
        polys=[b""] * count,
    )


def crowded() -> ArealMap:
    """The last cell lists an areal 1,023 times."""
    return with_ids(tiny(square(0, 0, 4), square(0, 0, 1), cells=2), np.zeros(1026), [0, 1, 2, 3, 1026])


def areal_text(areals: ArealMap, row: int) -> str:
    """An areal's place and what its edges lead to."""
    record, mine = areals.records[row], areals.owner == row
    anchor, normal = (" ".join(f"{value:g}" for value in record[name]) for name in ("anchor", "normal"))
    links = " ".join(f"{areal}/{edge}" if areal >= 0 else "-" for areal, edge in areals.links[mine].tolist())
    return f"areal {row}: {record['area']:g} at {anchor}, up {normal}, {links}"


class Row(NamedTuple):
    """A map, and an edit of it; ``valid``: it must have no findings then, and every point its areal."""

    areals: ArealMap
    edit: Edit
    valid: bool = False

    def found(self, _: Path) -> str:
        """What comes of it, which leaves the map that it is of as it is."""
        areals, before = self.areals, b"" if len(self.areals.records) > 9999 else areal_payload(self.areals)
        try:
            made = self.edit(areals)
        except ConversionError as error:
            return f"refused: {error}".replace(areals.archive.label, "map").replace("\n", " ")
        assert not before or areal_payload(areals) == before
        again = read_areal_map(read_nres(write_areal_map(made), "again"))
        assert areal_payload(again) == areal_payload(made)
        report, findings = Report(), check_areal_map(made)
        if len(made.records) >= len(areals.records):
            warn_of_lost_neighbours(report, areals, made, [])
        if self.valid:
            assert [one for one in findings if one.severity != "note"] == []
            points = probes(made, 5, 40)
            assert areal_at(made, points).tolist() == areal_at_brute(made, points)
        text = "as it was" if areal_payload(made) == before else digest(areal_payload(made))
        lines = [text, *sorted({one.code for one in findings}), *report.warnings]
        if len(made.records) < 9:
            lines += [areal_text(made, row) for row in range(len(made.records))]
            cells = [(len([*some]), ids) for ids, some in groupby(lists(made))]
            lines.append("cells: " + ", ".join(f"{count} of {len(ids)} {ids[:5]}" for count, ids in cells))
        return "; ".join(lines)


NOT_FINITE = with_vertex(row_of(2), 5, np.nan)
MANY_POLYS = int(np.argmax(sample("mixed__MULTI02").records["poly_count"]))
POLYS = own(sample("mixed__MULTI02"), MANY_POLYS)
SMALL: dict[str, tuple[ArealMap, Edit]] = {
    **{
        f"an edge that is {shift} away": (
            tiny(square(0, 0, 1), square(5, 0, 1)),
            shaped(1, np.add(square(1, 0, 1), shift)),
        )
        for shift in ((0.0009, 0, 0), (0.0009, -0.0009, 0.0009), (0.0012, 0, 0), (0, 0.0012, 0), (0, 0, 0.0012))
    },
    "edges of either direction": (tiny(SAME, OTHER, OTHER, AWAY), shaped(3, square(0, 0, 1))),
    "an edge of the same direction": (tiny(SAME, AWAY), shaped(1, square(0, 0, 1))),
    "an edge that was linked is the first": (
        linked(tiny(SAME, OTHER, OTHER, square(0, 0, 1)), {10: (2, 0), 6: (3, 1)}),
        shaped(3, [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 5)]),
    ),
    "in the place of another": (row_of(3, more=[AWAY]), shaped(3, square(1, 0, 1))),
    **{f"areal {row} goes away": (row_of(3), shaped(row, AWAY)) for row in (0, 2)},
    "two edges of its own": (tiny(square(0, 0, 4), square(6, 6, 1)), shaped(0, SLIT)),
    "half an edge": (row_of(3), shaped(1, [(1, 0, 0), (2, 0, 0), (2, 1, 0), (1, 1, 0), (1, 0.5, 0)])),
    "a new one at half an edge": (row_of(3), new([(1.5, 1, 0), (2, 1, 0), (2, 2, 0), (1.5, 2, 0)], 0)),
    "cells that list everything": (row_of(3), in_turn),
    **{
        f"a corner of the extent to {x} {y}": (row_of(3, 4), shaped(2, [(2, 0, 0), (x, y, 0), (3, 1, 0), (2, 1, 0)]))
        for x, y in ((3.5, 0), (3, -0.5))
    },
    "another height": (row_of(3, 4), shaped(1, np.add(square(1, 0, 1), (0, 0, 9)))),
    "a full cell is not touched": (crowded(), shaped(1, square(0, 0, 1.5))),
    "a full cell": (crowded(), shaped(1, square(2.5, 2.5, 1))),
    "the last one goes, and the extent": (row_of(3), without(2)),
    "ids and links that name nothing, removed": (
        linked(with_ids(row_of(3), [999 if i == 1 else 2 - i % 3 for i in range(27)]), {0: (77, 5), 2: (-1, 3)}),
        without(1),
    ),
    "ids and links that name nothing": (linked(row_of(3), {0: (77, 5), 2: (-1, 3)}), shaped(1, square(1, 0, 0.5))),
    "an id that the new one gets": (with_ids(tiny(square(0, 0, 4), cells=2), [0, 1, 0, 0], range(5)), new(AWAY)),
    "a tilted new one": (row_of(2), new([(2, 0, 1), (3, 0, 2), (3, 1, 3), (2, 1, 4)], 240, 1, (0, 3, 4))),
    "the first one": (replace(tiny(), cell_start=np.zeros(2, np.int64)), new(square(0, 0, 1))),
    "no cells": (replace(with_ids(row_of(2), [], [0]), cells_x=0, cells_y=0), new(square(0, 3, 1))),
    **{
        f"a stored normal of {normal}": (
            with_records(row_of(2), slice(None), normal=normal),
            shaped(1, square(1, 0, 0.5)),
        )
        for normal in ((0, 0, 1), (0, 3, 4), (0, 0, 0), (np.nan, 0, 1), (0, 0, 1.00000012))
    },
    **{f"one {what}": (row_of(2), shaped(1, shape)) for what, shape in WRONG.items()},
    **{f"a new one {what}": (row_of(2), new(shape)) for what, shape in WRONG.items()},
    "tall": (row_of(2), shaped(1, [(1, 0, 0), (2, 0, 1e5), (2, 1, 1e5), (1, 1, 0)])),
    "edges that touch": (row_of(2), shaped(1, PINCHED)),
    "edges that cross, in pieces": (row_of(2), lambda m: in_pieces(m, CROSSING)),
    "edges that do not cross, in pieces": (row_of(2), lambda m: in_pieces(m, U)),
    "no such areal": (row_of(2), shaped(2, AWAY)),
    "no such areal, negative": (row_of(2), shaped(-1, AWAY)),
    "no such areal, removed": (row_of(2), without(0, 2)),
    "no such areal, its anchor": (row_of(2), lambda m: repair_anchors(m, [5])),
    "all removed": (row_of(2), without(0, 1)),
    "a class that does not fit": (row_of(2), new(U, -1)),
    "logic that does not fit": (row_of(2), new(U, 0, 1 << 32)),
    "a normal that does not fit": (row_of(2), new(U, 0, 0, (0, np.inf, 1))),
    "a vertex of another is not finite": (NOT_FINITE, shaped(0, square(0, 0, 0.5))),
    "a vertex of another is not finite, removed": (NOT_FINITE, without(0)),
    "what is not finite, removed": (NOT_FINITE, without(1)),
    "more areals than ids": (many(), new(AWAY)),
    "one with polys": (sample("mixed__MULTI02"), shaped(MANY_POLYS, POLYS + np.float32(0.001))),
    "one with polys, a vertex less": (sample("mixed__MULTI02"), shaped(MANY_POLYS, POLYS[:-1])),
    # at the centroid; of two spans as long in the first one; in the wider arm; on the next line
    **{
        f"an anchor for {name}": (anchored(shape), repair_anchors)
        for name, shape in {"a square": square(2, 4, 2), "a U": U, "a wide U": WIDE_U, "a bow": BOW}.items()
    },
    "an anchor, not asked for": (anchored(U), lambda m: repair_anchors(m, [])),
    "an anchor that is inside": (tiny(square(2, 4, 2)), lambda m: repair_anchors(m, [0])),
    **{
        f"no room for an anchor, {len(shape)} vertices, {number}": (anchored(shape), lambda m: repair_anchors(m, [0]))
        for number, shape in enumerate(
            ([(0, 0, 0), (4, 0, 0), (8, 0, 0)], [(0, 0, 0), (np.nan, 0, 0), (1, 1, 0)], [(0, 0, 0), (4, 0, 0)])
        )
    },
}


def drawn(number: int) -> tuple[ArealMap, Edit]:
    """Squares in few places, many on top of each other: which edges are a pair."""
    chance = np.random.default_rng(number)
    places = chance.integers(0, 4, 6).tolist()
    away = tiny(*(square(20 + 3 * i, 20, 1) for i in range(6)))
    return away, lambda areals: replace_polygons(areals, {i: square(place, 0, 1) for i, place in enumerate(places)})


def anchor_drawn(number: int) -> tuple[ArealMap, Edit]:
    """Any polygon at all, crossing itself or not."""
    corners = np.random.default_rng(number).integers(0, 9, (3 + number % 6, 2)).tolist()
    return anchored([(x, y, 0) for x, y in corners]), repair_anchors


SMALL |= {f"squares drawn {number}": drawn(number) for number in range(8)}
SMALL |= {f"an anchor drawn {number}": anchor_drawn(number) for number in range(12)}


def outwards(areals: ArealMap) -> ArealMap:
    """A corner leaves the extent: every cell is another."""
    index = int(areals.owner[np.argmax(areals.vertices[:, 0])])
    polygon = own(areals, index).copy()
    polygon[np.argmax(polygon[:, 0]), 0] += 37
    return replace_polygons(areals, {index: polygon})


def at_random(areals: ArealMap) -> ArealMap:
    """Corners added and moved, several areals at once, in turn."""
    chance = np.random.default_rng(8)
    for turn in range(4):
        polygons = {}
        for index in inner(areals, 5, turn):
            polygon = own(areals, index)
            k, centre = int(chance.integers(len(polygon))), polygon.mean(0)
            if areals.records["poly_count"][index]:
                continue
            split = np.insert(polygon, k + 1, (polygon[k] + np.roll(polygon, -1, 0)[k]) / 2, 0)
            polygons[index] = split if chance.random() < 0.5 else centre + (polygon - centre) * np.float32(0.9)
        areals = replace_polygons(areals, polygons)
    return areals


def removed_and_added(areals: ArealMap) -> ArealMap:
    for index in inner(areals, 2, 4):
        record, polygon = areals.records[index], own(areals, index)
        again = NewAreal(polygon, int(record["class_id"]), int(record["logic"]), record["normal"])
        areals = add_areal(remove_areals(areals, [index]), again)
    return areals


def away_and_back(areals: ArealMap) -> ArealMap:
    """Nothing links to what is away; all does again to what is back."""
    low, high = areals.extent
    for index in inner(areals, 3, 2):
        polygon = own(areals, index)
        side = np.where(polygon[0, :2] < (low + high) / 2, 1, -1) * 0.3 * (high - low)
        away = replace_polygons(areals, {index: polygon + np.append(side, 0).astype(np.float32)})
        gone = (areals.owner == index) | (areals.links["areal"] == index)
        assert (away.links["areal"][gone] == -1).all()
        assert away.links[~gone].tobytes() == areals.links[~gone].tobytes()
        back = replace_polygons(away, {index: polygon})
        for name in ("links", "cell_ids", "cell_start", "vertices"):
            assert getattr(back, name).tobytes() == getattr(areals, name).tobytes()
    return back


def same(areals: ArealMap) -> ArealMap:
    areals = remove_areals(replace_polygons(areals, {}), [])
    return replace_polygons(areals, {i: own(areals, i) for i in range(len(areals.records))})


def anchors(areals: ArealMap) -> ArealMap:
    records = areals.records.copy()
    records["anchor"][:, :2] -= 9000
    return repair_anchors(replace(areals, records=records))


CASES = {name: Row(*case) for name, case in SMALL.items()} | {
    f"{level.id}, {name}": Row(read(level.folder / "Land.map"), edit, valid=True)
    for level in BUNDLED
    for name, edit in {
        "outwards": outwards,
        "at random": at_random,
        "some removed": lambda areals: remove_areals(areals, [*inner(areals, 12, 6), inner(areals, 1, 6)[0]]),
        "removed and added": removed_and_added,
        "all anchors": anchors,
        "moved away and back": away_and_back,
        "same vertices": same,
    }.items()
}
