"""Counts and sizes are looked at before memory is taken; nothing in a file runs or leads out.

What comes of each hostile file stands in ``hostile.txt``; ``python -m tests.fuzz.test_limits`` writes it again.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from tests.fuzz.__main__ import TARGETS
from tests.fuzz.engine import ROOT, limited, scratch, strict
from tests.fuzz.hostile import hostile
from tests.support.recorded import Recorded

#: What hostile files may take in all, beyond what the process has: mebibytes.
ROOM = 160
CASES = list(hostile())
OUTCOMES = Recorded(__file__, "hostile.txt")


def outcome(target: str, data: bytes) -> str:
    """Whether a file gives a value, or why it is refused, within the limits of the target."""
    reader = TARGETS[target]
    try:
        with strict(), limited(reader, data):
            reader.rest(reader.first(data))
    except ConversionError as error:
        return f"refused: {re.sub('input[0-9]+', 'input', str(error))}".replace(f"{scratch()}/", "").replace("\n", " ")
    return "value"


def run_all() -> None:
    """Print what comes of every hostile file, in a process that may not grow by more than ``ROOM``."""
    import resource

    for target in dict.fromkeys(target for _, target, _ in CASES):
        for seed in TARGETS[target].seeds():  # what is imported late is no file's fault
            outcome(target, seed)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (ROOM << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, target, data in CASES:
        print(f"{target}: {name} | {outcome(target, data)}".encode("ascii", "backslashreplace").decode())


def test_hostile_files_take_little_memory() -> None:
    pytest.importorskip("resource", reason="no limits of memory on this system")
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how large a process is")
    for line in all_lines():
        OUTCOMES.require(*line.split(" | ", 1))


def all_lines() -> list[str]:
    code = "from tests.fuzz.test_limits import run_all; run_all()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(CASES)
    return lines


if __name__ == "__main__":
    OUTCOMES.write(tuple(line.split(" | ", 1)) for line in all_lines())
