"""Steps of ``extension.py``: welded meshes, levels below their nodes, and what the bridge does not carry."""

from __future__ import annotations

from pathlib import Path

import bpy

from __main__ import FILES, error_of, module, read, report, vertices, write


def corner(out):
    """One vertex of a mesh is moved: all corners there move with it."""
    read("walker")
    mesh = bpy.data.objects["gun"].data
    facts = {"seen": vertices(mesh), "corners": sum(1 for loop in mesh.loops if loop.vertex_index == 0)}
    facts["was"] = list(mesh.vertices[0].co)
    mesh.vertices[0].co.z += 0.5
    facts["is"] = list(mesh.vertices[0].co)
    facts["report"] = write(out / "corner.msh")
    return facts


def cells(out):
    """The sliders of the panel show one stage and level; its parts are where their node is."""
    scene = read("walker")
    state = scene.msh_gltf

    def seen():
        return sorted(o.name for o in scene.objects if o.type == "MESH" and o.visible_get())

    facts = {"first": seen()}
    state.stage = 1
    facts["stage 1"] = seen()
    state.stage, state.level = 0, 1
    facts["level 1"] = seen()
    facts["untouched"] = write(out / "same.msh")
    state.level = 4
    facts["beyond"] = state.level, seen()
    state.level = 0
    facts["again"] = seen()
    scene.frame_set(7)
    gun, part = (bpy.data.objects[name].matrix_world for name in ("gun", "gun.level1"))
    facts["follows"] = max(abs(a - b) for x, y in zip(gun, part, strict=True) for a, b in zip(x, y, strict=True))
    scene.frame_set(0)
    bpy.ops.wm.read_homefile(use_empty=True)
    read("turrets", entry="e_tur_01.msh")
    bpy.ops.object.select_all(action="DESELECT")
    target = bpy.data.objects["gun"]
    target.select_set(True)
    bpy.context.view_layer.objects.active = target
    bpy.ops.object.duplicate()
    bpy.context.object.name = f"{target.name}.stage1"
    facts["copied"] = [target.name, target.parent.name, write(out / "copied.msh")]
    return facts


def levels(out):
    """*Generate Levels*, Ctrl+Z, Ctrl+Shift+Z, again; then for a part of a new model that has a modifier."""
    read("hangar")
    bpy.ops.ed.undo_push(message="opened")
    facts = {"before": [o.name for o in bpy.context.scene.objects]}
    assert bpy.ops.object.msh_levels() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="levels")
    facts["made"] = report()
    bpy.ops.ed.undo()
    facts["undone"] = [o.name for o in bpy.context.scene.objects]
    bpy.ops.ed.redo()
    facts["seen"] = sorted(o.name for o in bpy.context.scene.objects if o.visible_get())
    facts["again"] = error_of(bpy.ops.object.msh_levels)
    facts["report"] = write(out / "hangar.msh")
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=2)
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=4, location=(4, 0, 0))
    bpy.context.object.modifiers.new("array", "ARRAY").count = 2
    bpy.ops.object.msh_levels(count=1, ratio=0.3, distance=2)
    facts["new"] = [report(), write(out / "ball.msh", dialect="retail")]
    return facts


def beyond(out):
    """What the bridge does not carry goes by glTF: a constraint, a driver, a skeleton."""
    facts = {}
    for name in ("constraint", "driver", "bone", "instances"):
        bpy.ops.wm.read_homefile(use_empty=True)
        scene = read("walker")
        facts[f"{name} before"] = module("from_blender").needs_gltf(scene)
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
        facts[name] = module("from_blender").needs_gltf(scene)
        facts[f"{name} report"] = write(out / f"{name}.msh")
    return facts


def turned(out):
    """Objects that Blender turns by Euler angles, and that have a place from their parent."""
    scene = read("walker")
    gun = bpy.data.objects["gun"]
    before = gun.matrix_world.copy()
    gun.animation_data_clear()
    gun.rotation_mode = "XYZ"
    facts = {"euler": write(out / "euler.msh")}
    other = bpy.data.objects.new("other", gun.data)
    scene.collection.objects.link(other)
    other.parent = gun
    other.matrix_parent_inverse = before.inverted()
    other.location, other.rotation_euler = (1, 2, 3), (0.5, 0, 0)
    for frame, angle in ((0, 0.0), (10, 1.0)):
        other.rotation_euler.x = angle
        other.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.view_layer.update()
    facts["local"] = [list(row) for row in gun.matrix_world.inverted() @ other.matrix_world]
    facts["added"] = write(out / "added.msh")
    return facts


def unkeyed(out):
    """An object that has keys is turned, without a key."""
    scene = read("walker")
    one = next(o for o in scene.objects if o.animation_data is not None and "lod" not in o["msh"])
    facts = {"name": one.name, "before": write(out / "same.msh")}
    one.rotation_quaternion = (0, 1, 0, 0)
    facts["report"] = write(out / "turned.msh")
    return facts


def stopped(out):
    """Long work that Esc stops: after its first step, and while it makes objects."""

    def inside():
        groups = ("scenes", "collections", "objects", "meshes", "materials", "images", "node_groups", "texts")
        return {group: sorted(one.name for one in getattr(bpy.data, group)) for group in groups}

    work, imports, exports = (module(name) for name in ("window", "import_msh", "export_msh"))
    work._PAUSE = 0  # every object
    facts, options = {}, imports.ExportOptions()
    for name, count in (("reading", 1), ("making", 4)):
        before = inside()
        steps = imports.import_model(bpy.context, Path(FILES["walker"]), None, options)
        result = None
        for _ in range(count):
            result = steps.send(result).job()
        made = len(bpy.data.objects)
        steps.close()
        facts[name] = made, inside() == before
    scene = read("walker")
    write(out / "first.msh")
    before = report(scene)
    for key, location in (("put_back", None), ("moved", 1.0)):
        scene.objects["gun"].location.x += location or 0.0
        steps = exports._put_back(None, bpy.context, "")
        next(steps)
        steps.close()
        facts[key] = report(scene) == before
    return facts
