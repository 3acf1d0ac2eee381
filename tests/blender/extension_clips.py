"""Steps of ``extension.py``: clips of another speed, at another frame rate, of scale alone; control points."""

from __future__ import annotations

import bpy
from extension_tools import BIRD, HANGAR, UNIT, WALKER, empty_file, put_back, read, write
from trial_tools import rescale


def marked():
    """The ranges of a controller on the timeline, and a file that is put back with them moved."""
    scene = read("marked/walker.msh")
    yield "markers", [[one.frame, one.name] for one in scene.timeline_markers]
    yield "untouched", write("same.msh")
    scene.timeline_markers[0].frame += 3
    scene.timeline_markers.new("mine", frame=1)
    yield "moved", write("same.msh")


def clips():
    """A frame of Blender is a frame of the game at any frame rate, which stays as the user set it."""
    for path in (WALKER, BIRD):
        for factor in (0.5, 1.5, 2.0):
            for rate in (24, 30):
                empty_file()
                scene = read(path)
                rescale(factor)
                scene.render.fps, scene.render.fps_base = rate, 1.001
                yield f"{path}, {factor}, {rate}", write("stretched.msh")
                assert scene.render.fps == rate
    for path in (WALKER, HANGAR):
        empty_file()
        read(path)
        still = next(o for o in bpy.context.scene.objects if not o.animation_data)
        for frame, size in ((0, 1.0), (10, 2.0)):
            still.scale = size, size, size
            still.keyframe_insert("scale", frame=frame)
        yield f"{path}, scaled {still.name}", write("scaled.msh")


def clips_inside():
    """Of a model inside a unit: it is written beside the unit, which does not change."""
    read(UNIT)
    yield "untouched", write("unit.dat")
    rescale(2)
    yield "stretched", write("unit.dat")


def _add(parent, place):
    new = bpy.data.objects.new("Muzzle.point", None)
    bpy.context.scene.collection.objects.link(new)
    new.parent, new.location = parent, place
    return new


def points():
    """An archive with two models, with forgotten bytes; the second has no ``.cpt``, and gets one."""
    read("points/points.rlb", entry="robot.msh")
    objects = bpy.data.objects
    moved = next(o for o in objects if o.name.startswith("CameraCenter.point"))
    gone = next(o for o in objects if o.name.startswith("gone.point"))
    moved.location.z += 1
    yield "moved", put_back()
    new = _add(moved.parent, (1, 2, 3))
    yield "added", put_back()
    bpy.data.objects.remove(new)
    moved.location.z -= 1
    yield "undone", put_back()
    bpy.data.objects.remove(gone)
    yield "deleted", put_back()

    empty_file()
    read("points/points.rlb", entry="bare.msh")
    new = _add(next(o for o in bpy.data.objects if o.parent is None and o.type != "LIGHT"), (0, 0, 0))
    yield "first", put_back()
    bpy.data.objects.remove(new)
    yield "none", put_back()
