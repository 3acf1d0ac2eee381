"""Nodes of glTF as items: placement, instances (EXT_mesh_gpu_instancing), visibility."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, plural, printable
from ..converter.numeric.arrays import NONE16
from ..converter.numeric.axes import gltf_to_game, rotation_to_game
from ..converter.numeric.pose import rotation_matrix
from ..converter.numeric.quantize import normalise
from ..converter.scene.extras import NodeExtras, read_extras, typed_extras
from ..converter.scene.scene import ImportedNode, ImportedScene
from .gltf_extensions import INSTANCING, VISIBILITY
from .gltf_file import OBJECT_SIZE, GltfFile
from .gltf_values import vector

_SCALE_NOISE = 1e-5
_ATTRIBUTES = {"TRANSLATION": [0.0, 0, 0], "ROTATION": [0.0, 0, 0, 1], "SCALE": [1.0, 1, 1]}


def read_node(file: GltfFile, i: int, parent: int) -> ImportedNode:
    """Return a node as an item.

    Args:
        file: the document.
        i: the node.
        parent: the node above, -1 = root.

    Raises:
        ConversionError: a transform that is not finite.
    """
    node = file.nodes[i]
    mesh = -1
    if node.mesh is not None:
        mesh = int(node.mesh)
        _ = file.meshes[mesh]  # raises where there is none
    out = _placed(file, node.name or "", parent, node.translation, node.rotation, node.scale)
    if node.matrix is not None:
        matrix = vector(node.matrix, 16).reshape(4, 4).T
        out = _placed(file, out.name, parent, matrix[:3, 3])
        out.linear = _to_game(matrix[:3, :3])
        _require_finite(file, out)
    out.mesh, out.extras = mesh, read_extras(NodeExtras, node.extras)
    out.typed = typed_extras(node.extras)
    if out.extras.get("kind") != "point" and out.extras.get("flags", 0) > NONE16:
        raise ValueError(f"flags of node {node.name!r} are {out.extras['flags']}")
    return out


def _placed(
    file: GltfFile,
    name: str,
    parent: int,
    translation: Sequence[float] | NDArray[Any] | None = None,
    rotation: Sequence[float] | NDArray[Any] | None = None,
    scale: Sequence[float] | NDArray[Any] | None = None,
) -> ImportedNode:
    """An item at a place in glTF axes; what is ``None`` is the identity."""
    moved = vector([0, 0, 0] if translation is None else translation, 3)
    turned = vector([0, 0, 0, 1] if rotation is None else rotation, 4)
    scaled = vector([1, 1, 1] if scale is None else scale, 3)
    spun = rotation_to_game(normalise(turned, (0, 0, 0, 1)))
    linear = None
    if not np.abs(scaled - 1).max() <= _SCALE_NOISE:
        linear = rotation_matrix(spun) @ _to_game(np.diag(scaled))
    place = gltf_to_game(moved.astype(np.float32))
    out = ImportedNode(name, parent, translation=place, rotation=spun, linear=linear, mesh=-1, extras=NodeExtras())
    _require_finite(file, out, turned)
    return out


def _to_game(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """A (3, 3) matrix in game axes: M glTF M^-1, and the axis map M is a rotation."""
    mapped = gltf_to_game(np.ascontiguousarray(linear.T)).T
    return gltf_to_game(np.ascontiguousarray(mapped))


def _require_finite(file: GltfFile, item: ImportedNode, *more: NDArray[np.float64]) -> None:
    values = (item.translation, item.rotation, item.linear, *more)
    if not all(np.isfinite(v).all() for v in values if v is not None):
        raise ConversionError(f"node {item.name!r} has a transform that is not finite", file=file.label)


def hidden_nodes(file: GltfFile) -> set[int]:
    """Return the nodes that are hidden, by themselves or with one above (KHR_node_visibility)."""
    hidden: set[int] = set()
    waiting = [
        i
        for i, node in enumerate(file.nodes)
        if (node.extensions or {}).get(VISIBILITY, {}).get("visible", True) is False
    ]
    while waiting:
        node = waiting.pop()
        if node not in hidden:
            hidden.add(node)
            waiting += file.nodes[node].children or []
    return hidden


def add_instances(file: GltfFile, out: ImportedScene, index_of: dict[int, int]) -> None:
    """Give every instance of a node's mesh an item of its own below the node.

    Args:
        file: the document.
        out: its items; changed in place.
        index_of: glTF node -> item.

    Raises:
        ConversionError: more instances than the size of the file allows.
    """
    for node, i in index_of.items():
        extension = (file.nodes[node].extensions or {}).get(INSTANCING)
        item = out.nodes[i]
        if extension is None or item.mesh < 0 or file.nodes[node].skin is not None:
            continue
        attributes = extension.get("attributes") or {}
        given = {k: _values(file, attributes[k], width=len(v)) for k, v in _ATTRIBUTES.items() if k in attributes}
        count = min(map(len, given.values()), default=0)
        if any(len(values) != count for values in given.values()) or not count:
            raise ValueError(f"instances of node {item.name!r} have {attributes}")
        file.claim(OBJECT_SIZE * count)
        places = [given.get(k, np.tile(v, (count, 1))) for k, v in _ATTRIBUTES.items()]
        for k, (moved, turned, scaled) in enumerate(zip(*places, strict=True)):
            copy = _placed(file, f"{item.name}.{k}", i, moved, turned, scaled)
            copy.mesh, copy.hidden = item.mesh, item.hidden
            out.nodes.append(copy)
        item.mesh = -1
        out.report.warnings.append(
            f"node {printable(item.name)!r}: {plural(count, 'instance')} of its mesh became nodes "
            f"of their own ({INSTANCING})"
        )


def _values(file: GltfFile, accessor: int, *, width: int) -> NDArray[np.float64]:
    """An attribute of instances, (n, width)."""
    values = file.array(accessor)
    if values.shape[1] != width:
        raise ValueError(f"an attribute of instances has {values.shape[1]} numbers")
    file.claim(8 * values.size)
    return values.astype(np.float64)
