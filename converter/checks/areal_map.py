"""What all areal maps of the game have and nothing needs (terrain page, 9; ``evidence`` page)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..findings import Finding
from ..formats.areal_map import AREALS, CELLS, ArealMap, signed_areas
from ..formats.tables import AREAL_MAP_TYPE
from .areal_structure import find_first, record_offsets_of

_GRID = 128
_LAKES = (240, 242)
_CLASSES = 29
#: How much of the map areals may leave out or cover twice (``evidence`` page, Areal map).
_SHARE = 0.01


def check_areal_map_further(areals: ArealMap) -> list[Finding]:
    """Findings about a sound areal map."""
    return [*_file(areals), *_classes(areals), *_tiling(areals)]


def _file(areals: ArealMap) -> Iterator[Finding]:
    rows = [i for i, e in enumerate(areals.archive.entries) if e.type_id == AREAL_MAP_TYPE]
    if len(rows) > 1:
        yield Finding(
            "areal-twice", "second areal map; the first one counts", "NRes directory", rows[1],
            count=len(rows) - 1,
        )  # fmt: skip
    if (areals.cells_x, areals.cells_y) != (_GRID, _GRID):
        yield Finding(
            "areal-grid-size", "grid has another size", CELLS, None,
            areals.entry.data_offset + int(areals.record_offsets[-1]),
            f"{areals.cells_x} x {areals.cells_y}", f"{_GRID} x {_GRID}",
        )  # fmt: skip


def _classes(areals: ArealMap) -> Iterator[Finding]:
    classes = areals.records["class_id"]
    known = ((classes >= 1) & (classes <= _CLASSES)) | np.isin(classes, _LAKES)
    yield from find_first(
        "areal-class", "class is unknown", AREALS, ~known, record_offsets_of(areals, "class_id"),
        classes, f"1..{_CLASSES}, 240 or 242",
    )  # fmt: skip


def _tiling(areals: ArealMap) -> Iterator[Finding]:
    low, high = areals.extent
    whole = float(np.prod(high - low))
    covered = float(np.abs(signed_areas(areals)).sum())
    if not abs(covered - whole) <= _SHARE * whole:
        yield Finding(
            "areal-tiling", "areals do not cover the map once", AREALS,
            value=f"{covered:,.0f} square units", expected=f"{whole:,.0f}",
        )  # fmt: skip
