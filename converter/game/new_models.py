"""Put a model into a game, with what it changes in the libraries, what goes with it, and object keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import ConversionError, in_words, plural, printable
from ..files import read_file
from ..findings import NotApplied
from ..formats.controller import CONTROLLER_ENDING
from ..formats.kinds import MODEL_TYPE, Kind, content_kind, models_in
from ..formats.material import MATERIALS, TEXTURES, LibraryEdit
from ..formats.model_parts import FOOTING_ENDING, NODE_PROPERTIES_ENDING, POINTS_ENDING
from ..formats.names import decode_text, encode_name, readable, stem
from ..formats.nres import Archive, is_nres, read_nres, write_nres
from ..formats.nres_edits import ArchiveEdits
from ..formats.objects import REGISTRY, REGISTRY_ROW_DTYPE, TAGS, Member, is_registry, read_registry
from ..formats.wear import WEAR_ENDING
from ..kinds.import_result import ImportResult, put_wear
from ..kinds.new_entries import NewEntries, NewEntry, meant_message, no_library
from ..kinds.open_files import find_library, open_nres
from ..kinds.registry import Game, find_game, majority_of
from ..scene.dialect import Dialect
from ..storage import absolute, not_there, real_path
from .games import HINT_OF_COPY, Games, library_edit, put_companions, put_new_entry
from .import_item import Brought, Edited
from .manifest import Outcome
from .walk import text_of

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


@dataclass
class LibraryPlan:
    """What is to be put into the libraries of a game.

    Attributes:
        games: the transaction; what is its owner's is taken back first.
        not_applied: what does not arrive.
        item: the model that changes them, as the history calls it.
        archives: as they were without what is taken back, and what is put into them.
    """

    games: Games
    messages: list[str] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    item: str = ""
    archives: dict[Path, ArchiveEdits] = field(default_factory=dict)

    def open(self, path: Path) -> ArchiveEdits:
        """Open an archive to be changed, once. Raises ConversionError: it cannot be read, or is not an archive."""
        if path not in self.archives:
            if (was := self.games.was(path)) is None:
                raise not_there(path)
            self.archives[path] = ArchiveEdits(read_nres(was, str(path)))
        return self.archives[path]

    def put(self) -> None:
        """Say what the archives are to be; :meth:`Games.commit` writes them.

        Raises:
            ConversionError: one of them cannot be read.
        """
        for path, edits in self.archives.items():
            self.games.put(path, write_nres(edits.archive()), self.item)


def plan_libraries(games: Games, folders: Sequence[Path], result: ImportResult, *, like: str = "") -> LibraryPlan:
    """Plan what a model changes in the libraries of a game; nothing is written.

    Raises:
        ConversionError: a library is broken, or an entry is not the one that was converted.
    """
    plan = LibraryPlan(games, item=result.name)
    wanted = {edit.entry.library for edit in result.library}
    if result.new_materials or any(edit.picture for edit in result.library):
        wanted |= {MATERIALS, TEXTURES}
    paths = {
        name: path
        for name in (MATERIALS, TEXTURES)
        if (path := _find(folders, name)) is not None and (name in wanted or games.own(path))
    }
    before = {name: plan.open(path).before for name, path in paths.items()}
    entries = NewEntries(before.get(MATERIALS), before.get(TEXTURES), like)
    for edit in result.library:
        if (path := paths.get(edit.entry.library)) is None:
            why = f"there is no {edit.entry.library} in the game's folder"
            instead = "name the folder that has it"
            plan.not_applied.append(NotApplied(where=edit.where, what=edit.what, why=why, instead=instead))
            continue
        named, texture = entries.with_picture(edit)
        _edit(plan, path, named)
        _add(plan, paths, [] if texture is None else [texture])
    materials = []
    for one in result.new_materials:
        if entries.materials is None:
            plan.not_applied += no_library(one, "the game's folder")
            continue
        made = entries.material(one)
        plan.not_applied += made.not_applied
        materials.append(made)
        _add(plan, paths, made.entries)
    plan.messages += meant_message(materials)
    return plan


def _find(folders: Sequence[Path], name: str) -> Path | None:
    for folder in folders:
        try:
            path = find_library(folder, name)
        except OSError:
            continue
        if path is None or path.is_dir():  # unpacked: only a run over a game writes such
            continue
        return path
    return None


def _edit(plan: LibraryPlan, path: Path, edit: LibraryEdit) -> None:
    edits = plan.open(path)
    found = library_edit(edits, edit, path.name, plan.games.left(path), HINT_OF_COPY)
    if found is None:
        return
    index, made = found
    edits.replace(index, made.data, attr1=made.attr1, attr2=made.attr2)
    title = f"{printable(edit.entry.name)} of {edit.entry.library}"
    plan.messages += [*made.warnings, f"{title} changes for every model that uses it"]


def _add(plan: LibraryPlan, paths: Mapping[str, Path], entries: Sequence[NewEntry]) -> None:
    for entry in entries:
        if entry.library not in paths:
            raise ConversionError(
                f"there is no {entry.library} to put {printable(entry.name)} into", hint="name the game's folder"
            )
        edits = plan.open(paths[entry.library])
        edits.add(encode_name(entry.name), entry.type_id, entry.data, entry.attributes)
        plan.messages += [*entry.warnings, f"{printable(entry.name)} is new in {entry.library}"]


@dataclass(frozen=True)
class Destination:
    """Where a new model goes.

    Attributes:
        name: the model's entry.
        tag: what it is in the object registry, a key of ``TAGS``; ``None``: it gets no key.
        game: the directory with the registry; ``None``: the archive is in no game.
    """

    archive: Path
    name: bytes
    tag: str | None = None
    game: Path | None = None

    @property
    def folders(self) -> list[Path]:
        """Where the game's libraries are looked for."""
        own = absolute(self.archive).parent
        return [own, own.parent] if self.game is None else [self.game, own]


