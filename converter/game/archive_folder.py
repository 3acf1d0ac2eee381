"""Archives and RsLi libraries as folders of files, and back: ``msh2gltf --unpack DIR``, ``gltf2msh DIR --pack``.

Every entry is a file of its own bytes, a sound a WAV as the game stores it. The layouts are those
that other tools read (docs/games.md); ``archive.json`` beside the files holds what these leave
out, so that packing gives back the same bytes.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import ConversionError, called, few, printable
from ..files import inflate, read_file
from ..findings import NotApplied
from ..formats.kinds import is_rsli
from ..formats.names import Names, decode_text, escape, stem
from ..formats.nres import Archive, Entry, read_nres, write_nres
from ..formats.nres_edits import ArchiveEdits, name_field, new_archive
from ..formats.rsli import RSLI_METHOD, read_rsli, unpack, with_contents
from ..formats.sidecar import sha256
from ..formats.texture import TEXM_TYPE, read_texm
from ..kinds.open_files import (
    ENTRIES,
    LIST_INDEX,
    MANIFEST_INDEX,
    NO_ENDING,
    OWN_INDEX,
    Row,
    folder_stamp,
    layout_of,
    rows_of,
)
from ..storage import cannot_read
from .packing import most_bytes


def _unpacked_library(data: bytes, label: str) -> dict[str, bytes]:
    """Return the files that a library becomes: its entries unpacked, and an index that holds it as it is.

    An entry that cannot be unpacked (an unknown method) has no file; packing keeps it.
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
    return {**found, OWN_INDEX: _json_bytes(index)}


def library_of(folder: Path) -> bytes | None:
    """Return the library that a folder was unpacked from; ``None``: it was another container, or none."""
    text = _index(folder).get("library")
    return None if text is None else _inflated(text, folder)


def _inflated(text: object, folder: Path) -> bytes:
    """Return bytes that an index keeps as text, no more than the files of its folder, itself one, explain."""
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


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _edited_entries(folder: Path) -> dict[str, tuple[str, int, str]]:
    """Return the files of an unpacked library that are there: file -> name, row, SHA-256 when it was unpacked."""
    index = _index(folder)
    try:
        rows = {str(one["file"]): (str(one["name"]), int(one["row"]), str(one["sha256"])) for one in index["entries"]}
    except (KeyError, TypeError, ValueError):
        raise _damaged(folder) from None
    return {file: row for file, row in rows.items() if row[1] >= 0 and (folder / file).is_file()}


def _no_place(folder: Path, known: dict[str, tuple[str, int, str]]) -> list[NotApplied]:
    """Return what a folder has and a library cannot get: files that are no entries, and entries without a file."""
    new = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name not in (*known, OWN_INDEX))
    gone = [one["name"] for one in _index(folder)["entries"] if one["file"] not in known]
    why, instead = "entries of an RsLi library are replaced, not added", "replace one that is there"
    out = [NotApplied(where=f"file {called(name)}", what="is new", why=why, instead=instead) for name in new]
    return [*out, *map(_without_file, map(str, gone))]


def _without_file(entry: str) -> NotApplied:
    what, why = "has no file any more", "packing deletes nothing"
    return NotApplied(where=f"entry {called(entry)}", what=what, why=why, instead="it stays")


def _changed_since_unpacked(label: str, name: str) -> ConversionError:
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


def _number_first(row: int, entry: Entry) -> str:
    return f"{row}_{_with_ending(entry)}"


def _number_and_type(row: int, entry: Entry) -> str:
    raw = entry.type_id.to_bytes(4, "little")
    return f"{row}_{raw.decode('ascii') if raw.isalnum() else raw.hex(' ').upper()}_{_with_ending(entry)}"


def _with_ending(entry: Entry) -> str:
    return escape(entry.name) if "." in entry.name else f"{escape(entry.name)}{NO_ENDING}"


def _in_entries(row: int, entry: Entry) -> str:
    facts = f"t{entry.type_id:08X}_a1{entry.attr1:08X}_a2{entry.attr2:08X}"
    return f"{ENTRIES}/{row:05d}__{escape(entry.name) or 'entry'}__{facts}.bin"


#: What each layout calls the file of an entry.
LAYOUTS: Mapping[str, Callable[[int, Entry], str]] = {
    "names": lambda _, entry: escape(entry.name),
    "fparkan": lambda _, entry: escape(entry.name),
    "fparkan-validator": _in_entries,
    "playground": _number_first,
    "playground-packer": _number_and_type,
}


