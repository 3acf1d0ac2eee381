"""Edits of the trials: what modders do with modifiers, parents, copies, names and other objects of Blender."""

from __future__ import annotations

import bpy
from mathutils import Vector
from trial_levels import GUN, B, S, U, W, component
from trial_nodes import M
from trial_tools import add, copy_of, edit, key, materials, mesh_of, obj, pick, put, quick

# ------------------------------------------------------------------ model: modifiers and what deforms


def modify(name, kind, **settings):
    made = obj(name).modifiers.new("mod", kind)
    for field, value in settings.items():
        setattr(made, field, value)


quick(M, "bevel modifier", lambda: modify("gun", "BEVEL", width=0.02), "gun")
quick(M, "decimate modifier", lambda: modify("gun", "DECIMATE", ratio=0.5), "gun")
quick(M, "modifier on an animated node", lambda: modify("tower", "SOLIDIFY", thickness=0.1), "tower")
quick(
    M, "modifier on a level", lambda: modify("gun.level1", "SOLIDIFY", thickness=0.1), "gun.level1", only_extension=True
)


@edit(M, "gun", "cutter")
def boolean_with_a_hidden_cutter():
    bpy.ops.mesh.primitive_cube_add(size=0.6, location=obj("gun").matrix_world.translation)
    bpy.context.object.name = "cutter"
    modify("gun", "BOOLEAN", object=obj("cutter"), operation="DIFFERENCE")
    obj("cutter").hide_set(True)


