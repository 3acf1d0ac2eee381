"""What an output directory has brought into a game: that alone its glTF files may take back.

Each run over a game starts from the game without it (``game.edits``), so a second edit arrives,
what is no longer edited comes back byte for byte, and what an edit created goes again. The manifest
says up to which transaction each glTF shows the game: what was brought before is part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..files import Stamp
from ..formats.names import readable
from ..formats.nres import Archive, read_nres
from .edits import GameEdits
from .layers import Layer
from .manifest import Record
from .sources import open_archive

#: Between the models of one layer's ``item``: an entry of a library may come from several.
JOIN = "\n"


@dataclass(frozen=True)
class Brought:
    """What an output directory has brought into the files of a game.

    Attributes:
        root: the folder with the vault, absolute.
        prefix: the path from there to the game's directory of the run; empty, or ending in a slash.
        layers: the changes, each with its file: what reports call it, and its path from the run's
            directory.
    """

    root: str = ""
    prefix: str = ""
    layers: tuple[tuple[str, str, Layer], ...] = ()

    def of(self, source: str) -> Brought:
        """Return what of it is in a file, or in the files of a folder."""
        own = [one for one in self.layers if one[0] == source or one[0].startswith(f"{source}/")]
        return replace(self, layers=tuple(own))

    def has(self, file: str) -> bool:
        """Whether any of it is in a file."""
        return any(own == file for own, _, _ in self.layers)

    def digests(self, source: str, name: str, raw: str) -> set[str]:
        """Return SHA-256 of all that was brought as one entry, or as one file.

        Args:
            source: the file or folder.
            name: the entry's name; a folder has a file of that name.
            raw: the name as hex; empty: the file itself.
        """
        places = ((source, raw), (f"{source}/{name}", ""))
        return {
            layer.after
            for file, _, layer in self.layers
            for where, key in places
            if file == where and (layer.slot.name == key or not layer.slot.name)
        }

    def was(self, file: str) -> bytes | None:
        """Return a file that something was brought into as it is without that.

        Args:
            file: what reports call it.

        Returns:
            Its bytes; ``None``: an edit made the file.

        Raises:
            ConversionError: the file cannot be read, or the vault is damaged.
        """
        mine = {layer for own, _, layer in self.layers if own == file}
        path = next(path for own, path, _ in self.layers if own == file)
        with GameEdits(Path(self.root), "", "", dry_run=True) as door:
            return door.was(f"{self.prefix}{path}", mine.__contains__)


def brought_by(door: GameEdits, prefix: str, records: Mapping[str, Record]) -> Brought:
    """Return what an output directory has brought into a game since it was exported.

    Args:
        door: a transaction on the game, whose owner is the output directory.
        prefix: as of :class:`Brought`.
        records: the manifest's, by what reports call them.
    """
    found = []
    for file, state in door.history.files.items():
        if not file.startswith(prefix):
            continue
        for layer in state.layers:
            shown = [records[item].edits for item in layer.item.split(JOIN) if item in records]
            if layer.owner == door.owner and layer.number > min(shown, default=0):
                path = file[len(prefix) :]
                found.append((readable(path), path, layer))
    return Brought(str(door.source_root), prefix, tuple(found))


@lru_cache(maxsize=16)
def archive_without(path: str, label: str, now: Stamp, brought: Brought) -> Archive:
    """Return an archive, or the folder that it was unpacked into, without what was brought.

    Args:
        path: where it is.
        label: what messages and ``brought`` call it.
        now: its stamp; another one means another file.
        brought: what was brought into it.
    """
    if not brought.layers:
        return open_archive(path, label, now)
    where = Path(path)
    if not where.is_dir():
        return read_nres(brought.was(label) or b"", label)
    archive = open_archive(path, label, now)
    entries = [
        replace(entry, payload=brought.was(file) or b"") if brought.has(file := f"{label}/{entry.name}") else entry
        for entry in archive.entries
    ]
    return replace(archive, entries=entries)
