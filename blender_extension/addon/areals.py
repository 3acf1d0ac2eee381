"""Areal maps in Blender: one object, a face per areal, so that a common corner is one vertex.

Blender's importer makes triangles of a glTF file, an object per class. Faces are what one splits,
deletes and adds; their attributes go back to the converter (docs/reference/gltf.md, An areal map).
"""

import contextlib
from collections.abc import Iterator

import bpy
import numpy as np

from .converter.edits.areal_polygons import PARTS, class_of
from .converter.formats.areal_map import ArealMap

NUMBER, LOGIC = "_MSH_AREAL", "_MSH_LOGIC"


def join_areals(objects: list[bpy.types.Object], areals: ArealMap) -> None:
    """Replace the objects of the classes, as the importer made them, by one of all areals."""
    shown = [one for one in objects if one.type == "MESH" and NUMBER in one.data.attributes]
    if not shown:
        return
    materials = {}
    for one in shown:
        for material in one.data.materials:
            materials.setdefault(class_of(material.name, {}), material)
    corners, start = areals.vertices + np.float32(0), areals.vertex_start
    points, vertex = np.unique(corners, axis=0, return_inverse=True)
    points, vertex = points.tolist(), vertex.reshape(-1)
    faces = []
    for own in np.split(vertex, start[1:-1]):
        if len(np.unique(own)) < len(own):  # it meets itself: Blender knows no such face
            own = np.arange(len(points), len(points) + len(own))
            points += corners[start[len(faces)] : start[len(faces) + 1]].tolist()
        faces.append(own.tolist())
    mesh = bpy.data.meshes.new("areals")
    mesh.from_pydata(points, [], faces)
    names = list(materials)
    for name in names:
        mesh.materials.append(materials[name])
    rows = [names.index(number) for number in areals.records["class_id"].tolist()]
    mesh.polygons.foreach_set("material_index", rows)
    numbers = np.arange(1, len(faces) + 1, dtype=np.float32)
    for name, values in ((NUMBER, numbers), (LOGIC, areals.records["logic"].astype(np.float32))):
        mesh.attributes.new(name, "FLOAT", "FACE").data.foreach_set("value", values)
    new = bpy.data.objects.new("areals", mesh)
    for collection in shown[0].users_collection:
        collection.objects.link(new)
    for one in shown:
        old = one.data
        bpy.data.objects.remove(one)
        bpy.data.meshes.remove(old)


@contextlib.contextmanager
def numbered(scene: bpy.types.Scene) -> Iterator[None]:
    """Give every face of an areal map a number of its own, while the scene is exported.

    Faces that were split have the number of the areal: further ones get fractions. New faces have
    none: they get numbers below 0.
    """
    meshes = {one.data for one in scene.objects if one.type == "MESH"}
    before = []
    for mesh in sorted(meshes, key=lambda mesh: mesh.name):
        attribute = mesh.attributes.get(NUMBER)
        if attribute is not None and attribute.domain == "FACE":
            values = np.empty(len(attribute.data), np.float32)
            attribute.data.foreach_get("value", values)
            before.append((mesh, values))
    taken, new = {}, 0
    try:
        for mesh, values in before:
            out = values.copy()
            for row, value in enumerate(values.tolist()):
                part = taken[value] = taken.get(value, -1) + 1
                if value < 1 or part >= PARTS:
                    new += 1
                    out[row] = -new
                else:
                    out[row] = value + part / PARTS
            mesh.attributes[NUMBER].data.foreach_set("value", out)
        yield
    finally:
        for mesh, values in before:
            mesh.attributes[NUMBER].data.foreach_set("value", values)
