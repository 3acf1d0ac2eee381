"""What follows from triangles: neighbours, selectors, face flags, bounds, shared area; polygons: triangles, cells."""

from __future__ import annotations

from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from .arrays import F32, F64, I64, NONE16, U16, U32, Bools, cross_products

NO_EDGE = 3


def position_ids(corners: F32) -> I64:
    """Number distinct positions, bitwise but with ``-0.0`` = ``0.0``. (T, 3, 3) -> (T, 3)."""
    x, y, z = (corners + np.float32(0)).reshape(-1, 3).view(np.uint32).astype(np.uint64).T
    plane = _ids(x << np.uint64(32) | y).astype(np.uint64)
    return _ids(plane << np.uint64(32) | z).reshape(-1, 3)


def _ids(values: NDArray[np.uint64]) -> I64:
    """Number distinct values, ascending. (n,) -> (n,)."""
    order = np.argsort(values)
    ranked = values[order]
    out = np.empty(len(values), np.int64)
    out[order] = np.cumsum(np.concatenate([[0], ranked[1:] != ranked[:-1]]))[: len(values)]
    return out


def _stable_order(keys: I64) -> I64:
    """``argsort(keys, kind="stable")`` of non-negative keys, (n,), in a tenth of the time.

    The place goes into the key's low bits where both fit: plain numbers are sorted in parallel
    lanes, and no two are equal.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        return np.argsort(keys, kind="stable")
    places = np.sort(keys << bits | np.arange(len(keys)))
    return np.asarray(places & ((1 << bits) - 1), np.int64)


def neighbour_links(corners: F32, slot: I64 | None = None) -> tuple[U16, U16]:
    """Return links and packed selectors of the triangles of one slot, or of several.

    On an edge with exactly two triangles they link to each other. On an edge with more, pairs
    are taken greedily in order of (lower triangle, higher triangle), first those that run the
    edge in opposite directions, then the rest. Links are mutual; no triangle links to itself.

    Args:
        corners: (T, 3, 3) float32 positions; T <= 65535.
        slot: (T,) which slot each triangle is in: links stay inside; ``None``: all in one.

    Returns:
        (T, 3) link, 0xFFFF = none, and (T,) selectors: two bits an edge, 3 = none.
    """
    count = len(corners)
    ids = position_ids(corners)
    if slot is not None:
        ids = _ids((slot[:, None] << 32 | ids).reshape(-1).astype(np.uint64)).reshape(-1, 3)
    partner = _partners(ids).reshape(count, 3)
    found = partner >= 0
    link = np.where(found, partner // 3, NONE16).astype(np.uint16)
    edge = np.where(found, partner % 3, NO_EDGE)
    selectors = edge[:, 0] | edge[:, 1] << 2 | edge[:, 2] << 4
    return link, selectors.astype(np.uint16)


def _partners(ids: I64) -> I64:
    """The edge (3 * triangle + k) across every edge, -1 = none. (T, 3) -> (3T,)."""
    start, end = ids.reshape(-1), ids[:, [1, 2, 0]].reshape(-1)
    low, high = np.minimum(start, end), np.maximum(start, end)
    key = low * (int(ids.max(initial=0)) + 1) + high
    backward = start > end
    # equal edges together, forward ones first, each kind by triangle
    order = _stable_order(2 * key + backward)
    key, backward = key[order], backward[order]
    partner = np.full(len(order), -1, np.int64)
    if not len(order):
        return partner
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    size = np.diff(np.append(first, len(key)))
    group = np.repeat(np.arange(len(first)), size)
    backwards = np.add.reduceat(backward.astype(np.int64), first)
    forwards = size - backwards
    rank = np.arange(len(key)) - first[group]
    rank = np.where(backward, rank - forwards[group], rank)
    paired = np.minimum(forwards, backwards)[group]
    # i-th forward with i-th backward; what is left runs one way: next to next
    opposite = rank < paired
    there = first[group] + np.where(backward, rank, forwards[group] + rank)
    left = rank - paired
    beside = np.arange(len(key)) + np.where(left % 2 == 0, 1, -1)
    has_next = (left % 2 == 1) | (rank + 1 < np.where(backward, backwards[group], forwards[group]))
    target = np.where(opposite, there, np.where(has_next, beside, -1))
    partner[order] = np.where(target >= 0, order[target], -1)
    _repair_self_links(partner, start > end, order, first, size)
    return partner


def _repair_self_links(partner: I64, backward: Bools, order: I64, first: I64, size: I64) -> None:
    """Pair again, one by one, the few edges on which a triangle met itself.

    Only degenerate triangles do, so the loop is over those edges alone.
    """
    own = np.flatnonzero((partner >= 0) & (partner // 3 == np.arange(len(partner)) // 3))
    if not own.size:
        return
    group_of = np.empty(len(order), np.int64)
    group_of[order] = np.repeat(np.arange(len(first)), size)
    for group in np.unique(group_of[own]).tolist():
        edges = sorted(order[first[group] : first[group] + size[group]].tolist())
        partner[edges] = -1
        for opposite in (True, False):
            for i, edge in enumerate(edges):
                for other in edges[i + 1 :]:
                    free = partner[edge] < 0 and partner[other] < 0
                    runs = (backward[edge] != backward[other]) == opposite
                    if free and runs and edge // 3 != other // 3:
                        partner[edge], partner[other] = other, edge


_ALL32 = 0xFFFFFFFF


class FaceFlag(IntFlag):
    """The full bits whose meaning is known (docs/reference/terrain.md, Flags of a face)."""

    SECOND_MATERIAL = 0x4
    WATER = 0x8
    EVERY_FACE = 0x600  # two bits, set on every face of the game's terrains
    LIQUID_BED = 0x2000
    WATER_HIGH = 0x20000  # goes with WATER
    NOT_LAVA = 0x100000  # clear on lava


_WORDS = {
    FaceFlag.SECOND_MATERIAL: "second material",
    FaceFlag.WATER: "water",
    FaceFlag.EVERY_FACE: "every face",
    FaceFlag.LIQUID_BED: "liquid bed",
    FaceFlag.WATER_HIGH: "water (high)",
    FaceFlag.NOT_LAVA: "not lava",
}


def passes(flags: U32, required: int = 0, forbidden: int = 0) -> Bools:
    """Return which flags, (...) uint32, pass: every required bit set, every forbidden one clear.

    ``(flags & required) == required && (flags | ~forbidden) == ~forbidden``, as the runtime has it. Raises
    ConversionError: a mask that is not a 32-bit number.
    """
    flags = np.asarray(flags, np.uint32)
    need, clear = np.uint32(_checked(required)), np.uint32(_ALL32 & ~_checked(forbidden))
    return np.asarray(((flags & need) == need) & ((flags | clear) == clear))


def describe(flags: int) -> str:
    """Return full flags in words: names of known bits, other bits in hex; ``none`` for 0.

    Raises ConversionError: not a 32-bit number.
    """
    rest = _checked(flags)
    words = []
    for flag, word in _WORDS.items():
        if rest & flag == flag:
            words.append(word)
            rest &= ~int(flag)
    words += [f"{1 << bit:#x}" for bit in range(32) if rest >> bit & 1]
    return ", ".join(words) or "none"


def _checked(mask: int) -> int:
    if not 0 <= mask <= _ALL32:
        raise ConversionError("mask is not a 32-bit number", value=mask, expected="0..0xFFFFFFFF")
    return mask


def round_up(value: float) -> np.float32:
    """Return the smallest float32 that is not below a value."""
    near = np.float32(value)
    return near if float(near) >= value else np.nextafter(near, np.float32(np.inf))


def round_down(value: float) -> np.float32:
    """Return the largest float32 that is not above a value."""
    return -round_up(-value)


def sphere_radius(center: F32, points: NDArray[np.floating]) -> np.float32:
    """Return the smallest float32 radius of a sphere round all points. (3,), (n, 3)."""
    away = points.astype(np.float64) - center.astype(np.float64)
    return round_up(float(np.sqrt(np.einsum("ni,ni->n", away, away).max(initial=0))))


def slot_bounds(corners: F32) -> dict[str, object]:
    """Return the bound fields of a slot, node-local; ``corners``: (T, 3, 3) float32 corner positions.

    Returns:
        ``aabb_min``, ``aabb_max``, ``sphere_center``, ``sphere_radius``, ``area``, ``volume``.
    """
    points = corners.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    center = ((low + high) * np.float32(0.5)).astype(np.float32)
    exact = corners.astype(np.float64)
    cross = cross_products(exact)
    size = high.astype(np.float64) - low.astype(np.float64)
    return {
        "aabb_min": low,
        "aabb_max": high,
        "sphere_center": center,
        "sphere_radius": sphere_radius(center, points),
        "area": np.float32(np.sqrt(np.einsum("ti,ti->t", cross, cross)).sum() / 2),
        "volume": np.float32(size.prod()),
    }


def hull(low: F32, high: F32) -> F32:
    """Return the eight corners of a box in the header's order. (3,), (3,) -> (8, 3) float32."""
    sides = [low, high]
    # 0 (lo,lo,lo) 1 (hi,lo,lo) 2 (hi,hi,lo) 3 (lo,hi,lo) 4 (lo,hi,hi) 5 (lo,lo,hi) 6 7
    order = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 1), (1, 1, 1)]
    corners = [[sides[pick][axis] for axis, pick in enumerate(c)] for c in order]
    return np.array(corners, np.float32)


