"""A game's directory, as units and missions see it: registry, archives, models, files.

Paths come from files that anybody may have made: they are taken apart, looked up in any case one
directory after the other, and never lead out of the game's directory, links followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..checks.model import require_valid
from ..errors import ConversionError, printable
from ..files import pass_on_unreadable
from ..formats.kinds import MODEL_TYPE, models_in
from ..formats.model import MshModel, model_at
from ..formats.names import readable
from ..formats.nres import Archive, Entry
from ..formats.registry import REGISTRY, Member, Registry, Resolved, read_registry
from ..scene.dialect import Decision, decide, majority
from ..storage import if_there, walk_files
from .open_files import open_nres

#: How many models are kept: a mission uses few, in any order.
_KEPT_MODELS = 64


def majority_of(archive: Archive) -> Decision | None:
    """Return the dialect of most models of an archive (docs/reference/dialects.md)."""
    decisions = []
    for index in models_in(archive):
        try:
            model = model_at(archive, index, archive.label)
            require_valid(model)
        except ConversionError as error:
            pass_on_unreadable(error)
            continue  # its own conversion says what is wrong with it
        decisions.append(decide(model))
    return majority(decisions)


@dataclass(frozen=True)
class Opened:
    """An entry of an archive of the game.

    Attributes:
        archive: the archive; payloads are read on access.
        path: its file.
        index: directory index of the entry.
    """

    archive: Archive
    path: Path
    index: int

    @property
    def entry(self) -> Entry:
        """The entry."""
        return self.archive.entries[self.index]


@dataclass(frozen=True)
class KnownObject:
    """What an object key leads to in the game's directory.

    Attributes:
        key: as it was asked for.
        resolved: what the registry says; ``None``: it has no such key.
        model: the model's entry; ``None``: it has none, or it is missing.
        problem: why there is no model although the registry names one; empty otherwise.
    """

    key: str
    resolved: Resolved | None
    model: Opened | None = None
    problem: str = ""


def find_game(start: Path) -> Path | None:
    """Return the nearest directory at or above a path that has ``objects.rlb``, in any case."""
    here = Path(os.path.abspath(start))
    for folder in (here, *here.parents):
        with if_there(folder):  # not a file, nor a directory that may not be read
            if any(name.lower() == REGISTRY for name in os.listdir(folder)):
                return folder
    return None


def model_archives(root: Path) -> list[str]:
    """Return the archives of a game that have models, as paths from its directory with slashes.

    What cannot be read is left out.
    """
    found = []
    for folder, _, names in walk_files(root):
        for path in (folder / name for name in names):
            try:
                archive = open_nres(path, str(path))
            except ConversionError:
                continue
            if MODEL_TYPE in archive.type_ids:
                found.append(path.relative_to(root).as_posix())
    return found


@dataclass
class Game:
    """A game's directory.

    Attributes:
        root: the directory that has ``objects.rlb``.
    """

    root: Path
    _folders: dict[Path, dict[str, str]] = field(default_factory=dict, repr=False)
    _archives: dict[Path, Archive] = field(default_factory=dict, repr=False)
    _objects: dict[str, KnownObject] = field(default_factory=dict, repr=False)
    _dialects: dict[Path, Decision | None] = field(default_factory=dict, repr=False)
    _models: dict[tuple[Path, int], MshModel | ConversionError] = field(default_factory=dict, repr=False)

    @cached_property
    def registry(self) -> Registry:
        """The object registry.

        Raises:
            ConversionError: it is missing or cannot be read.
        """
        path = self.file(REGISTRY)
        if path is None:
            raise ConversionError("has no objects.rlb", file=str(self.root), hint="name the game's directory")
        return read_registry(self.archive(path))

    @cached_property
    def objects(self) -> list[Resolved]:
        """What every key of the registry means; empty where it cannot be read."""
        try:
            found = [self.registry.resolve(key) for key in self.registry.keys()]  # noqa: SIM118
        except ConversionError:
            return []
        return [resolved for resolved in found if resolved is not None]

    def file(self, path: str) -> Path | None:
        """Return the file or directory of a path, in any case; ``None``: there is none inside.

        Args:
            path: from the game's directory, with backslashes or slashes.
        """
        found = self.root
        for part in _parts(path):
            name = None if part is None else self._names(found).get(part)
            if name is None:
                return None
            found = found / name
        try:
            inside = found.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # links in a circle
            return None
        return found if inside and found != self.root else None

    def _names(self, folder: Path) -> dict[str, str]:
        """The names in a directory by what they are in lower case; of several the first."""
        if folder not in self._folders:
            names: list[str] = []
            with if_there(folder):
                names = sorted(os.listdir(folder), reverse=True)
            self._folders[folder] = {readable(name).lower(): name for name in names}
        return self._folders[folder]

    def archive(self, path: Path) -> Archive:
        """Open an archive of the game, once.

        Raises:
            ConversionError: it cannot be read, or is not an archive.
        """
        if path not in self._archives:
            self._archives[path] = open_nres(path, str(path))
        return self._archives[path]

    def open(self, member: Member) -> Opened:
        """Open what a row of the registry names.

        Raises:
            ConversionError: the archive or the member is missing, or cannot be read.
        """
        path = self.file(member.archive)
        if path is None:
            raise ConversionError("game has no such archive", file=str(self.root), value=printable(member.archive))
        archive = self.archive(path)
        index = archive.find(member.name)
        if index is None:
            raise ConversionError("archive has no such entry", file=str(path), value=printable(member.name))
        return Opened(archive, path, index)

    def object(self, key: str) -> KnownObject:
        """Return what an object key leads to, by the rules of docs/reference/registry.md.

        Raises:
            ConversionError: the registry cannot be read.
        """
        lower = key.lower()
        if lower not in self._objects:
            self._objects[lower] = self._object(key)
        return self._objects[lower]

    def _object(self, key: str) -> KnownObject:
        resolved = self.registry.resolve(key)
        if resolved is None or resolved.model is None:
            return KnownObject(key, resolved)
        try:
            return KnownObject(key, resolved, self.open(resolved.model))
        except ConversionError as error:
            value = "" if error.value is None else f": {error.value}"
            return KnownObject(key, resolved, None, f"{error.problem}{value}")

    def dialect(self, opened: Opened) -> Decision | None:
        """Return the dialect of most models of an entry's archive, for one without evidence."""
        if opened.path not in self._dialects:
            self._dialects[opened.path] = majority_of(opened.archive)
        return self._dialects[opened.path]

    def model(self, opened: Opened) -> MshModel:
        """Read a model, which is kept for the next time.

        Raises:
            ConversionError: it is not a model, or a table has a wrong size.
        """
        key = opened.path, opened.index
        if key not in self._models:
            if len(self._models) >= _KEPT_MODELS:
                self._models.pop(next(iter(self._models)))
            try:
                self._models[key] = model_at(opened.archive, opened.index, opened.path.name)
            except ConversionError as error:
                self._models[key] = error
        found = self._models[key]
        if isinstance(found, ConversionError):
            raise found
        return found


def _parts(path: str) -> Iterator[str | None]:
    """The names of a path in lower case; ``None`` where it leads up or to another drive."""
    for part in path.replace("\\", "/").split("/"):
        if part in ("", "."):
            continue
        yield None if part == ".." or ":" in part or "\0" in part else part.lower()
