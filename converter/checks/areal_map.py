"""Areal maps: counts, records, polygons, links, the cells of the grid, and the order of all checks.

Whether a cell lists every areal that overlaps it is not checked: which areals the game's own tools
list is not established. That an areal is listed where it is not, or a cell over areals lists none,
is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ..findings import Bad, Finding, Mode, more, without_errors
from ..formats.areal_map import (
    AREAL_DTYPE,
    AREAL_LINK_DTYPE,
    AREAL_VERTEX_DTYPE,
    AREALS,
    CELL_LIMIT,
    CELLS,
    LINKS,
    ArealMap,
    anchor_inside,
    game_xy,
    link_targets,
    points_inside,
    signed_areas,
    without_areals,
)
from ..formats.kinds import AREAL_MAP_TYPE
from ..numeric.arrays import F64, I64, Bools
from ..scene.scene import MAX_COORDINATE, in_range
from . import DIRECTORY, Rules, areal_offsets, run, why
from .recover import Steps, rows_of, without_broken

_GRID = 128
_LAKES = (240, 242)
_CLASSES = 29
#: How far a normal's length may be from 1. Measured: 1.3e-7.
_NORMAL_TOLERANCE = 1e-3
#: Stored and shoelace area differ by at most 14.73 % or by 51.39.
_AREA_RATIO, _AREA_UNITS = 0.15, 52.0
#: How much of the map areals may leave out or cover twice (docs/reference/areal_map.md).
_TILING_RATIO = 0.01
#: How far linked edges and listed areals may be apart, relative to their coordinates (measured: 0).
_MEETING = 1e-5
#: Empty cells times areals that are compared.
_TESTS = 1 << 24


def check_areal_map(areals: ArealMap) -> list[Finding]:
    """Return the findings about what conversion relies on.

    Rows count areals, links (``ArealMap.links``) or cells (``x * cells_y + y``); offsets count
    from the start of the file.
    """
    with np.errstate(invalid="ignore"):  # what is not finite has findings of its own
        return [
            *run(areals, areal_none, areal_grid, areal_anchor_finite, areal_normal, areal_logic, areal_opaque),
            *run(areals, areal_polys, _polygons, _links, areal_cell_full, areal_cell_id),
        ]


def check_areal_map_further(areals: ArealMap) -> list[Finding]:
    """Return the findings, about a map without errors, about what all of the game have and conversion does not need."""
    with np.errstate(invalid="ignore"):
        return [*run(areals, areal_twice, areal_grid_size, areal_class, areal_tiling, _lists)]


rule = Rules("areal map", "docs/reference/areal_map.md#one-areal")


@rule("areal-twice", "warning", "It has one entry of type 12.", "docs/reference/areal_map.md")
@why("The game takes the first.", fix="Remove the one that is not wanted.")
def areal_twice(areals: ArealMap) -> Iterator[Bad]:
    rows = [i for i, e in enumerate(areals.archive.entries) if e.type_id == AREAL_MAP_TYPE]
    if len(rows) > 1:
        yield Bad("second areal map; the first one counts", DIRECTORY, rows[1], count=len(rows) - 1)


@rule("areal-none", "error", "A map has areals.", "docs/reference/areal_map.md")
@why("The game cannot load it.", fix="Add one.")
def areal_none(areals: ArealMap) -> Iterator[Bad]:
    if not len(areals.records):
        yield Bad("map has no areals", (AREALS, areals.entry.data_offset), None, 0, "at least 1")


def _about_grid(areals: ArealMap, problem: str, expected: str) -> Bad:
    return Bad(problem, (CELLS, _grid_start(areals)), None, f"{areals.cells_x} x {areals.cells_y}", expected)


def _grid_start(areals: ArealMap) -> int:
    return areals.entry.data_offset + int(areals.record_offsets[-1])


@rule("areal-grid", "error", "A map has cells.", "docs/reference/areal_map.md")
@why('The game stops with "ArealMap Cells are empty".', fix="Take the file from a backup.")
def areal_grid(areals: ArealMap) -> Iterator[Bad]:
    if not (areals.cells_x and areals.cells_y):
        yield _about_grid(areals, "map has no cells", "at least 1 x 1")


@rule("areal-grid-size", "note", "The grid has 128 x 128 cells.", "docs/reference/areal_map.md")
@why("All maps of the game have.", fix="Nothing to do.")
def areal_grid_size(areals: ArealMap) -> Iterator[Bad]:
    if (areals.cells_x, areals.cells_y) != (_GRID, _GRID):
        yield _about_grid(areals, "grid has another size", f"{_GRID} x {_GRID}")


@rule(
    "areal-anchor-finite",
    "error",
    "Anchors are finite numbers.",
    "docs/reference/conventions.md#divisors",
    drops="the anchor",
)
@why("glTF cannot hold infinity or NaN.", fix="Call repair_anchors of msh_gltf.converter.edits.areal_map.")
def areal_anchor_finite(areals: ArealMap) -> Iterator[Bad]:
    anchor = areals.records["anchor"]
    yield Bad("anchor is not a finite number", (AREALS, "anchor"), ~np.isfinite(anchor).all(1), anchor, "finite")


@rule("areal-anchor", "warning", "An anchor lies inside its polygon.")
@why("The game moves it at random.", fix="Call repair_anchors of msh_gltf.converter.edits.areal_map.")
def areal_anchor(areals: ArealMap, valid: Bools) -> Iterator[Bad]:
    """Yield anchors outside their polygons; ``valid`` says which areals are polygons. (A,)."""
    anchor = areals.records["anchor"]
    bad = valid & np.isfinite(anchor).all(1) & ~anchor_inside(areals)
    yield Bad("anchor lies outside its polygon; the game moves it at random", (AREALS, "anchor"), bad, anchor, "inside")


@rule("areal-normal", "error", "A normal is of unit length.", drops="the normal: straight up is taken")
@why("The game's own validation expects it.", fix="Normalise it.")
def areal_normal(areals: ArealMap) -> Iterator[Bad]:
    normal = areals.records["normal"]
    length = np.sqrt((normal.astype(np.float64) ** 2).sum(1))
    bad = ~(np.abs(length - 1) <= _NORMAL_TOLERANCE)
    yield Bad("normal is not a unit vector", (AREALS, "normal"), bad, normal, "length 1")


@rule("areal-logic", "note", "The logic flag is 0 or 1.")
@why("1 means walkable; nothing else is known.", fix="Nothing to do.")
def areal_logic(areals: ArealMap) -> Iterator[Bad]:
    logic = areals.records["logic"]
    yield Bad("logic flag is neither 0 nor 1", (AREALS, "logic"), logic > 1, logic, "0 or 1")


@rule("areal-class", "note", "The class is 240, 242 (lake) or 1 to 29.")
@why("The effect of another one is not known.", fix="Nothing to do.")
def areal_class(areals: ArealMap) -> Iterator[Bad]:
    classes = areals.records["class_id"]
    known = ((classes >= 1) & (classes <= _CLASSES)) | np.isin(classes, _LAKES)
    yield Bad("class is unknown", (AREALS, "class_id"), ~known, classes, f"1..{_CLASSES}, 240 or 242")


@rule("areal-opaque", "note", "The words at +12, +36 and +44 are 0.")
@why("They are kept.", fix="Nothing to do.")
def areal_opaque(areals: ArealMap) -> Iterator[Bad]:
    for field in ("opaque12", "opaque36", "opaque44"):
        words = areals.records[field]
        yield Bad(f"unknown word +{field[6:]} is not 0; it is kept", (AREALS, field), words != 0, words, 0)


@rule("areal-polys", "note", "poly_count is 0.")
@why("No file of the game has polys; they are kept.", fix="Nothing to do.")
def areal_polys(areals: ArealMap) -> Iterator[Bad]:
    count, problem = areals.records["poly_count"], "areal has polys, which are kept and not understood"
    yield Bad(problem, (AREALS, "poly_count"), count > 0, count, 0)


def _polygons(areals: ArealMap) -> Iterator[Finding]:
    """Areals that are not polygons, or whose area and anchor do not fit."""
    few = np.diff(areals.vertex_start) < 3
    finite = in_range(areals.vertices)
    broken = np.zeros(len(areals.records), np.bool_)
    broken[areals.owner[~finite]] = True
    yield from areal_vertices(areals, few)
    yield from areal_vertex_finite(areals, finite, broken)
    valid, signed = ~few & ~broken, signed_areas(areals)
    yield from areal_winding(areals, valid, signed)
    yield from areal_area(areals, valid, np.abs(signed))
    yield from areal_anchor(areals, valid)


@rule("areal-vertices", "error", "A polygon has at least three vertices.", drops="the areal")
@why("It has no inside.", fix="Remove the areal, or add vertices.")
def areal_vertices(areals: ArealMap, few: Bools) -> Iterator[Bad]:
    yield Bad("areal has too few vertices", (AREALS, "vertex_count"), few, areals.records["vertex_count"], "at least 3")


@rule(
    "areal-vertex-finite",
    "error",
    "Vertices are finite numbers of at most 1e12.",
    "docs/reference/conventions.md#divisors",
    drops="the areal",
)
@why("glTF cannot hold infinity or NaN, and the grid spans nothing.", fix="Move the vertex.")
def areal_vertex_finite(areals: ArealMap, finite: Bools, broken: Bools) -> Iterator[Bad]:
    if finite.all():
        return
    vertex, count = int(np.argmin(finite)), int((~finite).sum())
    row = int(areals.owner[vertex])
    corner = vertex - int(areals.vertex_start[row])
    start = int(areal_offsets(areals)[row]) + AREAL_DTYPE.itemsize
    place = AREALS, start + AREAL_VERTEX_DTYPE.itemsize * corner
    problem = more(f"vertex {corner} is not finite, or too large", count, "vertices")
    value, expected = areals.vertices[vertex].tolist(), f"at most {MAX_COORDINATE:g}"
    yield Bad(problem, place, row, value, expected, count, np.flatnonzero(broken))


@rule("areal-winding", "warning", "Polygons wind counter-clockwise seen from above.")
@why("Inside and outside change places.", fix="Reverse the vertices and their links.")
def areal_winding(areals: ArealMap, valid: Bools, signed: F64) -> Iterator[Bad]:
    bad, expected = valid & (signed < 0), "a positive area: counter-clockwise"
    yield Bad("polygon is clockwise", (AREALS, areal_offsets(areals) + AREAL_DTYPE.itemsize), bad, signed, expected)


@rule("areal-area", "warning", "The stored area is the polygon's.")
@why(
    "Placing buildings goes by it; the game's own differ by up to 15 %.",
    fix="Edit it with msh_gltf.converter.edits.areal_map.",
)
def areal_area(areals: ArealMap, valid: Bools, area: F64) -> Iterator[Bad]:
    stored = areals.records["area"]
    allowed = np.maximum(_AREA_RATIO * area, _AREA_UNITS)
    bad = valid & ~(np.abs(stored - area) <= allowed)
    yield Bad("stored area is far from the polygon's", (AREALS, "area"), bad, stored.astype(np.float64), area)


@rule("areal-tiling", "note", "Areals cover the map once.")
@why("There are places that belong to no areal, or to two.", fix="Close the gap.")
def areal_tiling(areals: ArealMap) -> Iterator[Bad]:
    low, high = areals.extent
    whole = float(np.prod(high - low))
    covered = float(np.abs(signed_areas(areals)).sum())
    if not abs(covered - whole) <= _TILING_RATIO * whole:
        yield Bad("areals do not cover the map once", AREALS, None, f"{covered:,.0f} square units", f"{whole:,.0f}")


def _links(areals: ArealMap) -> Iterator[Finding]:
    """Links to edges that do not exist, do not link back or lie elsewhere."""
    target = link_targets(areals)
    one_way = (target >= 0) & (target[target] != np.arange(len(target)))
    yield from areal_link(areals, target)
    yield from areal_link_mutual(areals, one_way)
    yield from areal_link_ends(areals, np.where(one_way, -1, target))


@rule("areal-link", "error", "A link is -1/-1, or an edge of an areal.", drops="the link: the edge has no neighbour")
@why("Ways would be searched past the areals.", fix="Set it to -1/-1.")
def areal_link(areals: ArealMap, target: I64) -> Iterator[Bad]:
    problem, expected = "links to an edge that does not exist", "(-1, -1) or an areal's edge"
    yield from _bad_links(areals, (target < 0) & ~areals.is_border, problem, expected)


@rule("areal-link-mutual", "warning", "A link leads to an edge that links back.")
@why("One can go there and not come back.", fix="Link both edges to one another.")
def areal_link_mutual(areals: ArealMap, one_way: Bools) -> Iterator[Bad]:
    yield from _bad_links(areals, one_way, "links to an edge that does not link back", "both")


@rule("areal-link-ends", "warning", "Two edges that are linked have the same end points.")
@why(
    "Ways cross a gap, or ground that belongs to neither areal.",
    fix="Move the vertices together, or set the links to -1/-1.",
)
def areal_link_ends(areals: ArealMap, target: I64) -> Iterator[Bad]:
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
    yield from _bad_links(areals, apart, "links to an edge whose ends are elsewhere", "an edge with the same ends")


def _bad_links(areals: ArealMap, bad: Bools, problem: str, expected: str) -> Iterator[Bad]:
    if not bad.any():
        return
    edge = np.arange(len(areals.links)) - areals.vertex_start[areals.owner]
    # the links of an areal lie after all of its vertices
    begin = areal_offsets(areals) + AREAL_DTYPE.itemsize + AREAL_VERTEX_DTYPE.itemsize * np.diff(areals.vertex_start)
    place = (LINKS, begin[areals.owner] + AREAL_LINK_DTYPE.itemsize * edge)
    row = int(np.argmax(bad))
    problem = f"edge {edge[row]} of areal {areals.owner[row]} {problem}"
    yield Bad(problem, place, bad, areals.links, expected)


def _lists(areals: ArealMap) -> Iterator[Finding]:
    """Cells whose lists are not those of the areals that are there."""
    cell, ids = _cell_of(areals), areals.cell_ids.astype(np.int64)
    yield from areal_cell_twice(areals, cell, ids)
    yield from areal_cell_order(areals, cell, ids)
    if len(areals.vertices) and min(np.diff(areals.vertex_start), default=0) > 0:
        yield from areal_cell_wrong(areals, cell, ids)
        yield from areal_cell_empty(areals)


@rule("areal-cell-twice", "warning", "A cell lists an areal once.", "#cells")
@why("It costs time, and no map of the game has it.", fix="Remove the second id.")
def areal_cell_twice(areals: ArealMap, cell: I64, ids: I64) -> Iterator[Bad]:
    order = np.lexsort((ids, cell))
    again = (np.diff(cell[order]) == 0) & (np.diff(ids[order]) == 0)
    yield _bad_cells(areals, "cell lists an areal twice", cell[order][1:][again], "each areal once")


@rule("areal-cell-order", "note", "The areals of a cell are in order.", "#cells")
@why("Where areals overlap, the first one listed may be the one that is found.", fix="Nothing to do.")
def areal_cell_order(areals: ArealMap, cell: I64, ids: I64) -> Iterator[Bad]:
    falls = (np.diff(cell) == 0) & (np.diff(ids) < 0)
    yield _bad_cells(areals, "cell's areals are not in order", cell[1:][falls], "rising")


@rule("areal-cell-wrong", "warning", "A cell lists areals whose boxes touch it.", "#cells")
@why(
    "The one that is there may be missing.",
    fix="Call replace_polygons of msh_gltf.converter.edits.areal_map for the areal.",
)
def areal_cell_wrong(areals: ArealMap, cell: I64, ids: I64) -> Iterator[Bad]:
    """Yield cells with areals whose boxes do not touch them."""
    (low, size), (box_low, box_high) = _cells(areals), _boxes(areals)
    corner = low + np.stack(np.divmod(cell, areals.cells_y), axis=1) * size
    gap = np.maximum(box_low[ids] - (corner + size), corner - box_high[ids])
    elsewhere = (gap > _MEETING * (size + np.abs(low))).any(axis=1)
    yield _bad_cells(areals, "cell lists an areal that is elsewhere", cell[elsewhere], "areals that touch it")


@rule("areal-cell-empty", "warning", "A cell over areals lists areals.", "#cells")
@why("Nobody finds an areal there.", fix="Call replace_polygons of msh_gltf.converter.edits.areal_map for the areal.")
def areal_cell_empty(areals: ArealMap) -> Iterator[Bad]:
    """Yield empty cells that have their middle in an areal; of very many, the first are looked at."""
    (low, size), (box_low, box_high) = _cells(areals), _boxes(areals)
    found: list[int] = []
    empty = np.flatnonzero(np.diff(areals.cell_start) == 0)
    for cell in empty[: _TESTS // max(1, len(areals.records))].tolist():
        middle = low + (np.array(divmod(cell, areals.cells_y)) + 0.5) * size
        near = np.flatnonzero(((box_low <= middle) & (middle <= box_high)).all(axis=1))
        points = np.broadcast_to(middle, (len(near), 2))
        if points_inside(game_xy(areals.vertices), areals.vertex_start, points, near).any():
            found.append(cell)
    yield _bad_cells(areals, "cell over areals lists none", np.array(found, np.int64), "the areals that are there")


def _bad_cells(areals: ArealMap, problem: str, cells: I64, expected: str) -> Bad:
    """What is wrong with the lists of some cells, with the first of the areals that are listed."""
    bad = np.zeros(len(areals.cell_start) - 1, np.bool_)
    bad[cells] = True

    def listed(cell: int) -> object:
        first, end = areals.cell_start[cell : cell + 2].tolist()
        return areals.cell_ids[first : min(end, first + 20)].tolist()

    return Bad(problem, _in_cells(areals), bad, listed, expected)


def _in_cells(areals: ArealMap) -> tuple[str, I64]:
    """Where the list of each cell starts."""
    return CELLS, _grid_start(areals) + 8 + 2 * (np.arange(len(areals.cell_start) - 1) + areals.cell_start[:-1])


def _cells(areals: ArealMap) -> tuple[F64, F64]:
    """Lowest corner and size of the cells, (2,) float64 each."""
    low, high = areals.extent
    return low, (high - low) / [areals.cells_x, areals.cells_y]


def _boxes(areals: ArealMap) -> tuple[F64, F64]:
    """Lowest and highest corner of every areal, (N, 2) float64 each."""
    xy, first = game_xy(areals.vertices), areals.vertex_start[:-1]
    return np.minimum.reduceat(xy, first), np.maximum.reduceat(xy, first)


@rule("areal-cell-full", "error", "A cell lists at most 1,023 areals.", "#cells", drops="the cell's list")
@why("The runtime counts them with 10 bits.", fix="Use fewer, larger areals there.")
def areal_cell_full(areals: ArealMap) -> Iterator[Bad]:
    counts, problem = np.diff(areals.cell_start), "cell lists more areals than the runtime's word can count"
    yield Bad(problem, _in_cells(areals), counts > CELL_LIMIT, counts, f"at most {CELL_LIMIT}")


@rule("areal-cell-id", "error", "A cell lists areals that exist.", "#cells", drops="the id")
@why("The game would read past the areals.", fix="Remove the id.")
def areal_cell_id(areals: ArealMap) -> Iterator[Bad]:
    bad = np.flatnonzero(areals.cell_ids >= len(areals.records))
    if bad.size:
        cells = np.searchsorted(areals.cell_start, bad, "right") - 1
        first, row = int(bad[0]), int(cells[0])
        place = CELLS, _grid_start(areals) + 8 + 2 * (row + 1 + first)
        problem, value = more("cell lists an areal that does not exist", bad.size, "ids"), int(areals.cell_ids[first])
        yield Bad(problem, place, row, value, f"below {len(areals.records)}", bad.size, np.unique(cells))


# ------------------------------------------------------------------ tolerant reading


def checked_areals(areals: ArealMap, mode: Mode) -> tuple[ArealMap, list[Finding]]:
    """An areal map that can be shown, and what was found; as ``recover.checked_model``.

    Raises ConversionError: the first finding that is refused.
    """
    label = areals.archive.label
    if mode != "tolerant":
        return areals, without_errors(check_areal_map(areals), label, mode=mode)
    return without_broken(areals, check_areal_map, AREAL_STEPS, label)


def _setting(field: str, value: object) -> Callable[[ArealMap, Finding], ArealMap]:
    """A step that sets a field of the areals that a finding concerns."""

    def step(areals: ArealMap, finding: Finding) -> ArealMap:
        records = areals.records.copy()
        records[field][rows_of(finding)] = value
        return replace(areals, records=records)

    return step


def _with_links(areals: ArealMap, none: Bools) -> ArealMap:
    links = areals.links.copy()
    for name in ("areal", "edge"):
        links[name][none] = -1
    return replace(areals, links=links)


def _cell_of(areals: ArealMap) -> I64:
    """The cell of every id. (C,)."""
    return np.repeat(np.arange(len(areals.cell_start) - 1), np.diff(areals.cell_start))


def _with_ids(areals: ArealMap, keep: Bools) -> ArealMap:
    counts = np.bincount(_cell_of(areals)[keep], minlength=len(areals.cell_start) - 1)
    start = np.concatenate([[0], np.cumsum(counts)])
    return replace(areals, cell_ids=areals.cell_ids[keep], cell_start=start)


def _no_areals(areals: ArealMap, finding: Finding) -> ArealMap:
    """All that are no polygons, of both findings at once: what is left gets other numbers."""
    keep = np.diff(areals.vertex_start) >= 3
    keep[areals.owner[~in_range(areals.vertices)]] = False
    return areals if keep.all() else without_areals(areals, keep)


#: What is left out of an areal map, by the rule of the finding; areals last, which renumbers.
AREAL_STEPS: Steps[ArealMap] = {
    areal_anchor_finite.rule: _setting("anchor", 0),
    areal_normal.rule: _setting("normal", (0, 0, 1)),
    areal_link.rule: lambda areals, finding: _with_links(areals, link_targets(areals) < 0),
    areal_cell_full.rule: lambda areals, finding: _with_ids(areals, ~np.isin(_cell_of(areals), rows_of(finding))),
    areal_cell_id.rule: lambda areals, finding: _with_ids(areals, areals.cell_ids < len(areals.records)),
    areal_vertices.rule: _no_areals,
    areal_vertex_finite.rule: _no_areals,
}
