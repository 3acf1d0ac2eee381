"""Tables to NRes bytes: the writer of core models and terrains."""

from __future__ import annotations

from ..converter.errors import ConversionError
from ..converter.formats.table_file import TableFile
from .nres import replace_entry, write_nres


def table_bytes(content: TableFile) -> dict[int, bytes]:
    """The payloads of the tables of fixed records, by type id."""
    out = {}
    for stream, table in content.streams.items():
        data = table.tobytes()
        out[stream] = content.header.tobytes() + data if content.SPECS[stream].header else data
    return out


def write_tables(
    content: TableFile, payloads: dict[int, bytes], counts: dict[int, int], hint: str | None = None
) -> bytes:
    """The bytes of a container with these tables; all that did not change keeps its bytes.

    Args:
        content: whose container it is.
        payloads: the tables, by type id.
        counts: ``attr1`` of each (docs/reference/model.md): how many records it has.
        hint: what to do where the container lacks a table.

    Raises:
        ConversionError: the container has no entry for a table that is not empty.
    """
    archive = content.archive
    for stream, data in payloads.items():
        index = next((i for i, e in enumerate(archive.entries) if e.type_id == stream), None)
        if index is None:
            if data:
                raise ConversionError(
                    "there is no such table, and the edit needs one",
                    file=archive.label,
                    table=content.SPECS[stream].label,
                    hint=hint,
                )
        elif archive.entries[index].payload != data:
            archive = replace_entry(archive, index, data, attr1=counts[stream])
    return write_nres(archive)
