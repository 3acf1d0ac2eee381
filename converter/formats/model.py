"""One core model as its tables, plus every entry that nobody understands.

Reading bytes is ``importers.msh``, writing them ``exporters.msh``. Arrays that were read are
views of the file and read-only; whoever changes a table replaces the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .archive import Archive
from .tables import NODE_DTYPE, TABLES, StreamType

_ZERO = np.zeros(1, np.uint16)

Records = NDArray[np.void]


@dataclass
class StringTable:
    """Res10: one record per node (core page, 5.9).

    Attributes:
        records: what follows each length word: ``len + 1`` bytes, or nothing where the
            length is 0.
        tail: bytes behind the last record, or from the first record on that runs past the table;
            none in sound files.
    """

    records: list[bytes]
    tail: bytes = b""

    def text(self, node: int) -> bytes | None:
        """The string of a node; ``None`` where its length is 0 (``sub_10012530``)."""
        record = self.records[node] if node < len(self.records) else b""
        return record[:-1] if record else None


@dataclass
class PathGraph:
    """Res17: the interior path graph (``evidence`` page)."""

    points: Records
    links: Records


@dataclass
class MshModel:
    """The tables of a core model.

    Attributes:
        name: the model's file or entry name.
        archive: the container: entry order, attributes, names, gaps, unknown entries.
        nodes: Res1, ``NODE_DTYPE`` or (``legacy``) ``LEGACY_NODE_DTYPE``.
        header: Res2's first 140 bytes, one ``HEADER_DTYPE`` record.
        slots: the rest of Res2, ``SLOT_DTYPE``.
        strings: Res10, or ``None``.
        graph: Res17 where its size fits its attributes, else ``None``.
        streams: the fixed-stride tables by type id, dtypes as in ``tables.TABLES``.
        table20: Res20, or ``None``.
        entry: the archive entry that the model was read from, ``None`` for a file of its own.
    """

    name: str
    archive: Archive
    nodes: Records
    header: Records
    slots: Records
    strings: StringTable | None = None
    graph: PathGraph | None = None
    table20: bytes | None = None
    streams: dict[int, NDArray[Any]] = field(default_factory=dict)
    entry: str | None = None

    @property
    def legacy(self) -> bool:
        """Whether the nodes are the stride-24 outlier (core page, 5.1; animation page, 10.3)."""
        return self.nodes.dtype != NODE_DTYPE

    @property
    def positions(self) -> NDArray[np.float32]:
        """Res3, (V, 3) float32, node-local, game axes."""
        return self.streams[StreamType.POSITIONS]

    @property
    def normals(self) -> NDArray[np.int8] | None:
        """Res4, (V, 4) int8, or ``None``."""
        return self.streams.get(StreamType.NORMALS)

    @property
    def uv0(self) -> NDArray[np.int16] | None:
        """Res5, (V, 2) int16, or ``None``."""
        return self.streams.get(StreamType.UV0)

    @property
    def vertex_extra(self) -> NDArray[np.uint8] | None:
        """Res18, (V, 4) uint8, or ``None``: lightmap UV or colour, by dialect."""
        return self.streams.get(StreamType.VERTEX_EXTRA)

    @property
    def indices(self) -> NDArray[np.uint16]:
        """Res6, (I,) uint16, relative to each batch's ``base_vertex``."""
        return self.streams[StreamType.INDICES]

    @property
    def triangles(self) -> Records | None:
        """Res7, ``TRIANGLE_DTYPE``, or ``None``."""
        return self.streams.get(StreamType.TRIANGLES)

    @property
    def batches(self) -> Records:
        """Res13, ``BATCH_DTYPE``."""
        return self.streams[StreamType.BATCHES]

    @property
    def keys(self) -> Records | None:
        """Res8, ``KEY_DTYPE``, or ``None``."""
        return self.streams.get(StreamType.KEYS)

    @property
    def frame_map(self) -> NDArray[np.uint16]:
        """Res19, (W,) uint16; empty where the model has none."""
        return self.streams.get(StreamType.FRAME_MAP, np.empty(0, "<u2"))

    @property
    def node_names(self) -> list[bytes] | None:
        """Res9's names without their NULs, or ``None``."""
        table = self.streams.get(StreamType.NAMES)
        if table is None:
            return None
        raw = table.tobytes()
        return [raw[i : i + 32].partition(b"\0")[0] for i in range(0, len(raw), 32)]

    @property
    def frame_count(self) -> int:
        """``attr2`` of Res19's directory entry, which the runtime reads (core page, 4.3)."""
        entry = self.archive.first_of_type(StreamType.FRAME_MAP)
        return entry.attr2 if entry else 0

    @property
    def table20_count(self) -> int:
        """``attr1`` of Res20's directory entry, which the runtime reads (core page, 4.3)."""
        entry = self.archive.first_of_type(StreamType.TABLE20)
        return entry.attr1 if entry else 0

    @property
    def parents(self) -> Sequence[int]:
        """Parent index per node, ``0xFFFF`` = root. Not for legacy nodes."""
        parents: list[int] = self.nodes["parent"].tolist()
        return parents

    def offset_of(self, stream: StreamType, row: int = 0, within: int = 0) -> int | None:
        """Byte offset in the model of a table's row (plus ``within``), if it was read."""
        entry = self.archive.first_of_type(stream)
        if entry is None:
            return None
        spec = TABLES[stream]
        stride = self.nodes.dtype.itemsize if stream is StreamType.NODES else spec.attr3
        start = self.header.dtype.itemsize if stream is StreamType.SLOTS else 0
        if spec.dtype is not None and stream is not StreamType.NODES:
            stride = spec.dtype.itemsize
        return entry.data_offset + start + stride * row + within


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
