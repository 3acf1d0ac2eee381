"""Build the slots of new parts, and rebuild that of an edited one: in place where the topology is the same.

In place (docs/reference/model.md, What the writer does): moved vertices touch
Res3 (Res4, Res7 normals, bounds), texture edits Res5, another material the batch's words. Only
another topology makes new indices and batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..edits.triangles import Match, TriangleList, best_turns, colours_apart, normals_apart
from ..formats.model import BATCH_DTYPE, TRIANGLE_DTYPE
from ..formats.tables import SLOT_DTYPE
from ..numeric.arrays import F32, I64, NONE16, U8, U16, Bools, Records, concatenate_records, first_appearance, row_ids
from ..numeric.quantize import decode_normals, triangle_normals
from ..numeric.surfaces import neighbour_links, slot_bounds
from .workspace import VERTEX_DTYPE, Corners, SlotGeometry, Workspace, too_many

#: The words of a batch that make its material; two batches of one material may differ in none.
BATCH_WORDS = ("word0", "word2", "word4", "word6")
_MOST_INDICES = 65535


def build_slots(parts: Sequence[Corners]) -> SlotGeometry:
    """Build a slot of each part by the canonical rules.

    Triangles are grouped by material in order of first appearance; vertices are welded when all their stored bytes are
    equal and laid down per batch in order of first use. Raises ConversionError: more triangles than a model can have.
    """
    sizes = [len(part.material) for part in parts]
    if max(sizes) > NONE16:
        raise too_many("triangles", max(sizes))
    # a material of one part is none of another's
    before = np.cumsum([0, *(len(part.words) for part in parts)])
    material = np.concatenate([p.material + n for p, n in zip(parts, before[:-1], strict=True)])
    order = np.argsort(first_appearance(material)[0], kind="stable")
    vertices = concatenate_records([part.vertices for part in parts])[order]
    material, owner = material[order], np.repeat(np.arange(len(parts)), sizes)
    raw = np.ascontiguousarray(vertices).view(np.uint8).reshape(-1, VERTEX_DTYPE.itemsize)
    ids = row_ids(raw.view("<u8")).reshape(-1, 3)

    bounds = _batch_bounds(material)
    counts = np.diff(bounds)
    corners_of = 3 * counts
    batch = np.repeat(np.arange(len(counts)), corners_of)
    # every batch has vertices of its own, in order of first use
    used, place = first_appearance(batch * (3 * len(ids)) + ids.reshape(-1))
    window = np.bincount(batch[place])
    base = np.cumsum(window) - window

    batches = np.zeros(len(counts), BATCH_DTYPE)
    words = np.concatenate([part.words for part in parts])[material[bounds[:-1]]]
    for name, column in zip(BATCH_WORDS, words.T, strict=True):
        batches[name] = column
    batches["index_count"], batches["index_start"] = corners_of, 3 * bounds[:-1]
    batches["window"], batches["base_vertex"] = window, base

    flags = np.concatenate([part.flags for part in parts])[order]
    triangles, zero_area = describe(vertices, flags, owner)
    return SlotGeometry(
        vertices.reshape(-1)[place],
        (used - base[batch]).astype(np.uint16),
        batches,
        triangles,
        _slot_records(vertices["position"], sizes, np.bincount(owner[bounds[:-1]], minlength=len(parts))),
        zero_area,
    )


def _slot_records(positions: F32, sizes: list[int], batch_counts: I64) -> Records:
    """The slots of triangles that lie one slot after the other."""
    ends = np.cumsum(sizes)
    pieces = zip(np.split(positions, ends[:-1]), batch_counts.tolist(), strict=True)
    slots = concatenate_records([slot_record(piece, batches) for piece, batches in pieces])
    slots["tri_start"] = ends - sizes
    slots["batch_start"] = np.cumsum(batch_counts) - batch_counts
    return slots


def slot_record(positions: F32, batch_count: int) -> Records:
    """Return the slot of some triangles, its ranges starting at 0. (T, 3, 3) -> one record."""
    slot = np.zeros(1, SLOT_DTYPE)
    slot["tri_count"], slot["batch_count"] = len(positions), batch_count
    for name, value in slot_bounds(positions).items():
        slot[name] = value
    return slot


def describe(vertices: Records, flags: U16, slot: I64) -> tuple[Records, int]:
    """Return the descriptors of triangles, and how many have no area. ``slot``: which they are in.

    (T, 3) ``VERTEX_DTYPE``, (T,), (T,) -> (T,) ``TRIANGLE_DTYPE``.
    """
    out = np.zeros(len(vertices), TRIANGLE_DTYPE)
    positions = np.ascontiguousarray(vertices["position"])
    out["tri_flags"] = flags
    out["link"], out["selectors"] = neighbour_links(positions, slot)
    normals, zero_area = triangle_normals(positions, vertices["normal"])
    out["normal"] = normals
    return out, zero_area


def _batch_bounds(material: I64) -> I64:
    """Where batches begin, and the end: one per material, split where indices would not fit; so vertices fit, too."""
    most = _MOST_INDICES // 3
    bounds = [0, *(np.flatnonzero(np.diff(material)) + 1).tolist(), len(material)]
    starts = [at for first, last in pairwise(bounds) for at in range(first, last, most)]
    return np.array([*starts, len(material)], np.int64)


@dataclass
class Edit:
    """An edited part.

    Attributes:
        match: how they meet those of the stored slot.
        words: (M + 1, 4) batch words per material of the file; the last row is 'no material'.
        extra: what Res18 holds where the file has no value, (4,) uint8.
        choices: per material of the file, the stored words it may mean where its name alone is
            known and several stored materials bear it.
    """

    triangles: TriangleList
    match: Match | None
    words: U16
    extra: U8
    choices: list[set[tuple[int, ...]]] = field(default_factory=list)

    def with_stored_words(self, stored: StoredSlot) -> Edit:
        """Return the edit with ambiguous material names taken for materials that the slot has.

        Faces without a material have the one that most of the slot has.
        """
        words = self.words.copy()
        rows, counts = np.unique(stored.batch, return_counts=True)
        usual = [rows[i] for i in np.argsort(-counts, kind="stable")]
        own = [tuple(int(stored.space.batches[n][row]) for n in BATCH_WORDS) for row in usual]
        words[-1] = own[0]
        for material, choices in enumerate(self.choices):
            if len(choices) > 1:
                mine = next((word for word in own if word in choices), None)
                if mine is not None:
                    words[material] = mine
        return replace(self, words=words)


def stated_flags(triangles: TriangleList, held: U16) -> U16:
    """Return the flags of triangles: those that the file states, else those held. (T,) each."""
    if triangles.flags is None:
        return held
    return np.where(triangles.flags >= 0, triangles.flags, held).astype(np.uint16)


def fresh_vertices(triangles: TriangleList, extra: U8) -> Records:
    """Return stored words of the corners of a part without a stored slot. (T, 3)."""
    out = np.zeros((len(triangles), 3), VERTEX_DTYPE)
    out["position"] = triangles.positions
    out["normal"] = triangles.encoded_normals()
    if triangles.uv0 is not None:
        out["uv0"] = triangles.uv0
    out["extra"] = extra if triangles.extra is None else triangles.extra
    return out


def new_corners(edit: Edit) -> tuple[Corners | None, int]:
    """Return what to build the slot of a new part of, and how many degenerate triangles it loses.

    ``None`` where nothing else is left.
    """
    vertices = fresh_vertices(edit.triangles, edit.extra)
    raw = vertices.view("u1").reshape(len(vertices), 3, -1)
    equal = [(raw[:, a] == raw[:, b]).all(axis=1) for a, b in ((0, 1), (1, 2), (0, 2))]
    keep = ~(equal[0] | equal[1] | equal[2])
    if not keep.any():
        return None, len(keep)
    material = edit.triangles.material[keep]
    corners = Corners(
        vertices[keep],
        np.where(material < 0, len(edit.words) - 1, material),
        edit.words,
        stated_flags(edit.triangles, np.zeros(len(keep), np.uint16))[keep],
    )
    return corners, int((~keep).sum())


class StoredSlot:
    """A slot of the workspace as corners: where every one of its triangles comes from."""

    def __init__(self, space: Workspace, slot: int) -> None:
        self.space, self.slot = space, slot
        self.rows = space.slot_batches(slot)
        batch, corner = [], []
        for row in self.rows:
            start, count, base = (int(space.batches[k][row]) for k in ("index_start", "index_count", "base_vertex"))
            count -= count % 3
            index = space.indices[start : start + count].astype(np.int64) + base
            corner.append(index.reshape(-1, 3))
            batch.append(np.full(count // 3, row))
        self.corner: I64 = np.concatenate(corner)
        self.batch: I64 = np.concatenate(batch)
        first = int(space.slots["tri_start"][slot])
        whole = int(space.slots["tri_count"][slot]) == len(self.corner)
        self.triangles: I64 | None = None
        if space.has_triangles and whole:
            self.triangles = np.arange(first, first + len(self.corner))

    def shared_vertices(self) -> Bools:
        """Return which vertices batches of other slots use. (V,) bool."""
        space = self.space
        out = np.zeros(len(space.vertices), np.bool_)
        for row in range(len(space.batches)):
            if row not in self.rows:
                start, count, base = (int(space.batches[k][row]) for k in ("index_start", "index_count", "base_vertex"))
                used = space.indices[start : start + count].astype(np.int64)
                out[used + base] = True
        return out


def change_in_place(space: Workspace, slot: int, edit: Edit) -> bool:
    """Try to express an edit without another topology; whether it worked (else nothing changed).

    The i-th lost triangle is taken for the i-th new one; that holds if every stored vertex then
    has one new value, and every batch one material.
    """
    stored, triangles, match = StoredSlot(space, slot), edit.triangles, edit.match
    edit = edit.with_stored_words(stored)
    assert match is not None
    paired = _pair_all(stored, triangles, match)
    if paired is None:
        return False
    old, new, _ = paired
    vertex = stored.corner[old]
    values = _new_values(stored, edit, paired)
    flat_vertex, flat_values = vertex.reshape(-1), values.reshape(-1)
    raw = flat_values.view("u1").reshape(len(flat_values), -1)
    before = space.vertices[flat_vertex].view("u1").reshape(len(flat_values), -1)
    changed = (raw != before).any(axis=1)
    # vertices whose corners disagree cannot change in place
    order = np.argsort(flat_vertex, kind="stable")
    same_vertex = flat_vertex[order][1:] == flat_vertex[order][:-1]
    disagree = same_vertex & (raw[order][1:] != raw[order][:-1]).any(axis=1)
    if disagree.any():
        return False
    if stored.shared_vertices()[flat_vertex[changed]].any():
        return False
    words = _batch_words(stored, edit, old, new)
    if words is None or (stored.triangles is None and match.flags_differ.any()):
        return False
    for row, word in words.items():
        for name, value in zip(BATCH_WORDS, word, strict=True):
            space.batches[name][row] = value
    corners_before = space.vertices[stored.corner]
    space.vertices[flat_vertex[changed]] = flat_values[changed]
    if stored.triangles is not None and triangles.flags is not None:
        rows, wanted = stored.triangles[old], triangles.flags[new]
        space.triangles["tri_flags"][rows[wanted >= 0]] = wanted[wanted >= 0]
    moved = changed & (raw[:, :12] != before[:, :12]).any(axis=1)
    if moved.any():
        _positions_moved(stored, np.unique(flat_vertex[moved]), corners_before)
    return True


def _new_values(stored: StoredSlot, edit: Edit, paired: tuple[I64, I64, I64]) -> Records:
    """The vertex that each corner of the stored triangles becomes. (P, 3) ``VERTEX_DTYPE``."""
    space, triangles, match = stored.space, edit.triangles, edit.match
    assert match is not None
    old, new, turn = paired  # (P,) old and new triangles, (P, 3) new corner per old corner
    vertex = stored.corner[old]
    rows = np.arange(len(old))[:, None]
    values = space.vertices[vertex]
    # a triangle that was matched keeps its words, whatever the editor rounded
    loose = match.old_of[new] != old
    position = triangles.positions[new][rows, turn]
    values["position"][loose] = position[loose]
    if triangles.uv0 is not None:
        values["uv0"][loose] = triangles.uv0[new][rows, turn][loose]
    if triangles.extra is not None:
        edited = triangles.extra[new][rows, turn]
        if triangles.lightmap:
            values["extra"][loose] = edited[loose]
        else:
            channels = triangles.colour_channels[new]
            values["extra"] = _edited_colours(values["extra"], edited, channels)
    if triangles.normals is not None:
        encoded = triangles.encoded_normals()[new][rows, turn][..., :3]
        held = decode_normals(space.vertices["normal"][vertex])
        far = normals_apart(triangles.normals[new][rows, turn], held)
        turned = far & (loose | match.normals_differ[new])[:, None]
        values["normal"][..., :3][turned] = encoded[turned]
    return values


def _pair_all(stored: StoredSlot, triangles: TriangleList, match: Match) -> tuple[I64, I64, I64] | None:
    """Every old triangle that is still there with its new one, corners lined up."""
    fresh = np.flatnonzero(match.old_of < 0)
    if len(fresh) != len(match.lost):
        return None
    old, new, turn = match.pairs()
    corner = stored.space.vertices[stored.corner[match.lost]]
    best = best_turns(triangles, fresh, corner["position"], corner["uv0"])
    return (np.concatenate([old, match.lost]), np.concatenate([new, fresh]), np.concatenate([turn, best]))


def _batch_words(stored: StoredSlot, edit: Edit, old: I64, new: I64) -> dict[int, U16] | None:
    """New words per batch row that changed its material; ``None`` if one would need two."""
    match, material = edit.match, edit.triangles.material[new]
    assert match is not None
    # triangles that were lost and found again by order have no comparison of materials yet
    differ = match.materials_differ[new].copy()
    fresh = match.old_of[new] < 0
    now = edit.words[material].astype(np.int64)
    space = stored.space
    columns = [space.batches[name][stored.batch[old]].astype(np.int64) for name in BATCH_WORDS]
    apart = np.abs(now - np.stack(columns, axis=1)).max(axis=1)
    differ |= fresh & (apart > 0) & (material >= 0)
    out: dict[int, U16] = {}
    for row in np.unique(stored.batch[old[differ]]).tolist():
        mine = stored.batch[old] == row
        target = now[mine & differ]
        if not differ[mine].all() or (target != target[0]).any():
            return None
        out[row] = target[0].astype(np.uint16)
    return out


def _positions_moved(stored: StoredSlot, vertices: I64, corners_before: Records) -> None:
    space, slot = stored.space, stored.slot
    corners = np.ascontiguousarray(space.vertices[stored.corner]["position"])
    bounds = slot_record(corners, 0)
    names = ("aabb_min", "aabb_max", "sphere_center", "sphere_radius", "area", "volume")
    for name in names:
        space.slots[name][slot] = bounds[name][0]
    if stored.triangles is None:
        return
    rows = stored.triangles
    touched = np.asarray(np.isin(stored.corner, vertices).any(axis=1))
    normals, _ = triangle_normals(corners, space.vertices[stored.corner]["normal"])
    table = space.triangles[rows]
    table["normal"][touched] = normals[touched]
    first = int(rows[0])
    old_link, _ = _links_in_table(corners_before, first)
    new_link, selectors = _links_in_table(space.vertices[stored.corner], first)
    changed = (new_link != table["link"]).any(axis=1) | (selectors != table["selectors"] & 0x3F)
    if (old_link != table["link"]).any():
        # not canonical before: links that no moved vertex concerns stay
        near = np.append(touched, np.zeros(NONE16 + 1 - len(touched), np.bool_))
        ends = np.stack([table["link"].astype(np.int64), new_link.astype(np.int64)], axis=1)
        local = np.where(ends == NONE16, NONE16, np.clip(ends - first, 0, NONE16))
        changed &= touched | near[local].any(axis=(1, 2))
    table["link"][changed] = new_link[changed]
    table["selectors"][changed] = selectors[changed]
    space.triangles[rows] = table


def _links_in_table(vertices: Records, first: int) -> tuple[I64, U16]:
    """Canonical links of a slot whose triangles start at a row of Res7, and their selectors."""
    link, selectors = neighbour_links(np.ascontiguousarray(vertices["position"]))
    return np.where(link == NONE16, NONE16, link.astype(np.int64) + first), selectors


def rebuild_slot(space: Workspace, slot: int, edit: Edit) -> SlotGeometry:
    """Build the slot of an edit by the canonical rules.

    Triangles and vertices that did not change keep their words, and what editors drop (duplicates,
    degenerate triangles) is put back where the vertices are that it used.
    """
    stored, triangles, match = StoredSlot(space, slot), edit.triangles, edit.match
    edit = edit.with_stored_words(stored)
    assert match is not None
    vertices = fresh_vertices(triangles, edit.extra)
    flags = np.zeros(len(triangles), np.uint16)
    hit = np.flatnonzero(match.old_of >= 0)
    partner = match.old_of[hit]
    keep = hit[~match.normals_differ[hit]]
    old = match.old_of[keep]
    # a normal that was turned on purpose is taken; all else of a matched corner is the stored one
    for rows, partners, fields in (
        (keep, old, VERTEX_DTYPE.names),
        (np.setdiff1d(hit, keep), match.old_of[np.setdiff1d(hit, keep)], ("extra", "stream15", "tangents")),
    ):
        at = (rows[:, None], match.new_turn[rows])
        source = space.vertices[stored.corner[partners[:, None], match.old_turn[partners]]]
        for name in fields or ():
            vertices[name][at] = source[name]
    if triangles.extra is not None and not triangles.lightmap:
        colours, channels = vertices["extra"][hit], triangles.colour_channels[hit]
        vertices["extra"][hit] = _edited_colours(colours, triangles.extra[hit], channels)
    _adopt_words(vertices, np.flatnonzero(match.old_of < 0), stored)

    material = triangles.material.copy()
    material[material < 0] = len(edit.words) - 1
    # unchanged triangles keep the words of their batch
    stored_words = np.stack([space.batches[n][list(stored.rows)] for n in BATCH_WORDS], axis=1)
    same = hit[~match.materials_differ[hit]]
    material[same] = len(edit.words) + stored.batch[match.old_of[same]] - stored.rows.start
    if stored.triangles is not None:
        flags[hit] = space.triangles["tri_flags"][stored.triangles[partner]]
    flags = stated_flags(triangles, flags)
    back = match.dropped[_stand(stored, triangles, match)]
    if back.size:
        vertices = np.concatenate([vertices, space.vertices[stored.corner[back]]])
        material = np.concatenate([material, len(edit.words) + stored.batch[back] - stored.rows.start])
        more = np.zeros(len(back), np.uint16)
        if stored.triangles is not None:
            more = space.triangles["tri_flags"][stored.triangles[back]]
        flags = np.concatenate([flags, more])
    every = np.concatenate([edit.words, stored_words.astype(np.uint16)])
    # equal words are one material
    _, first, inverse = np.unique(every, axis=0, return_index=True, return_inverse=True)
    return build_slots([Corners(vertices, inverse.reshape(-1)[material], every[first], flags)])


def _stand(stored: StoredSlot, triangles: TriangleList, match: Match) -> Bools:
    """Whether the part still has every corner of a triangle that an editor dropped. (D,) bool.

    A corner that no lost triangle used counts as there, unless nothing of the part is left.
    """
    if not (match.old_of >= 0).any():
        return np.zeros(len(match.dropped), np.bool_)
    places = stored.space.vertices["position"][stored.corner]
    points = np.concatenate(
        [places[match.dropped].reshape(-1, 3), places[match.lost].reshape(-1, 3), triangles.positions.reshape(-1, 3)]
    )
    ids = row_ids((points + np.float32(0)).view(np.uint32).astype(np.uint64))
    own, lost, now = np.split(ids, np.cumsum([3 * len(match.dropped), 3 * len(match.lost)]))
    there = np.isin(own, now) | ~np.isin(own, lost)
    return np.asarray(there.reshape(-1, 3).all(axis=1))


def _edited_colours(stored: U8, edited: U8, channels: Bools) -> U8:
    """Stored colours, with the edited ones, (T, 3, 4) each, where these are further apart than editors round.

    ``channels``: (T, 1, 4), those that the file knows.
    """
    apart = colours_apart(edited, stored, channels)[..., None]
    return np.asarray(np.where(apart & channels, edited, stored))


def _adopt_words(vertices: Records, fresh: I64, stored: StoredSlot) -> None:
    """Corners of new triangles that sit on a stored vertex take its words that no editor shows:
    the normal's fourth byte, Res15, tangents, and the normal itself where it is that one."""
    if not fresh.size:
        return
    used = np.unique(stored.corner)
    pool = stored.space.vertices[used]
    corner = vertices[fresh].reshape(-1)
    names = ["position", "uv0", "extra"]
    a = np.concatenate([_raw(corner[n]) for n in names], axis=1)
    b = np.concatenate([_raw(pool[n]) for n in names], axis=1)
    both = np.concatenate([b, a])
    _, inverse = np.unique(both, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    home = np.full(int(inverse.max()) + 1, -1)
    home[inverse[: len(b)][::-1]] = np.arange(len(b))[::-1]
    at = home[inverse[len(b) :]]
    found = at >= 0
    near = np.zeros(len(corner), np.bool_)
    near[found] = ~normals_apart(decode_normals(corner["normal"][found]), decode_normals(pool["normal"][at[found]]))
    corner[near] = pool[at[near]]
    vertices[fresh] = corner.reshape(-1, 3)


def _raw(values: NDArray[np.generic]) -> U8:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
