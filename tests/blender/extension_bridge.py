"""Steps of ``extension.py``: welded meshes, levels below their nodes, and what the bridge does not carry."""

from __future__ import annotations

import bpy
import numpy as np
from extension_tools import (
    HANGAR,
    TURRETS,
    WALKER,
    at,
    empty_file,
    error_of,
    module,
    panel,
    put_back,
    read,
    report,
    select,
    write,
)


def corner():
    """One vertex of a mesh is moved: all corners there move with it, and no other."""
    read(WALKER)
    mesh = bpy.data.objects["gun"].data
    yield "corners there", sum(1 for loop in mesh.loops if loop.vertex_index == 0)
    was = np.float32(mesh.vertices[0].co)
    mesh.vertices[0].co.z += 0.5
    yield "moved", write("corner.msh")
    old, new = (_positions(path) for path in (WALKER, "corner.msh"))
    moved = (old != new).any(axis=1)
    yield "from and to", [set(map(tuple, (one[moved] - was).tolist())) for one in (old, new)]


def _positions(path):
    nres, model = (module(f"converter.formats.{name}") for name in ("nres", "model"))
    return model.read_model(nres.read_nres(at(path).read_bytes(), "x"), "x").positions


def cells():
    """The sliders of the panel show one stage and level; its parts are where their node is."""
    scene = read(WALKER)
    state = scene.msh_gltf

    def seen():
        return sorted(o.name for o in scene.objects if o.type == "MESH" and o.visible_get())

    for stage, level in ((0, 0), (1, 0), (0, 1), (0, 4), (0, 0)):
        state.stage, state.level = stage, level
        yield f"stage {stage}, level {level}", [state.stage, state.level, *seen()]
    yield "untouched", write("same.msh")
    scene.frame_set(7)
    gun, part = (np.array(bpy.data.objects[name].matrix_world) for name in ("gun", "gun.level1"))
    yield "follows", bool((gun == part).all())
    empty_file()
    read(TURRETS, entry="e_tur_01.msh")
    target = bpy.data.objects["gun"]
    select(target)
    bpy.ops.object.duplicate()
    bpy.context.object.name = f"{target.name}.stage1"
    yield f"copied below {target.parent.name}", write("copied.msh")


def levels():
    """*Generate Levels*, Ctrl+Z, Ctrl+Shift+Z, again; then for a part of a new model that has a modifier."""
    read(HANGAR)
    bpy.ops.ed.undo_push(message="opened")
    before = [o.name for o in bpy.context.scene.objects]
    assert bpy.ops.object.msh_levels() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="levels")
    yield "made", panel()
    bpy.ops.ed.undo()
    yield "undone", [o.name for o in bpy.context.scene.objects] == before
    bpy.ops.ed.redo()
    yield "seen", sorted(o.name for o in bpy.context.scene.objects if o.visible_get())
    yield "again", error_of(bpy.ops.object.msh_levels)
    yield "written", write("hangar.msh")
    empty_file()
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=2)
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=4, location=(4, 0, 0))
    bpy.context.object.modifiers.new("array", "ARRAY").count = 2
    bpy.ops.object.msh_levels(count=1, ratio=0.3, distance=2)
    yield "of what the modifier shows", panel()
    yield "new", write("ball.msh", dialect="retail")


def beyond():
    """What the bridge does not carry goes by glTF."""
    for name in ("constraint", "driver", "bone", "instances"):
        empty_file()
        scene = read(WALKER)
        before = module("from_blender").needs_gltf(scene)
        gun = bpy.data.objects["gun"]
        if name == "constraint":
            gun.constraints.new("LIMIT_LOCATION")
        elif name == "driver":
            gun.driver_add("location", 0).driver.expression = "0.5"
        elif name == "bone":
            rig = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
            scene.collection.objects.link(rig)
        else:
            gun.modifiers.new("nodes", "NODES")
        yield f"{name}: needs glTF", [before, module("from_blender").needs_gltf(scene)]
        yield name, write(f"{name}.msh")


def turned():
    """A new node stands where Blender shows it, and turns by the Euler angles of its keys."""
    scene = read(WALKER)
    gun = bpy.data.objects["gun"]
    before = gun.matrix_world.copy()
    gun.animation_data_clear()
    gun.rotation_mode = "XYZ"
    yield "euler", write("euler.msh")
    other = bpy.data.objects.new("other", gun.data)
    scene.collection.objects.link(other)
    other.parent = gun
    other.matrix_parent_inverse = before.inverted()
    other.location, other.rotation_euler = (1, 2, 3), (0.5, 0, 0)
    for frame, angle in ((0, 0.0), (10, 1.0)):
        other.rotation_euler.x = angle
        other.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.view_layer.update()
    shown = {frame: _local(other, gun, frame) for frame in (0, 10)}
    yield "added", write("added.msh")
    empty_file()
    read("added.msh")
    one = next(o for o in bpy.context.scene.objects if o.name == "other")
    away = [abs(_local(one, one.parent, frame) - matrix).max() for frame, matrix in shown.items()]
    yield "as it was shown", bool(max(away) < 1e-3)


def _local(one, above, frame):
    bpy.context.scene.frame_set(frame)
    return np.array(above.matrix_world.inverted() @ one.matrix_world)


def unkeyed():
    """An object that has keys is turned, without a key."""
    scene = read(WALKER)
    one = next(o for o in scene.objects if o.animation_data is not None and "lod" not in o["msh"])
    yield "before", write("same.msh")
    one.rotation_quaternion = (0, 1, 0, 0)
    yield one.name, write("turned.msh")


def stopped():
    """Long work that Esc stops, after its first step and while it makes objects, leaves nothing."""

    def inside():
        groups = ("scenes", "collections", "objects", "meshes", "materials", "images", "node_groups", "texts")
        return {group: sorted(one.name for one in getattr(bpy.data, group)) for group in groups}

    work, imports, exports = (module(name) for name in ("window", "import_msh", "export_msh"))
    work._PAUSE = 0  # every object
    options = imports.ExportOptions()
    for name, count in (("reading", 1), ("making", 4)):
        before = inside()
        steps = imports.import_model(bpy.context, at(WALKER), None, options)
        result = None
        for _ in range(count):
            result = steps.send(result).job()
        made = len(bpy.data.objects)
        steps.close()
        yield f"{name}: objects made, and nothing left", [made, inside() == before]
    scene = read(WALKER)
    yield "exported", write("first.msh")
    before = panel(scene)
    for key, location in (("put back", 0.0), ("put back moved", 1.0)):
        scene.objects["gun"].location.x += location
        steps = exports._put_back(None, bpy.context, "")
        next(steps)
        steps.close()
        yield f"{key}: the last report stays", panel(scene) == before
    yield "files", [report() == "; ".join(before), put_back()]
