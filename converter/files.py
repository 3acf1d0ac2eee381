"""Output files: whole or not at all, and never over an existing one unless told to."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from converter.errors import ConversionError

#: What names of unfinished files start with.
TEMPORARY = ".msh-gltf-"


def refuse_existing(paths: Sequence[Path], force: bool) -> None:
    """Stop before any work if an output exists.

    Raises:
        ConversionError: an output exists and ``force`` is not set.
    """
    for path in paths:
        if not force and os.path.lexists(path):
            raise ConversionError(
                "output exists already", file=str(path), hint="--force replaces it"
            )


def write_outputs(files: Sequence[tuple[Path, bytes]], force: bool) -> None:
    """Write files under temporary names, then rename them all, in the given order.

    Missing directories are made. On any failure no output appears and no temporary file stays.

    Raises:
        ConversionError: an output exists, or cannot be written.
    """
    refuse_existing([path for path, _ in files], force)
    waiting: list[tuple[Path, Path]] = []
    try:
        for path, data in files:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = _temporary(path)
                waiting.append((temporary, path))
                with temporary.open("wb") as file:
                    file.write(data)
            except OSError as error:
                raise _cannot_write(path, error) from error
        while waiting:
            temporary, path = waiting[0]
            try:
                os.replace(temporary, path)
            except OSError as error:
                raise _cannot_write(path, error) from error
            waiting.pop(0)
    finally:
        for temporary, _ in waiting:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def copy_output(source: Path, target: Path) -> None:
    """Copy a file with its times and permissions; the copy appears whole or not at all.

    Raises:
        ConversionError: it cannot be copied.
    """
    temporary = _temporary(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, temporary)
        shutil.copystat(source, temporary)
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _cannot_write(target, error) from error


def remove_temporary(root: Path) -> None:
    """Remove what killed runs left behind below a directory; no link is followed."""
    for here, _, names in os.walk(root):
        for name in names:
            if name.startswith(TEMPORARY) and name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(here, name))


def require_inside(root: Path, path: Path, but_not: Path | None = None) -> None:
    """Stop where a link would lead an output out of its directory, or into another one.

    Args:
        root: the output directory.
        path: what is to be written, below it.
        but_not: a directory that must not be written to.

    Raises:
        ConversionError: the path's real place is elsewhere.
    """
    real = path.parent.resolve()
    if not real.is_relative_to(root.resolve()):
        raise ConversionError(
            "a link leads out of the output directory", file=str(path), value=str(real)
        )
    if but_not is not None and real.is_relative_to(but_not.resolve()):
        raise ConversionError(
            "would be written into the game's directory", file=str(path), value=str(real)
        )


@contextlib.contextmanager
def only_run(directory: Path) -> Iterator[None]:
    """Keep other runs out of an output directory; the lock goes with the process.

    Raises:
        ConversionError: another run is at work there, or the directory cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = _lock(directory)
    except BlockingIOError:
        raise ConversionError(
            "another run is at work in this directory", file=str(directory), hint="wait for it"
        ) from None
    except OSError as error:
        raise _cannot_write(directory, error) from error
    try:
        yield
    finally:
        os.close(handle)


def _lock(directory: Path) -> int:
    if sys.platform == "win32":
        import msvcrt

        # Windows opens no directories; the byte is locked for as long as the process lives
        handle = os.open(directory / f"{TEMPORARY}lock", os.O_RDWR | os.O_CREAT)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            os.close(handle)
            raise BlockingIOError from None
        return handle
    import fcntl

    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        pass  # a file system without locks: work without
    return handle


def _temporary(path: Path) -> Path:
    """An unfinished file's name beside its target; unique over processes and machines."""
    return path.with_name(f"{TEMPORARY}{os.urandom(6).hex()}.tmp")


def _cannot_write(path: Path, error: OSError) -> ConversionError:
    return ConversionError(f"cannot be written ({error.strerror or error})", file=str(path))
