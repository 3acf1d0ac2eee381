"""Make coarser levels of detail of parts, of their own vertices (docs/decisions/0031-generated-levels.md).

Triangles are simplified by collapsing edges, by quadric error (Garland and Heckbert 1997). A vertex moves onto a
neighbour and is gone: no vertex has a new place. Vertices on open edges, between materials and where more than two
triangles meet stay; so does a vertex where texture coordinates are split, unless it moves along that seam. The
cheapest collapse is made first, and each changes which may follow: so a queue, and not arrays."""

from __future__ import annotations

import logging
import math
from heapq import heapify, heappop, heappush
from math import sqrt
from typing import NamedTuple

import numpy as np

from ..errors import called, few, plural, printable
from ..findings import Report
from ..numeric.arrays import F64, I64, Bools, cross_products, ranges, surface_distance
from ..numeric.quantize import normalise
from ..scene.dialect import VIEW, Dialect, part_name
from ..scene.scene import GeneratedLevel, Mesh, Part, Scene, Streams

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
    def alive(self) -> Bools:
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


def _borders(faces: I64, material: I64, vertices: int) -> Bools:
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


_FEWEST = 4
#: How often a part is simplified again, each time with half the room, until it is within the bound.
TRIES = 6
#: A part with more triangles is announced: it takes seconds.
_SLOW = 10_000
#: A level that is nearer, of the part's diagonal, is the same surface: places are float32.
_SAME = 1e-6
_LOG = logging.getLogger("msh_gltf")


class _Level(NamedTuple):
    """A part with fewer triangles.

    Attributes:
        corners: (F, 3) vertices of the scene.
        primitive: (F,) primitive of the mesh that each triangle is of.
        error: how far its materials are from those of the part.
    """

    corners: I64
    primitive: I64
    error: float


def generate_lods(
    scene: Scene,
    ratios: tuple[float, ...],
    taken: set[tuple[int, int, int]],
    report: Report,
    dialect: Dialect,
    limit: float,
) -> list[GeneratedLevel]:
    """Add levels 1, 2, ... of every part that is one of level 0 and has none of its own there.

    In ``retail`` the levels of a part are columns 1 to 3 of its row, the damage stage; in ``spec`` they
    are rows 1 and 2 of its column (docs/reference/model.md#the-slot-matrix).

    A level has vertices of its part, with their normals, texture coordinates and colours. Open edges and borders
    between materials stay. How far its surface is from the part's is measured, bounded and reported.

    Args:
        ratios: of triangles to those of level 0, for level 1 and so on.
        taken: cells (node, lod, group) that the sidecar fills.
        report: of the import; states the error of each part, and warns of levels with more triangles than asked for.
        limit: largest error, as a ratio of the diagonal of a part's box.

    Returns:
        What is stated of each.
    """
    out: list[GeneratedLevel] = []
    shown = {part.cell: scene.triangle_count(part.mesh) for part in scene.parts}
    pieces = [scene.streams]
    vertex_end, index_end = len(scene.streams.positions), len(scene.streams.indices)
    short, there, finer = (dict[int, list[Part]]() for _ in range(3))
    for part in [p for p in scene.parts if level_of(p, dialect) == 0]:
        whole = _triangles(scene, part)
        levels = _Levels(scene.streams, part, whole, limit)
        for level, ratio in enumerate(ratios, start=1):
            lod, group = (part.lod, level) if dialect is Dialect.RETAIL else (level, part.group)
            if not len(whole.corners):
                continue
            if (cell := (part.node, lod, group)) in taken or cell in shown:
                there.setdefault(level, []).append(part)
                continue
            name = part_name(scene.nodes[part.node].name, lod, group, dialect)
            if len(whole.corners) > _SLOW:
                _LOG.info("making level %s of %s triangles", printable(name), f"{len(whole.corners):,}")
            nearer, further = _between(shown, part, level, dialect)
            wanted = max(_FEWEST, int(len(whole.corners) * ratio), further)
            made = levels.make(wanted)
            if len(made.corners) > nearer:
                finer.setdefault(level, []).append(part)
                continue
            shown[cell] = len(made.corners)
            if len(made.corners) > wanted:
                short.setdefault(level, []).append(part)
            report.changed(f"part {called(name)}", _stated(made, whole, levels.diagonal))
            out.append(GeneratedLevel(part.node, lod, group, (part.lod, part.group), made.error))
            primitives = []
            for i, primitive in enumerate(scene.meshes[part.mesh].primitives):
                corners = made.corners[made.primitive == i]
                if not len(corners):
                    continue
                used, indices = np.unique(corners, return_inverse=True)
                pieces.append(scene.streams.taken(used, indices.reshape(-1).astype(np.uint32)))
                size, count = len(used), corners.size
                primitives.append(
                    primitive._replace(
                        vertex_start=vertex_end, vertex_count=size, index_start=index_end, index_count=count
                    )
                )
                vertex_end, index_end = vertex_end + size, index_end + count
            scene.meshes.append(Mesh(name, primitives))
            scene.parts.append(part._replace(lod=lod, group=group, mesh=len(scene.meshes) - 1))
    scene.streams = Streams.joined(pieces)
    keeps = (
        f"keeps more triangles than asked for: fewer would be more than {100 * limit:g} % of the part's diagonal away "
        "(--lod-error), or would move an open edge or a border between materials"
    )
    for found, what in (
        (there, "is there already and stays"),
        (finer, "is not made: it would have more triangles than the nearer one that is there"),
        (short, keeps),
    ):
        report.warnings += [_warning(scene, level, found[level], what, dialect) for level in sorted(found)]
    return out


