"""Steps of ``extension.py``: levels, clips, control points, materials and libraries; work that is stopped."""

from __future__ import annotations

import bpy
import numpy as np
from extension_tools import (
    BIRD,
    HANGAR,
    TURRETS,
    UNIT,
    WALKER,
    at,
    empty_file,
    error_of,
    look_of,
    meshes,
    module,
    panel,
    put_back,
    read,
    report,
    sockets,
    write,
)
from trial_tools import new_image, new_look, pick, rescale


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
    pick(target.name)
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


def marked():
    """The ranges of a controller on the timeline, and a file that is put back with them moved."""
    scene = read("marked/walker.msh")
    yield "markers", [[one.frame, one.name] for one in scene.timeline_markers]
    yield "untouched", write("same.msh")
    scene.timeline_markers[0].frame += 3
    scene.timeline_markers.new("mine", frame=1)
    yield "moved", write("same.msh")


def clips():
    """A frame of Blender is a frame of the game at any frame rate, which stays as the user set it."""
    for path in (WALKER, BIRD):
        for factor in (0.5, 1.5, 2.0):
            for rate in (24, 30):
                empty_file()
                scene = read(path)
                rescale(factor)
                scene.render.fps, scene.render.fps_base = rate, 1.001
                yield f"{path}, {factor}, {rate}", write("stretched.msh")
                assert scene.render.fps == rate
    for path in (WALKER, HANGAR):
        empty_file()
        read(path)
        still = next(o for o in bpy.context.scene.objects if not o.animation_data)
        for frame, size in ((0, 1.0), (10, 2.0)):
            still.scale = size, size, size
            still.keyframe_insert("scale", frame=frame)
        yield f"{path}, scaled {still.name}", write("scaled.msh")


def clips_inside():
    """Of a model inside a unit: it is written beside the unit, which does not change."""
    read(UNIT)
    yield "untouched", write("unit.dat")
    rescale(2)
    yield "stretched", write("unit.dat")


def _add(parent, place):
    new = bpy.data.objects.new("Muzzle.point", None)
    bpy.context.scene.collection.objects.link(new)
    new.parent, new.location = parent, place
    return new


def points():
    """An archive with two models, with forgotten bytes; the second has no ``.cpt``, and gets one."""
    read("points/points.rlb", entry="robot.msh")
    objects = bpy.data.objects
    moved = next(o for o in objects if o.name.startswith("CameraCenter.point"))
    gone = next(o for o in objects if o.name.startswith("gone.point"))
    moved.location.z += 1
    yield "moved", put_back()
    new = _add(moved.parent, (1, 2, 3))
    yield "added", put_back()
    bpy.data.objects.remove(new)
    moved.location.z -= 1
    yield "undone", put_back()
    bpy.data.objects.remove(gone)
    yield "deleted", put_back()

    empty_file()
    read("points/points.rlb", entry="bare.msh")
    new = _add(next(o for o in bpy.data.objects if o.parent is None and o.type != "LIGHT"), (0, 0, 0))
    yield "first", put_back()
    bpy.data.objects.remove(new)
    yield "none", put_back()


def materials():
    """A material renamed, put back, renamed again to what it was, and another one added."""
    read(TURRETS, entry="e_tur_01.msh")
    armour = [m for m in bpy.data.materials if m.name.partition(".")[0] == "armour"]
    for step, name in (("renamed", "rust"), ("undone", "armour")):
        for material in armour:
            material.name = name
        yield step, put_back()
    mesh = meshes()[0].data
    old = mesh.materials[0]
    for name in ("gold", "silver"):
        mesh.materials[0] = bpy.data.materials.new(name)
        yield name, put_back()
    mesh.materials[0] = old
    yield "removed", put_back()


