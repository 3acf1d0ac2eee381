"""Killed or stopped before any change of a file: never a mixed pair that nobody notices."""

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter import storage as files
from tests.support.corpus import DATA
from tests.support.faults import Struck, begun, children, is_stopped, leftovers, started, struck, wait_for
from tests.support.game import make_large_game, snapshot
from tests.support.runs import call, run_apart

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, /proc")

MODEL = DATA / "retail__system__R_H_002.msh"
OTHER = DATA / "spec__system__a_bird_007.msh"
#: The old files and what replaces them: another model, or the same one with other options.
CHANGES = {
    "another model": ((OTHER,), (MODEL,)),
    "another dialect": ((MODEL, "--dialect", "spec"), (MODEL, "--dialect", "retail")),
}


def pair(folder: Path, suffix: str, *arguments: object) -> dict[str, str]:
    assert call(cli.msh2gltf, *arguments, "-o", folder / f"x{suffix}", "-q", "--force") == 0
    return snapshot(folder)


def again(command: Callable[..., None], *arguments: object) -> None:
    """The same command once more, as in a new process."""
    files._tidy.cache_clear()
    assert call(command, *arguments) == 0


@pytest.fixture(autouse=True)
def hangups() -> Iterator[None]:
    """Let commands see hang-ups, also where pytest runs under nohup."""
    previous = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, previous)


def struck_at_each_change(
    number: int, kept: Path, out: Path, command: Callable[..., None], *arguments: object, step: int = 1
) -> Iterator[tuple[int, Struck]]:
    """Send a command a signal before its first change below a directory, its second, and so on.

    Args:
        kept: what the directory holds when the command begins.
        step: 2 leaves out every second change.

    Yields:
        Which change it was, and what became of the command.
    """
    for at in count(1, step):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(kept, out)
        job = struck(at, number, out, command, *arguments)
        if job.code == 0:
            assert at > 4
            return
        yield at, job


