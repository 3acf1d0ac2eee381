"""What a file holds, by content: a model, a terrain, an areal map, or an archive of them."""

from __future__ import annotations

from pathlib import Path

from ..converter.errors import ConversionError, printable
from ..converter.formats.archive import Archive, Entry
from ..converter.formats.kinds import (
    MISSION_FILE,
    MODEL_TYPE,
    SCENE_KINDS,
    Kind,
    archive_kind,
    kind_by_name,
    kind_of_types,
)
from ..converter.formats.texture import TEXM_TYPE
from .nres import entry_types, is_nres, read_nres
from .unit import is_unit


def content_kind(data: memoryview | bytes, label: str = "") -> Kind:
    """Tell by its content what an NRes file is; ``UNKNOWN`` where it is not one.

    Args:
        data: a whole file or an entry's payload.
        label: what messages call it.

    Raises:
        ConversionError: it is an NRes file with a broken directory.
    """
    return archive_kind(read_nres(data, label)) if is_nres(data) else Kind.UNKNOWN


def file_kind(archive: Archive) -> Kind:
    """Tell what an NRes file is: by content; by its name where a table is missing."""
    types = archive.type_ids
    kind = kind_by_name(types, archive.label)
    if kind is kind_of_types(types) or max(types, default=0) <= 0xFF:
        return kind
    # called a model, but its types are those of an archive's entries
    return Kind.ARCHIVE if any(is_nres(entry.start(4)) for entry in archive.entries) else kind


def entry_kind(entry: Entry, label: str) -> Kind:
    """Tell what an entry is, of which no more than the directory of a container is read.

    Args:
        entry: the entry.
        label: what messages call its file.

    Returns:
        ``UNKNOWN`` where it is not a container. A container that is called a model, and is nothing
        else, counts as one: reading it says what is wrong.

    Raises:
        ConversionError: the container has a broken directory.
    """
    if not is_nres(entry.start(4)):
        return Kind.UNKNOWN
    kind = kind_by_name(entry_types(entry, label), entry.name)
    return Kind.MODEL if kind is Kind.ARCHIVE and entry.type_id == MODEL_TYPE else kind


def assembly_kind(path: Path, head: memoryview | bytes) -> Kind | None:
    """Tell whether a file is a unit or a mission; ``None``: it is neither.

    Args:
        path: the file; a mission is recognised by its name.
        head: its first bytes, four or more.
    """
    if is_unit(head):
        return Kind.UNIT
    is_mission = path.name.lower() == MISSION_FILE or path.suffix.lower() == ".tma"
    return Kind.MISSION if is_mission and not is_nres(head) else None


def mission_in(folder: Path) -> Path | None:
    """Return the mission of a directory, ``data.tma`` in any case; ``None``: it has none."""
    try:
        names = sorted(path for path in folder.iterdir() if path.name.lower() == MISSION_FILE)
    except OSError:
        return None
    return names[0] if names else None


def models_in(archive: Archive) -> list[int]:
    """Directory indices of the entries whose payload is a core model."""
    found = []
    for i, entry in enumerate(archive.entries):
        if is_nres(entry.start(4)):
            try:
                if kind_of_types(entry_types(entry, archive.label)) is Kind.MODEL:
                    found.append(i)
            except ConversionError:
                continue  # a broken entry: reading it by name reports the error
    return found


def kind_at(archive: Archive, index: int | None) -> Kind:
    """Tell which of ``SCENE_KINDS`` an entry is, or the file itself.

    Everything else counts as a model: reading it as one reports what is wrong.

    Raises:
        ConversionError: the entry has a broken directory.
    """
    if index is None:
        kind = file_kind(archive)
    else:
        kind = entry_kind(archive.entries[index], archive.label)
    return kind if kind in SCENE_KINDS else Kind.MODEL


def find_model(archive: Archive, wanted: str | None) -> int | None:
    """Directory index of what a user means; ``None``: the file itself, which is not an archive.

    Args:
        archive: the file.
        wanted: an entry's name (case does not matter) or directory index; ``None``: the file
            itself, or the only model in it.

    Raises:
        ConversionError: no such entry, or several models to choose from.
    """
    if wanted is None:
        if file_kind(archive) is not Kind.ARCHIVE:
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
            "no such entry", file=archive.label, value=wanted, hint="msh-inspect FILE lists the entries"
        )
    return index
