"""Import the files that go with a model or terrain: materials (``.wea``) and control points (``.cpt``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..edits.controller import NamedController
from ..edits.material_rows import TerrainWearEdit, WearEdit
from ..edits.nodes import Identified
from ..edits.points import PointEdit, PointPlan, compare_points, new_points
from ..findings import Finding
from ..formats.control_points import POINT_DTYPE, POINTS_ENDING, POINTS_TYPE, ControlPoints, read_points, write_points
from ..formats.sidecar import Description
from ..formats.tables import NAME_DTYPE
from ..formats.wear import LEVEL_ENDINGS, WEAR_ENDING, WEAR_TYPE, edited_wear, new_wear, read_wear, write_wear
from ..numeric.arrays import Records
from ..options import ImportOptions
from ..scene.decode import shown_points
from ..scene.scene import Scene
from .import_numbered import rows_now
from .import_result import Companion, ImportResult

# ------------------------------------------------------------------ materials


def why_locked(about: Description, ending: str = WEAR_ENDING) -> str:
    """Return why the ``.wea`` of a sidecar cannot be changed, ``""`` where it can.

    Args:
        about: the sidecar's description.
        ending: of the file's name.
    """
    before = about.companions.get(ending, b"")
    if not before and about.materials:
        return (
            "version 0.1, which made the sidecar, did not keep the .wea (convert the model again, and repeat the edit)"
        )
    if before and _errors(before, about.source):
        return "its .wea has errors, which msh-inspect --check names"
    return ""


def why_level_locked(about: Description) -> str:
    """Return why ``Land1.wea`` and ``Land2.wea`` cannot be changed, ``""`` where they can."""
    first, second = LEVEL_ENDINGS
    if first not in about.companions and not about.materials:
        return "no Land1.wea lies beside the terrain, and the file does not name all its rows"
    return why_locked(about, first) or (why_locked(about, second) if second in about.companions else "")


def import_wear(out: ImportResult, edit: WearEdit, about: Description) -> None:
    """Add to a result what a file changes of the ``.wea``.

    Args:
        out: the result; its changes, companions (or kept ones) grow.
        edit: what changes.
        about: the sidecar's description.
    """
    out.differences.add(edit.report)
    _write(out, about, WEAR_ENDING, edit.names)


def import_level_wears(out: ImportResult, edit: TerrainWearEdit, about: Description) -> None:
    """Add to a result what a file changes of ``Land1.wea`` and ``Land2.wea``.

    Arguments as of :func:`import_wear`. A level without ``Land2.wea`` gets none.
    """
    out.differences.add(edit.report)
    first, second = LEVEL_ENDINGS
    _write(out, about, first, edit.names)
    _write(out, about, second, edit.micro if second in about.companions else {})


def _write(out: ImportResult, about: Description, ending: str, names: Mapping[int, str]) -> None:
    """Add a ``.wea`` with other names to a result, or as it was."""
    before = about.companions.get(ending, b"")
    if not names:
        if before:
            out.kept_companions.append(Companion(ending, WEAR_TYPE, before, before))
        return
    wear = read_wear(before, about.source)[0] if before else new_wear([])
    data = write_wear(edited_wear(wear, names))
    out.companions.append(Companion(ending, WEAR_TYPE, data, before))


def _errors(data: bytes, label: str) -> list[Finding]:
    return [finding for finding in read_wear(data, label)[1] if finding.severity == "error"]


# ------------------------------------------------------------------ control points


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


_NONE = ControlPoints(np.zeros(0, POINT_DTYPE), np.zeros(0, NAME_DTYPE))


def import_points(
    out: ImportResult,
    identified: Identified,
    about: Description,
    scene: Scene,
    rows: Mapping[int, int],
    options: ImportOptions,
    controller: NamedController | None,
) -> None:
    """Add to a result what a file changes of the control points.

    Args:
        out: the result; its differences and companions grow.
        identified: the file.
        about: the sidecar's description.
        scene: the sidecar's model.
        rows: node of the file -> row in Res1.
        options: whether all of them are deleted, where none is left in the file.
        controller: what names them by row.
    """
    before = about.companions.get(POINTS_ENDING, b"")
    old = bool(about.points) and not before
    stored = None if old else read_points(before, about.source)
    shown = about.points if stored is None else shown_points(stored, scene)[0]
    names = {node.name for node in scene.nodes}
    plan = compare_points(identified, stored, shown, names, options, controller)
    report, changed = out.differences, bool(plan.report.changes)
    if stored is None:
        report.not_applied += plan.report.not_applied
        for change in plan.report.changes:
            why = "version 0.1, which made the sidecar, did not keep the .cpt"
            report.skipped(change.where, change.what, why, "convert the model again and repeat the edit")
        return
    row_of_stored = rows_now(identified, rows, scene)
    points = edited_points(plan, stored, rows, row_of_stored)
    report.add(plan.report)
    if write_points(points) == before or not (before or plan.points):
        if before:
            out.kept_companions.append(_companion(points, before))
        return
    if not changed:
        report.changed("control points", "follow the rows of their nodes")
    out.companions.append(_companion(points, before))


def import_new_points(out: ImportResult, identified: Identified, rows: Mapping[int, int]) -> None:
    """Add the control points of a file without a sidecar; arguments as of ``import_points``."""
    plan = new_points(identified)
    out.differences.add(plan.report)
    if plan.points:
        points = edited_points(plan, _NONE, rows, {})
        out.companions.append(replace(_companion(points, b""), nodes=len(rows)))


def _companion(points: ControlPoints, before: bytes) -> Companion:
    """Return the ``.cpt``; the first attribute of its entry is the number of points."""
    count = len(points.records)
    return Companion(POINTS_ENDING, POINTS_TYPE, write_points(points), before, count)
