"""Killed at random system calls, stopped at random times: nothing is damaged, a repeat completes.

``MSH_GLTF_KILLS=40`` kills each command 40 times and stops it 20 times; the default is few.
"""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.converter.game.test_import_run import move
from tests.support.assembly import registry
from tests.support.game import MESH, archive, entry, model, snapshot, write
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import SCRIPTS, call, run_apart
from tests.support.strace import require_strace, traced
from tests.support.vault import VAULT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strace, signals")

KILLS = int(os.environ.get("MSH_GLTF_KILLS", "2"))
COMMANDS = {
    "export": "msh2gltf game -o exported -q -j 2",
    "import": "gltf2msh out --game game -o new -q -j 2",
    "add": "gltf2msh out --game game -o new --add --tag STAT -q -j 2",
    "add-one": "gltf2msh out/one.rlb/added_one.glb --into game/one.rlb --add --tag STAT -q",
    "in-place": "gltf2msh out --game game --in-place -q -j 2",
    "in-place-add": "gltf2msh out --game game --in-place --add --tag STAT -q -j 2",
}
#: System calls that change files; every second kill comes before one of them.
CHANGING = {
    *("chmod", "fchmod", "fsync", "link", "linkat", "mkdir", "mkdirat"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "utimensat", "write"),
}


@dataclass
class Whole:
    """What an undisturbed run leaves, how long it takes, and its system calls by process."""

    after: dict[str, str]
    seconds: float
    calls: list[list[str]]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small game, and what was edited and added of it; every run starts with a copy."""
    root = tmp_path_factory.mktemp("before")
    for name, source in (("one", "retail__system__R_H_002"), ("two", "mixed__odd__s_rock_057")):
        write(root / f"game/{name}.rlb", archive([entry(MESH, b"model.msh", model(source))]))
    write(root / "game/objects.rlb", registry({"s_one": ("STAT", [("one.rlb", "model.msh")])}))
    write(root / "game/loose.msh", model("retail__odd__l_mast_010"))
    assert call(cli.msh2gltf, root / "game", "-o", root / "out", "-q") == 0
    for path in sorted((root / "out").rglob("*.glb")):
        move(path)
    document = Editable(root / "out/one.rlb/model.glb")
    drop_extras(document)
    for primitive in document.primitives():
        primitive["attributes"].pop("TEXCOORD_1", None)  # a new model without lightmaps has no table for it
    for archive_name in ("one", "two"):
        document.save(root / f"out/{archive_name}.rlb/added_{archive_name}.glb")
    return root


@pytest.fixture(scope="module")
def whole(before: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """Undisturbed runs, each traced once, when it is asked for."""
    require_strace()
    known: dict[str, Whole] = {}

    def get(name: str) -> Whole:
        if name not in known:
            place = tmp_path_factory.mktemp("whole")
            work = shutil.copytree(before, place / "work")
            start = time.monotonic()
            assert run_apart(*COMMANDS[name].split(), cwd=work).returncode == 0
            seconds, after = time.monotonic() - start, snapshot(work)
            shutil.rmtree(work)
            shutil.copytree(before, work)
            options = ["-ff", "-qq", "-o", str(place / "log")]
            done = traced(options, *COMMANDS[name].split(), cwd=work)
            assert (done.returncode, snapshot(work)) == (0, after), done.stderr
            known[name] = Whole(after, seconds, [_names(path) for path in place.glob("log.*")])
        return known[name]

    return get


def _names(log: Path) -> list[str]:
    """The system calls of a process, in order."""
    lines = log.read_text("utf-8", "replace").splitlines()
    return [line.partition("(")[0] for line in lines if line[:1].isalpha()]


def in_order(before: Path, work: Path, after: dict[str, str]) -> None:
    """What a stopped run leaves: every file of the game old or new, and the old one kept."""
    old = snapshot(before)
    now = {k: v for k, v in snapshot(work).items() if "/.msh-gltf-" not in k}
    for name, digest in now.items():
        if name.startswith("game/"):
            original = old.get(name)
            assert digest in {original, after[name]}, name
            if original not in (None, digest):
                kept = work / "game" / VAULT / "originals" / original
                assert hashlib.sha256(kept.read_bytes()).hexdigest() == original, name
        elif name.startswith("out/"):
            assert digest == old[name], name
    assert not {name for name in old if name not in now}


def repeat(name: str, work: Path, whole: Whole) -> None:
    """The same command again: exit code 0, and what an undisturbed run leaves."""
    done = run_apart(*COMMANDS[name].split(), cwd=work)
    assert (done.returncode, done.stderr) == (0, "")
    assert snapshot(work) == whole.after


@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.parametrize("name", COMMANDS)
def test_killed(name: str, seed: int, before: Path, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    """SIGKILL before a random system call of one of the processes."""
    undisturbed, chance = whole(name), random.Random(f"{name} {seed}")
    work = shutil.copytree(before, tmp_path / "work")
    wanted = [
        (call, Counter(calls[: at + 1])[call])
        for calls in undisturbed.calls
        for at, call in enumerate(calls)
        if seed % 2 == 0 or call in CHANGING
    ]
    call, ordinal = chance.choice(wanted)
    options = ["-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    options += ["-e", f"inject={call}:signal=KILL:when={ordinal}"]
    done = traced(options, *COMMANDS[name].split(), cwd=work)
    print(f"killed before {call} {ordinal}: exit code {done.returncode}")
    in_order(before, work, undisturbed.after)
    assert "internal error" not in done.stderr
    if done.returncode >= 0:  # else Python's server of processes may say that it lost its parent
        assert "Traceback" not in done.stderr
    repeat(name, work, undisturbed)


@pytest.mark.parametrize("seed", range(KILLS // 2))
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted(name: str, seed: int, before: Path, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    """Ctrl-C at a random time, as a terminal sends it: to all processes of the command."""
    undisturbed, chance = whole(name), random.Random(f"{name} {seed}")
    work = shutil.copytree(before, tmp_path / "work")
    command, *arguments = COMMANDS[name].split()
    job = subprocess.Popen(
        [SCRIPTS / command, *arguments],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(chance.random() * undisturbed.seconds)
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGINT)
    _, errors = job.communicate(timeout=60)
    print(f"interrupted: exit code {job.returncode}")
    # before the command begins, it is Python that says so
    assert job.returncode in (0, 130, -signal.SIGINT), errors
    in_order(before, work, undisturbed.after)
    repeat(name, work, undisturbed)
