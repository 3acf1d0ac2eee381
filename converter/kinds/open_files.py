"""Open the game's files by path: archives, models, what lies beside them, and unpacked libraries."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConversionError
from ..files import Later, Stamp, names_in, open_file, read_file, stamp
from ..formats.control_points import POINTS_ENDING, POINTS_TYPE
from ..formats.kinds import MISSION_FILE, Kind, archive_kind, find_model
from ..formats.material import MATERIAL_TYPE, MATERIAL_VERSION, read_material
from ..formats.model import MshModel, model_at
from ..formats.names import decode_text, encode_name, fold_upper, stem
from ..formats.nres import Archive, Entry, is_nres, read_nres
from ..formats.registry import Registry, is_registry, read_registry
from ..formats.texture import TEXM_MAGIC, TEXM_TYPE
from ..formats.unit import Unit, is_unit, read_unit
from ..formats.wear import LEVEL_ENDINGS, WEAR_TYPE
from ..storage import cannot_read, if_there
from .unpacked import entry_file, entry_name, file_beside, layout_of, rows_of

if TYPE_CHECKING:
    from ..formats.mission import Mission


def open_nres(path: Path, label: str, *, longer: bool = False) -> Archive:
    """Read an NRes file's directory; payloads are read on access. Arguments as of :func:`read_nres`.

    Raises:
        ConversionError: as of :func:`read_nres` and :func:`open_file`.
    """
    return read_nres(open_file(path), label, longer=longer)


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


def mission_in(folder: Path) -> Path | None:
    """Return the mission of a directory, ``data.tma`` in any case; ``None``: it has none."""
    with if_there(folder):
        return next((folder / name for name in names_in(folder).get(MISSION_FILE, ())), None)
    return None


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


def companion(
    archive: Archive, path: Path, index: int | None, suffix: str, type_id: int | None = None
) -> memoryview | bytes:
    """What lies beside a model under its name: the entry, of a type if one is given, or the file.

    Arguments and result as of :func:`wear_of`; case does not matter. Where several models of an
    archive have one name, and as many companions, each has the one of its number.
    """
    name = stem(entry_name(path) if index is None else archive.entries[index].name) + suffix
    if index is None:
        return _beside(path, name)
    found = archive.find(name)
    if found is None or type_id not in (None, archive.entries[found].type_id):
        return b""
    same = sorted(archive.namesakes(archive.entries[index].name_bytes))
    if len(same) > 1:
        theirs = [i for i in sorted(archive.namesakes(name)) if type_id in (None, archive.entries[i].type_id)]
        found = theirs[same.index(index)] if len(theirs) == len(same) else found
    return archive.entries[found].payload


def wears_of_level(archive: Archive, path: Path, index: int | None) -> tuple[bytes, bytes]:
    """The WEAR texts of a terrain: ``Land1.wea``, ``Land2.wea`` beside it (docs/reference/wear.md).

    Arguments as of :func:`wear_of`.
    """
    first, second = (bytes(companion(archive, path, index, ending)) for ending in LEVEL_ENDINGS)
    return first, second


def _beside(path: Path, name: str) -> memoryview | bytes:
    """Its bytes; empty where there is none."""
    found = file_beside(path, name)
    with if_there(path):
        return b"" if found is None or not stat.S_ISREG(found.stat().st_mode) else read_file(found)
    return b""  # names are optional: the rows are in the file


def points_of(archive: Archive, path: Path, index: int | None) -> memoryview | bytes:
    """The ``.cpt`` of a model's name beside it; arguments as of :func:`wear_of`."""
    return companion(archive, path, index, POINTS_ENDING, POINTS_TYPE)


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
    """Find several libraries in a folder; as :func:`find_library`."""
    files = names_in(folder)
    found: dict[str, Path] = {}
    for name in names:
        wanted = name.lower()
        if wanted in files:
            found[name] = folder / files[wanted][0]
            continue
        for path in (folder / file for file in files.get(wanted.rpartition(".")[0], ())):
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
    """Read a folder's files as the archive that was unpacked there; payloads are read on access.

    Names, types, attributes and their order are those of the tool's index; without one the order
    is that of the names.

    Args:
        folder: where the files are; those whose names CP1251 lacks are left out.
        label: what messages call it; whether it holds materials or textures depends on its name.

    Raises:
        ConversionError: the folder cannot be listed.
    """
    materials = Path(label).name.lower().startswith("material")
    plain = (MATERIAL_TYPE, 0, MATERIAL_VERSION, 0) if materials else (TEXM_TYPE, 0, 0, 0)
    inside = folder / entry_file(folder, "").rpartition("/")[0]
    try:
        with os.scandir(inside) as found:
            sizes = {entry.name: entry.stat().st_size for entry in found if _is_file(entry)}
    except OSError as error:
        raise cannot_read(folder, error) from error
    rows = {row.file.rpartition("/")[2]: row for row in rows_of(folder) or []}
    facts = {file: (row.name, (row.type_id, *row.attributes)) for file, row in rows.items() if file in sizes}
    names = layout_of(inside).names
    raw = {file: encode_name(names[file]) for file in sizes.keys() - facts.keys() if file in names}
    others = [file for file in raw if decode_text(raw[file]) == names[file]]
    others.sort(key=lambda file: (fold_upper(raw[file]), raw[file]))
    facts |= {file: (raw[file], plain) for file in others}
    entries = [
        Entry(*kind, name + b"\0", 0, row, _later(inside / file, sizes[file]))
        for row, (file, (name, kind)) in enumerate(facts.items())
    ]
    return Archive(label, entries=entries)


def _later(path: Path, size: int) -> Later:
    return Later(size, partial(_read_file, path, size))


def _read_file(path: Path, size: int, start: int, count: int) -> memoryview:
    """A file; what has grown since it was listed is read as it is now, unless less is asked for."""
    data = read_file(path)
    return data if count == size else data[start : start + count]


def read_assembly(path: Path, data: memoryview | None = None) -> Registry | Unit | Mission | None:
    """Read a file if it is a registry, a unit or a mission; ``None``: it is another one.

    Args:
        data: its bytes, where they are read already.

    Raises:
        ConversionError: unreadable.
    """
    data = read_file(path) if data is None else data
    if is_nres(data):
        archive = read_nres(data, str(path))
        known = archive_kind(archive) is Kind.ARCHIVE and is_registry(archive)
        return read_registry(archive) if known else None
    if path.name.lower() == MISSION_FILE or path.suffix.lower() == ".tma":
        from ..formats.mission import read_mission  # models do without

        return read_mission(data, str(path))
    return read_unit(data, str(path)) if is_unit(data) else None
