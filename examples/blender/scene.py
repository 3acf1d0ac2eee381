"""Render several models in one picture, on a ground, with Blender's Workbench.

    python examples/blender/scene.py OUT.png walker.glb@0,0,0 hangar.glb@12,8,90 [--size 800x400]
    python examples/blender/scene.py OUT.png walker.glb@0,0,0 walker.glb:1.0@4,0,0
    python examples/blender/scene.py OUT.png walker.glb@0,0,0 --play 24

A model is ``FILE@X,Y,TURN`` (map units, degrees); ``FILE:LOD.GROUP@...`` shows another level of
detail or damage stage. ``--play N`` writes ``OUT_000.png`` to ``OUT_{N-1}.png``: the first N frames of
the clips, seen by a camera that swings from one side to the other. Runs in an environment that has
``bpy``, as preview.py does.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
from preview import aim_camera, bounds, show_base_colours

PLACE = re.compile(r"(.+?)(?::(\d)\.(\d))?@(-?[\d.]+),(-?[\d.]+),(-?[\d.]+)")
#: How far the camera of ``--play`` swings to each side, degrees.
SWING = 12.0
CELLS = (
    re.compile(r"\.lod(?P<lod>\d)\.group(?P<group>\d)"),
    re.compile(r"(?:\.stage(?P<lod>\d))?(?:\.level(?P<group>\d)|(?P<view>\.view))?(?:\.\d+)?$"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", type=Path)
    parser.add_argument("models", nargs="+", metavar="FILE@X,Y,TURN")
    parser.add_argument("--size", default="800x400", help="WIDTHxHEIGHT")
    parser.add_argument("--turn", type=float, default=145.0, help="camera heading in degrees")
    parser.add_argument("--pitch", type=float, default=24.0, help="camera height in degrees")
    parser.add_argument("--near", type=float, default=1.0, help="ratio to the camera's distance")
    parser.add_argument("--no-ground", action="store_true")
    parser.add_argument("--play", type=int, metavar="N", help="N pictures, one for each frame; 2 or more")
    options = parser.parse_args()

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.frame_set(0)
    for text in options.models:
        file, lod, group, x, y, turn = PLACE.fullmatch(text).groups()
        put(Path(file), (int(lod or 0), int(group or 0)), float(x), float(y), float(turn))
    scene.frame_set(0)
    show_base_colours()
    width, height = map(int, options.size.split("x"))
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.image_settings.file_format = "PNG"
    scene.render.dither_intensity = 0  # noise makes files large
    scene.view_settings.view_transform, scene.view_settings.exposure = "Standard", 1.0
    shading = scene.display.shading
    shading.light, shading.color_type = "STUDIO", "TEXTURE"
    shading.show_cavity = True
    scene.world = bpy.data.worlds.new("sky")
    scene.world.color = (0.22, 0.27, 0.33)

    bpy.context.view_layer.update()
    low, high = bounds(scene)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    if not options.no_ground:
        bpy.ops.mesh.primitive_plane_add(size=2000, location=(0, 0, low.z - 0.01))
        earth = bpy.data.materials.new("earth")
        earth.diffuse_color = (0.20, 0.19, 0.16, 1)
        bpy.context.active_object.data.materials.append(earth)
    target = options.picture.resolve()
    for frame in range(options.play or 1):
        scene.frame_set(frame)
        swing = -SWING * math.cos(math.pi * frame / (options.play - 1)) if options.play else 0.0
        heading = math.radians(options.turn + swing)
        aim_camera(camera, low, high, heading, width / height, math.radians(options.pitch))
        camera.location = camera.location.lerp((low + high) / 2, 1 - options.near)
        scene.render.filepath = str(target.with_stem(f"{target.stem}_{frame:03}") if options.play else target)
        bpy.ops.render.render(write_still=True)
    print(f"wrote {options.picture}")


def put(path: Path, cell: tuple[int, int], x: float, y: float, turn: float) -> None:
    """Import a model, keep one of its cells, and stand it somewhere."""
    before = set(bpy.data.objects)
    bpy.ops.import_scene.gltf(filepath=str(path.resolve()))
    scene = bpy.context.scene
    stand = bpy.data.objects.new("stand", None)
    scene.collection.objects.link(stand)
    for found in [o for o in bpy.data.objects if o not in before and o != stand]:
        named = CELLS[0].search(found.name) or CELLS[1].search(found.name)
        view = named.groupdict().get("view")
        own = int(named["lod"] or 0), 4 if view else int(named["group"] or 0)
        for collection in found.users_collection:
            collection.objects.unlink(found)
        scene.collection.objects.link(found)
        if found.type == "MESH" and own != cell:
            found.hide_render = True
        if found.parent is None:
            found.parent = stand
    stand.location = (x, y, 0)
    stand.rotation_euler = (0, 0, math.radians(turn))


if __name__ == "__main__":
    main()
