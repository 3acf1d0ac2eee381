"""Runs in Blender's Python, with the extension installed: what a modder does, step by step.

    python extension.py ZIP GAME OUT STEP...

Installs the zip into ``BLENDER_USER_RESOURCES`` as *Install from Disk* does, switches it on, and runs the
steps, each from an empty file in ``OUT/STEP``, a copy of ``GAME``. A step is a generator of the modules
``extension_*.py``; it yields what it saw, under names. ``OUT/STEP.json`` has that as texts.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import traceback
import types
from pathlib import Path

import bpy
from extension_tools import ADDON, OUT, STEPS, ZIP, begin, empty_file, text

OWN_NAMES = ("msh_gltf", "converter", "importers", "exporters")
#: Modules of somebody else's extension.
DECOYS = {name: types.ModuleType(name) for name in OWN_NAMES}


def namespace():
    """Nothing of ours is called what others may be called, and Blender's NumPy is used."""
    yield "ours", [m for m in sys.modules if m.partition(".")[0] in OWN_NAMES and m not in DECOYS]
    yield "decoys", [name for name in OWN_NAMES if sys.modules[name] is DECOYS[name]]
    yield "used", f"{ADDON}.converter" in sys.modules
    yield "numpy", [path.name for path in Path(os.environ["BLENDER_USER_RESOURCES"]).rglob("numpy*")]


def steps():
    names = [path.stem for path in sorted(Path(__file__).parent.glob("extension_*.py"))]
    modules = [sys.modules["__main__"], *map(importlib.import_module, names)]
    return {
        name: one
        for module in modules
        for name, one in vars(module).items()
        if inspect.isgeneratorfunction(one) and one.__module__ == module.__name__ and name[0] != "_"
    }


def run(step):
    begin(step)
    empty_file()
    lines = []
    try:
        for name, value in KNOWN[step]():
            lines.append((name, text(value)))
    except Exception:
        lines.append(("failed", traceback.format_exc()))
    Path(OUT, f"{step}.json").write_text(json.dumps(lines, ensure_ascii=False), "utf-8")


KNOWN = steps()
sys.modules.update(DECOYS)
bpy.ops.extensions.package_install_files(filepath=ZIP, repo="user_default", enable_on_install=True)
assert ADDON in bpy.context.preferences.addons, "the extension was not switched on"
for one in STEPS:
    run(one)
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
