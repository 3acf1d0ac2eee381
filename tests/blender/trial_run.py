"""Runs in Blender's Python: every trial's edit, and what Blender shows of it then.

    python trial_run.py ZIP JOB.json

``JOB.json``: the game, the run that was made of it, what each kind is imported from; and the trials, with the frames to
look at and a folder for each. Writes ``shown.npz`` and ``said.json`` there (names, messages of the extension), and
``edited.glb`` where the command line imports it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import bpy
import numpy as np
import trial_levels
import trial_model
import trial_scenes
from trial_tools import EDITS, shown, stated

__all__ = ["trial_levels", "trial_model", "trial_scenes"]
ZIP, JOB = sys.argv[1], json.loads(Path(sys.argv[2]).read_text("utf-8"))
OPTIONS = {"export_extras": True, "export_attributes": True, "export_apply": True}


def open_source(way, kind, folder):
    """Import what is edited: by the extension, which needs a game of its own, or by Blender's importer."""
    source = JOB["sources"][kind]
    if way == "extension":
        shutil.copytree(JOB["game"], folder / "game")
        options = {"entry": source["entry"]} if "entry" in source else {}
        bpy.ops.import_scene.msh(filepath=str(folder / "game" / source["file"]), **options)
    else:
        bpy.ops.import_scene.gltf(filepath=str(Path(JOB["out"], source["gltf"])))
    bpy.context.scene.frame_set(0)
    bpy.context.view_layer.update()


def put_back():
    """*Put Back*: its messages, the rows of its report, and the error."""
    said = {"messages": [], "rows": [], "error": ""}
    try:
        bpy.ops.export_scene.msh_put_back()
    except RuntimeError as error:
        said["error"] = str(error).strip()
    state = bpy.context.scene.msh_gltf
    if not said["error"]:
        said["messages"] = [state.outcome, *(row.reason for row in state.warnings)]
        said["rows"] = [f"{row.what} {row.name} {row.status}: {row.reason}" for row in state.rows]
    return said


def trial(way, kind, name, folder, frames):
    folder.mkdir(parents=True)
    bpy.ops.wm.read_homefile(use_empty=True)
    if kind != "scene":
        open_source(way, kind, folder)
    before = stated()
    said = {"names": EDITS[kind][name]()}
    bpy.context.view_layer.update()
    if bpy.context.scene.frame_current != 0:
        bpy.context.scene.frame_set(0)
    if way == "extension":
        said |= put_back()
    else:
        options = OPTIONS | ({"use_mesh_edges": True} if kind == "mission" else {})
        own = way == "command line" and kind != "scene"
        bpy.ops.export_scene.gltf(filepath=str(folder / "edited.glb"), **(options if own else {}))
    facts, arrays = shown(frames, before)
    np.savez(folder / "shown.npz", **arrays)
    (folder / "said.json").write_text(json.dumps(said | {"facts": facts}, ensure_ascii=False), "utf-8")


bpy.ops.extensions.package_install_files(filepath=ZIP, repo="user_default", enable_on_install=True)
for way, kind, name, folder, frames in JOB["trials"]:
    trial(way, kind, name, Path(folder), frames)
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
