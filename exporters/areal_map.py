""":class:`~converter.formats.areal_map.ArealMap` to bytes (docs/reference/areal_map.md)."""

from __future__ import annotations

import numpy as np

from ..converter.errors import ConversionError
from ..converter.formats.areal_map import AREALS, CELLS, ArealMap
from .nres import replace_entry, write_nres


def areal_payload(areals: ArealMap) -> bytes:
    """The bytes of the entry of type 12.

    A map that was read and not changed gives the bytes it was read from.

    Raises:
        ConversionError: counts and arrays of the map contradict each other, or a cell lists
            more ids than its count word can hold.
    """
    _require_consistent(areals)
    parts: list[bytes] = []
    corners, extras = areals.vertex_start.tolist(), areals.extra_start.tolist()
    for i, poly in enumerate(areals.polys):
        own, extra = slice(corners[i], corners[i + 1]), slice(extras[i], extras[i + 1])
        parts += [
            areals.records[i : i + 1].tobytes(),
            areals.vertices[own].tobytes(),
            areals.links[own].tobytes(),
            areals.extra_links[extra].tobytes(),
            poly,
        ]
    counts = np.diff(areals.cell_start)
    heads = areals.cell_start[:-1] + np.arange(len(counts))
    words = np.empty(len(counts) + len(areals.cell_ids), "<u2")
    listed = np.ones(len(words), np.bool_)
    listed[heads] = False
    words[heads] = counts
    words[listed] = areals.cell_ids
    size = np.array([areals.cells_x, areals.cells_y], "<u4")
    return b"".join([*parts, size.tobytes(), words.tobytes()])


def write_areal_map(areals: ArealMap) -> bytes:
    """The whole file: its entry of type 12 replaced if it changed, every other byte kept.

    ``attr1`` of the entry becomes the number of areals (docs/reference/areal_map.md).

    Raises:
        ConversionError: as :func:`areal_payload`; or the file has no such entry.
    """
    payload, entry, count = areal_payload(areals), areals.entry, len(areals.records)
    archive = areals.archive
    if entry.payload != payload or entry.attr1 != count:
        index = next(i for i, e in enumerate(archive.entries) if e is entry)
        archive = replace_entry(archive, index, payload, attr1=count)
    return write_nres(archive)


def _require_consistent(areals: ArealMap) -> None:
    def fail(problem: str, table: str, value: object, expected: object) -> ConversionError:
        label = areals.archive.label
        return ConversionError(problem, file=label, table=table, value=value, expected=expected)

    for field, per, start, arrays in (
        ("vertex_count", 1, areals.vertex_start, [areals.vertices, areals.links]),
        ("poly_count", 3, areals.extra_start, [areals.extra_links]),
    ):
        counts = per * areals.records[field].astype(np.int64)
        if not np.array_equal(np.diff(start), counts) or any(len(a) != start[-1] for a in arrays):
            lengths = [len(array) for array in arrays]
            raise fail(f"{field} does not fit the arrays", AREALS, lengths, int(counts.sum()))
    if len(areals.polys) != len(areals.records):
        raise fail("polys do not fit", AREALS, len(areals.polys), len(areals.records))
    cells = areals.cells_x * areals.cells_y
    if len(areals.cell_start) != cells + 1 or areals.cell_start[-1] != len(areals.cell_ids):
        raise fail("cells do not fit the grid", CELLS, len(areals.cell_start) - 1, cells)
    most = int(np.diff(areals.cell_start).max(initial=0))
    if most > 0xFFFF:
        raise fail("too many ids in a cell", CELLS, most, "at most 65535")
