"""Skins of glTF as rigid parts: a model of the game has no weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.numeric.quantize import normalise
from ..converter.scene.scene import ImportedNode, ImportedScene, Mesh, Primitive, Streams
from .gltf_file import GltfFile
from .gltf_types import GltfPrimitive, GltfSkin

_TO_GAME = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)


def bind_skins(file: GltfFile, out: ImportedScene, index_of: dict[int, int], allowed: bool) -> None:
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
            f"{file.node_title(skinned[0][0])} has a skin",
            file=file.label,
            hint="parts of a model are rigid: --rigid-skin binds each triangle to one joint",
        )
    for i, node in skinned:
        assert node.skin is not None
        _bind(file, out, out.nodes[index_of[i]], file.skins[node.skin], index_of)


def _bind(file: GltfFile, out: ImportedScene, item: ImportedNode, skin: GltfSkin, index_of: dict[int, int]) -> None:
    """Give each joint the triangles that it has most weight on, in the joint's frame."""
    joints = list(skin.joints)
    if skin.inverseBindMatrices is None:
        inverse = np.tile(np.eye(4), (len(joints), 1, 1))
    else:
        inverse = file.array(skin.inverseBindMatrices).reshape(-1, 4, 4)
        inverse = inverse.transpose(0, 2, 1).astype(np.float64)
    mesh, streams = out.meshes[item.mesh], out.streams
    positions, normals = [streams.positions], [streams.normals]
    per_joint: dict[int, list[Primitive]] = {}
    indices = [streams.indices.astype("<u4")]
    end, index_end = len(streams.positions), len(streams.indices)
    copies: list[NDArray[np.int64]] = [np.arange(end)]
    sources = file.meshes[item.mesh].primitives
    for data, primitive in zip(sources, mesh.primitives, strict=True):
        index = streams.indices[primitive.index_start : primitive.index_start + primitive.index_count].reshape(-1, 3)
        owner = _dominant_joints(file, data, index, len(joints))
        for j in np.unique(owner).tolist():
            linear = _TO_GAME @ inverse[j, :3, :3] @ _TO_GAME.T
            shift = _TO_GAME @ inverse[j, :3, 3]
            used, chosen = np.unique(index[owner == j], return_inverse=True)
            rows = primitive.vertex_start + used.astype(np.int64)
            moved = streams.positions[rows].astype(np.float64) @ linear.T + shift
            positions.append(moved.astype(np.float32))
            if streams.normals is not None:
                turned = streams.normals[rows].astype(np.float64) @ np.linalg.inv(linear)
                normals.append(normalise(turned, (0, 0, 1)).astype(np.float32))
            indices.append(chosen.reshape(-1).astype("<u4"))
            copies.append(rows)
            per_joint.setdefault(j, []).append(Primitive(primitive.material, end, len(rows), index_end, chosen.size))
            end += len(rows)
            index_end += chosen.size
    order = np.concatenate(copies)
    out.streams = Streams(
        np.concatenate(positions),
        np.concatenate(indices),
        None if streams.normals is None else np.concatenate([n for n in normals if n is not None]),
        None if streams.uv0 is None else streams.uv0[order],
        None if streams.uv1 is None else streams.uv1[order],
        None if streams.colours is None else streams.colours[order],
    )
    owners = [(index_of[joints[j]], primitives) for j, primitives in per_joint.items()]
    _give_to_joints(file, out, item, owners)


def _dominant_joints(
    file: GltfFile, data: GltfPrimitive, index: NDArray[np.unsignedinteger], count: int
) -> NDArray[np.int64]:
    """The joint that each triangle has most weight on, (T,)."""
    joint = file.array(data["attributes"]["JOINTS_0"]).astype(np.int64)
    weight = file.array(data["attributes"]["WEIGHTS_0"]).astype(np.float64)
    file.claim(8 * len(index) * count)
    total = np.zeros((len(index), count))
    for corner in range(3):
        rows = index[:, corner]
        for k in range(4):
            np.add.at(total, (np.arange(len(index)), joint[rows, k]), weight[rows, k])
    dominant: NDArray[np.int64] = np.argmax(total, axis=1)
    return dominant


def _give_to_joints(
    file: GltfFile, out: ImportedScene, item: ImportedNode, owners: list[tuple[int, list[Primitive]]]
) -> None:
    """Make a mesh of the primitives of each joint's item, in place of the skinned one."""
    name = out.meshes[item.mesh].name
    item.mesh = -1
    for i, primitives in owners:
        owner = out.nodes[i]
        out.meshes.append(Mesh(f"{name}.{owner.name}", primitives))
        if owner.mesh >= 0:
            raise ConversionError(
                f"joint {owner.name!r} has a mesh of its own", file=file.label, hint="join it with the skinned mesh"
            )
        owner.mesh = len(out.meshes) - 1
    out.report.warnings.append(f"skin of {item.name!r}: each triangle follows its dominant joint")