def unpacked_files(data: bytes, label: str, layout: str) -> dict[str, bytes]:
    """Return the files that an archive becomes: their paths from its folder, with ``/``, and bytes.

    Raises:
        ConversionError: it is not an archive.
    """
    if is_rsli(data):
        return _unpacked_library(data, label)
    archive = read_nres(data, label)
    name, taken = LAYOUTS[layout], Names(OWN_INDEX, LIST_INDEX, MANIFEST_INDEX)
    files = [taken.take(name(row, entry) or "~", row) for row, entry in enumerate(archive.entries)]
    found = {file: bytes(entry.payload) for file, entry in zip(files, archive.entries, strict=True)}
    found[OWN_INDEX] = _json_bytes(_own_index(archive, data, files))
    if layout == "fparkan":
        found[LIST_INDEX] = _json_bytes([_list_row(entry) for entry in archive.entries])
    elif layout == "fparkan-validator":
        found[MANIFEST_INDEX] = _json_bytes(_manifest(archive, files))
    return found


def _own_index(archive: Archive, data: bytes, files: list[str]) -> dict[str, object]:
    frame = bytearray(data)
    for entry in archive.entries:
        frame[entry.data_offset : entry.data_offset + entry.size] = bytes(entry.size)
    payloads = [bytes(entry.payload) for entry in archive.entries]
    entries = [
        {
            "file": file,
            "name": entry.name_bytes.hex(),
            "type": entry.type_id,
            "attributes": [entry.attr1, entry.attr2, entry.attr3],
            "sha256": sha256(entry.payload),
        }
        for file, entry in zip(files, archive.entries, strict=True)
    ]
    return {"format": 1, "entries": entries, "frame": deflated(bytes(frame), payloads)}


def _list_row(entry: Entry) -> dict[str, object]:
    kind = entry.type_id.to_bytes(4, "little").decode("utf-8", "replace").strip("\0")
    about = {"extension": kind, "index": entry.sort_index, "name": entry.name}
    return {**about, "unknown0": entry.attr1, "unknown1": entry.attr2, "unknown2": entry.attr3}


def _manifest(archive: Archive, files: list[str]) -> dict[str, object]:
    header = {
        "magic": "NRes",
        "version": archive.version,
        "entry_count": len(archive.entries),
        "total_size": archive.total_size,
        "directory_offset": archive.directory,
    }
    rows = [
        {
            "index": row,
            "type_id": entry.type_id,
            "attr1": entry.attr1,
            "attr2": entry.attr2,
            "size": entry.size,
            "attr3": entry.attr3,
            "name": entry.name_bytes.decode("latin-1"),
            "name_bytes_hex": entry.name_bytes.hex(),
            "name_raw_hex": entry.raw_name.hex(),
            "data_offset": entry.data_offset,
            "sort_index": entry.sort_index,
            "data_file": file,
            "sha256": sha256(entry.payload),
        }
        for row, (file, entry) in enumerate(zip(files, archive.entries, strict=True))
    ]
    return {"format": "NRes", "header": header, "entries": rows}


@dataclass
class Packed:
    """What packing a folder comes to. ``changed``, ``added``: names of entries. ``not_applied``: what has no place."""

    data: bytes
    changed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _File:
    """A file of a folder. ``row``: what the index says of it."""

    path: Path
    name: bytes
    row: Row | None


