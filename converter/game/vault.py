"""The vault: the folder ``.msh-gltf`` of a game, with its originals and the history of its changes.

It lies with the game, not with what was exported from it. What is in it:

- ``originals/DIGEST``: every state of a file that somebody else made, the first one included.
  Nothing replaces or deletes one.
- ``changes/DIGEST``: differences (``differences``) that transactions applied.
- ``edits.jsonl``: a line per transaction; only ever appended to.
- ``intent.json`` and ``staged/``: a transaction that is being carried out.

A game may come from anybody: every digest is checked when its content is read, no link is
followed, and no path leads out of the game.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import ConversionError, Malformed, in_words, printable, reason_of
from ..files import in_any_case, read_json
from ..formats.objects import REGISTRY
from ..formats.sidecar import sha256
from ..storage import (
    VAULT,
    absolute,
    append_file,
    cannot_read,
    cannot_write,
    if_there,
    is_taken,
    no_follow,
    sync_directory,
    write_durably,
    write_outputs,
)

_README = """\
msh-gltf keeps the original files of this game here, and the history of what it changed.
`msh-mod status GAME` shows it, `msh-mod restore GAME` takes everything back.
Do not delete this folder: without it the originals are gone.

msh-gltf хранит здесь исходные файлы игры и историю своих изменений.
`msh-mod status GAME` показывает её, `msh-mod restore GAME` возвращает всё назад.
Не удаляйте эту папку: без неё исходных файлов больше нет.
"""
#: A line of the history is some kilobytes; of a mod that changes everything, some megabytes.
_MAX_LINE = 1 << 26
_DIGEST_LETTERS = frozenset("0123456789abcdef")
#: Changes that are written together: each is an open file until all are named.
_AT_ONCE = 64
#: Reflinks a file where the disk has them (FICLONE of linux/fs.h).
_FICLONE = 0x40049409


def find_root(path: Path) -> Path:
    """Return the folder whose vault keeps the originals of a file or a directory.

    The nearest one at or above it that has a vault or ``objects.rlb``, else the directory itself
    (of a file, its own).
    """
    here = absolute(path)
    here = here if here.is_dir() else here.parent
    return next(filter(_is_game, (here, *here.parents)), here)


def in_game(path: Path) -> bool:
    """Whether a file lies in a game: a folder at or above it has a vault, or ``objects.rlb``."""
    return _is_game(find_root(path))


def last_transaction(path: Path) -> int:
    """Return the number of the last transaction on the game that a file lies in; 0: none.

    Raises:
        ConversionError: the vault is damaged.
    """
    vault = Vault(find_root(path))
    numbers = [record.get("number") for record in (vault.records() if vault.exists else [])]
    return max((number for number in numbers if type(number) is int), default=0)


def as_listed(path: Path) -> Path:
    """Return a file's path as its folder lists it, where the disk does not tell cases apart."""
    return in_any_case(path.parent, [path.name]) if os.path.exists(path) else path


def _is_game(folder: Path) -> bool:
    with if_there(folder):
        return any(name.lower() in (REGISTRY, VAULT) for name in os.listdir(folder))
    return os.path.lexists(folder / VAULT)  # one that may be entered, and not listed


