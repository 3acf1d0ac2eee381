"""Turn what materials show otherwise into edits and new entries of ``Material.lib`` and ``Textures.lib``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np

from ..edits.looks import SurfaceEdits
from ..edits.materials import NewMaterial, listed, merged_materials
from ..errors import ConversionError, called, in_words, plural, printable
from ..findings import NotApplied, Report
from ..formats.gltf import pixel_digest
from ..formats.material import (
    DEFAULT_MATERIAL,
    MATERIAL_HEADER_DTYPE,
    MATERIAL_TYPE,
    MATERIAL_VERSION,
    MATERIALS,
    PHASE_DTYPE,
    TEXTURE_NAME_ROOM,
    TEXTURES,
    LibraryEdit,
    MaterialKind,
    NewPicture,
    find_material,
    first_phase,
    read_material,
    with_values,
)
from ..formats.names import decode_text, encode_name
from ..formats.nres import Archive, Entry
from ..formats.texture import (
    TEXM_HEADER_DTYPE,
    TEXM_TYPE,
    are_sides,
    exact_format,
    new_texm,
    read_texm,
    texture_name,
    write_texm,
)
from ..numeric.arrays import U8
from ..numeric.quantize import colour_of_row, to_bytes
from ..options import ImportOptions
from ..storage import cannot_read
from .import_result import ImportResult
from .open_files import find_library, open_archive

#: Characters that some system refuses in the name of a file.
_REFUSED = re.compile(r'[\x00-\x1f<>:"/\\|?*%~]')
_NUMBER = re.compile(r"\.[0-9]+$")
#: Colours, as bytes, that nobody chose: of glTF, of Blender's new materials, of msh2gltf without a
#: game.
_UNCHOSEN = {
    "colour": {bytes(to_bytes(colour)) for colour in ((1, 1, 1), (0.8, 0.8, 0.8), *map(colour_of_row, range(256)))},
    "light": {bytes(3)},
}
_TRANSLUCENT = (MaterialKind.ALPHA_BLEND, MaterialKind.ADDITIVE)
#: Longest side of a new texture.
_LARGEST = 4096


def add_surface_edits(out: ImportResult, found: SurfaceEdits, options: ImportOptions) -> None:
    """Add what came of a comparison to the result of an import. ``out``: the result; its differences, ``library`` and
    ``new_materials`` grow.
    """
    report = out.differences
    report.add(found.report)
    if not options.libraries:
        refuse(report, found.edits, found.new)
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


def refuse(report: Report, edits: Iterable[LibraryEdit], new: Iterable[NewMaterial]) -> None:
    """Report what materials show where the game's libraries are not written; edits of a material in one line."""
    instead = "run gltf2msh on the file, or on a whole game (docs/materials.md)"
    groups: dict[tuple[str, str], list[str]] = {}
    for edit in edits:
        groups.setdefault((edit.where, edit.entry.library), []).append(edit.what)
    for (where, library), what in groups.items():
        why = f"it belongs to the game's {library}, which is not written here"
        report.skipped(where, ", ".join(dict.fromkeys(what)), why, instead)
    for one in (one for one in new if one.certain):
        why = (
            f"the game's {MATERIALS} is not written here: unless it has a material {in_words(one.name)}, the game "
            f"shows {DEFAULT_MATERIAL}"
        )
        report.skipped(one.where, one.what or "is a new material", why, instead)


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


@dataclass(frozen=True)
class NewEntry:
    """An entry to add to a library.

    Attributes:
        library: ``MATERIALS`` or ``TEXTURES``.
        type_id: of the directory.
        attributes: attr1, attr2 and attr3 of the directory.
        where: what of the file it is for.
    """

    library: str
    name: str
    type_id: int
    data: bytes
    attributes: tuple[int, int, int]
    where: str
    what: str
    warnings: tuple[str, ...] = ()


@dataclass
class Made:
    """What came of a new material.

    Attributes:
        entries: textures first, then the material; empty where the game has it already.
        not_applied: what does not arrive.
        meant: the game's material that is meant, where the file shows it otherwise though nobody
            chose that; see :func:`meant_message`.
    """

    entries: list[NewEntry] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    meant: str = ""


