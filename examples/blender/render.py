"""Render a .glb to a PNG with Blender's Workbench, without a display.

    python examples/blender/render.py robot.glb robot.png [--frame 12] [--size 800x600]

Runs in an environment that has ``bpy`` (``pip install bpy``), or inside Blender:
``blender -b -P examples/blender/render.py -- robot.glb robot.png``.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from pathlib import Path

import bpy
from mathutils import Vector


def main() -> None:
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--frame", type=int, default=0)
    parser.add_argument("--size", default="800x600", help="WIDTHxHEIGHT")
    parser.add_argument("--turn", type=float, default=35.0, help="camera heading in degrees")
    options = parser.parse_args(arguments)

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=str(options.model.resolve()))
    scene = bpy.context.scene
    scene.frame_set(options.frame)
    width, height = map(int, options.size.split("x"))
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.image_settings.file_format = "PNG"
    scene.view_settings.view_transform = "Standard"
    scene.display.shading.light = "STUDIO"
    textured = any(image.type == "IMAGE" for image in bpy.data.images)
    scene.display.shading.color_type = "TEXTURE" if textured else "MATERIAL"
    scene.display.shading.show_cavity = True
    scene.display.shading.show_shadows = True
    scene.world = bpy.data.worlds.new("backdrop")
    scene.world.color = (0.22, 0.24, 0.27)

    low, high = bounds(scene)
    aim_camera(scene, low, high, math.radians(options.turn), width / height)
    scene.render.filepath = str(options.picture.resolve())
    bpy.ops.render.render(write_still=True)
    print(f"wrote {options.picture}")


def bounds(scene: bpy.types.Scene) -> tuple[Vector, Vector]:
    """The box of everything that the scene shows."""
    shown = [o for o in scene.objects if o.type == "MESH" and o.visible_get()]
    points = [o.matrix_world @ Vector(corner) for o in shown for corner in o.bound_box]
    if not points:
        raise SystemExit("the model shows nothing")
    low, high = (Vector(map(pick, zip(*points, strict=True))) for pick in (min, max))
    return low, high


def aim_camera(
    scene: bpy.types.Scene, low: Vector, high: Vector, heading: float, aspect: float
) -> None:
    """Put a camera where it sees the whole box from above and aside."""
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    pitch = math.radians(24)
    away = Vector(
        (
            math.sin(heading) * math.cos(pitch),
            -math.cos(heading) * math.cos(pitch),
            math.sin(pitch),
        )
    )
    look = (-away).to_track_quat("-Z", "Y")
    camera.rotation_euler = look.to_euler()
    # as near as every corner of the box allows; the angle is that of the longer side
    wide = math.tan(camera.data.angle / 2)
    reach_x, reach_y = (wide, wide / aspect) if aspect >= 1 else (wide * aspect, wide)
    middle = (low + high) / 2
    distance = 0.01
    for corner in itertools.product(*zip(low, high, strict=True)):
        seen = look.inverted() @ (Vector(corner) - middle)
        distance = max(distance, abs(seen.x) / reach_x + seen.z, abs(seen.y) / reach_y + seen.z)
    camera.location = middle + away * distance * 1.06
    camera.data.clip_end = distance + (high - low).length * 4


if __name__ == "__main__":
    main()
