"""Edits of the trials: units, missions, terrains and areal maps."""

from __future__ import annotations

import bpy
from mathutils import Matrix, Vector
from trial_tools import (
    copy_of,
    drag,
    edit,
    edit_mesh,
    key,
    materials,
    mesh_of,
    move,
    move_first,
    obj,
    pick,
    put,
    quick,
    switch_on,
    turn,
)

# ------------------------------------------------------------------ unit, mission


def component(keyed):
    return next(o for o in bpy.context.scene.objects if o.get("msh", {}).get("key") == keyed)


def opened(one):
    """Return an object whose parts are below it: what the extension shows as one thing is opened."""
    if one.instance_type == "COLLECTION":
        pick(one.name)
        bpy.ops.object.msh_edit_placed()
    return one


def first_mesh(name):
    return next(o for o in opened(obj(name)).children_recursive if o.type == "MESH")


def root_of(name):
    """The component and the root of the model that an object shows."""
    return next(
        o
        for o in opened(obj(name)).children_recursive
        if o.get("msh", {}).get("kind") == "component" or o.type == "MESH"
    )


def shift(one, by=(1.0, 2.0, 0.5)):
    bpy.context.view_layer.update()
    one.matrix_world = Matrix.Translation(by) @ one.matrix_world


def drop(one):
    for each in [*one.children_recursive, one]:
        bpy.data.objects.remove(each)


U = "unit"
GUN = "e_gun_01"
quick(U, "nothing", lambda: None)
quick(U, "move component", lambda: shift(component(GUN)), GUN, "Base_TM")
quick(U, "delete component", lambda: drop(component(GUN)), GUN, "Base_TM")
quick(U, "rename component", lambda: put(component(GUN), name="cannon"), GUN, "cannon")


S = "mission"
B, W = "Base", "Walker 1"
MODELS = ("fr_hangar", "f_hangar", "u_walker", "r_walk", "Base_TM")


def tree():
    return next(o.name for o in bpy.context.scene.objects if o.get("msh", {}).get("object_kind") in (2, 3))


PLACED = {"building": lambda: B, "unit": lambda: W, "tree": tree}


def of_placed(title, change, *names):
    """Note an edit of what a mission places, which is a word of its title."""
    find = next(find for kind, find in PLACED.items() if kind in title)

    def run():
        name = find()
        change(name)
        return [name, f"{name}.001"]

    quick(S, title, run, *names)


quick(S, "nothing", lambda: None)
of_placed("move building", lambda name: move(name, (10, 20, 0.5)))
of_placed("turn building", turn)
of_placed("scale tree", lambda name: put(name, scale=(2, 2, 2)))
of_placed("delete unit", lambda name: drop(obj(name)))
of_placed("delete tree", lambda name: drop(obj(name)))
of_placed("move root of building", lambda name: shift(root_of(name)))
of_placed("move mesh of tree", lambda name: shift(first_mesh(name)))
of_placed("delete mesh of unit", lambda name: drop(first_mesh(name)), *MODELS)
of_placed("edit mesh of building", lambda name: move_first(first_mesh(name).name), *MODELS)
of_placed("copy tree", lambda name: shift(copy_of(name, below=True), (30, 0, 0)))
of_placed("copy unit", lambda name: shift(copy_of(name, below=True), (30, 0, 0)))
of_placed("flip mesh of building", lambda name: first_mesh(name).data.flip_normals(), *MODELS)
of_placed("glowing mesh of building", lambda name: _glow(first_mesh(name).data.materials), "glow", *MODELS)
of_placed("copy mesh of building", lambda name: put(copy_of(first_mesh(name).name), location=(3, 0, 0)), *MODELS)
of_placed("mesh of building taken out", lambda name: take_out(first_mesh(name)), *MODELS)
of_placed(
    "keys inside unit", lambda name: key(first_mesh(name).name, "location", {0: (0, 0, 0), 9: (2, 0, 0)}), *MODELS
)
of_placed("no clip inside unit", lambda name: [o.animation_data_clear() for o in obj(name).children_recursive], *MODELS)


def _glow(slots):
    slots[0] = materials("glow")[0]


def take_out(one):
    world = one.matrix_world.copy()
    one.parent = None
    one.matrix_world = world


quick(S, "move route point", lambda: put(mesh_of("route_1").vertices[0].co, x=9), "route_1")
quick(S, "move lode", lambda: (switch_on(), move("lode_0", (5, 0, 0))), "lode_0")
quick(S, "cube added", lambda: bpy.ops.mesh.primitive_cube_add(location=(3, 0, 0)), "Cube")


@edit(S, W)
def drag_to_other_clan():
    """To the collection of a clan that has none yet."""
    above = obj(W).users_collection[0]
    up = next(c for c in bpy.context.scene.collection.children_recursive if above.name in c.children)
    home = bpy.data.collections.new(f"{up.name}.Nature")
    up.children.link(home)
    for one in [obj(W), *obj(W).children_recursive]:
        drag(one.name, home)


# ------------------------------------------------------------------ terrain, areal map

T = "terrain"


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


R = "areal map"


def areal_meshes():
    return [o for o in bpy.context.scene.objects if o.type == "MESH" and o.name.partition(".")[0] != "borders"]


@edit(R, "areal", "corner")
def corner_moved():
    for vertex in (vertex for one in areal_meshes() for vertex in one.data.vertices):
        if (vertex.co - Vector((32, 32, 0))).length < 0.01:
            vertex.co.x += 0.5


@edit(R, "areal")
def areal_deleted():
    def change(work, bmesh):
        layer = work.verts.layers.float.get("_MSH_AREAL")
        number = work.faces[0].verts[0][layer]
        gone = [f for f in work.faces if f.verts[0][layer] == number]
        bmesh.ops.delete(work, geom=gone, context="FACES")

    edit_mesh(areal_meshes()[0].name, change)
