"""RsLi libraries as folders of files, and back: the game's other container (docs/reference/rsli.md)."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import ConversionError, printable
from ..files import inflate, read_file
from ..findings import NotApplied
from ..formats.names import Names, escape
from ..formats.rsli import RSLI_METHOD, read_rsli, unpack
from ..formats.sidecar import sha256
from ..kinds.open_files import folder_stamp
from ..kinds.unpacked import ENTRIES, OWN_INDEX
from ..storage import cannot_read
from .packing import most_bytes


def unpacked_library(data: bytes, label: str) -> dict[str, bytes]:
    """Return the files that a library becomes: its entries unpacked, and an index that holds it as it is.

    An entry that cannot be unpacked (an unknown method) has no file; packing keeps it.

    Raises:
        ConversionError: it is damaged.
    """
    library, taken = read_rsli(data, label), Names(OWN_INDEX)
    found, entries = dict[str, bytes](), []
    for row in range(len(library.rows)):
        name = library.name(row)
        try:
            content = unpack(library, row)
        except ConversionError as error:
            if error.code != RSLI_METHOD.code:
                raise
            continue
        file = taken.take(escape(name) or "~", row)
        found[file] = content
        entries.append({"file": file, "name": name, "row": row, "sha256": sha256(content)})
    index = {"format": 1, "container": "RsLi", "entries": entries, "library": deflated(data, found.values())}
    return {**found, OWN_INDEX: json_bytes(index)}


def library_of(folder: Path) -> bytes | None:
    """Return the library that a folder was unpacked from; ``None``: it was another container, or none.

    Raises:
        ConversionError: the index is damaged.
    """
    text = _index(folder).get("library")
    if text is None:
        return None
    return inflated(text, folder)


def inflated(text: object, folder: Path) -> bytes:
    """Return bytes that an index keeps as text, no more than the files of its folder, itself one, explain.

    Raises:
        ConversionError: the index is damaged.
    """
    try:
        inside = [folder, *(below for below in [folder / ENTRIES] if below.is_dir())]
        stored = sum(size for one in inside for _, _, size, _ in folder_stamp(one)[1:])
        data, whole = inflate(base64.b64decode(str(text), validate=True), most_bytes(stored))
    except OSError as error:
        raise cannot_read(folder, error) from error
    except ValueError:
        data, whole = b"", False
    if not whole:
        raise _damaged(folder)
    return data


def deflated(data: bytes, beside: Iterable[bytes | memoryview]) -> str:
    """Return bytes as an index keeps them; ``beside``: what the other files of its folder hold."""
    best = zlib.compress(data, 9)
    if len(data) > most_bytes(len(best) + sum(map(len, beside))):  # nobody would unpack that: stored as it is
        best = zlib.compress(data, 0)
    return base64.b64encode(best).decode()


def json_bytes(value: object) -> bytes:
    """Return the bytes of an index."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def edited_entries(folder: Path) -> dict[str, tuple[str, int, str]]:
    """Return the files of an unpacked library that are there: file -> name, row, SHA-256 when it was unpacked.

    Raises:
        ConversionError: the index is missing or damaged.
    """
    index = _index(folder)
    try:
        rows = {str(one["file"]): (str(one["name"]), int(one["row"]), str(one["sha256"])) for one in index["entries"]}
    except (KeyError, TypeError, ValueError):
        raise _damaged(folder) from None
    return {file: row for file, row in rows.items() if row[1] >= 0 and (folder / file).is_file()}


def no_place(folder: Path, known: dict[str, tuple[str, int, str]]) -> list[NotApplied]:
    """Return what a folder has and a library cannot get: files that are no entries, and entries without a file."""
    new = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name not in (*known, OWN_INDEX))
    gone = [one["name"] for one in _index(folder)["entries"] if one["file"] not in known]
    why, instead = "entries of an RsLi library are replaced, not added", "replace one that is there"
    out = [NotApplied(where=f"file {name!r}", what="is new", why=why, instead=instead) for name in new]
    what, why = "has no file any more", "packing deletes nothing"
    left = (f"entry {printable(str(name))!r}" for name in gone)
    return [*out, *(NotApplied(where=where, what=what, why=why, instead="it stays") for where in left)]


def changed_since_unpacked(label: str, name: str) -> ConversionError:
    """Return the error for an entry that another program, or another folder, changed."""
    hint = "unpack it again, or let --force replace it"
    return ConversionError("has changed since it was unpacked", file=label, entry=printable(name), hint=hint)


def _index(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads(bytes(read_file(folder / OWN_INDEX)))
    except (ConversionError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _damaged(folder: Path) -> ConversionError:
    return ConversionError("is damaged", file=str(folder / OWN_INDEX), hint="unpack the archive again")
