"""Runs in Blender's Python: import a .glb, make one edit as an artist would, export it.

    python edit.py IN.glb OUT_DIR NODE EDIT...

Writes ``OUT_DIR/EDIT.glb`` per edit, with the stock exporter's defaults, or with ``OPTIONS``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy
from mathutils import Quaternion, Vector


def mesh_of(node):
    """The mesh of a node's object."""
    return bpy.data.objects[node].data


def move_node(node):
    bpy.data.objects[node].location += Vector((0.5, 0, 0))


def rotate_at_frame(node):
    """A keyed rotation at one frame."""
    found = bpy.data.objects[node]
    bpy.context.scene.frame_set(3)
    found.rotation_mode = "QUATERNION"
    found.rotation_quaternion = found.rotation_quaternion @ Quaternion((0, 0, 1), 0.4)
    found.keyframe_insert("rotation_quaternion", frame=3)


def move_vertex(node):
    mesh_of(node).vertices[0].co.x += 0.25


def delete_face(node):
    import bmesh

    mesh = mesh_of(node)
    work = bmesh.new()
    work.from_mesh(mesh)
    work.faces.ensure_lookup_table()
    bmesh.ops.delete(work, geom=[work.faces[0]], context="FACES_ONLY")
    work.to_mesh(mesh)
    work.free()


def subdivide(node):
    import bmesh

    mesh = mesh_of(node)
    work = bmesh.new()
    work.from_mesh(mesh)
    bmesh.ops.subdivide_edges(work, edges=work.edges[:], cuts=1, use_grid_fill=True)
    bmesh.ops.triangulate(work, faces=work.faces[:])
    work.to_mesh(mesh)
    work.free()


def add_mesh_node(node):
    bpy.ops.mesh.primitive_cube_add(size=2, location=(3, 0, 0))
    cube = bpy.context.active_object
    cube.name = "antenna"
    cube.parent = bpy.data.objects[node]
    cube.data.materials.append(mesh_of(node).materials[0])


def rename(node):
    bpy.data.objects[node].name = "renamed"


def reparent(node):
    """Under the root, where it stands."""
    found = bpy.data.objects[node]
    world = found.matrix_world.copy()
    root = next(o for o in bpy.context.view_layer.objects if o.parent is None)
    found.parent = root
    found.matrix_parent_inverse.identity()
    bpy.context.view_layer.update()
    found.matrix_world = world


def assign_material(node):
    mesh = mesh_of(node)
    other = next(m for m in bpy.data.materials if m.name not in {x.name for x in mesh.materials})
    mesh.materials[0] = other


def delete_part(node):
    """The mesh goes, the node stays: an empty takes its place."""
    found = bpy.data.objects[node]
    empty = bpy.data.objects.new("placeholder", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.parent = found.parent
    empty.matrix_local = found.matrix_local.copy()
    for child in list(found.children):
        child.parent = empty
    bpy.data.objects.remove(found)
    empty.name = node


def add_lod(node):
    """A copy of the mesh as LOD 2, in place."""
    found = bpy.data.objects[node]
    copy = bpy.data.objects.new(f"{node}.stage2", found.data.copy())
    bpy.context.scene.collection.objects.link(copy)
    copy.matrix_world = found.matrix_world.copy()


def mirror(node):
    """Negative scale in object mode, as Ctrl+M leaves it."""
    bpy.data.objects[node].scale.x *= -1


def mirror_twice(node):
    """Two negative scales: half a turn."""
    found = bpy.data.objects[node]
    found.scale = (-found.scale.x, found.scale.y, -found.scale.z)


def mirror_bigger(node):
    bpy.data.objects[node].scale = (-1.5, 1.5, 1.5)


def apply_scale(node, scale, *, below=False):
    """Scale, and Object > Apply > Scale, on it alone or on all below it too."""
    found = bpy.data.objects[node]
    found.scale = [a * b for a, b in zip(found.scale, scale, strict=True)]
    for each in bpy.context.view_layer.objects:
        if each.data is not None and each.data.users > 1:
            each.data = each.data.copy()
        each.select_set(each == found or (below and each in found.children_recursive))
    bpy.context.view_layer.objects.active = found
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)


