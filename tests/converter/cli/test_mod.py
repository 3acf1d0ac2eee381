"""``msh-mod``: what it prints, its exit codes, and that it writes nothing when it refuses."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter import cli
from tests.converter.game.stopping import Killed, stopped_at
from tests.converter.game.test_vault import BEFORE, FILE, change, digest, entries, game, patch, write
from tests.support.game import snapshot
from tests.support.runs import call, run
from tests.support.vault import VAULT, original, records

__all__ = ["game"]


class Mod:
    """Calls the command in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object, code: int = 0) -> str:
        """What it prints; of a refusal the one line."""
        self._capsys.readouterr()
        found = call(cli.msh_mod, *arguments)
        out, self.warnings = self._capsys.readouterr()
        assert found == code, (out, self.warnings)
        if code == 0:
            return out
        assert out == ""
        return self.warnings


@pytest.fixture
def mod(capsys: pytest.CaptureFixture[str]) -> Mod:
    return Mod(capsys)


# ------------------------------------------------------------------ status, undo, restore


def test_a_game_that_nobody_changed(game: Path, mod: Mod) -> None:
    before = snapshot(game)
    assert mod("status", game) == "nothing was changed here\n"
    assert json.loads(mod("status", game, "--json"))["transactions"] == []
    assert mod("list", game) == "no mod is installed\n"
    said = mod("undo", game, code=2)
    assert said.startswith("msh-mod: error: ")
    assert "has no change to take back; msh-mod status shows what is known" in said
    assert mod("restore", game) == f"{game} is as it was\n"
    assert "has no change for a mod" in mod("make", game, "x.zip", "--name", "X", code=2)
    assert snapshot(game) == before
    assert not (game / VAULT).exists()


def test_status(game: Path, mod: Mod) -> None:
    change(game, "out:1", {0: b"mine"}, new={b"new": b"new"})
    lines = mod("status", game).splitlines()
    assert lines[0] == FILE
    time = records(game)[0]["time"][:16]
    assert sorted(lines[1:3]) == [
        f"  new, new: change 1, {time}, from {FILE}.glb",
        f"  one: change 1, {time}, from {FILE}.glb",
    ]
    assert lines[3] == f"1: {time} edit out:1: {FILE}"
    assert lines[4].startswith("originals ")
    assert lines[4].endswith(f"in {game}/{VAULT}")
    facts = json.loads(mod("status", game, "--json"))
    assert {one["entry"] for one in facts["changes"]} == {"one", "new"}
    assert facts["kept"] == [{"file": FILE, "digest": digest(BEFORE), "what": "original"}]
    mod("undo", game)
    lines = mod("status", game).splitlines()
    assert lines[0] == f"1: {time} edit out:1: {FILE} (taken back)"
    assert "nothing of that is in force: the game is as it was" in lines
    patch(game, 0, b"patched")
    assert f"{FILE} was changed by another program" in mod("status", game).splitlines()


def test_status_of_a_file_in_the_game(game: Path, mod: Mod) -> None:
    """GAME may be a folder in it or an archive: the vault is the nearest one above."""
    change(game, "out:1", {0: b"mine"})
    assert mod("status", game / FILE) == mod("status", game / "DATA") == mod("status", game)


def test_undo(game: Path, mod: Mod) -> None:
    change(game, "out:1", {0: b"mine"})
    change(game, "out:2", {0: b"theirs"})
    before = snapshot(game)
    said = mod("undo", game, 1, code=2)
    assert said.count("\n") == 1
    assert f"{FILE}, entry one: change 2 (edit out:2) changed it later" in said
    assert "take that back first: msh-mod undo GAME 2" in said
    assert mod("undo", game, "--dry-run") == (f"  would write {FILE}\ndry run: nothing was written\n")
    assert snapshot(game) == before
    assert mod("undo", game, 2) == f"  wrote {FILE}\nchange 2 (edit out:2) is taken back\n"
    assert mod("undo", game) == f"  wrote {FILE}\nchange 1 (edit out:1) is taken back\n"
    assert (game / FILE).read_bytes() == BEFORE
    assert "change 1 is taken back already" in mod("undo", game, 1, code=2)
    assert "has no such change" in mod("undo", game, 77, code=2)
    for wrong in ("0", "-1", "x"):
        assert mod("undo", game, "--", wrong, code=2)


