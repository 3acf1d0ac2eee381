"""``objects.rlb`` of a game: what an object key leads to, and keys for new models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from ..errors import ConversionError, printable
from ..files import Stamp, names_in, of_a_listing, pass_on_unreadable, read_file
from ..formats.controller import CONTROLLER_ENDING
from ..formats.kinds import MODEL_TYPE, models_in
from ..formats.model import MshModel, model_at
from ..formats.model_parts import FOOTING_ENDING, NODE_PROPERTIES_ENDING, read_footing
from ..formats.names import readable, stem
from ..formats.nres import Archive, Entry
from ..formats.objects import REGISTRY, Member, Registry, Resolved, Unit, read_registry, read_unit
from ..numeric.arrays import F64
from ..scene.dialect import Decision, decide, majority
from ..storage import absolute, if_there, real_path, walk_files
from .open_files import companion, folder_stamp, open_archive, open_nres

#: How many models are kept: a mission uses few, in any order.
_KEPT_MODELS = 64


def majority_of(archive: Archive) -> Decision | None:
    """Return the dialect of most models of an archive (docs/reference/dialects.md)."""
    from ..checks.model import require_valid  # a run that only looks up files decodes no models

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
    here = absolute(start)
    return _first_game([here, *here.parents])


def _first_game(folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        with if_there(folder):  # not a file, nor a directory that may not be read
            if REGISTRY in names_in(folder):
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


@of_a_listing
def _names(folder: Path) -> dict[str, str]:
    """The names in a directory by what they are in lower case; of several the first."""
    return {readable(name).lower(): name for name in sorted(os.listdir(folder), reverse=True)}


@dataclass
class Game:
    """A game's directory; ``root``: the directory that has ``objects.rlb``."""

    root: Path
    _archives: dict[Path, Archive] = field(default_factory=dict, repr=False)
    _objects: dict[str, KnownObject] = field(default_factory=dict, repr=False)
    _dialects: dict[Path, Decision | None] = field(default_factory=dict, repr=False)
    _models: dict[tuple[Path, int], MshModel | ConversionError] = field(default_factory=dict, repr=False)

    @cached_property
    def registry(self) -> Registry:
        """The object registry. Raises ConversionError: it is missing or cannot be read."""
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

    @cached_property
    def controllers(self) -> dict[tuple[str, str], list[Member]]:
        """The controllers that objects of each model have, each once; by archive and name in lower case."""
        found: dict[tuple[str, str], dict[tuple[str, str], Member]] = {}
        for resolved in self.objects:
            member = resolved.members.get(CONTROLLER_ENDING)
            if member is not None and resolved.model is not None:
                found.setdefault(resolved.model.place, {}).setdefault(member.place, member)
        return {model: [*members.values()] for model, members in found.items()}

    def file(self, path: str) -> Path | None:
        """Return the file or directory of a path, in any case; ``None``: there is none inside. ``path``: from the
        game's directory, with backslashes or slashes.
        """
        found = self.root
        for part in _parts(path):
            name = None
            with if_there(found):
                name = None if part is None else _names(found).get(part)
            if name is None:
                return None
            found = found / name
        try:
            inside = found.resolve(strict=True).is_relative_to(real_path(self.root))
        except (OSError, RuntimeError):  # links in a circle
            return None
        return found if inside and found != self.root else None

    def archive(self, path: Path) -> Archive:
        """Open an archive of the game, once. Raises ConversionError: it cannot be read, or is not an archive."""
        if path not in self._archives:
            self._archives[path] = open_archive(path, str(path))
        return self._archives[path]

    def open(self, member: Member) -> Opened:
        """Open what a row of the registry names. Raises ConversionError: the archive or the member is missing, or
        cannot be read.
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
        """Return what an object key leads to, by the rules of docs/reference/registry.md. Raises ConversionError: the
        registry cannot be read.
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
        """Read a model, which is kept for the next time. Raises ConversionError: it is not a model, or a table has a
        wrong size.
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

    def unit(self, path: str) -> Unit:
        """Read the unit that a building or unit of a mission is. ``path``: from the game's directory, as missions name
        it. Raises ConversionError: the game has no such file, or it is not a unit.
        """
        found = self.file(path)
        if found is None or not found.is_file():
            raise ConversionError("game has no such file", file=str(self.root), value=path)
        return read_unit(read_file(found), str(found))

    def outline(self, path: str) -> F64 | None:
        """Return the outline of a building, the inner ring of its ``.bas``, (n, 3); ``None``: none can be read."""
        with suppress(ConversionError):  # the mission's own check says what is missing
            resolved = self.registry.resolve(self.unit(path).key(0))
            member = None if resolved is None else resolved.members.get(FOOTING_ENDING)
            if member is not None:
                return read_footing(self.open(member).entry.payload, str(member)).inner[:-1].astype(np.float64)
        return None


def game_of(path: Path, folders: Sequence[Path] = ()) -> Game | None:
    """Return the game that a file is in; opened once while its directory does not change."""
    root = _first_game(folders) or find_game(path)
    try:
        return None if root is None else _game(root, folder_stamp(root))
    except OSError:
        return None


@lru_cache(maxsize=1)
def _game(root: Path, now: tuple[Stamp, ...]) -> Game:
    return Game(root)


def files_that_name(archive: Archive, path: Path, index: int | None, game: Game | None) -> dict[str, bytes]:
    """Return the files that name nodes, frames or triangles of a model, as its sidecar keeps them.

    Args:
        archive: the file that the model is, or is in.
        index: directory index of the model's entry; ``None``: the file is the model.

    Returns:
        By ending; controllers of another name that objects of the model have, by ``archive::entry``, after its own.
    """
    endings = (CONTROLLER_ENDING, FOOTING_ENDING, NODE_PROPERTIES_ENDING)
    files = {ending: bytes(companion(archive, path, index, ending)) for ending in endings}
    if game is not None and index is not None:
        model = Member(inside(path, game), archive.entries[index].name)
        own = Member(model.archive, f"{stem(model.name)}{CONTROLLER_ENDING}")
        for member in game.controllers.get(model.place, ()):
            if not (files[CONTROLLER_ENDING] and member.place == own.place):
                with suppress(ConversionError):  # the registry's own check says that it is missing
                    files[str(member)] = bytes(game.open(member).entry.payload)
    return {name: data for name, data in files.items() if data}


def inside(path: Path, game: Game) -> str:
    """Return the path of a game's file as the registry writes it."""
    try:
        return str(real_path(path).relative_to(real_path(game.root))).replace("/", "\\")
    except (ValueError, OSError):
        return path.name


def _parts(path: str) -> Iterator[str | None]:
    """The names of a path in lower case; ``None`` where it leads up or to another drive."""
    for part in path.replace("\\", "/").split("/"):
        if part in ("", "."):
            continue
        yield None if part == ".." or ":" in part or "\0" in part else part.lower()
