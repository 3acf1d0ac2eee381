"""Open the game's files by path: archives, models, what lies beside them, and folders that archives became.

The layouts of these folders are those of the tools' public sources (docs/games.md, Unpacked archives). They are
recognised by an index that lies there, else by the names of all files of a folder together.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ..errors import ConversionError
from ..files import Later, Stamp, names_in, of_a_listing, open_file, read_file, stamp
from ..formats.kinds import MISSION_FILE, Kind, archive_kind, find_model
from ..formats.material import MATERIAL_TYPE, MATERIAL_VERSION, read_material
from ..formats.model import MshModel, model_at
from ..formats.model_parts import POINTS_ENDING, POINTS_TYPE
from ..formats.names import decode_text, encode_name, escape, fold_upper, stem
from ..formats.nres import Archive, Entry, is_nres, read_nres
from ..formats.objects import TAGS, Registry, Unit, is_registry, is_unit, read_registry, read_unit
from ..formats.texture import TEXM_MAGIC, TEXM_TYPE
from ..formats.wear import LEVEL_ENDINGS, WEAR_TYPE
from ..storage import cannot_read, if_there

if TYPE_CHECKING:
    from ..formats.mission import Mission


#: What ``--unpack`` of this project writes beside the entries.
OWN_INDEX = "archive.json"
#: What FParkan's unpacker writes beside them, and what its validator writes above ``entries``.
LIST_INDEX, MANIFEST_INDEX, ENTRIES = "index.json", "manifest.json", "entries"
#: Files of a folder that are no entries.
INDEXES = frozenset((OWN_INDEX, LIST_INDEX, MANIFEST_INDEX))
#: The ending that ParkanPlayground gives to entries without one.
NO_ENDING = ".bin"

_NUMBER_FIRST = re.compile(r"(\d+)_(.+)", re.DOTALL)
_TYPE_THEN_NAME = re.compile(r"([0-9A-Za-z]{4}|[0-9A-F]{2}(?: [0-9A-F]{2}){3})_(.+)", re.DOTALL)
_NUMBER_LAST = re.compile(r"(.+)\.(\d+)", re.DOTALL)
#: Types of entries, as ParkanPlayground writes them into names.
_TYPES = frozenset(("MESH", "WEAR", "MAT0", "Texm", "CTPT", "CTLD", "NDPR", "BASE", "WAVE", "FXID", *TAGS))


@dataclass(frozen=True)
class Row:
    """What an index says of an entry.

    Attributes:
        file: its path from the folder that the archive was unpacked into, with ``/``.
        type_id: its type, as a number.
        attributes: the directory's attr1, attr2 and attr3.
        before: SHA-256 of the entry when it was unpacked; empty where the index does not say.
    """

    file: str
    name: bytes
    type_id: int
    attributes: tuple[int, int, int]
    before: str = ""


def rows_of(folder: Path) -> list[Row] | None:
    """Return what the index of a folder says, in the archive's order; ``None``: it has none."""
    for name, read in ((OWN_INDEX, _own_rows), (MANIFEST_INDEX, _manifest_rows), (LIST_INDEX, _list_rows)):
        with if_there(folder):
            if (path := folder / name).is_file():
                try:
                    if (rows := read(json.loads(bytes(read_file(path))))) or name == OWN_INDEX:
                        return rows
                except (ValueError, TypeError, KeyError, AttributeError, ConversionError, RecursionError):
                    continue  # of something else
    return None


def _own_rows(index: Any) -> list[Row]:
    return [
        _row(one["file"], bytes.fromhex(one["name"]), one["type"], one["attributes"], str(one.get("sha256", "")))
        for one in index["entries"]
    ]


def _manifest_rows(index: Any) -> list[Row]:
    return [
        _row(
            one["data_file"],
            bytes.fromhex(one["name_bytes_hex"]),
            one["type_id"],
            (one["attr1"], one["attr2"], one["attr3"]),
        )
        for one in index["entries"]
    ]


def _list_rows(index: Any) -> list[Row]:
    """FParkan's list: a type is text, without zeros at its ends; a name is UTF-8, with signs for what is not."""
    rows = []
    for one in index:
        kind = one["extension"].encode().ljust(4, b"\0")[:4]
        attributes = (one["unknown0"], one["unknown1"], one["unknown2"])
        name = one["name"].encode("cp1251", "replace")
        rows.append(_row(one["name"], name, int.from_bytes(kind, "little"), attributes))
    return rows


def _row(file: str, name: bytes, type_id: int, attributes: Sequence[int], before: str = "") -> Row:
    path = PurePosixPath(file)
    first, second, third = (int(one) & 0xFFFFFFFF for one in attributes)
    if path.is_absolute() or ".." in path.parts or len(path.parts) > 2:
        raise ValueError("leads out of the folder")
    return Row(file, name, int(type_id) & 0xFFFFFFFF, (first, second, third), before)


