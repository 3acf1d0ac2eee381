"""Control points (``.cpt``, type ``CTPT``): named places on the nodes of a model.

Guns, feet, lights, effects. The layout is in none of the source pages; it was published by an
independent reader of the retail install, which counted 3,599 points in 284 files, and it fits the
size of every file at hand (docs/decisions/0017-control-points.md): a count, that many records,
that many names of 32 bytes. The node is a row of the model of the same stem (2,984 of 2,985); the
position is in its frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import ConversionError, called, plural
from ..findings import Finding, Rules
from ..numeric.arrays import Records
from .names import field_text
from .tables import NAME_DTYPE

POINT_DTYPE = np.dtype(
    [
        ("opaque0", "<u4"),  # +0   0
        ("node", "<i4"),  # +4   the node that it is on
        ("second", "<i4"),  # +8   mostly the same node, else unknown
        ("position", "<f4", (3,)),  # +12  in that node's frame
        ("direction", "<f4", (3,)),  # +24  its length is a size of its own
    ]
)
assert POINT_DTYPE.itemsize == 36

_rule = Rules("control points", "docs/reference/control_points.md")

#: Type of a directory entry of control points.
POINTS_TYPE = int.from_bytes(b"CTPT", "little")
#: Ending of a file of control points.
POINTS_ENDING = ".cpt"
#: What findings and errors call the file.
TABLE = "CTPT"
#: The largest coordinate of a point: no model is this large, bytes that are not numbers mostly are.
MAX_PLACE = 1e6


class ControlPoint(NamedTuple):
    """A named point of a model's ``.cpt``, as glTF shows it.

    Attributes:
        node: index in ``Scene.nodes``.
        position: in that node's frame.
        direction: in that node's frame; its length is a size of its own.
        flags: the record's first word.
        node2: its second node, mostly the same one.
    """

    name: str
    row: int
    node: int
    position: tuple[float, float, float]
    direction: tuple[float, float, float]
    flags: int = 0
    node2: int = 0


@dataclass(frozen=True)
class ControlPoints:
    """The points of a model. ``records``: ``POINT_DTYPE``. ``names``: ``NAME_DTYPE``, as many."""

    records: Records
    names: Records

    def name(self, row: int) -> str:
        """The name of a point."""
        return field_text(self.names["name"][row])


POINTS_SIZE = _rule("points-size", "warning", "A .cpt is its count, a record of 36 bytes and a name of 32 for each.")(
    why="The points cannot be shown.", fix="Take the file from the game again."
)
POINT_PLACE = _rule("point-place", "warning", "A point is on a node of the model, at finite numbers of at most 1e6.")(
    why="The point cannot be shown.", fix="Name a node that the model has, in the .cpt."
)


def misplaced(points: ControlPoints, nodes: int | None) -> dict[int, Finding]:
    """What is wrong with the points that have no place, by row.

    Args:
        nodes: how many nodes the model has; ``None``: unknown.
    """
    found = {}
    for row, record in enumerate(points.records):
        numbers = np.concatenate([record["position"], record["direction"]])
        node = int(record["node"])
        value: object = node
        if node < 0 or (nodes is not None and node >= nodes):
            problem = "the model has no such node"
            expected = "0 or more" if nodes is None else f"0..{nodes - 1}"
        elif not (np.abs(numbers) <= MAX_PLACE).all():  # nor is NaN
            problem = "numbers that no place has"
            value = " ".join(f"{number:g}" for number in numbers)
            expected = f"6 of at most {MAX_PLACE:g}"
        else:
            continue
        problem = f"control point {called(points.name(row))} has no place: {problem}"
        found[row] = Finding(POINT_PLACE, problem, TABLE, row, value=value, expected=expected)
    return found


def read_points(data: memoryview | bytes, label: str) -> ControlPoints:
    """The points of a ``.cpt``; the records are views of ``data``.

    Args:
        data: the file; empty for a model without points.

    Raises:
        ConversionError: its size is not that of its count.
    """
    view = memoryview(data)
    if not view:
        return ControlPoints(np.zeros(0, POINT_DTYPE), np.zeros(0, NAME_DTYPE))
    count = int.from_bytes(view[:4], "little")
    size = 4 + count * (POINT_DTYPE.itemsize + NAME_DTYPE.itemsize)
    if len(view) != size:
        raise ConversionError(
            f"size does not fit its count of {count} control points",
            file=label,
            table=TABLE,
            offset=0,
            value=plural(len(view), "byte"),
            expected=size,
            code=POINTS_SIZE.code,
        )
    names = 4 + count * POINT_DTYPE.itemsize
    return ControlPoints(np.frombuffer(view[4:names], POINT_DTYPE), np.frombuffer(view[names:], NAME_DTYPE))


def write_points(points: ControlPoints) -> bytes:
    """Return the bytes of a ``.cpt`` (docs/reference/control_points.md)."""
    count = len(points.records).to_bytes(4, "little")
    return count + points.records.tobytes() + points.names.tobytes()
