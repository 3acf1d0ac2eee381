"""A step of ``extension.py``: clips of another speed, at another frame rate, and of scale alone."""

from __future__ import annotations

import bpy

from __main__ import read, write


def stretch(factor):
    """Scale all keys about frame 0, as *S* in the Dope Sheet does."""
    for action in bpy.data.actions:
        layers = getattr(action, "layers", None)
        bags = layers[0].strips[0].channelbags if layers else [action]
        for curve in (curve for bag in bags for curve in bag.fcurves):
            for point in curve.keyframe_points:
                for part in (point.co, point.handle_left, point.handle_right):
                    part.x *= factor
            curve.update()


def marked(out):
    """The ranges of a controller on the timeline, and a file that is put back with them moved."""
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = read("marked")
    facts = {"markers": [[one.frame, one.name] for one in scene.timeline_markers]}
    facts["untouched"] = write(out / "marked.msh")
    scene.timeline_markers[0].frame += 3
    scene.timeline_markers.new("mine", frame=1)
    facts["moved"] = write(out / "moved.msh")
    return facts


def clips(out):
    facts = {}
    for name in ("walker", "spec"):
        for factor in (0.5, 1.5, 2.0):
            for rate in (24, 30):
                bpy.ops.wm.read_homefile(use_empty=True)
                scene = read(name)
                stretch(factor)
                scene.render.fps, scene.render.fps_base = rate, 1.001
                facts[f"{name} {factor} {rate}"] = write(out / f"{name}_{factor}_{rate}.msh")
                assert scene.render.fps == rate
    for name in ("walker", "hangar"):
        bpy.ops.wm.read_homefile(use_empty=True)
        read(name)
        still = next(o for o in bpy.context.scene.objects if not o.animation_data)
        for frame, size in ((0, 1.0), (10, 2.0)):
            still.scale = size, size, size
            still.keyframe_insert("scale", frame=frame)
        facts[f"scaled {name}"] = [still.name, write(out / f"scaled_{name}.msh")]
    bpy.ops.wm.read_homefile(use_empty=True)
    read("unit")
    facts["unit"] = write(out / "unit.dat")
    stretch(2)
    facts["unit stretched"] = write(out / "stretched.dat")
    return facts
