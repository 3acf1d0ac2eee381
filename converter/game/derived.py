"""Bytes of models and terrains that follow from others: what they follow from, and how.

Bounds of slots, normals of triangles and faces, the header. Two differences that change such a
place, or what it follows from, do not conflict: it is computed again from what came of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from ..checks.model import check_model
from ..checks.model_bounds import vertices_by_slot
from ..checks.terrain import check_terrain
from ..errors import ConversionError
from ..formats.model import MshModel, StreamType, drawn_triangles, read_model
from ..formats.nres import read_nres
from ..formats.terrain import COARSE, FINE, Terrain, TerrainStream, read_terrain
from ..numeric.arrays import F32, I64, U32, Records, ranges
from ..numeric.surfaces import hull, slot_bounds
from ..rebuild.geometry import posed_header, triangle_normals
from ..rebuild.terrain_tables import Layout, boxes
from ..scene.dialect import Dialect, decide, header_vertices
from .rows import row_checks, row_hashes
from .split import header_key, table_key

#: Table key -> what the derived bytes of each row, and what they follow from, were.
States = dict[str, U32]
_SLOTS, _HEADER = table_key(StreamType.SLOTS), header_key(StreamType.SLOTS)
_TRIANGLES, _FACES = table_key(StreamType.TRIANGLES), table_key(TerrainStream.FACES)
_BOUNDS = ("aabb_min", "aabb_max", "sphere_center", "sphere_radius")
_NONE = np.zeros(0, np.int64)


class NotComputed(ConversionError):
    """Something cannot be computed; ``key``: the table."""

    def __init__(self, key: str, row: int) -> None:
        super().__init__("cannot be computed again", row=row)
        self.key = key


def states(content: str, data: bytes) -> States:
    """Return what the derived rows of an entry are and follow from.

    Two versions have the same number for a row where both are the same. Without derived rows, or where the entry has
    errors: nothing. ``content``: of the entry (``converter.game.split``).
    """
    file = _read(content, data)
    if file is None:
        return {}
    return _model_states(file) if isinstance(file, MshModel) else _terrain_states(file)


def dialect_of(content: str, data: bytes) -> str:
    """Return how a model's keys are read, for its header; empty where nothing tells."""
    file = _read(content, data)
    if not isinstance(file, MshModel):
        return ""
    with np.errstate(all="ignore"):
        decision = decide(file)
        if decision.step in ("a", "bc"):
            return decision.dialect.value
        # its header may have been computed under one of them
        fits = [d.value for d in Dialect if posed_header(file, d).tobytes() == file.header.tobytes()]
    return fits[0] if len(fits) == 1 else ""


def compute_again(content: str, data: bytes, dialect: str, rows: Mapping[str, I64]) -> dict[str, bytes]:
    """Return tables with derived bytes of some rows computed from the others.

    Args:
        content: of the entry.
        dialect: of the original (:func:`dialect_of`).
        rows: ascending, by table key; of each at least one.

    Raises:
        NotComputed: one of them cannot be.
    """
    file = _read(content, data)
    first = next((key, int(some[0])) for key, some in rows.items())
    with np.errstate(all="ignore"):
        if isinstance(file, MshModel):
            return _model_tables(file, [Dialect(dialect)] if dialect else [*Dialect], rows)
        if isinstance(file, Terrain):
            return _terrain_tables(file, rows)
    raise NotComputed(*first)


def _read(content: str, data: bytes) -> MshModel | Terrain | None:
    """A model or terrain without errors."""
    if content not in ("model", "terrain"):
        return None
    file: MshModel | Terrain
    try:
        archive = read_nres(data, "")
        if content == "model":
            file = read_model(archive, "")
            findings = check_model(file)
        else:
            file = read_terrain(archive, "")
            findings = check_terrain(file)
    except ConversionError:
        return None
    return None if any(finding.severity == "error" for finding in findings) else file


def _combined(corners: F32, starts: I64, counts: I64) -> NDArray[np.uint64]:
    """A number for each run of points. (n, 3), (k,), (k,) -> (k,)."""
    order = np.arange(len(corners)) - np.repeat(starts, counts)
    hashes = row_hashes(np.ascontiguousarray(corners).view(np.uint8).reshape(len(corners), 12))
    hashes = hashes * (2 * order.astype(np.uint64) + np.uint64(1))
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    return np.asarray(total[starts + counts] - total[starts])


def _checks(*columns: NDArray[np.generic]) -> U32:
    """A number for every row of some columns."""
    count = len(columns[0])
    return row_checks(
        np.concatenate([np.ascontiguousarray(c).view(np.uint8).reshape(count, -1) for c in columns], axis=1)
    )


def _model_states(model: MshModel) -> States:
    vertex, count = vertices_by_slot(model)
    starts = np.cumsum(count) - count
    slots, reached = model.slots, _combined(model.positions[vertex], starts, count)
    keys = np.zeros(0, "u1") if model.keys is None else model.keys
    shown, nodes, counts = header_vertices(model)
    posed = (model.positions[shown], nodes, counts, model.nodes, keys, model.frame_map)
    digest = sha256(b"".join([*(a.tobytes() for a in posed), model.header.tobytes()])).digest()
    out = {
        _SLOTS: _checks(reached, *(slots[name] for name in (*_BOUNDS, "area", "volume"))),
        _HEADER: np.frombuffer(digest[:4], "<u4"),
    }
    if model.triangles is not None:
        corners, rows = _described_triangles(model)
        columns = np.zeros((len(model.triangles), 9), np.float32)
        columns[rows] = model.positions[corners].reshape(-1, 9)
        out[_TRIANGLES] = _checks(columns, model.triangles["normal"])
    return out