@dataclass(frozen=True)
class Layout:
    """How the files of one folder are called.

    Attributes:
        names: the entry's name of each file.
        files: the file of each entry's name, in small letters.
        rename: makes the name of a new file of a number and the entry's name.
    """

    names: Mapping[str, str]
    files: Mapping[str, str]
    rename: Callable[[int, str], str]


def layout_of(folder: Path) -> Layout:
    """Return how the files of a folder are called; a folder that is not there has none."""
    indexes = [folder / name for name in INDEXES] + [folder.parent / MANIFEST_INDEX] * (folder.name == ENTRIES)
    with if_there(folder):
        return _layout(folder, *(path for path in indexes if path.is_file()))
    return Layout({}, {}, _plain)


@of_a_listing
def _layout(folder: Path, *indexes: Path) -> Layout:
    with os.scandir(folder) as found:
        files = sorted(one.name for one in found if one.name not in INDEXES and not one.is_dir())
    names = _indexed(folder) if indexes else {}
    if not names:
        for find, rename in ((_typed, _numbered), (_numbered_first, _numbered), (_numbered_last, _number_behind)):
            if (found_names := find(folder, files)) is not None:
                return Layout(found_names, _by_name(found_names), rename)
    return Layout({file: names.get(file, file) for file in files}, _by_name(names, files), _plain)


def _by_name(names: Mapping[str, str], files: Sequence[str] = ()) -> dict[str, str]:
    found = {file.lower(): file for file in reversed(files)}
    return found | {name.lower(): file for file, name in reversed([*names.items()])}


def _indexed(folder: Path) -> dict[str, str]:
    """The entry's name of each file that an index names."""
    below = folder.name == ENTRIES and (folder.parent / MANIFEST_INDEX).is_file()
    rows = rows_of(folder.parent if below else folder) or []
    paths = [(PurePosixPath(row.file), decode_text(row.name)) for row in rows]
    return {path.name: name for path, name in paths if (len(path.parts) == 2) is below}


def _numbers(matches: Sequence[re.Match[str] | None], group: int, folder: Path) -> bool:
    """Whether every file has a number of its own, as only an unpacker gives them: ``group`` of its match. In a folder
    that is called like an archive, the only file may have number 0.
    """
    numbers = {int(match[group]) for match in matches if match is not None}
    if folder.suffix.lower() in (".lib", ".rlb") and len(matches) == 1:
        return numbers == {0}
    return len(numbers) == len(matches) > 1 and max(numbers) < 2 * len(numbers)


def _numbered_first(folder: Path, files: Sequence[str]) -> dict[str, str] | None:
    """ParkanPlayground: ``INDEX_NAME.ext``, and ``INDEX_NAME.bin`` of a name without an ending."""
    matches = [_NUMBER_FIRST.fullmatch(file) for file in files]
    if not all(matches) or not _numbers(matches, 1, folder):
        return None
    return {match[0]: match[2].removesuffix(NO_ENDING) for match in matches if match is not None}


def _typed(folder: Path, files: Sequence[str]) -> dict[str, str] | None:
    """What ParkanPlayground packs: ``INDEX_TYPE_NAME.ext``."""
    names = _numbered_first(folder, files)
    if names is None:
        return None
    typed = {file: _TYPE_THEN_NAME.fullmatch(name) for file, name in names.items()}
    if not all(match is not None and (match[1] in _TYPES or " " in match[1]) for match in typed.values()):
        return None
    return {file: match[2] for file, match in typed.items() if match is not None}


def _numbered_last(folder: Path, files: Sequence[str]) -> dict[str, str] | None:
    """FParkan: ``NAME.INDEX``; a texture's name has a number of its own before it (``WALL.0.7``)."""
    matches = [_NUMBER_LAST.fullmatch(file) for file in files]
    if not all(matches) or not _numbers(matches, 2, folder):
        return None
    names = {match[0]: match[1] for match in matches if match is not None}
    if len({name.lower() for name in names.values()}) < len(names):
        return None
    for file, name in names.items():
        if "." not in name and _start(folder / file) == TEXM_MAGIC:
            return None
    return names


def _start(path: Path) -> bytes:
    with if_there(path), path.open("rb") as file:
        return file.read(len(TEXM_MAGIC))
    return b""


def _plain(_: int, name: str) -> str:
    return escape(name)


def _numbered(number: int, name: str) -> str:
    return f"{number}_{escape(name)}{'' if '.' in name else NO_ENDING}"


def _number_behind(number: int, name: str) -> str:
    return f"{escape(name)}.{number}"


def entry_name(path: Path) -> str:
    """Return what the entry of a file is called: the file's name, in a folder that is not an unpacked archive."""
    return layout_of(path.parent).names.get(path.name, path.name)


def entry_file(folder: Path, name: str) -> str:
    """Return the path of an entry's file from the folder that its archive was unpacked into, with ``/``.

    Of a name that is not there: what its file is to be called.
    """
    below = f"{ENTRIES}/" if (folder / MANIFEST_INDEX).is_file() and (folder / ENTRIES).is_dir() else ""
    return f"{below}{_file(folder / below, name)}"


