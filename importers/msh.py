"""Core model bytes to :class:`~converter.formats.model.MshModel` (docs/reference/model.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..converter.errors import ConversionError, printable
from ..converter.formats.archive import Archive, Entry
from ..converter.formats.model import MODEL_TABLES, SLOTS_SIZE, TABLE_STRIDE, MshModel, PathGraph, StringTable
from ..converter.formats.tables import GRAPH_LINK_DTYPE, GRAPH_POINT_DTYPE, TABLES, StreamType
from .content import find_model
from .nres import read_file, read_nres
from .tables import TableRules, read_tables

_RULES = TableRules(missing=MODEL_TABLES, size=TABLE_STRIDE, header=SLOTS_SIZE)


def read_msh(path: Path, entry: str | None = None) -> MshModel:
    """Read a core model from its own file, or from an archive entry.

    Args:
        path: a ``.msh`` file or an archive that holds models.
        entry: the entry's name (case does not matter), or its directory index as a number;
            may be left out where the file is a model or holds just one.

    Raises:
        ConversionError: unreadable, no such entry, not a model, or a table of a wrong size.
    """
    archive = read_nres(read_file(path), str(path))
    return model_at(archive, find_model(archive, entry), path.name)


def model_at(archive: Archive, index: int | None, file_name: str, *, cut: bool = False) -> MshModel:
    """The core model in an entry of an archive, or the one that the file itself is.

    Args:
        archive: the file.
        index: directory index of the entry; ``None``: the file is the model.
        file_name: its name, which names the model in the latter case.
        cut: as of :func:`read_model`.

    Raises:
        ConversionError: not a model, or a table of a wrong size.
    """
    if index is None:
        return read_model(archive, file_name, cut=cut)
    member = archive.entries[index]
    try:
        inner = read_nres(member.payload, archive.label)
        model = read_model(inner, member.name, cut=cut)
    except ConversionError as error:
        raise error.at(file=archive.label, entry=printable(member.name)) from None
    model.entry = member.name
    return model


def read_model(archive: Archive, name: str, *, cut: bool = False) -> MshModel:
    """The tables of a model's container; unknown entries stay in the container.

    Args:
        archive: the model's own NRes container.
        name: the model's file or entry name.
        cut: tables that end inside a record are read up to it, and ``MshModel.cut`` says so.

    Raises:
        ConversionError: a required table is missing, or a size does not fit its records.
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
