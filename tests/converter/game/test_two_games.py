"""Files of two games in one go are written into both or none; and what disks cannot do is said."""

import errno
import json
import shutil
import sys
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.games import Games, write_files
from msh_gltf.converter.game.vault import Vault
from tests.support.game import archive, snapshot, write
from tests.support.runs import call, require


@pytest.fixture
def games(tmp_path: Path) -> list[Path]:
    roots = [tmp_path / name for name in ("first", "second")]
    for root in roots:
        write(root / "objects.rlb", archive([]))
        write(root / "Plain.txt", b"as it was")
    return roots


def files(games: list[Path]) -> list[tuple[Path, bytes]]:
    return [(root / "Plain.txt", b"changed") for root in games]


def test_where_the_second_game_cannot_be_written_the_first_is_as_it_was(games: list[Path]) -> None:
    (games[1] / ".msh-gltf").write_bytes(b"in the way")
    before = snapshot(games[1])
    with pytest.raises(ConversionError, match="second"):
        write_files(files(games), True, "gltf2msh")
    assert (games[0] / "Plain.txt").read_bytes() == b"as it was"
    assert snapshot(games[1]) == before
    assert Vault(games[0]).records() == []


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize("killed", [0, 1])
def test_a_run_that_is_killed_between_two_games_is_ended_in_both(
    games: list[Path], monkeypatch: pytest.MonkeyPatch, killed: int, is_moved: bool
) -> None:
    killed_at(monkeypatch, games[killed])
    with pytest.raises(KeyboardInterrupt):
        write_files(files(games), True, "gltf2msh")
    monkeypatch.undo()
    assert [len(Vault(root).records()) for root in games] == [0, 1 - killed]
    if is_moved:
        (away := games[0].with_name("away")).mkdir()
        games = [root.rename(away / root.name) for root in games]
    with GameEdits(games[0], "look", "nobody") as door:
        assert door.messages == ["a run that was stopped (gltf2msh) has been completed, here and in ../second"]
    with GameEdits(games[1], "look", "nobody") as door:
        assert door.messages == ["a run that was stopped (gltf2msh) has been completed"] * killed
    assert [(root / "Plain.txt").read_bytes() for root in games] == [b"changed"] * 2
    assert len({record["run"] for root in games for record in Vault(root).records()}) == 1


@pytest.mark.parametrize("other", ["no part", "another run", "a circle"])
def test_a_run_whose_other_game_has_no_part_in_it_is_taken_back(
    games: list[Path], monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """It is not there, at another run, or waits for this one."""
    killed_at(monkeypatch, games[other != "no part"])
    with pytest.raises(KeyboardInterrupt):
        write_files(files(games), True, "gltf2msh")
    monkeypatch.undo()
    intent = games[1] / ".msh-gltf/intent.json"
    match other:
        case "another run":
            intent.write_text(intent.read_text().replace('"run":"', '"run":"0'))
        case "a circle":
            intent.write_text(json.dumps({**json.loads(intent.read_text()), "beside": "../second"}))
        case "no part":
            games[1].rename(games[1].with_name("elsewhere"))
    with GameEdits(games[0], "look", "nobody") as door:
        assert "has been taken back, here and in ../second" in door.messages[0]
    assert (games[0] / "Plain.txt").read_bytes() == b"as it was"


def killed_at(monkeypatch: pytest.MonkeyPatch, root: Path, error: BaseException | None = None) -> None:
    """Let the process die, or the disk fail, when the history of a game is to say that all is done."""
    append = Vault.append

    def stopped(vault: Vault, record: dict[str, object]) -> None:
        if vault.root == root:
            raise error or KeyboardInterrupt
        append(vault, record)

    monkeypatch.setattr(Vault, "append", stopped)


def test_where_the_history_cannot_be_written_after_the_second_game_the_next_run_does_it(
    games: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at(monkeypatch, games[0], ConversionError("cannot be written (No space left on device)"))
    with pytest.raises(ConversionError, match="both games are written; the next run on this one"):
        write_files(files(games), True, "gltf2msh")
    monkeypatch.undo()
    assert call(cli.msh_mod, "undo", games[0]) == 0
    assert [(root / "Plain.txt").read_bytes() for root in games] == [b"as it was", b"changed"]


def test_what_does_not_fit_is_found_before_the_first_game_is_written(
    games: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(door: GameEdits) -> dict[str, bytes | None]:
        if door.vault.root == games[1]:
            raise ConversionError("does not fit")
        return {}

    with Games("gltf2msh", "me") as opened:
        for path, data in files(games):
            opened.put(path, data)
        monkeypatch.setattr(GameEdits, "planned", planned)
        with pytest.raises(ConversionError, match="does not fit"):
            opened.commit()
    assert [(root / "Plain.txt").read_bytes() for root in games] == [b"as it was"] * 2


def test_a_disk_without_locks_is_named_before_anything_is_written(
    games: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require(sys.platform != "win32", "Windows locks bytes")
    import fcntl

    write_files(files(games[:1]), True, "gltf2msh")
    mod = games[0].with_name("the.zip")
    assert call(cli.msh_mod, "make", games[0], mod, "--name", "M") == 0

    def flock(handle: int, flags: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    def no_more(vault: Vault, *arguments: object) -> None:
        assert "the disk has no locks: start no other run" in capsys.readouterr().err
        raise ConversionError("stops here")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert call(cli.msh_mod, "install", mod, games[1]) == 0
    assert "the disk has no locks" in capsys.readouterr().err
    shutil.rmtree(games[1] / ".msh-gltf")
    (games[1] / "Plain.txt").write_bytes(b"as it was")
    monkeypatch.setattr(Vault, "make", no_more)
    assert call(cli.msh_mod, "install", mod, games[1]) == 2
