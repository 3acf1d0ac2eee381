"""The door into a game and its vault: nothing is lost, what lies is refused, what a killed run left is ended."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.game import vault
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.undo import restore, status, undo
from msh_gltf.converter.game.vault import Vault, find_root
from tests.support.game import SMALL as BEFORE
from tests.support.game import digest_of, small_game, snapshot, write
from tests.support.vault import VAULT, originals, records

FILE = "a.rlb"


@pytest.fixture
def game(tmp_path: Path) -> Path:
    small_game(tmp_path / "game")
    write(tmp_path / "outside.txt", b"nobody's")
    return tmp_path / "game"


def change(game: Path, edit: tuple[int, bytes] | None = (0, b"mine"), owner: str = "out:1") -> list[str]:
    """An output directory shows this edit of an entry and no other; the files that are written."""
    with GameEdits(game, f"edit {owner}", owner) as door:
        made = read_nres(door.was(FILE, lambda layer: layer.owner == owner) or b"", FILE)
        made = replace_entry(made, *edit) if edit else made
        door.put(FILE, write_nres(made), lambda layer: layer.owner == owner, item=f"{FILE}.glb")
        return door.commit()


# ------------------------------------------------------------------ what is, and what was


def test_where_the_vault_lies(tmp_path: Path) -> None:
    """With the game, with the nearest vault, else beside the file."""
    root = tmp_path / "game"
    write(root / "DATA/MAPS/M1/Land.msh", b"")
    assert find_root(root / "DATA/MAPS/M1/Land.msh") == root / "DATA/MAPS/M1"
    write(root / "Objects.RLB", b"")
    assert find_root(root / "DATA/MAPS/M1/Land.msh") == root
    (root / "DATA" / VAULT).mkdir()
    assert find_root(root / "DATA/MAPS") == root / "DATA"
    assert find_root(root / "static.rlb") == root


# ------------------------------------------------------------------ a vault that lies


def row(**other: Any) -> dict[str, Any]:
    return {"base": "", "before": "", "after": "", "added": [], "removed": [], "lost": [], **other}


def record(files: dict[str, Any], **other: Any) -> dict[str, Any]:
    about = {"number": 1, "time": "", "command": "x", "owner": "out:1", "kind": "edit"}
    return {**about, "files": files, **other}


def layer(
    stored: str = "0" * 64, number: int = 1, name: str = "", nth: int = 0, owner: object = "out:1", attributes: int = 4
) -> list[Any]:
    return [number, owner, "x", [name, nth], "", digest_of(b"nobody's"), [None] * attributes, stored]


def give(game: Path, *found: dict[str, Any], intent: dict[str, Any] | None = None) -> None:
    """A game with a vault of somebody's making."""
    for name in ("originals", "changes"):
        (game / VAULT / name).mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(one) + "\n" for one in found)
    (game / VAULT / "edits.jsonl").write_text(lines, "utf-8")
    if intent is not None:
        (game / VAULT / "intent.json").write_text(json.dumps(intent), "utf-8")


def everything(game: Path) -> list[Callable[[], object]]:
    """All that a user may do with a game."""

    def taking_back() -> None:
        with GameEdits(game, "undo", "msh-mod") as door:
            door.commit("undo", undoes=undo(door))

    def restoring() -> None:
        with GameEdits(game, "restore", "msh-mod") as door:
            restore(door)
            door.commit("restore")

    return [lambda: status(game), lambda: change(game, None), lambda: change(game), taking_back, restoring]


def in_one_line(act: Callable[[], object]) -> None:
    """Do what may be refused, in one line."""
    said = ""
    try:
        act()
    except ConversionError as error:
        said = str(error)
    assert "\n" not in said


