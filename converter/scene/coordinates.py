"""Texture coordinates as they are shown: those of materials that show a rectangle of their texture.

glTF states the rectangle beside the coordinates (``KHR_texture_transform``). An OBJ and a ``trimesh.Scene``
cannot: their coordinates are the ones that are shown, and on import those that the game stores again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..formats.gltf import WHOLE, TextureTransform
from .appearance import Appearance
from .scene import Mesh, Scene, Streams

#: Makes coordinates, (n, 2), of others.
Change = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def rectangles_of(scene: Scene, appearance: Appearance) -> dict[int, TextureTransform]:
    """Return the transforms of the materials that show a rectangle of their texture, by index."""
    out = {}
    for i, material in enumerate(scene.materials):
        look, picture = appearance.of(material.row)
        if look is not None and picture is not None and (transform := picture.transform(look.cell)) != WHOLE:
            out[i] = transform
    return out


def as_shown(scene: Scene, rectangles: Mapping[int, TextureTransform]) -> Scene:
    """Return a scene whose texture coordinates are the ones that are shown."""
    changes: dict[int, Change] = {i: one.apply for i, one in rectangles.items()}
    streams, meshes = with_coordinates(scene.streams, scene.meshes, changes)
    return replace(scene, streams=streams, meshes=meshes)


def with_coordinates(
    streams: Streams, meshes: Sequence[Mesh], changes: Mapping[int, Change]
) -> tuple[Streams, list[Mesh]]:
    """Return streams and meshes of a model in which the primitives of some materials have other coordinates.

    They get vertices of their own, as others may share them.

    Args:
        streams, meshes: what there is; not changed.
        changes: what becomes of the coordinates, by material.
    """
    if streams.uv0 is None or not changes:
        return streams, [*meshes]
    count = len(streams.positions)
    rows, uvs, out = [np.arange(count)], [streams.uv0], []
    for mesh in meshes:
        primitives = []
        for primitive in mesh.primitives:
            if (change := changes.get(primitive.material)) is not None:
                window = np.arange(primitive.vertex_start, primitive.vertex_start + primitive.vertex_count)
                rows.append(window)
                uvs.append(change(streams.uv0[window].astype(np.float64)).astype(np.float32))
                primitive, count = primitive._replace(vertex_start=count), count + len(window)
            primitives.append(primitive)
        out.append(replace(mesh, primitives=primitives))
    order = np.concatenate(rows)
    moved = Streams(
        streams.positions[order],
        streams.indices,
        None if streams.normals is None else streams.normals[order],
        np.concatenate(uvs),
        None if streams.uv1 is None else streams.uv1[order],
        None if streams.colours is None else streams.colours[order],
    )
    return moved, out
