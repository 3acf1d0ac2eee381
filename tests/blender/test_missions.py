"""A mission that is edited in real Blender, exported with custom properties."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter import cli
from msh_gltf.converter.formats.mission import read_mission
from msh_gltf.converter.formats.objects import read_unit
from msh_gltf.converter.kinds.differences import diff_missions, diff_units
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.runs import call

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
pytestmark = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
EDIT = """
import os
import sys
import bpy
from mathutils import Matrix, Quaternion, Vector
source, out = sys.argv[1:]

def load():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=source)

def save(name, lines=True):
    bpy.ops.export_scene.gltf(
        filepath=f"{out}/{name}.glb", export_extras=True, use_mesh_edges=lines
    )

def below(found):
    return [found, *found.children_recursive]

load()
save("same")
save("no_lines", lines=False)
objects = bpy.data.objects
base = objects["Base"]
base.location += Vector((10, 20, 0.5))
base.rotation_mode = "QUATERNION"
base.rotation_quaternion = Quaternion((0, 0, 1), 0.5) @ base.rotation_quaternion
save("moved")

load()
tree = objects = bpy.data.objects["S_ROCK"]
copies = {one: one.copy() for one in below(tree)}
for one, copy in copies.items():
    bpy.context.scene.collection.objects.link(copy)
    copy.parent = copies.get(one.parent)
copies[tree].location += Vector((5, 0, 0))
copies[tree].scale = (3, 3, 3)
for one in below(bpy.data.objects["Guard"]):
    bpy.data.objects.remove(one)
new = bpy.data.objects.new("robot", None)
bpy.context.scene.collection.objects.link(new)
new.location, new.rotation_euler = (50, 60, 7), (0, 0, 1)
bpy.data.objects["route_7"].data.vertices[1].co = (9, 2, 0)
for layer in bpy.context.view_layer.layer_collection.children:
    layer.exclude = False  # Blender does not evaluate what is excluded
bpy.data.objects["lode_0"].location.x += 1
save("several")

def shown(name, number):
    # what one clicks: a component (-1), or a node of its model
    waiting = [bpy.data.objects[name]]
    for one in waiting:
        if one["msh"].get("node", -1) == number and one["msh"].get("kind") != "object":
            return one
        waiting += one.children

load()
for name, number in (("Base", -1), ("S_ROCK", 0)):
    one = shown(name, number)
    move = Matrix.Translation((10, 20, 0.5)) @ Matrix.Rotation(0.5, 4, "Z")
    pivot = Matrix.Translation(bpy.data.objects[name].matrix_world.translation)
    one.matrix_world = pivot @ move @ pivot.inverted() @ one.matrix_world
for one in below(shown("Guard", 0)):
    bpy.data.objects.remove(one)
save("roots")

load()
tree = bpy.data.objects["S_ROCK"]
copies = {one: one.copy() for one in below(tree)}
for one, copy in copies.items():
    bpy.context.scene.collection.objects.link(copy)
    copy.parent = copies.get(one.parent)
bpy.context.view_layer.update()
mesh = copies[shown("S_ROCK", 0)]
mesh.matrix_world = Matrix.Translation((7, 0, 0)) @ mesh.matrix_world
bpy.ops.object.select_all(action="DESELECT")
shown("Guard", 0).select_set(True)
bpy.ops.object.delete()
save("copied_root")

load()
mesh = next(o.data for o in below(bpy.data.objects["Base"]) if o.data)
mesh.vertices[0].co.x += 0.25
bpy.ops.mesh.primitive_cube_add()
save("inside")

