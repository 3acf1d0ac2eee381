"""Where the rows of each kind of table lie, for messages."""

from __future__ import annotations

from typing import cast

import numpy as np

from ..findings import Place
from ..formats.areal_map import AREAL_DTYPE, AREALS, ArealMap
from ..formats.nres import NRES_ENTRY_DTYPE, Archive
from ..formats.tables import TableFile
from ..numeric.arrays import Ints, field_offset

#: What messages call the directory of a container.
DIRECTORY = "NRes directory"


def in_table(file: TableFile, stream: int, field: str | None = None) -> Place:
    """Return where the rows of a table of a model or terrain lie, or a field of them."""

    def offset(row: int) -> int | None:  # most checks find nothing, and ask for no place
        record = cast("np.dtype[np.void]", file.SPECS[stream].dtype)
        within = 0 if field is None else field_offset(record, field)
        return file.offset_of(stream, row, within)

    return Place(file.label_of(stream), offset)


def record_offsets(areals: ArealMap, field: str = "anchor") -> Ints:
    """Return the byte offset in the file of a field of each areal. (A,)."""
    within = field_offset(AREAL_DTYPE, field)
    return areals.record_offsets[:-1] + areals.entry.data_offset + within


def in_areals(areals: ArealMap, field: str) -> Place:
    """Return where a field of the areals lies."""
    offsets = record_offsets(areals, field)
    return Place(AREALS, lambda row: int(offsets[row]))


def at_offsets(table: str, offsets: Ints) -> Place:
    """Return rows that lie at given byte offsets. (n,)."""
    return Place(table, lambda row: int(offsets[row]))


def in_directory(archive: Archive, field: str) -> Place:
    """Return where a field of the directory's rows lies."""
    stride = NRES_ENTRY_DTYPE.itemsize
    start = archive.directory + field_offset(NRES_ENTRY_DTYPE, field)
    return Place(DIRECTORY, lambda row: start + stride * row)
