"""Edits of the trials: nodes, meshes, modifiers, materials, levels of detail and the clip of a model."""

from __future__ import annotations

import bpy
from mathutils import Vector
from trial_tools import (
    add,
    copy_of,
    curves,
    drag,
    edit,
    edit_mesh,
    key,
    materials,
    mesh_of,
    move,
    move_first,
    new_image,
    new_look,
    obj,
    paint,
    pick,
    picture,
    put,
    quick,
    remove,
    rescale,
    sockets,
    switch_on,
    turn,
)

# ------------------------------------------------------------------ nodes

M = "model"
quick(M, "nothing", lambda: None)
quick(M, "move node", lambda: move("gun"), "gun")
quick(M, "turn node", lambda: turn("gun"), "gun")
quick(M, "euler angles", lambda: (put("gun", rotation_mode="XYZ"), put("gun", rotation_euler=(0.1, 0.2, 0.3))), "gun")
quick(M, "delta transform", lambda: put("gun", delta_location=(0, 0, 0.5)), "gun")
quick(M, "mirror animated node", lambda: put("tower", scale=(-1, 1, 1)), "tower")
quick(M, "mirror animated node twice", lambda: put("tower", scale=(-1, 1, -1)), "tower")
quick(M, "mirror root", lambda: put("Base_TM", scale=(-1, 1, 1)), "Base_TM", "tower", "gun", "radar")
quick(M, "mirror applied", lambda: apply_scale("tower", (-1, 1, 1)), "tower", "gun.level1")
quick(M, "mirror applied below", lambda: apply_scale("tower", (-1, -1, -1), "gun", "radar"), "tower")
quick(M, "rename node", lambda: put("gun", name="cannon"), "gun", "cannon")
quick(M, "delete node", lambda: remove("gun"), "gun")
quick(M, "linked copy", lambda: put(copy_of("gun", linked=True), location=(0, 3, 0)), "gun.001")
quick(M, "copy branch", lambda: put(copy_of("tower", below=True), location=(0, 3, 0)), "tower.001", "tower")
quick(M, "parent to a vertex", lambda: put("gun", parent_type="VERTEX", parent_vertices=(0, 0, 0)), "gun")


@edit(M, "gun", "radar")
def swapped_names():
    first, second = obj("gun"), obj("radar")
    first.name, second.name, first.name = "aside", "gun", "radar"


@edit(M, "gun")
def parent_keeps_transform():
    world = obj("gun").matrix_world.copy()
    obj("gun").parent = obj("Base_TM")
    obj("gun").matrix_parent_inverse.identity()
    bpy.context.view_layer.update()
    obj("gun").matrix_world = world


@edit(M, "gun")
def apply_transforms():
    turn("gun")
    pick("gun").data = mesh_of("gun").copy()
    bpy.ops.object.transform_apply(location=True, rotation=True, scale=True)


def apply_scale(name, scale, *below):
    """Scale, and Object > Apply > Scale, on it and on some below it."""
    obj(name).scale = scale
    for one in (name, *below):
        obj(one).data = mesh_of(one).copy()
    pick(*below, name)
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)


@edit(M, "gun")
def set_origin():
    pick("gun").data = mesh_of("gun").copy()
    bpy.context.scene.cursor.location = (1, 2, 3)
    bpy.ops.object.origin_set(type="ORIGIN_CURSOR")


@edit(M, "Base_TM", "tower", "gun", "radar", "model")
def scale_all():
    switch_on()
    for one in [o for o in bpy.context.scene.objects if o.parent is None]:
        one.location *= 1.5
        one.scale *= 1.5


@edit(M, "antenna")
def cube_added_below():
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, 2), scale=(1, 2, 3))
    bpy.context.object.name = "antenna"
    bpy.context.object.parent = obj("tower")
    bpy.context.object.data.materials.append(mesh_of("gun").materials[0])


@edit(M, "gun")
def node_in_a_new_collection():
    home = bpy.data.collections.new("mine")
    bpy.context.scene.collection.children.link(home)
    drag("gun", home)


@edit(M, "gun", "shown")
def collection_instance():
    home = bpy.data.collections.new("parts")
    home.objects.link(obj("gun"))
    made = add("shown")
    made.instance_type, made.instance_collection, made.location = "COLLECTION", home, (0, 0, 3)


# ------------------------------------------------------------------ meshes and modifiers


def modify(name, kind, **settings):
    made = obj(name).modifiers.new("mod", kind)
    for field, value in settings.items():
        setattr(made, field, value)
    return made


def _change(change):
    edit_mesh("gun", change)


quick(M, "move vertex", lambda: move_first("gun"), "gun")
quick(M, "emptied mesh", lambda: mesh_of("radar").clear_geometry(), "radar")
quick(M, "delete face", lambda: _change(lambda w, b: b.ops.delete(w, geom=[w.faces[0]], context="FACES_ONLY")), "gun")
quick(
    M,
    "subdivide",
    lambda: _change(lambda w, b: b.ops.subdivide_edges(w, edges=[*w.edges], cuts=1, use_grid_fill=True)),
    "gun",
)
quick(M, "painted colours", lambda: paint("gun"), "gun", "colours")
quick(M, "painted points", lambda: paint("gun", "POINT"), "gun", "colours")
quick(M, "painted white", lambda: paint("gun", colour=(1, 1, 1, 1)), "gun", "colours")
quick(M, "array modifier", lambda: modify("gun", "ARRAY"), "gun")


