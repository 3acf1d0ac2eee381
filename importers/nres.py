"""NRes bytes to :class:`~converter.formats.archive.Archive` (docs/reference/nres.md)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from ..converter.errors import ConversionError, plural
from ..converter.findings import Finding, Rule
from ..converter.formats.archive import (
    NRES_COUNT,
    NRES_HEADER,
    NRES_MAGIC_RULE,
    NRES_PAYLOAD,
    NRES_REUSE,
    NRES_SIZE,
    NRES_TRAILING,
    NRES_VERSION_RULE,
    UNREADABLE,
    Archive,
    Entry,
    Later,
    Regions,
)
from ..converter.formats.tables import NRES_ENTRY_DTYPE, NRES_HEADER_DTYPE, NRES_MAGIC, NRES_VERSION, field_offset
from ..converter.numeric.arrays import max_uses

_DIRECTORY = "NRes directory"
_HEADER_SIZE, _ROW_SIZE = NRES_HEADER_DTYPE.itemsize, NRES_ENTRY_DTYPE.itemsize
_NUL = b"\0"
#: A directory entry whose name is bytes: the fields of ``NRES_ENTRY_DTYPE``.
_FIELDS = NRES_ENTRY_DTYPE.names or ()
_ROW = np.dtype([(key, "V36" if key == "name" else NRES_ENTRY_DTYPE[key]) for key in _FIELDS])
#: How many rows of the directory of a container in a container are read at a time.
_BLOCK = 1 << 16
#: Identity and state of a file: device, inode, size, modification time.
Stamp = tuple[int, int, int, int]
#: NRes and .glb store their length in 32 bits.
_LARGEST = 2**32 - 1


def read_file(path: Path) -> memoryview:
    """Read a file. It is not mapped: a mapped file that is truncated meanwhile kills the process
    that reads it (docs/decisions/0022).

    Raises:
        ConversionError: the file cannot be read, is not one, or is larger than any format's length.
    """
    with _unreadable(path):
        _require_file(path, path.stat())
        return memoryview(path.read_bytes())


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _refused(error, str(path)) from error


def _refused(error: OSError, path: str) -> ConversionError:
    problem = f"cannot be read ({error.strerror or error})"
    return ConversionError(problem, file=path, code=UNREADABLE.code)


def _require_file(path: Path, about: os.stat_result) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise ConversionError(
            "is a directory",
            file=str(path),
            hint="give a file; msh2gltf DIR --list shows the models below it",
            code=UNREADABLE.code,
        )
    if not stat.S_ISREG(about.st_mode):
        raise ConversionError("is not a regular file", file=str(path), code=UNREADABLE.code)
    if about.st_size > _LARGEST:
        raise ConversionError(
            "is too large",
            file=str(path),
            value=plural(about.st_size, "byte"),
            expected=f"at most {_LARGEST:,}",
            code=UNREADABLE.code,
        )


def is_nres(data: memoryview | bytes) -> bool:
    """Whether the bytes start like an NRes file, whatever its extension."""
    return bytes(data[:4]) == NRES_MAGIC


def read_nres(data: memoryview | bytes, label: str, *, longer: bool = False) -> Archive:
    """Read an NRes file; payloads are views of ``data``, nothing is copied.

    Args:
        data: the whole file.
        label: what messages call it.
        longer: bytes after the directory are left out, and ``Archive.trailing`` says so.

    Raises:
        ConversionError: the header or a directory entry cannot be true.
    """
    whole = memoryview(data)
    view = whole[: _stated(whole, len(whole))] if longer else whole
    version, directory = _header(view[:_HEADER_SIZE], len(view), label)
    entries = [
        Entry(*attributes, name, start, sort_index, view[start : start + size])
        for attributes, name, start, sort_index, size in _rows(view[directory:], directory, label)
    ]
    unindexed: list[tuple[int, memoryview | bytes]] = [
        (start, view[start:end]) for start, end in _unindexed(entries, directory)
    ]
    trailing = len(whole) - len(view)
    return Archive(label, version, entries, unindexed, len(view), trailing, whole)


def trailing_bytes(archive: Archive) -> Finding:
    """Return the finding about what follows an archive's directory."""
    return Finding(
        NRES_TRAILING,
        f"{plural(archive.trailing, 'byte')} after the directory",
        "NRes header",
        offset=field_offset(NRES_HEADER_DTYPE, "total_size"),
        value=archive.total_size,
        expected=archive.total_size + archive.trailing,
        rows=np.zeros(0, np.int64),
    )


