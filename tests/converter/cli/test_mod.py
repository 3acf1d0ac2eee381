"""``msh-mod make`` after a run that was killed, and a mod that contradicts itself."""

import json
import shutil
import zipfile
from pathlib import Path

from tests.converter.game.stopping import Killed, stopped_at
from tests.converter.game.test_vault import BEFORE, FILE, change, game, write
from tests.support.game import snapshot
from tests.support.runs import run

__all__ = ["game"]


def every_file(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_mod_has_what_a_killed_run_left(game: Path, tmp_path: Path) -> None:
    """As every command that changes a game, make completes the run or takes it back first, and says so.

    Those that only read say that a run was stopped, and what ends it.
    """
    change(game, "a", {0: b"one"})
    ended = 0
    for kill in range(40):
        mine, other, zipped = tmp_path / f"mine{kill}", tmp_path / f"other{kill}", tmp_path / f"{kill}.zip"
        shutil.copytree(game, mine)
        try:
            with stopped_at(kill):
                change(mine, "b", {2: b"two"})
        except Killed:
            pass
        before = every_file(mine)
        said = [
            run("msh-mod", *words).stderr for words in (["status", mine], ["list", mine], ["undo", mine, "--dry-run"])
        ]
        assert every_file(mine) == before
        was_stopped = "a run that was stopped" in run("msh-mod", "make", mine, zipped, "--name", "M").stderr
        ended += was_stopped
        line = "a run was stopped and its files may be half written (edit b); run it again"
        assert [line in one for one in said] == [was_stopped] * 3
        write(other / FILE, BEFORE)
        assert run("msh-mod", "install", zipped, other).returncode == 0
        assert (other / FILE).read_bytes() == (mine / FILE).read_bytes()
    assert ended


def test_a_mod_that_changes_an_entry_twice_is_none(game: Path, tmp_path: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    assert run("msh-mod", "make", game, tmp_path / "a.zip", "--name", "A").returncode == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        held = {name: packed.read(name) for name in packed.namelist()}
    facts = json.loads(held["mod.json"])
    facts["changes"] *= 2
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as packed:
        for name, data in (held | {"mod.json": json.dumps(facts).encode()}).items():
            packed.writestr(name, data)
    write(tmp_path / "other" / FILE, BEFORE)
    before = snapshot(tmp_path)
    done = run("msh-mod", "install", tmp_path / "b.zip", tmp_path / "other")
    assert (done.returncode, "it changes an entry twice" in done.stderr) == (2, True)
    assert snapshot(tmp_path) == before
