"""Folders that archives were unpacked into, by this project or by other tools: which entry a file is.

The layouts are those of the tools' public sources (docs/games.md, Unpacked archives). They are
recognised by an index that lies there, else by the names of all files of a folder together.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import ConversionError
from ..files import of_a_listing, read_file
from ..formats.names import decode_text, escape, stem
from ..formats.registry import TAGS
from ..formats.texture import TEXM_MAGIC
from ..storage import if_there

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
    """

    file: str
    name: bytes
    type_id: int
    attributes: tuple[int, int, int]


def rows_of(folder: Path) -> list[Row] | None:
    """Return what the index of a folder says, in the archive's order; ``None``: it has none.

    Args:
        folder: what an archive was unpacked into.
    """
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
    return [_row(one["file"], bytes.fromhex(one["name"]), one["type"], one["attributes"]) for one in index["entries"]]


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


def _row(file: str, name: bytes, type_id: int, attributes: Sequence[int]) -> Row:
    path = PurePosixPath(file)
    first, second, third = (int(one) & 0xFFFFFFFF for one in attributes)
    if path.is_absolute() or ".." in path.parts or len(path.parts) > 2:
        raise ValueError("leads out of the folder")
    return Row(file, name, int(type_id) & 0xFFFFFFFF, (first, second, third))


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
    """Whether every file has a number of its own, as only an unpacker gives them.

    Args:
        matches: of each file.
        group: which group of a match is the number.
        folder: where it is called like an archive, its only file may have number 0.
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
