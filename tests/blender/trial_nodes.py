"""Edits of the trials: nodes and meshes of a model."""

from __future__ import annotations

import bpy
from mathutils import Vector
from trial_tools import add, copy_of, edit, edit_mesh, mesh_of, move, obj, pick, put, quick, remove, switch_on, turn

# ------------------------------------------------------------------ model: nodes

M = "model"
quick(M, "nothing", lambda: None)
quick(M, "move node", lambda: move("gun"), "gun")
quick(M, "turn node", lambda: turn("gun"), "gun")
quick(M, "turn node by a hair", lambda: turn("gun", 0.002), "gun")
quick(M, "scale node", lambda: put("gun", scale=(2, 2, 2)), "gun")
quick(M, "scale node unevenly", lambda: put("gun", scale=(1, 2, 1)), "gun")
quick(M, "mirror node", lambda: put("gun", scale=(-1, 1, 1)), "gun")
quick(M, "mirror animated node", lambda: put("tower", scale=(-1, 1, 1)), "tower")
quick(M, "mirror animated node twice", lambda: put("tower", scale=(-1, 1, -1)), "tower")
quick(M, "mirror root", lambda: put("Base_TM", scale=(-1, 1, 1)), "Base_TM", "tower", "gun", "radar")
quick(M, "mirror applied", lambda: apply_scale("tower", (-1, 1, 1)), "tower", "gun.level1")
quick(M, "mirror applied below", lambda: apply_scale("tower", (-1, -1, -1), "gun", "radar"), "tower")
quick(M, "move root", lambda: move("Base_TM"), "Base_TM")
quick(M, "turn root", lambda: turn("Base_TM"), "Base_TM")
quick(M, "scale root", lambda: put("Base_TM", scale=(1.5, 1.5, 1.5)), "Base_TM", "tower", "gun", "radar")
quick(M, "move far away", lambda: move("gun", (1e5, 0, 0)), "gun")
quick(M, "rename node", lambda: put("gun", name="cannon"), "gun", "cannon")
quick(M, "rename animated node", lambda: put("tower", name="head"), "tower", "head")
quick(M, "delete node", lambda: remove("gun"), "gun")
quick(M, "delete node with children", lambda: remove("tower"), "tower", "gun", "radar")
quick(M, "delete branch", lambda: remove("tower", below=True), "tower", "gun", "radar")
quick(M, "copy node", lambda: put(copy_of("gun"), location=(0, 3, 0)), "gun.001")
quick(M, "linked copy", lambda: put(copy_of("gun", linked=True), location=(0, 3, 0)), "gun.001")
quick(M, "copy branch", lambda: put(copy_of("tower", below=True), location=(0, 3, 0)), "tower.001", "tower")
quick(M, "no parent", lambda: put("gun", parent=None), "gun")
quick(M, "other parent", lambda: put("gun", parent=obj("Base_TM")), "gun")
quick(M, "hidden in viewport", lambda: put("gun", hide_viewport=True), "gun")
quick(M, "empty added", lambda: put(add("socket", None, "tower"), location=(1, 1, 1)), "socket")
quick(M, "flags property", lambda: obj("gun")["msh"].update({"flags": 4}), "gun")


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


@edit(M, "Base_TM", "tower", "gun", "gun.level1")
def apply_transforms_of_animated():
    pick("tower").data = mesh_of("tower").copy()
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


@edit(M, "gun")
def move_node_and_levels_apart():
    switch_on()
    move("gun", (1, 0, 0))
    move("gun.level1", (2, 0, 0))


@edit(M, "stray", "Cube")
def cube_added():
    bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0))
    bpy.context.object.name = "stray"


@edit(M, "antenna")
def cube_added_below():
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, 2), scale=(1, 2, 3))
    bpy.context.object.name = "antenna"
    bpy.context.object.parent = obj("tower")
    bpy.context.object.data.materials.append(mesh_of("gun").materials[0])


