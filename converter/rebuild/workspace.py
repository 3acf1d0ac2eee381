"""What one rebuild of a model needs: its plan, its tables in the making, the words of its materials; what comes of it.

One slot of the geometry tables changes; rows of all others only move. Materials of a glTF become batch words and WEAR
rows (docs/reference/model.md, Res13).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..edits.material_rows import NO_NAME
from ..edits.materials import materials_in_use, stated_row
from ..edits.model import Plan
from ..errors import ConversionError
from ..findings import Report, Subject
from ..formats.material import DEFAULT_MATERIAL
from ..formats.model import BATCH_DTYPE, BATCH_LIGHTMAP, NO_LIGHTMAP, TRIANGLE_DTYPE, MshModel, StreamType
from ..formats.names import without_number
from ..formats.tables import SLOT_DTYPE
from ..formats.wear import is_material_name
from ..numeric.arrays import I64, NONE16, U16, Bools, Records, concatenate_records, covered
from ..scene.dialect import Dialect, last_row
from ..scene.scene import Material, Scene

#: One vertex as stored, all streams side by side; streams that the model lacks stay zero.
VERTEX_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),
        ("normal", "i1", (4,)),
        ("uv0", "<i2", (2,)),
        ("extra", "u1", (4,)),
        ("stream15", "u1", (8,)),
        ("tangents", "u1", (8,)),
    ]
)
assert VERTEX_DTYPE.itemsize == 40


@dataclass
class SlotGeometry:
    """The tables of one or more slots, all ranges counted from their own first row.

    Attributes:
        vertices: (V,) ``VERTEX_DTYPE``.
        indices: (3T,) uint16, relative to each batch's ``base_vertex``.
        batches: (B,) ``BATCH_DTYPE``.
        triangles: (T,) ``TRIANGLE_DTYPE``, links inside each slot.
        zero_area: triangles whose normal had to be made up.
    """

    vertices: Records
    indices: U16
    batches: Records
    triangles: Records
    slots: Records
    zero_area: int = 0

    @classmethod
    def empty(cls) -> SlotGeometry:
        """Return the geometry of a slot that draws nothing."""
        return cls(
            np.zeros(0, VERTEX_DTYPE),
            np.zeros(0, np.uint16),
            np.zeros(0, BATCH_DTYPE),
            np.zeros(0, TRIANGLE_DTYPE),
            np.zeros(1, SLOT_DTYPE),
        )


@dataclass
class Corners:
    """T triangles with stored words per corner.

    Attributes:
        vertices: (T, 3) ``VERTEX_DTYPE``.
        material: (T,) row of ``words``.
        words: (M, 4) uint16, batch words +0, +2, +4, +6 per material.
        flags: (T,) uint16 triFlags.
    """

    vertices: Records
    material: I64
    words: U16
    flags: U16


def too_many(title: str, value: int) -> ConversionError:
    """Return the error for a table that outgrows its 16-bit row numbers."""
    hints = {"triangles": "remove detail, or split the model in two", "batches": "use fewer materials"}
    return ConversionError(
        f"too many {title} for a model",
        value=f"{value:,}",
        expected=f"at most {NONE16:,}",
        hint=hints.get(title, "split the model in two"),
    )


@dataclass
class Rebuilt:
    """A rebuilt model, and how it came about.

    Attributes:
        statuses: rows of (what, name, status, reason) for people and programs.
        rows: node of the file -> row in Res1.
    """

    model: MshModel
    statuses: list[dict[str, str]]
    rows: dict[int, int]


@dataclass(frozen=True)
class Rebuild:
    """One rebuild.

    Attributes:
        plan: what changed.
        dialect: of the model that is made.
        reduce: whether keys are left out that the runtime interpolates anyway.
        model: what is made.
    """

    plan: Plan
    stored: Scene | None
    dialect: Dialect
    reduce: bool
    model: MshModel

    @property
    def scene(self) -> Scene:
        """The scene of the file."""
        return self.plan.identified.scene


_Scalar = TypeVar("_Scalar", bound=np.generic)

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
        indices: (I,) uint16.
        batches: (B,) ``BATCH_DTYPE``.
        triangles: (T,) ``TRIANGLE_DTYPE``; where ``has_triangles`` is false only their number counts.
        has_triangles: whether the model has Res7.
        tails: rows of per-vertex tables after the last vertex; none in valid files.
    """

    vertices: Records
    present: list[StreamType]
    indices: U16
    batches: Records
    triangles: Records
    slots: Records
    has_triangles: bool = True
    tails: dict[StreamType, NDArray[np.generic]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: MshModel) -> Workspace:
        """Copy a model's geometry tables."""
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
            np.zeros(len(model.indices) // 3, TRIANGLE_DTYPE) if triangles is None else triangles.copy(),
            slots=model.slots.copy(),
            has_triangles=triangles is not None,
            tails={
                stream: model.streams[stream][len(vertices) :]
                for stream in present
                if len(model.streams[stream]) > len(vertices)
            },
        )

    @classmethod
    def empty(cls, *, extra: bool) -> Workspace:
        """Return a workspace without geometry; with Res18 or without."""
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
            new: NDArray[np.generic] = np.ascontiguousarray(self.vertices[name])
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
        """Return the rows of Res13 that a slot draws."""
        first = int(self.slots["batch_start"][slot])
        return range(first, first + int(self.slots["batch_count"][slot]))

    def append(self, geometries: list[SlotGeometry]) -> list[int]:
        """Add slots after all others; return their rows."""
        first = len(self.slots)
        vertices, indices, batches, triangles, slots = [], [], [], [], []
        at_v, at_i, at_b, at_t = (len(self.vertices), len(self.indices), len(self.batches), len(self.triangles))
        for g in geometries:
            batch, slot, triangle = g.batches.copy(), g.slots.copy(), g.triangles.copy()
            batch["index_start"] += at_i
            batch["base_vertex"] += at_v
            _shift_links(triangle, at_t)
            slot["batch_start"] += np.uint16(at_b & 0xFFFF)
            slot["tri_start"] += np.uint16(at_t & 0xFFFF)
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
        self.triangles = concatenate_records([self.triangles, *triangles])
        self.slots = concatenate_records([self.slots, *slots])
        return list(range(first, len(self.slots)))

    def replace(self, slot: int, geometry: SlotGeometry | None) -> None:
        """Give a slot new geometry, or none; rows of all others move, and nothing else.

        Rows that another slot or batch still uses stay. New rows go where the old ones were, or
        to the end of a table where that would split what another batch uses.
        """
        new = SlotGeometry.empty() if geometry is None else geometry
        b, i, v, t = self._moves(slot, new)
        self.batches["index_start"] = i.position(self.batches["index_start"])
        self.batches["base_vertex"] = v.position(self.batches["base_vertex"])
        self.slots["batch_start"] = b.position(self.slots["batch_start"])
        self.slots["tri_start"] = t.position(self.slots["tri_start"])
        record = new.slots.copy()
        for name in ("opaque56", "opaque60", "opaque64"):
            record[name] = self.slots[name][slot]
        record["batch_start"], record["tri_start"] = b.start, t.start
        self.slots[slot] = record[0]
        batches, triangles = new.batches.copy(), new.triangles.copy()
        batches["index_start"] += i.start
        batches["base_vertex"] += v.start
        _shift_links(triangles, t.start)
        self.batches = b.apply(self.batches, batches)
        self.indices = i.apply(self.indices, new.indices)
        self.vertices = v.apply(self.vertices, new.vertices)
        self._move_links(t)
        self.triangles = t.apply(self.triangles, triangles)

    def _moves(self, slot: int, new: SlotGeometry) -> tuple[_Move, _Move, _Move, _Move]:
        """How rows of batches, indices, vertices and triangles move when a slot is replaced."""
        mine = self.slot_batches(slot)
        others = np.arange(len(self.slots)) != slot
        b_start, b_count = (self.slots[k][others] for k in ("batch_start", "batch_count"))
        gone_batches = np.zeros(len(self.batches), np.bool_)
        gone_batches[mine.start : mine.stop] = True
        gone_batches &= ~covered(b_start, b_count, len(gone_batches))
        starts, counts, bases = (
            self.batches[k].astype(np.int64) for k in ("index_start", "index_count", "base_vertex")
        )
        kept = ~gone_batches
        gone_indices = covered(starts[gone_batches], counts[gone_batches], len(self.indices))
        gone_indices &= ~covered(starts[kept], counts[kept], len(self.indices))
        windows = np.array([self._window(int(s), int(c)) for s, c in zip(starts, counts, strict=True)])
        gone_vertices = np.zeros(len(self.vertices), np.bool_)
        for row in np.flatnonzero(gone_batches):
            used = self.indices[starts[row] : starts[row] + counts[row]].astype(np.int64)
            gone_vertices[used + bases[row]] = True
        gone_vertices &= ~covered(bases[kept], windows[kept], len(self.vertices))
        t_start, t_count = self.slots["tri_start"], self.slots["tri_count"]
        gone_triangles = covered(t_start[[slot]], t_count[[slot]], len(self.triangles))
        gone_triangles &= ~covered(t_start[others], t_count[others], len(self.triangles))

        new_i = _place(gone_indices, starts[kept], counts[kept])
        new_t = _place(gone_triangles, t_start[others], t_count[others], int(t_start[slot]))
        if not gone_indices.any() or new_i % 3 or new_t * 3 != new_i:
            new_i, new_t = len(self.indices), len(self.triangles)
        return (
            _Move(gone_batches, _place(gone_batches, b_start, b_count, mine.start), len(new.batches)),
            _Move(gone_indices, new_i, len(new.indices)),
            _Move(gone_vertices, _place(gone_vertices, bases[kept], windows[kept]), len(new.vertices)),
            _Move(gone_triangles, new_t, len(new.triangles)),
        )

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

    def drop_slots(self, rows: list[int]) -> I64:
        """Delete slot rows whose geometry is gone; returns old row -> new row, -1 = gone."""
        keep = np.ones(len(self.slots), np.bool_)
        keep[rows] = False
        self.slots = self.slots[keep]
        return np.where(keep, np.cumsum(keep) - 1, -1)


