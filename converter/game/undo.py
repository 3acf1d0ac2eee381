"""Take changes of a game back, and list those in force (``msh-mod``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Conflict, ConversionError, printable
from .edits import GameEdits
from .history import History, Layer, Slot, by_slot, digest_of_file, without
from .transaction import file_bytes
from .vault import Vault, inside


@dataclass(frozen=True)
class InForce:
    """An entry or a file that differs from the original.

    Attributes:
        number: the transaction that changed it.
        owner: the output directory or the mod that it came from.
        item: the model, texture or glTF that it came from.
        is_new: the game did not have it.
    """

    file: str
    entry: str
    number: int
    time: str
    command: str
    owner: str
    item: str
    is_new: bool


@dataclass(frozen=True)
class Kept:
    """A state of a file that the vault keeps.

    Attributes:
        digest: SHA-256, which ``restore --to`` takes.
        what: ``original``, ``kept`` (somebody else made it later) or ``candidate`` (an old .bak).
    """

    file: str
    digest: str
    what: str


@dataclass(frozen=True)
class Status:
    """What differs from a game's originals.

    Attributes:
        changes: what is in force.
        foreign: files that are not as our changes alone make them, and how.
        kept: the states of files that the vault keeps.
        sizes: bytes that originals and changes take.
    """

    root: str
    changes: list[InForce]
    foreign: dict[str, str]
    kept: list[Kept]
    transactions: list[dict[str, Any]]
    sizes: dict[str, int]


def status(root: Path) -> Status:
    """Return what differs from a game's originals; nothing is written. Raises ConversionError: the vault is damaged."""
    vault = Vault(root)
    history = History(vault.records() if vault.exists else [])
    changes, foreign = [], {}
    for file, state in history.files.items():
        now = digest_of_file(file_bytes(inside(root, file)))
        if now != state.after:
            foreign[file] = (
                "is gone" if not now else "is its original" if now == state.base else "was changed by another program"
            )
        elif state.base != history.first(file):
            foreign[file] = "holds what another program changed"
        for layer in state.layers:
            record = history.record(layer.number) or {}
            changes.append(
                InForce(
                    file,
                    layer.slot.text,
                    layer.number,
                    record.get("time", ""),
                    record.get("command", ""),
                    layer.owner,
                    layer.source,
                    not layer.before,
                )
            )
    transactions = [
        {
            **{key: record[key] for key in ("number", "time", "command", "owner", "kind")},
            "files": sorted(record["files"]),
            "undone": record["number"] in history.undone,
        }
        for record in history.records
    ]
    sizes = vault.sizes() if vault.exists else {}
    return Status(str(root), changes, foreign, _kept(history), transactions, sizes)


def undo(edits: GameEdits, number: int | None = None) -> int:
    """Take a transaction back; nothing is written before the commit.

    Args:
        number: which one; ``None``: the last one that is not taken back.

    Returns:
        Its number.

    Raises:
        ConversionError: there is none, it is taken back already, or a later one, or another
            program, changed the same.
    """
    history = edits.history
    if number is None:
        undoes = {record["number"] for record in history.records if "undoes" in record}
        done = history.undone | undoes
        left = [r["number"] for r in history.records if r["number"] not in done and r["kind"] != "recovery"]
        if not left:
            raise ConversionError(
                "has no change to take back", file=str(edits.vault.root), hint="msh-mod status shows what is known"
            )
        number = max(left)
    record = history.record(number)
    if record is None:
        raise ConversionError(
            "has no such change", file=str(edits.vault.root), value=number, hint="msh-mod status lists them"
        )
    if number in history.undone:
        raise ConversionError(f"change {number} is taken back already")
    for file, facts in record["files"].items():
        added = [Layer.from_row(row) for row in facts["added"]]
        removed = [Layer.from_row(row) for row in facts["removed"]]
        opened = edits.open(file)
        before = facts.get("base_before", facts["base"])
        if digest_of_file(opened.now) == facts["after"]:  # whatever came in between: byte for byte as it was
            layers = list(history.before(number, file))
        else:
            _require_last(history, number, file, added, removed, opened.layers)
            layers = without(opened.layers, added)
            layers += without(removed, layers)
            _require_exact(history, number, file, {layer.slot for layer in (*added, *removed)}, layers)
            if before == facts["base"]:
                before = digest_of_file(opened.base)
            elif facts["base"] != digest_of_file(opened.base):
                raise _not_there(number, file)
        if before == digest_of_file(opened.base):
            edits.set_layers(file, layers)
        else:
            data = edits.vault.original(before) if before else None
            edits.set_layers(file, layers, data, rebase=True)
    try:
        edits.planned()
    except Conflict as error:
        error.problem = f"what change {number} wrote was changed since, by another program perhaps"
        error.hint = "that stays; msh-mod restore GAME FILE --to DIGEST gets a state of the file that was kept"
        raise
    return number