def test_restore(game: Path, mod: Mod) -> None:
    before = snapshot(game)
    change(game, "out:1", {0: b"mine"})
    said = mod("restore", game, "--dry-run")
    assert said == f"  would write {FILE}\ndry run: nothing was written\n"
    assert entries(game)[0] == b"mine"
    assert mod("restore", game, FILE) == f"  wrote {FILE}\n{FILE} is as it was\n"
    assert snapshot(game) == before
    assert "was never changed here" in mod("restore", game, "DATA/plain.bin", code=2)
    change(game, "out:1", {0: b"again"})
    patched = patch(game, 1, b"patched")
    mod("restore", game)
    assert "a.rlb keeps what another program changed; its first original" in mod.warnings
    first = digest(BEFORE)[:12]
    assert mod("restore", game, FILE, "--to", first) == (f"  wrote {FILE}\n{FILE} is {first} again\n")
    assert snapshot(game) == before
    assert mod("restore", game, FILE, "--to", digest(patched))
    assert (game / FILE).read_bytes() == patched
    assert "--to is for one file" in mod("restore", game, "--to", first, code=2)
    assert "no state of it" in mod("restore", game, FILE, "--to", "00000000", code=2)


def test_what_is_not_there(tmp_path: Path, mod: Mod) -> None:
    gone = tmp_path / "gone"
    for command in ("status", "undo", "restore", "list"):
        said = mod(command, gone, code=2)
        assert said == f"msh-mod: error: {gone}: cannot be read (No such file or directory); check the path\n"
    assert "cannot be read" in mod("install", gone, tmp_path, code=2)
    assert "cannot be read" in mod("show", gone, code=2)
    assert "is not installed" in mod("remove", "Nobody", tmp_path, code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["nonsense\n", "[]\n", "[" * 10_000 + "\n"])
def test_a_damaged_history_is_named_in_one_line(text: str, game: Path, mod: Mod) -> None:
    change(game, "out:1", {0: b"mine"})
    (game / VAULT / "edits.jsonl").write_text(text)
    before = snapshot(game)
    for arguments in (
        ("status", game),
        ("undo", game),
        ("restore", game),
        ("list", game),
        ("make", game, game / "x.zip", "--name", "X"),
        ("remove", "X", game),
    ):
        said = mod(*arguments, code=2)
        assert said.count("\n") == 1
        assert "edits.jsonl: the history of changes is damaged" in said
    assert snapshot(game) == before


# ------------------------------------------------------------------ mods


def copy_of(game: Path, where: Path) -> Path:
    where.mkdir()
    (where / FILE).write_bytes(original(game, FILE))
    return where


def test_a_mod_goes_around(game: Path, tmp_path: Path, mod: Mod) -> None:
    """Made, shown, installed elsewhere, listed, removed: the bytes are those of each place."""
    change(game, "out:1", {0: b"mine " * 40}, new={b"new": b"new"})
    other, file = copy_of(game, tmp_path / "other"), tmp_path / "towers.zip"
    about = ("--name", "Towers", "--author", "Ann", "--version", "1.2", "--licence", "CC0")
    said = mod("make", game, file, *about)
    assert said.splitlines()[-1].startswith(f"wrote {file} (")
    assert said.splitlines()[-1].endswith(", 2 changes)")
    assert "output exists already" in mod("make", game, file, "--name", "Other", code=2)
    shown = mod("show", file, other).splitlines()
    assert shown[0] == "Towers 1.2 by Ann"
    assert f"  {FILE}: new (new)" in shown
    assert shown[-1] == f"it can be installed into {other}"
    assert not (other / VAULT).exists()
    assert mod("install", file, other, "--dry-run").endswith("dry run: nothing was written\n")
    assert (other / FILE).read_bytes() == BEFORE
    said = mod("install", file, other)
    assert said == f"  wrote {FILE}\nTowers 1.2 by Ann is installed in {other}\n"
    assert (other / FILE).read_bytes() == (game / FILE).read_bytes()
    assert mod("list", other).startswith("Towers 1.2 by Ann: 2 changes, installed ")
    (row,) = json.loads(mod("list", other, "--json"))["mods"]
    assert (row["name"], row["author"], row["licence"], row["entries"]) == ("Towers", "Ann", "CC0", 2)
    assert "is installed already" in mod("install", file, other, code=2)
    assert "has no change for a mod" in mod("make", other, tmp_path / "y.zip", "--name", "Y", code=2)
    assert mod("remove", "Towers", other) == f"  wrote {FILE}\nTowers is out of {other}\n"
    assert (other / FILE).read_bytes() == BEFORE
    assert "is not installed" in mod("remove", "Towers", other, code=2)
    mod("undo", other)  # the removal
    assert entries(other)[0] == b"mine " * 40


def test_a_part_of_what_was_changed(game: Path, tmp_path: Path, mod: Mod) -> None:
    change(game, "out:1", {0: b"mine", 3: b"too"})
    for only, count in (("one", 1), (f"{FILE}::FOUR", 1), (FILE, 2), ("*", 2)):
        said = mod("make", game, tmp_path / "x.zip", "--name", "X", "--only", only, "--force")
        assert len(said.splitlines()) == count + 1, said
    assert "has no change" in mod("make", game, tmp_path / "y.zip", "--name", "Y", "--only", "two", code=2)
    assert not (tmp_path / "y.zip").exists()


