"""What core models and terrains have in common: an NRes container of tables.

The tables are those of a specification (``converter.formats.tables``: ``TABLES``,
``TERRAIN_TABLES``). Reading bytes is ``importers.tables``, writing them ``exporters.tables``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..findings import Finding
from ..numeric.arrays import Records
from .archive import Archive
from .tables import StreamType, TableSpec

#: Rows of one table: records, or plain numbers.
Table = NDArray[np.generic]


@dataclass
class TableFile:
    """The tables of a core model or a terrain.

    Arrays that were read are views of the file and read-only: to change a table, replace it.

    Attributes:
        name: the file or entry name.
        archive: the container: entry order, attributes, names, gaps, unknown entries.
        header: Res2's first 140 bytes, one ``HEADER_DTYPE`` record.
        streams: the tables of fixed records by type id, dtypes as in ``SPECS``.
        cut: what a reader that was asked to found of tables that end inside a record.
    """

    #: The specification, by type id.
    SPECS: ClassVar[Mapping[int, TableSpec]]

    name: str
    archive: Archive
    header: Records
    streams: dict[int, Table] = field(default_factory=dict)
    cut: list[Finding] = field(default_factory=list)

    @property
    def slots(self) -> Records:
        """Res2 after its header, ``SLOT_DTYPE``."""
        return cast(Records, self.streams[StreamType.SLOTS])

    @slots.setter
    def slots(self, table: Records) -> None:
        self.streams[StreamType.SLOTS] = table

    def with_table(self, stream: int, table: Table) -> Self:
        """Return a copy with another table; all others are shared."""
        return replace(self, streams=self.streams | {stream: table})

    def label_of(self, stream: int) -> str:
        """Return what messages call a table."""
        return self.SPECS[stream].label

    def offset_of(self, stream: int, row: int = 0, within: int = 0) -> int | None:
        """Return the byte offset in the file of a table's row (plus ``within``), if it was read."""
        entry = self.archive.first_of_type(stream)
        if entry is None:
            return None
        spec = self.SPECS[stream]
        record = spec.record(entry.attr3)
        stride = spec.attr3 if record is None else record.itemsize
        return entry.data_offset + spec.start + stride * row + within
