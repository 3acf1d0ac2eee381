"""What units and missions are put together of: the registry's files, components, objects, models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConversionError, called, in_words, printable
from ..findings import Bad, Finding, more
from ..formats.mission import BUILDING, CLANS, LODES, NO_ID, OBJECT_DTYPE, OBJECT_KINDS, OBJECTS, ROUTES, Mission
from ..formats.objects import CLASSES, COMPONENTS, ROWS, Member, Resolved, Unit
from ..numeric.arrays import F64, Bools, Records
from ..scene.assembly import object_label
from ..scene.scene import MAX_COORDINATE, in_range
from . import Rules, why

#: The largest coordinate or scale of an object: no map is this large.
MAX_PLACE = 1e6
#: How far below the ground, and above it, an object may be, world units.
MAX_BELOW, MAX_ABOVE = 2.0, 50.0


rule = Rules("objects.rlb", "docs/reference/registry.md#from-a-key-to-a-model")


def missing_member(object: Resolved, member: Member, problem: str) -> Iterator[Finding]:
    """Yield the finding about a file that a key means and that cannot be opened."""
    yield from (object_model if member is object.model else object_file)(object, member, problem)


@rule("object-model", "warning", "The archive and the member of the first .msh row are there.")
@why("The object has no model: later rows and parents are not tried.", fix="Correct the row, or add the model.")
def object_model(object: Resolved, member: Member, problem: str) -> Iterator[Bad]:
    yield _missing(object, member, problem)


@rule("object-file", "warning", "The other files that a key means are there.")
@why("The object has no materials, no points, or whatever the file was for.", fix="Correct the row, or add the file.")
def object_file(object: Resolved, member: Member, problem: str) -> Iterator[Bad]:
    yield _missing(object, member, problem)


def _missing(object: Resolved, member: Member, problem: str) -> Bad:
    text = f"{member.ending} of {in_words(object.key)} is missing: {problem}"
    return Bad(text, ROWS, None, printable(str(member)))


rule = Rules("unit", "docs/reference/unit.md#how-a-part-is-mounted")


@dataclass(frozen=True)
class PartFacts:
    """What the game has for a component.

    Attributes:
        problem: why there is no model although the registry names one; empty otherwise.
        geometry: (n,) which nodes of its model have geometry; ``None``: there is no model.
    """

    known: bool
    problem: str = ""
    geometry: Bools | None = None


@rule("unit-class", "warning", "A component's class is 0 to 5.", "docs/reference/unit.md")
@why("What the game does with another one is not known.", fix="Take the class of a component like it.")
def unit_class(unit: Unit) -> Iterator[Bad]:
    part = unit.records["part_class"]
    yield Bad("class is unknown", (COMPONENTS, "part_class"), part >= len(CLASSES), part, f"0..{len(CLASSES) - 1}")


def check_parts(unit: Unit, facts: Sequence[PartFacts]) -> Iterator[Finding]:
    """Yield components that do not resolve, and shown ones that are not mounted on a socket; ``facts``: about each."""
    for row, fact in enumerate(facts):
        yield from unit_key(unit, row, fact)
        parent = int(unit.parents[row])
        geometry = None if parent < 0 else facts[parent].geometry
        if geometry is not None and unit.is_shown(row):
            broken = [*unit_socket(unit, row, len(geometry))]
            yield from broken or unit_mount(unit, row, geometry)


@rule(
    "unit-key",
    "warning",
    "A component's key is in objects.rlb, and its model is there.",
    "docs/reference/registry.md#from-a-key-to-a-model",
)
@why("The part is missing in the game, and what is mounted on it.", fix="Correct the key, or add the object.")
def unit_key(unit: Unit, row: int, fact: PartFacts) -> Iterator[Bad]:
    name = printable(unit.key(row))
    if not fact.known:
        yield Bad("objects.rlb does not have the key", (COMPONENTS, "key"), row, name)
    elif fact.problem:
        yield Bad(f"model of {in_words(name)} is missing: {fact.problem}", (COMPONENTS, "key"), row)


@rule("unit-socket", "warning", "A turret or gun is mounted on a node of its parent's model.")
@why("There is no place for it: the part is not shown.", fix="Name a socket of the parent.")
def unit_socket(unit: Unit, row: int, nodes: int) -> Iterator[Bad]:
    attach = unit.attach(row)
    if not 0 <= attach < nodes:
        name, parent = (printable(unit.key(part)) for part in (row, int(unit.parents[row])))
        problem = f"parent {in_words(parent)} has no such node for {in_words(name)}"
        yield Bad(problem, (COMPONENTS, "attach"), row, attach, f"0..{nodes - 1}")


@rule("unit-mount", "warning", "The node that a part is mounted on has no geometry.")
@why(
    "All sockets of the game's models are without; the part would sit inside another one.",
    fix="Name a node whose name begins with Base_.",
)
def unit_mount(unit: Unit, row: int, geometry: Bools) -> Iterator[Bad]:
    attach = unit.attach(row)
    if geometry[attach]:
        name, parent = (printable(unit.key(part)) for part in (row, int(unit.parents[row])))
        problem = f"{in_words(name)} is mounted on a node with geometry of {in_words(parent)}"
        yield Bad(problem, (COMPONENTS, "attach"), row, attach, "a node without")


def has_geometry(nodes: Records) -> Bools:
    """Return which nodes of a model have geometry. (n,) ``NODE_DTYPE`` -> (n,)."""
    slots = nodes["slot_index"].reshape(len(nodes), -1)
    return np.asarray((slots != 0xFFFF).any(axis=1))


rule = Rules("mission", "docs/reference/mission.md#objects")


def records_of(mission: Mission) -> Records:
    """Return the numbers of all objects. (n,) ``OBJECT_DTYPE``."""
    raw = b"".join(placed.record.tobytes() for placed in mission.objects)
    return np.frombuffer(raw, OBJECT_DTYPE)


def check_mission(mission: Mission) -> Iterator[Finding]:
    """Yield what is wrong with a mission by itself."""
    records = records_of(mission)
    yield from mission_kind(records)
    yield from mission_place(mission, records)
    yield from mission_clan(mission, records)
    yield from mission_id(records)
    yield from mission_property(mission)
    yield from mission_host(mission, records)
    yield from mission_marker(mission)


@rule("mission-kind", "warning", "An object is a building, a unit, a plant or a rock: 0 to 3.")
@why("What the path of another kind names is not known.", fix="Correct the kind.")
def mission_kind(records: Records) -> Iterator[Bad]:
    kinds = records["kind"]
    yield Bad("kind is unknown", OBJECTS, kinds >= len(OBJECT_KINDS), kinds, "0..3")


@rule("mission-place", "error", "Position, turns and scale are finite numbers of at most 1e6.", drops="the object")
@why("The object is nowhere; glTF cannot hold infinity or NaN.", fix="Give the object a place.")
def mission_place(mission: Mission, records: Records) -> Iterator[Bad]:
    for name in ("position", "turns", "scale"):
        bad = ~(np.abs(records[name]) <= MAX_PLACE).all(axis=1)  # nor is NaN
        if bad.any():
            label = called(object_label(mission.objects[int(bad.argmax())]))
            yield Bad(f"object {label} has no valid {name}", OBJECTS, bad, records[name], f"at most {MAX_PLACE:g}")


@rule("mission-clan", "warning", "The clan of a building or unit is a row of the clans.")
@why("The game reads past its table of clans.", fix="Name a clan of the mission.")
def mission_clan(mission: Mission, records: Records) -> Iterator[Bad]:
    if not mission.has("clan"):
        return
    bad = (records["kind"] <= 1) & (records["clan"] >= len(mission.clans))
    yield Bad("mission has no such clan", OBJECTS, bad, records["clan"], f"below {len(mission.clans)}")


@rule("mission-id", "warning", "A logical id is that of one object.")
@why("Hosts and scripts find objects by it: they find one of the two.", fix="Give the second object an id of its own.")
def mission_id(records: Records) -> Iterator[Bad]:
    ids = records["logical_id"]
    _, first = np.unique(ids, return_index=True)
    twice = (ids != NO_ID) & ~np.isin(np.arange(len(ids)), first)
    yield Bad("logical id is another object's too", OBJECTS, twice, ids)


@rule(
    "mission-property",
    "warning",
    "The properties LogicalID and ClanID of a building or unit repeat its id and its clan.",
)
@why("The game shows one of the two, or none.", fix="Make them equal.")
def mission_property(mission: Mission) -> Iterator[Bad]:
    for row, placed in enumerate(mission.objects):
        clan = int(placed.record["clan"])
        owned = placed.is_assembly and clan < len(mission.clans)
        own = {"LogicalID": placed.logical_id, "ClanID": clan} if owned else {}
        for each in placed.properties:
            wanted = own.get(each.title)
            if wanted is not None and each.number != wanted:
                yield Bad(f"property {each.title} is not the object's own", OBJECTS, row, each.number, wanted)


@rule(
    "mission-host",
    "warning",
    "A unit that starts inside a building names the building's id and a vertex of its path graph.",
)
@why("The unit starts where it is stored, or nowhere.", fix="Name both, or -1 and -1.")
def mission_host(mission: Mission, records: Records) -> Iterator[Bad]:
    host, vertex = records["host"], records["vertex"]
    half, both = (host == NO_ID) != (vertex == NO_ID), np.stack([host, vertex], 1)
    yield Bad("host and vertex are not both set", OBJECTS, half, both, "both or neither")
    hosts = mission.hosts()
    for row, placed in enumerate(mission.objects):
        if placed.host is not None:
            building = hosts.get(placed.host[0])
            if building is None or building.kind != BUILDING:
                yield Bad("mission has no building of the host's id", OBJECTS, row, placed.host[0])


@mission_host.also
def host_without_vertex(row: int, vertex: int, count: int) -> Iterator[Bad]:
    """Yield a vertex that the host's path graph does not have."""
    yield Bad("path graph of the host has no such vertex", OBJECTS, row, vertex, f"below {count}")


