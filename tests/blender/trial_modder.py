"""Edits of the trials: what modders do with modifiers, parents, copies, names and other objects of Blender."""

from __future__ import annotations

import bpy
from mathutils import Matrix, Vector
from trial_levels import GUN, B, S, U, W, component, first_mesh, shift, tree
from trial_looks import new_look
from trial_nodes import M, move_first
from trial_tools import add, copy_of, drag, edit, key, materials, mesh_of, obj, pick, put, quick

# ------------------------------------------------------------------ model: modifiers and what deforms


def modify(name, kind, **settings):
    made = obj(name).modifiers.new("mod", kind)
    for field, value in settings.items():
        setattr(made, field, value)


quick(M, "bevel modifier", lambda: modify("gun", "BEVEL", width=0.02), "gun")
quick(M, "decimate modifier", lambda: modify("gun", "DECIMATE", ratio=0.5), "gun")
quick(M, "triangulate modifier", lambda: modify("gun", "TRIANGULATE"), "gun")
quick(M, "weighted normals", lambda: modify("gun", "WEIGHTED_NORMAL"), "gun")
quick(M, "wireframe modifier", lambda: modify("gun", "WIREFRAME", thickness=0.05), "gun")
quick(M, "modifier of renders alone", lambda: modify("gun", "SUBSURF", show_viewport=False), "gun")
quick(M, "modifier on an animated node", lambda: modify("tower", "SOLIDIFY", thickness=0.1), "tower")
quick(
    M, "modifier on a level", lambda: modify("gun.level1", "SOLIDIFY", thickness=0.1), "gun.level1", only_extension=True
)


@edit(M, "gun")
def build_modifier():
    modify("gun", "BUILD", frame_start=0, frame_duration=20)


@edit(M, "gun", "cutter")
def boolean_with_a_hidden_cutter():
    bpy.ops.mesh.primitive_cube_add(size=0.6, location=obj("gun").matrix_world.translation)
    bpy.context.object.name = "cutter"
    modify("gun", "BOOLEAN", object=obj("cutter"), operation="DIFFERENCE")
    obj("cutter").hide_set(True)


@edit(M, "gun", "Lattice", only_extension=True)
def lattice():
    bpy.ops.object.add(type="LATTICE", location=obj("gun").matrix_world.translation)
    bpy.context.object.data.points[0].co_deform.x += 1
    modify("gun", "LATTICE", object=bpy.context.object)


def nodes_of(name, build):
    tree_of = bpy.data.node_groups.new("scatter", "GeometryNodeTree")
    tree_of.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree_of.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    start, end = tree_of.nodes.new("NodeGroupInput"), tree_of.nodes.new("NodeGroupOutput")
    build(tree_of, start, end)
    modify(name, "NODES", node_group=tree_of)


@edit(M, "gun")
def geometry_nodes_move():
    def build(tree_of, start, end):
        move = tree_of.nodes.new("GeometryNodeTransform")
        move.inputs["Translation"].default_value = (0, 0, 0.5)
        tree_of.links.new(start.outputs[0], move.inputs[0])
        tree_of.links.new(move.outputs[0], end.inputs[0])

    nodes_of("gun", build)


@edit(M, "gun", only_extension=True)
def geometry_nodes_instances():
    def build(tree_of, start, end):
        cube, on = tree_of.nodes.new("GeometryNodeMeshCube"), tree_of.nodes.new("GeometryNodeInstanceOnPoints")
        cube.inputs["Size"].default_value = (0.1, 0.1, 0.1)
        tree_of.links.new(start.outputs[0], on.inputs["Points"])
        tree_of.links.new(cube.outputs[0], on.inputs["Instance"])
        tree_of.links.new(on.outputs[0], end.inputs[0])

    nodes_of("gun", build)


@edit(M, "gun")
def animated_shape_key():
    obj("gun").shape_key_add(name="Basis")
    block = obj("gun").shape_key_add(name="wide")
    block.data[0].co.x += 1
    for frame, value in ((0, 0.0), (24, 1.0)):
        block.value = value
        block.keyframe_insert("value", frame=frame)


quick(M, "unused shape key", lambda: [obj("gun").shape_key_add(name=n) for n in ("Basis", "wide")], "gun")
quick(M, "vertex group", lambda: obj("gun").vertex_groups.new(name="top").add([0, 1], 1, "ADD"), "gun")

# ------------------------------------------------------------------ model: parents, transforms, instances


@edit(M, "gun")
def parent_with_an_inverse():
    pick("gun", "radar")
    bpy.ops.object.parent_set(type="OBJECT", keep_transform=True)
    return ["radar"]


@edit(M, "gun")
def parent_to_a_vertex():
    obj("gun").parent_type, obj("gun").parent_vertices = "VERTEX", (0, 0, 0)


