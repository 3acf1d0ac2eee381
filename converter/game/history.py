"""The transactions of a game, replayed: which changes are in force in which file, and what a file was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ConversionError, Malformed, reason_of
from ..formats.sidecar import sha256
from .layers import Layer, compose, without
from .vault import Vault

_MAX_NUMBER = 1 << 31


@dataclass(frozen=True)
class State:
    """What the history says of a file.

    Attributes:
        base: SHA-256 of the file without our changes; empty where there was none.
        after: SHA-256 of the file as it was written last; empty where it was removed.
        layers: the changes in force.
    """

    base: str
    after: str
    layers: tuple[Layer, ...] = ()


class History:
    """The transactions of a game, replayed.

    Attributes:
        records: the transactions, oldest first.
        files: what they say of each file, by path from the root.
        undone: numbers of transactions that a later one took back.
    """

    def __init__(self, records: list[dict[str, Any]]) -> None:
        """Replay transactions."""
        self.records = records
        self.files: dict[str, State] = {}
        self.undone: set[int] = set()
        self._versions: dict[tuple[str, str], State] = {}
        self._kept: dict[tuple[str, str, tuple[Layer, ...]], str] = {}
        self._before: dict[tuple[int, str], tuple[Layer, ...]] = {}
        self._last = 0
        for place, record in enumerate(records, 1):
            try:
                self._replay(record)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise ConversionError(
                    "the history of changes is damaged",
                    file=".msh-gltf/edits.jsonl",
                    value=f"change {place}: {reason_of(error)}",
                    hint="take it from a copy of the game's folder",
                ) from None

    @property
    def next_number(self) -> int:
        """The number of the next transaction."""
        return self._last + 1

    def record(self, number: int) -> dict[str, Any] | None:
        """Return a transaction by its number."""
        return next((record for record in self.records if record["number"] == number), None)

    def version(self, file: str, digest: str) -> State | None:
        """Return what was in force in a version of a file; ``None``: no transaction met or wrote it."""
        return self._versions.get((file, digest))

    def kept(self, file: str, base: str, layers: tuple[Layer, ...]) -> str | None:
        """Return SHA-256 of a file that another program made, by what was in force in it.

        What is composed has the same content, but not always the same layout.

        Args:
            base: SHA-256 of the file without our changes.
        """
        return self._kept.get((file, base, layers))

    def before(self, number: int, file: str) -> tuple[Layer, ...]:
        """Return what was in force in a file before a transaction changed it."""
        return self._before[number, file]

    def first(self, file: str) -> str:
        """Return SHA-256 of the first original of a file; empty where there was none."""
        return next((r["files"][file]["base"] for r in self.records if file in r["files"]), "")

    def taken_out(self, owner: str | None = None) -> Iterator[tuple[int, str, Layer]]:
        """Yield the changes that transactions took out: the transaction's number, the file, the change.

        Args:
            owner: whose; ``None``: all that are not taken back themselves.
        """
        for record in self.records:
            if record["owner"] != owner if owner is not None else record["number"] in self.undone:
                continue
            for file, facts in record["files"].items():
                for row in facts["removed"]:
                    yield record["number"], file, Layer.from_row(row)

    def _replay(self, record: dict[str, Any]) -> None:
        texts = [record[key] for key in ("time", "command", "owner", "kind")]
        number, undoes = record["number"], record.get("undoes")
        if type(number) is not int or not all(type(text) is str for text in texts):
            raise Malformed("it is not a change")
        if not self._last < number < _MAX_NUMBER or not isinstance(undoes, int | None):
            raise Malformed(f"it has the number {number}, and takes back {undoes}")
        self._last = number
        if undoes is not None:
            self.undone.add(undoes)
            again = self.record(undoes) or {}
            self.undone.discard(again.get("undoes", -1))
        for file, facts in record["files"].items():
            digests = facts["base"], facts["before"], facts["after"], facts.get("base_before", "")
            if any(type(digest) is not str for digest in digests):
                raise Malformed("a digest is not text")
            before = self.files.get(file, State("", ""))
            there = self._before[number, file] = _with(before.layers, facts["lost"], facts.get("found", ()))
            if "found" in facts and facts.get("kept") == facts["before"]:
                found = State(facts.get("base_before", facts["base"]), facts["before"], there)
                self._versions[file, found.after] = found
                self._kept[file, found.base, there] = found.after
            state = State(facts["base"], facts["after"], _with(there, facts["removed"], facts["added"]))
            self.files[file] = self._versions[file, state.after] = state


def _with(layers: Iterable[Layer], removed: Iterable[Any], added: Iterable[Any]) -> tuple[Layer, ...]:
    """Layers without some and with others, which are rows of a record."""
    away, more = [Layer.from_row(row) for row in removed], [Layer.from_row(row) for row in added]
    return in_order([*without(layers, [*away, *more]), *more])


def in_order(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return layers in the order in which they apply."""
    return tuple(sorted(layers, key=lambda layer: (layer.number, layer.slot)))


def version(vault: Vault, history: History, file: str, state: State) -> bytes | None:
    """Return a file in a state of the history; ``None``: it was not there.

    Raises:
        ConversionError: something of it is gone or damaged.
    """
    if (kept := history.kept(file, state.base, state.layers)) is not None:
        return vault.original(kept)
    base = vault.original(state.base) if state.base else None
    return compose(base, state.layers, vault.change, file)


def can_be_made(vault: Vault, history: History, file: str, digest: str) -> bool:
    """Whether the vault has all that a version of a file is made of."""
    if (state := history.version(file, digest)) is None:
        return False
    try:
        return digest_of_file(version(vault, history, file, state)) == digest
    except ConversionError:
        return False


def digest_of_file(data: bytes | None) -> str:
    """Return SHA-256 of a file; empty where there is none."""
    return "" if data is None else sha256(data)
