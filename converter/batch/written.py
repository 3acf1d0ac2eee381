"""Remember what was written into a game, so that the next edit starts from the game as it was.

A run with ``--in-place`` notes in ``written.json``, in the directory of the glTF files, which bytes
it puts where; *Put Back* of the Blender extension notes the same in the scene. The next run
recognises its own work by digest and starts from the file as it was converted: from the backup, or,
where somebody else has changed other entries since, from the file with its own entries taken back.
So a second edit arrives, what is no longer edited comes back byte for byte, and what an edit
created goes again. What somebody else changed is not recognised, and is refused as ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from ...exporters.nres import add_entry, remove_entry, replace_entry, write_nres
from ...importers.nres import Stamp, is_nres, read_file, read_nres
from ..errors import ConversionError
from ..formats.archive import Archive, Entry
from ..formats.sidecar import sha256
from ..storage import read_json, require_no_link, write_outputs
from .sources import open_archive
from .walk import BACKUP

#: The file that a run leaves in the directory of the glTF files.
WRITTEN = "written.json"
_FORMAT = 1
#: In place of a digest: the file is not to be recognised as a whole.
_UNKNOWN = "-"


@dataclass(frozen=True)
class WrittenEntry:
    """An entry that was written.

    Attributes:
        name: its name, as hex; empty: the whole file.
        before, after: SHA-256 of its bytes; ``before`` is empty where there was none.
        item: which model or texture it belongs to, as reports call it.
    """

    name: str
    before: str
    after: str
    item: str = ""


@dataclass(frozen=True)
class Written:
    """A file that was written.

    Attributes:
        before, after: SHA-256 of the file; ``before`` is empty where there was none.
        entries: what differs.
    """

    before: str
    after: str
    entries: tuple[WrittenEntry, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the file is not an archive of entries."""
        return any(not entry.name for entry in self.entries)


#: What was written, oldest first, by file (its path from the game's root, or its name).
History = dict[str, list[Written]]
#: The same of one archive or folder, for workers.
Rows = tuple[tuple[str, tuple[Written, ...]], ...]


@dataclass(frozen=True)
class Converted:
    """A file as it was converted.

    Attributes:
        data: its bytes; ``None``: it was not there.
        stays: entries that could not be taken back, because the backup is gone or another one.
        is_ours: whether anything in the file was written by this history.
    """

    data: bytes | None
    stays: tuple[WrittenEntry, ...] = ()
    is_ours: bool = field(default=False, compare=False)


def as_converted(path: Path, label: str, history: Sequence[Written]) -> Converted:
    """Return a file as it was before what is written in it was written.

    Args:
        path: the file; its backup lies beside it.
        label: what messages call it.
        history: what was written into it.

    Raises:
        ConversionError: it cannot be read.
    """
    now = bytes(read_file(path))
    if not history:
        return Converted(now)
    digest = sha256(now)
    last = next((one for one in reversed(history) if one.after == digest), None)
    backup = Path(f"{path}{BACKUP}")
    kept = bytes(read_file(backup)) if backup.is_file() else b""
    if last is not None and not last.before:
        return Converted(None, is_ours=True)
    if last is not None and kept and sha256(kept) == last.before:
        return Converted(kept, is_ours=True)
    if not is_nres(now) or (last is not None and last.is_whole):
        stays = () if last is None else last.entries
        return Converted(now, stays, is_ours=last is not None)
    return _taken_back(read_nres(now, label), kept, history)


def _taken_back(archive: Archive, kept: bytes, history: Sequence[Written]) -> Converted:
    """An archive with the entries of a history as they were; ``kept``: the backup, or nothing."""
    original = read_nres(kept, archive.label) if is_nres(kept) else None
    stays, before = [], archive
    for entry in dict.fromkeys(entry for one in history for entry in one.entries):
        index = _index(archive, entry.name, entry.after)
        if index is None:
            continue
        source = None if original is None else _index(original, entry.name, entry.before)
        if not entry.before:
            archive = remove_entry(archive, index)
        elif original is None or source is None:
            stays.append(entry)
        else:
            archive = with_entry(archive, index, original.entries[source])
    if archive is before:
        return Converted(bytes(archive.read_from), tuple(stays), is_ours=bool(stays))
    return Converted(write_nres(archive), tuple(stays), is_ours=True)


def _index(archive: Archive, name: str, digest: str) -> int | None:
    """Directory index of the entry of a name, as hex, and digest."""
    raw = bytes.fromhex(name)
    return next(
        (
            i
            for i, entry in enumerate(archive.entries)
            if entry.name_bytes == raw and sha256(entry.payload) == digest
        ),
        None,
    )


def with_entry(archive: Archive, index: int, entry: Entry) -> Archive:
    """Return an archive with one entry as it is in another: bytes and attributes."""
    archive = replace_entry(
        archive, index, bytes(entry.payload), attr1=entry.attr1, attr2=entry.attr2
    )
    entries = list(archive.entries)
    entries[index] = replace(entries[index], attr3=entry.attr3)
    return replace(archive, entries=entries)


def carried_over(archive: Archive, now: Archive, entries: Iterable[WrittenEntry]) -> Archive:
    """Return an archive with entries as they are in the game now, where they were written so.

    Args:
        archive: the archive as it was converted.
        now: as it is.
        entries: which.
    """
    for entry in dict.fromkeys(entries):
        source = _index(now, entry.name, entry.after)
        if source is None:
            continue
        there, one = _index(archive, entry.name, entry.before), now.entries[source]
        if there is not None:
            archive = with_entry(archive, there, one)
        elif not entry.before and archive.find(one.name_bytes) is None:
            attributes = (one.attr1, one.attr2, one.attr3)
            archive = add_entry(
                archive, one.name_bytes, one.type_id, bytes(one.payload), attributes
            )
    return archive


