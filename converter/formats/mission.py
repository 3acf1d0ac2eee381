"""Missions (``data.tma``) as data: routes, clans, placed objects, lodes.

The layout has texts between its numbers and lacks fields in older versions
(docs/reference/mission.md). Numbers are kept as the file's own words, texts as its bytes.
Reading is ``importers.mission``, writing ``exporters.mission``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..findings import Rule
from ..numeric.arrays import Records
from .archive import decode_text
from .assembly_tables import CLAN_DTYPE, LODE_DTYPE, OBJECT_DTYPE, ZONE_DTYPE

_rule = partial(Rule, "mission", source="docs/reference/mission.md")

#: What messages call the tables.
ROUTES, CLANS, OBJECTS, LODES = "routes", "clans", "objects", "lodes"
#: What a clan is, by its type. Only nature has zones.
CLAN_TYPES = ("nature", "player", "enemy", "neutral")
#: What an object is, by its kind.
OBJECT_KINDS = ("building", "unit", "vegetation", "rock")
BUILDING, UNIT, VEGETATION, ROCK = range(4)
#: The folder below ``UNITS`` whose units are buildings, in lower case.
_BUILDINGS = "builds"
#: "No logical id", "no host", "no vertex".
NO_ID = -1
#: Type of a property.
FLOAT, INTEGER = 0, 1
#: The versions that are known.
FILE_VERSION, CLAN_VERSION, OBJECT_VERSION, PROPERTY_VERSION, LODE_VERSION = 1, 6, 10, 1, 1
#: From which version of the object record a field is there; the others always are.
SINCE = {"clan": 3, "logical_id": 4, "scale": 10, "name": 7, "start": 8, "host": 9, "vertex": 9, "property_version": 6}

MISSION_VERSION = _rule(
    "mission-version",
    "error",
    "The versions are 1 (file), 6 (clans), 1 to 10 (objects) and 1 (lodes).",
    why="Another version may lay out everything in another way.",
    fix="Take the file from the game again; no other version is known.",
)
MISSION_END = _rule(
    "mission-end",
    "error",
    "Counts and texts stay inside the file, and the last record ends it.",
    why="What is read past a wrong count is not what it seems.",
    fix="The file was cut off, or is damaged: take it from a backup.",
)


def text_of(raw: bytes) -> str:
    """Return a text up to its NUL: some have leftovers after one, most have none."""
    return decode_text(raw.partition(b"\0")[0])


def kind_of_unit(path: Iterable[str]) -> int:
    """Return ``BUILDING`` or ``UNIT`` for a ``.dat``, by the folders of its path."""
    return BUILDING if _BUILDINGS in map(str.lower, path) else UNIT


@dataclass
class Route:
    """The outline of a tactical area.

    Attributes:
        id: its number in the mission.
        points: (n, 3) float32, world.
    """

    id: int
    points: NDArray[np.float32]


@dataclass
class Clan:
    """A side of the mission.

    Attributes:
        record: one ``CLAN_DTYPE``.
        name, script, tree: the bytes of the texts: its name, AI script and behaviour tree.
        zones: ``ZONE_DTYPE``, (n,): all of them, one after the other.
        zone_counts: how the file groups them; their sum is ``len(zones)``.
        minds: a word.
        relations: name of a clan, and the relation to it.
    """

    record: np.void
    name: bytes
    script: bytes = b""
    zone_counts: list[int] = field(default_factory=list)
    zones: Records = field(default_factory=lambda: np.zeros(0, ZONE_DTYPE))
    tree: bytes = b""
    minds: int = 0
    relations: list[tuple[bytes, int]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its name as text."""
        return text_of(self.name)

    @property
    def type(self) -> int:
        """What it is, an index of ``CLAN_TYPES`` in valid files."""
        return int(self.record["type"])

    @property
    def base(self) -> tuple[float, float]:
        """Its base, x and y of the world."""
        x, y = self.record["base"].tolist()
        return x, y


@dataclass
class Property:
    """A number of an object, by name.

    Attributes:
        type: ``FLOAT`` or ``INTEGER``.
        value, minimum, maximum: the bits of numbers of that type.
        name: the bytes of its name.
    """

    type: int
    value: int
    minimum: int
    maximum: int
    name: bytes

    @property
    def title(self) -> str:
        """Its name as text."""
        return text_of(self.name)

    @property
    def number(self) -> float | int:
        """The value as a number."""
        return number_of(self.type, self.value)


