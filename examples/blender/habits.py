"""What Blender does to a file: the experiments of docs/tutorials/blender.md.

    python examples/blender/habits.py out/turrets.rlb/e_tur_02.glb OUT_DIR

Writes a file for each of them. Runs in an environment that has ``bpy``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import bpy


def untouched(source: str) -> None:
    """Open it, and export it as Blender proposes."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=source)


def cube(source: str) -> None:
    """Forget to delete what a new scene holds."""
    bpy.ops.wm.read_factory_settings()
    bpy.ops.import_scene.gltf(filepath=source)


def reopened(source: str) -> None:
    """Save a .blend, open it again, and export with the other collections switched off."""
    untouched(source)
    with tempfile.TemporaryDirectory() as folder:
        kept = str(Path(folder, "turret.blend"))
        bpy.ops.wm.save_as_mainfile(filepath=kept)
        bpy.ops.wm.open_mainfile(filepath=kept)


def moved(source: str) -> None:
    """Move an object that has an animation, with no key."""
    untouched(source)
    bpy.data.objects["tower"].location.z += 0.5


def renamed(source: str) -> None:
    """Give an object another name."""
    untouched(source)
    bpy.data.objects["pod_l"].name = "launcher"


def main() -> None:
    source, out = (str(Path(name).resolve()) for name in sys.argv[1:3])
    for habit in (untouched, cube, reopened, moved, renamed):
        habit(source)
        target = Path(out) / f"{habit.__name__}.glb"
        bpy.ops.export_scene.gltf(filepath=str(target))


if __name__ == "__main__":
    main()
