"""Update the tables of a terrain that follow from its faces: vertices, links, slots, boxes, draw order.

What no edit touches keeps its bytes (docs/reference/terrain.md, What the writer does). The vertices of new
faces are found among the stored ones; those that are missing are made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..edits.terrain import TERRAIN_NORMAL_DEGREES
from ..edits.triangles import TriangleList, normals_apart
from ..formats.terrain import COARSE, DRAW_DTYPE, FINE, Terrain, TerrainStream
from ..numeric.arrays import F32, I64, NONE16, U8, Bools, Records, first_appearance, row_ids
from ..numeric.quantize import decode_normals, encode_normals, normalise
from ..numeric.surfaces import hull, neighbour_links, sphere_radius

_DRAW_FLAGS, _DRAW_FIRST = 0x48, 0x10


@dataclass(frozen=True)
class Layout:
    """The new face table, row by row.

    Attributes:
        origin: (F,) row in the old table, -1 = new.
        level, square: (F,) where each face belongs.
        fresh: (F,) whether its shape is new: new faces, moved corners, other corners.
        corners: (F, 3, 3) float32 positions.
        same: whether the old faces are all there, in their rows and squares.
    """

    origin: I64
    level: I64
    square: I64
    fresh: Bools
    corners: F32
    same: bool


def relink(faces: Records, old: Terrain, layout: Layout) -> None:
    """Write links and selectors of the new face table: canonical ones; only near edits where the old ones are not."""
    origin = layout.origin
    link, selectors = level_links(layout.corners, layout.level)
    old_level = np.full(len(old.faces), -1)
    for number in (COARSE, FINE):
        old_level[old.faces_of(number)] = number
    stored = np.ascontiguousarray(old.positions[old.faces["vertex"]])
    old_link, old_selectors = level_links(stored, old_level)
    odd = (old_link != old.faces["link"]).any(axis=1)
    odd |= old_selectors != (old.faces["selectors"] & 0x3F)
    kept = origin >= 0
    source = np.maximum(origin, 0)
    if odd.any():
        new_row = np.full(NONE16 + 1, NONE16, np.int64)
        new_row[origin[kept]] = np.flatnonzero(kept)
        follow = new_row[old.faces["link"][source]]
        lost = (follow == NONE16) & (old.faces["link"][source] != NONE16)
        near = layout.fresh | ~kept | (lost & kept[:, None]).any(axis=1)
        near_row = np.append(near, np.zeros(NONE16 + 1 - len(near), np.bool_))
        near = near | near_row[follow].any(axis=1) | near_row[link].any(axis=1)
        link = np.where(near[:, None], link, follow)
        selectors = np.where(near, selectors, old.faces["selectors"][source] & 0x3F)
    faces["link"] = link
    faces["selectors"] = selectors | np.where(kept, old.faces["selectors"][source] & 0xC0, 0)


def level_links(corners: F32, level: I64) -> tuple[I64, I64]:
    """Return canonical links, which stay inside a level, as rows of the table; and selectors.

    (F, 3, 3), (F,) -> (F, 3), (F,).
    """
    link = np.full((len(corners), 3), NONE16, np.int64)
    selectors = np.full(len(corners), 0x3F, np.int64)
    for number in (FINE, COARSE):
        rows = np.flatnonzero(level == number)
        local, edges = neighbour_links(np.ascontiguousarray(corners[rows]))
        table = np.append(rows, np.full(NONE16 + 1 - len(rows), NONE16))
        link[rows], selectors[rows] = table[local], edges
    return link, selectors


def changed_squares(old: Terrain, layout: Layout) -> I64:
    """Return the squares whose fine faces moved, came or went, ascending."""
    gone = np.ones(len(old.faces), np.bool_)
    stored = layout.origin >= 0
    gone[layout.origin[stored]] = False
    fine = np.zeros(len(old.faces), np.bool_)
    fine[old.faces_of(FINE)] = True
    before = old.square_of_face[layout.origin[stored]]
    left = before != layout.square[stored]
    return np.unique(
        np.concatenate(
            [
                layout.square[layout.fresh & (layout.level == FINE)],
                old.square_of_face[gone & fine],
                before[left],
                layout.square[stored][left],
            ]
        )
    )


def slot_runs(out: Terrain, layout: Layout) -> None:
    """Write the runs of faces: the fine level square by square, then the coarse one."""
    start = 0
    for level in (FINE, COARSE):
        slots = out.square_slots(level)
        count = np.bincount(layout.square[layout.level == level], minlength=len(slots))
        first = start + np.concatenate([[0], np.cumsum(count)[:-1]])
        has = slots >= 0
        out.slots["tri_start"][slots[has]] = first[has]
        out.slots["tri_count"][slots[has]] = count[has]
        start += int(count.sum())


def boxes(out: Terrain, squares: I64, layout: Layout) -> None:
    """Write boxes and spheres of some squares, of fine faces on both levels; then the whole box.

    A square that lost every face keeps its box. Of the whole box only the height follows: its x and
    y are the grid, which stays where it is.
    """
    fine = layout.level == FINE
    for number in squares.tolist():
        mine = layout.corners[fine & (layout.square == number)].reshape(-1, 3)
        if not len(mine):
            continue
        low, high = mine.min(axis=0), mine.max(axis=0)
        center = ((low + high) * np.float32(0.5)).astype(np.float32)
        radius = sphere_radius(center, hull(low, high))
        for level in (FINE, COARSE):
            slot = int(out.square_slots(level)[number])
            if slot >= 0:
                row = out.slots[slot : slot + 1]
                row["aabb_min"], row["aabb_max"] = low, high
                row["sphere_center"], row["sphere_radius"] = center, radius
    if squares.size and fine.any():
        box = out.header["hull"][0].copy()
        low, high = box.min(axis=0), box.max(axis=0)
        heights = layout.corners[fine][..., 2]
        low[2], high[2] = heights.min(), heights.max()
        if low[2] != box[:, 2].min() or high[2] != box[:, 2].max():
            out.header["hull"][0] = hull(low, high)


def draw_order(out: Terrain, old: Terrain, layout: Layout) -> Records:
    """Return the draw order: each slot's faces grouped by material pair, in order of appearance.

    Slots whose faces and materials did not change keep their order. A table that was not a permutation of the faces
    stays as long as the faces do: its meaning is not known. ``old``: the terrain before the edit.
    """
    stored, count, origin = old.draw_order, len(old.faces), layout.origin
    whole = len(stored) == count and np.array_equal(np.sort(stored["face"]), np.arange(count))
    pair, before = _pairs(out), _pairs(old)
    kept = origin >= 0
    other = np.ones(len(pair), np.bool_)
    other[kept] = pair[kept] != before[origin[kept]]
    if layout.same and (not whole or not other.any()):
        return stored
    table = np.zeros(len(pair), DRAW_DTYPE)
    new_row = np.full(count, -1, np.int64)
    new_row[origin[kept]] = np.flatnonzero(kept)
    for level in (FINE, COARSE):
        slots = out.square_slots(level)
        for slot in np.unique(slots[slots >= 0]).tolist():
            start, size = (int(out.slots[k][slot]) for k in ("tri_start", "tri_count"))
            first, length = (int(old.slots[k][slot]) for k in ("tri_start", "tri_count"))
            run = slice(start, start + size)
            rows, was = np.arange(start, start + size), stored[first : first + length]
            own = np.arange(first, first + length)
            same = whole and size == length and not other[run].any()
            same = same and np.array_equal(np.sort(origin[run]), own)
            if same and np.array_equal(np.sort(was["face"]), own):
                table[run] = was
                table["face"][run] = new_row[was["face"]]
            else:
                table[run] = draw_group(rows, pair[run])
    return table


def _pairs(terrain: Terrain) -> I64:
    """First and second material of every face as one number."""
    faces = terrain.faces
    pairs: I64 = faces["first"].astype(np.int64) << 8 | faces["second"]
    return pairs


def draw_group(rows: I64, pair: I64) -> Records:
    """Return the draw order of one slot: equal pairs together, in order of first appearance."""
    group, _ = first_appearance(pair)
    order = np.argsort(group, kind="stable")
    out = np.zeros(len(rows), DRAW_DTYPE)
    out["face"] = rows[order]
    begins = np.concatenate([[True], np.diff(group[order]) > 0])[: len(rows)]
    out["flags"] = _DRAW_FLAGS | np.where(begins, _DRAW_FIRST, 0)
    return out


_T = TerrainStream

#: One vertex as stored, all streams side by side.
VERTEX_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),
        ("normal", "i1", (4,)),
        ("uv0", "<i2", (2,)),
        ("micro_uv", "<i2", (2,)),
        ("blend", "<f4"),
    ]
)
assert VERTEX_DTYPE.itemsize == 28
#: The table of each field of ``VERTEX_DTYPE``.
STREAMS = {"position": _T.POSITIONS, "normal": _T.NORMALS, "uv0": _T.UV0, "micro_uv": _T.MICRO_UV, "blend": _T.BLEND}


def vertex_means(vertex: I64, values: F32, count: int) -> tuple[F32, Bools]:
    """Return the mean of the values that corners give a vertex, and which of ``count`` vertices have any.

    (n,) vertex of each corner, (n, k) -> (V, k), (V,) bool.
    """
    total = np.zeros((count, values.shape[-1]))
    np.add.at(total, vertex, values.astype(np.float64))
    number = np.bincount(vertex, minlength=count)
    return (total / np.maximum(number, 1)[:, None]).astype(np.float32), number > 0


def micro_uv_words(extra: U8) -> NDArray[np.int16]:
    """Return stored microtexture coordinates. (..., 4) bytes -> (..., 2) int16."""
    return np.ascontiguousarray(extra).view("<i2")


def find_vertices(vertices: Records, usable: I64, triangles: TriangleList, fresh: I64) -> I64:
    """Return the vertex that equals each corner of some triangles in every stream, -1 = none. (n,) triangles -> (3n,)
    rows.

    Normals may differ by what editors round. ``usable``: rows of the vertices, (V,) ``VERTEX_DTYPE``, to choose from.
    """
    columns = [(triangles.positions[fresh] + np.float32(0)).view(np.int32)]
    pool = vertices[usable]
    pool_columns = [(np.ascontiguousarray(pool["position"]) + np.float32(0)).view(np.int32)]
    if triangles.uv0 is not None:
        columns.append(triangles.uv0[fresh].astype(np.int32))
        pool_columns.append(pool["uv0"].astype(np.int32))
    if triangles.extra is not None:
        columns.append(micro_uv_words(triangles.extra[fresh]).astype(np.int32))
        pool_columns.append(pool["micro_uv"].astype(np.int32))
    stacked = np.concatenate(columns, axis=-1)
    corner = stacked.reshape(3 * len(fresh), stacked.shape[-1])
    both = np.concatenate([np.concatenate(pool_columns, axis=-1), corner]).astype(np.int64)
    ids = row_ids(both.view(np.uint64))
    home, wanted = ids[: len(usable)], ids[len(usable) :]
    normals = None if triangles.normals is None else triangles.normals[fresh].reshape(-1, 3)
    first_row = _first_near(home, wanted, normals, pool["normal"])
    return np.where(first_row >= 0, usable[first_row], -1) if len(usable) else first_row


def _first_near(home: I64, wanted: I64, normals: F32 | None, stored: NDArray[np.int8]) -> I64:
    """Per wanted id the first row of that id whose normal is near; -1 = none.

    Several rows may have one id.
    """
    order = np.argsort(home, kind="stable")
    low = np.searchsorted(home[order], wanted, "left")
    high = np.searchsorted(home[order], wanted, "right")
    out = np.full(len(wanted), -1, np.int64)
    for step in range(int((high - low).max(initial=0))):
        open_ = np.flatnonzero((out < 0) & (low + step < high))
        row = order[low[open_] + step]
        if normals is None:
            fits = np.ones(len(open_), np.bool_)
        else:
            held = decode_normals(stored[row])
            fits = ~normals_apart(normals[open_], held, TERRAIN_NORMAL_DEGREES)
        out[open_[fits]] = row[fits]
    return out


def new_vertices(triangles: TriangleList, triangle: I64, corner: I64) -> Records:
    """Return the stored form of corners, (n,) of (n,) triangles; their blend is 1. (n,) ``VERTEX_DTYPE``."""
    out = np.zeros(len(triangle), VERTEX_DTYPE)
    out["position"] = triangles.positions[triangle, corner]
    if triangles.normals is not None:
        unit = normalise(triangles.normals[triangle, corner], (0, 0, 1))
        out["normal"][:, :3] = encode_normals(unit)
    if triangles.uv0 is not None:
        out["uv0"] = triangles.uv0[triangle, corner]
    if triangles.extra is not None:
        out["micro_uv"] = micro_uv_words(triangles.extra[triangle, corner])
    out["blend"] = 1.0
    return out
