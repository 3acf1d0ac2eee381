"""Make coarser levels of detail of parts, of their own vertices (docs/decisions/0031-generated-levels.md)."""

from __future__ import annotations

import logging
import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import plural, printable
from ..findings import Report
from ..numeric.arrays import cross_products
from ..numeric.distance import surface_distance
from ..scene.dialect import Dialect
from ..scene.part_names import part_name
from ..scene.scene import GeneratedLevel, Mesh, Part, Scene, Streams
from .simplify import Simplifier

_FEWEST = 4
#: How often a part is simplified again, each time with half the room, until it is within the bound.
TRIES = 6
#: Parts that a warning names.
_NAMED = 5
#: A part with more triangles is announced: it takes seconds.
_SLOW = 10_000
#: A level that is nearer, of the part's diagonal, is the same surface: places are float32.
_SAME = 1e-6
_LOG = logging.getLogger("msh_gltf")
_Scalar = TypeVar("_Scalar", bound=np.generic)
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


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
        scene: changed in place.
        ratios: of triangles to those of level 0, for level 1 and so on.
        taken: cells (node, lod, group) that the sidecar fills.
        report: of the import; states the error of each part, and warns of levels with more triangles than asked for.
        dialect: of the model that is made.
        limit: largest error, as a ratio of the diagonal of a part's box.

    Returns:
        What is stated of each.
    """
    out: list[GeneratedLevel] = []
    have = taken | {(part.node, part.lod, part.group) for part in scene.parts}
    pieces = [scene.streams]
    vertex_end, index_end = len(scene.streams.positions), len(scene.streams.indices)
    short: dict[int, list[Part]] = {}
    for part in [p for p in scene.parts if level_of(p, dialect) == 0]:
        whole = _triangles(scene, part)
        levels = _Levels(scene.streams, part, whole, limit)
        for level, ratio in enumerate(ratios, start=1):
            lod, group = (part.lod, level) if dialect is Dialect.RETAIL else (level, part.group)
            if (part.node, lod, group) in have or not len(whole.corners):
                continue
            name = part_name(scene.nodes[part.node].name, lod, group, dialect)
            if len(whole.corners) > _SLOW:
                _LOG.info("making level %s of %s triangles", printable(name), f"{len(whole.corners):,}")
            wanted = max(_FEWEST, int(len(whole.corners) * ratio))
            made = levels.make(wanted)
            if len(made.corners) > wanted:
                short.setdefault(level, []).append(part)
            report.changed(f"part {printable(name)!r}", _stated(made, whole, levels.diagonal))
            out.append(GeneratedLevel(part.node, lod, group, (part.lod, part.group), made.error))
            primitives = []
            for i, primitive in enumerate(scene.meshes[part.mesh].primitives):
                corners = made.corners[made.primitive == i]
                if not len(corners):
                    continue
                used, indices = np.unique(corners, return_inverse=True)
                pieces.append(_piece(scene.streams, used, indices.reshape(-1)))
                size, count = len(used), corners.size
                primitives.append(
                    primitive._replace(
                        vertex_start=vertex_end, vertex_count=size, index_start=index_end, index_count=count
                    )
                )
                vertex_end, index_end = vertex_end + size, index_end + count
            scene.meshes.append(Mesh(name, primitives))
            scene.parts.append(part._replace(lod=lod, group=group, mesh=len(scene.meshes) - 1))
    scene.streams = _joined(pieces)
    report.warnings += [_warning(scene, level, short[level], limit, dialect) for level in sorted(short)]
    return out


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


def _warning(scene: Scene, level: int, parts: list[Part], limit: float, dialect: Dialect) -> str:
    """Say which parts of a generated level are not reduced as asked for."""
    names = [printable(part_name(scene.nodes[part.node].name, part.lod, part.group, dialect)) for part in parts]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"--generate-lods: level {level} of {plural(len(names), 'part')} keeps more triangles than "
        f"asked for: fewer would be more than {100 * limit:g} % of the part's diagonal away (--lod-error), "
        f"or would move an open edge or a border between materials: {', '.join(names[:_NAMED])}{more}"
    )


def _triangles(scene: Scene, part: Part) -> _Level:
    """The triangles of a part, without those that have two corners at one place."""
    corners: list[I64] = [np.empty((0, 3), np.int64)]
    of: list[I64] = [np.empty(0, np.int64)]
    for i, primitive in enumerate(scene.meshes[part.mesh].primitives):
        last = primitive.index_start + primitive.index_count
        own = scene.streams.indices[primitive.index_start : last].astype(np.int64) + primitive.vertex_start
        corners.append(own.reshape(-1, 3))
        of.append(np.full(len(own) // 3, i))
    found, primitives = np.concatenate(corners), np.concatenate(of)
    places = scene.streams.positions[found]
    real = (places != np.roll(places, 1, axis=1)).any(2).all(1)
    return _Level(found[real], primitives[real], 0.0)


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

    def _start(self) -> Simplifier:
        return Simplifier(self.places, self.faces, self.whole.primitive, self._room, self.wedges)

    def make(self, wanted: int) -> _Level:
        """Return the part with fewer triangles, as near to it as the bound demands."""
        before, materials = self.places[self.faces], self.whole.primitive
        while self._left:
            self._found.reduce(wanted)
            alive = self._found.alive
            after = self.places[self._found.faces[alive]]
            error = max(surface_distance(before[materials == i], after[materials[alive] == i]) for i in set(materials))
            if error <= self.limit * self.diagonal:
                own = _vertices(self.streams, self.vertices, self.wedge, self._found, self.whole.corners)
                return _Level(own, materials[alive], error)
            self._room, self._left = self._room / 2, self._left - 1
            self._found = self._start()
        return self.whole


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
    row = np.repeat(np.arange(len(face)), count)
    option = vertices[order[np.arange(len(row)) - (np.cumsum(count) - count)[row] + start[row]]]
    cross = cross_products(found.points[found.faces[found.alive]])
    score = np.zeros(len(row))
    if streams.normals is not None:
        score = -np.einsum("ij,ij->i", streams.normals[option].astype(np.float64), cross[face[row]])
    best = np.lexsort((score, row))
    _, first = np.unique(row[best], return_index=True)
    out[face, corner] = option[best[first]]
    return out


def _piece(streams: Streams, rows: I64, indices: I64) -> Streams:
    """Some vertices of the streams, and triangles of them."""
    return Streams(
        streams.positions[rows],
        indices.astype(np.uint32),
        normals=None if streams.normals is None else streams.normals[rows],
        uv0=None if streams.uv0 is None else streams.uv0[rows],
        uv1=None if streams.uv1 is None else streams.uv1[rows],
        colours=None if streams.colours is None else streams.colours[rows],
    )


def _joined(pieces: list[Streams]) -> Streams:
    def joined(arrays: list[NDArray[_Scalar] | None]) -> NDArray[_Scalar] | None:
        """One stream of all pieces, which have it where the first has it."""
        present = [array for array in arrays if array is not None]
        return None if arrays[0] is None else np.concatenate(present)

    return Streams(
        np.concatenate([p.positions for p in pieces]),
        np.concatenate([p.indices.astype(np.uint32) for p in pieces]),
        normals=joined([p.normals for p in pieces]),
        uv0=joined([p.uv0 for p in pieces]),
        uv1=joined([p.uv1 for p in pieces]),
        colours=joined([p.colours for p in pieces]),
    )
