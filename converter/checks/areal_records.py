"""The records of an areal map: counts, anchors, normals, classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad
from ..formats.areal_map import AREALS, CELLS, ArealMap
from ..formats.areal_polygons import anchor_inside
from ..formats.kinds import AREAL_MAP_TYPE
from ..numeric.arrays import Bools
from .places import DIRECTORY, in_areals

_rule = partial(Rule, "areal map", source="docs/reference/areal_map.md#one-areal")

_GRID = 128
_LAKES = (240, 242)
_CLASSES = 29
#: How far a normal's length may be from 1. Measured: 1.3e-7.
_NORMAL_TOLERANCE = 1e-3


def check_counts(areals: ArealMap) -> Iterator[Finding]:
    """Yield a map without areals or cells."""
    yield from _none(areals)
    yield from _grid(areals)


def check_records(areals: ArealMap) -> Iterator[Finding]:
    """Yield anchors, normals and words that are not valid, or not understood."""
    yield from _anchor_finite(areals)
    yield from _normals(areals)
    yield from _logic(areals)
    yield from _unknown(areals)


def check_records_further(areals: ArealMap) -> Iterator[Finding]:
    """Yield what no map of the game has and conversion does not need."""
    yield from _twice(areals)
    yield from _grid_size(areals)
    yield from _classes(areals)


AREAL_TWICE = _rule(
    "areal-twice",
    "warning",
    "It has one entry of type 12.",
    source="docs/reference/areal_map.md",
    why="The game takes the first.",
    fix="Remove the one that is not wanted.",
)


def _twice(areals: ArealMap) -> Iterator[Finding]:
    rows = [i for i, e in enumerate(areals.archive.entries) if e.type_id == AREAL_MAP_TYPE]
    if len(rows) > 1:
        problem = "second areal map; the first one counts"
        yield Finding(AREAL_TWICE, problem, DIRECTORY, rows[1], count=len(rows) - 1)


AREAL_NONE = _rule(
    "areal-none",
    "error",
    "A map has areals.",
    source="docs/reference/areal_map.md",
    why="The game cannot load it.",
    fix="Add one.",
)


def _none(areals: ArealMap) -> Iterator[Finding]:
    if not len(areals.records):
        offset = areals.entry.data_offset
        yield Finding(AREAL_NONE, "map has no areals", AREALS, None, offset, 0, "at least 1")


def _about_grid(areals: ArealMap, rule: Rule, problem: str, expected: str) -> Finding:
    at = areals.entry.data_offset + int(areals.record_offsets[-1])
    size = f"{areals.cells_x} x {areals.cells_y}"
    return Finding(rule, problem, table=CELLS, row=None, offset=at, value=size, expected=expected)


AREAL_GRID = _rule(
    "areal-grid",
    "error",
    "A map has cells.",
    source="docs/reference/areal_map.md",
    why='The game stops with "ArealMap Cells are empty".',
    fix="Take the file from a backup.",
)


def _grid(areals: ArealMap) -> Iterator[Finding]:
    if not (areals.cells_x and areals.cells_y):
        yield _about_grid(areals, AREAL_GRID, "map has no cells", "at least 1 x 1")


AREAL_GRID_SIZE = _rule(
    "areal-grid-size",
    "note",
    "The grid has 128 x 128 cells.",
    source="docs/reference/areal_map.md",
    why="All maps of the game have.",
    fix="Nothing to do.",
)


def _grid_size(areals: ArealMap) -> Iterator[Finding]:
    if (areals.cells_x, areals.cells_y) != (_GRID, _GRID):
        expected = f"{_GRID} x {_GRID}"
        yield _about_grid(areals, AREAL_GRID_SIZE, "grid has another size", expected)


AREAL_ANCHOR_FINITE = _rule(
    "areal-anchor-finite",
    "error",
    "Anchors are finite numbers.",
    source="docs/reference/conventions.md#divisors",
    why="glTF cannot hold infinity or NaN.",
    fix="Call repair_anchors of msh_gltf.converter.edits.areal_map.",
    drops="the anchor",
)


def _anchor_finite(areals: ArealMap) -> Iterator[Finding]:
    anchor = areals.records["anchor"]
    yield from first_bad(
        AREAL_ANCHOR_FINITE,
        ~np.isfinite(anchor).all(1),
        "anchor is not a finite number",
        in_areals(areals, "anchor"),
        anchor,
        "finite",
    )


AREAL_ANCHOR = _rule(
    "areal-anchor",
    "warning",
    "An anchor lies inside its polygon.",
    why="The game moves it at random.",
    fix="Call repair_anchors of msh_gltf.converter.edits.areal_map.",
)


def check_anchors(areals: ArealMap, valid: Bools) -> Iterator[Finding]:
    """Yield anchors outside their polygons.

    Args:
        areals: the map.
        valid: (A,) which areals are polygons.
    """
    anchor = areals.records["anchor"]
    yield from first_bad(
        AREAL_ANCHOR,
        valid & np.isfinite(anchor).all(1) & ~anchor_inside(areals),
        "anchor lies outside its polygon; the game moves it at random",
        in_areals(areals, "anchor"),
        anchor,
        "inside",
    )


AREAL_NORMAL = _rule(
    "areal-normal",
    "error",
    "A normal is of unit length.",
    why="The game's own validation expects it.",
    fix="Normalise it.",
    drops="the normal: straight up is taken",
)


def _normals(areals: ArealMap) -> Iterator[Finding]:
    normal = areals.records["normal"]
    length = np.sqrt((normal.astype(np.float64) ** 2).sum(1))
    yield from first_bad(
        AREAL_NORMAL,
        ~(np.abs(length - 1) <= _NORMAL_TOLERANCE),
        "normal is not a unit vector",
        in_areals(areals, "normal"),
        normal,
        "length 1",
    )


AREAL_LOGIC = _rule(
    "areal-logic",
    "note",
    "The logic flag is 0 or 1.",
    why="1 means walkable; nothing else is known.",
    fix="Nothing to do.",
)


def _logic(areals: ArealMap) -> Iterator[Finding]:
    logic = areals.records["logic"]
    problem, place = "logic flag is neither 0 nor 1", in_areals(areals, "logic")
    yield from first_bad(AREAL_LOGIC, logic > 1, problem, place, logic, "0 or 1")


AREAL_CLASS = _rule(
    "areal-class",
    "note",
    "The class is 240, 242 (lake) or 1 to 29.",
    why="The effect of another one is not known.",
    fix="Nothing to do.",
)


def _classes(areals: ArealMap) -> Iterator[Finding]:
    classes = areals.records["class_id"]
    known = ((classes >= 1) & (classes <= _CLASSES)) | np.isin(classes, _LAKES)
    yield from first_bad(
        AREAL_CLASS, ~known, "class is unknown", in_areals(areals, "class_id"), classes, f"1..{_CLASSES}, 240 or 242"
    )


AREAL_OPAQUE = _rule(
    "areal-opaque", "note", "The words at +12, +36 and +44 are 0.", why="They are kept.", fix="Nothing to do."
)
AREAL_POLYS = _rule(
    "areal-polys", "note", "poly_count is 0.", why="No file of the game has polys; they are kept.", fix="Nothing to do."
)


def _unknown(areals: ArealMap) -> Iterator[Finding]:
    for field in ("opaque12", "opaque36", "opaque44"):
        words = areals.records[field]
        problem = f"unknown word +{field[6:]} is not 0; it is kept"
        yield from first_bad(AREAL_OPAQUE, words != 0, problem, in_areals(areals, field), words, 0)
    count = areals.records["poly_count"]
    yield from first_bad(
        AREAL_POLYS,
        count > 0,
        "areal has polys, which are kept and not understood",
        in_areals(areals, "poly_count"),
        count,
        0,
    )
