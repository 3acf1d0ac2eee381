"""Export a model as OBJ, and import it again (``docs/obj.md``). No printing.

OBJ holds vertices in model space at one frame, to so many digits. The import takes them into the
frames of the sidecar's nodes; what lies where the model's own vertex would lie is that vertex, bit
for bit, so that rounding is no edit. Everything that OBJ cannot hold counts as not in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...exporters.gltf_file import png_bytes
from ...exporters.obj import export_obj, material_names, posed
from ...importers.materials import surfaces_of
from ...importers.obj import read_obj
from ..edits.materials import listed, same_materials
from ..edits.triangles import TriangleList, match, triangle_list
from ..errors import ConversionError, called, needed_for, plural
from ..formats.gltf import WHOLE, FilePicture, ShownPicture, Surface, is_image, pixel_digest, same_picture, surface_of
from ..formats.names import escape, known_name, readable
from ..formats.sidecar import Sidecar, sha256, sidecar_of, sidecar_path, write_sidecar
from ..judge.difference import tell
from ..judge.judge import differences_of_obj
from ..judge.models import snapshot
from ..numeric.arrays import F32, I64, U8, Bools
from ..numeric.pose import affine, rotate, rotation_matrix
from ..options import ExportOptions, ImportOptions
from ..scene.appearance import Appearance, Change, as_shown, rectangles_of, with_coordinates
from ..scene.decode import Poses, poses_at
from ..scene.dialect import Dialect
from ..scene.scene import ImportedNode, ImportedScene, Mesh, Part, Primitive, Scene, Streams
from .base import Files
from .import_companions import numbered_files
from .import_model import StoredModel, import_edited, import_new, stored_model, written_model
from .import_result import ImportResult, written_looks
from .model import LoadedModel, description, require_scene_in_range

if TYPE_CHECKING:
    import trimesh


#: In place of what a material shows that no part of an OBJ has: that is not known.
_NOT_SHOWN: Surface[Any] = surface_of({}, [], lambda _: None)._replace(others=("not shown",))
#: Blender writes six decimals.
_DECIMALS = 1e-6


def obj_files(
    loaded: LoadedModel,
    target: Path,
    *,
    options: ExportOptions,
    frame: float = 0.0,
    up: str = "y",
    sidecar: bool = True,
) -> Files:
    """Make the files of an OBJ: sidecar, textures, MTL, OBJ, in the order in which to write them. ``frame``: when the
    model is posed, in frames, through the runtime's sampler. Raises ConversionError: a frame that is not finite, a
    vertex beyond float32.
    """
    require_scene_in_range(loaded.scene, loaded.name)
    data = loaded.stored
    about = replace(description(loaded, options, "samples"), source_sha256=sha256(data), points=[])
    info: dict[str, int | float | str] = {
        "source": about.source,
        "digest": about.source_sha256,
        "pair": about.pair_of_obj,
    }
    beside = sidecar_path(target)
    if sidecar:
        info["sidecar"] = readable(beside.name)
    info |= {"dialect": about.dialect, "lod": about.lod, "group": about.group}
    info |= {"frame": repr(float(frame)), "up": up}
    if lost := not_in_obj(loaded.scene, about.lod, about.group):
        info["lost"] = ", ".join(lost)
    scene, appearance = loaded.scene, loaded.appearance or Appearance()
    meshes = [scene.meshes[part.mesh] for part in scene.shown(about.lod, about.group)]
    rows = {scene.materials[p.material].row for mesh in meshes for p in mesh.primitives}
    used = {shown.texture for row, shown in appearance.materials.items() if row in rows}
    textures = sorted(used & set(appearance.pictures))
    # no two models share a file
    pictures = {t: target.with_name(f"{target.stem}.{escape(t)}.png") for t in textures}
    files = [(pictures[name], png_bytes(appearance.pictures[name].rgba())) for name in textures]
    mtl = target.with_suffix(".mtl")
    rectangles = rectangles_of(scene, appearance)
    obj, materials = export_obj(
        as_shown(scene, rectangles),
        poses_at(loaded.model, scene, loaded.decision.dialect, frame),
        lod=about.lod,
        group=about.group,
        up=up,
        mtl_name=mtl.name,
        info=info,
        appearances=appearance.materials,
        pictures={name: path.name for name, path in pictures.items()},
        rectangles=rectangles,
    )
    files += [(mtl, materials), (target, obj)]
    if not sidecar:
        return files
    about = replace(
        about,
        shown=_shown(scene, materials, {pictures[name].name: name for name in textures}, appearance),
        shown_in_obj=True,
        library=appearance.entries,
    )
    return [(beside, write_sidecar(Sidecar(about, data))), *files]


def _shown(
    scene: Scene, mtl: bytes, textures: Mapping[str, str], appearance: Appearance
) -> list[Surface[ShownPicture]]:
    """What each material of a model shows in an ``.mtl``; see :data:`_NOT_SHOWN`. ``textures``: its pictures' files,
    and the textures that they are.
    """

    def picture(file: str) -> ShownPicture:
        name = textures[file]
        return ShownPicture(name, file, "", pixel_digest(appearance.pictures[name].rgba()))

    found = surfaces_of(mtl, picture)
    out = []
    for name, material in zip(material_names(scene), scene.materials, strict=True):
        if (surface := found.get(name)) is None:
            surface = _NOT_SHOWN
        elif (look := appearance.materials.get(material.row)) is not None and look.material:
            own = look.material.lower() == material.name.lower()
            surface = surface._replace(definition=look.material, own=own)
        out.append(surface)
    return out


def not_in_obj(scene: Scene, lod: int = 0, group: int = 0) -> list[str]:
    """What a model has and its OBJ does not hold, in words."""
    others = len(scene.parts) - len(scene.shown(lod, group))
    has = {
        "hierarchy": any(node.parent >= 0 for node in scene.nodes),
        "animation": bool(scene.tracks),
        "other LODs and groups" if scene.dialect is Dialect.SPEC else "other stages and levels": others > 0,
        "second UV set": scene.streams.uv1 is not None,
        "vertex colours": scene.streams.colours is not None,
    }
    return [what for what, there in has.items() if there]


def import_obj(
    path: Path,
    sidecar: Path | bytes | None = None,
    options: ImportOptions | None = None,
    *,
    up: str | None = None,
    frame: float | None = None,
    in_memory: trimesh.Scene | None = None,
) -> ImportResult:
    """Turn an OBJ file, or what trimesh reads, into a model, with what the sidecar keeps. Raises ConversionError:
    unreadable, another model's sidecar, beyond the format's limits, or the written model would not show what the file
    shows.

    Args:
        path: the file; what messages call a scene in memory.
        sidecar: its sidecar, or the bytes of it; found by the name in the file, then by stem, if not given.
        frame: the frame of the pose; default as the file says, else 0.
    """
    options = options or ImportOptions()
    of_obj = in_memory is None and path.suffix.lower() == ".obj"
    given, bare = (read_obj(path, up=up), set()) if of_obj else _read_scene(path, in_memory, up)
    if frame is not None:
        given.info["frame"] = frame
    alone = in_memory is not None
    try:
        if (found := sidecar_of(path, sidecar, given.info, options, alone=alone, of_obj=True)) is None:
            if lost := given.info.get("lost"):
                given.report.warnings.append(f"OBJ does not hold what the model had: {lost} are lost")
            if "source" in given.info:
                # an OBJ that was exported tells materials of one name apart by numbers
                given.materials = [one._replace(name=re.sub(r"(#\d+)+$", "", one.name)) for one in given.materials]
            settle_rectangles(given, {})
            seen = snapshot(given) if options.verify else None
            return import_new(path, given, seen, replace(options, new=options.new or alone))
        stored = stored_model(found[1], found[0], of_obj=of_obj)
        shown = dict(zip(material_names(stored.scene), stored.about.shown, strict=False))
        (_settle_surfaces if of_obj else _settle_colours)(given, shown)
        settle_rectangles(given, shown)
        seen = snapshot(given) if options.verify else None
        kind = "a trimesh.Scene" if alone else "an OBJ" if of_obj else f"a file of {path.suffix}"
        _into_nodes(given, stored, bare, kind)
        out = import_edited(given, stored, numbered_files(stored.about, path), options, only_shown=True)
        if seen is not None:
            _judge(out, seen, stored, bare)
        return out
    except ConversionError as error:
        raise error.at(file=str(path)) from None


def _judge(out: ImportResult, seen: ImportedScene, stored: StoredModel, bare: set[int]) -> None:
    """Compare an edited model with the file; what nothing explains goes into the report. ``bare``: its meshes without
    normals.
    """
    about, written = stored.about, written_model(out, stored.about)
    model = written.model()
    scene = written.scene(model)
    turns, places = poses_at(model, scene, scene.dialect, seen.info.get("frame", 0.0))
    poses = affine(rotation_matrix(turns), places)
    if bare:
        seen.streams.normals = None
    cell = seen.info.get("lod", about.lod), seen.info.get("group", about.group)
    loose = _noise(seen.streams.positions)
    looks = written_looks(out, about, stored.scene.materials)
    tell(out.differences, differences_of_obj(seen, scene, poses, cell=cell, loose=loose, looks=looks))


def _into_nodes(given: ImportedScene, stored: StoredModel, bare: set[int], kind: str) -> None:
    """Make a file in model space what it would be with the sidecar's nodes: fill in the nodes,
    take vertices into their frames, name the materials' keys. ``bare`` are meshes without normals,
    ``kind`` is what messages call the file.
    """
    about, scene, info = stored.about, stored.scene, given.info
    shown = info.get("lod", about.lod), info.get("group", about.group)
    if scene.tracks and "frame" not in info:
        given.report.warnings.append(f"{kind} does not say at which frame its model is posed: frame 0 is taken")
    if lost := not_in_obj(scene, *shown):
        given.report.warnings.append(f"not in {kind} and kept as in the sidecar: {', '.join(lost)}")
    poses = poses_at(stored.model, scene, stored.dialect, info.get("frame", 0.0))
    by_name = dict(zip(material_names(scene), scene.materials, strict=True))
    given.materials = [by_name.get(m.name, m) for m in given.materials]
    _local(given, scene, shown, poses, bare)
    given.tracks = list(scene.tracks)


def _read_scene(path: Path, in_memory: trimesh.Scene | None, up: str | None) -> tuple[ImportedScene, set[int]]:
    from ...importers.trimesh_scene import load_scene, read_scene

    return read_scene(load_scene(path) if in_memory is None else in_memory, str(path), up=up)


def _settle_colours(given: ImportedScene, shown: Mapping[str, Surface[ShownPicture]]) -> None:
    """Leave out what trimesh cannot tell: it has 8 bits of a colour, no lightmaps, and no rectangles of light."""
    for i, one in enumerate(given.surfaces):
        if (known := shown.get(given.materials[i].name)) is not None:
            near = np.abs(np.subtract(one.colour, known.colour)).max() <= 1 / 255
            given.surfaces[i] = one._replace(
                colour=known.colour if near else one.colour,
                light=one.light if one.light or not known.light else _as_shown(known.light),
                light_transform=known.light_transform,
                definition=known.definition,
                own=known.own,
            )


def _as_shown(picture: ShownPicture) -> FilePicture:
    """A picture of a material that a file does not hold: the one that it had."""

    def rgba() -> U8:
        raise ConversionError("picture is not in the file", value=picture.name)

    return FilePicture(picture.name, picture.uri, lambda: picture.digest, lambda: picture.pixels, rgba, lambda: False)


def _settle_surfaces(given: ImportedScene, of_name: Mapping[str, Surface[ShownPicture]]) -> None:
    """Leave out what an ``.mtl`` cannot tell of materials, and call pictures as textures.

    Blender 4.2 writes no own light: where it is gone from all materials, they keep it.
    """
    shown = [of_name.get(material.name) for material in given.materials[: len(given.surfaces)]]
    textures = {p.uri.casefold(): p.name for one in shown if one and (p := one.picture)}
    lit = [one for one in shown if one is not None and any(one.emission)]
    dark = bool(lit) and not any(any(one.emission) for one in given.surfaces)
    for i, (one, known) in enumerate(zip(given.surfaces, shown, strict=True)):
        surface = one
        if known is not None and known.others == _NOT_SHOWN.others:
            surface = _NOT_SHOWN
        elif one.picture is not None and one.picture.uri.casefold() in textures:
            picture = one.picture._replace(name=textures[one.picture.uri.casefold()])
            surface = one._replace(picture=picture)
        if dark and known is not None:
            surface = surface._replace(emission=known.emission)
        given.surfaces[i] = surface
    if dark:
        given.report.warnings.append(
            "the .mtl has no own light (Ke), which some versions of Blender leave out: materials keep theirs"
        )


def _local(given: ImportedScene, scene: Scene, shown: tuple[int, int], poses: Poses, bare: set[int]) -> None:
    """Items become the sidecar's nodes and what is new; their vertices move into the nodes."""
    parts = {part.node: part for part in scene.parts if part.cell[1:] == shown}
    file = Scene("", given.streams, meshes=given.meshes, materials=given.materials)
    alike = same_materials(file, scene)
    items = [
        ImportedNode(
            node.name,
            node.parent,
            translation=node.translation,
            rotation=node.rotation,
            linear=None,
            mesh=-1,
            extras={} if node.index is None else {"node": node.index, "flags": node.flags or 0, "label": node.label},
        )
        for node in scene.nodes
    ]
    number_of = _nodes_of([item.name for item in given.nodes], scene)
    _require_known_names(given, number_of, [scene.nodes[node].name for node in parts])
    positions, normals, uvs = [], [], []
    start = 0
    for i, item in enumerate(given.nodes):
        node = number_of.get(i)
        if item.mesh >= 0:
            triangles = triangle_list(file, Part(0, *shown, item.mesh), lightmap=False)
            points, turned = triangles.positions, triangles.normals
            assert turned is not None  # read_obj makes them where the file has none
            if node is not None:
                pose = poses[0][node], poses[1][node]
                points, turned = _into_node(triangles, scene, parts.get(node), pose, alike, bare=item.mesh in bare)
            positions.append(points.reshape(-1, 3))
            normals.append(turned.reshape(-1, 3))
            if given.streams.uv0 is not None:
                uvs.append(given.streams.uv0[triangles.vertex].reshape(-1, 2))
            given.meshes[item.mesh], start = _corners(given.meshes[item.mesh], start)
        if node is None:
            items.append(item)
        else:
            items[node].mesh = item.mesh
    given.nodes = items
    if not positions:
        return
    # a vertex per corner: the rebuild welds equal ones
    runs = [np.arange(p.index_count) for mesh in given.meshes for p in mesh.primitives]
    given.streams = Streams(
        np.concatenate(positions),
        np.concatenate(runs).astype("<u4"),
        np.concatenate(normals),
        np.concatenate(uvs) if uvs else None,
    )