def pack_folder(folder: Path, archive: Path, now: bytes | None, *, force: bool = False) -> Packed:
    """Put the files of a folder into an archive, or make the archive of them.

    Only what differs from what was unpacked is put into an archive that is there; without an index,
    what differs from the archive.

    Args:
        folder: what an archive was unpacked into, in any layout.
        now: its bytes; ``None``: it is not there.
        force: replace entries that have changed since they were unpacked.

    Raises:
        ConversionError: the folder has no index and the archive is not there, an entry has changed
            since, or a sound is replaced by something else.
    """
    rows = rows_of(folder)
    files = list(_files(folder, rows))
    kept = library_of(folder)
    if not files and rows is None and kept is None:
        hint = "name the folder that msh2gltf --unpack wrote"
        if (folder / ENTRIES).is_dir():
            hint = f"put {MANIFEST_INDEX} back into it, which names the files in {ENTRIES}"
        raise ConversionError("holds no files of an archive", file=str(folder), hint=hint)
    library = now if now is not None else kept
    if library is not None and is_rsli(library):
        return _put_into_library(folder, library, str(archive), as_new=now is None or force)
    if now is not None:
        known = read_nres(now, str(archive))
        if files and not force and len(known.entries) and not any(known.namesakes(one.name) for one in files) and rows:
            hint = "name the archive that it was unpacked from; --force adds all of them"
            raise ConversionError("no file of it is an entry of the archive", file=str(folder), hint=hint)
        return _put(known, files, rows or [], force)
    if rows is None:
        raise ConversionError(
            "does not say of which types its entries are",
            file=str(folder),
            hint="pack it into the archive that it was unpacked from, or unpack that again with msh2gltf --unpack",
        )
    there = {file.row.file for file in files if file.row is not None}
    gone = [row.file for row in rows if row.file not in there]
    if gone:
        raise ConversionError("is gone", file=str(folder / gone[0]), hint="a new archive needs every file of its index")
    # the archive as it was, without its payloads
    frame = _index(folder).get("frame")
    if frame is None or not all(row.before for row in rows):
        entries = [
            Entry(row.type_id, *row.attributes, name_field(row.name), 0, 0, bytes(read_file(one.path)))
            for one in files
            if (row := one.row) is not None
        ]
        return _put(new_archive(entries, str(archive)), files, rows, force)
    whole = read_nres(_filled(_inflated(frame, folder), files), str(archive))
    return _put(whole, files, rows, force=True)


def _put_into_library(folder: Path, now: bytes, label: str, *, as_new: bool) -> Packed:
    """Put what differs into an RsLi library."""
    library, found = read_rsli(now, label), _edited_entries(folder)
    out, contents = Packed(b""), dict[int, bytes]()
    for file, (name, row, before) in found.items():
        data = bytes(read_file(folder / file))
        if sha256(data) == before:
            continue
        if (
            row >= len(library.rows)
            or library.name(row) != name
            or (not as_new and sha256(unpack(library, row)) not in (before, sha256(data)))
        ):
            raise _changed_since_unpacked(label, name)
        contents[row] = data
        out.changed.append(name)
    out.not_applied += _no_place(folder, found)
    out.data = with_contents(library, contents)
    return out


def _files(folder: Path, rows: list[Row] | None) -> Iterator[_File]:
    """The files of a folder, in the order of its index; what the index does not name comes last."""
    indexed = {row.file: row for row in rows or []}
    for row in indexed.values():
        if (path := folder / row.file).is_file():
            yield _File(path, row.name, row)
    below = f"{ENTRIES}/" if any(row.file.startswith(f"{ENTRIES}/") for row in indexed.values()) else ""
    for file, name in layout_of(folder / below).names.items():
        if f"{below}{file}" not in indexed:
            yield _File(folder / below / file, name.encode("cp1251", "replace"), None)


def _filled(frame: bytes, files: list[_File]) -> bytes:
    """The archive with the payloads that have the size that they had."""
    data = bytearray(frame)
    archive = read_nres(frame, OWN_INDEX)
    for entry, one in zip(archive.entries, [one for one in files if one.row is not None], strict=True):
        payload = read_file(one.path)
        if len(payload) == entry.size:
            data[entry.data_offset : entry.data_offset + entry.size] = payload
    return bytes(data)


