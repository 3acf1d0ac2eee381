"""What a killed run left is completed or taken back, and nothing is lost by it."""

import json
import os
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game import vault
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.undo import restore, status
from msh_gltf.converter.game.vault import Vault
from tests.converter.game.test_vault import BEFORE, FILE, change, digest, game, give, record, row
from tests.support.game import snapshot, write
from tests.support.vault import VAULT, records

__all__ = ["game"]


@pytest.mark.parametrize("is_ready", [True, False])
@pytest.mark.parametrize("after", [b"", b"other"])
def test_an_intent_that_nobody_had_loses_nothing(is_ready: bool, after: bytes, game: Path) -> None:
    """Somebody else's, or one of before a restored copy of the game."""
    there = {FILE: BEFORE, "DATA/plain.bin": (game / "DATA/plain.bin").read_bytes()}
    files = {
        FILE: row(before=digest(BEFORE), after=digest(after) if after else ""),
        "DATA/plain.bin": row(before="", after=digest(there["DATA/plain.bin"])),
        "more": row(before="", after=digest(b"more")),
    }
    give(game, intent={"record": record(files), "order": list(files)})
    write(game / VAULT / "staged/0", after)
    if is_ready:
        write(game / VAULT / "staged/2", b"more")
    with GameEdits(game, "look", "nobody") as door:
        assert "has been" in door.messages[0]
    kept = {path.read_bytes() for path in (game / VAULT / "originals").iterdir()}
    for file, data in there.items():
        assert data in kept or (game / file).read_bytes() == data, file


def test_what_recovery_keeps_is_in_the_history(game: Path) -> None:
    """It takes back a run that nobody had: what it replaces can be had again, by ``restore --to``."""
    plain = (game / "DATA/plain.bin").read_bytes()
    write(game / VAULT / "originals" / digest(b"other"), b"other")
    files = {
        "DATA/plain.bin": row(before=digest(b"other"), after=digest(plain)),
        "more": row(before="", after=digest(b"more")),
    }
    give(game, intent={"record": record(files), "order": list(files)})
    with GameEdits(game, "look", "nobody") as door:
        assert door.messages == ["a run that was stopped (x) has been taken back"]
    assert (game / "DATA/plain.bin").read_bytes() == b"other"
    assert (digest(plain), "kept") in {(one.digest, one.what) for one in status(game).kept}
    with GameEdits(game, "restore", "msh-mod") as door:
        restore(door, ["DATA/plain.bin"], to=digest(plain))
        door.commit("restore")
    assert (game / "DATA/plain.bin").read_bytes() == plain


def test_a_run_that_was_taken_back_leaves_nothing(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (game / FILE).read_bytes()
    with monkeypatch.context() as dying:
        dying.setattr(Vault, "append", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            change(game, "out:1", {0: b"mine"})
    made = (game / FILE).read_bytes()
    assert made != before
    intent = json.loads((game / VAULT / "intent.json").read_text("utf-8"))
    intent["order"].append("missing")
    intent["record"]["files"]["missing"] = row(after="1" * 64)
    (game / VAULT / "intent.json").write_text(json.dumps(intent), "utf-8")
    with GameEdits(game, "look", "nobody") as door:
        assert "taken back" in door.messages[0]
    assert (game / FILE).read_bytes() == before
    assert os.listdir(game / VAULT / "originals") == [digest(before)]


def test_an_intent_that_cannot_be_removed_is_forgotten_later(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction is in the history: that is what counts."""
    with monkeypatch.context() as failing:
        failing.setattr(Path, "unlink", lambda *_, **__: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        assert change(game, "out:1", {0: b"mine"}) == [FILE]
    assert (game / VAULT / "intent.json").exists()
    assert change(game, "out:1", {0: b"mine"}) == []
    assert not (game / VAULT / "intent.json").exists()
    assert len(records(game)) == 1


def test_a_history_that_cannot_be_kept_has_no_line(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fails after the first line was written: nothing was changed, and nothing says so."""
    sync = vault.sync_directory

    def failing(path: Path) -> None:
        if path.name == "edits.jsonl":
            raise ConversionError("cannot be written (Input/output error)", file=str(path))
        sync(path)

    with monkeypatch.context() as disk:
        disk.setattr(vault, "sync_directory", failing)
        with pytest.raises(ConversionError, match="cannot be written"):
            change(game, "out:1", {0: b"mine"})
    assert (game / FILE).read_bytes() == BEFORE
    assert records(game) == []
    assert change(game, "out:1", {0: b"mine"}) == [FILE]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"record": 1, "order": []}', "[" * 10_000, "\0", '{"order": ["x"]}'])
def test_a_broken_intent_is_named(text: str, game: Path) -> None:
    give(game)
    (game / VAULT / "intent.json").write_text(text, "utf-8")
    before = snapshot(game)
    with pytest.raises(ConversionError, match=r"intent\.json"):
        change(game, "out:1", {0: b"mine"})
    assert snapshot(game) == before
