"""Missions (``data.tma``): routes, clans, placed objects, lodes.

The layout has texts between its numbers and lacks fields in older versions
(docs/reference/mission.md). Numbers are kept as the file's own words, texts as its bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

import numpy as np

from ..errors import ConversionError, plural
from ..findings import Rules
from ..numeric.arrays import F32, Records
from .names import Cursor, field_text

CLAN_DTYPE = np.dtype(  # after the name
    [
        ("opaque0", "<i4"),  # +0  -1
        ("base", "<f4", (2,)),  # +4  x, y
        ("type", "<u4"),  # +12 see CLAN_TYPES
    ]
)
assert CLAN_DTYPE.itemsize == 16

ZONE_DTYPE = np.dtype(
    [
        ("centre", "<f4", (3,)),  # +0
        ("inner", "<f4"),  # +12 radius
        ("outer", "<f4"),  # +16 radius
    ]
)
assert ZONE_DTYPE.itemsize == 20

#: The numbers of a placed object in the order of the file, which has texts between them.
OBJECT_DTYPE = np.dtype(
    [
        ("kind", "<u4"),  # see OBJECT_KINDS
        ("opaque4", "<u4"),  # 0x80000002; then the path
        ("clan", "<u4"),  # row of the clans
        ("logical_id", "<i4"),  # -1: none
        ("position", "<f4", (3,)),
        ("turns", "<f4", (3,)),  # about x, y, z, radians
        ("scale", "<f4", (3,)),  # then the instance name
        ("start", "<u4"),
        ("host", "<i4"),  # logical id of a building, -1: none
        ("vertex", "<i4"),  # of that building's path graph, -1: none
        ("property_version", "<u4"),  # 1; then the properties
    ]
)
assert OBJECT_DTYPE.itemsize == 68

PROPERTY_DTYPE = np.dtype(  # then the name
    [
        ("type", "<u4"),  # +0  0 float32, 1 int32
        ("value", "<u4"),  # +4  the bits of a number of that type
        ("minimum", "<u4"),  # +8
        ("maximum", "<u4"),  # +12
    ]
)
assert PROPERTY_DTYPE.itemsize == 16

LODE_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),  # +0
        ("found", "<u4"),  # +12
        ("type", "<u4"),  # +16 0x10001000
        ("amount", "<f4"),  # +20
        ("opaque24", "<u4"),  # +24
    ]
)
assert LODE_DTYPE.itemsize == 28

_rule = Rules("mission", "docs/reference/mission.md")

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
    "mission-version", "error", "The versions are 1 (file), 6 (clans), 1 to 10 (objects) and 1 (lodes)."
)(
    why="Another version may lay out everything in another way.",
    fix="Take the file from the game again; no other version is known.",
)
MISSION_END = _rule("mission-end", "error", "Counts and texts stay inside the file, and the last record ends it.")(
    why="What is read past a wrong count is not what it seems.",
    fix="The file was cut off, or is damaged: take it from a backup.",
)


def kind_of_unit(path: Iterable[str]) -> int:
    """Return ``BUILDING`` or ``UNIT`` for a ``.dat``, by the folders of its path."""
    return BUILDING if _BUILDINGS in map(str.lower, path) else UNIT


@dataclass
class Route:
    """The outline of a tactical area. ``id``: its number in the mission. ``points``: (n, 3) float32, world."""

    id: int
    points: F32


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
        return field_text(self.name)

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
    """

    type: int
    value: int
    minimum: int
    maximum: int
    name: bytes

    @property
    def title(self) -> str:
        """Its name as text."""
        return field_text(self.name)

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

    Raises struct.error, OverflowError, ValueError: the type does not have this number.
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
        return field_text(self.path)

    @property
    def title(self) -> str:
        """Its name as text; empty where it has none."""
        return field_text(self.name)

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
        return field_text(self.map_path)

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


#: The object's numbers between its texts: before the path, up to the name, up to the properties.
_SEGMENTS = (
    ("kind", "opaque4"),
    ("clan", "logical_id", "position", "turns", "scale"),
    ("start", "host", "vertex", "property_version"),
)
#: The smallest sizes of records with texts: what a count may be at most.
_ROUTE, _CLAN, _PROPERTY, _RELATION = 8, 4 + CLAN_DTYPE.itemsize + 20, 20, 8


def read_mission(data: memoryview | bytes, label: str) -> Mission:
    """A mission of any known version; the file must end where its last record ends.

    Raises ConversionError: an unknown version, a count or text past the end, bytes left over.
    """
    try:
        return _mission(Cursor(memoryview(data), MISSION_END))
    except ConversionError as error:
        raise error.at(file=label) from None


def _mission(file: Cursor) -> Mission:
    """The parts of the file in its order."""
    mission = Mission(version=_version(file, None, range(FILE_VERSION, FILE_VERSION + 1)))
    file.table = ROUTES
    mission.routes = [_route(file) for _ in file.rows("routes", _ROUTE)]
    mission.clan_version = _version(file, CLANS, range(CLAN_VERSION, CLAN_VERSION + 1))
    mission.clans = [_clan(file) for _ in file.rows("clans", _CLAN)]
    mission.object_version = version = _version(file, OBJECTS, range(1, OBJECT_VERSION + 1))
    least = 4 + sum(segment.itemsize for segment in _segments(version))
    mission.objects = [_object(file, version) for _ in file.rows("objects", least)]
    file.table = file.row = None
    mission.map_path = file.text("map path")
    mission.word = file.word("word after the map path")
    mission.description = file.text("description")
    mission.lode_version = _version(file, LODES, range(LODE_VERSION, LODE_VERSION + 1))
    mission.lodes = file.records(LODE_DTYPE, file.count("lodes", LODE_DTYPE.itemsize), "lodes")
    if file.at != len(file.data):
        left = plural(len(file.data) - file.at, "byte")
        raise file.error("file goes on after its last record", left, "the end of the file")
    return mission


