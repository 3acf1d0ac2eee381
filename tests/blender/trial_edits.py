"""Runs in Blender's Python: the edits of the trials (``tests.blender.trials``), each as an artist makes it.

An edit returns names; a message about any of them names the edit.
"""

from __future__ import annotations

import bpy
from mathutils import Matrix, Quaternion, Vector
from trial_tools import (
    add,
    collection,
    copy_of,
    curves,
    drag,
    edit_mesh,
    key,
    keys,
    materials,
    mesh_of,
    move,
    obj,
    pick,
    picture,
    remove,
    rescale,
    shader,
    switch_on,
    turn,
)

#: Kind of scene -> name of the edit -> function; and which are of the extension alone.
EDITS: dict[str, dict] = {"model": {}, "unit": {}, "mission": {}, "terrain": {}, "areal map": {}}
ONLY_EXTENSION: set[str] = set()


def edit(kind, *names, only_extension=False):
    """Note an edit; ``names`` are what a message about it names."""

    def note(function):
        name = function.__name__.rstrip("_").replace("_", " ")

        def run():
            return [*names, *(function() or ())]

        assert name not in EDITS[kind], name
        EDITS[kind][name] = run
        if only_extension:
            ONLY_EXTENSION.add(name)
        return function

    return note


def quick(kind, name, function, *names, only_extension=False):
    function.__name__ = name
    edit(kind, *names, only_extension=only_extension)(function)


# ------------------------------------------------------------------ model: nodes

M = "model"
quick(M, "nothing", lambda: None)
quick(M, "move node", lambda: move("gun"), "gun")
quick(M, "turn node", lambda: turn("gun"), "gun")
quick(M, "turn node by a hair", lambda: turn("gun", 0.002), "gun")
quick(M, "scale node", lambda: setattr(obj("gun"), "scale", (2, 2, 2)), "gun")
quick(M, "scale node unevenly", lambda: setattr(obj("gun"), "scale", (1, 2, 1)), "gun")
quick(M, "mirror node", lambda: setattr(obj("gun"), "scale", (-1, 1, 1)), "gun")
quick(M, "move root", lambda: move("Base_TM"), "Base_TM")
quick(M, "turn root", lambda: turn("Base_TM"), "Base_TM")
quick(M, "scale root", lambda: setattr(obj("Base_TM"), "scale", (1.5, 1.5, 1.5)), "Base_TM", "tower", "gun", "radar")
quick(M, "move far away", lambda: move("gun", (1e5, 0, 0)), "gun")
quick(M, "rename node", lambda: setattr(obj("gun"), "name", "cannon"), "gun", "cannon")
quick(M, "rename animated node", lambda: setattr(obj("tower"), "name", "head"), "tower", "head")
quick(M, "delete node", lambda: remove("gun"), "gun")
quick(M, "delete node with children", lambda: remove("tower"), "tower", "gun", "radar")
quick(M, "delete branch", lambda: remove("tower", below=True), "tower", "gun", "radar")
quick(M, "copy node", lambda: setattr(copy_of("gun"), "location", (0, 3, 0)), "gun.001")
quick(M, "linked copy", lambda: setattr(copy_of("gun", linked=True), "location", (0, 3, 0)), "gun.001")
quick(M, "copy branch", lambda: setattr(copy_of("tower", below=True), "location", (0, 3, 0)), "tower.001", "tower")
quick(M, "no parent", lambda: setattr(obj("gun"), "parent", None), "gun")
quick(M, "other parent", lambda: setattr(obj("gun"), "parent", obj("Base_TM")), "gun")
quick(M, "hidden in viewport", lambda: setattr(obj("gun"), "hide_viewport", True), "gun")
quick(M, "hidden in render", lambda: setattr(obj("gun"), "hide_render", True), "gun")
quick(M, "empty added", lambda: setattr(add("socket", None, "tower"), "location", (1, 1, 1)), "socket")
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


@edit(M, "Base_TM", "tower", "gun", "gun.lod1.group0")
def apply_transforms_of_animated():
    pick("tower").data = mesh_of("tower").copy()
    bpy.ops.object.transform_apply(location=True, rotation=True, scale=True)


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


@edit(M, "Base_TM", "tower", "gun", "radar", "model")
def scale_all_and_apply():
    scale_all()
    bpy.ops.object.select_all(action="SELECT")
    for one in bpy.context.scene.objects:
        if one.data is not None and one.data.users > 1:
            one.data = one.data.copy()
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)


@edit(M, "gun")
def move_node_and_levels_apart():
    switch_on()
    move("gun", (1, 0, 0))
    move("gun.lod1.group0", (2, 0, 0))


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


@edit(M, "words", "Text")
def text_added():
    bpy.ops.object.text_add(location=(0, 0, 4))
    bpy.context.object.name = "words"
    bpy.context.object.data.body = "A"


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


