"""The polygons of an areal map: vertices, winding, area, tiling."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad, more
from ..formats.areal_map import AREAL_DTYPE, AREAL_VERTEX_DTYPE, AREALS, ArealMap
from ..formats.areal_polygons import signed_areas
from ..numeric.arrays import Bools, Floats
from ..scene.scene import MAX_COORDINATE, in_range
from .areal_records import check_anchors
from .places import at_offsets, in_areals, record_offsets

_rule = partial(Rule, "areal map", source="docs/reference/areal_map.md#one-areal")

#: Stored and shoelace area differ by at most 14.73 % or by 51.39.
_AREA_RATIO, _AREA_UNITS = 0.15, 52.0
#: How much of the map areals may leave out or cover twice (docs/reference/areal_map.md).
_TILING_RATIO = 0.01


def check_polygons(areals: ArealMap) -> Iterator[Finding]:
    """Yield areals that are not polygons, or whose area and anchor do not fit."""
    few = np.diff(areals.vertex_start) < 3
    finite = in_range(areals.vertices)
    broken = np.zeros(len(areals.records), np.bool_)
    broken[areals.owner[~finite]] = True
    yield from _few(areals, few)
    yield from _finite(areals, finite, broken)
    valid, signed = ~few & ~broken, signed_areas(areals)
    yield from _winding(areals, valid, signed)
    yield from _area(areals, valid, np.abs(signed))
    yield from check_anchors(areals, valid)


AREAL_VERTICES = _rule(
    "areal-vertices",
    "error",
    "A polygon has at least three vertices.",
    why="It has no inside.",
    fix="Remove the areal, or add vertices.",
    drops="the areal",
)


def _few(areals: ArealMap, few: Bools) -> Iterator[Finding]:
    yield from first_bad(
        AREAL_VERTICES,
        few,
        "areal has too few vertices",
        in_areals(areals, "vertex_count"),
        areals.records["vertex_count"],
        "at least 3",
    )


AREAL_VERTEX_FINITE = _rule(
    "areal-vertex-finite",
    "error",
    "Vertices are finite numbers of at most 1e12.",
    source="docs/reference/conventions.md#divisors",
    why="glTF cannot hold infinity or NaN, and the grid spans nothing.",
    fix="Move the vertex.",
    drops="the areal",
)


def _finite(areals: ArealMap, finite: Bools, broken: Bools) -> Iterator[Finding]:
    """The first vertex is shown, the rows are those of its areals."""
    if finite.all():
        return
    vertex, count = int(np.argmin(finite)), int((~finite).sum())
    row = int(areals.owner[vertex])
    corner = vertex - int(areals.vertex_start[row])
    start = int(record_offsets(areals)[row]) + AREAL_DTYPE.itemsize
    problem = f"vertex {corner} is not finite, or too large"
    yield Finding(
        AREAL_VERTEX_FINITE,
        more(problem, count, "vertices"),
        table=AREALS,
        row=row,
        offset=start + AREAL_VERTEX_DTYPE.itemsize * corner,
        value=areals.vertices[vertex].tolist(),
        expected=f"at most {MAX_COORDINATE:g}",
        rows=np.flatnonzero(broken),
        count=count,
    )


AREAL_WINDING = _rule(
    "areal-winding",
    "warning",
    "Polygons wind counter-clockwise seen from above.",
    why="Inside and outside change places.",
    fix="Reverse the vertices and their links.",
)


def _winding(areals: ArealMap, valid: Bools, signed: Floats) -> Iterator[Finding]:
    yield from first_bad(
        AREAL_WINDING,
        valid & (signed < 0),
        "polygon is clockwise",
        at_offsets(AREALS, record_offsets(areals) + AREAL_DTYPE.itemsize),
        signed,
        "a positive area: counter-clockwise",
    )


AREAL_AREA = _rule(
    "areal-area",
    "warning",
    "The stored area is the polygon's.",
    why="Placing buildings goes by it; the game's own differ by up to 15 %.",
    fix="Edit it with msh_gltf.converter.edits.areal_map.",
)


def _area(areals: ArealMap, valid: Bools, area: Floats) -> Iterator[Finding]:
    stored = areals.records["area"]
    allowed = np.maximum(_AREA_RATIO * area, _AREA_UNITS)
    yield from first_bad(
        AREAL_AREA,
        valid & ~(np.abs(stored - area) <= allowed),
        "stored area is far from the polygon's",
        in_areals(areals, "area"),
        stored.astype(np.float64),
        area,
    )


AREAL_TILING = _rule(
    "areal-tiling",
    "note",
    "Areals cover the map once.",
    why="There are places that belong to no areal, or to two.",
    fix="Close the gap.",
)


def check_tiling(areals: ArealMap) -> Iterator[Finding]:
    """Yield a map whose areals do not cover it once."""
    low, high = areals.extent
    whole = float(np.prod(high - low))
    covered = float(np.abs(signed_areas(areals)).sum())
    if not abs(covered - whole) <= _TILING_RATIO * whole:
        yield Finding(
            AREAL_TILING,
            "areals do not cover the map once",
            AREALS,
            value=f"{covered:,.0f} square units",
            expected=f"{whole:,.0f}",
        )