PATHS = [
    "../outside.txt",
    "DATA/../../outside.txt",
    "/etc/hostname",
    "{tmp}/outside.txt",
    "link/outside.txt",
    ".msh-gltf/edits.jsonl",
    ".MSH-GLTF/README.txt",
    "./a.rlb",
    "",
    "a\0b",
    "..",
    "DATA/..",
    "DATA/.msh-gltf/x",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("how", ["made", "changed", "intent", "taken back"])
def test_no_record_leads_out_of_the_game(path: str, how: str, game: Path, tmp_path: Path) -> None:
    if sys.platform != "win32":
        (game / "link").symlink_to(tmp_path)
    path, mine = path.replace("{tmp}", tmp_path.as_posix()), digest_of(b"nobody's")
    other = row(after=mine, added=[layer()])
    if how == "changed":
        other = row(base=digest_of(BEFORE), before=digest_of(BEFORE), after=mine, added=[layer()])
        write(game / VAULT / "originals" / digest_of(BEFORE), BEFORE)
    if how == "intent":
        given = record({path: row(base=mine, before=mine)})
        give(game, intent={"record": given, "order": [path]})
    elif how == "taken back":
        missing = row(before=digest_of(BEFORE), after="1" * 64)
        files = {path: other, FILE: missing}
        give(game, intent={"record": record(files), "order": list(files)})
    else:
        give(game, record({path: other}))
    before, kept = snapshot(tmp_path), sorted((game / VAULT).rglob("*"))
    for act in everything(game):
        in_one_line(act)
        now = snapshot(tmp_path)
        assert now.keys() == before.keys()
        assert {n for n in now if now[n] != before[n]} <= {f"game/{FILE}"}
    assert {*kept} <= {*(game / VAULT).rglob("*"), game / VAULT / "intent.json"}
    assert original_is_kept(game)


def original_is_kept(game: Path) -> bool:
    there = {path.name for path in (game / VAULT / "originals").glob("*")}
    return (game / FILE).read_bytes() == BEFORE or digest_of(BEFORE) in there


BAD = {
    "a number": {"number": "1"},
    "a huge number": {"number": 10**30},
    "a number that the next one cannot follow": {"number": 2**32 - 1},
    "a number below": {"number": -1},
    "no files": {"files": None},
    "files that are a list": {"files": [1]},
    "a digest": {"files": {FILE: row(after=5)}},
    "a digest of a base": {"files": {FILE: row(base_before=5)}},
    "layers": {"files": {FILE: row(added=[[1, 2]])}},
    "a layer's number": {"files": {FILE: row(added=[layer(number=2**40)])}},
    "a layer's place": {"files": {FILE: row(added=[layer(nth=-1)])}},
    "a layer's attributes": {"files": {FILE: row(added=[layer(attributes=3)])}},
    "a layer's owner": {"files": {FILE: row(added=[layer(owner=1)])}},
    "a layer's name": {"files": {FILE: row(added=[layer(name="zz")])}},
    "undoes": {"undoes": [1]},
    "a number that was": {},
}


@pytest.mark.parametrize("what", BAD)
def test_a_record_that_is_none_is_named(what: str, game: Path) -> None:
    give(game, *[record({})] * (not BAD[what]), record({}) | BAD[what])
    before = snapshot(game)
    for act in everything(game):
        with pytest.raises(ConversionError, match="history of changes is damaged"):
            act()
    assert snapshot(game) == before


@pytest.mark.parametrize("stored", ["../../../outside.txt", "", "0" * 64, "F" * 64, "x" * 10_000])
def test_digests_are_no_paths(stored: str, game: Path, tmp_path: Path) -> None:
    now = digest_of(BEFORE)
    facts = row(base=stored or "0" * 64, before=now, after=now, added=[layer(stored)])
    give(game, record({FILE: facts}))
    before = snapshot(tmp_path)
    for act in everything(game)[1:]:
        with pytest.raises(ConversionError):
            act()
    assert snapshot(tmp_path) == before


def test_a_file_that_the_history_calls_ours_is_kept_before_it_goes(game: Path) -> None:
    """A vault that says that an edit made the game's own file, or wrote it."""
    plain = (game / "DATA/plain.bin").read_bytes()
    write(game / VAULT / "originals" / digest_of(b"other"), b"other")
    made = row(after=digest_of(plain), added=[layer()])
    wrote = row(base=digest_of(b"other"), before=digest_of(b"other"), after=digest_of(BEFORE), added=[layer()])
    give(game, record({"DATA/plain.bin": made, FILE: wrote}))
    with GameEdits(game, "restore", "msh-mod") as door:
        restore(door)
        door.commit("restore")
    assert (game / FILE).read_bytes() == b"other"
    for data in (plain, BEFORE):
        assert (game / VAULT / "originals" / digest_of(data)).read_bytes() == data


FOLDERS = ("originals", "changes", "staged")
FILES = ("edits.jsonl", "intent.json", "writer", "README.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("name", ["", *FOLDERS, *FILES])
@pytest.mark.parametrize("to", ["there", "nothing"])
def test_links_in_the_vault_are_not_followed(name: str, to: str, game: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    if name in FILES:
        (tmp_path / "there").rmdir()
        write(tmp_path / "there", b"")
    give(game)
    place = game / VAULT / name
    if place.is_dir():
        for path in sorted(place.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        place.rmdir()
    else:
        place.unlink(missing_ok=True)
    place.symlink_to(tmp_path / to)
    outside = {n: d for n, d in snapshot(tmp_path).items() if not n.startswith("game")}
    for act in everything(game):
        in_one_line(act)
        assert {n: d for n, d in snapshot(tmp_path).items() if not n.startswith("game")} == outside
    assert os.listdir(tmp_path / "there") == [] if (tmp_path / "there").is_dir() else True
    if (game / FILE).read_bytes() != BEFORE:
        assert originals(game) == {FILE: BEFORE}
        assert records(game)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_a_transaction_writes_is_on_the_disk(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file before it has its name, and its name before the next step: a power cut loses none."""
    synced: list[str] = []

    def fsync(handle: int, sync: Callable[[int], None] = os.fsync) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        place = path if path.is_dir() else path.parent / f"*{path.suffix}"
        synced.append(place.relative_to(game).as_posix().removeprefix(".msh-gltf/"))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    change(game)
    steps = [".", "originals/*.tmp", "originals", "changes/*.tmp", "changes", "staged/*.tmp", "staged", "*.tmp"]
    assert synced == [*steps, ".msh-gltf", ".", "*.jsonl", ".msh-gltf"]


# ------------------------------------------------------------------ what a killed run left


@pytest.mark.parametrize("is_ready", [True, False])
@pytest.mark.parametrize("after", [b"", b"other"])
def test_an_intent_that_nobody_had_loses_nothing(is_ready: bool, after: bytes, game: Path) -> None:
    """Somebody else's, or one of before a restored copy of the game."""
    there = {FILE: BEFORE, "DATA/plain.bin": (game / "DATA/plain.bin").read_bytes()}
    files = {
        FILE: row(before=digest_of(BEFORE), after=digest_of(after) if after else ""),
        "DATA/plain.bin": row(before="", after=digest_of(there["DATA/plain.bin"])),
        "more": row(before="", after=digest_of(b"more")),
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
    write(game / VAULT / "originals" / digest_of(b"other"), b"other")
    files = {
        "DATA/plain.bin": row(before=digest_of(b"other"), after=digest_of(plain)),
        "more": row(before="", after=digest_of(b"more")),
    }
    give(game, intent={"record": record(files), "order": list(files)})
    with GameEdits(game, "look", "nobody") as door:
        assert door.messages == ["a run that was stopped (x) has been taken back"]
    assert (game / "DATA/plain.bin").read_bytes() == b"other"
    assert (digest_of(plain), "kept") in {(one.digest, one.what) for one in status(game).kept}
    with GameEdits(game, "restore", "msh-mod") as door:
        restore(door, ["DATA/plain.bin"], to=digest_of(plain))
        door.commit("restore")
    assert (game / "DATA/plain.bin").read_bytes() == plain


def test_a_run_that_was_taken_back_leaves_nothing(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (game / FILE).read_bytes()
    with monkeypatch.context() as dying:
        dying.setattr(Vault, "append", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            change(game)
    made = (game / FILE).read_bytes()
    assert made != before
    intent = json.loads((game / VAULT / "intent.json").read_text("utf-8"))
    intent["order"].append("missing")
    intent["record"]["files"]["missing"] = row(after="1" * 64)
    (game / VAULT / "intent.json").write_text(json.dumps(intent), "utf-8")
    with GameEdits(game, "look", "nobody") as door:
        assert "taken back" in door.messages[0]
    assert (game / FILE).read_bytes() == before
    assert os.listdir(game / VAULT / "originals") == [digest_of(before)]


def test_an_intent_that_cannot_be_removed_is_forgotten_later(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction is in the history: that is what counts."""
    with monkeypatch.context() as failing:
        failing.setattr(Path, "unlink", lambda *_, **__: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        assert change(game) == [FILE]
    assert (game / VAULT / "intent.json").exists()
    assert change(game) == []
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
            change(game)
    assert (game / FILE).read_bytes() == BEFORE
    assert records(game) == []
    assert change(game) == [FILE]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"record": 1, "order": []}', "[" * 10_000, "\0", '{"order": ["x"]}'])
def test_a_broken_intent_is_named(text: str, game: Path) -> None:
    give(game)
    (game / VAULT / "intent.json").write_text(text, "utf-8")
    before = snapshot(game)
    with pytest.raises(ConversionError, match=r"intent\.json"):
        change(game)
    assert snapshot(game) == before
