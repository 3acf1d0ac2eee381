"""Models that are edited inside of a mission or unit in real Blender, and trips without edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from msh_gltf import import_gltf
from tests.support.blender import blender
from tests.support.inside_game import convert, make, robot_of

SCRIPT = """
import os
import sys
import bpy
from mathutils import Vector
folder = sys.argv[1]

def load(name, fps=24):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = fps
    bpy.ops.import_scene.gltf(filepath=f"{folder}/{name}.glb")

def save(name, **options):
    bpy.ops.export_scene.gltf(
        filepath=f"{folder}/{name}.glb", export_extras=True, use_mesh_edges=True, **options
    )

def node(key, number, place=0, kind="node"):
    tops = [o for o in bpy.data.objects
            if key in (o.get("msh", {}).get("key"), o.get("msh", {}).get("path"))]
    waiting = list(sorted(tops, key=lambda o: o.name)[place].children)
    while waiting:
        one = waiting.pop(0)
        if one["msh"].get(kind) == number:
            return one
        if "kind" not in one["msh"]:
            waiting += one.children
    raise KeyError((key, number))

for name in ("mission", "still", "robot"):
    load(name)
    save(f"{name}-plain")
    save(f"{name}-modifiers", export_apply=True)
    save(f"{name}-no animation", export_animations=False)
    bpy.context.scene.frame_set(7)
    save(f"{name}-frame 7")
    bpy.context.scene.frame_set(1)
    for one in bpy.data.objects:
        if one.data is not None and one.data.users > 1:
            one.data = one.data.copy()
    save(f"{name}-single user")
    for rate in (30, 60):
        load(name, rate)
        save(f"{name}-{rate} fps")

def edit(name, source="still"):
    def decorate(function):
        load(source)
        function()
        save(f"edit-{source}-{name}")
    return decorate

@edit("flipped")
def _():
    node("s_lit", 0).data.flip_normals()

@edit("lightmap")
def _():
    node("s_lit", 0).data.uv_layers[1].data[0].uv.x += 0.1

@edit("colours")
def _():
    for value in node("s_painted", 1).data.color_attributes[0].data:
        value.color = (0.2, 0.3, 0.4, 1)

@edit("material")
def _():
    data = node("S_ROCK", 1).data
    data.materials[0] = next(m for m in bpy.data.materials if m != data.materials[0])

@edit("shaded")
def _():
    # what Shade Smooth does to imported meshes
    node("S_ROCK", 2).data.normals_split_custom_set([(0, 0, 1)] * len(
        node("S_ROCK", 2).data.loops))

@edit("deleted in one")
def _():
    bpy.data.objects.remove(node("S_ROCK", 7, 1))

@edit("gun deleted in one")
def _():
    guns = sorted((o for o in bpy.data.objects if o.get("msh", {}).get("key") == "e_gun_1"),
                  key=lambda o: o.name)
    for one in [guns[1], *guns[1].children_recursive]:
        bpy.data.objects.remove(one)

@edit("duplicated")
def _():
    wall = node("u_robot", 5)
    copy = wall.copy()
    copy.location.x += 3
    bpy.context.scene.collection.objects.link(copy)

@edit("parented")
def _():
    wall, above = node("u_robot", 5), node("u_robot", 7)
    world = wall.matrix_world.copy()
    wall.parent = above
    wall.matrix_world = world

@edit("taken out")
def _():
    wall = node("S_ROCK", 7)
    world = wall.matrix_world.copy()
    wall.parent = None
    wall.matrix_world = world

@edit("renamed")
def _():
    node("S_ROCK", 1).name = "Глыба"

@edit("moved")
def _():
    node("S_ROCK", 3).location.x += 0.5

@edit("point")
def _():
    bpy.data.objects.remove(node("S_ROCK", 0, kind="point"))

@edit("animated")
def _():
    one = node("s_lit", 3)
    one.keyframe_insert("location", frame=1)
    one.location.x += 2
    one.keyframe_insert("location", frame=9)

@edit("ground")
def _():
    bpy.data.objects["terrain"].data.vertices[40].co.z += 1

@edit("key", "mission")
def _():
    one = node("S_ROCK", 2)
    one.keyframe_insert("location", frame=9)
    one.location.x += 2
    one.keyframe_insert("location", frame=10)

@edit("key", "robot")
def _():
    one = node("e_gun_1", 2)
    one.location.x += 2
    one.keyframe_insert("location", frame=10)

@edit("no clip", "robot")
def _():
    node("e_gun_1", 2).animation_data_clear()

os._exit(0)  # bpy 4.2 crashes when the interpreter ends
"""
TRIPS = ("plain", "modifiers", "no animation", "frame 7", "single user", "30 fps", "60 fps")
#: What the report says of each edit: where, and what.
EDITS = {
    "still-flipped": ("s_lit.msh", "texture coordinates changed"),
    "still-lightmap": ("s_lit.msh", "texture coordinates changed"),
    "still-colours": ("s_painted.msh", "colours changed"),
    "still-material": ("rock.msh", "is not one of the model's"),
    "still-shaded": ("rock.msh", "normals changed"),
    "still-deleted in one": ("rock.msh", "node 'CP_7' is missing"),
    "still-gun deleted in one": ("node 'Guard'", "has other components"),
    "still-duplicated": ("room.msh", "is new"),
    "still-parented": ("room.msh", "moved under 'idoor07'"),
    "still-taken out": ("rock.msh", "node 'CP_7' is missing"),
    "still-renamed": ("rock.msh", "renamed to 'Глыба'"),
    "still-moved": ("node ", "is moved, but its animation is not"),
    "still-point": ("rock.msh", "control points all 1 are missing"),
    "still-animated": ("s_lit.msh", "changed at frame"),
    "still-ground": ("terrain", "fine level"),
    "mission-key": ("rock.msh", "translation changed at frame"),
    "robot-key": ("rock.msh", "translation changed at frame"),
    "robot-no clip": ("rock.msh", "changed at frame"),
}
#: Edits that are named, and files that are not called as the report calls them.
NAMED = {"still-gun deleted in one", "still-point", "still-material", "still-moved"}
FILES = {"still-ground": "Land.msh"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mission with and without clips and a unit, and the files that Blender makes of them."""
    out = tmp_path_factory.mktemp("inside")
    mission = make(out / "GAME")
    convert(mission, out / "mission.glb", clips=True)
    convert(mission, out / "still.glb")
    convert(robot_of(mission), out / "robot.glb")
    blender(SCRIPT, out)
    return out


@pytest.mark.parametrize("trip", TRIPS)
@pytest.mark.parametrize("name", ["mission", "still", "robot"])
def test_a_trip_without_edits_reports_nothing(folder: Path, name: str, trip: str) -> None:
    back = import_gltf(folder / f"{name}-{trip}.glb", sidecar=folder / f"{name}.msh-sidecar")
    assert [str(one) for one in back.not_applied] == []
    assert back.unchanged
    no_clips = trip == "no animation" and name != "still"
    assert ("clips of its models are not compared" in str(back.warnings)) == no_clips


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_carried_or_named(folder: Path, name: str) -> None:
    source = name.partition("-")[0]
    back = import_gltf(folder / f"edit-{name}.glb", sidecar=folder / f"{source}.msh-sidecar")
    where, what = EDITS[name]
    named = name in NAMED
    told = [*map(str, back.not_applied)] if named else [*map(str, back.changes)]
    text = "\n".join(told).replace(": ", " ")
    assert where in text, text
    assert what in text, text
    assert [one.result.name for one in back.placed] == ([] if named else [FILES.get(name, where)])
    assert back.kept_all