quick(
    M,
    "mirrored by ctrl m",
    lambda: (pick("gun"), bpy.ops.transform.mirror(constraint_axis=(True, False, False))),
    "gun",
)
quick(M, "turned inside out", lambda: put("gun", scale=(-1, -1, -1)), "gun")
quick(M, "flat scale", lambda: put("gun", scale=(1, 1, 0)), "gun")
quick(M, "delta transform", lambda: put("gun", delta_location=(0, 0, 0.5)), "gun")
quick(M, "delta of an animated node", lambda: put("tower", delta_location=(0, 0, 0.5)), "tower")
quick(M, "euler angles", lambda: (put("gun", rotation_mode="XYZ"), put("gun", rotation_euler=(0.1, 0.2, 0.3))), "gun")
quick(
    M,
    "axis and angle",
    lambda: (put("gun", rotation_mode="AXIS_ANGLE"), put("gun", rotation_axis_angle=(1, 0, 0, 1))),
    "gun",
)
quick(
    M,
    "scaled linked copies",
    lambda: [put(copy_of("gun", linked=True), scale=(s, s, s)) for s in (2, 3)],
    "gun.001",
    "gun.002",
)
quick(M, "swapped meshes", lambda: _swap("gun", "radar"), "gun", "radar")
quick(M, "swapped names", lambda: _swap_names("gun", "radar"), "gun", "radar")
quick(M, "cyrillic name", lambda: put("gun", name="Пушка"), "gun", "Пушка")
quick(M, "long name", lambda: put("gun", name="g" * 60), "gun", "g" * 60)
quick(M, "name with a number", lambda: put("gun", name="gun.005"), "gun", "gun.005")
quick(M, "hidden by h", lambda: obj("gun").hide_set(True), "gun")
quick(M, "instances on vertices", lambda: _instances("VERTS"), "gun", "drop")
quick(M, "instances on faces", lambda: _instances("FACES"), "gun", "drop")
quick(M, "object of wires", lambda: put("gun", display_type="WIRE"), "gun")


def _swap(one, other):
    obj(one).data, obj(other).data = obj(other).data, obj(one).data


def _swap_names(one, other):
    first, second = obj(one), obj(other)
    first.name, second.name, first.name = "aside", one, other


def _instances(kind):
    bpy.ops.mesh.primitive_cube_add(size=0.1)
    bpy.context.object.name, bpy.context.object.parent = "drop", obj("gun")
    obj("gun").instance_type = kind


@edit(M, "gun", "shown", only_extension=True)
def collection_instance():
    home = bpy.data.collections.new("parts")
    home.objects.link(obj("gun"))
    made = add("shown", None)
    made.instance_type, made.instance_collection, made.location = "COLLECTION", home, (0, 0, 3)


@edit(M, "gun")
def hidden_collection():
    home = bpy.data.collections.new("away")
    bpy.context.scene.collection.children.link(home)
    drag("gun", home)
    bpy.context.view_layer.layer_collection.children["away"].exclude = True


@edit(M, "gun", "gun.001")
def in_two_collections():
    home = bpy.data.collections.new("twice")
    bpy.context.scene.collection.children.link(home)
    home.objects.link(obj("gun"))


# ------------------------------------------------------------------ model: meshes


def in_edit_mode(name, *steps):
    pick(name)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    for step in steps:
        step()
    bpy.ops.object.mode_set(mode="OBJECT")


quick(M, "separate loose parts", lambda: in_edit_mode("tower", lambda: bpy.ops.mesh.separate(type="LOOSE")), "tower")
quick(M, "tris to quads", lambda: in_edit_mode("gun", bpy.ops.mesh.tris_convert_to_quads), "gun")
quick(M, "merge by distance", lambda: in_edit_mode("gun", bpy.ops.mesh.remove_doubles), "gun")
quick(M, "limited dissolve", lambda: in_edit_mode("gun", bpy.ops.mesh.dissolve_limited), "gun")
quick(M, "symmetrize", lambda: in_edit_mode("gun", bpy.ops.mesh.symmetrize), "gun")
quick(M, "convex hull", lambda: in_edit_mode("tower", bpy.ops.mesh.convex_hull), "tower")
quick(M, "split edges", lambda: in_edit_mode("gun", bpy.ops.mesh.edge_split), "gun")
quick(M, "inset faces", lambda: in_edit_mode("gun", lambda: bpy.ops.mesh.inset(thickness=0.02)), "gun")
quick(M, "unwrapped again", lambda: in_edit_mode("gun", bpy.ops.uv.smart_project), "gun")
quick(M, "custom normals cleared", lambda: (pick("gun"), bpy.ops.mesh.customdata_custom_splitnormals_clear()), "gun")
quick(M, "renamed coordinates", lambda: put(mesh_of("gun").uv_layers[0], name="paint"), "gun")
quick(
    M,
    "coordinates far away",
    lambda: [put(d, uv=d.uv + Vector((7, -3))) for d in mesh_of("gun").uv_layers[0].data],
    "gun",
)
quick(M, "join three", lambda: (pick("radar", "gun", "tower"), bpy.ops.object.join()), "tower", "gun", "radar")
quick(M, "emptied mesh", lambda: mesh_of("radar").clear_geometry(), "radar")