def shared_area(first: F64, second: F64) -> tuple[F64, F64]:
    """Return the area that triangles, (K, 3, 2) counter-clockwise, share, (K,), and its centroid, (K, 2): the first
    corner where there is no area.
    """
    origin = first[:, :1]
    ring, other = first - origin, second - origin
    for k in range(3):
        ring = _cut(ring, other[:, k], other[:, (k + 1) % 3])
    after = np.roll(ring, -1, axis=1)
    cross = ring[..., 0] * after[..., 1] - ring[..., 1] * after[..., 0]
    twice = cross.sum(axis=1)
    moment = ((ring + after) * cross[..., None]).sum(axis=1)
    some = twice > 0
    centroid = np.where(some[:, None], moment / np.where(some, 3 * twice, 1)[:, None], 0)
    return np.maximum(twice / 2, 0), centroid + origin[:, 0]


def _cut(ring: F64, a: F64, b: F64) -> F64:
    """What lies left of lines from ``a`` to ``b``, (K, 2), of rings, (K, n, 2): (K, 2n, 2)."""
    along = (b - a)[:, None]
    length = np.maximum((along**2).sum(axis=2), 1e-300)
    after = np.roll(ring, -1, axis=1)

    def height(points: F64) -> F64:
        away = points - a[:, None]
        return np.asarray(along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0])

    def foot(points: F64, heights: F64) -> F64:
        across = np.stack([-along[..., 1], along[..., 0]], axis=2)
        return np.asarray(points - across * (heights / length)[..., None])

    here, there = height(ring), height(after)
    ratio = np.divide(here, here - there, out=np.zeros_like(here), where=here != there)
    crossing = ring + (after - ring) * ratio[..., None]
    crosses = ((here < 0) != (there < 0))[..., None]
    begin = np.where(here[..., None] >= 0, ring, np.where(crosses, crossing, foot(ring, here)))
    end = np.where(there[..., None] >= 0, after, np.where(crosses, crossing, foot(after, there)))
    return np.stack([begin, end], axis=2).reshape(len(ring), -1, 2)


