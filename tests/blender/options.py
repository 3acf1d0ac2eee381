"""Runs in Blender's Python: export a .glb with options that leave out or change a whole model.

    python options.py MODEL.glb OUT_DIR

Writes ``OUT_DIR/NAME.glb`` for each set of options, and ``edited.glb`` with another base colour.
"""

from __future__ import annotations

import os
import sys

import bpy

model, out = sys.argv[1:]
OPTIONS = {
    "no_materials": {"export_materials": "NONE"},
    "placeholder": {"export_materials": "PLACEHOLDER"},
    "no_images": {"export_image_format": "NONE"},
    "jpeg": {"export_image_format": "JPEG"},
    "z_up": {"export_yup": False},
    "draco": {"export_draco_mesh_compression_enable": True},
}
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=model)
for name, options in OPTIONS.items():
    bpy.ops.export_scene.gltf(filepath=f"{out}/{name}.glb", export_extras=True, **options)
for material in bpy.data.materials:
    nodes = material.node_tree.nodes
    shader = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Roughness"].default_value = 0.25
bpy.ops.export_scene.gltf(filepath=f"{out}/edited.glb")
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
