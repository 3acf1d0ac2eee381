"""The same work on a dask cluster, one of whose workers is killed: the same bytes."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.support.faults import wait_for
from tests.support.game import make_large_game, snapshot
from tests.support.runs import SCRIPTS, call

ROOT = Path(__file__).parents[3]
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="dask.distributed is not installed"
)


@pytest.fixture
def cluster() -> Iterator[dict[str, object]]:
    job = subprocess.Popen(
        [sys.executable, "-m", "tests.support.cluster"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert job.stdout is not None
    yield json.loads(job.stdout.readline())
    job.communicate("", timeout=60)


@needs_dask
def test_a_cluster_gives_the_same_bytes(cluster: dict, tmp_path: Path) -> None:
    game = make_large_game(tmp_path / "game", 12)
    assert call(cli.msh2gltf, game, "-o", tmp_path / "here", "-j", 2, "-q") == 0
    report = tmp_path / "report.json"
    command = [SCRIPTS / "msh2gltf", game, "-o", tmp_path / "there", "--dask", cluster["address"]]
    job = subprocess.Popen([*command, "--report", report], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(list((tmp_path / "there").rglob("*.glb"))) > 3)
    assert job.poll() is None, "over before a worker could be killed"
    os.kill(cluster["pids"][0], signal.SIGKILL)
    said, errors = job.communicate(timeout=120)
    assert job.returncode == 0, said + errors
    assert "Traceback" not in errors
    assert snapshot(tmp_path / "there") == snapshot(tmp_path / "here")
    facts = json.loads(report.read_text("utf-8"))
    assert facts["counts"] == {"converted": 12 * 13}

    back = ("--game", game, "--dask", cluster["address"], "-q")
    assert call(cli.gltf2msh, tmp_path / "there", "-o", tmp_path / "new", *back) == 0
    assert snapshot(tmp_path / "new") == snapshot(game)


@needs_dask
def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    import distributed

    client = distributed.Client  # which is given 10 s by the command
    monkeypatch.setattr(distributed, "Client", lambda address, timeout: client(address, timeout=timeout / 20))
    game = make_large_game(tmp_path / "game", 1)
    assert call(cli.msh2gltf, game, "-o", tmp_path / "out", "--dask", "tcp://127.0.0.1:9") == 2
    said = capsys.readouterr().err
    assert "no dask scheduler answers: tcp://127.0.0.1:9" in said
    assert "Traceback" not in said
