"""Decode a :class:`~converter.formats.model.MshModel` and a :class:`~converter.formats.terrain.Terrain` into scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..formats.model import NODE_COCKPIT, MshModel, largest_indices
from ..formats.terrain import COARSE, FINE, NO_MATERIAL, Terrain
from ..numeric.arrays import F32, F64, I64, NONE16, U16, F, cross_products, fill_non_finite, ranges
from ..numeric.pose import Tracks, compose, rotate, rotation, sample
from ..numeric.quantize import decode_lightmap_uv, decode_normals, decode_uv, normalise
from . import dialect as dialects
from .dialect import Dialect, Readings, part_name
from .scene import MAX_COORDINATE, Channel, Material, Mesh, Node, Part, Primitive, Scene, Streams, Track, in_range

Poses = tuple[F64, F64]

_WORDS = [f"word{k}" for k in (0, 2, 4, 6)]


def decode(
    model: MshModel,
    dialect: Dialect,
    name: str,
    *,
    wear: Sequence[str] = (),
    subframes: int = 1,
    stored_keys: bool = False,
    keys: Readings | None = None,
) -> Scene:
    """Decode a valid model into a scene.

    Args:
        model: checked by ``require_valid``.
        wear: material names by row.
        stored_keys: the clip holds the stored keys instead of samples.
        keys: the model's, where they were read already (``dialect.read_keys``).
    """
    materials, material_of = _materials(model, dialect, wear)
    primitives = _primitives(model, material_of)
    scene = Scene(name, _streams(model, dialect), materials=materials, dialect=dialect)
    scene.frame_count = max(1, model.frame_count)
    if model.legacy:
        identity = np.array([1.0, 0.0, 0.0, 0.0])
        scene.legacy = True
        scene.nodes = [Node("legacy", None, -1, identity, np.zeros(3, np.float32))]
        if drawn := [p for p in primitives if p is not None]:
            scene.meshes = [Mesh("legacy", drawn)]
            scene.parts = [Part(0, 0, 0, 0)]
        return scene
    keys = keys or dialects.read_keys(model)
    scene.nodes = _nodes(model, dialect, keys)
    _parts(model, scene, primitives)
    if keys is not None:
        tracks = keys.of(dialect)
        scene.tracks = _stored_tracks(tracks) if stored_keys else _sampled_tracks(tracks, subframes)
    return scene


def path_segments(model: MshModel, scene: Scene) -> F64 | None:
    """Return Res17 as (L, 2, 3) segments in model space: each point posed by the node it names.

    Links to points or nodes that do not exist, or beyond all coordinates, are left out: findings
    say so.
    """
    graph = model.graph
    if graph is None or not len(graph.links) or model.legacy:
        return None
    node = graph.points["node"].astype(np.int64)
    ends = np.stack([graph.links["start"], graph.links["end"]], axis=1).astype(np.int64)
    ends = ends[(ends < len(node)).all(axis=1)]
    known = (node < len(scene.nodes)) & in_range(graph.points["position"])
    ends = ends[known[ends].all(axis=1)]
    if not len(ends):
        return None
    world_r, world_t = rest_pose(scene)
    node = np.minimum(node, len(scene.nodes) - 1)
    points = np.where(known[:, None], graph.points["position"], 0.0).astype(np.float64)
    segments: F64 = (rotate(world_r[node], points) + world_t[node])[ends]
    return segments


def rest_pose(scene: Scene) -> Poses:
    """Return model-space rotations (N, 4) and translations (N, 3) at rest, game axes, float64."""
    if not scene.nodes:
        return np.empty((0, 4)), np.empty((0, 3))
    parents = [NONE16 if node.parent < 0 else node.parent for node in scene.nodes]
    rotations = np.stack([node.rotation for node in scene.nodes])
    translations = np.stack([node.translation for node in scene.nodes]).astype(np.float64)
    return compose(parents, rotations, translations)


def _materials(model: MshModel, dialect: Dialect, wear: Sequence[str]) -> tuple[list[Material], list[int]]:
    """Distinct materials in order of first use, and the material of every batch."""
    index: dict[tuple[int, ...], int] = {}
    rows = model.batches[_WORDS].tolist()  # every reading tells apart what these tell apart
    of_batch = [index.setdefault(row, len(index)) for row in rows]
    first: dict[int, int] = {}
    for i, material in enumerate(of_batch):
        first.setdefault(material, i)
    at = [*first.values()]
    meaning = [column[at].tolist() for column in dialects.batch_materials(model, dialect)]
    named = [
        Material(wear[row] if row < len(wear) else f"material_{row}", row, *rest, *words[1:])
        for row, *rest, words in zip(*meaning, index, strict=True)
    ]
    return named, of_batch


def _primitives(model: MshModel, material_of: list[int]) -> list[Primitive | None]:
    """A primitive per batch; ``None`` for a batch without a whole triangle."""
    batches = model.batches
    columns = (batches[k].tolist() for k in ("base_vertex", "index_start", "index_count"))
    largest = largest_indices(model).tolist()
    return [
        Primitive(material, base, top + 1, start, count - count % 3) if count >= 3 else None
        for material, base, start, count, top in zip(material_of, *columns, largest, strict=True)
    ]


def _streams(model: MshModel, dialect: Dialect) -> Streams:
    count = len(model.positions)
    streams = Streams(model.positions, model.indices)
    if model.normals is not None:
        streams.normals = _normals(model, model.normals[:count])
    if model.uv0 is not None:
        streams.uv0 = decode_uv(model.uv0[:count])
    lightmap = dialects.lightmap_uv_words(model, dialect)
    if lightmap is not None:
        streams.uv1 = decode_lightmap_uv(lightmap[:count])
    colours = dialects.vertex_colours(model, dialect)
    if colours is not None:
        streams.colours = colours[:count]
    return streams


def _normals(model: MshModel, words: NDArray[np.int8]) -> F32:
    """Unit normals; a zero vector takes the normal of the first triangle that uses it."""
    up = np.array([0.0, 0.0, 1.0])
    unit = normalise(decode_normals(words), up)
    zero = words.view("<u4")[:, 0] & 0xFFFFFF == 0  # x, y and z; the fourth byte means nothing
    if np.count_nonzero(zero):
        corners = corner_vertices(model)
        points = model.positions[corners].astype(np.float64)
        flat = normalise(cross_products(points), up)
        first, where = np.unique(corners.ravel(), return_index=True)
        fallback = np.broadcast_to(up, unit.shape).copy()
        fallback[first] = flat[where // 3]
        unit[zero] = fallback[zero]
    return unit.astype(np.float32)


def corner_vertices(model: MshModel) -> I64:
    """Return absolute vertex indices of the whole triangles of all batches. (T, 3)."""
    starts, counts, bases = (model.batches[k].astype(np.int64) for k in ("index_start", "index_count", "base_vertex"))
    counts = counts - counts % 3
    corners = model.indices[ranges(starts, counts)].astype(np.int64) + np.repeat(bases, counts)
    return corners.reshape(-1, 3)


def _nodes(model: MshModel, dialect: Dialect, keys: Readings | None) -> list[Node]:
    count = len(model.nodes)
    if keys is None:
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        translations = np.zeros((count, 3), np.float32)
        animated = set()
    else:
        rotations = _finite(keys.at_rest(dialect), [1.0, 0.0, 0.0, 0.0])
        translations = _finite(keys.translation, [0.0, 0.0, 0.0])
        animated = set(keys.of(dialect).animated.tolist())
    names = unique_names([n or f"node_{i}" for i, n in enumerate(dialects.node_names(model, dialect))])
    labels = dialects.node_labels(model, dialect)
    flags: list[int] = model.nodes["flags"].tolist()
    parents = [-1 if parent == NONE16 else parent for parent in model.parents]
    rows = zip(names, range(count), parents, rotations, translations, flags, labels, strict=True)
    return [
        Node(name, i, parent, turn, at, flag, label, bool(flag & NODE_COCKPIT), i in animated)
        for name, i, parent, turn, at, flag, label in rows
    ]


def _finite(rows: NDArray[F], instead: list[float]) -> NDArray[F]:
    """Rows, and something instead of those that are not finite. (n, k)."""
    finite = np.isfinite(rows)
    if np.count_nonzero(finite) == finite.size:
        return rows
    return np.where(finite.all(axis=1, keepdims=True), rows, np.array(instead, rows.dtype))


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names with ``#{index}`` appended to repeated ones."""
    seen: set[str] = set()
    out = []
    for i, name in enumerate(names):
        while name in seen:
            name += f"#{i}"
        seen.add(name)
        out.append(name)
    return out


