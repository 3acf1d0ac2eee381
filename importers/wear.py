"""WEAR bytes (``.wea``) to :class:`~converter.formats.wear.Wear`, and where a model's WEAR lies.

Source: docs/reference/wear.md.
"""

from __future__ import annotations

from pathlib import Path

from ..converter.errors import ConversionError
from ..converter.findings import Finding
from ..converter.formats.archive import Archive, decode_text
from ..converter.formats.wear import LEVEL_ENDINGS, WEAR_TYPE, Wear, row_name
from .nres import read_file


def read_wear(data: memoryview | bytes, label: str) -> tuple[Wear, list[Finding]]:
    """Read any bytes as a WEAR; what is invalid is kept and reported.

    Args:
        data: the file.
        label: what messages call it.

    Returns:
        The text, and the findings of :meth:`Wear.check`: their ``row`` is the line's number,
        counted from 1.
    """
    wear = Wear(decode_text(bytes(data)), label)
    return wear, wear.check()


def read_wear_names(data: memoryview | bytes) -> list[str]:
    """The material names by row; empty where the text is not a WEAR.

    Every line that the count covers is a row here, whatever it holds;
    :attr:`Wear.materials` stops at ``LIGHTMAPS``. Without error findings both are the same.
    """
    lines = decode_text(bytes(data)).splitlines()
    if not lines or not lines[0].strip().isdecimal():
        return []
    count = lines[0].strip()
    last = 1 + int(count) if len(count) < 10 else len(lines)
    return [row_name(line) for line in lines[1:last]]


def read_lightmap_names(data: memoryview | bytes) -> list[str]:
    """The lightmap names by row; empty where there is no such section."""
    text = bytes(data)
    return Wear(decode_text(text)).lightmaps if b"LIGHTMAPS" in text.upper() else []


def wear_of(archive: Archive, path: Path, index: int | None) -> memoryview | bytes:
    """The WEAR text that belongs to a model: the ``.wea`` of its name, beside it.

    Args:
        archive: the file that the model is, or is in.
        path: that file's path.
        index: directory index of the model's entry; ``None``: the file is the model.

    Returns:
        The bytes; empty where there is none.
    """
    return companion(archive, path, index, ".wea", WEAR_TYPE)


def companion(archive: Archive, path: Path, index: int | None, suffix: str, type_id: int) -> memoryview | bytes:
    """What lies beside a model under its name: the entry of a type, or the file.

    Arguments and result as of :func:`wear_of`.
    """
    if index is not None:
        name = archive.entries[index].name
        found = archive.find(f"{name.rpartition('.')[0] or name}{suffix}")
        if found is None or archive.entries[found].type_id != type_id:
            return b""
        return archive.entries[found].payload
    return _beside(path, path.with_suffix(suffix).name)


def wears_of_level(archive: Archive, path: Path, index: int | None) -> tuple[bytes, bytes]:
    """The WEAR texts of a terrain: ``Land1.wea``, ``Land2.wea`` beside it (docs/reference/wear.md).

    Arguments as of :func:`wear_of`; case does not matter.
    """
    name = path.name if index is None else archive.entries[index].name
    stem = name.rpartition(".")[0] or name
    texts = []
    for ending in LEVEL_ENDINGS:
        wanted = f"{stem}{ending}"
        if index is None:
            texts.append(bytes(_beside(path, wanted)))
        else:
            found = archive.find(wanted)
            texts.append(b"" if found is None else bytes(archive.entries[found].payload))
    return texts[0], texts[1]


def file_beside(path: Path, name: str) -> Path | None:
    """The file of that name, in any case, in a file's directory."""
    try:
        return min((p for p in path.parent.iterdir() if p.name.lower() == name.lower()), default=None)
    except OSError:
        return None


def _beside(path: Path, name: str) -> memoryview | bytes:
    """Its bytes; empty where there is none."""
    found = file_beside(path, name)
    try:
        return read_file(found) if found is not None else b""
    except ConversionError:
        return b""  # names are optional: the rows are in the file