@pytest.mark.parametrize(
    ("change", "suffix"), [("another model", ".glb"), ("another dialect", ".gltf"), ("another model", ".obj")]
)
def test_a_pair_is_never_mixed_silently(
    change: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kill -9 before every change: the old pair, the new one, or one that gltf2msh refuses."""
    old, new = CHANGES[change]
    out, kept = tmp_path / "out", tmp_path / "kept"
    first = pair(kept, suffix, *old)
    second = pair(tmp_path / "whole", suffix, *new)
    arguments = (*new, "-o", out / f"x{suffix}", "-q", "--force")
    named = 0
    for at, job in struck_at_each_change(signal.SIGKILL, kept, out, cli.msh2gltf, *arguments):
        assert job.code == -signal.SIGKILL, job.said
        now = {k: v for k, v in snapshot(out).items() if not k.startswith(".msh-gltf-")}
        if now not in (first, second):
            named += 1
            code = call(cli.gltf2msh, out / f"x{suffix}", "-o", tmp_path / "back.msh", "--force")
            said = capsys.readouterr().err
            assert "digest" in said or "buffer 0 is cut" in said, (at, said)
            assert code == 2 or "is not the buffer" in said
        again(cli.msh2gltf, *arguments)
        assert snapshot(out) == second
    assert named  # between the two renames


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_same_command_completes(number: signal.Signals, tmp_path: Path) -> None:
    """Also without --force: what it wrote before is not in its way. The code says which signal stopped it."""
    out, none = tmp_path / "out", tmp_path / "none"
    none.mkdir()
    expected = pair(tmp_path / "whole", ".gltf", MODEL)
    arguments = (MODEL, "-o", out / "x.gltf", "-q")
    for _, job in struck_at_each_change(number, none, out, cli.msh2gltf, *arguments):
        if number == signal.SIGKILL:
            assert job.code == -number, job.said
        else:
            assert job.code == 128 + number, job.said
            assert job.said.strip() == "msh2gltf: interrupted; every file is whole, the same command again completes"
            assert snapshot(out) in ({}, expected)
        again(cli.msh2gltf, *arguments)
        assert snapshot(out) == expected


def test_nohup_stays(tmp_path: Path) -> None:
    """A signal that the caller has ignored stays ignored."""
    out = tmp_path / "out"
    out.mkdir()
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        job = struck(1, signal.SIGHUP, out, cli.msh2gltf, MODEL, "-o", out / "x.glb", "-q")
    finally:
        signal.signal(signal.SIGHUP, previous)
    assert job.code == 0


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_large_game(tmp_path_factory.mktemp("large"), 20)


@pytest.fixture(scope="module")
def whole(game: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What an undisturbed run makes."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    return snapshot(out)


@pytest.mark.parametrize(("number", "send"), [(signal.SIGTERM, os.kill), (signal.SIGHUP, os.killpg)])
def test_a_run_is_stopped(
    number: signal.Signals, send: Callable[[int, int], None], game: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    """As systemd, ``timeout`` or a closed terminal stop it: workers end, a repeat goes on."""
    out = tmp_path / "out"
    job = begun("msh2gltf", game, "-o", out, "-j", "2")
    wait_for(lambda: list(out.rglob("*.glb")))
    send(job.pid, number)
    said, errors = job.communicate(timeout=60)
    assert job.returncode == 128 + number
    assert errors == ""
    assert "the same command goes on where it stopped" in said
    assert not leftovers(out)
    again(cli.msh2gltf, game, "-o", out, "-q")
    assert snapshot(out) == whole


@pytest.mark.parametrize("seed", range(3))
def test_killed_workers(seed: int, game: Path, whole: dict[str, str], tmp_path: Path) -> None:
    out, chance = tmp_path / "out", random.Random(seed)
    job = begun("msh2gltf", game, "-o", out, "-j", "2")
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
    assert {k: v for k, v in snapshot(out).items() if k in whole and k != "manifest.json"}.items() <= whole.items()
    assert not leftovers(out)
    again(cli.msh2gltf, game, "-o", out, "-q")
    assert snapshot(out) == whole


def test_a_repeat_after_a_kill_goes_on(game: Path, whole: dict[str, str], tmp_path: Path) -> None:
    """What was done before the kill is not done again."""
    out = tmp_path / "out"
    job = begun("msh2gltf", game, "-o", out, "-j", "2")
    journal = out / ".msh-gltf-journal"
    wait_for(lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 60)
    os.kill(job.pid, signal.SIGKILL)
    job.communicate(timeout=60)
    said = run_apart("msh2gltf", game, "-o", out).stdout
    unchanged = next(line for line in said.splitlines() if "unchanged" in line)
    assert int(unchanged.split()[0]) >= 40
    assert snapshot(out) == whole


def test_only_the_run_is_stopped(game: Path, tmp_path: Path) -> None:
    """Its other processes block the signals that stop it: they end when it ends them."""
    out = tmp_path / "out"
    job = begun("msh2gltf", game, "-o", out, "-j", "2", "-q")
    wait_for(lambda: list(out.rglob("*.glb")))
    direct = children(job.pid)
    others = [*direct]
    others += [worker for server in others for worker in children(server)]
    for other in others:
        os.kill(other, signal.SIGTERM)
        os.kill(other, signal.SIGHUP)
    assert children(job.pid) == direct  # none of them is gone
    masks = [Path(f"/proc/{pid}/status").read_text() for pid in direct]
    for mask in masks:
        facts = dict(line.split(":\t") for line in mask.splitlines())
        blocked = int(facts["SigBlk"], 16) | int(facts["SigIgn"], 16)
        assert blocked & 1 << (signal.SIGTERM - 1), facts["Name"]
    job.communicate(timeout=60)
    assert job.returncode == 0


def test_roundtrip_leaves_nothing(game: Path, tmp_path: Path) -> None:
    """Its temporary files go with the run, also with those of workers that are killed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    job = begun("msh-inspect", "--roundtrip", game, "-j", "2", env=os.environ | {"TMPDIR": str(temporary)})
    wait_for(lambda: list(temporary.glob("msh-gltf-*/*")))
    job.send_signal(signal.SIGTERM)
    _, errors = job.communicate(timeout=60)
    assert (job.returncode, errors) == (143, "")
    assert [p for p in temporary.iterdir() if p.name.startswith("msh-gltf-")] == []


def test_abandoned_files_go_with_the_next_run(tmp_path: Path) -> None:
    """An unfinished file is removed if nobody is writing it, and only then."""
    job = started(3, signal.SIGSTOP, tmp_path, "msh2gltf", MODEL, "-o", tmp_path / "x.glb", "-q")
    wait_for(lambda: is_stopped(job))
    live = leftovers(tmp_path)
    (tmp_path / ".msh-gltf-0123456789ab.tmp").write_bytes(b"half")
    assert run_apart("msh2gltf", MODEL, "-o", tmp_path / "y.glb").returncode == 0
    assert leftovers(tmp_path) == live
    job.send_signal(signal.SIGCONT)
    job.communicate()
    assert job.returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.glb", "x.msh-sidecar", "y.glb", "y.msh-sidecar"]
