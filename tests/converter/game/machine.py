"""Random sequences of everything that happens to a game, judged by copies of it.

What is written, undone and restored is compared with copies of the game's files that the machine
keeps itself; it reads nothing of the vault but which states of files are kept.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, replace_entry
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.undo import restore, status, undo
from msh_gltf.converter.game.vault import Vault
from tests.support.game import archive, entry

#: FourCC TEST: the entries of these archives are nobody's format.
TEST = int.from_bytes(b"TEST", "little")
ARCHIVES = ("static.rlb", "DATA/Material.lib")
PLAIN = "DATA/Land.map"
NAMES = [b"alpha.msh", b"\xef\xf2\xe8\xf6\xe0.msh", b"same", b"same", b"omega"]
NEW = [b"new_one", b"another", b"Zeta"]
OWNERS = ("out:1", "out:2", "blend:3")

payloads = st.binary(min_size=0, max_size=40)


class Killed(BaseException):
    """The process is gone."""


class Game(RuleBasedStateMachine):
    """A game of two archives and a plain file, several output directories, another program."""

    @initialize(seed=st.integers(0, 3))
    def make(self, seed: int) -> None:
        memory = Path("/dev/shm")  # its fsync is free
        self.folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.root = self.folder / "game"
        (self.root / "DATA").mkdir(parents=True)
        for number, path in enumerate(ARCHIVES):
            entries = [entry(TEST, name, bytes([i + number]) * (7 * i + seed)) for i, name in enumerate(NAMES)]
            (self.root / path).write_bytes(archive(entries, forgotten=b"\x01gap\xff"))
        (self.root / PLAIN).write_bytes(b"plain file" * (seed + 1))
        (self.root / "objects.rlb").write_bytes(archive([]))
        (self.folder / "outside.txt").write_bytes(b"nobody's")
        self.original = self.files()
        #: Files that another program changed at some time, and every state that it made.
        self.foreign: set[str] = set()
        self.states: set[str] = set()
        #: The last transaction, and the game before it; ``None`` after anything else.
        self.last: tuple[int, dict[str, bytes]] | None = None
        #: Whether the user has copied an original over a file.
        self.copied_back = False
        #: Every state of the game that was there after a step.
        self.seen: list[dict[str, bytes]] = []

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------ what the machine knows

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".msh-gltf" not in path.parts
        }

    def content(self, data: bytes) -> dict[tuple[bytes, int], bytes]:
        seen: dict[bytes, int] = {}
        found = {}
        for one in read_nres(data, "x").entries:
            nth = seen[one.name_bytes] = seen.get(one.name_bytes, -1) + 1
            found[one.name_bytes, nth] = bytes(one.payload)
        return found

    def assert_same(self, before: dict[str, bytes]) -> None:
        """The game is as it was; where another program wrote, but for the layout of archives."""
        now = self.files()
        assert now.keys() == before.keys()
        for file, data in before.items():
            if file in self.foreign:
                assert self.content(now[file]) == self.content(data)
            else:
                assert now[file] == data

    # ------------------------------------------------------------------ what is done here

    @rule(
        owner=st.sampled_from(OWNERS),
        edits=st.lists(st.tuples(st.sampled_from(ARCHIVES), st.integers(0, len(NAMES) - 1), payloads), max_size=3),
        new=st.none() | st.tuples(st.sampled_from(ARCHIVES), st.sampled_from(NEW), payloads),
        plain=st.none() | payloads,
        kill=st.none() | st.integers(0, 60),
    )
    def edit(self, owner: str, edits: list, new: tuple | None, plain: bytes | None, kill) -> None:
        """An output directory shows these edits and no other."""
        before = self.files()
        wanted: dict[str, bytes | None] = {}
        try:
            with GameEdits(self.root, "edit", owner) as door:
                before = self.files()  # a killed run has been completed

                def mine(layer) -> bool:
                    return layer.owner == owner

                for file in ARCHIVES:
                    now = door.was(file, mine)
                    if now is None:
                        continue
                    made = read_nres(now, file)
                    for path, index, payload in edits:
                        if path == file and index < len(made.entries):
                            made = replace_entry(made, index, payload)
                    if new is not None and new[0] == file and made.find(new[1]) is None:
                        made = add_entry(made, new[1], TEST, new[2])
                    wanted[file] = write_nres(made)
                    door.put(file, wanted[file], mine, item="x.glb")
                wanted[PLAIN] = plain if plain is not None else door.was(PLAIN, mine)
                door.put(PLAIN, wanted[PLAIN], mine)
                number = door.number
                with killed_at(kill):
                    wrote = door.commit()
        except Killed:
            self.last = None
            assert_whole(self, before, wanted)
            return
        except ConversionError:
            assert self.files() == before
            return
        after = self.files()
        if wrote:
            self.last = (number, before)
        for file, data in wanted.items():
            if file == PLAIN:
                assert after.get(file) == data
            elif data is not None:
                assert self.content(after[file]) == self.content(data)

    @rule(kill=st.none() | st.integers(0, 60))
    def take_back(self, kill) -> None:
        """``msh-mod undo``: exact, or refused."""
        before = self.files()
        try:
            with GameEdits(self.root, "undo", "msh-mod") as door:
                before = self.files()
                number = undo(door)
                with killed_at(kill):
                    door.commit("undo", undoes=number)
        except (ConversionError, Killed):
            self.last = None
            return
        if self.last is not None and self.last[0] == number:
            self.assert_same(self.last[1])
        self.last = None
        if not self.foreign and not self.copied_back:
            # the state before the transaction that was taken back was there once
            assert self.files() in [*self.seen, before]

    @rule()
    def undo_at_once(self) -> None:
        """What was just written comes back exactly."""
        self.last = None
        before = self.files()
        with GameEdits(self.root, "edit", "out:9") as door:
            before = self.files()
            now = door.was(ARCHIVES[0], lambda layer: layer.owner == "out:9")
            if now is None:
                return
            made = replace_entry(read_nres(now, "x"), 0, os.urandom(9))
            try:
                door.put(ARCHIVES[0], write_nres(made), lambda layer: layer.owner == "out:9")
                wrote = door.commit()
            except ConversionError:
                assert self.files() == before
                return
            foreign = bool(door.messages)
        assert wrote
        with GameEdits(self.root, "undo", "msh-mod") as door:
            number = undo(door)
            door.commit("undo", undoes=number)
        if foreign:
            self.foreign.add(ARCHIVES[0])
        self.assert_same(before)

    @rule(file=st.sampled_from([*ARCHIVES, PLAIN, None]), kill=st.none() | st.integers(0, 60))
    def restored(self, file: str | None, kill) -> None:
        """``msh-mod restore``: the original, where nobody else changed the file."""
        self.last = None
        known = {one.file for one in status(self.root).kept}
        files = None if file is None else [file]
        if file is not None and file not in known:
            return
        try:
            with GameEdits(self.root, "restore", "msh-mod") as door:
                restore(door, files)
                with killed_at(kill):
                    door.commit("restore")
        except Killed:
            return
        after = self.files()
        for path in [file] if file is not None else [*ARCHIVES, PLAIN]:
            if path not in self.foreign:
                assert after[path] == self.original[path]

    @rule(file=st.sampled_from(ARCHIVES))
    def any_state_can_be_had(self, file: str) -> None:
        """``restore --to``: every state that was ever kept."""
        self.last = None
        for one in [one for one in status(self.root).kept if one.file == file]:
            with GameEdits(self.root, "restore", "msh-mod") as door:
                restore(door, [file], to=one.digest)
                door.commit("restore")
            data = (self.root / file).read_bytes()
            assert hashlib.sha256(data).hexdigest() == one.digest
            if data != self.original[file]:
                self.foreign.add(file)
        if any(one.file == file for one in status(self.root).kept):
            first = next(o.digest for o in status(self.root).kept if o.file == file)
            assert first == hashlib.sha256(self.original[file]).hexdigest() or file in self.foreign

    # ------------------------------------------------------------------ what others do

    @rule(file=st.sampled_from(ARCHIVES), index=st.integers(0, 4), payload=payloads)
    def patch(self, file: str, index: int, payload: bytes) -> None:
        """Another program changes an entry."""
        self.last = None
        path = self.root / file
        made = read_nres(path.read_bytes(), file)
        data = write_nres(replace_entry(made, index, payload))
        if data == path.read_bytes():
            return
        path.write_bytes(data)
        self.foreign.add(file)
        self.states.add(hashlib.sha256(data).hexdigest())
        wanted = list(self.content(data).values())[index]
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
        assert list(self.content(path.read_bytes()).values())[index] == wanted
        digests = {one.digest for one in status(self.root).kept}
        ours = [r["files"].get(file, {}).get("after") for r in Vault(self.root).records()]
        if path.read_bytes() != data:  # our change was in force already
            assert hashlib.sha256(data).hexdigest() in [*digests, *ours]

    @rule(file=st.sampled_from(ARCHIVES))
    def put_original_back(self, file: str) -> None:
        """The user copies the original over the file."""
        self.last, self.copied_back = None, True
        (self.root / file).write_bytes(self.original[file])

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
        kept = {(one.file, one.digest) for one in status(self.root).kept}
        for file, data in self.files().items():
            if file in self.original and file not in self.foreign and data != self.original[file]:
                digest = hashlib.sha256(self.original[file]).hexdigest()
                intent = self.root / ".msh-gltf/intent.json"
                assert (file, digest) in kept or intent.exists()


def assert_whole(game: Game, before: dict[str, bytes], wanted: dict[str, bytes | None]) -> None:
    """After a kill the next command completes the transaction, or takes it back."""
    with GameEdits(game.root, "status", "nobody"):
        after = game.files()
    if after == before:
        return
    for file, data in wanted.items():
        if file in ARCHIVES and data is not None:
            assert game.content(after[file]) == game.content(data)
        elif file == PLAIN:
            assert after.get(file) == data


class killed_at:
    """Let the process die at the n-th rename, removal or sync from here on."""

    def __init__(self, count: int | None) -> None:
        self.count = count
        self.kept = {name: getattr(os, name) for name in ("replace", "unlink", "fsync")}

    def __enter__(self) -> None:
        if self.count is None:
            return
        left = self.count

        def dying(name: str):
            def call(*args, **kwargs):
                nonlocal left
                left -= 1
                if left < 0:
                    raise Killed
                return self.kept[name](*args, **kwargs)

            return call

        for name in self.kept:
            setattr(os, name, dying(name))

    def __exit__(self, *_: object) -> None:
        for name, function in self.kept.items():
            setattr(os, name, function)
