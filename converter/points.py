"""Control points (``.cpt``, type ``CTPT``) as data: named places on the nodes of a model.

Guns, feet, lights, effects. The layout is in none of the source pages; it was published by an
independent reader of the retail install, who counted 3,599 points in 284 files, and it fits the
size of every file at hand (docs/decisions/0017-control-points.md): a count, that many records,
that many names of 32 bytes. The node is a row of the model of the same stem (2,984 of 2,985); the
position is in its frame.

Reading bytes is ``importers.control_points``. The converter shows points and never writes them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from converter.archive import decode_text
from converter.errors import printable
from converter.model import Records
from converter.names import without_number
from converter.scene import ControlPoint, Item, Scene
from converter.validate import Finding

#: Type of a directory entry of control points.
POINTS_TYPE = int.from_bytes(b"CTPT", "little")
#: What findings and errors call the file.
TABLE = "CTPT"
#: No coordinate of a model is this far out; bytes that are no numbers mostly are.
_FAR = 1e6
_POINT_NAME = re.compile(r".+\.point(#[0-9]+)*")


@dataclass(frozen=True)
class ControlPoints:
    """The points of a model.

    Attributes:
        records: ``POINT_DTYPE``.
        names: ``NAME_DTYPE``, as many.
    """

    records: Records
    names: Records

    def name(self, row: int) -> str:
        """The name of a point."""
        return decode_text(self.names["name"][row].tobytes().partition(b"\0")[0])


def misplaced(points: ControlPoints, nodes: int | None) -> dict[int, Finding]:
    """What is wrong with the points that have no place, by row.

    Args:
        points: the points.
        nodes: how many nodes the model has; ``None``: nobody knows.
    """
    found = {}
    for row, record in enumerate(points.records):
        numbers = np.concatenate([record["position"], record["direction"]])
        node = int(record["node"])
        value: object = node
        if node < 0 or (nodes is not None and node >= nodes):
            problem = f"no node {node} in the model"
            expected = "0 or more" if nodes is None else f"0..{nodes - 1}"
        elif not (np.abs(numbers) <= _FAR).all():  # nor is NaN
            problem = "numbers that no place has"
            value = " ".join(f"{number:g}" for number in numbers)
            expected = f"6 of at most {_FAR:g}"
        else:
            continue
        said = f"control point {printable(points.name(row))!r} has no place: {problem}"
        found[row] = Finding("point-place", said, TABLE, row, value=value, expected=expected)
    return found


def shown_points(points: ControlPoints, scene: Scene) -> tuple[list[ControlPoint], list[Finding]]:
    """The points that have a place in a scene, by row, and a warning for each that has none.

    A point is called ``NAME.point``, with ``#`` and its row where that is taken.
    """
    taken = {node.name for node in scene.nodes}
    wrong, shown = misplaced(points, len(scene.nodes)), []
    for row, record in enumerate(points.records):
        if row in wrong:
            continue
        numbers = np.concatenate([record["position"], record["direction"]])
        name, node = points.name(row), int(record["node"])
        label = f"{name or row}.point"
        while label in taken:
            label += f"#{row}"
        taken.add(label)
        x, y, z, *direction = map(float, numbers)
        across, along, up = direction
        shown.append(ControlPoint(label, row, node, (x, y, z), (across, along, up)))
    return shown, list(wrong.values())


def is_point(item: Item, nodes: Container[str] = ()) -> bool:
    """Whether a node of a glTF file is a control point that we showed.

    By its extras; where an editor dropped them, by a name that ends in ``.point``, without a mesh.

    Args:
        item: the node.
        nodes: names of the model's own nodes, as far as they are known.
    """
    if item.extras:
        return item.extras.get("kind") == "point"
    named = _POINT_NAME.fullmatch(without_number(item.name)) is not None
    return named and item.mesh < 0 and item.name not in nodes


def unread_points(
    items: Sequence[Item], about: Sequence[ControlPoint], nodes: Container[str], noise: float
) -> list[str]:
    """What to say of control points that were edited, which nobody reads back.

    Args:
        items: the nodes of a glTF file.
        about: the points that it was made with.
        nodes: names of the model's own nodes.
        noise: how far a pose may drift on its way through an editor.
    """
    found = [item for item in items if is_point(item, nodes)]
    by_row = {str(item.extras.get("point")): item for item in reversed(found) if item.extras}
    by_name = {without_number(item.name): item for item in reversed(found)}
    by_name |= {item.name: item for item in reversed(found)}
    edited = []
    for point in about:
        item = by_row.get(str(point.row)) or by_name.get(point.name)
        if item is None:
            edited.append(f"{point.name} is gone")
            continue
        if np.abs(item.translation - np.array(point.position)).max() > noise:
            edited.append(f"{point.name} was moved")
    new = len(found) - len(about)
    if new > 0:
        edited.append(f"{new} are new")
    if not edited:
        return []
    more = f" and {len(edited) - 5} more" if len(edited) > 5 else ""
    told = printable(", ".join(edited[:5]))
    return [f"control points are not read back, the .cpt stays as it is: {told}{more}"]
