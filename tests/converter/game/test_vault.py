"""The door into a game and its vault: nothing is lost, and a vault that lies is refused."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, replace_entry
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.history import Layer
from msh_gltf.converter.game.undo import restore, status, undo
from msh_gltf.converter.game.vault import find_root
from tests.support.game import archive, entry, snapshot, write
from tests.support.vault import VAULT, originals, records

TEST = int.from_bytes(b"TEST", "little")
FILE = "a.rlb"
#: Its second and third entry share a name; forgotten bytes lie after the last one.
BEFORE = archive(
    [entry(TEST, name, name * 9) for name in (b"one", b"two", b"two", b"four")], forgotten=b"\1forgotten\xff"
)


@pytest.fixture
def game(tmp_path: Path) -> Path:
    write(tmp_path / "game" / FILE, BEFORE)
    write(tmp_path / "game/DATA/plain.bin", b"a file that is no archive")
    write(tmp_path / "outside.txt", b"nobody's")
    return tmp_path / "game"


def change(
    game: Path,
    owner: str,
    entries: Mapping[int, bytes] | None = None,
    *,
    new: Mapping[bytes, bytes] | None = None,
    file: str = FILE,
    seen: int = 0,
) -> list[str]:
    """An output directory shows these edits of an archive and no other; what was written.

    Args:
        game: the folder with the vault.
        entries: new bytes by directory index.
        new: new entries.
        seen: the last transaction that the output directory shows.
    """

    def mine(layer: Layer) -> bool:
        return layer.owner == owner and layer.number > seen

    with GameEdits(game, f"edit {owner}", owner) as door:
        now = door.was(file, mine)
        assert now is not None
        made = read_nres(now, file)
        for index, data in (entries or {}).items():
            made = replace_entry(made, index, data)
        for name, data in (new or {}).items():
            made = add_entry(made, name, TEST, data)
        door.put(file, write_nres(made), mine, item=f"{file}.glb")
        return door.commit()


def entries(game: Path, file: str = FILE) -> list[bytes]:
    return [bytes(one.payload) for one in read_nres((game / file).read_bytes(), file).entries]


def patch(game: Path, index: int, data: bytes, file: str = FILE) -> bytes:
    """Another program replaces an entry; the file that it made."""
    made = write_nres(replace_entry(read_nres((game / file).read_bytes(), file), index, data))
    (game / file).write_bytes(made)
    return made


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


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
    return [number, owner, "x", [name, nth], "", digest(b"nobody's"), [None] * attributes, stored]


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

    return [
        lambda: status(game),
        lambda: change(game, "out:1"),
        lambda: change(game, "out:1", {0: b"mine"}),
        taking_back,
        restoring,
    ]


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
    path, mine = path.replace("{tmp}", tmp_path.as_posix()), digest(b"nobody's")
    other = row(after=mine, added=[layer()])
    if how == "changed":
        other = row(base=digest(BEFORE), before=digest(BEFORE), after=mine, added=[layer()])
        write(game / VAULT / "originals" / digest(BEFORE), BEFORE)
    if how == "intent":
        given = record({path: row(base=mine, before=mine)})
        give(game, intent={"record": given, "order": [path]})
    elif how == "taken back":
        missing = row(before=digest(BEFORE), after="1" * 64)
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
    return (game / FILE).read_bytes() == BEFORE or digest(BEFORE) in there


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
}


@pytest.mark.parametrize("what", BAD)
def test_a_record_that_is_none_is_named(what: str, game: Path) -> None:
    give(game, record({}) | BAD[what])
    before = snapshot(game)
    for act in everything(game):
        with pytest.raises(ConversionError, match="history of changes is damaged"):
            act()
    assert snapshot(game) == before


def test_numbers_grow(game: Path) -> None:
    give(game, record({}), record({}, number=1))
    with pytest.raises(ConversionError, match="history of changes is damaged"):
        status(game)


@pytest.mark.parametrize("stored", ["../../../outside.txt", "", "0" * 64, "F" * 64, "x" * 10_000])
def test_digests_are_no_paths(stored: str, game: Path, tmp_path: Path) -> None:
    now = digest(BEFORE)
    facts = row(base=stored or "0" * 64, before=now, after=now, added=[layer(stored)])
    give(game, record({FILE: facts}))
    before = snapshot(tmp_path)
    for act in everything(game)[1:]:
        with pytest.raises(ConversionError):
            act()
    assert snapshot(tmp_path) == before


def test_a_kept_file_that_is_another_one_is_named(game: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    (game / VAULT / "originals" / digest(BEFORE)).write_bytes(BEFORE[:-1])
    before = snapshot(game)
    for act in everything(game)[1:]:
        with pytest.raises(ConversionError, match="its content is not what its name says"):
            act()
    assert snapshot(game) == before


def test_a_file_that_the_history_calls_ours_is_kept_before_it_goes(game: Path) -> None:
    """A vault that says that an edit made the game's own file, or wrote it."""
    plain = (game / "DATA/plain.bin").read_bytes()
    write(game / VAULT / "originals" / digest(b"other"), b"other")
    made = row(after=digest(plain), added=[layer()])
    wrote = row(base=digest(b"other"), before=digest(b"other"), after=digest(BEFORE), added=[layer()])
    give(game, record({"DATA/plain.bin": made, FILE: wrote}))
    with GameEdits(game, "restore", "msh-mod") as door:
        restore(door)
        door.commit("restore")
    assert (game / FILE).read_bytes() == b"other"
    for data in (plain, BEFORE):
        assert (game / VAULT / "originals" / digest(data)).read_bytes() == data


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
    change(game, "out:1", {0: b"mine"})
    steps = [".", "originals/*.tmp", "originals", "changes/*.tmp", "changes", "staged/*.tmp", "staged", "*.tmp"]
    assert synced == [*steps, ".msh-gltf", ".", "*.jsonl", ".msh-gltf"]
