"""Core models (``.msh``): their tables, plus every unknown entry (docs/reference/model.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, printable
from ..findings import Rules
from ..numeric.arrays import F32, I64, U8, U16, Records, ranges
from .nres import Archive, Entry, read_nres, write_nres
from .nres_edits import new_archive
from .tables import (
    HEADER_DTYPE,
    KEY_DTYPE,
    NAME_DTYPE,
    NODE_DTYPE,
    SLOT_DTYPE,
    Presence,
    Stored,
    TableFile,
    TableRules,
    TableSpec,
    by_type,
    read_tables,
    record_bytes,
    vector,
    write_tables,
)

#: "No lightmap": the high byte of a retail batch's material word.
NO_LIGHTMAP = 0xFF


class StreamType(IntEnum):
    """The type ids of the tables of a core model (decimal)."""

    NODES = 1
    SLOTS = 2
    POSITIONS = 3
    NORMALS = 4
    UV0 = 5
    INDICES = 6
    TRIANGLES = 7
    KEYS = 8
    NAMES = 9
    STRINGS = 10
    BATCHES = 13
    STREAM15 = 15
    TANGENTS = 16
    GRAPH = 17
    VERTEX_EXTRA = 18
    FRAME_MAP = 19
    TABLE20 = 20


#: The outlier (MTCHECK.MSH): no reader is known, so its words have no meaning here.
LEGACY_NODE_DTYPE = np.dtype([("words", "<u2", (12,))])  # +0
assert LEGACY_NODE_DTYPE.itemsize == 24

TRIANGLE_DTYPE = np.dtype(
    [
        ("tri_flags", "<u2"),  # +0
        ("link", "<u2", (3,)),  # +2   linkTri0..2, neighbour across edge k, 0xFFFF = none
        ("normal", "<i2", (3,)),  # +8   / 32767
        ("selectors", "<u2"),  # +14  selPacked: 2 bits an edge, 3 = none
    ]
)
assert TRIANGLE_DTYPE.itemsize == 16

BATCH_DTYPE = np.dtype(
    [
        ("word0", "<u2"),  # +0   batchFlags; retail: low half of u32 flags
        ("word2", "<u2"),  # +2   spec: material row; retail: high half of the flags
        ("word4", "<u2"),  # +4   retail: material row | lightmap row << 8
        ("word6", "<u2"),  # +6   retail: node behind a portal, else 0xFFFF
        ("index_count", "<u2"),  # +8
        ("index_start", "<u4"),  # +10  in Res6 elements
        ("window", "<u2"),  # +14  unk14: largest relative index + 1
        ("base_vertex", "<u4"),  # +16
    ]
)
assert BATCH_DTYPE.itemsize == 20

GRAPH_POINT_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),  # +0   in the frame of the node
        ("flags", "<u4"),  # +12
        ("node", "<u4"),  # +16
    ]
)
assert GRAPH_POINT_DTYPE.itemsize == 20

GRAPH_LINK_DTYPE = np.dtype(
    [
        ("start", "<u4"),  # +0
        ("end", "<u4"),  # +4
        ("opaque8", "<u4", (8,)),  # +8   mostly 0xFFFFFFFF
    ]
)
assert GRAPH_LINK_DTYPE.itemsize == 40

TANGENT_DTYPE = np.dtype([("tangent", "i1", (4,)), ("bitangent", "i1", (4,))])  # +0, +4
assert TANGENT_DTYPE.itemsize == 8

#: Type id -> table of a core model, in the game's order of loading (docs/reference/model.md).
TABLES = by_type(
    TableSpec(StreamType.NODES, "nodes", NODE_DTYPE, Presence.REQUIRED, 38, legacy=LEGACY_NODE_DTYPE),
    TableSpec(StreamType.SLOTS, "slots", SLOT_DTYPE, Presence.REQUIRED, 68, header=HEADER_DTYPE),
    TableSpec(StreamType.POSITIONS, "positions", vector("<f4", 3), Presence.REQUIRED, 12, True),
    TableSpec(StreamType.NORMALS, "normals", vector("i1", 4), Presence.USUAL, 4, True),
    TableSpec(StreamType.UV0, "UV0", vector("<i2", 2), Presence.USUAL, 4, True),
    TableSpec(StreamType.STRINGS, "strings", None, Presence.USUAL, 0),
    TableSpec(StreamType.KEYS, "key pool", KEY_DTYPE, Presence.STATIC_OPTIONAL, 4),
    TableSpec(StreamType.FRAME_MAP, "frame map", np.dtype("<u2"), Presence.STATIC_OPTIONAL, 2),
    TableSpec(StreamType.TRIANGLES, "triangle descriptors", TRIANGLE_DTYPE, Presence.USUAL, 16),
    TableSpec(StreamType.BATCHES, "batches", BATCH_DTYPE, Presence.REQUIRED, 20),
    TableSpec(StreamType.INDICES, "indices", np.dtype("<u2"), Presence.REQUIRED, 2),
    TableSpec(StreamType.STREAM15, "vertex stream 15", vector("u1", 8), Presence.OPTIONAL, 8, True),
    TableSpec(StreamType.TANGENTS, "tangents", TANGENT_DTYPE, Presence.OPTIONAL, 8, True),
    TableSpec(StreamType.VERTEX_EXTRA, "vertex extra", vector("u1", 4), Presence.OPTIONAL, 4, True),
    TableSpec(StreamType.TABLE20, "table 20", None, Presence.OPTIONAL, 0),
    TableSpec(StreamType.NAMES, "names", NAME_DTYPE, Presence.NOT_LOADED, 32),
    TableSpec(StreamType.GRAPH, "path graph", None, Presence.NOT_LOADED, 0),
)


# Node flags (hdr0)
NODE_COCKPIT = 0x20
# Batch flags
BATCH_PORTAL = 0x8
BATCH_LIGHTMAP = 0x2000

_rule = Rules("core model", "docs/reference/model.md#the-tables")

_ZERO = np.zeros(1, np.uint16)

MODEL_TABLES = _rule("model-tables", "error", "A core model has tables 1, 2, 3, 6 and 13.")(
    why="The game's loader needs every one of them.", fix="Take the model from a backup."
)
TABLE_STRIDE = _rule(
    "table-stride", "error", "The size of a table is a multiple of its record.", drops="the last record"
)(why="The last record would be read past the end.", fix="The table was cut: take it from a backup.")
SLOTS_SIZE = _rule(
    "slots-size", "error", "Res2 is a header of 140 bytes and slots of 68 bytes.", "#res2-header-and-slots"
)(why="The last slot would be read past the end.", fix="The table was cut: take it from a backup.")
_RULES = TableRules(missing=MODEL_TABLES, size=TABLE_STRIDE, header=SLOTS_SIZE)


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
        holder: the archive that the entry is in, and its directory index there.
    """

    SPECS: ClassVar[Mapping[int, TableSpec]] = TABLES

    strings: StringTable | None = None
    graph: PathGraph | None = None
    table20: bytes | None = None
    entry: str | None = None
    holder: tuple[Archive, int] | None = field(default=None, repr=False, compare=False)

    #: Res1, ``NODE_DTYPE`` or (``legacy``) ``LEGACY_NODE_DTYPE``.
    nodes = Stored[Records](StreamType.NODES)

    @property
    def legacy(self) -> bool:
        """Whether the nodes are the stride-24 outlier (docs/reference/model.md)."""
        return self.nodes.dtype != NODE_DTYPE

    #: Res3, (V, 3) float32, node-local, game axes.
    positions = Stored[F32](StreamType.POSITIONS)
    #: Res4, (V, 4) int8, or ``None``.
    normals = Stored[NDArray[np.int8] | None](StreamType.NORMALS, None)
    #: Res5, (V, 2) int16, or ``None``.
    uv0 = Stored[NDArray[np.int16] | None](StreamType.UV0, None)
    #: Res18, (V, 4) uint8, or ``None``: lightmap UV or colour, by dialect.
    vertex_extra = Stored[U8 | None](StreamType.VERTEX_EXTRA, None)
    #: Res6, (I,) uint16, relative to each batch's ``base_vertex``.
    indices = Stored[U16](StreamType.INDICES)
    #: Res7, ``TRIANGLE_DTYPE``, or ``None``.
    triangles = Stored[Records | None](StreamType.TRIANGLES, None)
    #: Res13, ``BATCH_DTYPE``.
    batches = Stored[Records](StreamType.BATCHES)
    #: Res8, ``KEY_DTYPE``, or ``None``.
    keys = Stored[Records | None](StreamType.KEYS, None)
    #: Res19, (W,) uint16; empty where the model has none.
    frame_map = Stored[U16](StreamType.FRAME_MAP, np.empty(0, "<u2"))
    #: Res9, ``NAME_DTYPE``, or ``None``.
    names = Stored[Records | None](StreamType.NAMES, None)

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


