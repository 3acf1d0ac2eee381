"""Steps of ``extension.py``: a game's status and undo, one that was moved, a .blend to give."""

from __future__ import annotations

import shutil
import types
from pathlib import Path

import bpy
from extension_undo import move, opened, push

from __main__ import ADDON, FILES, drawn_by, error_of, module, report, write

put_back = bpy.ops.export_scene.msh_put_back


def asked(operator, **attributes):
    """What an operator asks before it runs; without a window, dialogs are stood in for."""
    calls = []

    class Manager:
        def __getattr__(self, name):
            return lambda *args, **options: calls.append([name, *options.values()])

    context = types.SimpleNamespace(
        window_manager=Manager(),
        scene=bpy.context.scene,
        view_layer=bpy.context.view_layer,
        preferences=bpy.context.preferences,
    )
    reported = types.SimpleNamespace(report=lambda *args: calls.append(args[1]), **attributes)
    operator.invoke(reported, context, None)
    return calls


def panel_of_game(out):
    """Status and Undo of the panel, without Blender's own undo."""
    game = module("game")
    path = out / "game.rlb"
    shutil.copy(FILES["turrets"], path)
    facts = {"no scene": drawn_by(game.MSH_PT_game)}
    opened(path, "e_tur_01.msh")
    facts["unread"] = drawn_by(game.MSH_PT_game)
    facts["nothing"] = error_of(bpy.ops.wm.msh_game_undo)
    bpy.ops.wm.msh_game_status()
    facts["before"] = drawn_by(game.MSH_PT_game)
    facts["history of status"] = (out / ".msh-gltf").exists()
    move(0.5)
    facts["put"] = error_of(put_back) or report()
    facts["after"] = drawn_by(game.MSH_PT_game)
    facts["asked"] = asked(game.MSH_OT_undo, number=0)
    facts["undo"] = error_of(bpy.ops.wm.msh_game_undo) or report()
    facts["undone"] = drawn_by(game.MSH_PT_game)
    shutil.copy(path, out / "undone.rlb")
    facts["again"] = error_of(put_back) or report()
    shutil.copy(path, out / "again.rlb")
    push("again")
    bpy.ops.ed.undo()
    facts["named"] = error_of(bpy.ops.wm.msh_game_undo, number=1)
    return facts


def moved_game(out):
    """The game's folder was renamed; a copy of the .blend is opened beside another copy of it."""
    old, new = out / "old", out / "NEW"
    (old / "units").mkdir(parents=True)
    shutil.copy(FILES["turrets"], old / "units/game.rlb")
    shutil.copy(FILES["turrets"], old / "objects.rlb")
    opened(old / "units/game.rlb", "e_tur_01.msh")
    move(0.5)
    facts = {"first": error_of(put_back)}
    shutil.copy(old / "units/game.rlb", out / "first.rlb")
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "saved.blend"))
    shutil.copy(out / "saved.blend", out / "copy.blend")
    shutil.move(old, new)
    facts["asked"] = asked(module("export_msh").MSH_OT_put_back)
    facts["gone"] = error_of(put_back)
    facts["shown"] = drawn_by(module("game").MSH_PT_game)
    facts["elsewhere"] = error_of(put_back, game=str(out / "nowhere"))
    facts["found"] = error_of(bpy.ops.wm.msh_find_game, directory=str(new))
    facts["asked again"] = asked(module("export_msh").MSH_OT_put_back)
    facts["path"] = Path(bpy.context.scene.msh_gltf.path).relative_to(new).as_posix()
    move(0.5)
    facts["second"] = error_of(put_back) or report()
    shutil.copy(new / "units/game.rlb", out / "second.rlb")

    bpy.ops.wm.open_mainfile(filepath=str(out / "copy.blend"))
    facts["copy"] = error_of(put_back, game=str(new)) or report()
    shutil.copy(new / "units/game.rlb", out / "copy.rlb")
    bpy.ops.wm.open_mainfile(filepath=str(out / "saved.blend"))
    bpy.context.preferences.addons[ADDON].preferences.game = str(new)
    facts["by preferences"] = error_of(put_back) or report()
    bpy.context.preferences.addons[ADDON].preferences.game = ""

    theirs = out / "theirs"
    theirs.mkdir()
    shutil.copy(FILES["turrets"], theirs / "GAME.RLB")
    bpy.context.scene.msh_gltf.path = r"D:\Parkan\old\units\game.rlb"
    for name in ("friend", "friend again"):
        facts[name] = error_of(put_back, game=str(theirs)) or report()
        move(0.25)
    return facts