def number_of(type: int, word: int) -> float | int:
    """Return the number that a word of a property holds: a float32, else an int32."""
    number: float | int
    (number,) = struct.unpack("<f" if type == FLOAT else "<i", word.to_bytes(4, "little"))
    return number


def word_of(type: int, number: float) -> int:
    """Return the word of a number; reverse of :func:`number_of`.

    Raises:
        struct.error, OverflowError, ValueError: the type does not have this number.
    """
    raw = struct.pack("<f", number) if type == FLOAT else struct.pack("<i", int(number))
    return int.from_bytes(raw, "little")


@dataclass
class PlacedObject:
    """A building, unit, plant or rock that is placed on the map.

    Attributes:
        record: one ``OBJECT_DTYPE``; what the file's version lacks has the value of "none", 1
            for scale.
        path: the bytes of the path: of kinds 0 and 1 a ``.dat`` from the game's directory, of
            kinds 2 and 3 an object key.
        name: the bytes of its name in the mission.
        properties: in the file's order.
    """

    record: np.void
    path: bytes
    name: bytes = b""
    properties: list[Property] = field(default_factory=list)

    @property
    def kind(self) -> int:
        """What it is, an index of ``OBJECT_KINDS`` in valid files."""
        return int(self.record["kind"])

    @property
    def is_assembly(self) -> bool:
        """Whether its path names a ``.dat``; else it is an object key."""
        return self.kind in (BUILDING, UNIT)

    @property
    def reference(self) -> str:
        """Its path or object key as text."""
        return text_of(self.path)

    @property
    def title(self) -> str:
        """Its name as text; empty where it has none."""
        return text_of(self.name)

    @property
    def logical_id(self) -> int:
        """Its number in the mission; ``NO_ID``: it has none."""
        return int(self.record["logical_id"])

    @property
    def host(self) -> tuple[int, int] | None:
        """Logical id of the building that it starts in, and the vertex of its path graph.

        ``None``: it starts at its own position.
        """
        host, vertex = int(self.record["host"]), int(self.record["vertex"])
        return None if NO_ID in (host, vertex) else (host, vertex)

    @property
    def scale(self) -> tuple[float, float, float]:
        """The scale that the game applies: it ignores the stored one of buildings and units."""
        x, y, z = self.record["scale"].tolist() if not self.is_assembly else (1.0, 1.0, 1.0)
        return x, y, z


@dataclass
class Mission:
    """A mission; every word and text of the file.

    Attributes:
        routes, clans, objects: in the file's order.
        lodes: ``LODE_DTYPE``, (n,).
        map_path: the level's path without ending, from the game's directory.
        word: 1 on maps for several players.
        description: mostly damaged; the file ``descr`` beside the mission has the text.
        version, clan_version, object_version, lode_version: of the tables.
    """

    routes: list[Route] = field(default_factory=list)
    clans: list[Clan] = field(default_factory=list)
    objects: list[PlacedObject] = field(default_factory=list)
    lodes: Records = field(default_factory=lambda: np.zeros(0, LODE_DTYPE))
    map_path: bytes = b""
    word: int = 0
    description: bytes = b""
    version: int = FILE_VERSION
    clan_version: int = CLAN_VERSION
    object_version: int = OBJECT_VERSION
    lode_version: int = LODE_VERSION

    @property
    def map(self) -> str:
        """The level's path as text, with the file's backslashes."""
        return text_of(self.map_path)

    def has(self, name: str) -> bool:
        """Tell whether the object records of this version have a field (``SINCE``)."""
        return self.object_version >= SINCE.get(name, 0)

    def hosts(self) -> dict[int, PlacedObject]:
        """Return the objects by logical id; of several with one id, the first."""
        found: dict[int, PlacedObject] = {}
        for placed in self.objects:
            if placed.logical_id != NO_ID:
                found.setdefault(placed.logical_id, placed)
        return found


def new_object_record(kind: int) -> np.void:
    """Return the record of a new object: without clan, id, host; scale 1, at the origin."""
    record = np.zeros(1, OBJECT_DTYPE)
    record["kind"], record["opaque4"] = kind, 0x80000002
    record["clan"], record["property_version"] = 0xFFFFFFFF, PROPERTY_VERSION
    record["scale"] = 1
    for name in ("logical_id", "host", "vertex"):
        record[name] = NO_ID
    made: np.void = record[0]
    return made


def new_clan_record(base: tuple[float, float] = (0.0, 0.0), type: int = 0) -> np.void:
    """Return the record of a new clan."""
    made: np.void = np.array([(-1, base, type)], CLAN_DTYPE)[0]
    return made
