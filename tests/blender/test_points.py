"""Control points that an artist edits in real Blender, exported with its defaults and extras."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter import cli
from msh_gltf.converter.formats.model_parts import read_points
from tests.support.blender import blender
from tests.support.corpus import sample_called
from tests.support.points import POINTS, cpt
from tests.support.runs import call

ROBOT = sample_called("retail__system__R_H_002")
EDIT = """
import os
import sys
import bpy
from mathutils import Quaternion, Vector
source, out = sys.argv[1:]
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=source)
objects = bpy.data.objects
objects["CameraCenter.point"].location += Vector((0, 0, 1))
turned = objects["Dir_1.point"]
turned.rotation_mode = "QUATERNION"
turned.rotation_quaternion = Quaternion((0, 1, 0), 3.14159265 / 2)  # z to x
turned.scale *= 2
bpy.data.objects.remove(objects["gone.point"])
new = bpy.data.objects.new("Muzzle.point", None)
bpy.context.scene.collection.objects.link(new)
new.parent, new.location = objects["Свет.point"].parent, (1, 2, 3)
for extras in (False, True):
    bpy.ops.export_scene.gltf(filepath=f"{out}/edited{extras}.glb", export_extras=extras)
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, and its edits."""
    out = tmp_path_factory.mktemp("points")
    (out / "robot.cpt").write_bytes(cpt(POINTS))
    model = shutil.copy(ROBOT.path, out / "robot.msh")
    assert call(cli.msh2gltf, model, "-o", out / "robot.glb", "-q") == 0
    blender(EDIT, out / "robot.glb", out)
    return out


@pytest.mark.parametrize("extras", [False, True])
def test_edits_arrive(folder: Path, extras: bool) -> None:
    back = import_gltf(folder / f"edited{extras}.glb", sidecar=folder / "robot.msh-sidecar")
    assert back.not_applied == []
    assert back.data == ROBOT.source
    (one,) = back.companions
    now = read_points(one.data, "x")
    names = [now.name(row) for row in range(len(now.records))]
    assert names == ["CameraCenter", "Dir_1", "Свет", "Muzzle"]
    assert now.records["node"].tolist() == [2, 0, 3, 3]
    # the axes of a game's node are Blender's
    np.testing.assert_allclose(now.records["position"][0], (0, 0, 1.876), atol=1e-5)
    np.testing.assert_allclose(now.records["direction"][1], (9.698, 0, 0), atol=1e-5)
    np.testing.assert_allclose(now.records["position"][3], (1, 2, 3), atol=1e-4)
    np.testing.assert_allclose(now.records["direction"][3], (0, 0, 1), atol=1e-5)
    assert now.records[2].tobytes() == cpt(POINTS)[4 + 72 : 4 + 108]