def find_destination(archive: Path, name: bytes, tag: str | None = None, game: Path | None = None) -> Destination:
    """Return where a new model goes.

    ``game``: a directory in the game; ``None``: the game is the one around the archive. Raises ConversionError: the
    archive is not one, or a tag needs a game that is not there.
    """
    if not archive.is_file() or not is_nres(read_file(archive)[:4]):
        raise ConversionError("is not an archive", file=str(archive), hint="name one of the game, as static.rlb")
    if (kind := content_kind(read_file(archive), str(archive))) is not Kind.ARCHIVE:
        hint = "name an archive of models, as static.rlb"
        raise ConversionError("is one file of the game, not an archive", file=str(archive), value=str(kind), hint=hint)
    opened = open_nres(archive, str(archive))
    if opened.entries and not models_in(opened):
        raise ConversionError("has no models", file=str(archive), hint="name an archive that has some, as static.rlb")
    root = find_game(archive.parent if game is None else game)
    if tag is not None and root is None:
        problem = f"lies in no game: no folder around it has {REGISTRY}"
        raise ConversionError(problem, file=str(game or archive), hint="name the game's folder")
    return Destination(archive, name, tag, root)


def dialect_of(archive: Path) -> Dialect:
    """Return the dialect that an archive's models are written in: that of most of them."""
    decision = majority_of(open_nres(archive, str(archive)))
    return Dialect.SPEC if decision is None else decision.dialect


def add_model(plan: LibraryPlan, to: Destination, result: ImportResult, *, force: bool = False, hint: str = "") -> None:
    """Plan a new model as an entry of an archive; nothing is written.

    Its ``.wea`` and control points go with it. What the plan's history knows, and this model does not write any
    more, is taken back. ``plan``: what the model changes in the libraries; the archive and the registry are added.
    Raises ConversionError: it is not a model, its name is taken, or does not fit.
    """
    if content_kind(result.data, result.name) is not Kind.MODEL:
        raise ConversionError(
            "is not a model, which alone can be added", file=result.name, hint="put it back as an edit of what it was"
        )
    edits = plan.open(to.archive)
    with edits.whole():
        there = put_new_entry(edits, to.name, MODEL_TYPE, result.data, force=force, hint=hint)
        messages = put_wear(edits, to.name, result.wear)
        put_companions(edits, to.name, result.own_companions, hint, force=force)
    plan.messages += messages
    if there is None:
        plan.messages.append(f"{printable(decode_text(to.name))} is new in {to.archive.name}")
    if to.tag is not None:
        _add_key(plan, to)
    plan.games.take_back_rest(to.archive)