def libraries():
    """Recolour, repaint, a new one, and all of it undone: each edit starts from the game."""
    read(TURRETS, entry="e_tur_01.msh")
    state = bpy.context.scene.msh_gltf
    yield "same", put_back()
    emission = sockets(look_of("glow"))["Own Light"]
    before = [*emission.default_value]
    emission.default_value = (0, 0, 0, 1)
    yield "recoloured", put_back()
    emission.default_value = before
    joint = look_of("joint")
    image = next(n.image for n in joint.node_tree.nodes if n.type == "TEX_IMAGE")
    pixels = list(image.pixels)
    image.pixels[:4] = (1, 0, 0, 1)
    image.update()
    yield "repainted", put_back()
    wide, high = image.size
    image.scale(100, 60)
    emission.default_value = (0, 0, 0, 1)
    yield "of an odd size", put_back()
    image.scale(wide, high)
    image.pixels[:] = [1, 0, 0, 1, *pixels[4:]]
    image.update()
    emission.default_value = before
    state.own_materials = True
    yield "own", put_back()
    state.own_materials = False
    image.pixels[:] = pixels
    image.update()
    yield "undone", put_back()
    mesh = meshes()[0].data
    old = mesh.materials[0]
    mesh.materials[0] = new_look("латунь", new_image("BRASS", (32, 32)))
    yield "new", put_back()
    at("wall").mkdir()
    at("wall/BRASS.0").write_bytes(b"mine")
    yield "exported", write("wall/turret.msh")
    mesh.materials[0] = joint
    yield "reassigned", put_back()
    mesh.materials[0] = old
    yield "removed", put_back()


def grouped():
    """One material for all batches that look alike; a node that the game has not, baked; a draw mode."""
    read(BIRD)
    yield "batches", {m.name: len(m.get("msh_batches", ())) for m in bpy.data.materials}
    empty_file()
    read(TURRETS, entry="e_tur_01.msh")
    materials = module("game_material")
    armour = bpy.data.materials["armour"]
    bpy.context.view_layer.objects.active = one = next(o for o in meshes() if o.active_material == armour)
    tree, socket = armour.node_tree, sockets(armour)["Texture"]
    node = tree.nodes.new("ShaderNodeInvert")
    tree.links.new(socket.links[0].from_socket, node.inputs["Color"])
    tree.links.new(node.outputs[0], socket)
    sockets(armour)["Draw Mode"].default_value = 3
    before = _pixels(materials.read(armour).images[0])
    yield "foreign", put_back()
    yield "marked", node.use_custom_color
    sockets(armour)["Draw Mode"].default_value = 0
    assert bpy.ops.object.msh_bake() == {"FINISHED"}
    (image,) = materials.read(armour).images
    change = abs(_pixels(image) - before)
    yield "pixels", [image.name, [*image.size], bool(change[:, :3].min() > 0), float(change[:, 3].max())]
    yield "baked", put_back().rpartition(" ")[0]
    assert bpy.ops.object.msh_bake() == {"FINISHED"}
    (again,) = materials.read(armour).images
    yield "again", float(abs(_pixels(again) - _pixels(image)).max())
    sockets(armour)["Colour"].default_value = (1, 0, 0, 1)  # which Blender's glTF add-on does not know
    one.modifiers.new("nodes", "NODES")
    yield "by glTF", put_back()


def _pixels(image):
    values = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(values)
    return values.reshape(-1, 4)


def namesakes():
    """Two files of Blender, each with a new material of one name and a colour of its own.

    The first model's second edit arrives; the second model's look is reported, not taken.
    """
    for entry, colours in (("e_tur_01.msh", ((1, 0, 0, 1), (0, 1, 0, 1))), ("e_tur_02.msh", ((0, 0, 1, 1),))):
        empty_file()
        read(TURRETS, entry=entry)
        meshes()[0].data.materials[0] = material = bpy.data.materials.new("namesake")
        material.use_nodes = True
        shader = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
        for colour in colours:
            shader.inputs["Base Color"].default_value = colour
            yield f"{entry}, {colour[:3]}", put_back()