source = source.replace("mission.glb", "robot.glb")
load()
save("unit_same")
gun = next(o for o in bpy.data.objects if o.name.startswith("e_gun_1"))
gun["msh"]["key"] = "e_gun_2"
chassis = [o for o in bpy.data.objects if "msh" in o.keys() and o["msh"].get("node") == 8]
gun.parent = chassis[0]
save("unit")
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The game, its mission as glTF, and the edits of it."""
    out = tmp_path_factory.mktemp("missions")
    parts = GameParts()
    parts.objects["e_gun_2"] = parts.objects["e_gun_1"]
    mission = parts.write(out / "GAME")
    unit = out / "GAME" / ROBOT.replace("\\", "/")
    assert call(cli.msh2gltf, unit, "-o", out / "robot.glb", "-q") == 0
    assert call(cli.msh2gltf, mission, "-o", out / "mission.glb", "-q") == 0
    arguments = [BLENDER, "-c", EDIT, out / "mission.glb", out]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return out


@pytest.fixture
def source(folder: Path) -> bytes:
    return (folder / "GAME/MISSIONS/Single.01/data.tma").read_bytes()


@pytest.mark.parametrize("name", ["same", "no_lines"])
def test_without_edits_the_bytes_come_back(folder: Path, source: bytes, name: str) -> None:
    back = import_gltf(folder / f"{name}.glb", sidecar=folder / "mission.msh-sidecar")
    assert back.unchanged
    assert back.data == source
    assert ("Loose Edges" in str(back.warnings)) == (name == "no_lines")


def test_a_building_is_moved_and_turned(folder: Path, source: bytes) -> None:
    back = import_gltf(folder / "moved.glb", sidecar=folder / "mission.msh-sidecar")
    assert back.not_applied == []
    before, now = read_mission(source, "x"), read_mission(back.data, "x")
    record = now.objects[0].record
    np.testing.assert_allclose(record["position"], before.objects[0].record["position"] + (10, 20, 0.5))
    np.testing.assert_allclose(record["turns"], (0, 0, 0.5), atol=1e-6)
    text = [str(one) for one in diff_missions(before, now)]
    assert len(text) == 1
    assert "Base" in text[0] or "'row': 0" in text[0]


def test_what_is_clicked_stands_for_its_object(folder: Path, source: bytes) -> None:
    """The root component of a building, the mesh of a rock, and that of a robot."""
    back = import_gltf(folder / "roots.glb", sidecar=folder / "mission.msh-sidecar")
    assert back.not_applied == []
    assert [str(one) for one in back.changes] == [
        "object 'Base': moved, turned",
        "object 'S_ROCK': moved, turned",
        "object 'Guard': is deleted",
    ]
    before, now = read_mission(source, "x"), read_mission(back.data, "x")
    assert [one.title for one in now.objects] == ["Base", "Герой", ""]
    for old, new in ((0, 0), (3, 2)):
        place = before.objects[old].record["position"] + (10, 20, 0.5)
        np.testing.assert_allclose(now.objects[new].record["position"], place, atol=1e-4)
        np.testing.assert_allclose(now.objects[new].record["turns"], (0, 0, 0.5), atol=1e-5)
        assert now.objects[new].scale == before.objects[old].scale


def test_a_copy_is_where_its_mesh_was_moved_to(folder: Path, source: bytes) -> None:
    """Deleting a mesh alone lets go of what is below it: that is reported."""
    back = import_gltf(folder / "copied_root.glb", sidecar=folder / "mission.msh-sidecar")
    assert [str(one) for one in back.changes] == ["object 'S_ROCK.001': is new, S_ROCK"]
    assert "node 'u_robot#2'" in {one.where for one in back.not_applied}
    before, now = read_mission(source, "x"), read_mission(back.data, "x")
    place = before.objects[3].record["position"] + (7, 0, 0)
    np.testing.assert_allclose(now.objects[4].record["position"], place, atol=1e-4)
    assert now.objects[4].scale == before.objects[3].scale


def test_copies_new_objects_deletions_and_markers_arrive(folder: Path, source: bytes) -> None:
    sidecar = folder / "mission.msh-sidecar"
    out = folder / "new.tma"
    arguments = [folder / "several.glb", "--sidecar", sidecar, "--game", folder / "GAME"]
    assert call(cli.gltf2msh, *arguments, "-o", out, "-q") == 0
    before, now = read_mission(source, "x"), read_mission(out.read_bytes(), "x")
    assert [one.title for one in now.objects[:2]] == ["Base", "Герой"]
    kept = [0, 1, 3]
    for row, one in zip(kept, now.objects, strict=False):
        assert one.record.tobytes() == before.objects[row].record.tobytes()
    copy, new = sorted(now.objects[3:], key=lambda one: one.reference.lower().startswith("units"))
    assert (copy.reference, copy.scale) == ("S_ROCK", (3, 3, 3))
    np.testing.assert_allclose(copy.record["position"], before.objects[3].record["position"] + (5, 0, 0))
    assert (new.reference.lower(), new.logical_id) == (ROBOT.lower(), 103)
    np.testing.assert_allclose(new.record["position"], (50, 60, 7))
    np.testing.assert_allclose(new.record["turns"], (0, 0, 1), atol=1e-6)
    assert now.routes[0].points.tolist() == [[1, 1, 0], [9, 2, 0], [9, 9, 0]]
    assert now.lodes["position"].tolist() == [[21, 30, 5]]
    assert len(diff_missions(before, now)) == 5


def test_edits_inside_of_a_model_are_carried(folder: Path, source: bytes) -> None:
    back = import_gltf(folder / "inside.glb", sidecar=folder / "mission.msh-sidecar")
    assert back.data == source
    text = "\n".join(map(str, back.not_applied))
    assert "node 'Cube': is new" in text
    assert "positions or texture coordinates changed" in "\n".join(map(str, back.changes))
    assert len(back.placed) == 1


def test_a_gun_is_exchanged_and_moved_to_another_socket(folder: Path) -> None:
    unit = (folder / "GAME" / ROBOT.replace("\\", "/")).read_bytes()
    sidecar = folder / "robot.msh-sidecar"
    same = import_gltf(folder / "unit_same.glb", sidecar=sidecar)
    assert same.unchanged
    assert same.data == unit
    back = import_gltf(folder / "unit.glb", sidecar=sidecar)
    assert back.not_applied == []
    before, now = read_unit(unit, "x"), read_unit(back.data, "x")
    assert (now.key(1), now.attach(1)) == ("e_gun_2", 8)
    assert [one["rows"] for one in diff_units(before, now)] == [[1]]
