"""How a run resumes: what a second ``msh2gltf GAME -o OUT`` skips, and what it must not overwrite.

An item is skipped where the key in its record is what the key would be now, and no output of it is
missing. Outputs that somebody edited are kept, and never replaced without ``--force``. A run that
is killed leaves a journal of what it has done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import IO, Literal

from ...importers.nres import read_file
from ..errors import ConversionError
from ..formats.archive import Archive
from ..formats.sidecar import sha256
from .manifest import JOURNAL, Output, Record, as_row
from .walk import Folder, Item

#: What became of an output since it was written.
State = Literal["ours", "edited", "missing"]


def key_of(facts: str, step: str, archive: Archive, item: Item) -> str:
    """Digest of what the outputs depend on: of the archive too where that had a say."""
    if step in ("archive", "d") and item.index is not None:
        facts += _archive_digest(item.path, archive.total_size)
    return sha256(facts.encode())


@lru_cache(maxsize=16)
def _archive_digest(path: str, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def output_states(out: Path, before: Record | None) -> dict[str, State]:
    """What became of each output that was written before: ours, edited, or missing."""
    states: dict[str, State] = {}
    for output in before.outputs if before is not None else ():
        path = out.joinpath(*output.path.split("/"))
        if not path.is_file():
            # Blender's exporter may have made a .gltf of the .glb
            other = path.suffix == ".glb" and path.with_suffix(".gltf").is_file()
            states[output.path] = "edited" if other else "missing"
        else:
            states[output.path] = "ours" if sha256(read_file(path)) == output.sha256 else "edited"
    return states


def refuse_to_lose(
    files: list[tuple[Path, bytes]], outputs: list[Output], states: dict[str, State]
) -> None:
    """Stop where a file is in the way that this converter did not write.

    Raises:
        ConversionError: a file was edited since it was written, or is somebody else's.
    """
    for (path, _), output in zip(files, outputs, strict=True):
        if states.get(output.path) in ("ours", "missing") or not path.exists():
            continue
        if not path.is_file() or sha256(read_file(path)) != output.sha256:
            known = output.path in states
            raise ConversionError(
                "output was edited since it was written" if known else "output exists already",
                file=output.path,
                hint="put the edit back with gltf2msh first, or replace it with --force"
                if known
                else "--force replaces it",
            )


class Journal:
    """Records as they come, so that a killed run need not be done again."""

    def __init__(self, directory: Path, archives: Sequence[Folder]) -> None:
        self._path = directory / JOURNAL
        self._file: IO[bytes] | None = None
        self._archives = archives

    def add(self, record: Record) -> None:
        """Append a record. A full disk loses the line, not the run: the output is compared."""
        try:
            if self._file is None:
                self._file = self._path.open("ab")
                self._write(self._archives)
            self._write([record])
        except OSError:
            return

    def _write(self, rows: Iterable[Folder | Record]) -> None:
        assert self._file is not None
        for row in rows:
            facts = as_row(row) if isinstance(row, Record) else asdict(row)
            line = json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace")
            self._file.write(line + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; ``write_manifest`` removes it."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
