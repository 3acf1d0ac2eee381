"""Limits of the machine: memory, file descriptors, file sizes, temporary directories, times."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import fault_of
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from tests.support.corpus import CORPUS, DATA
from tests.support.faults import in_namespace, leftovers, shell
from tests.support.game import make_game, model, snapshot, write
from tests.support.runs import call, require, run_apart

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ulimit, name spaces")

MODEL = DATA / "retail__system__R_H_002.msh"


def test_memory_of_a_worker(tmp_path: Path) -> None:
    """A model that is too large for the memory that is left fails; the others are converted."""
    own = read_nres(model("retail__odd__s_rock_009"), "x")
    ballast = replace(own.entries[0], type_id=77, raw_name=name_field(b"ballast"))
    ballast = replace(ballast, payload=bytes(200 << 20))
    large = write_nres(new_archive([*own.entries, ballast], "x"))
    game, out, whole = tmp_path / "game", tmp_path / "out", tmp_path / "whole"
    write(game / "large.msh", large)
    write(game / "small.msh", model("retail__odd__s_rock_009"))
    limited = 'ulimit -v 450000; OPENBLAS_NUM_THREADS=1 "$BIN/msh2gltf" "$1" -o "$2" -j 2'
    done = shell(limited, game, out)
    assert done.returncode == 1, done.stdout
    assert "large.msh: not enough memory; fewer processes (-j 1) need less" in done.stdout
    assert done.stderr == ""
    assert sorted(p.name for p in out.iterdir()) == ["manifest.json", "small.glb", "small.msh-sidecar"]
    done = shell(f"{limited[:-5]}/large.glb", game / "large.msh", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("msh2gltf: error: not enough memory")
    assert not leftovers(out)
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    assert call(cli.msh2gltf, game, "-o", whole, "-q") == 0
    assert snapshot(out) == snapshot(whole)


@pytest.mark.parametrize("name", ["bundled", "retail", "spec", "mixed"])
def test_whole_games_in_little_memory(name: str, tmp_path: Path) -> None:
    """300 MB of addresses: a game converts, or models fail for lack of memory, in a line each."""
    if name == "bundled":
        game = make_game(tmp_path / "game")
    else:
        require(CORPUS, "no corpus: MSH_GLTF_CORPUS names no folder of whole games")
        game = Path(CORPUS or "") / name / "game"
    done = shell('ulimit -v 300000; "$BIN/msh2gltf" "$1" -o "$2" -j 1 -q', game, tmp_path / "out")
    failed = done.stderr.splitlines()
    assert done.returncode == (1 if failed else 0)
    assert all("not enough memory" in line for line in failed), failed
    assert len(list((tmp_path / "out").rglob("*.glb"))) > 5


def test_no_temporary_directory(tmp_path: Path) -> None:
    """--roundtrip, which needs one, says so; a full one fails every model, and stays empty."""
    done = in_namespace(
        """
        mkdir -p "$2/work"; mount -t tmpfs -o ro tmpfs "$2/work" || exit 77
        for d in /tmp /var/tmp /usr/tmp; do
            [ -d $d ] && case "$1$2$BIN" in *$d/*) exit 78;; *) mount -t tmpfs -o ro tmpfs $d;; esac
        done
        cd "$2/work"; TMPDIR="$2/work" "$BIN/msh-inspect" --roundtrip "$1"; echo "exit code $?"
        """,
        MODEL,
        tmp_path,
    )
    if done.returncode == 78:
        # the project itself lies below /tmp: only a full one can be had
        done = None
    else:
        assert "exit code 2" in done.stdout
        assert "No usable temporary directory" in done.stderr
        assert "Traceback" not in done.stderr
    full = in_namespace(
        """
        mkdir -p "$2/full"; mount -t tmpfs -o size=40k tmpfs "$2/full" || exit 77
        TMPDIR="$2/full" "$BIN/msh-inspect" --roundtrip "$1"; echo "exit code $?"; ls -A "$2/full"
        """,
        MODEL,
        tmp_path,
    )
    assert "cannot be written (No space left on device)" in full.stdout
    assert full.stdout.endswith("exit code 1\n")
    assert full.stderr == ""


def test_times_of_any_century(tmp_path: Path) -> None:
    """A clock that went wrong changes nothing but what the manifest says of it."""
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    before = snapshot(out)
    for path, year in (("static.rlb", 1901), ("SYSTEM.RLB", 2400), ("DATA/Loose/Дом.msh", 1969)):
        seconds = int((np.datetime64(f"{year}-12-31T00:00:00") - np.datetime64(0, "s")).astype(int))
        os.utime(game / path, (seconds, seconds))
    for path in out.rglob("*.glb"):
        os.utime(path, (2**33, 2**33))
    assert run_apart("msh2gltf", game, "-o", out).stdout.count("converted") == 0
    assert snapshot(out) == before
    assert call(cli.msh2gltf, game, "-o", out, "-q", "--force") == 0
    rows = json.loads((out / "manifest.json").read_text("utf-8"))["models"]
    assert {row["modified"][:4] for row in rows} >= {"1901", "1969"}
    assert {k: v for k, v in snapshot(out).items() if k != "manifest.json"} == {
        k: v for k, v in before.items() if k != "manifest.json"
    }
    assert call(cli.gltf2msh, out, "--game", game, "-o", tmp_path / "new", "-q") == 0
    assert snapshot(tmp_path / "new") == snapshot(game)
    assert (tmp_path / "new/static.rlb").stat().st_mtime == (game / "static.rlb").stat().st_mtime


def test_a_library_that_is_broken() -> None:
    assert fault_of(ImportError("libx.so: wrong ELF class")).problem == "a library cannot be loaded"
