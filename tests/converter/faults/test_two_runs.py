"""Two runs at once: the second is refused, and nothing of the first is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import only_run, read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import sha256
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.games import Games, Origin, replace_model
from tests.converter.faults.test_links import game, places, whole
from tests.support.corpus import DATA
from tests.support.faults import is_stopped, leftovers, started, wait_for
from tests.support.game import snapshot
from tests.support.runs import SCRIPTS, run_apart
from tests.support.vault import VAULT, original, records
from tests.support.verbs import move

__all__ = ["game", "places", "whole"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stops processes")

MODEL = DATA / "retail__system__R_H_002.msh"
REFUSED = "another run is at work in this directory; wait for it"
IN_GAME = "another run is at work in this game; wait for it"


def go_on(job: subprocess.Popen[str]) -> tuple[int, str]:
    """Let a run that has stopped itself go on; its exit code and what it said of errors."""
    job.send_signal(signal.SIGCONT)
    _, errors = job.communicate(timeout=60)
    return job.returncode, errors


def test_in_place_twice(places: tuple[Path, Path], tmp_path: Path) -> None:
    """Nor does anybody else write into the game, or read what is being read."""
    game, out = places
    before = (game / "static.rlb").read_bytes()
    picture = tmp_path / "wall.png"
    Image.new("RGB", (4, 4), "red").save(picture)
    model = Origin(game / "static.rlb", 0, b"i_room_006.msh")
    known = {sha256(read_nres(read_file(model.path), "x").entries[0].payload)}
    job = started(1, signal.SIGSTOP, game, "gltf2msh", out, "--game", game, "--in-place", "-q")
    wait_for(lambda: is_stopped(job))
    for words, command in (
        (IN_GAME, ("gltf2msh", out, "--game", game, "--in-place")),
        (IN_GAME, ("gltf2msh", picture, "--into", game / "empty.rlb")),
        (IN_GAME, ("msh-mod", "undo", game)),
        (REFUSED, ("msh2gltf", game, "-o", out, "--force")),
    ):
        second = run_apart(*command)
        assert (second.returncode, words in second.stderr) == (2, True), second.stderr
    with (  # Blender's button
        pytest.raises(ConversionError, match="another run is at work"),
        Games("put back", "scene") as games,
    ):
        replace_model(games, model, b"NRes", known)
    assert go_on(job) == (0, "")
    assert original(game, "static.rlb") == before != (game / "static.rlb").read_bytes()
    assert not (game / VAULT / "writer").exists()
    with GameEdits(game, "gltf2msh towers --in-place", "out:1"):
        second = run_apart("msh-mod", "undo", game)
        assert run_apart("msh-mod", "status", game).returncode == 0  # reading waits for nobody
    who = f"gltf2msh towers --in-place (process {os.getpid()}) is at work in this game"
    assert (second.returncode, who in second.stderr) == (2, True)
    assert run_apart("msh-mod", "undo", game).returncode == 0


@pytest.mark.parametrize("at", [2, 8, 14, 17, 20])
def test_another_tool_changes_an_archive(at: int, places: tuple[Path, Path]) -> None:
    """Between reading it and writing it: its change is not lost, and nothing is half done."""
    game, out = places
    move(out / "SYSTEM.RLB/птица.glb")
    before = snapshot(game)
    job = started(at, signal.SIGSTOP, game, "gltf2msh", out, "--game", game, "--in-place", "-q")
    wait_for(lambda: is_stopped(job))  # before the first archive gets its name
    assert snapshot(game) == before
    theirs = (game / "static.rlb").read_bytes() + b"theirs"
    (game / "static.rlb").write_bytes(theirs)
    code, errors = go_on(job)
    assert code in (1, 2)
    assert "static.rlb: changed while this run was at work; run it again" in errors
    assert (game / "static.rlb").read_bytes() == theirs
    assert snapshot(game) | {"static.rlb": ""} == before | {"static.rlb": ""}
    assert not (game / VAULT / "edits.jsonl").exists() or records(game) == []


def test_reading_what_is_being_written(places: tuple[Path, Path], tmp_path: Path) -> None:
    """``gltf2msh`` does not read a directory that ``msh2gltf`` writes; two may read one."""
    game, out = places
    with only_run(out):
        second = run_apart("gltf2msh", out, "--game", game, "-o", tmp_path / "new")
    assert (second.returncode, REFUSED in second.stderr) == (2, True)
    assert not (tmp_path / "new").exists()
    one, two = tmp_path / "one", tmp_path / "two"
    job = started(1, signal.SIGSTOP, one, "gltf2msh", out, "--game", game, "-o", one, "-q")
    wait_for(lambda: is_stopped(job))
    assert run_apart("gltf2msh", out, "--game", game, "-o", two, "-q").returncode == 0
    assert go_on(job) == (0, "")
    assert snapshot(one) == snapshot(two)


def test_one_name_twice(tmp_path: Path) -> None:
    """Both saw that the name is free; the one that is late is refused all the same."""
    target = tmp_path / "x.glb"
    first = DATA / "spec__system__a_bird_007.msh"
    # 1, 2: the unfinished files; 3: the sidecar's name
    job = started(3, signal.SIGSTOP, tmp_path, "msh2gltf", first, "-o", target)
    wait_for(lambda: is_stopped(job))
    assert len(leftovers(tmp_path)) == 2
    assert run_apart("msh2gltf", MODEL, "-o", target).returncode == 0
    done = snapshot(tmp_path)
    code, errors = go_on(job)
    assert code == 2
    assert "x.msh-sidecar: output exists already; move it away" in errors
    assert {k: v for k, v in done.items() if not k.startswith(".")} == snapshot(tmp_path)


def test_the_second_of_two_names_is_taken(tmp_path: Path) -> None:
    """What appeared before goes again: no half of a pair stays."""
    job = started(4, signal.SIGSTOP, tmp_path, "msh2gltf", MODEL, "-o", tmp_path / "x.glb")
    wait_for(lambda: is_stopped(job) and (tmp_path / "x.msh-sidecar").exists())
    (tmp_path / "x.glb").write_bytes(b"mine")
    code, errors = go_on(job)
    assert (code, "x.glb: output exists already" in errors) == (2, True)
    assert [p.name for p in tmp_path.iterdir()] == ["x.glb"]


def test_many_into_one_directory(tmp_path: Path) -> None:
    """Single models side by side (``xargs -P``) do not disturb each other."""
    out = tmp_path / "out"
    models = sorted(DATA.glob("spec__*.msh"))
    jobs = [subprocess.Popen([SCRIPTS / "msh2gltf", m, "-o", f"{out}/", "-q"]) for m in models]
    assert [job.wait() for job in jobs] == [0] * len(models)
    assert len(list(out.iterdir())) == 2 * len(models)
    assert not leftovers(out)
