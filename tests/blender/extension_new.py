"""Steps of ``extension.py``: a model made in Blender goes into the game, and into a mission."""

from __future__ import annotations

import shutil

import bpy
from extension_tools import (
    LIBRARIES,
    MISSION,
    at,
    changed_files,
    empty_file,
    error_of,
    module,
    preferences,
    put_back,
    read,
    reopen,
    report,
    said,
)
from trial_tools import new_image, new_look


def cube(name):
    """A box with a material and a picture of its own."""
    bpy.ops.mesh.primitive_cube_add(size=2, location=(0, 0, 1))
    box = bpy.context.object
    box.name = name
    box.data.materials.append(new_look("MY_PLATE", new_image("MY_PLATE", (8, 8), (0.5, 0.25, 0.125, 1))))
    return box


def libraries_of(game):
    """Give a game libraries of materials and textures, and name it in the preferences."""
    for name in LIBRARIES:
        shutil.copy(at(f"with_materials/{name}"), at(game) / name)
    preferences().game = str(at(game))
    changed_files()


def adding():
    """Put into the game, edited, renamed; then placed in a mission by a property of an empty."""
    put = bpy.ops.export_scene.msh_put_new
    scene = bpy.context.scene
    scene.name = "my_box"
    cube("box")
    where = {"archive": "static.rlb", "model": "my_box", "tag": "STAT"}
    yield "no game", error_of(put, **where)
    game = str(at("assembled"))
    yield "no archive", error_of(put, game=game)
    yield "no such archive", error_of(put, game=game, archive="nothing.rlb")
    yield "taken", error_of(put, game=game, archive="static.rlb", model="s_rock", tag="STAT")
    yield "history of nothing", at("assembled/.msh-gltf").exists()
    libraries_of("assembled")
    yield "archives", module("export_msh")._archives(type("", (), {"game": ""}), bpy.context, "")
    yield "added", error_of(put, **where) or report()
    reopen("box.blend")
    yield "again", error_of(put, **where) or report()
    bpy.data.objects["box"].data.vertices[0].co.z -= 0.5
    yield "edited", error_of(put, **where) or report()
    yield "renamed", error_of(put, **{**where, "model": "my_crate"}) or report()
    state = bpy.context.scene.msh_gltf
    yield "state", [state.archive, state.model, state.tag, state.source, bpy.ops.export_scene.msh_put_back.poll()]

    empty_file()
    scene = read(MISSION)
    yield "a mission is none", put.poll()
    empty = bpy.data.objects.new("Crate at the gate", None)
    empty["path"] = "my_crate"
    empty.location = 120, 80, 9
    scene.collection.objects.link(empty)
    guard = bpy.data.objects["Guard"]
    guard["clan"], guard["path"] = 0, "nothing.dat"
    yield "unknown", put_back()
    del guard["path"]
    yield "placed", put_back()
    empty_file()
    read(MISSION)
    yield "said", {one.name: [one["msh"]["path"], one["msh"]["clan"]] for one in said()}
    crate = next(one for one in said() if one["msh"]["path"] == "my_crate")
    inside = [one.name for one in crate.instance_collection.all_objects if one.type == "MESH"]
    yield "shown", [list(crate.matrix_world.translation), inside]
    preferences().game = ""
