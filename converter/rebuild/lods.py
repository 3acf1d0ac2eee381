"""Coarser levels of detail made from LOD 0 (``--generate-lods``), by quadric simplification."""

from __future__ import annotations

import numpy as np

from ..errors import ConversionError
from ..numeric.arrays import cross_products
from ..numeric.quantize import normalise
from ..scene.scene import Mesh, Part, Primitive, Scene, Streams

_FEWEST = 4


def generate_lods(
    scene: Scene, ratios: tuple[float, ...], taken: set[tuple[int, int, int]]
) -> None:
    """Add LOD 1, 2, ... to every node that has a LOD 0 part and none of its own there.

    Each material of a part is simplified by itself, so that materials keep their borders; texture
    coordinates and colours are taken from the nearest old vertex, normals are computed anew.

    Args:
        scene: changed in place.
        ratios: of the triangles, for LOD 1 and LOD 2.
        taken: cells (node, lod, group) that the sidecar fills.

    Raises:
        ConversionError: the ``lods`` extra is not installed.
    """
    try:
        import fast_simplification
    except ImportError:
        raise ConversionError(
            "--generate-lods needs the simplifier",
            hint="pip install 'msh-gltf[lods]'",
        ) from None
    from scipy.spatial import cKDTree

    have = taken | {(part.node, part.lod, part.group) for part in scene.parts}
    streams = scene.streams
    pieces: list[Streams] = [streams]
    vertex_end, index_end = len(streams.positions), len(streams.indices)
    for part in [p for p in scene.parts if p.lod == 0]:
        for lod, ratio in enumerate(ratios, start=1):
            if (part.node, lod, part.group) in have:
                continue
            primitives = []
            for p in scene.meshes[part.mesh].primitives:
                window = slice(p.vertex_start, p.vertex_start + p.vertex_count)
                points = streams.positions[window].astype(np.float64)
                index = streams.indices[p.index_start : p.index_start + p.index_count]
                faces = index.reshape(-1, 3).astype(np.int64)
                # weld by position: a simplifier tears open what is split for normals or UV
                unique, inverse = np.unique(points, axis=0, return_inverse=True)
                wanted = max(_FEWEST, int(len(faces) * ratio))
                welded = inverse.reshape(-1)[faces]
                new_points, new_faces = unique, welded
                if len(faces) > wanted:
                    new_points, new_faces = fast_simplification.simplify(
                        unique, welded, target_count=wanted
                    )
                if not len(new_faces):
                    continue
                nearest = np.asarray(cKDTree(points).query(new_points)[1]) + p.vertex_start
                pieces.append(
                    _piece(streams, np.asarray(new_points), np.asarray(new_faces), nearest)
                )
                count = 3 * len(new_faces)
                primitives.append(
                    Primitive(p.material, vertex_end, len(new_points), index_end, count)
                )
                vertex_end, index_end = vertex_end + len(new_points), index_end + count
            if primitives:
                name = f"{scene.nodes[part.node].name}.lod{lod}.group{part.group}"
                scene.meshes.append(Mesh(name, primitives))
                scene.parts.append(
                    Part(part.node, lod, part.group, len(scene.meshes) - 1, part.matrix)
                )
    scene.streams = _joined(pieces)


def _piece(
    streams: Streams,
    points: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    faces: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    nearest: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> Streams:
    corners = points[faces].astype(np.float64)
    cross = cross_products(corners)
    total = np.zeros((len(points), 3))
    for corner in range(3):
        np.add.at(total, faces[:, corner], cross)
    return Streams(
        points.astype(np.float32),
        faces.reshape(-1).astype(np.uint32),
        normalise(total, (0, 0, 1)).astype(np.float32),
        None if streams.uv0 is None else streams.uv0[nearest],
        None if streams.uv1 is None else streams.uv1[nearest],
        None if streams.colours is None else streams.colours[nearest],
    )


def _joined(pieces: list[Streams]) -> Streams:
    first = pieces[0]
    return Streams(
        np.concatenate([p.positions for p in pieces]),
        np.concatenate([p.indices.astype(np.uint32) for p in pieces]),
        None
        if first.normals is None
        else np.concatenate([p.normals for p in pieces if p.normals is not None]),
        None if first.uv0 is None else np.concatenate([p.uv0 for p in pieces if p.uv0 is not None]),
        None if first.uv1 is None else np.concatenate([p.uv1 for p in pieces if p.uv1 is not None]),
        None
        if first.colours is None
        else np.concatenate([p.colours for p in pieces if p.colours is not None]),
    )
