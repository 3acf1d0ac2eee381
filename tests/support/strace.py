"""Run the commands under strace: what they ask of the system, and kills on the way."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.runs import SCRIPTS, require


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