def _described_triangles(model: MshModel) -> tuple[I64, I64]:
    """Those of ``drawn_triangles`` that have a descriptor."""
    corners, rows = drawn_triangles(model)
    known = rows < (0 if model.triangles is None else len(model.triangles))
    return corners[known], rows[known]


def _model_tables(model: MshModel, readings: list[Dialect], rows: Mapping[str, I64]) -> dict[str, bytes]:
    out: dict[str, bytes] = {}
    if len(slot_rows := rows.get(_SLOTS, _NONE)):
        slots = model.slots.copy()
        vertex, count = vertices_by_slot(model)
        ends = np.cumsum(count)
        for row in slot_rows.tolist():
            if not count[row] or count[row] % 3:
                raise NotComputed(_SLOTS, row)
            points = model.positions[vertex[ends[row] - count[row] : ends[row]]]
            for name, value in slot_bounds(points.reshape(-1, 3, 3)).items():
                slots[name][row] = value
        out[_SLOTS] = slots.tobytes()
    if len(triangle_rows := rows.get(_TRIANGLES, _NONE)):
        assert model.triangles is not None
        corners, named = _described_triangles(model)
        where = np.full(len(model.triangles), -1, np.int64)
        where[named] = np.arange(len(named))
        at = where[triangle_rows]
        if (at < 0).any():
            raise NotComputed(_TRIANGLES, int(triangle_rows[np.argmax(at < 0)]))
        out[_TRIANGLES] = _with_normals(model.triangles, triangle_rows, model.positions, model.normals, corners[at])
    if len(rows.get(_HEADER, _NONE)):
        headers = {posed_header(model, dialect).tobytes() for dialect in readings}
        if model.legacy or len(headers) > 1:
            raise NotComputed(_HEADER, 0)
        out[_HEADER] = headers.pop()
    return out


def _with_normals(table: Records, rows: I64, positions: F32, normals: NDArray[np.int8] | None, corners: I64) -> bytes:
    """A table with the normals of some rows computed from their corners, (n, 3) vertices."""
    around = np.zeros((len(corners), 3, 4), np.int8) if normals is None else normals[corners]
    table = table.copy()
    table["normal"][rows] = triangle_normals(positions[corners], around)[0]
    return table.tobytes()


def _terrain_states(terrain: Terrain) -> States:
    corners = np.ascontiguousarray(terrain.positions[terrain.faces["vertex"]])
    slots, fine = terrain.slots, terrain.square_slots(FINE)
    start, count = (slots[k].astype(np.int64) * 3 for k in ("tri_start", "tri_count"))
    shown = corners.reshape(-1, 3)[ranges(start, count)]
    reached = _combined(shown, np.cumsum(count) - count, count)
    of_square = np.zeros(len(slots), np.uint64)
    for level in (COARSE, FINE):
        own = terrain.square_slots(level)
        both = (own >= 0) & (fine >= 0)
        of_square[own[both]] = reached[fine[both]]
    heights = terrain.positions[terrain.faces["vertex"][terrain.faces_of(FINE)], 2]
    digest = sha256(heights.tobytes() + terrain.header["hull"].tobytes()).digest()
    return {
        _SLOTS: _checks(of_square, *(slots[name] for name in _BOUNDS)),
        _FACES: _checks(corners, terrain.faces["normal"]),
        _HEADER: np.frombuffer(digest[:4], "<u4"),
    }


def _terrain_tables(terrain: Terrain, rows: Mapping[str, I64]) -> dict[str, bytes]:
    out: dict[str, bytes] = {}
    named = terrain.faces["vertex"]
    if len(face_rows := rows.get(_FACES, _NONE)):
        corners = named[face_rows].astype(np.int64)
        out[_FACES] = _with_normals(terrain.faces, face_rows, terrain.positions, terrain.normals, corners)
    slot_rows = rows.get(_SLOTS, _NONE)
    level = np.full(len(named), COARSE)
    level[terrain.faces_of(FINE)] = FINE
    layout = Layout(
        np.arange(len(named)),
        level,
        terrain.square_of_face,
        np.zeros(len(named), np.bool_),
        np.ascontiguousarray(terrain.positions[named]),
        True,
    )
    squares, found = [], np.zeros(len(terrain.slots), np.bool_)
    for own in (terrain.square_slots(COARSE), terrain.square_slots(FINE)):
        here = np.flatnonzero(np.isin(own, slot_rows) & (own >= 0))
        here = here[np.isin(here, layout.square[level == FINE])]
        squares.append(here)
        found[own[here]] = True
    if not found[slot_rows].all():
        raise NotComputed(_SLOTS, int(slot_rows[np.argmin(found[slot_rows])]))
    edited = replace(terrain, header=terrain.header.copy()).with_table(TerrainStream.SLOTS, terrain.slots.copy())
    boxes(edited, np.unique(np.concatenate(squares)), layout)
    if len(slot_rows):
        slots = terrain.slots.copy()
        slots[slot_rows] = edited.slots[slot_rows]
        out[_SLOTS] = slots.tobytes()
    if len(rows.get(_HEADER, _NONE)):
        out[_HEADER] = _header_of_terrain(terrain, layout).tobytes()
    return out


def _header_of_terrain(terrain: Terrain, layout: Layout) -> Records:
    """The header with the heights of the fine faces; x and y are the grid's."""
    heights = layout.corners[layout.level == FINE][..., 2]
    if not heights.size:
        raise NotComputed(_HEADER, 0)
    header = terrain.header.copy()
    low, high = (np.full(3, z, np.float32) for z in (heights.min(), heights.max()))
    header["hull"][0][:, 2] = hull(low, high)[:, 2]
    return header
