"""Steps of ``extension.py``: undo around *Put Back*, one that fails; a game's status; new models; a .blend to give."""

from __future__ import annotations

import shutil
import types

import bpy
from extension_tools import (
    ARCHIVE,
    LIBRARIES,
    MISSION,
    TURRETS,
    WALKER,
    at,
    changed_files,
    context_of,
    drawn_by,
    empty_file,
    error_of,
    meshes,
    module,
    panel,
    preferences,
    put_back,
    read,
    reopen,
    report,
    said,
    write,
)
from trial_tools import new_image, new_look


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
    """A backup that cannot be written: nothing is."""
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


def _asked(operator, **attributes):
    """What an operator asks before it runs."""
    calls = []
    reported = types.SimpleNamespace(report=lambda *args: calls.append(args[1]), **attributes)
    operator.invoke(reported, context_of(calls), None)
    return calls


def _game():
    """What the panel shows of the game."""
    return drawn_by(module("game").MSH_PT_game)


def panel_of_game():
    """Status and Undo of the panel, without Blender's own undo."""
    undo = bpy.ops.wm.msh_game_undo
    shutil.copy(at(TURRETS), at("game.rlb"))
    yield "no scene", _game()
    opened("game.rlb", "e_tur_01.msh")
    yield "unread", _game()
    yield "nothing to take back", error_of(undo)
    bpy.ops.wm.msh_game_status()
    yield "before", _game()
    yield "history of status", at(".msh-gltf").exists()
    move(0.5)
    yield "put back", put_back()
    yield "after", _game()
    yield "asked", _asked(module("game").MSH_OT_undo, number=0)
    yield "undo", error_of(undo) or report()
    yield "undone", _game()
    yield "again", put_back()
    push("again")
    bpy.ops.ed.undo()
    yield "taken back before", error_of(undo, number=1)


def moved_game():
    """The game's folder was renamed; a copy of the .blend is opened beside another copy of it."""
    old, new = at("old"), at("NEW")
    (old / "units").mkdir(parents=True)
    for path in (old / "units/game.rlb", old / "objects.rlb"):
        shutil.copy(at(TURRETS), path)
    opened("old/units/game.rlb", "e_tur_01.msh")
    move(0.5)
    yield "first", put_back()
    bpy.ops.wm.save_as_mainfile(filepath=str(at("saved.blend")))
    shutil.copy(at("saved.blend"), at("copy.blend"))
    shutil.move(old, new)
    ask = module("export_msh").MSH_OT_put_back
    yield "asked", _asked(ask)
    yield "gone", put_back()
    yield "shown", _game()
    yield "elsewhere", put_back(game=str(at("nowhere")))
    yield "found", error_of(bpy.ops.wm.msh_find_game, directory=str(new))
    yield "asked again", _asked(ask)
    yield "path", bpy.context.scene.msh_gltf.path
    move(0.5)
    yield "second", put_back()

    bpy.ops.wm.open_mainfile(filepath=str(at("copy.blend")))
    yield "of a copy, which says what it replaces", put_back(game=str(new))
    bpy.ops.wm.open_mainfile(filepath=str(at("saved.blend")))
    preferences().game = str(new)
    yield "by preferences", put_back()
    preferences().game = ""

    at("theirs").mkdir()
    shutil.copy(at(TURRETS), at("theirs/GAME.RLB"))
    bpy.context.scene.msh_gltf.path = r"D:\Parkan\old\units\game.rlb"
    for name in ("in a friend's game", "again"):
        yield name, put_back(game=str(at("theirs")))
        move(0.25)


def on_save():
    """Put Back on Save: two saves, one that cannot be put back, and a copy to give away."""
    path, saved = at("game.rlb"), str(at("saved.blend"))
    shutil.copy(at(TURRETS), path)
    opened("game.rlb", "e_tur_01.msh").msh_gltf.put_back_on_save = True
    for name in ("first", "second"):
        move(0.5)
        bpy.ops.wm.save_as_mainfile(filepath=saved)
        yield name, report()
    bpy.ops.wm.open_mainfile(filepath=saved)
    move(0.5)
    yield "given", error_of(bpy.ops.wm.msh_save_without_originals, filepath=str(at("given.blend"))) or report()
    path.rename(at("gone.rlb"))
    yield "gone", [error_of(bpy.ops.wm.save_mainfile), *panel()]
    at("gone.rlb").rename(path)
    bpy.ops.wm.save_mainfile()
    yield "saved again", report()
    yield "undo", error_of(bpy.ops.wm.msh_game_undo) or report()


def unsaved():
    """Blender ended without saving after Put Back: the .blend knows nothing of it, and takes the edit back."""
    shutil.copy(at(TURRETS), at("game.rlb"))
    opened("game.rlb", "e_tur_01.msh")
    bpy.ops.wm.save_as_mainfile(filepath=str(at("saved.blend")))
    move(0.5)
    yield "put back", put_back()
    bpy.ops.wm.open_mainfile(filepath=str(at("saved.blend")))
    yield "opened again", put_back()


def exported_over():
    """Export MSH onto a file of the game, after the file browser has asked."""
    at("mine").mkdir()
    shutil.copy(at(WALKER), at("mine/walker.msh"))
    shutil.copy(at(TURRETS), at("mine/objects.rlb"))
    opened("mine/walker.msh", "")
    bpy.data.objects["gun"].location.x += 0.5
    yield "written", write("mine/walker.msh")
    yield "undone", error_of(bpy.ops.wm.msh_game_undo) or report()


def given_away():
    """A copy of the .blend without sidecars; the open file keeps them."""
    shutil.copy(at(TURRETS), at("game.rlb"))
    scene = opened("game.rlb", "e_tur_01.msh")
    state = module("state")
    before = state.sidecar_bytes(scene)
    bpy.data.texts.new("of a scene that is gone.msh-sidecar").write("The sidecar of nobody")
    bpy.data.texts.new("notes").write("mine")
    bpy.ops.wm.save_as_mainfile(filepath=str(at("own.blend")), compress=False)
    save = bpy.ops.wm.msh_save_without_originals
    yield "own", error_of(save, filepath=str(at("own.blend")))
    yield "saved", error_of(save, filepath=str(at("gift.blend")))
    yield "kept", state.sidecar_bytes(bpy.context.scene) == before
    yield "open", [bpy.data.filepath, sorted(text.name for text in bpy.data.texts)]
    yield "put back", put_back()
    bpy.ops.wm.open_mainfile(filepath=str(at("gift.blend")))
    yield "gift", [len(bpy.context.scene.objects), sorted(text.name for text in bpy.data.texts)]
    yield "put back from the gift", put_back()


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
