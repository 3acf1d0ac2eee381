"""Edits of the trials: units, missions, terrains and areal maps."""

from __future__ import annotations

import bpy
from mathutils import Matrix, Quaternion
from trial_looks import set_socket
from trial_nodes import move_first, paint
from trial_tools import (
    copy_of,
    drag,
    edit,
    edit_mesh,
    materials,
    mesh_of,
    move,
    obj,
    opened,
    put,
    quick,
    remove,
    switch_on,
    turn,
)

# ------------------------------------------------------------------ unit, mission


def component(keyed):
    return next(o for o in bpy.context.scene.objects if o.get("msh", {}).get("key") == keyed)


def first_mesh(one):
    return next(o for o in opened(one).children_recursive if o.type == "MESH")


def placed(name):
    """The component and the root of the model that an object shows."""
    return next(
        o
        for o in opened(obj(name)).children_recursive
        if o.get("msh", {}).get("kind") == "component" or o.type == "MESH"
    )


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
quick(U, "scale component", lambda: put(component(GUN), scale=(2, 2, 2)), GUN, "Base_TM")
quick(U, "exchange component", lambda: component(GUN)["msh"].update({"key": DOME}), GUN, DOME, "Base_TM#3")
quick(U, "delete component", lambda: drop(component(GUN)), GUN, "Base_TM")
quick(U, "delete turret", lambda: drop(component(DOME)), GUN, DOME, "Base_TM")
quick(U, "move mesh", lambda: shift(first_mesh(component(GUN))), GUN, "Base_TM")
quick(U, "turn mesh", lambda: twist(first_mesh(component(GUN))), GUN, "Base_TM")
quick(U, "delete mesh", lambda: drop(first_mesh(component(GUN))), GUN, "Base_TM")
quick(U, "edit mesh", lambda: move_first(first_mesh(component(GUN)).name), GUN, "Base_TM")
quick(U, "rename mesh", lambda: put(first_mesh(component(GUN)), name="barrel"), GUN, "barrel", "Base_TM")
quick(U, "move unit", lambda: shift(obj("walker")), "walker", "unit")
quick(U, "scale unit", lambda: put("walker", scale=(2, 2, 2)), "walker", "unit")
quick(U, "recolour inside", lambda: set_socket("glow", "Emission Strength", 0.0), "glow")
quick(U, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)), "Cube")
quick(
    U,
    "copy component",
    lambda: put(copy_of(component(GUN).name, below=True), location=(0, 0, 2)),
    GUN,
    "e_gun_01.001",
    "Base_TM",
)


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
    quick(S, f"scale {title}", lambda name=name: put(name, scale=(2, 2, 2)), name)
    quick(S, f"mirror {title}", lambda name=name: put(name, scale=(-1, 1, 1)), name)
    quick(S, f"delete {title}", lambda name=name: drop(obj(name)), name)
    quick(S, f"rename {title}", lambda name=name: put(name, name="Fort"), name, "Fort")
    quick(S, f"delete top of {title}", lambda name=name: remove(name), name, "fr_hangar", "u_walker")
    quick(S, f"move root of {title}", lambda name=name: shift(placed(name)), name)
    quick(S, f"turn root of {title}", lambda name=name: twist(placed(name)), name)
    quick(
        S,
        f"scale root of {title}",
        lambda name=name: put(placed(name), scale=(2, 2, 2)),
        name,
        "fr_hangar",
        "u_walker",
        "Base_TM",
    )
    quick(S, f"delete root of {title}", lambda name=name: drop(placed(name)), name, "fr_hangar", "u_walker")
    quick(S, f"move mesh of {title}", lambda name=name: shift(first_mesh(obj(name))), name)
    quick(S, f"turn mesh of {title}", lambda name=name: twist(first_mesh(obj(name))), name)
    quick(S, f"delete mesh of {title}", lambda name=name: drop(first_mesh(obj(name))), name, "Base_TM")
    quick(
        S,
        f"edit mesh of {title}",
        lambda name=name: move_first(first_mesh(obj(name)).name),
        name,
        "Base_TM",
        "f_hangar",
        "r_walk",
    )
    quick(S, f"copy {title}", lambda name=name: shift(copy_of(name, below=True), (30, 0, 0)), name, f"{name}.001")
    quick(
        S,
        f"linked copy of {title}",
        lambda name=name: shift(copy_of(name, below=True, linked=True), (30, 0, 0)),
        name,
        f"{name}.001",
    )
    quick(S, f"other clan of {title}", lambda name=name: obj(name)["msh"].update({"clan": 0}), name)


def tree():
    return next(o.name for o in bpy.context.scene.objects if o.get("msh", {}).get("object_kind") in (2, 3))


