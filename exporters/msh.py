""":class:`~converter.model.MshModel` to core model bytes (core page, 8)."""

from __future__ import annotations

from converter.model import MshModel, StringTable
from converter.tables import StreamType
from exporters.nres import replace_entry, write_nres


def write_model(model: MshModel) -> bytes:
    """The bytes of a model. Tables that were not changed keep every byte, place and gap."""
    archive = model.archive
    for stream, data in table_bytes(model).items():
        index = next(i for i, e in enumerate(archive.entries) if e.type_id == stream)
        if archive.entries[index].payload != data:
            archive = replace_entry(archive, index, data)
    return write_nres(archive)


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