@rule(
    "mission-marker",
    "error",
    "Numbers of routes, zones and lodes are finite, and at most 1e12.",
    "docs/reference/mission.md",
)
@why("glTF cannot hold infinity or NaN.", fix="Give the route, zone or lode a place.")
def mission_marker(mission: Mission) -> Iterator[Bad]:
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
            problem, expected = more("number is not finite, or too large", len(bad)), f"at most {MAX_COORDINATE:g}"
            yield Bad(problem, table, row, float(values[0, 0]), expected, len(bad))


@rule(
    "mission-path",
    "warning",
    "The path of a building or unit is a .dat of the game, that of scenery a key with a model.",
)
@why("The object is missing in the game.", fix="Correct the path, or add the file.")
def mission_path(mission: Mission, problems: Sequence[str]) -> Iterator[Bad]:
    """Yield the objects whose paths do not resolve; ``problems`` says why, empty where one does."""
    for row, (placed, problem) in enumerate(zip(mission.objects, problems, strict=True)):
        if problem:
            yield Bad(problem, OBJECTS, row, printable(placed.reference))


@rule("mission-map", "warning", "The level that a mission names is there, and valid.", "docs/reference/mission.md")
@why("The game cannot start the mission.", fix="Correct the map path, or add the level.")
def mission_map(path: str, problem: str) -> Iterator[Bad]:
    """Yield a level that cannot be read."""
    yield Bad(f"level cannot be read: {problem}", None, None, printable(path))


