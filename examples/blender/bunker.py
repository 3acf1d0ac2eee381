"""Build the bunker of docs/tutorials/building.md: the steps of that page, as a script.

    python examples/blender/bunker.py my_bunker.glb

Runs in an environment that has ``bpy``, or inside Blender:
``blender -b -P examples/blender/bunker.py -- my_bunker.glb``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy

#: Object -> its boxes: material, size, place of the middle (metres; y is forward).
PARTS = {
    "bunker": [
        ("BRICK", (8, 6, 3), (0, 0, 1.5)),
        ("armour", (9, 7, 0.6), (0, 0, 3.3)),
        ("joint", (1.6, 0.2, 2.2), (-2, 3.05, 1.1)),
        ("armour", (2, 2, 1.2), (2.5, -1.5, 4.2)),
    ],
    "bunker.level1": [("BRICK", (8, 6, 3), (0, 0, 1.5)), ("armour", (9, 7, 0.6), (0, 0, 3.3))],
    "bunker.level2": [("BRICK", (8.5, 6.5, 3.6), (0, 0, 1.8))],
    "bunker.stage1": [("BRICK", (8, 6, 1.2), (0, 0, 0.6)), ("joint", (5, 4, 0.6), (1, 0, 1.4))],
}


def main() -> None:
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    for name, boxes in PARTS.items():
        build(name, boxes)
    bpy.ops.export_scene.gltf(filepath=str(Path(arguments[0]).resolve()), export_extras=True)


def build(name: str, boxes: list[tuple]) -> None:
    """Add > Mesh > Cube for each box; join them; unwrap."""
    made = []
    for material, size, place in boxes:
        bpy.ops.mesh.primitive_cube_add(size=1, location=place, scale=size)
        made.append(bpy.context.active_object)
        made[-1].data.materials.append(bpy.data.materials.get(material) or bpy.data.materials.new(material))
    bpy.ops.object.select_all(action="DESELECT")
    for cube in made:
        cube.select_set(True)
    bpy.context.view_layer.objects.active = made[0]
    if len(made) > 1:
        bpy.ops.object.join()
    bpy.ops.object.transform_apply()
    whole = bpy.context.active_object
    whole.name = name
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.uv.cube_project(cube_size=4)
    bpy.ops.object.mode_set(mode="OBJECT")


if __name__ == "__main__":
    main()