def _vertices(name, by=(0.25, 0, 0)):
    mesh_of(name).vertices[0].co += Vector(by)


quick(M, "move vertex", lambda: _vertices("gun"), "gun")
quick(M, "move vertex of level", lambda: _vertices("gun.lod1.group0"), "gun.lod1.group0")
quick(M, "move vertex of stage", lambda: _vertices("tower.lod0.group1"), "tower.lod0.group1")
quick(M, "flip normals", lambda: mesh_of("gun").flip_normals(), "gun")
quick(M, "shade smooth", lambda: mesh_of("gun").polygons.foreach_set("use_smooth", [True] * len(mesh_of("gun").polygons)), "gun")
quick(M, "move texture coordinates", lambda: setattr(mesh_of("gun").uv_layers[0].data[0], "uv", (0.9, 0.1)), "gun")
quick(M, "delete texture coordinates", lambda: mesh_of("gun").uv_layers.remove(mesh_of("gun").uv_layers[0]), "gun")
quick(M, "mirror modifier", lambda: obj("gun").modifiers.new("m", "MIRROR") and None, "gun")
quick(M, "array modifier", lambda: obj("gun").modifiers.new("m", "ARRAY") and None, "gun")
quick(M, "subdivision modifier", lambda: obj("gun").modifiers.new("m", "SUBSURF") and None, "gun")


@edit(M, "gun")
def delete_face():
    edit_mesh("gun", lambda w, b: b.ops.delete(w, geom=[w.faces[0]], context="FACES_ONLY"))


@edit(M, "gun")
def delete_all_faces():
    edit_mesh("gun", lambda w, b: b.ops.delete(w, geom=list(w.faces), context="FACES"))


@edit(M, "gun")
def subdivide():
    edit_mesh("gun", lambda w, b: b.ops.subdivide_edges(w, edges=list(w.edges), cuts=1, use_grid_fill=True))


@edit(M, "gun")
def extrude():
    def change(work, bmesh):
        new = bmesh.ops.extrude_discrete_faces(work, faces=[work.faces[0]])["faces"][0]
        for vertex in new.verts:
            vertex.co.z += 0.5

    edit_mesh("gun", change)


@edit(M, "gun")
def loose_edge():
    edit_mesh("gun", lambda w, b: w.edges.new([w.verts.new((0, 0, 3)), w.verts.new((0, 1, 3))]))


@edit(M, "gun")
def second_texture_layer():
    layer = mesh_of("gun").uv_layers.new(name="second")
    layer.data[0].uv = (0.3, 0.7)


def _paint(name, domain="CORNER", colour=(1, 0, 0, 1)):
    layer = mesh_of(name).color_attributes.new("Col", "BYTE_COLOR", domain)
    for one in layer.data:
        one.color_srgb = colour
    mesh_of(name).color_attributes.active_color = layer
    mesh_of(name).color_attributes.render_color_index = 0


quick(M, "painted colours", lambda: _paint("gun"), "gun", "colours", only_extension=True)
quick(M, "painted points", lambda: _paint("gun", "POINT"), "gun", "colours", only_extension=True)
quick(M, "painted level", lambda: _paint("gun.lod1.group0"), "gun.lod1.group0", "colours", only_extension=True)
quick(M, "painted white", lambda: _paint("gun", colour=(1, 1, 1, 1)), "gun", "colours")


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


@edit(M, "gun")
def solid_modifier_on_copy():
    copy = copy_of("gun")
    copy.name = "thick"
    copy.location.y += 2
    copy.modifiers.new("s", "SOLIDIFY").thickness = 0.1
    return ["thick"]


# ------------------------------------------------------------------ model: levels of detail

L1, G1 = "gun.lod1.group0", "tower.lod0.group1"
quick(M, "delete level part", lambda: remove(L1), L1, "gun")
quick(M, "delete stage part", lambda: remove(G1), G1, "tower")
quick(M, "rename level part", lambda: setattr(obj(L1), "name", "gun.lod2.group0"), L1, "gun.lod2.group0")
quick(M, "rename level part to nothing", lambda: setattr(obj(L1), "name", "thing"), L1, "thing", "gun")
quick(M, "switch levels on", switch_on)
quick(M, "scale level part", lambda: (switch_on(), setattr(obj(L1), "scale", (2, 2, 2)))[:0], L1)
quick(M, "move level part", lambda: (switch_on(), move(L1))[:0], L1)
quick(M, "turn level part", lambda: (switch_on(), turn(L1))[:0], L1)
quick(M, "animate level part", lambda: (switch_on(), key(L1, "location", {0: (0, 0, 0), 24: (1, 0, 0)}))[:0], L1)
quick(M, "lod property", lambda: obj(L1)["msh"].update({"lod": 2}), L1, "gun.lod2.group0")
quick(M, "drag part to other level", lambda: drag(L1, collection("lod2.group0")), L1, "gun", only_extension=True)
quick(M, "drag node to level", lambda: drag("gun", collection("lod1.group0")), "gun", only_extension=True)
quick(M, "drag stage to level", lambda: drag(G1, collection("lod1.group0")), G1, "tower", only_extension=True)
quick(M, "link part to two levels", lambda: collection("lod2.group0").objects.link(obj(L1)), L1, only_extension=True)
quick(M, "rename collection", lambda: setattr(collection("lod2.group0"), "name", "far"), "far", only_extension=True)


