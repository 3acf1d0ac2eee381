"""Apply the edits of a file to a mission: its placed objects are compared with the stored ones, the rest follows."""

from __future__ import annotations

import struct
from copy import deepcopy

import numpy as np

from ..errors import ConversionError, in_words
from ..findings import Subject
from ..formats.mission import FLOAT, NO_ID, PlacedObject, Property, new_object_record, word_of
from ..formats.names import stem, without_number
from ..numeric.arrays import F64
from ..numeric.pose import multiply, rotation_matrix
from ..scene.assembly import Pose, object_label, property_labels, property_values, stored_pose
from ..scene.extras import NodeExtras
from ..scene.scene import nodes_above
from .materials import listed
from .mission import Asset, MissionEdit, choose_rows, edit_markers, exchange, report_rest, set_kind
from .nodes import all_above
from .poses import TURN_NOISE, place_of, same_linear, same_position
from .unit import encoded, mission_extras, new_title, row_of, take_typed

#: Extras of an object that are words of its record, and properties that repeat them.
_WORDS = ("clan", "logical_id", "start", "host", "vertex")
_FOLLOW = {"clan": "ClanID", "logical_id": "LogicalID"}


def edit_mission(edit: MissionEdit) -> None:
    """Apply the edits of a file to ``edit.mission``; what is not edited is that of the sidecar. Raises ConversionError:
    an object of something that nothing is known of.
    """
    take_typed(edit.imported, mission_extras(edit.stored), "path", edit.known)
    _Objects(edit).run()
    edit_markers(edit)
    report_rest(edit)


def where_of(placed: PlacedObject, name: str = "") -> Subject:
    """Return what messages call an object: as its node, unless that has another name now."""
    label = object_label(placed)
    return Subject("object", label if new_title(name, label) or not name else name, name, label)