def on_save(out):
    """Put Back on Save: two saves, one that cannot be put back, and a copy to give away."""
    path, saved = out / "game.rlb", str(out / "saved.blend")
    shutil.copy(FILES["turrets"], path)
    opened(path, "e_tur_01.msh").msh_gltf.put_back_on_save = True
    facts = {}
    for name in ("first", "second"):
        move(0.5)
        bpy.ops.wm.save_as_mainfile(filepath=saved)
        facts[name] = report()
        shutil.copy(path, out / f"{name}.rlb")
    bpy.ops.wm.open_mainfile(filepath=saved)
    move(0.5)
    error_of(bpy.ops.wm.msh_save_without_originals, filepath=str(out / "given.blend"))
    facts["given"] = path.read_bytes() == (out / "second.rlb").read_bytes()
    path.rename(out / "gone.rlb")
    facts["gone"] = (error_of(bpy.ops.wm.save_mainfile), report())
    (out / "gone.rlb").rename(path)
    bpy.ops.wm.save_mainfile()
    facts["undo"] = error_of(bpy.ops.wm.msh_game_undo) or report()
    facts["undone"] = path.read_bytes() == (out / "second.rlb").read_bytes()
    return facts


def unsaved(out):
    """Blender ended without saving after Put Back: the .blend knows nothing of it."""
    path = out / "game.rlb"
    shutil.copy(FILES["turrets"], path)
    opened(path, "e_tur_01.msh")
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "saved.blend"))
    move(0.5)
    facts = {"put": error_of(put_back)}
    bpy.ops.wm.open_mainfile(filepath=str(out / "saved.blend"))
    facts["again"] = error_of(put_back) or report()
    return facts


def exported_over(out):
    """Export MSH onto a file of the game, after the file browser has asked."""
    game = out / "game"
    game.mkdir()
    shutil.copy(FILES["walker"], game / "walker.msh")
    shutil.copy(FILES["turrets"], game / "objects.rlb")
    opened(game / "walker.msh", "")
    bpy.data.objects["gun"].location.x += 0.5
    return write(game / "walker.msh")


def given_away(out):
    """A copy of the .blend without sidecars; the open file keeps them."""
    path = out / "game.rlb"
    shutil.copy(FILES["turrets"], path)
    scene = opened(path, "e_tur_01.msh")
    state = module("state")
    before = state.sidecar_bytes(scene)
    left = bpy.data.texts.new("of a scene that is gone.msh-sidecar")
    left.write("The sidecar of nobody")
    notes = bpy.data.texts.new("notes")
    notes.write("mine")
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "own.blend"), compress=False)
    save = bpy.ops.wm.msh_save_without_originals
    facts = {
        "own": error_of(save, filepath=str(out / "own.blend")),
        "save": error_of(save, filepath=str(out / "gift.blend")),
        "kept": state.sidecar_bytes(bpy.context.scene) == before,
        "texts": sorted(text.name for text in bpy.data.texts),
        "file": Path(bpy.data.filepath).name,
        "put": error_of(put_back),
    }
    bpy.ops.wm.open_mainfile(filepath=str(out / "gift.blend"))
    facts["gift texts"] = sorted(text.name for text in bpy.data.texts)
    facts["gift objects"] = len(bpy.context.scene.objects)
    facts["gift"] = error_of(put_back)
    return facts
