"""Levels in Blender: units and missions, areal maps, terrains.

Every object of a mission says what it is in its custom property ``msh`` (docs/reference/gltf.md).

Blender's importer makes triangles of an areal map, an object per class. Faces are what one splits, deletes and
adds, so that one object has a face per areal and a common corner is one vertex; their attributes go back to the
converter (docs/reference/gltf.md, An areal map).

Corners that faces of a terrain share are one vertex, so that the ground does not tear. The importer merges
vertices, but what they differ in, and Blender has per vertex, would be lost: the blend of the second material
(``_MSH_BLEND``). It goes to the faces' corners.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import bpy
import numpy as np

from .converter.edits.areal_polygons import PARTS, class_of
from .converter.errors import ConversionError
from .converter.formats.areal_map import ArealMap
from .converter.formats.mission import BUILDING, OBJECT_KINDS, UNIT
from .converter.kinds.registry import find_game
from .converter.scene.level import TerrainScene
from .exporters.gltf import NODE_NAMES
from .state import game_folders

_PLURALS = {"building": "buildings", "unit": "units", "vegetation": "vegetation", "rock": "rocks"}


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


def about(thing: bpy.types.Object) -> Mapping:
    """What an object says of itself; empty where it says nothing."""
    found = thing.get("msh")
    return found if hasattr(found, "get") else {}


def sort_by_kind(scene: bpy.types.Scene, clans: list[str]) -> None:
    """Move what a mission places into collections: by kind, and buildings and units by clan.

    Args:
        scene: its first collection has the objects, as the importer left them.
        clans: names by row.
    """
    main = scene.collection.children[0]
    made: dict[str, bpy.types.Collection] = {}
    for top in [one for one in main.objects if about(one).get("kind") == "object"]:
        kind, clan = about(top).get("object_kind"), about(top).get("clan")
        if not isinstance(kind, int) or not 0 <= kind < len(OBJECT_KINDS):
            continue
        home = _child(main, f"{scene.name}.{_PLURALS[OBJECT_KINDS[kind]]}", made)
        if kind in (BUILDING, UNIT):
            known = isinstance(clan, int) and 0 <= clan < len(clans)
            name = (clans[clan] if known else "") or f"clan {clan}"
            home = _child(home, f"{home.name}.{name}", made)
        move_to(home, (top, *top.children_recursive), main)


def move_to(home: bpy.types.Collection, things: Iterable[bpy.types.Object], before: bpy.types.Collection) -> None:
    """Move objects to another collection."""
    for one in things:
        home.objects.link(one)
        before.objects.unlink(one)


def _child(above: bpy.types.Collection, name: str, made: dict[str, bpy.types.Collection]) -> bpy.types.Collection:
    if name not in made:
        made[name] = bpy.data.collections.new(name)
        above.children.link(made[name])
    return made[name]


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


BLEND = "_MSH_BLEND"


def split_blend(objects: list[bpy.types.Object], terrain: TerrainScene) -> bool:
    """Give every corner of a face its own blend, in the objects that the importer made.

    Returns:
        Whether the faces are those of the terrain; if not, nothing is changed.
    """
    if terrain.blend is None:
        return True
    work = []
    for one in objects:
        name = one.name.partition(".")[0]
        if one.type != "MESH" or name not in NODE_NAMES or BLEND not in one.data.attributes:
            continue
        rows = [rows for _, rows in terrain.primitives[NODE_NAMES.index(name)]]
        order = terrain.vertex[np.concatenate(rows)].reshape(-1)
        mesh = one.data
        vertex = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", vertex)
        points = np.empty((len(mesh.vertices), 3), np.float32)
        mesh.vertices.foreach_get("co", points.reshape(-1))
        same = len(order) == len(vertex)
        if not (same and np.array_equal(points[vertex], terrain.positions[order] + np.float32(0))):
            return False
        work.append((mesh, terrain.blend[order]))
    for mesh, values in work:
        mesh.attributes.remove(mesh.attributes[BLEND])
        mesh.attributes.new(BLEND, "FLOAT", "CORNER").data.foreach_set("value", values)
    return True
