"""Decide which stored material each one of a file is; describe those that the game may not have (docs/materials.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from urllib.parse import unquote

import numpy as np

from ..errors import ConversionError, in_words, needed_for, plural, printable
from ..findings import NotApplied, Report, Subject
from ..formats.gltf import (
    WHOLE,
    FilePicture,
    ShownPicture,
    Surface,
    TextureTransform,
    pixel_digest,
    rectangle_transform,
    same_picture,
)
from ..formats.material import (
    DEFAULT_MATERIAL,
    TEXTURE_NAME_ROOM,
    TEXTURES,
    LibraryEntry,
    MaterialKind,
    NewPicture,
    entry_key,
)
from ..formats.names import encode_name, known_name, unescape, without_number
from ..formats.sidecar import blank_texture
from ..formats.texture import read_texm
from ..formats.wear import is_material_name
from ..numeric.arrays import I64, Bools
from ..numeric.quantize import to_bytes
from ..scene.scene import ImportedScene, Material, Scene
from .nodes import Identified
from .triangles import Match, TriangleList, match, triangle_list

#: How many names a message lists.
_LISTED = 8


def same_stored(given: Iterable[tuple[Hashable | None, str]], stored: Iterable[tuple[Hashable, str]]) -> list[set[int]]:
    """Return the stored materials that each one of a file may be: by its key, else by its name.

    Several stored materials of one name cannot be distinguished by it, and any of them is taken for unchanged.

    Args:
        given: per material of the file the key that its extras state (``None``: none), and its name.
        stored: the same of the stored ones.
    """
    by_key: dict[Hashable, set[int]] = defaultdict(set)
    by_name: dict[str, set[int]] = defaultdict(set)
    for row, (key, name) in enumerate(stored):
        by_key[key].add(row)
        by_name[name].add(row)
    return [
        by_name.get(known_name(name, by_name.__contains__), set()) if key is None else by_key.get(key, set())
        for key, name in given
    ]


def same_materials(edited: Scene, stored: Scene) -> list[set[int]]:
    """Return the stored materials of a model that each edited one may be; see :func:`same_stored`."""
    given = ((None if -1 in material.key else material.key, material.name) for material in edited.materials)
    return same_stored(given, ((material.key, material.name) for material in stored.materials))


def material_votes(lists: Iterable[tuple[TriangleList, Match]], edited: Scene, stored: Scene) -> I64:
    """Count the triangles that had a stored material and have one of the file.

    Returns:
        (M + 1, K): of each material of the file and, in the last row, of none.
    """
    votes = np.zeros((len(edited.materials) + 1, len(stored.materials)), np.int64)
    for triangles, matched in lists:
        hit = matched.old_of >= 0
        old = matched.old_material[matched.old_of[hit]]
        np.add.at(votes, (triangles.material[hit][old >= 0], old[old >= 0]), 1)
    return votes


def origins_by_faces(identified: Identified, stored: Scene, *, lightmap: bool) -> dict[int, tuple[int, bool]]:
    """Return the stored material that most triangles had of each material of a file.

    Returns:
        Per material the stored one, and whether all triangles of either have the other: that is certain.
    """
    scene = identified.scene
    cells = {part.cell: part for part in stored.parts}
    parts = [(part, (identified.stored_of.get(part.node, -1), part.lod, part.group)) for part in scene.parts]

    def lists() -> Iterator[tuple[TriangleList, Match]]:
        for part, cell in parts:
            if (old := cells.get(cell)) is not None:
                new = triangle_list(scene, part, lightmap=lightmap)
                yield new, match(new, triangle_list(stored, old, lightmap=lightmap), [])

    votes = material_votes(lists(), scene, stored)
    here = {cell for _, cell in parts}
    absent = {
        stored.materials[primitive.material].row
        for cell, part in cells.items()
        if cell not in here
        for primitive in stored.meshes[part.mesh].primitives
    }
    out = {}
    for i in np.flatnonzero(votes[:-1].any(1)).tolist():
        k = int(votes[i].argmax())
        whole = votes[i, k] == votes[i].sum() == votes[:, k].sum()
        out[i] = k, bool(whole) and stored.materials[k].row not in absent
    return out


def resolve_same_names(
    choices: list[set[int]], edited: Scene, stored: Scene, lists: Iterable[tuple[TriangleList, Match]]
) -> None:
    """Distinguish materials of one name by the triangles they are on: most did not change theirs.

    Only for files without extras, where Blender's ``.001`` is their only difference.

    Args:
        choices: per material of the file the stored ones that it may be; changed in place.
        edited, stored, lists: as of :func:`material_votes`.
    """
    open_ones = [i for i, rows in enumerate(choices) if len(rows) > 1 and -1 in edited.materials[i].key]
    if not open_ones:
        return
    votes = material_votes(lists, edited, stored)[:-1]
    allowed = np.zeros(votes.shape, np.bool_)
    for i in open_ones:
        allowed[i, list(choices[i])] = True
    for i, k in _most_votes(votes, allowed, open_ones):
        if votes[i, k] > 0 and allowed[i, k]:
            choices[i] = {k}


def _most_votes(votes: I64, allowed: Bools, rows: list[int]) -> list[tuple[int, int]]:
    """Assign stored materials to materials so that their triangles agree the most. Raises MissingPackage: two of them
    want the same, and SciPy is not installed to settle it.

    Args:
        votes: (materials, stored materials), triangles that had the one and have the other.
        allowed: the same shape, whether the names fit.
        rows: the materials to assign; each has two or more stored ones that are allowed.

    Returns:
        Pairs of a row and its column.
    """
    others = np.asarray(np.delete(allowed, rows, axis=0).any(0), np.bool_)
    rows = [i for i in rows if (votes[i] * allowed[i]).any()]  # the rest decides nothing
    counted = np.where(allowed, votes, -1)[rows]
    best, ranked = counted.argmax(1), np.sort(counted, axis=1)
    clear = bool((ranked[:, -1] > np.maximum(ranked[:, -2], 0)).all())
    if clear and not others[best].any() and len(np.unique(best)) == len(best):
        return list(zip(rows, best.tolist(), strict=True))  # no sum can be larger
    with needed_for("telling several materials of one name apart", "scipy"):
        from scipy.optimize import linear_sum_assignment

    assigned = linear_sum_assignment(np.where(allowed, votes, -1e9), maximize=True)
    pairs = zip(*(part.tolist() for part in assigned), strict=True)
    return [(i, k) for i, k in pairs if i in rows]


def listed(names: Sequence[str] | dict[str, int]) -> str:
    """Return the names that may be used, as far as a line can hold them."""
    shown = [printable(name) for name in names]
    more = f" or {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ("one of " if len(shown) > 1 else "") + ", ".join(shown[:_LISTED]) + more


def rows_by_name(stored: Scene, wear: Sequence[str]) -> dict[str, int]:
    """Return names and their rows; those that the model uses win."""
    rows = [(name, row) for row, name in reversed(list(enumerate(wear))) if name]
    used = [(m.name, m.row) for m in reversed(stored.materials)]
    return dict(reversed(dict([*rows, *used]).items()))


def stated_row(name: str) -> int | None:
    """Return the row in ``material_7``, as the exporter calls a row without a name."""
    number = name.removeprefix("material_")
    return int(number) if number != name and number.isdecimal() and len(number) <= 5 else None


def names_of_rows(names: Iterable[str]) -> list[str]:
    """Return the first row's name of each material, of one row or two; empty where only the exporter names it."""
    first = (name.partition("+")[0] for name in names)
    return ["" if stated_row(name) is not None else name for name in first]


