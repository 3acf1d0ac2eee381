"""Carry out a transaction: whole or not at all, over any number of files, whenever it is killed.

New files lie ready in the vault, and the intent beside them, before the first one gets its name.
The transaction is in the history when all have theirs. What a killed run leaves is completed by the
next one, or taken back where something of it is missing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConversionError, printable, reason_of
from ..files import no_run, only_run, read_file
from ..formats.sidecar import sha256
from ..storage import (
    cannot_read,
    cannot_write,
    copy_mode,
    held_open,
    is_taken,
    link_message,
    sync_directory,
    undisturbed,
    write_durably,
)
from .history import History, Layer, State, can_be_made, digest_of_file, version
from .vault import Vault, as_writer, inside, writer

_NO_LOCKS = "the disk has no locks: start no other run on this game until this one has ended"


@contextlib.contextmanager
def only_writer(vault: Vault, command: str) -> Iterator[list[str]]:
    """Keep other runs out of a game, and end what a killed one left.

    Args:
        command: what the user called, for whoever finds the game locked.

    Yields:
        What the user should know.

    Raises:
        ConversionError: another run is at work there, or the vault is damaged.
    """
    with contextlib.ExitStack() as stack:
        try:
            locked = stack.enter_context(only_run(vault.root))
        except ConversionError as error:
            if "at work" in error.problem:
                error.problem = f"{writer(vault)} is at work in this game"
            raise
        stack.enter_context(as_writer(vault, command))
        yield [*([] if locked else [_NO_LOCKS]), *_recovered(vault)]


def file_bytes(path: Path) -> bytes | None:
    """Return the bytes of a file; ``None``: it is not there. Raises ConversionError: it cannot be read."""
    try:
        about = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise cannot_read(path, error) from error
    return bytes(read_file(path)) if stat.S_ISREG(about.st_mode) else None


@dataclass(frozen=True)
class Beside:
    """Another game that a run changes: both are changed, or none.

    ``root``: the folder with its vault. ``commit``: changes it; its record has the same ``run``.
    """

    root: Path
    commit: Callable[[], None]


def carry_out(
    vault: Vault, jobs: Mapping[str, bytes | None], record: dict[str, Any], beside: Beside | None = None
) -> list[str]:
    """Write files and add a transaction to the history. The caller is the only writer.

    Another game is changed when all is written here, and before the history says so: that it has its part
    decides, also for the next run where this one is killed.

    Args:
        jobs: the new bytes of files by path from the root; ``None``: it is removed.
        beside: the other game.

    Returns:
        What the user should know.

    Raises:
        ConversionError: a file cannot be written; the game is as it was.
    """
    order = list(jobs)
    for file in order:
        _require_free(inside(vault.root, file))
    staged = {str(i): data for i, file in enumerate(order) if (data := jobs[file]) is not None}
    before = {file: file_bytes(inside(vault.root, file)) for file in order}
    messages: list[str] = []
    intent: dict[str, Any] = {"record": record, "order": order}
    if beside is not None:
        intent["beside"] = _way(vault.root, beside.root)
    vault.stage(staged, intent)
    with undisturbed():
        path, done = vault.path, list[str]()
        try:
            for number, file in enumerate(order):
                path = inside(vault.root, file)
                require_unchanged(path, record["files"][file]["before"])
                if is_taken(path) and (message := link_message(path)):
                    messages.append(message)
                done.append(file)
                _place(vault, str(number), path, is_there=jobs[file] is not None)
                _sync_names(vault.root, path)
            if beside is not None:
                beside.commit()
            vault.append(record)
        except (ConversionError, OSError) as error:
            if beside is not None and _is_done_beside(vault, intent):
                if isinstance(error, ConversionError):
                    error.hint = "both games are written; the next run on this one adds it to its history"
                raise
            for file in done:
                _write_back(inside(vault.root, file), before[file])
            vault.finish()
            if isinstance(error, ConversionError):
                raise
            raise cannot_write(path, error) from error
        with contextlib.suppress(ConversionError):  # the next run forgets the intent
            vault.finish()
    return messages


def require_unchanged(path: Path, digest: str) -> None:
    """Stop where somebody changes a file while a run is at work: theirs is not replaced."""
    if digest_of_file(file_bytes(path)) != digest:
        raise ConversionError("changed while this run was at work", file=str(path), hint="run it again")


def _require_free(target: Path) -> None:
    """Stop where a file cannot be replaced because a program has it open (Windows)."""
    if (error := held_open(target)) is not None:
        hint = "close the program that has it open, the game perhaps"
        raise ConversionError(f"cannot be replaced ({reason_of(error)})", file=str(target), hint=hint) from error


def _place(vault: Vault, name: str, path: Path, *, is_there: bool) -> None:
    """Give a file that lies ready its name, or remove one."""
    if not is_there:
        path.unlink(missing_ok=True)
        return
    ready = vault.staged(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    copy_mode(path, ready)
    try:
        os.replace(ready, path)
    except OSError as error:
        if error.errno != errno.EXDEV:  # a folder of the game on another disk
            raise
        write_durably([(path, ready.read_bytes())])


def _sync_names(root: Path, path: Path) -> None:
    """Wait until the name of a file, and those of its folders, are on the disk."""
    for name in (path, *path.parents):
        if name == root:
            break
        sync_directory(name)


def stopped_run(vault: Vault) -> list[str]:
    """Say, in a line or none, that a run was killed and nobody has ended what it began; nothing is written.

    Raises:
        ConversionError: the vault is damaged.
    """
    intent = vault.intent() if vault.exists else None
    if intent is None:
        return []
    try:
        with no_run(vault.root):
            number, command = intent["record"]["number"], printable(str(intent["record"]["command"]))
            if History(vault.records()).record(number) is not None:  # only the last step was missing
                return []
    except ConversionError as error:
        return [f"{writer(vault)} is at work in this game"] if "at work" in error.problem else []
    except (KeyError, TypeError):
        raise vault.damaged(vault.path / "intent.json", "it names no run") from None
    return [
        f"a run was stopped and its files may be half written ({command}); run it again, "
        "or any command that changes the game: it completes that run first, or takes it back"
    ]


def _write_back(path: Path, data: bytes | None) -> None:
    """Write a file as it was."""
    if data is None:
        path.unlink(missing_ok=True)
    elif file_bytes(path) != data:
        write_durably([(path, data)])


def _recovered(vault: Vault) -> list[str]:
    """End the transaction of a run that was killed: complete it, or take it back."""
    intent = vault.intent() if vault.exists else None
    if intent is None:
        vault.clear_staged()
        return []
    try:
        record, order = intent["record"], [str(file) for file in intent["order"]]
        rows = {file: record["files"][file] for file in order}
        number = record["number"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise vault.damaged(vault.path / "intent.json", reason_of(error)) from None
    history = History(vault.records())
    if history.record(number) is not None:  # only the last step was missing
        vault.finish()
        return []
    try:
        completed = History([*history.records, record])
    except ConversionError as error:
        raise vault.damaged(vault.path / "intent.json", str(error.value)) from None
    is_whole = _is_ready(vault, intent) and _is_done_beside(vault, intent)
    with undisturbed():
        if is_whole:
            for i, file in enumerate(order):
                _complete(vault, history, str(i), file, rows[file])
            vault.append(record)
        else:
            kept = {file: _take_back(vault, history, completed, file, rows[file]) for file in order}
            if found := {file: _as_it_is(vault, history, file, digest) for file, digest in kept.items() if digest}:
                vault.append({**record, "kind": "recovery", "undoes": None, "files": found})
        vault.finish()
    done = "completed" if is_whole else "taken back"
    also = f", here and in {printable(str(intent['beside']))}" if "beside" in intent else ""
    return [f"a run that was stopped ({printable(record['command'])}) has been {done}{also}"]


def _way(root: Path, other: Path) -> str:
    """The path of another game from a game's folder, so that both can be moved; absolute from disk to disk."""
    try:
        return os.path.relpath(os.path.realpath(other), os.path.realpath(root))
    except ValueError:
        return os.path.realpath(other)


