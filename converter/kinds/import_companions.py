"""Import the files beside a model: materials, control points, and those that name its parts by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..edits.controller import (
    NamedController,
    by_row,
    carried_nodes,
    changed_frames,
    clip_warnings,
    count_warning,
    late_states,
    numbered,
    unseen_warnings,
)
from ..edits.nodes import Identified
from ..edits.points import PointEdit, PointPlan, compare_points, new_points
from ..errors import ConversionError, called, plural
from ..files import read_file
from ..findings import Report
from ..formats.controller import CONTROLLER_ENDING, CONTROLLER_TYPE, write_controller
from ..formats.model import MshModel, model_at
from ..formats.model_parts import (
    FOOTING_ENDING,
    FOOTING_TYPE,
    NODE_PROPERTIES_DTYPE,
    NODE_PROPERTIES_ENDING,
    NODE_PROPERTIES_TYPE,
    POINT_DTYPE,
    POINTS_ENDING,
    POINTS_TYPE,
    ControlPoints,
    read_footing,
    read_node_properties,
    read_points,
    write_footing,
    write_node_properties,
    write_points,
)
from ..formats.names import stem
from ..formats.sidecar import Description
from ..formats.tables import NAME_DTYPE
from ..formats.wear import LEVEL_ENDINGS, WEAR_ENDING, WEAR_TYPE, edited_wear, new_wear, read_wear, write_wear
from ..numeric.arrays import F32, Records
from ..options import ImportOptions
from ..queries.model import owner_slot
from ..scene.companions import is_point, points_in, shown_points
from ..scene.decode import decode
from ..scene.dialect import decide
from ..scene.scene import Scene, nodes_above
from .appearance import controller_in
from .import_result import NUMBERED, Companion, ImportResult
from .open_files import file_beside, points_of
from .registry import files_that_name, game_of

T = TypeVar("T")


@dataclass(frozen=True)
class NumberedFiles:
    """The files that name parts of a model by number.

    Attributes:
        stem: of the model's file.
        files: bytes by ending; a controller of another name by ``archive::entry``.
    """

    stem: str
    files: Mapping[str, bytes]

    def read(self, ending: str, reader: Callable[[bytes, str], T], out: ImportResult) -> tuple[str, bytes, T] | None:
        """Return what messages call a file, its bytes and what they hold; ``None``: it is not known, or is broken,
        which becomes a warning.
        """
        name, data = f"{self.stem}{ending}", self.files.get(ending)
        if data is None:
            return None
        try:
            return name, data, reader(data, name)
        except ConversionError as error:
            out.warnings.append(str(error))
            return None

    def controllers(self) -> list[NamedController]:
        """Return the controllers that can be read, its own first."""
        out = []
        for name in self.files:
            controller = controller_in({name: self.files[name]})[0]
            if controller is not None:
                own = name == CONTROLLER_ENDING
                out.append(NamedController(f"{self.stem}{name}" if own else name, controller, own))
        return out


def numbered_files(about: Description, gltf: Path | None = None) -> NumberedFiles:
    """Return the files that a sidecar keeps, else those beside the edited file. ``gltf``: that file; ``None``: the
    model is placed in one, and its sidecar has all.
    """
    own = stem(about.source)
    files = {name: data for name, data in about.companions.items() if name.lower().endswith(NUMBERED)}
    for ending in NUMBERED:
        if gltf is not None and not any(name.lower().endswith(ending) for name in files):
            files |= _beside(gltf, own, ending)
    return NumberedFiles(own, files)


def _beside(gltf: Path, own: str, ending: str) -> dict[str, bytes]:
    """The file that lies beside an edited file, called like the model or like that file; by its ending."""
    found = file_beside(gltf, f"{own}{ending}") or file_beside(gltf, f"{gltf.stem}{ending}")
    return {} if found is None else {ending: bytes(read_file(found))}


def import_unseen(
    out: ImportResult, gltf: Path, identified: Identified, rows: Mapping[int, int], options: ImportOptions
) -> None:
    """Say what a model that was made without its sidecar breaks in its controller, or that nobody could look.

    Args:
        gltf: the file, which a ``.ctl`` may lie beside.
        rows: node of the file -> row in Res1.
    """
    given, scene = identified.imported, identified.scene
    found, before = ([], None) if options.new else _unseen_controllers(stem(out.name), gltf, options)
    extras = {node: given.nodes[i].extras for i, node in identified.node_of.items()}
    stated = {each["node"]: node for node, each in extras.items() if "node" in each}
    if before is not None and not stated:
        named_so = {scene.nodes[node].name: node for node in rows}
        stated = {k: named_so[item.name] for k, item in enumerate(before.nodes) if item.name in named_so}
    nodes = {k: rows[node] for k, node in stated.items()} or {row: row for row in rows.values()}
    known_points = {} if before is None else {point.name: point.row for point in before.points}
    points = [
        item.extras.get("point", item.extras.get("index", known_points.get(item.name, row)))
        for row, item in enumerate(item for item in given.nodes if is_point(item, ()))
    ]
    kinds = {"node": nodes} | ({"control point": {old: now for now, old in enumerate(points)}} if points else {})
    known = None
    if before is not None:
        node_of = {k: node for k, node in stated.items() if k < len(before.nodes)}
        known = before, changed_frames(before, scene, node_of, identified.turn_noise)
    for named in found:
        out.warnings.extend(unseen_warnings(named, given.info, by_row(scene, rows), kinds, known))
    states = given.info.get("states", "")
    if states and not found:
        late = late_states(states, scene.frame_count - 1)
        frozen = (
            f"; frames after the clip's last, {scene.frame_count - 1}, are named by {numbered('state', late)}"
            if late
            else ""
        )
        out.warnings.append(
            f"a controller of {plural(states.count(chr(10)) + 1, 'state')} plays this model, and no "
            f"{stem(out.name)}{CONTROLLER_ENDING} was found: what it names of nodes, control points and frames was not "
            f"compared (put it beside the file, or name the game with --game){frozen}"
        )


def _unseen_controllers(own: str, gltf: Path, options: ImportOptions) -> tuple[list[NamedController], Scene | None]:
    """The controllers of a model of this stem: beside the file, else those of the game, and its model there."""
    files, before = _beside(gltf, own, CONTROLLER_ENDING), None
    game = None if files else game_of(gltf, [] if options.game is None else [Path(options.game)])
    if game is not None:
        for name in sorted({one.archive.lower() for resolved in game.objects for one in resolved.members.values()}):
            path = game.file(name)
            with suppress(ConversionError):  # the registry's own check says what is missing
                archive = None if path is None else game.archive(path)
                index = None if archive is None else archive.find(f"{own}.msh")
                if archive is not None and path is not None and index is not None:
                    files = files_that_name(archive, path, index, game) | files
                    model = model_at(archive, index, own, cut=True)
                    before = decode(model, decide(model).dialect, own)
                    before.points = points_in(before, bytes(points_of(archive, path, index)))[0]
    return NumberedFiles(own, files).controllers(), before


def import_clip(
    out: ImportResult,
    controllers: Sequence[NamedController],
    stored: Scene,
    edited: Scene,
    rows: Mapping[int, int],
    frames: set[float],
) -> None:
    """Say what an edit of the clip changes of what controllers play. ``frames``: at which a node stands otherwise."""
    shorter = edited.tracks and edited.frame_count < stored.frame_count
    for named in controllers if frames or shorter else ():
        changed = np.array(sorted(frames), np.float64)
        out.warnings.extend(clip_warnings(named, stored, by_row(edited, rows), changed))


def import_nodes(
    out: ImportResult,
    controllers: Sequence[NamedController],
    identified: Identified,
    files: NumberedFiles,
    stored: Scene,
    rows: Mapping[int, int],
) -> None:
    """Carry the numbers of nodes along in ``.ctl`` and ``.ndp``. ``rows``: node of the file -> row in Res1."""
    row_of = {k: rows[i] for i, k in identified.stored_of.items()}
    names, parents = [node.name for node in stored.nodes], [node.parent for node in stored.nodes]
    for named in controllers:
        controller, warnings = carried_nodes(named, names, parents, row_of)
        out.warnings.extend(warnings)
        if named.own:
            was = write_controller(named.controller)
            _take(out, CONTROLLER_ENDING, CONTROLLER_TYPE, write_controller(controller), was, "nodes")
    if (found := files.read(NODE_PROPERTIES_ENDING, read_node_properties, out)) is None:
        return
    what, before, records = found
    if len(records) != len(names):
        if row_of != {k: k for k in range(len(names))} or len(rows) != len(names):
            out.warnings.append(count_warning(what, len(records), len(names)))
        return
    made = np.zeros(len(rows), NODE_PROPERTIES_DTYPE)
    nodes = identified.scene.nodes
    for i in sorted(rows, key=rows.__getitem__):  # parents come first
        k, parent = identified.stored_of.get(i), nodes[i].parent
        made[rows[i]] = records[k] if k is not None else made[rows[parent]] if parent >= 0 else records[0]
        if k is None:
            whose = f"its parent {called(nodes[parent].name)}" if parent >= 0 else "the first node"
            out.differences.changed(f"{what}: node {called(nodes[i].name)}", f"has the hit points of {whose}")
    _take(out, NODE_PROPERTIES_ENDING, NODE_PROPERTIES_TYPE, write_node_properties(made), before, "nodes")


def import_triangles(
    out: ImportResult, files: NumberedFiles, before: MshModel, after: MshModel, row_of: Mapping[int, int]
) -> None:
    """Carry the triangles that a ``.bas`` names along to where they are now, and name those that are gone."""
    if (known := files.read(FOOTING_ENDING, read_footing, out)) is None:
        return
    what, data, footing = known
    old, new = _corners(before), _corners(after)
    cells_old, cells_new = _cells(before), _cells(after)
    triangles, corners = footing.triangles.copy(), footing.corners.copy()
    gone: dict[int, list[int]] = {}
    for place, (triangle, corner) in enumerate(zip(triangles.tolist(), corners.tolist(), strict=True)):
        if not (0 <= triangle < len(old) and 0 <= corner < 3):
            continue  # it named none before
        cell = cells_old.get(int(owner_slot(before, [triangle])[0]))
        wanted = None if cell is None else (row_of.get(cell[0], -1), *cell[1:])
        found = _same_triangle(old[triangle], new, after, cells_new, wanted, triangle)
        if found is None:
            gone.setdefault(triangle, []).append(place)
        else:
            triangles[place], corners[place] = found[0], (corner + found[1]) % 3
    if gone:
        text = ", ".join(f"triangle {triangle} ({numbered('place', rows)})" for triangle, rows in gone.items())
        out.warnings.append(f"{what}: triangles that the outline names are gone, and are named as before: {text}")
    made = write_footing(replace(footing, triangles=triangles, corners=corners))
    _take(out, FOOTING_ENDING, FOOTING_TYPE, made, data, "triangles")


def _corners(model: MshModel) -> F32:
    """The corners of every row of Res7. (T, 3, 3)."""
    base = np.zeros(len(model.indices), np.int64)
    for batch in model.batches:
        start = int(batch["index_start"])
        base[start : start + int(batch["index_count"])] = batch["base_vertex"]
    count = len(base) // 3 * 3
    return np.asarray(model.positions[(model.indices[:count] + base[:count]).reshape(-1, 3)], np.float32)


def _cells(model: MshModel) -> dict[int, tuple[int, int, int]]:
    """The first node, row and column that each slot is used by."""
    found: dict[int, tuple[int, int, int]] = {}
    for node, lod, group in np.argwhere(model.nodes["slot_index"] != 0xFFFF).tolist():
        found.setdefault(int(model.nodes["slot_index"][node, lod, group]), (node, lod, group))
    return found


def _same_triangle(
    corners: F32,
    new: F32,
    model: MshModel,
    cells: Mapping[int, tuple[int, int, int]],
    cell: tuple[int, int, int] | None,
    number: int,
) -> tuple[int, int] | None:
    """The row of a triangle with these corners and how far they are turned, in its own cell, the nearest."""
    found: list[tuple[int, int]] = []
    for turn in range(3):
        rows = np.flatnonzero((new == np.roll(corners, turn, axis=0)).all(axis=(1, 2)))
        owners = owner_slot(model, rows).tolist()
        found += [(row, turn) for row, slot in zip(rows.tolist(), owners, strict=True) if cells.get(slot) == cell]
    return min(found, key=lambda one: abs(one[0] - number), default=None)


def _take(out: ImportResult, ending: str, kind: int, data: bytes, before: bytes, what: str) -> None:
    if data != before:
        out.differences.changed(f"{stem(out.name)}{ending}", f"follows the numbers of its model's {what}")
    out.take(Companion(ending, kind, data, before))


def rows_now(identified: Identified, rows: Mapping[int, int], stored: Scene) -> dict[int, int]:
    """Return the row of every stored node now; of a deleted one that of the nearest above it that is left."""
    row_of = {k: rows[i] for i, k in identified.stored_of.items()}
    lines = {node: (node, *nodes_above(stored.nodes, node)) for node in range(len(stored.nodes))}
    return {node: next((row_of[k] for k in line if k in row_of), 0) for node, line in lines.items()}


def why_locked(about: Description, ending: str = WEAR_ENDING) -> str:
    """Return why the ``.wea`` of a sidecar cannot be changed, ``""`` where it can; ``ending``: of the file's name."""
    before = about.companions.get(ending, b"")
    if not before and about.materials:
        return (
            "version 0.1, which made the sidecar, did not keep the .wea (convert the model again, and repeat the edit)"
        )
    if before and any(finding.severity == "error" for finding in read_wear(before, about.source)[1]):
        return "its .wea has errors, which msh-inspect --check names"
    return ""


