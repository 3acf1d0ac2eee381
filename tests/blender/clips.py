"""Runs in Blender's Python: clips at other frame rates, and through options that damage them.

    python clips.py MODEL.glb OUT_DIR

Writes ``OUT_DIR/before30.glb`` (the scene was at 30 frames per second when the file was imported),
``after30.glb`` (it was set to 30 afterwards), ``.extras.glb`` with custom properties on, a file per
option of the exporter, ``scaled.glb``, where an object has an action of its own that scales it, and
``edited30.glb``, where one key was turned in a scene at 30.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy
from mathutils import Quaternion

RATES = (24, 25, 30, 50, 60)
OPTIONS = {
    "off": {"export_animations": False},
    "nla": {"export_animation_mode": "NLA_TRACKS"},
    "scene": {"export_animation_mode": "SCENE"},
    "scene_as_one": {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False},
    "broadcast": {"export_animation_mode": "BROADCAST"},
    "merged": {"export_animation_mode": "ACTIVE_ACTIONS"},
    "range": {"export_frame_range": True},
    "unsampled": {"export_force_sampling": False},
    "unoptimised": {"export_optimize_animation_size": False},
    "with_scale": {"export_optimize_animation_keep_anim_object": True},
}


def load(fps=None):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if fps is not None:
        bpy.context.scene.render.fps = fps
    bpy.ops.import_scene.gltf(filepath=str(source))


def save(name, **options):
    bpy.ops.export_scene.gltf(filepath=str(out / f"{name}.glb"), **options)


source, out = map(Path, sys.argv[1:])
for rate in RATES:
    for when in ("before", "after"):
        load(rate if when == "before" else None)
        bpy.context.scene.render.fps = rate
        save(f"{when}{rate}")
        save(f"{when}{rate}.extras", export_extras=True, export_attributes=True)
for name, options in OPTIONS.items():
    load()
    save(name, **options)
load()
bpy.context.scene.frame_set(7)
save("current_frame")
load()
still = next(o for o in bpy.data.objects if not o.animation_data)
for frame, size in ((0, 1.0), (10, 2.0)):
    still.scale = size, size, size
    still.keyframe_insert("scale", frame=frame)
(out / "scaled").write_text(still.name)
save("scaled")
load(30)
turned = next(o for o in bpy.data.objects if o.animation_data and "lod" not in o.get("msh", {}))
bpy.context.scene.frame_set(2)
turned.rotation_mode = "QUATERNION"
turned.rotation_quaternion = turned.rotation_quaternion @ Quaternion((0, 0, 1), 0.4)
turned.keyframe_insert("rotation_quaternion", frame=2)
(out / "edited").write_text(turned.name)
bpy.context.scene.frame_set(0)
save("edited30")
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
