"""Runs in Blender's Python: import a terrain, make one edit as an artist would, export it.

    python edit_terrain.py IN.glb OUT_DIR ATTRIBUTES EDIT...

Writes ``OUT_DIR/EDIT.glb`` per edit; ATTRIBUTES 1: with custom properties and attributes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy  # isort: skip
import bmesh  # bpy brings it


def edited(change):
    """Apply a change to the terrain's mesh."""
    mesh = bpy.data.objects["terrain"].data
    work = bmesh.new()
    work.from_mesh(mesh)
    for table in (work.verts, work.edges, work.faces):
        table.ensure_lookup_table()
    change(work)
    work.to_mesh(mesh)
    work.free()


def inner_vertex(work):
    """A vertex with faces all round it: Blender cuts the mesh where materials meet."""
    return next(v for v in work.verts if len(v.link_faces) > 2 and not v.is_boundary)


def raise_vertex():
    def change(work):
        inner_vertex(work).co.z += 5.0

    edited(change)


def raise_all():
    """Sculpting: every vertex is higher."""

    def change(work):
        for vertex in work.verts:
            vertex.co.z += 2.5

    edited(change)


def delete_face_add_two():
    """Poke a hole where a face was, and fill it with two halves."""

    def change(work):
        face = inner_vertex(work).link_faces[0]
        bmesh.ops.subdivide_edges(work, edges=[face.edges[0]], cuts=1)
        bmesh.ops.triangulate(work, faces=work.faces[:])

    edited(change)


def delete_face():
    def change(work):
        bmesh.ops.delete(work, geom=[inner_vertex(work).link_faces[0]], context="FACES_ONLY")

    edited(change)


def paint():
    """Another material on a face."""

    def change(work):
        face = inner_vertex(work).link_faces[0]
        face.material_index = (face.material_index + 1) % len(bpy.data.objects["terrain"].data.materials)

    edited(change)


def new_ground():
    """A material that no terrain has on a face, and another name for a slot."""

    def change(work):
        inner_vertex(work).link_faces[0].material_index = len(materials) - 1

    materials = bpy.data.objects["terrain"].data.materials
    materials.append(bpy.data.materials.new("лава"))
    edited(change)
    materials[0].name = "ash"


def across_border():
    """Drag an inner vertex a whole square to the side."""

    def change(work):
        inner_vertex(work).co.x += 500.0

    edited(change)


source, out, attributes, *edits = sys.argv[1:]
for name in edits:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=source)
    globals()[name]()
    on = attributes == "1"
    bpy.ops.export_scene.gltf(filepath=str(Path(out) / f"{name}.glb"), export_extras=on, export_attributes=on)
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
