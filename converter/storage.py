"""Output files: whole or not at all, and never over an existing one unless asked to."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from io import FileIO
from pathlib import Path

from . import STOPPING
from .errors import ConversionError, reason_of, to_do

#: The folder with a game's originals and the history of its changes (``game.vault``).
VAULT = ".msh-gltf"
#: What names of unfinished files start with.
TEMPORARY = ".msh-gltf-"
_ENDING = ".tmp"
#: Errors of the system that mean: there is no such folder, or it may not be listed.
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL}
#: What to do about an output that exists: it may be somebody's work.
IN_THE_WAY = "move it away, or name another place"


def refuse_existing(files: Sequence[tuple[Path, bytes]], force: bool) -> None:
    """Stop before anything is written if another output exists, or a directory is in its place.

    Raises:
        ConversionError: an output exists with other bytes and ``force`` is not set; a directory is
            never replaced.
    """
    for path, data in files:
        if not os.path.lexists(path):
            continue
        if not force and not _holds(path, data):
            raise _exists(path)
        if os.path.isdir(path) and not os.path.islink(path):
            raise cannot_write(path, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))


def _exists(path: Path) -> ConversionError:
    return ConversionError("output exists already", file=str(path), hint=IN_THE_WAY)


def _holds(path: Path, data: bytes) -> bool:
    """Whether a file has these bytes: the same command wrote it before, or one that was killed."""
    try:
        return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def write_outputs(files: Sequence[tuple[Path, bytes]], force: bool, *, durable: bool = False) -> list[Path]:
    """Write files under temporary names, then rename them all, in the given order.

    Missing directories are made, permissions of replaced files kept. On any failure no new output
    stays, and no temporary file; an interrupt waits for the renames.

    Args:
        force: replace outputs that exist; without it one that has the same bytes stays, any other
            is refused.
        durable: what is written survives a power cut (docs/recovery.md): the bytes are on the disk
            before a file gets its name, and the name is there before this returns. For files of
            the game; everything else can be made again.

    Returns:
        What was written.

    Raises:
        ConversionError: an output exists, or cannot be written.
    """
    refuse_existing(files, force)
    for directory in dict.fromkeys(path.parent for path, _ in files):
        _tidy(directory)
    files = [(path, data) for path, data in files if force or not os.path.lexists(path)]
    with contextlib.ExitStack() as stack:
        waiting = []
        for path, data in files:
            try:
                if not os.path.isdir(path.parent):
                    path.parent.mkdir(parents=True, exist_ok=True)
                unfinished = stack.enter_context(_Unfinished(path))
                waiting.append(unfinished)
                unfinished.file.write(data)
                unfinished.file.flush()
                copy_mode(path, unfinished.path)
                if durable:
                    os.fsync(unfinished.file.fileno())
            except OSError as error:
                raise cannot_write(path, error) from error
        new: list[Path] = []
        with undisturbed():
            try:
                for unfinished in waiting:
                    was_there = os.path.lexists(unfinished.target)
                    unfinished.appear(force)
                    if not was_there:
                        new.append(unfinished.target)
                for one in {path.parent: path for path, _ in files}.values() if durable else ():
                    sync_directory(one)
            except ConversionError:
                for path in new:
                    _remove(path)
                raise
    return [path for path, _ in files]


def write_durably(files: Sequence[tuple[Path, bytes]]) -> None:
    """Write files of a game or its vault over what is there; as of :func:`write_outputs`, durable."""
    write_outputs(files, force=True, durable=True)


def copy_output(source: Path, target: Path) -> None:
    """Copy a file with its times and permissions; the copy appears whole or not at all.

    Raises:
        ConversionError: it cannot be copied.
    """
    try:
        opened = source.open("rb")
    except OSError as error:
        raise cannot_read(source, error) from error
    try:
        with opened:
            target.parent.mkdir(parents=True, exist_ok=True)
            with _Unfinished(target) as unfinished:
                shutil.copyfileobj(opened, unfinished.file, 1 << 20)
                unfinished.file.flush()
                with _where_disks_can():
                    shutil.copystat(source, unfinished.path)
                with undisturbed():
                    unfinished.appear(force=True)
    except OSError as error:
        raise cannot_write(target, error) from error


def sync_directory(path: Path) -> None:
    """Wait until the name of a file is on the disk, where the system offers that.

    Raises:
        ConversionError: the disk reports an error.
    """
    if sys.platform == "win32":
        return  # opens no directories
    try:
        directory = os.open(path.parent, os.O_RDONLY)
    except OSError:
        return  # one that may be written, and not read
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network disks have none
            raise cannot_write(path, error) from error
    finally:
        os.close(directory)


class _Unfinished:
    """A file under a temporary name beside its target; it goes with its context.

    While it is open it is locked, so that others can tell it from one that a killed process left.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        while True:
            # unique over processes and machines
            self.path = target.parent / f"{TEMPORARY}{os.urandom(6).hex()}{_ENDING}"
            self.file = open(self.path, "xb")  # noqa: SIM115 - closed by the context
            if self._claimed():
                return
            self.file.close()

    def __enter__(self) -> _Unfinished:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.file.close()
        _remove(self.path)

    def _claimed(self) -> bool:
        """Whether the lock came before somebody took the file for abandoned."""
        if sys.platform == "win32":
            return True
        import fcntl

        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(self.file, fcntl.LOCK_EX)
        return os.fstat(self.file.fileno()).st_nlink > 0

    def appear(self, force: bool) -> None:
        """Give the file its name.

        Raises:
            ConversionError: not possible; without ``force`` also where the name is taken, be it
                since a moment ago.
        """
        try:
            if sys.platform == "win32":
                self.file.close()  # Windows renames no open file
            if force:
                os.replace(self.path, self.target)
            elif sys.platform == "win32":
                os.rename(self.path, self.target)
            else:
                self._link()
        except FileExistsError as error:
            if not force:
                raise _exists(self.target) from error
            raise cannot_write(self.target, error) from error
        except OSError as error:
            raise cannot_write(self.target, error) from error

    def _link(self) -> None:
        """Take the name if it is free: a rename would replace, a link does not."""
        try:
            os.link(self.path, self.target)
            _remove(self.path)  # here, where no interrupt comes between
        except FileExistsError:
            raise
        except OSError:  # FAT has no links
            if os.path.lexists(self.target):
                raise _exists(self.target) from None
            os.replace(self.path, self.target)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let interrupts wait for a few renames, so that a glTF and its sidecar change together.

    Python's handlers are put off, not the signals: another thread, NumPy's, would get those.
    """
    came: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():  # no other has handlers
        for name in STOPPING:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) not in (None, signal.SIG_IGN):
                before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


def copy_mode(old: Path, new: str | Path) -> None:
    """Give a new file the mode of the one whose place it takes, if there is one.

    Raises:
        OSError: the disk reports an error.
    """
    with contextlib.suppress(FileNotFoundError), _where_disks_can():
        os.chmod(new, stat.S_IMODE(os.stat(old).st_mode))


@contextlib.contextmanager
def _where_disks_can() -> Iterator[None]:
    """Do without modes and times on a disk that has none."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.EPERM):
            raise


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            path.chmod(stat.S_IWRITE)  # Windows removes no read-only file
        path.unlink(missing_ok=True)


