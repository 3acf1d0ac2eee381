"""Transactions on the games that some files lie in: nearly always one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from ..storage import refuse_existing, write_outputs
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
        folder = path.absolute().parent
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
        done = {os.path.abspath(path) for path in games.commit()}
    return [*written, *(p for p, _ in replaced if os.path.abspath(as_listed(p)) in done)]
