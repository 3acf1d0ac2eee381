"""Raise the hill of docs/tutorials/landscape.md: the steps of that page, as a script.

    python examples/blender/hill.py out/DATA/MAPS/Tut_1/Land.glb

Replaces the file, as an export over it does. Runs in an environment that has ``bpy``, or inside
Blender: ``blender -b -P examples/blender/hill.py -- Land.glb``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
from mathutils import Vector

TOP = Vector((256, 256))
HEIGHT, REACH = 40, 90
SQUARE, HALF = Vector((400, 400)), 33


def main() -> None:
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    path = str(Path(arguments[0]).resolve())
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path, merge_vertices=True)
    ground = bpy.data.objects["terrain"]
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = ground
    ground.select_set(True)
    raise_hill(ground)
    pave(ground)
    bpy.ops.export_scene.gltf(filepath=path, export_extras=True, export_attributes=True)


def raise_hill(ground: bpy.types.Object) -> None:
    """Click a corner in the valley, O, G, Z, 40, Enter."""
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="DESELECT")
    bpy.ops.object.mode_set(mode="OBJECT")
    middle = min(ground.data.vertices, key=lambda corner: (corner.co.xy - TOP).length)
    middle.select = True
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.transform.translate(value=(0, 0, HEIGHT), use_proportional_edit=True, proportional_size=REACH)
    bpy.ops.object.mode_set(mode="OBJECT")


def pave(ground: bpy.types.Object) -> None:
    """Choose the faces of a square, the slot LND_ROCK, Assign."""
    mesh = ground.data
    rock = mesh.materials.find("LND_ROCK")
    for face in mesh.polygons:
        if max(map(abs, face.center.xy - SQUARE)) < HALF:
            face.material_index = rock


if __name__ == "__main__":
    main()
