"""Runs in Blender's Python: import glTF files with the stock add-on, and export them again.

    python exports.py JOBS.json

A job has the ``source``, the scene's frame rate ``before`` the import and ``after`` it, the current ``frame``, the name
of an ``edit``, and ``files``: which to write, with which options of the exporter. What is left out stays as it is.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import bpy
from mathutils import Quaternion


def scale_keys():
    """An object has an action of its own that scales it."""
    still = next(o for o in bpy.data.objects if not o.animation_data)
    for frame, size in ((0, 1.0), (10, 2.0)):
        still.scale = size, size, size
        still.keyframe_insert("scale", frame=frame)


def turned_key():
    turned = next(o for o in bpy.data.objects if o.animation_data and "lod" not in o.get("msh", {}))
    bpy.context.scene.frame_set(2)
    turned.rotation_mode = "QUATERNION"
    turned.rotation_quaternion = turned.rotation_quaternion @ Quaternion((0, 0, 1), 0.4)
    turned.keyframe_insert("rotation_quaternion", frame=2)
    bpy.context.scene.frame_set(0)


def smoother():
    for material in bpy.data.materials:
        shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
        shader.inputs["Roughness"].default_value = 0.25


def single_user():
    for one in bpy.data.objects:
        if one.data is not None and one.data.users > 1:
            one.data = one.data.copy()


for job in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = job.get("before", 24)
    bpy.ops.import_scene.gltf(filepath=job["source"])
    if "after" in job:
        bpy.context.scene.render.fps = job["after"]
    if "frame" in job:
        bpy.context.scene.frame_set(job["frame"])
    if "edit" in job:
        globals()[job["edit"]]()
    for path, options in job["files"].items():
        bpy.ops.export_scene.gltf(filepath=path, **options)
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
