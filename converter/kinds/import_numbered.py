"""Import the files that name parts of a model by number: ``.ctl``, ``.ndp``, ``.bas``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..edits.controller import NamedController, above, carried_nodes, clip_warnings, count_warning, numbered
from ..edits.nodes import Identified
from ..errors import ConversionError, printable
from ..files import read_file
from ..formats.controller import CONTROLLER_ENDING, CONTROLLER_TYPE, write_controller
from ..formats.model import MshModel
from ..formats.model_parts import (
    FOOTING_ENDING,
    FOOTING_TYPE,
    NODE_PROPERTIES_DTYPE,
    NODE_PROPERTIES_ENDING,
    NODE_PROPERTIES_TYPE,
    read_footing,
    read_node_properties,
    write_footing,
    write_node_properties,
)
from ..formats.names import stem
from ..formats.sidecar import Description
from ..queries.model import owner_slot
from ..scene.scene import Scene
from .controllers import controller_in
from .import_result import NUMBERED, Companion, ImportResult
from .open_files import file_beside

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NumberedFiles:
    """The files that name parts of a model by number.

    Attributes:
        stem: of the model's file.
        files: bytes by ending; a controller of another name by ``archive::entry``.
    """

    stem: str
    files: Mapping[str, bytes]

    def get(self, ending: str) -> tuple[str, bytes | None]:
        """Return what messages call a file, and its bytes; ``None``: it is not known."""
        return f"{self.stem}{ending}", self.files.get(ending)

    def controller(self) -> NamedController | None:
        """Return the controller, if there is one that can be read."""
        for name in self.files:
            controller = controller_in({name: self.files[name]})[0]
            if controller is not None:
                own = name == CONTROLLER_ENDING
                return NamedController(f"{self.stem}{name}" if own else name, controller, own)
        return None


def numbered_files(about: Description, gltf: Path) -> NumberedFiles:
    """Return the files that a sidecar keeps, else those beside the edited file.

    Args:
        about: the sidecar's description.
        gltf: the edited file.
    """
    own = stem(about.source)
    files = {name: data for name, data in about.companions.items() if name.lower().endswith(NUMBERED)}
    for ending in NUMBERED:
        if not any(name.lower().endswith(ending) for name in files):
            found = file_beside(gltf, f"{own}{ending}") or file_beside(gltf, f"{gltf.stem}{ending}")
            if found is not None:
                files[ending] = bytes(read_file(found))
    return NumberedFiles(own, files)


def import_clip(
    out: ImportResult, named: NamedController | None, stored: Scene, edited: Scene, frames: set[float]
) -> None:
    """Say what an edit of the clip changes of what the controller plays.

    Args:
        out: the result; its warnings grow.
        named: the controller.
        stored, edited: the sidecar's scene and the file's.
        frames: at which a node stands otherwise.
    """
    shorter = edited.tracks and edited.frame_count < stored.frame_count
    if named is not None and (frames or shorter):
        changed = np.array(sorted(frames), np.float64)
        out.warnings.extend(clip_warnings(named, stored, edited, changed))


def import_nodes(
    out: ImportResult,
    named: NamedController | None,
    identified: Identified,
    files: NumberedFiles,
    stored: Scene,
    rows: Mapping[int, int],
) -> None:
    """Carry the numbers of nodes along in ``.ctl`` and ``.ndp``.

    Args:
        out: the result; its warnings, changes and companions grow.
        named: the controller.
        identified: the file.
        files: where the numbers are.
        stored: the sidecar's scene.
        rows: node of the file -> row in Res1.
    """
    row_of = {k: rows[i] for i, k in identified.stored_of.items()}
    names, parents = [node.name for node in stored.nodes], [node.parent for node in stored.nodes]
    if named is not None:
        controller, warnings = carried_nodes(named, names, parents, row_of)
        out.warnings.extend(warnings)
        if named.own:
            was = write_controller(named.controller)
            _take(out, CONTROLLER_ENDING, CONTROLLER_TYPE, write_controller(controller), was, "nodes")
    what, before = files.get(NODE_PROPERTIES_ENDING)
    if before is None:
        return
    try:
        records = read_node_properties(before, what)
    except ConversionError as error:
        out.warnings.append(str(error))
        return
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
            whose = f"its parent {printable(nodes[parent].name)!r}" if parent >= 0 else "the first node"
            out.differences.changed(f"{what}: node {printable(nodes[i].name)!r}", f"has the hit points of {whose}")
    _take(out, NODE_PROPERTIES_ENDING, NODE_PROPERTIES_TYPE, write_node_properties(made), before, "nodes")


def import_triangles(
    out: ImportResult, files: NumberedFiles, before: MshModel, after: MshModel, row_of: Mapping[int, int]
) -> None:
    """Carry the triangles that a ``.bas`` names along to where they are now, and name those that are gone.

    Args:
        out: the result; its warnings, changes and companions grow.
        files: where the numbers are.
        before, after: the model.
        row_of: stored node -> row now.
    """
    what, data = files.get(FOOTING_ENDING)
    if data is None:
        return
    try:
        footing = read_footing(data, what)
    except ConversionError as error:
        out.warnings.append(str(error))
        return
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


def _corners(model: MshModel) -> NDArray[np.float32]:
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
    corners: NDArray[np.float32],
    new: NDArray[np.float32],
    model: MshModel,
    cells: Mapping[int, tuple[int, int, int]],
    cell: tuple[int, int, int] | None,
    number: int,
) -> tuple[int, int] | None:
    """The row of a triangle with these corners and how far they are turned; its own cell and number first."""
    best: tuple[tuple[bool, int], int, int] | None = None
    for turn in range(3):
        rows = np.flatnonzero((new == np.roll(corners, turn, axis=0)).all(axis=(1, 2)))
        owners = owner_slot(model, rows)
        for row, slot in zip(rows.tolist(), owners.tolist(), strict=True):
            rank = (cells.get(slot) != cell, abs(row - number))
            if best is None or rank < best[0]:
                best = rank, row, turn
    return None if best is None or best[0][0] else (best[1], best[2])


def _take(out: ImportResult, ending: str, kind: int, data: bytes, before: bytes, what: str) -> None:
    """Add a file to a result, as it is now."""
    if data == before:
        out.kept_companions.append(Companion(ending, kind, before, before))
    else:
        out.differences.changed(f"{stem(out.name)}{ending}", f"follows the numbers of its model's {what}")
        out.companions.append(Companion(ending, kind, data, before))


def rows_now(identified: Identified, rows: Mapping[int, int], stored: Scene) -> dict[int, int]:
    """Return the row of every stored node now; of a deleted one that of the nearest above it that is left."""
    row_of = {k: rows[i] for i, k in identified.stored_of.items()}
    parents: Sequence[int] = [node.parent for node in stored.nodes]
    return {node: above(node, parents, row_of) for node in range(len(parents))}
