"""Textures and materials: exported as PNG, put into a library, or laid beside a model as files. No printing.

A picture keeps every bit unless another format is asked for. In a library the entry is replaced
or added, every other byte stays (``converter.formats.nres``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ConversionError, plural, printable, quoted
from ..files import read_file
from ..findings import NotApplied
from ..formats.kinds import Kind, archive_kind, find_model, is_rsli, no_such_entry
from ..formats.material import (
    MATERIAL_TYPE,
    MATERIAL_VERSION,
    MATERIALS,
    TEXTURE_NAME_ROOM,
    TEXTURES,
    LibraryEdit,
    LibraryEntry,
    MaterialKind,
    find_material,
    read_material,
    with_values,
)
from ..formats.names import decode_text, encode_name, escape, readable, unescape
from ..formats.nres import Archive, Entry, is_nres, read_nres, write_nres
from ..formats.nres_edits import add_entry, replace_entry
from ..formats.sidecar import blank_texture
from ..formats.texture import (
    TEXM_MAGIC,
    TEXM_TYPE,
    WRITABLE_FORMATS,
    Texm,
    exact_format,
    lost_alpha,
    new_texm,
    read_texm,
    repainted,
    texture_name,
    with_alpha_of,
    with_pages_of,
    write_texm,
)
from ..numeric.arrays import U8
from ..options import ExportOptions
from .base import Files, Json, Loaded, Source

if TYPE_CHECKING:
    from .import_result import ImportResult
    from .new_entries import NewEntries, NewEntry


@dataclass(frozen=True, kw_only=True)
class LoadedTexture(Loaded):
    """A valid texture; ``texm``: its pixels and rectangles."""

    kind = Kind.TEXTURE

    texm: Texm

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        return texture_summary(self.texm)

    @classmethod
    def load(cls, source: Source, options: ExportOptions) -> LoadedTexture:
        """Read the texture in an archive's entry."""
        assert source.index is not None  # a walk finds them in libraries
        return cls(name=source.file.entries[source.index].name, texm=_texm_at(source.file, source.index))

    def files(self, target: Path, options: ExportOptions, *, sidecar: bool = True, root: Path | None = None) -> Files:
        """Make the PNG of its full size."""
        return [(target, self.png())]

    def png(self) -> bytes:
        """Return its full size as a PNG."""
        from ...exporters.gltf_file import png_bytes

        return png_bytes(self.texm.rgba())

    def describe(self) -> Json:
        """Return the facts about it as plain JSON values."""
        texm, keys = self.texm, ("x", "y", "width", "height")
        return {
            "kind": self.kind,
            "name": self.name,
            "width": texm.width,
            "height": texm.height,
            "format": texm.format,
            "levels": len(texm.levels),
            "alpha": texm.has_alpha,
            "rectangles": [{key: int(rect[key]) for key in keys} for rect in texm.pages],
        }


def texture_summary(texm: Texm) -> str:
    """Return a texture's size, format and levels in words."""
    return f"{texm.width} x {texm.height}, format {texm.format}, {plural(len(texm.levels), 'level')}"


def _texm_at(archive: Archive, index: int) -> Texm:
    entry = archive.entries[index]
    return read_texm(entry.payload, f"{archive.label}, entry {printable(entry.name)}")


def texture_at(path: Path, entry: str | None) -> LoadedTexture | None:
    """Load a ``Texm`` file, or an archive's entry; ``None`` where it is something else. ``entry``: the archive's entry,
    by name or directory index. Raises ConversionError: unreadable, no such entry, or a broken texture.
    """
    data = read_file(path)
    if is_rsli(data):
        return None if entry is None else _rsli_texture(data, path, entry)
    if not is_nres(data):
        if bytes(data[: len(TEXM_MAGIC)]) != TEXM_MAGIC:
            return None
        return LoadedTexture(name=readable(path.name), texm=read_texm(data, str(path)))
    if entry is None:
        return None
    archive = read_nres(data, str(path))
    index = find_model(archive, entry)
    assert index is not None  # an entry was named
    if bytes(archive.entries[index].payload[: len(TEXM_MAGIC)]) != TEXM_MAGIC:
        return None
    return LoadedTexture(name=archive.entries[index].name, texm=_texm_at(archive, index))


def _rsli_texture(data: memoryview, path: Path, entry: str) -> LoadedTexture:
    from ..formats.rsli import read_rsli, unpack  # no other texture needs it

    library = read_rsli(data, str(path))
    row = library.find(entry)
    if row is None:
        raise no_such_entry(library.label, entry, [library.name(row) for row in range(len(library.rows))])
    content, name = unpack(library, row), library.name(row)
    if content[: len(TEXM_MAGIC)] != TEXM_MAGIC:
        raise ConversionError("is not a texture", file=library.label, entry=printable(name))
    return LoadedTexture(name=name, texm=read_texm(content, f"{library.label}, entry {printable(name)}"))