class Vault:
    """The folder with a game's originals and history.

    Args:
        root: the game's directory, or the folder of an archive by itself.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / VAULT

    # ------------------------------------------------------------------ reading

    @property
    def exists(self) -> bool:
        """Whether the game has a vault."""
        return is_taken(self.path)

    def records(self) -> list[dict[str, Any]]:
        """Return the transactions, oldest first; a line that was not finished is not one.

        Raises:
            ConversionError: the history is damaged.
        """
        path = self.path / "edits.jsonl"
        data = self._read(path) if is_taken(path) else b""
        lines = data.split(b"\n")
        found = []
        for number, line in enumerate(lines, 1):
            if not line or number == len(lines):  # no line break: it was being written
                continue
            try:
                record = read_json(line) if len(line) < _MAX_LINE else None
                if not isinstance(record, dict):
                    raise Malformed("it is not a JSON object")
            except (ValueError, RecursionError) as error:
                raise self.damaged(path, f"line {number}: {reason_of(error)}") from None
            found.append(record)
        return found

    def original(self, digest: str) -> bytes:
        """Return a kept state of a file. Raises ConversionError: it is gone or damaged."""
        return self._by_digest("originals", digest)

    def change(self, digest: str) -> bytes:
        """Return a stored difference. Raises ConversionError: it is gone or damaged."""
        return self._by_digest("changes", digest)

    def has_original(self, digest: str) -> bool:
        """Whether a state of a file is kept; one that is damaged is not."""
        try:
            self.original(digest)
        except ConversionError:
            return False
        return True

    def has_change(self, digest: str) -> bool:
        """Whether a difference is kept."""
        return is_taken(self.path / "changes" / digest)

    def sizes(self) -> dict[str, int]:
        """Return how many bytes originals and changes take."""
        found = {}
        for folder in ("originals", "changes"):
            with contextlib.suppress(OSError), os.scandir(self.path / folder) as entries:
                found[folder] = sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
        return found

    def _by_digest(self, folder: str, digest: str) -> bytes:
        if len(digest) != 64 or not _DIGEST_LETTERS.issuperset(digest):
            raise self.damaged(self.path / "edits.jsonl", f"{in_words(digest)} is no SHA-256")
        path = self.path / folder / digest
        data = self._read(path)
        if sha256(data) != digest:
            hint = "take it from a copy of the game's folder"
            raise ConversionError("is damaged: its content is not what its name says", file=str(path), hint=hint)
        return data

    def _read(self, path: Path) -> bytes:
        self._require_real()
        try:
            with open(path, "rb", opener=no_follow) as handle:
                return handle.read()
        except OSError as error:
            raise cannot_read(path, error) from error

    def _require_real(self) -> None:
        """Stop where the vault, or a folder in it, is a link."""
        for path in (self.path, self.path / "originals", self.path / "changes"):
            if is_taken(path) and not _is_directory(path):
                hint = "move it away; the history of the game is kept there"
                raise ConversionError("is not a folder but a link or a file", file=str(path), hint=hint)

    def damaged(self, path: Path, why: str) -> ConversionError:
        """Return the error for a file of the vault that is not what it should be."""
        hint = "take it from a copy of the game's folder; the originals are beside it"
        return ConversionError("the history of changes is damaged", file=str(path), value=why, hint=hint)

    # ------------------------------------------------------------------ writing

    def make(self) -> None:
        """Make the folder. Raises ConversionError: it cannot be made: the disk is full or read-only."""
        self._require_real()
        try:
            for name in ("originals", "changes"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            sync_directory(self.path)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        readme = self.path / "README.txt"
        if not is_taken(readme):
            write_outputs([(readme, _README.encode())], force=False)

    def keep_original(self, data: bytes, source: Path | None = None) -> str:
        """Keep a state of a file; return its digest. Raises ConversionError: it cannot be kept.

        Args:
            source: the file, where the disk may share its blocks.
        """
        digest = sha256(data)
        if not self.has_original(digest):
            self._require_real()
            path = self.path / "originals" / digest
            if source is None or not _cloned(source, path, digest):
                write_durably([(path, data)])
        return digest

    def keep_changes(self, changes: Iterable[bytes]) -> None:
        """Keep differences. Raises ConversionError: they cannot be kept."""
        self._require_real()
        new = ((digest, data) for data in changes if not self.has_change(digest := sha256(data)))
        while some := dict(islice(new, _AT_ONCE)):
            files = [(self.path / "changes" / digest, data) for digest, data in some.items()]
            write_durably(files)

    def append(self, record: dict[str, Any]) -> None:
        """Add a transaction to the history; on the disk when this returns.

        Raises:
            ConversionError: it cannot be written.
        """
        self._require_real()
        path = self.path / "edits.jsonl"
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            with append_file(path) as file:
                end = file.read().rfind(b"\n") + 1
                file.seek(end)  # over what a killed run left: what no line break ends is never read
                try:
                    left = memoryview(line)
                    while left:
                        left = left[file.write(left) :]
                    os.fsync(file.fileno())
                    if not end:
                        sync_directory(path)
                except (OSError, ConversionError):
                    file.truncate(end)
                    raise
        except OSError as error:
            raise cannot_write(path, error) from error

    # ------------------------------------------------------------------ a transaction at work

    def intent(self) -> dict[str, Any] | None:
        """Return the transaction that a killed run did not end. Raises ConversionError: it is damaged."""
        path = self.path / "intent.json"
        if not is_taken(path):
            return None
        try:
            found = read_json(self._read(path))
            if not isinstance(found, dict):
                raise Malformed("it is not a JSON object")
        except (ValueError, RecursionError) as error:
            raise self.damaged(path, reason_of(error)) from None
        return found

    def stage(self, files: Mapping[str, bytes], intent: dict[str, Any]) -> None:
        """Lay new files ready, then the intent; all on the disk.

        Args:
            files: new files by the names that they lie ready under.
            intent: what recovery needs to know.

        Raises:
            ConversionError: there is no room, or the disk is read-only; nothing has changed.
        """
        self.clear_staged()
        try:
            ready = [(self.staged(name), data) for name, data in files.items()]
            write_durably(ready)
            text = json.dumps(intent, separators=(",", ":")).encode()
            write_durably([(self.path / "intent.json", text)])
        except BaseException:
            if not is_taken(self.path / "intent.json"):
                self.clear_staged()
            raise

    def staged(self, name: str) -> Path:
        """Return where a new file lies ready."""
        return self.path / "staged" / name

    def finish(self) -> None:
        """Forget the intent: the transaction is in the history, or taken back.

        Raises:
            ConversionError: the disk reports an error.
        """
        path = self.path / "intent.json"
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        self.clear_staged()

    def clear_staged(self) -> None:
        """Remove what lies ready."""
        folder = self.path / "staged"
        if not _is_directory(folder):
            with contextlib.suppress(OSError):
                os.unlink(folder)  # a link, or a file
            return
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                os.unlink(folder / name)
            os.rmdir(folder)


def inside(root: Path, file: str) -> Path:
    """Return a file of the game by its path from the root, as a record has it.

    Raises:
        ConversionError: the path leads out of the game, into its vault, or through a link.
    """
    parts = PurePosixPath(file).parts
    plain = file and "\0" not in file and "\\" not in file and ":" not in file
    if sys.platform != "win32":
        plain = bool(file) and "\0" not in file
    if not plain or file.startswith("/") or {"..", "."} & set(parts) or parts[0].lower() == VAULT:
        raise _outside(file)
    path = root
    for part in parts[:-1]:
        path = path / part
        if path.is_symlink():
            raise _outside(file)
    return path / parts[-1]


def _outside(file: str) -> ConversionError:
    hint = "what names it was not made by msh-gltf, or a folder of the game is a link"
    return ConversionError("does not name a file of the game", file=printable(file), hint=hint)


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise cannot_read(path, error) from error


def _cloned(source: Path, target: Path, digest: str) -> bool:
    """Share the blocks of a file with a copy of it, where the disk can; the content is checked."""
    if sys.platform != "linux":
        return False
    import fcntl

    temporary = target.with_name(f"{target.name}.tmp")
    with contextlib.suppress(OSError, ConversionError):
        os.unlink(temporary)  # of a run that was killed
    try:
        with open(source, "rb", opener=no_follow) as old, open(temporary, "xb", opener=no_follow) as new:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
            os.fsync(new.fileno())
        if sha256(temporary.read_bytes()) == digest:
            os.replace(temporary, target)
            sync_directory(target)
            return True
    except (OSError, ConversionError):
        pass
    with contextlib.suppress(OSError):
        os.unlink(temporary)
    return False


@contextlib.contextmanager
def as_writer(vault: Vault, command: str) -> Iterator[None]:
    """Note in the vault who is at work, for whoever finds the game locked."""
    path = vault.path / "writer"
    if vault.exists:
        with contextlib.suppress(ConversionError):
            vault._require_real()
            note = f"{command} (process {os.getpid()})\n".encode()
            write_outputs([(path, note)], force=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def writer(vault: Vault) -> str:
    """Return who is at work in a game, as far as it is known."""
    try:
        with open(vault.path / "writer", "rb", opener=no_follow) as file:
            return printable(file.read(200).decode("utf-8", "replace").strip())
    except (OSError, ConversionError):
        return "another run"
