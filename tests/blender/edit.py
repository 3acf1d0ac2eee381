"""Runs in Blender's Python: import a .glb, scale a node as an artist would, export it.

    python edit.py IN.glb OUT_DIR NODE EDIT...

Writes ``OUT_DIR/EDIT.glb`` per edit, with the stock exporter's defaults.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy


def mirror(node):
    """Negative scale in object mode, as Ctrl+M leaves it."""
    bpy.data.objects[node].scale.x *= -1


def mirror_twice(node):
    """Two negative scales: half a turn."""
    found = bpy.data.objects[node]
    found.scale = (-found.scale.x, found.scale.y, -found.scale.z)


def mirror_bigger(node):
    bpy.data.objects[node].scale = (-1.5, 1.5, 1.5)


def apply_scale(node, scale, *, below=False):
    """Scale, and Object > Apply > Scale, on it alone or on all below it too."""
    found = bpy.data.objects[node]
    found.scale = [a * b for a, b in zip(found.scale, scale, strict=True)]
    for each in bpy.context.view_layer.objects:
        if each.data is not None and each.data.users > 1:
            each.data = each.data.copy()
        each.select_set(each == found or (below and each in found.children_recursive))
    bpy.context.view_layer.objects.active = found
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)


def mirror_applied(node):
    apply_scale(node, (-1, 1, 1))


def mirror_applied_below(node):
    apply_scale(node, (-1, -1, -1), below=True)


def bigger_applied(node):
    apply_scale(node, (2, 2, 2))


source, out, node, *edits = sys.argv[1:]
for name in edits:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=source)
    bpy.context.view_layer.update()
    globals()[name](node)
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(0)
    bpy.ops.export_scene.gltf(filepath=str(Path(out) / f"{name}.glb"))
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