def row_title(row: int, wear: Sequence[str]) -> str:
    """Return what messages call a row."""
    name = wear[row] if row < len(wear) else ""
    return f"row {row}" + (f" ({printable(name)})" if name else "")


def without_loss(
    edited: Sequence[Surface[FilePicture]], shown: Sequence[Surface[ShownPicture]], choices: Mapping[int, Iterable[int]]
) -> tuple[list[Surface[FilePicture]], list[NotApplied]]:
    """Take pictures in a lossy format for the exported ones of their names.

    Returns:
        What the materials show, and a report if such pictures were found.
    """
    exported = _by_name(shown)
    found: set[str] = set()

    def as_exported(new: FilePicture | None, first: Mapping[str, ShownPicture]) -> FilePicture | None:
        if new is None:
            return None
        old = first.get(new.name.lower()) or exported.get(new.name.lower())
        if old is None or not new.lossy() or same_picture(new, old):
            return new
        found.add(old.name)
        return new._replace(name=old.name, digest=lambda: "", pixels=lambda: old.pixels)

    out = []
    for i, one in enumerate(edited):
        own = _by_name(shown[k] for k in choices.get(i, ()))
        picture, light = as_exported(one.picture, own), as_exported(one.light, own)
        out.append(one._replace(picture=picture, light=light))
    if not found:
        return out, []
    report = NotApplied(
        where="pictures",
        what=f"{plural(len(found), 'picture')} (first {printable(min(found))}) cannot be compared",
        why="JPEG and lossy WebP change pixels that nobody touched",
        instead="set Images to Automatic in Blender's glTF exporter, and export again",
    )
    return out, [report]