@edit(M, "Base_TM.lod2.group0", "Base_TM")
def delete_level():
    for one in list(collection("lod2.group0").objects):
        bpy.data.objects.remove(one)
    bpy.data.collections.remove(collection("lod2.group0"))


@edit(M, "gun.001", "gun", only_extension=True)
def copy_dropped_into_level():
    copy_of("gun")
    drag("gun.001", collection("lod2.group0"))
    bpy.context.view_layer.update()


@edit(M, "gun.lod1.group0.001", "gun", L1, only_extension=True)
def copy_of_part_dropped_into_level():
    copy_of(L1)
    drag(f"{L1}.001", collection("lod2.group0"))


@edit(M, "gun", only_extension=True)
def node_in_a_new_collection():
    home = bpy.data.collections.new("mine")
    bpy.context.scene.collection.children.link(home)
    drag("gun", home)


@edit(M, "new", only_extension=True)
def new_object_in_level():
    switch_on()
    bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0))
    bpy.context.object.name = "new"
    drag("new", collection("lod1.group0"))


@edit(M, "gun.lod2.group0")
def level_added_by_name():
    switch_on()
    copy = obj(L1).copy()
    copy.data = copy.data.copy()
    copy.name = "gun.lod2.group0"
    if "msh" in copy:
        del copy["msh"]
    obj(L1).users_collection[0].objects.link(copy)
    drag("gun.lod2.group0", collection("lod2.group0"))
    bpy.context.view_layer.update()


# ------------------------------------------------------------------ model: the clip

CLIP = ("animation", "animations", "clip", "e_tur_01", "tower", "radar")


def action():
    return bpy.data.actions[0]


def _delete_keys(test):
    for curve in curves(action()):
        for point in [p for p in curve.keyframe_points if test(p.co.x)][::-1]:
            curve.keyframe_points.remove(point)
        curve.update()


quick(M, "twice as slow", lambda: rescale(2), *CLIP)
quick(M, "twice as fast", lambda: rescale(0.5), *CLIP)
quick(M, "a third slower", lambda: rescale(4 / 3), *CLIP)
quick(M, "uneven last key", lambda: rescale(0.97), *CLIP)
quick(M, "uneven longer last key", lambda: rescale(1.03), *CLIP)
quick(M, "shorter clip", lambda: _delete_keys(lambda x: x > 12.5), *CLIP)
quick(M, "clip begins late", lambda: _delete_keys(lambda x: x < 5.5), *CLIP)
quick(M, "every other key", lambda: _delete_keys(lambda x: x % 2 > 0.5), *CLIP)
quick(M, "no action", lambda: bpy.data.actions.remove(action()), *CLIP)
quick(M, "no animation of a node", lambda: obj("radar").animation_data_clear(), *CLIP)
quick(M, "scene at 30", lambda: setattr(bpy.context.scene.render, "fps", 30), *CLIP)
quick(M, "move animated node", lambda: move("tower"), *CLIP)
quick(M, "key on still node", lambda: key("gun", "location", {0: (0.55, 0.9, 0.45), 24: (1, 2, 0.5)}), *CLIP, "gun")
quick(M, "longer keys on still node", lambda: key("gun", "location", {0: (0, 0, 0), 48: (1, 2, 0)}), *CLIP, "gun")
quick(M, "scale keys", lambda: key("gun", "scale", {0: (1, 1, 1), 24: (2, 2, 2)}), *CLIP, "gun")
quick(M, "scale keys on animated node", lambda: key("radar", "scale", {0: (1, 1, 1), 24: (2, 2, 2)}), *CLIP)
quick(M, "visibility keys", lambda: key("gun", "hide_viewport", {0: False, 12: True}), "gun", only_extension=True)
quick(M, "constant keys", lambda: keys(lambda c, p: setattr(p, "interpolation", "CONSTANT")), *CLIP)
quick(M, "bezier keys", lambda: keys(lambda c, p: setattr(p, "interpolation", "BEZIER")), *CLIP)


@edit(M, *CLIP)
def shift_clip():
    def change(curve, point):
        for handle in (point.co, point.handle_left, point.handle_right):
            handle.x += 5

    keys(change)


