"""What others do to a game while somebody edits it: other programs, bad disks, received links, second runs."""

import os
import shutil

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import repack, replace_entry
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.games import Games
from msh_gltf.converter.game.undo import restore, status
from msh_gltf.converter.game.vault import Vault
from tests.converter.game.stopping import Killed, stopped_at
from tests.support.game import archive, content, digest_of

#: FourCC TEST: the entries of these archives are nobody's format.
TEST = int.from_bytes(b"TEST", "little")
ARCHIVES = ("static.rlb", "DATA/Material.lib")
PLAIN = "DATA/Land.map"
#: A file that the game does not have: an output directory makes it.
MADE = "DATA/NEW/made.bin"
NAMES = [b"alpha.msh", b"\xef\xf2\xe8\xf6\xe0.msh", b"same", b"same", b"omega", b"list.wea"]
#: The last one has rows: changes of different rows are merged.
ROWS = b"3\r\n0 ONE\r\n1 TWO\r\n2 THREE\r\n"
NEW = [b"new_one", b"another", b"Zeta"]
OWNERS = ("out:1", "out:2", "blend:3")

payloads = st.sampled_from([b"", b"a", b"1"]) | st.binary(min_size=0, max_size=40)
kills = st.none() | st.integers(0, 60)


def with_row(rows: bytes | memoryview, value: bytes) -> bytes:
    """A list with one of its rows changed."""
    lines = bytes(rows).split(b"\r\n")
    row = 1 + len(value) % 3
    lines[row] = b"%d %s" % (row - 1, value[:3].hex().upper().encode() or b"NONE")
    return b"\r\n".join(lines)


