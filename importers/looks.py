"""The chain from a WEAR row to a picture: ``Material.lib``, ``Textures.lib``, ``lightmap.lib``.

Rules: ``evidence`` page, Text and materials. Libraries are looked for in several folders, in order,
in any case; what is not found is a warning that names the places tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from converter.archive import Archive, printable
from converter.looks import LIGHTMAPS, MATERIALS, TEXTURES, Look, look_of, missing_look
from converter.material import find_material
from converter.texture import Texm
from importers.material import read_material
from importers.nres import map_file, read_nres
from importers.texm import read_texm


class Libraries:
    """The libraries of a game.

    Attributes:
        folders: where they are looked for, in this order.
        warnings: what was not found, each once.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = list(dict.fromkeys(folders))
        self.warnings: list[str] = []

    @cached_property
    def materials(self) -> Archive | None:
        """``Material.lib``, or ``None``."""
        return self._library(MATERIALS)

    @cached_property
    def textures(self) -> Archive | None:
        """``Textures.lib``, or ``None``."""
        return self._library(TEXTURES)

    @cached_property
    def lightmaps(self) -> Archive | None:
        """``lightmap.lib``, or ``None``."""
        return self._library(LIGHTMAPS)

    def look(self, name: str) -> Look:
        """What a WEAR row's name leads to: that material, ``DEFAULT``, or the first.

        Raises:
            ConversionError: the material's bytes cannot be read.
        """
        library = self.materials
        found = None if library is None else find_material(library, name)
        if library is None or found is None:
            return missing_look(name)
        if found.step != "name":
            self._warn(
                f"{Path(library.label).name} has no material {printable(name)!r}: "
                f"{printable(library.entries[found.index].name)!r} is shown"
            )
        entry = library.entries[found.index]
        return look_of(name, read_material(entry, library.label), found.step)

    def texture(self, name: str) -> Texm | None:
        """A texture by entry name; ``None`` where there is none.

        Raises:
            ConversionError: its bytes cannot be read.
        """
        return self._texm(self.textures, name, TEXTURES)

    def lightmap(self, name: str) -> Texm | None:
        """A lightmap by entry name; as :meth:`texture`."""
        return self._texm(self.lightmaps, name, LIGHTMAPS)

    def _texm(self, library: Archive | None, name: str, title: str) -> Texm | None:
        if not name or library is None:
            return None
        index = library.find(name)
        if index is None:
            self._warn(f"{Path(library.label).name} has no texture {printable(name)!r}")
            return None
        entry = library.entries[index]
        return read_texm(entry.payload, f"{library.label}, entry {printable(entry.name)}")

    def _library(self, name: str) -> Archive | None:
        for folder in self.folders:
            try:
                found = sorted(p for p in folder.iterdir() if p.name.lower() == name.lower())
            except OSError:
                continue
            if found:
                return read_nres(map_file(found[0]), str(found[0]))
        self._warn(f"no {name} in {', '.join(map(str, self.folders)) or 'any folder'}")
        return None

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