@edit(M, *CLIP)
def one_key_turned():
    bpy.context.scene.frame_set(3)
    turn("tower")
    obj("tower").keyframe_insert("rotation_quaternion", frame=3)


@edit(M, *CLIP)
def second_action():
    made = action().copy()
    made.name = "second"
    return ["second"]


@edit(M, *CLIP)
def pushed_down():
    for name in ("tower", "radar"):
        data = obj(name).animation_data
        used = data.action
        strip = data.nla_tracks.new().strips.new(used.name, 0, used)
        if getattr(data, "action_slot", None) is not None:
            strip.action_slot = data.action_slot
        data.action = None


@edit(M, "gun", *CLIP)
def driver_():
    curve = obj("gun").driver_add("location", 0)
    curve.driver.expression = "frame * 0.1"


@edit(M, "gun", *CLIP)
def driven_by_a_property():
    obj("gun")["recoil"] = 0.5
    curve = obj("gun").driver_add("location", 1)
    variable = curve.driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = obj("gun"), '["recoil"]'
    curve.driver.expression = "var"


@edit(M, "gun", *CLIP, only_extension=True)
def constraint_to_radar():
    obj("gun").constraints.new("COPY_ROTATION").target = obj("radar")


@edit(M, "gun", *CLIP)
def still_constraint():
    constraint = obj("gun").constraints.new("LIMIT_LOCATION")
    constraint.use_max_x, constraint.max_x, constraint.owner_space = True, 0.1, "LOCAL"


@edit(M, "follower")
def follows_a_path():
    bpy.ops.mesh.primitive_cube_add(size=0.3, location=(0, 0, 3))
    bpy.context.object.name = "follower"
    bpy.context.object.parent = obj("Base_TM")
    bpy.context.object.constraints.new("COPY_LOCATION").target = obj("radar")
    key("radar", "location", {0: (0, 0, 1), 24: (2, 0, 1)})


@edit(M, "gun", only_extension=True)
def driven_modifier():
    modifier = obj("gun").modifiers.new("m", "ARRAY")
    modifier.use_relative_offset, modifier.use_constant_offset = False, True
    modifier.driver_add("constant_offset_displace", 0).driver.expression = "frame * 0.1"


@edit(M, *CLIP)
def noise_modifier():
    curve = next(c for c in curves(action()) if "rotation" in c.data_path)
    curve.modifiers.new("NOISE").strength = 0.5


# ------------------------------------------------------------------ model: materials


def _base(name, colour):
    for one in materials(name):
        inputs = shader(one).inputs["Base Color"]
        for link in list(inputs.links):
            one.node_tree.links.remove(link)
        inputs.default_value = colour


def _set(name, socket, value):
    for one in materials(name):
        inputs = shader(one).inputs[socket]
        for link in list(inputs.links):
            one.node_tree.links.remove(link)
        inputs.default_value = value


def _between(name, kind, **settings):
    """A node between the picture and the shader."""
    for one in materials(name):
        tree, inputs = one.node_tree, shader(one).inputs["Base Color"]
        node = tree.nodes.new(kind)
        for field, value in settings.items():
            if field in node.inputs:
                node.inputs[field].default_value = value
            else:
                setattr(node, field, value)
        source = inputs.links[0].from_socket
        into = next(s for s in node.inputs if s.type == "RGBA" and s.enabled)
        tree.links.new(source, into)
        tree.links.new(next(s for s in node.outputs if s.type == "RGBA" and s.enabled), inputs)
        if kind == "ShaderNodeRGBCurve":
            node.mapping.curves[3].points[0].location.y = 0.5
            node.mapping.update()


def _image(name, size, colour=(0.5, 0.25, 0, 1)):
    image = bpy.data.images.new(name, *size, alpha=len(colour) == 4 and colour[3] < 1)
    image.pixels[:] = list(colour) * (size[0] * size[1])
    image.pack()
    return image


def new_look(name, image):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    material.node_tree.links.new(node.outputs["Color"], shader(material).inputs["Base Color"])
    return material


def _pictures(name, image):
    for one in materials(name):
        picture(one).image = image


def _mapping(name):
    for one in materials(name):
        tree, node = one.node_tree, picture(one)
        mapping = tree.nodes.new("ShaderNodeMapping")
        mapping.inputs["Scale"].default_value = (2, 2, 1)
        where = tree.nodes.new("ShaderNodeTexCoord")
        tree.links.new(where.outputs["UV"], mapping.inputs["Vector"])
        tree.links.new(mapping.outputs["Vector"], node.inputs["Vector"])


def _assign(name, material):
    mesh_of(name).materials[0] = material


def _plain(name, colour):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader(material).inputs["Base Color"].default_value = colour
    return material