def _require_last(
    history: History,
    number: int,
    file: str,
    added: Sequence[Layer],
    removed: Sequence[Layer],
    in_force: Sequence[Layer],
) -> None:
    """Stop where a later transaction changed what one of them changed."""
    slots = {layer.slot for layer in (*added, *removed)}
    later = {(layer.number, layer.slot) for layer in without(in_force, added) if layer.slot in slots}
    gone = {*without(added, in_force)}
    later |= {(one, layer.slot) for one, where, layer in history.taken_out() if where == file and layer in gone}
    other, slot = max(later, default=(0, Slot()))
    if other > number:
        record = history.record(other) or {"command": ""}
        raise ConversionError(
            f"change {other} ({printable(record['command'])}) changed it later",
            file=printable(file),
            entry=slot.text or None,
            hint=f"take that back first: msh-mod undo GAME {other}",
        )
    if gone:
        raise _not_there(number, file, min(layer.slot for layer in gone).text)


def _require_exact(history: History, number: int, file: str, slots: set[Slot], layers: Iterable[Layer]) -> None:
    """Stop where what a transaction changed would not be as it was before."""
    was, becomes = by_slot(history.before(number, file)), by_slot(layers)
    if other := next((slot for slot in sorted(slots) if was.get(slot) != becomes.get(slot)), None):
        raise _not_there(number, file, other.text)


def _not_there(number: int, file: str, entry: str = "") -> ConversionError:
    return ConversionError(
        f"what change {number} wrote is not in the game any more",
        file=printable(file),
        entry=entry or None,
        hint="a later change or another program took it back",
    )


def restore(edits: GameEdits, files: Sequence[str] | None = None, *, to: str | None = None) -> list[str]:
    """Take our changes out of files; nothing is written before the commit.

    Args:
        files: paths from the game's folder; ``None``: every file.
        to: SHA-256, or its first letters, of a kept state that one file gets.

    Returns:
        What the user should know.

    Raises:
        ConversionError: a file is not known, or there is no such state.
    """
    known = edits.history.files
    if files is not None and (unknown := next((f for f in files if f not in known), None)):
        raise ConversionError("was never changed here", file=printable(unknown), hint="msh-mod status shows what was")
    messages = []
    for file in known if files is None else files:
        if to is not None:
            edits.set_layers(file, [], _state(edits, file, to), rebase=True)
            continue
        opened = edits.open(file)
        first = edits.history.first(file)
        if opened.now is None and first:
            edits.set_layers(file, [], edits.vault.original(first), rebase=True)
            continue
        edits.set_layers(file, [])
        if digest_of_file(opened.base) != first:
            messages.append(
                f"{printable(file)} keeps what another program changed; its first original: "
                f"msh-mod restore GAME {printable(file)} --to {first[:12]}"
            )
    return messages


def _state(edits: GameEdits, file: str, to: str) -> bytes:
    found = {one.digest for one in _kept(edits.history) if one.file == file}
    fits = [digest for digest in found if digest.startswith(to.lower())]
    if len(fits) != 1 or len(to) < 4:
        hint = "msh-mod status --json lists them"
        raise ConversionError("no state of it, or several, have this digest", file=printable(file), value=to, hint=hint)
    return edits.vault.original(fits[0])


def _kept(history: History) -> list[Kept]:
    found: dict[tuple[str, str], str] = {}
    for record in history.records:
        for file, facts in record["files"].items():
            for digest, what in _digests(facts, is_first=history.first(file) == facts["base"]):
                found.setdefault((file, digest), what)
    return [Kept(file, digest, what) for (file, digest), what in found.items() if digest]


def _digests(facts: dict[str, Any], *, is_first: bool) -> Iterable[tuple[str, str]]:
    yield facts["base"], "original" if is_first else "kept"
    for what in ("kept", "candidate"):
        if isinstance(facts.get(what), str):
            yield facts[what], what