def mirror_applied(node):
    apply_scale(node, (-1, 1, 1))


def mirror_applied_below(node):
    apply_scale(node, (-1, -1, -1), below=True)


def bigger_applied(node):
    apply_scale(node, (2, 2, 2))


def only_part(node):
    """The object of the only part of LOD 0, group 2."""
    return next(o for o in bpy.data.objects if o.name.endswith(".level2"))


def delete_cell(node):
    bpy.data.objects.remove(only_part(node))


def move_part(node):
    found = only_part(node)
    found.name = found.name.replace(".level2", ".stage1.level3")


def move_part_by_properties(node):
    found = only_part(node)
    found["msh"]["lod"], found["msh"]["group"] = 1, 3


def hide_parts(node):
    """What the importer leaves: the other collections are switched off. That of 4.2 makes none: by the eye."""
    for one in bpy.context.view_layer.objects:
        if ".level" in one.name or ".stage" in one.name or ".view" in one.name:
            one.hide_set(True)


def apply_modifier(node):
    """A mirrored copy beside it, which the exporter applies."""
    modifier = bpy.data.objects[node].modifiers.new("mirror", "ARRAY")
    modifier.relative_offset_displace = (2, 0, 0)


def flags_of_object(node):
    bpy.data.objects[node]["tri_flags"] = 2


def flags_of_faces(node):
    """A copy of the material on one face."""
    mesh = mesh_of(node)
    copy = mesh.materials[0].copy()
    copy["tri_flags"] = 34
    mesh.materials.append(copy)
    mesh.polygons[0].material_index = len(mesh.materials) - 1


def pick(node):
    """Select a node's object alone."""
    bpy.ops.object.select_all(action="DESELECT")
    found = bpy.data.objects[node]
    found.select_set(True)
    bpy.context.view_layer.objects.active = found
    return found


def apply_transforms(node):
    """*Object > Apply > All Transforms*; what is below stays where it is."""
    pick(node).data = mesh_of(node).copy()
    bpy.ops.object.transform_apply(location=True, rotation=True, scale=True)


def set_origin(node):
    """*Object > Set Origin > Origin to 3D Cursor*."""
    pick(node).data = mesh_of(node).copy()
    bpy.context.scene.cursor.location = (1, 2, 3)
    bpy.ops.object.origin_set(type="ORIGIN_CURSOR")


def switch_collections_on():
    """Else Blender exports the objects of the others where they were."""
    for collection in bpy.context.view_layer.layer_collection.children:
        collection.exclude = False
    bpy.context.view_layer.update()


def scale_all(node):
    """The objects of every collection."""
    switch_collections_on()
    for found in [o for o in bpy.data.objects if o.parent is None]:
        found.location *= 1.5
        found.scale *= 1.5


def move_node_and_parts_apart(node):
    switch_collections_on()
    for found in bpy.data.objects:
        if found.name == node or found.name.startswith(f"{node}."):
            found.location.x += 1 if found.name == node else 2


PROPERTIES = {"export_extras": True}
OPTIONS = {
    "apply_transforms": PROPERTIES,
    "set_origin": PROPERTIES,
    "scale_all": PROPERTIES,
    "move_node_and_parts_apart": PROPERTIES,
    "move_part": PROPERTIES,
    "move_part_by_properties": PROPERTIES,
    "hide_parts": {"use_visible": True},
    "apply_modifier": {"export_apply": True},
    "flags_of_object": PROPERTIES,
    "flags_of_faces": PROPERTIES,
}
source, out, node, *edits = sys.argv[1:]
for name in edits:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=source)
    bpy.context.view_layer.update()
    globals()[name](node)
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(0)
    bpy.ops.export_scene.gltf(filepath=str(Path(out) / f"{name}.glb"), **OPTIONS.get(name, {}))
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
