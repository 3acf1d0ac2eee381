"""Real Blender: a Python with ``bpy``, which ``MSH_GLTF_BLENDER_PYTHON`` names."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON", "")
#: On every test of ``blender/`` (``conftest.py``).
needs_blender = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
#: The exporter's defaults, and custom properties and attributes on.
EXTRAS = {"export_extras": True, "export_attributes": True}
KINDS: dict[str, dict[str, Any]] = {"plain": {}, "extras": EXTRAS}
SCRIPTS = Path(__file__).parents[1] / "blender"


def blender(script: str | Path, *arguments: object) -> None:
    """Run a script of ``tests/blender``, or code."""
    run = ["-c", script] if "\n" in str(script) else [SCRIPTS / script]
    done = subprocess.run([BLENDER, *run, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-2500:]


def with_extension(folder: Path, script: str, *arguments: object) -> None:
    """Run a script of ``tests/blender`` that installs the extension, with settings of its own in the folder."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings["BLENDER_USER_RESOURCES"] = str(folder / "user")
    command = [BLENDER, SCRIPTS / script, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-2500:]
    assert "Traceback" not in done.stdout + done.stderr, done.stdout[-1500:] + done.stderr[-2500:]


def exported(folder: Path, jobs: list[dict[str, Any]]) -> None:
    """Import files in Blender and export them again, in one process: ``exports.py`` says what a job is."""
    (folder / "jobs.json").write_text(json.dumps(jobs, default=str), "utf-8")
    blender("exports.py", folder / "jobs.json")


def round_trip(folder: Path, *models: Path, rate: int = 24) -> None:
    """Import files in Blender at a frame rate, and export them untouched, as ``KINDS`` says: ``folder/KIND/NAME``."""
    for kind in KINDS:
        (folder / kind).mkdir(parents=True, exist_ok=True)
    files = [{str(folder / kind / path.name): options for kind, options in KINDS.items()} for path in models]
    exported(folder, [{"source": m, "before": rate, "files": f} for m, f in zip(models, files, strict=True)])
