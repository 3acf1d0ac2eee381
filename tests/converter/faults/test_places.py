"""Outputs where they cannot go: directories, long names, other file systems, full ones, links."""

import hashlib
import shutil
import signal
import sys
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.converter.faults.test_links import game, places, whole
from tests.support.corpus import DATA
from tests.support.faults import is_stopped, started, wait_for
from tests.support.game import snapshot
from tests.support.runs import call, run
from tests.support.vault import VAULT, original

__all__ = ["game", "places", "whole"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts, links")

MODEL = DATA / "retail__system__R_H_002.msh"


def test_names_that_are_too_long(tmp_path: Path) -> None:
    for name in ("x" * 251, "y" * 250, "/".join(["d" * 200] * 30), "z" * 5000):
        done = run("msh2gltf", MODEL, "-o", tmp_path / f"{name}.glb")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "File name too long" in done.stderr
        done = run("msh2gltf", tmp_path / f"{name}.msh")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_output_is_removed_during_a_run(game: Path, whole: Path, tmp_path: Path) -> None:
    """A run whose directory went away does not say that all is well."""
    out = tmp_path / "out"
    job = started(1, signal.SIGSTOP, out, "msh2gltf", game, "-o", out, "-j", 1)
    wait_for(lambda: is_stopped(job))  # before the journal's first line
    wait_for(lambda: list(out.rglob("*.glb")))
    shutil.rmtree(out)
    job.send_signal(signal.SIGCONT)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 2
    assert "was removed or replaced while this run was at work" in errors
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    assert snapshot(out) == snapshot(whole)


# ------------------------------------------------------------------ the game's own files


@pytest.mark.parametrize("blocked", ["", "originals", "changes", "originals/DIGEST", "edits.jsonl"])
@pytest.mark.parametrize("by", ["file", "directory", "link", "dangling link"])
def test_a_change_that_cannot_be_kept(blocked: str, by: str, places: tuple[Path, Path], tmp_path: Path) -> None:
    """Of which nobody could take it back: the archive stays as it is, and nothing is written through a link."""
    game, out = places
    before = snapshot(game)
    place = game / VAULT / blocked.replace("DIGEST", before["static.rlb"])
    place.parent.mkdir(parents=True, exist_ok=True)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    if by == "file":
        place.write_bytes(b"in the way")
    elif by == "directory":
        place.mkdir()
    else:
        place.symlink_to(elsewhere if by == "link" else elsewhere / "nothing")
    for force in ((), ("--force",)):
        done = run("gltf2msh", out, "--game", game, "--in-place", *force)
        if (by, blocked) in [*(("directory", name) for name in ("", "originals", "changes")), ("file", "edits.jsonl")]:
            assert done.returncode == 0
            return
        if blocked == "originals/DIGEST" and by != "directory":  # it is replaced, not followed
            assert done.returncode == 0
            kept = hashlib.sha256(original(game, "static.rlb"))
            assert kept.hexdigest() == before["static.rlb"]
            break
        assert done.returncode in (1, 2)
        said = done.stdout + done.stderr
        assert ".msh-gltf" in said, said
        assert "internal error" not in said
        assert snapshot(game) == before
    assert list(elsewhere.iterdir()) == []


def test_permissions_are_kept(places: tuple[Path, Path], tmp_path: Path) -> None:
    game, out = places
    (game / "static.rlb").chmod(0o640)
    assert run("gltf2msh", out, "--game", game, "--in-place").returncode == 0
    assert (game / "static.rlb").stat().st_mode & 0o777 == 0o640
    assert run("msh-mod", "restore", game).returncode == 0
    assert (game / "static.rlb").stat().st_mode & 0o777 == 0o640
    assert call(cli.msh2gltf, MODEL, "-o", tmp_path / "x.glb", "-q") == 0
    (tmp_path / "x.glb").chmod(0o600)
    assert call(cli.msh2gltf, MODEL, "-o", tmp_path / "x.glb", "-q", "--force") == 0
    assert (tmp_path / "x.glb").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "x.msh-sidecar").stat().st_mode & 0o777 != 0o600
