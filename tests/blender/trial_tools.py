"""Runs in Blender's Python: what the edits of the trials share, and what Blender shows.

An edit is as an artist makes it, and returns names; a message about any of them names the edit.
"""

from __future__ import annotations

import re

import bpy
import numpy as np
from mathutils import Quaternion, Vector

#: What custom properties say that a viewer does not show.
FACTS = ("amount", "clan", "class_id", "flags", "host", "inner", "key", "level", "logical_id", "path", "type")
#: Kind of scene -> name of the edit -> function.
EDITS: dict[str, dict] = {kind: {} for kind in ("model", "unit", "mission", "terrain", "areal map", "scene")}


def edit(kind, *names):
    """Note an edit; ``names`` are what a message about it names."""

    def note(function):
        name = function.__name__.rstrip("_").replace("_", " ")
        assert name not in EDITS[kind], name
        EDITS[kind][name] = lambda: [*names, *(function() or ())]
        return function

    return note


def quick(kind, name, function, *names):
    """Note an edit of one expression, which may be a list of further names."""

    def run():
        further = function()
        return further if isinstance(further, list) and all(isinstance(one, str) for one in further) else []

    run.__name__ = name
    edit(kind, *names)(run)


def obj(name):
    return bpy.data.objects[name]


def put(one, **fields):
    """Set attributes of an object, by its name, or of anything else."""
    for field, value in fields.items():
        setattr(obj(one) if isinstance(one, str) else one, field, value)


def mesh_of(name):
    return bpy.data.objects[name].data


def materials(name):
    """The materials of a row: Blender calls them ``name``, ``name.001``, ..."""
    return [m for m in bpy.data.materials if m.name.partition(".")[0] == name]


def sockets(material):
    """What shows a material: its colour or picture, its light, how dense it is, and how strong the light is.

    Of the extension's node group, which has no such strength, or of Blender's shader.
    """
    nodes = material.node_tree.nodes
    group = next((node for node in nodes if node.type == "GROUP"), None)
    if group is not None:
        return *(group.inputs[name] for name in ("Texture", "Own Light", "Alpha")), None
    shader = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    return tuple(shader.inputs[name] for name in ("Base Color", "Emission Color", "Alpha", "Emission Strength"))


def picture(material):
    return next(n for n in material.node_tree.nodes if n.type == "TEX_IMAGE")


def new_image(name, size, colour=(0.5, 0.25, 0, 1)):
    image = bpy.data.images.new(name, *size, alpha=len(colour) == 4 and colour[3] < 1)
    image.pixels[:] = list(colour) * (size[0] * size[1])
    image.pack()
    return image


