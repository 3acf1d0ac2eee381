"""Invariants of an areal map, as findings (``converter.findings.Finding``).

Sources: terrain page, 6.3 (obligatory checks), 4.4, 4.5 and 9; ``evidence`` page, Areal map.
Severities are those of ``converter.checks.rules``; what conversion does not need is in
``converter.checks.areal_map``. Whether a cell lists every areal that overlaps it is not checked:
which areals the game's own tools list is not established.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..findings import Finding, more
from ..formats.areal_map import (
    AREALS,
    CELL_LIMIT,
    CELLS,
    LINKS,
    ArealMap,
    anchor_inside,
    link_targets,
    signed_areas,
)
from ..formats.tables import AREAL_DTYPE, AREAL_LINK_DTYPE
from ..numeric.arrays import Bools, Ints

#: How far a normal's length may be from 1. Measured: 1.3e-7 (terrain page, 9).
_NORMAL_TOLERANCE = 1e-3
#: Stored and shoelace area differ by at most 14.73 % or by 51.39 (terrain page, 9).
_AREA_RATIO, _AREA_UNITS = 0.15, 52.0


def check_areal_map(areals: ArealMap) -> list[Finding]:
    """Every finding about an areal map; of each code the first row, saying how many there are.

    Rows count areals, links (``ArealMap.links``) or cells (``x * cells_y + y``); offsets count
    from the start of the file.
    """
    with np.errstate(invalid="ignore"):  # what is not finite has findings of its own
        return [
            *_check_counts(areals),
            *_check_records(areals),
            *_check_polygons(areals),
            *_check_links(areals),
            *_check_cells(areals),
        ]


def find_first(
    code: str,
    problem: str,
    table: str,
    bad: Bools,
    offset: Ints,
    value: Any,
    expected: Any = None,
) -> Iterator[Finding]:
    """One finding of a code for all rows that break it, at the first of them.

    Args:
        code, problem, table: as in :class:`Finding`.
        bad: (n,) which rows break the rule.
        offset: (n,) where each row lies, in bytes.
        value, expected: of each row as an array, or one for all.
    """
    rows = np.flatnonzero(bad)
    if rows.size:
        row = int(rows[0])
        shown = value[row].tolist() if isinstance(value, np.ndarray) else value
        wanted = expected[row].tolist() if isinstance(expected, np.ndarray) else expected
        at = int(offset[row])
        yield Finding(
            code, more(problem, rows.size), table, row, at, shown, wanted, rows, rows.size
        )


def record_offsets_of(areals: ArealMap, field: str = "anchor") -> Ints:
    """Where a field of each record lies in the file."""
    fields = AREAL_DTYPE.fields
    assert fields is not None
    return areals.record_offsets[:-1] + areals.entry.data_offset + int(fields[field][1])


def _vertex_offsets(areals: ArealMap) -> Ints:
    corner = np.arange(len(areals.vertices)) - areals.vertex_start[areals.owner]
    return (record_offsets_of(areals) + AREAL_DTYPE.itemsize)[areals.owner] + 12 * corner


def _check_counts(areals: ArealMap) -> Iterator[Finding]:
    start = areals.entry.data_offset
    if not len(areals.records):
        yield Finding("areal-none", "map has no areals", AREALS, None, start, 0, "at least 1")
    if not (areals.cells_x and areals.cells_y):
        yield Finding(
            "areal-grid",
            "map has no cells",
            CELLS,
            None,
            start + int(areals.record_offsets[-1]),
            f"{areals.cells_x} x {areals.cells_y}",
            "at least 1 x 1",
        )


def _check_records(areals: ArealMap) -> Iterator[Finding]:
    records = areals.records
    anchor, normal = records["anchor"], records["normal"].astype(np.float64)
    yield from find_first(
        "areal-anchor-finite",
        "anchor is not a finite number",
        AREALS,
        ~np.isfinite(anchor).all(1),
        record_offsets_of(areals, "anchor"),
        anchor,
        "finite",
    )
    length = np.sqrt((normal**2).sum(1))
    yield from find_first(
        "areal-normal",
        "normal is not a unit vector",
        AREALS,
        ~(np.abs(length - 1) <= _NORMAL_TOLERANCE),
        record_offsets_of(areals, "normal"),
        records["normal"],
        "length 1",
    )
    yield from find_first(
        "areal-logic",
        "logic flag is neither 0 nor 1",
        AREALS,
        records["logic"] > 1,
        record_offsets_of(areals, "logic"),
        records["logic"],
        "0 or 1",
    )
    for field in ("opaque12", "opaque36", "opaque44"):
        yield from find_first(
            "areal-opaque",
            f"unknown word +{field[6:]} is not 0; it is kept",
            AREALS,
            records[field] != 0,
            record_offsets_of(areals, field),
            records[field],
            0,
        )
    yield from find_first(
        "areal-polys",
        "areal has polys, which are kept and not understood",
        AREALS,
        records["poly_count"] > 0,
        record_offsets_of(areals, "poly_count"),
        records["poly_count"],
        0,
    )


def _check_polygons(areals: ArealMap) -> Iterator[Finding]:
    records, count = areals.records, len(areals.records)
    few = np.diff(areals.vertex_start) < 3
    yield from find_first(
        "areal-vertices",
        "areal has too few vertices",
        AREALS,
        few,
        record_offsets_of(areals, "vertex_count"),
        records["vertex_count"],
        "at least 3",
    )
    finite = np.isfinite(areals.vertices).all(1)
    broken = np.zeros(count, np.bool_)
    broken[areals.owner[~finite]] = True
    if broken.any():
        vertex = int(np.argmin(finite))
        row, bad = int(areals.owner[vertex]), int((~finite).sum())
        problem = f"vertex {vertex - int(areals.vertex_start[row])} is not a finite number"
        yield Finding(
            "areal-vertex-finite",
            more(problem, bad, "vertices"),
            AREALS,
            row,
            int(_vertex_offsets(areals)[vertex]),
            areals.vertices[vertex].tolist(),
            "finite",
            np.flatnonzero(broken),
            bad,
        )
    sound = ~few & ~broken
    signed = signed_areas(areals)
    yield from find_first(
        "areal-winding",
        "polygon is clockwise",
        AREALS,
        sound & (signed < 0),
        record_offsets_of(areals) + AREAL_DTYPE.itemsize,
        signed,
        "a positive area: counter-clockwise",
    )
    area = np.abs(signed)
    allowed = np.maximum(_AREA_RATIO * area, _AREA_UNITS)
    yield from find_first(
        "areal-area",
        "stored area is far from the polygon's",
        AREALS,
        sound & ~(np.abs(records["area"] - area) <= allowed),
        record_offsets_of(areals, "area"),
        records["area"],
        area,
    )
    yield from find_first(
        "areal-anchor",
        "anchor lies outside its polygon; the game moves it at random",
        AREALS,
        sound & np.isfinite(records["anchor"]).all(1) & ~anchor_inside(areals),
        record_offsets_of(areals, "anchor"),
        records["anchor"],
        "inside",
    )


def _check_links(areals: ArealMap) -> Iterator[Finding]:
    links, target = areals.links, link_targets(areals)
    edge = np.arange(len(links)) - areals.vertex_start[areals.owner]
    # the links of an areal lie behind all of its vertices
    begin = record_offsets_of(areals) + AREAL_DTYPE.itemsize + 12 * np.diff(areals.vertex_start)
    at = begin[areals.owner] + AREAL_LINK_DTYPE.itemsize * edge

    def found(code: str, bad: Bools, problem: str, expected: str) -> Iterator[Finding]:
        row = int(np.argmax(bad)) if bad.any() else None
        if row is not None:
            where = f"edge {edge[row]} of areal {areals.owner[row]} {problem}"
            yield from find_first(code, where, LINKS, bad, at, links, expected)

    none = (links["areal"] == -1) & (links["edge"] == -1)
    bad = (target < 0) & ~none
    yield from found(
        "areal-link", bad, "links to no edge that exists", "(-1, -1) or an areal's edge"
    )
    one_way = (target >= 0) & (target[target] != np.arange(len(links)))
    yield from found(
        "areal-link-mutual", one_way, "links to an edge that does not link back", "both"
    )


def _check_cells(areals: ArealMap) -> Iterator[Finding]:
    counts = np.diff(areals.cell_start)
    cells = np.arange(len(counts))
    begin = areals.entry.data_offset + int(areals.record_offsets[-1]) + 8
    at = begin + 2 * (cells + areals.cell_start[:-1])
    yield from find_first(
        "areal-cell-full",
        "cell lists more areals than the runtime's word can count",
        CELLS,
        counts > CELL_LIMIT,
        at,
        counts,
        f"at most {CELL_LIMIT}",
    )
    wrong = areals.cell_ids >= len(areals.records)
    if wrong.any():
        first = int(np.argmax(wrong))
        row = int(np.searchsorted(areals.cell_start, first, "right")) - 1
        bad = np.flatnonzero(wrong)
        yield Finding(
            "areal-cell-id",
            more("cell lists an areal that does not exist", bad.size, "ids"),
            CELLS,
            row,
            begin + 2 * (row + 1 + first),
            int(areals.cell_ids[first]),
            f"below {len(areals.records)}",
            np.unique(np.searchsorted(areals.cell_start, bad, "right") - 1),
            bad.size,
        )