def triangulate(points: F64, start: I64) -> I64:
    """Return the triangles of polygons, ``n - 2`` per polygon, in order: (T, 3) rows of ``points``.

    (V, 2) corners, polygon after polygon, counter-clockwise; (P + 1,) first corner of each.
    """
    count = np.diff(start)
    triangles = np.maximum(count - 2, 0)
    polygon = np.repeat(np.arange(len(count)), triangles)
    first = np.cumsum(triangles) - triangles
    step = np.arange(int(triangles.sum())) - first[polygon]
    base = start[polygon]
    out = np.stack([base, base + step + 1, base + step + 2], axis=1)
    a, b, c = (points[out[:, k]] for k in range(3))
    ahead, beyond = b - a, c - a
    bent = ahead[:, 0] * beyond[:, 1] - ahead[:, 1] * beyond[:, 0] <= 0
    is_bent = np.zeros(len(count), np.bool_)
    is_bent[polygon[bent]] = True
    clipped = np.flatnonzero(is_bent)
    _clip_ears(points, start[clipped], count[clipped], first[clipped], out)
    return out


def triangulate_flat(corners: F64) -> I64:
    """Return the triangles of polygons in space, each seen along the axis that it faces most; they turn as it does.

    (P, n, 3) corners, either way round -> (P * (n - 2), 3) rows of all corners.
    """
    ahead = corners - corners[:, :1]
    with np.errstate(over="ignore", invalid="ignore"):
        normal = np.cross(ahead[:, 1:-1], ahead[:, 2:]).sum(axis=1)
        axis = np.abs(normal).argmax(axis=1)
        seen = np.array([[1, 2], [2, 0], [0, 1]])[axis]
        away = np.take_along_axis(normal, axis[:, None], axis=1) < 0
        seen = np.where(away, seen[:, ::-1], seen)
        flat = np.take_along_axis(ahead, seen[:, None], axis=2)
        start = np.arange(len(corners) + 1) * corners.shape[1]
        return triangulate(flat.reshape(-1, 2), start)


