"""Render a .glb to PNG with Blender's Workbench, without a display.

    python examples/blender/preview.py robot.glb robot.png [--frame 12] [--size 800x600]
    python examples/blender/preview.py robot.glb robot.png --stage 1 --transparent
    python examples/blender/preview.py robot.glb robot.png --turntable 24

Runs in an environment that has ``bpy`` (``pip install bpy``), or inside Blender:
``blender -b -P examples/blender/preview.py -- robot.glb robot.png``. ``--turntable N`` writes
``robot_000.png`` to ``robot_{N-1}.png``, once round.
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
    parser.add_argument("--turntable", type=int, metavar="N", help="N pictures, once round")
    parser.add_argument("--stage", type=int, default=0, help="damage stage, 0 to 2")
    parser.add_argument("--level", type=int, default=0, help="level of detail, 0 to 3; 4: the view")
    parser.add_argument("--transparent", action="store_true", help="no backdrop")
    options = parser.parse_args(arguments)

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=str(options.model.resolve()))
    show_base_colours()
    scene = bpy.context.scene
    scene.frame_set(options.frame)
    if options.stage or options.level:
        show_only(options.stage, options.level)
    width, height = map(int, options.size.split("x"))
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.image_settings.file_format = "PNG"
    scene.render.dither_intensity = 0  # noise makes files large
    scene.view_settings.view_transform, scene.view_settings.exposure = "Standard", 0.6
    scene.display.shading.light = "STUDIO"
    textured = any(image.type == "IMAGE" for image in bpy.data.images)
    scene.display.shading.color_type = "TEXTURE" if textured else "MATERIAL"
    scene.display.shading.show_cavity = True
    scene.display.shading.show_shadows = True
    scene.world = bpy.data.worlds.new("backdrop")
    scene.world.color = (0.22, 0.24, 0.27)

    if options.transparent:
        scene.render.film_transparent = True
        scene.render.image_settings.color_mode = "RGBA"

    low, high = bounds(scene)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    pictures = options.turntable or 1
    target = options.picture.resolve()
    for number in range(pictures):
        turn = math.radians(options.turn + 360 * number / pictures)
        aim_camera(camera, low, high, turn, width / height)
        if options.turntable:
            target = options.picture.resolve().with_stem(f"{options.picture.stem}_{number:03}")
        scene.render.filepath = str(target)
        bpy.ops.render.render(write_still=True)
        print(f"wrote {target}")


def show_base_colours() -> None:
    """Workbench shows a material's active texture, which the importer may leave at emission."""
    for material in bpy.data.materials:
        tree = material.node_tree
        shader = tree and tree.nodes.get("Principled BSDF")
        links = shader.inputs["Base Color"].links if shader else ()
        for link in links:
            if link.from_node.type == "TEX_IMAGE":
                tree.nodes.active = link.from_node


def show_only(stage: int, level: int) -> None:
    """Show the parts of one damage stage and level of detail; their scene is a collection."""
    column = "view" if level == 4 else f"level{level}" if level else ""
    cells = (".".join(filter(None, (f"stage{stage}" if stage else "", column))), f"lod{stage}.group{level}")
    layer = bpy.context.view_layer.layer_collection.children
    wanted = next((c for c in layer if c.name.partition(".0")[0] in cells or c.name in cells), None)
    if wanted is None:
        raise SystemExit(f"the model has no parts in {cells[0]}")
    for found in list(bpy.data.objects):
        found.hide_render = found.type == "MESH"
    wanted.exclude = False
    for found in list(wanted.collection.all_objects):
        found.hide_render = False


def bounds(scene: bpy.types.Scene) -> tuple[Vector, Vector]:
    """The box of everything that the scene shows."""
    seen = bpy.context.view_layer.objects
    shown = [o for o in seen if o.type == "MESH" and not o.hide_render]
    points = [o.matrix_world @ Vector(corner) for o in shown for corner in o.bound_box]
    if not points:
        raise SystemExit("the model shows nothing")
    low, high = (Vector(map(pick, zip(*points, strict=True))) for pick in (min, max))
    return low, high


def aim_camera(
    camera: bpy.types.Object, low: Vector, high: Vector, heading: float, aspect: float, pitch: float = math.radians(24)
) -> None:
    """Put the camera where it sees the whole box from above and aside; angles in radians."""
    away = Vector((math.sin(heading) * math.cos(pitch), -math.cos(heading) * math.cos(pitch), math.sin(pitch)))
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