def _parts(model: MshModel, scene: Scene, primitives: list[Primitive | None]) -> None:
    """Meshes per used slot and the cells that show them, in order of (node, lod, group)."""
    mesh_of: dict[int, int | None] = {}
    columns = ("batch_start", "batch_count", "tri_start", "tri_count")
    ranges_of: list[tuple[int, int, int, int]] = model.slots[list(columns)].tolist()
    flags = None if model.triangles is None else model.triangles["tri_flags"]
    cells = model.nodes["slot_index"]
    used = cells != NONE16
    for (node, lod, group), slot in zip(np.argwhere(used).tolist(), cells[used].tolist(), strict=True):
        if slot not in mesh_of:
            first, count, tri_start, tri_count = ranges_of[slot]
            drawn = [p for p in primitives[first : first + count] if p is not None]
            mesh_of[slot] = len(scene.meshes) if drawn else None
            if drawn:
                name = part_name(scene.nodes[node].name, lod, group, scene.dialect)
                # the flags of its triangles, if it has a descriptor for each
                own = None
                if flags is not None and sum(p.index_count // 3 for p in drawn) == tri_count:
                    own = flags[tri_start : tri_start + tri_count]
                scene.meshes.append(Mesh(name, drawn, slot, lod, group, own))
        mesh = mesh_of[slot]
        if mesh is not None:
            scene.parts.append(Part(node, lod, group, mesh))


def _sampled_tracks(tracks: Tracks, subframes: int) -> list[Track]:
    nodes = tracks.animated
    if not nodes.size or not tracks.frame_count:
        return []
    steps = (tracks.frame_count - 1) * subframes + 1
    frames = np.arange(steps) / subframes
    samples = sample(tracks, nodes, frames)
    rotations = one_hemisphere(rotation(samples.quaternion))
    positions = samples.position.astype(np.float64)
    # where keys of one time follow one another, the runtime divides by zero; of nearly one time,
    # it comes to places beyond any world
    positions[~(np.abs(positions) <= MAX_COORDINATE)] = np.nan
    for curves in (rotations, positions):
        if not np.isfinite(curves).all():
            curves[:] = [fill_non_finite(curve) for curve in curves]
    return [
        Track(node, Channel(frames, rotations[i]), Channel(frames, positions[i]))
        for i, node in enumerate(nodes.tolist())
    ]


def _stored_tracks(tracks: Tracks) -> list[Track]:
    """The keys of each node's own run; of equal or falling times, the first.

    Times that no clip has are left out: the runtime never comes to them.
    """
    out, most = [], max(NONE16, tracks.frame_count)
    starts = np.concatenate([[0], tracks.fallback[:-1] + 1])
    for node in tracks.animated.tolist():
        end, start = int(tracks.fallback[node]), int(starts[node])
        if start > end:  # runs are out of order: what the node's map names
            at = int(tracks.map_start[node])
            start = int(tracks.map_words[at : at + tracks.frame_count].min(initial=end))
        run = np.arange(start, end + 1)
        time = tracks.time[run].astype(np.float64)
        increasing = time > np.maximum.accumulate(np.concatenate([[-np.inf], time[:-1]]))
        run = run[increasing & (time >= 0) & (time < most)]
        if not run.size:
            continue
        frames = tracks.time[run].astype(np.float64)
        rotations = one_hemisphere(rotation(tracks.quaternion[run]))
        positions = tracks.position[run].astype(np.float64)
        out.append(Track(node, Channel(frames, rotations), Channel(frames, positions)))
    return out


def one_hemisphere(rotations: F64) -> F64:
    """Return rotations whose neighbours in time have a dot product >= 0. (..., T, 4)."""
    dots = np.einsum("...i,...i->...", rotations[..., 1:, :], rotations[..., :-1, :])
    flips = np.where(dots < 0, -1.0, 1.0)
    signs = np.concatenate([np.ones((*flips.shape[:-1], 1)), np.cumprod(flips, axis=-1)], axis=-1)
    signed: F64 = rotations * signs[..., None]
    return signed


def poses_at(model: MshModel, scene: Scene, dialect: Dialect, frame: float) -> Poses:
    """Model-space rotations (N, 4) and translations (N, 3) at a frame, game axes, float64.

    Samples of the runtime, composed down the hierarchy; at 0 that is the rest pose.

    Raises ConversionError: a frame that is no finite float32.
    """
    local = _sampled(model, scene, dialect, frame)
    return rest_pose(scene) if local is None else compose(model.parents, *local)


def local_poses(model: MshModel, scene: Scene, dialect: Dialect, frame: float) -> Poses:
    """Return rotations (N, 4) and translations (N, 3) of nodes below their parents; as :func:`poses_at`."""
    if (sampled := _sampled(model, scene, dialect, frame)) is not None:
        return sampled
    rest = [(node.rotation, node.translation) for node in scene.nodes]
    return (
        np.array([turn for turn, _ in rest], np.float64).reshape(-1, 4),
        np.array([at for _, at in rest], np.float64).reshape(-1, 3),
    )


def _sampled(model: MshModel, scene: Scene, dialect: Dialect, frame: float) -> Poses | None:
    """What the runtime's sampler gives; ``None`` where no node has keys."""
    if not abs(frame) <= float(np.finfo(np.float32).max):  # nor is NaN
        raise ConversionError("the frame is no finite number", value=frame)
    tracks = dialects.tracks(model, dialect)
    if tracks is None or not scene.nodes:
        return None
    now = sample(tracks, np.arange(len(scene.nodes)), [frame])
    return rotation(now.quaternion[:, 0]), now.position[:, 0].astype(np.float64)


class MaterialPair(NamedTuple):
    """A pair of materials: what one primitive shows.

    Attributes:
        name: ``first`` or ``first+second``, from ``Land1.wea``.
        first, second: rows of it; 255 = no second.
        micro, micro2: the microtextures' names, from ``Land2.wea``.
    """

    name: str
    first: int
    second: int
    micro: str
    micro2: str


@dataclass
class TerrainScene:
    """A terrain as a scene.

    Attributes:
        positions, normals, uv0, micro_uv: (V, 3), (V, 3), (V, 2), (V, 2) float32.
        blend: (V,) float32 or ``None``: alpha of the second material.
        material_pairs: the material pairs, in order of first appearance.
        primitives: per level, ``(pair, faces)``: rows of the face table, in table order.
        vertex: (F, 3) vertices of every face.
    """

    name: str
    positions: F32
    normals: F32
    uv0: F32
    micro_uv: F32
    blend: F32 | None
    material_pairs: list[MaterialPair]
    primitives: list[list[tuple[int, I64]]]
    vertex: U16


def blend_weights(scene: TerrainScene) -> dict[tuple[int, int], float]:
    """Return the mean weight of each pair's second material on the fine level, 0..1.

    Returns:
        By (first, second) rows; pairs without a second one are left out.
    """
    out = {}
    for i, rows in scene.primitives[FINE]:
        pair = scene.material_pairs[i]
        if pair.second != NO_MATERIAL:
            blend = 1.0
            if scene.blend is not None:
                blend = float(scene.blend[scene.vertex[rows]].mean(dtype=np.float64))
            out[pair.first, pair.second] = min(1.0, max(0.0, blend))
    return out


def decode_terrain(terrain: Terrain, name: str, wear: list[str], micro: list[str]) -> TerrainScene:
    """Decode a valid terrain. ``wear``, ``micro``: names by row of ``Land1.wea`` and ``Land2.wea``."""
    faces = terrain.faces
    pair = faces["first"].astype(np.uint16) << 8 | faces["second"]  # few bits are sorted faster
    levels = [terrain.faces_of(level) for level in (FINE, COARSE)]
    shown, first_at = np.unique(pair[np.concatenate(levels)], return_index=True)
    pairs = shown[np.argsort(first_at)].tolist()
    material_pairs = [material_pair(key >> 8, key & 0xFF, wear, micro) for key in pairs]
    primitives = [
        [(i, rows[hit]) for i, key in enumerate(pairs) if (hit := pair[rows] == key).any()] for rows in levels
    ]
    normals = normalise(decode_normals(terrain.normals), (0, 0, 1)).astype(np.float32)
    streams = terrain.positions, normals, decode_uv(terrain.uv0), decode_uv(terrain.micro_uv), terrain.blend
    return TerrainScene(name, *streams, material_pairs, primitives, faces["vertex"])


def material_pair(first: int, second: int, wear: list[str], micro: list[str]) -> MaterialPair:
    """Return a pair of rows with its names; rows without a name are ``material_{row}``."""

    def named(names: list[str], row: int, missing: str) -> str:
        return names[row] if row < len(names) and names[row] else missing

    name = named(wear, first, f"material_{first}")
    if second == NO_MATERIAL:
        return MaterialPair(name, first, second, named(micro, first, ""), "")
    name += f"+{named(wear, second, f'material_{second}')}"
    return MaterialPair(name, first, second, named(micro, first, ""), named(micro, second, ""))


def unique_label(name: str, taken: dict[str, int]) -> str:
    """Return a name that no node of a document has yet: ``name``, else ``name#2`` and so on.

    Args:
        name: what it should be called.
        taken: the names that are there, and how often each was asked for. Changed in place.
    """
    label = name
    while label in taken:
        taken[name] += 1
        label = f"{name}#{taken[name]}"
    taken[label] = 1
    return label


def closed_sides(count: int) -> I64:
    """Return the corners at both ends of each side of a closed outline, (n, 2) int64; two corners have one side."""
    first = np.arange(count if count > 2 else max(count - 1, 0))
    return np.stack([first, (first + 1) % max(count, 1)], axis=1)