def largest_indices(model: MshModel) -> I64:
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


def drawn_triangles(model: MshModel) -> tuple[I64, I64]:
    """Return the vertices of the triangles of whole batches, (n, 3), and the rows of their descriptors, (n,)."""
    batches = model.batches
    whole = (batches["index_count"] % 3 == 0) & (batches["index_start"] % 3 == 0)
    start, length = (batches[k][whole].astype(np.int64) for k in ("index_start", "index_count"))
    at = ranges(start, length)
    base = np.repeat(batches["base_vertex"][whole].astype(np.int64), length)
    return (model.indices[at] + base).reshape(-1, 3), at[::3] // 3


def model_at(archive: Archive, index: int | None, file_name: str, *, cut: bool = False) -> MshModel:
    """The core model in an entry of an archive, or (``None``) the one that the file itself is, which is called like it.

    ``cut``: as of :func:`read_model`. Raises ConversionError: not a model, or a table of a wrong size.
    """
    if index is None:
        return read_model(archive, file_name, cut=cut)
    member = archive.entries[index]
    try:
        inner = read_nres(member.payload, archive.label)
        model = read_model(inner, member.name, cut=cut)
    except ConversionError as error:
        raise error.at(file=archive.label, entry=printable(member.name)) from None
    model.entry, model.holder = member.name, (archive, index)
    return model