def every_file(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_mod_has_what_a_killed_run_left(game: Path, tmp_path: Path, mod: Mod) -> None:
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
        before, said = every_file(mine), []
        for command in (["status"], ["list"], ["undo", "--dry-run"]):
            mod(command[0], mine, *command[1:])
            said.append(mod.warnings)
        assert every_file(mine) == before
        mod("make", mine, zipped, "--name", "M")
        was_stopped = "a run that was stopped" in mod.warnings
        ended += was_stopped
        line = "a run was stopped and its files may be half written (edit b); run it again"
        assert [line in one for one in said] == [was_stopped] * 3
        write(other / FILE, BEFORE)
        mod("install", zipped, other)
        assert (other / FILE).read_bytes() == (mine / FILE).read_bytes()
    assert ended


def test_a_conflict_names_both(game: Path, tmp_path: Path, mod: Mod) -> None:
    change(game, "out:1", {0: b"mine"})
    other = copy_of(game, tmp_path / "other")
    mod("make", game, tmp_path / "a.zip", "--name", "A")
    change(game, "out:1", {0: b"otherwise"})
    mod("make", game, tmp_path / "b.zip", "--name", "B")
    mod("install", tmp_path / "a.zip", other)
    before = snapshot(other)
    said = mod("install", tmp_path / "b.zip", other, code=2)
    assert f"{FILE}, entry one" in said
    assert "B and A both change it" in said
    shown = mod("show", tmp_path / "b.zip", other)
    assert "B and A both change it" in shown
    assert snapshot(other) == before


def test_another_edition_is_named(game: Path, tmp_path: Path, mod: Mod) -> None:
    change(game, "out:1", {0: b"mine"})
    other = copy_of(game, tmp_path / "other")
    patch(other, 0, b"of another edition")
    before = snapshot(other)
    mod("make", game, tmp_path / "a.zip", "--name", "A")
    assert "is not the one that A was made for" in mod("install", tmp_path / "a.zip", other, code=2)
    (other / FILE).unlink()
    said = mod("install", tmp_path / "a.zip", other, code=2)
    assert "the game has no such file, which the mod changes" in said
    assert before.keys() - snapshot(other).keys() == {FILE}


@pytest.mark.parametrize("damage", ["", "PK", "cut", "no description", "path", "absolute", "vault", "twice", "deep"])
def test_a_mod_that_is_none(damage: str, game: Path, tmp_path: Path, mod: Mod) -> None:
    """One line, nothing written anywhere."""
    change(game, "out:1", {0: b"mine"})
    other, file = copy_of(game, tmp_path / "other"), tmp_path / "a.zip"
    mod("make", game, file, "--name", "A")
    if damage in ("", "PK"):
        file.write_bytes(damage.encode())
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-30])
    else:
        with zipfile.ZipFile(file) as packed:
            held = {name: packed.read(name) for name in packed.namelist()}
        facts = json.loads(held["mod.json"])
        where = {"path": "../a.rlb", "absolute": f"{tmp_path}/a.rlb", "vault": f"{VAULT}/a.rlb"}
        if damage in where:
            facts["changes"][0] |= {"file": where[damage]}
        elif damage == "twice":
            facts["changes"] *= 2
        held["mod.json"] = b"[" * 10_000 if damage == "deep" else json.dumps(facts).encode()
        if damage == "no description":
            del held["mod.json"]
        with zipfile.ZipFile(file, "w") as packed:
            for name, data in held.items():
                packed.writestr(name, data)
    before = snapshot(tmp_path)
    said = mod("install", file, other, code=2)
    assert said.count("\n") == 1, said
    assert "internal error" not in said
    assert snapshot(tmp_path) == before


# ------------------------------------------------------------------ with the other commands


def test_the_command_itself(game: Path) -> None:
    """In a process of its own."""
    change(game, "out:1", {0: b"mine"})
    done = run("msh-mod", "restore", game)
    assert (done.returncode, done.stderr) == (0, "")
    assert (game / FILE).read_bytes() == BEFORE
    done = run("msh-mod", "nonsense")
    assert done.returncode == 2
    assert run("msh-mod", "--version").stdout.startswith("msh-gltf, version ")
    assert "msh-mod restore GAME" in run("msh-mod", "--help").stdout


def test_into_a_library_twice_and_back(
    game: Path, tmp_path: Path, mod: Mod, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each call is a transaction: the second picture over the first, back to the first, to none."""
    states = [(game / FILE).read_bytes()]
    for colour in ("red", "blue"):
        Image.new("RGB", (4, 4), colour).save(tmp_path / "wall.png")
        assert call(cli.gltf2msh, tmp_path / "wall.png", "--into", game / FILE) == 0
        assert f"msh-mod undo {game} takes it back" in capsys.readouterr().out
        states.append((game / FILE).read_bytes())
    mod("undo", game)
    assert (game / FILE).read_bytes() == states[1]
    mod("undo", game)
    assert (game / FILE).read_bytes() == states[0] == BEFORE