def _between(shown: dict[tuple[int, int, int], int], part: Part, level: int, dialect: Dialect) -> tuple[int, int]:
    """Return the fewest triangles of a part's nearer levels, and the most of its further ones."""
    of = {}
    for (node, lod, group), count in shown.items():
        own, other = (lod, group) if dialect is Dialect.RETAIL else (group, lod)
        if node == part.node and own == (part.lod if dialect is Dialect.RETAIL else part.group) and other < VIEW:
            of[other] = count
    return min(n for at, n in of.items() if at < level), max((n for at, n in of.items() if at > level), default=0)


def level_of(part: Part, dialect: Dialect) -> int:
    """Return which level of detail a part is, 0 the finest."""
    return part.group if dialect is Dialect.RETAIL else part.lod


def _stated(made: _Level, whole: _Level, diagonal: float) -> str:
    """Say how many triangles a level has, and how far it is from its part."""
    count = f"{len(made.corners):,} of {plural(len(whole.corners), 'triangle')}"
    ratio = made.error / diagonal if diagonal else 0.0
    away = f"at most {_rounded_up(100 * ratio):g} % of the part's diagonal away"
    return f"is a generated level: {count}, {away if ratio > _SAME else 'the same surface'}"


def _rounded_up(value: float) -> float:
    """A number of two digits that is not less."""
    step = 10 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1
    return math.ceil(value / step) * step


def _warning(scene: Scene, level: int, parts: list[Part], what: str, dialect: Dialect) -> str:
    """Say what became of a level of some parts."""
    names = [printable(part_name(scene.nodes[part.node].name, part.lod, part.group, dialect)) for part in parts]
    return f"--generate-lods: level {level} of {plural(len(names), 'part')} {what}: {few(names)}"


def _triangles(scene: Scene, part: Part) -> _Level:
    primitives = scene.meshes[part.mesh].primitives
    found = scene.streams.corners(primitives)
    of = np.repeat(np.arange(len(primitives)), [p.index_count // 3 for p in primitives])
    places = scene.streams.positions[found]
    real = (places != np.roll(places, 1, axis=1)).any(2).all(1)
    return _Level(found[real], of[real], 0.0)


class _Levels:
    """Levels of one part, each made of the one before; ``diagonal``: of the part's box."""

    def __init__(self, streams: Streams, part: Part, whole: _Level, limit: float) -> None:
        self.streams, self.whole, self.limit = streams, whole, limit
        self.vertices, corner = np.unique(whole.corners, return_inverse=True)
        points = streams.positions[self.vertices].astype(np.float64)
        if part.matrix is not None:
            points = points @ part.matrix[:3, :3].T + part.matrix[:3, 3]
        self.diagonal = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
        self.places, place = np.unique(points, axis=0, return_inverse=True)
        self.faces = place.reshape(-1)[corner].reshape(-1, 3)
        shown = [s[self.vertices] for s in (streams.uv0, streams.uv1, streams.colours) if s is not None]
        _, wedge = np.unique(np.column_stack([place.reshape(-1), *shown]), axis=0, return_inverse=True)
        self.wedge, self.wedges = wedge.reshape(-1), wedge.reshape(-1)[corner].reshape(-1, 3)
        self._room, self._left = limit * self.diagonal, TRIES
        self._found = self._start()
        self._best = whole

    def _start(self) -> Simplifier:
        return Simplifier(self.places, self.faces, self.whole.primitive, self._room, self.wedges)

    def make(self, wanted: int) -> _Level:
        """Return the part with fewer triangles, as near to it as the bound demands; never more than before."""
        before, materials = self.places[self.faces], self.whole.primitive
        while self._left:
            self._found.reduce(wanted)
            alive = self._found.alive
            after = self.places[self._found.faces[alive]]
            error = max(surface_distance(before[materials == i], after[materials[alive] == i]) for i in set(materials))
            if error <= self.limit * self.diagonal:
                if np.count_nonzero(alive) < len(self._best.corners):
                    own = _vertices(self.streams, self.vertices, self.wedge, self._found, self.whole.corners)
                    self._best = _Level(own, materials[alive], error)
                break
            self._room, self._left = self._room / 2, self._left - 1
            self._found = self._start()
        return self._best


def _vertices(streams: Streams, vertices: I64, wedge: I64, found: Simplifier, before: I64) -> I64:
    """The vertices of the corners that are left, (F, 3): their own; of those that moved the nearest normal's."""
    out = before[found.alive].copy()
    wedges = found.wedges[found.alive]
    stored = np.empty(int(before.max()) + 1, np.int64)
    stored[vertices] = wedge
    face, corner = np.nonzero(stored[out] != wedges)
    if not len(face):
        return out
    order = np.argsort(wedge, kind="stable")
    start = np.searchsorted(wedge[order], wedges[face, corner])
    count = np.searchsorted(wedge[order], wedges[face, corner], side="right") - start
    row, option = np.repeat(np.arange(len(face)), count), vertices[order[ranges(start, count)]]
    cross = cross_products(found.points[found.faces[found.alive]])
    score = np.zeros(len(row))
    if streams.normals is not None:
        score = -np.einsum("ij,ij->i", streams.normals[option].astype(np.float64), cross[face[row]])
    best = np.lexsort((score, row))
    _, first = np.unique(row[best], return_index=True)
    out[face, corner] = option[best[first]]
    return out