def new_look(name, image):
    """A new material with a picture, as the shader editor makes it."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    material.node_tree.links.new(node.outputs["Color"], sockets(material)[0])
    return material


def pick(*names):
    """Select objects alone; the last one is active."""
    bpy.ops.object.select_all(action="DESELECT")
    for name in names:
        obj(name).select_set(True)
    bpy.context.view_layer.objects.active = obj(names[-1])
    return obj(names[-1])


def switch_on():
    """Every collection, as one does to see and to edit what is in it."""
    waiting = [bpy.context.view_layer.layer_collection]
    while waiting:
        one = waiting.pop()
        one.exclude = False
        waiting += one.children
    bpy.context.view_layer.update()


def drag(name, home):
    """Drag an object to another collection in the Outliner."""
    for old in list(obj(name).users_collection):
        old.objects.unlink(obj(name))
    home.objects.link(obj(name))


def copy_of(name, *, linked=False, below=False):
    """Shift+D, or Alt+D; with what is below it."""
    old = [obj(name), *(obj(name).children_recursive if below else ())]
    new = {one: one.copy() for one in old}
    for one, made in new.items():
        if one.data is not None and not linked:
            made.data = one.data.copy()
        one.users_collection[0].objects.link(made)
        made.parent = new.get(one.parent, one.parent)
    return new[obj(name)]


def add(name, data=None, parent=None):
    made = bpy.data.objects.new(name, data)
    top = bpy.context.scene.collection
    (top.children[0] if top.children else top).objects.link(made)  # the importer of 4.2 makes no collections
    made.parent = obj(parent) if parent else None
    return made


def remove(name, *, below=False):
    """X in the 3D view: children stay where their own transform puts them."""
    gone = [obj(name), *(obj(name).children_recursive if below else ())]
    for one in gone:
        bpy.data.objects.remove(one)


def curves(action):
    layers = getattr(action, "layers", None)
    if not layers:
        return list(action.fcurves)
    return [c for bag in layers[0].strips[0].channelbags for c in bag.fcurves]


def rescale(factor):
    """Dope Sheet: S, as the artist does; the range of the scene follows."""
    for curve in (curve for action in bpy.data.actions for curve in curves(action)):
        for point in curve.keyframe_points:
            for handle in (point.co, point.handle_left, point.handle_right):
                handle.x *= factor
        curve.update()
    bpy.context.scene.frame_end = int(np.ceil(bpy.context.scene.frame_end * factor))


def key(name, path, values):
    for frame, value in values.items():
        setattr(obj(name), path, value)
        obj(name).keyframe_insert(path, frame=frame)


def edit_mesh(name, change):
    import bmesh

    mesh, work = mesh_of(name), bmesh.new()
    work.from_mesh(mesh)
    for table in (work.verts, work.edges, work.faces):
        table.ensure_lookup_table()
    out = change(work, bmesh)
    work.to_mesh(mesh)
    work.free()
    return out


def turn(name, angle=0.4, axis=(0, 0, 1)):
    one = obj(name)
    one.rotation_mode = "QUATERNION"
    one.rotation_quaternion = one.rotation_quaternion @ Quaternion(axis, angle)


def move(name, by=(0.5, 0, 0)):
    obj(name).location += Vector(by)


def move_first(name, by=(0.25, 0, 0)):
    mesh_of(name).vertices[0].co += Vector(by)


def paint(name, domain="CORNER", colour=(1, 0, 0, 1)):
    layer = mesh_of(name).color_attributes.new("Col", "BYTE_COLOR", domain)
    for one in layer.data:
        one.color_srgb = colour
    mesh_of(name).color_attributes.active_color = layer
    mesh_of(name).color_attributes.render_color_index = 0


# ------------------------------------------------------------------ what is shown


def shown(frames, cells):
    """What Blender shows of the scene, switched off or not.

    Args:
        frames: to look at.
        cells: what :func:`stated` said before the edit.
    """
    switch_on()
    out = {"corners": [], "uv": [], "colour": [], "material": [], "owner": [], "cell": []}
    scene = bpy.context.scene
    hidden = [o for o in scene.objects if o.hide_viewport]
    for one in hidden:
        one.hide_viewport = False
    for one in scene.objects:
        one.hide_set(False)
    bpy.context.view_layer.update()
    things, placed = list(scene.objects), {}
    for frame in frames:
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for each in graph.object_instances:  # also of the collections that placed objects show
            if each.is_instance and frame == frames[0]:
                above = (each.object.parent or each.parent).name  # a root is below the object that shows it
                facts = {"cell": _cell_of(each.object, cells), "parent": above, "inside": True}
                thing = _thing(each.object, each.matrix_world) | facts
                placed[f"{each.object.name}#{len(placed)}"] = thing
            if each.object.type == "MESH":
                _triangles(each.object, np.array(each.matrix_world), frame == frames[0], out)
                if frame == frames[0]:
                    cell = _cell_of(each.object, cells)
                    out["cell"] += [cell] * (len(out["material"]) - len(out["cell"]))
    scene.frame_set(frames[0])
    count = len(out["material"])
    corners = np.concatenate([np.zeros((0, 3, 3)), *out["corners"]])
    facts = {
        "things": {o.name: _thing(o, o.matrix_world) | {"cell": _cell_of(o, cells)} for o in things} | placed,
        "looks": {m.name: look(m) for m in bpy.data.materials},
        "material": out["material"],
        "owner": out["owner"],
        "cell": out["cell"],
        "frames": _length(),
    }
    even = len(corners) == count * len(frames)
    arrays = {
        "corners": corners.reshape(len(frames), count, 3, 3) if even else corners[None, :count],
        "uv": np.concatenate([np.zeros((0, 3, 2)), *out["uv"]]),
        "colour": np.concatenate([np.zeros((0, 3, 4)), *out["colour"]]),
    }
    return facts, arrays


def stated():
    """The cells that objects say they are of."""
    return {o.name: _stated(o) for o in bpy.context.scene.objects}


def _stated(one):
    said = one.get("msh")
    if hasattr(said, "get") and "lod" in said:
        return f"lod{said['lod']}.group{said['group']}"
    return _in_name(one.name)


def _in_name(name):
    """Row and column that a name states, in the terms of either dialect."""
    if found := re.search(r"lod\d\.group\d|coarse", name):
        return found[0]
    stage, level = re.search(r"\.stage(\d)", name), re.search(r"\.level(\d)|\.view", name)
    if stage is None and level is None:
        return ""
    return f"lod{stage[1] if stage else 0}.group{(level[1] or 4) if level else 0}"


def _cell_of(one, before):
    """As the user left it: by its properties where these were changed, else by its name."""
    now = _stated(one)
    return now if before.get(one.name, now) != now else _in_name(one.name)


def _triangles(one, world, first, out):
    mesh = one.to_mesh()
    mesh.calc_loop_triangles()
    count = len(mesh.loop_triangles)
    vertex, loop = np.empty(3 * count, np.int32), np.empty(3 * count, np.int32)
    mesh.loop_triangles.foreach_get("vertices", vertex)
    mesh.loop_triangles.foreach_get("loops", loop)
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    corners = points.reshape(-1, 3)[vertex].astype(np.float64) @ world[:3, :3].T + world[:3, 3]
    corners, mirrored = corners.reshape(-1, 3, 3), np.linalg.det(world[:3, :3]) < 0
    out["corners"].append(corners[:, ::-1] if mirrored else corners)
    if first:
        uv, colour = (np.full((len(mesh.loops), width), np.nan, np.float32) for width in (2, 4))
        if len(mesh.uv_layers):
            mesh.uv_layers[0].data.foreach_get("uv", uv.reshape(-1))
        if len(mesh.color_attributes):
            layer = mesh.color_attributes[mesh.color_attributes.active_color_index]
            rows = range(len(colour)) if layer.domain == "CORNER" else [one.vertex_index for one in mesh.loops]
            colour[:] = [layer.data[row].color_srgb[:] for row in rows]
        for name, values in (("uv", uv), ("colour", colour)):
            values = values[loop].reshape(count, 3, values.shape[1])
            out[name].append(values[:, ::-1] if mirrored else values)
        slots = [slot.material.name if slot.material else "" for slot in one.material_slots] or [""]
        out["material"] += [slots[min(t.material_index, len(slots) - 1)] for t in mesh.loop_triangles]
        out["owner"] += [one.name] * count
    one.to_mesh_clear()


def _thing(one, world):
    said = one.get("msh")
    facts = {k: said[k] for k in FACTS if k in said} if hasattr(said, "get") else {}
    return {
        "mesh": one.type == "MESH",
        "carries": one.instance_type == "COLLECTION",
        "parent": one.parent.name if one.parent else "",
        "kind": one.type,
        "place": list(world.translation),
        "scale": world.to_scale()[0],
        "says": str(said.get("kind", "")) if hasattr(said, "get") else "",
        "line": _line(one),
        "facts": {k: v if isinstance(v, str) else float(v) for k, v in facts.items()},
    }


def _line(one):
    """Where the points of a mesh without faces are."""
    if one.type != "MESH" or len(one.data.polygons) or not len(one.data.vertices):
        return None
    return sorted([round(v, 3) for v in one.matrix_world @ p.co] for p in one.data.vertices)


def _length():
    """The frame of the last key."""
    ends = [0.0]
    for data in [
        o.animation_data for o in bpy.context.scene.objects if o.animation_data is not None and o.type != "CAMERA"
    ]:
        if data.action is not None:
            ends += [p.co.x for c in curves(data.action) if not c.mute for p in c.keyframe_points]
        ends += [strip.frame_end for track in data.nla_tracks if not track.mute for strip in track.strips]
    return max(ends)


def look(material):
    """The base colour that a material shows: a factor and a picture; ``None``: something else."""
    if material.node_tree is None:  # what Blender before 5.0 makes
        red, green, blue, alpha = material.diffuse_color
        return {"factor": [red, green, blue], "image": None, "emission": [0.0, 0.0, 0.0], "alpha": alpha}
    if not any(node.type in ("GROUP", "BSDF_PRINCIPLED") for node in material.node_tree.nodes):
        return None
    colour, light, alpha, strength = sockets(material)
    factor, image, node = [1.0, 1.0, 1.0], None, None
    if colour.is_linked:
        node = colour.links[0].from_node
    else:
        factor = list(colour.default_value)[:3]
    if node is not None and node.type == "MIX" and node.blend_type == "MULTIPLY":  # as Blender's importer makes it
        pair = [s for s in node.inputs if s.type == "RGBA" and s.enabled]
        linked = [s for s in pair if s.is_linked]
        whole = next(n for n in node.inputs if n.type == "VALUE" and n.enabled)
        if len(linked) != 1 or whole.default_value < 1:
            return None
        factor = next(list(s.default_value)[:3] for s in pair if not s.is_linked)
        node = linked[0].links[0].from_node
    if node is not None:
        if node.type != "TEX_IMAGE" or node.image is None or not node.image.size[0]:
            return None
        pixels = np.empty(len(node.image.pixels), np.float32)
        node.image.pixels.foreach_get(pixels)
        image = pixels.reshape(-1, 4).mean(axis=0).tolist()[:3] + list(node.image.size)
    strong, through = 1.0, light.is_linked
    if strength is None:
        group = light.node.inputs
        factor = [a * b for a, b in zip(factor, group["Colour"].default_value, strict=False)]
        through = any(light.default_value[:3]) and group["Light Texture"].is_linked
    else:
        strong = strength.default_value
    emission = [float(strong > 0)] if through else [strong * v for v in light.default_value[:3]]
    return {"factor": factor, "image": image, "emission": emission, "alpha": alpha.default_value}