A = "armour"
quick(M, "base colour without picture", lambda: _base(A, (1, 0, 0, 1)), A)
quick(M, "emission off", lambda: _set("glow", "Emission Strength", 0.0), "glow")
quick(M, "emission colour", lambda: _set(A, "Emission Color", (1, 0, 0, 1)) or _set(A, "Emission Strength", 1.0), A)
quick(M, "roughness", lambda: _set(A, "Roughness", 0.1), A)
quick(M, "metallic", lambda: _set(A, "Metallic", 1.0), A)
quick(M, "alpha", lambda: _set(A, "Alpha", 0.5), A)
quick(M, "other picture", lambda: _pictures(A, _image("RUST", (32, 32))), A, "RUST")
quick(M, "odd picture", lambda: _pictures(A, _image("RUST", (33, 17))), A, "RUST")
quick(M, "large picture", lambda: _pictures(A, _image("RUST", (512, 256))), A, "RUST")
quick(M, "see-through picture", lambda: _pictures(A, _image("RUST", (32, 32), (1, 0, 0, 0.3))), A, "RUST")
quick(M, "node gamma", lambda: _between(A, "ShaderNodeGamma", Gamma=3.0), A, only_extension=True)
quick(M, "node hue", lambda: _between(A, "ShaderNodeHueSaturation", Hue=0.8), A, only_extension=True)
quick(M, "node invert", lambda: _between(A, "ShaderNodeInvert"), A, only_extension=True)
quick(M, "node brightness", lambda: _between(A, "ShaderNodeBrightContrast", Bright=0.5), A, only_extension=True)
quick(M, "node curves", lambda: _between(A, "ShaderNodeRGBCurve"), A, only_extension=True)
quick(M, "node mix", lambda: _between(A, "ShaderNodeMix", data_type="RGBA", blend_type="MIX"), A, only_extension=True)
quick(M, "node add", lambda: _between(A, "ShaderNodeMix", data_type="RGBA", blend_type="ADD"), A, only_extension=True)
quick(M, "node multiply", lambda: _between(A, "ShaderNodeMix", data_type="RGBA", blend_type="MULTIPLY"), A, only_extension=True)
quick(M, "node mapping", lambda: _mapping(A), A)
quick(M, "new material", lambda: _assign("gun", _plain("brass", (1, 0.5, 0, 1))), "brass")
quick(M, "new material with picture", lambda: _assign("gun", new_look("brass", _image("BRASS", (32, 32)))), "brass", "BRASS")
quick(M, "new material of an old name", lambda: _assign("gun", _plain("glow", (1, 0, 0, 1))), "glow", "glow.001")
quick(M, "assigned material", lambda: _assign("gun", materials("glow")[0]), "glow", "gun")
quick(M, "no material", lambda: mesh_of("gun").materials.clear(), "gun", "faces")
quick(M, "renamed material", lambda: [setattr(m, "name", "rust") for m in materials(A)][:0], A, "rust")
quick(M, "cullingoff", lambda: [setattr(m, "use_backface_culling", False) for m in materials(A)][:0])
quick(M, "viewport colour", lambda: [setattr(m, "diffuse_color", (1, 0, 0, 1)) for m in materials(A)][:0])


@edit(M, A)
def repainted():
    image = picture(materials(A)[0]).image
    image.pixels[:400] = [1, 0, 0, 1] * 100
    image.update()


@edit(M, A)
def multiplied_by_vertex_colour():
    _paint("Base_TM")
    for one in materials(A):
        tree, inputs = one.node_tree, shader(one).inputs["Base Color"]
        node = tree.nodes.new("ShaderNodeMix")
        node.data_type, node.blend_type = "RGBA", "MULTIPLY"
        node.inputs["Factor"].default_value = 1.0
        a, b = [s for s in node.inputs if s.type == "RGBA"]
        colours = tree.nodes.new("ShaderNodeVertexColor")
        colours.layer_name = "Col"
        tree.links.new(inputs.links[0].from_socket, a)
        tree.links.new(colours.outputs["Color"], b)
        tree.links.new(next(s for s in node.outputs if s.type == "RGBA"), inputs)
    return ["Base_TM", "colours"]


@edit(M, A)
def procedural_texture():
    for one in materials(A):
        node = one.node_tree.nodes.new("ShaderNodeTexNoise")
        one.node_tree.links.new(node.outputs["Color"], shader(one).inputs["Base Color"])


@edit(M, A)
def other_shader():
    for one in materials(A):
        tree = one.node_tree
        node = tree.nodes.new("ShaderNodeBsdfDiffuse")
        node.inputs["Color"].default_value = (1, 0, 0, 1)
        output = next(n for n in tree.nodes if n.type == "OUTPUT_MATERIAL")
        tree.links.new(node.outputs[0], output.inputs[0])