@edit(M, "gun")
def custom_normals():
    mesh_of("gun").normals_split_custom_set([Vector((0.6, 0, 0.8))] * len(mesh_of("gun").loops))


@edit(M, "gun", "gun.001")
def separated_face():
    in_edit_mode("gun", lambda: bpy.ops.mesh.select_all(action="DESELECT"))
    mesh_of("gun").polygons[0].select = True
    pick("gun")
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.separate(type="SELECTED")
    bpy.ops.object.mode_set(mode="OBJECT")


@edit(M, "gun", "gun.001")
def copy_joined_back():
    copy = copy_of("gun")
    copy.location.x += 1
    pick(copy.name, "gun")
    bpy.ops.object.join()


# ------------------------------------------------------------------ model: materials, other objects, the clip


def _swap_slots(name):
    mesh_of(name).materials.append(materials("glow")[0])
    for face in [*mesh_of(name).polygons][::2]:
        face.material_index = len(mesh_of(name).materials) - 1


@edit(M, "gun")
def material_of_the_object():
    slot = obj("gun").material_slots[0]
    slot.link = "OBJECT"
    slot.material = materials("glow")[0]


quick(M, "half its faces glow", lambda: _swap_slots("gun"), "gun")
quick(
    M,
    "empty slot",
    lambda: (
        mesh_of("gun").materials.append(None),
        put(mesh_of("gun").polygons[0], material_index=len(mesh_of("gun").materials) - 1),
    ),
    "gun",
    "faces",
)
quick(M, "generated picture", lambda: _generated(), "armour", "grid", "gun", "board")
quick(
    M,
    "animated camera",
    lambda: (bpy.ops.object.camera_add(), key(bpy.context.object.name, "location", {0: (0, 0, 5), 48: (5, 0, 5)})),
    "Camera",
    "animation",
)
quick(M, "unit scale", lambda: put(bpy.context.scene.unit_settings, scale_length=0.01), "gun")
quick(M, "muted curve", lambda: _curve(lambda curve: put(curve, mute=True)), "tower", "radar", "animation", "clip")
quick(M, "cycled curve", lambda: _curve(lambda curve: curve.modifiers.new("CYCLES")), "tower", "radar", "animation")


def _curve(change):
    from trial_tools import curves

    for action in bpy.data.actions:
        for curve in curves(action):
            change(curve)


def _generated():
    image = bpy.data.images.new("grid", 64, 64)
    image.generated_type = "COLOR_GRID"
    mesh_of("gun").materials[0] = new_look("board", image)


@edit(M, "tube", "BezierCurve")
def curve_added():
    bpy.ops.curve.primitive_bezier_curve_add(location=(0, 0, 3))
    bpy.context.object.name, bpy.context.object.data.bevel_depth = "tube", 0.1


@edit(M, "words")
def text_converted():
    bpy.ops.object.text_add(location=(0, 0, 4))
    bpy.context.object.name, bpy.context.object.data.body = "words", "A"
    bpy.ops.object.convert(target="MESH")


@edit(M, "tube")
def curve_converted():
    bpy.ops.curve.primitive_bezier_circle_add(location=(0, 0, 3))
    bpy.context.object.name, bpy.context.object.data.bevel_depth = "tube", 0.1
    bpy.ops.object.convert(target="MESH")


@edit(M, "ball", "Mball", only_extension=True)
def metaball():
    bpy.ops.object.metaball_add(location=(0, 0, 3))
    bpy.context.object.name = "ball"


@edit(M, "gun", "animation", "tower")
def clip_copied_to_the_gun():
    data = obj("tower").animation_data
    made = obj("gun").animation_data_create()
    obj("gun").rotation_mode = "QUATERNION"
    made.action = data.action
    if getattr(data, "action_slot", None) is not None:
        made.action_slot = data.action_slot


# ------------------------------------------------------------------ unit

