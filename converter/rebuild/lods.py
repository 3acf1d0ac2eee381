"""Make coarser levels of detail from LOD 0 (``--generate-lods``) by quadric simplification."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import cross_products
from ..numeric.quantize import normalise
from ..requirements import needed_for
from ..scene.scene import Mesh, Primitive, Scene, Streams

_FEWEST = 4
_Scalar = TypeVar("_Scalar", bound=np.generic)


def generate_lods(
    scene: Scene, ratios: tuple[float, ...], taken: set[tuple[int, int, int]]
) -> None:
    """Add LOD 1, 2, ... to every node that has a LOD 0 part and none of its own there.

    Each material of a part is simplified by itself, so that materials keep their borders; texture
    coordinates and colours are taken from the nearest old vertex, normals are computed again.

    Args:
        scene: changed in place.
        ratios: of triangles to those of LOD 0, for LOD 1 and LOD 2.
        taken: cells (node, lod, group) that the sidecar fills.

    Raises:
        MissingPackage: the ``lods`` extra is not installed.
    """
    with needed_for("--generate-lods", "lods"):
        import fast_simplification  # noqa: F401
        import scipy.spatial  # noqa: F401
    have = taken | {(part.node, part.lod, part.group) for part in scene.parts}
    pieces = [scene.streams]
    vertex_end, index_end = len(scene.streams.positions), len(scene.streams.indices)
    for part in [p for p in scene.parts if p.lod == 0]:
        for lod, ratio in enumerate(ratios, start=1):
            if (part.node, lod, part.group) in have:
                continue
            primitives = []
            for primitive in scene.meshes[part.mesh].primitives:
                piece = _simplified(scene.streams, primitive, ratio)
                if not len(piece.indices):
                    continue
                pieces.append(piece)
                size, count = len(piece.positions), len(piece.indices)
                primitives.append(
                    primitive._replace(
                        vertex_start=vertex_end,
                        vertex_count=size,
                        index_start=index_end,
                        index_count=count,
                    )
                )
                vertex_end, index_end = vertex_end + size, index_end + count
            if primitives:
                name = f"{scene.nodes[part.node].name}.lod{lod}.group{part.group}"
                scene.meshes.append(Mesh(name, primitives))
                scene.parts.append(part._replace(lod=lod, mesh=len(scene.meshes) - 1))
    scene.streams = _joined(pieces)


def _simplified(streams: Streams, primitive: Primitive, ratio: float) -> Streams:
    """The streams of a primitive with a ratio of its triangles."""
    import fast_simplification
    from scipy.spatial import cKDTree

    window = slice(primitive.vertex_start, primitive.vertex_start + primitive.vertex_count)
    points = streams.positions[window].astype(np.float64)
    last = primitive.index_start + primitive.index_count
    faces = streams.indices[primitive.index_start : last].reshape(-1, 3).astype(np.int64)
    # weld by position: a simplifier tears open what is split for normals or UV
    new_points, inverse = np.unique(points, axis=0, return_inverse=True)
    new_faces = inverse.reshape(-1)[faces]
    wanted = max(_FEWEST, int(len(faces) * ratio))
    if len(faces) > wanted:
        new_points, new_faces = fast_simplification.simplify(
            new_points, new_faces, target_count=wanted
        )
    if not len(new_faces):
        return Streams(np.empty((0, 3), np.float32), np.empty(0, np.uint32))
    nearest = np.asarray(cKDTree(points).query(new_points)[1]) + primitive.vertex_start
    return _piece(streams, np.asarray(new_points), np.asarray(new_faces), nearest)


def _piece(
    streams: Streams,
    points: NDArray[np.float64],
    faces: NDArray[np.int64],
    nearest: NDArray[np.int64],
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