@edit(M, A)
def normal_map():
    for one in materials(A):
        tree = one.node_tree
        node, image = tree.nodes.new("ShaderNodeNormalMap"), tree.nodes.new("ShaderNodeTexImage")
        image.image = _image("BUMP", (32, 32), (0.5, 0.5, 1, 1))
        tree.links.new(image.outputs["Color"], node.inputs["Color"])
        tree.links.new(node.outputs["Normal"], shader(one).inputs["Normal"])


# ------------------------------------------------------------------ unit, mission


def component(keyed):
    return next(o for o in bpy.context.scene.objects if o.get("msh", {}).get("key") == keyed)


def first_mesh(one):
    return next(o for o in one.children_recursive if o.type == "MESH")


def placed(name):
    """The component and the root of the model that an object shows."""
    return next(o for o in [*obj(name).children_recursive] if o.get("msh", {}).get("kind") == "component" or o.type == "MESH")


def shift(one, by=(1.0, 2.0, 0.5)):
    bpy.context.view_layer.update()
    one.matrix_world = Matrix.Translation(by) @ one.matrix_world


def twist(one, angle=0.5):
    bpy.context.view_layer.update()
    pivot = Matrix.Translation(one.matrix_world.translation)
    one.matrix_world = pivot @ Matrix.Rotation(angle, 4, "Z") @ pivot.inverted() @ one.matrix_world


def drop(one):
    for each in [*one.children_recursive, one]:
        bpy.data.objects.remove(each)


U = "unit"
GUN, DOME = "e_gun_01", "e_tur_dome"
quick(U, "nothing", lambda: None)
quick(U, "move component", lambda: shift(component(GUN)), GUN, "Base_TM")
quick(U, "turn component", lambda: twist(component(GUN)), GUN, "Base_TM")
quick(U, "scale component", lambda: setattr(component(GUN), "scale", (2, 2, 2)), GUN, "Base_TM")
quick(U, "exchange component", lambda: component(GUN)["msh"].update({"key": DOME}), GUN, DOME, "Base_TM#3")
quick(U, "delete component", lambda: drop(component(GUN)), GUN, "Base_TM")
quick(U, "delete turret", lambda: drop(component(DOME)), GUN, DOME, "Base_TM")
quick(U, "move mesh", lambda: shift(first_mesh(component(GUN))), GUN, "Base_TM")
quick(U, "turn mesh", lambda: twist(first_mesh(component(GUN))), GUN, "Base_TM")
quick(U, "delete mesh", lambda: drop(first_mesh(component(GUN))), GUN, "Base_TM")
quick(U, "edit mesh", lambda: _vertices(first_mesh(component(GUN)).name), GUN, "Base_TM")
quick(U, "rename mesh", lambda: setattr(first_mesh(component(GUN)), "name", "barrel"), GUN, "barrel", "Base_TM")
quick(U, "move unit", lambda: shift(obj("walker")), "walker", "unit")
quick(U, "scale unit", lambda: setattr(obj("walker"), "scale", (2, 2, 2)), "walker", "unit")
quick(U, "recolour inside", lambda: _set("glow", "Emission Strength", 0.0), "glow")
quick(U, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)) and None, "Cube")
quick(U, "copy component", lambda: setattr(copy_of(component(GUN).name, below=True), "location", (0, 0, 2)), GUN, "e_gun_01.001", "Base_TM")


@edit(U, "walker", DOME, "Base_TM", "animation", "r_dome", "r_walk")
def animated_root_on_socket():
    root = first_mesh(component(DOME))
    root.rotation_mode = "QUATERNION"
    for frame, angle in ((0, 0.0), (12, 1.0)):
        root.rotation_quaternion = Quaternion((0, 0, 1), angle)
        root.keyframe_insert("rotation_quaternion", frame=frame)
    return [root.name]


S = "mission"
B, W = "Base", "Walker 1"
quick(S, "nothing", lambda: None)
for title, name in (("building", B), ("unit", W)):
    quick(S, f"move {title}", lambda name=name: move(name, (10, 20, 0.5)), name)
    quick(S, f"turn {title}", lambda name=name: turn(name), name)
    quick(S, f"tilt {title}", lambda name=name: turn(name, 0.3, (1, 0, 0)), name)
    quick(S, f"scale {title}", lambda name=name: setattr(obj(name), "scale", (2, 2, 2)), name)
    quick(S, f"mirror {title}", lambda name=name: setattr(obj(name), "scale", (-1, 1, 1)), name)
    quick(S, f"delete {title}", lambda name=name: drop(obj(name)), name)
    quick(S, f"rename {title}", lambda name=name: setattr(obj(name), "name", "Fort"), name, "Fort")
    quick(S, f"delete top of {title}", lambda name=name: remove(name), name, "fr_hangar", "u_walker")
    quick(S, f"move root of {title}", lambda name=name: shift(placed(name)), name)
    quick(S, f"turn root of {title}", lambda name=name: twist(placed(name)), name)
    quick(S, f"scale root of {title}", lambda name=name: setattr(placed(name), "scale", (2, 2, 2)), name, "fr_hangar", "u_walker", "Base_TM")
    quick(S, f"delete root of {title}", lambda name=name: drop(placed(name)), name, "fr_hangar", "u_walker")
    quick(S, f"move mesh of {title}", lambda name=name: shift(first_mesh(obj(name))), name)
    quick(S, f"turn mesh of {title}", lambda name=name: twist(first_mesh(obj(name))), name)
    quick(S, f"delete mesh of {title}", lambda name=name: drop(first_mesh(obj(name))), name, "Base_TM")
    quick(S, f"edit mesh of {title}", lambda name=name: _vertices(first_mesh(obj(name)).name), name, "Base_TM", "f_hangar", "r_walk")
    quick(S, f"copy {title}", lambda name=name: shift(copy_of(name, below=True), (30, 0, 0)), name, f"{name}.001")
    quick(S, f"linked copy of {title}", lambda name=name: shift(copy_of(name, below=True, linked=True), (30, 0, 0)), name, f"{name}.001")
    quick(S, f"other clan of {title}", lambda name=name: obj(name)["msh"].update({"clan": 0}), name)


