"""Edit the materials of a model in real Blender, with its own importer and exporter.

    python edit_materials.py SOURCE.glb OUT EDIT

Writes ``OUT/EDIT-plain.glb``, with the exporter's defaults, and ``OUT/EDIT-extras.glb``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy

SOURCE, OUT, EDIT = sys.argv[1:]


def materials(name):
    """The glTF materials of a row: Blender calls them ``name``, ``name.001``, ..."""
    return [m for m in bpy.data.materials if m.name.partition(".")[0] == name]


def shader(material):
    return next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")


def picture(material):
    return next(n for n in material.node_tree.nodes if n.type == "TEX_IMAGE")


def mesh():
    """The hull of the turret."""
    return next(o for o in bpy.context.scene.objects if o.type == "MESH" and "Base_TM" in o.name).data


def nothing():
    pass


def recolour():
    """Emission off: a colour that no picture multiplies."""
    for material in materials("glow"):
        shader(material).inputs["Emission Strength"].default_value = 0.0


def repaint():
    """The image editor: one pixel."""
    image = picture(materials("joint")[0]).image
    image.pixels[:4] = (1, 0, 0, 1)
    image.update()


def new():
    """A new material with a new image on all faces of a mesh."""
    mesh().materials[0] = look("brass", "BRASS")


def reassign():
    mesh().materials[0] = materials("joint")[0]


def rename():
    for material in materials("armour"):
        material.name = "rust"


def delete():
    """The material is deleted, and another one is on its faces."""
    (other,) = materials("joint")[:1]
    for material in materials("glass"):
        material.user_remap(other)
        bpy.data.materials.remove(material)


def another_image():
    """Another image in the node of a material."""
    for material in materials("glass"):
        for node in [n for n in material.node_tree.nodes if n.type == "TEX_IMAGE"]:
            node.image = image_called("PANE")


def image_called(name):
    image = bpy.data.images.get(name)
    if image is None:
        image = bpy.data.images.new(name, 32, 32)
        image.pixels[:] = [0.5, 0.25, 0, 1] * 32 * 32
        image.pack()
    return image


def look(name, image):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image_called(image)
    material.node_tree.links.new(node.outputs["Color"], shader(material).inputs["Base Color"])
    return material


bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=SOURCE)
globals()[EDIT]()
for kind, extras in (("plain", False), ("extras", True)):
    target = Path(OUT) / f"{EDIT}-{kind}.glb"
    bpy.ops.export_scene.gltf(filepath=str(target), export_extras=extras)
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
