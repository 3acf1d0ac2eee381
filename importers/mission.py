"""``data.tma`` bytes to :class:`~converter.formats.mission.Mission` (docs/reference/mission.md)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from ..converter.errors import ConversionError, plural
from ..converter.formats.assembly_tables import CLAN_DTYPE, LODE_DTYPE, OBJECT_DTYPE, PROPERTY_DTYPE, ZONE_DTYPE
from ..converter.formats.mission import (
    CLAN_VERSION,
    CLANS,
    FILE_VERSION,
    LODE_VERSION,
    LODES,
    MISSION_END,
    MISSION_VERSION,
    OBJECT_VERSION,
    OBJECTS,
    ROUTES,
    SINCE,
    Clan,
    Mission,
    PlacedObject,
    Property,
    Route,
    new_object_record,
)
from ..converter.numeric.arrays import Records

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

    Args:
        data: the file.
        label: what messages call it.

    Raises:
        ConversionError: an unknown version, a count or text past the end, bytes left over.
    """
    try:
        return _mission(_Cursor(memoryview(data)))
    except ConversionError as error:
        raise error.at(file=label) from None


class _Cursor:
    """A place in a file that moves on; every size is compared with the bytes that are left."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0
        self.table: str | None = None
        self.row: int | None = None

    def take(self, size: int, what: str) -> memoryview:
        """So many bytes."""
        if size > len(self.data) - self.at:
            raise self.error(f"{what} is cut off", plural(len(self.data) - self.at, "byte"), size)
        self.at += size
        return self.data[self.at - size : self.at]

    def word(self, what: str) -> int:
        """A u32."""
        return int.from_bytes(self.take(4, what), "little")

    def count(self, what: str, least: int) -> int:
        """A number of records, each of at least so many bytes."""
        count = self.word(f"number of {what}")
        left = len(self.data) - self.at
        if count * least > left:
            self.at -= 4
            raise self.error(f"more {what} than the file has bytes for", count, left // least)
        return count

    def rows(self, what: str, least: int) -> Iterator[int]:
        """The rows of a table one by one; errors name the row."""
        for row in range(self.count(what, least)):
            self.row = row
            yield row

    def records(self, dtype: np.dtype[np.void], count: int, what: str) -> Records:
        """Records without texts between them, a view of the file."""
        return np.frombuffer(self.take(count * dtype.itemsize, what), dtype)

    def text(self, what: str) -> bytes:
        """A length and so many bytes."""
        return bytes(self.take(self.word(f"length of the {what}"), what))

    def version(self, table: str | None, known: range) -> int:
        """The version of a table."""
        self.table, self.row = table, None
        version = self.word("version")
        if version not in known:
            self.at -= 4
            name = f"version of the {table or 'file'}"
            expected = str(known[0]) if len(known) == 1 else f"{known[0]}..{known[-1]}"
            raise self.error(f"{name} is unknown", version, expected, MISSION_VERSION.code)
        return version

    def error(self, problem: str, value: object, expected: object, code: str = MISSION_END.code) -> ConversionError:
        return ConversionError(
            problem, table=self.table, row=self.row, offset=self.at, value=value, expected=expected, code=code
        )


def _mission(file: _Cursor) -> Mission:
    """The parts of the file in its order."""
    mission = Mission(version=file.version(None, range(FILE_VERSION, FILE_VERSION + 1)))
    file.table = ROUTES
    mission.routes = [_route(file) for _ in file.rows("routes", _ROUTE)]
    mission.clan_version = file.version(CLANS, range(CLAN_VERSION, CLAN_VERSION + 1))
    mission.clans = [_clan(file) for _ in file.rows("clans", _CLAN)]
    version = file.version(OBJECTS, range(1, OBJECT_VERSION + 1))
    mission.object_version = version
    least = 4 + sum(segment.itemsize for segment in _segments(version))
    mission.objects = [_object(file, version) for _ in file.rows("objects", least)]
    file.table = file.row = None
    mission.map_path = file.text("map path")
    mission.word = file.word("word after the map path")
    mission.description = file.text("description")
    mission.lode_version = file.version(LODES, range(LODE_VERSION, LODE_VERSION + 1))
    count = file.count("lodes", LODE_DTYPE.itemsize)
    mission.lodes = file.records(LODE_DTYPE, count, "lodes")
    if file.at != len(file.data):
        left = plural(len(file.data) - file.at, "byte")
        raise file.error("file goes on after its last record", left, "the end of the file")
    return mission


def _route(file: _Cursor) -> Route:
    number = file.word("id")
    count = file.count("points", 12)
    points = np.frombuffer(file.take(12 * count, "points"), "<f4").reshape(count, 3)
    return Route(number, points)


def _clan(file: _Cursor) -> Clan:
    name = file.text("name")
    record = file.records(CLAN_DTYPE, 1, "clan")[0]
    script = file.text("script")
    counts, zones = [], []
    for _ in range(file.count("zones", 4)):
        counts.append(file.count("zones", ZONE_DTYPE.itemsize))
        zones.append(bytes(file.take(counts[-1] * ZONE_DTYPE.itemsize, "zones")))
    tree, minds = file.text("behaviour tree"), file.word("minds")
    relations = [
        (file.text("name of a clan"), file.word("relation")) for _ in range(file.count("relations", _RELATION))
    ]
    rows = np.frombuffer(b"".join(zones), ZONE_DTYPE)
    return Clan(record, name, script, counts, rows, tree, minds, relations)


@cache
def _segments(version: int) -> tuple[np.dtype[np.void], ...]:
    """The numbers of an object between its texts, as this version has them."""
    return tuple(np.dtype([(n, OBJECT_DTYPE[n]) for n in names if version >= SINCE.get(n, 0)]) for names in _SEGMENTS)


def _object(file: _Cursor, version: int) -> PlacedObject:
    record = new_object_record(0)
    head, place, start = _segments(version)
    _fill(record, file.records(head, 1, "object"))
    path = file.text("path")
    _fill(record, file.records(place, 1, "object"))
    name = file.text("name") if version >= SINCE["name"] else b""
    properties = []
    if start.itemsize:
        _fill(record, file.records(start, 1, "object"))
    if version >= SINCE["property_version"]:
        properties = [_property(file) for _ in range(file.count("properties", _PROPERTY))]
    return PlacedObject(record, path, name, properties)


def _fill(record: np.void, stored: Records) -> None:
    for name in stored.dtype.names or ():
        record[name] = stored[name][0]


def _property(file: _Cursor) -> Property:
    kind, value, minimum, maximum = file.records(PROPERTY_DTYPE, 1, "property")[0].tolist()
    return Property(kind, value, minimum, maximum, file.text("name of a property"))
