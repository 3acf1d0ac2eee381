"""Runs in Blender's Python: import an OBJ, edit a material as an artist would, export it.

python edit_obj.py IN.obj OUT_DIR EDIT...
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy


def shader(name):
    nodes = bpy.data.materials[name].node_tree.nodes
    return next(node for node in nodes if node.type == "BSDF_PRINCIPLED")


def picture(name):
    nodes = bpy.data.materials[name].node_tree.nodes
    return next(node for node in nodes if node.type == "TEX_IMAGE")


def nothing():
    """Import and export."""


def alpha():
    shader("armour").inputs["Alpha"].default_value = 0.5


def other_picture():
    picture("armour").image = picture("floor").image


def no_picture():
    bpy.data.materials["armour"].node_tree.nodes.remove(picture("armour"))


source, out, *edits = sys.argv[1:]
for name in edits:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.obj_import(filepath=source)
    globals()[name]()
    bpy.ops.wm.obj_export(filepath=str(Path(out) / f"{name}.obj"))
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
