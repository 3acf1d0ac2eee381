"""The links between areals, and the cells that list them.

Whether a cell lists every areal that overlaps it is not checked: which areals the game's own tools
list is not established. That an areal is listed where it is not, or a cell over areals lists none,
is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad, more
from ..formats.areal_map import (
    AREAL_DTYPE,
    AREAL_LINK_DTYPE,
    AREAL_VERTEX_DTYPE,
    CELL_LIMIT,
    CELLS,
    LINKS,
    ArealMap,
    game_xy,
)
from ..formats.areal_polygons import link_targets, points_inside
from ..numeric.arrays import Bools, Floats, Ints
from .places import at_offsets, record_offsets

#: How far linked edges and listed areals may be apart, relative to their coordinates (measured: 0).
_MEETING = 1e-5
#: Empty cells times areals that are compared.
_TESTS = 1 << 24

_rule = partial(Rule, "areal map", source="docs/reference/areal_map.md#one-areal")

AREAL_LINK = _rule(
    "areal-link",
    "error",
    "A link is -1/-1, or an edge of an areal.",
    why="Ways would be searched past the areals.",
    fix="Set it to -1/-1.",
    drops="the link: the edge has no neighbour",
)
AREAL_LINK_MUTUAL = _rule(
    "areal-link-mutual",
    "warning",
    "A link leads to an edge that links back.",
    why="One can go there and not come back.",
    fix="Link both edges to one another.",
)


AREAL_LINK_ENDS = _rule(
    "areal-link-ends",
    "warning",
    "Two edges that are linked have the same end points.",
    why="Ways cross a gap, or ground that belongs to neither areal.",
    fix="Move the vertices together, or set the links to -1/-1.",
)


def check_links(areals: ArealMap) -> Iterator[Finding]:
    """Yield links to edges that do not exist, do not link back or lie elsewhere."""
    links, target = areals.links, link_targets(areals)
    none = (links["areal"] == -1) & (links["edge"] == -1)
    yield from _about_links(
        areals, AREAL_LINK, (target < 0) & ~none, "links to an edge that does not exist", "(-1, -1) or an areal's edge"
    )
    one_way = (target >= 0) & (target[target] != np.arange(len(links)))
    problem = "links to an edge that does not link back"
    yield from _about_links(areals, AREAL_LINK_MUTUAL, one_way, problem, "both")
    yield from _ends(areals, np.where(one_way, -1, target))


def _ends(areals: ArealMap, target: Ints) -> Iterator[Finding]:
    """The other edge runs the other way: it starts where this one ends."""
    linked = np.flatnonzero(target >= 0)
    if not linked.size:
        return
    to, following = target[linked], areals.following
    points = areals.vertices.T.astype(np.float64, order="C")
    start, end, other_end, other_start = (
        points.take(rows, axis=1) for rows in (linked, following[linked], following[to], to)
    )
    gaps = np.concatenate([np.abs(start - other_end), np.abs(end - other_start)])
    apart = np.zeros(len(target), np.bool_)
    gap = gaps.max(axis=0)  # not finite where a vertex is not: that has a finding of its own
    apart[linked] = np.isfinite(gap) & (gap > _MEETING * (1 + np.abs(start).max(axis=0)))
    problem = "links to an edge whose ends are elsewhere"
    yield from _about_links(areals, AREAL_LINK_ENDS, apart, problem, "an edge with the same ends")


def _about_links(areals: ArealMap, rule: Rule, bad: Bools, problem: str, expected: str) -> Iterator[Finding]:
    if not bad.any():
        return
    edge = np.arange(len(areals.links)) - areals.vertex_start[areals.owner]
    # the links of an areal lie after all of its vertices
    begin = record_offsets(areals) + AREAL_DTYPE.itemsize + AREAL_VERTEX_DTYPE.itemsize * np.diff(areals.vertex_start)
    place = at_offsets(LINKS, begin[areals.owner] + AREAL_LINK_DTYPE.itemsize * edge)
    row = int(np.argmax(bad))
    problem = f"edge {edge[row]} of areal {areals.owner[row]} {problem}"
    yield from first_bad(rule, bad, problem, place, areals.links, expected)


def check_cells(areals: ArealMap) -> Iterator[Finding]:
    """Yield cells that list too many areals, or some that do not exist."""
    start = areals.entry.data_offset + int(areals.record_offsets[-1]) + 8
    yield from _full(areals, start)
    yield from _ids(areals, start)


AREAL_CELL_TWICE = _rule(
    "areal-cell-twice",
    "warning",
    "A cell lists an areal once.",
    source="docs/reference/areal_map.md#cells",
    why="It costs time, and no map of the game has it.",
    fix="Remove the second id.",
)
AREAL_CELL_ORDER = _rule(
    "areal-cell-order",
    "note",
    "The areals of a cell are in order.",
    source="docs/reference/areal_map.md#cells",
    why="Where areals overlap, the first one listed may be the one that is found.",
    fix="Nothing to do.",
)
AREAL_CELL_WRONG = _rule(
    "areal-cell-wrong",
    "warning",
    "A cell lists areals whose boxes touch it.",
    source="docs/reference/areal_map.md#cells",
    why="The one that is there may be missing.",
    fix="Call replace_polygons of msh_gltf.converter.edits.areal_map for the areal.",
)
AREAL_CELL_EMPTY = _rule(
    "areal-cell-empty",
    "warning",
    "A cell over areals lists areals.",
    source="docs/reference/areal_map.md#cells",
    why="Nobody finds an areal there.",
    fix="Call replace_polygons of msh_gltf.converter.edits.areal_map for the areal.",
)


def check_lists(areals: ArealMap) -> Iterator[Finding]:
    """Yield cells whose lists are not those of the areals that are there.

    Args:
        areals: a map about which :func:`check_cells` finds no error.
    """
    start = areals.entry.data_offset + int(areals.record_offsets[-1]) + 8
    counts, ids = np.diff(areals.cell_start), areals.cell_ids.astype(np.int64)
    cell = np.repeat(np.arange(len(counts)), counts)
    place = at_offsets(CELLS, start + 2 * (np.arange(len(counts)) + areals.cell_start[:-1]))
    order = np.lexsort((ids, cell))
    again = (np.diff(cell[order]) == 0) & (np.diff(ids[order]) == 0)
    falls = (np.diff(cell) == 0) & (np.diff(ids) < 0)

    def found(rule: Rule, problem: str, cells: Ints, expected: str) -> Iterator[Finding]:
        bad = np.zeros(len(counts), np.bool_)
        bad[cells] = True
        yield from first_bad(rule, bad, problem, place, lambda row: _listed(areals, row), expected)

    problem = "cell lists an areal twice"
    yield from found(AREAL_CELL_TWICE, problem, cell[order][1:][again], "each areal once")
    yield from found(AREAL_CELL_ORDER, "cell's areals are not in order", cell[1:][falls], "rising")
    if len(areals.vertices) and min(np.diff(areals.vertex_start), default=0) > 0:
        low, size = _grid(areals)
        problem = "cell lists an areal that is elsewhere"
        yield from found(AREAL_CELL_WRONG, problem, cell[_elsewhere(areals, cell, ids)], "areals that touch it")
        problem = "cell over areals lists none"
        yield from found(
            AREAL_CELL_EMPTY,
            problem,
            _empty(areals, np.flatnonzero(counts == 0), low, size),
            "the areals that are there",
        )


def _listed(areals: ArealMap, cell: int) -> list[int]:
    first, end = areals.cell_start[cell : cell + 2].tolist()
    listed: list[int] = areals.cell_ids[first : min(end, first + 20)].tolist()
    return listed


def _grid(areals: ArealMap) -> tuple[Floats, Floats]:
    """Lowest corner and size of the cells, (2,) float64 each."""
    low, high = areals.extent
    return low, (high - low) / [areals.cells_x, areals.cells_y]


def _boxes(areals: ArealMap) -> tuple[Floats, Floats]:
    """Lowest and highest corner of every areal, (N, 2) float64 each."""
    xy, first = game_xy(areals.vertices), areals.vertex_start[:-1]
    return np.minimum.reduceat(xy, first), np.maximum.reduceat(xy, first)


def _elsewhere(areals: ArealMap, cell: Ints, ids: Ints) -> Bools:
    """Which listed areals have boxes that do not touch their cells. (C,)."""
    low, size = _grid(areals)
    box_low, box_high = _boxes(areals)
    corner = low + np.stack(np.divmod(cell, areals.cells_y), axis=1) * size
    gap = np.maximum(box_low[ids] - (corner + size), corner - box_high[ids])
    return np.asarray((gap > _MEETING * (size + np.abs(low))).any(axis=1))


def _empty(areals: ArealMap, empty: Ints, low: Floats, size: Floats) -> Ints:
    """Which empty cells have their middle in an areal; of very many, the first are looked at."""
    box_low, box_high = _boxes(areals)
    found: list[int] = []
    for cell in empty[: _TESTS // max(1, len(areals.records))].tolist():
        middle = low + (np.array(divmod(cell, areals.cells_y)) + 0.5) * size
        near = np.flatnonzero(((box_low <= middle) & (middle <= box_high)).all(axis=1))
        points = np.broadcast_to(middle, (len(near), 2))
        if points_inside(game_xy(areals.vertices), areals.vertex_start, points, near).any():
            found.append(cell)
    return np.array(found, np.int64)


AREAL_CELL_FULL = _rule(
    "areal-cell-full",
    "error",
    "A cell lists at most 1,023 areals.",
    source="docs/reference/areal_map.md#cells",
    why="The runtime counts them with 10 bits.",
    fix="Use fewer, larger areals there.",
    drops="the cell's list",
)


def _full(areals: ArealMap, start: int) -> Iterator[Finding]:
    counts = np.diff(areals.cell_start)
    at = start + 2 * (np.arange(len(counts)) + areals.cell_start[:-1])
    yield from first_bad(
        AREAL_CELL_FULL,
        counts > CELL_LIMIT,
        "cell lists more areals than the runtime's word can count",
        at_offsets(CELLS, at),
        counts,
        f"at most {CELL_LIMIT}",
    )


AREAL_CELL_ID = _rule(
    "areal-cell-id",
    "error",
    "A cell lists areals that exist.",
    source="docs/reference/areal_map.md#cells",
    why="The game would read past the areals.",
    fix="Remove the id.",
    drops="the id",
)


def _ids(areals: ArealMap, start: int) -> Iterator[Finding]:
    bad = np.flatnonzero(areals.cell_ids >= len(areals.records))
    if bad.size:
        cells = np.searchsorted(areals.cell_start, bad, "right") - 1
        first, row = int(bad[0]), int(cells[0])
        yield Finding(
            AREAL_CELL_ID,
            more("cell lists an areal that does not exist", bad.size, "ids"),
            table=CELLS,
            row=row,
            offset=start + 2 * (row + 1 + first),
            value=int(areals.cell_ids[first]),
            expected=f"below {len(areals.records)}",
            rows=np.unique(cells),
            count=bad.size,
        )
