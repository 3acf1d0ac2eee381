"""``objects.rlb`` of a game: what an object key leads to, and keys for new models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConversionError, in_words, plural, printable
from ..files import Stamp, of_a_listing, pass_on_unreadable, read_file
from ..findings import Finding
from ..formats.controller import CONTROLLER_ENDING
from ..formats.kinds import MODEL_TYPE, Kind, models_in
from ..formats.model import MshModel, model_at
from ..formats.model_parts import FOOTING_ENDING, NODE_PROPERTIES_ENDING, POINTS_ENDING
from ..formats.names import decode_text, encode_name, readable, stem
from ..formats.nres import Archive, Entry
from ..formats.nres_edits import ArchiveEdits
from ..formats.objects import (
    REGISTRY,
    REGISTRY_ROW_DTYPE,
    Member,
    Registry,
    Resolved,
    Unit,
    is_registry,
    read_registry,
    read_unit,
)
from ..formats.wear import WEAR_ENDING
from ..scene.dialect import Decision, decide, majority
from ..storage import if_there, real_path, walk_files
from .open_files import companion, folder_stamp, open_nres, open_unpacked

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
    here = Path(os.path.abspath(start))
    return _first_game([here, *here.parents])


def _first_game(folders: Sequence[Path]) -> Path | None:
    """The first of some folders that has an object registry."""
    for folder in folders:
        with if_there(folder):  # not a file, nor a directory that may not be read
            if _has_registry(folder):
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
def _has_registry(folder: Path) -> bool:
    """Whether a folder has an object registry, in any case; ``OSError``: it cannot be listed."""
    return any(name.lower() == REGISTRY for name in os.listdir(folder))


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
            opened = open_unpacked if path.is_dir() else open_nres
            self._archives[path] = opened(path, str(path))
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


#: What a key names of a new model, in the order of its rows.
_ENDINGS = (".msh", WEAR_ENDING, POINTS_ENDING, NODE_PROPERTIES_ENDING, CONTROLLER_ENDING, FOOTING_ENDING)
#: The longest name that a row holds with its NUL, and that units and missions can name.
_LONGEST = REGISTRY_ROW_DTYPE["member"].itemsize - 1


@dataclass(frozen=True)
class ObjectKey:
    """A key for a new model. ``tag``: what it is, a key of ``TAGS``. ``members``: its files, the model first."""

    name: bytes
    tag: str
    members: tuple[Member, ...]


def key_of_model(archive: ArchiveEdits, path: str, model: bytes, tag: str) -> ObjectKey:
    """Return the key of a model: its stem, with the files of that stem that its archive has. ``path``: of the archive
    from the game's directory, with slashes. Raises ConversionError: a name that a row of the registry cannot hold.
    """
    own, members = stem(decode_text(model)), []
    for ending in _ENDINGS:
        found = archive.find(encode_name(f"{own}{ending}"))
        if found is not None:
            members.append(Member(path.replace("/", "\\"), archive.entries[found].name))
    for text, hint in (
        (path, "put it into an archive with a shorter path"),
        *((one.name, "give the new model a shorter name") for one in members),
    ):
        raw = encode_name(text)
        if len(raw) > _LONGEST or decode_text(raw) != text:
            raise ConversionError(
                "name does not fit into objects.rlb",
                file=path,
                value=f"{in_words(text)}, {plural(len(raw), 'byte')}",
                expected=f"at most {_LONGEST} bytes of CP1251, the ending included",
                hint=hint,
            )
    return ObjectKey(encode_name(own), tag, tuple(members))


def require_registry(archive: Archive) -> None:
    """Refuse an archive that is not an object registry; an empty one may become one. Raises ConversionError: it has
    other entries, and none of a registry's types.
    """
    if archive.entries and not is_registry(archive):
        raise ConversionError(
            "is not an object registry",
            file=archive.label,
            value=f"types {', '.join(sorted({e.type_text for e in archive.entries}))}",
            expected="entries of types like STAT",
            hint="name the game's directory",
        )


def put_key(archive: ArchiveEdits, key: ObjectKey) -> list[str]:
    """Put a key into a registry; return what the user should know.

    A key that names these files already stays as it is, its tag too. One that names this model gets the rows that it
    lacks, at its end. ``archive``: ``objects.rlb``. Raises ConversionError: the registry has a key of this name for
    something else.
    """
    index = archive.find(key.name)
    if index is None:
        type_id = int.from_bytes(key.tag.encode(), "little")
        archive.add(key.name, type_id, _rows(key.members), (len(key.members), 0, 0))
        return []
    entry, name = archive.entries[index], printable(decode_text(key.name))
    registry = read_registry(Archive(archive.label, entries=[entry]))
    there: dict[str, Member] = {}
    for member in (one for one in registry.members(0) if one.name):  # others are empty slots
        there.setdefault(member.ending, member)
    wanted = {member.ending: member for member in key.members}
    others = [there[e] for e, one in wanted.items() if e in there and not _same(there[e], one)]
    if others or ".msh" not in there:
        now = (others or [*there.values()])[:1]
        raise ConversionError(
            "has the object key already, for something else",
            file=archive.label,
            entry=name,
            value=printable(str(now[0])) if now else "no files",
            expected=printable(str(wanted.get(now[0].ending if now else ".msh", key.members[0]))),
            hint="give the new model another name",
        )
    messages = []
    if entry.type_text != key.tag:
        messages.append(other_tag(name, entry.type_text))
    missing = [one for ending, one in wanted.items() if ending not in there]
    if missing:
        count = len(registry.rows[0]) + len(missing)
        archive.replace(index, registry.rows[0].tobytes() + _rows(missing) + registry.tails[0], attr1=count)
    return messages


def other_tag(key: str, tag: str) -> str:
    """Return the warning that a key keeps another tag than the one that was given."""
    return f"object key {in_words(key)} is there as {tag} and stays so"


def _same(one: Member, other: Member) -> bool:
    """Whether two rows name one file; ASCII case is ignored, as the game does."""
    first, second = (encode_name(str(row).replace("/", "\\")).lower() for row in (one, other))
    return first == second


def _rows(members: Sequence[Member]) -> bytes:
    rows = np.zeros(len(members), REGISTRY_ROW_DTYPE)
    for row, member in zip(rows, members, strict=True):
        for column, text in (("archive", member.archive), ("member", member.name)):
            raw = np.frombuffer(encode_name(text), np.uint8)
            row[column][: len(raw)] = raw
    return rows.tobytes()


def describe_registry(registry: Registry, findings: list[Finding]) -> dict[str, Any]:
    """Facts about the registry: what every key means; files are not opened."""
    objects = []
    for entry in registry.archive.entries:
        key, found = entry.name, registry.resolve(entry.name_bytes)
        assert found is not None
        order = sorted(found.members, key=lambda ending: (ending != ".msh", ending != ".wea"))
        files = {ending: str(found.members[ending]) for ending in order}
        objects.append({"key": key, "tag": found.tag, "files": files, "chain": list(found.chain)})
    return {"kind": Kind.REGISTRY, "objects": objects, "findings": [finding.facts() for finding in findings]}
