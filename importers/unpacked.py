"""A folder of loose files as the library that it was unpacked from.

Tools like ParkanISExtractor unpack an archive into a folder, every entry a file of its name. What
the directory says of an entry is lost: a material's draw mode, for one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

from ..converter.errors import ConversionError
from ..converter.formats.archive import Archive, Entry, Later, decode_text, encode_name, fold_upper
from ..converter.formats.material import MATERIAL_TYPE, MATERIAL_VERSION
from ..converter.formats.texture import TEXM_MAGIC, TEXM_TYPE
from .material import read_material
from .nres import Stamp, read_file, stamp


def find_library(folder: Path, name: str) -> Path | None:
    """Find a library in a folder, packed or not, in any case.

    Args:
        folder: where it is looked for.
        name: ``Material.lib``, ``Textures.lib`` or ``lightmap.lib``.

    Returns:
        A file or a folder of that name; else a folder of that name without its ending that holds
        such entries; ``None`` where there is neither.

    Raises:
        OSError: the folder cannot be listed.
    """
    return find_libraries(folder, [name]).get(name)


def find_libraries(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Find several libraries in a folder, which is listed once; as :func:`find_library`."""
    files = [(file.lower(), file) for file in sorted(os.listdir(folder))]
    found: dict[str, Path] = {}
    for name in names:
        wanted = name.lower()
        stem = wanted.rpartition(".")[0]
        for lower, file in files:
            if lower == wanted:
                found[name] = folder / file
                break
        else:
            for path in (folder / file for lower, file in files if lower == stem):
                with suppress(OSError):  # what cannot be listed is not a library
                    if path.is_dir() and _holds_entries(path, name, folder_stamp(path)):
                        found[name] = path
                        break
    return found


@lru_cache(maxsize=16)
def _holds_entries(folder: Path, name: str, now: tuple[Stamp, ...]) -> bool:
    """Whether a folder holds an entry of a library's kind; the stamps make it a new question."""
    archive = open_unpacked(folder, name)
    for entry in archive.entries:
        try:
            if entry.type_id == MATERIAL_TYPE:
                read_material(entry, name)
            elif entry.start(len(TEXM_MAGIC)) != TEXM_MAGIC:
                continue
        except ConversionError:
            continue
        return True
    return False


def folder_stamp(folder: Path) -> tuple[Stamp, ...]:
    """Return the stamps of a folder and of every file in it.

    Raises:
        OSError: the folder cannot be listed.
    """
    with os.scandir(folder) as found:
        return stamp(folder), *(stamp(entry.path) for entry in found if _is_file(entry))


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a file; a link in a circle is not one."""
    try:
        return entry.is_file()
    except OSError:
        return False


def open_unpacked(folder: Path, label: str) -> Archive:
    """Read the names of a folder's files as an archive; payloads are read on access.

    The order of the entries is lost: it is that of their names.

    Args:
        folder: where the files are; those whose names CP1251 lacks are left out.
        label: what messages call it; whether it holds materials or textures depends on its name.

    Raises:
        ConversionError: the folder cannot be listed.
    """
    materials = Path(label).name.lower().startswith("material")
    type_id, version = (MATERIAL_TYPE, MATERIAL_VERSION) if materials else (TEXM_TYPE, 0)
    try:
        with os.scandir(folder) as found:
            sizes = {entry.name: entry.stat().st_size for entry in found if _is_file(entry)}
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise ConversionError(problem, file=str(folder)) from error
    raw = {name: encode_name(name) for name in sizes}
    names = [name for name in raw if decode_text(raw[name]) == name]
    names.sort(key=lambda name: (fold_upper(raw[name]), raw[name]))
    entries = [
        Entry(type_id, 0, version, 0, raw[name] + b"\0", 0, row, _later(folder / name, sizes[name]))
        for row, name in enumerate(names)
    ]
    return Archive(label, entries=entries)


def _later(path: Path, size: int) -> Later:
    return Later(size, partial(_read_file, path, size))


def _read_file(path: Path, size: int, start: int, count: int) -> memoryview:
    """A file; what has grown since it was listed is read as it is now, unless less is asked for."""
    data = read_file(path)
    return data if count == size else data[start : start + count]
