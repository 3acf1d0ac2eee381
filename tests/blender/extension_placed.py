"""Steps of ``extension.py``: what a mission or unit places is one object of Blender."""

from __future__ import annotations

from pathlib import Path

import bpy
from extension_materials import put_back

from __main__ import FILES, module, read


def _said(scene):
    return {
        one.name: [round(value, 3) for value in one.matrix_world.translation]
        for one in scene.objects
        if one.get("msh", {}).get("kind") == "object"
    }


def _select(one):
    bpy.ops.object.select_all(action="DESELECT")
    one.select_set(True)
    bpy.context.view_layer.objects.active = one


def things(out):
    """One is moved, one deleted, one copied with Shift+D; then a model is edited in place."""
    mission = Path(FILES["mission"])
    scene = read("mission")
    facts = {
        "empties": sorted(o.name for o in scene.objects if o.instance_type == "COLLECTION"),
        "meshes": sorted(o.name for o in scene.objects if o.type == "MESH"),
        "shared": bpy.data.objects["Guard"].instance_collection == bpy.data.objects["Герой"].instance_collection,
    }
    _select(bpy.data.objects["Guard"])
    bpy.ops.object.duplicate()
    bpy.context.object.location.x += 20
    bpy.data.objects["Base"].location.x += 7
    _select(bpy.data.objects["S_ROCK"])
    bpy.ops.object.delete()
    facts["gestures"] = put_back(mission, out / "gestures.tma")
    bpy.ops.wm.read_homefile(use_empty=True)
    facts["after"] = _said(read("mission"))
    return facts


def fielded(out):
    """Fields of the panel are the custom properties; a row of the report selects; what is switched off is named."""
    mission = Path(FILES["mission"])
    scene = read("mission")
    guard = bpy.data.objects["Guard"]
    fields = module("panel")
    facts = {"fields": [field.key for field in fields.fields_of(guard)], "was": guard.msh_fields.object_logical_id}
    facts["off"] = module("export_msh").switched_off(bpy.context)
    backup = bpy.data.collections.new("backup")
    scene.collection.children.link(backup)
    backup.objects.link(bpy.data.objects.new("old", None))
    bpy.context.view_layer.layer_collection.children["backup"].exclude = True
    facts["backup"] = module("export_msh").switched_off(bpy.context)
    bpy.data.objects.remove(bpy.data.objects["old"])
    guard.msh_fields.object_logical_id = 500
    facts["report"] = put_back(mission, out / "fields.tma")
    rows = [row.name for row in scene.msh_gltf.rows]
    _select(bpy.data.objects["Base"])
    scene.msh_gltf.row = next(i for i, name in enumerate(rows) if "Guard" in name)
    facts["selected"] = [one.name for one in bpy.context.selected_objects]
    bpy.ops.wm.read_homefile(use_empty=True)
    read("unit")
    parts = [o for o in bpy.context.scene.objects if o.get("msh", {}).get("kind") == "component"]
    facts["component"] = [field.key for field in fields.fields_of(parts[0])]
    bpy.ops.wm.read_homefile(use_empty=True)
    read("walker")
    gun = bpy.data.objects["gun"]
    facts["node"] = [field.key for field in fields.fields_of(gun)]
    gun.msh_fields.node_tri_flags = 4
    gun.msh_fields.node_tri_flags_32 = True
    gun.msh_fields.node_tri_flags_4 = False
    facts["boxes"] = [gun["tri_flags"], gun.msh_fields.node_tri_flags_32, gun.msh_fields.node_tri_flags_4]
    gun.msh_fields.node_tri_flags = 4
    facts["typed"] = gun["tri_flags"]
    return facts


