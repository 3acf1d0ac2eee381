"""Input files: read whole, or part by part while they stay the same; JSON and Deflate in them; locks."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Any, TypeVar

from .errors import ConversionError, Malformed, plural
from .findings import Rule
from .storage import TEMPORARY, cannot_read, cannot_write, no_follow

R = TypeVar("R")

#: Half a character, as JSON may write it.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

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
    refused = cannot_read(path, error)
    refused.code = UNREADABLE.code
    return refused


#: What files begin with that people give for files of the game, and what to do with them.
_FOREIGN = (
    *((start, "unpack it, and give what is in it") for start in (b"PK", b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b")),
    *(
        (start, "a picture goes into a library: gltf2msh PICTURE --into Textures.lib")
        for start in (b"\x89PNG", b"\xff\xd8")
    ),
    (b"MZ", "it is a program: give the game's folder, or an archive of it"),
    (b"glTF", "it is glTF: gltf2msh converts it"),
    (b"MSHS", "it is a sidecar: gltf2msh reads it with the glTF beside it"),
)


def foreign_file(data: memoryview | bytes) -> str | None:
    """Return what to do with a file of a kind that people give for one of the game; ``None``: its kind is not known."""
    start = bytes(data[:8])
    return next((to_do for known, to_do in _FOREIGN if start.startswith(known)), None)


def _require_file(path: Path, about: os.stat_result) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise ConversionError(
            "is a directory",
            file=str(path),
            hint="give a file; msh2gltf DIR --list shows the models below it",
            code=UNREADABLE.code,
        )
    if not stat.S_ISREG(about.st_mode):
        hint = "give a file that lies on a disk"
        raise ConversionError("is not a regular file", file=str(path), hint=hint, code=UNREADABLE.code)
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
        raise ConversionError("changed while it was read", file=path, code=UNREADABLE.code, hint="run it again")
    return data


def stamp(path: str | Path) -> Stamp:
    """Return what distinguishes a file from any other at the same path. Raises OSError: there is no file."""
    return stamp_of(os.stat(path))


def stamp_of(about: os.stat_result) -> Stamp:
    """Return the same of a file that is open, or that was looked at already."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


#: Nanoseconds after which a folder in which something changes certainly gets another time: FAT counts two seconds.
_TICK = 3_000_000_000
#: Nanoseconds for which a listing is trusted at most: Windows keeps no such time of a folder on FAT.
_TRUSTED = 2_000_000_000


def of_a_listing(made: Callable[..., R]) -> Callable[..., R]:
    """Keep what is made of a folder's listing, and of files in it, until one of them may have changed.

    As in git's index, what was read counts only if nothing was changed shortly before: what is added in the
    same tick of the disk's clock leaves no trace. It raises ``OSError`` where a path leads nowhere.

    Args:
        made: takes the folder, and the files that it reads.
    """

    @lru_cache(maxsize=256)
    def kept(_: object, *paths: Path) -> R:
        return made(*paths)

    @wraps(made)
    def current(*paths: Path) -> R:
        found, now = [os.stat(path) for path in paths], time.time_ns()
        if any(now - max(one.st_mtime_ns, one.st_ctime_ns) <= _TICK for one in found):
            return made(*paths)
        return kept((now // _TRUSTED, *((*stamp_of(one), one.st_ctime_ns) for one in found)), *paths)

    return current


@of_a_listing
def names_in(folder: Path) -> Mapping[str, Sequence[str]]:
    """Return the names in a folder, sorted, by what they are in lower case.

    Raises:
        OSError: the folder cannot be listed.
    """
    names: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):
        names.setdefault(name.lower(), []).append(name)
    return names


def in_any_case(folder: Path, names: Sequence[str]) -> Path:
    """Return the path below a folder by names in any case, as the game reads them; what is not there as it is named."""
    for name in names:
        there: Sequence[str] = ()
        with contextlib.suppress(OSError):
            there = names_in(folder).get(name.lower(), ())
        folder = folder / (name if name in there or not there else there[0])
    return folder


#: How often Windows is asked to remove the file of a lock.
_TRIES = 10


@contextlib.contextmanager
def only_run(directory: Path) -> Iterator[bool]:
    """Keep other runs out of an output directory; the lock goes with the process.

    Yields:
        Whether it is kept: some disks have no locks.

    Raises:
        ConversionError: another run is at work there, the directory cannot be made, the file of
            its lock is a link (Windows), or the directory was taken away meanwhile.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle, locked = _lock(directory)
    except BlockingIOError:
        raise _at_work(directory) from None
    except OSError as error:
        raise cannot_write(directory, error) from error
    try:
        yield locked
        try:
            there = sys.platform == "win32" or _still_there(directory, handle)
        except OSError as error:  # the disk is gone
            raise cannot_read(directory, error) from error
        if not there:
            problem = "the directory was removed or replaced while this run was at work"
            raise ConversionError(problem, file=str(directory), hint="run it again")
    finally:
        _unlock(directory, handle)


@contextlib.contextmanager
def no_run(directory: Path) -> Iterator[None]:
    """Keep runs from writing into a directory while it is read; others may read it too.

    Raises:
        ConversionError: a run is at work there, or the file of its lock is a link (Windows).
    """
    try:
        handle, _ = _lock(directory, shared=True)
    except BlockingIOError:
        raise _at_work(directory) from None
    except OSError:  # a directory of others: nobody else writes there, or reading it says why
        yield
        return
    try:
        yield
    finally:
        _unlock(directory, handle)


def _at_work(directory: Path) -> ConversionError:
    return ConversionError("another run is at work in this directory", file=str(directory), hint="wait for it")


def _still_there(directory: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(directory))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _lock(directory: Path, shared: bool = False) -> tuple[int, bool]:
    """A handle that holds the lock, and whether it does."""
    if sys.platform == "win32":
        import msvcrt

        # Windows opens no directories; the byte is locked for as long as the process lives
        handle = no_follow(str(directory / f"{TEMPORARY}lock"), os.O_RDWR | os.O_CREAT)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            _unlock(directory, handle)  # the other run may have ended meanwhile
            raise BlockingIOError from None
        return handle, True
    import fcntl

    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # a file system without locks: work without
        return handle, False
    return handle, True


def _unlock(directory: Path, handle: int) -> None:
    os.close(handle)
    if sys.platform == "win32":
        for _ in range(_TRIES):
            try:
                os.unlink(directory / f"{TEMPORARY}lock")
            except FileNotFoundError:
                break
            except OSError:  # another run, or a virus scanner, has it open: it may last a moment
                time.sleep(0.02)
            else:
                break


def read_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8, with or without a byte order mark; numbers may be NaN or infinite.

    Raises:
        Malformed: no JSON, nested too deeply, a huge number, half a character.
    """
    text = data.decode("utf-8-sig")
    try:
        value = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"line {error.lineno}, column {error.colno} is not JSON, or it ends there") from None
    except ValueError:
        raise Malformed("it has a number of thousands of digits, or half a character") from None


def inflate(data: bytes | memoryview, most: int, *, raw: bool = False) -> tuple[bytes, bool]:
    """Unpack a Deflate stream as far as a bound: a thousandth of what it holds may be its size.

    Args:
        data: the stream; bytes after it do not count.
        most: how many bytes are unpacked at most, from 1.
        raw: it has no header of zlib.

    Returns:
        The bytes, none of a stream that is broken, and whether the stream ends with them; if not,
        it is broken, cut off, or holds more than ``most``.
    """
    stream = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS)
    try:
        content = stream.decompress(data, most)
    except zlib.error:
        return b"", False
    return content, stream.eof
