"""A mission while an edited file is applied to it, and what the file changes of its routes, zones and lodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..errors import called, in_words
from ..findings import Report, Subject
from ..formats.mission import LODE_DTYPE, ROCK, VEGETATION, ZONE_DTYPE, Clan, Mission, PlacedObject, Route
from ..formats.names import without_number
from ..numeric.arrays import F32, F64, Records
from ..options import ImportOptions
from ..scene.assembly import Pose
from ..scene.decode import closed_sides
from ..scene.extras import NodeExtras
from ..scene.scene import ImportedScene, nodes_above, require_in_range
from .nodes import POSE_NOISE, world_matrices
from .poses import TURN_NOISE, place_of, same_position
from .unit import encoded, row_of

#: Kinds that place an object key.
SCENERY = frozenset((VEGETATION, ROCK))


class Asset(NamedTuple):
    """What a mission can place: the kind of the object, and its path or key as text."""

    kind: int
    path: str


@dataclass
class MissionEdit:
    """A mission while the edits of a file are applied to it.

    Attributes:
        stored: the mission of the sidecar; not changed.
        known: what can be placed, by its name, path or key in lower case.
        hosted: where the file was made to show objects that start in a building, by row.
        left_out: rows that it was made without.
        options: whether objects are deleted even where none is left.
        new_items: nodes that became new objects.
        exchanged: nodes of objects that place something else than before, and what that was.
        mission: the edited one.
        world: (n, 4, 4) from each of its nodes to the world, game axes.
    """

    imported: ImportedScene
    stored: Mission
    known: Mapping[str, Asset]
    hosted: Mapping[int, Pose]
    left_out: frozenset[int]
    options: ImportOptions
    new_items: set[int] = field(default_factory=set)
    exchanged: dict[int, str] = field(default_factory=dict)
    mission: Mission = field(init=False)
    world: F64 = field(init=False)

    def __post_init__(self) -> None:
        self.mission = copy(self.stored)
        self.mission.clans = [*self.stored.clans]
        self.world = world_matrices(self.imported.nodes)
        require_in_range("a place", self.world)

    @property
    def report(self) -> Report:
        """What the import says."""
        return self.imported.report

    def of_kind(self, kind: str) -> list[int]:
        """Return the nodes of a kind, in the order of the file."""
        return [i for i, n in enumerate(self.imported.nodes) if n.extras.get("kind") == kind]

    def integer(self, where: str, extras: NodeExtras, key: str, stored: int, dtype: str) -> int:
        """Return an integer of the extras; one that the record cannot hold is reported."""
        value, limits = extras.get(key, stored), np.iinfo(dtype)
        try:
            number = int(value, 16) if isinstance(value, str) else int(value)  # type: ignore[call-overload]
            if not isinstance(value, str) and number != value:
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is not None and limits.min <= number <= limits.max:
            return int(number)
        self.report.skipped(
            where,
            f"{key} became {in_words(value)[:40]}",
            f"it is a whole number from {limits.min} to {limits.max}",
            "enter such a number",
            "fact",
            fact=key,
        )
        return stored

    def number(self, where: str, extras: NodeExtras, key: str, stored: float) -> float:
        """Return a float32 of the extras; another value is reported. Noise does not count."""
        value = extras.get(key, stored)
        if isinstance(value, int | float) and abs(value) < float(np.finfo(np.float32).max):
            same = abs(value - stored) <= TURN_NOISE * abs(stored)
            return stored if same else float(value)
        if value is not stored:
            self.report.skipped(
                where, f"{key} became {in_words(value)[:40]}", "it is a number", "enter a number", "fact", fact=key
            )
        return stored


def exchange(placed: PlacedObject, asset: Asset, stored: Sequence[PlacedObject]) -> None:
    """Let an object place something else; scenery stays vegetation or rock. ``stored``: objects of the mission; what
    other of them places is known to be of its kind.
    """
    known = any(other.reference.lower() == asset.path.lower() for other in stored)
    if known or not SCENERY.issuperset((placed.kind, asset.kind)):
        placed.record["kind"] = asset.kind
    placed.path = encoded(asset.path) or b""


def set_kind(edit: MissionEdit, placed: PlacedObject, where: str, extras: NodeExtras, before: int) -> None:
    """Make vegetation of a rock, or a rock of vegetation; any other kind follows from the path."""
    kind = edit.integer(where, extras, "object_kind", before, "<u4")
    if kind in (before, placed.kind):
        return
    if SCENERY.issuperset((kind, placed.kind)):
        edit.report.changed(where, f"object_kind {placed.kind} became {kind}")
        placed.record["kind"] = kind
    else:
        what, why = f"object_kind became {kind}", "it follows from what the object places"
        edit.report.skipped(where, what, why, "edit its path", "fact", fact="object_kind")


def choose_rows(edit: MissionEdit, items: Sequence[int], places: Mapping[int, F64]) -> dict[int, int]:
    """Return the node of each stored row: of several with its index, the nearest.

    Args:
        items: nodes of one kind.
        places: (3,) where each stored row is shown.
    """
    nodes, world = edit.imported.nodes, edit.world
    item_of_row: dict[int, int] = {}
    away: dict[int, tuple[float, bool]] = {}
    for item in items:
        row = row_of(nodes[item].extras)
        if row is None or row not in places:
            continue
        distance = float(np.linalg.norm(world[item][:3, 3] - places[row]))
        copy = without_number(nodes[item].name) != nodes[item].name
        noise = POSE_NOISE * max(1.0, float(np.abs(places[row]).max()))
        order = (0.0 if distance <= noise else distance, copy)
        if row not in item_of_row or order < away[row]:
            item_of_row[row], away[row] = item, order
    return item_of_row


def report_rest(edit: MissionEdit) -> None:
    """Report components below no object, and what the scene says otherwise of the level and of the clans."""
    nodes = edit.imported.nodes
    for i in edit.of_kind("component"):
        if not any(nodes[k].extras.get("kind") in ("object", "unit") for k in nodes_above(nodes, i)):
            edit.report.skipped(
                Subject("node", nodes[i].name),
                "is below no object",
                "a mission places objects, not their components",
                "delete it, or parent it to its object; copy the object's own node for one more",
            )
    stored, info = edit.stored, edit.imported.info
    clans = "\n".join(clan.title for clan in stored.clans)
    why = "objects, routes, zones and lodes are edited through glTF, the level and the clans are not"
    for name, before, after in (
        ("map", stored.map, info.get("map", stored.map)),
        ("clans", clans, info.get("clans", clans)),
    ):
        if after != before:
            what = f"property {in_words(name)} of the scene became {in_words(after)}"
            edit.report.skipped("mission", what, why, "edit data.tma with the Python library")


#: A lode that is not a copy.
_LODE_TYPE = 0x10001000
#: What a zone may be scaled unevenly by, relative.
_EVEN = 1e-4
#: What an empty may be turned by, as entries of its rotation.
_TURNED = 1e-4
#: Routes of more points are not aligned with the stored ones.
_LONG = 1000


def edit_markers(edit: MissionEdit) -> None:
    """Apply what a file changes of routes, zones and lodes.

    Where a file has none of them they are kept: an editor may have left their scenes out.
    """
    stored = edit.stored
    there = {kind: edit.of_kind(kind) for kind in ("route", "zone", "lode")}
    count = len(stored.routes) + sum(len(c.zones) for c in stored.clans) + len(stored.lodes)
    if not any(there.values()) and count and not edit.options.allow_delete:
        edit.report.skipped(
            "routes, zones and lodes",
            f"all {count} are missing",
            "their scenes may not have been exported",
            "--allow-delete deletes them",
        )
        return
    _edit_routes(edit, there["route"])
    for row in range(len(stored.clans)):
        items = [i for i in there["zone"] if edit.imported.nodes[i].extras.get("clan") == row]
        _edit_zones(edit, row, items)
    for i in there["zone"]:
        clan = edit.imported.nodes[i].extras.get("clan")
        if clan not in range(len(stored.clans)):
            edit.report.skipped(
                Subject("zone", edit.imported.nodes[i].name),
                "is of no clan",
                "zones belong to clans",
                "enter the row of a clan in its custom properties",
            )
    _edit_lodes(edit, there["lode"])


def _edit_routes(edit: MissionEdit, items: list[int]) -> None:
    nodes, stored = edit.imported.nodes, edit.stored.routes
    places = {row: np.zeros(3) for row in range(len(stored))}
    item_of_row = choose_rows(edit, items, places)
    routes, ids = [], {route.id for route in stored}
    for row, route in enumerate(stored):
        where = f"route {route.id}"
        if row not in item_of_row:
            edit.report.changed(where, "is deleted")
            continue
        item = item_of_row[row]
        where = Subject("route", nodes[item].name, text=where)
        points = _outline(edit, item, where, route.points)
        number = edit.integer(where, nodes[item].extras, "route", route.id, "<u4")
        if number != route.id and number in ids:
            edit.report.skipped(where, f"number became {number}", "another has it", "enter another", "fact")
            number = route.id
        if number != route.id:
            edit.report.changed(where, f"number became {number}")
            ids.add(number)
        if points is not None:
            edit.report.changed(where, "its points changed")
        routes.append(Route(number, route.points if points is None else points))
    for item in items:
        if item not in item_of_row.values():
            points = _outline(edit, item, Subject("route", nodes[item].name), None)
            if points is None:
                continue
            number = max(ids, default=0) + 1
            ids.add(number)
            edit.report.changed(f"route {number}", f"is new, {len(points)} points")
            edit.report.concerns([nodes[item].name], "fact")  # a copy states the number of what it is a copy of
            routes.append(Route(number, points))
    edit.mission.routes = routes


def _outline(edit: MissionEdit, item: int, where: str, stored: F32 | None) -> F32 | None:
    """The points of a route in the world; ``None``: as they were stored."""
    node, world = edit.imported.nodes[item], edit.world[item]
    unmoved = np.abs(world - np.eye(4)).max() <= 1e-6
    lines = [] if node.mesh < 0 else edit.imported.meshes[node.mesh].lines
    if not lines:
        if unmoved and stored is not None:
            if len(stored) < 2:
                return None  # it has no lines to show
            text = (
                "routes came without their lines, so their points are kept; Blender exports them with Data > Mesh > "
                "Loose Edges"
            )
            edit.report.warnings += [text] if text not in edit.report.warnings else []
            return None
        edit.report.skipped(
            where, "has no lines", "an editor may have left them out", "export with Data > Mesh > Loose Edges", "place"
        )
        return None
    sides = np.concatenate(lines)
    if stored is not None and unmoved and _sides(sides) == _sides(stored[closed_sides(len(stored))]):
        return None
    points = _corners(sides)
    if points is None:
        edit.report.skipped(
            where,
            "is not one outline",
            "a route is a chain of points, closed by itself",
            "join its edges to one loop",
            "place",
        )
        return None
    if stored is not None:
        points = _aligned(points, stored)
    if not unmoved:
        points = (points.astype(np.float64) @ world[:3, :3].T + world[:3, 3]).astype(np.float32)
    return None if stored is not None and np.array_equal(points, stored) else points


def _sides(lines: F32) -> set[frozenset[bytes]]:
    """Sides, (n, 2, 3), whatever their order and direction; those without length do not count."""
    sides = {frozenset(end.tobytes() for end in side) for side in lines + np.float32(0)}
    return {side for side in sides if len(side) == 2}


def _corners(lines: F32) -> F32 | None:
    """The corners of an outline in their order, of its sides in any; ``None``: it is not one."""
    places, ends = np.unique(lines.reshape(-1, 3) + np.float32(0), axis=0, return_inverse=True)
    sides = {tuple(sorted(side)) for side in ends.reshape(-1, 2).tolist() if side[0] != side[1]}
    beside: dict[int, list[int]] = {}
    for a, b in sorted(sides):
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    if not beside or max(map(len, beside.values())) > 2:
        return None
    loose = [corner for corner, others in beside.items() if len(others) == 1]
    chain = [loose[0] if loose else min(beside)]
    while len(chain) < len(beside):
        onward = [other for other in beside[chain[-1]] if other not in chain[-2:]]
        onward = [other for other in onward if other != chain[0] or len(chain) < 2]
        if not onward or onward[0] == chain[0]:
            return None
        chain.append(onward[0])
    points: F32 = places[chain]
    return points


def _aligned(points: F32, stored: F32) -> F32:
    """An outline with the start and direction of the stored one, as far as they agree."""
    best, most = points, -1
    if len(points) > _LONG:
        return points
    for way in (points, points[::-1]):
        for start in range(len(way)):
            turned = np.roll(way, -start, axis=0)
            count = min(len(turned), len(stored))
            same = int((turned[:count] == stored[:count]).all(1).sum())
            same += int((turned[-count:] == stored[-count:]).all(1).sum())
            if same > most:
                best, most = turned, same
    return best


def _kept_rows(
    edit: MissionEdit,
    stored: Records,
    item_of_row: dict[int, int],
    title: Callable[[int], str],
    set_record: Callable[[MissionEdit, np.void, int, str], str],
) -> Iterator[tuple[int, np.void]]:
    """Yield the stored records that the file still has, as it sets them; report what changed.

    Args:
        stored: (n,) records.
        title: how reports call a row.
        set_record: sets a record by an item, and returns what changed.
    """
    for row, before in enumerate(stored):
        where = title(row)
        if row not in item_of_row:
            edit.report.changed(where, "is deleted")
            continue
        where = Subject(where.partition(" ")[0], edit.imported.nodes[item_of_row[row]].name, text=where)
        record = before.copy()
        what = set_record(edit, record, item_of_row[row], where)
        if what:
            edit.report.changed(where, what)
        yield row, record


def _edit_zones(edit: MissionEdit, row: int, items: list[int]) -> None:
    clan: Clan = edit.stored.clans[row]
    nodes = edit.imported.nodes
    places = {k: zone["centre"].astype(np.float64) for k, zone in enumerate(clan.zones)}
    item_of_row = choose_rows(edit, items, places)
    group = np.repeat(np.arange(len(clan.zone_counts)), clan.zone_counts).tolist()
    title = clan.title or str(row)
    kept = list(_kept_rows(edit, clan.zones, item_of_row, lambda k: f"zone {k} of clan {called(title)}", _set_zone))
    zones = [zone for _, zone in kept]
    kept_groups = [group[k] for k, _ in kept]
    counts = [kept_groups.count(k) for k in range(len(clan.zone_counts))]
    counts = [new for new, old in zip(counts, clan.zone_counts, strict=True) if new or not old]
    for item in items:
        if item not in item_of_row.values():
            zone = np.zeros(1, ZONE_DTYPE)[0]
            _set_zone(edit, zone, item, Subject("zone", nodes[item].name))
            edit.report.changed(f"zone {called(nodes[item].name)}", f"is new, of clan {called(title)}")
            zones.append(zone)
            counts.append(1)
    records = np.array([zone.tolist() for zone in zones], ZONE_DTYPE)
    if counts != clan.zone_counts or records.tobytes() != clan.zones.tobytes():
        edit.mission.clans[row] = replace(clan, zone_counts=counts, zones=records)


def _set_zone(edit: MissionEdit, zone: np.void, item: int, where: str) -> str:
    place, what = place_of(edit.world[item]), []
    if not same_position(place.position, zone["centre"].astype(np.float64)):
        zone["centre"] = place.position
        what.append("moved")
    outer, radius = float(zone["outer"]), float(place.scale[0])
    is_circle = np.ptp(place.scale) <= _EVEN * place.scale.max()
    if is_circle and abs(radius - abs(outer)) > 1e-5 * abs(outer):
        zone["outer"] = radius
        what.append("its outer radius changed")
    inner = edit.number(where, edit.imported.nodes[item].extras, "inner", float(zone["inner"]))
    if inner != float(zone["inner"]):
        zone["inner"] = inner
        what.append("its inner radius changed")
    return ", ".join(what)


def _edit_lodes(edit: MissionEdit, items: list[int]) -> None:
    nodes, stored = edit.imported.nodes, edit.stored.lodes
    places = {k: lode["position"].astype(np.float64) for k, lode in enumerate(stored)}
    item_of_row = choose_rows(edit, items, places)
    kept = _kept_rows(edit, stored, item_of_row, lambda k: f"lode {k}", _set_lode)
    lodes = [lode for _, lode in kept]
    for item in items:
        if item in item_of_row.values():
            continue
        row = row_of(nodes[item].extras)
        if row is not None and row < len(stored):
            lode = stored[row].copy()
        else:
            lode = np.zeros(1, LODE_DTYPE)[0]
            lode["type"] = _LODE_TYPE
        _set_lode(edit, lode, item, Subject("lode", nodes[item].name))
        edit.report.changed(f"lode {len(lodes)}", "is new")
        lodes.append(lode)
    edit.mission.lodes = np.array([lode.tolist() for lode in lodes], LODE_DTYPE)


def _set_lode(edit: MissionEdit, lode: np.void, item: int, where: str) -> str:
    place = place_of(edit.world[item])
    position: F64 = place.position
    extras, what = edit.imported.nodes[item].extras, []
    if not same_position(position, lode["position"].astype(np.float64)):
        lode["position"] = position
        what.append("moved")
    amount = edit.number(where, extras, "amount", float(lode["amount"]))
    if amount != float(lode["amount"]):
        lode["amount"] = amount
        what.append("its amount changed")
    for name in ("type", "found"):
        number = edit.integer(where, extras, name, int(lode[name]), "<u4")
        if number != int(lode[name]):
            lode[name] = number
            what.append(f"{name} became {number}")
    return ", ".join(what)
