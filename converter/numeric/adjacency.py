"""Compute neighbour links and edge selectors of triangles (docs/reference/model.md, Neighbours).

Edge ``k`` of a triangle runs from vertex ``k`` to vertex ``k + 1``. Two triangles are neighbours
across an edge when its end points have equal positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import NONE16

NO_EDGE = 3


def position_ids(corners: NDArray[np.float32]) -> NDArray[np.int64]:
    """Number distinct positions, bitwise but with ``-0.0`` = ``0.0``. (T, 3, 3) -> (T, 3)."""
    x, y, z = (corners + np.float32(0)).reshape(-1, 3).view(np.uint32).astype(np.uint64).T
    plane = _ids(x << np.uint64(32) | y).astype(np.uint64)
    return _ids(plane << np.uint64(32) | z).reshape(-1, 3)


def _ids(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number distinct values, ascending. (n,) -> (n,)."""
    order = np.argsort(values)
    ranked = values[order]
    out = np.empty(len(values), np.int64)
    out[order] = np.cumsum(np.concatenate([[0], ranked[1:] != ranked[:-1]]))[: len(values)]
    return out


def _stable_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """``argsort(keys, kind="stable")`` of non-negative keys, (n,), in a tenth of the time.

    The place goes into the key's low bits where both fit: plain numbers are sorted in parallel
    lanes, and no two are equal.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        return np.argsort(keys, kind="stable")
    places = np.sort(keys << bits | np.arange(len(keys)))
    return np.asarray(places & ((1 << bits) - 1), np.int64)


def row_ids(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number distinct rows, in no particular order. (n, k) -> (n,)."""
    order = np.lexsort(rows.T)
    sorted_rows = rows[order]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    out = np.empty(len(rows), np.int64)
    out[order] = np.cumsum(fresh) - 1
    return out


def neighbour_links(
    corners: NDArray[np.float32], slot: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
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


def _partners(ids: NDArray[np.int64]) -> NDArray[np.int64]:
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


def _repair_self_links(
    partner: NDArray[np.int64],
    backward: NDArray[np.bool_],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    size: NDArray[np.int64],
) -> None:
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