def check_ground(mission: Mission, low: F64, high: F64, ground: F64) -> Iterator[Finding]:
    """Yield objects off the map, and far below or above the ground. Hosted units are left out.

    Args:
        low, high: (2,) the corners of the terrain, x and y.
        ground: (n,) the height of the ground below each object, NaN where there is none.
    """
    position = records_of(mission)["position"].astype(np.float64)
    free = np.array([placed.host is None for placed in mission.objects], bool)
    free &= np.isfinite(position).all(axis=1)
    inside = ((position[:, :2] >= low) & (position[:, :2] <= high)).all(axis=1)
    yield from mission_outside(position, free & ~inside, low, high)
    yield from mission_ground(position[:, 2], ground, free & inside)


@rule("mission-outside", "warning", "Objects are on the map.")
@why("Nothing is under them.", fix="Move the object.")
def mission_outside(position: F64, outside: Bools, low: F64, high: F64) -> Iterator[Bad]:
    box = " .. ".join(" ".join(f"{number:g}" for number in corner.tolist()) for corner in (low, high))
    yield Bad("object is off the map", OBJECTS, outside, position, box)


@rule("mission-ground", "note", "Objects are near the ground: 2 below it to 50 above.")
@why("Mostly a wrong height; flyers and bridges may be meant so.", fix="Move the object.")
def mission_ground(height: F64, ground: F64, inside: Bools) -> Iterator[Bad]:
    with np.errstate(invalid="ignore"):
        above = height - ground
        far = inside & ((above < -MAX_BELOW) | (above > MAX_ABOVE))
    expected = f"{-MAX_BELOW:g}..{MAX_ABOVE:g}"
    yield Bad("object is far from the ground", OBJECTS, far, lambda row: f"{above[row]:.2f} above it", expected)


rule = Rules("unit, mission", "docs/reference/registry.md#from-a-key-to-a-model")


@rule("placed-model", "warning", "The models that are placed can be read, without errors.")
@why(
    "The place is empty, or lacks what is broken of the model.",
    fix="Check the model by itself: msh-inspect --check says what is wrong with it.",
)
def placed_model(key: str, error: ConversionError) -> Iterator[Bad]:
    """Yield a model that cannot be read, or whose material list cannot."""
    yield Bad(f"model of {in_words(key)} is not shown: {error}")


@placed_model.also
def broken_model(key: str, finding: Finding) -> Iterator[Bad]:
    """Yield what a tolerant reader leaves out of a placed model."""
    yield Bad(f"model of {in_words(key)} is not shown whole: {finding}")
