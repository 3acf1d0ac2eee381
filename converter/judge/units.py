"""What units show: which components there are, what they state, and where they are mounted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..edits.placed_nodes import row_of
from ..errors import printable
from ..formats.unit import Unit
from ..scene.assembly import object_key
from ..scene.scene import ImportedNode, ImportedScene
from .assemblies import Placed, PlacedModel
from .difference import Difference
from .looks import WrittenLooks
from .shown import ways


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
        (-sum(_fits(value, one[fact]) for fact, value in stated[i].items()), i, row)
        for i in items
        for row, one in enumerate(made)
    ]
    row_of_item: dict[int, int] = {}
    free = {*range(len(made))}
    for _, i, row in sorted(ranked):
        if i not in row_of_item and row in free:
            row_of_item[i] = row
            free.remove(row)
    for i in items:
        if i not in row_of_item:
            placed.add(i, "node", "is in the file, and not in the game")
            continue
        for fact, value in stated[i].items():
            if not _fits(value, had := made[row_of_item[i]][fact]):
                placed.add(i, "fact", f"has {fact} {value!r} in the file, and {had!r} in the game")
    for row in sorted(free):
        name = f"component {printable(key := written.key(row))!r}"
        placed.found.append(Difference(name, "node", "is in the game, not in the file", frozenset({key.casefold()})))
    for i, node in enumerate(seen.nodes):
        if node.extras.get("kind") == "unit":
            placed.expected[i] = np.eye(4)
    placed.compare_models()
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
    known = row is not None and row < len(stored)
    inside = known and row is not None and not stored.is_shown(row)  # seen in a file of all parts
    if known and row is not None and stored.attach(row) == socket:
        socket = typed.get("attach", extras.get("attach"))  # the property may be edited where the node was not moved
    return {
        "key": str(typed.get("key", object_key(nodes[i].extras) or min(ways(nodes[i].name), key=len))).lower(),
        "class": typed.get("class", extras.get("class")),
        "label": typed.get("label", extras.get("label")),
        "above it": "" if above < 0 else object_key(nodes[above].extras),
        "attach": socket if placed.draws(i) else None,
        "mesh": True if placed.draws(i) and not inside else None,
    }


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
