"""Inputs that vanish, shrink or change while they are read."""

import os
import signal
import sys
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.kinds.open_files import open_nres
from msh_gltf.converter.kinds.registry import majority_of
from msh_gltf.converter.storage import is_taken
from tests.support.corpus import DATA
from tests.support.faults import begun, is_stopped, leftovers, started, wait_for
from tests.support.game import MESH, archive, entry, make_large_game, snapshot
from tests.support.runs import call, run_apart

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files in use cannot be changed")

MODEL = DATA / "retail__system__R_H_002.msh"


def test_a_file_is_cut_while_it_is_looked_at(tmp_path: Path) -> None:
    """A mapped file would end the process with SIGBUS here."""
    path = tmp_path / "x"
    path.write_bytes(bytes(100_000))
    data = read_file(path)
    os.truncate(path, 0)
    assert bytes(data) == bytes(100_000)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def replace(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(MODEL.read_bytes())
    other.replace(path)


@pytest.mark.parametrize("change", [cut, replace, Path.unlink])
def test_archives_change_during_a_run(change, tmp_path: Path) -> None:
    """What was found and is not there any more fails by itself; a repeat completes."""
    game, out, whole = make_large_game(tmp_path / "game", 6), tmp_path / "out", tmp_path / "whole"
    kept = {path: path.read_bytes() for path in game.iterdir()}
    assert call(cli.msh2gltf, game, "-o", whole, "-q") == 0
    job = begun("msh2gltf", game, "-o", out, "-j", "1", "-v")
    wait_for(lambda: list(out.rglob("*.glb")))
    for path in kept:
        change(path)
    said, errors = job.communicate(timeout=60)
    assert (job.returncode, errors) == (1, "")
    assert "internal error" not in said
    assert "killed by signal" not in said
    assert not leftovers(out)
    for path, data in kept.items():
        path.write_bytes(data)
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    now, then = snapshot(out), snapshot(whole)
    del now["manifest.json"], then["manifest.json"]  # has the archives' times
    assert now == then


def test_the_game_vanishes_on_the_way_back(tmp_path: Path) -> None:
    """Files that are gone when they are to be copied are named; the rest is written."""
    game, out, new = make_large_game(tmp_path / "game", 2), tmp_path / "out", tmp_path / "new"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    job = started(1, signal.SIGSTOP, new, "gltf2msh", out, "--game", game, "-o", new)

    wait_for(lambda: is_stopped(job))
    gone = sorted(game.iterdir())[-1]
    data = gone.read_bytes()
    gone.unlink()
    job.send_signal(signal.SIGCONT)
    said, errors = job.communicate(timeout=60)
    assert (job.returncode, errors) == (1, "")
    assert gone.name in said
    assert "Traceback" not in said
    assert sorted(p.name for p in new.iterdir()) == sorted(p.name for p in game.iterdir())
    gone.write_bytes(data)
    assert run_apart("gltf2msh", out, "--game", game, "-o", new, "-q").returncode == 0
    assert snapshot(new) == snapshot(game)


def test_an_archive_that_cannot_be_read_decides_no_dialect(tmp_path: Path) -> None:
    """A new model would get another dialect, and nobody would know."""
    path = tmp_path / "one.rlb"
    path.write_bytes(archive([entry(MESH, b"model.msh", MODEL.read_bytes())]))
    opened = open_nres(path, "one.rlb")
    assert majority_of(opened) is not None
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(ConversionError, match="changed while it was read"):
        majority_of(opened)


def test_a_name_that_cannot_be_looked_up_is_not_free(tmp_path: Path) -> None:
    assert not is_taken(tmp_path / "a")
    (tmp_path / "a").symlink_to("nothing")
    assert is_taken(tmp_path / "a")
    with pytest.raises(ConversionError, match="cannot be read"):
        is_taken(tmp_path / ("a" * 300))
