"""Find what an edited unit or mission changes inside the models that it places.

That belongs to the files of these models: it is reported, not written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from ..errors import plural, printable
from ..formats.names import without_number
from ..numeric.pose import F64, parents_first
from ..scene.differences import NotApplied
from ..scene.inside import NO_MESH, TERRAIN, component_text, mesh_digest, read_pose
from ..scene.scene import ImportedNode, ImportedScene
from .compare_poses import same_rotations
from .placed_nodes import TURN_NOISE, same_position

#: Kinds of nodes that a model can be below.
_PLACES = ("object", "component", "unit")
#: How many are named; the others are counted.
_NAMED = 20


def compare_inside(
    given: ImportedScene,
    world: F64,
    inside: Mapping[str, str],
    new: Collection[int],
    exchanged: Collection[int] = (),
) -> list[NotApplied]:
    """Return what a file changes of the models, the terrain and the clips that it shows.

    Args:
        given: the file.
        world: (n, 4, 4) places of its nodes.
        inside: what the export showed (``converter.scene.inside``).
        new: nodes of new objects and components, below which nothing may be.
        exchanged: nodes that place another thing than what is still shown below them.
    """
    return _Inside(given, world, inside, new, exchanged).differences()


class _Inside:
    """The nodes of a file by what they are below."""

    def __init__(
        self,
        given: ImportedScene,
        world: F64,
        inside: Mapping[str, str],
        new: Collection[int],
        exchanged: Collection[int],
    ) -> None:
        self.given, self.world, self.inside = given, world, inside
        self.new, self.exchanged = set(new), self._all_below(set(exchanged))
        self.names = [material.name for material in given.materials]
        self.digests: dict[int, str] = {}
        self.nodes_of: dict[str, set[int]] = defaultdict(set)
        self.rows_in: dict[str, list[str]] = defaultdict(list)
        self.rows_of: dict[int, list[int | None]] = defaultdict(list)
        for text in inside:
            kind, _, rest = text.partition(" ")
            key, _, number = rest.rpartition(" ")
            if kind == "node" and number.isdecimal():
                self.nodes_of[key].add(int(number))
            elif kind == "component":
                self.rows_in[key].append(number)

    def _all_below(self, items: set[int]) -> set[int]:
        """Nodes, and the nodes below them up to the next object or component."""
        out = set(items)
        for i in parents_first([item.parent for item in self.given.nodes], root=-1):
            item = self.given.nodes[i]
            if item.parent in out and item.extras.get("kind") not in _PLACES:
                out.add(i)
        return out

    def differences(self) -> list[NotApplied]:
        found: dict[int, set[int]] = defaultdict(set)
        self.what: dict[tuple[str, str], list[str]] = {}
        foreign: list[str] = []
        ground = False
        for i, item in enumerate(self.given.nodes):
            kind, above = item.extras.get("kind"), self._above(i)
            if i in self.exchanged:
                continue
            if "level" in item.extras:
                ground = True
                self._compare_ground(i)
            elif kind == "component":
                self._compare_component(i, above)
            elif kind == "point" and above is not None:
                self._compare_point(i, above)
            elif kind is None and above is not None and "node" in item.extras:
                number = item.extras["node"]
                found[above].add(number)
                where = _quoted_model(self.given.nodes[above])
                for text in self._changes(i, _key(self.given.nodes[above]), number):
                    self.what.setdefault((where, text), []).append(_quoted(item))
            elif kind is None and item.mesh >= 0 and above not in self.new and i not in self.new:
                foreign.append(_quoted(item))
        out = [_in_model(where, text, names) for (where, text), names in self.what.items()]
        out += [*self._missing(found), *self._missing_components()]
        if TERRAIN in self.inside and not ground:
            out.append(_in_model("terrain", "is missing", []))
        return out + _foreign(foreign)

    def _compare_ground(self, i: int) -> None:
        if not np.allclose(self.world[i], np.eye(4), atol=1e-5):
            self.what.setdefault(("terrain", "is moved"), [])
        if self.inside.get(TERRAIN) not in (None, self._digest(self.given.nodes[i])):
            self.what.setdefault(("terrain", "its mesh changed"), [])

    def _compare_component(self, i: int, above: int | None) -> None:
        """Compare a component of an object of a mission with that of its unit."""
        item = self.given.nodes[i]
        if not self._in_place(i):
            self.what.setdefault((_quoted(item), "is moved on its socket"), [])
        while above is not None and self.given.nodes[above].extras.get("kind") == "component":
            above = self._above(above)
        if above is None or above in self.new:
            return
        owner = self.given.nodes[above]
        if owner.extras.get("kind") == "object":
            row = item.extras.get("index")
            self.rows_of[above].append(row)
            text = self.inside.get(f"component {_key(owner)} {row}")
            if text not in (None, component_text(item.extras)):
                self.what.setdefault((_quoted(item), "its custom properties changed"), [])

    def _missing_components(self) -> list[NotApplied]:
        """Objects whose components are not those of their unit; copies without any are whole."""
        out = []
        for i, item in enumerate(self.given.nodes):
            if (
                item.extras.get("kind") != "object"
                or i in self.exchanged
                or (i in self.new and i not in self.rows_of)
            ):
                continue
            expected = self.rows_in.get(_key(item))
            rows = self.rows_of.get(i, [])
            if expected is not None and sorted(map(str, rows)) != sorted(expected):
                out.append(_in_model(_quoted(item), "has other components than its unit", []))
        return out

    def _compare_point(self, i: int, above: int) -> None:
        item = self.given.nodes[i]
        text = self.inside.get(f"point {_key(self.given.nodes[above])} {item.extras.get('point')}")
        pose = None if text is None else read_pose(text)
        position = item.translation.astype(np.float64)
        if pose is not None and not same_position(position, pose.translation, self.world[i]):
            where = _quoted_model(self.given.nodes[above])
            self.what.setdefault((where, "is moved"), []).append(_quoted(item))

    def _above(self, i: int) -> int | None:
        """The nearest object or component above a node; ``None``: there is none."""
        above = self.given.nodes[i].parent
        while above >= 0:
            if above in self.new or self.given.nodes[above].extras.get("kind") in _PLACES:
                return above
            above = self.given.nodes[above].parent
        return None

    def _digest(self, item: ImportedNode) -> str:
        if item.mesh < 0:
            return NO_MESH
        if item.mesh not in self.digests:
            primitives = self.given.meshes[item.mesh].primitives
            self.digests[item.mesh] = mesh_digest(self.given.streams, primitives, self.names)
        return self.digests[item.mesh]

    def _changes(self, i: int, key: str, number: int) -> list[str]:
        item = self.given.nodes[i]
        text = self.inside.get(f"node {key} {number}")
        if text is None:
            return []
        digest, _, place = text.partition(" ")
        pose, out = read_pose(place), []
        if digest != self._digest(item):
            out.append("its mesh changed")
        if pose is not None and "frame_count" not in item.extras:
            position = item.translation.astype(np.float64)
            moved = not same_position(position, pose.translation, self.world[i])
            turned = not same_rotations(item.rotation, pose.rotation, TURN_NOISE).all()
            if moved or turned or item.linear is not None:
                out.append("is moved, turned or scaled")
        return out

    def _in_place(self, i: int) -> bool:
        """Whether a component takes the pose of its socket."""
        item = self.given.nodes[i]
        text = self.inside.get(f"node {_key(item)} 0")
        pose = None if text is None else read_pose(text.partition(" ")[2])
        above = self.given.nodes[item.parent] if item.parent >= 0 else None
        if item.linear is not None:
            return False
        if pose is None or above is None or "node" not in above.extras:
            return True  # it shows nothing, or is not on a socket: that is compared elsewhere
        pose = pose.inverse()
        same = same_rotations(item.rotation, pose.rotation, TURN_NOISE).all()
        position = item.translation.astype(np.float64)
        return bool(same) and same_position(position, pose.translation, self.world[i])

    def _missing(self, found: Mapping[int, set[int]]) -> list[NotApplied]:
        """Placed models that lack nodes; of a copy nothing may be there."""
        out = []
        for i, item in enumerate(self.given.nodes):
            if item.extras.get("kind") not in _PLACES or (i in self.new and i not in found):
                continue
            if i in self.exchanged:
                continue
            missing = self.nodes_of.get(_key(item), set()) - found.get(i, set())
            if missing:
                what = f"lacks {plural(len(missing), 'node')} of its model"
                out.append(_in_model(_quoted(item), what, []))
        return out


def _key(item: ImportedNode) -> str:
    extras = item.extras
    return str(extras.get("key", extras.get("path", ""))).lower()


def _quoted(item: ImportedNode) -> str:
    return f"node {printable(item.name)!r}"


def _quoted_model(item: ImportedNode) -> str:
    return f"model of {printable(_key(item))!r}"


def _in_model(where: str, what: str, names: list[str]) -> NotApplied:
    shown = ", ".join(sorted({without_number(name) for name in names})[:_NAMED])
    return NotApplied(
        where=where,
        what=f"{shown} {what}".strip(),
        why="units and missions place models and do not change them",
        instead="convert that file by itself and edit it there",
    )


def _foreign(names: list[str]) -> list[NotApplied]:
    out = [
        NotApplied(
            where=name,
            what="is new",
            why="it is not an object that the mission or the game knows",
            instead="make a model of it, or give it the path of what it shows",
        )
        for name in names[:_NAMED]
    ]
    if len(names) > _NAMED:
        rest = f"{len(names) - _NAMED} more nodes"
        out.append(
            NotApplied(
                where=rest, what="are new", why="they are not objects",
                instead="make models of them",
            )
        )  # fmt: skip
    return out
