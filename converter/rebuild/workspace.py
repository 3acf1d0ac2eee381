"""The geometry tables of a model while they are edited: one slot changes, all else only moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats.model import MshModel
from ..formats.tables import BATCH_DTYPE, SLOT_DTYPE, TRIANGLE_DTYPE, StreamType
from ..numeric.arrays import NONE16, concatenate_records, covered
from .geometry import VERTEX_DTYPE, SlotGeometry

Rows = NDArray[np.void]

#: Per-vertex tables and their fields in ``VERTEX_DTYPE``.
_STREAMS = (
    (StreamType.POSITIONS, "position"),
    (StreamType.NORMALS, "normal"),
    (StreamType.UV0, "uv0"),
    (StreamType.VERTEX_EXTRA, "extra"),
    (StreamType.STREAM15, "stream15"),
    (StreamType.TANGENTS, "tangents"),
)


@dataclass
class Workspace:
    """Tables of a model, free to change.

    Attributes:
        vertices: (V,) ``VERTEX_DTYPE``.
        present: the per-vertex tables that the model has.
        indices: (I,) uint16.
        batches: (B,) ``BATCH_DTYPE``.
        triangles: (T,) ``TRIANGLE_DTYPE``; unused where ``has_triangles`` is false.
        slots: (S,) ``SLOT_DTYPE``.
        has_triangles: whether the model has Res7.
        tails: rows of per-vertex tables behind the last vertex; none in sound files.
    """

    vertices: Rows
    present: list[StreamType]
    indices: NDArray[np.uint16]
    batches: Rows
    triangles: Rows
    slots: Rows
    has_triangles: bool = True
    tails: dict[StreamType, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: MshModel) -> Workspace:
        """A copy of a model's geometry tables."""
        vertices = np.zeros(len(model.positions), VERTEX_DTYPE)
        present = [stream for stream, _ in _STREAMS if stream in model.streams]
        for stream, name in _STREAMS:
            if stream in model.streams:
                table = model.streams[stream][: len(vertices)]
                vertices[name] = table.view("u1").reshape(-1, 8) if name == "tangents" else table
        triangles = model.triangles
        return cls(
            vertices,
            present,
            model.indices.copy(),
            model.batches.copy(),
            np.zeros(0, TRIANGLE_DTYPE) if triangles is None else triangles.copy(),
            model.slots.copy(),
            triangles is not None,
            {
                stream: model.streams[stream][len(vertices) :]
                for stream in present
                if len(model.streams[stream]) > len(vertices)
            },
        )

    @classmethod
    def empty(cls, *, extra: bool) -> Workspace:
        """No geometry yet; with Res18 or without."""
        present = [s for s, _ in _STREAMS[:3]] + ([StreamType.VERTEX_EXTRA] if extra else [])
        return cls(
            np.zeros(0, VERTEX_DTYPE),
            [*present, StreamType.STREAM15],
            np.zeros(0, np.uint16),
            np.zeros(0, BATCH_DTYPE),
            np.zeros(0, TRIANGLE_DTYPE),
            np.zeros(0, SLOT_DTYPE),
        )

    def into(self, model: MshModel) -> None:
        """Put the tables that differ into a model."""
        for stream, name in _STREAMS:
            if stream not in self.present:
                continue
            new: NDArray[Any] = np.ascontiguousarray(self.vertices[name])
            old = model.streams.get(stream)
            if stream is StreamType.TANGENTS and old is not None:
                new = new.view(old.dtype).reshape(-1)
            if stream in self.tails:
                new = np.concatenate([new, self.tails[stream]])
            model.streams[stream] = new
        model.streams[StreamType.INDICES] = self.indices
        model.streams[StreamType.BATCHES] = self.batches
        if self.has_triangles:
            model.streams[StreamType.TRIANGLES] = self.triangles
        model.slots = self.slots

    def slot_batches(self, slot: int) -> range:
        """Rows of Res13 that a slot draws."""
        first = int(self.slots["batch_start"][slot])
        return range(first, first + int(self.slots["batch_count"][slot]))

    # -------------------------------------------------------------- slots

    def append(self, geometries: list[SlotGeometry]) -> list[int]:
        """Add slots behind all others; returns their rows."""
        first = len(self.slots)
        vertices, indices, batches, triangles, slots = [], [], [], [], []
        at_v, at_i, at_b, at_t = (
            len(self.vertices), len(self.indices), len(self.batches), len(self.triangles),
        )  # fmt: skip
        for g in geometries:
            batch, slot, triangle = g.batches.copy(), g.slot.copy(), g.triangles.copy()
            batch["index_start"] += at_i
            batch["base_vertex"] += at_v
            _shift_links(triangle, at_t)
            slot["batch_start"], slot["tri_start"] = at_b & 0xFFFF, at_t & 0xFFFF
            vertices.append(g.vertices)
            indices.append(g.indices)
            batches.append(batch)
            triangles.append(triangle)
            slots.append(slot)
            at_v, at_i = at_v + len(g.vertices), at_i + len(g.indices)
            at_b, at_t = at_b + len(batch), at_t + len(triangle)
        self.vertices = concatenate_records([self.vertices, *vertices])
        self.indices = np.concatenate([self.indices, *indices])
        self.batches = concatenate_records([self.batches, *batches])
        if self.has_triangles:
            self.triangles = concatenate_records([self.triangles, *triangles])
        self.slots = concatenate_records([self.slots, *slots])
        return list(range(first, len(self.slots)))

    def replace(self, slot: int, geometry: SlotGeometry | None) -> None:
        """Give a slot new geometry, or none; rows of all others move, and nothing else.

        Rows that another slot or batch still uses stay. New rows go where the old ones were, or
        to the end of a table where that would split what another batch uses.
        """
        mine = self.slot_batches(slot)
        others = np.ones(len(self.slots), np.bool_)
        others[slot] = False
        gone_batches = np.zeros(len(self.batches), np.bool_)
        gone_batches[mine.start : mine.stop] = True
        gone_batches &= ~covered(
            self.slots["batch_start"][others], self.slots["batch_count"][others], len(gone_batches)
        )
        starts = self.batches["index_start"].astype(np.int64)
        counts = self.batches["index_count"].astype(np.int64)
        bases = self.batches["base_vertex"].astype(np.int64)
        kept = ~gone_batches
        gone_indices = covered(starts[gone_batches], counts[gone_batches], len(self.indices))
        gone_indices &= ~covered(starts[kept], counts[kept], len(self.indices))
        windows = np.array(
            [self._window(int(s), int(c)) for s, c in zip(starts, counts, strict=True)]
        )
        gone_vertices = np.zeros(len(self.vertices), np.bool_)
        for row in np.flatnonzero(gone_batches):
            used = self.indices[starts[row] : starts[row] + counts[row]].astype(np.int64)
            gone_vertices[used + bases[row]] = True
        gone_vertices &= ~covered(bases[kept], windows[kept], len(self.vertices))
        t_start, t_count = self.slots["tri_start"], self.slots["tri_count"]
        gone_triangles = covered(t_start[[slot]], t_count[[slot]], len(self.triangles))
        gone_triangles &= ~covered(t_start[others], t_count[others], len(self.triangles))

        new_b = _place(gone_batches, self.slots["batch_start"][others],
                       self.slots["batch_count"][others], mine.start)  # fmt: skip
        new_i = _place(gone_indices, starts[kept], counts[kept])
        new_v = _place(gone_vertices, bases[kept], windows[kept])
        new_t = _place(gone_triangles, t_start[others], t_count[others], int(t_start[slot]))
        if not gone_indices.any() or new_i % 3 or new_t * 3 != new_i:
            new_i, new_t = len(self.indices), len(self.triangles)

        size = [0, 0, 0, 0]
        if geometry is not None:
            size = [len(geometry.batches), len(geometry.indices), len(geometry.vertices),
                    len(geometry.triangles)]  # fmt: skip
        b, i, v, t = (
            _Move(gone, place, count)
            for gone, place, count in zip(
                (gone_batches, gone_indices, gone_vertices, gone_triangles),
                (new_b, new_i, new_v, new_t),
                size,
                strict=True,
            )
        )
        self.batches["index_start"] = i.position(starts)
        self.batches["base_vertex"] = v.position(bases)
        self.slots["batch_start"] = b.position(self.slots["batch_start"])
        self.slots["tri_start"] = t.position(self.slots["tri_start"])
        if self.has_triangles:
            self._move_links(t)
        record = np.zeros(1, SLOT_DTYPE) if geometry is None else geometry.slot.copy()
        for name in ("opaque56", "opaque60", "opaque64"):
            record[name] = self.slots[name][slot]
        record["batch_start"], record["tri_start"] = b.start, t.start
        self.slots[slot] = record[0]
        new_batches = np.zeros(0, BATCH_DTYPE)
        new_vertices, new_indices = np.zeros(0, VERTEX_DTYPE), np.zeros(0, np.uint16)
        new_triangles = np.zeros(0, TRIANGLE_DTYPE)
        if geometry is not None:
            new_batches, new_triangles = geometry.batches.copy(), geometry.triangles.copy()
            new_batches["index_start"] += i.start
            new_batches["base_vertex"] += v.start
            _shift_links(new_triangles, t.start)
            new_vertices, new_indices = geometry.vertices, geometry.indices
        self.batches = b.apply(self.batches, new_batches)
        self.indices = i.apply(self.indices, new_indices)
        self.vertices = v.apply(self.vertices, new_vertices)
        if self.has_triangles:
            self.triangles = t.apply(self.triangles, new_triangles)

    def _window(self, start: int, count: int) -> int:
        return int(self.indices[start : start + count].max(initial=0)) + 1 if count else 0

    def _move_links(self, move: _Move) -> None:
        """Links follow their triangles; a link to a triangle that is gone becomes none."""
        link = self.triangles["link"].astype(np.int64)
        inside = link < len(move.gone)
        lost = inside & move.gone[np.where(inside, link, 0)]
        moved = np.where(inside, move.position(np.where(inside, link, 0)), link)
        self.triangles["link"] = np.where(lost, NONE16, moved)
        for k in range(3):
            clear = (lost[:, k] * (3 << 2 * k)).astype(np.uint16)
            self.triangles["selectors"] |= clear

    def drop_slots(self, rows: list[int]) -> NDArray[np.int64]:
        """Delete slot rows whose geometry is gone; returns old row -> new row, -1 = gone."""
        keep = np.ones(len(self.slots), np.bool_)
        keep[rows] = False
        self.slots = self.slots[keep]
        return np.where(keep, np.cumsum(keep) - 1, -1)