def _version(file: Cursor, table: str | None, known: range) -> int:
    """The version of a table, which starts there."""
    file.table, file.row = table, None
    version = file.word("version")
    if version not in known:
        file.at -= 4
        expected = str(known[0]) if len(known) == 1 else f"{known[0]}..{known[-1]}"
        raise file.error(f"version of the {table or 'file'} is unknown", version, expected, MISSION_VERSION)
    return version


def _route(file: Cursor) -> Route:
    number, size = file.word("id"), 12 * file.count("points", 12)
    return Route(number, np.frombuffer(file.take(size, "points"), "<f4").reshape(-1, 3))


def _clan(file: Cursor) -> Clan:
    name = file.text("name")
    record = file.records(CLAN_DTYPE, 1, "clan")[0]
    script = file.text("script")
    counts, zones = [], []
    for _ in range(file.count("zones", 4)):
        counts.append(file.count("zones", ZONE_DTYPE.itemsize))
        zones.append(bytes(file.take(counts[-1] * ZONE_DTYPE.itemsize, "zones")))
    tree, minds = file.text("behaviour tree"), file.word("minds")
    count = file.count("relations", _RELATION)
    relations = [(file.text("name of a clan"), file.word("relation")) for _ in range(count)]
    return Clan(record, name, script, counts, np.frombuffer(b"".join(zones), ZONE_DTYPE), tree, minds, relations)


@cache
def _segments(version: int) -> tuple[np.dtype[np.void], ...]:
    """The numbers of an object between its texts, as this version has them."""
    return tuple(np.dtype([(n, OBJECT_DTYPE[n]) for n in names if version >= SINCE.get(n, 0)]) for names in _SEGMENTS)


def _object(file: Cursor, version: int) -> PlacedObject:
    record = new_object_record(0)
    head, place, start = _segments(version)
    _fill(record, head, file)
    path = file.text("path")
    _fill(record, place, file)
    name = file.text("name") if version >= SINCE["name"] else b""
    _fill(record, start, file)
    count = file.count("properties", _PROPERTY) if version >= SINCE["property_version"] else 0
    return PlacedObject(record, path, name, [_property(file) for _ in range(count)])


def _fill(record: np.void, segment: np.dtype[np.void], file: Cursor) -> None:
    if segment.names:
        stored = file.records(segment, 1, "object")[0]
        for name in segment.names:
            record[name] = stored[name]


def _property(file: Cursor) -> Property:
    kind, value, minimum, maximum = file.records(PROPERTY_DTYPE, 1, "property")[0].tolist()
    return Property(kind, value, minimum, maximum, file.text("name of a property"))


def write_mission(mission: Mission) -> bytes:
    """Return the bytes of the file (docs/reference/mission.md), of the version that it was.

    What that version has no room for (:meth:`Mission.has`) is left out.
    """
    return b"".join(chain.from_iterable(mission_records(mission).values()))


def mission_records(mission: Mission) -> dict[str, list[bytes]]:
    """Return the same record by record, by table in the order of the file."""
    return {
        "version": [_word(mission.version)],
        f"count of {ROUTES}": [_word(len(mission.routes))],
        ROUTES: [_word(r.id) + _word(len(r.points)) + r.points.astype("<f4").tobytes() for r in mission.routes],
        f"count of {CLANS}": [_word(mission.clan_version), _word(len(mission.clans))],
        CLANS: [b"".join(_clan_bytes(clan)) for clan in mission.clans],
        f"count of {OBJECTS}": [_word(mission.object_version), _word(len(mission.objects))],
        OBJECTS: [b"".join(_object_bytes(placed, mission.object_version)) for placed in mission.objects],
        "map": [_text(mission.map_path), _word(mission.word), _text(mission.description)],
        f"count of {LODES}": [_word(mission.lode_version), _word(len(mission.lodes))],
        LODES: [lode.tobytes() for lode in mission.lodes],
    }


def _word(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _text(raw: bytes) -> bytes:
    return _word(len(raw)) + raw


def _clan_bytes(clan: Clan) -> list[bytes]:
    out = [_text(clan.name), clan.record.tobytes(), _text(clan.script), _word(len(clan.zone_counts))]
    start = 0
    for count in clan.zone_counts:
        out += [_word(count), clan.zones[start : start + count].tobytes()]
        start += count
    relations = [_text(name) + _word(relation) for name, relation in clan.relations]
    return [*out, _text(clan.tree), _word(clan.minds), _word(len(relations)), *relations]


def _object_bytes(placed: PlacedObject, version: int) -> list[bytes]:
    head, place, start = (
        b"".join(np.asarray(placed.record[name]).tobytes() for name in segment.names or ())
        for segment in _segments(version)
    )
    name = _text(placed.name) if version >= SINCE["name"] else b""
    out = [head, _text(placed.path), place, name, start]
    if version >= SINCE["property_version"]:
        out.append(_word(len(placed.properties)))
        for each in placed.properties:
            out += map(_word, (each.type, each.value, each.minimum, each.maximum))
            out.append(_text(each.name))
    return out