def _stated(head: memoryview, size: int) -> int:
    """The size that a file states, where it is longer and its directory would fit; else its own."""
    if len(head) < _HEADER_SIZE or not is_nres(head):
        return size
    _, _, count, total = np.frombuffer(head[:_HEADER_SIZE], NRES_HEADER_DTYPE).tolist()[0]
    fits = count >= 0 and _HEADER_SIZE + _ROW_SIZE * count <= total < size
    return int(total) if fits else size


def open_nres(path: Path, label: str, *, longer: bool = False) -> Archive:
    """Read an NRes file's directory; payloads are read on access.

    For reading few entries of many: memory holds only these.

    Args:
        path: the file.
        label: what messages call it.
        longer: as of :func:`read_nres`.

    Raises:
        ConversionError: as of :func:`read_file` and :func:`read_nres`. Accessing a payload raises
            it too where the file has been changed meanwhile.
    """
    with _unreadable(path), path.open("rb") as file:
        about = os.fstat(file.fileno())
        before = stamp_of(about)
        _require_file(path, about)
        head = memoryview(file.read(_HEADER_SIZE))
        end = _stated(head, about.st_size) if longer else about.st_size
        version, directory = _header(head, end, label)
        file.seek(directory)
        rows = _rows(memoryview(file.read(end - directory)), directory, label)
        entries, name_of_file = [], str(path)
        for attributes, name, start, sort_index, size in rows:
            later = Later(size, partial(_read_entry, name_of_file, before, start))
            entries.append(Entry(*attributes, name, start, sort_index, later))
    places = _unindexed(entries, directory)
    regions = partial(_read_regions, name_of_file, before, places)
    return Archive(label, version, entries, regions, end, about.st_size - end)


def entry_types(entry: Entry, label: str) -> set[int]:
    """Return the type ids in the directory of an entry that is a container; nothing else is read.

    Args:
        entry: one whose payload starts like an NRes file.
        label: what messages call its file.

    Raises:
        ConversionError: the header or a directory entry cannot be true.
    """
    size = entry.size
    _, directory = _header(memoryview(entry.part(0, _HEADER_SIZE)), size, label)
    types: set[int] = set()
    shared = 0
    for start in range(directory, size, _ROW_SIZE * _BLOCK):
        part = entry.part(start, min(_ROW_SIZE * _BLOCK, size - start))
        rows = np.frombuffer(part, _ROW)
        low, sizes = rows["data_offset"].astype(np.int64), rows["size"].astype(np.int64)
        if ((low < _HEADER_SIZE) | (low + sizes > directory)).any():
            _rows(memoryview(part), directory, label)  # reports it
        types.update(rows["type_id"].tolist())
        shared += int(sizes.sum())
    if shared > max_uses(size):
        raise _reused(shared, size, label)
    return types


def _read_regions(path: str, before: Stamp, places: list[tuple[int, int]]) -> Regions:
    return [(start, _read_part(path, before, start, end - start)) for start, end in places]


def _read_entry(path: str, before: Stamp, payload: int, start: int, size: int) -> bytes:
    """A part of a payload, which itself starts at an offset of the file."""
    return _read_part(path, before, payload + start, size)


def _read_part(path: str, before: Stamp, start: int, size: int) -> bytes:
    """A part of a file that is still the one whose directory was read."""
    try:
        with open(path, "rb", buffering=0) as file:  # not Path.open: a run does it a thousand times
            now = stamp_of(os.fstat(file.fileno()))
            file.seek(start)
            data = file.read(size)
    except OSError as error:
        raise _refused(error, path) from error
    if now != before or len(data) != size:
        raise ConversionError("changed while it was read", file=path, code=UNREADABLE.code)
    return data