def _file(folder: Path, name: str) -> str:
    layout = layout_of(folder)
    return layout.files.get(name.lower()) or layout.rename(len(layout.names), name)


def file_beside(path: Path, name: str) -> Path | None:
    """Return the file of an entry of that name, in any case, in a file's directory."""
    found = layout_of(path.parent).files.get(name.lower())
    return None if found is None else path.with_name(found)


def named_like(path: Path, ending: str) -> Path:
    """Return the file of a model's name with another ending: the one that is there, or what it is to be called."""
    return path.with_name(_file(path.parent, f"{stem(entry_name(path))}{ending}"))


def open_nres(path: Path, label: str, *, longer: bool = False) -> Archive:
    """Read an NRes file's directory; payloads are read on access. Arguments as of :func:`read_nres`. Raises
    ConversionError: as of :func:`read_nres` and :func:`open_file`.
    """
    return read_nres(open_file(path), label, longer=longer)


def open_archive(path: Path, label: str, *, longer: bool = False) -> Archive:
    """Open an archive, or the folder that it was unpacked into; as :func:`open_nres` and :func:`open_unpacked`."""
    return open_unpacked(path, label) if path.is_dir() else open_nres(path, label, longer=longer)


def read_msh(path: Path, entry: str | None = None) -> MshModel:
    """Read a core model from its own file, or from an archive entry. Raises ConversionError: unreadable, no such entry,
    not a model, or a table of a wrong size.

    Args:
        path: a ``.msh`` file or an archive that holds models.
        entry: the entry's name (case does not matter), or its directory index as a number;
            may be left out where the file is a model or holds just one.
    """
    archive = read_nres(read_file(path), str(path))
    return model_at(archive, find_model(archive, entry), path.name)


def mission_in(folder: Path) -> Path | None:
    """Return the mission of a directory, ``data.tma`` in any case; ``None``: it has none."""
    with if_there(folder):
        return next((folder / name for name in names_in(folder).get(MISSION_FILE, ())), None)
    return None


def wear_of(archive: Archive, path: Path, index: int | None) -> memoryview | bytes:
    """The WEAR text that belongs to a model; as :func:`companion`."""
    return companion(archive, path, index, ".wea", WEAR_TYPE)


def companion(
    archive: Archive, path: Path, index: int | None, suffix: str, type_id: int | None = None
) -> memoryview | bytes:
    """What lies beside a model under its name, in any case: the entry, of a type if one is given, or the file.

    Where several models of an archive have one name, and as many companions, each has the one of its number.

    Args:
        archive: the file that the model is, or is in.
        index: directory index of the model's entry; ``None``: the file is the model.

    Returns:
        The bytes; empty where there is none.
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
    """The WEAR texts of a terrain, ``Land1.wea`` and ``Land2.wea`` (docs/reference/wear.md); as :func:`companion`."""
    first, second = (bytes(companion(archive, path, index, ending)) for ending in LEVEL_ENDINGS)
    return first, second


def _beside(path: Path, name: str) -> memoryview | bytes:
    """Its bytes; empty where there is none."""
    found = file_beside(path, name)
    with if_there(path):
        return b"" if found is None or not stat.S_ISREG(found.stat().st_mode) else read_file(found)
    return b""  # names are optional: the rows are in the file


def points_of(archive: Archive, path: Path, index: int | None) -> memoryview | bytes:
    """The control points of a model; as :func:`companion`."""
    return companion(archive, path, index, POINTS_ENDING, POINTS_TYPE)


def find_library(folder: Path, name: str) -> Path | None:
    """Find one library in a folder; as :func:`find_libraries`."""
    return find_libraries(folder, [name]).get(name)


def find_libraries(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Find libraries (``Material.lib``) in a folder, in any case: a file or a folder of that name; else a folder of
    that name without its ending that holds such entries. Raises OSError: the folder cannot be listed.
    """
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
    """Return the stamps of a folder and of every file in it. Raises OSError: the folder cannot be listed."""
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

    Names, types, attributes and their order are those of the tool's index; without one the order is that of the names.
    Raises ConversionError: the folder cannot be listed.

    Args:
        folder: where the files are; those whose names CP1251 lacks are left out.
        label: what messages call it; whether it holds materials or textures depends on its name.
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
        Entry(*kind, name + b"\0", 0, row, Later(sizes[file], partial(_read_file, inside / file, sizes[file])))
        for row, (file, (name, kind)) in enumerate(facts.items())
    ]
    return Archive(label, entries=entries)


def _read_file(path: Path, size: int, start: int, count: int) -> memoryview:
    """A file; what has grown since it was listed is read as it is now, unless less is asked for."""
    data = read_file(path)
    return data if count == size else data[start : start + count]


def read_assembly(path: Path, data: memoryview | None = None) -> Registry | Unit | Mission | None:
    """Read a file if it is a registry, a unit or a mission; ``None``: it is another one. ``data``: its bytes, where
    they are read already. Raises ConversionError: unreadable.
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
