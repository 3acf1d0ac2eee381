"""Material names from WEAR text (``.wea``; ``evidence`` page, Text and materials).

A count, then that many ``<id> <name>`` rows, then an optional ``LIGHTMAPS`` section. Rows are
selected by position. Only the names are read here.
"""

from __future__ import annotations

from pathlib import Path

from converter.archive import Archive, decode_text
from converter.errors import ConversionError
from importers.nres import is_nres, map_file, read_nres

_WEAR = int.from_bytes(b"WEAR", "little")


def read_wear_names(data: memoryview | bytes) -> list[str]:
    """The material names by row; empty where the text is not a WEAR."""
    lines = decode_text(bytes(data)).splitlines()
    if not lines or not lines[0].strip().isdecimal():
        return []
    rows = [line.split(None, 1) for line in lines[1 : 1 + int(lines[0])]]
    return [row[1].strip() if len(row) == 2 else "" for row in rows]


def wear_beside(path: Path, entry: str | None) -> list[str]:
    """Material names of a model: the ``.wea`` of its name, in its archive or beside its file.

    Args:
        path: the model's file or archive.
        entry: the model's entry name, ``None`` for a file of its own.

    Returns:
        Names by row; empty where there is none.
    """
    if entry is not None:
        data = map_file(path)
        return _in_archive(read_nres(data, str(path)), entry) if is_nres(data) else []
    wanted = path.with_suffix(".wea").name.lower()
    try:
        found = sorted(p for p in path.parent.iterdir() if p.name.lower() == wanted)
        return read_wear_names(map_file(found[0])) if found else []
    except (OSError, ConversionError):
        return []  # names are a courtesy: the rows are in the file


def _in_archive(archive: Archive, entry: str) -> list[str]:
    stem = entry.rpartition(".")[0] or entry
    index = archive.find(f"{stem}.wea")
    if index is None or archive.entries[index].type_id != _WEAR:
        return []
    return read_wear_names(archive.entries[index].payload)
