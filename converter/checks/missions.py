"""Missions: objects that do not resolve, twice the same id, hosts, places off the map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..errors import printable
from ..findings import Finding, Place, Rule, first_bad, more
from ..formats.mission import BUILDING, CLANS, LODES, NO_ID, OBJECT_KINDS, OBJECTS, ROUTES, Mission
from ..numeric.arrays import Floats, Records
from ..scene.scene import MAX_COORDINATE, in_range

_rule = partial(Rule, "mission", source="docs/reference/mission.md#objects")

#: The largest coordinate or scale of an object: no map is this large.
MAX_PLACE = 1e6
#: How far below the ground, and above it, an object may be, world units.
MAX_BELOW, MAX_ABOVE = 2.0, 50.0
_PLACE = Place(OBJECTS, lambda row: None)  # texts lie between: offsets are not kept


def records_of(mission: Mission) -> Records:
    """Return the numbers of all objects. (n,) ``OBJECT_DTYPE``."""
    from ..formats.mission import OBJECT_DTYPE

    raw = b"".join(placed.record.tobytes() for placed in mission.objects)
    return np.frombuffer(raw, OBJECT_DTYPE)


def check_mission(mission: Mission) -> Iterator[Finding]:
    """Yield what is wrong with a mission by itself."""
    records = records_of(mission)
    yield from _kinds(records)
    yield from _numbers(records)
    yield from _clans(mission, records)
    yield from _ids(records)
    yield from _properties(mission)
    yield from _hosts(mission, records)
    yield from _markers(mission)


MISSION_KIND = _rule(
    "mission-kind",
    "warning",
    "An object is a building, a unit, a plant or a rock: 0 to 3.",
    why="What the path of another kind names is not known.",
    fix="Correct the kind.",
)


def _kinds(records: Records) -> Iterator[Finding]:
    kinds = records["kind"]
    unknown = kinds >= len(OBJECT_KINDS)
    yield from first_bad(MISSION_KIND, unknown, "kind is unknown", _PLACE, kinds, "0..3")


MISSION_PLACE = _rule(
    "mission-place",
    "error",
    "Position, turns and scale are finite numbers of at most 1e6.",
    why="The object is nowhere; glTF cannot hold infinity or NaN.",
    fix="Give the object a place.",
    drops="the object",
)


def _numbers(records: Records) -> Iterator[Finding]:
    for name in ("position", "turns", "scale"):
        bad = ~(np.abs(records[name]) <= MAX_PLACE).all(axis=1)  # nor is NaN
        expected = f"at most {MAX_PLACE:g}"
        yield from first_bad(MISSION_PLACE, bad, f"{name} is not a place", _PLACE, records[name], expected)


MISSION_CLAN = _rule(
    "mission-clan",
    "warning",
    "The clan of a building or unit is a row of the clans.",
    why="The game reads past its table of clans.",
    fix="Name a clan of the mission.",
)


def _clans(mission: Mission, records: Records) -> Iterator[Finding]:
    if not mission.has("clan"):
        return
    bad = (records["kind"] <= 1) & (records["clan"] >= len(mission.clans))
    yield from first_bad(
        MISSION_CLAN, bad, "mission has no such clan", _PLACE, records["clan"], f"below {len(mission.clans)}"
    )


MISSION_ID = _rule(
    "mission-id",
    "warning",
    "A logical id is that of one object.",
    why="Hosts and scripts find objects by it: they find one of the two.",
    fix="Give the second object an id of its own.",
)


def _ids(records: Records) -> Iterator[Finding]:
    ids = records["logical_id"]
    _, first = np.unique(ids, return_index=True)
    twice = (ids != NO_ID) & ~np.isin(np.arange(len(ids)), first)
    yield from first_bad(MISSION_ID, twice, "logical id is another object's too", _PLACE, ids)


MISSION_PROPERTY = _rule(
    "mission-property",
    "warning",
    "The properties LogicalID and ClanID of a building or unit repeat its id and its clan.",
    why="The game shows one of the two, or none.",
    fix="Make them equal.",
)


def _properties(mission: Mission) -> Iterator[Finding]:
    for row, placed in enumerate(mission.objects):
        clan = int(placed.record["clan"])
        owned = placed.is_assembly and clan < len(mission.clans)
        own = {"LogicalID": placed.logical_id, "ClanID": clan} if owned else {}
        for each in placed.properties:
            wanted = own.get(each.title)
            if wanted is not None and each.number != wanted:
                problem = f"property {each.title} is not the object's own"
                yield Finding(MISSION_PROPERTY, problem, OBJECTS, row, None, each.number, wanted)


MISSION_HOST = _rule(
    "mission-host",
    "warning",
    "A unit that starts inside a building names the building's id and a vertex of its path graph.",
    why="The unit starts where it is stored, or nowhere.",
    fix="Name both, or -1 and -1.",
)


def _hosts(mission: Mission, records: Records) -> Iterator[Finding]:
    host, vertex = records["host"], records["vertex"]
    half = (host == NO_ID) != (vertex == NO_ID)
    yield from first_bad(
        MISSION_HOST, half, "host and vertex are not both set", _PLACE, np.stack([host, vertex], 1), "both or neither"
    )
    hosts = mission.hosts()
    for row, placed in enumerate(mission.objects):
        if placed.host is not None:
            building = hosts.get(placed.host[0])
            if building is None or building.kind != BUILDING:
                problem = "mission has no building of the host's id"
                yield Finding(MISSION_HOST, problem, OBJECTS, row, value=placed.host[0])


def host_without_vertex(row: int, vertex: int, count: int) -> Finding:
    """Return the finding about a vertex that the host's path graph does not have."""
    problem = "path graph of the host has no such vertex"
    return Finding(MISSION_HOST, problem, OBJECTS, row, value=vertex, expected=f"below {count}")