def _remove_abandoned(path: str) -> None:
    """Remove an unfinished file that no living process writes."""
    if sys.platform == "win32":
        with contextlib.suppress(OSError):  # an open file cannot be removed
            os.unlink(path)
        return
    import fcntl

    with contextlib.suppress(OSError, ConversionError), open(path, "r+b", opener=no_follow) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)


def require_no_link(path: str | Path) -> None:
    """Stop where a file that lies in an output directory under a fixed name is a link.

    Output directories come from anybody; what a link names, there or not, is not part of them.
    """
    if os.path.islink(path):
        raise ConversionError(
            "is a link, and is not followed", file=str(path), hint="delete it, or put the file itself in its place"
        )


def no_follow(path: str, flags: int) -> int:
    """Open a file, but not through a link: for ``opener`` of ``open``.

    Every file that is not written under a temporary name (:func:`write_outputs`) is opened with
    this: journal, locks, logs, and what killed processes left.

    Raises:
        ConversionError: it is a link.
        OSError: as of ``os.open``.
    """
    require_no_link(path)  # Windows has no flag for it
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def append_file(path: Path) -> FileIO:
    """Open a file that is appended to, for reading and writing, unbuffered; not through a link.

    Raises:
        ConversionError: it is a link.
        OSError: as of ``os.open``.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return open(path, "r+b", buffering=0, opener=lambda name, _: no_follow(name, flags))


def held_open(path: Path) -> OSError | None:
    """Return why a file cannot be replaced: on Windows another program may have it open."""
    if sys.platform != "win32" or not path.is_file():
        return None
    try:
        open(path, "r+b", opener=no_follow).close()
    except OSError as error:
        return error
    return None


def _is_temporary(name: str) -> bool:
    return name.startswith(TEMPORARY) and name.endswith(_ENDING)


@cache
def _tidy(directory: Path) -> None:
    """Remove what killed processes left in a directory; once per process."""
    if sys.platform == "win32":
        return  # an unfinished file is not always open there: only whole runs tidy up
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if _is_temporary(name):
                _remove_abandoned(os.path.join(directory, name))


def _walk(root: Path, onerror: Callable[[OSError], None] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk like ``os.walk``, which before Python 3.12 ends in a RecursionError a thousand folders deep."""
    waiting = [str(root)]
    while waiting:
        for here, directories, files in os.walk(waiting.pop(), onerror=onerror):
            yield here, directories, files
            waiting += [path for name in reversed(directories) if not os.path.islink(path := os.path.join(here, name))]
            directories.clear()


