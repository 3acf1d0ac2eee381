"""Runs in Blender's Python: make scenes as other authors would, export them.

    python make.py OUT_DIR

Writes ``OUT_DIR/NAME.glb`` and ``OUT_DIR/NAME.npz``: ``frames``, five of the scene's, and
``triangles`` (5, T, 3, 3), what Blender shows at them in world space.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
import numpy as np

out = Path(sys.argv[1])


def instances():
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=2)
    first = bpy.context.object
    for i in range(3):
        copy = bpy.data.objects.new(f"copy{i}", first.data)
        copy.location = (3 * i + 3, 0, 0)
        bpy.context.scene.collection.objects.link(copy)


def camera_and_light():
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.object.camera_add(location=(5, 5, 5))
    bpy.ops.object.light_add(type="POINT", location=(0, 0, 4))


def keyed(target, path, values, interpolation="BEZIER"):
    for frame, value in values.items():
        setattr(target, path, value)
        target.keyframe_insert(path, frame=frame)
    action = target.id_data.animation_data.action
    layers = getattr(action, "layers", None)
    curves = layers[0].strips[0].channelbags[0].fcurves if layers else action.fcurves
    for curve in curves:
        for point in curve.keyframe_points:
            point.interpolation = interpolation


def span(start, end):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = start, end
    bpy.context.scene.frame_set(start)


def animated_hierarchy():
    """A turning body, a child that moves in steps, and one that stands still below it."""
    bpy.ops.mesh.primitive_cube_add(location=(1, 2, 3), rotation=(0.3, 0.2, 0.1))
    base = bpy.context.object
    bpy.ops.mesh.primitive_cone_add(location=(2, 0, 1), scale=(1, 2, 0.5))
    head = bpy.context.object
    head.parent = base
    bpy.ops.mesh.primitive_ico_sphere_add(location=(0, 0, 2))
    bpy.context.object.parent = head
    keyed(head.parent, "rotation_euler", {0: (0, 0, 0), 10: (0, 0, 2), 20: (1, 0, 3)}, "LINEAR")
    keyed(head, "location", {0: (2, 0, 1), 7: (3, 0, 1), 20: (3, 2, 1)}, "CONSTANT")
    span(0, 20)


def animation_range():
    """A clip that does not begin at frame 0."""
    bpy.ops.mesh.primitive_cone_add()
    cone = bpy.context.object
    keyed(cone, "location", {10: (0, 0, 0), 30: (5, 1, 0)})
    span(10, 30)


def mirrored_animation():
    """An animated child of a mirrored parent."""
    bpy.ops.mesh.primitive_monkey_add()
    base = bpy.context.object
    base.scale = (-1, 1, 1)
    bpy.ops.mesh.primitive_cone_add()
    bpy.context.object.parent = base
    keyed(bpy.context.object, "location", {0: (2, 0, 0), 16: (4, 1, 1)}, "LINEAR")
    keyed(bpy.context.object, "rotation_euler", {0: (0, 0, 0), 16: (1, 1, 0)}, "LINEAR")
    span(0, 16)


def bone_parent():
    """A mesh that hangs on a bone without a skin."""
    bpy.ops.object.armature_add(location=(1, 0, 0))
    rig = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=0.5)
    cube = bpy.context.object
    cube.parent, cube.parent_type, cube.parent_bone = rig, "BONE", rig.data.bones[0].name
    bone = rig.pose.bones[0]
    bone.rotation_mode = "QUATERNION"
    keyed(bone, "rotation_quaternion", {0: (1, 0, 0, 0), 12: (0.8, 0.6, 0, 0)}, "LINEAR")
    span(0, 12)


def materials():
    bpy.ops.mesh.primitive_uv_sphere_add(segments=12, ring_count=6)
    mesh = bpy.context.object.data
    for i in range(3):
        mesh.materials.append(bpy.data.materials.new(f"m{i}"))
    for face in mesh.polygons:
        face.material_index = face.index % 3


def shape_keys():
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    cube.shape_key_add(name="Basis")
    cube.shape_key_add(name="wide").data[0].co.x += 1


def skinned():
    bpy.ops.mesh.primitive_cylinder_add(vertices=8, depth=4)
    body = bpy.context.object
    bpy.ops.object.armature_add(location=(0, 0, -2))
    rig = bpy.context.object
    group = body.vertex_groups.new(name=rig.data.bones[0].name)
    group.add(range(len(body.data.vertices)), 1.0, "REPLACE")
    body.parent = rig
    body.matrix_parent_inverse = rig.matrix_world.inverted()
    body.modifiers.new("rig", "ARMATURE").object = rig


SCENES = (
    *(instances, camera_and_light, materials, shape_keys, skinned),
    *(animated_hierarchy, animation_range, mirrored_animation, bone_parent),
)


def shown(name):
    """The triangles of the scene as it is now."""
    bpy.context.view_layer.update()
    graph = bpy.context.evaluated_depsgraph_get()
    triangles = []
    for found in bpy.context.view_layer.objects:
        if found.type == "MESH":
            whole = found.evaluated_get(graph) if name == "skinned" else found
            mesh = whole.to_mesh()
            mesh.calc_loop_triangles()
            world = [found.matrix_world @ v.co for v in mesh.vertices]
            mirror = found.matrix_world.determinant() < 0
            for t in mesh.loop_triangles:
                corners = [tuple(world[i]) for i in t.vertices]
                triangles.append(corners[::-1] if mirror else corners)
            whole.to_mesh_clear()
    return triangles


for make in SCENES:
    name = make.__name__
    bpy.ops.wm.read_factory_settings(use_empty=True)
    make()
    scene = bpy.context.scene
    moving = any(o.animation_data and o.animation_data.action for o in scene.objects)
    frames = np.linspace(scene.frame_start, scene.frame_end, 5).round() if moving else np.zeros(5)
    triangles = []
    for frame in frames.astype(int).tolist():
        scene.frame_set(frame)
        triangles.append(shown(name))
    np.savez(out / f"{name}.npz", frames=frames.astype(int), triangles=np.array(triangles))
    scene.frame_set(scene.frame_start)
    bpy.ops.export_scene.gltf(filepath=str(out / f"{name}.glb"))
