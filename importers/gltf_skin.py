"""Skins of glTF as rigid parts: a model of the game has no weights (core page, 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.numeric.quantize import normalise
from ..converter.scene.scene import Imported, Item, Mesh, Primitive, Streams
from .gltf_file import GltfFile


def bind_skins(file: GltfFile, out: Imported, index_of: dict[int, int], allowed: bool) -> None:
    """Bind each triangle of a skinned mesh to its dominant joint, or refuse.

    Args:
        file: the document.
        out: what was read of it; changed in place.
        index_of: glTF node -> item.
        allowed: ``--rigid-skin``.

    Raises:
        ConversionError: there is a skin and it is not allowed, or a joint has a mesh of its own.
    """
    skinned = [
        (i, node)
        for i, node in enumerate(file.nodes)
        if i in index_of and node.skin is not None and node.mesh is not None
    ]
    if not skinned:
        return
    if not allowed:
        raise ConversionError(
            f"node {skinned[0][1].name!r} has a skin",
            file=file.label,
            hint="parts of a model are rigid: --rigid-skin binds each triangle to one joint",
        )
    for node_index, node in skinned:
        skin = file.skins[node.skin]
        item = out.items[index_of[node_index]]
        _bind(file, out, item, skin, index_of)


def _bind(file: GltfFile, out: Imported, item: Item, skin: Any, index_of: dict[int, int]) -> None:
    """Give each joint the triangles that lean on it most, in the joint's frame."""
    joints = list(skin.joints)
    if skin.inverseBindMatrices is None:
        inverse = np.tile(np.eye(4), (len(joints), 1, 1))
    else:
        inverse = file.array(skin.inverseBindMatrices).reshape(-1, 4, 4)
        inverse = inverse.transpose(0, 2, 1).astype(np.float64)
    mesh, streams = out.meshes[item.mesh], out.streams
    sources = file.meshes[item.mesh].primitives
    positions, normals = [streams.positions], [streams.normals]
    per_joint: dict[int, list[Primitive]] = {}
    new_indices = [streams.indices.astype("<u4")]
    end, index_end = len(streams.positions), len(streams.indices)
    copies: list[NDArray[np.int64]] = [np.arange(end)]
    for data, primitive in zip(sources, mesh.primitives, strict=True):
        joint = file.array(data["attributes"]["JOINTS_0"]).astype(np.int64)
        weight = file.array(data["attributes"]["WEIGHTS_0"]).astype(np.float64)
        index = streams.indices[
            primitive.index_start : primitive.index_start + primitive.index_count
        ].reshape(-1, 3)
        file.claim(8 * len(index) * len(joints))
        share = np.zeros((len(index), len(joints)))
        for corner in range(3):
            for k in range(4):
                rows = index[:, corner]
                np.add.at(share, (np.arange(len(index)), joint[rows, k]), weight[rows, k])
        owner = share.argmax(axis=1)
        window = np.arange(primitive.vertex_start, primitive.vertex_start + primitive.vertex_count)
        for j in np.unique(owner).tolist():
            to_game = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)
            linear = to_game @ inverse[j, :3, :3] @ to_game.T
            shift = to_game @ inverse[j, :3, 3]
            used, chosen = np.unique(index[owner == j], return_inverse=True)
            rows = window[used]
            moved = streams.positions[rows].astype(np.float64) @ linear.T + shift
            positions.append(moved.astype(np.float32))
            if streams.normals is not None:
                turned = streams.normals[rows].astype(np.float64) @ np.linalg.inv(linear)
                normals.append(normalise(turned, (0, 0, 1)).astype(np.float32))
            new_indices.append(chosen.reshape(-1).astype("<u4"))
            copies.append(rows)
            per_joint.setdefault(j, []).append(
                Primitive(primitive.material, end, len(rows), index_end, chosen.size)
            )
            end += len(rows)
            index_end += chosen.size
    order = np.concatenate(copies)
    out.streams = Streams(
        np.concatenate(positions),
        np.concatenate(new_indices),
        None if streams.normals is None else np.concatenate([n for n in normals if n is not None]),
        None if streams.uv0 is None else streams.uv0[order],
        None if streams.uv1 is None else streams.uv1[order],
        None if streams.colours is None else streams.colours[order],
    )
    item.mesh = -1
    for j, primitives in per_joint.items():
        owner_item = out.items[index_of[joints[j]]]
        out.meshes.append(Mesh(f"{mesh.name}.{owner_item.name}", primitives))
        if owner_item.mesh >= 0:
            raise ConversionError(
                f"joint {owner_item.name!r} has a mesh of its own",
                file=file.label,
                hint="join it with the skinned mesh",
            )
        owner_item.mesh = len(out.meshes) - 1
    out.warnings.append(f"skin of {item.name!r}: each triangle follows its dominant joint")
