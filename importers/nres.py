"""NRes bytes to :class:`~converter.archive.Archive` (``container`` page)."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np

from converter.archive import Archive, Entry
from converter.errors import ConversionError
from converter.tables import (
    NRES_ENTRY_DTYPE,
    NRES_HEADER_DTYPE,
    NRES_MAGIC,
    NRES_VERSION,
    USES,
)

_DIRECTORY = "NRes directory"
_NUL = b"\0"
#: A directory entry whose name is bytes: the fields of ``NRES_ENTRY_DTYPE``.
_ROW = np.dtype(
    [(key, "V36" if key == "name" else NRES_ENTRY_DTYPE[key]) for key in NRES_ENTRY_DTYPE.names or ()]
)
#: NRes and .glb store their length in 32 bits.
_LARGEST = 2**32 - 1


def read_file(path: Path) -> memoryview:
    """A file's bytes. They are read, not mapped: a mapped file that somebody cuts kills the process
    that looks at it (docs/decisions/0022).

    Raises:
        ConversionError: the file cannot be read, is none, or is larger than any format's length.
    """
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise ConversionError(
                "is a directory",
                file=str(path),
                hint="give a file; msh2gltf DIR --list shows the models below it",
                code="unreadable",
            )
        if not stat.S_ISREG(about.st_mode):
            raise ConversionError("is not a regular file", file=str(path), code="unreadable")
        if about.st_size > _LARGEST:
            raise ConversionError(
                "is too large",
                file=str(path),
                value=f"{about.st_size:,} bytes",
                expected=f"at most {_LARGEST:,}",
                code="unreadable",
            )
        return memoryview(path.read_bytes())
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise ConversionError(problem, file=str(path), code="unreadable") from error


def is_nres(data: memoryview | bytes) -> bool:
    """Whether the bytes start like an NRes file. File extensions say nothing."""
    return bytes(data[:4]) == NRES_MAGIC


def read_nres(data: memoryview | bytes, label: str) -> Archive:
    """Read an NRes file; payloads are views of ``data``, nothing is copied.

    Args:
        data: the whole file.
        label: what messages call it.

    Raises:
        ConversionError: the header or a directory entry cannot be true.
    """
    view = memoryview(data)

    def fail(
        code: str, problem: str, offset: int, value: object, expected: object
    ) -> ConversionError:
        return ConversionError(
            problem,
            file=label,
            table="NRes header",
            offset=offset,
            value=value,
            expected=expected,
            code=code,
        )

    if not is_nres(view):
        raise fail("nres-magic", "not an NRes file", 0, bytes(view[:4]) or "an empty file", "NRes")
    if len(view) < NRES_HEADER_DTYPE.itemsize:
        raise fail(
            "nres-header", "file too short for a header", 0, f"{len(view)} bytes", "at least 16"
        )
    _, version, count, total = np.frombuffer(view[:16], NRES_HEADER_DTYPE).tolist()[0]
    if version != NRES_VERSION:
        raise fail("nres-version", "unknown version", 4, f"{version:#x}", f"{NRES_VERSION:#x}")
    if total != len(view):
        raise fail("nres-size", "total_size is not the file's length", 12, total, len(view))
    directory = total - 64 * count
    if count < 0 or directory < 16:
        raise fail(
            "nres-count", "entry_count does not fit the file", 8, count, f"0..{(total - 16) // 64}"
        )

    rows = np.frombuffer(view[directory:], _ROW).tolist()
    entries = []
    for i, (type_id, attr1, attr2, size, attr3, name, start, sort_index) in enumerate(rows):
        if start < 16 or start + size > directory:
            raise ConversionError(
                f"payload of {name.partition(_NUL)[0]!r} lies outside the data region",
                file=label,
                table=_DIRECTORY,
                row=i,
                offset=directory + 64 * i + 56,
                value=f"bytes {start}..{start + size}",
                expected=f"inside 16..{directory}",
                code="nres-payload",
            )
        payload = view[start : start + size]
        entries.append(Entry(type_id, attr1, attr2, attr3, name, start, sort_index, payload))
    shared = sum(row[3] for row in rows)
    if shared > USES * total:
        raise ConversionError(
            "payloads lie in one another too often",
            file=label,
            table=_DIRECTORY,
            value=f"{shared} bytes in all",
            expected=f"at most {USES} times the file's {total}",
            code="nres-reuse",
        )
    return Archive(label, version, entries, _unindexed(view, entries, directory), total, view)


def _unindexed(
    view: memoryview, entries: list[Entry], directory: int
) -> list[tuple[int, memoryview | bytes]]:
    """Regions between header and directory that no payload covers."""
    regions: list[tuple[int, memoryview | bytes]] = []
    cursor = 16
    for start, size in sorted((e.data_offset, e.size) for e in entries):
        if size:
            if start > cursor:
                regions.append((cursor, view[cursor:start]))
            cursor = max(cursor, start + size)
    if cursor < directory:
        regions.append((cursor, view[cursor:directory]))
    return regions