def _put(archive: Archive, files: list[_File], rows: list[Row], force: bool) -> Packed:
    """Put what differs into an archive."""
    out, edits = Packed(b""), ArchiveEdits(archive)
    seen, covered = dict[bytes, int](), set[int]()
    by_unknown_tool = not rows and all(
        not archive.namesakes(one.name) and _numbered_entry(archive, one.name) is not None for one in files
    )
    for one in files:
        data = bytes(read_file(one.path))
        if not (same := sorted(archive.namesakes(one.name))) and (known := _by_number(archive, one.path.name)):
            one, same = replace(one, name=known), sorted(archive.namesakes(known))
        number = seen[one.name] = seen.get(one.name, -1) + 1
        before = "" if one.row is None else one.row.before
        if sha256(data) == before and len(same) > number:
            continue
        if number < len(same):
            index = same[number]
            covered.add(index)
            entry = archive.entries[index]
            if entry.payload == data:
                continue
            if not force and before and sha256(entry.payload) != before:
                raise _changed_since_unpacked(archive.label, entry.name)
            _compare_sounds(entry, data, one.path, out)
            width, height = _size(entry, data, one.path)
            edits.replace(index, data, attr1=width, attr2=height)
            out.changed.append(entry.name)
            continue
        where = f"file {called(one.path.name)}"
        if by_unknown_tool and (meant := _numbered_entry(archive, one.name)) is not None:
            entry_name = printable(decode_text(meant))
            why = f"it looks like entry {called(entry_name)} with the number and type of an unpacker that is not known"
            out.not_applied.append(NotApplied(where=where, what="is new", why=why, instead=f"call it {entry_name}"))
            continue
        kind = one.row or _row_like(archive, one)
        if kind is None:
            why, instead = "no entry of the archive has its ending, so its type is not known", "give it such an ending"
            out.not_applied.append(NotApplied(where=where, what="is new", why=why, instead=instead))
            continue
        edits.add(one.name, kind.type_id, data, kind.attributes)
        out.added.append(decode_text(one.name))
    left = [called(entry.name) for i, entry in enumerate(archive.entries) if i not in covered]
    if left and not rows and not out.not_applied:
        out.warnings.append(f"kept in the archive, without a file in the folder: {few(left)}")
    names = {one.name for one in files}
    out.not_applied += [_without_file(decode_text(row.name)) for row in rows if row.name not in names]
    out.data = write_nres(edits.archive())
    return out


def _by_number(archive: Archive, file: str) -> bytes | None:
    """The entry whose row and type, or place in the sort table, a file's name has beside the entry's own."""
    number = file.partition("_")[0]
    if number.isdecimal() and len(number) < 9 and int(number) < len(archive.entries):
        entry = archive.entries[int(number)]
        if file in (_number_first(int(number), entry), _number_and_type(int(number), entry)):
            return entry.name_bytes
    wanted = [one for one in archive.entries if file == f"{escape(one.name)}.{one.sort_index}"]
    return wanted[0].name_bytes if len(wanted) == 1 else None


def _numbered_entry(archive: Archive, name: bytes) -> bytes | None:
    """The entry that a file without an index seems to be: ``3_NAME``, ``3_TYPE_NAME`` with a type that is not known."""
    for prefix in (rb"\d+_", rb"(?:\d+_)?[0-9A-Za-z]{4}_"):
        match = re.fullmatch(prefix + rb"(.+?)(?:\.bin)?", name)
        if match is not None and archive.namesakes(match[1]):
            return match[1]
    return None


def _size(entry: Entry, data: bytes, path: Path) -> tuple[int | None, int | None]:
    """The directory's width and height of a texture that has another size now."""
    if entry.type_id != TEXM_TYPE:
        return None, None
    old, new = read_texm(entry.payload, entry.name), read_texm(data, str(path))
    if (entry.attr1, entry.attr2) != (old.width, old.height):
        return None, None
    return new.width, new.height


def _row_like(archive: Archive, one: _File) -> Row | None:
    """What a new file's entry is: as the first one with the same ending."""
    name = decode_text(one.name)
    ending = name[len(stem(name)) :].lower()
    for entry in archive.entries:
        if entry.name[len(stem(entry.name)) :].lower() == ending:
            return Row(one.path.name, one.name, entry.type_id, (entry.attr1, entry.attr2, entry.attr3))
    return None


def _compare_sounds(entry: Entry, data: bytes, path: Path, out: Packed) -> None:
    """Refuse what is not a sound in the place of one, and say where its format differs."""
    if entry.start(4) != b"RIFF":
        return
    if data[:4] != b"RIFF":
        problem = "is not a WAV file, and takes the place of one"
        raise ConversionError(problem, file=str(path), value=data[:4], expected="RIFF", hint="save it as WAV")
    old, new = wave_format(bytes(entry.payload)), wave_format(data)
    if old != new:
        out.warnings.append(f"{path.name}: {new}; the game's was {old}: what the game makes of that was not tried")


def wave_format(data: bytes) -> str:
    """Return what a WAV file holds, in words; of a broken one that."""
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"fmt " and at + 24 <= len(data):
            codec, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, at + 8)
            kind = {1: "PCM", 2: "ADPCM", 17: "IMA ADPCM"}.get(codec, f"codec {codec}")
            return f"{kind}, {rate:,} Hz, {bits} bits, {'mono' if channels == 1 else f'{channels} channels'}"
        at += 8 + size + size % 2
    return "a WAV file without a format"
