"""Steps of ``extension.py``: Ctrl+Z and Ctrl+Y around *Put Back*, and a *Put Back* that fails."""

from __future__ import annotations

import os
import shutil

import bpy
from extension_new import cube, libraries_of
from extension_tools import (
    ARCHIVE,
    LIBRARIES,
    TURRETS,
    WALKER,
    at,
    changed_files,
    empty_file,
    error_of,
    look_of,
    meshes,
    module,
    panel,
    preferences,
    put_back,
    read,
    sockets,
    write,
)


def push(name):
    """What Blender does after each thing that a user does, but not for scripts."""
    assert bpy.ops.ed.undo_push(message=name) == {"FINISHED"}


def undo(times=1):
    for _ in range(times):
        assert bpy.ops.ed.undo() == {"FINISHED"}


def redo(times=1):
    for _ in range(times):
        assert bpy.ops.ed.redo() == {"FINISHED"}


def opened(path, entry):
    """An archive's model, as a user opens it."""
    scene = read(path, entry=entry)
    push("import")
    return scene


def move(by):
    """Move a corner of an object that does not move by itself."""
    part = next(one for one in meshes() if one.animation_data is None)
    part.data.vertices[0].co.x += by
    part.data.update()
    push(f"move by {by}")


def undone():
    """Put back, undone, put back; several steps and forward again; saved and opened again."""
    shutil.copy(at(TURRETS), at("game.rlb"))
    push("empty")
    opened("game.rlb", "e_tur_01.msh")
    move(0.5)
    yield "first", put_back()
    undo()
    yield "the panel after undo", panel()
    yield "undone", put_back()
    redo()
    yield "redone", put_back()
    move(1)
    yield "second", put_back()
    undo(2)
    yield "undone twice", put_back()
    redo(2)
    yield "redone twice", put_back()
    undo(3)
    yield "before the import", [len(bpy.context.scene.objects), bpy.context.scene.msh_gltf.source]
    redo(2)
    yield "imported by redo", put_back()
    undo()
    bpy.ops.wm.save_as_mainfile(filepath=str(at("saved.blend")))
    bpy.ops.wm.open_mainfile(filepath=str(at("saved.blend")))
    yield "opened again", put_back()
    push("open")
    move(0.5)
    yield "edited later", put_back()
    undo()
    yield "undone later", put_back()
    move(0.25)
    yield "before undo in the game", put_back()
    move(0.5)
    yield "undo in the game", put_back()
    assert bpy.ops.wm.msh_game_undo() == {"FINISHED"}
    undo()
    yield "after undo in the game", put_back()


def other_models():
    """Undo of one model's scene leaves what was put back from another's."""
    push("empty")
    opened(ARCHIVE, "R_H_002.msh")
    move(0.5)
    yield "first", put_back()
    undo(2)  # to the empty file; another model comes into the same scene
    scene = opened(ARCHIVE, "b_bun_000.msh")
    yield "scenes", [len(bpy.data.scenes), scene.msh_gltf.written]
    move(0.5)
    yield "second", put_back()
    undo()
    yield "undone", put_back()


def several():
    """Two files at once and two entries, one after the other; each edited, and a node of one shown in another.

    It is new there, and takes the place of none.
    """
    archive = shutil.copy(at(TURRETS), at("game.rlb"))
    for name in LIBRARIES:
        shutil.copy(at(f"example/{name}"), at(name))
    names = ("e_tur_01.msh", "e_tur_02.msh")
    entries = {entry.name: bytes(entry.payload) for entry in module("import_msh").open_archive(archive).entries}
    for name in names:
        at(name).write_bytes(entries[name])
    bpy.ops.import_scene.msh(directory=str(at("")), files=[{"name": name} for name in names])
    for name in names:
        opened("game.rlb", name)
    scenes = {scene.msh_gltf.place: scene for scene in bpy.data.scenes}
    changed_files()

    def put(place):
        bpy.context.window.scene = scenes[place]
        return [put_back(), write("exported.msh")]

    for place in scenes:
        yield f"{place}: same", put(place)
    for place, scene in scenes.items():
        next(one for one in scene.objects if one.type == "MESH").location.x += 0.5
        yield place, put(place)
    first, second = (scenes[f"game.rlb: {name}"] for name in names)
    guest = next(one for one in second.objects if one.name.startswith("pod_l") and "stage" not in one.name)
    first.collection.objects.link(guest)
    yield "guest", put("game.rlb: e_tur_01.msh")
    yield "host", put("game.rlb: e_tur_02.msh")


def new_models():
    """A new model is put into the game again after the step before it was undone and redone."""
    libraries_of("assembled")
    where = {"archive": "static.rlb", "model": "my_box", "tag": "STAT"}
    bpy.context.scene.name = "my_box"
    push("empty")
    cube("box")
    push("box")
    yield "put", error_of(bpy.ops.export_scene.msh_put_new, **where) or changed_files()
    undo()
    redo()
    state = bpy.context.scene.msh_gltf
    yield "state", [state.archive, state.model, state.tag]
    yield "again", error_of(bpy.ops.export_scene.msh_put_new, **where) or changed_files()
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    state = read(WALKER).msh_gltf  # into the scene that is empty now
    yield "a model that is imported then does not inherit that", [bpy.context.scene.name, state.written, state.archive]
    preferences().game = ""


def failing():
    """A backup that cannot be written, and a library that another program holds: nothing is written."""
    import fcntl

    at("mine").mkdir()
    shutil.copy(at(TURRETS), at("mine/game.rlb"))
    opened("mine/game.rlb", "e_tur_01.msh")
    yield "unedited", put_back()
    move(0.5)
    at("mine/.msh-gltf").write_text("where the originals would be kept")
    yield "backup", put_back()
    yield "shown", [*panel(), *changed_files(), sorted(one.name for one in at("mine").iterdir())]
    undo()
    yield "after undo", panel()

    empty_file()
    for name in ("alone", "libraries"):
        at(name).mkdir(exist_ok=True)
    shutil.copy(at(TURRETS), at("alone/game.rlb"))
    for name in LIBRARIES:
        shutil.copy(at(f"example/{name}"), at("libraries") / name)
    preferences().game = str(at("libraries"))
    opened("alone/game.rlb", "e_tur_01.msh")
    move(0.5)
    changed_files()
    sockets(look_of("glow"))["Own Light"].default_value = (0, 0, 0, 1)
    lock = os.open(at("libraries"), os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield "locked", put_back()
    yield "locked, shown", [*panel(), *changed_files()]
    os.close(lock)
    move(0.5)
    yield "later", put_back()
    preferences().game = ""