@edit(M, "gun")
def driven_modifier():
    modifier = modify("gun", "ARRAY", use_relative_offset=False, use_constant_offset=True)
    modifier.driver_add("constant_offset_displace", 0).driver.expression = "frame * 0.1"


@edit(M, "gun")
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


@edit(M, "ball", "Mball")
def metaball():
    bpy.ops.object.metaball_add(location=(0, 0, 3))
    bpy.context.object.name = "ball"


@edit(M, "rig")
def skeleton_added():
    add("rig", bpy.data.armatures.new("rig"))


@edit(M, "gun")
def half_its_faces_glow():
    mesh_of("gun").materials.append(materials("glow")[0])
    for face in [*mesh_of("gun").polygons][::2]:
        face.material_index = len(mesh_of("gun").materials) - 1


# ------------------------------------------------------------------ materials

A = "armour"
quick(M, "assigned material", lambda: _assign(materials("glow")[0]), "glow", "gun")
quick(
    M, "new material with picture", lambda: _assign(new_look("brass", new_image("BRASS", (32, 32)))), "brass", "BRASS"
)
quick(M, "renamed material", lambda: [put(m, name="rust") for m in materials(A)], A, "rust")
quick(M, "roughness", lambda: [put(sockets(m)[0].node.inputs["Roughness"], default_value=0.1) for m in materials(A)], A)
quick(M, "node gamma", lambda: _between("ShaderNodeGamma"), A)
quick(M, "node curves", lambda: _between("ShaderNodeRGBCurve"), A)


def _assign(material):
    mesh_of("gun").materials[0] = material


def _between(kind):
    """A node between the picture and the shader, which does something."""
    for one in materials(A):
        tree, socket = one.node_tree, sockets(one)[0]
        node = tree.nodes.new(kind)
        into = next(s for s in node.inputs if s.type == "RGBA")
        tree.links.new(socket.links[0].from_socket, into)
        tree.links.new(node.outputs[0], socket)
        if kind == "ShaderNodeRGBCurve":
            node.mapping.curves[3].points[0].location.y = 0.5
            node.mapping.update()
        else:
            node.inputs["Gamma"].default_value = 3


@edit(M, "glow")
def emission_off():
    for one in materials("glow"):
        _, light, _, strength = sockets(one)
        for link in [*light.links, *(strength.links if strength else ())]:
            one.node_tree.links.remove(link)
        light.default_value = (0, 0, 0, 1)


@edit(M, A, "RUST")
def other_picture():
    image = new_image("RUST", (32, 32))
    for one in materials(A):
        picture(one).image = image


@edit(M, A)
def repainted():
    image = picture(materials(A)[0]).image
    image.pixels[:400] = [1, 0, 0, 1] * 100
    image.update()


# ------------------------------------------------------------------ levels of detail

L1, G1 = "gun.level1", "tower.stage1"
quick(M, "delete level part", lambda: remove(L1), L1, "gun")
quick(M, "hidden level", lambda: put("Base_TM.level1", hide_viewport=True), "Base_TM.level1")
quick(M, "rename level part", lambda: put(L1, name="gun.level2"), L1, "gun.level2")
quick(M, "lod property", lambda: obj(L1)["msh"].update({"group": 2}), L1, "gun.level2")
quick(M, "taken cell", lambda: obj(G1)["msh"].update({"lod": 0, "group": 1}), G1, "tower.level1")


@edit(M, "gun")
def move_node_and_levels_apart():
    switch_on()
    move("gun", (1, 0, 0))
    move(L1, (2, 0, 0))


@edit(M, "gun.level2")
def level_added_by_name():
    switch_on()
    copy = obj(L1).copy()
    copy.data = copy.data.copy()
    copy.name = "gun.level2"
    if "msh" in copy:
        del copy["msh"]
    obj(L1).users_collection[0].objects.link(copy)
    bpy.context.view_layer.update()


# ------------------------------------------------------------------ the clip

CLIP = ("animation", "animations", "clip", "e_tur_01", "tower", "radar")
quick(M, "twice as slow", lambda: rescale(2), *CLIP)
quick(M, "uneven last key", lambda: rescale(0.97), *CLIP)
quick(M, "move animated node", lambda: move("tower"), *CLIP)
quick(M, "key on still node", lambda: key("gun", "location", {0: (0.55, 0.9, 0.45), 24: (1, 2, 0.5)}), *CLIP, "gun")
quick(M, "scale keys", lambda: key("gun", "scale", {24: (2, 2, 2), 0: (1, 1, 1)}), *CLIP, "gun")
quick(M, "visibility keys", lambda: key("gun", "hide_viewport", {0: False, 12: True}), "gun")
quick(M, "muted curve", lambda: [put(c, mute=True) for a in bpy.data.actions for c in curves(a)], *CLIP)


@edit(M, "gun", *CLIP)
def driver_():
    curve = obj("gun").driver_add("location", 0)
    curve.driver.expression = "frame * 0.1"


@edit(M, "gun", *CLIP)
def constraint_to_radar():
    obj("gun").constraints.new("COPY_ROTATION").target = obj("radar")


@edit(M, "other", *CLIP)
def keyed_copy():
    """A new node stands where Blender shows it, with an offset to its parent, and turns by its Euler angles' keys."""
    above = obj("gun").matrix_world.copy()
    other = add("other", mesh_of("gun"), "gun")
    other.matrix_parent_inverse, other.location = above.inverted(), Vector((1, 2, 3))
    key("other", "rotation_euler", {12: (1, 0, 0), 0: (0.5, 0, 0)})