def _is_done_beside(vault: Vault, intent: Mapping[str, Any]) -> bool:
    """Whether the other games that a run was to change have their part, or get it by their next run.

    They are only read; where one cannot be, it has not.
    """
    seen = set[Path]()
    with contextlib.suppress(ConversionError, KeyError, TypeError, ValueError, AttributeError):
        while (way := intent.get("beside")) is not None:
            vault = Vault(Path(os.path.realpath(vault.root), way))
            if vault.root in seen or Path(way).drive.startswith("\\\\"):  # nobody's server is asked
                return False
            seen.add(vault.root)
            if not vault.exists:
                return False
            run, there = intent["record"]["run"], vault.intent()
            if any(record.get("run") == run and record["kind"] != "recovery" for record in vault.records()):
                return True
            if there is None or there["record"]["run"] != run or not _is_ready(vault, there):
                return False
            intent = there
        return True
    return False


def _now(vault: Vault, file: str) -> str:
    return digest_of_file(file_bytes(inside(vault.root, file)))


def _is_ready(vault: Vault, intent: Mapping[str, Any]) -> bool:
    """Whether a transaction can be completed."""
    rows = intent["record"]["files"]
    return all(_is_there(vault, str(i), file, rows[file]) for i, file in enumerate(intent["order"]))


