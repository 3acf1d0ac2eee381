"""Simplify triangles by collapsing edges, onto vertices that are there, by quadric error (Garland and Heckbert 1997).

A vertex moves onto a neighbour and is gone: no vertex has a new place. Vertices on open edges, between materials and
where more than two triangles meet stay; so does a vertex where texture coordinates are split, unless it moves along
that seam. Many collapses that do not touch each other are made at once, so that loops run over rounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import needed_for
from ..numeric.arrays import cross_products
from ..numeric.quantize import normalise

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: A collapse may turn a triangle by this much at most: cosine.
_TURN = 0.25
#: Which of the possible collapses are made in one round: those below this quantile of cost.
_CHEAPEST = 0.3
#: Samples, near each other, whose distances are computed at once.
_CHUNK = 128


class Simplifier:
    """The triangles of a part in the making.

    Attributes:
        faces: (F, 3) int64 vertices of every triangle.
        wedges: (F, 3) int64: which texture coordinates and colours each corner has.
        alive: (F,) which triangles are left.
    """

    def __init__(self, points: F64, faces: I64, material: I64, limit: float, wedges: I64 | None = None) -> None:
        """Start with all triangles.

        Args:
            points: (V, 3), each place once.
            faces: (F, 3), three vertices each.
            material: (F,) of each triangle; edges between two of them stay.
            limit: how far a vertex may be from the surfaces that it replaces.
            wedges: of each corner; corners at one place with equal ones are not split. Default: no splits.
        """
        self.points, self.faces, self.material, self.limit = points, faces.copy(), material, limit
        self.wedges = faces.copy() if wedges is None else wedges.copy()
        self.alive = np.ones(len(faces), np.bool_)
        self._locked = self._borders()
        self._error = np.zeros(len(points))
        self._quadrics = self._planes()

    def reduce(self, wanted: int) -> None:
        """Collapse edges until few enough triangles are left, or none may be."""
        while (over := int(np.count_nonzero(self.alive)) - wanted) > 0:
            if not self._round(over):
                break

    def _borders(self) -> Flags:
        """Vertices that stay: of edges that have not two triangles of one material."""
        ends = _edges(self.faces)
        _, edge, count = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
        edge = edge.reshape(-1)
        owner = np.tile(self.material, 3)
        low, high = np.full(len(count), np.iinfo(np.int64).max), np.full(len(count), -1)
        np.minimum.at(low, edge, owner)
        np.maximum.at(high, edge, owner)
        fixed = ends[((count != 2) | (low != high))[edge]]
        out = np.zeros(len(self.points), np.bool_)
        out[fixed] = True
        return out

    def _planes(self) -> F64:
        """(V, 4, 4): sum of the planes of a vertex's triangles, by their area."""
        cross = cross_products(self.points[self.faces])
        normal = normalise(cross, (0, 0, 0))
        plane = np.column_stack([normal, -np.einsum("ij,ij->i", normal, self.points[self.faces[:, 0]])])
        each = plane[:, :, None] * plane[:, None, :] * np.linalg.norm(cross, axis=1)[:, None, None]
        out = np.zeros((len(self.points), 4, 4))
        for corner in range(3):
            np.add.at(out, self.faces[:, corner], each)
        return out

    def _round(self, over: int) -> bool:
        """Make collapses that do not touch each other; ``over``: triangles too many. Returns whether any was made."""
        rows = np.flatnonzero(self.alive)
        faces = self.faces[rows]
        pairs = np.unique(np.concatenate([faces[:, [a, b]] for a in range(3) for b in range(3) if a != b]), axis=0)
        pairs = pairs[~self._locked[pairs[:, 0]]]
        if not len(pairs):
            return False
        order = np.argsort(faces.reshape(-1), kind="stable")
        start = np.searchsorted(faces.reshape(-1)[order], np.arange(len(self.points) + 1))
        # one row for each triangle at the vertex that goes
        count = np.diff(start)[pairs[:, 0]]
        pair = np.repeat(np.arange(len(pairs)), count)
        begin = np.cumsum(count) - count
        slot = order[np.arange(len(pair)) - begin[pair] + start[pairs[pair, 0]]]
        face, corner = slot // 3, slot % 3
        after = faces[face]
        shared = (after == pairs[pair, 1, None]).any(1)
        old = self.points[after]
        after[np.arange(len(after)), corner] = pairs[pair, 1]
        possible, away = self._possible(pairs, pair, begin, shared, old, after, rows[face], corner)
        if not possible.any():
            return False
        cost = self._cost(pairs)
        chosen = _apart(pairs, pair, begin, after, np.where(possible, cost, np.inf), over, len(self.points))
        self._error[pairs[chosen, 1]] = np.maximum(self._error[pairs[chosen, 1]], away[chosen])
        self._quadrics[pairs[chosen, 1]] += self._quadrics[pairs[chosen, 0]]
        moving = np.isin(pair, chosen)
        self.alive[rows[face[moving & shared]]] = False
        self._move(pair[moving], pairs[pair[moving], 1], shared[moving], rows[face[moving]], corner[moving])
        return len(chosen) > 0

    def _possible(
        self, pairs: I64, pair: I64, begin: I64, shared: Flags, old: F64, after: I64, face: I64, corner: I64
    ) -> tuple[Flags, F64]:
        """Which collapses turn no triangle over, keep the surface whole and its seams, and stay within the limit.

        Returns also the error of each.
        """
        cross, moved = cross_products(old), cross_products(self.points[after])
        unit = normalise(cross, (0, 0, 0))
        length = np.linalg.norm(moved, axis=1)
        upright = shared | ((np.einsum("ij,ij->i", unit, moved) > _TURN * length) & (length > 0))
        target = self.points[pairs[pair, 1]]
        apart = np.abs(np.einsum("ij,ij->i", unit, target - old[:, 0]))
        away = np.maximum.reduceat(apart, begin) + self._error[pairs[:, 0]]
        edges = np.unique(_edges(self.faces[self.alive]), axis=0)
        # neighbours that both ends have: more than the two triangles between them would be folded together
        around = after.copy()
        around[np.arange(len(after)), corner] = -1
        both = [
            np.where((side >= 0) & (side != pairs[pair, 1]), _has(edges, side, pairs[pair, 1]), False)
            for side in around.T
        ]
        common = np.add.reduceat(np.sum(both, axis=0), begin)  # each neighbour is in two triangles
        wedge = self.wedges[face, corner]
        ok = np.logical_and.reduceat(upright, begin) & (np.add.reduceat(shared.astype(int), begin) == 2)
        ok &= (common == 4) & (away <= self.limit)
        return ok & _seams_stay(pair, len(pairs), wedge, shared), away

    def _cost(self, pairs: I64) -> F64:
        place = np.column_stack([self.points[pairs[:, 1]], np.ones(len(pairs))])
        quadrics = self._quadrics[pairs[:, 0]] + self._quadrics[pairs[:, 1]]
        step = np.linalg.norm(self.points[pairs[:, 0]] - self.points[pairs[:, 1]], axis=1)
        flat = np.einsum("ni,nij,nj->n", place, quadrics, place)
        return np.asarray(np.maximum(flat, 0) + 1e-9 * step**4)  # on a plane the shortest step

    def _move(self, pair: I64, target: I64, shared: Flags, face: I64, corner: I64) -> None:
        """Put corners onto other vertices; each side of a seam takes the texture coordinates that it meets there."""
        own = self.wedges[face, corner]
        at = (self.faces[face[shared]] == target[shared, None]).argmax(1)
        size = int(self.wedges.max()) + 1
        known, first = np.unique(pair[shared] * size + own[shared], return_index=True)
        there = self.wedges[face[shared], at][first]
        self.wedges[face, corner] = there[np.searchsorted(known, pair * size + own)]
        self.faces[face, corner] = target


