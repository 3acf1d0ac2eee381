"""Write what models change in the game's libraries into them: colours, pictures, new entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from ..edits.materials import NewMaterial, contradiction
from ..errors import ConversionError, called, in_words, plural, printable
from ..files import read_file
from ..findings import Change, NotApplied
from ..formats.library import MATERIALS, TEXTURES, LibraryEdit
from ..formats.names import decode_text, encode_name
from ..formats.nres import NAME_SIZE, Archive, Entry, read_nres, write_nres
from ..formats.nres_edits import ArchiveEdits
from ..formats.sidecar import SUFFIX, read_sidecar
from ..formats.wear import WEAR_ENDING, edited_wear, read_wear, write_wear
from ..kinds.import_result import ImportResult
from ..kinds.library_edits import contradicted, edited_entry, merged
from ..kinds.new_entries import NewEntries, NewEntry, meant_message, no_library
from ..kinds.open_files import entry_file, find_library
from ..storage import not_there
from .games import Games
from .import_item import Brought, Edited
from .manifest import Manifest
from .outcome import Outcome, Run, guarded
from .replace_entry import HINT_OF_COPY, HINT_OF_RUN, entry_to_replace
from .walk import text_of


def add_library_edits(
    run: Run, game: Path, out: Path, manifest: Manifest, *, brought: Brought, like: str = "", force: bool = False
) -> None:
    """Join what the models of a run change in the game's libraries; an outcome for each entry.

    Where two models change one entry in different ways, or one in another way than its picture in
    ``textures/``, neither is applied.

    Args:
        run: its outcomes; textures are added, and ``not_applied`` grows.

    Raises:
        ConversionError: the game has no material ``like``.
    """
    found = [(outcome, edit) for outcome in run.outcomes for edit in outcome.library]
    new = [(outcome, one) for outcome in run.outcomes for one in outcome.new_materials]
    if not (found or new or like):
        return
    entries = _libraries(game, brought, like)
    joined, _ = merged(edit for _, edit in found)
    agreed = {edit.entry.key for edit in joined}
    for outcome, edit in found:
        if edit.entry.key not in agreed:
            others = (
                other.id
                for other, theirs in found
                if theirs.entry.key == edit.entry.key and theirs.values != edit.values
            )
            outcome.not_applied.append(contradicted(edit, next(others, outcome.id)))
    users = _users(out, manifest)
    pictures = [outcome for outcome in run.textures if isinstance(outcome.result, Edited)]
    for shown in joined:
        edit, texture = entries.with_picture(shown)
        entry = edit.entry
        id = f"{entry.library}::{entry.name}"
        made = guarded(id, partial(_import_entry, id, edit, game, brought, force))
        origins = [outcome.id for outcome, one in found if one.entry.key == entry.key]
        painted = next((one for one in pictures if _same_place(one, made)), None)
        made.origins = origins
        if painted is not None:
            painted.origins = [painted.id, *origins]
        if painted is None:
            if made.status == "changed" and users[entry.key] > 1:
                title = f"{printable(entry.name)} of {entry.library}"
                made.warnings.append(
                    f"{title} is used by {plural(users[entry.key], 'model')} (--own-materials "
                    "makes a copy for each model instead)"
                )
            run.textures.append(made)
            if texture is not None and made.status == "changed":
                run.textures.append(_added(game, texture, origins))
        elif painted.result.data != made.result.data:
            for outcome, one in found:
                if one.entry.key == entry.key:
                    outcome.not_applied.append(contradicted(one, f"its picture in {out.name}"))
                    painted.not_applied.append(contradicted(one, outcome.id))
            painted.status, painted.result = "kept", None
    _add_new_materials(run, new, entries, game)


def _add_new_materials(run: Run, new: list[tuple[Outcome, NewMaterial]], entries: NewEntries, game: Path) -> None:
    """Make the materials that the game does not have, each once; different ones of one name get numbers."""
    groups: dict[str, list[tuple[Outcome, NewMaterial]]] = {}
    done = []
    for outcome, one in new:
        groups.setdefault(one.name.casefold(), []).append((outcome, one))
    for group in [part for whole in groups.values() for part in _told_apart(whole, entries, {*groups})]:
        first = group[0][1]
        if entries.materials is None:
            for outcome, one in group:
                outcome.not_applied += no_library(one, str(game))
            continue
        if any(one.content != first.content for _, one in group) and not entries.has(first.name):
            for outcome, one in group:
                other = next(o.id for o, theirs in group if theirs.content != one.content)
                outcome.not_applied.append(contradiction(one, other))
            continue
        for outcome, one in group:
            made = entries.material(one)
            outcome.not_applied += made.not_applied
            done.append(made)
            if one is first:
                origins = [outcome.id for outcome, _ in group]
                run.textures += [_added(game, entry, origins) for entry in made.entries]
    run.notes += meant_message(done)


def _told_apart(
    group: list[tuple[Outcome, NewMaterial]], entries: NewEntries, taken: set[str]
) -> list[list[tuple[Outcome, NewMaterial]]]:
    """Return new materials of one name by what they show; those of the second and further have new names.

    Args:
        taken: names that others have, in lower case; grows.
    """
    first, name = group[0]
    if entries.materials is None or entries.has(name.name):
        return [group]
    parts: list[list[tuple[Outcome, NewMaterial]]] = []
    for outcome, one in group:
        same = next((part for part in parts if part[0][1].content == one.content), None)
        if same is None:
            parts.append([(outcome, one)])
        else:
            same.append((outcome, one))
    for part in parts[1:]:
        numbers = (f"{decode_text(encode_name(name.name)[: NAME_SIZE - 5])}_{number}" for number in count(2))
        new = next(one for one in numbers if one.casefold() not in taken and not entries.has(one))
        if not all(_names(outcome, name.name) for outcome, _ in part):
            return [group]  # reported as a contradiction
        taken.add(new.casefold())
        for i, (outcome, one) in enumerate(part):
            outcome.result = _renamed(outcome.result, one.name, new)
            part[i] = outcome, replace(one, name=new)
            outcome.warnings.append(
                f"material {called(one.name)} is another one than in {first.id}: the game has it as {in_words(new)}"
            )
    return parts


def _names(outcome: Outcome, name: str) -> bool:
    """Whether the list of materials that is written with a model names a material."""
    edited = outcome.result
    return isinstance(edited, Edited) and _renamed(edited, name, f"{name}_") != edited


def _renamed(edited: Edited, name: str, new: str) -> Edited:
    """A model whose list of materials has another name in place of one."""

    def rows(names: Sequence[str]) -> dict[int, str]:
        return {row: new for row, one in enumerate(names) if one.casefold() == name.casefold()}

    companions = []
    for one in edited.companions:
        if one.ending.lower() == WEAR_ENDING:
            wear = read_wear(one.data, edited.source)[0]
            one = replace(one, data=write_wear(edited_wear(wear, rows(wear.materials))))
        companions.append(one)
    names = None if edited.wear is None else [rows(edited.wear).get(row, one) for row, one in enumerate(edited.wear)]
    return replace(edited, wear=names, companions=tuple(companions))


def _added(game: Path, entry: NewEntry, origins: list[str]) -> Outcome:
    """Return the outcome of an entry that is new in a library, and what it comes from."""
    made = guarded(f"{entry.library}::{entry.name}", partial(_add_entry, game, entry))
    made.origins = origins
    return made


def _add_entry(game: Path, entry: NewEntry) -> Outcome:
    id = f"{entry.library}::{entry.name}"
    path = _library(game, entry.library)
    source = text_of(path.relative_to(game))
    outcome = Outcome(id, "added", warnings=list(entry.warnings))
    outcome.facts["changes"] = [str(Change(entry.where, entry.what))]
    if path.is_dir():
        outcome.result = Edited(f"{source}/{entry_file(path, entry.name)}", None, None, entry.data, is_new_file=True)
        if entry.library == MATERIALS and entry.attributes[0]:
            outcome.not_applied.append(_no_modes(entry.where, "has a draw mode"))
    else:
        outcome.result = Edited(
            source, None, encode_name(entry.name), entry.data, type_id=entry.type_id, attributes=entry.attributes
        )
    return outcome


def _libraries(game: Path, brought: Brought, like: str) -> NewEntries:
    """The libraries as they were converted."""
    found: list[Archive | None] = []
    for library in (MATERIALS, TEXTURES):
        path = find_library(game, library)
        if path is not None:
            source = text_of(path.relative_to(game))
            found.append(brought.archive(path, source))
        else:
            found.append(None)
    return NewEntries(found[0], found[1], like)


def _library(game: Path, library: str) -> Path:
    path = find_library(game, library)
    if path is None:
        raise ConversionError(f"has no {library}", file=str(game), hint="give the whole game")
    return path


def _no_modes(where: str, what: str) -> NotApplied:
    return NotApplied(
        where=where,
        what=what,
        why="a folder of loose files has no draw modes",
        instead="pack it into Material.lib again",
    )


def _same_place(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes write the same entry."""
    mine, theirs = one.result, other.result
    if not isinstance(theirs, Edited):
        return False
    return (mine.source, mine.index) == (theirs.source, theirs.index)


