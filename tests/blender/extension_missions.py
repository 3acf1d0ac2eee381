"""Steps of ``extension.py``: units and missions, what they place is one object each; the asset library."""

from __future__ import annotations

import bpy
import numpy as np
from extension_tools import (
    MISSION,
    UNIT,
    WALKER,
    at,
    changed_files,
    empty_file,
    error_of,
    module,
    preferences,
    put_back,
    read,
    reopen,
    said,
)
from trial_tools import pick


def _stated(thing):
    """What an object says of itself."""
    return {key: value for key, value in thing["msh"].items() if key != "properties"}


def _tree(collection):
    """The collections below one, with the objects that say that they are placed."""
    return {
        "objects": sorted(o.name for o in collection.objects if o.get("msh", {}).get("kind") == "object"),
        **{child.name: _tree(child) for child in collection.children},
    }


def units():
    scene = read(UNIT)
    state = scene.msh_gltf
    yield "state", [scene.name, state.source, state.kind, state.summary, state.sidecar.name]
    yield "frames", [scene.frame_start, scene.frame_end, scene.render.fps]
    yield "kinds", [len(said("unit")), sorted(one["msh"]["key"] for one in said("component"))]
    yield "untouched", put_back()
    gun = next(one for one in said("component") if one["msh"]["key"] == "e_gun_1")
    gun["msh"]["key"] = "s_rock"
    yield "exchanged", put_back()
    gun["msh"]["key"] = "e_gun_1"
    yield "undone", put_back()
    outside = "alone/робот.dat"
    yield "outside", error_of(bpy.ops.import_scene.msh, filepath=str(at(outside)))
    preferences().game = str(at("assembled"))
    empty_file()
    yield "named", read(outside).msh_gltf.summary
    preferences().game = ""


def missions():
    """Sorted by kind and clan; what objects are and where is as the game has it, and is kept in the .blend."""
    scene = read(MISSION)
    state, layers = scene.msh_gltf, bpy.context.view_layer.layer_collection.children
    yield "state", [scene.name, state.source, state.kind, state.summary]
    yield "switched off", {c.name: c.exclude for c in layers}
    yield "tree", _tree(scene.collection.children[0])
    stated = {o.name: _stated(o) for o in said()}
    for name, facts in stated.items():
        yield name, [facts, list(bpy.data.objects[name].matrix_world.translation)]
    yield "properties", dict(bpy.data.objects["Base"]["msh"]["properties"])
    yield "routes", sorted(one.name for one in said("route"))
    yield "collections that they show", sorted(o.instance_collection.name for o in said())
    reopen("mission.blend")
    yield "opened again", {o.name: _stated(o) for o in said()} == stated
    yield "rebuild", error_of(bpy.ops.export_scene.msh, filepath=str(at("x.msh")), rebuild=True)
    yield "untouched", put_back()
    yield "by its folder", error_of(bpy.ops.import_scene.msh, filepath=str(at(MISSION).parent))


def _thumbnail(asset):
    """Size of the asset's picture, and whether it shows something."""
    picture = asset.preview
    if picture is None or not picture.image_size[0]:
        return None
    return [*picture.image_size, 0.1 < sum(list(picture.image_pixels_float)[3::4]) / 128**2 < 0.9]


def assets():
    """The library is made beside an open model, which stays as it was."""
    library = at("библиотека.blend")
    yield "no game", error_of(bpy.ops.export_scene.msh_assets, filepath=str(library))
    walker = read(WALKER)
    drawn = module("assets").Thumbnails().draw(walker.objects)
    yield "drawn", [list(drawn.shape), bool(0.1 < drawn[..., 3].mean() < 0.9), drawn.reshape(-1, 4)[0].tolist()]
    before = [len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)]
    at("blender_assets.cats.txt").write_text("VERSION 1\n\nabc:mine:mine\n", "utf-8")
    changed_files()
    for _ in range(2):
        bpy.ops.export_scene.msh_assets(filepath=str(library), game=str(at("assembled")))
    after = [len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)]
    yield "same", [before == after, bpy.context.scene.name]
    yield "files", [name.partition(" ")[0] for name in changed_files()]
    rows = at("blender_assets.cats.txt").read_text("utf-8").splitlines()
    catalogs = {row.split(":")[0]: row.split(":")[1] for row in rows if ":" in row}
    yield "catalogs", [len(rows), *sorted(catalogs.values())]
    empty_file()
    with bpy.data.libraries.load(str(library), assets_only=True) as (found, wanted):
        wanted.collections = list(found.collections)
    shown = {one.name: sorted(o.data.name for o in one.all_objects if o.type == "MESH") for one in wanted.collections}
    for one in wanted.collections:
        (top,) = (o for o in one.objects if o.parent is None)
        yield one.name, [catalogs[one.asset_data.catalog_id], top.name, dict(top["msh"]), shown[one.name]]
    # Blender 5.0 and 5.1 drop them when they write a library
    yield "thumbnails", [_thumbnail(one) for one in wanted.collections]


def placing():
    """A library is made; a unit of it is dragged into a mission, another object is moved."""
    library = at("assets.blend")
    bpy.ops.export_scene.msh_assets(filepath=str(library), game=str(at("assembled")))
    scene = read(MISSION)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.collections = ["robot", "static/s_rock"]
    for number, one in enumerate(wanted.collections):
        drag = bpy.data.objects.new(one.name, None)  # what dragging an asset makes
        drag.instance_type, drag.instance_collection = "COLLECTION", one
        drag.location = 120 + 10 * number, 80, 9
        scene.collection.objects.link(drag)
    bpy.data.objects["Guard"].location.x += 7
    changed_files()
    yield "placed", put_back()
    empty_file()
    read(MISSION)
    yield "said", {o.name: [_stated(o).get("path"), list(o.matrix_world.translation)] for o in said()}


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
    pick("Base")
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
    pick(guard.name)
    bpy.ops.object.msh_edit_placed()
    below = sorted(o.name for o in guard.children_recursive) == names
    yield "opened", [below, bpy.context.object.type, guard.instance_type, len(home.objects) == len(names)]
    yield "put back open", put_back()
    bpy.ops.object.msh_done_placed()
    yield "closed", [sorted(o.name for o in home.objects) == names, len(guard.children)]
    yield "put back closed", put_back()
    pick(guard.name)
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
    pick(root.name)
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
    pick(gun.name)
    bpy.ops.object.delete()
    yield "deleted", put_back()
