"""Where control points are: in an edited file, and in the ``.cpt`` that would be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..edits.nodes import POSE_NOISE, model_size
from ..errors import printable
from ..findings import Kind
from ..formats.control_points import ControlPoint
from ..scene.decode import is_point, name_of
from ..scene.scene import ImportedNode, Scene
from .difference import Difference
from .match import nearest
from .shown import F64, Thing, ways, world_poses

#: How far a direction may be turned or lengthened, of its length.
_TURN = 1e-4


@dataclass(frozen=True)
class _Point:
    """A control point in the frame of its node; ``direction``: of length 1 where the length is not stated."""

    name: str
    node: int
    place: F64
    direction: F64
    length: float | None
    facts: Mapping[str, object]
    names: tuple[str, ...] = ()

    def as_thing(self) -> Thing:
        """The same, for pairing."""
        world = np.eye(4)
        world[:3, 3] = self.place
        return Thing(self.name, self.node, world[None], {"node": self.node})


def differences_of_points(
    items: Sequence[ImportedNode], node_of: Mapping[int, int], written: Scene, points: Sequence[ControlPoint]
) -> list[Difference]:
    """Return what control points of a result are otherwise than in the file.

    Args:
        items: nodes of the file.
        node_of: node of the file -> of the result.
        written: the result, decoded from its bytes.
        points: its points, read from their bytes.
    """
    mine = _of_file(items, node_of, {node.name for node in written.nodes})
    theirs = [
        _Point(
            p.name.rpartition(".point")[0],
            p.node,
            np.array(p.position),
            *_unit(p.direction),
            {"flags": p.flags},
            (p.name,),
        )
        for p in points
    ]
    reach = max((float(np.abs(p.place).max()) for p in theirs), default=0.0)
    loose = 2 * POSE_NOISE * max(model_size(written), reach)
    found: list[Difference] = []

    def add(point: _Point, kind: Kind, what: str, amount: float = 0.0) -> None:
        names = frozenset(n.casefold() for n in (*ways(point.name), *point.names, "control points") if n)
        found.append(Difference(f"control point {printable(point.name)!r}", kind, what, names, amount))

    left, free = dict(enumerate(mine)), dict(enumerate(theirs))
    for i, k in _pairs(mine, theirs):
        a, b = left.pop(i), free.pop(k)
        if a.node not in (-1, b.node):
            add(a, "node", f"is on node {printable(written.nodes[b.node].name)!r} in the game")
        elif a.node >= 0 and (away := float(np.abs(a.place - b.place).max())) > loose:
            add(a, "place", f"is {away:.3g} away in the game", away)
        elif a.node >= 0 and b.length and (turned := float(np.abs(a.direction - b.direction).max())) > _TURN:
            add(a, "turn", "is turned in the game", turned)
        if a.length is not None and b.length is not None and abs(a.length - b.length) > _TURN * max(a.length, b.length):
            add(a, "turn", f"has length {a.length:.3g} in the file, and {b.length:.3g} in the game")
        if not ways(a.name) & ways(b.name):
            add(a, "name", f"is called {printable(b.name)!r} in the game")
        for fact, stated in a.facts.items():
            if stated is not None and stated != b.facts[fact]:
                add(a, "fact", f"has {fact} {stated!r} in the file, and {b.facts[fact]!r} in the game")
    for point in left.values():
        add(point, "node", "is in the file, and not in the game")
    for point in free.values():
        add(point, "node", "is in the game, and not in the file")
    return found


def _pairs(mine: Sequence[_Point], theirs: Sequence[_Point]) -> list[tuple[int, int]]:
    """Points of one name, the nearest first, then what is left."""
    out: list[tuple[int, int]] = []
    groups: dict[str, tuple[list[int], list[int]]] = {}
    for side, points in enumerate((mine, theirs)):
        for row, point in enumerate(points):
            groups.setdefault(min(ways(point.name)), ([], []))[side].append(row)
    had: tuple[set[int], set[int]] = (set(), set())
    rest = [*range(len(mine))], [*range(len(theirs))]
    for a, b in [*groups.values(), rest]:
        a, b = ([row for row in rows if row not in used] for rows, used in zip((a, b), had, strict=True))
        for i, k in nearest([mine[row].as_thing() for row in a], [theirs[row].as_thing() for row in b]):
            out.append((a[i], b[k]))
            had[0].add(a[i])
            had[1].add(b[k])
    return out


def _of_file(items: Sequence[ImportedNode], node_of: Mapping[int, int], names: set[str]) -> list[_Point]:
    world = world_poses(items, [], np.zeros(1))[:, 0]
    out = []
    for i, item in enumerate(items):
        if not is_point(item, names):
            continue
        above, of = item.parent, [item.name]
        while above >= 0 and above not in node_of:
            above = items[above].parent
        matrix = world[i]
        if above >= 0:
            left, _, right = np.linalg.svd(world[above, :3, :3])  # a node of the game is not scaled
            matrix = np.eye(4)
            matrix[:3, :3] = (left @ right).T @ world[i, :3, :3]
            matrix[:3, 3] = (left @ right).T @ (world[i, :3, 3] - world[above, :3, 3])
            of.append(items[above].name)
        direction, scale = _unit(matrix[:3, 2])
        length = item.extras.get("length")
        facts = {"flags": item.extras.get("flags")}
        stated = None if length is None else scale * float(length)
        out.append(_Point(name_of(item), node_of.get(above, -1), matrix[:3, 3], direction, stated, facts, tuple(of)))
    return out


def _unit(direction: Sequence[float] | F64) -> tuple[F64, float]:
    """A direction of length 1, and its length."""
    vector = np.array(direction, np.float64)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else np.array([0.0, 0.0, 1.0]), length
