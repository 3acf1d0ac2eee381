"""Compare the control points of an edited file with those of its sidecar."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..errors import ConversionError, called
from ..findings import Report, Subject
from ..formats.model_parts import MAX_PLACE, ControlPoint, ControlPoints
from ..formats.names import decode_text, encode_name, without_number
from ..formats.tables import NAME_DTYPE
from ..numeric.arrays import F32, F64
from ..numeric.pose import affine, rotation_matrix
from ..options import ImportOptions
from ..scene.companions import is_point, length_of, name_of
from ..scene.decode import rest_pose
from ..scene.dialect import node_of_part
from ..scene.scene import ImportedNode, ImportedScene, Node
from .controller import NamedController
from .nodes import POSE_NOISE, Identified, world_matrices

#: What turning a direction to a rotation and back, and an editor, round of it, relative.
_TURN_NOISE = 1e-5


class PointEdit(NamedTuple):
    """One control point as it is to be written; ``None``: as it is stored.

    Attributes:
        row: in the stored ``.cpt``, ``None`` for a new point.
        node: of the file.
        name, position, direction, flags, node2: what changed; all but ``node2`` of a new point.
        copy_of: row of the stored point that a new one has its second node of.
    """

    row: int | None
    node: int
    name: bytes | None = None
    position: F32 | None = None
    direction: F32 | None = None
    flags: int | None = None
    node2: int | None = None
    copy_of: int | None = None


@dataclass
class PointPlan:
    """What becomes of the control points of a model.

    Attributes:
        points: those of the file, stored ones in their order, then new ones.
        hidden: stored rows that glTF does not show and that stay.
    """

    points: list[PointEdit] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    report: Report = field(default_factory=Report)


@dataclass(frozen=True)
class _Placed:
    item: int
    node: int
    position: F64
    up: F64
    scale: float


def compare_points(
    identified: Identified,
    stored: ControlPoints | None,
    shown: Sequence[ControlPoint],
    names: Collection[str],
    options: ImportOptions,
    controllers: Sequence[NamedController] = (),
) -> PointPlan:
    """Return what a file changes of the control points that its sidecar has.

    A deleted point stays where a controller names it by its row, or one after it.

    Args:
        stored: the ``.cpt``; ``None``: version 0.1 did not keep it, nor show directions.
        controllers: what names them by row.
    """
    rows = range(0 if stored is None else len(stored.records))
    named = {} if stored is None else {one.name: one.named_points for one in controllers}
    plan = PointPlan(hidden=sorted({*rows} - {point.row for point in shown}))
    items = identified.imported.nodes
    placed = {p.item: p for p in _placed(identified, names)}
    noise = _noise(identified, shown)
    item_of_row = _pair(identified, placed, shown, noise)
    if shown and not item_of_row and not options.allow_delete:
        plan.report.skipped(
            "control points",
            f"all {len(shown)} are missing",
            "they may not have been exported",
            "--allow-delete deletes them",
        )
        now_of = identified.now_of
        plan.points = [PointEdit(p.row, now_of[p.node]) for p in shown if p.node in now_of]
    else:
        for point in shown:
            if point.row in item_of_row:
                _compare(plan, identified, point, stored, placed.pop(item_of_row[point.row]), noise)
            elif why := [text for name, rows in named.items() if (text := _why_kept(point.row, name, rows))]:
                _keep_place(plan, point, "; ".join(why))
            else:
                plan.report.changed(f"control point {called(point.name)}", "is missing")
    for point_item in placed.values():
        origin = next((point for point in shown if point.row == _row(items[point_item.item])), None)
        _add(plan, identified, point_item, origin)
    _report_beyond_points(plan, identified.imported, names)
    return plan


def _why_kept(row: int, controller: str, named: Mapping[int, str]) -> str:
    """Why a controller needs a deleted point to keep its place; empty: it does not."""
    if row in named:
        return f"{controller} names it: {named[row]}"
    moves = row < max(named, default=0)
    return f"{controller} names points after it by their rows, which would move up" if moves else ""


def _keep_place(plan: PointPlan, point: ControlPoint, why: str) -> None:
    """Keep a deleted point whose row, or one after it, a controller names."""
    plan.hidden = sorted([*plan.hidden, point.row])
    plan.report.skipped(
        Subject("control point", point.name, text=f"control point {point.row} {called(point.name)}"),
        "is missing",
        why,
        "it stays in the .cpt; change the controller first",
        "node",
    )


def new_points(identified: Identified) -> PointPlan:
    """Return the control points of a file that has no sidecar."""
    plan = PointPlan()
    for point_item in _placed(identified, ()):
        _add(plan, identified, point_item, said=False)
    _report_beyond_points(plan, identified.imported, ())
    return plan


def _report_beyond_points(plan: PointPlan, imported: ImportedScene, names: Collection[str]) -> None:
    """Report what points of a file have, and those of the game cannot: clips and meshes."""
    moved = {track.node for clip in imported.clips for track in clip.tracks}
    for i, item in enumerate(imported.nodes):
        if not is_point(item, names):
            continue
        where = Subject("control point", item.name)
        if i in moved:
            reason = "a control point moves with its node alone"
            plan.report.skipped(where, "is animated", reason, "animate the node", "place", "turn")
        if item.mesh >= 0:
            reason = "the game draws nothing there"
            plan.report.skipped(where, "has a mesh", reason, "give the mesh to its node", "triangles")


def _placed(identified: Identified, names: Collection[str]) -> Iterable[_Placed]:
    """The points of a file; those without a node above them are on the first root."""
    imported, nodes = identified.imported, identified.scene.nodes
    chosen = [i for i, item in enumerate(imported.nodes) if is_point(item, names)]
    if not chosen or not nodes:
        return
    node_named = {node.name: i for i, node in reversed(list(enumerate(nodes)))}
    root = next((i for i, node in enumerate(nodes) if node.parent < 0), 0)
    world = world_matrices(imported.nodes)
    rotations, translations = rest_pose(identified.scene)
    for i in chosen:
        item = imported.nodes[i]
        above, node = item.parent, identified.node_of.get(item.parent)
        direct = node is not None and node not in identified.baked
        while node is None and above >= 0:
            part = imported.nodes[above]
            node = identified.node_of.get(above)
            if node is None and "lod" in part.extras and "node" in part.extras:
                node = identified.now_of.get(part.extras["node"])
            if node is None:
                node = node_named.get(node_of_part(part.name))
            above = part.parent
        node = root if node is None else node
        if direct:
            position = item.translation.astype(np.float64)
            linear = rotation_matrix(item.rotation) if item.linear is None else item.linear
        else:
            matrix = np.linalg.inv(affine(rotation_matrix(rotations[node]), translations[node])) @ world[i]
            position, linear = matrix[:3, 3], matrix[:3, :3]
        scale = float(np.linalg.norm(linear[:, 2]))
        up = linear[:, 2] / scale if scale > 0 else np.array([0.0, 0.0, 1.0])
        yield _Placed(i, node, position, up, scale)


def _noise(identified: Identified, shown: Sequence[ControlPoint]) -> float:
    """How far a point drifts on its way through an editor: relative to the largest coordinate."""
    largest = max((abs(value) for point in shown for value in point.position), default=0.0)
    return POSE_NOISE * max(identified.size, largest)


def _pair(
    identified: Identified, placed: Mapping[int, _Placed], shown: Sequence[ControlPoint], noise: float
) -> dict[int, int]:
    """Return the item of each stored row.

    By extras, of several copies the one that kept its name, then the nearest; without extras by
    name, else by standing in the same place.
    """
    items, now_of = identified.imported.nodes, identified.now_of
    item_of_row: dict[int, int] = {}
    free = dict(placed)

    def take(point: ControlPoint, candidates: list[int]) -> None:
        def order(i: int) -> tuple[bool, bool, float]:
            away = float(np.linalg.norm(placed[i].position - point.position))
            return items[i].name != point.name, placed[i].node != now_of.get(point.node), away

        if point.row not in item_of_row and candidates:
            item_of_row[point.row] = best = min(candidates, key=order)
            del free[best]

    def stands_at(point: ControlPoint, one: _Placed) -> bool:
        return one.node == now_of.get(point.node) and bool(np.abs(one.position - point.position).max() <= noise)

    for point in shown:
        take(point, [i for i in free if _row(items[i]) == point.row])
    for strip in (str, without_number):
        for point in shown:
            take(point, [i for i in free if not items[i].extras and strip(items[i].name) == point.name])
    for point in shown:
        take(point, [i for i, one in free.items() if not items[i].extras and stands_at(point, one)])
    return item_of_row


def _row(item: ImportedNode) -> int | None:
    return item.extras.get("point") if item.extras.get("kind") == "point" else None


def _compare(
    plan: PointPlan,
    identified: Identified,
    point: ControlPoint,
    stored: ControlPoints | None,
    placed: _Placed,
    noise: float,
) -> None:
    item, where = identified.imported.nodes[placed.item], Subject("control point", point.name)
    edit = PointEdit(point.row, placed.node)
    nodes: list[Node] = identified.scene.nodes
    what = []
    if placed.node != identified.now_of.get(point.node):
        what.append(f"moved to node {called(nodes[placed.node].name)}")
    if np.abs(placed.position - point.position).max() > noise:
        what.append("moved")
        edit = edit._replace(position=placed.position.astype(np.float32))
    length = length_of(point.direction)
    now = placed.scale * float(item.extras.get("length", length))
    direction = placed.up * now
    apart = float(np.abs(direction - point.direction).max())
    if stored is not None and apart > _TURN_NOISE * max(now, length):
        what.append("turned or lengthened")
        edit = edit._replace(direction=direction.astype(np.float32))
    if item.name != point.name and without_number(item.name) != point.name:
        name = name_of(item)
        raw = None
        if stored is None or name != stored.name(point.row):
            raw = _encoded(plan, where, name)
        if raw is not None:
            what.append(f"renamed to {called(name)}")
            edit = edit._replace(name=raw)
    if (flags := item.extras.get("flags", point.flags)) != point.flags and stored is not None:
        what.append(f"flags {point.flags:#x} became {flags:#x}")
        edit = edit._replace(flags=flags)
    if (node2 := _second(item, point.node2)) != point.node2 and stored is not None:
        what.append(f"node2 {point.node2} became {node2}")
        edit = edit._replace(node2=node2)
    if not _fits(edit):
        _report_too_far(plan, where)
        edit = edit._replace(position=None, direction=None)
        what = []
    plan.points.append(edit)
    plan.report.changed(where, *what)


def _add(
    plan: PointPlan, identified: Identified, placed: _Placed, origin: ControlPoint | None = None, *, said: bool = True
) -> None:
    """Add a point. ``origin``: the stored one that it is a copy of; ``said``: the report says that it is new."""
    item = identified.imported.nodes[placed.item]
    second = _second(item, 0 if origin is None else origin.node2)
    copied = origin is not None and second == origin.node2
    where = Subject("control point", item.name)
    name = _encoded(plan, where, name_of(item))
    if name is None:
        return
    length = placed.scale * float(item.extras.get("length", 1.0))
    edit = PointEdit(
        None,
        placed.node,
        name,
        placed.position.astype(np.float32),
        (placed.up * length).astype(np.float32),
        int(item.extras.get("flags", 0)),
        None if "node2" not in item.extras or copied else second,
        origin.row if origin is not None and copied else None,
    )
    if not _fits(edit):
        _report_too_far(plan, where)
        return
    plan.points.append(edit)
    if said:
        node = identified.scene.nodes[placed.node].name
        plan.report.changed(where, f"is new, on node {called(node)}")


def _second(item: ImportedNode, stored: int = 0) -> int:
    """The second node that a point states, else the stored one."""
    node2 = item.extras.get("node2", stored)
    if not isinstance(node2, int | float) or not -(2**31) <= node2 < 2**31:
        raise ConversionError(
            "custom property node2 is not valid", value=node2, expected="an int32", hint="give it back its value"
        )
    return int(node2)


def _encoded(plan: PointPlan, where: str, name: str) -> bytes | None:
    """A name as its bytes, ``None`` where a ``.cpt`` cannot hold it, which is reported."""
    raw = encode_name(name)
    if 0 < len(raw) < NAME_DTYPE.itemsize and decode_text(raw) == name:
        return raw
    plan.report.skipped(
        where,
        f"is called {called(name)}",
        f"names of control points have 1 to {NAME_DTYPE.itemsize - 1} bytes of CP1251",
        "give it another name",
    )
    return None


def _fits(edit: PointEdit) -> bool:
    values = [v for v in (edit.position, edit.direction) if v is not None]
    return all(bool((np.abs(v) <= MAX_PLACE).all()) for v in values)


def _report_too_far(plan: PointPlan, where: str) -> None:
    plan.report.skipped(
        where, "moved", f"a control point lies within {MAX_PLACE:g} of its node", "move it nearer", "place"
    )
