"""Real Blender: a Python with ``bpy``, which ``MSH_GLTF_BLENDER_PYTHON`` names."""

import os
import subprocess
from pathlib import Path

import pytest

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON", "")
#: On every test of ``blender/`` (``conftest.py``).
needs_blender = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
SCRIPTS = Path(__file__).parents[1] / "blender"


def blender(script: str | Path, *arguments: object) -> None:
    """Run a script of ``tests/blender``, or code."""
    run = ["-c", script] if "\n" in str(script) else [SCRIPTS / script]
    done = subprocess.run([BLENDER, *run, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-2500:]
