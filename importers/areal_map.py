"""Areal map bytes to :class:`~converter.formats.areal_map.ArealMap`.

Source: docs/reference/areal_map.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, plural
from ..converter.formats.archive import Archive
from ..converter.formats.areal_map import (
    AREAL_SIZE,
    AREAL_TAIL,
    AREALS,
    CELLS,
    ArealMap,
    areal_entry,
)
from ..converter.formats.tables import (
    AREAL_DTYPE,
    AREAL_LINK_DTYPE,
    AREAL_VERTEX_DTYPE,
    field_offset,
)
from ..converter.numeric.arrays import Ints

_Row = TypeVar("_Row", bound=np.generic)
#: Where in a record its numbers of vertices and of polys stand: uint32 each.
_COUNTS = tuple(field_offset(AREAL_DTYPE, name) for name in ("vertex_count", "poly_count"))


def read_areal_map(archive: Archive) -> ArealMap:
    """Read the first entry of type 12; the directory's ``attr1`` is the number of areals.

    Every count is checked against the bytes that are left before anything is made from it, and
    all bytes must be consumed: the runtime stops with "Incorrect ArealMap" where they are not.
    What parses but cannot be right is for ``converter.checks.areal_structure``.

    Args:
        archive: a ``Land.map`` (``importers.nres.read_nres``).

    Returns:
        The map, its arrays read-only copies.

    Raises:
        ConversionError: no entry of type 12, or its size does not fit its counts; with the row
            and the byte offset in the file.
    """
    entry = areal_entry(archive)
    data = _Data(memoryview(entry.payload), archive.label, entry.data_offset)
    data.require(entry.attr1 * AREAL_DTYPE.itemsize, 0, 0, f"{entry.attr1} areals (attr1)")
    polygons, at = _read_polygons(data, entry.attr1)
    size, cell_start, cell_ids = _read_grid(data, at)
    return ArealMap(
        archive,
        _joined(polygons.records, AREAL_DTYPE),
        _joined(polygons.vertices, AREAL_VERTEX_DTYPE),
        _starts(polygons.vertices, AREAL_VERTEX_DTYPE),
        _joined(polygons.links, AREAL_LINK_DTYPE),
        _joined(polygons.extra_links, AREAL_LINK_DTYPE),
        _starts(polygons.extra_links, AREAL_LINK_DTYPE),
        polygons.polys,
        *size,
        _frozen(cell_start),
        _frozen(cell_ids),
    )


@dataclass(frozen=True)
class _Data:
    """The entry's bytes, and where they lie in the file."""

    bytes: memoryview
    label: str
    offset: int

    def require(self, size: int, at: int, row: int, what: str, table: str = AREALS) -> None:
        """Refuse what would run past the entry."""
        left = len(self.bytes) - at
        if size > left:
            raise ConversionError(
                f"{what} would run past the entry", file=self.label, table=table, row=row,
                offset=self.offset + at, value=plural(size, "byte"), expected=f"at most {left}",
                code=AREAL_SIZE.code,
            )  # fmt: skip


class _Polygons(NamedTuple):
    """What the areals consist of: bytes, an item per areal."""

    records: list[memoryview]
    vertices: list[memoryview]
    links: list[memoryview]
    extra_links: list[memoryview]
    polys: list[bytes]


def _read_polygons(data: _Data, count: int) -> tuple[_Polygons, int]:
    """The areals, and where the grid starts."""
    out = _Polygons([], [], [], [], [])
    given, at = data.bytes, 0
    for row in range(count):
        data.require(AREAL_DTYPE.itemsize, at, row, "an areal")
        end = at + AREAL_DTYPE.itemsize
        corners, parts = (int.from_bytes(given[at + k : at + k + 4], "little") for k in _COUNTS)
        points, links, extra = (
            corners * AREAL_VERTEX_DTYPE.itemsize,
            corners * AREAL_LINK_DTYPE.itemsize,
            parts * 3 * AREAL_LINK_DTYPE.itemsize,
        )
        what = f"{corners} vertices and {parts} polys"
        data.require(points + links + extra + 4 * parts, end, row, what)
        out.records.append(given[at:end])
        at, end = end, end + points
        out.vertices.append(given[at:end])
        at, end = end, end + links
        out.links.append(given[at:end])
        at, end = end, end + extra
        out.extra_links.append(given[at:end])
        at = end
        for _ in range(parts):
            words = 3 * int.from_bytes(given[at : at + 4], "little") + 1
            data.require(4 * words, at, row, "a poly")
            at += 4 * words
        out.polys.append(bytes(given[end:at]))
    return out, at


def _read_grid(data: _Data, at: int) -> tuple[tuple[int, int], Ints, NDArray[np.uint16]]:
    """The grid at an offset: its size, where each cell's ids start, and the ids."""
    data.require(8, at, 0, "the grid's size", CELLS)
    across, down = np.frombuffer(data.bytes[at : at + 8], "<u4").tolist()
    at += 8
    data.require(2 * across * down, at, 0, f"{across} x {down} cells", CELLS)
    words = np.frombuffer(data.bytes[at : at + (len(data.bytes) - at) // 2 * 2], "<u2")
    heads = _cell_heads(words, across * down)
    short = heads[1:] > len(words)
    if short.any():
        row = int(np.argmax(short))
        head = int(heads[row])
        data.require(2, at + 2 * head, row, "a cell", CELLS)
        data.require(2 + 2 * int(words[head]), at + 2 * head, row, "a cell", CELLS)
    end = at + 2 * int(heads[-1])
    if end != len(data.bytes):
        raise ConversionError(
            "areal map has bytes left after its last cell", file=data.label, table=CELLS,
            row=across * down, offset=data.offset + end,
            value=plural(len(data.bytes) - end, "byte"),
            expected="none: the runtime stops with Incorrect ArealMap", code=AREAL_TAIL.code,
        )  # fmt: skip
    listed = np.ones(len(words), np.bool_)
    listed[heads[:-1]] = False
    return (across, down), heads - np.arange(len(heads)), words[listed]


def _cell_heads(words: NDArray[np.uint16], cells: int) -> Ints:
    """Where each of a chain of ``count, id, id, ...`` lists starts, and where the last ends.

    The start of a list follows from the one before it, which would be a loop over all cells.
    Doubling avoids it: the first ``n`` heads and the step over ``n`` lists give ``2 n`` heads.

    Args:
        words: (W,) uint16.
        cells: how many lists.

    Returns:
        (cells + 1,) int64; ``W + 1`` from where the words do not suffice.
    """
    size = len(words)
    step = np.append(np.arange(size) + 1 + words, [size + 1, size + 1])
    step = np.minimum(step, size + 1)
    heads = np.zeros(1, np.int64)
    while len(heads) < cells + 1:
        heads = np.append(heads, step[heads])
        step = step[step]
    return heads[: cells + 1]


def _joined(parts: list[memoryview], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The rows of all parts, read-only; bytes are joined, for NumPy compares types part by part."""
    return np.frombuffer(b"".join(parts), dtype)


def _starts(parts: list[memoryview], dtype: np.dtype[Any]) -> Ints:
    rows = [len(part) // dtype.itemsize for part in parts]
    return _frozen(np.cumsum([0, *rows], dtype=np.int64))


def _frozen(array: NDArray[_Row]) -> NDArray[_Row]:
    array.flags.writeable = False
    return array
