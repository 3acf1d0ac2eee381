"""Runs that are killed: whole files only, and a repeat completes."""

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.support.faults import begun, children, leftovers, wait_for
from tests.support.game import make_large_game, snapshot
from tests.support.runs import call, run_apart

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
    job = begun("msh2gltf", large, "-o", out, "-j", "2")
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
    job = begun("msh2gltf", large, "-o", out, "-j", "2")
    journal = out / ".msh-gltf-journal"
    wait_for(lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 60)
    os.kill(job.pid, signal.SIGKILL)
    job.communicate(timeout=60)
    again = run_apart("msh2gltf", large, "-o", out)
    unchanged = next(line for line in again.stdout.splitlines() if "unchanged" in line)
    assert int(unchanged.split()[0]) >= 40
    assert snapshot(out) == reference