def _clip_ears(points: F64, start: I64, count: I64, row: I64, out: I64) -> None:
    """Cut one corner after the other off polygons; where no ear is left, the second one.

    Polygons with equally many corners left are cut together. (V, 2) corners of all polygons, (P,) the first of each,
    and how many it has, (P,) where its triangles go in ``out``, (T, 3), which is filled in.
    """
    polygon = np.empty(0, np.int64)
    left = np.empty(0, np.int64)
    for size in range(int(count.max(initial=0)), 2, -1):
        new = np.flatnonzero(count == size)
        polygon = np.append(polygon, new)
        whole = start[new, None] + np.arange(size)
        left = np.concatenate([left.reshape(-1, size), whole])
        ear = _first_ears(points.T.take(left, axis=1)) if size > 3 else np.ones(len(left), np.int64)
        ends = np.stack([ear - 1, ear, (ear + 1) % size], axis=1)
        out[row[polygon] + count[polygon] - size] = np.take_along_axis(left, ends, axis=1)
        left = left[np.arange(size) != ear[:, None]]


def _first_ears(corners: F64) -> I64:
    """The first ear of each polygon, 1 where it has none. (2, P, n) -> (P,).

    An ear is a corner that sticks out, and no other corner lies in its triangle.
    """
    places = np.arange(corners.shape[2])
    before, after = (corners.take(places + k, axis=2, mode="wrap") for k in (-1, 1))
    sticks_out = _side(before, corners, after) > 0
    ear = np.ones(corners.shape[1], np.int64)
    without = np.arange(len(ear))
    for i in np.flatnonzero(sticks_out.any(axis=0)).tolist():
        found = sticks_out[without, i] & _is_free(corners, i)
        ear[without[found]] = i
        without, corners = without[~found], corners[:, ~found]
        if not without.size:
            break
    return ear


def _is_free(corners: F64, i: int) -> Bools:
    """Whether no other corner lies in the triangle of corner ``i``. (2, P, n) -> (P,)."""
    ends = [i - 1, i, (i + 1) % corners.shape[2]]
    a, b, c = (corners[:, :, end, None] for end in ends)
    inside = (_side(a, b, corners) >= 0) & (_side(b, c, corners) >= 0) & (_side(c, a, corners) >= 0)
    inside[:, ends] = False
    return np.asarray(~inside.any(axis=1))


def _side(a: F64, b: F64, points: F64) -> F64:
    """Twice the signed area of the triangles (a, b, point); x and y first."""
    edge, away = b - a, points - a
    return np.asarray(edge[0] * away[1] - edge[1] * away[0])


#: An areal overlaps a cell if they share more than this part of the cell.
_OVERLAP = 1e-9


#: Elements of one round of an all-pairs computation, which bounds its memory.
_AT_ONCE = 1 << 20


