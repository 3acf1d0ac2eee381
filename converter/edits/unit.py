"""Apply what an edited file changes of a unit: parts exchanged, moved, removed and added."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from ..errors import ConversionError, in_words, printable
from ..findings import Subject
from ..formats.mission import Mission
from ..formats.names import decode_text, encode_name, field_text, without_number
from ..formats.objects import CHASSIS, CLASSES, COMPONENT_DTYPE, GUN, INTERNAL, REGISTRY, TURRET, Unit
from ..scene.assembly import Pose, component_extras, markers, object_extras
from ..scene.extras import NodeExtras
from ..scene.scene import ImportedNode, ImportedScene, nodes_above
from .materials import listed
from .nodes import world_matrices
from .poses import same_linear, same_position

#: What the names of sockets begin with.
_SOCKET = "base_"
#: Class of a new part by what its key begins with.
_CLASSES = {"e_gun_": GUN, "e_tur_": TURRET, "i_": INTERNAL}


@dataclass
class UnitEdit:
    """A unit with the edits of a file.

    Attributes:
        new: nodes that became new components.
        exchanged: nodes of components that show another object than before, and its key; of new
            ones, empty.
    """

    unit: Unit
    new: set[int] = field(default_factory=set)
    exchanged: dict[int, str] = field(default_factory=dict)


def edit_unit(imported: ImportedScene, stored: Unit, known: Mapping[str, str] | None) -> UnitEdit:
    """Return a unit with the edits of a file. ``known``: object keys of the game by lower case; ``None``: there is no
    game to ask. Raises ConversionError: the chassis is missing, or a part of a key that the game does not have.
    """
    return _Parts(imported, stored, known).run()


class _Parts:
    """The components of a file. ``items``: its nodes that are components. ``row_items``: node of each stored row."""

    def __init__(self, imported: ImportedScene, stored: Unit, known: Mapping[str, str] | None) -> None:
        self.imported, self.stored, self.known = imported, stored, known
        self.nodes, self.report = imported.nodes, imported.report
        self.out = UnitEdit(stored)
        take_typed(imported, unit_extras(stored), "key", known)
        self.items = [i for i, node in enumerate(self.nodes) if self._is_part(node)]
        parts = {*self.items}
        self.parent = {i: next((k for k in nodes_above(self.nodes, i) if k in parts), None) for i in self.items}
        self.row_items = self._choose()
        self.records: dict[int, np.void] = {}

    def run(self) -> UnitEdit:
        root = self.row_items.get(0)
        if root is None:
            raise ConversionError(
                "has no chassis: the first component is missing",
                value=self.stored.key(0),
                hint="undo its deletion; a unit is mounted on it",
            )
        row_of_item = {item: row for row, item in self.row_items.items()}
        for item in self.items:
            self.records[item] = self._record(item, row_of_item.get(item))
        for row in range(len(self.stored)):
            if row not in self.row_items:
                self.report.changed(self._where(row), "is removed")
        children: dict[int, list[int]] = defaultdict(list)
        order = sorted(self.items, key=lambda i: (row_of_item.get(i, len(self.stored)), i))
        for item in order:
            if item != root:
                above = self.parent[item]
                children[-1 if above is None else above].append(item)
        for item in children.pop(-1, []):
            self.report.changed(where := _quoted(self.nodes[item]), "is left out")
            self.report.skipped(
                where,
                "is on nothing, and is left out with what is mounted on it",
                "every part but the chassis is mounted on another",
                "parent it to a socket",
            )
        records: list[np.void] = []
        waiting = [root]
        while waiting:
            item = waiting.pop()
            self.records[item]["child_count"] = len(children[item])
            records.append(self.records[item])
            waiting += reversed(children[item])
        table = np.array([record.tolist() for record in records], COMPONENT_DTYPE)
        self.out.unit = Unit(self._type(root), table)
        return self.out

    def _is_part(self, node: ImportedNode) -> bool:
        if node.extras.get("kind") == "component":
            return True
        name = without_number(node.name).lower()
        foreign = "kind" not in node.extras and "node" not in node.extras
        return foreign and self.known is not None and name in self.known and node.parent >= 0

    def _socket(self, item: int) -> int | None:
        """The node of its parent's model that a part is mounted on, as a node of the file."""
        between = takewhile(lambda k: k != self.parent[item], nodes_above(self.nodes, item))
        return next((k for k in between if "node" in self.nodes[k].extras), None)

    def _choose(self) -> dict[int, int]:
        """The node of each stored row: of several the one that is where it was."""
        item_of_row: dict[int, int] = {}
        for item in self.items:
            row = row_of(self.nodes[item].extras)
            if self.nodes[item].extras.get("kind") != "component" or row is None:
                continue
            if row < len(self.stored) and (
                row not in item_of_row or self._order(item, row) < self._order(item_of_row[row], row)
            ):
                item_of_row[row] = item
        return item_of_row

    def _order(self, item: int, row: int) -> tuple[bool, bool, bool]:
        node = self.nodes[item]
        parent, socket = self.parent[item], self._socket(item)
        above = -1 if parent is None else row_of(self.nodes[parent].extras)
        number = None if socket is None else self.nodes[socket].extras["node"]
        return (
            above != self.stored.parents[row],
            number not in (None, self.stored.attach(row)),
            without_number(node.name) != node.name,
        )

    def _where(self, row: int) -> Subject:
        key, item = self.stored.key(row), self.row_items.get(row)
        name = key if item is None else self.nodes[item].name
        return Subject("component", name, text=f"component {row} {in_words(key)}")

    def _record(self, item: int, row: int | None) -> np.void:
        """The record of a node: the stored one with its edits, or a new one."""
        node = self.nodes[item]
        extras = node.extras
        index = row_of(extras)
        record: np.void = np.zeros(1, COMPONENT_DTYPE)[0]
        if index is not None and index < len(self.stored):
            record = self.stored.records[index].copy()
            key = str(extras.get("key", self.stored.key(index)))
            if key != self.stored.key(index):
                self.out.exchanged[item] = self.stored.key(index)
        else:
            self.out.exchanged[item] = ""
            key = str(extras.get("key", without_number(node.name)))
            kinds = [c for start, c in _CLASSES.items() if key.lower().startswith(start)]
            _set_text(record, "archive", REGISTRY)
            record["flags"], record["part_class"] = 1, (kinds or [GUN])[0]
            record["attach"] = -1
        before = record.copy()
        where = _quoted(node) if row is None else self._where(row)
        if key != field_text(record["key"]):
            self._set_key(record, where, key)
        what = self._set_words(record, where, extras, node.name)
        what += self._mount(item, row, record, where, record.tobytes() != before.tobytes())
        if row is None:
            self.out.new.add(item)
            self.report.changed(where, f"is new, {printable(field_text(record['key']))}")
        else:
            if (now := field_text(record["key"])) != field_text(before["key"]):
                what.insert(0, f"became {in_words(now)}")
            self.report.changed(where, *what)
        return record

    def _set_key(self, record: np.void, where: str, key: str) -> None:
        known_key = key if self.known is None else self.known.get(key.lower())
        raw = None if known_key is None else encoded(key)
        if raw is None or not 0 < len(raw) < 32:
            near = sorted((self.known or {}).values())
            raise ConversionError(
                f"{where} is an object that the game does not have",
                value=printable(key)[:80],
                expected=listed(near) if near else None,
            )
        if self.known is None:
            self.report.warnings.append(f"{where}: {in_words(key)} was not looked up; --game DIR names the game")
        _set_text(record, "key", key)

    def _set_words(self, record: np.void, where: str, extras: NodeExtras, name: str) -> list[str]:
        """Set class and display name; returns what changed."""
        what = []
        part = extras.get("class", int(record["part_class"]))
        if part != int(record["part_class"]):
            if isinstance(part, int) and 0 <= part < len(CLASSES):
                what.append(f"class {int(record['part_class'])} became {part}")
                before, record["part_class"] = _is_shown(record), part
                if before and not _is_shown(record):
                    self.report.warnings.append(f"{where}: of class {CLASSES[part]} it is not seen from outside")
                    self.report.concerns([name], "fact")
            else:
                self._refuse(where, f"class became {in_words(part)[:40]}", "classes are 0 to 5", "class")
        label = extras.get("label", field_text(record["label"]))
        if label != field_text(record["label"]):
            raw = encoded(label)
            if raw is None or len(raw) > 32:
                self._refuse(where, f"is called {in_words(label[:40])}", "names have 32 bytes of CP1251", "label")
            else:
                what.append(f"is called {in_words(label)}")
                _set_text(record, "label", label)
        return what

    def _mount(self, item: int, row: int | None, record: np.void, where: str, edited: bool) -> list[str]:
        """Set what a part is mounted on; returns what changed."""
        old, what = int(record["attach"]), []
        parent = self.parent[item]
        if row is not None and parent is not None:
            above = row_of(self.nodes[parent].extras)
            kept = above is not None and self.row_items.get(above) == parent
            if not kept or above != self.stored.parents[row]:
                what.append(f"is mounted on {_quoted(self.nodes[parent])}")
        socket = self._socket(item)
        shown = _is_shown(record)
        value = self.nodes[item].extras.get("attach", old)
        stated = value if isinstance(value, int) and -1 <= value < 2**31 else old
        if stated != value:
            self._refuse(where, f"attach became {in_words(value)[:40]}", "it is a node", "attach")
        if not shown or socket is None:
            new = stated
        else:
            number = int(self.nodes[socket].extras["node"])
            # the property was edited where the node was not moved
            new = stated if row is not None and number == old else number
        if new != old:
            what.append(f"attach {old} became {new}")
            record["attach"] = new
        if shown and socket is not None and (what or edited or row is None):
            self._require_fit(item, record, where, socket)
        return what

    def _require_fit(self, item: int, record: np.void, where: str, socket: int) -> None:
        """Warn of a part on a node that is not a socket for it."""
        node, part = self.nodes[socket], int(record["part_class"])
        above = self.parent[item]
        parent = None if above is None else row_of(self.nodes[above].extras)
        classes = {
            self.stored.part_class(row)
            for row in range(len(self.stored))
            if self.stored.parents[row] == parent
            and self.stored.attach(row) == node.extras["node"]
            and self.stored.is_shown(row)
        }
        socket_like = node.mesh < 0 and node.name.lower().startswith(_SOCKET)
        if not classes and not socket_like:
            self.report.warnings.append(
                f"{where}: {_quoted(node)} is not a socket: those are called Base_..., without mesh"
            )
        if part == CHASSIS or (classes and part not in classes):
            name = CLASSES[part] if part < len(CLASSES) else str(part)
            had = ", ".join(CLASSES[c] if c < len(CLASSES) else str(c) for c in sorted(classes))
            self.report.warnings.append(
                f"{where}: its class ({name}) does not fit its socket {_quoted(node)}"
                + (f", which had: {had}" if had else "")
            )

    def _type(self, root: int) -> int:
        """The class word; the unit's own node has no place."""
        above = next((i for i, n in enumerate(self.nodes) if n.extras.get("kind") == "unit"), None)
        if above is None:
            return self.stored.type
        world = world_matrices(self.nodes)[above]
        if not same_position(world[:3, 3], np.zeros(3)) or not same_linear(world[:3, :3], Pose()):
            where, what = _quoted(self.nodes[above]), "is moved, turned or scaled"
            self.report.skipped(where, what, "a unit has no place", "undo it", "place", "turn")
        value: object = self.nodes[above].extras.get("type", self.stored.type)
        try:
            number = int(value, 16) if isinstance(value, str) else value
        except ValueError:
            number = None
        if not isinstance(number, int) or not 0 <= number < 2**32:
            self._refuse(_quoted(self.nodes[above]), "type is not a word", "it has 32 bits", "type")
            return self.stored.type
        if number != self.stored.type:
            self.report.changed("unit", f"type became {number:#x}")
        return number

    def _refuse(self, where: str, what: str, why: str, fact: str) -> None:
        self.report.skipped(where, what, why, "undo it, or enter such a value", "fact", fact=fact)


def _is_shown(record: np.void) -> bool:
    """Whether a component is seen from outside."""
    table = np.array([record.tolist()], COMPONENT_DTYPE)
    table["child_count"] = 0
    return Unit(0, table).is_shown(0)


def _set_text(record: np.void, name: str, text: str) -> None:
    """Set a field of 32 bytes; nothing is left after the text."""
    raw = encoded(text) or b""
    record[name] = np.frombuffer(raw.ljust(32, b"\0")[:32], np.uint8)


def _quoted(node: ImportedNode) -> Subject:
    return Subject("node", node.name)


#: The longest name that Blender keeps, bytes of UTF-8.
_MAX_NAME = 63


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
    objects = [object_extras(placed, row) for row, placed in enumerate(mission.objects)]
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