def _edges(faces: I64) -> I64:
    """The ends of every triangle's edges, the lower first. (3F, 2): all first edges, then the second ones."""
    return np.asarray(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1))


def _has(edges: I64, a: I64, b: I64) -> Flags:
    """Whether there is an edge between vertices; ``edges`` are sorted, as of ``np.unique``."""
    size = int(edges.max()) + 2
    keys = edges[:, 0] * size + edges[:, 1]
    wanted = np.minimum(a, b) * size + np.maximum(a, b)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[at] == wanted)


def _seams_stay(pair: I64, count: int, wedge: I64, shared: Flags) -> Flags:
    """Which collapses have a triangle between both ends for each side of the seams at the vertex that goes."""
    size = int(wedge.max(initial=0)) + 1
    keys = pair * size + wedge
    missing = ~np.isin(keys, keys[shared])
    out = np.ones(count, np.bool_)
    out[pair[missing]] = False
    return out


def _apart(pairs: I64, pair: I64, begin: I64, after: I64, cost: F64, over: int, vertices: int) -> I64:
    """The cheapest collapses of which no two have a triangle in common."""
    finite = np.isfinite(cost)
    rank = np.empty(len(cost), np.int64)
    rank[np.argsort(cost, kind="stable")] = np.arange(len(cost))
    most = max(1, int(_CHEAPEST * np.count_nonzero(finite)))
    first = np.full(vertices, len(cost))
    taking = finite & (rank < most)
    around = np.column_stack([after, pairs[pair]])
    row = taking[pair]
    for side in around[row].T:
        np.minimum.at(first, side, rank[pair[row]])
    alone = (first[around] == rank[pair, None]).all(1)
    chosen = np.flatnonzero(taking & np.logical_and.reduceat(alone, begin))
    return np.asarray(chosen[np.argsort(rank[chosen])][: max(1, over // 2)])


def surface_distance(one: F64, other: F64) -> float:
    """Return how far two surfaces are from each other: the larger of both ways.

    Measured from the corners, the middles of edges and of triangles; triangles that both have are not looked at.

    Args:
        one, other: (n, 3, 3) corners of triangles.
    """
    if not len(one) or not len(other):
        return 0.0 if len(one) == len(other) else float("inf")
    return max(_one_way(one, other), _one_way(other, one))


def _one_way(one: F64, other: F64) -> float:
    known = {tuple(sorted(map(tuple, t))) for t in other.tolist()}
    rest = np.array([tuple(sorted(map(tuple, t))) not in known for t in one.tolist()])
    if not rest.any():
        return 0.0
    corners = one[rest]
    middles = (corners + np.roll(corners, 1, axis=1)) / 2
    samples = np.concatenate([corners, middles, corners.mean(1, keepdims=True)], axis=1).reshape(-1, 3)
    samples = np.unique(samples, axis=0)
    with needed_for("--generate-lods", "scipy"):
        from scipy.spatial import cKDTree

    most = np.asarray(cKDTree(other.reshape(-1, 3)).query(samples)[0])  # a corner is no nearer than its triangle
    order = cKDTree(samples).indices  # neighbours follow each other
    low, high = other.min(1), other.max(1)
    away = 0.0
    for start in range(0, len(samples), _CHUNK):
        rows = order[start : start + _CHUNK]
        room = most[rows].max()
        own = samples[rows]
        near = ((high >= own.min(0) - room) & (low <= own.max(0) + room)).all(1)
        away = max(away, float(_distances(own, other[near]).max()))
    return away


def _distances(points: F64, triangles: F64) -> F64:
    """Distance of points (n, 3) to the nearest of triangles (m, 3, 3)."""
    a = triangles[:, 0]
    u, v = triangles[:, 1] - a, triangles[:, 2] - a
    to = points[:, None] - a
    uu, uv, vv = (np.einsum("ij,ij->i", x, y) for x, y in ((u, u), (u, v), (v, v)))
    pu, pv = np.einsum("nmk,mk->nm", to, u), np.einsum("nmk,mk->nm", to, v)
    area = uu * vv - uv * uv
    safe = np.where(area > 0, area, 1)
    s, t = (vv * pu - uv * pv) / safe, (uu * pv - uv * pu) / safe
    inside = (area > 0) & (s >= 0) & (t >= 0) & (s + t <= 1)
    nearest = [np.where(inside, ((to - s[..., None] * u - t[..., None] * v) ** 2).sum(2), np.inf)]
    for k in range(3):
        start, along = triangles[:, k], triangles[:, (k + 1) % 3] - triangles[:, k]
        size = np.maximum((along**2).sum(1), 1e-300)
        part = np.clip(np.einsum("nmk,mk->nm", points[:, None] - start, along) / size, 0, 1)
        nearest.append(((points[:, None] - start - part[..., None] * along) ** 2).sum(2))
    return np.asarray(np.sqrt(np.min(nearest, axis=0).min(1)))