def _users(out: Path, manifest: Manifest) -> Counter[tuple[str, str]]:
    """How many models of a run show each entry."""
    users: Counter[tuple[str, str]] = Counter()
    for record in manifest.records.values():
        for output in record.outputs:
            path = out.joinpath(*output.path.split("/"))
            if path.suffix == SUFFIX and path.is_file():
                about = read_sidecar(read_file(path), str(path)).description
                users.update({entry.key for entry in about.library})
    return users


def _import_entry(id: str, edit: LibraryEdit, game: Path, brought: Brought, force: bool) -> Outcome:
    library = edit.entry.library
    path = _library(game, library)
    source = text_of(path.relative_to(game))
    archive = brought.archive(path, source)
    raw = encode_name(edit.entry.name)

    def is_new(entry: Entry) -> bool:
        return edited_entry(edit, entry, source) is None

    index = entry_to_replace(
        archive,
        raw,
        -1,
        known={edit.entry.digest, *brought.digests(source, edit.entry.name, raw.hex())},
        is_new=is_new,
        hint=HINT_OF_RUN,
        force=force,
    )
    new = None if index is None else edited_entry(edit, archive.entries[index], source)
    if index is None or new is None:
        return Outcome(id, "unchanged", "the game has it already")
    outcome = Outcome(id, "changed", warnings=new.warnings)
    outcome.facts["changes"] = [str(Change(edit.where, edit.what))]
    if not path.is_dir():
        sizes = (new.attr1, new.attr2)
        outcome.result = Edited(source, index, None, new.data, sizes=sizes)
        return outcome
    if library == MATERIALS and new.attr1 is not None:
        outcome.not_applied.append(_no_modes(edit.where, "its draw mode changes"))
    file = f"{source}/{entry_file(path, archive.entries[index].name)}"
    outcome.result = Edited(file, None, None, new.data)
    return outcome


