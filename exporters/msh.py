""":class:`~converter.formats.model.MshModel` to core model bytes (docs/reference/model.md)."""

from __future__ import annotations

from dataclasses import replace

from ..converter.formats.model import MshModel, StringTable
from ..converter.formats.tables import StreamType
from . import tables
from .nres import new_archive, write_nres


def write_model(model: MshModel) -> bytes:
    """The bytes of a model. Tables that were not changed keep every byte, place and gap.

    Raises:
        ConversionError: a table that the container does not have.
    """
    archive, payloads, counts = model.archive, table_bytes(model), _counts(model)
    if all(not entry.size and not entry.data_offset for entry in archive.entries):
        # a new model: nothing has a place yet
        entries = [
            replace(e, payload=payloads.get(e.type_id, b""), attr1=counts.get(e.type_id, 0)) for e in archive.entries
        ]
        return write_nres(new_archive(entries, archive.label))
    return tables.write_tables(model, payloads, counts, hint="rebuild the whole model with --no-sidecar")


def _counts(model: MshModel) -> dict[int, int]:
    """``attr1`` of every table (docs/reference/model.md): how many records it has."""
    return {stream: len(table) for stream, table in model.streams.items()} | {
        StreamType.STRINGS: len(model.nodes),
        StreamType.GRAPH: 0 if model.graph is None else len(model.graph.points),
        StreamType.TABLE20: model.table20_count,
    }


def table_bytes(model: MshModel) -> dict[int, bytes]:
    """The payload of every known table that the model has, by type id."""
    out = tables.table_bytes(model)
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
