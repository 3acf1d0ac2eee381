"""Runs in Blender's Python: import and export .glb files with the stock add-on, nothing touched.

    python roundtrip.py OUT_DIR MODEL.glb... [--fps=N]

Writes ``OUT_DIR/plain/NAME.glb`` (the exporter's defaults) and ``OUT_DIR/extras/NAME.glb`` (custom
properties and attributes on). ``--fps``: the scene's frame rate before the import; default 24.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy

rates = [int(text[6:]) for text in sys.argv[1:] if text.startswith("--fps=")]
out, *models = (Path(text) for text in sys.argv[1:] if not text.startswith("--fps="))
for kind in ("plain", "extras"):
    (out / kind).mkdir(parents=True, exist_ok=True)
for model in models:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = rates[0] if rates else 24
    bpy.ops.import_scene.gltf(filepath=str(model))
    bpy.ops.export_scene.gltf(filepath=str(out / "plain" / model.name))
    bpy.ops.export_scene.gltf(filepath=str(out / "extras" / model.name), export_extras=True, export_attributes=True)
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