class NewEntries:
    """The libraries of a game, with what is added to them.

    Attributes:
        materials, textures: as they are; ``None``: not at hand.
    """

    def __init__(self, materials: Archive | None = None, textures: Archive | None = None, like: str = "") -> None:
        """Start with nothing added. Raises ConversionError: there is no such material."""
        self.materials, self.textures = materials, textures
        self._like = like
        if like and (materials is None or materials.find(like) is None):
            raise ConversionError(
                "has no such material",
                file=MATERIALS if materials is None else materials.label,
                value=printable(like),
                hint="name one of the game with --like, and the game with --game",
            )
        #: Digest of the pixels by name, in lower case, of textures that were made here.
        self._made: dict[str, str] = {}

    def has(self, name: str) -> bool:
        """Return whether the game has a material of a name."""
        return self.materials is not None and self.materials.find(name) is not None

    def material(self, new: NewMaterial) -> Made:
        """Make the entries of a new material.

        A name that the game has is that material: its colours stay, and so does its picture. What
        the file shows otherwise is not applied where somebody chose it, else it is ``meant``.
        """
        found = None if self.materials is None else self.materials.find(new.name)
        if found is not None:
            assert self.materials is not None
            entry = self.materials.entries[found]
            return self._kept(new, entry)
        out = Made([], list(new.not_applied))
        values, warnings = dict(new.values), list[str]()
        if new.picture is not None:
            name, texture = self.texture(new.picture, new.where)
            values["texture"] = encode_name(name)
            if texture is not None:
                out.entries.append(texture)
        data, kind, like = self._base(new)
        if "kind" in values:
            wanted = values["kind"][0]
            stays = wanted == MaterialKind.OPAQUE and kind not in _TRANSLUCENT
            kind = kind if stays else wanted
        phases = int.from_bytes(data[:2], "little")
        data = with_values(data, values, phases=1 if new.like else phases)
        if new.like and phases > 1 and values:
            warnings.append(
                f"{printable(new.name)} is animated: of its {phases} phases only the first, which is shown, differs"
            )
        what = f"is new, {like}" + (f": {new.what}" if new.what else "")
        if not (new.like or new.picture):
            warnings += self._others(new.name)
        out.entries.append(
            NewEntry(
                MATERIALS, new.name, MATERIAL_TYPE, data, (kind, MATERIAL_VERSION, 0), new.where, what, tuple(warnings)
            )
        )
        return out

    def _kept(self, new: NewMaterial, entry: Entry) -> Made:
        """Report what a name that the game has does not show."""
        compare = self._copy_differs if new.like else self._differs
        try:
            chosen, differs = compare(new, entry)
        except ConversionError:  # what the game has is broken: nobody knows what it shows
            chosen, differs = self._other_picture(new, entry), True
        if not chosen:
            return Made(meant=entry.name if differs else "")
        return Made(
            not_applied=[
                NotApplied(
                    where=new.where,
                    what=", ".join(dict.fromkeys(chosen)),
                    why=f"the game has a material {called(entry.name)}, which is meant",
                    instead="give the material a name that the game does not have",
                )
            ]
        )

    def _copy_differs(self, new: NewMaterial, entry: Entry) -> tuple[list[str], bool]:
        """What was edited of a copy and an entry does not show; whether it differs at all."""
        chosen = self._other_picture(new, entry)
        rest = {name: value for name, value in new.values.items() if name != "picture"}
        if with_values(entry.payload, rest) != entry.payload:
            chosen.append(new.what)
        data, kind, _ = self._base(new)
        return chosen, (with_values(data, rest), kind) != (entry.payload, entry.attr1)

    def _differs(self, new: NewMaterial, entry: Entry) -> tuple[list[str], bool]:
        """What somebody chose of a new material and an entry does not show; whether it differs at
        all."""
        if not new.values:
            return [], False
        chosen, differs = self._other_picture(new, entry), False
        material = read_material(entry, MATERIALS)
        values = dict(new.values)
        if not new.picture:
            texture = decode_text(values["texture"])
            differs = texture.lower() != material.texture.lower()
            if differs and texture:
                chosen.append(f"its picture {printable(texture)}")
        is_clear = values["kind"] != bytes([MaterialKind.OPAQUE])
        differs |= is_clear != material.translucent
        if is_clear and not material.translucent:
            chosen.append("its alpha mode")
        elif is_clear and values["alpha"][0] != round(100 * material.alpha):
            chosen.append(f"its alpha {values['alpha'][0]}%")
        lit_by_others = new.lightmapped or material.additive
        for name, title in (("colour", "colour"), ("light", "emission")):
            value = values[name]
            if value == first_phase(entry.payload, name) or (name == "light" and lit_by_others):
                continue
            differs = True
            if value not in _UNCHOSEN[name]:
                chosen.append(f"its {title} #{value.hex()}")
        return chosen, differs or bool(chosen)

    def _other_picture(self, new: NewMaterial, entry: Entry) -> list[str]:
        """The new picture of a material, where an entry shows another one."""
        if new.picture is None or self._shows(entry, new.picture):
            return []
        return [f"its picture {printable(new.picture.name)}"]

    def _shows(self, entry: Entry, picture: NewPicture) -> bool:
        try:
            name = read_material(entry, MATERIALS).texture
            return self._pixels(name) == pixel_digest(fitting(picture.rgba))
        except ConversionError:
            return False

    def _base(self, new: NewMaterial) -> tuple[bytes, int, str]:
        """Bytes and draw mode of what a new material is made like, and that in words."""
        library = self.materials
        if new.like and (library is None or library.find(new.like) is None) and new.base:
            return new.base.data, new.base.kind, f"a copy of {printable(new.base.name)}"
        name = new.like or self._like or DEFAULT_MATERIAL
        found = None if library is None else find_material(library, name)
        if library is None or found is None:
            return blank_material(), MaterialKind.OPAQUE, "with what is usual"
        entry = library.entries[found.index]
        read_material(entry, library.label)
        how = "a copy of" if new.like else "like"
        return bytes(entry.payload), entry.attr1, f"{how} {printable(entry.name)}"

    def _others(self, name: str) -> list[str]:
        """Return a warning where the game has names that are nearly the same: a typing error?"""
        if self.materials is None:
            return []
        from difflib import get_close_matches

        known = {entry.name.lower(): entry.name for entry in self.materials.entries}
        near = [known[one] for one in get_close_matches(name.lower(), known)]
        title = f"material {called(name)} is new"
        return [f"{title}; the game has {listed(near)}"] if near else []

    def texture(self, picture: NewPicture, where: str) -> tuple[str, NewEntry | None]:
        """Find or make the texture of a picture.

        Returns:
            Its name, and its entry where it is new: called like the picture, with a number where
            the game has another texture of that name.
        """
        rgba = fitting(picture.rgba)
        digest = pixel_digest(rgba)
        names = (texture_entry_name(picture.name, number) for number in count(1))
        for name in names:
            known = self._made.get(name.lower()) or self._pixels(name)
            if known == digest:
                return name, None
            if known is None:
                break
        self._made[name.lower()] = digest
        texm = new_texm(rgba, exact_format(rgba), label=printable(picture.name))
        height, width = rgba.shape[:2]
        warnings = []
        if rgba.shape != picture.rgba.shape:
            before = f"{picture.rgba.shape[1]} x {picture.rgba.shape[0]}"
            warnings.append(
                f"picture {printable(picture.name)} has {before} pixels: it is resampled to "
                f"{width} x {height}, as sides of a texture are powers of two"
            )
        what = f"is new, {width} x {height}, format {texm.format}, "
        what += plural(len(texm.levels), "level")
        attributes = directory_sizes(self.textures, width, height)
        entry = NewEntry(TEXTURES, name, TEXM_TYPE, write_texm(texm), attributes, where, what, tuple(warnings))
        return name, entry

    def _pixels(self, name: str) -> str | None:
        """Digest of the pixels of a texture of the game; empty where it is broken."""
        found = None if self.textures is None or not name else self.textures.find(name)
        if found is None:
            return None
        assert self.textures is not None
        try:
            return pixel_digest(read_texm(self.textures.entries[found].payload, name).rgba())
        except ConversionError:
            return ""

    def with_picture(self, edit: LibraryEdit) -> tuple[LibraryEdit, NewEntry | None]:
        """Return the edit of a material with the name of its new texture, and that."""
        if edit.picture is None:
            return edit, None
        name, texture = self.texture(edit.picture, edit.where)
        values: Mapping[str, bytes] = {key: value for key, value in edit.values.items() if key != "picture"} | {
            "texture": encode_name(name)
        }
        return replace(edit, values=values, picture=None), texture


