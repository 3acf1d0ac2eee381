"""Steps of ``extension.py``: what a mission or unit places is one object of Blender."""

from __future__ import annotations

import bpy
import numpy as np
from extension_tools import MISSION, UNIT, WALKER, empty_file, module, put_back, read, said, select


def things():
    """One empty each, so a click selects it: one is moved, one deleted, one copied with Shift+D."""
    scene = read(MISSION)
    yield "empties", sorted(o.name for o in scene.objects if o.instance_type == "COLLECTION")
    yield "the ground and a route", sorted(o.name for o in scene.objects if o.type == "MESH")
    guard, hero = (bpy.data.objects[name].instance_collection for name in ("Guard", "Герой"))
    yield "shared", guard == hero
    select(bpy.data.objects["Guard"])
    bpy.ops.object.duplicate()
    bpy.context.object.location.x += 20
    bpy.data.objects["Base"].location.x += 7
    select(bpy.data.objects["S_ROCK"])
    bpy.ops.object.delete()
    yield "put back", put_back()
    empty_file()
    read(MISSION)
    yield "after", {one.name: list(one.matrix_world.translation) for one in said()}


def fielded():
    """Fields of the panel are the custom properties; a row of the report selects; what is switched off is named.

    Not the routes, zones and lodes, which the import switched off.
    """
    scene = read(MISSION)
    guard = bpy.data.objects["Guard"]
    fields_of, switched_off = module("panel").fields_of, module("export_msh").switched_off
    yield "of an object", [[field.key for field in fields_of(guard)], guard.msh_fields.object_logical_id]
    yield "switched off", switched_off(bpy.context)
    backup = bpy.data.collections.new("backup")
    scene.collection.children.link(backup)
    backup.objects.link(bpy.data.objects.new("old", None))
    bpy.context.view_layer.layer_collection.children["backup"].exclude = True
    yield "switched off by hand", switched_off(bpy.context)
    bpy.data.objects.remove(bpy.data.objects["old"])
    guard.msh_fields.object_logical_id = 500
    yield "put back", put_back()
    select(bpy.data.objects["Base"])
    scene.msh_gltf.row = next(i for i, row in enumerate(scene.msh_gltf.rows) if "Guard" in row.name)
    yield "selected by its row", [one.name for one in bpy.context.selected_objects]
    empty_file()
    read(UNIT)
    yield "of a component", [field.key for field in fields_of(said("component")[0])]
    empty_file()
    read(WALKER)
    gun = bpy.data.objects["gun"]
    fields = gun.msh_fields
    yield "of a node", [field.key for field in fields_of(gun)]
    fields.node_tri_flags = 4
    fields.node_tri_flags_32 = True
    fields.node_tri_flags_4 = False
    yield "boxes", [gun["tri_flags"], fields.node_tri_flags_32, fields.node_tri_flags_4]
    fields.node_tri_flags = 4
    yield "typed", gun["tri_flags"]


def opened():
    """*Edit This Model* and *Done*: nothing changes by itself, a corner that is moved does in all places."""
    read(MISSION)
    guard = bpy.data.objects["Guard"]
    home = guard.instance_collection
    names = sorted(o.name for o in home.objects)
    select(guard)
    bpy.ops.object.msh_edit_placed()
    below = sorted(o.name for o in guard.children_recursive) == names
    yield "opened", [below, bpy.context.object.type, guard.instance_type, len(home.objects) == len(names)]
    yield "put back open", put_back()
    bpy.ops.object.msh_done_placed()
    yield "closed", [sorted(o.name for o in home.objects) == names, len(guard.children)]
    yield "put back closed", put_back()
    select(guard)
    bpy.ops.object.msh_edit_placed()
    bpy.context.object.data.vertices[0].co.z += 0.25
    yield "edited", put_back()
    bpy.ops.object.msh_done_placed()
    yield "edited and closed", put_back()


def by_gltf():
    """A mission with a thing that only the glTF add-on can carry: a modifier of geometry nodes in a shared model."""
    scene = read(MISSION)
    home = bpy.data.objects["Guard"].instance_collection
    mesh = next(o for o in home.objects if o.type == "MESH")
    mesh.modifiers.new("nodes", "NODES").show_viewport = False
    yield "needs glTF", module("from_blender").needs_gltf(scene)
    yield "put back", put_back()


def carried():
    """Each part of a unit is one object, on its socket, also of what carries others; a socket's clip moves it."""
    scene = read(UNIT)
    parts = {one["msh"]["key"]: one for one in said("component")}
    root, gun = parts["u_robot"], parts["e_gun_1"]
    socket_of = module("editing").socket_of
    yield "kinds", sorted({o.type for o in scene.objects})
    for key, one in parts.items():
        yield key, [one.instance_type, one.parent and one.parent.name, len(one.children)]

    def on_its_socket():
        """Whether the gun is where its socket, below the root, puts it."""
        bpy.context.view_layer.update()
        socket = socket_of(gun)
        place = root.matrix_world @ socket.matrix_world if socket else gun.parent.matrix_world
        return bool(np.abs(np.array(place @ gun.matrix_basis) - np.array(gun.matrix_world)).max() < 1e-5)

    socket = socket_of(gun)
    before = socket.location.copy()
    yield "on its socket", on_its_socket()
    socket.location.z += 2
    yield "on a moved socket", on_its_socket()
    socket.location = before
    yield "untouched", put_back()
    select(root)
    bpy.ops.object.msh_edit_placed()
    yield "open", [on_its_socket(), gun.parent == socket, put_back()]
    bpy.ops.object.msh_done_placed()
    yield "closed", [gun.parent == root, socket_of(gun) == socket, len(root.children), put_back()]
    gun.constraints.new("LIMIT_LOCATION")
    yield "by glTF", put_back()
    gun.constraints.remove(gun.constraints[-1])
    other = next(
        o
        for o in root.instance_collection.objects
        if o.get("msh", {}).get("node", 99) not in (99, socket["msh"]["node"])
    )
    gun.msh_fields.component_attach = other["msh"]["node"]
    yield "mounted elsewhere", [socket_of(gun) == other, put_back()]
    gun.msh_fields.component_attach = socket["msh"]["node"]
    yield "undone", put_back()
    select(gun)
    bpy.ops.object.delete()
    yield "deleted", put_back()
