"""Make a robot from nothing: what docs/tutorials/robot.md says, as a script.

    python examples/blender/robot.py my_robot.glb

A hull, a head on it that turns, a gun on the head that fires from a control point; two materials
with pictures of their own. Runs in an environment that has ``bpy``, or inside Blender:
``blender -b -P examples/blender/robot.py -- my_robot.glb``.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import bpy

#: Object -> what it stands on, its place there, size and middle of its box, material (metres; y is
#: forward).
PARTS = {
    "hull": (None, (0, 0, 0), (2.4, 3, 1), (0, 0, 0.8), "MY_PLATE"),
    "head": ("hull", (0, 0.2, 1.3), (1.4, 1.4, 0.8), (0, 0, 0.4), "MY_PLATE"),
    "gun": ("head", (0.4, 0.7, 0.4), (0.25, 1.6, 0.25), (0, 0.8, 0), "MY_STEEL"),
}
#: Material -> its two colours, as stripes.
PICTURES = {"MY_PLATE": ((0.8, 0.1, 0.05), (0.9, 0.7, 0.1)), "MY_STEEL": ((0.2, 0.25, 0.3), (0.5, 0.55, 0.6))}
SIZE = 64


def main() -> None:
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 0, 24
    for name in PICTURES:
        add_material(name)
    for name, (parent, place, size, middle, material) in PARTS.items():
        made = add_box(name, size, middle, material)
        made.parent, made.location = bpy.data.objects.get(parent or ""), place
    turn(bpy.data.objects["head"])
    muzzle = bpy.data.objects.new("Muzzle.point", None)  # an empty: a control point
    scene.collection.objects.link(muzzle)
    muzzle.parent, muzzle.location = bpy.data.objects["gun"], (0, 1.6, 0)
    target = str(Path(arguments[0]).resolve())
    bpy.ops.export_scene.gltf(filepath=target, export_extras=True)
    sys.stdout.flush()
    if "--" not in sys.argv:
        os._exit(0)  # bpy 4.2 crashes when the interpreter ends


def add_material(name: str) -> None:
    """Shading > New, Image > New, painted; the picture is the base colour."""
    image = bpy.data.images.new(f"{name}.png", SIZE, SIZE)
    stripes = [PICTURES[name][(x + y) // 8 % 2] for y in range(SIZE) for x in range(SIZE)]
    image.pixels[:] = [value for colour in stripes for value in (*colour, 1)]
    image.pack()
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    picture = nodes.new("ShaderNodeTexImage")
    picture.image = image
    links.new(picture.outputs["Color"], nodes["Principled BSDF"].inputs["Base Color"])


def add_box(name: str, size: tuple, middle: tuple, material: str) -> bpy.types.Object:
    """Add > Mesh > Cube, unwrapped by Cube Projection."""
    bpy.ops.mesh.primitive_cube_add(size=1, location=middle, scale=size)
    bpy.ops.object.transform_apply()
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.uv.cube_project(cube_size=1.5)
    bpy.ops.object.mode_set(mode="OBJECT")
    made = bpy.context.active_object
    made.name = made.data.name = name
    made.data.materials.append(bpy.data.materials[material])
    return made


def turn(head: bpy.types.Object) -> None:
    """A look to the left and to the right, in a second."""
    for frame, degrees in ((0, 0), (6, 30), (18, -30), (24, 0)):
        head.rotation_euler = (0, 0, math.radians(degrees))
        head.keyframe_insert("rotation_euler", frame=frame)


if __name__ == "__main__":
    main()
