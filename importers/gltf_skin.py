"""Skins of glTF as rigid parts: each triangle follows its dominant joint (glTF 2.0, 3.7.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.numeric.quantize import normalise
from ..converter.scene.scene import ImportedNode, ImportedScene, Mesh, Primitive, Streams
from .gltf_file import GltfFile
from .gltf_types import GltfSkin

#: The joints and weights of each vertex, (V, n) both, by mesh and primitive; ``None`` where there are none.
Weights = dict[int, list[tuple[NDArray[np.int64], NDArray[np.float64]] | None]]
_TO_GAME = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)


def bind_skins(file: GltfFile, out: ImportedScene, index_of: dict[int, int], weights: Weights, allowed: bool) -> None:
    """Bind each triangle of a skinned mesh to its dominant joint, or refuse.

    Args:
        file: the document.
        out: what was read of it; changed in place.
        index_of: glTF node -> item.
        weights: of the vertices of each primitive.
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
        skin = file.skins[node.skin]
        if missing := [joint for joint in skin.joints if joint not in index_of]:
            raise ConversionError(
                f"{file.node_title(missing[0])} is a joint, and not in the scene that is read",
                file=file.label,
                hint="put the skeleton into the scene of its mesh",
            )
        _bind(file, out, out.nodes[index_of[i]], skin, index_of, weights.get(node.mesh or 0, []))


def _inverse_bind(file: GltfFile, skin: GltfSkin) -> NDArray[np.float64]:
    """The inverse bind matrix of each joint, (n, 4, 4)."""
    if skin.inverseBindMatrices is None:
        return np.tile(np.eye(4), (len(skin.joints), 1, 1))
    stored = file.array(skin.inverseBindMatrices)
    if stored.shape[1] != 16 or len(stored) < len(skin.joints):
        raise ConversionError(
            "a skin has not an inverse bind matrix for each joint",
            file=file.label,
            value=" x ".join(map(str, stored.shape)),
            expected=f"{len(skin.joints)} x 16",
        )
    inverse = stored.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
    if not (np.isfinite(inverse).all() and (np.linalg.det(inverse[:, :3, :3]) != 0).all()):
        raise ConversionError(
            "an inverse bind matrix scales to nothing, or is not finite",
            file=file.label,
            hint="give the joint a scale other than 0",
        )
    return inverse


def _bind(
    file: GltfFile,
    out: ImportedScene,
    item: ImportedNode,
    skin: GltfSkin,
    index_of: dict[int, int],
    weights: list[tuple[NDArray[np.int64], NDArray[np.float64]] | None],
) -> None:
    """Give each joint the triangles that it has most weight on, in the joint's frame."""
    joints = list(skin.joints)
    inverse = _inverse_bind(file, skin)
    mesh, streams = out.meshes[item.mesh], out.streams
    positions, normals = [streams.positions], [streams.normals]
    per_joint: dict[int, list[Primitive]] = {}
    indices = [streams.indices.astype("<u4")]
    end, index_end = len(streams.positions), len(streams.indices)
    copies: list[NDArray[np.int64]] = [np.arange(end)]
    for weighted, primitive in zip(weights, mesh.primitives, strict=True):
        if weighted is None:
            raise ConversionError(
                f"{item.name!r} has a skin, and its mesh has vertices without joints and weights",
                file=file.label,
                hint="give every vertex a weight, or remove the skin",
            )
        index = streams.indices[primitive.index_start : primitive.index_start + primitive.index_count].reshape(-1, 3)
        owner = _dominant_joints(file, weighted, index, len(joints))
        for j in np.unique(owner).tolist():
            linear = _TO_GAME @ inverse[j, :3, :3] @ _TO_GAME.T
            shift = _TO_GAME @ inverse[j, :3, 3]
            owned = index[owner == j]
            if np.linalg.det(linear) < 0:  # a mirror turns triangles round
                owned = owned[:, ::-1]
            used, chosen = np.unique(owned, return_inverse=True)
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
    file: GltfFile,
    weighted: tuple[NDArray[np.int64], NDArray[np.float64]],
    index: NDArray[np.unsignedinteger],
    count: int,
) -> NDArray[np.int64]:
    """The joint that each triangle has most weight on, (T,), over all sets."""
    joint, weight = weighted
    if joint.max(initial=0) >= count:
        raise ConversionError(
            "a vertex names a joint that its skin does not have",
            file=file.label,
            value=int(joint.max()),
            expected=f"below {count}",
        )
    file.claim(8 * len(index) * count)
    total = np.zeros((len(index), count))
    for corner in range(3):
        rows = index[:, corner]
        for k in range(joint.shape[1]):
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
