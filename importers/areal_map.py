"""Areal map bytes to :class:`~converter.formats.areal_map.ArealMap`.

Source: docs/reference/areal_map.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, plural
from ..converter.formats.archive import Archive
from ..converter.formats.areal_map import AREAL_SIZE, AREAL_TAIL, AREALS, CELLS, ArealMap, areal_entry
from ..converter.formats.tables import AREAL_DTYPE, AREAL_LINK_DTYPE, AREAL_VERTEX_DTYPE, field_offset
from ..converter.numeric.arrays import Ints, ranges

_Row = TypeVar("_Row", bound=np.generic)
#: Records that each poly adds to the links of its areal.
_LINKS_OF_POLY = 3
#: Of a record its numbers of vertices and of polys.
_COUNTS = Struct(f"<{field_offset(AREAL_DTYPE, 'vertex_count')}xII")
assert field_offset(AREAL_DTYPE, "poly_count") == _COUNTS.size - 4
#: Bytes after the record: of a vertex with its link, and of a poly's links.
_CORNER = AREAL_VERTEX_DTYPE.itemsize + AREAL_LINK_DTYPE.itemsize
_EXTRA = _LINKS_OF_POLY * AREAL_LINK_DTYPE.itemsize


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
    starts, polys, at = _find_areals(data, entry.attr1)
    records = _joined(data, starts, np.ones_like(starts), AREAL_DTYPE)
    corners, extra = (records[k].astype(np.int64) for k in ("vertex_count", "poly_count"))
    extra *= _LINKS_OF_POLY
    at_vertices = starts + AREAL_DTYPE.itemsize
    at_links = at_vertices + corners * AREAL_VERTEX_DTYPE.itemsize
    at_extra = at_links + corners * AREAL_LINK_DTYPE.itemsize
    size, cell_start, cell_ids = _read_grid(data, at)
    return ArealMap(
        archive,
        records,
        _joined(data, at_vertices, corners, AREAL_VERTEX_DTYPE),
        _frozen(np.append(0, np.cumsum(corners))),
        _joined(data, at_links, corners, AREAL_LINK_DTYPE),
        _joined(data, at_extra, extra, AREAL_LINK_DTYPE),
        _frozen(np.append(0, np.cumsum(extra))),
        polys,
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
        if size > len(self.bytes) - at:
            raise self.past_end(size, at, row, what, table)

    def past_end(self, size: int, at: int, row: int, what: str, table: str = AREALS) -> ConversionError:
        """What to raise where something would run past the entry."""
        return ConversionError(
            f"{what} would run past the entry",
            file=self.label,
            table=table,
            row=row,
            offset=self.offset + at,
            value=plural(size, "byte"),
            expected=f"at most {len(self.bytes) - at}",
            code=AREAL_SIZE.code,
        )


def _find_areals(data: _Data, count: int) -> tuple[Ints, list[bytes], int]:
    """Where each areal starts, what polys each has, and where the grid starts, in bytes."""
    given, starts, polys, at = data.bytes, [], [], 0
    for row in range(count):
        starts.append(at)
        data.require(AREAL_DTYPE.itemsize, at, row, "an areal")
        corners, parts = _COUNTS.unpack_from(given, at)
        at += AREAL_DTYPE.itemsize
        size = corners * _CORNER + parts * _EXTRA
        if size + 4 * parts > len(given) - at:
            what = f"{corners} vertices and {parts} polys"
            raise data.past_end(size + 4 * parts, at, row, what)
        end = at = at + size
        for _ in range(parts):
            words = 3 * int.from_bytes(given[at : at + 4], "little") + 1
            data.require(4 * words, at, row, "a poly")
            at += 4 * words
        polys.append(bytes(given[end:at]))
    return np.array(starts, np.int64), polys, at


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
            "areal map has bytes left after its last cell",
            file=data.label,
            table=CELLS,
            row=across * down,
            offset=data.offset + end,
            value=plural(len(data.bytes) - end, "byte"),
            expected="none: the runtime stops with Incorrect ArealMap",
            code=AREAL_TAIL.code,
        )
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
        heads = np.append(heads, step.take(heads))
        step = step.take(step)
    return heads[: cells + 1]


def _joined(data: _Data, start: Ints, count: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The rows that lie in several places of the entry, read-only.

    Args:
        data: the entry; up to the grid it consists of 32-bit words.
        start: (n,) where each place starts, bytes.
        count: (n,) how many rows each has.
        dtype: of a row.
    """
    words = np.frombuffer(data.bytes[: len(data.bytes) // 4 * 4], "<u4")
    taken = words[ranges(start // 4, count * (dtype.itemsize // 4))]
    return np.frombuffer(taken.tobytes(), dtype)


def _frozen(array: NDArray[_Row]) -> NDArray[_Row]:
    array.flags.writeable = False
    return array
