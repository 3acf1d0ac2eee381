"""Run the commands under strace: what they ask of the system, and kills on the way."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.runs import SCRIPTS, require

_CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)")


def require_strace() -> None:
    """Skip where there is no strace, or where it may not trace."""
    require(shutil.which("strace"), "no strace (apt-get install strace)")
    allowed = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    require(allowed.returncode == 0, "strace may not trace here")


def traced(
    options: list[str], command: str, *arguments: object, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one of the project's commands, or ``python``, under strace with some of its options."""
    program = sys.executable if command == "python" else str(SCRIPTS / command)
    return subprocess.run(
        ["strace", "-f", *options, program, *map(str, arguments)],
        cwd=cwd or Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )


def calls(log: Path) -> list[tuple[str, str]]:
    """The system calls of a log that succeeded: name and arguments, in order."""
    found = [_CALL.match(line) for line in log.read_text("utf-8", "replace").splitlines()]
    return [(one[2], one[3]) for one in found if one is not None and int(one[4]) >= 0]
