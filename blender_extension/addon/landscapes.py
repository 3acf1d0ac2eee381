"""Levels in Blender: units and missions, areal maps, terrains.

Every object of a mission says what it is in its custom property ``msh`` (docs/reference/gltf.md).

A document has triangles of an areal map, an object per class. Faces are what one splits, deletes and adds, so that
one object has a face per areal and a common corner is one vertex; their attributes go back to the converter
(docs/reference/gltf.md, An areal map).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np

from .converter.edits.areal_polygons import PARTS, class_of
from .converter.errors import ConversionError
from .converter.formats.areal_map import ArealMap
from .converter.kinds.registry import find_game
from .converter.scene.scene import ImportedScene
from .state import game_folders
from .to_blender import Builder


def game_of_file(context: bpy.types.Context, path: Path) -> Path:
    """The game that a unit or a mission is resolved in: the one around it, else the preferences'.

    Raises:
        ConversionError: there is none.
    """
    found = find_game(path)
    for folder in game_folders(context) if found is None else ():
        found = find_game(Path(folder))
    if found is None:
        raise ConversionError(
            "lies in no game: no folder around it has objects.rlb",
            file=str(path),
            hint="name the game's folder in Edit > Preferences > Add-ons > MSH",
        )
    return found


def named_game(context: bpy.types.Context, named: str) -> Path:
    """The game's folder: as named, that of the preferences, or the one around the open model.

    Raises:
        ConversionError: there is none.
    """
    folders = [bpy.path.abspath(named)] if named else [*game_folders(context)]
    if not folders and context.scene.msh_gltf.path:
        folders = [context.scene.msh_gltf.path]
    for folder in folders:
        found = find_game(Path(folder))
        if found is not None:
            return found
    raise ConversionError(
        "has no objects.rlb" if folders else "no game's folder is named",
        file=folders[0] if folders else None,
        hint="name the game's folder in Edit > Preferences > Add-ons > MSH",
    )


NUMBER, LOGIC = "_MSH_AREAL", "_MSH_LOGIC"


def show_areals(
    scene: bpy.types.Scene, given: ImportedScene, materials: list[bpy.types.Material], areals: ArealMap
) -> None:
    """Make an object with a face for each areal, and the borders.

    Args:
        scene: what gets them.
        given: the map's document, which has an object for each class.
        materials: of the document.
    """
    borders = [item for item in given.nodes if item.extras.get("kind") == "borders"]
    for _ in Builder(scene, replace(given, nodes=borders), materials, [0] * len(materials)).build():
        pass
    if not len(areals.records):
        return
    of_class = {class_of(material.name, {}): material for material in materials}
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
    names = list(of_class)
    for name in names:
        mesh.materials.append(of_class[name])
    rows = [names.index(number) for number in areals.records["class_id"].tolist()]
    mesh.polygons.foreach_set("material_index", rows)
    numbers = np.arange(1, len(faces) + 1, dtype=np.float32)
    for name, values in ((NUMBER, numbers), (LOGIC, areals.records["logic"].astype(np.float32))):
        mesh.attributes.new(name, "FLOAT", "FACE").data.foreach_set("value", values)
    scene.collection.children[0].objects.link(bpy.data.objects.new("areals", mesh))


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
