"""Runs over a game on Windows, with several processes: the same bytes as on Linux."""

from pathlib import Path

from tests.support.game import make_game, snapshot
from tests.support.runs import run
from tests.support.wine import needs_windows, run_on_windows

pytestmark = needs_windows


def test_a_run_with_two_processes_writes_what_linux_writes(tmp_path: Path) -> None:
    game = make_game(tmp_path / "игра")
    before = snapshot(game)
    there, here = tmp_path / "there", tmp_path / "here"
    code, output = run_on_windows("msh2gltf", game, "-o", there, "-j", "2")
    assert code == 0, output
    linux = run("msh2gltf", game, "-o", here, "-j", "2")
    assert linux.returncode == 0, linux.stderr
    assert snapshot(there) == snapshot(here)

    code, output = run_on_windows("gltf2msh", there, "--game", game, "-o", tmp_path / "new", "-j", "2")
    assert code == 0, output
    assert snapshot(tmp_path / "new") == before


def test_checking_a_game_ends_as_on_linux(tmp_path: Path) -> None:
    game = make_game(tmp_path / "game")
    code, output = run_on_windows("msh-inspect", "--check", game)
    linux = run("msh-inspect", "--check", game)
    assert (code, output.count("\n")) == (linux.returncode, linux.stdout.count("\n"))
