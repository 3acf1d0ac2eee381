"""Run the commands in CPython for Windows, under wine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PYTHON = os.environ.get("MSH_GLTF_WINDOWS_PYTHON")
needs_windows = pytest.mark.skipif(
    not PYTHON, reason="no Windows Python: 'python3 dev.py test --windows' installs one for wine"
)

_ENTRY = {"msh2gltf": "msh2gltf", "gltf2msh": "gltf2msh", "msh-inspect": "msh_inspect"}


class Process(subprocess.Popen[bytes]):
    """A process that ends with its context, even where a test gives up waiting for it."""

    def __exit__(self, *reason: object) -> None:
        self.kill()
        super().__exit__(*reason)


def run_on_windows(command: str, *arguments: object, cwd: Path | None = None) -> tuple[int, str]:
    """Run one of the project's commands on Windows.

    Wine takes pipes for standard streams only, so both outputs come as one.

    Returns:
        Exit code and output.
    """
    code = f"from msh_gltf.converter.cli import {_ENTRY[command]} as main; main()"
    with start_on_windows(code, *arguments, cwd=cwd) as process:
        output = process.communicate(timeout=300)[0]
    return process.returncode, output.decode("utf-8", "replace").replace("\r\n", "\n")


def start_on_windows(code: str, *arguments: object, cwd: Path | None = None) -> Process:
    """Start Python on Windows with a program and its arguments."""
    assert PYTHON is not None
    return Process(
        ["wine", PYTHON, "-c", code, *(windows_path(a) for a in arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=os.environ | {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "winedbg.exe=d"},
    )


def windows_path(argument: object) -> str:
    """Paths of this machine as wine's Windows names them, on drive Z:."""
    if isinstance(argument, Path):
        return "Z:" + str(argument.absolute()).replace("/", "\\")
    return str(argument)