def why_level_locked(about: Description) -> str:
    """Return why ``Land1.wea`` and ``Land2.wea`` cannot be changed, ``""`` where they can."""
    first, second = LEVEL_ENDINGS
    if first not in about.companions and not about.materials:
        return "no Land1.wea lies beside the terrain, and the file does not name all its rows"
    return why_locked(about, first) or (why_locked(about, second) if second in about.companions else "")


def import_wears(out: ImportResult, about: Description, report: Report, names: Mapping[str, Mapping[int, str]]) -> None:
    """Add to a result what a file changes of lists of materials. ``out``: the result; its changes, companions (or kept
    ones) grow. ``names``: by ending of the list's name, the rows that change.
    """
    out.differences.add(report)
    for ending, rows in names.items():
        before = data = about.companions.get(ending, b"")
        if rows:
            data = write_wear(edited_wear(read_wear(before, about.source)[0] if before else new_wear([]), rows))
        out.take(Companion(ending, WEAR_TYPE, data, before))


def edited_points(
    plan: PointPlan, stored: ControlPoints, row_of: Mapping[int, int], row_of_stored: Mapping[int, int]
) -> ControlPoints:
    """Return the points of a plan; what it does not change keeps its stored bytes."""
    kept: dict[int, PointEdit | None] = dict.fromkeys(plan.hidden)
    kept |= {edit.row: edit for edit in plan.points if edit.row is not None}
    order: list[tuple[int | None, PointEdit | None]] = [(row, kept[row]) for row in sorted(kept)]
    order += [(None, edit) for edit in plan.points if edit.row is None]
    records, names = np.zeros(len(order), POINT_DTYPE), np.zeros(len(order), NAME_DTYPE)
    for i, (own, edit) in enumerate(order):
        row = edit.copy_of if own is None and edit is not None else own
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
    controllers: Sequence[NamedController],
) -> None:
    """Add to a result what a file changes of the control points. ``out``: the result; its differences and companions
    grow.
    """
    before = about.companions.get(POINTS_ENDING, b"")
    old = bool(about.points) and not before
    stored = None if old else read_points(before, about.source)
    shown = about.points if stored is None else shown_points(stored, scene)[0]
    names = {node.name for node in scene.nodes}
    plan = compare_points(identified, stored, shown, names, options, controllers)
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
    if not (before or plan.points):
        return
    if write_points(points) != before and not changed:
        report.changed("control points", "follow the rows of their nodes")
    out.take(_companion(points, before))


def import_new_points(out: ImportResult, identified: Identified, rows: Mapping[int, int]) -> None:
    """Add the control points of a file without a sidecar; arguments as of ``import_points``."""
    plan = new_points(identified)
    out.differences.add(plan.report)
    if plan.points:
        # they name their second nodes by the rows that the file states
        row_of = {node.index: rows[i] for i, node in reversed([*enumerate(identified.scene.nodes)])}
        named = ((edit, edit.node2) for edit in plan.points)
        plan.points = [edit if k is None else edit._replace(node2=row_of.get(k, k)) for edit, k in named]
        points = edited_points(plan, _NONE, rows, {})
        out.companions.append(replace(_companion(points, b""), nodes=len(rows)))


def _companion(points: ControlPoints, before: bytes) -> Companion:
    """Return the ``.cpt``; the first attribute of its entry is the number of points."""
    count = len(points.records)
    return Companion(POINTS_ENDING, POINTS_TYPE, write_points(points), before, count)
