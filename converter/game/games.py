"""Transactions on the games that some files lie in, nearly always one: files written, entries replaced.

The runs of ``gltf2msh`` (``--in-place``, ``--into``) and the Blender extension all come here. Only
what was converted, or written here since, is replaced; every other byte of an archive stays.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConversionError, called, printable
from ..findings import NotApplied
from ..formats.material import LibraryEdit
from ..formats.names import decode_text, encode_name
from ..formats.nres import Archive, Entry, read_nres, write_nres
from ..formats.nres_edits import ArchiveEdits
from ..formats.sidecar import sha256
from ..kinds.import_result import (
    Companion,
    ImportResult,
    companions_beside,
    placed_beside,
    shows_same_points,
    wear_beside,
)
from ..kinds.library import Replacement, edited_entry, files_beside
from ..kinds.new_entries import NewEntries
from ..storage import absolute, refuse_existing, write_outputs
from .edits import GameEdits
from .history import Layer
from .transaction import Beside
from .vault import as_listed, find_root, in_game


class Games:
    """The games that files lie in, each opened once, all written by :meth:`commit`.

    Use it as a context. ``takes_back``: what the owner brought before is taken back where it is not made again.
    """

    def __init__(self, command: str, owner: str, *, takes_back: bool = False, dry_run: bool = False) -> None:
        self.command, self.owner = command, owner
        self._takes_back, self._dry_run = takes_back, dry_run
        self._stack = contextlib.ExitStack()
        self._doors: dict[Path, GameEdits] = {}

    def __enter__(self) -> Games:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def mine(self, layer: Layer) -> bool:
        """Whether a change is taken back where it is not made again."""
        return self._takes_back and layer.owner == self.owner

    @property
    def messages(self) -> list[str]:
        """What the user should know."""
        return [message for door in self._doors.values() for message in door.messages]

    def of(self, path: Path) -> tuple[GameEdits, str]:
        """Return the transaction on the game that a file lies in, and the file's path in it.

        Raises:
            ConversionError: another run is at work there.
        """
        folder = absolute(path).parent
        path = as_listed(path)
        root = find_root(folder)
        if root not in self._doors:
            door = GameEdits(root, self.command, self.owner, dry_run=self._dry_run)
            self._doors[root] = self._stack.enter_context(door)
        return self._doors[root], (folder / path.name).relative_to(root).as_posix()

    def was(self, path: Path) -> bytes | None:
        """Return a file without what is mine; ``None``: it is not there, or mine made it.

        Raises:
            ConversionError: it cannot be read.
        """
        door, file = self.of(path)
        return door.was(file, self.mine)

    def own(self, path: Path) -> list[Layer]:
        """Return the changes in force in a file that are mine. Raises ConversionError: it cannot be read."""
        door, file = self.of(path)
        return [layer for layer in door.open(file).layers if self.mine(layer)]

    def left(self, path: Path) -> set[str]:
        """Return SHA-256 of what is mine in a file's entries, and of what came back where mine cancelled others'.

        Raises:
            ConversionError: it cannot be read.
        """
        door, file = self.of(path)
        out = door.history.taken_out(self.owner) if self._takes_back else ()
        cancelled = {layer.before for _, other, layer in out if other == file and not self.mine(layer)}
        return cancelled | {layer.after for layer in self.own(path)}

    def in_force(self) -> list[Layer]:
        """Return the changes in force that are mine, in the games that were opened."""
        states = (state for door in self._doors.values() for state in door.history.files.values())
        return [layer for state in states for layer in state.layers if self.mine(layer)]

    def put(self, path: Path, data: bytes | None, item: str = "") -> None:
        """Say what a file is to be (``GameEdits.put``). Raises ConversionError: it cannot be read."""
        door, file = self.of(path)
        door.put(file, data, self.mine, item=item)

    def take_back_rest(self, path: Path) -> None:
        """Take back what is mine in every file of a game that was not opened; ``path``: a file of the game.

        Raises:
            ConversionError: a file cannot be read.
        """
        door, _ = self.of(path)
        for file, state in door.history.files.items():
            if any(map(self.mine, state.layers)) and not door.is_open(file):
                door.put(file, None, self.mine)

    def commit(self) -> list[Path]:
        """Write all games or none; return the files that were written or removed.

        Raises:
            ConversionError: a file has changed meanwhile, or cannot be written; the games are as they were.
        """
        changed = [door for door in self._doors.values() if door.planned() or door.changed()]
        facts = {"run": os.urandom(8).hex()} if len(changed) > 1 else {}
        return self._commit(changed, facts)

    def _commit(self, doors: Sequence[GameEdits], facts: dict[str, str]) -> list[Path]:
        """Write games, each within the one before it."""
        if not doors:
            return []
        door, *rest = doors
        others: list[Path] = []
        beside = Beside(rest[0].vault.root, lambda: others.extend(self._commit(rest, facts))) if rest else None
        return [*(door.vault.root / file for file in door.commit(beside=beside, **facts)), *others]


def files_of(
    target: Path, result: ImportResult, game: NewEntries | None = None, *, force: bool = False
) -> list[tuple[Path, bytes]]:
    """Return the files of an import that goes to a file of its own; what they leave out goes into its report.

    ``game``: the libraries that tell which materials are new. ``force``: a ``.wea`` that exists is replaced.
    """
    files = [(target, result.data)]
    if result.wear is not None:
        wear, messages = wear_beside(target, result.wear, force)
        result.differences.warnings += messages
        files += wear
    files += companions_beside(target, result.companions)
    files += placed_beside(target, result)
    beside = files_beside(target, result, game)
    result.differences.not_applied += beside.not_applied
    result.differences.warnings += beside.messages
    return [*files, *beside.files]


def write_files(files: Sequence[tuple[Path, bytes]], force: bool, command: str) -> list[Path]:
    """Write outputs; one that replaces a file of a game is a transaction on that game.

    Args:
        force: as of :func:`~converter.storage.write_outputs`.

    Returns:
        What was written.

    Raises:
        ConversionError: an output exists, or cannot be written.
    """
    refuse_existing(files, force)
    replaced = [one for one in files if one[0].is_file() and in_game(one[0])]
    others = [one for one in files if one not in replaced]
    with Games(command, "into") as games:
        for path, data in replaced:
            games.put(path, data, path.name)
        written = write_outputs(others, force)
        done = {absolute(path) for path in games.commit()}
    return [*written, *(p for p, _ in replaced if absolute(as_listed(p)) in done)]


#: What to do in a run where the game's file is not the one that was converted.
HINT_OF_RUN = "convert the game again into another directory, or let this edit replace it with --force"
#: The same for a single model.
HINT_OF_COPY = "read it again, or write a file of its own"


def changed_since(file: str, entry: str | None, hint: str, companion: Companion | None = None) -> ConversionError:
    """Return the error for a file or an entry that is not the one that was converted.

    Args:
        companion: what should replace it, if it is one.
    """
    problem = "has changed since it was converted"
    if companion is not None and companion.nodes is not None:
        problem = "holds other points than the glTF, which has no sidecar that says which are new"
    return ConversionError(problem, file=file, entry=entry, hint=hint)


def file_as_archive(data: memoryview | bytes | None, label: str) -> Archive:
    """Return a file that is a model as an archive of one entry without a name, for :func:`entry_to_replace`."""
    return Archive(label, entries=[Entry(0, 0, 0, 0, b"", 0, 0, b"" if data is None else data)])


def entry_to_replace(
    archive: Archive | ArchiveEdits,
    raw_name: bytes,
    index: int,
    *,
    known: Collection[str],
    is_new: Callable[[Entry], bool],
    hint: str,
    force: bool = False,
) -> int | None:
    """Find the entry that an edited one replaces, by its name; it may have moved.

    Args:
        index: its directory index when it was converted; entries may share a name.
        known: SHA-256 of what may be replaced.
        is_new: whether an entry holds the new bytes already.
        hint: what the user can do about another one.

    Returns:
        A directory index; ``None`` where the archive holds the new bytes already.

    Raises:
        ConversionError: there is no such entry, or it is not one that may be replaced.
    """
    same = [i for i, entry in enumerate(archive.entries) if entry.name_bytes == raw_name]
    same.sort(key=lambda i: i != index)
    name = printable(decode_text(raw_name))
    if not same:
        raise ConversionError(
            "has no such entry any more", file=archive.label, value=name, hint="convert the model again"
        )
    for i in same:
        if sha256(archive.entries[i].payload) in known:
            return i
    if any(is_new(archive.entries[i]) for i in same):
        return None
    if not force:
        raise changed_since(archive.label, name or None, hint)
    return same[0]


def library_edit(
    archive: Archive | ArchiveEdits,
    edit: LibraryEdit,
    label: str,
    known: Collection[str],
    hint: str,
    force: bool = False,
) -> tuple[int, Replacement] | None:
    """Return the entry of a library that an edit is for, and what it becomes; ``None``: the library has it already.

    ``known``, ``hint``, ``force``, errors: as of :func:`entry_to_replace`.
    """
    index = entry_to_replace(
        archive,
        encode_name(edit.entry.name),
        -1,
        known={edit.entry.digest, *known},
        is_new=lambda entry: edited_entry(edit, entry, label) is None,
        hint=hint,
        force=force,
    )
    made = None if index is None else edited_entry(edit, archive.entries[index], label)
    return None if index is None or made is None else (index, made)


def put_new_entry(
    archive: ArchiveEdits,
    name: bytes,
    type_id: int,
    data: bytes,
    attributes: tuple[int, int, int] = (0, 0, 0),
    *,
    force: bool = False,
    hint: str = "--force replaces it, or give the new file another name",
) -> tuple[str, str] | None:
    """Put a new entry into an archive; one that is there stays.

    Returns:
        The status and detail of the outcome where the entry is there; ``None``: it was added.

    Raises:
        ConversionError: an entry of its name is another one, or the name does not fit.
    """
    found = archive.find(name)
    there = None if found is None else archive.entries[found]
    if found is None or there is None or there.type_id != type_id:
        archive.add(name, type_id, data, attributes)
        return None
    if there.payload == data:  # by this command before, or by one that was killed
        return "unchanged", "the game has it already"
    if not force:
        problem = "has an entry of this name already, which is another one"
        raise ConversionError(problem, file=archive.label, value=printable(there.name), hint=hint)
    archive.replace(found, data)
    return "changed", ""


def put_companions(
    archive: ArchiveEdits,
    model: bytes,
    companions: Sequence[Companion],
    hint: str,
    *,
    known: Collection[str] = (),
    force: bool = False,
) -> None:
    """Put the entries that change with a model into an archive.

    Args:
        companions: what changes with it; one whose ``data`` is ``before`` only takes the place of
            one of the known.
        known: SHA-256 of what may be replaced, besides what was converted.

    Raises:
        ConversionError: an entry is not the one that was converted.
    """
    for one in companions:
        name = encode_name(one.entry_name(decode_text(model)))
        found = archive.find(name)
        if _stays(one, None if found is None else archive.entries[found].payload, known):
            continue
        if found is None:
            archive.add(name, one.type_id, one.data, (one.attr1 or 0, 0, 0))
        elif (now := archive.entries[found].payload) != one.data:
            if shows_same_points(one, now):
                continue
            if not (force or may_replace(one, now, known)):
                raise changed_since(archive.label, printable(decode_text(name)), hint, one)
            archive.replace(found, one.data, attr1=one.attr1)


def _stays(companion: Companion, now: memoryview | bytes | None, known: Collection[str]) -> bool:
    """Whether a file that no edit changes is not one that was written here."""
    kept = companion.data == companion.before
    return kept and (now is None or sha256(now) not in known)


def may_replace(companion: Companion, now: memoryview | bytes, known: Collection[str] = ()) -> bool:
    """Return whether a file is the one that was converted, the new one, or one of the known."""
    return now in (companion.before, companion.data) or sha256(now) in known


@dataclass(frozen=True)
class Origin:
    """Where a model came from.

    Attributes:
        index: directory index of its entry; ``None``: the file is the model.
        raw_name: the entry's name, as its bytes.
    """

    path: Path
    index: int | None = None
    raw_name: bytes = b""


def replace_model(
    games: Games, origin: Origin, data: bytes, known: Collection[str], companions: Sequence[Companion] = ()
) -> None:
    """Plan an edited model in the file or the archive that it came from; nothing is written yet.

    Args:
        known: SHA-256 of what may be replaced: the model that was converted, and what versions
            before the vault put there.
        companions: files of the model's name that change with it, or that did not: these come back
            where one that was written here has taken their place.

    Raises:
        ConversionError: another model is there now, the file is gone or cannot be read, or another
            run is at work in its game.
    """
    known = {*known, *games.left(origin.path)}
    before = games.was(origin.path)
    if before is None:
        raise ConversionError("cannot be read (No such file or directory)", file=str(origin.path), hint=HINT_OF_COPY)
    model = str(origin.path.name) if origin.index is None else decode_text(origin.raw_name)
    games.put(origin.path, _with_model(origin, before, data, known, companions), model)
    if origin.index is not None:
        return
    beside = companions_beside(origin.path, companions)
    for (path, content), one in zip(beside, companions, strict=True):
        was = games.was(path)
        stays = _stays(one, was, known)
        if not stays and was is not None and not may_replace(one, was, known):
            raise changed_since(str(path), None, HINT_OF_COPY)
        games.put(path, was if stays else content, model)


def replace_placed(games: Games, result: ImportResult) -> list[NotApplied]:
    """Plan the models that a unit or mission shows and that were edited there, each in its own file.

    Returns:
        What has no place.

    Raises:
        ConversionError: as of :func:`replace_model`.
    """
    left = []
    for one in result.placed:
        if one.path is None:
            name = printable(one.result.name)
            why, instead = "the game that it is in is not known", "choose the game's folder"
            left.append(NotApplied(where=f"model {called(name)}", what="is edited", why=why, instead=instead))
            continue
        origin = Origin(one.path, one.index, one.raw_name)
        replace_model(games, origin, one.result.data, {one.sha256}, one.result.companions)
        result.differences.warnings.append(f"{printable(one.result.name)} is written to {one.path.name}")
    return left


def _with_model(
    origin: Origin, before: bytes, data: bytes, known: Collection[str], companions: Sequence[Companion]
) -> bytes:
    """The file's bytes with the model in it."""
    hint, label = HINT_OF_COPY, str(origin.path)
    archive = file_as_archive(before, label) if origin.index is None else read_nres(before, label)
    index = entry_to_replace(
        archive, origin.raw_name, origin.index or 0, known=known, is_new=lambda entry: entry.payload == data, hint=hint
    )
    if origin.index is None:
        return data
    edits = ArchiveEdits(archive)
    if index is not None:
        edits.replace(index, data)
    put_companions(edits, origin.raw_name, companions, hint, known=known)
    return before if (changed := edits.archive()) is archive else write_nres(changed)