def _by_name(shown: Iterable[Surface[ShownPicture]]) -> dict[str, ShownPicture]:
    """Pictures by name in lower case, also without what follows its last dot, as in Blender."""
    out: dict[str, ShownPicture] = {}
    for one in shown:
        for picture in filter(None, (one.picture, one.light)):
            name = picture.name.lower()
            out |= {name: picture}
            out.setdefault(name.rpartition(".")[0], picture)
    return out


#: Metallic and roughness that nobody chose: of glTF, of Blender's new materials, of msh2gltf.
_UNCHOSEN = ((1.0, 1.0), (0.0, 0.5), (0.0, 0.9))
#: Extensions that state what nobody chose: Blender writes them for materials of other programs.
HARMLESS = ("KHR_materials_ior", "KHR_materials_specular")
LIGHT_FOLLOWS = ("a material's own light goes through its picture", "use the same picture for both")
NO_SUCH_VALUE = ("materials of the game have no such value", "use the colour, alpha, emission or picture")


@dataclass(frozen=True)
class NewMaterial:
    """A material that becomes an entry of ``Material.lib``, where the game has none of its name.

    Attributes:
        where: what shows it, as ``material 'rust'``.
        what: how it differs from ``like``, in words.
        like: the material that it is a copy of; empty: one that the user names, else ``DEFAULT``.
        base: that as it was exported, as far as it is known.
        values: as of :class:`~converter.formats.material.LibraryEdit`; of a copy those that differ.
        picture: what it shows and no texture that was exported shows.
        not_applied: what no material holds.
        certain: the file shows it as a material of its own: it is made without a game at hand, too.
        lightmapped: its emission shows a lightmap, not light of its own.
    """

    name: str
    where: str
    what: str = ""
    like: str = ""
    base: LibraryEntry | None = None
    values: Mapping[str, bytes] = field(default_factory=dict)
    picture: NewPicture | None = None
    not_applied: tuple[NotApplied, ...] = ()
    certain: bool = False
    lightmapped: bool = False

    @property
    def content(self) -> tuple[object, ...]:
        """What two of one name must have in common."""
        return self.like.lower(), dict(self.values), self.picture and self.picture.digest