@edit(M, "light", "camera", "Light", "Camera")
def light_and_camera_added():
    bpy.ops.object.camera_add(location=(5, 5, 5))
    bpy.ops.object.light_add(type="POINT", location=(0, 0, 4))


@edit(M, "gun", "tower")
def join_():
    pick("gun", "tower")
    bpy.ops.object.join()


@edit(M, "tower", "tower.001", "tower.002")
def separate_by_material():
    pick("tower")
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.separate(type="MATERIAL")
    bpy.ops.object.mode_set(mode="OBJECT")


# ------------------------------------------------------------------ model: meshes


def move_first(name, by=(0.25, 0, 0)):
    mesh_of(name).vertices[0].co += Vector(by)


quick(M, "move vertex", lambda: move_first("gun"), "gun")
quick(M, "move vertex of level", lambda: move_first("gun.level1"), "gun.level1")
quick(M, "move vertex of stage", lambda: move_first("tower.stage1"), "tower.stage1")
quick(M, "flip normals", lambda: mesh_of("gun").flip_normals(), "gun")
quick(
    M,
    "shade smooth",
    lambda: mesh_of("gun").polygons.foreach_set("use_smooth", [True] * len(mesh_of("gun").polygons)),
    "gun",
)
quick(M, "move texture coordinates", lambda: put(mesh_of("gun").uv_layers[0].data[0], uv=(0.9, 0.1)), "gun")
quick(
    M,
    "delete texture coordinates",
    lambda: (mesh_of("gun").uv_layers.remove(mesh_of("gun").uv_layers[0]), mesh_of("gun").update()),
    "gun",
)
quick(M, "mirror modifier", lambda: obj("gun").modifiers.new("m", "MIRROR"), "gun")
quick(M, "array modifier", lambda: obj("gun").modifiers.new("m", "ARRAY"), "gun")
quick(M, "subdivision modifier", lambda: obj("gun").modifiers.new("m", "SUBSURF"), "gun")


def _change(change):
    edit_mesh("gun", change)


quick(M, "delete face", lambda: _change(lambda w, b: b.ops.delete(w, geom=[w.faces[0]], context="FACES_ONLY")), "gun")
quick(M, "delete all faces", lambda: _change(lambda w, b: b.ops.delete(w, geom=[*w.faces], context="FACES")), "gun")
quick(
    M,
    "subdivide",
    lambda: _change(lambda w, b: b.ops.subdivide_edges(w, edges=[*w.edges], cuts=1, use_grid_fill=True)),
    "gun",
)


@edit(M, "gun")
def extrude():
    def change(work, bmesh):
        new = bmesh.ops.extrude_discrete_faces(work, faces=[work.faces[0]])["faces"][0]
        for vertex in new.verts:
            vertex.co.z += 0.5

    edit_mesh("gun", change)


def paint(name, domain="CORNER", colour=(1, 0, 0, 1)):
    layer = mesh_of(name).color_attributes.new("Col", "BYTE_COLOR", domain)
    for one in layer.data:
        one.color_srgb = colour
    mesh_of(name).color_attributes.active_color = layer
    mesh_of(name).color_attributes.render_color_index = 0


quick(M, "painted colours", lambda: paint("gun"), "gun", "colours", only_extension=True)
quick(M, "painted points", lambda: paint("gun", "POINT"), "gun", "colours", only_extension=True)
quick(M, "painted white", lambda: paint("gun", colour=(1, 1, 1, 1)), "gun", "colours")


@edit(M, "gun")
def shape_key():
    obj("gun").shape_key_add(name="Basis")
    obj("gun").shape_key_add(name="wide").data[0].co.x += 1
    mesh_of("gun").shape_keys.key_blocks["wide"].value = 1.0


@edit(M, "gun", "Armature", "Bone", "rig")
def armature_():
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    rig.name = "rig"
    group = obj("gun").vertex_groups.new(name=rig.data.bones[0].name)
    group.add(range(len(mesh_of("gun").vertices)), 1.0, "REPLACE")
    obj("gun").modifiers.new("rig", "ARMATURE").object = rig
