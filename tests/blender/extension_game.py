"""Steps of ``extension.py``: a game's status and undo, one that was moved, a .blend to give."""

from __future__ import annotations

import shutil
import types

import bpy
from extension_tools import TURRETS, WALKER, at, drawn_by, error_of, module, panel, preferences, put_back, report, write
from extension_undo import move, opened, push


def _asked(operator, **attributes):
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
