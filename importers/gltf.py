"""glTF 2.0 to :class:`~converter.scene.scene.ImportedScene` (docs/reference/gltf.md#import).

Nodes keep what the file has; which of them are nodes, parts or foreign is decided by
``converter.edits.nodes``, which also knows the sidecar.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..converter.errors import ConversionError, printable
from ..converter.numeric.pose import parents_first
from ..converter.scene.extras import FileInfo, MaterialExtras, NodeExtras, read_extras
from ..converter.scene.scene import ImportedScene, Material
from .gltf_file import BROKEN_HINT, GltfFile, broken_gltf, open_gltf
from .gltf_mesh import read_meshes
from .gltf_nodes import add_instances, hidden_nodes, read_clips, read_flags, read_node
from .gltf_skin import Weights, bind_skins
from .gltf_types import GltfMaterial, GltfNode, GltfScene, require_finite
from .materials import read_surfaces


def read_gltf(
    path: Path, *, scene: str | None = None, all_scenes: bool = False, rigid_skin: bool = False
) -> ImportedScene:
    """Read a glTF file, in game axes.

    Args:
        path: ``.glb`` or ``.gltf``.
        scene: name or number of the scene to read. Default: all of a file of ours (its other
            scenes are parts), else the default scene.
        all_scenes: the file is ours, even if an editor dropped its extras.
        rigid_skin: bind each triangle of a skinned mesh to its dominant joint.

    Raises:
        ConversionError: not glTF, broken, or with features that a model cannot have.
    """
    file = open_gltf(path)
    try:
        # numbers beyond their type become infinite or NaN here, and are refused at the end
        with broken_gltf(file.label), np.errstate(all="ignore"):
            parents = _parents(file)
            out, index_of, weights = _read_scene(file, parents, _chosen(file, parents, scene, all_scenes))
            bind_skins(file, out, index_of, weights, rigid_skin)
            out.fps = _fps(out, file.label)
            out.clips = read_clips(file, index_of, _placed_nodes(file, parents))
            require_finite(out, file.label)
    except ConversionError as error:
        error.at(file=file.label)
        if file.foreign and error.hint in (None, BROKEN_HINT):  # the likely reason
            error.hint = file.foreign[0]
        raise
    return out


def _read_scene(file: GltfFile, parents: list[int], chosen: list[int]) -> tuple[ImportedScene, dict[int, int], Weights]:
    """Read all but skins and clips; returns also the item of each node, and the weights of skins."""
    main = _default_scene(file)
    index_of = {node: i for i, node in enumerate(chosen)}
    hidden = hidden_nodes(file)
    info = {} if main is None else read_extras(FileInfo, main.extras)
    out = ImportedScene((main and main.name) or "", info, report=file.report)
    out.nodes = [read_node(file, node, index_of.get(parents[node], -1)) for node in chosen]
    for node, i in index_of.items():
        item = out.nodes[i]
        item.hidden = node in hidden
        where = f"node {printable(item.name)!r}"
        item.tri_flags = read_flags(file.nodes[node].extras, where, out.report)
    add_instances(file, out, index_of)
    out.materials = [_material(material) for material in file.materials]
    out.surfaces = read_surfaces(file)
    out.material_extras = [read_extras(MaterialExtras, m.extras) for m in file.materials]
    for material in file.materials:
        where = f"material {printable(material.name or '')!r}"
        flags = read_flags(material.extras, where, out.report)
        out.material_flags.append(flags.exported if flags.own is None else flags.own)
    out.meshes, out.streams, weights = read_meshes(file, {i.mesh for i in out.nodes if i.mesh >= 0})
    out.draco = file.draco_used
    drawn = [primitive for mesh in file.meshes for primitive in mesh.primitives]
    out.has_normals = not drawn or any("NORMAL" in one.get("attributes", {}) for one in drawn)
    for item in out.nodes:
        if item.mesh >= 0:
            shown = out.meshes[item.mesh].primitives
            file.claim(sum(64 * p.vertex_count + 8 * p.index_count for p in shown))
    return out, index_of, weights


def _placed_nodes(file: GltfFile, parents: list[int]) -> set[int]:
    """Nodes of any scene; what was deleted may still be in the file, and in no scene."""
    placed = {node for scene in file.scenes for node in scene.nodes or []}
    for node in parents_first(parents, root=-1):
        if parents[node] in placed:
            placed.add(node)
    return placed


def _fps(out: ImportedScene, label: str) -> float | None:
    """Frames per second as the file states."""
    stated = [out.info, *(item.extras for item in out.nodes)]
    fps = next((float(e["fps"]) for e in stated if "fps" in e), None)
    if fps is not None and not 0 < fps < np.inf:
        raise ConversionError("fps is not positive", file=label, value=fps)
    return fps


def _default_scene(file: GltfFile) -> GltfScene | None:
    return file.scenes[int(file.root.get("scene") or 0)] if file.scenes else None


def _parents(file: GltfFile) -> list[int]:
    """The parent of every node, -1 = none."""
    parents = [-1] * len(file.nodes)
    for i, node in enumerate(file.nodes):
        for child in node.children or []:
            if parents[child] >= 0 or child == i:
                raise ConversionError(f"node {child} has two parents", file=file.label, value=f"{i}")
            parents[child] = i
    if len(parents_first(parents, root=-1)) < len(parents):
        raise ConversionError("nodes form a loop", file=file.label)
    return parents


def _chosen(file: GltfFile, parents: list[int], scene: str | None, all_scenes: bool) -> list[int]:
    """Nodes to read, in file order, without what a model has no place for."""
    found: set[int] = set()
    waiting = _roots(file, parents, scene, all_scenes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += file.nodes[node].children or []
    return [i for i in sorted(found) if not _is_skipped(file.nodes[i])]


def _roots(file: GltfFile, parents: list[int], scene: str | None, all_scenes: bool) -> list[int]:
    """The roots of the chosen scene, or of all scenes of a file that this project made."""
    if scene is not None:
        numbers = [i for i, s in enumerate(file.scenes) if scene in (s.name, str(i))]
        if not numbers:
            names = ", ".join(f"{i} {s.name or ''}".strip() for i, s in enumerate(file.scenes))
            raise ConversionError("no such scene", file=file.label, value=scene, expected=names or "none")
        return list(file.scenes[numbers[0]].nodes or [])
    main = _default_scene(file)
    if main is None:
        return [i for i, parent in enumerate(parents) if parent < 0]
    marked = bool(read_extras(FileInfo, main.extras)) or any(
        read_extras(NodeExtras, node.extras) for node in file.nodes
    )
    filled = [s for s in file.scenes if s.nodes]
    if all_scenes or marked or len(filled) == 1:
        return [node for s in filled for node in s.nodes or []]
    if len(filled) > 1:
        file.report.warnings.append(f"{len(filled)} scenes, only the default one is read (--scene chooses)")
    return list(main.nodes or [])


def _is_skipped(node: GltfNode) -> bool:
    """Cameras and lights without anything below them."""
    light = "KHR_lights_punctual" in (node.extensions or {})
    return (node.camera is not None or light) and node.mesh is None and not node.children


def _material(material: GltfMaterial) -> Material:
    """A material by its extras; numbers are -1 where they are gone."""
    extras = read_extras(MaterialExtras, material.extras)
    return Material(
        material.name or "",
        extras.get("row", -1),
        lightmap=extras.get("lightmap", -1),
        batch_flags=extras.get("batch_flags", -1),
        w2=extras.get("w2", -1),
        w4=extras.get("w4", -1),
        w6=extras.get("w6", -1),
    )
