"""What materials show, through Blender's glTF add-on, which knows every way to build them of nodes.

A probe goes that way: one object, with a triangle for each material and nothing else. All the rest of a scene
takes the bridge (``to_blender``, ``from_blender``), so that a model's size does not count here.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from .converter.findings import Report
from .converter.formats.gltf import TEXTURE_TRANSFORM, FilePicture, Surface
from .converter.scene.extras import MaterialExtras, read_extras
from .converter.scene.scene import ImportedScene, Material
from .exporters.gltf_file import Builder, glb_bytes
from .importers.gltf import read_flags
from .importers.gltf_file import GltfFile, GltfInMemory, open_gltf
from .importers.materials import read_material, read_surfaces

_CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
#: What goes into the probe's file; the sampling of its animation is none.
_OPTIONS = {
    "export_format": "GLB",
    "export_extras": True,
    "use_active_scene": True,
    "export_animations": False,
    "export_yup": True,
}


@contextlib.contextmanager
def _apart(context: bpy.types.Context) -> Iterator[bpy.types.Scene]:
    """A scene of its own; what is put into it is taken out again, but for materials and pictures."""
    window = context.window
    before = window.scene, window.view_layer
    kept = {group: set(getattr(bpy.data, group)) for group in ("scenes", "collections", "objects", "meshes")}
    scene = window.scene = bpy.data.scenes.new("probe")
    try:
        yield scene
    finally:
        window.scene, window.view_layer = before
        for group, known in kept.items():
            things = getattr(bpy.data, group)
            for thing in [one for one in things if one not in known]:
                things.remove(thing)


def bring_in(context: bpy.types.Context, file: GltfFile, given: ImportedScene) -> list[bpy.types.Material]:
    """Make the materials of a document, and its pictures.

    Args:
        context: Blender's.
        file: the document.
        given: what was read of it.
    """
    count = len(given.materials)
    if not count:
        return []
    probe = Builder()
    attributes = {"POSITION": probe.add_vertices(_CORNERS, bounds=True)}
    for name, there in (("TEXCOORD_0", given.streams.uv0), ("TEXCOORD_1", given.streams.uv1)):
        if there is not None:
            attributes[name] = probe.add_vertices(_CORNERS[:, :2])
    for image in file.root.get("images", []):
        data = np.frombuffer(file.view(image["bufferView"]), np.uint8)
        probe.add_texture({**image, "bufferView": probe.add_buffer_view(data)}, "")
    for name in file.root.get("extensionsUsed", []):
        probe.use_extension(name)
    for material in file.root["materials"]:
        probe.add_material(material)
    primitives = [{"attributes": attributes, "material": i} for i in range(count)]
    probe.add_node({"mesh": probe.add_mesh({"primitives": primitives})})
    probe.scenes.append({"nodes": [0]})
    with tempfile.TemporaryDirectory() as folder, _apart(context) as scene:
        path = Path(folder) / "materials.glb"
        path.write_bytes(glb_bytes(probe.document()))
        bpy.ops.import_scene.gltf(filepath=str(path))
        return list(scene.objects[0].data.materials)


@dataclass
class Looks:
    """What materials show.

    Attributes:
        materials, surfaces, extras, flags: as an ``ImportedScene`` has them.
        layers: the UV map that the picture of each goes through; ``None``: by the first.
    """

    materials: list[Material]
    surfaces: list[Surface[FilePicture]]
    extras: list[MaterialExtras]
    flags: list[int | None]
    layers: list[str | None]


def looks(
    context: bpy.types.Context, used: Sequence[bpy.types.Material], layers: Sequence[str], report: Report
) -> Looks:
    """Return what materials show.

    Args:
        context: Blender's.
        used: the materials.
        layers: names of all UV maps, in the order in which meshes have them.
        report: of the export.
    """
    if not used:
        return Looks([], [], [], [], [])
    with tempfile.TemporaryDirectory() as folder, _apart(context) as scene:
        mesh = bpy.data.meshes.new("materials")
        mesh.from_pydata(np.tile(_CORNERS, (len(used), 1)), [], np.arange(3 * len(used)).reshape(-1, 3).tolist())
        for material in used:
            mesh.materials.append(material)
        mesh.polygons.foreach_set("material_index", np.arange(len(used)))
        for name in layers:
            mesh.uv_layers.new(name=name)
        scene.collection.objects.link(bpy.data.objects.new("materials", mesh))
        path = Path(folder) / "materials.glb"
        bpy.ops.export_scene.gltf(filepath=str(path), **_OPTIONS)
        data = path.read_bytes()
    file = open_gltf(path, GltfInMemory(data))
    report.warnings += file.report.warnings
    order = [primitive.get("material") for primitive in file.meshes[0].primitives]
    surfaces = read_surfaces(file)
    flags = []
    for material in file.materials:
        stated = read_flags(material.extras, f"material {material.name!r}", report)
        flags.append(stated.exported if stated.own is None else stated.own)
    return Looks(
        [read_material(file.materials[i]) for i in order],
        [surfaces[i] for i in order],
        [read_extras(MaterialExtras, file.materials[i].extras) for i in order],
        [flags[i] for i in order],
        [_layer(file.root["materials"][i], layers) for i in order],
    )


def _layer(material: dict, layers: Sequence[str]) -> str | None:
    """The UV map of a material's picture."""
    info = material.get("pbrMetallicRoughness", {}).get("baseColorTexture")
    if info is None or not layers:
        return None
    transform = info.get("extensions", {}).get(TEXTURE_TRANSFORM, {})
    number = transform.get("texCoord", info.get("texCoord", 0))
    return layers[number] if number < len(layers) else layers[0]
