"""Simplify triangles by collapsing edges, onto vertices that are there, by quadric error (Garland and Heckbert 1997).

A vertex moves onto a neighbour and is gone: no vertex has a new place. Vertices on open edges, between materials and
where more than two triangles meet stay; so does a vertex where texture coordinates are split, unless it moves along
that seam. The cheapest collapse is made first, and each changes which may follow: so a queue, and not arrays.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import cross_products
from ..numeric.quantize import normalise

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: A collapse may turn a triangle by this much at most: cosine.
_TURN = 0.25
#: What a step costs where the surface does not change, by its length: the shortest first.
_STEP = 1e-9
#: A direction or a place.
_Vector = tuple[float, float, float]
#: A collapse that may be made: cost, the vertex that goes, where it goes, and how often both had changed.
_Collapse = tuple[float, int, int, int]
#: Of a collapse that is possible: triangles that go, triangles that stay, error, texture coordinates of each side.
_Made = tuple[list[int], list[int], float, dict[int, int]]


class Simplifier:
    """The triangles of a part in the making; ``points``: (V, 3), each place once."""

    def __init__(self, points: F64, faces: I64, material: I64, limit: float, wedges: I64 | None = None) -> None:
        """Start with all triangles.

        Args:
            points: (V, 3), each place once.
            faces: (F, 3), three vertices each.
            material: (F,) of each triangle; edges between two of them stay.
            limit: how far a vertex may be from the surfaces that it replaces.
            wedges: of each corner; corners at one place with equal ones are not split. Default: no splits.
        """
        self.points, self._limit = points, limit
        self._place: list[_Vector] = [(x, y, z) for x, y, z in points.tolist()]
        self._faces: list[list[int]] = faces.tolist()
        self._wedges: list[list[int]] = self._faces if wedges is None else wedges.tolist()
        self._wedges = [[*wedge] for wedge in self._wedges]
        self._around: list[set[int]] = [set() for _ in self._place]
        for f, corners in enumerate(self._faces):
            for vertex in corners:
                self._around[vertex].add(f)
        self._alive = [True] * len(faces)
        self._left = len(faces)
        self._error = [0.0] * len(points)
        self._changed = [0] * len(points)
        self._locked: list[bool] = _borders(faces, material, len(points)).tolist()
        self._quadrics: list[list[float]] = _planes(points, faces).tolist()
        self._queue: list[_Collapse] = []

    @property
    def alive(self) -> Flags:
        """(F,) which triangles are left."""
        return np.array(self._alive)

    @property
    def faces(self) -> I64:
        """(F, 3) vertices of every triangle."""
        return np.array(self._faces)

    @property
    def wedges(self) -> I64:
        """(F, 3) which texture coordinates and colours each corner has."""
        return np.array(self._wedges)

    def reduce(self, wanted: int) -> None:
        """Collapse edges until few enough triangles are left, or none may be."""
        while self._left > wanted:
            before = self._left
            if not self._queue:
                self._fill()
            while self._queue and self._left > wanted:
                _, goes, target, changed = heappop(self._queue)
                if self._changed[goes] + self._changed[target] != changed:
                    continue
                if (made := self._possible(goes, target)) is not None:
                    self._collapse(goes, target, made)
            if self._left == before:
                return

    def _fill(self) -> None:
        """Queue every collapse: what was impossible may be possible now."""
        sides = {(f[k], f[j]) for f, alive in zip(self._faces, self._alive, strict=True) if alive for k, j in _SIDES}
        self._queue = [
            (self._cost(a, b), a, b, self._changed[a] + self._changed[b]) for a, b in sides if not self._locked[a]
        ]
        heapify(self._queue)

    def _cost(self, goes: int, target: int) -> float:
        """The sum of squared distances of the target to the planes of both, by area."""
        x, y, z = self._place[target]
        u, v, w = self._place[goes]
        aa, ab, ac, ad, bb, bc, bd, cc, cd, dd = map(float.__add__, self._quadrics[goes], self._quadrics[target])
        flat = x * (aa * x + 2 * (ab * y + ac * z + ad)) + y * (bb * y + 2 * (bc * z + bd)) + z * (cc * z + 2 * cd) + dd
        step = (x - u) ** 2 + (y - v) ** 2 + (z - w) ** 2
        return max(flat, 0.0) + _STEP * step * step

    def _possible(self, goes: int, target: int) -> _Made | None:
        """What a collapse does, if it turns no triangle over, keeps surface and seams whole, within the limit."""
        around = self._around[goes]
        gone = [f for f in around if target in self._faces[f]]
        if len(gone) != 2:
            return None
        # neighbours that both ends have: more than the two triangles between them would be folded together
        theirs = {vertex for f in self._around[target] for vertex in self._faces[f]}
        both = {vertex for f in around for vertex in self._faces[f] if vertex in theirs} - {goes, target}
        if len(both) != 2:
            return None
        seams: dict[int, int] = {}
        for f in gone:
            corners, wedges = self._faces[f], self._wedges[f]
            there = wedges[corners.index(target)]
            if seams.setdefault(wedges[corners.index(goes)], there) != there:
                return None
        kept, away = [], 0.0
        for f in around:
            if f in gone:
                continue
            corners = self._faces[f]
            at = corners.index(goes)
            if self._wedges[f][at] not in seams or both.issuperset((corners[at - 1], corners[at - 2])):
                return None
            if (apart := self._apart(corners[at], corners[at - 2], corners[at - 1], target)) is None:
                return None
            away = max(away, apart)
            kept.append(f)
        away += self._error[goes]
        return (gone, kept, away, seams) if away <= self._limit else None

    def _apart(self, goes: int, b: int, c: int, target: int) -> float | None:
        """How far the target is from the plane of a triangle; ``None``: the triangle would turn over."""
        place = self._place
        (ax, ay, az), (bx, by, bz), (cx, cy, cz), (tx, ty, tz) = place[goes], place[b], place[c], place[target]
        ex, ey, ez = cx - bx, cy - by, cz - bz
        ux, uy, uz = ax - bx, ay - by, az - bz
        nx, ny, nz = ey * uz - ez * uy, ez * ux - ex * uz, ex * uy - ey * ux
        vx, vy, vz = tx - bx, ty - by, tz - bz
        mx, my, mz = ey * vz - ez * vy, ez * vx - ex * vz, ex * vy - ey * vx
        old, new = sqrt(nx * nx + ny * ny + nz * nz), sqrt(mx * mx + my * my + mz * mz)
        if not old or not new or nx * mx + ny * my + nz * mz <= _TURN * old * new:
            return None
        return abs(nx * vx + ny * vy + nz * vz) / old

    def _collapse(self, goes: int, target: int, made: _Made) -> None:
        """Put the corners of a vertex onto another; each side of a seam takes the texture coordinates there."""
        gone, kept, away, seams = made
        for f in kept:
            at = self._faces[f].index(goes)
            self._faces[f][at] = target
            self._wedges[f][at] = seams[self._wedges[f][at]]
        for f in gone:
            self._alive[f] = False
            for vertex in self._faces[f]:
                self._around[vertex].discard(f)
        self._left -= len(gone)
        self._around[target].update(kept)
        self._around[goes].clear()
        self._error[target] = max(self._error[target], away)
        self._quadrics[target] = [*map(float.__add__, self._quadrics[target], self._quadrics[goes])]
        self._changed[goes] = -1 << 60
        self._changed[target] += 1
        for vertex in {vertex for f in self._around[target] for vertex in self._faces[f]} - {target}:
            changed = self._changed[vertex] + self._changed[target]
            for a, b in ((vertex, target), (target, vertex)):
                if not self._locked[a]:
                    heappush(self._queue, (self._cost(a, b), a, b, changed))


#: Corners of a triangle that an edge joins, both ways.
_SIDES = ((0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2))


def _borders(faces: I64, material: I64, vertices: int) -> Flags:
    """Vertices that stay: of edges that have not two triangles of one material."""
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    _, edge, count = np.unique(ends[:, 0] * vertices + ends[:, 1], return_inverse=True, return_counts=True)
    owner = np.tile(material, 3)
    low, high = np.full(len(count), np.iinfo(np.int64).max), np.full(len(count), -1)
    np.minimum.at(low, edge, owner)
    np.maximum.at(high, edge, owner)
    out = np.zeros(vertices, np.bool_)
    out[ends[((count != 2) | (low != high))[edge]]] = True
    return out


def _planes(points: F64, faces: I64) -> F64:
    """Sum of the planes of a vertex's triangles, by their area: the upper half of a matrix of 4 x 4. (V, 10)."""
    cross = cross_products(points[faces])
    normal = normalise(cross, (0, 0, 0))
    plane = np.column_stack([normal, -np.einsum("ij,ij->i", normal, points[faces[:, 0]])])
    rows, columns = np.triu_indices(4)
    each = plane[:, rows] * plane[:, columns] * np.linalg.norm(cross, axis=1)[:, None]
    out = np.zeros((len(points), 10))
    for corner in range(3):
        np.add.at(out, faces[:, corner], each)
    return out