def walk_files(
    root: Path, onerror: Callable[[OSError], None] | None = None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield every directory below one, with the names of its directories and files, sorted.

    The one walk over a game: no vault is entered, and no link is followed. Names that the caller takes from the
    directories are not entered either. ``onerror``: called where a directory cannot be read.
    """
    for here, directories, files in _walk(root, onerror):
        directories[:] = sorted(name for name in directories if name.lower() != VAULT)
        yield Path(here), directories, sorted(files)


def remove_temporary(root: Path) -> None:
    """Remove what killed runs left below a directory; no link is followed."""
    for here, _, names in _walk(root):
        for name in filter(_is_temporary, names):
            _remove_abandoned(os.path.join(here, name))


def link_message(path: Path) -> str | None:
    """Return a message for the user where a file that is to be replaced has other names.

    A file is replaced by a rename, so nothing is written through a link.
    """
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        there = os.readlink(path)
        return f"{path} was a link to {there}: it is a file of its own now, {there} is as it was"
    if about.st_nlink > 1:
        return f"{path} had {about.st_nlink} names (hard links): the others hold what they did"
    return None


def real_path(path: Path) -> Path:
    """Return where a path leads. Before Python 3.13 ``Path.resolve`` fails where links go in a circle."""
    return Path(os.path.realpath(path))


def absolute(path: Path | str) -> Path:
    """Return a path from the root without ``..``; links are followed only before one, as where the path is opened."""
    parts = Path(path).absolute().parts
    if os.name == "nt" or ".." not in parts:
        return Path(os.path.abspath(path))
    last = len(parts) - parts[::-1].index("..")
    return real_path(Path(*parts[:last])).joinpath(*parts[last:])


def require_inside(root: Path, path: Path, but_not: Path | None = None) -> None:
    """Stop where a link would lead an output out of its directory, or into another one.

    Args:
        path: what is to be written, below it.
        but_not: a directory that must not be written to.

    Raises:
        ConversionError: the path's real place is elsewhere.
    """
    real = real_path(path.parent)
    problem = ""
    if not real.is_relative_to(real_path(root)):
        problem = "a link leads out of the output directory"
    elif but_not is not None and real.is_relative_to(real_path(but_not)):
        problem = "would be written into the game's directory"
    if problem:
        raise ConversionError(problem, file=str(path), value=str(real), hint="name another output directory")


def cannot_write(path: str | Path, error: OSError) -> ConversionError:
    """Return the error for a file or a directory that the system does not let us write."""
    return ConversionError(f"cannot be written ({reason_of(error)})", file=str(path), hint=to_do(error))


def cannot_read(path: str | Path, error: OSError) -> ConversionError:
    """Return the error for a file or a directory that the system does not let us read."""
    return ConversionError(f"cannot be read ({reason_of(error)})", file=str(path), hint=to_do(error))


def not_there(path: str | Path) -> ConversionError:
    """Return the error for a path that leads nowhere."""
    return cannot_read(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))


@contextlib.contextmanager
def if_there(folder: Path) -> Iterator[None]:
    """Go on after the context where a folder that it lists is not there, or may not be listed.

    A disk that fails is not a folder that is absent: what is made then would be another result.

    Raises:
        ConversionError: the disk reports an error.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _ABSENT:
            raise cannot_read(folder, error) from error


def is_taken(path: Path) -> bool:
    """Return whether anything has a path, a link that leads nowhere included.

    Raises:
        ConversionError: the disk reports an error; ``os.path.lexists`` takes that for "no".
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise cannot_read(path, error) from error
    return True