class _Move:
    """Where rows go when some are taken out and others put in at one place."""

    def __init__(self, gone: NDArray[np.bool_], place: int, count: int) -> None:
        self.gone, self.place, self.count = gone, place, count
        self.before = np.concatenate([[0], np.cumsum(~gone)])
        self.start = int(self.before[place])

    def position(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """New position of rows, or of range starts."""
        old = np.minimum(rows.astype(np.int64), len(self.gone))
        moved: NDArray[np.int64] = self.before[old] + np.where(old >= self.place, self.count, 0)
        return moved

    def apply(self, table: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        head, tail = table[: self.place], table[self.place :]
        return np.concatenate([head[~self.gone[: self.place]], new, tail[~self.gone[self.place :]]])


def _place(
    gone: NDArray[np.bool_],
    starts: NDArray[Any],
    counts: NDArray[Any],
    wanted: int | None = None,
) -> int:
    """Where new rows go: at the first row that goes, unless that would split another range."""
    rows = np.flatnonzero(gone)
    if wanted is None:
        wanted = int(rows[0]) if rows.size else len(gone)
    begin = starts.astype(np.int64)
    if ((begin < wanted) & (wanted < begin + counts)).any() or not rows.size:
        return len(gone)
    return wanted


def _shift_links(triangles: Rows, by: int) -> None:
    link = triangles["link"].astype(np.int64)
    triangles["link"] = np.where(link == NONE16, NONE16, (link + by) & 0xFFFF)
