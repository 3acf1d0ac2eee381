"""Custom properties that people type beside ``msh``: Blender's interface makes them there."""

from __future__ import annotations

from collections.abc import Container, Mapping

from ..errors import printable
from ..formats.mission import Mission
from ..formats.unit import Unit
from ..scene.extras import NodeExtras
from ..scene.placed import component_extras, markers, object_extras
from ..scene.scene import ImportedNode, ImportedScene
from .placed_nodes import row_of

#: Keys of ``extras.msh`` that can be edited, by the kind of the node.
_EDITED = {
    "object": ("path", "object_kind", "clan", "logical_id", "start", "host", "vertex"),
    "zone": ("inner",),
    "lode": ("amount", "found", "type"),
    "route": ("route",),
    "unit": ("type",),
    "component": ("key", "class", "label", "attach"),
}
#: What a node is that has nothing but this property.
_NEW = {"path": "object", "key": "component"}

#: What a node is: its kind, row, and clan in the case of a zone.
Identity = tuple[object, ...]


def mission_extras(mission: Mission) -> dict[Identity, NodeExtras]:
    """Return ``extras.msh`` of every node of a mission, as the export writes them."""
    objects = [object_extras(placed, row, False) for row, placed in enumerate(mission.objects)]
    others = [marker.extras for group in markers(mission).values() for marker in group]
    return {_identity(extras): extras for extras in (*objects, *others)}


def unit_extras(unit: Unit) -> dict[Identity, NodeExtras]:
    """Return ``extras.msh`` of every component of a unit, as the export writes them."""
    rows = [component_extras(unit, row) for row in range(len(unit))]
    return {_identity(extras): extras for extras in (NodeExtras(kind="unit", type=unit.type), *rows)}


def take_typed(
    given: ImportedScene, exported: Mapping[Identity, NodeExtras], new: str, known: Container[str] | None
) -> None:
    """Let properties that were typed beside ``msh`` count as those in it; report the others.

    Of two the one that differs from what was exported counts. On a node that says nothing of
    itself, the property ``new`` makes it an object or a component.

    Args:
        given: the file. The extras of its nodes change.
        exported: extras of the nodes of the sidecar.
        new: ``path`` or ``key``.
        known: what it can name, in lower case; ``None``: that is not known.
    """
    for node in given.nodes:
        kind = node.extras.get("kind")
        where = f"{kind or 'node'} {printable(node.name)!r}"
        if not node.typed:
            continue
        if kind in _EDITED:
            names = [name for name in _EDITED[kind] if name in node.typed]
            for name in names:
                if not _take(node, name, exported):
                    inside = {**node.extras}.get(name)
                    given.report.skipped(
                        where,
                        f"its custom property {name} is {printable(str(node.typed[name]))[:40]}",
                        f"{name} in its property msh was edited, too: {printable(str(inside))[:40]}",
                        "delete one of the two",
                    )
        elif node.extras:
            for name in (name for name in _EDITED[_NEW[new]] if name in node.typed):
                given.report.skipped(
                    where,
                    f"has a custom property {name}",
                    "it is a part of a model, or of the terrain",
                    "give the property to the object above it",
                )
        elif new in node.typed:
            value = node.typed[new]
            text = value.lower().replace("/", "\\") if isinstance(value, str) else None
            if text is None or (known is not None and text not in known):
                given.report.skipped(
                    where,
                    f"its custom property {new} is {printable(str(value))[:80]}",
                    "nothing of this name is known of the game",
                    "enter an object key or the path of a unit of the game",
                )
            else:
                mine = {n: node.typed[n] for n in _EDITED[_NEW[new]] if n in node.typed}
                node.extras = NodeExtras(**{**mine, "kind": _NEW[new]})  # type: ignore[typeddict-item]


def _take(node: ImportedNode, name: str, exported: Mapping[Identity, NodeExtras]) -> bool:
    """Set a key to what was typed beside it; ``False``: both differ from what was exported."""
    extras: dict[str, object] = {**node.extras}
    typed, own = node.typed[name], extras.get(name)
    before = {**exported.get(_identity(node.extras), {})}.get(name, own)
    if own not in (None, before, typed):
        return bool(typed == before)
    node.extras = NodeExtras(**{**extras, name: typed})  # type: ignore[typeddict-item]
    return True


def _identity(extras: NodeExtras) -> Identity:
    kind = extras.get("kind")
    if kind == "unit":
        return (kind,)
    return kind, row_of(extras), extras.get("clan") if kind == "zone" else None
