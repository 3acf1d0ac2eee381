"""Run the commands in CPython for Windows, under wine."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PYTHON = os.environ.get("MSH_GLTF_WINDOWS_PYTHON")
needs_windows = pytest.mark.skipif(
    not PYTHON, reason="no Windows Python: 'python3 dev.py test --windows' installs one for wine"
)

_SETTINGS = {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "winedbg.exe=d"}
_ENTRY = {"msh2gltf": "msh2gltf", "gltf2msh": "gltf2msh", "msh-inspect": "msh_inspect", "msh-mod": "msh_mod"}


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
    with start_on_windows(entry_point(command), *arguments, cwd=cwd) as process:
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
        env=os.environ | _SETTINGS,
    )


def entry_point(command: str) -> str:
    """Return the program that runs one of the project's commands."""
    return f"from msh_gltf.converter.cli import {_ENTRY[command]} as main; main()"


class Console:
    """Python on Windows in a console, which is a terminal of this machine behind wine's conhost.

    Attributes:
        text: what was shown so far, without the escape sequences of the terminal.
    """

    def __init__(self, code: str, *arguments: object) -> None:
        assert PYTHON is not None
        self._shown = b""
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.environ.update(_SETTINGS, TERM="xterm")
            command = ["wine", PYTHON, "-c", code, *map(windows_path, arguments)]
            os.execvp(command[0], command)

    def press(self, keys: bytes) -> None:
        """Type something; ``b"\\x03"`` is Ctrl-C."""
        os.write(self._terminal, keys)

    def watch(self, until: Callable[[], bool], seconds: float = 120) -> bool:
        """Read what is shown until something is true; return whether it came to be in time."""
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end or not self._read():
                return False
        return True

    def close(self, seconds: float = 300) -> int:
        """Wait for the end of the program; return its exit code."""
        if self.watch(lambda: False, seconds) or self._read():
            os.kill(self._process, signal.SIGKILL)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])

    @property
    def text(self) -> str:
        text = self._shown.decode("utf-8", "replace").replace("\r", "")
        text = re.sub(r"\x1b\[(\d*)C", lambda m: " " * int(m[1] or 1), text)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)

    def _read(self) -> bool:
        """Read for a moment; return whether the program is still there."""
        if select.select([self._terminal], [], [], 0.05)[0]:
            try:
                self._shown += os.read(self._terminal, 1 << 16)
            except OSError:  # its end
                return False
        return True


def windows_path(argument: object) -> str:
    """Paths of this machine as wine's Windows names them, on drive Z:."""
    if isinstance(argument, Path):
        return "Z:" + str(argument.absolute()).replace("/", "\\")
    return str(argument)
