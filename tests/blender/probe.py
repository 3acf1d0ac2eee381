"""Runs in Blender's Python: import a .glb, write down what Blender made of it.

    python probe.py MODEL.glb OUT.npz FRAME...

Per object ``NAME``: ``world/NAME`` (frames, 4, 4); per mesh object ``corners/NAME`` (n, 3, 3)
local positions of its triangles and ``normals/NAME``. ``shown``: names of objects in the view.
"""

from __future__ import annotations

import sys

import bpy
import numpy as np

model, out, *frames = sys.argv[1:]
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=model)
scene = bpy.context.scene
found: dict[str, np.ndarray] = {
    "fps": np.array(scene.render.fps),
    "shown": np.array([o.name for o in bpy.context.view_layer.objects if o.visible_get()]),
}
objects = list(bpy.context.view_layer.objects)
worlds: dict[str, list] = {o.name: [] for o in objects}
for frame in map(int, frames):
    scene.frame_set(frame)
    for o in objects:
        worlds[o.name].append([list(row) for row in o.matrix_world])
for name, matrices in worlds.items():
    found[f"world/{name}"] = np.array(matrices)
for o in objects:
    if o.type == "MESH":
        mesh = o.data
        mesh.calc_loop_triangles()
        loops = np.array([t.loops[:] for t in mesh.loop_triangles]).reshape(-1, 3)
        vertices = np.array([t.vertices[:] for t in mesh.loop_triangles]).reshape(-1, 3)
        positions = np.array([v.co[:] for v in mesh.vertices])
        normals = np.array([n.vector[:] for n in mesh.corner_normals])
        found[f"corners/{o.name}"] = positions[vertices]
        found[f"normals/{o.name}"] = normals[loops]
        layer = mesh.uv_layers[0].data
        found[f"uv/{o.name}"] = np.array([u.uv[:] for u in layer])[loops]
    properties = o.get("msh")
    if properties is not None:
        found[f"node/{o.name}"] = np.array(properties["node"])
np.savez(out, **found)