def _is_there(vault: Vault, name: str, file: str, row: dict[str, Any]) -> bool:
    """Whether a file has been written already, can be written, or is to be removed; what changes it is kept."""
    if not all(vault.has_change(Layer.from_row(added).stored) for added in row["added"]):
        return False
    ready = vault.staged(name)
    if not row["after"] or _now(vault, file) == row["after"]:
        return True
    return ready.is_file() and not ready.is_symlink() and sha256(ready.read_bytes()) == row["after"]


def _complete(vault: Vault, history: History, name: str, file: str, row: dict[str, Any]) -> None:
    """Write a file; one that somebody changed meanwhile stays, and is found by the next run."""
    if _now(vault, file) == row["before"] != row["after"]:
        path = inside(vault.root, file)
        kept = _keep(vault, path)
        if kept and history.version(file, kept) is None:
            row["kept"] = kept
        _place(vault, name, path, is_there=bool(row["after"]))
        _sync_names(vault.root, path)


def _keep(vault: Vault, path: Path) -> str:
    """Keep what a file holds: the intent may be one that nobody had. Return its digest."""
    data = file_bytes(path)
    if data is None:
        return ""
    vault.make()
    return vault.keep_original(data)


def _take_back(vault: Vault, history: History, completed: History, file: str, row: dict[str, Any]) -> str:
    """Write a file as it was; return the digest of what was kept because the vault cannot make it."""
    if _now(vault, file) != row["after"]:
        return ""
    state = history.version(file, row["before"])
    if state is None:
        data = vault.original(row["before"]) if row["before"] else None
    else:
        data = version(vault, history, file, state)
    path = inside(vault.root, file)
    kept = "" if can_be_made(vault, completed, file, row["after"]) else _keep(vault, path)
    _write_back(path, data)
    return kept


def _as_it_is(vault: Vault, history: History, file: str, kept: str) -> dict[str, Any]:
    """The row of a record that only names what was kept of a file."""
    state = history.files.get(file)
    if state is None:
        there = _keep(vault, inside(vault.root, file))
        state = State(there, there)
    return {
        "base": state.base,
        "before": kept,
        "after": state.after,
        "added": [],
        "removed": [],
        "lost": [],
        "kept": kept,
    }
