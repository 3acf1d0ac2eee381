"""One core model as its tables, plus every unknown entry.

Reading bytes is ``importers.msh``, writing them ``exporters.msh``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ..findings import Rule
from ..numeric.arrays import Records
from .table_file import TableFile
from .tables import NAME_DTYPE, NODE_DTYPE, TABLES, StreamType, TableSpec

_rule = partial(Rule, "core model", source="docs/reference/model.md#the-tables")

_ZERO = np.zeros(1, np.uint16)

# What importers.msh refuses.
MODEL_TABLES = _rule(
    "model-tables",
    "error",
    "A core model has tables 1, 2, 3, 6 and 13.",
    why="The game's loader needs every one of them.",
    fix="Take the model from a backup.",
)
TABLE_STRIDE = _rule(
    "table-stride",
    "error",
    "The size of a table is a multiple of its record.",
    why="The last record would be read past the end.",
    fix="The table was cut: take it from a backup.",
    drops="the last record",
)
SLOTS_SIZE = _rule(
    "slots-size",
    "error",
    "Res2 is a header of 140 bytes and slots of 68 bytes.",
    source="docs/reference/model.md#res2-header-and-slots",
    why="The last slot would be read past the end.",
    fix="The table was cut: take it from a backup.",
)


@dataclass
class StringTable:
    """Res10: one record per node (docs/reference/model.md).

    Attributes:
        records: what follows each length word: ``len + 1`` bytes, or nothing where the
            length is 0.
        tail: bytes after the last record, or from the first record on that runs past the table;
            none in valid files.
    """

    records: list[bytes]
    tail: bytes = b""

    def text(self, node: int) -> bytes | None:
        """The string of a node; ``None`` where its length is 0 (``sub_10012530``)."""
        record = self.records[node] if node < len(self.records) else b""
        return record[:-1] if record else None


@dataclass
class PathGraph:
    """Res17: the interior path graph (docs/reference/model.md)."""

    points: Records
    links: Records


@dataclass
class MshModel(TableFile):
    """The tables of a core model.

    Attributes:
        strings: Res10, or ``None``.
        graph: Res17 where its size fits its attributes, else ``None``.
        table20: Res20, or ``None``.
        entry: the archive entry that the model was read from, ``None`` for a file of its own.
    """

    SPECS: ClassVar[Mapping[int, TableSpec]] = TABLES

    strings: StringTable | None = None
    graph: PathGraph | None = None
    table20: bytes | None = None
    entry: str | None = None

    @property
    def nodes(self) -> Records:
        """Res1, ``NODE_DTYPE`` or (``legacy``) ``LEGACY_NODE_DTYPE``."""
        return cast(Records, self.streams[StreamType.NODES])

    @nodes.setter
    def nodes(self, table: Records) -> None:
        self.streams[StreamType.NODES] = table

    @property
    def legacy(self) -> bool:
        """Whether the nodes are the stride-24 outlier (docs/reference/model.md)."""
        return self.nodes.dtype != NODE_DTYPE

    @property
    def positions(self) -> NDArray[np.float32]:
        """Res3, (V, 3) float32, node-local, game axes."""
        return cast("NDArray[np.float32]", self.streams[StreamType.POSITIONS])

    @property
    def normals(self) -> NDArray[np.int8] | None:
        """Res4, (V, 4) int8, or ``None``."""
        return cast("NDArray[np.int8] | None", self.streams.get(StreamType.NORMALS))

    @property
    def uv0(self) -> NDArray[np.int16] | None:
        """Res5, (V, 2) int16, or ``None``."""
        return cast("NDArray[np.int16] | None", self.streams.get(StreamType.UV0))

    @property
    def vertex_extra(self) -> NDArray[np.uint8] | None:
        """Res18, (V, 4) uint8, or ``None``: lightmap UV or colour, by dialect."""
        return cast("NDArray[np.uint8] | None", self.streams.get(StreamType.VERTEX_EXTRA))

    @property
    def indices(self) -> NDArray[np.uint16]:
        """Res6, (I,) uint16, relative to each batch's ``base_vertex``."""
        return cast("NDArray[np.uint16]", self.streams[StreamType.INDICES])

    @property
    def triangles(self) -> Records | None:
        """Res7, ``TRIANGLE_DTYPE``, or ``None``."""
        return cast("Records | None", self.streams.get(StreamType.TRIANGLES))

    @property
    def batches(self) -> Records:
        """Res13, ``BATCH_DTYPE``."""
        return cast(Records, self.streams[StreamType.BATCHES])

    @property
    def keys(self) -> Records | None:
        """Res8, ``KEY_DTYPE``, or ``None``."""
        return cast("Records | None", self.streams.get(StreamType.KEYS))

    @property
    def frame_map(self) -> NDArray[np.uint16]:
        """Res19, (W,) uint16; empty where the model has none."""
        table = self.streams.get(StreamType.FRAME_MAP, np.empty(0, "<u2"))
        return cast("NDArray[np.uint16]", table)

    @property
    def names(self) -> Records | None:
        """Res9, ``NAME_DTYPE``, or ``None``."""
        return cast("Records | None", self.streams.get(StreamType.NAMES))

    @property
    def node_names(self) -> list[bytes] | None:
        """Res9's names without their NULs, or ``None``."""
        if self.names is None:
            return None
        raw, stride = self.names.tobytes(), NAME_DTYPE.itemsize
        return [raw[i : i + stride].partition(b"\0")[0] for i in range(0, len(raw), stride)]

    @property
    def frame_count(self) -> int:
        """``attr2`` of Res19's directory entry (docs/reference/model.md)."""
        entry = self.archive.first_of_type(StreamType.FRAME_MAP)
        return entry.attr2 if entry else 0

    @property
    def table20_count(self) -> int:
        """``attr1`` of Res20's directory entry (docs/reference/model.md)."""
        entry = self.archive.first_of_type(StreamType.TABLE20)
        return entry.attr1 if entry else 0

    @property
    def parents(self) -> Sequence[int]:
        """Parent index per node, ``0xFFFF`` = root. Not for legacy nodes."""
        parents: list[int] = self.nodes["parent"].tolist()
        return parents


def largest_indices(model: MshModel) -> NDArray[np.int64]:
    """Largest relative index of every batch, 0 where a batch is empty. (B,) int64.

    The ranges must be inside Res6.
    """
    batches = model.batches
    count = batches["index_count"].astype(np.int64)
    if not len(batches):
        return np.empty(0, np.int64)
    # reduceat also looks between two ranges: in order, that is not more than the table
    start = batches["index_start"].astype(np.int64)
    order = slice(None) if (start[1:] >= start[:-1]).all() else np.argsort(start, kind="stable")
    bounds = np.empty(2 * len(batches), np.int64)
    bounds[0::2] = start[order]
    bounds[1::2] = bounds[0::2] + count[order]
    # reduceat wants every bound inside the array: one more element, never the largest
    padded = np.concatenate([model.indices, _ZERO])
    largest = np.empty(len(batches), np.int64)
    largest[order] = np.maximum.reduceat(padded, bounds)[0::2]
    largest[count == 0] = 0
    return largest
