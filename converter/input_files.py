"""Input files: read whole, or part by part as long as they stay the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .errors import ConversionError, plural
from .findings import Rule

UNREADABLE = Rule(
    "NRes",
    "unreadable",
    "error",
    "A file can be opened and read.",
    source="docs/recovery.md",
    why="What cannot be read cannot be checked.",
    fix="Check that the file exists, is not a directory and may be read.",
)


@dataclass(frozen=True)
class Later:
    """Bytes that are read on access, each time again, so that nothing of a large archive stays in
    memory.

    Attributes:
        size: its bytes.
        read: reads a part: where it starts, and how many bytes.
    """

    size: int
    read: Callable[[int, int], memoryview | bytes]

    def part(self, start: int, count: int) -> memoryview | bytes:
        """Read bytes from an offset on, as many as there are."""
        return self.read(start, max(0, min(count, self.size - start)))

    def section(self, start: int, size: int) -> Later:
        """Return a part that is itself read on access."""
        return Later(size, partial(_read_inside, self.read, start))


def _read_inside(
    read: Callable[[int, int], memoryview | bytes], first: int, start: int, size: int
) -> memoryview | bytes:
    return read(first + start, size)


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


def pass_on_unreadable(error: ConversionError) -> None:
    """Raise an error again that says nothing of a file's content, but that it cannot be read.

    For callers that skip what is broken: a disk that fails must not change what they find.
    """
    if error.code == UNREADABLE.code:
        raise error


def open_file(path: Path) -> Later:
    """Return a file whose parts are read when they are asked for.

    Raises:
        ConversionError: as of :func:`read_file`. Reading a part raises it too where the file has been
            changed meanwhile.
    """
    with _unreadable(path), path.open("rb") as file:
        about = os.fstat(file.fileno())
        _require_file(path, about)
    return Later(about.st_size, partial(_read_part, str(path), stamp_of(about)))


def _read_part(path: str, before: Stamp, start: int, size: int) -> bytes:
    """A part of a file that is still the one that was opened."""
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
