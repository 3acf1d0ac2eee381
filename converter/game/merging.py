"""Merge a difference into another version of its base: row by row, then what follows from rows is computed.

Bounds of slots, normals of triangles and faces, the header of models and terrains follow from other bytes. Two
differences that change such a place, or what it follows from, do not conflict: it is computed again from what came
of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from ..checks.model import check_model
from ..checks.model_bounds import vertices_by_slot
from ..checks.terrain import check_terrain
from ..errors import Conflict, ConversionError
from ..formats.model import MshModel, StreamType, drawn_triangles, read_model
from ..formats.nres import read_nres
from ..formats.terrain import COARSE, FINE, Terrain, TerrainStream, read_terrain
from ..numeric.arrays import F32, I64, U32, Records, ranges
from ..numeric.quantize import triangle_normals
from ..numeric.surfaces import hull, slot_bounds
from ..rebuild.terrain_tables import Layout, boxes
from ..scene.dialect import Dialect, decide, header_vertices, posed_header
from .changes import BytesChange, LineChange, RowChange, TableChanges, line_check, row_checks, row_hashes
from .packing import decode_delta
from .split import Split, Table, header_key, label_of, own_digest, short_digest, split, table_key

NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Touched:
    """What a difference changes of one table.

    Attributes:
        table: what messages call it: ``Res3 (positions)``.
        rows: (n,) ascending; empty where ``kind`` is not ``rows``.
        kind: ``rows``; ``bytes``: the table by a binary difference; ``whole``: all by one, without
            tables; ``new``: there was nothing.
    """

    table: str
    rows: I64
    kind: str


def state_digest(state: States, key: str) -> str:
    """Return a short digest of the states of a table's derived rows; empty where it has none."""
    return short_digest(state[key].tobytes()) if key in state else ""


WHOLE, DIRECTORY, LAYOUT = "the whole entry", "the directory", "the layout"


def conflict(places: list[Touched]) -> Conflict:
    """Return the error about some places, at least one."""
    first = places[0]
    row = int(first.rows[0]) if len(first.rows) else None
    error = Conflict(
        "what the difference changes was changed by something else",
        table=first.table,
        row=row,
        hint="undo the other change first",
    )
    error.places = tuple(places)
    return error


def merge(changes: TableChanges, before: bytes) -> bytes:
    """Return another version of the base with the changes.

    Raises:
        Conflict: something is neither as it was nor as it is to be, or cannot be computed.
        ConversionError: the changes cannot be true.
    """
    current = split(changes.content, before)
    if current is None:
        raise conflict([Touched(WHOLE, NO_ROWS, "whole")])
    state = states(changes.content, before)
    if changes.computed and not state:  # it has errors
        raise conflict([Touched(WHOLE, NO_ROWS, "whole")])
    job = _Merge(changes, current, state)
    made = job.result()
    again = {key: rows for key, rows in job.again.items() if len(rows)}
    if not again:
        return made
    dialect = changes.dialect or dialect_of(changes.content, before)
    try:
        tables = compute_again(changes.content, made, dialect, again)
    except NotComputed as error:
        label = label_of(changes.content, error.key)
        raise conflict([Touched(label, np.array([error.row]), "rows")]) from None
    found = split(changes.content, made)
    assert found is not None
    return found.join(tables, {})