quick(U, "mirror component", lambda: put(component(GUN), scale=(-1, 1, 1)), GUN, "Base_TM")
quick(U, "hidden component", lambda: component(GUN).hide_set(True), GUN)
quick(U, "rename component", lambda: put(component(GUN), name="cannon"), GUN, "cannon")
quick(U, "cyrillic component", lambda: put(component(GUN), name="Пушка"), GUN, "Пушка")
quick(U, "component without a parent", lambda: put(component(GUN), parent=None), GUN, "Base_TM")
quick(
    U,
    "swapped materials",
    lambda: mesh_of(first_mesh(component(GUN)).name).materials.__setitem__(0, materials("glow")[0]),
    GUN,
    "Base_TM",
    "glow",
)
quick(U, "inside decimated", lambda: modify(first_mesh(component(GUN)).name, "DECIMATE", ratio=0.5), GUN, "Base_TM")
quick(
    U,
    "inside unwrapped",
    lambda: in_edit_mode(first_mesh(component(GUN)).name, bpy.ops.uv.smart_project),
    GUN,
    "Base_TM",
)
quick(U, "inside shape key", lambda: _shape(first_mesh(component(GUN))), GUN, "Base_TM")
quick(
    U,
    "linked copy of component",
    lambda: put(copy_of(component(GUN).name, below=True, linked=True), location=(0, 1, 2)),
    GUN,
    "e_gun_01.001",
    "Base_TM",
)
quick(U, "object below component", lambda: _below(component(GUN)), GUN, "box", "Base_TM")
quick(
    U,
    "animated component",
    lambda: key(component(GUN).name, "location", {0: (0, 0, 0), 12: (0, 0, 1)}),
    GUN,
    "animation",
    "Base_TM",
)
quick(
    U, "animated unit", lambda: key("walker", "location", {0: (0, 0, 0), 12: (5, 0, 0)}), "walker", "animation", "unit"
)


def _shape(one):
    one.shape_key_add(name="Basis")
    one.shape_key_add(name="wide", from_mix=False).data[0].co.x += 1
    one.data.shape_keys.key_blocks["wide"].value = 1.0


def _below(one):
    bpy.ops.mesh.primitive_cube_add(size=0.3)
    bpy.context.object.name, bpy.context.object.parent = "box", one


# ------------------------------------------------------------------ mission

for title, name in (("building", B), ("tree", None)):

    def thing(name=name):
        return obj(name or tree())

    quick(S, f"inside out {title}", lambda t=thing: put(t(), scale=(-1, -1, -1)) or [t().name])
    quick(S, f"flat {title}", lambda t=thing: put(t(), scale=(1, 1, 0.2)) or [t().name])
    quick(S, f"delta of {title}", lambda t=thing: put(t(), delta_location=(5, 0, 0)) or [t().name])
    quick(
        S,
        f"animated {title}",
        lambda t=thing: key(t().name, "location", {0: (5, 5, 0), 24: (9, 9, 0)}) or [t().name, "animation"],
    )
    quick(S, f"hidden {title}", lambda t=thing: t().hide_set(True) or [t().name])
    quick(
        S,
        f"{title} follows another",
        lambda t=thing: put(t().constraints.new("COPY_LOCATION"), target=obj(W)) or [t().name],
    )
    quick(
        S,
        f"decimated inside {title}",
        lambda t=thing: modify(first_mesh(t()).name, "DECIMATE", ratio=0.5) or [t().name, "Base_TM", "f_hangar"],
    )
    quick(
        S,
        f"vertex inside {title}",
        lambda t=thing: move_first(first_mesh(t()).name) or [t().name, "Base_TM", "f_hangar"],
    )
    quick(S, f"scattered {title}", lambda t=thing: _scatter(t()) or [t().name])

quick(S, "parent to an empty", lambda: _grouped(), W, B, "group")
quick(S, "text added", lambda: bpy.ops.object.text_add(location=(5, 5, 5)), "Text")
quick(
    S,
    "curve added",
    lambda: bpy.ops.curve.primitive_bezier_curve_add(location=(5, 5, 5)),
    "BezierCurve",
    "BézierCurve",
    "Curve",
)
quick(
    S,
    "animated camera",
    lambda: (bpy.ops.object.camera_add(), key(bpy.context.object.name, "location", {0: (0, 0, 5), 48: (5, 0, 5)})),
    "Camera",
)
quick(S, "copy beside itself", lambda: copy_of(B, below=True), B, f"{B}.001")
quick(S, "swapped places", lambda: _exchange(), B, W)
quick(S, "swapped names", lambda: _swap_names(B, W), B, W)


def _scatter(one):
    """An array of copies, as an artist makes with Shift+D and R."""
    for step in range(1, 4):
        made = copy_of(one.name, below=True)
        made.matrix_world = Matrix.Translation((10 * step, 0, 0)) @ Matrix.Rotation(step, 4, "Z") @ one.matrix_world
        made.name = f"{one.name}.{step:03d}"


def _grouped():
    bpy.context.view_layer.update()
    group = add("group", None)
    for name in (B, W):
        obj(name).parent = group
    shift(group, (10, 5, 0))


def _exchange():
    obj(B).location, obj(W).location = obj(W).location.copy(), obj(B).location.copy()
