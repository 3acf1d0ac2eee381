"""Describe materials that a file has and the game may not have (docs/materials.md).

A name that the model's ``.wea`` lacked is a material of the game, or a new one: only a game's
``Material.lib`` tells. What a new one is made of is gathered here; ``kinds.new_entries`` makes
the entries.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from urllib.parse import unquote

from ..errors import ConversionError, called, in_words, printable
from ..findings import NotApplied, Report
from ..formats.gltf import FilePicture, Surface, pixel_digest
from ..formats.library import TEXTURE_NAME_ROOM, LibraryEntry, NewPicture
from ..formats.material import DEFAULT_MATERIAL, MaterialKind
from ..formats.names import encode_name, unescape, without_number
from ..formats.wear import is_material_name
from ..numeric.quantize import to_bytes
from ..scene.scene import ImportedScene, Material, Scene

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
        values: as of :class:`~converter.formats.library.LibraryEdit`; of a copy those that differ.
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
        where = f"material {called(material.name)}"
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
    """Report what of a new material no material of the game holds."""
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

    Blender's ``.001`` does not count as part of a name, nor does case.

    Args:
        surfaces: what they show; empty: not known.
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
                f"material {called(material.name)}",
                f"has the name of {in_words(materials[k].name)}, and another look",
                f"both are one row of the .wea, {in_words(row)}",
                "give it a name of its own, as in Material.lib",
            )


def report_looks_without_a_name(
    report: Report, materials: Sequence[Material], surfaces: Sequence[Surface[FilePicture]], used: Container[int]
) -> None:
    """Report materials of a new model that show something, and have no name to be found by.

    Args:
        report, materials, surfaces: as of :func:`report_one_name_two_looks`.
        used: the materials that faces have.
    """
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
