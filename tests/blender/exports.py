"""Runs in Blender's Python: import glTF and OBJ files with what Blender brings, and export them again.

    python exports.py JOBS.json

A job has the ``source``, the scene's frame rate ``before`` the import and ``after`` it, the current ``frame``, the name
of an ``edit``, and ``files``: which to write, with which options of the exporter. What is left out stays as it is.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import bpy
from mathutils import Quaternion


def turned_key():
    turned = next(o for o in bpy.data.objects if o.animation_data and "lod" not in o.get("msh", {}))
    bpy.context.scene.frame_set(2)
    turned.rotation_mode = "QUATERNION"
    turned.rotation_quaternion = turned.rotation_quaternion @ Quaternion((0, 0, 1), 0.4)
    turned.keyframe_insert("rotation_quaternion", frame=2)
    bpy.context.scene.frame_set(0)


def single_user():
    for one in bpy.data.objects:
        if one.data is not None and one.data.users > 1:
            one.data = one.data.copy()


def node_of(material, kind):
    return next(node for node in bpy.data.materials[material].node_tree.nodes if node.type == kind)


def alpha():
    node_of("armour", "BSDF_PRINCIPLED").inputs["Alpha"].default_value = 0.5


def other_picture():
    node_of("armour", "TEX_IMAGE").image = node_of("floor", "TEX_IMAGE").image


def no_picture():
    bpy.data.materials["armour"].node_tree.nodes.remove(node_of("armour", "TEX_IMAGE"))


def points():
    """Control points are moved, turned and scaled, deleted and added."""
    objects = bpy.data.objects
    objects["CameraCenter.point"].location.z += 1
    turned = objects["Dir_1.point"]
    turned.rotation_mode = "QUATERNION"
    turned.rotation_quaternion = Quaternion((0, 1, 0), math.pi / 2)  # z to x
    turned.scale *= 2
    objects.remove(objects["gone.point"])
    new = objects.new("Muzzle.point", None)
    bpy.context.scene.collection.objects.link(new)
    new.parent, new.location = objects["Свет.point"].parent, (1, 2, 3)


for job in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = job.get("before", 24)
    load, save = bpy.ops.import_scene.gltf, bpy.ops.export_scene.gltf
    if job["source"].endswith(".obj"):
        load, save = bpy.ops.wm.obj_import, bpy.ops.wm.obj_export
    load(filepath=job["source"])
    if "after" in job:
        bpy.context.scene.render.fps = job["after"]
    if "frame" in job:
        bpy.context.scene.frame_set(job["frame"])
    if "edit" in job:
        globals()[job["edit"]]()
    for path, options in job["files"].items():
        save(filepath=path, **options)
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
