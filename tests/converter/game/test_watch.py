"""``gltf2msh out --game GAME --in-place --watch``: what is saved is in the game, each save one transaction."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.cli.runs import INTERVAL
from tests.docs.materials import game
from tests.support.game import snapshot
from tests.support.runs import call
from tests.support.vault import VAULT, records
from tests.support.verbs import move

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT of another process")
#: Seconds in which a save is in the game: one, and what a machine under load takes.
SOON = 20.0


def until(holds: Callable[[], object]) -> float:
    """Wait until something holds; how long it took."""
    started = time.perf_counter()
    while not holds():
        assert time.perf_counter() - started < SOON, "never"
        time.sleep(0.02)
    return time.perf_counter() - started


def history(root: Path) -> list[str]:
    """The kinds of the game's transactions."""
    return [record["kind"] for record in records(root)] if (root / VAULT / "edits.jsonl").exists() else []


def save_in_pieces(path: Path, data: bytes) -> None:
    """Write a file as a slow program does: longer than the time between two looks."""
    with path.open("wb") as file:
        for at in range(0, len(data), len(data) // 6):
            file.write(data[at : at + len(data) // 6])
            file.flush()
            time.sleep(INTERVAL / 2)


def test_saves_are_in_the_game_until_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture, a glTF that is written slowly, a file that cannot be read; an undone save stays undone."""
    monkeypatch.chdir(tmp_path)
    root, out = tmp_path / "Моя игра", tmp_path / "out"
    game(root)
    before = snapshot(root)
    assert call(cli.msh2gltf, root, "-q", "-j", 1, "-o", out) == 0
    command = [sys.executable, "-m", "msh_gltf", "gltf2msh", "out", "--game", str(root), "--in-place", "--watch"]
    with (tmp_path / "said.txt").open("wb") as said:
        run = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
    text = (tmp_path / "said.txt").read_text
    try:
        until(lambda: "Ctrl+C ends it" in text("utf-8"))
        picture = next((out / "textures").glob("*.png"))
        with Image.open(picture) as image:
            pixels = image.convert("RGB")
        pixels.putpixel((0, 0), (255, 0, 9))
        pixels.save(picture)
        took = until(lambda: history(root) == ["edit"])
        until(lambda: "takes it back" in text("utf-8"))
        assert call(cli.msh_mod, "undo", root) == 0
        (out / "guns.rlb/g_gun.glb").write_bytes(b"glTF, but not one")
        until(lambda: "g_gun" in text("utf-8"))
        model = out / "static.rlb/r_h_01.glb"
        whole = model.read_bytes()
        move(model)
        edited = model.read_bytes()
        model.write_bytes(whole)
        save_in_pieces(model, edited)
        until(lambda: len(history(root)) == 3)
        until(lambda: "1 model went into" in text("utf-8"))
        run.send_signal(signal.SIGINT)
        assert run.wait(SOON) == 130
    finally:
        run.kill()
        run.wait()
    assert took < SOON
    assert history(root) == ["edit", "undo", "edit"], text("utf-8")
    changed = {name for name, data in snapshot(root).items() if data != before.get(name) and ".msh-gltf" not in name}
    assert changed == {"static.rlb"}  # the texture that was taken back is not in it again
    assert call(cli.msh_mod, "undo", root) == 0
    assert {name: data for name, data in snapshot(root).items() if ".msh-gltf" not in name} == before


def test_watch_is_of_the_game_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game(tmp_path / "GAME")
    (tmp_path / "out").mkdir()
    for options in (("-o", tmp_path / "new", "--watch"), ("--in-place", "--watch", "--dry-run")):
        assert call(cli.gltf2msh, tmp_path / "out", "--game", tmp_path / "GAME", *options) == 2
        assert "--watch is for --in-place" in capsys.readouterr().err