quick(S, "move tree", lambda: shift(obj(tree())) or [tree()])
quick(S, "scale tree", lambda: put(tree(), scale=(3, 3, 3)) or [tree()])
quick(S, "delete tree", lambda: (tree(), drop(obj(tree())))[:1])
quick(S, "move mesh of tree", lambda: shift(first_mesh(obj(tree()))) or [tree()])
quick(S, "copy tree", lambda: shift(copy_of(tree(), below=True), (30, 0, 0)) or [tree(), f"{tree()}.001"])
quick(S, "move route point", lambda: put(mesh_of("route_1").vertices[0].co, x=9), "route_1")
quick(S, "move route", lambda: (switch_on(), move("route_1")), "route_1")
quick(S, "delete route", lambda: remove("route_1"), "route_1")
quick(
    S,
    "add route point",
    lambda: edit_mesh("route_1", lambda w, b: w.edges.new([w.verts[-1], w.verts.new((1, 1, 0))])),
    "route_1",
    "route 1",
)
quick(S, "move zone", lambda: (switch_on(), move("Nature.zone_0", (5, 0, 0))), "Nature.zone_0")
quick(
    S, "scale zone", lambda: (switch_on(), put("Nature.zone_0", scale=obj("Nature.zone_0").scale * 2)), "Nature.zone_0"
)
quick(S, "delete zone", lambda: remove("Nature.zone_0"), "Nature.zone_0")
quick(S, "copy zone", lambda: (switch_on(), move(copy_of("Nature.zone_0").name, (5, 0, 0))), "Nature.zone_0")
quick(S, "move lode", lambda: (switch_on(), move("lode_0", (5, 0, 0))), "lode_0")
quick(S, "amount of lode", lambda: obj("lode_0")["msh"].update({"amount": 99.0}), "lode_0")
quick(S, "delete lode", lambda: remove("lode_0"), "lode_0")
quick(S, "move ground", lambda: move("terrain", (10, 0, 0)), "terrain")
quick(S, "edit ground", lambda: move_first("terrain", (0, 0, 5)), "terrain", "Land")
quick(S, "recolour inside", lambda: set_socket("glow", "Emission Strength", 0.0), "glow")
quick(S, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)), "Cube")
quick(S, "parent to another", lambda: put(W, parent=obj(B)), W, B)


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
    _ground(lambda w, b: put(_inner(w).co, z=_inner(w).co.z + 5))


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
    _ground(lambda w, b: put(_inner(w).link_faces[0], material_index=len(mesh_of("terrain").materials) - 1))


@edit(T, "terrain", "blend", "_MSH_BLEND", "coarse")
def blend_():
    layer = mesh_of("terrain").attributes["_MSH_BLEND"]
    for one in layer.data:
        one.value = 1.0 if one.value < 0.5 else 0.0


@edit(T, "terrain")
def dragged_across():
    _ground(lambda w, b: put(_inner(w).co, x=_inner(w).co.x + 500))


quick(T, "ground moved", lambda: move("terrain", (1, 0, 0)), "terrain")
quick(T, "ground scaled", lambda: put("terrain", scale=(1, 1, 2)), "terrain")
quick(T, "coarse corner", lambda: (switch_on(), move_first("coarse", (0, 0, 5))), "coarse")
quick(T, "coarse moved", lambda: (switch_on(), move("coarse", (0, 0, 5))), "coarse")
quick(T, "coarse deleted", lambda: remove("coarse"), "coarse")
quick(T, "ground deleted", lambda: remove("terrain"), "terrain")
quick(T, "ground coordinates", lambda: put(mesh_of("terrain").uv_layers[0].data[0], uv=(3.5, 0.1)), "terrain")
quick(T, "ground colours", lambda: paint("terrain"), "terrain", "colours", only_extension=True)
quick(T, "ground renamed", lambda: put("terrain", name="ground"), "terrain", "ground")
quick(T, "ground material renamed", lambda: put(materials("LND_ROCK")[0], name="basalt"), "LND_ROCK", "basalt")
quick(T, "cube on the ground", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)), "Cube")

R = "areal map"
quick(R, "nothing", lambda: None)


def areal_meshes():
    return [o for o in bpy.context.scene.objects if o.type == "MESH" and o.name.partition(".")[0] != "borders"]


@edit(R, "areal", "corner")
def corner_moved():
    import numpy as np

    points = np.array([tuple(v.co) for o in areal_meshes() for v in o.data.vertices])
    faces = np.array(
        [
            tuple(v.co)
            for o in areal_meshes()
            for f in o.data.polygons
            for v in map(o.data.vertices.__getitem__, f.vertices)
        ]
    )
    places, count = np.unique(faces, axis=0, return_counts=True)
    inner = [
        p
        for p, n in zip(places, count, strict=True)
        if n >= 3 and (p[:2] > points[:, :2].min(0) + 1).all() and (p[:2] < points[:, :2].max(0) - 1).all()
    ]
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


quick(R, "areals moved", lambda: [move(o.name, (3, 0, 0)) for o in areal_meshes()], "areal", "class_1", "areals")
quick(R, "areals scaled", lambda: [put(o, scale=(1.1, 1.1, 1)) for o in areal_meshes()], "areal", "class_1", "areals")
quick(R, "class deleted", lambda: remove(areal_meshes()[-1].name), "areal", "class_3", "areals")
quick(R, "renamed", lambda: put(areal_meshes()[0], name="mine"), "areal", "mine", "class_1", "areals")
quick(R, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)), "areal", "Cube")