@edit(M, "gun", only_extension=True)
def geometry_nodes_instances():
    group = bpy.data.node_groups.new("scatter", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    start, cube, on, end = (
        group.nodes.new(name)
        for name in ("NodeGroupInput", "GeometryNodeMeshCube", "GeometryNodeInstanceOnPoints", "NodeGroupOutput")
    )
    cube.inputs["Size"].default_value = (0.1, 0.1, 0.1)
    group.links.new(start.outputs[0], on.inputs["Points"])
    group.links.new(cube.outputs[0], on.inputs["Instance"])
    group.links.new(on.outputs[0], end.inputs[0])
    modify("gun", "NODES", node_group=group)


quick(M, "unused shape key", lambda: [obj("gun").shape_key_add(name=n) for n in ("Basis", "wide")], "gun")
quick(M, "vertex group", lambda: obj("gun").vertex_groups.new(name="top").add([0, 1], 1, "ADD"), "gun")

# ------------------------------------------------------------------ model: parents, transforms, instances


quick(M, "parent to a vertex", lambda: put("gun", parent_type="VERTEX", parent_vertices=(0, 0, 0)), "gun")
quick(M, "turned inside out", lambda: put("gun", scale=(-1, -1, -1)), "gun")
quick(M, "flat scale", lambda: put("gun", scale=(1, 1, 0)), "gun")
quick(M, "delta transform", lambda: put("gun", delta_location=(0, 0, 0.5)), "gun")
quick(M, "delta of an animated node", lambda: put("tower", delta_location=(0, 0, 0.5)), "tower")
quick(M, "euler angles", lambda: (put("gun", rotation_mode="XYZ"), put("gun", rotation_euler=(0.1, 0.2, 0.3))), "gun")
quick(M, "swapped meshes", lambda: _swap("gun", "radar"), "gun", "radar")
quick(M, "swapped names", lambda: _swap_names("gun", "radar"), "gun", "radar")
quick(M, "cyrillic name", lambda: put("gun", name="Пушка"), "gun", "Пушка")
quick(M, "long name", lambda: put("gun", name="g" * 60), "gun", "g" * 60)
quick(M, "name with a number", lambda: put("gun", name="gun.005"), "gun", "gun.005")
quick(M, "hidden by h", lambda: obj("gun").hide_set(True), "gun")


def _swap(one, other):
    obj(one).data, obj(other).data = obj(other).data, obj(one).data


def _swap_names(one, other):
    first, second = obj(one), obj(other)
    first.name, second.name, first.name = "aside", one, other


@edit(M, "gun", "shown", only_extension=True)
def collection_instance():
    home = bpy.data.collections.new("parts")
    home.objects.link(obj("gun"))
    made = add("shown", None)
    made.instance_type, made.instance_collection, made.location = "COLLECTION", home, (0, 0, 3)


@edit(M, "gun", "gun.001")
def in_two_collections():
    home = bpy.data.collections.new("twice")
    bpy.context.scene.collection.children.link(home)
    home.objects.link(obj("gun"))


# ------------------------------------------------------------------ model: meshes


def in_edit_mode(name, *steps):
    pick(name)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    for step in steps:
        step()
    bpy.ops.object.mode_set(mode="OBJECT")


quick(M, "separate loose parts", lambda: in_edit_mode("tower", lambda: bpy.ops.mesh.separate(type="LOOSE")), "tower")
quick(M, "tris to quads", lambda: in_edit_mode("gun", bpy.ops.mesh.tris_convert_to_quads), "gun")
quick(M, "merge by distance", lambda: in_edit_mode("gun", bpy.ops.mesh.remove_doubles), "gun")
quick(M, "unwrapped again", lambda: in_edit_mode("gun", bpy.ops.uv.smart_project), "gun")
quick(
    M,
    "coordinates far away",
    lambda: [put(d, uv=d.uv + Vector((7, -3))) for d in mesh_of("gun").uv_layers[0].data],
    "gun",
)
quick(M, "join three", lambda: (pick("radar", "gun", "tower"), bpy.ops.object.join()), "tower", "gun", "radar")
quick(M, "emptied mesh", lambda: mesh_of("radar").clear_geometry(), "radar")


@edit(M, "gun")
def custom_normals():
    mesh_of("gun").normals_split_custom_set([Vector((0.6, 0, 0.8))] * len(mesh_of("gun").loops))


# ------------------------------------------------------------------ model: materials, other objects, the clip


def _swap_slots(name):
    mesh_of(name).materials.append(materials("glow")[0])
    for face in [*mesh_of(name).polygons][::2]:
        face.material_index = len(mesh_of(name).materials) - 1


@edit(M, "gun")
def material_of_the_object():
    slot = obj("gun").material_slots[0]
    slot.link = "OBJECT"
    slot.material = materials("glow")[0]


quick(M, "half its faces glow", lambda: _swap_slots("gun"), "gun")
quick(M, "unit scale", lambda: put(bpy.context.scene.unit_settings, scale_length=0.01), "gun")
quick(M, "muted curve", lambda: _curve(lambda curve: put(curve, mute=True)), "tower", "radar", "animation", "clip")
quick(M, "cycled curve", lambda: _curve(lambda curve: curve.modifiers.new("CYCLES")), "tower", "radar", "animation")


def _curve(change):
    from trial_tools import curves

    for action in bpy.data.actions:
        for curve in curves(action):
            change(curve)


@edit(M, "tube")
def curve_converted():
    bpy.ops.curve.primitive_bezier_circle_add(location=(0, 0, 3))
    bpy.context.object.name, bpy.context.object.data.bevel_depth = "tube", 0.1
    bpy.ops.object.convert(target="MESH")


@edit(M, "ball", "Mball", only_extension=True)
def metaball():
    bpy.ops.object.metaball_add(location=(0, 0, 3))
    bpy.context.object.name = "ball"


@edit(M, "gun", "animation", "tower")
def clip_copied_to_the_gun():
    data = obj("tower").animation_data
    made = obj("gun").animation_data_create()
    obj("gun").rotation_mode = "QUATERNION"
    made.action = data.action
    if getattr(data, "action_slot", None) is not None:
        made.action_slot = data.action_slot


# ------------------------------------------------------------------ unit

quick(U, "mirror component", lambda: put(component(GUN), scale=(-1, 1, 1)), GUN, "Base_TM")
quick(U, "hidden component", lambda: component(GUN).hide_set(True), GUN)
quick(U, "rename component", lambda: put(component(GUN), name="cannon"), GUN, "cannon")
quick(U, "component without a parent", lambda: put(component(GUN), parent=None), GUN, "Base_TM")
quick(U, "object below component", lambda: _below(component(GUN)), GUN, "box", "Base_TM")
quick(
    U, "animated unit", lambda: key("walker", "location", {0: (0, 0, 0), 12: (5, 0, 0)}), "walker", "animation", "unit"
)


def _below(one):
    bpy.ops.mesh.primitive_cube_add(size=0.3)
    bpy.context.object.name, bpy.context.object.parent = "box", one


# ------------------------------------------------------------------ mission

quick(S, "copy beside itself", lambda: copy_of(B, below=True), B, f"{B}.001")
quick(S, "swapped places", lambda: _exchange(), B, W)
quick(S, "swapped names", lambda: _swap_names(B, W), B, W)


def _exchange():
    obj(B).location, obj(W).location = obj(W).location.copy(), obj(B).location.copy()
