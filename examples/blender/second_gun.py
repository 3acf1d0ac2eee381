"""Give the turret of docs/tutorials/turret.md its second gun: the steps of that page, as a script.

    python examples/blender/second_gun.py work/e_tur_01.glb

Replaces the file, as an export over it does. Runs in an environment that has
``bpy``, or inside Blender: ``blender -b -P examples/blender/second_gun.py -- work/e_tur_01.glb``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy

#: The gun, and what stands for it from afar.
GUNS = ("gun", "gun.level1")
LEFT = (-1.1, 0, 0)


def main() -> None:
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    path = str(Path(arguments[0]).resolve())
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path)
    for name in GUNS:
        add_gun(bpy.data.objects[name])
    bpy.ops.export_scene.gltf(filepath=path, export_extras=True)


def add_gun(gun: bpy.types.Object) -> None:
    """Click it in the outliner; Tab, A, Shift D, X, X, -1.1, Enter, Tab."""
    collections = bpy.context.view_layer.layer_collection.children
    home = next(c for c in collections if gun.name in c.collection.objects)
    was, home.exclude = home.exclude, False
    hidden = gun.hide_get()
    gun.hide_set(False)
    bpy.ops.object.select_all(action="DESELECT")  # the importer leaves everything selected
    bpy.context.view_layer.objects.active = gun
    gun.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.duplicate()
    bpy.ops.transform.translate(value=LEFT, orient_type="LOCAL")  # the tower may be turned
    bpy.ops.object.mode_set(mode="OBJECT")
    gun.hide_set(hidden)
    home.exclude = was


if __name__ == "__main__":
    main()