def cells_under(polygon: F64, borders_x: F64, borders_y: F64) -> tuple[I64, Bools, Bools]:
    """Return the cells around a polygon, (n, 2) counter-clockwise: which it touches, which it overlaps.

    Args:
        borders_x, borders_y: (cells_x + 1,), (cells_y + 1,) increasing borders of columns and rows.

    Returns:
        Rows of the K cells that the polygon's box touches (``x * cells_y + y``); (K,) whether it shares a point with
        the closed cell; (K,) whether it shares an area, more than 1e-9 of the cell's.
    """
    spans = []
    for k, borders in enumerate((borders_x, borders_y)):
        first = int(np.searchsorted(borders, polygon[:, k].min(), "left")) - 1
        last = int(np.searchsorted(borders, polygon[:, k].max(), "right")) - 1
        spans.append(np.arange(max(first, 0), min(last, len(borders) - 2) + 1))
    x, y = (grid.ravel() for grid in np.meshgrid(*spans, indexing="ij"))
    rows = x * (len(borders_y) - 1) + y
    low = np.stack([borders_x[x], borders_y[y]], 1)
    high = np.stack([borders_x[x + 1], borders_y[y + 1]], 1)
    touch, overlap = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    for part in np.array_split(np.arange(len(rows)), 1 + len(rows) * len(polygon) // _AT_ONCE):
        shared = _shared_area(polygon, low[part], high[part])
        overlap[part] = shared > _OVERLAP * (high[part] - low[part]).prod(1)
        touch[part] = overlap[part] | _edges_touch(polygon, low[part], high[part])
    return rows, touch, overlap


def _shared_area(polygon: F64, low: F64, high: F64) -> F64:
    """(K,) the area that a polygon shares with each rectangle, (K, 2) its corners.

    Over the columns of the rectangle, the polygon's inside is what lies below its upper edges
    less what lies below its lower ones; both are cut to the rectangle's height, and each edge
    adds one integral.
    """
    a, b = polygon, np.roll(polygon, -1, 0)
    along = b - a
    begin = np.clip(a[None, :, 0], low[:, :1], high[:, :1])
    end = np.clip(b[None, :, 0], low[:, :1], high[:, :1])
    slope = np.divide(along[:, 1], along[:, 0], out=np.zeros(len(a)), where=along[:, 0] != 0)
    y_begin = a[:, 1] + (begin - a[:, 0]) * slope
    y_end = a[:, 1] + (end - a[:, 0]) * slope

    def above(base: F64) -> F64:
        """Mean of ``max(y - base, 0)`` along each edge's part."""
        u, v = y_begin - base, y_end - base
        both = (u >= 0) & (v >= 0)
        height = np.where(both, 0, np.abs(u - v))
        peak = np.maximum(np.maximum(u, v), 0)
        crossing = np.divide(peak * peak, height, out=np.zeros_like(u), where=height > 0)
        return np.where(both, u + v, crossing) / 2

    return np.asarray(((begin - end) * (above(low[:, 1:]) - above(high[:, 1:]))).sum(1), np.float64)


def _edges_touch(polygon: F64, low: F64, high: F64) -> Bools:
    """(K,) whether an edge of the polygon shares a point with each closed rectangle."""
    a, b = polygon, np.roll(polygon, -1, 0)
    boxes = (np.minimum(a, b) <= high[:, None]) & (np.maximum(a, b) >= low[:, None])
    along = b - a
    # the rectangle's corners, seen from the edge: on both sides of it, or on its line
    sides = np.stack(
        [
            along[:, 0] * (y[:, None] - a[:, 1]) - along[:, 1] * (x[:, None] - a[:, 0])
            for x in (low[:, 0], high[:, 0])
            for y in (low[:, 1], high[:, 1])
        ]
    )
    crossed = boxes.all(2) & (sides.min(0) <= 0) & (sides.max(0) >= 0)
    return np.asarray(crossed.any(1))


def crossing_edges(xy: F64) -> tuple[int, int] | None:
    """Return two edges of a polygon that cross in a point inside both; touching does not count.

    (n, 2) float64.
    """
    following = np.roll(xy, -1, 0)
    along = following - xy

    def sides(edges: I64, points: F64) -> F64:
        across = points[None] - xy[edges, None]
        cross = along[edges, None, 0] * across[..., 1] - along[edges, None, 1] * across[..., 0]
        return np.sign(cross)

    every = np.arange(len(xy))
    for edges in np.array_split(every, 1 + len(xy) ** 2 // _AT_ONCE):
        apart = sides(edges, xy) * sides(edges, following) < 0  # their ends, seen from ours
        mine = sides(every, xy[edges]) * sides(every, following[edges]) < 0
        hits = np.argwhere(apart & mine.T)
        if len(hits):
            return int(edges[hits[0, 0]]), int(hits[0, 1])
    return None


def left_over(edges: I64) -> I64:
    """Return edges without those that another one runs back, sorted. (E, 2) -> (B, 2)."""
    edges = edges[edges[:, 0] != edges[:, 1]]
    if not len(edges):
        return edges
    backward = edges[:, 0] > edges[:, 1]
    both, place = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    net = np.bincount(place.reshape(-1), np.where(backward, -1, 1), len(both)).astype(np.int64)
    rows = np.where((net < 0)[:, None], both[:, ::-1], both)
    out = rows.repeat(np.abs(net), axis=0)
    return np.asarray(out[np.lexsort((out[:, 1], out[:, 0]))], np.int64)