class _Objects:
    """Applies the edits of one file.

    Attributes:
        row_items: node of each stored row.
        now: the edited record of each stored row that is kept.
        item_of: node of each record, by ``id``.
    """

    def __init__(self, edit: MissionEdit) -> None:
        self.edit, self.report, self.stored = edit, edit.report, edit.stored.objects
        self.nodes = edit.imported.nodes
        self.now: dict[int, PlacedObject] = {}
        self.new: list[tuple[int, PlacedObject]] = []

    def run(self) -> None:
        edit = self.edit
        items = self._items()
        rows = sorted({*range(len(self.stored))} - edit.left_out)
        places = {row: self._shown(row).translation for row in rows}
        stored_items = [i for i in items if self.nodes[i].extras.get("kind") == "object"]
        self.row_items = choose_rows(edit, stored_items, places)
        missing = {*range(len(self.stored))} - self.row_items.keys() - edit.left_out
        if missing and not self.row_items and not edit.options.allow_delete:
            self.report.skipped(
                "objects",
                f"all {len(missing)} are missing",
                "they may not have been exported",
                "--allow-delete deletes them",
            )
            missing = set()
        for row, placed in enumerate(self.stored):
            if row in self.row_items:
                self.now[row] = self._edited(row, self.row_items[row])
            elif row not in missing:
                self.now[row] = placed
        taken = {*self.row_items.values()}
        for item in items:
            if item not in taken:
                self.new.append((item, self._made(item)))
                edit.new_items.add(item)
        self._number()
        for row in sorted(missing):
            self.report.changed(where_of(self.stored[row]), "is deleted")
        self._hosts()
        edit.mission.objects = [*self.now.values(), *(made for _, made in self.new)]

    def _items(self) -> list[int]:
        """The nodes that are objects: by their extras, or by the name of an asset."""
        stated = {i for i, node in enumerate(self.nodes) if node.extras.get("kind") == "object"}
        # an instance of a collection that has an object is not one more
        around, objects = all_above(self.nodes, stated), []
        for i, node in enumerate(self.nodes):
            kind = node.extras.get("kind")
            if kind is None:
                by_name = without_number(node.name).lower() in self.edit.known and "node" not in node.extras
                is_object = by_name and node.parent < 0 and i not in around
            else:
                is_object = i in stated or (kind == "unit" and stated.isdisjoint(nodes_above(self.nodes, i)))
            if is_object:
                objects.append(i)
        return objects

    def _shown(self, row: int) -> Pose:
        return self.edit.hosted.get(row, stored_pose(self.stored[row]))

    def _edited(self, row: int, item: int) -> PlacedObject:
        placed, node = deepcopy(self.stored[row]), self.nodes[item]
        where = where_of(placed, node.name)
        before = placed.host
        self._set_path(placed, where, node.extras)
        if placed.path != self.stored[row].path:
            self.edit.exchanged[item] = self.stored[row].reference
        set_kind(self.edit, placed, where, node.extras, self.stored[row].kind)
        self._set_words(placed, where, node.extras)
        self._set_properties(placed, where, node.extras)
        self._set_name(placed, where, node.name, object_label(self.stored[row]))
        if before is not None and placed.host is None:
            self._stand(row, placed, where)
        elif row not in self.edit.hosted:
            self._set_place(placed, where, self.edit.world[item], self._shown(row))
        return placed

    def _stand(self, row: int, placed: PlacedObject, where: str) -> None:
        """Place a guest that has no building any more where it is shown: there it is unturned."""
        if row in self.edit.hosted:
            placed.record["turns"] = 0
        world = self.edit.world[self.row_items[row]]
        self._set_place(placed, where, world, self._shown(row), new=True)

    def _set_path(self, placed: PlacedObject, where: str, extras: NodeExtras) -> None:
        path = extras.get("path", placed.reference)
        if path == placed.reference:
            return
        asset = self._asset(where, path)
        self.report.changed(where, f"{placed.reference} became {asset.path}")
        exchange(placed, asset, self.stored)

    def _set_words(self, placed: PlacedObject, where: str, extras: NodeExtras) -> None:
        for name in _WORDS:
            self._set_word_of(placed, where, extras, name)

    def _set_word_of(self, placed: PlacedObject, where: str, extras: NodeExtras, name: str) -> None:
        old = int(placed.record[name])
        value = self.edit.integer(where, extras, name, old, placed.record.dtype[name].str)
        if value == old:
            return
        if not self.edit.stored.has(name):
            self._refuse_version(where, name)
        elif name == "clan" and value >= (most := len(self.edit.stored.clans)):
            why, instead = f"the mission has {most} clans", f"enter a row below {most}"
            self._skip(where, f"clan became {value}", why, instead, name)
        elif name == "logical_id" and self._is_taken(value, placed):
            what, instead = f"logical_id became {value}", "enter an unused number"
            self._skip(where, what, "another object has it", instead, name)
        else:
            self.report.changed(where, f"{name} {old} became {value}")
            self._set_word(placed, name, value)

    def _set_word(self, placed: PlacedObject, name: str, value: int) -> None:
        old = int(placed.record[name])
        placed.record[name] = value
        for each in placed.properties:
            if each.title == _FOLLOW.get(name) and each.number == old:
                each.value = word_of(each.type, value)

    def _is_taken(self, id: int, placed: PlacedObject) -> bool:
        """Whether another object has an id; ``placed`` is about to get it."""
        if id == NO_ID:
            return False
        ids = [other.logical_id for other in self.stored if other.logical_id != placed.logical_id]
        return id in ids or id in [other.logical_id for other in self.now.values()]

    def _skip(self, where: str, what: str, why: str, fix: str, fact: str) -> None:
        self.report.skipped(where, what, why, fix, "fact", fact=fact)

    def _refuse_version(self, where: str, name: str) -> None:
        version = self.edit.stored.object_version
        why, instead = f"records of version {version} do not have it", "leave it as it was"
        if name == "scale":
            self.report.skipped(where, "is scaled", why, instead, "turn")
        else:
            self._skip(where, f"{name} changed", why, instead, name)

    def _set_properties(self, placed: PlacedObject, where: str, extras: NodeExtras) -> None:
        expected = property_values(placed.properties)
        stated = extras.get("properties", expected)
        values = stated if isinstance(stated, dict) else {}
        labels = property_labels(placed.properties)
        for label in values.keys() - expected.keys():
            self._skip(
                where,
                f"property {in_words(label)} is new",
                "it has no type and range there",
                "edit one that the object has",
                label,
            )
        # the object's own words have set those that follow them
        stored = property_values(self._before(placed, extras))
        for label, each in zip(labels, placed.properties, strict=True):
            value = values.get(label)
            if value is None:
                missing, fix = f"property {in_words(label)} is missing", "set it to the value that it should have"
                self._skip(where, missing, "objects keep their properties", fix, label)
            elif not _same_value(value, stored.get(label, value)):
                self._set_property(each, where, label, value)

    def _before(self, placed: PlacedObject, extras: NodeExtras) -> list[Property]:
        """The properties as the file was made with them."""
        if (row := row_of(extras)) is not None and row < len(self.stored):
            before = self.stored[row].properties
            if len(before) == len(placed.properties):
                return before
        return placed.properties

    def _set_property(self, each: Property, where: str, label: str, value: object) -> None:
        what = f"property {in_words(label)}"
        try:
            if not isinstance(value, int | float) or not np.isfinite(value):
                raise ValueError
            if each.type != FLOAT and value != int(value):
                raise ValueError
            word = word_of(each.type, value)
        except (struct.error, OverflowError, ValueError):
            kind = "number" if each.type == FLOAT else "whole number"
            self._skip(where, f"{what} became {in_words(value)[:40]}", f"it is a {kind}", f"enter a {kind}", label)
            return
        if word != each.value:
            self.report.changed(where, f"{what} {each.number:g} became {value:g}")
            each.value = word

    def _set_name(self, placed: PlacedObject, where: str, name: str, label: str) -> None:
        title = new_title(name, label)
        if not name and placed.title:
            why, fix = "an object without a name keeps the one that it had", "give it the name that it is to have"
            self._skip(where, "has no name in the file", why, fix, "name")
        if title is None:
            return
        raw = encoded(title)
        if raw is None:
            self._skip(where, f"is called {in_words(title)}", "names are CP1251", "choose another name", "name")
        elif not self.edit.stored.has("name"):
            self._refuse_version(where, "name")
        else:
            self.report.changed(where, f"is called {in_words(title)}")
            placed.name = raw

    def _set_place(self, placed: PlacedObject, where: str, world: F64, shown: Pose, *, new: bool = False) -> None:
        """Move, turn and scale an object to where its node stands.

        Args:
            world: (4, 4) of its node.
            new: write all of it, and report only what cannot be.
        """
        place, what = place_of(world), []
        moved = not same_position(place.position, shown.translation)
        if moved or new:
            placed.record["position"] = place.position
            what.append("moved")
        if not same_linear(place.linear, shown):
            if place.turn is None:
                self.report.skipped(
                    where,
                    "is mirrored, sheared or scaled to nothing",
                    "objects are placed, turned and scaled",
                    "undo it",
                    "turn",
                )
            else:
                what += self._turn(placed, where, place.turn, shown)
                what += self._scale(placed, where, place.scale, shown)
        if what and not new:
            self.report.changed(where, ", ".join(what))

    def _turn(self, placed: PlacedObject, where: str, turn: F64, shown: Pose) -> list[str]:
        if np.abs(turn - rotation_matrix(shown.rotation)).max() <= TURN_NOISE:
            return []
        stored = placed.record["turns"].astype(np.float64)
        x, y, z = turns_of(turn)
        tilted = bool(stored[:2].any())
        if not tilted and max(abs(x), abs(y)) > 1e-4:
            self.report.skipped(
                where,
                "is tilted",
                "objects stand upright and turn about z only",
                "clear its rotation about x and y",
                "turn",
            )
        if not tilted:
            x = y = 0.0
        turns = [near_turn(a, b) for a, b in zip((x, y, z), stored, strict=True)]
        if np.abs(turns - stored).max() <= TURN_NOISE:
            return []
        placed.record["turns"] = turns
        return ["turned"]

    def _scale(self, placed: PlacedObject, where: str, scale: F64, shown: Pose) -> list[str]:
        if np.abs(scale - np.abs(shown.scale)).max() <= TURN_NOISE * np.abs(shown.scale).max():
            return []
        if placed.is_assembly:
            self.report.skipped(
                where, "is scaled", "the game ignores the scale of buildings and units", "set its scale to 1", "turn"
            )
            return []
        if not self.edit.stored.has("scale"):
            self._refuse_version(where, "scale")
            return []
        # what is even stays so: an editor rounds each axis by itself
        even = np.ptp(scale) <= TURN_NOISE * scale.max()
        placed.record["scale"] = np.full(3, scale[0]) if even else scale
        return ["scaled"]

    def _asset(self, where: str, path: object) -> Asset:
        known = self.edit.known
        asset = known.get(path.lower().replace("/", "\\")) if isinstance(path, str) else None
        if asset is not None and encoded(asset.path) is not None:
            return asset
        names = sorted({placeable.path for placeable in known.values()})
        raise ConversionError(
            f"{where} places what neither the mission nor the game has",
            value=in_words(path)[:80],
            expected=listed(names) if names else None,
            hint="--game DIR names the game's directory",
        )

    def _made(self, item: int) -> PlacedObject:
        """A new object of a node: a copy of a stored one, or of an asset."""
        node, extras = self.nodes[item], self.nodes[item].extras
        where = Subject("object", node.name)
        row = row_of(extras) if extras.get("kind") == "object" else None
        copied = self.stored[row] if row is not None and row < len(self.stored) else None
        if copied is not None:
            made = deepcopy(copied)
            if extras.get("path", made.reference) != made.reference:
                self.edit.exchanged[item] = made.reference
                exchange(made, self._asset(where, extras["path"]), self.stored)
        else:
            path = extras.get("path", without_number(node.name))
            made = self._from_asset(self._asset(where, path))
        self.report.changed(where, f"is new, {made.reference}")
        for name in ("host", "vertex"):
            made.record[name] = NO_ID
        changes = len(self.report.changes)
        set_kind(self.edit, made, where, extras, made.kind if copied is None else copied.kind)
        for name in ("clan", "start"):
            self._set_word_of(made, where, extras, name)
        if copied is not None:
            self._set_properties(made, where, extras)
            self._set_name(made, where, node.name, object_label(made))
        elif self.edit.stored.has("name"):
            name = made.reference.rpartition("\\")[2]
            default = {name.lower(), stem(name).lower()}
            title = without_number(node.name)
            made.name = b"" if title.lower() in default else encoded(title) or b""
        del self.report.changes[changes:]  # all of it is new
        for name in ("logical_id", "host", "vertex"):
            if name in node.typed:
                self._skip(
                    where,
                    f"its custom property {name} is {in_words(node.typed[name])[:40]}",
                    "new objects get an unused number and no host",
                    "set it when the mission has the object",
                    name,
                )
        shown = stored_pose(made)
        self._set_place(made, where, self.edit.world[item], shown, new=True)
        return made

    def _from_asset(self, asset: Asset) -> PlacedObject:
        """An object of an asset: as another of the same, or of the same kind, is."""
        made = PlacedObject(new_object_record(asset.kind), encoded(asset.path) or b"")
        alike = [like for like in self.stored if like.kind == asset.kind]
        same = [like for like in alike if like.reference.lower() == asset.path.lower()]
        for like in (same or alike)[:1]:
            for name in ("opaque4", "clan", "logical_id", "property_version"):
                made.record[name] = like.record[name]
            made.properties = deepcopy(like.properties)
            made.path = like.path if same else made.path
        return made

    def _number(self) -> None:
        if not self.edit.stored.has("logical_id"):
            return
        ids = {other.logical_id for other in (*self.stored, *self.now.values())}
        free = max(ids, default=NO_ID)
        for _, made in self.new:
            if made.is_assembly or made.logical_id != NO_ID:
                free += 1
                if free > np.iinfo(np.int32).max:
                    free = next(i for i in range(len(ids) + 1) if i not in ids)
                ids.add(free)
                self._set_word(made, "logical_id", free)

    def _hosts(self) -> None:
        """Let guests follow the id of their building, stay in it, or stand where they are shown."""
        if not self.edit.stored.has("host"):
            return
        ids = {kept.logical_id for kept in self.now.values()}
        renamed = {
            self.stored[row].logical_id: kept.logical_id
            for row, kept in self.now.items()
            if self.stored[row].logical_id != NO_ID
        }
        for row, placed in self.now.items():
            host = int(placed.record["host"])
            if host == NO_ID:
                continue
            item, before = self.row_items.get(row), int(self.stored[row].record["host"])
            where = where_of(placed, "" if item is None else self.nodes[item].name)
            if host == before and renamed.get(host, host) != host:
                placed.record["host"] = renamed[host]
                self.report.changed(where, f"host {host} became {renamed[host]}")
            elif host not in ids and row in self.row_items:
                self._turn_out(row, placed, where, host)
            elif row in self.edit.hosted and row in self.row_items:
                self._require_inside(row, placed, where)

    def _turn_out(self, row: int, placed: PlacedObject, where: str, host: int) -> None:
        """A guest whose building is gone stands where it is shown."""
        if host not in {other.logical_id for other in self.stored}:
            if host != int(self.stored[row].record["host"]):
                what, instead = f"host became {host}", "enter the logical id of a building"
                self._skip(where, what, "no object has that logical id", instead, "host")
                for name in ("host", "vertex"):
                    placed.record[name] = self.stored[row].record[name]
            return
        placed.record["host"] = placed.record["vertex"] = NO_ID
        self._stand(row, placed, where)
        self.report.changed(where, f"its building {host} is deleted: it stands where it is shown")

    def _require_inside(self, row: int, placed: PlacedObject, where: str) -> None:
        """Report a guest that was moved: it starts at a point of its building all the same."""
        place, shown = place_of(self.edit.world[self.row_items[row]]), self._shown(row)
        if same_position(place.position, shown.translation) and same_linear(place.linear, shown):
            return
        building = self.edit.stored.hosts().get(int(self.stored[row].record["host"]))
        for k, kept in self.now.items():
            if self.stored[k] is building:
                now, back = stored_pose(kept), stored_pose(self.stored[k]).inverse()
                away = now.apply(back.apply(shown.translation)) - place.position
                turn = rotation_matrix(multiply(now.rotation, back.rotation))
                linears = place.linear, turn.T @ place.linear
                if np.abs(away).max() < 1e-2 and any(same_linear(m, shown) for m in linears):
                    return  # moved together with it
        self.report.skipped(
            where,
            "is moved or turned",
            f"it starts in building {int(placed.record['host'])}",
            "set host and vertex to -1 in its custom properties to place it yourself",
            "place",
            "turn",
        )


def _same_value(value: object, stored: object) -> bool:
    if isinstance(value, int | float) and isinstance(stored, int | float):
        return abs(value - stored) <= 1e-6 * abs(stored)
    return value == stored


def turns_of(turn: F64) -> F64:
    """Return the turns about x, y and z of a rotation matrix, which are applied in this order."""
    y = np.arcsin(np.clip(-turn[2, 0], -1, 1))
    return np.array([np.arctan2(turn[2, 1], turn[2, 2]), y, np.arctan2(turn[1, 0], turn[0, 0])])


def near_turn(angle: float, stored: float) -> float:
    """Return an angle as the full turns of the stored one would have it."""
    full = 2 * np.pi
    return float(angle + full * np.round((stored - angle) / full))