def tree():
    return next(o.name for o in bpy.context.scene.objects if o.get("msh", {}).get("object_kind") in (2, 3))


quick(S, "move tree", lambda: shift(obj(tree())) or [tree()])
quick(S, "scale tree", lambda: setattr(obj(tree()), "scale", (3, 3, 3)) or [tree()])
quick(S, "delete tree", lambda: (tree(), drop(obj(tree())))[:1])
quick(S, "move mesh of tree", lambda: shift(first_mesh(obj(tree()))) or [tree()])
quick(S, "copy tree", lambda: shift(copy_of(tree(), below=True), (30, 0, 0)) or [tree(), f"{tree()}.001"])
quick(S, "move route point", lambda: setattr(mesh_of("route_1").vertices[0].co, "x", 9), "route_1")
quick(S, "move route", lambda: move("route_1"), "route_1")
quick(S, "delete route", lambda: remove("route_1"), "route_1")
quick(S, "add route point", lambda: edit_mesh("route_1", lambda w, b: w.edges.new([w.verts[-1], w.verts.new((1, 1, 0))])) and None, "route_1")
quick(S, "move zone", lambda: (switch_on(), move("Nature.zone_0", (5, 0, 0)))[:0], "Nature.zone_0")
quick(S, "scale zone", lambda: (switch_on(), setattr(obj("Nature.zone_0"), "scale", obj("Nature.zone_0").scale * 2))[:0], "Nature.zone_0")
quick(S, "delete zone", lambda: remove("Nature.zone_0"), "Nature.zone_0")
quick(S, "copy zone", lambda: (switch_on(), move(copy_of("Nature.zone_0").name, (5, 0, 0)))[:0], "Nature.zone_0")
quick(S, "move lode", lambda: (switch_on(), move("lode_0", (5, 0, 0)))[:0], "lode_0")
quick(S, "amount of lode", lambda: obj("lode_0")["msh"].update({"amount": 99.0}), "lode_0")
quick(S, "delete lode", lambda: remove("lode_0"), "lode_0")
quick(S, "move ground", lambda: move("terrain", (10, 0, 0)), "terrain")
quick(S, "edit ground", lambda: _vertices("terrain", (0, 0, 5)), "terrain", "Land")
quick(S, "recolour inside", lambda: _set("glow", "Emission Strength", 0.0), "glow")
quick(S, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)) and None, "Cube")
quick(S, "parent to another", lambda: setattr(obj(W), "parent", obj(B)), W, B)


def _clan(name, other):
    """The collection of another clan, made if need be."""
    above = obj(name).users_collection[0]
    up = next(c for c in bpy.context.scene.collection.children_recursive if above.name in c.children)
    home = bpy.data.collections.new(f"{up.name}.{other}")
    up.children.link(home)
    for one in [obj(name), *obj(name).children_recursive]:
        drag(one.name, home)


quick(S, "drag to other clan", lambda: _clan(W, "Nature"), W, only_extension=True)
quick(S, "drag to no clan", lambda: _clan(W, "friends"), W, only_extension=True)


# ------------------------------------------------------------------ terrain, areal map

T = "terrain"
quick(T, "nothing", lambda: None)


def _inner(work):
    return next(v for v in work.verts if len(v.link_faces) > 2 and not v.is_boundary)


def _ground(change):
    edit_mesh("terrain", change)


@edit(T, "terrain")
def raise_corner():
    _ground(lambda w, b: setattr(_inner(w).co, "z", _inner(w).co.z + 5))


@edit(T, "terrain")
def raise_all():
    for vertex in mesh_of("terrain").vertices:
        vertex.co.z += 2.5


