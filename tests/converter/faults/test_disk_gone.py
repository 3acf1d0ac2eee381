"""A disk that fails, at any moment: one line that says so, nothing damaged, a repeat completes.

``MSH_GLTF_DISKS=40`` tries each command 40 times; the default is few.
"""

import errno
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from msh_gltf.converter.formats.names import decode_text
from msh_gltf.converter.formats.nres import read_nres
from tests.converter.faults.test_kills import COMMANDS, before, in_order
from tests.support.game import snapshot
from tests.support.runs import SCRIPTS, require, run_apart

__all__ = ["before"]  # the fixture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD")

TIMES = int(os.environ.get("MSH_GLTF_DISKS", "2"))
SOURCE = Path(__file__).parents[2] / "support/disk.c"
#: A disk that was pulled out, a full one, one that became read-only, one that is no more.
ERRORS = (errno.EIO, errno.ENOSPC, errno.EROFS, errno.ENODEV)


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


Whole = Callable[[str], tuple[int, Path]]


@pytest.fixture(scope="module")
def whole(before: Path, disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """How many calls an undisturbed run makes, and the folder that it leaves."""
    known: dict[str, tuple[int, Path]] = {}

    def get(name: str) -> tuple[int, Path]:
        if name not in known:
            work = Path(shutil.copytree(before, tmp_path_factory.mktemp("whole") / "work"))
            assert disk.run(COMMANDS[name], work).returncode == 0
            known[name] = disk.calls, work
        return known[name]

    return get


def parts(game: Path) -> dict[str, bytes]:
    """What a game holds: the entries of its archives, and its other files."""
    found = {}
    for path in filter(Path.is_file, sorted(game.glob("*.*"))):
        if path.suffix != ".rlb":
            found[path.name] = path.read_bytes()
            continue
        for entry in read_nres(path.read_bytes(), path.name).entries:
            found[f"{path.name}::{decode_text(entry.name_bytes)}"] = bytes(entry.payload)
    return found


def named_are_as_they_were(before: Path, work: Path, after: Path, errors: str) -> None:
    """Items that failed are named and as they were; all others arrived."""
    old, now, new = (parts(root / "game") for root in (before, work, after))
    failed = set(re.findall(r"^gltf2msh: (\S+): ", errors, re.MULTILINE))
    failed |= {f"objects.rlb::{Path(item.partition('::')[2]).stem}" for item in failed}  # their keys
    assert now == {name: data for name in new if (data := (old if name in failed else new).get(name)) is not None}


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("name", COMMANDS)
def test_disk_gone(name: str, seed: int, before: Path, disk: Disk, whole: Whole, tmp_path: Path) -> None:
    """From one moment on every call fails, or (every second time) only one does."""
    calls, undisturbed = whole(name)
    after = snapshot(undisturbed)
    chance = random.Random(f"{name} {seed}")
    at, error, once = chance.randrange(1, calls), chance.choice(ERRORS), seed % 2 == 1
    work = Path(shutil.copytree(before, tmp_path / "work"))
    done = disk.run(COMMANDS[name], work, at, error, once=once)
    where = f"call {at} of {calls}, {errno.errorcode[error]}{', once' if once else ''}"
    said = done.stderr
    assert "internal error" not in said + done.stdout, (where, said)
    assert "Traceback" not in said + done.stdout, (where, said)
    assert done.returncode in (0, 1, 2), (where, said)
    if name == "in-place-add" and done.returncode == 1 and parts(work / "game") != parts(before / "game"):
        named_are_as_they_were(before, work, undisturbed, said)
    else:
        in_order(before, work, after)
    if done.returncode == 0:  # what failed was not needed
        assert snapshot(work) == after, where
    else:
        assert os.strerror(error) in said, (where, said)
        assert all(line.startswith(("msh2gltf: ", "gltf2msh: ")) for line in said.splitlines()), said
    again = run_apart(*COMMANDS[name].split(), cwd=work)
    assert (again.returncode, again.stderr) == (0, ""), where
    assert snapshot(work) == after, where
