"""Scenes of the trials that are made in an empty file, as somebody makes a new model."""

from __future__ import annotations

import bpy
from trial_tools import curves, edit, key

S = "scene"


def scene(*names):
    """Note a scene; whatever has no material gets one."""

    def note(function):
        def run():
            function()
            for mesh in bpy.data.meshes:
                if not mesh.materials:
                    mesh.materials.append(bpy.data.materials.new("plain"))

        run.__name__ = function.__name__
        edit(S, *names)(run)

    return note


def keyed(one, path, values, interpolation="LINEAR"):
    key(one.name, path, values)
    for curve in curves(one.animation_data.action):
        for point in curve.keyframe_points:
            point.interpolation = interpolation


@scene()
def instances():
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=2)
    first = bpy.context.object
    for i in range(3):
        copy = bpy.data.objects.new(f"copy{i}", first.data)
        copy.location = (3 * i + 3, 0, 0)
        bpy.context.scene.collection.objects.link(copy)


@scene()
def camera_and_light():
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.object.camera_add(location=(5, 5, 5))
    bpy.ops.object.light_add(type="POINT", location=(0, 0, 4))


@scene()
def materials():
    bpy.ops.mesh.primitive_uv_sphere_add(segments=12, ring_count=6)
    mesh = bpy.context.object.data
    for i in range(3):
        mesh.materials.append(bpy.data.materials.new(f"m{i}"))
    for face in mesh.polygons:
        face.material_index = face.index % 3


@scene("Cube")
def shape_keys():
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    cube.shape_key_add(name="Basis")
    cube.shape_key_add(name="wide").data[0].co.x += 1


@scene("Cylinder")
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


@scene("Cone")
def animated_hierarchy():
    """A turning body, a child that moves in steps, and one that stands still below it."""
    bpy.ops.mesh.primitive_cube_add(location=(1, 2, 3), rotation=(0.3, 0.2, 0.1))
    base = bpy.context.object
    bpy.ops.mesh.primitive_cone_add(location=(2, 0, 1), scale=(1, 2, 0.5))
    head = bpy.context.object
    head.parent = base
    bpy.ops.mesh.primitive_ico_sphere_add(location=(0, 0, 2))
    bpy.context.object.parent = head
    keyed(base, "rotation_euler", {0: (0, 0, 0), 10: (0, 0, 2), 20: (1, 0, 3)})
    keyed(head, "location", {0: (2, 0, 1), 7: (3, 0, 1), 20: (3, 2, 1)}, "CONSTANT")
    _end(20)


@scene()
def animation_range():
    """A clip that does not begin at frame 0."""
    bpy.ops.mesh.primitive_cone_add()
    keyed(bpy.context.object, "location", {10: (0, 0, 0), 30: (5, 1, 0)}, "BEZIER")
    _end(30, 10)


@scene()
def mirrored_animation():
    """An animated child of a mirrored parent."""
    bpy.ops.mesh.primitive_monkey_add()
    base = bpy.context.object
    base.scale = (-1, 1, 1)
    bpy.ops.mesh.primitive_cone_add()
    cone = bpy.context.object
    cone.parent = base
    keyed(cone, "location", {0: (2, 0, 0), 16: (4, 1, 1)})
    keyed(cone, "rotation_euler", {0: (0, 0, 0), 16: (1, 1, 0)})
    _end(16)


@scene()
def bone_parent():
    """A mesh that hangs on a bone without a skin."""
    bpy.ops.object.armature_add(location=(1, 0, 0))
    rig = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=0.5)
    cube = bpy.context.object
    cube.parent, cube.parent_type, cube.parent_bone = rig, "BONE", rig.data.bones[0].name
    bone = rig.pose.bones[0]
    bone.rotation_mode = "QUATERNION"
    for frame, turn in {0: (1, 0, 0, 0), 12: (0.8, 0.6, 0, 0)}.items():
        bone.rotation_quaternion = turn
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    _end(12)


def _end(last, first=0):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = first, last
