"""Runs in Blender's Python: import an areal map, make one edit as an artist would, export it.

    python edit_areals.py IN.glb OUT_DIR ATTRIBUTES EDIT...

Writes ``OUT_DIR/EDIT.glb`` per edit, and what it did to ``OUT_DIR/facts.json``; ATTRIBUTES 1: with
custom properties and attributes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import bpy  # isort: skip
import bmesh  # bpy brings it
import numpy as np

NUMBER = "_MSH_AREAL"


def classes():
    """The objects of the classes."""
    return [o for o in bpy.data.objects if o.name.startswith("class_")]


def move():
    """A corner that at least three areals have: all its vertices at once, as by box select."""
    points = []
    for one in classes():
        points += [tuple(vertex.co) for vertex in one.data.vertices]
    places, count = np.unique(np.array(points), axis=0, return_counts=True)
    place = places[np.argmax(count >= 3)]
    for one in classes():
        for vertex in one.data.vertices:
            if tuple(vertex.co) == tuple(place):
                vertex.co.x += 0.5
    return place.tolist()


def split():
    """A triangle of an areal gets vertices of its own (V), and these another number."""
    one = classes()[0]
    work = bmesh.new()
    work.from_mesh(one.data)
    number = work.verts.layers.float[NUMBER]
    work.faces.ensure_lookup_table()
    face = next(f for f in work.faces if sum(len(e.link_faces) == 2 for e in f.edges) == 1)
    areal = face.verts[0][number]
    edge = next(e for e in face.edges if len(e.link_faces) == 2)
    bmesh.ops.split_edges(work, edges=[edge])
    for vertex in face.verts:
        vertex[number] = 0
    work.to_mesh(one.data)
    work.free()
    return int(areal) - 1


def delete():
    """All faces of an areal."""
    one = classes()[0]
    work = bmesh.new()
    work.from_mesh(one.data)
    number = work.verts.layers.float[NUMBER]
    areal = max(vertex[number] for vertex in work.verts)
    gone = [vertex for vertex in work.verts if vertex[number] == areal]
    bmesh.ops.delete(work, geom=gone, context="VERTS")
    work.to_mesh(one.data)
    work.free()
    return int(areal) - 1


def main():
    source, folder, attributes, *edits = sys.argv[1:]
    facts = {}
    for name in edits:
        bpy.ops.wm.read_homefile(use_empty=True)
        bpy.ops.import_scene.gltf(filepath=source)
        facts[name] = globals()[name]()
        options = {"export_extras": True, "export_attributes": True} if attributes == "1" else {}
        bpy.ops.export_scene.gltf(filepath=str(Path(folder, f"{name}.glb")), **options)
    Path(folder, "facts.json").write_text(json.dumps(facts), "utf-8")


main()
sys.stdout.flush()
os._exit(0)