def written(known: Converted, after: bytes, items: Mapping[bytes, str], item: str = "") -> Written:
    """Return what tells that a file was written.

    Args:
        known: the file as it was converted.
        after: its new bytes.
        items: which model or texture an entry belongs to, by the entry's name; none of a file
            that is not an archive.
        item: the same of such a file.
    """
    first = {(entry.name, entry.after): entry.before for entry in known.stays}
    before = known.data
    digest = "" if before is None else sha256(before)
    if before is None or not (items and is_nres(before) and is_nres(after)):
        whole = WrittenEntry("", first.get(("", digest), digest), sha256(after), item)
        return Written(whole.before, whole.after, (whole,))
    old = [(e.name_bytes.hex(), sha256(e.payload)) for e in read_nres(before, "").entries]
    new = [(e.name_bytes, sha256(e.payload)) for e in read_nres(after, "").entries]
    rows = []
    for i, (name, now) in enumerate(new):
        # edits keep the order of the directory and add entries at its end
        was = first.get(old[i], old[i][1]) if i < len(old) else ""
        if now != was:
            rows.append(WrittenEntry(name.hex(), was, now, items.get(name, item)))
    return Written(_UNKNOWN if first else digest, sha256(after), tuple(rows))


def remember(history: History, file: str, one: Written) -> None:
    """Add to a history, as its newest."""
    rows = [row for row in history.get(file, []) if row != one]
    history[file] = [*rows, one]


def still_converted(history: History, digests: Mapping[tuple[str, str], str]) -> History:
    """Return the part of a history that began with what was converted.

    Args:
        history: what was written.
        digests: SHA-256 of what was converted, by file and entry name as hex (empty: the file).
    """
    kept: History = {}
    for file, rows in history.items():
        for row in rows:
            fits = [
                entry
                for entry in row.entries
                if digests.get((file, entry.name), entry.before) == entry.before
            ]
            if len(fits) == len(row.entries):
                remember(kept, file, row)
            elif fits:
                remember(kept, file, Written(_UNKNOWN, _UNKNOWN, tuple(fits)))
    return kept


def rows_of(history: History, source: str) -> Rows:
    """Return what was written into a file, or into the files of a folder."""
    return tuple(
        (file, tuple(rows))
        for file, rows in history.items()
        if file == source or file.startswith(f"{source}/")
    )


@lru_cache(maxsize=16)
def converted_archive(path: str, label: str, now: Stamp, history: Rows) -> Archive:
    """Return an archive, or the folder that it was unpacked into, as it was converted.

    Args:
        path: where it is.
        label: what messages and the history call it.
        now: its stamp; another one means another file.
        history: what was written into it.
    """
    if not history:
        return open_archive(path, label, now)
    rows, where = dict(history), Path(path)
    if not where.is_dir():
        data = as_converted(where, label, rows.get(label, ())).data
        return read_nres(data or b"", label)
    archive = open_archive(path, label, now)
    entries = [
        replace(entry, payload=as_converted(where / entry.name, file, rows[file]).data or b"")
        if (file := f"{label}/{entry.name}") in rows
        else entry
        for entry in archive.entries
    ]
    return replace(archive, entries=entries)


def digests_written(history: Rows, source: str, name: str, raw: str) -> set[str]:
    """Return SHA-256 of all that was written as one entry, or as one file.

    Args:
        history: what was written.
        source: the file or folder.
        name: the entry's name; a folder has a file of that name.
        raw: the name as hex; empty: the file itself.
    """
    rows = dict(history)
    places = ((source, raw), (f"{source}/{name}", ""))
    return {
        entry.after
        for file, key in places
        for one in rows.get(file, ())
        for entry in one.entries
        if entry.name == key
    }


# ------------------------------------------------------------------ as text


def history_text(history: History) -> str:
    """Return a history as JSON."""
    files = {
        file: [[row.before, row.after, [list(astuple(entry)) for entry in row.entries]]
               for row in rows]
        for file, rows in sorted(history.items())
    }  # fmt: skip
    return json.dumps({"format": _FORMAT, "files": files}, ensure_ascii=False, indent=1)


def read_history(text: str | bytes, label: str) -> History:
    """Read a history.

    Raises:
        ConversionError: it is none.
    """
    try:
        facts = read_json(text.encode() if isinstance(text, str) else text)
        if facts["format"] != _FORMAT:
            raise ValueError(f"format {facts['format']}")
        history: History = {}
        for file, rows in facts["files"].items():
            for before, after, entries in rows:
                made = tuple(WrittenEntry(*map(_text, entry)) for entry in entries)
                for entry in made:
                    bytes.fromhex(entry.name)
                remember(history, str(file), Written(_text(before), _text(after), made))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConversionError(
            "cannot be read",
            file=label,
            value=repr(error),
            hint="delete it; what was written into the game then counts as somebody else's",
        ) from None
    return history


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def history_of(directory: Path) -> History:
    """Return what runs wrote with the glTF files of a directory.

    Raises:
        ConversionError: ``written.json`` cannot be read, or is a link.
    """
    path = directory / WRITTEN
    require_no_link(path)
    return read_history(bytes(read_file(path)), str(path)) if path.is_file() else {}


def keep_history(directory: Path, history: History) -> None:
    """Write ``written.json``.

    Raises:
        ConversionError: it cannot be written.
    """
    data = history_text(history).encode() + b"\n"
    write_outputs([(directory / WRITTEN, data)], force=True, durable=True)