def texm_of(picture: Path, format: int | None = None, levels: int | None = None) -> Texm:
    """A texture of a PNG. Raises ConversionError: unreadable, or not to be made a texture of.

    Args:
        format: as of :func:`~converter.formats.texture.new_texm`; ``None``: one that loses nothing.
        levels: as there.
    """
    from ...importers.materials import read_picture  # an export needs no reader of pictures

    rgba = read_picture(picture)
    return new_texm(rgba, format or exact_format(rgba), levels, label=str(picture))


@dataclass(frozen=True)
class EditedLibrary:
    """A library with a texture added or replaced. ``added``: it was not there before."""

    data: bytes
    name: str
    added: bool
    warnings: list[str] = field(default_factory=list)


def add_or_replace_texture(library: Path, file_name: str, texm: Texm, *, keep_alpha: bool = False) -> EditedLibrary:
    """Replace the entry that is called like a file, with or without ``.0``, or add it.

    ``Page`` rectangles of the old texture stay where the size does, and are multiplied where it grows by whole factors.
    The directory's attr1 and attr2 are width and height where the library's textures have them so, attr3 is theirs.
    Raises ConversionError: no archive, the entry is no texture, or the name does not fit.

    Args:
        library: an archive of textures; it is not written.
        file_name: names the entry; without the ending of a picture.
        keep_alpha: whether one that is solid throughout gets the alpha of the old one.
    """
    archive = read_nres(read_file(library), str(library))
    if (kind := archive_kind(archive)) is not Kind.ARCHIVE:
        hint = "name a library such as Textures.lib"
        raise ConversionError(f"is a file of one {kind}, and takes no texture", file=str(library), hint=hint)
    stem = unescape(readable(file_name))
    wanted = texture_name(stem)
    index = archive.find(wanted)
    if index is None:
        index = archive.find(stem)
    payload = write_texm(texm)
    if index is None:
        return _added(archive, wanted, texm, payload)
    entry = archive.entries[index]
    name = printable(entry.name)
    _require_type(entry, TEXM_TYPE, library, "is no texture", "type Texm")
    old = read_texm(entry.payload, f"{library}, entry {name}")
    if keep_alpha and lost_alpha(texm.rgba(), old):
        rgba = with_alpha_of(texm.rgba(), old)
        texm = new_texm(rgba, texm.format if texm.has_alpha else exact_format(rgba), len(texm.levels), label=name)
    new = in_place_of(entry, texm, old)
    new.warnings.extend(_alpha_warnings(texm.rgba(), old, entry.name))
    made = replace_entry(archive, index, new.data, attr1=new.attr1, attr2=new.attr2)
    return EditedLibrary(write_nres(made), name, False, new.warnings)


def _require_type(entry: Entry, type_id: int, library: Path, problem: str, expected: str) -> None:
    if entry.type_id != type_id:
        value = f"type {printable(entry.type_text)}"
        raise ConversionError(problem, file=str(library), entry=printable(entry.name), value=value, expected=expected)


class Replacement(NamedTuple):
    """A texture for an entry that has one: its bytes, and the directory's fields that change."""

    data: bytes
    attr1: int | None
    attr2: int | None
    warnings: list[str]


def in_place_of(entry: Entry, texm: Texm, old: Texm) -> Replacement:
    """A texture in the place of an entry's; see :func:`add_or_replace_texture`."""
    paged, warnings = with_pages_of(texm, old), []
    if paged is None:
        warnings.append(
            f"{printable(entry.name)} had {plural(len(old.pages), 'rectangle')} (Page), which do "
            f"not fit the new size {texm.width} x {texm.height}: they are gone, and materials that "
            f"name one show all (whole multiples of {old.width} x {old.height} keep them)"
        )
    return Replacement(
        write_texm(paged or texm),
        texm.width if entry.attr1 == old.width else None,
        texm.height if entry.attr2 == old.height else None,
        warnings,
    )


def _alpha_warnings(rgba: U8, old: Texm, name: str) -> list[str]:
    """Return a warning where pixels lack the alpha that a texture had.

    Of a texture that is known without its pixels, the format's alpha counts.
    """
    if not lost_alpha(rgba, old):
        return []
    return [
        f"{printable(name)} had alpha (format {old.format}), and the picture has none: what was "
        "clear in it is solid now (save the picture with its alpha channel, or import it with --keep-alpha)"
    ]


