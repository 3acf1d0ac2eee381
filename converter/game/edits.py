"""The one door into a game: every change of its files is a transaction that passes here.

A transaction takes *what is to be* for files and decides alone what is written, kept and recorded.
Every state of a file that somebody else made is in the vault before the file is replaced. Nothing
is deleted from a game but what a transaction created and nobody has changed since; its bytes stay
in the vault.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import Conflict, printable
from ..formats.sidecar import sha256
from .history import (
    Changed,
    History,
    Layer,
    Slot,
    Stack,
    Value,
    by_slot,
    can_be_made,
    changes,
    compose,
    digest_of_file,
    in_order,
    new_names_taken,
    taken_out,
    without,
)
from .transaction import Beside, carry_out, file_bytes, only_writer, require_unchanged, stopped_run
from .vault import Vault, inside

#: Backups of versions before the vault, which are kept as candidates for ``restore``.
OLD_BACKUP = ".bak"
#: Whether a change is one that a transaction may take back.
Mine = Callable[[Layer], bool]


@dataclass
class Opened:
    """A file of the game in a transaction.

    Attributes:
        file: its path from the root, with slashes.
        now: its bytes; ``None``: it is not there.
        base: the file without our changes.
        layers: what is in force in it.
        wanted_base, wanted: what these are to be.
        news: the items that this transaction changes something for.
    """

    file: str
    now: bytes | None
    base: bytes | None
    layers: tuple[Layer, ...] = ()
    wanted_base: bytes | None = field(init=False)
    wanted: tuple[Layer, ...] = field(init=False)
    news: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.wanted_base, self.wanted = self.base, self.layers

    @property
    def is_rebased(self) -> bool:
        """Whether the transaction gives it another base."""
        return self.wanted_base != self.base


class GameEdits:
    """A transaction on a game: files are opened, what is to be is put, all is written at once.

    Use it as a context: it keeps other runs out of the game and ends what a killed run left.

    Args:
        owner: who changes the game: an output directory's id, a mod.
        source: the game that ``root`` is to be a changed copy of; ``None``: it is changed itself.

    Attributes:
        history: the transactions of the game that is read.
        number: of this transaction.
    """

    def __init__(
        self, root: Path, command: str, owner: str, *, source: Path | None = None, dry_run: bool = False
    ) -> None:
        self.command, self.owner = command, owner
        self.vault = Vault(root)
        self.messages: list[str] = []
        self.history = self._own = History([])
        self.number = 1
        self._source = self.vault if source is None else Vault(source)
        self._dry_run = dry_run
        self._files: dict[str, Opened] = {}
        self._made: dict[str, bytes] = {}
        self._put: set[str] = set()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> GameEdits:
        with contextlib.ExitStack() as stack:
            if not self._dry_run and not self.vault.root.exists():
                stack.callback(_remove_empty, self.vault.root)
            if not self._dry_run:
                self.messages += stack.enter_context(only_writer(self.vault, self.command))
            else:
                self.messages += stopped_run(self.vault)
            self._load()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _load(self) -> None:
        self._files, self._made, self._put = {}, {}, set()
        self._own = History(self.vault.records() if self.vault.exists else [])
        self.history = self._own
        if self._is_copy:
            self.history = History(self._source.records() if self._source.exists else [])
        self.number = max(self.history.next_number, self._own.next_number)

    @property
    def _is_copy(self) -> bool:
        return self._source is not self.vault

    # ------------------------------------------------------------------ what is, and what was

    def open(self, file: str) -> Opened:
        """Open a file of the game; what somebody else has changed since is told apart.

        Raises:
            ConversionError: it cannot be read, or is not a file of the game.
        """
        if file not in self._files:
            self._files[file] = self._opened(file)
        return self._files[file]

    def is_open(self, file: str) -> bool:
        """Whether a file has been opened in this transaction."""
        return file in self._files

    def is_planned(self, file: str) -> bool:
        """Whether something has been put for a file in this transaction."""
        return file in self._put

    def was(self, file: str, mine: Mine) -> bytes | None:
        """Return a file as it is without some changes: what a transaction starts from.

        Args:
            mine: which changes are left out; one that a later change needs stays.

        Returns:
            Its bytes; ``None``: one of these changes made it, or it is not there.

        Raises:
            ConversionError: it cannot be read.
        """
        return self._without(self.open(file), mine)[0]

    def put(
        self, file: str, data: bytes | None, mine: Mine, items: Mapping[bytes, str] | None = None, item: str = ""
    ) -> bool:
        """Say what a file is to be; nothing is written yet.

        An entry that gets a value that it had before some of the changes in force has these taken out,
        whoever brought them: changes that cancel are not in force.

        Args:
            data: its bytes; ``None``: all that is mine is taken back.
            mine: which changes are replaced; an entry that is as it was without them loses them.
            items: which model or texture an entry belongs to, by the entry's name.

        Returns:
            Whether anything differs from what is in force.

        Raises:
            ConversionError: it cannot be read.
        """
        opened = self.open(file)
        self._put.add(file)
        was, kept = self._without(opened, mine)
        found = {} if data is None else changes(was, data, file)
        now, stays = self._values(opened), {*kept}
        replaced = by_slot(layer for layer in opened.wanted if layer not in stays)
        stack = Stack(opened.wanted_base, by_slot(kept), self.read_change, file)
        for slot, change in found.items():
            group, own = stack.groups.get(slot, []), replaced.get(slot, [])
            if own and now.get(slot) == change.after:
                stack.groups[slot] = group + own
                continue
            source = (items or {}).get(bytes.fromhex(slot.name), item)
            opened.news.add(source)
            values = stack.values(slot)
            if change.after in values:
                stack.groups[slot] = group[: values.index(change.after)]
            else:
                stack.groups[slot] = [*group, self._layer(file, source, slot, change)]
        opened.wanted = in_order(chain.from_iterable(stack.groups.values()))
        return opened.wanted != opened.layers

    def set_layers(self, file: str, layers: list[Layer], base: bytes | None = None, *, rebase: bool = False) -> None:
        """Say which changes are to be in force in a file (undo, restore).

        ``base``: what they apply to, where ``rebase`` is set. ``rebase``: give the file another base.
        """
        opened = self.open(file)
        opened.wanted = in_order(layers)
        if rebase:
            opened.wanted_base = base

    def read_change(self, digest: str) -> bytes:
        """Return a stored difference, or one that this transaction brings.

        Raises:
            ConversionError: it is gone or damaged.
        """
        return self._made[digest] if digest in self._made else self._source.change(digest)

    def add_change(self, made: bytes) -> str:
        """Bring a difference into this transaction; return its digest."""
        digest = sha256(made)
        self._made[digest] = made
        return digest

    def _opened(self, file: str) -> Opened:
        now = file_bytes(inside(self._source.root, file))
        state = self.history.files.get(file)
        if state is None:
            return Opened(file, now, now)
        digest = digest_of_file(now)
        if (known := self.history.version(file, digest)) is not None:
            base = self._source.original(known.base) if known.base else None
            return Opened(file, now, base, known.layers)
        shown, layers = printable(file), state.layers
        if now is None or digest == state.base:
            if layers:
                what = "is gone" if now is None else "is as it was before our changes"
                self.messages.append(f"{shown} {what}: another program did that")
            return Opened(file, now, now)
        base = self._source.original(state.base) if state.base else None
        base, lost = taken_out(now, base, layers, self._source.change, file)
        left = without(layers, lost)
        lost += new_names_taken(base, left, file)
        kept = in_order(without(left, lost))
        what = f"{shown} was changed by another program, which stays"
        if lost:
            names = sorted({layer.slot.text or layer.source for layer in lost})
            what += f"; it replaced ours of {', '.join(names)}"
        self.messages.append(what)
        return Opened(file, now, base, kept)

    def _without(self, opened: Opened, mine: Mine) -> tuple[bytes | None, list[Layer]]:
        """A file without some changes, and the changes that are left in it."""
        kept = [layer for layer in opened.wanted if not mine(layer)]
        if len(kept) == len(opened.wanted):
            return self._composed(opened, opened.wanted), kept
        try:
            return self._composed(opened, in_order(kept)), kept
        except Conflict as error:  # a later change of another owner needs one of these
            kept += [layer for layer in opened.wanted if mine(layer) and any(one.is_made_on(layer) for one in kept)]
            if (message := f"stays, because a later change is made on it: {error}") not in self.messages:
                self.messages.append(message)
            return self._composed(opened, in_order(kept)), kept

    def _composed(self, opened: Opened, layers: tuple[Layer, ...]) -> bytes | None:
        if layers == opened.layers and not opened.is_rebased:
            return opened.now
        kept = self.history.kept(opened.file, digest_of_file(opened.wanted_base), layers)
        if kept is not None:
            return self._source.original(kept)
        return compose(opened.wanted_base, layers, self.read_change, opened.file)

    def _values(self, opened: Opened) -> dict[Slot, Value]:
        """What the slots of our changes hold."""
        if not opened.wanted:
            return {}
        data = self._composed(opened, opened.wanted)
        found = {} if data is None else changes(opened.wanted_base, data, opened.file)
        return {slot: change.after for slot, change in found.items()}

    def _layer(self, file: str, item: str, slot: Slot, change: Changed) -> Layer:
        stored = self.add_change(change.difference(file, shared=False))
        before = digest_of_file(None if change.before is None else change.before.data)
        return Layer(self.number, self.owner, item, slot, before, sha256(change.after.data), change.attributes, stored)

    def has_written(self, file: str) -> bool:
        """Whether what is where a file is to be written is as a transaction of this owner left it."""
        state = self._own.files.get(file)
        last = next((record for record in reversed(self._own.records) if file in record["files"]), None)
        if state is None or last is None or last["owner"] != self.owner:
            return False
        return state.after == digest_of_file(file_bytes(inside(self.vault.root, file)))

    def planned(self) -> dict[str, bytes | None]:
        """Return the files that this transaction changes, with their new bytes (``None``: removed).

        Raises:
            Conflict: changes do not fit one another.
        """
        if self._is_copy:  # it has what is in force in the game, and nothing else
            for file, state in (*self.history.files.items(), *self._own.files.items()):
                if state.layers:
                    self.open(file)
        found: dict[str, bytes | None] = {}
        for file, opened in self._files.items():
            if self._is_touched(opened):
                data = self._composed(opened, opened.wanted)
                if data != self._there(opened):
                    found[file] = data
        return found

    def changed(self) -> set[str]:
        """Return the files that are not to be as in the game that is read, written or not."""
        return {file for file, opened in self._files.items() if self._is_touched(opened)}

    def _is_touched(self, opened: Opened) -> bool:
        if not self._is_copy:
            return opened.is_rebased or opened.wanted != opened.layers
        own = self._own.files.get(opened.file)
        return bool(opened.wanted or (own is not None and own.layers))

    def without_changes(self) -> dict[str, bytes | None]:
        """Return the files of a copy that are to have none of the changes that the game has: no history is needed."""
        return {
            file: self._composed(opened, ())
            for file, opened in self._files.items()
            if self._is_copy and not self._is_touched(opened) and opened.layers != opened.wanted
        }

    def _there(self, opened: Opened) -> bytes | None:
        """What is where a file is to be written."""
        if not self._is_copy:
            return opened.now
        return file_bytes(inside(self.vault.root, opened.file))

    def commit(self, kind: str = "edit", *, beside: Beside | None = None, **facts: Any) -> list[str]:
        """Write all or nothing, and add it to the history.

        Args:
            beside: another game that is written with this one, or not at all.

        Returns:
            The files that were written or removed.

        Raises:
            ConversionError: a file has changed meanwhile, or cannot be written; the game is as it
                was.
        """
        jobs = self.planned()
        touched = [opened for opened in self._files.values() if self._is_touched(opened)]
        rows = {opened.file: self._row(opened, jobs) for opened in touched}
        if self._dry_run or not (jobs or facts or any(map(self._is_news, touched, rows.values()))):
            return list(jobs)
        for file in jobs:
            now = digest_of_file(self._files[file].now)
            require_unchanged(inside(self._source.root, file), now)
        self.vault.make()
        for opened in touched:
            self._keep(opened, rows[opened.file])
        record = {
            "number": self.number,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": self.command,
            "owner": self.owner,
            "kind": kind,
            **facts,
            "files": rows,
        }
        self.messages += carry_out(self.vault, jobs, record, beside)
        self._load()
        return list(jobs)

    def _is_news(self, opened: Opened, row: dict[str, Any]) -> bool:
        """Whether the history does not have this already: a copy may be made again."""
        state = self._own.files.get(opened.file)
        if state is None or (state.base, state.after) != (row["base"], row["after"]):
            return True
        known, wanted = ([replace(layer, number=0) for layer in layers] for layers in (state.layers, opened.wanted))
        return known != wanted

    def _row(self, opened: Opened, jobs: Mapping[str, bytes | None]) -> dict[str, Any]:
        """What the history says of one file."""
        state = self._own.files.get(opened.file)
        before = self._there(opened)
        known = () if state is None else state.layers
        there = known if self._is_copy else opened.layers
        row = {
            "base": digest_of_file(opened.wanted_base),
            "before": digest_of_file(before),
            "after": digest_of_file(jobs.get(opened.file, before)),
            "added": [layer.as_row() for layer in without(opened.wanted, there)],
            "removed": [layer.as_row() for layer in without(there, opened.wanted)],
            "lost": [layer.as_row() for layer in without(known, there)],
        }
        if opened.is_rebased:
            row["base_before"] = digest_of_file(opened.base)
        if state is not None and not self._is_copy and row["before"] != state.after:
            row["found"] = [layer.as_row() for layer in without(there, known)]
        return row

    def _keep(self, opened: Opened, row: dict[str, Any]) -> None:
        """Keep originals and differences, before the first file of the game changes."""
        file = opened.file
        path = inside(self._source.root, file)
        for base in dict.fromkeys((opened.base, opened.wanted_base)):
            if base is not None:
                same = base == opened.now and not path.is_symlink()
                self.vault.keep_original(base, path if same else None)
        there = self._there(opened)
        if there is not None and not (row["after"] and can_be_made(self.vault, self._own, file, row["before"])):
            row["kept"] = self.vault.keep_original(there)
        backup = inside(self._source.root, f"{file}{OLD_BACKUP}")
        if file not in self._own.files and not backup.is_symlink():
            old = file_bytes(backup)
            if old is not None:
                row["candidate"] = self.vault.keep_original(old)
        self.vault.keep_changes(self.read_change(layer.stored) for layer in opened.wanted)


def _remove_empty(folder: Path) -> None:
    """Remove a folder that was made for a copy of a game that then was not written."""
    with contextlib.suppress(OSError):
        folder.rmdir()
