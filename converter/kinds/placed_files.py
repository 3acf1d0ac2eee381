"""What the glTF of a unit or a mission depends on: files and entries of the game, without decoding.

A run asks this before it converts: whether something changed, and which pictures are needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConversionError
from ..files import read_file
from ..formats.control_points import POINTS_ENDING
from ..formats.kinds import Kind
from ..formats.mission import Mission, read_mission
from ..formats.sidecar import sha256
from ..formats.unit import Unit, read_unit
from ..formats.wear import WEAR_ENDING
from ..options import ExportOptions
from .appearance import find_appearance
from .check_assembly import unit_of
from .game import Game
from .open_files import wears_of_level


@dataclass
class PlacedFiles:
    """What units and missions of a game depend on.

    Attributes:
        game: the game.
        options: how models become glTF; libraries are looked for in ``textures``.
    """

    game: Game
    options: ExportOptions
    _keys: dict[str, tuple[str, bytes]] = field(default_factory=dict, repr=False)

    def digest(self, kind: Kind, path: Path) -> str:
        """Return a digest of all that a unit or a mission is made of.

        Raises:
            ConversionError: it cannot be read, or the registry cannot.
        """
        units, keys, levels = self._named(kind, path)
        facts = [self._key(key)[0] for key in keys]
        facts += [sha256(data) for data in (*units, *levels)]
        if levels:
            facts.append(sha256(repr(self._appearance(levels[-2])).encode()))
        return sha256(json.dumps(facts).encode())

    def material_lists(self, kind: Kind, path: Path) -> list[bytes]:
        """Return the material lists of all that a unit or a mission shows; errors as of digest."""
        _, keys, levels = self._named(kind, path)
        return [*(self._key(key)[1] for key in keys), *levels[-2:]]

    def _named(self, kind: Kind, path: Path) -> tuple[list[bytes], list[str], list[bytes]]:
        """Units, object keys, and a level with its two material lists, of a unit or a mission."""
        data = read_file(path)
        if kind is Kind.UNIT:
            return [bytes(data)], sorted(_keys_of(read_unit(data, str(path)))), []
        mission = read_mission(data, str(path))
        keys: set[str] = set()
        units: dict[str, bytes] = {}
        for placed in mission.objects:
            name = placed.reference.lower()
            if not placed.is_assembly:
                keys.add(name)
            elif name not in units:
                units[name] = b""
                try:
                    unit = unit_of(placed, self.game)
                except ConversionError:
                    continue
                units[name] = unit.records.tobytes()
                keys.update(_keys_of(unit))
        return [bytes(data), *units.values()], sorted(keys), self._level(mission)

    def _level(self, mission: Mission) -> list[bytes]:
        from ..formats.nres import Archive

        path = self.game.file(f"{mission.map}.msh")
        if path is None or not path.is_file():
            return []
        return [bytes(read_file(path)), *wears_of_level(Archive(str(path)), path, None)]

    def _key(self, key: str) -> tuple[str, bytes]:
        """A digest of what an object key leads to, and its material list."""
        if key not in self._keys:
            found = self.game.object(key)
            texts = {WEAR_ENDING: b"", POINTS_ENDING: b""}
            facts = [key, found.problem]
            if found.model is not None and found.resolved is not None:
                opened = found.model
                facts += [sha256(opened.entry.payload), str(opened.archive.total_size)]
                for ending in texts:
                    member = found.resolved.members.get(ending)
                    try:
                        other = None if member is None else self.game.open(member)
                    except ConversionError as error:
                        facts.append(str(error))
                        continue
                    texts[ending] = b"" if other is None else bytes(other.entry.payload)
                facts += [sha256(text) for text in texts.values()]
                facts.append(sha256(repr(self._appearance(texts[WEAR_ENDING])).encode()))
            self._keys[key] = sha256(json.dumps(facts).encode()), texts[WEAR_ENDING]
        return self._keys[key]

    def _appearance(self, wear: bytes) -> object:
        return find_appearance(wear, self.game.root, self.options)


def _keys_of(unit: Unit) -> Iterator[str]:
    return (unit.key(row).lower() for row in range(len(unit)))