@edit(T, "terrain", "coarse")
def ground_face_deleted():
    _ground(lambda w, b: b.ops.delete(w, geom=[_inner(w).link_faces[0]], context="FACES_ONLY"))


@edit(T, "terrain")
def ground_subdivided():
    def change(work, bmesh):
        bmesh.ops.subdivide_edges(work, edges=[_inner(work).link_faces[0].edges[0]], cuts=1)
        bmesh.ops.triangulate(work, faces=work.faces[:])

    _ground(change)


@edit(T, "terrain")
def ground_painted():
    def change(work, bmesh):
        face = _inner(work).link_faces[0]
        face.material_index = (face.material_index + 1) % len(mesh_of("terrain").materials)

    _ground(change)


@edit(T, "terrain", "lava")
def new_ground():
    mesh_of("terrain").materials.append(bpy.data.materials.new("lava"))
    _ground(lambda w, b: setattr(_inner(w).link_faces[0], "material_index", len(mesh_of("terrain").materials) - 1))


@edit(T, "terrain", "blend", "_MSH_BLEND", "coarse")
def blend_():
    layer = mesh_of("terrain").attributes["_MSH_BLEND"]
    for one in layer.data:
        one.value = 1.0 if one.value < 0.5 else 0.0


@edit(T, "terrain")
def dragged_across():
    _ground(lambda w, b: setattr(_inner(w).co, "x", _inner(w).co.x + 500))


quick(T, "ground moved", lambda: move("terrain", (1, 0, 0)), "terrain")
quick(T, "ground scaled", lambda: setattr(obj("terrain"), "scale", (1, 1, 2)), "terrain")
quick(T, "coarse corner", lambda: (switch_on(), _vertices("coarse", (0, 0, 5)))[:0], "coarse")
quick(T, "coarse moved", lambda: (switch_on(), move("coarse", (0, 0, 5)))[:0], "coarse")
quick(T, "coarse deleted", lambda: remove("coarse"), "coarse")
quick(T, "ground deleted", lambda: remove("terrain"), "terrain")
quick(T, "ground coordinates", lambda: setattr(mesh_of("terrain").uv_layers[0].data[0], "uv", (3.5, 0.1)), "terrain")
quick(T, "ground colours", lambda: _paint("terrain"), "terrain", "colours", only_extension=True)
quick(T, "ground renamed", lambda: setattr(obj("terrain"), "name", "ground"), "terrain", "ground")
quick(T, "ground material renamed", lambda: setattr(materials("LND_ROCK")[0], "name", "basalt"), "LND_ROCK", "basalt")
quick(T, "cube on the ground", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)) and None, "Cube")

R = "areal map"
quick(R, "nothing", lambda: None)


def areal_meshes():
    return [o for o in bpy.context.scene.objects if o.type == "MESH" and o.name.partition(".")[0] != "borders"]


@edit(R, "areal", "corner")
def corner_moved():
    import numpy as np

    points = np.array([tuple(v.co) for o in areal_meshes() for v in o.data.vertices])
    faces = np.array([tuple(v.co) for o in areal_meshes() for f in o.data.polygons for v in map(o.data.vertices.__getitem__, f.vertices)])
    places, count = np.unique(faces, axis=0, return_counts=True)
    inner = [p for p, n in zip(places, count) if n >= 3 and (p[:2] > points[:, :2].min(0) + 1).all() and (p[:2] < points[:, :2].max(0) - 1).all()]
    for one in areal_meshes():
        for vertex in one.data.vertices:
            if np.allclose(tuple(vertex.co), inner[0]):
                vertex.co.x += 0.5


@edit(R, "areal", "corner")
def corner_far():
    mesh_of(areal_meshes()[0].name).vertices[0].co.x += 5000


@edit(R, "areal")
def areal_deleted():
    name = areal_meshes()[0].name

    def change(work, bmesh):
        layer = work.verts.layers.float.get("_MSH_AREAL")
        gone = [work.faces[0]]
        if layer is not None:
            number = work.faces[0].verts[0][layer]
            gone = [f for f in work.faces if f.verts[0][layer] == number]
        bmesh.ops.delete(work, geom=gone, context="FACES")

    edit_mesh(name, change)


quick(R, "areals moved", lambda: [move(o.name, (3, 0, 0)) for o in areal_meshes()][:0], "areal", "class_1", "areals")
quick(R, "areals scaled", lambda: [setattr(o, "scale", (1.1, 1.1, 1)) for o in areal_meshes()][:0], "areal", "class_1", "areals")
quick(R, "class deleted", lambda: remove(areal_meshes()[-1].name), "areal", "class_3", "areals")
quick(R, "renamed", lambda: setattr(areal_meshes()[0], "name", "mine"), "areal", "mine", "class_1", "areals")
quick(R, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)) and None, "areal", "Cube")
