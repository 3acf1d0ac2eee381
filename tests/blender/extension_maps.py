"""Steps of ``extension.py``: terrains and areal maps."""

from __future__ import annotations

import bpy  # isort: skip
import bmesh  # bpy brings it
import numpy as np
from extension_tools import at, empty_file, error_of, gltf, module, put_back, read, reopen, write
from trial_tools import edit_mesh

LAND, AREALS = "level/Land.msh", "level/Land.map"


def maps():
    for path in (LAND, AREALS):
        empty_file()
        read(path)
        reopen("map.blend")
        yield path, write("same.msh")
    empty_file()
    read(LAND)
    for vertex in bpy.data.objects["terrain"].data.vertices:
        vertex.co.z += 2.5
    gltf("raised.glb")
    yield "raised", write("raised.msh")


def ground():
    """One corner of the ground is raised: the vertices that meet there are one, and the ground is not torn."""
    read(LAND)
    one = bpy.data.objects["terrain"]
    mesh = one.data
    points = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", points.reshape(-1))
    yield "vertices, places", [len(points), len(np.unique(points, axis=0))]
    users = np.zeros(len(points), int)
    for edge in mesh.edges:
        users[list(edge.vertices)] += 1
    corner = int(np.argmax(users))
    mesh.vertices[corner].co.z += 5
    yield "raised", write("raised.msh")
    mesh.vertices[corner].co.z -= 5
    yield "undone", write("undone.msh")
    mesh.materials.append(bpy.data.materials.new("лава"))
    mesh.polygons[0].material_index = len(mesh.materials) - 1
    yield "lava", [write("lava.msh"), *(at(f"lava{n}.wea").read_text("cp1251").splitlines()[-1] for n in (1, 2))]
    bpy.context.view_layer.objects.active = one
    for name, by in (("whole", 0.0), ("crossing", 1.5)):
        mesh.vertices[corner].co.x += by * bpy.context.scene["msh_grid"][2]
        assert bpy.ops.object.msh_check() == {"FINISHED"}
        mode = one.mode
        bpy.ops.object.mode_set(mode="OBJECT")
        selected = [corner in face.vertices for face in mesh.polygons if face.select]
        yield f"{name}: selected", [mode, len(selected), all(selected)]
    yield "crossing", error_of(bpy.ops.export_scene.msh, filepath=str(at("crossing.msh")))


def two_grounds():
    """One ground lies over another; each of the two pictures is painted, then both are as they were.

    In a second scene, where Blender calls each picture otherwise.
    """
    path = "example/DATA/MAPS/Tut_1/Land.msh"
    read(path)
    (terrain,) = (one for one in read(path).objects if one.name.startswith("terrain"))
    pairs = {one.name: one for one in terrain.data.materials if "msh_mixed" in one}
    node_of = module("game_material").node_of
    for name, one in pairs.items():
        sockets = (node_of(one).inputs[socket] for socket in ("Second Texture", "Blend"))
        yield f"{name}: linked", [socket.links[0].from_node.type for socket in sockets]
    yield "unchanged", put_back()
    first = node_of(pairs[min(pairs)]).inputs
    images = [first[socket].links[0].from_node.image for socket in ("Texture", "Second Texture")]
    before = [list(image.pixels) for image in images]
    for image in images:
        image.pixels.foreach_set(np.tile(np.float32([0.5, 0.25, 0.75, 1]), len(image.pixels) // 4))
        yield f"{image.name}, stored as {image['msh_stored'][0]}", put_back()
    for image, pixels in zip(images, before, strict=True):
        image.pixels.foreach_set(np.float32(pixels))
    yield "undone", put_back()
    first["Second Colour"].default_value = 1, 0, 0, 1
    yield "recoloured", put_back()


def areals():
    """The faces of an areal map: a corner moved, a face split, deleted, added, another class."""
    read(AREALS)
    mesh = bpy.data.objects["areals"].data
    yield "objects", [len(mesh.polygons), *sorted(o.name for o in bpy.data.objects)]
    for change in (_move, _split, _knife, _delete, _replace, _classify):
        before = mesh.copy()
        edit_mesh("areals", change)
        yield change.__name__.strip("_"), write(f"{change.__name__}.map")
        back = bmesh.new()
        back.from_mesh(before)
        back.to_mesh(mesh)
        back.free()

    row, faces = 0, module("editing")._Faces
    bpy.context.view_layer.objects.active = bpy.data.objects["areals"]
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_mode(type="FACE")
    bpy.ops.mesh.select_all(action="DESELECT")
    shape = bmesh.from_edit_mesh(mesh)
    shape.faces.ensure_lookup_table()
    shape.faces[row].select_set(True)
    seen = faces(mesh)
    was = seen.areals().pop(), seen.classes().pop(), seen.walkable().pop()
    yield "selected", was
    assert bpy.ops.mesh.msh_set_areal(areal=was[0], class_id=77, walkable=not was[2]) == {"FINISHED"}
    yield "set", write("set.map")
    bpy.ops.mesh.msh_set_areal(areal=was[0], class_id=was[1], walkable=was[2])
    yield "set back", write("set_back.map")
    bpy.ops.object.mode_set(mode="OBJECT")

    copy = mesh.copy()
    edit_mesh("areals", _overlap)
    yield "refused", error_of(bpy.ops.export_scene.msh, filepath=str(at("refused.map")))
    bpy.data.objects["areals"].data = copy
    copy.vertices[0].co.x -= 1
    yield "put back", put_back()
    copy.vertices[0].co.x += 1
    yield "undone", put_back()


def _inner(work):
    return next(
        f for f in work.faces if len(f.verts) == 4 and not any(e.is_boundary for v in f.verts for e in v.link_edges)
    )


def _move(work, _):
    _inner(work).verts[0].co.x += 0.5


def _split(work, _):
    face = _inner(work)
    bmesh.ops.connect_verts(work, verts=[face.verts[0], face.verts[2]])


def _knife(work, _):
    """A cut through the middles of two opposite edges, which neighbours have, too."""
    face = _inner(work)
    cut = bmesh.ops.subdivide_edges(work, edges=[face.edges[0], face.edges[2]], cuts=1)
    middle = [e for e in cut["geom_inner"] if isinstance(e, bmesh.types.BMVert)]
    bmesh.ops.connect_verts(work, verts=middle)


def _delete(work, _):
    bmesh.ops.delete(work, geom=[_inner(work)], context="FACES_ONLY")


def _replace(work, _):
    """Deleted, and filled again by hand."""
    face = _inner(work)
    corners, material = list(face.verts), face.material_index
    bmesh.ops.delete(work, geom=[face], context="FACES_ONLY")
    work.faces.new(corners).material_index = material


def _classify(work, _):
    face, walkable = _inner(work), work.faces.layers.float["_MSH_LOGIC"]
    face.material_index = (face.material_index + 1) % len(bpy.data.objects["areals"].data.materials)
    face[walkable] = 1 - face[walkable]


def _overlap(work, _):
    _inner(work).verts[0].co.x += 5000