def read_model(archive: Archive, name: str, *, cut: bool = False) -> MshModel:
    """The tables of a model's container; unknown entries stay in the container. ``cut``: tables that end inside a
    record are read up to it, and ``MshModel.cut`` says so.

    Raises ConversionError: a required table is missing, or a size does not fit its records.
    """
    tables = read_tables(archive, TABLES, what="core model", rules=_RULES, cut=cut)
    model = MshModel(name, archive, *tables)
    if (strings := archive.first_of_type(StreamType.STRINGS)) is not None:
        model.strings = _strings(strings, len(model.nodes))
    if (graph := archive.first_of_type(StreamType.GRAPH)) is not None:
        model.graph = _graph(graph)
    if (table20 := archive.first_of_type(StreamType.TABLE20)) is not None:
        model.table20 = bytes(table20.payload)
    return model


def _strings(entry: Entry, count: int) -> StringTable:
    """As many strings as there are; ``check_model`` reports the first that runs past the table."""
    data = bytes(entry.payload)
    records: list[bytes] = []
    at = 0
    for _ in range(count):
        length = int.from_bytes(data[at : at + 4], "little")
        end = at + 4 + (length + 1 if length else 0)
        if end > len(data):
            break
        records.append(data[at + 4 : end])
        at = end
    return StringTable(records, data[at:])


def _graph(entry: Entry) -> PathGraph | None:
    split = GRAPH_POINT_DTYPE.itemsize * entry.attr1
    if entry.size != split + GRAPH_LINK_DTYPE.itemsize * entry.attr2:
        return None
    return PathGraph(
        np.frombuffer(entry.payload[:split], GRAPH_POINT_DTYPE), np.frombuffer(entry.payload[split:], GRAPH_LINK_DTYPE)
    )


def write_model(model: MshModel) -> bytes:
    """The bytes of a model. Tables that were not changed keep every byte, place and gap."""
    archive, payloads, counts = model.archive, table_bytes(model), _counts(model)
    if all(not entry.size and not entry.data_offset for entry in archive.entries):
        # a new model: nothing has a place yet
        entries = [
            replace(e, payload=payloads.get(e.type_id, b""), attr1=counts.get(e.type_id, 0)) for e in archive.entries
        ]
        return write_nres(new_archive(entries, archive.label))
    return write_tables(model, payloads, counts)


def _counts(model: MshModel) -> dict[int, int]:
    """``attr1`` of every table (docs/reference/model.md): how many records it has."""
    return {stream: len(table) for stream, table in model.streams.items()} | {
        StreamType.STRINGS: len(model.nodes),
        StreamType.GRAPH: 0 if model.graph is None else len(model.graph.points),
        StreamType.TABLE20: model.table20_count,
    }


def table_bytes(model: MshModel) -> dict[int, bytes]:
    """The payload of every known table that the model has, by type id."""
    out = record_bytes(model)
    if model.strings is not None:
        out[StreamType.STRINGS] = encode_strings(model.strings)
    if model.graph is not None:
        out[StreamType.GRAPH] = model.graph.points.tobytes() + model.graph.links.tobytes()
    if model.table20 is not None:
        out[StreamType.TABLE20] = model.table20
    return out


def encode_strings(table: StringTable) -> bytes:
    """Res10: a length word, then the text and its NUL, or nothing (docs/reference/model.md)."""
    parts = []
    for record in table.records:
        parts += [(len(record) - 1 if record else 0).to_bytes(4, "little"), record]
    return b"".join(parts) + table.tail