def opened(out):
    """*Edit This Model* and *Done*: nothing changes by itself, a corner that is moved does in all places."""
    mission = Path(FILES["mission"])
    (out / "before.tma").write_bytes(mission.read_bytes())
    read("mission")
    guard = bpy.data.objects["Guard"]
    home = guard.instance_collection
    names = sorted(o.name for o in home.objects)
    _select(guard)
    bpy.ops.object.msh_edit_placed()
    facts = {
        "below": sorted(o.name for o in guard.children_recursive) == names,
        "active": bpy.context.object.type,
        "type": guard.instance_type,
        "copies": len(home.objects) == len(names),
    }
    facts["open"] = put_back(mission, out / "open.tma")
    bpy.ops.object.msh_done_placed()
    facts["closed"] = sorted(o.name for o in home.objects) == names and not guard.children
    facts["done"] = put_back(mission, out / "done.tma")
    _select(guard)
    bpy.ops.object.msh_edit_placed()
    bpy.context.object.data.vertices[0].co.z += 0.25
    facts["edited"] = put_back(mission, out / "edited.tma")
    bpy.ops.object.msh_done_placed()
    facts["again"] = put_back(mission, out / "again.tma")
    return facts


def by_gltf(out):
    """A mission with a thing that only the glTF add-on can carry: a modifier of geometry nodes in a shared model."""
    mission = Path(FILES["mission"])
    (out / "before.tma").write_bytes(mission.read_bytes())
    scene = read("mission")
    home = bpy.data.objects["Guard"].instance_collection
    mesh = next(o for o in home.objects if o.type == "MESH")
    mesh.modifiers.new("nodes", "NODES").show_viewport = False
    facts = {"needs": module("from_blender").needs_gltf(scene)}
    facts["report"] = put_back(mission, out / "same.tma")
    return facts


def carried(out):
    """Each part of a unit is one object, on its socket, also of what carries others; a socket's clip moves it."""
    scene = read("unit")
    parts = {o["msh"]["key"]: o for o in scene.objects if o.get("msh", {}).get("kind") == "component"}
    root, gun = parts["u_robot"], parts["e_gun_1"]
    facts = {
        "kinds": sorted({o.type for o in scene.objects}),
        "parts": {key: [o.instance_type, o.parent and o.parent.name, len(o.children)] for key, o in parts.items()},
    }
    path = Path(FILES["unit"])
    (out / "before.dat").write_bytes(path.read_bytes())

    def away():
        """How far the gun is from where its socket, below the root, puts it."""
        bpy.context.view_layer.update()
        socket = module("editing").socket_of(gun)
        place = root.matrix_world @ socket.matrix_world if socket else gun.parent.matrix_world
        return max(
            abs(a - b)
            for x, y in zip(place @ gun.matrix_basis, gun.matrix_world, strict=True)
            for a, b in zip(x, y, strict=True)
        )

    facts["away"] = [away()]
    socket = module("editing").socket_of(gun)
    before = socket.location.copy()
    socket.location.z += 2
    facts["away"].append(away())
    socket.location = before
    facts["untouched"] = put_back(path, out / "same.dat")
    _select(root)
    bpy.ops.object.msh_edit_placed()
    facts["away"].append(away())
    facts["open"] = [gun.parent == socket, put_back(path, out / "open.dat")["warnings"]]
    bpy.ops.object.msh_done_placed()
    facts["closed"] = [gun.parent == root, module("editing").socket_of(gun) == socket, len(root.children)]
    facts["done"] = put_back(path, out / "done.dat")["warnings"]
    gun.constraints.new("LIMIT_LOCATION")
    facts["by_gltf"] = put_back(path, out / "by_gltf.dat")["warnings"]
    gun.constraints.remove(gun.constraints[-1])
    other = next(
        o
        for o in root.instance_collection.objects
        if o.get("msh", {}).get("node", 99) not in (99, socket["msh"]["node"])
    )
    gun.msh_fields.component_attach = other["msh"]["node"]
    facts["mounted"] = [module("editing").socket_of(gun) == other, put_back(path, out / "mounted.dat")]
    gun.msh_fields.component_attach = socket["msh"]["node"]
    put_back(path, out / "undone.dat")
    _select(gun)
    bpy.ops.object.delete()
    facts["deleted"] = put_back(path, out / "deleted.dat")
    return facts
