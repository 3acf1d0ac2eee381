"""What a node of an edited unit or mission states, and where it stands.

People type custom properties beside ``msh``: Blender's interface makes them there.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..errors import in_words
from ..findings import Report, Subject
from ..formats.mission import ROCK, VEGETATION, Mission, PlacedObject
from ..formats.names import decode_text, encode_name, without_number
from ..formats.objects import Unit
from ..numeric.arrays import F64
from ..numeric.pose import rotation_matrix
from ..options import ImportOptions
from ..scene.assembly import Pose, component_extras, markers, object_extras
from ..scene.extras import NodeExtras
from ..scene.scene import ImportedNode, ImportedScene, require_in_range
from .nodes import POSE_NOISE, world_matrices

#: What matrices round on their way through an editor: of a rotation, relative of a scale.
TURN_NOISE = 1e-5
#: Kinds that place an object key.
SCENERY = frozenset((VEGETATION, ROCK))
#: The longest name that Blender keeps, bytes of UTF-8.
_MAX_NAME = 63


class Asset(NamedTuple):
    """What a mission can place: the kind of the object, and its path or key as text."""

    kind: int
    path: str


@dataclass
class MissionEdit:
    """A mission while the edits of a file are applied to it.

    Attributes:
        world: (n, 4, 4) from each of its nodes to the world, game axes.
        stored: the mission of the sidecar; not changed.
        mission: the edited one.
        known: what can be placed, by its name, path or key in lower case.
        hosted: where the file was made to show objects that start in a building, by row.
        left_out: rows that it was made without.
        options: whether objects are deleted even where none is left.
        new_items: nodes that became new objects.
        exchanged: nodes of objects that place something else than before, and what that was.
    """

    imported: ImportedScene
    stored: Mission
    mission: Mission
    known: Mapping[str, Asset]
    hosted: Mapping[int, Pose] = field(default_factory=dict)
    left_out: frozenset[int] = frozenset()
    options: ImportOptions = field(default_factory=ImportOptions)
    new_items: set[int] = field(default_factory=set)
    exchanged: dict[int, str] = field(default_factory=dict)
    world: F64 = field(init=False)

    def __post_init__(self) -> None:
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


@dataclass(frozen=True)
class Place:
    """Where a node stands in the world.

    Attributes:
        position: (3,).
        linear: (3, 3).
        scale: (3,) lengths of the columns; the axes of ``turn``.
        turn: (3, 3) rotation; ``None``: mirrored, sheared or scaled to nothing.
    """

    position: F64
    linear: F64
    scale: F64
    turn: F64 | None


def place_of(world: F64) -> Place:
    """Return the place of a node. (4, 4)."""
    linear = world[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    turn = None
    if scale.min() > 0:
        turn = linear / scale
        square = np.abs(turn.T @ turn - np.eye(3)).max() < 1e-4
        if not square or np.linalg.det(turn) < 0:
            turn = None
    return Place(world[:3, 3], linear, scale, turn)


def same_position(a: F64, b: F64, world: F64 | None = None) -> bool:
    """Tell whether two places differ by noise only.

    Args:
        a, b: (3,) places in one frame.
        world: (4, 4) of a node below others, which editors compute from its place in the world.
    """
    largest = np.abs(b).max() if world is None else np.abs(world[:3, 3]).max()
    return bool(np.abs(a - b).max() <= POSE_NOISE * max(1.0, float(largest)))


def same_linear(linear: F64, pose: Pose) -> bool:
    """Tell whether a rotation with scale is that of a pose, but for noise."""
    stored = rotation_matrix(pose.rotation) * pose.scale
    size = max(float(np.abs(pose.scale).max()), 1e-9)
    return bool(np.abs(linear - stored).max() <= TURN_NOISE * size)


def turns_of(turn: F64) -> F64:
    """Return the turns about x, y and z of a rotation matrix, which are applied in this order."""
    y = np.arcsin(np.clip(-turn[2, 0], -1, 1))
    return np.array([np.arctan2(turn[2, 1], turn[2, 2]), y, np.arctan2(turn[1, 0], turn[0, 0])])


def near_turn(angle: float, stored: float) -> float:
    """Return an angle as the full turns of the stored one would have it."""
    full = 2 * np.pi
    return float(angle + full * np.round((stored - angle) / full))


def choose_rows(
    items: Sequence[int], nodes: Sequence[ImportedNode], world: F64, places: Mapping[int, F64]
) -> dict[int, int]:
    """Return the node of each stored row: of several with its index, the nearest.

    Args:
        items: nodes of one kind.
        nodes: those of the file.
        world: (n, 4, 4) places of the nodes.
        places: (3,) where each stored row is shown.
    """
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


def row_of(extras: NodeExtras) -> int | None:
    """Return the stored row that a node states; ``None``: it does not."""
    index = extras.get("index")
    if isinstance(index, float) and index.is_integer():
        index = int(index)
    return index if isinstance(index, int) and index >= 0 else None


def new_title(name: str, label: str) -> str | None:
    """Return the name that an object was given; ``None``: that of a node as it was exported. ``label``: what the export
    called it, before it was made unique.
    """
    for title in (name, without_number(name)):
        bare, mark, number = title.rpartition("#")
        if label in (title, bare if mark and number.isdecimal() else title):
            return None
    if len(label.encode()) > _MAX_NAME - 8 and label.startswith(name[:24]):
        return None  # an editor cut it off
    return without_number(name) or None


def encoded(text: str) -> bytes | None:
    """Return the bytes of a text; ``None``: CP1251 has not all of its characters."""
    raw = encode_name(text)
    return raw if decode_text(raw) == text and b"\0" not in raw else None


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
    imported: ImportedScene, exported: Mapping[Identity, NodeExtras], new: str, known: Container[str] | None
) -> None:
    """Let properties that were typed beside ``msh`` count as those in it; report the others.

    Of two the one that differs from what was exported counts. On a node that says nothing of
    itself, the property ``new`` makes it an object or a component.

    Args:
        imported: the file. The extras of its nodes change.
        exported: extras of the nodes of the sidecar.
        new: ``path`` or ``key``.
        known: what it can name, in lower case; ``None``: that is not known.
    """
    for node in imported.nodes:
        kind = node.extras.get("kind")
        where = Subject(kind or "node", node.name)
        if not node.typed:
            continue
        if kind in _EDITED:
            names = [name for name in _EDITED[kind] if name in node.typed]
            for name in names:
                if not _take(node, name, exported):
                    inside = {**node.extras}.get(name)
                    imported.report.skipped(
                        where,
                        f"its custom property {name} is {in_words(node.typed[name])[:40]}",
                        f"{name} in its property msh was edited, too: {in_words(inside)[:40]}",
                        "delete one of the two",
                        "fact",
                        fact=name,
                    )
        elif node.extras:
            for name in (name for name in _EDITED[_NEW[new]] if name in node.typed):
                imported.report.skipped(
                    where,
                    f"has a custom property {name}",
                    "it is a part of a model, or of the terrain",
                    "give the property to the object above it",
                    "fact",
                )
        elif new in node.typed:
            value = node.typed[new]
            text = value.lower().replace("/", "\\") if isinstance(value, str) else None
            if text is None or (known is not None and text not in known):
                imported.report.skipped(
                    where,
                    f"its custom property {new} is {in_words(value)[:80]}",
                    "nothing of this name is known of the game",
                    "enter an object key or the path of a unit of the game",
                    "fact",
                )
            else:
                mine = {n: node.typed[n] for n in _EDITED[_NEW[new]] if n in node.typed}
                node.extras = NodeExtras(**{**mine, "kind": _NEW[new]})  # type: ignore[typeddict-item]


def _take(node: ImportedNode, name: str, exported: Mapping[Identity, NodeExtras]) -> bool:
    """Set a key to what was typed beside it; ``False``: both differ from what was exported."""
    extras: dict[str, object] = {**node.extras}
    typed, stated = node.typed[name], extras.get(name)
    before = {**exported.get(_identity(node.extras), {})}.get(name, stated)
    if stated not in (None, before, typed):
        return bool(typed == before)
    node.extras = NodeExtras(**{**extras, name: typed})  # type: ignore[typeddict-item]
    return True


def _identity(extras: NodeExtras) -> Identity:
    kind = extras.get("kind")
    if kind == "unit":
        return (kind,)
    return kind, row_of(extras), extras.get("clan") if kind == "zone" else None