def directory_sizes(library: Archive | None, width: int, height: int) -> tuple[int, int, int]:
    """Return the directory's attributes of a new texture, as the library's others have them."""
    like = None if library is None else library.first_of_type(TEXM_TYPE)
    if like is None or library is None:
        return width, height, 0
    other = read_texm(like.payload, f"{library.label}, entry {printable(like.name)}")
    own = (like.attr1, like.attr2) == (other.width, other.height)
    return (width, height, like.attr3) if own else (like.attr1, like.attr2, like.attr3)


def entries_of_game(folder: Path | None, like: str = "") -> NewEntries:
    """Open the libraries of a game's folder. Raises ConversionError: a library is broken, or has no material ``like``.
    ``folder``: where they are, packed or not; ``None``: no game is at hand.
    """
    return NewEntries(_library(folder, MATERIALS), _library(folder, TEXTURES), like)


def _library(folder: Path | None, name: str) -> Archive | None:
    try:
        path = None if folder is None else find_library(folder, name)
    except OSError as error:
        raise cannot_read(folder or Path(), error) from error
    return None if path is None else open_archive(path, str(path))


def meant_message(made: Iterable[Made]) -> list[str]:
    """Return a message on the materials that were found by name and look otherwise in the game."""
    names = list(dict.fromkeys(printable(one.meant) for one in made if one.meant))
    if not names:
        return []
    have = "has this material" if len(names) == 1 else "has these materials"
    shown = "its colours and picture count" if len(names) == 1 else "their colours and pictures count"
    return [f"{MATERIALS} {have} already, and {shown}, not the file's: {', '.join(names)}"]


