"""Match the triangles of an edited part with those of the stored one.

Comparison is in quantised space (docs/reference/gltf.md): positions bit for bit,
texture coordinates by word. The order of vertices and triangles, and how vertices are shared, is
not compared: a part is a set of corner triples. Normals and materials are looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..numeric.arrays import F32, I64, U8, Bools, join, row_ids
from ..numeric.quantize import encode_lightmap_uv, encode_normals, encode_shown, encode_uv, normalise
from ..scene.scene import Part, Primitive, Scene, Streams, require_in_range

_Scalar = TypeVar("_Scalar", bound=np.generic)

#: Blender mostly turns normals by up to 0.03 degrees, in some fans by 0.36 (measured): the
#: contract's 0.1 would call those edits. One step of a stored normal is 0.45 degrees.
NORMAL_DEGREES = 0.5
#: Blender rounds colours by one step on their way through its colour spaces.
_COLOUR_STEPS = 2
_TURNS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])


@dataclass
class TriangleList:
    """T triangles in a node's frame, quantised.

    Attributes:
        positions: (T, 3, 3) float32.
        normals: (T, 3, 3) float32, or ``None``.
        uv0: (T, 3, 2) int16, or ``None``.
        extra: (T, 3, 4) uint8, Res18 as stored, or ``None``.
        material: (T,) index in the scene's materials, -1 = none.
        vertex: (T, 3) rows of the scene's streams, which identify triangles that editors take for
            degenerate or duplicate.
        lightmap: whether ``extra`` holds lightmap words, else BGRA.
        clamped: how many texture coordinates did not fit.
        known: (T, 4) which channels of a colour the file has, ``None`` = all.
        flags: (T,) flags of the triangles, -1 = unknown; ``None`` = all unknown.
    """

    positions: F32
    normals: F32 | None
    uv0: NDArray[np.int16] | None
    extra: U8 | None
    material: I64
    vertex: I64
    lightmap: bool
    clamped: int = 0
    known: Bools | None = None
    flags: I64 | None = None

    def __len__(self) -> int:
        return len(self.material)

    @property
    def colour_channels(self) -> Bools:
        """Which channels of a colour mean something, (T, 1, 4)."""
        if self.known is None:
            return np.ones((len(self), 1, 4), np.bool_)
        return self.known[:, None]

    def encoded_normals(self) -> NDArray[np.int8]:
        """Return (T, 3, 4) int8 normals; the fourth byte is 0. Without normals: zeros."""
        out = np.zeros((len(self), 3, 4), np.int8)
        if self.normals is not None:
            unit = self.normals.astype(np.float64).reshape(-1, 3)
            out[..., :3] = encode_shown(unit, encode_normals).reshape(-1, 3, 3)
        return out


@dataclass
class Match:
    """How the triangles of a new part meet those of the old one.

    Attributes:
        old_of: (T_new,) old triangle, -1 = none.
        new_turn, old_turn: (T, 3) corner order that makes equal triangles line up.
        lost: old triangles that are gone.
        dropped: old triangles that are gone because editors drop duplicates and degenerate ones.
        normals_differ, colours_differ, materials_differ, flags_differ: (T_new,) for matched
            triangles.
        old_material: (T_old,) materials of the stored part.
        colours_kept: matched triangles whose white is taken for Blender's, not for a colour.
    """

    old_of: I64
    new_turn: I64
    old_turn: I64
    lost: I64
    dropped: I64
    normals_differ: Bools
    colours_differ: Bools
    materials_differ: Bools
    flags_differ: Bools
    old_material: I64
    colours_kept: int = 0

    def compare_materials(self, new: TriangleList, old: TriangleList, same_material: Sequence[set[int]]) -> None:
        """Compare the materials of matched triangles again."""
        hit = np.flatnonzero(self.old_of >= 0)
        alike = _material_table(new, old, same_material)
        self.materials_differ[hit] = ~alike[new.material[hit], old.material[self.old_of[hit]]]

    def compare_flags(self, new: TriangleList, old: TriangleList) -> None:
        """Compare the flags that a file states with the stored ones."""
        if new.flags is None:
            return
        hit = np.flatnonzero(self.old_of >= 0)
        held = 0 if old.flags is None else old.flags[self.old_of[hit]]
        self.flags_differ[hit] = (new.flags[hit] >= 0) & (new.flags[hit] != held)

    def pairs(self) -> tuple[I64, I64, I64]:
        """Return matched triangles, old and new, and the new corner of each old corner.

        (P,), (P,), (P, 3).
        """
        new = np.flatnonzero(self.old_of >= 0)
        old = self.old_of[new]
        turn = np.empty((len(new), 3), np.int64)
        np.put_along_axis(turn, self.old_turn[old], self.new_turn[new], axis=1)
        return old, new, turn

    @property
    def same_triangles(self) -> bool:
        """Whether every triangle of either part is one of the other, whatever its material."""
        return not self.lost.size and not (self.old_of < 0).any()

    @property
    def unchanged(self) -> bool:
        """Whether the new part equals the old one."""
        return (
            self.same_triangles
            and not self.normals_differ.any()
            and not self.colours_differ.any()
            and not self.materials_differ.any()
            and not self.flags_differ.any()
        )

    def describe(self, old_count: int) -> str:
        """Return the difference in a few words."""
        fresh, repainted = int((self.old_of < 0).sum()), int(self.materials_differ.sum())
        if self.lost.size or fresh:
            now = old_count - len(self.lost) - len(self.dropped) + fresh
            what = f"{old_count - len(self.dropped)} triangles became {now}"
            if len(self.lost) == fresh:
                what = "positions or texture coordinates changed on "
                what += f"{fresh} of {old_count} triangles"
            return what + (f", materials on {repainted} others" if repainted else "")
        if repainted:
            return f"materials changed on {repainted} triangles"
        if self.flags_differ.any() and not self.normals_differ.any():
            return f"flags changed on {int(self.flags_differ.sum())} triangles"
        if self.colours_differ.any():
            return f"colours changed on {int(self.colours_differ.sum())} triangles"
        return f"normals changed on {int(self.normals_differ.sum())} triangles"


def triangle_list(scene: Scene, part: Part, *, lightmap: bool) -> TriangleList:
    """Return the triangles of a part in its node's frame. Raises ConversionError: a vertex that is not finite.

    Args:
        part: its matrix is applied; a mirror turns the winding round.
        lightmap: whether Res18 holds lightmap coordinates, else colours.
    """
    streams = scene.streams
    primitives = scene.meshes[part.mesh].primitives
    counts = [p.index_count // 3 for p in primitives]
    vertex = streams.corners(primitives)
    material = np.repeat(np.array([p.material for p in primitives], np.int64), counts)
    positions = streams.positions[vertex]
    normals = None if streams.normals is None else streams.normals[vertex]
    if part.matrix is not None:
        linear = part.matrix[:3, :3]
        moved = positions.astype(np.float64) @ linear.T + part.matrix[:3, 3]
        require_in_range("a vertex in its node", moved)
        positions = moved.astype(np.float32)
        if normals is not None:
            turned = normals.astype(np.float64) @ np.linalg.inv(linear)
            normals = normalise(turned, (0, 0, 1)).astype(np.float32)
        if np.linalg.det(linear) < 0:
            flip = [0, 2, 1]
            vertex, positions = vertex[:, flip], positions[:, flip]
            normals = None if normals is None else normals[:, flip]
        if not np.isfinite(positions).all():
            raise ConversionError("position is not finite", entry=scene.meshes[part.mesh].name)
    uv0, clamped = None, 0
    if streams.uv0 is not None:
        uv0, clamped = encode_uv(streams.uv0[vertex])
    chosen = _stored_extra(streams, vertex, lightmap)
    known = None
    if chosen is not None and not lightmap:
        known = known_channels(chosen, counts)
    return TriangleList(
        positions,
        normals,
        uv0,
        chosen,
        material=material,
        vertex=vertex,
        lightmap=lightmap,
        clamped=clamped,
        known=known,
        flags=_stated_flags(part, primitives),
    )


def concatenate(lists: Sequence[TriangleList]) -> TriangleList:
    """Join triangle lists; a stream that one of them lacks is left out."""

    def joined(arrays: list[NDArray[_Scalar] | None]) -> NDArray[_Scalar] | None:
        present = [array for array in arrays if array is not None]
        return np.concatenate(present) if len(present) == len(arrays) else None

    return TriangleList(
        np.concatenate([one.positions for one in lists]),
        joined([one.normals for one in lists]),
        joined([one.uv0 for one in lists]),
        joined([one.extra for one in lists]),
        material=np.concatenate([one.material for one in lists]),
        vertex=np.concatenate([one.vertex for one in lists]),
        lightmap=lists[0].lightmap,
        clamped=sum(one.clamped for one in lists),
    )


def _stated_flags(part: Part, primitives: list[Primitive]) -> I64:
    """The flags that a part states for its triangles: its material's first. (T,), -1 = none."""
    own = -1 if part.tri_flags is None else part.tri_flags
    return np.repeat(
        np.array([own if p.tri_flags < 0 else p.tri_flags for p in primitives], np.int64),
        [p.index_count // 3 for p in primitives],
    )


def known_channels(colours: U8, counts: list[int]) -> Bools:
    """Return the channels of each triangle's colours that the file knows. (T, 3, 4) -> (T, 4).

    Blender's exporter leaves out the alpha where no material uses it, and (since 5.2) writes white
    on the primitives of a mesh whose material uses alpha in another way than the others: full
    alpha, or white beside colours, on a whole primitive means that nothing is known.

    Args:
        colours: corner colours of a part, alpha last.
        counts: triangles of each primitive.
    """
    ends = np.cumsum(counts)
    full: Bools = np.array(
        [(colours[end - count : end] == 255).all(axis=(0, 1)) for end, count in zip(ends, counts, strict=True)],
        np.bool_,
    ).reshape(-1, 4)
    white = np.asarray(full[:, :3].all(axis=1))
    known = ~full
    known[:, :3] = np.asarray(~white | white.all())[:, None]
    return np.repeat(known, counts, axis=0)


def _stored_extra(streams: Streams, vertex: I64, lightmap: bool) -> U8 | None:
    """Res18 of (T, 3) vertices as stored: lightmap words or BGRA bytes. (T, 3, 4) uint8."""
    if lightmap:
        if streams.uv1 is None:
            return None
        words, _ = encode_lightmap_uv(streams.uv1[vertex])
        return np.ascontiguousarray(words).view(np.uint8).reshape(*vertex.shape, 4)
    return None if streams.colours is None else streams.colours[vertex][..., [2, 1, 0, 3]]


def match(
    new: TriangleList, old: TriangleList, same_material: Sequence[set[int]], degrees: float = NORMAL_DEGREES
) -> Match:
    """Pair triangles that are equal in every stream both sides have.

    Args:
        same_material: per new material the old ones that it may be; empty: not needed.
        degrees: how far apart normals may be and still be the same.
    """
    new_name, old_name = _material_names(new, old, same_material)
    if _equal_in_order(new, old) and np.array_equal(new_name, old_name):
        old_of = np.arange(len(new))
        new_turn = old_turn = np.repeat(_TURNS[:1], len(new), axis=0)
    else:
        new_id, old_id = _corner_ids(new, old)
        size = int(max(new_id.max(initial=0), old_id.max(initial=0))) + 1
        new_key, new_turn = canonical(new_id, size)
        old_key, old_turn = canonical(old_id, size)
        old_of = np.full(len(new), -1, np.int64)
        # first with an equal material, then whatever the material
        join(old_of, [new_key, new_name], [old_key, old_name])
        join(old_of, [new_key], [old_key])

    gone = np.ones(len(old), np.bool_)
    gone[old_of[old_of >= 0]] = False
    missing = np.flatnonzero(gone)
    explained, same = _would_be_dropped(old, missing, gone), np.zeros(len(new), np.bool_)
    result = Match(
        old_of,
        new_turn,
        old_turn,
        lost=missing[~explained],
        dropped=missing[explained],
        normals_differ=same,
        colours_differ=same.copy(),
        materials_differ=same.copy(),
        flags_differ=same.copy(),
        old_material=old.material,
    )
    _compare_corners(result, new, old, degrees)
    result.compare_materials(new, old, same_material)
    return result


def keep_normals(new: TriangleList, old: TriangleList, found: Match) -> None:
    """Give triangles where stored ones are the normals of these: the file has none. ``new`` and ``found`` change."""
    found.normals_differ[:] = False
    if new.normals is None or old.normals is None or not len(new):
        return
    new_id, old_id = _corner_ids(*(replace(one, uv0=None, extra=None) for one in (new, old)))
    size = int(max(new_id.max(initial=0), old_id.max(initial=0))) + 1
    (new_key, new_turn), (old_key, old_turn) = canonical(new_id, size), canonical(old_id, size)
    old_of = found.old_of.copy()
    join(old_of, [new_key], [old_key])
    hit = np.flatnonzero(old_of >= 0)
    partner = old_of[hit]
    new.normals[hit[:, None], new_turn[hit]] = old.normals[partner[:, None], old_turn[partner]]


def _equal_in_order(new: TriangleList, old: TriangleList) -> bool:
    """Whether each triangle equals the one in its place, in every stream both sides have.

    That is how exporters and the rebuild leave most parts, and it costs a tenth of a search.
    """
    streams: list[tuple[NDArray[Any], NDArray[Any]]] = [(new.positions, old.positions)]
    if new.uv0 is not None and old.uv0 is not None:
        streams.append((new.uv0, old.uv0))
    if new.lightmap and new.extra is not None and old.extra is not None:
        streams.append((new.extra, old.extra))
    return all(np.array_equal(*pair) for pair in streams)


def _material_names(new: TriangleList, old: TriangleList, same_material: Sequence[set[int]]) -> tuple[I64, I64]:
    """A number per triangle of either side, equal where the materials may be the same."""
    if not same_material:
        return np.zeros(len(new), np.int64), np.zeros(len(old), np.int64)
    names = np.array([min(s, default=-1) for s in same_material])
    representative = np.arange(int(old.material.max(initial=0)) + 1)
    for group, first in zip(same_material, names.tolist(), strict=False):
        representative[[member for member in group if member < len(representative)]] = first
    new_name = np.where(new.material >= 0, names[new.material], -1)
    return new_name, representative[old.material]


def _compare_corners(result: Match, new: TriangleList, old: TriangleList, degrees: float) -> None:
    """Compare the normals and colours of matched triangles."""
    new_turn, old_turn = result.new_turn, result.old_turn
    hit = np.flatnonzero(result.old_of >= 0)
    partner = result.old_of[hit]
    if new.normals is not None and old.normals is not None and hit.size:
        edited = new.normals[hit[:, None], new_turn[hit]]
        stored = old.normals[partner[:, None], old_turn[partner]]
        result.normals_differ[hit] = normals_apart(edited, stored, degrees).any(axis=1)
    if not new.lightmap and new.extra is not None and old.extra is not None and hit.size:
        a = new.extra[hit[:, None], new_turn[hit]]
        b = old.extra[partner[:, None], old_turn[partner]]
        channels = new.colour_channels[hit]
        result.colours_differ[hit] = colours_apart(a, b, channels).any(axis=1)
        blank = ~np.asarray(channels[:, 0, :3].any(axis=-1))
        apart = colours_apart(a, b, np.ones_like(channels)).any(axis=1)
        result.colours_kept = int((blank & apart).sum())


def normals_apart(a: F32, b: F32, degrees: float = NORMAL_DEGREES) -> Bools:
    """Whether normals are further apart than editors round. (..., 3) each -> (...)."""
    if np.array_equal(a, b):
        return np.zeros(a.shape[:-1], np.bool_)
    cosine = float(np.cos(np.radians(degrees)))
    x, y = a.astype(np.float64), b.astype(np.float64)
    length = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    return np.asarray(~(np.einsum("...i,...i->...", x, y) >= cosine * length))


def colours_apart(a: U8, b: U8, channels: Bools) -> Bools:
    """Whether colours are further apart than editors round, in some channels.

    Args:
        a, b: (T, 3, 4).
        channels: (T, 1, 4), the channels to compare.

    Returns:
        (T, 3).
    """
    apart = np.abs(a.astype(np.int64) - b.astype(np.int64)) * channels
    return np.asarray(apart.max(axis=-1) > _COLOUR_STEPS)


def is_degenerate(triangles: TriangleList) -> Bools:
    """Return which triangles use a vertex twice: Blender deletes them. (T,) bool."""
    a, b, c = triangles.vertex.T
    return np.asarray((a == b) | (b == c) | (a == c))


def _would_be_dropped(old: TriangleList, missing: I64, gone: Bools) -> Bools:
    """Whether Blender explains that a triangle is missing: it is degenerate, or has the
    three vertices of one that came back, in any order."""
    if not missing.size:
        return np.empty(0, np.bool_)
    corners = np.sort(old.vertex, axis=1)
    ids = row_ids(corners.view(np.uint64))
    return np.asarray(is_degenerate(old)[missing] | np.isin(ids[missing], ids[~gone]))


def _corner_ids(new: TriangleList, old: TriangleList) -> tuple[I64, I64]:
    """A number per distinct corner, over the streams that both sides have. (T, 3) each."""
    columns = []
    for triangles in (new, old):
        own = [(triangles.positions + np.float32(0)).view(np.int32)]
        if new.uv0 is not None and old.uv0 is not None and triangles.uv0 is not None:
            own.append(triangles.uv0.astype(np.int32))
        if triangles.lightmap and new.extra is not None and old.extra is not None:
            assert triangles.extra is not None
            own.append(triangles.extra.astype(np.int32))
        joined = np.concatenate(own, axis=-1)
        columns.append(joined.reshape(3 * len(triangles), joined.shape[-1]))
    ids = row_ids(np.concatenate(columns).astype(np.int64).view(np.uint64))
    return ids[: 3 * len(new)].reshape(-1, 3), ids[3 * len(new) :].reshape(-1, 3)


def best_turns(
    new: TriangleList, rows: I64, positions: F32, uv0: NDArray[np.int16] | None, *, plan_view: bool = False
) -> I64:
    """Return the corner rotation of triangles in which most corners are the old ones. (n, 3).

    Args:
        rows: (n,) its triangles.
        positions, uv0: (n, 3, 3) and (n, 3, 2), of the old triangles.
        plan_view: whether equal x and y count too: of a face that moved as a whole, they and the
            texture identify the corners.
    """
    score = np.zeros((len(rows), 3), np.int64)
    for k, rolled in enumerate(_TURNS):
        equal = new.positions[rows][:, rolled] == positions
        score[:, k] = 2 * equal.all(axis=-1).sum(axis=1)
        if plan_view:
            score[:, k] += equal[..., :2].all(axis=-1).sum(axis=1)
        if new.uv0 is not None and uv0 is not None:
            score[:, k] += (new.uv0[rows][:, rolled] == uv0).all(axis=-1).sum(axis=1)
    best: I64 = _TURNS[score.argmax(axis=1)].reshape(-1, 3)
    return best


def canonical(identity: I64, size: int) -> tuple[I64, I64]:
    """Return a key per triangle, and the corner rotation that gives the smallest one.

    (T, 3) corner numbers below ``size`` -> (T,), (T, 3).
    """
    rolled = identity[:, _TURNS]
    value = (rolled[..., 0] * size + rolled[..., 1]) * size + rolled[..., 2]
    best = value.argmin(axis=1)
    return value[np.arange(len(value)), best], _TURNS[best]


def _material_table(new: TriangleList, old: TriangleList, same_material: Sequence[set[int]]) -> Bools:
    """Whether a new and an old material are the same; none, the last row, is as good as any."""
    rows = max(len(same_material), int(new.material.max(initial=-1)) + 1)
    table = np.zeros((rows + 1, int(old.material.max(initial=0)) + 1), np.bool_)
    for i, group in enumerate(same_material):
        table[i, [m for m in group if m < table.shape[1]]] = True
    table[-1] = True
    return table
