"""Objects of a glTF document as far as they are read, their values, and its extensions."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, called, printable
from ..converter.formats.gltf import Json
from ..converter.numeric.arrays import F64
from ..converter.scene.scene import ImportedScene, Mesh, require_in_range


class GltfObject:
    """An object of a document (``gltf_schema`` has checked it): its properties are attributes, else ``None``."""

    def __init__(self, data: Json) -> None:
        vars(self).update(data)

    def __getattr__(self, name: str) -> Any:
        return None


def vector(values: Any, width: int) -> F64:
    """Numbers of a JSON list, (width,) float64. Raises ValueError, TypeError: not so many, or none."""
    numbers = np.array(values, np.float64)
    if numbers.shape != (width,):
        raise ValueError(f"{values} are not {width} numbers")
    return numbers


def join_pieces(out: ImportedScene) -> None:
    """Give a node the meshes of nodes below it that state to be the same one, stand there, and have nothing below.

    Programs write such for each material of its mesh (trimesh).
    """
    nodes, clips = out.nodes, [*out.clips, *out.ranges]
    busy = {item.parent for item in nodes} | {track.node for clip in clips for track in clip.tracks}
    pieces = dict[int, list[int]]()
    for i, item in enumerate(nodes):
        known = item.parent >= 0 and ("node" in item.extras or "level" in item.extras)
        same = known and item.extras == nodes[item.parent].extras
        still = item.linear is None and not item.translation.any() and item.rotation[0] == 1
        if same and still and item.mesh >= 0 and nodes[item.parent].mesh < 0 and i not in busy and not item.hidden:
            pieces.setdefault(item.parent, []).append(i)
    mesh_of = dict[tuple[int, ...], int]()
    for above, group in pieces.items():
        numbers = tuple(sorted(nodes[i].mesh for i in group))
        if numbers not in mesh_of:
            mesh_of[numbers] = len(out.meshes)
            out.meshes.append(Mesh(nodes[above].name, [p for k in numbers for p in out.meshes[k].primitives]))
        nodes[above].mesh = mesh_of[numbers]
    gone = {i for group in pieces.values() for i in group}
    row_of = {-1: -1} | {old: new for new, old in enumerate(i for i in range(len(nodes)) if i not in gone)}
    out.nodes = [replace(nodes[i], parent=row_of[nodes[i].parent]) for i in row_of if i >= 0]
    for clip in clips:
        clip.tracks = [replace(track, node=row_of[track.node]) for track in clip.tracks]


def require_finite(read: ImportedScene, label: str) -> None:
    """Refuse a file whose numbers no model can have.

    Raises ConversionError: a number that is not finite, or that became so as float32; or out of range.
    """
    streams = read.streams
    require_in_range("a position", streams.positions, label)
    named: dict[str, NDArray[Any] | None] = {
        "a normal": streams.normals,
        "a texture coordinate": streams.uv0,
        "a lightmap coordinate": streams.uv1,
        "a blend": streams.blend,
        "a number of an areal": streams.areal,
        "a logic flag": streams.logic,
    }
    for item in read.nodes:
        for part in (item.translation, item.rotation, item.linear):
            if part is not None:
                require_in_range(f"the transform of node {called(item.name)}", part, label)
    for track in [track for clip in read.clips for track in clip.tracks]:
        node = f"the animation of node {called(read.nodes[track.node].name)}"
        for channel in (track.translation, track.rotation):
            if channel is not None:
                require_in_range(f"a time of {node}", channel.frames, label)
                require_in_range(f"a value of {node}", channel.values, label)
    for what, values in named.items():
        if values is not None and not np.isfinite(values).all():
            raise ConversionError(f"{what} is not finite", file=label, expected="a float32")


DRACO = "KHR_draco_mesh_compression"
INSTANCING = "EXT_mesh_gpu_instancing"
VISIBILITY = "KHR_node_visibility"


def embedded(uri: str) -> bytes:
    """Return what a data URI holds. Raises binascii.Error: it is not base64, or is cut."""
    about, _, text = uri.partition(",")
    return base64.b64decode(text if about.endswith(";base64") else "-", validate=True)


def hidden_nodes(nodes: Sequence[GltfObject]) -> set[int]:
    """Return the nodes that are hidden, by themselves or with one above (KHR_node_visibility)."""
    hidden: set[int] = set()
    waiting = [
        i for i, node in enumerate(nodes) if (node.extensions or {}).get(VISIBILITY, {}).get("visible", True) is False
    ]
    while waiting:
        node = waiting.pop()
        if node not in hidden:
            hidden.add(node)
            waiting += nodes[node].children or []
    return hidden


def pointer_of(target: Json) -> str:
    """What a channel without a node animates, as KHR_animation_pointer names it; empty where nothing says it."""
    extensions = target.get("extensions")
    pointer = extensions.get("KHR_animation_pointer") if isinstance(extensions, dict) else None
    return str(pointer["pointer"]) if isinstance(pointer, dict) else ""


#: Extensions that are read, or that say nothing about a model.
_READABLE = {
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_lights_punctual",
    "KHR_texture_basisu",
    "EXT_texture_webp",
    DRACO,
    INSTANCING,
    VISIBILITY,
    "KHR_animation_pointer",
}
#: How the names of those begin that change the appearance of a surface, not its shape.
_APPEARANCE = (
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_",
    "KHR_xmp",
    "EXT_materials_",
    "EXT_texture_",
    "EXT_lights_",
    "ADOBE_materials_",
    "MSFT_texture_",
    "MSFT_packing_",
)
#: Begins like one of the appearance; its materials are named by meshes.
_VARIANTS = "KHR_materials_variants"
_UNPACK = "clear Compression in Blender's glTF exporter, or unpack it: npx @gltf-transform/cli copy in.glb out.glb"
#: What to do about an extension that cannot be read.
UNPACK_HINTS = {"EXT_meshopt_compression": _UNPACK, "KHR_meshopt_compression": _UNPACK}


def check_extensions(root: Json, label: str) -> list[str]:
    """Refuse required extensions that change a shape and are not read; ``label``: the file.

    Returns:
        Warnings of the others that are not read. Those of materials that the file can do without are
        reported where materials are compared.

    Raises ConversionError: the document needs what cannot be read.
    """
    required, used = ([n for n in root.get(f"extensions{k}", []) if n not in _READABLE] for k in ("Required", "Used"))
    refused = [name for name in required if not name.startswith(_APPEARANCE)]
    if refused:
        problem, hint = "needs extensions that cannot be read", UNPACK_HINTS.get(refused[0], "export it without them")
        raise ConversionError(problem, file=label, value=printable(", ".join(refused)), hint=hint)
    ignored = [name for name in used if not name.startswith(_APPEARANCE) or name == _VARIANTS]
    return [
        f"{what}: {printable(', '.join(names))}"
        for names, what in (
            (required, "extensions of the appearance are needed and not read, the shape is"),
            (ignored, "extensions are not read, and what they say is ignored"),
        )
        if names
    ]