@dataclass
class _Library:
    """A library: as it was without what is taken back, and with what is put into it."""

    path: Path
    edits: ArchiveEdits


@dataclass
class LibraryPlan:
    """What is to be put into the libraries of a game.

    Attributes:
        games: the transaction; what is its owner's is taken back first.
        not_applied: what does not arrive.
        item: the model that changes them, as the history calls it.
    """

    games: Games
    messages: list[str] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    item: str = ""
    _libraries: dict[str, _Library] = field(default_factory=dict)

    def open(self, path: Path) -> _Library:
        """Open an archive to be changed, once. Raises ConversionError: it cannot be read, or is not an archive."""
        found = next((one for one in self._libraries.values() if one.path == path), None)
        if found is None:
            found = self._libraries[str(path)] = _open(path, self.games)
        return found

    def put(self) -> None:
        """Say what the archives are to be; :meth:`Games.commit` writes them.

        Raises:
            ConversionError: one of them cannot be read.
        """
        for one in self._libraries.values():
            self.games.put(one.path, write_nres(one.edits.archive()), self.item)


def plan_libraries(games: Games, folders: Sequence[Path], result: ImportResult, *, like: str = "") -> LibraryPlan:
    """Plan what a model changes in the libraries of a game; nothing is written.

    Raises:
        ConversionError: a library is broken, or an entry is not the one that was converted.
    """
    plan = LibraryPlan(games, item=result.name)
    wanted = {edit.entry.library for edit in result.library}
    if result.new_materials or any(edit.picture for edit in result.library):
        wanted |= {MATERIALS, TEXTURES}
    for name in (MATERIALS, TEXTURES):
        path = _find(folders, name)
        if path is not None and (name in wanted or games.own(path)):
            plan._libraries[name] = _open(path, games)
    archives = {name: one.edits.before for name, one in plan._libraries.items()}
    entries = NewEntries(archives.get(MATERIALS), archives.get(TEXTURES), like)
    for edit in result.library:
        if edit.entry.library not in archives:
            plan.not_applied.append(_missing(edit))
            continue
        named, texture = entries.with_picture(edit)
        _edit(plan, named)
        _add(plan, [] if texture is None else [texture])
    materials = []
    for one in result.new_materials:
        if entries.materials is None:
            plan.not_applied += no_library(one, "the game's folder")
            continue
        made = entries.material(one)
        plan.not_applied += made.not_applied
        materials.append(made)
        _add(plan, made.entries)
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


def _open(path: Path, games: Games) -> _Library:
    was = games.was(path)
    if was is None:
        raise not_there(path)
    return _Library(path, ArchiveEdits(read_nres(was, str(path))))


def _edit(plan: LibraryPlan, edit: LibraryEdit) -> None:
    one = plan._libraries[edit.entry.library]
    label = one.path.name

    def is_new(entry: Entry) -> bool:
        return edited_entry(edit, entry, label) is None

    raw = encode_name(edit.entry.name)
    known = {edit.entry.digest, *plan.games.left(one.path)}
    index = entry_to_replace(one.edits, raw, -1, known=known, is_new=is_new, hint=HINT_OF_COPY)
    made = None if index is None else edited_entry(edit, one.edits.entries[index], label)
    if index is None or made is None:
        return
    one.edits.replace(index, made.data, attr1=made.attr1, attr2=made.attr2)
    title = f"{printable(edit.entry.name)} of {edit.entry.library}"
    plan.messages += [*made.warnings, f"{title} changes for every model that uses it"]


def _add(plan: LibraryPlan, entries: Sequence[NewEntry]) -> None:
    for entry in entries:
        one = plan._libraries.get(entry.library)
        if one is None:
            raise ConversionError(
                f"there is no {entry.library} to put {printable(entry.name)} into", hint="name the game's folder"
            )
        raw = encode_name(entry.name)
        one.edits.add(raw, entry.type_id, entry.data, entry.attributes)
        plan.messages += [*entry.warnings, f"{printable(entry.name)} is new in {entry.library}"]


def _missing(edit: LibraryEdit) -> NotApplied:
    return NotApplied(
        where=edit.where,
        what=edit.what,
        why=f"there is no {edit.entry.library} in the game's folder",
        instead="name the folder that has it",
    )
