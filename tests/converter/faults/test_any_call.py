"""A disk that fails, a process that is killed, Ctrl-C, at any moment: nothing is damaged, a repeat completes.

``MSH_GLTF_FAULTS=40`` tries each command 40 times with each; the default is once.
"""

import errno
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.formats.names import decode_text
from msh_gltf.converter.formats.nres import read_nres
from tests.support.assembly import registry
from tests.support.faults import begun
from tests.support.game import MESH, archive, entry, model, snapshot, write
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import SCRIPTS, call, require, run_apart
from tests.support.vault import VAULT
from tests.support.verbs import move

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD, signals")

TIMES = int(os.environ.get("MSH_GLTF_FAULTS", "1"))
SOURCE = Path(__file__).parents[2] / "support/disk.c"
#: A full disk, one that was pulled out, one that became read-only, one that is no more; 0: the process is killed.
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.ENODEV)
KILLED = 0
COMMANDS = {
    "export": "msh2gltf game -o exported -q -j 2",
    "import": "gltf2msh out --game game -o new -q -j 2",
    "add": "gltf2msh out --game game -o new --add --tag STAT -q -j 2",
    "add-one": "gltf2msh out/one.rlb/added_one.glb --into game/one.rlb --add --tag STAT -q",
    "in-place": "gltf2msh out --game game --in-place -q -j 2",
    "in-place-add": "gltf2msh out --game game --in-place --add --tag STAT -q -j 2",
}


@dataclass
class Disk:
    """Runs commands in a directory on a disk that may fail; ``calls``: how many the last made."""

    library: Path
    counter: Path
    calls: int = 0

    def run(
        self, command: str, work: Path, at: int = 0, error: int = errno.EIO, *, once: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command there; the disk fails at a call about it, counted from 1, and after it."""
        self.counter.write_bytes(bytes(8))
        settings = {
            "LD_PRELOAD": str(self.library),
            "DISK_PATH": str(work),
            "DISK_COUNT": str(self.counter),
            "DISK_AT": str(at),
            "DISK_ERRNO": str(error),
            **({"DISK_ONCE": "1"} if once else {}),
        }
        name, *arguments = command.split()
        done = subprocess.run(
            [SCRIPTS / name, *arguments],
            cwd=work,
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=False,
        )
        self.calls = int.from_bytes(self.counter.read_bytes(), "little")
        return done


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    compiler = shutil.which("cc")
    require(compiler, "no C compiler")
    folder = tmp_path_factory.mktemp("disk")
    command = [str(compiler), "-shared", "-fPIC", "-o", str(folder / "disk.so"), str(SOURCE), "-ldl"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    require(built.returncode == 0, f"the library does not build here: {built.stderr[:200]}")
    return Disk(folder / "disk.so", folder / "count")


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


@dataclass
class Whole:
    """What an undisturbed run leaves, how long it takes, and how many calls about the disk it makes."""

    work: Path
    seconds: float
    calls: int


@pytest.fixture(scope="module")
def whole(before: Path, disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """Undisturbed runs, when they are asked for."""
    known: dict[str, Whole] = {}

    def get(name: str) -> Whole:
        if name not in known:
            work = Path(shutil.copytree(before, tmp_path_factory.mktemp("whole") / "work"))
            start = time.monotonic()
            assert disk.run(COMMANDS[name], work).returncode == 0
            known[name] = Whole(work, time.monotonic() - start, disk.calls)
        return known[name]

    return get


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


def parts(game: Path) -> dict[str, bytes]:
    """What a game holds: the entries of its archives, and its other files."""
    found = {}
    for path in filter(Path.is_file, sorted(game.glob("*.*"))):
        if path.suffix != ".rlb":
            found[path.name] = path.read_bytes()
            continue
        for one in read_nres(path.read_bytes(), path.name).entries:
            found[f"{path.name}::{decode_text(one.name_bytes)}"] = bytes(one.payload)
    return found


def named_are_as_they_were(before: Path, work: Path, after: Path, errors: str) -> None:
    """Items that failed are named and as they were; all others arrived."""
    old, now, new = (parts(root / "game") for root in (before, work, after))
    failed = set(re.findall(r"^gltf2msh: (\S+): ", errors, re.MULTILINE))
    failed |= {f"objects.rlb::{Path(item.partition('::')[2]).stem}" for item in failed}  # their keys
    assert now == {name: data for name in new if (data := (old if name in failed else new).get(name)) is not None}


def repeat(name: str, work: Path, undisturbed: Whole) -> None:
    """The same command again: exit code 0, and what an undisturbed run leaves."""
    again = run_apart(*COMMANDS[name].split(), cwd=work)
    assert (again.returncode, again.stderr) == (0, "")
    assert snapshot(work) == snapshot(undisturbed.work)


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("how", ["fails", "fails once", "is killed"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_any_call(
    name: str, how: str, seed: int, before: Path, disk: Disk, whole: Callable[[str], Whole], tmp_path: Path
) -> None:
    """From one moment on every call about the disk fails, or one does, or its process is killed before it."""
    undisturbed, chance = whole(name), random.Random(f"{name} {how} {seed}")
    after = snapshot(undisturbed.work)
    at, turn = chance.randrange(1, undisturbed.calls), [*COMMANDS].index(name) + (how == "fails once") + seed
    error = KILLED if how == "is killed" else ERRORS[turn % len(ERRORS)]
    work = Path(shutil.copytree(before, tmp_path / "work"))
    done = disk.run(COMMANDS[name], work, at, error, once=how != "fails")
    said = done.stderr
    print(f"call {at} of {undisturbed.calls}, {errno.errorcode.get(error, how)}: {done.returncode}\n{said}")
    assert "internal error" not in said + done.stdout
    assert done.returncode in ((0, 1, 2, -signal.SIGKILL) if error == KILLED else (0, 1, 2))
    if done.returncode >= 0:  # else Python's server of processes may say that it lost its parent
        assert "Traceback" not in said + done.stdout
    if name == "in-place-add" and done.returncode == 1 and parts(work / "game") != parts(before / "game"):
        named_are_as_they_were(before, work, undisturbed.work, said)
    else:
        in_order(before, work, after)
    if done.returncode == 0:  # what failed was not needed
        assert snapshot(work) == after
    elif error != KILLED:
        assert os.strerror(error) in said
        assert all(line.startswith(("msh2gltf: ", "gltf2msh: ")) for line in said.splitlines())
    repeat(name, work, undisturbed)


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted(name: str, seed: int, before: Path, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    """Ctrl-C at a random time, as a terminal sends it: to all processes of the command."""
    undisturbed, chance = whole(name), random.Random(f"{name} {seed}")
    work = Path(shutil.copytree(before, tmp_path / "work"))
    job = begun(*COMMANDS[name].split(), cwd=work)
    time.sleep(chance.random() * undisturbed.seconds)
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGINT)
    _, errors = job.communicate(timeout=60)
    print(f"interrupted: exit code {job.returncode}")
    # before the command begins, it is Python that says so
    assert job.returncode in (0, 130, -signal.SIGINT), errors
    in_order(before, work, snapshot(undisturbed.work))
    repeat(name, work, undisturbed)