def edited_texture(picture: Path, entry: Entry, label: str, *, keep_alpha: bool = False) -> Replacement | None:
    """An edited picture in the place of the texture that it was made of; see :func:`over_texture`."""
    from ...importers.materials import read_picture  # an export needs no reader of pictures

    rgba = read_picture(picture)
    if keep_alpha:
        rgba = with_alpha_of(rgba, read_texm(entry.payload, f"{label}, entry {printable(entry.name)}"))
    return over_texture(rgba, entry, label, str(picture))


def over_texture(rgba: U8, entry: Entry, label: str, picture: str) -> Replacement | None:
    """Return what pixels make of the texture that they were made of.

    Of the same size: all that was not painted over stays. Of another one: its format, and as many levels as the new
    size can have. Raises ConversionError: the texture is broken, or the size does not fit.

    Args:
        rgba: (height, width, 4) uint8, top row first.
        picture: what they call the pixels.

    Returns:
        ``None`` where the picture shows what the texture shows.
    """
    old = read_texm(entry.payload, f"{label}, entry {printable(entry.name)}")
    shown = old.rgba()
    if np.array_equal(rgba, shown):
        return None
    if rgba.shape == shown.shape:
        made = Replacement(write_texm(repainted(old, rgba)), None, None, [])
    else:
        format = old.format if old.format in WRITABLE_FORMATS else exact_format(rgba)
        new = new_texm(rgba, format, 1 if len(old.levels) == 1 else None, label=picture)
        for word in ("flags", "opaque24"):
            new.header[word] = old.header[word]
        made = in_place_of(entry, new, old)
        if format != old.format:
            made.warnings.append(f"a texture of format {old.format} cannot change its size: it is {format} now")
    if not old.has_alpha and (rgba[..., 3] != 255).any():
        made.warnings.append(f"its format {old.format} has no alpha: what is clear in it is solid")
    made.warnings.extend(_alpha_warnings(rgba, old, entry.name))
    return None if made.data == entry.payload else made


def _added(archive: Archive, name: str, texm: Texm, payload: bytes) -> EditedLibrary:
    raw = encode_name(name)
    if decode_text(raw) != name:
        raise ConversionError("entry name has letters that CP1251 lacks", file=archive.label, value=printable(name))
    from .new_entries import directory_sizes  # an export makes no entries

    made = add_entry(archive, raw, TEXM_TYPE, payload, directory_sizes(archive, texm.width, texm.height))
    warnings = []
    if len(raw) > TEXTURE_NAME_ROOM:
        warnings.append(
            f"{printable(name)} has {plural(len(raw), 'byte')}, and a material's texture name only "
            f"room for {TEXTURE_NAME_ROOM}: no material can show it"
        )
    if archive.entries and archive.first_of_type(TEXM_TYPE) is None:
        warnings.append("no other texture is there: materials find theirs in Textures.lib")
    return EditedLibrary(write_nres(made), printable(name), True, warnings)


#: Ending of a file that is a material.
MATERIAL_ENDING = ".mat0"


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

    def add(self, target: Path, entry: LibraryEntry | NewEntry, data: bytes, messages: Iterable[str]) -> str:
        """Add the file of an entry, and return its name."""
        name = f"{escape(entry.name)}{MATERIAL_ENDING if entry.library == MATERIALS else ''}"
        self.files.append((target.with_name(name), data))
        self.messages += messages
        return name


def files_beside(target: Path, result: ImportResult, game: NewEntries | None = None) -> FilesBeside:
    """Make the files of edited and new entries beside a model. ``game``: the game's libraries; ``None``: not at hand,
    and materials that may be the game's get no file.
    """
    out = FilesBeside()
    if not (result.library or result.new_materials):
        return out
    from .new_entries import NewEntries, meant_message  # an export makes no entries

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
    name = out.add(target, entry, made.data, made.warnings)
    out.messages.append(
        f"{name} changes every model of the game that uses {printable(entry.name)}: "
        f"gltf2msh {quoted(name)} --into {entry.library} puts it there"
    )


def _add_new(out: FilesBeside, target: Path, entry: NewEntry, *, known: bool) -> None:
    name = out.add(target, entry, entry.data, entry.warnings)
    noun = "material" if entry.library == MATERIALS else "texture"
    doubt = "" if known else f", unless the game has a {noun} of this name (--game DIR looks)"
    out.messages.append(
        f"{name} is a new {noun}: gltf2msh {quoted(name)} --into {entry.library} puts it into the game{doubt}"
    )
    if entry.library == MATERIALS and entry.attributes[0] != MaterialKind.OPAQUE:
        out.not_applied.append(_mode_lost(entry.where, "is translucent, or has another draw mode"))


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
    _require_type(first, MATERIAL_TYPE, library, "is not a material", "type MAT0")
    made = replace_entry(archive, like.index, data)
    return EditedLibrary(write_nres(made), printable(first.name), False)
