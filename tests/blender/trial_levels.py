"""Edits of the trials: units, missions, terrains and areal maps."""

from __future__ import annotations

import bpy
from mathutils import Matrix, Vector
from trial_looks import set_socket
from trial_nodes import move_first, paint
from trial_tools import (
    add,
    copy_of,
    drag,
    edit,
    edit_mesh,
    key,
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


S = "mission"
B, W = "Base", "Walker 1"


def tree():
    return next(o.name for o in bpy.context.scene.objects if o.get("msh", {}).get("object_kind") in (2, 3))


PLACED = {"building": lambda: B, "unit": lambda: W, "tree": tree}


def of_placed(title, change, *names, kinds=("building", "unit", "tree")):
    """Note an edit of what a mission places."""
    for kind in kinds:

        def run(find=PLACED[kind]):
            name = find()
            change(name)
            return [name, f"{name}.001"]

        quick(S, title.format(kind), run, *names)


MODELS = ("fr_hangar", "f_hangar", "u_walker", "r_walk", "Base_TM")
quick(S, "nothing", lambda: None)
of_placed("move {}", lambda name: move(name, (10, 20, 0.5)))
of_placed("turn {}", turn)
of_placed("tilt {}", lambda name: turn(name, 0.3, (1, 0, 0)))
of_placed("scale {}", lambda name: put(name, scale=(2, 2, 2)))
of_placed("flat {}", lambda name: put(name, scale=(1, 1, 0.2)))
of_placed("mirror {}", lambda name: put(name, scale=(-1, 1, 1)))
of_placed("delete {}", lambda name: drop(obj(name)))
of_placed("rename {}", lambda name: put(name, name="Fort"), "Fort")
of_placed("delete top of {}", remove, *MODELS)
of_placed("move root of {}", lambda name: shift(placed(name)))
of_placed("turn root of {}", lambda name: twist(placed(name)))
of_placed("scale root of {}", lambda name: put(placed(name), scale=(2, 2, 2)), *MODELS)
of_placed("delete root of {}", lambda name: drop(placed(name)), *MODELS)
of_placed("move mesh of {}", lambda name: shift(first_mesh(obj(name))))
of_placed("turn mesh of {}", lambda name: twist(first_mesh(obj(name))))
of_placed("delete mesh of {}", lambda name: drop(first_mesh(obj(name))), *MODELS)
of_placed("edit mesh of {}", lambda name: move_first(first_mesh(obj(name)).name), *MODELS)
of_placed("copy {}", lambda name: shift(copy_of(name, below=True), (30, 0, 0)))
of_placed("linked copy of {}", lambda name: shift(copy_of(name, below=True, linked=True), (30, 0, 0)))
of_placed("other clan of {}", lambda name: obj(name)["msh"].update({"clan": 0}), kinds=("building", "unit"))
of_placed("animated {}", lambda name: key(name, "location", {0: (5, 5, 0), 24: (9, 9, 0)}), "animation")
of_placed("hidden {}", lambda name: obj(name).hide_set(True))
of_placed("flip mesh of {}", lambda name: first_mesh(obj(name)).data.flip_normals(), *MODELS)
of_placed("glowing mesh of {}", lambda name: _glow(first_mesh(obj(name)).data.materials), "glow", *MODELS)
of_placed("copy mesh of {}", lambda name: put(copy_of(first_mesh(obj(name)).name), location=(3, 0, 0)), *MODELS)
of_placed("mesh of {} taken out", lambda name: take_out(first_mesh(obj(name))), *MODELS)
of_placed(
    "keys inside {}", lambda name: key(first_mesh(obj(name)).name, "location", {0: (0, 0, 0), 9: (2, 0, 0)}), *MODELS
)
of_placed("no clip inside {}", lambda name: [o.animation_data_clear() for o in obj(name).children_recursive], *MODELS)
of_placed("{} follows a zone", lambda name: follow(name, "Nature.zone_0"))
of_placed("parent of {}", lambda name: put(name, parent=add("group", None)), "group")


def _glow(slots):
    slots[0] = materials("glow")[0]


def take_out(one):
    world = one.matrix_world.copy()
    one.parent = None
    one.matrix_world = world


def follow(name, other):
    obj(name).constraints.new("COPY_LOCATION").target = obj(other)


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


def _raise(corner, **by):
    put(corner.co, **{axis: getattr(corner.co, axis) + value for axis, value in by.items()})


def _delete_faces(work, bmesh):
    bmesh.ops.delete(work, geom=[_inner(work).link_faces[0]], context="FACES_ONLY")


quick(T, "raise corner", lambda: _ground(lambda w, b: _raise(_inner(w), z=5)), "terrain")
quick(T, "dragged across", lambda: _ground(lambda w, b: _raise(_inner(w), x=500)), "terrain")
quick(T, "raise all", lambda: [_raise(vertex, z=2.5) for vertex in mesh_of("terrain").vertices], "terrain")
quick(T, "ground face deleted", lambda: _ground(_delete_faces), "terrain", "coarse")


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
    for vertex in (vertex for one in areal_meshes() for vertex in one.data.vertices):
        if (vertex.co - Vector((32, 32, 0))).length < 0.01:
            vertex.co.x += 0.5


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


quick(R, "corner far", lambda: _raise(areal_meshes()[0].data.vertices[0], x=5000), "areal", "corner")
quick(R, "areals moved", lambda: [move(o.name, (3, 0, 0)) for o in areal_meshes()], "areal", "class_1", "areals")
quick(R, "areals scaled", lambda: [put(o, scale=(1.1, 1.1, 1)) for o in areal_meshes()], "areal", "class_1", "areals")
quick(R, "class deleted", lambda: remove(areal_meshes()[-1].name), "areal", "class_3", "areals")
quick(R, "renamed", lambda: put(areal_meshes()[0], name="mine"), "areal", "mine", "class_1", "areals")
quick(R, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)), "areal", "Cube")
