"""Core model bytes to :class:`~converter.formats.model.MshModel` (core page, 3-5).

A table is found by type id, the first of its type, as the runtime does; order means nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..converter.errors import ConversionError, printable
from ..converter.formats.archive import Archive, Entry
from ..converter.formats.model import MshModel, PathGraph, Records, StringTable
from ..converter.formats.tables import (
    AREAL_MAP_TYPE,
    CORE_MODEL_TYPES,
    GRAPH_LINK_DTYPE,
    GRAPH_POINT_DTYPE,
    HEADER_DTYPE,
    LEGACY_NODE_DTYPE,
    NODE_DTYPE,
    SLOT_DTYPE,
    TABLES,
    TERRAIN_TYPES,
    Presence,
    StreamType,
)
from ..converter.formats.texture import TEXM_TYPE
from .nres import is_nres, read_file, read_nres


def content_kind(data: memoryview | bytes, label: str = "") -> str:
    """``model``, ``terrain``, ``areal map``, ``archive`` or ``other``, by content alone.

    Args:
        data: a whole file or an entry's payload.
        label: what messages call it.

    Raises:
        ConversionError: it is an NRes file with a broken directory.
    """
    return archive_kind(read_nres(data, label)) if is_nres(data) else "other"


def archive_kind(archive: Archive) -> str:
    """What an NRes file holds, by its type ids (``container`` page, last paragraph)."""
    types = archive.type_ids
    if types >= CORE_MODEL_TYPES:
        return "model"
    if types >= TERRAIN_TYPES and StreamType.INDICES not in types:
        return "terrain"
    if AREAL_MAP_TYPE in types and max(types) <= 0xFF:
        return "areal map"
    return "archive"


def models_in(archive: Archive) -> list[int]:
    """Directory indices of the entries whose payload is a core model."""
    found = []
    for i, entry in enumerate(archive.entries):
        if is_nres(entry.payload):
            try:
                if content_kind(entry.payload, archive.label) == "model":
                    found.append(i)
            except ConversionError:
                continue  # a broken entry: reading it by name says what is wrong
    return found


def kind_at(archive: Archive, index: int | None) -> str:
    """What an entry is, or the file itself: ``model``, ``terrain``, ``areal map``.

    Everything else is called a model: reading it as one says what is wrong.

    Raises:
        ConversionError: the entry has a broken directory.
    """
    if index is None:
        kind = archive_kind(archive)
    else:
        kind = content_kind(archive.entries[index].payload, archive.label)
    return kind if kind in ("terrain", "areal map") else "model"


def read_msh(path: Path, entry: str | None = None) -> MshModel:
    """Read a core model from its own file, or from an archive entry.

    Args:
        path: a ``.msh`` file or an archive that holds models.
        entry: the entry's name (case does not matter), or its directory index as a number;
            may be left out where the file is a model or holds just one.

    Raises:
        ConversionError: unreadable, no such entry, no model, or a table that cannot be true.
    """
    archive = read_nres(read_file(path), str(path))
    return model_at(archive, find_model(archive, entry), path.name)


def model_at(archive: Archive, index: int | None, file_name: str) -> MshModel:
    """The core model in an entry of an archive, or the one that the file itself is.

    Args:
        archive: the file.
        index: directory index of the entry; ``None``: the file is the model.
        file_name: its name, which names the model in the latter case.

    Raises:
        ConversionError: no model, or a table that cannot be true.
    """
    if index is None:
        return read_model(archive, file_name)
    member = archive.entries[index]
    try:
        model = read_model(read_nres(member.payload, archive.label), member.name)
    except ConversionError as error:
        raise error.at(file=archive.label, entry=printable(member.name)) from None
    model.entry = member.name
    return model


def find_model(archive: Archive, wanted: str | None) -> int | None:
    """Directory index of what a user means; ``None``: the file itself, which is no archive.

    Args:
        archive: the file.
        wanted: an entry's name (case does not matter) or directory index; ``None``: the file
            itself, or the only model in it.

    Raises:
        ConversionError: no such entry, or several models to choose from.
    """
    if wanted is None:
        if archive_kind(archive) != "archive":
            return None
        models = models_in(archive)
        if len(models) == 1:
            return models[0]
        names = [printable(archive.entries[i].name) for i in models]
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        hint = f"choose one with --entry NAME: {shown}; or all with -o DIR" if models else None
        if not models and TEXM_TYPE in archive.type_ids:
            hint = "choose a texture with --entry NAME"
        raise ConversionError(
            f"archive holds {len(models)} models" if models else "archive holds no core model",
            file=archive.label,
            hint=hint,
        )
    index = archive.find(wanted)
    if index is None and wanted.isdecimal() and int(wanted) < len(archive.entries):
        index = int(wanted)
    if index is None:
        raise ConversionError(
            "no such entry",
            file=archive.label,
            value=wanted,
            hint="msh-inspect FILE lists the entries",
        )
    return index


def read_model(archive: Archive, name: str) -> MshModel:
    """The tables of a model's container; unknown entries stay in the container.

    Args:
        archive: the model's own NRes container.
        name: the model's file or entry name.

    Raises:
        ConversionError: a required table is missing, or a size does not fit its stride.
    """
    first = {entry.type_id: entry for entry in reversed(archive.entries)}
    if missing := sorted(CORE_MODEL_TYPES - first.keys()):
        absent = ", ".join(TABLES[i].label for i in missing)
        kind = archive_kind(archive)
        raise ConversionError(
            "not a core model",
            file=archive.label,
            value=f"{kind} without {absent}",
            expected="tables 1, 2, 3, 6 and 13",
            code="model-tables",
        )
    header, slots = _slots(archive, first[StreamType.SLOTS])
    model = MshModel(name, archive, _nodes(archive, first[StreamType.NODES]), header, slots)
    for spec in TABLES.values():
        entry = first.get(spec.stream)
        if entry is None or spec.dtype is None or spec.stream is StreamType.NODES:
            continue
        # Res9 is not the loader's: a size that does not fit is kept as an unknown entry.
        if spec.presence is Presence.NOT_LOADED and entry.size % spec.dtype.itemsize:
            continue
        _require_stride(archive, spec.stream, entry, spec.dtype.itemsize)
        model.streams[spec.stream] = np.frombuffer(entry.payload, spec.dtype)
    if (strings := first.get(StreamType.STRINGS)) is not None:
        model.strings = _strings(strings, len(model.nodes))
    if (graph := first.get(StreamType.GRAPH)) is not None:
        model.graph = _graph(graph)
    if (table20 := first.get(StreamType.TABLE20)) is not None:
        model.table20 = bytes(table20.payload)
    return model


def _require_stride(archive: Archive, stream: StreamType, entry: Entry, stride: int) -> None:
    if entry.size % stride:
        raise ConversionError(
            "size is no multiple of the record",
            file=archive.label,
            table=TABLES[stream].label,
            row=entry.size // stride,
            offset=entry.data_offset,
            value=f"{entry.size} bytes",
            expected=f"a multiple of {stride}",
            code="table-stride",
        )


def _nodes(archive: Archive, entry: Entry) -> Records:
    dtype = LEGACY_NODE_DTYPE if entry.attr3 == LEGACY_NODE_DTYPE.itemsize else NODE_DTYPE
    _require_stride(archive, StreamType.NODES, entry, dtype.itemsize)
    return np.frombuffer(entry.payload, dtype)


def _slots(archive: Archive, entry: Entry) -> tuple[Records, Records]:
    size = HEADER_DTYPE.itemsize
    if entry.size < size or (entry.size - size) % SLOT_DTYPE.itemsize:
        raise ConversionError(
            "size does not fit a header and slots",
            file=archive.label,
            table=TABLES[StreamType.SLOTS].label,
            row=max(0, entry.size - size) // SLOT_DTYPE.itemsize,
            offset=entry.data_offset,
            value=f"{entry.size} bytes",
            expected=f"{size} + n * {SLOT_DTYPE.itemsize}",
            code="slots-size",
        )
    header = np.frombuffer(entry.payload[:size], HEADER_DTYPE)
    return header, np.frombuffer(entry.payload[size:], SLOT_DTYPE)


def _strings(entry: Entry, count: int) -> StringTable:
    """As many strings as there are; ``check_model`` says which one runs past the table."""
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
        np.frombuffer(entry.payload[:split], GRAPH_POINT_DTYPE),
        np.frombuffer(entry.payload[split:], GRAPH_LINK_DTYPE),
    )
