"""Runs in Blender's Python: every trial's edit, and what Blender shows of it then.

    python trial_run.py JOB.json

``JOB.json``: the zip of the extension, the folder, the trials, what each kind is imported from.
Writes ``WAY/KIND/NAME/shown.npz`` and ``said.json`` (messages of the extension, names) for each, and
``edited.glb`` where the command line imports it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from trial_edits import EDITS
from trial_tools import shown, stated

JOB = json.loads(Path(sys.argv[1]).read_text("utf-8"))
ROOT = Path(JOB["folder"])


def messages():
    state = bpy.context.scene.msh_gltf
    return [state.outcome, *(row.reason for row in state.warnings)]


def trial(way, kind, name, folder):
    extension = way == "extension"
    bpy.ops.wm.read_homefile(use_empty=True)
    if extension:
        shutil.copytree(JOB["game"], folder / "game")
        source = JOB["sources"][kind]
        options = {"entry": source["entry"]} if "entry" in source else {}
        bpy.ops.import_scene.msh(filepath=str(folder / "game" / source["file"]), **options)
    else:
        bpy.ops.import_scene.gltf(filepath=str(ROOT / "out" / JOB["sources"][kind]["gltf"]))
    bpy.context.scene.frame_set(0)
    bpy.context.view_layer.update()
    before = stated()
    names = EDITS[kind][name]()
    bpy.context.view_layer.update()
    if bpy.context.scene.frame_current != 0:
        bpy.context.scene.frame_set(0)
    said = {"names": names, "messages": [], "error": "", "rows": []}
    try:
        if extension:
            bpy.ops.export_scene.msh_put_back()
            said["messages"] = messages()
            rows = bpy.context.scene.msh_gltf.rows
            said["rows"] = [f"{row.what} {row.name} {row.status}: {row.reason}" for row in rows]
        else:
            own = {"export_extras": True, "export_attributes": True, "export_apply": True}
            own |= {"use_mesh_edges": True} if kind == "mission" else {}
            bpy.ops.export_scene.gltf(filepath=str(folder / "edited.glb"), **(own if way != "plain" else {}))
    except RuntimeError as error:
        said["error"] = str(error).strip()
    facts, arrays = shown(JOB["frames"][kind], before)
    np.savez(folder / "shown.npz", **arrays)
    (folder / "said.json").write_text(json.dumps(said | {"facts": facts}, ensure_ascii=False), "utf-8")


bpy.ops.extensions.package_install_files(filepath=JOB["zip"], repo="user_default", enable_on_install=True)
for way, kind, name in JOB["trials"]:
    folder = ROOT / way / kind.replace(" ", "_") / name.replace(" ", "_")
    folder.mkdir(parents=True)
    try:
        trial(way, kind, name, folder)
    except Exception:
        (folder / "failed.txt").write_text(traceback.format_exc(), "utf-8")
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