class _Merge:
    """One merge; ``again``: derived rows that both changed, by table."""

    def __init__(self, changes: TableChanges, current: Split, state: States) -> None:
        self.changes, self.current = changes, current
        self.places: list[Touched] = []
        self.again: dict[str, I64] = {}
        self._kept: dict[str, I64] = {}  # derived rows that only we changed
        self._states = state
        self._find_units()

    def result(self) -> bytes:
        """Return what comes out, before derived rows are computed."""
        changes, data = self.changes, {}
        for key, change in changes.rows.items():
            table = self._table(key)
            if table is not None and (new := self._rows(change, table)) is not None:
                data[key] = new
        for key, blob in changes.blobs.items():
            table = self._table(key)
            if table is None:
                continue
            digest = short_digest(table.data)
            if digest == blob.was and self._as_they_were(blob):
                data[key] = decode_delta(blob.delta, bytes(table.data), blob.size)
            elif digest != blob.becomes:
                self._refuse(key)
        for key, size in changes.sizes.items():
            table = self._table(key)
            if table is not None and len(table.data) != size:
                self._refuse(key)
        if changes.layout or self.current.frame != changes.frame:
            self.places.append(Touched(LAYOUT, NO_ROWS, "bytes"))
        attributes = self._attributes()
        if self.places:
            raise conflict(self.places)
        return self.current.join(data, attributes)

    def _table(self, key: str) -> Table | None:
        if key not in self.current.tables:
            self._refuse(key)
            return None
        return self.current.tables[key]

    def _refuse(self, key: str, rows: I64 = NO_ROWS) -> None:
        kind = "rows" if len(rows) else "bytes"
        self.places.append(Touched(label_of(self.changes.content, key), rows, kind))

    def _as_they_were(self, blob: BytesChange) -> bool:
        """Whether what names the rows of a table, and what its rows follow from, is unchanged."""
        if state_digest(self._states, blob.key) != blob.state:
            return False
        return all(
            key in self.current.tables and own_digest(self.current.tables[key], self.changes.derived.get(key)) == digest
            for key, digest in blob.near.items()
        )

    def _attributes(self) -> dict[int, tuple[int, int, int]]:
        out, now = {}, self.current.attributes
        wrong = []
        for index, (was, becomes) in self.changes.attributes.items():
            if index >= len(now) or now[index] not in (was, becomes):
                wrong.append(index)
            else:
                out[index] = becomes
        if wrong:
            self.places.append(Touched(DIRECTORY, np.array(sorted(wrong)), "rows"))
        return out

    def _rows(self, change: RowChange | LineChange, table: Table) -> bytes | None:
        derived = self.changes.derived.get(change.key)
        if isinstance(change, LineChange):
            return self._lines(change, table)
        if table.stride != change.stride or table.count != change.count:
            self._refuse(change.key)
            return None
        own = change.own(derived)
        bits = np.ones(change.stride, np.bool_) if derived is None else ~derived
        rows = table.matrix[change.rows]
        was = row_checks(rows * bits) == change.was
        rest = row_checks(rows * (bits & ~change.mask)).astype(np.uint16) == change.rest
        becomes = np.zeros_like(change.mask)
        becomes[change.mask] = change.values != rows[change.mask]
        there = rest & ~(becomes & bits).any(axis=1)
        bad = own & ~was & ~there
        if bad.any():
            self._refuse(change.key, change.rows[bad])
            return None
        new = change.written(table, own & ~there, bits)
        if derived is None:
            return new
        ours = np.isin(change.rows, self._kept.get(change.key, NO_ROWS))
        return change.written(Table(new, table.stride), ours, derived)

    def _lines(self, change: LineChange, table: Table) -> bytes | None:
        if table.stride != 0:
            self._refuse(change.key)
            return None
        lines = table.lines
        checks = [line_check(line) for line in lines]
        becomes = [(int(c), int(size)) for c, size in zip(change.becomes, change.sizes, strict=True)]
        new = np.ones(len(change.rows), np.bool_)
        bad = []
        for at, (row, like) in enumerate(zip(change.rows.tolist(), change.like.tolist(), strict=True)):
            if row < len(lines) and (checks[row], len(lines[row])) == becomes[at]:
                new[at] = False  # it is there
            elif (
                (row >= change.count and len(lines) != change.count)
                or like >= len(lines)
                or (like >= 0 and checks[like] != int(change.was[at]))
            ):
                bad.append(row)
        if bad:
            self._refuse(change.key, np.array(bad))
            return None
        return change.written(table, new)

    # -------------------------------------------------------------- derived rows

    def _find_units(self) -> None:
        """Tell derived rows that only we changed from those that something else changed too."""
        now = self._states
        for key, unit in self.changes.units.items():
            table = self._table(key)
            if table is None:
                continue
            if len(table.data) != unit.size or key not in now or unit.rows[-1] >= len(now[key]):
                self._refuse(key)
                continue
            untouched = now[key][unit.rows] == unit.was
            self._kept[key] = unit.rows[untouched]
            self.again[key] = unit.rows[~untouched]


#: Table key -> what the derived bytes of each row, and what they follow from, were.
States = dict[str, U32]
_SLOTS, _HEADER = table_key(StreamType.SLOTS), header_key(StreamType.SLOTS)
_TRIANGLES, _FACES = table_key(StreamType.TRIANGLES), table_key(TerrainStream.FACES)
_BOUNDS = ("aabb_min", "aabb_max", "sphere_center", "sphere_radius")


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
    if len(slot_rows := rows.get(_SLOTS, NO_ROWS)):
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
    if len(triangle_rows := rows.get(_TRIANGLES, NO_ROWS)):
        assert model.triangles is not None
        corners, named = _described_triangles(model)
        where = np.full(len(model.triangles), -1, np.int64)
        where[named] = np.arange(len(named))
        at = where[triangle_rows]
        if (at < 0).any():
            raise NotComputed(_TRIANGLES, int(triangle_rows[np.argmax(at < 0)]))
        out[_TRIANGLES] = _with_normals(model.triangles, triangle_rows, model.positions, model.normals, corners[at])
    if len(rows.get(_HEADER, NO_ROWS)):
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
    if len(face_rows := rows.get(_FACES, NO_ROWS)):
        corners = named[face_rows].astype(np.int64)
        out[_FACES] = _with_normals(terrain.faces, face_rows, terrain.positions, terrain.normals, corners)
    slot_rows = rows.get(_SLOTS, NO_ROWS)
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
        here = np.flatnonzero(np.isin(own, slot_rows))
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
    if len(rows.get(_HEADER, NO_ROWS)):
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
