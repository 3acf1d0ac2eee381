"""Random sequences of everything that happens to a game, judged by copies of it.

What is written, undone and restored is compared with copies of the game's files that the machine
keeps itself; it reads nothing of the vault but the numbers of transactions and which states of files
are kept.
"""

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, replace_entry
from msh_gltf.converter.formats.wear import WEAR_TYPE
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.undo import restore, status, undo
from msh_gltf.converter.game.vault import Vault
from tests.converter.game.others import (
    ARCHIVES,
    MADE,
    NAMES,
    NEW,
    OWNERS,
    PLAIN,
    ROWS,
    TEST,
    Others,
    kills,
    payloads,
    with_row,
)
from tests.converter.game.stopping import Killed, stopped_at
from tests.support.game import MEMORY, archive, content, digest_of, entry, files_of

Files = dict[str, bytes]


def assert_wanted(after: Files, wanted: dict[str, bytes | None]) -> None:
    """The game is as an edit wants it."""
    for file, data in wanted.items():
        assert content(after.get(file)) == content(data), file


class Game(Others):
    """A game of two archives and a plain file, several output directories, another program."""

    @initialize(seed=st.integers(0, 3))
    def make(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.root, self.vault = self.folder / "game", self.folder / "game/.msh-gltf"
        (self.root / "DATA").mkdir(parents=True)
        for number, path in enumerate(ARCHIVES):
            entries = [entry(TEST, name, bytes([i + number]) * (7 * i + seed)) for i, name in enumerate(NAMES[:-1])]
            entries.append(entry(WEAR_TYPE, NAMES[-1], ROWS))
            (self.root / path).write_bytes(archive(entries, forgotten=b"\x01gap\xff"))
        (self.root / PLAIN).write_bytes(b"plain file" * (seed + 1))
        (self.root / "objects.rlb").write_bytes(archive([]))
        (self.folder / "outside.txt").write_bytes(b"nobody's")
        self.original = self.files()
        #: Files that another program changed at some time.
        self.foreign: set[str] = set()
        #: What another program wrote into which entry.
        self.theirs: set[tuple[str, tuple[bytes, int]]] = set()
        #: What each file holds without our changes; ``None``: the machine cannot tell.
        self.without: dict[str, dict | None] = {file: content(data) for file, data in self.original.items()}
        #: The game and ``without``, before and after each transaction.
        self.done: dict[int, tuple[Files, Files, dict, dict]] = {}
        #: Every state of the game that was there after a step.
        self.seen: list[Files] = [self.original]

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------ what the machine knows

    def files(self) -> Files:
        return files_of(self.root)

    def version(self, file: str, digest: str) -> bytes:
        """A version of a file that was in the game."""
        return next(files[file] for files in self.seen if file in files and digest_of(files[file]) == digest)

    def owners(self, file: str) -> set[str]:
        """Whose changes are in force in a file."""
        return {one.owner for one in status(self.root).changes if one.file == file}

    def stored(self) -> set[str]:
        """The names of the differences in the vault."""
        folder = self.vault / "changes"
        return set(os.listdir(folder)) if folder.is_dir() else set()

    def last(self) -> dict:
        """The last transaction."""
        return ((Vault(self.root).records() if self.vault.exists() else [])[-1:] or [{"number": 0, "kind": ""}])[0]

    def note_done(self, before: Files, without: dict | None = None) -> bool:
        """Remember a transaction, if there was one; what a killed run left is ended first."""
        if (self.vault / "intent.json").exists():
            with GameEdits(self.root, "status", "nobody"):
                pass
        number, known = self.last()["number"], max(self.done, default=0)
        assert number in (known, known + 1)
        if number > known:
            was = self.without
            self.without = {**was, **(without or {})}
            self.done[number] = before, self.files(), was, self.without
        return number > known

    # ------------------------------------------------------------------ what is done here

    @rule(
        owner=st.sampled_from(OWNERS),
        edits=st.lists(
            st.tuples(st.sampled_from(ARCHIVES), st.integers(0, len(NAMES) - 1), st.none() | payloads), max_size=3
        ),
        new=st.none() | st.tuples(st.sampled_from(ARCHIVES), st.sampled_from(NEW), payloads),
        plain=st.none() | payloads,
        made=st.none() | payloads,
        stop=kills,
        how=st.sampled_from(
            ["fails", "is killed", "is killed, ready is lost", "is killed, ready and changes are lost"]
        ),
    )
    def edit(self, owner: str, edits: list, new, plain, made, stop, how: str) -> None:
        """An output directory shows these edits and no other."""
        before, changes = self.files(), self.stored()
        wanted: dict[str, bytes | None] = {}

        def mine(layer) -> bool:
            return layer.owner == owner

        try:
            with GameEdits(self.root, "edit", owner) as door:
                for file in ARCHIVES:
                    now = door.was(file, mine)
                    if file not in self.foreign and self.owners(file) <= {owner}:
                        assert now == self.original[file]
                    if now is None:
                        continue
                    archive = read_nres(now, file)
                    for path, index, payload in edits:
                        if path == file and index < len(archive.entries):
                            as_it_was = read_nres(self.original[file], file).entries[index].payload
                            if payload is not None and index == len(NAMES) - 1:
                                payload = with_row(archive.entries[index].payload, payload)
                            archive = replace_entry(archive, index, as_it_was if payload is None else payload)
                    if new is not None and new[0] == file and archive.find(new[1]) is None:
                        archive = add_entry(archive, new[1], TEST, new[2])
                    wanted[file] = write_nres(archive)
                    door.put(file, wanted[file], mine, item="x.glb")
                for file, data in ((PLAIN, plain), (MADE, made)):
                    wanted[file] = data if data is not None else door.was(file, mine)
                    door.put(file, wanted[file], mine)
                with stopped_at(stop, OSError if how == "fails" else Killed):
                    wrote = door.commit()
        except Killed:
            if "ready" in how:
                shutil.rmtree(self.vault / "staged", ignore_errors=True)
            intent = Vault(self.root).intent() if self.vault.exists() else None
            if "changes" in how and intent and intent["record"]["number"] > self.last()["number"]:
                for name in self.stored() - changes:
                    (self.vault / "changes" / name).unlink()
            self.note_done(before)
            if (after := self.files()) != before:
                assert_wanted(after, wanted)
            return
        except ConversionError:
            assert self.files() == before
            assert not self.note_done(before)
            return
        assert self.note_done(before) >= bool(wrote)
        assert_wanted(self.files(), wanted)

    @rule(nth=st.none() | st.integers(1, 4), kill=kills)
    def take_back(self, nth: int | None, kill: int | None) -> None:
        """``msh-mod undo``: exact, or refused."""
        before, number = self.files(), None
        is_last = self.done and (nth == 1 or (nth is None and self.last()["kind"] not in ("undo", "recovery")))
        exact = is_last and self.done[max(self.done)][1] == before
        try:
            with GameEdits(self.root, "undo", "msh-mod") as door:
                number = undo(door, None if nth is None else max(self.done, default=0) + 1 - nth)
                with stopped_at(kill, Killed):
                    door.commit("undo", undoes=number)
        except Killed:
            pass
        except ConversionError as error:
            assert self.files() == before
            assert not exact
            known = "has no change to take back" not in str(error)  # then nothing is in force
            assert known or self.foreign or before == self.original
            self.assert_says_why(str(error), max(self.done, default=0) + 1 - (nth or 0))
            return
        _, made, was, became = self.done[number]
        without = {
            file: value for file, value in was.items() if value != became[file] or before.get(file) == made.get(file)
        }
        if self.note_done(before, without):
            self.assert_taken_back(number, before)
        else:
            assert kill is not None
            assert self.files() == before

    def assert_says_why(self, error: str, number: int) -> None:
        """A refused undo names the later change that is in force where this one changed something."""
        if self.foreign or number not in self.done or "already" in error:
            return
        was, became, *_ = self.done[number]
        later = {(one.file, one.entry) for one in status(self.root).changes if one.number > number}
        for file in {*was, *became}:
            old, new = content(was.get(file)), content(became.get(file))
            changed = {name for name, nth in {*old, *new} if old.get((name, nth)) != new.get((name, nth))}
            if any((file, name.decode("cp1251")) in later for name in changed - {b"same"}):
                assert "changed it later" in error

    def assert_taken_back(self, number: int, now: Files) -> None:
        """What a transaction changed is as it was, and all else as it is."""
        was, became, *_ = self.done[number]
        after = self.files()
        for file in {*was, *became, *now, *after}:
            if now.get(file) == became.get(file):  # nobody changed it since: byte for byte
                assert after.get(file) == was.get(file), file
                continue
            old, made, there, done = (content(files.get(file)) for files in (was, became, now, after))
            for slot in {*old, *made, *there, *done}:
                if old.get(slot) == made.get(slot):
                    assert done.get(slot) == there.get(slot), (file, slot)
                elif (file, slot) not in self.theirs:
                    assert done.get(slot) == old.get(slot), (file, slot)

    @rule(file=st.sampled_from([*ARCHIVES, PLAIN, MADE, None]), kill=kills)
    def restored(self, file: str | None, kill: int | None) -> None:
        """``msh-mod restore``: the original, where nobody else changed the file."""
        known = {one.file for one in status(self.root).kept}
        if file is not None and file not in known:
            return
        before = self.files()
        files = [one for one in (*ARCHIVES, PLAIN) if one in known and file in (one, None)]
        first = {one.file: one.digest for one in status(self.root).kept if one.what == "original"}
        gone = {one: content(self.version(one, first[one])) for one in files if one not in before and one in first}
        try:
            with GameEdits(self.root, "restore", "msh-mod") as door:
                restore(door, None if file is None else [file])
                with stopped_at(kill, Killed):
                    door.commit("restore")
        except Killed:
            self.note_done(before, gone)
            return
        self.note_done(before, gone)
        after = self.files()
        for path in files:
            without = self.without[path]
            if path in gone:
                assert digest_of(after[path]) == first[path]
            elif path not in self.foreign:
                assert after[path] == self.original[path]
            elif without is not None:
                found = content(after.get(path))
                assert found.keys() == without.keys()
                assert all(value in (None, found[slot]) for slot, value in without.items())
        if file in (None, MADE) and MADE not in self.foreign:
            assert MADE not in after

    @rule(file=st.sampled_from(ARCHIVES))
    def any_state_can_be_had(self, file: str) -> None:
        """``restore --to``: every state that was ever kept."""
        states = [one.digest for one in status(self.root).kept if one.file == file]
        for digest in states:
            before = self.files()
            with GameEdits(self.root, "restore", "msh-mod") as door:
                restore(door, [file], to=digest)
                door.commit("restore")
            data = (self.root / file).read_bytes()
            assert digest_of(data) == digest
            assert self.files() == {**before, file: data}
            self.note_done(before, {file: content(data)})
            if data != self.original[file]:
                self.foreign.add(file)
        if states and file not in self.foreign:
            assert states[0] == digest_of(self.original[file])

    @rule(opened=st.sets(st.sampled_from(ARCHIVES)))
    def copied(self, opened: set[str]) -> None:
        """``NEW_GAME``: it has what is in force, and a vault of its own."""
        new, before = self.folder / "new", self.files()
        in_force = {one.file for one in status(self.root).changes}
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, new, ignore_errors=True)
            with GameEdits(new, "copy", "out:1", source=self.root) as door:
                for file in opened:
                    door.put(file, door.was(file, lambda _: False), lambda _: False)
                wrote = door.commit()
            assert self.files() == before
            assert self.foreign or {*wrote} == in_force
            for file in wrote:
                assert (new / file).read_bytes() == before[file]
            for file in {*wrote} - self.foreign:
                with GameEdits(new, "restore", "msh-mod") as door:
                    restore(door, [file])
                    door.commit("restore")
                assert (new / file).read_bytes() == self.original[file] if file in self.original else True

    # ------------------------------------------------------------------ what always holds

    @invariant()
    def note(self) -> None:
        if hasattr(self, "seen") and (now := self.files()) not in self.seen:
            self.seen.append(now)

    @invariant()
    def nothing_outside_changes(self) -> None:
        if not hasattr(self, "folder"):
            return
        assert sorted(os.listdir(self.folder)) == ["game", "outside.txt"]
        assert (self.folder / "outside.txt").read_bytes() == b"nobody's"

    @invariant()
    def originals_are_kept(self) -> None:
        if not hasattr(self, "folder"):
            return
        ours = {file: data for file, data in self.original.items() if file not in self.foreign}
        if (now := self.files()) | ours != now:
            kept = {(one.file, one.digest) for one in status(self.root).kept}
            assert all(now[file] == data or (file, digest_of(data)) in kept for file, data in ours.items())

    @invariant()
    def nothing_is_kept_without_a_record(self) -> None:
        """What lies in ``originals`` was in the game at some time, or a record names it."""
        if not hasattr(self, "folder") or not (self.vault / "originals").is_dir():
            return
        names = {name for name in os.listdir(self.vault / "originals") if len(name) == 64}
        history = self.vault / "edits.jsonl"
        text = history.read_text("utf-8") if history.is_file() else ""
        left = {name for name in names if name not in text}
        # of a file that another program changed also what it is without our changes
        assert self.foreign or left <= {digest_of(data) for files in self.seen for data in files.values()}