class Others(RuleBasedStateMachine):
    """Steps of :class:`~tests.converter.game.machine.Game`, which has the game."""

    @rule()
    def half_a_line(self) -> None:
        """A run is killed while it writes a line of the history."""
        history = self.vault / "edits.jsonl"
        if history.is_file():
            with open(history, "ab") as file:
                file.write(b'{"number":7,"ti' + b" " * 9999)

    @rule(
        file=st.sampled_from(ARCHIVES),
        index=st.integers(0, 4),
        payload=payloads,
        is_packed=st.booleans(),
        is_followed=st.booleans(),
    )
    def patch(self, file: str, index: int, payload: bytes, is_packed: bool, is_followed: bool) -> None:
        """Another program changes an entry, or lays the archive out again; an edit may follow."""
        path = self.root / file
        if not path.is_file():
            return
        there = read_nres(path.read_bytes(), file)
        made = there if is_packed and payload else replace_entry(there, index, payload)
        data = write_nres(repack(made) if is_packed else made)
        if data == path.read_bytes():
            return
        slot = list(content(data))[index]
        wanted = content(data)[slot]
        is_theirs = self.note_foreign(file, slot, wanted)
        path.write_bytes(data)
        self.note()
        if not is_followed:
            return
        before = self.files()
        with GameEdits(self.root, "edit", "out:7") as door:
            try:
                now = door.was(file, lambda layer: layer.owner == "out:7")
                assert now is not None
                other = (index + 1) % 5
                changed = replace_entry(read_nres(now, file), other, b"after the patch" + payload)
                door.put(file, write_nres(changed), lambda layer: layer.owner == "out:7")
                door.commit()
            except ConversionError:
                return
        self.note_done(before)
        assert content(path.read_bytes())[slot] == wanted or not is_theirs
        digests = {one.digest for one in status(self.root).kept}
        ours = [r["files"].get(file, {}).get("after") for r in Vault(self.root).records()]
        if path.read_bytes() != data:  # our change was in force already
            assert digest_of(data) in [*digests, *ours]

    def note_foreign(self, file: str, slot: tuple[bytes, int], value: tuple) -> bool:
        """Another program gives an entry a value: whether it is new, so that nobody takes it for ours."""
        self.foreign.add(file)
        self.theirs.add((file, slot))
        known = any(content(files.get(file)).get(slot) == value for files in self.seen)
        changes = content((self.root / file).read_bytes())[slot] != value
        if changes and (without := self.without[file]) is not None:
            self.without = {**self.without, file: {**without, slot: None if known else value}}
        return not known

    @rule(file=st.sampled_from([*ARCHIVES, PLAIN]), nth=st.integers(0, 5))
    def put_version_back(self, file: str, nth: int) -> None:
        """The user copies the original over the file, or another version of it."""
        versions = list(dict.fromkeys(files[file] for files in self.seen if file in files))
        data = versions[nth % len(versions)]
        if (self.root / file).is_file() and (self.root / file).read_bytes() == data:
            return
        (self.root / file).write_bytes(data)
        self.foreign.add(file)
        self.theirs |= {(file, slot) for slot in content(data)}
        self.without = {**self.without, file: None}

    @rule(file=st.sampled_from([*ARCHIVES, PLAIN]))
    def remove(self, file: str) -> None:
        """Another program removes a file."""
        (self.root / file).unlink(missing_ok=True)
        self.foreign.add(file)
        self.without = {**self.without, file: None}

    @rule(payload=payloads)
    def change_what_was_made(self, payload: bytes) -> None:
        """Another program changes a file that an edit made: nothing removes it any more."""
        path = self.root / MADE
        if not path.is_file() or path.read_bytes() == payload:
            return
        if any(files.get(MADE) == payload for files in self.seen):
            return  # an edit made the same once
        path.write_bytes(payload)
        self.note()
        self.foreign.add(MADE)
        for owner in OWNERS:
            before = self.files()
            with GameEdits(self.root, "edit", owner) as door:
                door.put(MADE, None, lambda layer, owner=owner: layer.owner == owner)
                door.commit()
            self.note_done(before)
        assert path.read_bytes() == payload

    @rule()
    def second_run(self) -> None:
        """Two runs at once: one of them is told of the other."""
        with GameEdits(self.root, "first", "out:1"), pytest.raises(ConversionError, match="at work"):
            GameEdits(self.root, "second", "out:2").__enter__()

    @rule(payload=payloads, is_first=st.booleans(), looks_first=st.booleans(), kill=kills, fails=st.booleans())
    def two_games(self, payload: bytes, is_first: bool, looks_first: bool, kill: int | None, fails: bool) -> None:
        """A run changes this game and another one: both or none, whenever it is killed."""
        second, before, new = self.folder / "second", self.files(), os.urandom(9) + payload
        second.mkdir()
        (second / "objects.rlb").write_bytes(archive([]))
        (second / "Plain.txt").write_bytes(b"as it was")
        paths = [self.root / PLAIN, second / "Plain.txt"]
        try:
            with Games("two", "out:20") as games:
                for path in paths if is_first else paths[::-1]:
                    games.put(path, new)
                with stopped_at(kill, OSError if fails else Killed):
                    games.commit()
        except (Killed, ConversionError):
            pass
        for root in (self.root, second) if looks_first else (second, self.root):
            with GameEdits(root, "look", "nobody"):
                pass
        there = [path.is_file() and path.read_bytes() == new for path in paths]
        assert there[0] == there[1] == self.note_done(before)
        assert len(Vault(second).records()) == there[1]
        assert self.files() == before or there[0]
        shutil.rmtree(second)

    @rule(file=st.sampled_from(ARCHIVES), is_cut=st.booleans())
    def damage_original(self, file: str, is_cut: bool) -> None:
        """An original on a bad disk: it is named, never written into the game."""
        before, kept = self.files(), {one.digest for one in status(self.root).kept if one.file == file}
        for path in [self.vault / "originals" / digest for digest in kept]:
            data = path.read_bytes()
            path.write_bytes(data[:-1] if is_cut else b"\xff" + data[1:])
            with GameEdits(self.root, "restore", "msh-mod") as door, pytest.raises(ConversionError, match="damaged"):
                restore(door, [file], to=path.name)
            path.write_bytes(data)
            assert self.files() == before

    @rule(file=st.sampled_from(ARCHIVES), payload=payloads)
    def changed_meanwhile(self, file: str, payload: bytes) -> None:
        """Another program writes while a run is at work: that is not replaced."""
        before, path = self.files(), self.root / file
        if file not in before:
            return
        theirs = write_nres(replace_entry(read_nres(before[file], file), 0, b"theirs" + payload))
        with GameEdits(self.root, "edit", "out:6") as door:
            made = replace_entry(read_nres(before[file], file), 1, os.urandom(9))
            door.put(file, write_nres(made), lambda _: False)
            path.write_bytes(theirs)
            with pytest.raises(ConversionError, match="while this run was at work"):
                door.commit()
        assert path.read_bytes() == theirs
        path.write_bytes(before[file])
