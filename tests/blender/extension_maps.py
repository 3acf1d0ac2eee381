"""Steps of ``extension.py``: terrains and areal maps."""

from __future__ import annotations

from pathlib import Path

import bpy  # isort: skip
import bmesh  # bpy brings it
import numpy as np
from extension_materials import put_back

from __main__ import FILES, error_of, gltf, module, read, write


def maps(out):
    facts = {}
    for name in ("land", "areals"):
        bpy.ops.wm.read_homefile(use_empty=True)
        read(name)
        bpy.ops.wm.save_as_mainfile(filepath=str(out / "map.blend"))
        bpy.ops.wm.open_mainfile(filepath=str(out / "map.blend"))
        facts[name] = write(out / f"{name}.same")
    bpy.ops.wm.read_homefile(use_empty=True)
    read("land")
    mesh = bpy.data.objects["terrain"].data
    for vertex in mesh.vertices:
        vertex.co.z += 2.5
    gltf(out / "raised.glb")
    facts["raised"] = write(out / "raised.msh")
    return facts


def ground(out):
    """One corner of the ground is raised: the vertices that meet there are one."""
    read("land")
    mesh = bpy.data.objects["terrain"].data
    points = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", points.reshape(-1))
    _, count = np.unique(points, axis=0, return_counts=True)
    users = np.zeros(len(points), int)
    for edge in mesh.edges:
        users[list(edge.vertices)] += 1
    corner = int(np.argmax(users))
    facts = {"vertices": len(points), "twice": int((count > 1).sum())}
    facts["corner"] = points[corner].tolist()
    mesh.vertices[corner].co.z += 5
    facts["raised"] = write(out / "raised.msh")
    mesh.vertices[corner].co.z = facts["corner"][2]
    facts["undone"] = write(out / "undone.msh")
    mesh.materials.append(bpy.data.materials.new("лава"))
    mesh.polygons[0].material_index = len(mesh.materials) - 1
    facts["lava"] = write(out / "lava.msh")
    bpy.context.view_layer.objects.active = one = bpy.data.objects["terrain"]
    facts["checked"] = []
    for moved in (0, 1):
        mesh.vertices[corner].co.x += 1.5 * bpy.context.scene["msh_grid"][2] * moved
        assert bpy.ops.object.msh_check() == {"FINISHED"}
        facts["checked"].append(one.mode)
        bpy.ops.object.mode_set(mode="OBJECT")
        selected = [corner in face.vertices for face in mesh.polygons if face.select]
        facts["checked"].append([len(selected), all(selected)])
    facts["crossing"] = error_of(bpy.ops.export_scene.msh, filepath=str(out / "crossing.msh"))
    return facts