def no_library(new: NewMaterial, game: str) -> list[NotApplied]:
    """Report a new material where the game has no library to put it into."""
    if not new.certain:
        return []
    return [
        NotApplied(
            where=new.where,
            what=new.what or "is a new material",
            why=f"{printable(game)} has no {MATERIALS}",
            instead="name the folder of the whole game",
        )
    ]


def texture_entry_name(image: str, number: int = 1) -> str:
    """Return the name of a texture for a picture: at most what a material can name.

    Args:
        image: the picture's name, of any length and alphabet.
        number: 2 and above for the next name where that is taken.
    """
    bare = _REFUSED.sub("_", image.rpartition(".")[0] if image.lower().endswith(".png") else image)
    cut = "".join(c if decode_text(encode_name(c)) == c else "_" for c in bare).strip(" .")
    name = texture_name(cut or "texture")
    end = _NUMBER.search(name)
    assert end is not None
    tail = (f"_{number}" if number > 1 else "") + end[0]
    if len(tail) >= TEXTURE_NAME_ROOM:
        tail = f"_{number}.0"
    head = encode_name(name[: end.start()])[: TEXTURE_NAME_ROOM - len(tail)]
    return decode_text(head) + tail


def fitting(rgba: U8) -> U8:
    """Return a picture whose sides are powers of two: the nearest ones, resampled. ``rgba``: (height, width, 4) uint8,
    top row first.
    """
    height, width = (min(_LARGEST, 1 << round(math.log2(side))) for side in rgba.shape[:2])
    if (height, width) == rgba.shape[:2]:
        return rgba
    from PIL import Image

    resampled = Image.fromarray(rgba).resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(resampled)


def blank_material() -> bytes:
    """Return a material where no other is at hand: white, solid, without light and texture."""
    header = np.zeros(1, MATERIAL_HEADER_DTYPE)
    header["phase_count"] = 1
    phase = np.zeros(1, PHASE_DTYPE)
    phase["diffuse"], phase["ambient"], phase["cell"] = 255, (0, 0, 0, 100), -1
    return header.tobytes() + phase.tobytes()
