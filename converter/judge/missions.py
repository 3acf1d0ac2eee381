"""What missions and units show: objects, routes, zones, lodes, components (models: ``judge.assemblies``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..edits.unit import new_title, row_of
from ..errors import called, in_words
from ..formats.mission import Mission, PlacedObject
from ..formats.objects import Unit
from ..numeric.arrays import F32, F64
from ..scene.assembly import Marker, Pose, component_text, markers, object_extras, object_key, object_label, stored_pose
from ..scene.extras import NodeExtras
from ..scene.scene import ImportedNode, ImportedScene, nodes_above
from .assemblies import PLACE, Placed, PlacedModel, matrix, places_apart
from .difference import Difference
from .shown import WrittenLooks, ways

#: What markers state besides their place.
_FACTS_OF_MARKERS = {"route": ("route",), "zone": ("clan", "inner"), "lode": ("amount", "type", "found")}
#: Why markers have no turn or size of every kind, and what to do.
_ROUND = {
    "route": None,
    "zone": ("a zone is a circle on the ground", "turn it back, and scale all axes alike"),
    "lode": ("a lode has a place alone", "clear its rotation and scale; its amount is a custom property"),
}
#: Why a mission does not change the components of a unit.
_OF_UNIT = ("missions place units and do not change them", "edit the unit's own file")
#: How far a guest may be from where its building takes it, which editors compute.
_AT_HOST = 1e-2
#: What an object states and a copy of it gets of its own.
_OF_ONE = ("logical_id", "host", "vertex")


def differences_of_mission(
    seen: ImportedScene,
    stored: Mission,
    written: Mission,
    models: Mapping[str, PlacedModel],
    hosted: Mapping[int, Pose],
    left_out: frozenset[int],
    looks: WrittenLooks | None,
    inside: Mapping[str, str],
) -> list[Difference]:
    """Return what a written mission shows otherwise than the file."""
    placed = Placed(seen, models, looks)
    items = [i for i, n in enumerate(seen.nodes) if n.extras.get("kind") in ("object", "unit")]
    is_object = [n.extras.get("kind") == "object" for n in seen.nodes]
    items = [i for i in items if is_object[i] or not any(is_object[k] for k in nodes_above(seen.nodes, i))]
    kept = {id(one) for row, one in enumerate(written.objects) if row in left_out}
    row_of_item = _match_objects(placed, items, written, hosted, stored)
    stated: set[object] = {seen.nodes[i].extras.get("logical_id") for i in row_of_item}
    first: set[int] = set()
    for i in items:
        row = row_of_item.get(i)
        if row is None:
            if placed.shows(i):
                placed.add(i, "node", "is in the file, and not in the game")
            continue
        one, index = written.objects[row], _row(seen.nodes[i], stored)
        copied = index is None or index in first
        first |= set() if index is None else {index}
        _compare_object(placed, i, one, row, stored, copied, stated)
        if index is not None and index in hosted and one.host is not None and not copied:
            placed.expected[i] = _in_building(placed.world[i], hosted[index], stored.objects[index], stored, written)
        else:
            placed.expected[i] = matrix(stored_pose(one))
        if i not in placed.parents:  # else what is seen is below it
            placed.tell_place(i, placed.world[i], placed.expected[i])
        if index is not None and stored.objects[index].path != one.path:
            del placed.expected[i]  # what is below it is not what it places
        elif not copied:
            _compare_components(placed, i, inside)
    taken = {*items}
    for row in sorted({*range(len(written.objects))} - {*row_of_item.values()}):
        one = written.objects[row]
        new = next((i for i in range(len(seen.nodes)) if i not in taken and _is_asset(seen.nodes[i], one)), None)
        if new is not None:
            taken.add(new)
            placed.tell_place(new, placed.world[new], matrix(stored_pose(one)))
        elif id(one) not in kept:
            name = one.title or one.reference
            names = (name.casefold(), one.reference.casefold(), "objects")
            what = "is in the game, not in the file"
            placed.found.append(Difference(f"object {called(name)}", "node", what, names))
    placed.assets = taken
    placed.compare_models()
    placed.find_unknown_nodes()
    _markers(placed, written)
    return placed.found


def _in_building(world: F64, shown: Pose, guest: PlacedObject, stored: Mission, written: Mission) -> F64:
    """Where a guest may stand that starts in a building, as the file has it: where it was shown, or moved with it."""
    before, now = (one.hosts().get(int(guest.record["host"])) for one in (stored, written))
    places = [matrix(shown)]
    if before is not None and now is not None:
        places.append(matrix(stored_pose(now)) @ matrix(stored_pose(before).inverse()) @ places[0])
    near = min(places, key=lambda place: float(np.abs(place - world).max()))
    return world if np.abs(near - world)[:3, 3].max() < _AT_HOST and not places_apart(world, near)[1] else near


def _compare_components(placed: Placed, i: int, inside: Mapping[str, str]) -> None:
    """Compare what components below an object state, and their names, with its unit, which a mission keeps."""
    below, path = {i}, object_key(placed.given.nodes[i].extras)
    for k in placed.order:
        node = placed.given.nodes[k]
        if node.parent in below and node.extras.get("kind") != "object":
            below.add(k)
            text = inside.get(f"component {path} {node.extras.get('index')}")
            if node.extras.get("kind") == "component" and text is not None:
                placed.compare_name(k, object_key(node.extras), text.partition(" ")[0].lower())
                if component_text(NodeExtras(**{**node.extras, **node.typed})) != text:  # type: ignore[typeddict-item]
                    placed.add(k, "fact", "its custom properties changed", reason=_OF_UNIT)


def _row(node: ImportedNode, stored: Mission) -> int | None:
    """The row of an object that a node states; ``None``: it is a new one."""
    row = row_of(node.extras)
    return row if row is not None and row < len(stored.objects) else None


def _is_asset(node: ImportedNode, one: PlacedObject) -> bool:
    """Whether a node that says nothing of itself places what an object places: by a property, or its name."""
    if "kind" in node.extras or "node" in node.extras:
        return False
    base = one.reference.lower().rpartition("\\")[2]
    names = {one.reference.lower(), base, base.rpartition(".")[0]} - {""}
    typed = str(node.typed.get("path", "")).lower().replace("/", "\\")
    return typed in names if typed else bool(ways(node.name) & names)


def _match_objects(
    placed: Placed, items: Sequence[int], written: Mission, hosted: Mapping[int, Pose], stored: Mission
) -> dict[int, int]:
    """The record of each node that is an object: of the same path the nearest, the same name first."""
    nodes = placed.given.nodes
    places = np.array([one.record["position"] for one in written.objects], np.float64).reshape(-1, 3)
    ids = np.array([one.logical_id for one in written.objects], np.int64)
    rows_of: dict[str, list[int]] = {}
    for row, one in enumerate(written.objects):
        rows_of.setdefault(one.reference.lower(), []).append(row)
    out: dict[int, int] = {}
    free = np.ones(len(ids), np.bool_)

    def pair(of_path: bool) -> None:
        ranked: list[F64] = []
        for i in items:
            if i in out:
                continue
            extras = nodes[i].extras
            paths = {str(one.get("path", "")).lower() for one in (extras, nodes[i].typed)} if of_path else rows_of
            rows = np.array([row for path in paths for row in rows_of.get(path, []) if free[row]], np.int64)
            away = np.abs(places[rows] - _start(placed, i, hosted, stored)).max(axis=1, initial=0)
            other = ids[rows] != extras.get("logical_id")
            ranked.append(np.stack([other & (away > 1e-3), away, other, np.full(len(rows), i), rows], axis=1))
        columns = np.concatenate([np.empty((0, 5)), *ranked])
        for i, row in columns[np.lexsort(columns.T[::-1])][:, 3:].astype(np.int64).tolist():
            if i not in out and free[row]:
                out[i], free[row] = row, False

    pair(of_path=True)
    pair(of_path=False)
    return out


def _start(placed: Placed, i: int, hosted: Mapping[int, Pose], stored: Mission) -> F64:
    """Where a node that is an object stands; of a guest that stands in its building its own record. (3,)."""
    at, index = placed.world[i, :3, 3], _row(placed.given.nodes[i], stored)
    pose = hosted.get(index) if index is not None else None
    if pose is None or index is None or np.abs(pose.translation - at).max() >= 1e-3 + PLACE * np.abs(at).max():
        return np.asarray(at)
    return np.asarray(stored.objects[index].record["position"], np.float64)


def _compare_object(
    placed: Placed, i: int, one: PlacedObject, row: int, stored: Mission, copied: bool, ids: set[object]
) -> None:
    """Compare what a node states of an object with its record."""
    node = placed.given.nodes[i]
    index = _row(node, stored)
    before = None if index is None else stored.objects[index]
    was = NodeExtras() if before is None else object_extras(before, row)
    now = object_extras(one, row)
    for name in ("path", "object_kind", "clan", "start", *(() if copied else _OF_ONE)):
        expected = {**node.extras}.get(name)
        typed = node.typed.get(name)
        if typed is not None and typed != {**was}.get(name):
            expected = typed
        had = {**now}.get(name)
        if name == "object_kind" and before is not None and before.path != one.path:
            continue  # it follows from the path
        if (name == "host" and expected not in ids) or (name == "vertex" and one.host is None):
            continue  # its building is deleted
        if expected is not None and not _same(expected, had):
            what = f"has {name} {in_words(expected)} in the file, and {in_words(had)} in the game"
            placed.add(i, "fact", what, fact=name)
    if before is not None and not copied:
        title, label = new_title(node.name, object_label(before)), object_label(one)
        if title is not None and not _same(title, label):
            what = f"is called {called(title)} in the file, and {called(label)} in the game"
            placed.add(i, "fact", what, fact="name")
    properties = node.extras.get("properties")
    for name, value in properties.items() if isinstance(properties, dict) else ():
        had = now.get("properties", {}).get(name)
        if name not in ("ClanID", "LogicalID") and not _same(value, had):
            what = f"has property {name} {in_words(value)} in the file, and {in_words(had)} in the game"
            placed.add(i, "fact", what, fact=name)


def _same(mine: object, theirs: object) -> bool:
    if isinstance(mine, int | float) and isinstance(theirs, int | float):
        return abs(mine - theirs) <= 1e-5 * max(abs(theirs), 1e-30)
    if isinstance(mine, str) and isinstance(theirs, int):
        return mine.lower() == f"{theirs:#x}"
    return str(mine).lower().replace("/", "\\") == str(theirs).lower().replace("/", "\\")


def _markers(placed: Placed, written: Mission) -> None:
    """Compare routes, zones and lodes; where a file has none of them they are kept."""
    made = markers(written)
    nodes = placed.given.nodes
    items = {kind: [i for i, n in enumerate(nodes) if n.extras.get("kind") == kind] for kind in _FACTS_OF_MARKERS}
    if not any(items.values()):
        if any(made.values()):
            where = "routes, zones and lodes"
            placed.found.append(Difference(where, "node", "are in the game, and not in the file", (where,)))
        return
    for kind, group in items.items():
        theirs = made[f"{kind}s"]
        if len(group) != len(theirs):
            text = f"are {len(group)} in the file, and {len(theirs)} in the game"
            names = (*(nodes[i].name.casefold() for i in group), f"{kind}s")
            placed.found.append(Difference(f"{kind}s", "node", text, names))
        for i in group if theirs else ():
            if kind == "route" and not _lines(placed, i):
                continue  # it is kept
            away = [_marker_away(placed, i, one) for one in theirs]
            near = [one for one, far in zip(theirs, away, strict=True) if far == min(away)]
            apart, turned = min(away)
            if apart:
                placed.add(i, "place", f"is {apart:.3g} away in the game", apart)
            if turned:
                placed.add(i, "turn", "has another size in the game, or is turned", turned, _ROUND[kind])
            if apart or turned:
                continue
            stated = {name: {**nodes[i].extras}.get(name) for name in _FACTS_OF_MARKERS[kind]}
            stated |= {name: typed for name in stated if (typed := nodes[i].typed.get(name)) is not None}
            for name, value in stated.items():
                had = [{**one.extras}.get(name) for one in near]
                if value is not None and not any(_same(value, one) for one in had):
                    what = f"has {name} {in_words(value)} in the file, and {in_words(had[0])} in the game"
                    placed.add(i, "fact", what, fact=name)


def _lines(placed: Placed, i: int) -> list[F32]:
    node = placed.given.nodes[i]
    return [] if node.mesh < 0 else placed.given.meshes[node.mesh].lines


def _marker_away(placed: Placed, i: int, one: Marker) -> tuple[float, float]:
    """How far a marker of the result is from a node, and how far their axes are apart; 0 where that is rounding."""
    if one.outline is None:
        apart, turned = places_apart(placed.world[i], matrix(one.pose))
        return float(apart), float(turned)
    world, other = placed.world[i], one.outline.astype(np.float64)
    points = np.concatenate(_lines(placed, i)).reshape(-1, 3).astype(np.float64) @ world[:3, :3].T + world[:3, 3]
    if not len(other):
        return float("inf"), 0.0
    apart = np.abs(points[:, None] - other[None]).max(axis=2)
    away = float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))
    return (away if away > PLACE * max(1.0, float(np.abs(points).max())) else 0.0), 0.0


def differences_of_unit(
    seen: ImportedScene,
    stored: Unit,
    written: Unit,
    models: Mapping[str, PlacedModel],
    looks: WrittenLooks | None = None,
) -> list[Difference]:
    """Return what a written unit shows otherwise than the file; arguments as of missions."""
    placed = Placed(seen, models, looks)
    keys = {written.key(row).lower() for row in range(len(written))}
    items = [i for i in range(len(seen.nodes)) if _is_component(seen.nodes[i], keys)]
    stated, made = {i: _stated(placed, i, stored) for i in items}, [_made(written, row) for row in range(len(written))]
    ranked = [
        ("kind" not in seen.nodes[i].extras, -sum(_fits(value, one[fact]) for fact, value in stated[i].items()), i, row)
        for i in items
        for row, one in enumerate(made)
    ]
    row_of_item: dict[int, int] = {}
    free = {*range(len(made))}
    for *_, i, row in sorted(ranked):
        if i not in row_of_item and row in free:
            row_of_item[i] = row
            free.remove(row)
    items = [i for i in items if i in row_of_item or "kind" in seen.nodes[i].extras]
    for i in items:
        if i not in row_of_item:
            placed.add(i, "node", "is in the file, and not in the game")
            continue
        for fact, value in stated[i].items():
            if not _fits(value, had := made[row_of_item[i]][fact]):
                what = f"has {fact} {in_words(value)} in the file, and {in_words(had)} in the game"
                placed.add(i, "fact", what, fact=fact)
        index, key = row_of(seen.nodes[i].extras), str(made[row_of_item[i]]["key"])
        if index is not None and index < len(stored):
            placed.compare_name(i, key, stored.key(index).lower())
            placed.exchanged |= {i} if stated[i]["key"] != stored.key(index).lower() else set()
    for row in sorted(free):
        name = f"component {called(key := written.key(row))}"
        placed.found.append(Difference(name, "node", "is in the game, not in the file", (key.casefold(),)))
    for i, node in enumerate(seen.nodes):
        if node.extras.get("kind") == "unit":
            placed.expected[i] = np.eye(4)
    placed.assets = {*items}
    placed.compare_models()
    placed.find_unknown_nodes()
    return placed.found


def _is_component(node: ImportedNode, keys: set[str]) -> bool:
    """Whether a node is a part of a unit: what it states, or its name if it states nothing."""
    if "kind" in node.extras or "node" in node.extras:
        return node.extras.get("kind") == "component"
    return node.parent >= 0 and bool(ways(node.name) & keys)


def _stated(placed: Placed, i: int, stored: Unit) -> dict[str, object]:
    """What a file states of a component, and how it shows it; ``None``: it does not say."""
    nodes = placed.given.nodes
    extras, typed = {**nodes[i].extras}, nodes[i].typed
    above, row = nodes[i].parent, row_of(nodes[i].extras)
    socket: object = None
    while above >= 0 and nodes[above].extras.get("kind") != "component":
        socket = nodes[above].extras.get("node") if socket is None else socket
        above = nodes[above].parent
    model = None if above < 0 else placed.models.get(object_key(nodes[above].extras))
    known = row is not None and row < len(stored)
    inside = known and row is not None and not stored.is_shown(row)  # seen in a file of all parts
    if known and row is not None and stored.attach(row) == socket:
        socket = typed.get("attach", extras.get("attach"))  # the property may be edited where the node was not moved
    if model is not None and isinstance(socket, int):
        socket = model.rows.get(socket, socket)
    return {
        "key": _key(nodes[i]),
        "class": typed.get("class", extras.get("class")),
        "label": typed.get("label", extras.get("label")),
        "above it": "" if above < 0 else _key(nodes[above]),
        "attach": socket if placed.draws(i) else None,
        "mesh": True if placed.draws(i) and not inside else None,
    }


def _key(node: ImportedNode) -> str:
    return str(node.typed.get("key", object_key(node.extras) or min(sorted(ways(node.name)), key=len))).lower()


def _made(unit: Unit, row: int) -> dict[str, object]:
    """The same of a component of the result."""
    parent = int(unit.parents[row])
    return {
        "key": unit.key(row).lower(),
        "class": unit.part_class(row),
        "label": unit.label(row),
        "above it": unit.key(parent).lower() if parent >= 0 else "",
        "attach": unit.attach(row),
        "mesh": unit.is_shown(row),
    }


def _fits(stated: object, had: object) -> bool:
    return stated is None or had == stated
