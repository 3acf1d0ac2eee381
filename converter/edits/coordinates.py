"""Tell texture transforms that were exported from edits, and put the others into the coordinates.

A material that shows a rectangle of its texture's ``Page`` is exported with ``KHR_texture_transform``
(docs/reference/gltf.md#what-gltf-demands). The game stores coordinates inside that rectangle: a transform that
still shows it changes nothing, one that shows another rectangle of the ``Page`` is an edit of the material
(``edits.looks``), and any other one is an edit of the coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..errors import ConversionError, printable
from ..formats.gltf import WHOLE, ShownPicture, Surface, TextureTransform, is_image, read_rectangle, same_picture
from ..formats.library import TEXTURES, LibraryEntry, blank_texture, entry_key
from ..formats.names import without_number
from ..formats.texture import read_texm
from ..scene.appearance import rectangle_transform
from ..scene.coordinates import Change, with_coordinates
from ..scene.scene import ImportedScene

#: A material's cell is an int8.
_MOST_CELLS = 128


def settle_coordinates(
    given: ImportedScene, shown: Sequence[Surface[ShownPicture]], entries: Sequence[LibraryEntry]
) -> None:
    """Make the texture coordinates of a file those that the game stores.

    Args:
        given: the file; its coordinates are changed in place, and its report says so.
        shown: what the stored materials showed; empty: there is no sidecar.
        entries: what of the game's libraries they showed.

    Raises:
        ConversionError: a transform makes coordinates that are not finite.
    """
    used = {p.material for mesh in given.meshes for p in mesh.primitives} & set(range(len(given.surfaces)))
    stored = {i: _exported(given, i, shown) for i in sorted(used)}
    lost = [i for i in stored if stored[i][0] != WHOLE]
    if lost and all(given.surfaces[i].transform == WHOLE for i in stored):
        if any(given.surfaces[i].picture for i in lost):
            given.report.skipped(
                "materials",
                "show the whole of their textures, not the rectangles that the game shows",
                "no texture transform (KHR_texture_transform) is in the file, as programs write it that lack it",
                "nothing, if nobody took them away; else edit the texture coordinates",
            )
        return
    for i, (before, picture) in stored.items():
        surface = given.surfaces[i]
        new = surface.picture
        if new is None or surface.transform == before == WHOLE:
            continue
        same = picture is None or is_image(new.name, picture.name) or same_picture(new, picture)
        if same and (surface.transform.near(before) or cell_of(surface.transform, picture, entries) is not None):
            continue
        _move(given, i, surface.transform, before if same else WHOLE)
        if picture is not None or before != WHOLE:
            text = "the texture transform of the file became part of the texture coordinates"
            given.report.changed(f"material {printable(given.materials[i].name)!r}", text)


def settle_rectangles(given: ImportedScene, shown: Mapping[str, Surface[ShownPicture]]) -> None:
    """Make coordinates that show a rectangle of a texture, as an OBJ has them, those that the game stores.

    Args:
        given: the file; its surfaces have the transforms of the stored materials afterwards.
        shown: what the stored materials showed, by name; of others the file may state the transform.
    """
    changes: dict[int, Change] = {}
    for i, material in enumerate(given.materials):
        surface = given.surfaces[i] if given.surfaces else None  # none: its .mtl is gone
        known = shown.get(material.name)
        stated = WHOLE if surface is None else surface.transform
        transform, new = stated if known is None else known.transform, surface and surface.picture
        old = None if known is None else known.picture
        same = new is None or old is None or is_image(new.name, old.name) or same_picture(new, old)
        if surface is not None:
            given.surfaces[i] = surface._replace(transform=transform)
        if transform != WHOLE and same:
            changes[i] = transform.undo
    given.streams, given.meshes = with_coordinates(given.streams, given.meshes, changes)


def cell_of(transform: TextureTransform, picture: ShownPicture | None, entries: Iterable[LibraryEntry]) -> int | None:
    """Return the rectangle of a texture's ``Page`` that a transform shows; ``None``: none of them.

    Args:
        transform: of a material of a file.
        picture: the texture that the stored material showed.
        entries: what of the game's libraries the stored materials showed.
    """
    key = None if picture is None else entry_key(TEXTURES, picture.name)
    entry = next((entry for entry in entries if entry.key == key), None)
    if entry is None or transform == WHOLE:
        return None
    texm = read_texm(blank_texture(entry.data), entry.name)
    size = texm.width, texm.height
    cells = range(min(len(texm.rectangles), _MOST_CELLS))
    return next((k for k in cells if rectangle_transform(texm.rectangles, size, k).near(transform)), None)


def _exported(
    given: ImportedScene, i: int, shown: Sequence[Surface[ShownPicture]]
) -> tuple[TextureTransform, ShownPicture | None]:
    """The transform and the texture that a material of a file had when it was exported, as far as is known."""
    extras = given.material_extras[i] if i < len(given.material_extras) else {}
    name = (extras.get("material") or without_number(given.materials[i].name)).casefold()
    known = next((one for one in shown if one.definition and one.definition.casefold() == name), None)
    if known is not None:
        return known.transform, known.picture
    return read_rectangle(extras.get("rectangle", "")), None


def _move(given: ImportedScene, material: int, transform: TextureTransform, before: TextureTransform) -> None:
    """Give the vertices of a material the coordinates that show in a rectangle what a transform shows."""
    streams = given.streams
    if streams.uv0 is None:
        return
    moved = np.zeros(len(streams.uv0), np.bool_)
    for primitive in (p for mesh in given.meshes for p in mesh.primitives if p.material == material):
        moved[primitive.vertex_start : primitive.vertex_start + primitive.vertex_count] = True
    uv = before.undo(transform.apply(streams.uv0[moved]))
    if not np.isfinite(uv).all():
        title = f"texture transform of material {printable(given.materials[material].name)!r}"
        raise ConversionError(f"{title} is not finite, or too large")
    streams.uv0 = streams.uv0.astype(np.float32)
    streams.uv0[moved] = uv
