"""Locks on directories: one run writes, or several read; they go with the process."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .errors import ConversionError
from .storage import TEMPORARY, cannot_read, cannot_write, no_follow

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
            raise ConversionError(
                "the directory was removed or replaced while this run was at work",
                file=str(directory),
                hint="run it again",
            )
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
