"""Runs that are killed, interrupted, or out of room: whole files only, and a repeat completes."""

import fcntl
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


@pytest.mark.parametrize("seed", range(3))
def test_killed_run(seed: int, large: Path, reference: dict[str, str], tmp_path: Path) -> None:
    out, chance = tmp_path / "out", random.Random(seed)
    job = start(large, out)
    wait_for(lambda: list(out.rglob("*.glb")))
    time.sleep(chance.random() / 4)
    os.kill(job.pid, signal.SIGKILL)
    job.communicate(timeout=60)
    check_whole(out, reference)
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


@pytest.mark.parametrize("seed", range(3))
def test_interrupted_run(seed: int, large: Path, reference: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the run, as from a terminal."""
    out, chance = tmp_path / "out", random.Random(seed)
    job = start(large, out)
    wait_for(lambda: list(out.rglob("*.glb")))
    time.sleep(chance.random() / 8)
    os.killpg(job.pid, signal.SIGINT)
    said, errors = job.communicate(timeout=60)
    if job.returncode == 0:
        pytest.skip("the run was over before it could be interrupted")
    assert job.returncode == 130
    assert errors == ""
    assert "interrupted: " in said
    assert "the same command goes on where it stopped" in said
    assert not leftovers(out)
    check_whole(out, reference)
    check_repeat(large, out, reference)


def test_interrupted_way_back(large: Path, tmp_path: Path) -> None:
    """The new game directory holds whole files only, and a repeat completes it."""
    out, new = tmp_path / "out", tmp_path / "new"
    assert call(cli.msh2gltf, large, "-o", out, "-q") == 0
    command = [SCRIPTS / "gltf2msh", out, "--game", large, "-o", new]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: new.is_dir() or job.poll() is not None)
    os.killpg(job.pid, signal.SIGINT)
    job.communicate(timeout=60)
    assert job.returncode in (0, 130)
    game = snapshot(large)
    assert all(game[name] == digest for name, digest in snapshot(new).items())
    assert run_apart(*map(str, ["gltf2msh", *command[1:]])).returncode == 0
    assert snapshot(new) == game


def test_two_runs_on_one_directory(tmp_path: Path) -> None:
    """The second is refused; a lock that nobody holds any more is none."""
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    out.mkdir()
    handle = os.open(out, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    result = run_apart("msh2gltf", game, "-o", out)
    assert result.returncode == 2
    assert "another run is at work in this directory; wait for it" in result.stderr
    assert os.listdir(out) == []
    os.close(handle)
    assert run_apart("msh2gltf", game, "-o", out).returncode == 0


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


def test_full_disk_on_the_way_back(tmp_path: Path) -> None:
    """No archive is damaged: each is whole or not there; the game is as it was."""
    game, out, disk = make_game(tmp_path / "game"), tmp_path / "out", tmp_path / "disk"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    before = snapshot(game)
    disk.mkdir()
    result = in_namespace(
        """
        mount -t tmpfs -o size=100k tmpfs "$3" || exit 77
        "$4" "$2" --game "$1" -o "$3/new"; echo "exit code $?"
        cd "$3/new"; find . -type f | while read f; do cmp "$f" "$1/$f" || echo "PARTIAL $f"; done
        mount -o remount,size=20m "$3"
        "$4" "$2" --game "$1" -o "$3/new" -q; echo "again exit code $?"
        diff -r "$3/new" "$1" && echo same
        """,
        game,
        out,
        disk,
        SCRIPTS / "gltf2msh",
    )
    assert "No space left on device" in result.stdout
    assert "exit code 1" in result.stdout
    assert "PARTIAL" not in result.stdout
    assert "again exit code 0\nsame" in result.stdout
    assert snapshot(game) == before


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
