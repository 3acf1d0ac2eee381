"""Steps of ``extension.py``: Ctrl+Z and Ctrl+Y around *Put Back*, and a *Put Back* that fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import bpy
from extension_materials import sockets
from extension_new import cube

from __main__ import ADDON, FILES, error_of, module, read, report, write

put_back = bpy.ops.export_scene.msh_put_back


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
    FILES["undo"] = str(path)
    scene = read("undo", entry=entry)
    push("import")
    return scene


def move(by):
    """Move an object that does not move by itself."""
    part = next(o for o in bpy.context.scene.objects if o.type == "MESH" and o.animation_data is None)
    part.data.vertices[0].co.x += by
    part.data.update()
    push(f"move by {by}")


def undone(out):
    """Put back, undone, put back; several steps and forward again; saved and opened again."""
    path = out / "game.rlb"
    shutil.copy(FILES["turrets"], path)
    facts = {}

    def put(name):
        facts[name] = error_of(put_back) or report()
        shutil.copy(path, out / f"{name}.rlb")

    push("empty")
    opened(path, "e_tur_01.msh")
    move(0.5)
    put("first")
    undo()
    facts["after undo"] = report()
    put("undone")
    redo()
    put("redone")
    move(1)
    put("second")
    undo(2)
    put("undone twice")
    redo(2)
    put("redone twice")
    undo(3)
    facts["before import"] = [len(bpy.context.scene.objects), bpy.context.scene.msh_gltf.source]
    redo(2)
    put("imported by redo")
    undo()
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "saved.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(out / "saved.blend"))
    put("reopened")
    push("open")
    move(0.5)
    put("edited later")
    undo()
    put("undone later")
    move(0.25)
    put("before undo in the game")
    move(0.5)
    put("undo in the game")
    assert bpy.ops.wm.msh_game_undo() == {"FINISHED"}
    undo()
    put("after undo in the game")
    return facts


def other_models(out):
    """Undo of one model's scene leaves what was put back from another's."""
    path = out / "game.rlb"
    shutil.copy(FILES["archive"], path)
    facts = {}
    push("empty")
    opened(path, "R_H_002.msh")
    move(0.5)
    facts["first"] = error_of(put_back)
    shutil.copy(path, out / "first.rlb")
    undo(2)  # to the empty file; another model comes into the same scene
    scene = opened(path, "b_bun_000.msh")
    facts["scenes"] = len(bpy.data.scenes)
    facts["written"] = scene.msh_gltf.written
    move(0.5)
    facts["second"] = error_of(put_back)
    shutil.copy(path, out / "second.rlb")
    undo()
    facts["undone"] = error_of(put_back)
    shutil.copy(path, out / "undone.rlb")
    return facts


def several(out):
    """Two files at once and two entries, one after the other; each edited, and a node of one shown in another."""
    archive = shutil.copy(FILES["turrets"], out / "game.rlb")
    names = ("e_tur_01.msh", "e_tur_02.msh")
    entries = {entry.name: bytes(entry.payload) for entry in module("import_msh").open_archive(archive).entries}
    for name in names:
        (out / name).write_bytes(entries[name])
    bpy.ops.import_scene.msh(directory=str(out), files=[{"name": name} for name in names])
    for name in names:
        opened(archive, name)
    scenes = {scene.msh_gltf.place: scene for scene in bpy.data.scenes}
    facts = {"scenes": [*scenes]}

    def put(place):
        bpy.context.window.scene = scenes[place]
        before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
        error = error_of(put_back)
        changed = [name for name in before if (out / name).read_bytes() != before[name]]
        exported = write(out / "exported.msh")["outcome"]
        (out / "exported.msh").unlink()
        return [error, sorted(changed), exported, [row.status for row in scenes[place].msh_gltf.rows]]

    facts["same"] = [put(place) for place in scenes]
    for place, scene in scenes.items():
        next(one for one in scene.objects if one.type == "MESH").location.x += 0.5
        facts[place] = put(place)
    first, second = (scenes[f"game.rlb: {name}"] for name in names)
    guest = next(one for one in second.objects if one.name.startswith("pod_l") and "stage" not in one.name)
    first.collection.objects.link(guest)
    facts["guest"] = put("game.rlb: e_tur_01.msh")
    facts["host"] = put("game.rlb: e_tur_02.msh")
    return facts


def new_models(out):
    """A new model is put into the game again after the step before it was undone and redone."""
    game = shutil.copytree(FILES["assembled"], out / "game")
    for name in ("Material.lib", "Textures.lib"):
        shutil.copy(Path(FILES["game"]) / name, game / name)
    bpy.context.preferences.addons[ADDON].preferences.game = str(game)
    where = {"archive": "static.rlb", "model": "my_box", "tag": "STAT"}
    bpy.context.scene.name = "my_box"
    push("empty")
    cube("box")
    push("box")
    facts = {"put": error_of(bpy.ops.export_scene.msh_put_new, **where)}
    undo()
    redo()
    state = bpy.context.scene.msh_gltf
    facts["state"] = [state.archive, state.model, state.tag]
    facts["again"] = error_of(bpy.ops.export_scene.msh_put_new, **where)
    FILES["undo"] = FILES["walker"]
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    scene = read("undo")  # into the scene that is empty now
    facts["imported"] = [scene.name, scene.msh_gltf.written, scene.msh_gltf.archive]
    bpy.context.preferences.addons[ADDON].preferences.game = ""
    return facts


def failing(out):
    """A backup that cannot be written, and a library that another program holds."""
    import fcntl

    path = out / "game.rlb"
    shutil.copy(FILES["turrets"], path)
    opened(path, "e_tur_01.msh")
    facts = {"unedited": error_of(put_back), "fine": report()}
    move(0.5)
    (out / ".msh-gltf").write_text("where the originals would be kept")
    facts["backup"] = error_of(put_back)
    facts["shown"] = report()
    facts["same"] = path.read_bytes() == Path(FILES["turrets"]).read_bytes()
    facts["files"] = sorted(one.name for one in out.iterdir())
    undo()
    facts["after undo"] = report()
    (out / ".msh-gltf").unlink()

    bpy.ops.wm.read_homefile(use_empty=True)
    for name in ("alone", "libraries"):
        (out / name).mkdir()
    path = out / "alone/game.rlb"
    shutil.copy(FILES["turrets"], path)
    for name in ("Material.lib", "Textures.lib"):
        shutil.copy(Path(FILES["painted"]).parent / name, out / "libraries" / name)
    preferences = bpy.context.preferences.addons[ADDON].preferences
    preferences.game = str(out / "libraries")
    opened(path, "e_tur_01.msh")
    move(0.5)
    glow = next(m for m in bpy.data.materials if m.name.partition(".")[0] == "glow")
    sockets(glow)["Own Light"].default_value = (0, 0, 0, 1)
    lock = os.open(out / "libraries", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    facts["locked"] = error_of(put_back)
    facts["locked shown"] = report()
    shutil.copy(path, out / "locked.rlb")
    os.close(lock)
    move(0.5)
    facts["later"] = error_of(put_back)
    facts["later shown"] = report()["outcome"]
    preferences.game = ""
    return facts