def new_material(
    name: str, where: str, surface: Surface[FilePicture] | None, pictures: Mapping[str, LibraryEntry] | None = None
) -> NewMaterial:
    """Return a material that shows what a file's shows.

    Args:
        where: what messages call the file's material.
        surface: what that shows; ``None``: nothing is known but its name.
        pictures: textures of the game by the digest of their pixels.
    """
    if surface is None:
        return NewMaterial(name, where)
    solid = surface.alpha_mode == "OPAQUE"
    alpha = 1.0 if solid else min(1.0, max(0.0, surface.colour[3]))
    values = {
        "colour": bytes(to_bytes(surface.colour[:3])),
        "light": bytes(to_bytes(surface.emission)),
        "alpha": bytes([round(100 * alpha)]),
        "kind": bytes([MaterialKind.OPAQUE if solid else MaterialKind.ALPHA_BLEND]),
        "texture": b"",
    }
    picture, left = None, _unheld(surface, where)
    if surface.picture is not None:
        known = (pictures or {}).get(surface.picture.pixels())
        texture = known.name if known else texture_of_run(surface.picture)
        if texture:
            values["texture"] = encode_name(texture)
        else:
            picture, problem = picture_of(surface.picture, where)
            left += problem
    return NewMaterial(
        name,
        where,
        values=values,
        picture=picture,
        not_applied=tuple(left),
        certain=surface.picture is not None and not surface.own,
        lightmapped=_is_lightmap(surface.light, surface.picture),
    )


def _is_lightmap(light: FilePicture | None, picture: FilePicture | None) -> bool:
    """Return whether an emission picture is another one than the base colour's."""
    if light is None or picture is None:
        return light is not None
    return light.uri != picture.uri or light.pixels() != picture.pixels()


def texture_of_run(shown: FilePicture) -> str:
    """Return the texture that a picture outside the file's folder is, as a run over a game has it
    for all models; empty where it is not one."""
    path = PurePosixPath(unquote(shown.uri))
    if path.parts[:1] != ("..",) or path.parent.name != "textures" or shown.digest():
        return ""
    name = unescape(path.stem)
    return name if len(encode_name(name)) <= TEXTURE_NAME_ROOM else ""


def materials_of_model(given: ImportedScene, scene: Scene) -> list[NewMaterial]:
    """Return the materials of a model that has no sidecar, one for each name that faces have."""
    out: dict[str, NewMaterial] = {}
    for i in sorted(materials_in_use(scene) - {-1}):
        material = scene.materials[i]
        name = without_number(material.name)
        if not is_material_name(name) or name.casefold() in out:
            continue
        surface = given.surfaces[i] if i < len(given.surfaces) else None
        if material.row >= 0 and surface is not None and not surface.definition:
            surface = None  # exported without a game, in the colour of its row
        where = Subject("material", material.name)
        new = out[name.casefold()] = new_material(name, where, surface)
        plain = surface is not None and surface.picture is not None and surface.light is None
        if plain and any(new.values["light"]) and "up" not in given.info:  # an OBJ has no picture of light
            why, instead = LIGHT_FOLLOWS
            line = NotApplied(where=where, what="shines in one colour", why=why, instead=instead)
            out[name.casefold()] = replace(new, not_applied=(*new.not_applied, line))
    return list(out.values())


def materials_in_use(scene: Scene) -> set[int]:
    """Return the indices of the materials that faces of a scene have; -1 for those without one."""
    return {p.material for part in scene.parts for p in scene.meshes[part.mesh].primitives}


def picture_of(shown: FilePicture, where: str) -> tuple[NewPicture | None, list[NotApplied]]:
    """Read a picture; a report where it cannot be read."""
    try:
        rgba = shown.rgba()
    except ConversionError as error:
        what = f"picture {printable(shown.name) or 'without a name'} is new"
        why, instead = unreadable(error)
        return None, [NotApplied(where=where, what=what, why=why, instead=instead)]
    return NewPicture(shown.name, pixel_digest(rgba), rgba), []


def unreadable(error: ConversionError) -> tuple[str, str]:
    """Return why a picture cannot be read, and what to do about it."""
    instead, error.hint = error.hint or "export it again as a PNG of 8 bits a channel", None
    return str(error), instead


def _unheld(surface: Surface[FilePicture], where: str) -> list[NotApplied]:
    what = [name for name in surface.others if name not in HARMLESS]
    if not unchosen(surface):
        what.append(f"metallic {surface.metallic:.3g}, roughness {surface.roughness:.3g}")
    if _is_lightmap(surface.light, surface.picture):
        what.append("emission picture")
    why, instead = NO_SUCH_VALUE
    return (
        [NotApplied(where=where, what=f"has {', '.join(map(printable, what))}", why=why, instead=instead)]
        if what
        else []
    )


