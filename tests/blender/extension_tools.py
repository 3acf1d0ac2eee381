"""Runs in Blender's Python: what the steps of ``extension.py`` share. Paths are below the step's folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import types
from pathlib import Path

import bpy

ZIP, GAME, OUT, *STEPS = sys.argv[1:]
ADDON = "bl_ext.user_default.msh_gltf"
WALKER, HANGAR, ROOM = "models/walker.msh", "models/hangar.msh", "models/retail__static__i_room_006.msh"
BIRD = "models/spec__system__a_bird_007.msh"
TURRETS, ARCHIVE = "example/turrets.rlb", "game/SYSTEM.RLB"
MISSION, UNIT = "assembled/MISSIONS/Single.01/data.tma", "assembled/UNITS/robot.dat"
LIBRARIES = ("Material.lib", "Textures.lib")
#: What each file of the step's folder held when it was last looked at.
HELD: dict[str, bytes] = {}


def at(path):
    return Path.cwd() / path


def read(path, **options):
    assert bpy.ops.import_scene.msh(filepath=str(at(path)), **options) == {"FINISHED"}
    return bpy.context.scene


def write(path, **options):
    assert bpy.ops.export_scene.msh(filepath=str(at(path)), **options) == {"FINISHED"}
    return report()


def put_back(**options):
    """*Put Back*: the error, or what the panel says, and the files that it wrote."""
    return error_of(bpy.ops.export_scene.msh_put_back, **options) or report()


def report(scene=None):
    """What the panel says, and which files are others than at the last look."""
    return "; ".join([*panel(scene), *changed_files()])


def panel(scene=None):
    state = (scene or bpy.context.scene).msh_gltf
    rows = [f"{r.what} {r.name} {r.status}: {r.reason}" for r in state.rows if r.status != "kept"]
    kept = len(state.rows) - len(rows)
    if len(rows) > 8:
        rows[8:] = [f"{len(rows) - 8} more {_digest(repr(rows).encode())}"]
    return [state.outcome, *rows, *([f"{kept} kept"] if kept else []), *(f"! {w.reason}" for w in state.warnings)]


def module(name):
    return sys.modules[f"{ADDON}.{name}"]


def preferences():
    return bpy.context.preferences.addons[ADDON].preferences


def error_of(operator, *arguments, **options):
    """The line that Blender shows."""
    try:
        operator(*arguments, **options)
    except RuntimeError as error:
        return str(error).strip()
    return ""


def empty_file():
    bpy.ops.wm.read_homefile(use_empty=True)


def reopen(path):
    """Save the file, and open it."""
    bpy.ops.wm.save_as_mainfile(filepath=str(at(path)))
    bpy.ops.wm.open_mainfile(filepath=str(at(path)))


def gltf(path):
    """The scene as the extension hands it to the converter, for the command line to convert."""
    meshes = {one.data: None for one in bpy.context.scene.objects if one.type == "MESH"}
    with module("export_msh")._all_evaluated(bpy.context), module("materials").split(meshes):
        bpy.ops.export_scene.gltf(filepath=str(at(path)), **module("export_msh").GLTF_OPTIONS)


def meshes():
    return [one for one in bpy.context.scene.objects if one.type == "MESH"]


def look_of(name):
    """The first material of a row: Blender may call it ``name.001``."""
    return next(one for one in bpy.data.materials if one.name.partition(".")[0] == name)


def sockets(material):
    """Those of the game's group."""
    return module("game_material").node_of(material).inputs


def said(kind="object"):
    """The objects of a mission or unit that say that they are of a kind."""
    return [one for one in bpy.context.scene.objects if one.get("msh", {}).get("kind") == kind]


class Recorder:
    """Stands in for a layout: knows what was drawn."""

    def __init__(self, drawn):
        self.drawn = drawn

    def __getattr__(self, name):
        def call(*args, **options):
            self.drawn.append(" ".join([name, *map(str, args), *(f"{k}={v}" for k, v in options.items())]))
            return Recorder(self.drawn)

        return call


def drawn_by(cls, **options):
    drawn = []
    bl_self = types.SimpleNamespace(layout=Recorder(drawn), **options)
    if not hasattr(cls, "poll") or cls.poll(bpy.context):
        cls.draw(bl_self, bpy.context)
    return drawn


def context_of(calls):
    """Blender's context; without a window, dialogs are stood in for, and noted."""

    class Manager:
        def __getattr__(self, name):
            return lambda *args, **options: calls.append([name, *options.values()])

    seen = {name: getattr(bpy.context, name) for name in ("scene", "view_layer", "preferences")}
    return types.SimpleNamespace(window_manager=Manager(), blend_data=bpy.data, **seen)


# ------------------------------------------------------------------ files


def begin(step):
    """Make the step's folder, a copy of ``GAME``, and go there."""
    os.chdir(shutil.copytree(GAME, Path(OUT) / step))
    HELD.clear()
    HELD.update({name: path.read_bytes() for name, path in _files(Path.cwd())})


def _files(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".msh-gltf" not in path.parts and path.suffix not in (".blend", ".blend1", ".glb"):
            yield path.relative_to(folder).as_posix(), path


def changed_files():
    """A text for each file that is another one than at the last look: what is in it."""
    now = {name: path.read_bytes() for name, path in _files(Path.cwd())}
    out = [f"{name} is gone" for name in HELD if name not in now]
    out += [f"{name} {_content(name, data)}" for name, data in now.items() if HELD.get(name) != data]
    HELD.clear()
    HELD.update(now)
    return out


def _content(name, data):
    """``as it was``, or as another file was; else a digest, after the entries of an archive that are others."""
    before = Path(GAME) / name
    if before.is_file() and before.read_bytes() == data:
        return "as it was"
    same = [there for there, path in _files(Path(GAME)) if path.read_bytes() == data]
    if same:
        return f"as {max(same, key=lambda there: there.startswith('models/'))}"
    others = ""
    if before.is_file() and before.suffix.lower() in (".rlb", ".lib"):
        old, new = (_entries(content) for content in (before.read_bytes(), data))
        others = f"({', '.join(sorted(one for one in old.keys() | new.keys() if old.get(one) != new.get(one)))}) "
    return others + _digest(data)


def _digest(data):
    return hashlib.md5(data).hexdigest()[:8]


def _entries(data):
    read_nres = sys.modules[f"{ADDON}.converter.formats.nres"].read_nres
    return {one.name: (bytes(one.payload), one.attr1) for one in read_nres(data, "x").entries}


# ------------------------------------------------------------------ text


def text(value):
    """A value on one line, as it is recorded: without the step's folder and addresses in memory."""
    line = value if isinstance(value, str) else json.dumps(_rounded(value), ensure_ascii=False)
    line = line.replace(f"{Path.cwd()}/", "").replace(str(Path.cwd()), ".")
    return " / ".join(re.sub(r" at 0x[0-9a-f]+", "", line).splitlines())


def _rounded(value):
    if isinstance(value, float):
        return float(f"{value:.4g}") + 0.0
    if isinstance(value, dict):
        return {str(key): _rounded(one) for key, one in value.items()}
    if isinstance(value, set):
        return sorted(value)
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value
