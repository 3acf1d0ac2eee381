"""Import the control points of a model: the ``.cpt`` that goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...exporters.control_points import write_points
from ...importers.control_points import read_points
from ..edits.compare_points import compare_points, new_points
from ..edits.identify_nodes import Identified
from ..formats.control_points import POINTS_ENDING, POINTS_TYPE, ControlPoints
from ..formats.sidecar import Description
from ..formats.tables import NAME_DTYPE, POINT_DTYPE
from ..options import ImportOptions
from ..rebuild.points import edited_points
from ..scene.differences import Change, NotApplied
from ..scene.points import shown_points
from ..scene.scene import Scene
from .import_result import Companion, ImportResult

_NONE = ControlPoints(np.zeros(0, POINT_DTYPE), np.zeros(0, NAME_DTYPE))


def import_points(
    out: ImportResult,
    identified: Identified,
    about: Description,
    scene: Scene,
    rows: Mapping[int, int],
    options: ImportOptions,
) -> None:
    """Add to a result what a file changes of the control points.

    Args:
        out: the result; its changes, differences and companions grow.
        identified: the file.
        about: the sidecar's description.
        scene: the sidecar's model.
        rows: node of the file -> row in Res1.
        options: whether all of them are deleted, where none is left in the file.
    """
    before = about.companions.get(POINTS_ENDING, b"")
    old = bool(about.points) and not before
    stored = None if old else read_points(before, about.source)
    shown = about.points if stored is None else shown_points(stored, scene)[0]
    names = {node.name for node in scene.nodes}
    plan = compare_points(identified, stored, shown, names, options)
    out.not_applied += plan.not_applied
    if stored is None:
        out.not_applied += [_needs_new_export(change) for change in plan.changes]
        return
    row_of_stored = {k: rows[i] for i, k in identified.stored_of.items()}
    points = edited_points(plan, stored, rows, row_of_stored)
    out.changes += plan.changes
    if write_points(points) == before or not (before or plan.points):
        if before:
            out.kept_companions.append(_companion(points, before))
        return
    if not plan.changes:
        out.changes.append(Change("control points", "follow the rows of their nodes"))
    out.companions.append(_companion(points, before))


def import_new_points(out: ImportResult, identified: Identified, rows: Mapping[int, int]) -> None:
    """Add the control points of a file without a sidecar; arguments as of ``import_points``."""
    plan = new_points(identified)
    out.not_applied += plan.not_applied
    if plan.points:
        points = edited_points(plan, _NONE, rows, {})
        out.companions.append(replace(_companion(points, b""), nodes=len(rows)))


def _companion(points: ControlPoints, before: bytes) -> Companion:
    """Return the ``.cpt``; the first attribute of its entry is the number of points."""
    count = len(points.records)
    return Companion(POINTS_ENDING, POINTS_TYPE, write_points(points), before, count)


def _needs_new_export(change: Change) -> NotApplied:
    return NotApplied(
        where=change.where,
        what=change.what,
        why="version 0.1, which made the sidecar, did not keep the .cpt",
        instead="convert the model again and repeat the edit",
    )