def unchosen(surface: Surface[FilePicture]) -> bool:
    """Return whether metallic and roughness are what programs write where nobody chose them."""
    return (round(surface.metallic, 3), round(surface.roughness, 3)) in _UNCHOSEN


def merged_materials(found: Sequence[NewMaterial]) -> tuple[list[NewMaterial], list[NotApplied]]:
    """Join new materials of one name; where two of them differ, none is made.

    Returns:
        One per name, and a report of each that contradicts another one.
    """
    groups: dict[str, list[NewMaterial]] = {}
    for one in found:
        groups.setdefault(one.name.casefold(), []).append(one)
    out, conflicts = [], []
    for group in groups.values():
        if all(one.content == group[0].content for one in group):
            out.append(group[0])
            continue
        for one in group:
            other = next(o for o in group if o.content != one.content)
            conflicts.append(contradiction(one, other.where))
    return out, conflicts


def contradiction(one: NewMaterial, other: str) -> NotApplied:
    """Return the report of a new material that is another one elsewhere."""
    return NotApplied(
        where=one.where,
        what="is a new material",
        why=f"{other} has another material of the name {in_words(one.name)}",
        instead="make both the same, or give one of them another name",
    )


def report_one_name_two_looks(
    report: Report, materials: Sequence[Material], surfaces: Sequence[Surface[FilePicture]]
) -> None:
    """Report materials of a new model that share a name, and so a row, but not what they show.

    Blender's ``.001`` does not count as part of a name, nor does case. ``surfaces``: what they show; empty: not known.
    """
    first: dict[str, int] = {}
    for i, material in enumerate(materials[: len(surfaces)]):
        bare = without_number(material.name)
        if not bare or material.row >= 0:
            continue
        k = first.setdefault(bare.casefold(), i)
        row = printable(without_number(materials[k].name))
        if _look(surfaces[k]) != _look(surfaces[i]):
            report.skipped(
                Subject("material", material.name),
                f"has the name of {in_words(materials[k].name)}, and another look",
                f"both are one row of the .wea, {in_words(row)}",
                "give it a name of its own, as in Material.lib",
            )


def report_looks_without_a_name(
    report: Report, materials: Sequence[Material], surfaces: Sequence[Surface[FilePicture]], used: Container[int]
) -> None:
    """Report materials of a new model that show something, and have no name to be found by."""
    plain = ((1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.0), None, None)
    for i, (material, surface) in enumerate(zip(materials, surfaces, strict=False)):
        if i in used and material.row < 0 and not without_number(material.name) and _look(surface) != plain:
            report.skipped(
                f"material {i}",
                "has a colour or a picture, and no name",
                f"the model finds materials by name: its row of the .wea is {DEFAULT_MATERIAL}",
                "give it a name, as in Material.lib",
            )


def _look(surface: Surface[FilePicture]) -> tuple[object, ...]:
    """What tells materials of one file apart: its colour and its pictures."""
    pictures = (surface.picture, surface.light)
    return (surface.colour, surface.emission, *(p and (p.digest() or p.uri) for p in pictures))


#: A material's cell is an int8.
_MOST_CELLS = 128


def cell_of(transform: TextureTransform, picture: ShownPicture | None, entries: Iterable[LibraryEntry]) -> int | None:
    """Return the rectangle of a texture's ``Page`` that a transform shows; ``None``: none of them. ``picture``: the
    texture that the stored material showed.
    """
    key = None if picture is None else entry_key(TEXTURES, picture.name)
    entry = next((entry for entry in entries if entry.key == key), None)
    if entry is None or transform == WHOLE:
        return None
    texm = read_texm(blank_texture(entry.data), entry.name)
    size = texm.width, texm.height
    cells = range(min(len(texm.rectangles), _MOST_CELLS))
    return next((k for k in cells if rectangle_transform(texm.rectangles, size, k).near(transform)), None)
