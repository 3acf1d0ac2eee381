"""Split transforms of a file into rigid ones, which a model's nodes have, and the rest; transforms of textures.

Scale, shear and mirrors go into the vertices below. A node's frame is split into a rotation (the
polar decomposition's, a mirror being taken for -1 times a rotation) and the rest; what is animated
below a scaled or mirrored node moves in the rigid frame as it moved in the other. Options of Blender's
glTF exporter that damage a whole model are recognised, and refused or reported.

A material that shows a rectangle of its texture's ``Page`` is exported with ``KHR_texture_transform``
(docs/reference/gltf.md#what-gltf-demands). The game stores coordinates inside that rectangle: a transform that
still shows it changes nothing, one that shows another rectangle of the ``Page`` is an edit of the material
(``edits.looks``), and any other one is an edit of the coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, called
from ..formats.gltf import WHOLE, ShownPicture, Surface, TextureTransform, is_image, read_rectangle, same_picture
from ..formats.library import TEXTURES, LibraryEntry, blank_texture, entry_key
from ..formats.names import without_number
from ..formats.texture import read_texm
from ..numeric.arrays import F32, F64, I64, row_ids
from ..numeric.pose import game_to_gltf, multiply, quaternion_of, rotate, rotation_in, rotation_matrix
from ..numeric.quantize import encode_uv
from ..scene.appearance import Change, rectangle_transform, with_coordinates
from ..scene.scene import Channel, ImportedNode, ImportedScene, Scene, Track, evaluate

#: Rotation ``[w, x, y, z]`` and translation.
Rigid = tuple[F64, F64]

#: The volume of a unit cube that counts as none.
_FLAT = 1e-12
#: How far a scale may be from an even one, relative to it.
_EVEN = 1e-5


def rigid_part(name: str, world: F64, above: Rigid | None) -> tuple[F64, F32, F64 | None, Rigid]:
    """Split the placement of a node into a rigid one and the rest, for its vertices. Raises ConversionError: scaled to
    nothing, or flattened.

    Args:
        world: (4, 4), node to model, with scale, shear and mirrors.
        above: the rigid placement of the node above in the model.

    Returns:
        (4,) rotation and (3,) translation relative to the node above; (3, 3) for the vertices, or
        ``None`` where they stay as they are; the rigid placement in the model.
    """
    linear = world[:3, :3]
    if abs(np.linalg.det(linear)) < _FLAT:
        sizes = np.linalg.norm(linear, axis=0)
        problem = (
            f"node {called(name)} is flattened" if sizes.min() > _FLAT else f"node {called(name)} is scaled to nothing"
        )
        shown = " x ".join(f"{one:.3g}" for one in sizes)
        raise ConversionError(problem, value=shown, hint="give every axis a scale, or delete it")
    turn = rotation_in(linear)
    rest = turn.T @ linear
    world_r = quaternion_of(turn)
    up_r, up_t = above if above is not None else (np.array([1.0, 0, 0, 0]), np.zeros(3))
    inverse = up_r * [1, -1, -1, -1]
    local_r = multiply(inverse, world_r)
    local_t = rotate(inverse, world[:3, 3] - up_t).astype(np.float32)
    bake = None if np.abs(rest - np.eye(3)).max() < 1e-6 else rest
    return local_r, local_t, bake, (world_r, world[:3, 3].copy())


def frame_in(world: F64 | None, above: Rigid | None) -> F64:
    """Return the (4, 4) matrix from one frame of the model to a rigid one.

    Args:
        world: (4, 4), from the frame to the model, ``None`` = the model's own.
        above: the rigid frame, ``None`` = the model's own.
    """
    into = np.eye(4)
    if above is not None:
        into[:3, :3], into[:3, 3] = rotation_matrix(above[0]), above[1]
    return np.linalg.inv(into) @ (np.eye(4) if world is None else world)


def rigid_track(item: ImportedNode, track: Track, frame: F64, node: int) -> Track:
    """Return a track as it is in the rigid frame of the node above.

    Translations and even scales, mirrored or not, are exact whatever the interpolation. Rotations below an uneven scale
    are possible where they leave its axes alone. ``frame``: (4, 4), from the frame that the item stands in to that of
    the node above. Raises ConversionError: the vertices would be sheared in another way at every frame.
    """
    translation, rotation = track.translation, track.rotation
    linear = frame[:3, :3]
    if translation is not None:
        values = translation.values @ linear.T
        whole = slice(1, None, 3) if translation.interpolation == "CUBICSPLINE" else slice(None)
        values[whole] += frame[:3, 3]
        translation = Channel(translation.frames, values, translation.interpolation)
    if rotation is not None:
        rotation = _rotations(item, rotation, linear)
    return Track(node, rotation, translation)


def _rotations(item: ImportedNode, channel: Channel, linear: F64) -> Channel:
    """A rotation channel below a frame that is not rigid."""
    own = np.eye(3)
    if item.linear is not None:
        own = rotation_matrix(item.rotation).T @ item.linear
    square = linear.T @ linear
    size = np.trace(square) / 3
    if np.abs(square - size * np.eye(3)).max() <= _EVEN * size:
        # an even scale: what is not rotation is the same at every moment
        left, right = (quaternion_of(rotation_in(m)) for m in (linear, own))
        values = multiply(multiply(left, channel.values), right)
        return Channel(channel.frames, values, channel.interpolation)
    keys = channel.frames
    frames = np.concatenate([keys, (keys[1:] + keys[:-1]) / 2])
    posed = np.concatenate([evaluate(channel, frames), item.rotation[None]])
    whole = linear @ rotation_matrix(posed) @ own
    turns = np.array([rotation_in(matrix) for matrix in whole])
    rest = turns.transpose(0, 2, 1) @ whole
    if channel.interpolation == "CUBICSPLINE" or np.abs(rest - rest[-1]).max() > _EVEN * np.abs(rest).max():
        raise ConversionError(
            f"node {called(item.name)} turns below an uneven scale, which shears it",
            hint="apply the scale of its parents before you export",
        )
    values = np.array([quaternion_of(turn) for turn in turns[: len(keys)]])
    return Channel(keys, values, channel.interpolation)


_NOISE = 1e-5


def refuse_draco(imported: ImportedScene, *, rebuilds: bool = True) -> None:
    """Refuse a file that is to be compared with a stored one, and whose vertices are rounded. ``rebuilds``: whether
    something could be made of the file alone. Raises ConversionError: its meshes are compressed.
    """
    if imported.draco:
        raise ConversionError(
            "meshes are compressed with Draco, which moves every vertex",
            hint="clear Compression in Blender's glTF exporter, and export again"
            + (" (--no-sidecar makes a new model of the file as it is)" if rebuilds else ""),
        )


def report_left_out(imported: ImportedScene, stored: Scene) -> None:
    """Report that a file has no texture coordinates, or no normals, at all, and what stored faces keep. ``imported``:
    the file; what is reported is added to it.
    """
    if not len(imported.streams.positions):
        return
    if imported.streams.uv0 is None and stored.streams.uv0 is not None:
        imported.report.skipped(
            "texture coordinates",
            "are not in the file",
            "UVs is cleared in Blender's exporter, or all UV maps were deleted: stored faces keep theirs",
            "check UVs, and export again",
        )
    report_no_normals(imported)


def report_no_normals(imported: ImportedScene) -> None:
    """Report that a file has no normals: what is where stored faces are keeps theirs (``keep_normals``)."""
    if not imported.has_normals:
        computed = "smooth" if "up" in imported.info else "flat"  # of an OBJ, of a glTF
        imported.report.warnings.append(
            "no normals in the file (Normals is cleared in Blender's exporter): faces that are where they were keep "
            f"the stored ones, moved and new ones are {computed}; check Normals, and export again"
        )


def refuse_turned(imported: ImportedScene, positions: F32, uv0: NDArray[np.int16] | None) -> None:
    """Refuse a file whose vertices are the stored ones, turned by 90 degrees about X. Raises ConversionError: most
    vertices are stored ones when they are turned back, more than as they are.

    Args:
        positions: (V, 3) stored vertices.
        uv0: (V, 2) their texture coordinates as stored, or ``None``.
    """
    streams = imported.streams
    words = None if streams.uv0 is None or uv0 is None else encode_uv(streams.uv0)[0]
    stored = _rows(positions, None if words is None else uv0)
    here, back = (_rows(p, words) for p in (streams.positions, game_to_gltf(streams.positions)))
    ids = row_ids(np.concatenate([stored, here, back]).view(np.uint64))
    known, rest = ids[: len(stored)], ids[len(stored) :]
    as_is, turned = (int(np.isin(part, known).sum()) for part in np.split(rest, [len(here)]))
    if turned > as_is and 2 * turned > len(here):
        raise _turned()


def refuse_turned_model(imported: ImportedScene, stored: Scene) -> None:
    """Refuse a file that was exported with Z up; by its vertices, or where its nodes stand. Raises ConversionError: as
    :func:`refuse_turned`, or nodes stand in the stored places turned.
    """
    uv0 = stored.streams.uv0
    refuse_turned(imported, stored.streams.positions, None if uv0 is None else encode_uv(uv0)[0])
    places = {node.name: node.translation for node in stored.nodes}
    pairs = [
        (node.translation, places[name]) for node in imported.nodes if (name := without_number(node.name)) in places
    ]
    if not pairs:
        return
    now, before = (np.stack(side).astype(np.float64) for side in zip(*pairs, strict=True))
    noise = _NOISE * max(1.0, float(np.abs(before).max()))

    def standing(here: F64) -> int:
        return int((np.abs(here - before).max(axis=1) <= noise).sum())

    turned = standing(game_to_gltf(now))
    if turned > standing(now) and turned == len(pairs):
        raise _turned()


def _rows(positions: F32, words: NDArray[np.int16] | None) -> I64:
    """Vertices as rows of integers, (V, 3) or (V, 5)."""
    columns = [(np.ascontiguousarray(positions) + np.float32(0)).view(np.int32)]
    if words is not None:
        columns.append(words.astype(np.int32))
    return np.ascontiguousarray(np.concatenate(columns, axis=1).astype(np.int64))


def _turned() -> ConversionError:
    return ConversionError(
        "is turned by 90 degrees about X against the model of its sidecar",
        hint="set +Y Up (Transform) in Blender's glTF exporter, and export again (an OBJ: --up)",
    )


#: A material's cell is an int8.
_MOST_CELLS = 128


def settle_coordinates(
    given: ImportedScene, shown: Sequence[Surface[ShownPicture]], entries: Sequence[LibraryEntry]
) -> None:
    """Make the texture coordinates of a file those that the game stores. Raises ConversionError: a transform makes
    coordinates that are not finite.

    Args:
        given: the file; its coordinates are changed in place, and its report says so.
        shown: what the stored materials showed; empty: there is no sidecar.
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
            given.report.changed(f"material {called(given.materials[i].name)}", text)


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
        title = f"texture transform of material {called(given.materials[material].name)}"
        raise ConversionError(f"{title} is not finite, or too large")
    streams.uv0 = streams.uv0.astype(np.float32)
    streams.uv0[moved] = uv