def two_grounds(out):
    """One ground lies over another; each of the two pictures is painted, then both are as they were.

    In a second scene, where Blender calls each picture otherwise.
    """
    read("example_land")
    (terrain,) = (one for one in read("example_land").objects if one.name.startswith("terrain"))
    pairs = {one.name: one for one in terrain.data.materials if "msh_mixed" in one}
    node_of = module("game_material").node_of

    def put():
        return put_back(Path(FILES["example_land"]), out / "Land.msh")

    facts = {
        "shown": {
            name: [node_of(one).inputs[socket].links[0].from_node.type for socket in ("Second Texture", "Blend")]
            for name, one in pairs.items()
        },
        "unchanged": put(),
    }
    first = pairs[min(pairs)]
    images = [node_of(first).inputs[socket].links[0].from_node.image for socket in ("Texture", "Second Texture")]
    facts["painted"] = {image.name: image["msh_stored"][0] for image in images}
    before = [list(image.pixels) for image in images]
    for image in images:
        image.pixels.foreach_set(np.tile(np.float32([0.5, 0.25, 0.75, 1]), len(image.pixels) // 4))
        facts[image.name] = put()
    for image, pixels in zip(images, before, strict=True):
        image.pixels.foreach_set(np.float32(pixels))
    facts["undone"] = put()
    node_of(first).inputs["Second Colour"].default_value = 1, 0, 0, 1
    facts["recoloured"] = put()
    return facts


def areals(out):
    """The faces of an areal map: a corner moved, a face split, deleted, added, another class."""
    read("areals_copy")
    mesh = bpy.data.objects["areals"].data
    facts = {"faces": len(mesh.polygons), "objects": sorted(o.name for o in bpy.data.objects)}

    def edit(name, change):
        work = bmesh.new()
        work.from_mesh(mesh)
        for table in (work.verts, work.edges, work.faces):
            table.ensure_lookup_table()
        before = mesh.copy()
        facts[name] = {"seen": change(work)}
        work.to_mesh(mesh)
        work.free()
        facts[name] |= write(out / f"{name}.map")
        back = bmesh.new()
        back.from_mesh(before)
        back.to_mesh(mesh)
        back.free()

    def inner(work):
        return next(
            f for f in work.faces if len(f.verts) == 4 and not any(e.is_boundary for v in f.verts for e in v.link_edges)
        )

    def move(work):
        vertex = inner(work).verts[0]
        vertex.co.x += 0.5
        return [list(vertex.co), sorted(f.index for f in vertex.link_faces)]

    def split(work):
        face = inner(work)
        number, corners = face.index, [list(v.co) for v in face.verts]
        bmesh.ops.connect_verts(work, verts=[face.verts[0], face.verts[2]])
        return [number, corners]

    def knife(work):
        """A cut through the middles of two opposite edges, which neighbours have, too."""
        face = inner(work)
        number = face.index
        cut = bmesh.ops.subdivide_edges(work, edges=[face.edges[0], face.edges[2]], cuts=1)
        middle = [e for e in cut["geom_inner"] if isinstance(e, bmesh.types.BMVert)]
        bmesh.ops.connect_verts(work, verts=middle)
        return [number, sorted({f.index for v in middle for f in v.link_faces if f.index >= 0})]

    def delete(work):
        face = inner(work)
        number = face.index
        bmesh.ops.delete(work, geom=[face], context="FACES_ONLY")
        return number

    def replace(work):
        """Deleted, and filled again by hand."""
        face = inner(work)
        number, corners, material = face.index, list(face.verts), face.material_index
        bmesh.ops.delete(work, geom=[face], context="FACES_ONLY")
        new = work.faces.new(corners)
        new.material_index = material
        return number

    def classify(work):
        face = inner(work)
        face.material_index = (face.material_index + 1) % len(mesh.materials)
        face[work.faces.layers.float["_MSH_LOGIC"]] = 1 - face[work.faces.layers.float["_MSH_LOGIC"]]
        return [face.index, mesh.materials[face.material_index].name]

    for change in (move, split, knife, delete, replace, classify):
        edit(change.__name__, change)

    def select(row):
        bpy.context.view_layer.objects.active = bpy.data.objects["areals"]
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_mode(type="FACE")
        bpy.ops.mesh.select_all(action="DESELECT")
        shape = bmesh.from_edit_mesh(mesh)
        shape.faces.ensure_lookup_table()
        shape.faces[row].select_set(True)

    row, seen = facts["classify"]["seen"][0], module("editing")._Faces
    select(row)
    before = seen(mesh)
    was = before.areals().pop(), before.classes().pop(), before.walkable().pop()
    assert bpy.ops.mesh.msh_set_areal(areal=was[0], class_id=77, walkable=not was[2]) == {"FINISHED"}
    facts["set"] = {"seen": [row, was], **write(out / "set.map")}
    bpy.ops.mesh.msh_set_areal(areal=was[0], class_id=was[1], walkable=was[2])
    facts["set_back"] = write(out / "set_back.map")
    bpy.ops.object.mode_set(mode="OBJECT")

    def overlap(work):
        inner(work).verts[0].co.x += 5000

    work = bmesh.new()
    work.from_mesh(mesh)
    overlap(work)
    copy = mesh.copy()
    work.to_mesh(mesh)
    facts["refused"] = error_of(bpy.ops.export_scene.msh, filepath=str(out / "refused.map"))
    work.free()
    bpy.data.objects["areals"].data = copy
    path = Path(FILES["areals_copy"])
    copy.vertices[0].co.x -= 1
    facts["put_back"] = put_back(path, out / "put_back.map")
    copy.vertices[0].co.x += 1
    facts["undone"] = put_back(path, out / "undone.map")
    return facts
