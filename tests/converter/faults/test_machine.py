"""Little memory: what it is too little for fails, and nothing else."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import fault_of
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from tests.support.faults import leftovers, shell
from tests.support.game import model, snapshot, write
from tests.support.runs import call

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ulimit")


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


def test_a_library_that_is_broken() -> None:
    assert fault_of(ImportError("libx.so: wrong ELF class")).problem == "a library cannot be loaded"
