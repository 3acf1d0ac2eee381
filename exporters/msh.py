""":class:`~converter.formats.model.MshModel` to core model bytes (core page, 8)."""

from __future__ import annotations

from dataclasses import replace

from ..converter.errors import ConversionError
from ..converter.formats.model import MshModel, StringTable
from ..converter.formats.tables import TABLES, StreamType
from .nres import new_archive, replace_entry, write_nres


def write_model(model: MshModel) -> bytes:
    """The bytes of a model. Tables that were not changed keep every byte, place and gap."""
    archive = model.archive
    tables = table_bytes(model)
    if all(not entry.size and not entry.data_offset for entry in archive.entries):
        # a new model: nothing has a place yet
        entries = [
            replace(e, payload=tables.get(e.type_id, b""), attr1=_count(model, e.type_id))
            for e in archive.entries
        ]
        return write_nres(new_archive(entries, archive.label))
    for stream, data in tables.items():
        index = next((i for i, e in enumerate(archive.entries) if e.type_id == stream), None)
        if index is None:
            if data:
                raise ConversionError(
                    "the model has no such table, and the edit needs one",
                    file=archive.label,
                    table=TABLES[stream].label,
                    hint="rebuild the whole model with --no-sidecar",
                )
        elif archive.entries[index].payload != data:
            archive = replace_entry(archive, index, data, attr1=_count(model, stream))
    return write_nres(archive)


def _count(model: MshModel, stream: int) -> int:
    """``attr1`` of a table (core page, 8.2): how many records it has."""
    if stream in (StreamType.NODES, StreamType.STRINGS):
        return len(model.nodes)
    if stream == StreamType.SLOTS:
        return len(model.slots)
    if stream == StreamType.GRAPH:
        return 0 if model.graph is None else len(model.graph.points)
    if stream == StreamType.TABLE20:
        return model.table20_count
    return len(model.streams[stream]) if stream in model.streams else 0


def table_bytes(model: MshModel) -> dict[int, bytes]:
    """The payload of every known table that the model has, by type id."""
    out = {
        int(StreamType.NODES): model.nodes.tobytes(),
        int(StreamType.SLOTS): model.header.tobytes() + model.slots.tobytes(),
    }
    if model.strings is not None:
        out[StreamType.STRINGS] = encode_strings(model.strings)
    if model.graph is not None:
        out[StreamType.GRAPH] = model.graph.points.tobytes() + model.graph.links.tobytes()
    if model.table20 is not None:
        out[StreamType.TABLE20] = model.table20
    out.update((stream, table.tobytes()) for stream, table in model.streams.items())
    return out


def encode_strings(table: StringTable) -> bytes:
    """Res10: a length word, then the text and its NUL, or nothing (core page, 5.9)."""
    parts = []
    for record in table.records:
        parts += [(len(record) - 1 if record else 0).to_bytes(4, "little"), record]
    return b"".join(parts) + table.tail