def _add_key(plan: LibraryPlan, to: Destination) -> None:
    assert to.tag is not None
    assert to.game is not None
    path = Game(to.game).file(REGISTRY)
    assert path is not None
    source = readable(_inside(to.archive, to.game).as_posix())
    registry = plan.open(path)
    require_registry(registry.archive())
    key = key_of_model(plan.open(to.archive), source, to.name, to.tag)
    plan.messages += put_key(registry, key)
    if registry.archive() is not registry.before:
        name = printable(decode_text(key.name))
        plan.messages.append(f"object key {in_words(name)} is new in {path.name}")


def _inside(archive: Path, game: Path) -> Path:
    """The path of an archive from the game's directory; links are followed where they must be."""
    for file, folder in ((absolute(archive), absolute(game)), (real_path(archive), real_path(game))):
        if file.is_relative_to(folder):
            return file.relative_to(folder)
    raise ConversionError(
        "lies outside the game", file=str(archive), value=str(game), hint="name an archive in the game's folder"
    )


class NewKeys:
    """Collects the keys of new models; the registry is written when all of them are known.

    A model that an earlier run gave a key keeps it, also without ``--tag``. ``path``: of the registry, from the
    game's directory; ``None``: there is none.
    """

    def __init__(self, game: Path, files: Sequence[Path], tag: str | None, brought: Brought) -> None:
        """Open the registry, if it is needed. Raises ConversionError: a tag is given, and there is no registry.

        Args:
            tag: what new models are, a key of ``TAGS``; ``None``: they get no keys.
        """
        self._tag = tag
        self.path = next((path for path in files if text_of(path).lower() == REGISTRY), None)
        #: The tag of each key that an earlier run made, by the model's name in reports.
        self._before: dict[str, str] = {}
        self._keys: list[tuple[ObjectKey, Outcome]] = []
        self._archive = ArchiveEdits(Archive(REGISTRY))
        own = [] if self.path is None else brought.layers_of(text_of(self.path))
        if tag is None and not own:
            return
        if self.path is None:
            raise ConversionError(f"has no {REGISTRY}", file=str(game), hint="give the whole game, in its archives")
        label = text_of(self.path)
        now = read_nres(bytes(read_file(game / self.path)), label)
        for layer in own:
            index = now.find(bytes.fromhex(layer.slot.name))
            if index is not None and (there := now.entries[index].type_text) in TAGS:
                self._before |= dict.fromkeys(layer.items, there)
        if own:
            now = brought.archive(game / self.path, label)
        self._archive = ArchiveEdits(now)
        if tag is not None:
            require_registry(now)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def names(self, models: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """Return the keys of new models that will have one, if nothing is wrong with them."""
        return tuple(stem(name) for id, name in models if self._tag or id in self._before)

    def add(self, archive: ArchiveEdits, edited: Edited, outcome: Outcome) -> None:
        """Give a new model a key, if it is to have one.

        ``archive``: with the model and all that belongs to it. Raises ConversionError: the key is another
        model's, or a name is too long for it.
        """
        before = self._before.get(outcome.id)
        tag = before or self._tag
        if tag is None or edited.name is None or edited.type_id != MODEL_TYPE:
            return
        key = key_of_model(archive, edited.source, edited.name, tag)
        messages = put_key(self._archive, key)
        name = printable(decode_text(key.name))
        if before and self._tag not in (None, before):
            messages.append(other_tag(name, before))
        outcome.warnings += messages
        outcome.facts["key"] = name
        self._keys.append((key, outcome))

    def put_into(self, archive: ArchiveEdits, now: Archive) -> dict[bytes, str]:
        """Put all keys into the registry; return which model each of them belongs to.

        Args:
            archive: the registry as it was converted, with other edits.
            now: as it is; the outcomes of models whose key differs there say so.
        """
        for key, outcome in self._keys:
            put_key(archive, key)
            index, there = archive.find(key.name), now.find(key.name)
            assert index is not None
            payload = archive.entries[index].payload
            is_new = there is None or now.entries[there].payload != payload
            if is_new and outcome.status == "unchanged":
                outcome.status, outcome.detail = "changed", f"{REGISTRY} gets its key"
        return {key.name: outcome.id for key, outcome in self._keys}
