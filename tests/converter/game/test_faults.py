"""Runs that are killed, interrupted, or out of room: whole files only, and a repeat completes."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.support.faults import children, in_namespace, leftovers, wait_for
from tests.support.game import make_game, make_large_game, snapshot
from tests.support.runs import SCRIPTS, call, run_apart

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds and kills processes through /proc")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_large_game(tmp_path_factory.mktemp("large"), 20)


@pytest.fixture(scope="module")
def reference(large: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What an undisturbed run makes."""
    out = tmp_path_factory.mktemp("reference") / "out"
    assert call(cli.msh2gltf, large, "-o", out, "-q") == 0
    return snapshot(out)


def start(large: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [SCRIPTS / "msh2gltf", large, "-o", out, "-j", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def check_whole(out: Path, reference: dict[str, str]) -> None:
    """Every file that has its final name is whole."""
    for name, digest in snapshot(out).items():
        if name.endswith((".glb", ".msh-sidecar", ".json")) and name != "manifest.json":
            assert reference[name] == digest, name


def check_repeat(large: Path, out: Path, reference: dict[str, str]) -> None:
    """The same command completes, and leaves just what an undisturbed run leaves."""
    again = run_apart("msh2gltf", large, "-o", out)
    assert again.returncode == 0, again.stdout
    assert snapshot(out) == reference


@pytest.mark.parametrize("seed", range(3))
def test_killed_workers(seed: int, large: Path, reference: dict[str, str], tmp_path: Path) -> None:
    out, chance = tmp_path / "out", random.Random(seed)
    job = start(large, out)
    wait_for(lambda: list(out.rglob("*.glb")))
    killed = 0
    while job.poll() is None and killed < 3:
        time.sleep(chance.random() / 20)
        workers = [w for server in children(job.pid) for w in children(server)]
        if workers:
            with suppress(ProcessLookupError):  # it ended by itself
                os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
    said, errors = job.communicate(timeout=60)
    assert "Traceback" not in errors
    lost = said.count("the process that worked on it was killed by signal 9")
    assert lost <= killed
    assert job.returncode == (1 if lost else 0)
    check_whole(out, reference)
    assert not leftovers(out)
    check_repeat(large, out, reference)


def test_a_repeat_after_a_kill_goes_on(large: Path, reference: dict[str, str], tmp_path: Path) -> None:
    """What was done before the kill is not done again."""
    out = tmp_path / "out"
    job = start(large, out)
    journal = out / ".msh-gltf-journal"
    wait_for(lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 60)
    os.kill(job.pid, signal.SIGKILL)
    job.communicate(timeout=60)
    again = run_apart("msh2gltf", large, "-o", out)
    unchanged = next(line for line in again.stdout.splitlines() if "unchanged" in line)
    assert int(unchanged.split()[0]) >= 40
    assert snapshot(out) == reference


# ------------------------------------------------------------------ no room, no permission


def test_full_disk(tmp_path: Path) -> None:
    """Items that find no room fail, nothing partial appears, a repeat with room completes."""
    game, out, whole = make_game(tmp_path / "game"), tmp_path / "disk", tmp_path / "whole"
    assert call(cli.msh2gltf, game, "-o", whole, "-q") == 0
    out.mkdir()
    result = in_namespace(
        """
        mount -t tmpfs -o size=300k tmpfs "$2" || exit 77
        "$4" "$1" -o "$2/out"; echo "exit code $?"
        cd "$2/out"; for f in $(find . -name '*.glb' -o -name '*.msh-sidecar'); do
            cmp "$f" "$3/$f" || echo "PARTIAL $f"
        done; find . -name '.msh-gltf-*.tmp'
        mount -o remount,size=20m "$2"
        "$4" "$1" -o "$2/out" -q; echo "again exit code $?"
        diff -r -I '^ "id": "[0-9a-f]' "$2/out" "$3" && echo same
        """,
        game,
        out,
        whole,
        SCRIPTS / "msh2gltf",
    )
    assert "No space left on device" in result.stdout + result.stderr
    assert "exit code 1" in result.stdout or "exit code 2" in result.stdout
    assert "PARTIAL" not in result.stdout
    assert ".tmp" not in result.stdout
    assert "again exit code 0\nsame" in result.stdout
    assert "Traceback" not in result.stderr


def test_read_only_output(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "game"), tmp_path / "disk"
    out.mkdir()
    result = in_namespace(
        """
        mount -t tmpfs -o ro tmpfs "$2" || exit 77
        "$3" "$1" -o "$2"; echo "exit code $?"
        "$3" "$1" -o "$2/deeper"; echo "exit code $?"
        """,
        game,
        out,
        SCRIPTS / "msh2gltf",
    )
    assert "Traceback" not in result.stderr
    one, two = result.stdout.split("exit code ")[:2]
    assert "10   failed" in one
    assert "manifest.json: cannot be written (Read-only file system)" in one
    assert two.startswith("1")
    assert result.stdout.endswith("exit code 2\n")
    assert "deeper: cannot be written (Read-only file system)" in result.stderr
