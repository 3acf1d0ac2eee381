"""Files of two games in one go are written into both or none; and what disks cannot do is said."""

from __future__ import annotations

import errno
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
    assert [record["kind"] for record in Vault(games[0]).records()] == ["edit", "undo"]


def test_what_cannot_be_taken_back_is_named(games: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (games[1] / ".msh-gltf").write_bytes(b"in the way")

    def full(*_: object) -> int:
        raise ConversionError("cannot be written (No space left on device)")

    monkeypatch.setattr("msh_gltf.converter.game.games.undo", full)
    with pytest.raises(ConversionError, match=r"first/Plain\.txt: written already, and not taken back \(cannot"):
        write_files(files(games), True, "gltf2msh")
    assert (games[0] / "Plain.txt").read_bytes() == b"changed"
    monkeypatch.undo()
    assert call(cli.msh_mod, "undo", games[0]) == 0
    assert (games[0] / "Plain.txt").read_bytes() == b"as it was"


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


def test_a_file_is_restored_by_its_name_in_any_case(games: list[Path]) -> None:
    write_files(files(games[:1]), True, "gltf2msh")
    assert call(cli.msh_mod, "restore", games[0], "PLAIN.TXT") == 0
    assert (games[0] / "Plain.txt").read_bytes() == b"as it was"


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
