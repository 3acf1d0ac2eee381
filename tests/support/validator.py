"""The Khronos glTF validator, run by Node."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import require

FOLDER = Path(__file__).parent.parent / "validator"


def issues(files: Sequence[Path]) -> dict[str, list[Any]]:
    """What it says about each file; files that it is silent about are left out."""
    node = shutil.which("node")
    require(node is not None and (FOLDER / "node_modules").is_dir(), "no glTF validator")
    done = subprocess.run([str(node), FOLDER / "validate.mjs", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(reports) == len(files)
    return {r["path"]: r["issues"] for r in reports if r["issues"]}