def _require_known_names(given: ImportedScene, number_of: dict[int, int], expected: list[str]) -> None:
    """Warn of objects that are not named after a node, and refuse a file of nothing else.

    Args:
        number_of: object -> node.
        expected: names of the nodes that the OBJ showed.
    """
    unknown = [item.name for i, item in enumerate(given.nodes) if i not in number_of]
    if not unknown or not expected:
        return
    first = f"object {called(unknown[0])}"
    if len(unknown) == len(given.nodes):
        raise ConversionError(
            "no object is named after a node of the sidecar's model",
            value=first,
            expected=listed(expected),
            hint="keep the names of objects, or make a new model with --no-sidecar",
        )
    others = f" and {plural(len(unknown) - 1, 'other')}" if len(unknown) > 1 else ""
    become = "become new nodes" if others else "becomes a new node"
    given.report.warnings.append(f"{first}{others} {become}: a node of the model is {listed(expected)}")


def _corners(mesh: Mesh, start: int) -> tuple[Mesh, int]:
    """The mesh with a vertex of its own per corner, from row ``start`` on; and where it ends."""
    out = Mesh(mesh.name, [])
    for primitive in mesh.primitives:
        count = primitive.index_count
        out.primitives.append(Primitive(primitive.material, start, count, start, count))
        start += count
    return out, start


