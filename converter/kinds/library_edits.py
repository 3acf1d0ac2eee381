"""Turn what materials show otherwise into entries of ``Material.lib`` and ``Textures.lib``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..edits.looks import SurfaceEdits
from ..edits.materials import NewMaterial, merged_materials
from ..errors import ConversionError, in_words, printable
from ..files import read_file
from ..findings import NotApplied
from ..formats.library import MATERIALS, TEXTURES, LibraryEdit, LibraryEntry, blank_texture, with_values
from ..formats.material import (
    DEFAULT_MATERIAL,
    MATERIAL_TYPE,
    MATERIAL_VERSION,
    MaterialKind,
    find_material,
    read_material,
)
from ..formats.names import encode_name, escape, readable, unescape
from ..formats.nres import Entry, read_nres, write_nres
from ..formats.nres_edits import add_entry, replace_entry
from ..formats.texture import TEXM_HEADER_DTYPE, TEXM_TYPE, are_sides
from ..options import ImportOptions
from .import_result import ImportResult
from .new_entries import NewEntries, NewEntry, meant_message
from .texture import EditedLibrary, Replacement, over_texture

#: Ending of a file that is a material.
MATERIAL_ENDING = ".mat0"


def add_surface_edits(out: ImportResult, found: SurfaceEdits, options: ImportOptions) -> None:
    """Add what came of a comparison to the result of an import. ``out``: the result; its differences, ``library`` and
    ``new_materials`` grow.
    """
    report = out.differences
    report.add(found.report)
    if not options.libraries:
        report.not_applied += refused(found.edits) + refused_materials(found.new)
        return
    out.library, conflicts = merged(found.edits)
    out.new_materials, others = merged_materials(found.new)
    report.not_applied += conflicts + others
    for edit in out.library:
        report.changed(edit.where, edit.what)
        phases = int.from_bytes(edit.entry.data[:2], "little")
        if edit.entry.library == MATERIALS and phases > 1:
            report.warnings.append(
                f"{printable(edit.entry.name)} is animated: of its {phases} phases only the first, "
                "which is shown, changes"
            )


def refused(edits: Sequence[LibraryEdit]) -> list[NotApplied]:
    """Report edits where the game's libraries are not written, those of a material in one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for edit in edits:
        groups.setdefault((edit.where, edit.entry.library), []).append(edit.what)
    return [
        NotApplied(
            where=where,
            what=", ".join(dict.fromkeys(what)),
            why=f"it belongs to the game's {library}, which is not written here",
            instead="run gltf2msh on the file, or on a whole game (docs/materials.md)",
        )
        for (where, library), what in groups.items()
    ]


def refused_materials(found: Sequence[NewMaterial]) -> list[NotApplied]:
    """Report what materials of another name show, where the game's libraries are not written."""
    return [
        NotApplied(
            where=one.where,
            what=one.what or "is a new material",
            why=f"the game's {MATERIALS} is not written here: unless it has a material "
            f"{in_words(one.name)}, the game shows {DEFAULT_MATERIAL}",
            instead="run gltf2msh on the file, or on a whole game (docs/materials.md)",
        )
        for one in found
        if one.certain
    ]


def merged(edits: Iterable[LibraryEdit]) -> tuple[list[LibraryEdit], list[NotApplied]]:
    """Join the edits of each entry; where two of them differ, or no texture has the size, none is applied.

    Returns:
        One edit per entry, and a report of each that is not applied.
    """
    groups: dict[tuple[str, str], list[LibraryEdit]] = {}
    for edit in edits:
        groups.setdefault(edit.entry.key, []).append(edit)
    out, conflicts = [], []
    for group in groups.values():
        values: dict[str, bytes] = {}
        for edit in group:
            values |= edit.values
        if any(values[name] != value for edit in group for name, value in edit.values.items()):
            for edit in group:
                others = (other.where for other in group if other.values != edit.values)
                conflicts.append(contradicted(edit, next(others, "another material")))
        elif why := _of_no_texture(group[0]):
            hint = "resize the picture"
            conflicts += [NotApplied(where=edit.where, what=edit.what, why=why, instead=hint) for edit in group]
        else:
            what = ", ".join(dict.fromkeys(edit.what for edit in group))
            picture = next((edit.picture for edit in group if edit.picture is not None), None)
            out.append(replace(group[0], what=what, values=values, picture=picture))
    return out, conflicts


def _of_no_texture(edit: LibraryEdit) -> str:
    """Why a texture cannot have the size of the new pixels; empty: it can."""
    if edit.rgba is None:
        return ""
    header = np.frombuffer(edit.entry.data, TEXM_HEADER_DTYPE, 1)[0]
    height, width, _ = edit.rgba.shape
    if (width, height) == (header["width"], header["height"]) or are_sides(width, height):
        return ""
    return f"it has {width} x {height} pixels, and sides of a texture are powers of two"


def contradicted(edit: LibraryEdit, other: str) -> NotApplied:
    """Report an edit of an entry that something else changes, too."""
    return NotApplied(
        where=edit.where,
        what=edit.what,
        why=f"{other} changes {printable(edit.entry.name)} of {edit.entry.library} in another way",
        instead="make both the same, or change one of them",
    )


