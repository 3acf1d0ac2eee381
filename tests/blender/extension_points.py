"""A step of ``extension.py``: control points moved, added and deleted, put back, and undone."""

from __future__ import annotations

from pathlib import Path

import bpy
from extension_materials import put_back

from __main__ import FILES, read


def points(out):
    """``with_points``: an archive with two models; the second has no ``.cpt``."""
    path, facts = Path(FILES["with_points"]), {}
    read("with_points", entry="robot.msh")
    objects = bpy.data.objects
    moved = next(o for o in objects if o.name.startswith("CameraCenter.point"))
    gone = next(o for o in objects if o.name.startswith("gone.point"))
    moved.location.z += 1
    facts["moved"] = put_back(path, out / "moved.rlb")
    new = bpy.data.objects.new("Muzzle.point", None)
    bpy.context.scene.collection.objects.link(new)
    new.parent, new.location = moved.parent, (1, 2, 3)
    facts["added"] = put_back(path, out / "added.rlb")
    bpy.data.objects.remove(new)
    moved.location.z -= 1
    facts["undone"] = put_back(path, out / "undone.rlb")
    bpy.data.objects.remove(gone)
    facts["deleted"] = put_back(path, out / "deleted.rlb")

    bpy.ops.wm.read_homefile(use_empty=True)
    read("with_points", entry="bare.msh")
    node = next(o for o in bpy.data.objects if o.parent is None and o.type != "LIGHT")
    new = bpy.data.objects.new("Muzzle.point", None)
    bpy.context.scene.collection.objects.link(new)
    new.parent = node
    facts["first"] = put_back(path, out / "first.rlb")
    bpy.data.objects.remove(new)
    facts["none"] = put_back(path, out / "none.rlb")
    return facts
