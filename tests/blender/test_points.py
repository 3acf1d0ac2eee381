"""Control points that an artist edits in real Blender, exported with its defaults and extras."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter import cli
from msh_gltf.converter.formats.model_parts import read_points
from msh_gltf.converter.formats.nres import read_nres
from tests.blender.test_extension import Seen, points_archive, see, zip_file
from tests.support.blender import blender
from tests.support.corpus import sample_called
from tests.support.game import original, snapshot
from tests.support.gltf_view import GltfView
from tests.support.points import POINTS, cpt
from tests.support.runs import call, run

__all__ = ["zip_file"]
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


def names_in(archive: Path, name: str = "robot.cpt") -> list[str]:
    """Names of the control points of an entry, after a look at all others."""
    entries = {e.name: e.payload for e in read_nres(archive.read_bytes(), "x").entries}
    points = read_points(entries[name], "x")
    return [points.name(row) for row in range(len(points.records))]


def test_edits_arrive_in_the_game(folder: Path, tmp_path: Path) -> None:
    """Shown by another export, without new errors; the exported file undoes them."""
    game, out = tmp_path / "game", tmp_path / "out"
    game.mkdir()
    points_archive(game / "a.rlb")
    before = snapshot(game)
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    kept = shutil.copy(out / "a.rlb/robot.glb", tmp_path / "kept.glb")
    blender(EDIT, kept, tmp_path)
    shutil.copy(tmp_path / "editedTrue.glb", out / "a.rlb/robot.glb")
    assert run("gltf2msh", out, "--game", game, "--in-place", "--require-all").returncode == 0
    old, new = (read_nres(data, "a.rlb").entries for data in (original(game / "a.rlb"), (game / "a.rlb").read_bytes()))
    differ = [a.name for a, b in zip(old, new, strict=True) if a.payload != b.payload]
    assert differ == ["robot.cpt"]
    assert names_in(game / "a.rlb") == ["CameraCenter", "Dir_1", "Свет", "Muzzle"]
    assert run("msh-inspect", "--check", game).returncode == 0
    assert call(cli.msh2gltf, game, "-o", tmp_path / "again", "-q") == 0
    nodes = {node["name"] for node in GltfView(tmp_path / "again/a.rlb/robot.glb")["nodes"]}
    assert "Muzzle.point" in nodes
    assert "gone.point" not in nodes
    shutil.copy(kept, out / "a.rlb/robot.glb")
    assert run("gltf2msh", out, "--game", game, "--in-place").returncode == 0
    after = snapshot(game)
    assert {name: after[name] for name in before} == before


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), ("points",))


def test_the_extension_puts_points_back(seen: Seen) -> None:
    """A ``.cpt`` that an edit made goes again, and the archive comes back byte for byte."""
    facts, out = seen.facts["points"], seen.out / "points"
    before = (seen.out.parent / "points_before.rlb").read_bytes()
    assert all(not facts[name]["warnings"] for name in facts)
    old = ["CameraCenter", "Dir_1", "Свет", "gone"]
    assert names_in(out / "moved.rlb") == old
    assert (out / "moved.rlb").read_bytes() != before
    assert names_in(out / "added.rlb") == [*old, "Muzzle"]
    assert names_in(out / "deleted.rlb") == old[:3]
    assert (out / "undone.rlb").read_bytes() == before
    assert names_in(out / "first.rlb", "bare.cpt") == ["Muzzle"]
    none, deleted = (read_nres((out / f"{name}.rlb").read_bytes(), "x").entries for name in ("none", "deleted"))
    assert [(e.name, e.payload) for e in none] == [(e.name, e.payload) for e in deleted]