def edited_entry(edit: LibraryEdit, entry: Entry, label: str) -> Replacement | None:
    """Return what an edit makes of an entry; ``None``: the entry shows it already. Raises ConversionError: the entry is
    broken, or the pixels do not fit.
    """
    if edit.rgba is not None:
        return over_texture(edit.rgba, entry, label, edit.where)
    read_material(entry, label)
    data = with_values(entry.payload, edit.values)
    kind = edit.kind
    if data == entry.payload and kind in (None, entry.attr1):
        return None
    return Replacement(data, kind, None, [])


def exported_entry(entry: LibraryEntry) -> Entry:
    """Return an entry as it was exported; the pixels of a texture are all 0. Raises ConversionError: its data is not
    what it should be.
    """
    raw = encode_name(entry.name) + b"\0"
    if entry.library == TEXTURES:
        return Entry(TEXM_TYPE, 0, 0, 0, raw, 0, 0, blank_texture(entry.data))
    return Entry(MATERIAL_TYPE, entry.kind, MATERIAL_VERSION, 0, raw, 0, 0, entry.data)


@dataclass
class FilesBeside:
    """Entries of libraries as files beside a model.

    Attributes:
        messages: how they come into the game.
        not_applied: what a file cannot hold: a material's draw mode is in the directory of its
            library.
    """

    files: list[tuple[Path, bytes]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)


def files_beside(target: Path, result: ImportResult, game: NewEntries | None = None) -> FilesBeside:
    """Make the files of edited and new entries beside a model. ``game``: the game's libraries; ``None``: not at hand,
    and materials that may be the game's get no file.
    """
    out = FilesBeside()
    if not (result.library or result.new_materials):
        return out
    made = game or NewEntries()
    for edit in result.library:
        named, texture = made.with_picture(edit)
        _add_edited(out, target, named)
        if texture is not None:
            _add_new(out, target, texture, known=True)
    materials = []
    for one in result.new_materials:
        if game is None and not one.certain:
            continue
        found = made.material(one)
        materials.append(found)
        out.not_applied += found.not_applied
        for entry in found.entries:
            _add_new(out, target, entry, known=game is not None and game.materials is not None)
    out.messages += meant_message(materials)
    return out


def _add_edited(out: FilesBeside, target: Path, edit: LibraryEdit) -> None:
    entry = edit.entry
    made = edited_entry(edit, exported_entry(entry), entry.library)
    if made is None:
        return
    if made.attr1 is not None and entry.library == MATERIALS:
        out.not_applied.append(_mode_lost(edit.where, edit.what))
        if made.data == entry.data:
            return
    path = _path_beside(target, entry.library, entry.name)
    out.files.append((path, made.data))
    out.messages += made.warnings
    out.messages.append(
        f"{path.name} changes every model of the game that uses {printable(entry.name)}: "
        f"gltf2msh {path.name} --into {entry.library} puts it there"
    )


def _add_new(out: FilesBeside, target: Path, entry: NewEntry, *, known: bool) -> None:
    """Add a new entry; ``known``: the game does not have one of its name."""
    path = _path_beside(target, entry.library, entry.name)
    out.files.append((path, entry.data))
    out.messages += entry.warnings
    noun = "material" if entry.library == MATERIALS else "texture"
    doubt = "" if known else f", unless the game has a {noun} of this name (--game DIR looks)"
    out.messages.append(
        f"{path.name} is a new {noun}: gltf2msh {path.name} --into {entry.library} puts it into the game{doubt}"
    )
    if entry.library == MATERIALS and entry.attributes[0] != MaterialKind.OPAQUE:
        out.not_applied.append(_mode_lost(entry.where, "is translucent, or has another draw mode"))


def _path_beside(target: Path, library: str, name: str) -> Path:
    return target.with_name(f"{escape(name)}{MATERIAL_ENDING if library == MATERIALS else ''}")


def _mode_lost(where: str, what: str) -> NotApplied:
    return NotApplied(
        where=where,
        what=what,
        why="the draw mode stands in the directory of Material.lib",
        instead="export the game's folder with msh2gltf, and put it back with --game or --in-place",
    )


def add_or_replace_material(library: Path, file: Path) -> EditedLibrary:
    """Replace the entry that is called like a file, or add it.

    The directory's fields stay; those of a new entry are the ones of ``DEFAULT``, else of the first. Raises
    ConversionError: no archive, the file is not a material, or its name does not fit.

    Args:
        library: ``Material.lib``; it is not written.
        file: ``NAME.mat0``.
    """
    archive = read_nres(read_file(library), str(library))
    name, data = unescape(readable(file.stem)), bytes(read_file(file))
    like = find_material(archive, name)
    first = archive.entries[like.index] if like else None
    kind = first.attr1 if first else 0
    raw = encode_name(name)
    entry = Entry(MATERIAL_TYPE, kind, MATERIAL_VERSION, 0, raw + b"\0", 0, 0, data)
    read_material(entry, str(file))
    if like is None or like.step != "name":
        made = add_entry(archive, raw, MATERIAL_TYPE, data, (kind, MATERIAL_VERSION, 0))
        return EditedLibrary(write_nres(made), printable(name), True)
    assert first is not None
    if first.type_id != MATERIAL_TYPE:
        raise ConversionError(
            "is not a material",
            file=str(library),
            entry=printable(first.name),
            value=f"type {printable(first.type_text)}",
            expected="type MAT0",
        )
    made = replace_entry(archive, like.index, data)
    return EditedLibrary(write_nres(made), printable(first.name), False)
