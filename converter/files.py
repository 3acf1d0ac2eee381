"""Output files: whole or not at all, and never over an existing one unless told to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from converter.errors import ConversionError


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
        for number, (path, data) in enumerate(files):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = path.with_name(f".msh-gltf-{os.getpid()}-{number}.tmp")
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


def _cannot_write(path: Path, error: OSError) -> ConversionError:
    return ConversionError(f"cannot be written ({error.strerror or error})", file=str(path))
