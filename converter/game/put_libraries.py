"""Write what one model changes in the game's libraries into them: edits, and new entries.

*Put Back* of the Blender extension and ``put_back`` of the library come here; runs over a game have
``library_edits``. As there, what was written before is taken back first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConversionError, printable
from ..findings import NotApplied
from ..formats.library import MATERIALS, TEXTURES, LibraryEdit
from ..formats.names import encode_name
from ..formats.nres import Archive, Entry, read_nres, write_nres
from ..formats.nres_edits import add_entry, replace_entry
from ..kinds.import_result import ImportResult
from ..kinds.library_edits import edited_entry
from ..kinds.new_entries import NewEntries, NewEntry, meant_message, no_library
from ..kinds.open_files import find_library
from .games import Games
from .replace_entry import HINT_OF_COPY, entry_to_replace


@dataclass
class _Library:
    """A library: as it was without what is taken back, and with what is put into it."""

    path: Path
    archive: Archive


@dataclass
class LibraryPlan:
    """What is to be put into the libraries of a game.

    Attributes:
        games: the transaction; what is its owner's is taken back first.
        messages: what the user should know.
        not_applied: what does not arrive.
        item: the model that changes them, as the history calls it.
    """

    games: Games
    messages: list[str] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    item: str = ""
    _libraries: dict[str, _Library] = field(default_factory=dict)

    def open(self, path: Path) -> _Library:
        """Open an archive to be changed, once.

        Raises:
            ConversionError: it cannot be read, or is not an archive.
        """
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
            self.games.put(one.path, write_nres(one.archive), self.item)


def plan_libraries(games: Games, folders: Sequence[Path], result: ImportResult, *, like: str = "") -> LibraryPlan:
    """Plan what a model changes in the libraries of a game; nothing is written.

    Args:
        games: the transaction; what is its owner's is taken back first.
        folders: where they are looked for, in this order.
        result: what the import of the model changes.
        like: the material that new ones are made like; empty: ``DEFAULT``.

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
    archives = {name: one.archive for name, one in plan._libraries.items()}
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
        raise ConversionError("cannot be read (No such file or directory)", file=str(path))
    return _Library(path, read_nres(was, str(path)))


def _edit(plan: LibraryPlan, edit: LibraryEdit) -> None:
    one = plan._libraries[edit.entry.library]
    label = one.path.name

    def is_new(entry: Entry) -> bool:
        return edited_entry(edit, entry, label) is None

    raw = encode_name(edit.entry.name)
    known = {edit.entry.digest, *(layer.after for layer in plan.games.own(one.path))}
    index = entry_to_replace(one.archive, raw, -1, known=known, is_new=is_new, hint=HINT_OF_COPY)
    made = None if index is None else edited_entry(edit, one.archive.entries[index], label)
    if index is None or made is None:
        return
    one.archive = replace_entry(one.archive, index, made.data, attr1=made.attr1, attr2=made.attr2)
    title = f"{printable(edit.entry.name)} of {edit.entry.library}"
    plan.messages += [*made.warnings, f"{title} changes for every model that uses it"]


def _add(plan: LibraryPlan, entries: Sequence[NewEntry]) -> None:
    for entry in entries:
        one = plan._libraries.get(entry.library)
        if one is None:
            raise ConversionError(f"there is no {entry.library} to put {printable(entry.name)} into")
        raw = encode_name(entry.name)
        one.archive = add_entry(one.archive, raw, entry.type_id, entry.data, entry.attributes)
        plan.messages += [*entry.warnings, f"{printable(entry.name)} is new in {entry.library}"]


def _missing(edit: LibraryEdit) -> NotApplied:
    return NotApplied(
        where=edit.where,
        what=edit.what,
        why=f"there is no {edit.entry.library} in the game's folder",
        instead="name the folder that has it",
    )