class _Move:
    """Where rows go when some are taken out and others put in at one place."""

    def __init__(self, gone: Bools, place: int, count: int) -> None:
        self.gone, self.place, self.count = gone, place, count
        self.before = np.concatenate([[0], np.cumsum(~gone)])
        self.start = int(self.before[place])

    def position(self, rows: NDArray[np.integer]) -> I64:
        """Return the new position of rows, or of range starts."""
        old = np.minimum(rows.astype(np.int64), len(self.gone))
        moved: I64 = self.before[old] + np.where(old >= self.place, self.count, 0)
        return moved

    def apply(self, table: NDArray[_Scalar], new: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Return a table after the move, with the new rows in it."""
        head, tail = table[: self.place], table[self.place :]
        return np.concatenate([head[~self.gone[: self.place]], new, tail[~self.gone[self.place :]]])


def _place(gone: Bools, starts: NDArray[np.integer], counts: NDArray[np.integer], wanted: int | None = None) -> int:
    """Where new rows go: at the first row that goes, unless that would split another range."""
    rows = np.flatnonzero(gone)
    if wanted is None:
        wanted = int(rows[0]) if rows.size else len(gone)
    begin = starts.astype(np.int64)
    if ((begin < wanted) & (wanted < begin + counts)).any() or not rows.size:
        return len(gone)
    return wanted


def _shift_links(triangles: Records, by: int) -> None:
    link = triangles["link"].astype(np.int64)
    triangles["link"] = np.where(link == NONE16, NONE16, (link + by) & 0xFFFF)


def material_words(material: Material | None, dialect: Dialect) -> tuple[int, int, int, int]:
    """Return the batch words +0, +2, +4, +6 of a material.

    What its extras give wins; the rest follows from row and lightmap row.
    """
    row = max(0, material.row) if material is not None else 0
    light = NO_LIGHTMAP
    if material is not None and 0 <= material.lightmap < NO_LIGHTMAP:
        light = material.lightmap
    if row > (most := last_row(dialect)):
        raise ConversionError(f"material row does not fit {dialect.value}", value=row, expected=f"0..{most}")
    if dialect is Dialect.RETAIL:
        flags = BATCH_LIGHTMAP if light != NO_LIGHTMAP else 0
        words = [flags, 0, row | light << 8, NONE16]
    else:
        words = [0, row, 0, 0]
    if material is not None:
        if material.batch_flags >= 0:
            words[0] = material.batch_flags & 0xFFFF
            if dialect is Dialect.RETAIL:
                words[1] = material.batch_flags >> 16 & 0xFFFF
        if material.w6 >= 0:
            words[3] = material.w6
        # a row or lightmap given in the extras wins over the raw word it lives in
        if material.w2 >= 0 and dialect is Dialect.RETAIL and material.batch_flags < 0:
            words[1] = material.w2
        if material.w4 >= 0 and dialect is Dialect.SPEC:
            words[2] = material.w4
    return words[0], words[1], words[2], words[3]


def words_table(materials: list[Material], plan: Plan | None, stored: Scene | None, dialect: Dialect) -> U16:
    """Return the batch words of each material of the file, (M + 1, 4); the last row is none."""
    rows: list[tuple[int, int, int, int]] = []
    if stored is None:
        materials = new_rows(materials)
    for i, material in enumerate(materials):
        same = plan.materials[i] if plan is not None else set()
        if -1 in material.key and same and stored is not None:
            material = stored.materials[min(same)]
        rows.append(material_words(material, dialect))
    rows.append(material_words(None, dialect))
    return np.array(rows, np.uint16).reshape(-1, 4)


def stored_choices(
    materials: list[Material], plan: Plan, stored: Scene | None, dialect: Dialect
) -> list[set[tuple[int, ...]]]:
    """Return the words that each material may have that lost its extras, else none."""
    if stored is None:
        return []
    return [
        {material_words(stored.materials[k], dialect) for k in plan.materials[i]} if -1 in material.key else set()
        for i, material in enumerate(materials)
    ]


def new_rows(materials: list[Material]) -> list[Material]:
    """Return the materials of a file that has no sidecar, each with its row.

    A row in the extras stands, unless a material before has it under another name, and
    ``material_7`` is row 7. The others take the rows that are left, in order of appearance: one for
    each name (Blender's ``.001`` does not count, nor does case), one for each material without a
    name. A name that has a row already keeps to it.
    """
    rows: dict[str | int, int] = {}
    owners: dict[int, str] = {}
    out = []
    for material in materials:
        bare = without_number(material.name)
        row = material.row if material.row >= 0 else stated_row(bare)
        name = bare.casefold()
        if row is not None and name and owners.setdefault(row, name) != name:
            material = material._replace(row=-1)  # one of its row was renamed
        elif row is not None:
            rows.setdefault(name, row)
        out.append(material)
    taken = {*rows.values(), *(material.row for material in out)}
    free = (row for row in count() if row not in taken)
    for i, material in enumerate(out):
        if material.row < 0:
            key = without_number(material.name).casefold() or i
            if key not in rows:
                rows[key] = next(free)
            out[i] = material._replace(row=rows[key])
    return out


def wear_rows(scene: Scene, report: Report) -> list[str]:
    """Return the WEAR rows of a new model; warn of names that they cannot have.

    A row is called like its first material. Rows that no material names are ``DEFAULT``, which is what the game shows
    for an unknown name; so is a name that no ``Material.lib`` can hold. ``scene``: whose materials :func:`new_rows`
    gave the batches their rows.
    """
    materials = new_rows(scene.materials)
    used = materials_in_use(scene)
    names: dict[int, str] = {}
    for i in sorted(used):
        material = materials[i] if i >= 0 else None
        row = 0 if material is None else material.row
        name = "" if material is None else without_number(material.name)
        if row in names or not name:
            continue
        if is_material_name(name):
            names[row] = name
        else:
            what = f"is {DEFAULT_MATERIAL} in row {row} of the .wea"
            report.skipped(Subject("material", name), what, NO_NAME, "choose another name", "materials")
    rows = {0, *(materials[i].row for i in used if i >= 0)}
    if any(0 <= materials[i].lightmap < NO_LIGHTMAP for i in used if i >= 0):
        report.warnings.append("the names of its lightmaps are not in the file: the .wea has no LIGHTMAPS")
    return [names.get(row, DEFAULT_MATERIAL) for row in range(max(rows) + 1)]