def _nodes_of(names: list[str], scene: Scene) -> dict[int, int]:
    """Object -> node of the same name, else of the name before Blender's ``.001``."""
    free = {node.name: i for i, node in enumerate(scene.nodes)}
    out = {i: free.pop(name) for i, name in enumerate(names) if name in free}
    for i, name in enumerate(names):
        if i not in out and (bare := known_name(name, free.__contains__)) in free:
            out[i] = free.pop(bare)
    return out


def _into_node(
    triangles: TriangleList, scene: Scene, part: Part | None, pose: Poses, alike: list[set[int]], *, bare: bool
) -> tuple[F32, F32]:
    """Positions and normals of posed triangles in their node's frame. (T, 3, 3) each.

    A corner of a stored triangle is at the stored vertex' very place, and so is any other where a
    stored vertex lies; only what is left goes through the inverse pose. Normals all do: the merge
    takes more for rounding than that adds. Of a ``bare`` mesh, which has none, stored triangles keep theirs.
    """
    turn, shift = pose
    back = turn * [1.0, -1.0, -1.0, -1.0]
    assert triangles.normals is not None
    positions = rotate(back, triangles.positions.astype(np.float64) - shift).astype(np.float32)
    normals = rotate(back, triangles.normals.astype(np.float64)).astype(np.float32)
    if part is None:
        return positions, normals
    stored = triangle_list(scene, part, lightmap=False)
    used, place = np.unique(stored.vertex, return_inverse=True)
    there = posed(scene.streams.positions[used], turn, shift)
    nearest, found = _nearest(triangles.positions.reshape(-1, 3), there)
    nearest, found = nearest.reshape(-1, 3), found.reshape(-1, 3)
    positions[found] = scene.streams.positions[used[nearest[found]]]

    # where vertices fall together when they are posed, the triangles tell which is which
    result = match(
        replace(triangles, normals=None, extra=None),
        replace(stored, positions=there[place.reshape(-1, 3)], normals=None, extra=None),
        alike,
    )
    hit = np.flatnonzero(result.old_of >= 0)
    partner = result.old_of[hit]
    at = (hit[:, None], result.new_turn[hit])
    vertex = stored.vertex[partner[:, None], result.old_turn[partner]]
    positions[at] = scene.streams.positions[vertex]
    if bare and scene.streams.normals is not None:
        normals[at] = scene.streams.normals[vertex]
    return positions, normals


def _nearest(points: F32, stored: F32) -> tuple[I64, Bools]:
    """The nearest stored point of each, and whether it is within what OBJ rounds. (n,) each."""
    with needed_for("reading OBJ", "scipy"):
        from scipy.spatial import cKDTree

    distance, nearest = cKDTree(stored).query(points, p=np.inf, distance_upper_bound=_noise(stored))
    found = np.isfinite(distance)
    return np.where(found, nearest, 0), found


def _noise(points: F32) -> float:
    """How far an OBJ rounds places: an editor's decimals, and two steps of float32 at the far end of the part."""
    return _DECIMALS + float(np.abs(points).max(initial=0)) * 2.0**-22


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
