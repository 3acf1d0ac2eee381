"""Read the items of a run: the archives that they are in, their bytes, their lists of materials."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConversionError
from ..files import Stamp, read_file
from ..formats.kinds import ASSEMBLY_KINDS, Kind
from ..formats.nres import Archive, read_nres
from ..kinds.open_files import open_nres, open_unpacked, wear_of, wears_of_level
from ..options import ExportOptions
from .walk import Item

if TYPE_CHECKING:
    from ..kinds.placed_files import PlacedFiles
    from ..scene.dialect import Decision

#: How many archives' directories a worker keeps: tasks come by size, so from all of a game's by
#: turns.
_KEPT = 16


def archive_of(item: Item, now: Stamp) -> Archive:
    """The NRes file that an item is in, or is; of a unit or mission its bytes, without entries.

    Args:
        item: the item.
        now: its file's stamp.
    """
    if item.kind in ASSEMBLY_KINDS:
        return Archive(item.source, read_from=read_file(Path(item.path)))
    if item.index is None:
        return read_nres(read_file(Path(item.path)), item.source, longer=True)
    return open_archive(item.path, item.source, now)


@lru_cache(maxsize=_KEPT)
def open_archive(path: str, label: str, now: Stamp) -> Archive:
    """An NRes file whose directory a worker reads once, and entries when they are asked for.

    Args:
        path: the file, or the folder that it was unpacked into.
        label: what messages call it.
        now: its stamp; another one means another file.
    """
    where = Path(path)
    return open_unpacked(where, label) if where.is_dir() else open_nres(where, label, longer=True)


@lru_cache(maxsize=_KEPT)
def archive_majority(path: str, label: str, now: Stamp) -> Decision | None:
    """The dialect of most models of an archive (``evidence`` page, Reading: auto).

    Arguments as of :func:`open_archive`.
    """
    from ..kinds.game import majority_of  # decodes models

    return majority_of(open_archive(path, label, now))


def payload_of(archive: Archive, item: Item) -> memoryview | bytes:
    """The bytes of an item: a file of its own, or an entry of its archive.

    Raises:
        ConversionError: the file cannot be read, or the archive has fewer entries than it had.
    """
    if item.index is None:
        return archive.read_from
    if item.index >= len(archive.entries):
        raise ConversionError("changed while it was read", file=item.source)
    return archive.entries[item.index].payload


def wear_text(archive: Archive, path: Path, item: Item) -> bytes:
    """The WEAR that names an item's materials: of a terrain both, one after the other."""
    if item.kind is Kind.TERRAIN:
        return b"".join(wears_of_level(archive, path, item.index))
    return b"" if item.kind is Kind.TEXTURE else bytes(wear_of(archive, path, item.index))


def placed_files(path: Path, options: ExportOptions) -> PlacedFiles:
    """What the units and missions of a game depend on; kept while its directory is the same.

    Raises:
        ConversionError: the file is not in a game.
    """
    from ..kinds.placed_files import PlacedFiles  # only units and missions need it
    from ..kinds.placed_models import require_game

    game = require_game(path, options)
    known = _PLACED.get("files")
    if known is None or known.game is not game or known.options != options:
        known = _PLACED["files"] = PlacedFiles(game, options)
    return known


#: Those of the game that a worker is at.
_PLACED: dict[str, PlacedFiles] = {}
