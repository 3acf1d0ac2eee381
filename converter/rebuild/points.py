"""Write the control points of a model that was edited, or made without a sidecar."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..edits.compare_points import PointEdit, PointPlan
from ..formats.control_points import POINT_DTYPE, ControlPoints
from ..formats.tables import NAME_DTYPE
from ..numeric.arrays import Records


def edited_points(
    plan: PointPlan, stored: ControlPoints, row_of: Mapping[int, int], row_of_stored: Mapping[int, int]
) -> ControlPoints:
    """Return the points of a plan; what it does not change keeps its stored bytes.

    Args:
        plan: what becomes of each.
        stored: the points that there were.
        row_of: node of the file -> row in Res1.
        row_of_stored: stored row in Res1 -> new row.
    """
    kept: dict[int, PointEdit | None] = dict.fromkeys(plan.hidden)
    kept |= {edit.row: edit for edit in plan.points if edit.row is not None}
    order: list[tuple[int | None, PointEdit | None]] = [(row, kept[row]) for row in sorted(kept)]
    order += [(None, edit) for edit in plan.points if edit.row is None]
    records, names = np.zeros(len(order), POINT_DTYPE), np.zeros(len(order), NAME_DTYPE)
    for i, (row, edit) in enumerate(order):
        if row is not None:
            records[i], names[i] = stored.records[row], stored.names[row]
        node, second = int(records[i]["node"]), int(records[i]["second"])
        now = row_of_stored.get(node, node) if edit is None else row_of[edit.node]
        records["node"][i] = now
        together = second == node or row is None
        records["second"][i] = now if together else row_of_stored.get(second, second)
        if edit is not None:
            _apply(edit, records[i : i + 1], names[i : i + 1])
    return ControlPoints(records, names)


def _apply(edit: PointEdit, record: Records, name: Records) -> None:
    """Write what an edit changes into its record and name, (1,) each."""
    if edit.flags is not None:
        record["opaque0"] = edit.flags & 0xFFFFFFFF
    if edit.node2 is not None:
        record["second"] = edit.node2
    if edit.position is not None:
        record["position"] = edit.position
    if edit.direction is not None:
        record["direction"] = edit.direction
    if edit.name is not None:
        name["name"] = 0
        name["name"][0, : len(edit.name)] = np.frombuffer(edit.name, np.uint8)