def stamp(path: str | Path) -> Stamp:
    """Return what distinguishes a file from any other at the same path.

    Raises:
        OSError: there is no file.
    """
    return stamp_of(os.stat(path))


def stamp_of(about: os.stat_result) -> Stamp:
    """Return the same of a file that is open, or that was looked at already."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _header(data: memoryview, size: int, label: str) -> tuple[int, int]:
    """Version, and where the directory lies, of a file of a size that begins with the 16 bytes."""

    def fail(rule: Rule, problem: str, field: str, value: object, expected: object) -> ConversionError:
        return ConversionError(
            problem,
            file=label,
            table="NRes header",
            offset=field_offset(NRES_HEADER_DTYPE, field),
            value=value,
            expected=expected,
            code=rule.code,
        )

    if not is_nres(data):
        found = bytes(data[:4]) or "an empty file"
        raise fail(NRES_MAGIC_RULE, "not an NRes file", "magic", found, "NRes")
    if size < _HEADER_SIZE:
        problem = "file too short for a header"
        raise fail(NRES_HEADER, problem, "magic", plural(size, "byte"), f"at least {_HEADER_SIZE}")
    _, version, count, total = np.frombuffer(data, NRES_HEADER_DTYPE).tolist()[0]
    if version != NRES_VERSION:
        known = f"{NRES_VERSION:#x}"
        raise fail(NRES_VERSION_RULE, "unknown version", "version", f"{version:#x}", known)
    if total < size and count >= 0 and _HEADER_SIZE + _ROW_SIZE * count <= total:
        problem = f"{plural(size - total, 'byte')} after the directory"
        raise fail(NRES_TRAILING, problem, "total_size", total, size)
    if total != size:
        raise fail(NRES_SIZE, "total_size is not the file's length", "total_size", total, size)
    directory = total - _ROW_SIZE * count
    if count < 0 or directory < _HEADER_SIZE:
        problem = "entry_count does not fit the file"
        room = f"0..{(total - _HEADER_SIZE) // _ROW_SIZE}"
        raise fail(NRES_COUNT, problem, "entry_count", count, room)
    return version, directory


def _rows(data: memoryview, directory: int, label: str) -> list[tuple[tuple[int, int, int, int], bytes, int, int, int]]:
    """The directory at an offset: type and attributes, name, payload's start, sort index, size."""
    rows = []
    for i, row in enumerate(np.frombuffer(data, _ROW).tolist()):
        type_id, attr1, attr2, size, attr3, name, start, sort_index = row
        if start < _HEADER_SIZE or start + size > directory:
            raise ConversionError(
                f"payload of {name.partition(_NUL)[0]!r} lies outside the data region",
                file=label,
                table=_DIRECTORY,
                row=i,
                offset=directory + _ROW_SIZE * i + field_offset(NRES_ENTRY_DTYPE, "data_offset"),
                value=f"bytes {start}..{start + size}",
                expected=f"inside {_HEADER_SIZE}..{directory}",
                code=NRES_PAYLOAD.code,
            )
        rows.append(((type_id, attr1, attr2, attr3), name, start, sort_index, size))
    shared, total = sum(row[-1] for row in rows), directory + len(data)
    if shared > max_uses(total):
        raise _reused(shared, total, label)
    return rows


def _reused(shared: int, size: int, label: str) -> ConversionError:
    return ConversionError(
        "payloads overlap too often",
        file=label,
        table=_DIRECTORY,
        value=f"{plural(shared, 'byte')} in all",
        expected=f"at most {max_uses(size)}",
        code=NRES_REUSE.code,
    )


def _unindexed(entries: list[Entry], directory: int) -> list[tuple[int, int]]:
    """Regions between header and directory that no payload covers: start and end."""
    regions = []
    cursor = _HEADER_SIZE
    for start, size in sorted((e.data_offset, e.size) for e in entries):
        if size:
            if start > cursor:
                regions.append((cursor, start))
            cursor = max(cursor, start + size)
    if cursor < directory:
        regions.append((cursor, directory))
    return regions
