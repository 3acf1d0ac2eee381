"""Areal map bytes to :class:`~converter.formats.areal_map.ArealMap` (terrain page, 4.2-4.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.formats.archive import Archive
from ..converter.formats.areal_map import AREALS, CELLS, ArealMap, areal_entry
from ..converter.formats.tables import AREAL_DTYPE, AREAL_LINK_DTYPE


def read_areal_map(archive: Archive) -> ArealMap:
    """Read the first entry of type 12; the directory's ``attr1`` says how many areals it has.

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
    data = memoryview(entry.payload)

    def need(size: int, at: int, row: int, what: str, table: str = AREALS) -> None:
        if size > len(data) - at:
            raise ConversionError(
                f"{what} would run past the entry",
                file=archive.label,
                table=table,
                row=row,
                offset=entry.data_offset + at,
                value=f"{size} bytes",
                expected=f"at most {len(data) - at}",
                code="areal-size",
            )

    need(entry.attr1 * AREAL_DTYPE.itemsize, 0, 0, f"{entry.attr1} areals (attr1)")
    at = 0
    records: list[NDArray[np.void]] = []
    vertices: list[NDArray[np.float32]] = []
    links: list[NDArray[np.void]] = []
    extra_links: list[NDArray[np.void]] = []
    polys: list[bytes] = []
    for row in range(entry.attr1):
        need(AREAL_DTYPE.itemsize, at, row, "an areal")
        record = np.frombuffer(data[at : at + AREAL_DTYPE.itemsize], AREAL_DTYPE)
        at += AREAL_DTYPE.itemsize
        corners, parts = int(record["vertex_count"][0]), int(record["poly_count"][0])
        link_size = AREAL_LINK_DTYPE.itemsize
        what = f"{corners} vertices and {parts} polys"
        need(corners * (12 + link_size) + parts * (3 * link_size + 4), at, row, what)
        end = at + 12 * corners
        vertices.append(np.frombuffer(data[at:end], "<f4").reshape(-1, 3))
        at, end = end, end + link_size * corners
        links.append(np.frombuffer(data[at:end], AREAL_LINK_DTYPE))
        at, end = end, end + link_size * 3 * parts
        extra_links.append(np.frombuffer(data[at:end], AREAL_LINK_DTYPE))
        at = end
        for _ in range(parts):
            words = 3 * int.from_bytes(data[at : at + 4], "little") + 1
            need(4 * words, at, row, "a poly")
            at += 4 * words
        records.append(record)
        polys.append(bytes(data[end:at]))

    need(8, at, 0, "the grid's size", CELLS)
    cells_x, cells_y = np.frombuffer(data[at : at + 8], "<u4").tolist()
    at += 8
    need(2 * cells_x * cells_y, at, 0, f"{cells_x} x {cells_y} cells", CELLS)
    words_left = np.frombuffer(data[at : at + (len(data) - at) // 2 * 2], "<u2")
    heads = _cell_heads(words_left, cells_x * cells_y)
    short = heads[1:] > len(words_left)
    if short.any():
        row = int(np.argmax(short))
        head = int(heads[row])
        need(2, at + 2 * head, row, "a cell", CELLS)
        need(2 + 2 * int(words_left[head]), at + 2 * head, row, "a cell", CELLS)
    end = at + 2 * int(heads[-1])
    if end != len(data):
        raise ConversionError(
            "areal map has bytes left behind its last cell",
            file=archive.label,
            table=CELLS,
            row=cells_x * cells_y,
            offset=entry.data_offset + end,
            value=f"{len(data) - end} bytes",
            expected="none: the runtime says Incorrect ArealMap",
            code="areal-tail",
        )
    listed = np.ones(len(words_left), np.bool_)
    listed[heads[:-1]] = False
    return ArealMap(
        archive,
        _joined(records, np.empty(0, AREAL_DTYPE)),
        _joined(vertices, np.empty((0, 3), np.float32)),
        _starts([len(part) for part in vertices]),
        _joined(links, np.empty(0, AREAL_LINK_DTYPE)),
        _joined(extra_links, np.empty(0, AREAL_LINK_DTYPE)),
        _starts([len(part) for part in extra_links]),
        polys,
        cells_x,
        cells_y,
        _frozen(heads - np.arange(len(heads))),
        _frozen(words_left[listed]),
    )


def _cell_heads(words: NDArray[np.uint16], cells: int) -> NDArray[np.int64]:
    """Where each of a chain of ``count, id, id, ...`` lists starts, and where the last ends.

    Each list says where the next one starts, which would be a loop over all cells. Doubling
    avoids it: who knows the first ``n`` heads and the way over ``n`` lists knows ``2 n`` heads.

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


def _joined(parts: list[NDArray[Any]], none: NDArray[Any]) -> NDArray[Any]:
    return _frozen(np.concatenate([none, *parts]))


def _starts(counts: list[int]) -> NDArray[np.int64]:
    return _frozen(np.cumsum([0, *counts], dtype=np.int64))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
