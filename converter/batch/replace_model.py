"""One model back to where it came from: a file of its own, or an entry of an archive."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ...exporters.nres import replace_entry, write_nres
from ...importers.nres import read_file, read_nres
from ..errors import ConversionError, printable
from ..formats.archive import decode_text
from ..formats.sidecar import sha256
from ..storage import copy_output, only_run, write_outputs
from .import_item import entries_called
from .walk import BACKUP


@dataclass(frozen=True)
class Origin:
    """Where a model came from.

    Attributes:
        path: the model's file, or the archive.
        index: directory index of its entry; ``None``: the file is the model.
        raw_name: the entry's name, as its bytes.
    """

    path: Path
    index: int | None = None
    raw_name: bytes = b""


def put_back(origin: Origin, data: bytes, known: Collection[str]) -> bool:
    """Put a model back; every other byte of an archive stays.

    The file as it was is kept as ``NAME.bak``. A backup that is there already stays: it is the file
    as it was before the first change.

    Args:
        origin: where it came from.
        data: its new bytes.
        known: SHA-256 of what may be replaced: the model that was converted, and what was put
            there since.

    Returns:
        Whether anything was written; not where the new bytes are there already.

    Raises:
        ConversionError: another model is there now, the file is gone or cannot be written,
            or another run is at work in its directory.
    """
    with only_run(origin.path.absolute().parent):
        return _put_back(origin, data, known)


def _put_back(origin: Origin, data: bytes, known: Collection[str]) -> bool:
    path = origin.path
    before = bytes(read_file(path))
    new = data if origin.index is None else _with_entry(origin, origin.index, before, data, known)
    if new == before:
        return False
    if origin.index is None and sha256(before) not in known:
        raise _another(path, None)
    backup = Path(f"{path}{BACKUP}")
    if not os.path.lexists(backup):
        copy_output(path, backup)
    write_outputs([(path, new)], force=True)
    return True


def _with_entry(
    origin: Origin, index: int, before: bytes, data: bytes, known: Collection[str]
) -> bytes:
    archive = read_nres(before, str(origin.path))
    same = entries_called(archive, origin.raw_name, index)
    name = printable(decode_text(origin.raw_name))
    if not same:
        raise ConversionError("has no such entry any more", file=str(origin.path), value=name)
    digests = {i: sha256(archive.entries[i].payload) for i in same}
    place = next((i for i in same if digests[i] in known), None)
    if place is not None:
        return write_nres(replace_entry(archive, place, data))
    if sha256(data) in digests.values():
        return before
    raise _another(origin.path, name)


def _another(path: Path, entry: str | None) -> ConversionError:
    return ConversionError(
        "holds another model than the one that was converted",
        file=str(path),
        entry=entry,
        hint="read it again, or write a file of its own",
    )