MISSION_MARKER = _rule(
    "mission-marker",
    "error",
    "Numbers of routes, zones and lodes are finite, and at most 1e12.",
    source="docs/reference/mission.md",
    why="glTF cannot hold infinity or NaN.",
    fix="Give the route, zone or lode a place.",
)


def _markers(mission: Mission) -> Iterator[Finding]:
    """Yield a finding for each table that has such a number."""
    zones = [(row, zone) for row, clan in enumerate(mission.clans) for zone in clan.zones]
    for table, rows in (
        (ROUTES, [(row, route.points) for row, route in enumerate(mission.routes)]),
        (CLANS, [(row, [*zone["centre"], zone["inner"], zone["outer"]]) for row, zone in zones]),
        (LODES, [(row, [*o["position"], o["amount"]]) for row, o in enumerate(mission.lodes)]),
    ):
        numbers = [(row, np.ravel(np.array(values, np.float32))[:, None]) for row, values in rows]
        bad = [(row, values[~in_range(values)]) for row, values in numbers]
        bad = [(row, values) for row, values in bad if len(values)]
        if bad:
            row, values = bad[0]
            yield Finding(
                MISSION_MARKER,
                more("number is not finite, or too large", len(bad)),
                table,
                row,
                value=float(values[0, 0]),
                expected=f"at most {MAX_COORDINATE:g}",
                count=len(bad),
            )


MISSION_PATH = _rule(
    "mission-path",
    "warning",
    "The path of a building or unit is a .dat of the game, that of scenery a key with a model.",
    why="The object is missing in the game.",
    fix="Correct the path, or add the file.",
)


def check_paths(mission: Mission, problems: Sequence[str]) -> Iterator[Finding]:
    """Yield the objects whose paths do not resolve.

    Args:
        mission: the mission.
        problems: why, by object; empty where it does.
    """
    for row, (placed, problem) in enumerate(zip(mission.objects, problems, strict=True)):
        if problem:
            value = printable(placed.reference)
            yield Finding(MISSION_PATH, problem, OBJECTS, row, value=value)


MISSION_MAP = _rule(
    "mission-map",
    "warning",
    "The level that a mission names is there, and valid.",
    source="docs/reference/mission.md",
    why="The game cannot start the mission.",
    fix="Correct the map path, or add the level.",
)


def missing_map(path: str, problem: str) -> Finding:
    """Return the finding about a level that cannot be read."""
    return Finding(MISSION_MAP, f"level cannot be read: {problem}", value=printable(path))


MISSION_OUTSIDE = _rule(
    "mission-outside", "warning", "Objects are on the map.", why="Nothing is under them.", fix="Move the object."
)
MISSION_GROUND = _rule(
    "mission-ground",
    "note",
    "Objects are near the ground: 2 below it to 50 above.",
    why="Mostly a wrong height; flyers and bridges may be meant so.",
    fix="Move the object.",
)


def check_ground(mission: Mission, low: Floats, high: Floats, ground: Floats) -> Iterator[Finding]:
    """Yield objects off the map, and far below or above the ground. Hosted units are left out.

    Args:
        mission: the mission.
        low, high: (2,) the corners of the terrain, x and y.
        ground: (n,) the height of the ground below each object, NaN where there is none.
    """
    position = records_of(mission)["position"].astype(np.float64)
    free = np.array([placed.host is None for placed in mission.objects], bool)
    free &= np.isfinite(position).all(axis=1)
    xy = position[:, :2]
    outside = free & ~((xy >= low) & (xy <= high)).all(axis=1)
    yield from first_bad(
        MISSION_OUTSIDE, outside, "object is off the map", _PLACE, position, f"{_text(low)} .. {_text(high)}"
    )
    with np.errstate(invalid="ignore"):
        above = position[:, 2] - ground
        far = free & ~outside & ((above < -MAX_BELOW) | (above > MAX_ABOVE))
    yield from first_bad(
        MISSION_GROUND,
        far,
        "object is far from the ground",
        _PLACE,
        lambda row: f"{above[row]:.2f} above it",
        f"{-MAX_BELOW:g}..{MAX_ABOVE:g}",
    )


def _text(corner: Floats) -> str:
    return " ".join(f"{number:g}" for number in corner.tolist())
