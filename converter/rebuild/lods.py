"""Make coarser levels of detail of parts (``--generate-lods``) by quadric simplification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import needed_for, plural, printable
from ..findings import Report
from ..numeric.arrays import cross_products
from ..numeric.quantize import normalise
from ..scene.dialect import Dialect
from ..scene.scene import Mesh, Part, Primitive, Scene, Streams, part_name

_FEWEST = 4
#: How far a vertex may be moved onto the bounding box, as a ratio of its diagonal.
_CLIPPED = 0.02
#: Parts that a warning names.
_NAMED = 5
_Scalar = TypeVar("_Scalar", bound=np.generic)


def generate_lods(
    scene: Scene, ratios: tuple[float, ...], taken: set[tuple[int, int, int]], report: Report, dialect: Dialect
) -> None:
    """Add levels 1, 2, ... of every part that is one of level 0 and has none of its own there.

    In ``retail`` the levels of a part are columns 1 to 3 of its row, the damage stage; in ``spec`` they
    are rows 1 and 2 of its column (docs/reference/model.md#the-slot-matrix).

    Each material of a part is simplified by itself, so that materials keep their borders; texture
    coordinates and colours are taken from the nearest old vertex, normals are computed again. No
    vertex leaves the bounding box of its material in the part: where the simplifier moves one out,
    the material keeps the triangles of the level before.

    Args:
        scene: changed in place.
        ratios: of triangles to those of level 0, for level 1 and so on.
        taken: cells (node, lod, group) that the sidecar fills.
        report: of the import; a level with more triangles than asked for is warned of.
        dialect: of the model that is made.

    Raises:
        MissingPackage: the ``lods`` extra is not installed.
    """
    with needed_for("--generate-lods", "lods"):
        import fast_simplification  # noqa: F401
        import scipy.spatial  # noqa: F401
    have = taken | {(part.node, part.lod, part.group) for part in scene.parts}
    pieces = [scene.streams]
    vertex_end, index_end = len(scene.streams.positions), len(scene.streams.indices)
    refused: dict[int, dict[tuple[int, int], None]] = {}
    for part in [p for p in scene.parts if level_of(p, dialect) == 0]:
        reduced: dict[int, Streams] = {}  # by primitive, of the LOD before
        for level, ratio in enumerate(ratios, start=1):
            lod, group = (part.lod, level) if dialect is Dialect.RETAIL else (level, part.group)
            if (part.node, lod, group) in have:
                continue
            primitives = []
            for i, primitive in enumerate(scene.meshes[part.mesh].primitives):
                piece = _simplified(scene.streams, primitive, ratio, part.matrix)
                if piece is None:
                    refused.setdefault(level, {})[part.node, part.group] = None
                    piece = reduced.get(i) or _simplified(scene.streams, primitive, 1.0)
                assert piece is not None  # with a ratio of 1 no vertex moves
                reduced[i] = piece
                if not len(piece.indices):
                    continue
                pieces.append(piece)
                size, count = len(piece.positions), len(piece.indices)
                primitives.append(
                    primitive._replace(
                        vertex_start=vertex_end, vertex_count=size, index_start=index_end, index_count=count
                    )
                )
                vertex_end, index_end = vertex_end + size, index_end + count
            if primitives:
                name = part_name(scene.nodes[part.node].name, lod, group, dialect)
                scene.meshes.append(Mesh(name, primitives))
                scene.parts.append(part._replace(lod=lod, group=group, mesh=len(scene.meshes) - 1))
    scene.streams = _joined(pieces)
    nodes = {node for parts in refused.values() for node, _ in parts}
    report.concerned += [scene.nodes[node].name for node in sorted(nodes)]
    report.warnings += [_warning(scene, level, refused[level]) for level in sorted(refused)]


def level_of(part: Part, dialect: Dialect) -> int:
    """Return which level of detail a part is, 0 the finest."""
    return part.group if dialect is Dialect.RETAIL else part.lod


def _warning(scene: Scene, level: int, parts: Iterable[tuple[int, int]]) -> str:
    """Say which parts of a generated level are not reduced as asked for."""
    names = [f"{printable(scene.nodes[node].name)} (group {group})" for node, group in parts]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"--generate-lods: level {level} of {plural(len(names), 'part')} keeps more triangles than "
        f"asked for, as simplifying moved a vertex out of the bounding box: "
        f"{', '.join(names[:_NAMED])}{more}; model it by hand to reduce it further"
    )


def _simplified(
    streams: Streams, primitive: Primitive, ratio: float, matrix: NDArray[np.float64] | None = None
) -> Streams | None:
    """The streams of a primitive with a ratio of its triangles.

    A vertex that leaves the bounding box of the primitive's triangles by little, as the pole of a
    sphere, is put onto the box. ``None``: one left it by more, or the box in the node's frame,
    which a ``matrix`` takes them to. The simplifier places vertices where planes meet; planes that
    are nearly parallel meet far away.
    """
    import fast_simplification
    from scipy.spatial import cKDTree

    last = primitive.index_start + primitive.index_count
    corners = streams.indices[primitive.index_start : last].astype(np.int64)
    corners += primitive.vertex_start
    points = streams.positions[corners].astype(np.float64)
    if not len(points):
        return Streams(np.empty((0, 3), np.float32), np.empty(0, np.uint32))
    # weld by position: a simplifier tears open what is split for normals or UV
    new_points, inverse = np.unique(points, axis=0, return_inverse=True)
    new_faces = inverse.reshape(-1, 3)
    wanted = max(_FEWEST, int(len(new_faces) * ratio))
    if len(new_faces) > wanted:
        new_points, new_faces = fast_simplification.simplify(new_points, new_faces, target_count=wanted)
        within = np.clip(new_points, points.min(0), points.max(0))
        if abs(within - new_points).max(initial=0) > _CLIPPED * np.linalg.norm(np.ptp(points, 0)):
            return None
        new_points = within
        if matrix is not None and not _inside(_placed(within, matrix), _placed(points, matrix)):
            return None
    if not len(new_faces):
        return Streams(np.empty((0, 3), np.float32), np.empty(0, np.uint32))
    nearest = corners[np.asarray(cKDTree(points).query(new_points)[1])]
    return _piece(streams, np.asarray(new_points), np.asarray(new_faces), nearest)


def _placed(points: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, 3) in another frame."""
    moved: NDArray[np.float64] = points @ matrix[:3, :3].T + matrix[:3, 3]
    return moved


def _inside(points: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether points lie in the bounding box of others, but for the rounding of float32."""
    low, high = others.min(0), others.max(0)
    rounding = np.spacing(np.maximum(abs(low), abs(high)).astype(np.float32))
    return bool(((points >= low - rounding) & (points <= high + rounding)).all())


def _piece(
    streams: Streams, points: NDArray[np.float64], faces: NDArray[np.int64], nearest: NDArray[np.int64]
) -> Streams:
    corners = points[faces].astype(np.float64)
    cross = cross_products(corners)
    total = np.zeros((len(points), 3))
    for corner in range(3):
        np.add.at(total, faces[:, corner], cross)
    return Streams(
        points.astype(np.float32),
        faces.reshape(-1).astype(np.uint32),
        normals=normalise(total, (0, 0, 1)).astype(np.float32),
        uv0=None if streams.uv0 is None else streams.uv0[nearest],
        uv1=None if streams.uv1 is None else streams.uv1[nearest],
        colours=None if streams.colours is None else streams.colours[nearest],
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
