"""Answer what the runtime asks a model: slots, names, triangles, neighbours, bounds, picking.

The rules and their sources are in docs/reference/model.md, What the runtime asks. Everything is in
game axes and game units; models must be valid (``require_valid``). Masks filter as in
``face_flags.passes``: all required bits set, no forbidden one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ConversionError
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.tables import GROUP_COUNT, LOD_COUNT
from ..numeric.arrays import F64, I64, NONE16, U32, Bools, ranges
from ..numeric.pose import affine, compose, rotation, rotation_matrix, sample
from ..numeric.surfaces import passes
from ..scene import dialect as dialects
from ..scene.dialect import Dialect

#: Barycentric slack of a hit, so that no ray slips through between two triangles.
_EDGE = 1e-9
#: A triangle is seen edge-on below this sine (times the ratio of area to edge lengths).
_FLAT = 1e-12


class TriangleWalk(NamedTuple):
    """Triangles in the order in which the runtime meets them. T triangles, int64 each.

    Attributes:
        node: (T,) the node that shows the triangle.
        slot: (T,) row of Res2.
        batch: (T,) row of Res13.
        triangle: (T,) row of Res7, counted even where a model has no Res7.
        vertex: (T, 3) rows of Res3.
    """

    node: I64
    slot: I64
    batch: I64
    triangle: I64
    vertex: I64


class WorldBounds(NamedTuple):
    """A slot's bounds after a transform, float64: box corners and sphere centre (3,), radius."""

    box_min: F64
    box_max: F64
    sphere_centre: F64
    sphere_radius: float


class Hit(NamedTuple):
    """Where a ray first meets a model.

    Attributes:
        distance: along the ray, in lengths of its direction.
        node, slot, batch, triangle: as in :class:`TriangleWalk`.
        point: (3,) float64, model space.
    """

    distance: float
    node: int
    slot: int
    batch: int
    triangle: int
    point: F64


def slot_for(model: MshModel, node: int, lod: int = -1, group: int = 0, current_lod: int = 0) -> int | None:
    """Return the slot of a node's part, ``None`` if it has none (``sub_100124D0``).

    Args:
        model: not a legacy one.
        lod: level of detail 0..2; -1 stands for ``current_lod``.
        current_lod: the instance's level of detail.

    Raises IndexError: a node, lod or group that does not exist (the runtime would read other bytes).
    """
    use_lod = current_lod if lod == -1 else lod
    if not (0 <= node < len(model.nodes) and 0 <= use_lod < LOD_COUNT and 0 <= group < GROUP_COUNT):
        raise IndexError(f"no cell (node {node}, lod {use_lod}, group {group})")
    slot = int(model.nodes["slot_index"][node, use_lod, group])
    return None if slot == NONE16 else slot


def node_string(model: MshModel, node: int) -> bytes | None:
    """Return Res10's string of a node; ``None`` where its length is 0 (``sub_10012530``)."""
    return model.strings.text(node) if model.strings is not None else None


def walk_triangles(
    model: MshModel,
    dialect: Dialect,
    *,
    lod: int = 0,
    group: int = 0,
    nodes: ArrayLike | None = None,
    tri_required: int = 0,
    tri_forbidden: int = 0,
    batch_required: int = 0,
    batch_forbidden: int = 0,
) -> TriangleWalk:
    """Walk over triangles as the runtime does: nodes, batches, index triples.

    The descriptor pointer starts at the slot's ``triStart`` and advances by
    ``(indexCount + 2) / 3`` over each of its batches, filtered out or not. An incomplete triple
    at the end of a batch counts for that, but has no three indices and is left out. Flags of
    rows that Res7 does not have are 0.

    Args:
        model: the model; cockpit nodes take part like any other.
        dialect: how batch flags are read.
        lod: level of detail 0..2.
        nodes: (n,) the nodes to visit, in that order; ``None`` = all.
        tri_required, tri_forbidden: masks of ``Res7.triFlags``.
        batch_required, batch_forbidden: masks of the batch flags.

    Raises:
        ConversionError: a legacy model, or a mask that is not a 32-bit number.
        IndexError: a node, lod or group that does not exist.
    """
    node, slot = _shown(model, nodes, lod, group)
    tri_start, batch_start, batch_count = (
        model.slots[k][slot].astype(np.int64) for k in ("tri_start", "batch_start", "batch_count")
    )
    part, within = _expand(batch_count)
    batch = batch_start[part] + within
    index_start, index_count, base_vertex = (
        model.batches[k][batch].astype(np.int64) for k in ("index_start", "index_count", "base_vertex")
    )
    before = np.concatenate([[0], np.cumsum((index_count + 2) // 3)])
    first_batch = np.cumsum(batch_count) - batch_count
    descriptor = tri_start[part] + before[:-1] - before[first_batch][part]

    flags = dialects.batch_materials(model, dialect).flags[batch].astype(np.uint32)
    drawn = passes(flags, batch_required, batch_forbidden)
    run, within = _expand(np.where(drawn, index_count // 3, 0))
    triangle = descriptor[run] + within
    kept = passes(_tri_flags(model, triangle), tri_required, tri_forbidden)
    run, within, triangle = run[kept], within[kept], triangle[kept]
    corner = (index_start[run] + 3 * within)[:, None] + np.arange(3)
    vertex = model.indices[corner].astype(np.int64) + base_vertex[run][:, None]
    return TriangleWalk(node[part[run]], slot[part[run]], batch[run], triangle, vertex)


def _shown(model: MshModel, nodes: ArrayLike | None, lod: int, group: int) -> tuple[I64, I64]:
    """The nodes that have a part in a cell, and its slots."""
    _require_cells(model)
    count = len(model.nodes)
    node = np.arange(count) if nodes is None else np.asarray(nodes, np.int64).reshape(-1)
    known = 0 <= lod < LOD_COUNT and 0 <= group < GROUP_COUNT
    if not known or ((node < 0) | (node >= count)).any():
        raise IndexError(f"no such cell (nodes below {count}, lod {lod}, group {group})")
    slot = model.nodes["slot_index"][node, lod, group].astype(np.int64)
    shown = slot != NONE16
    return node[shown], slot[shown]


def owner_slots(model: MshModel, triangle: int) -> list[int]:
    """Return the slots that own a triangle: ``triStart <= t < triStart + triCount``.

    ``sub_1000B2C0``. Ascending; empty where no slot does.
    """
    start = model.slots["tri_start"].astype(np.int64)
    inside = (triangle >= start) & (triangle < start + model.slots["tri_count"])
    owners: list[int] = np.flatnonzero(inside).tolist()
    return owners


def owner_slot(model: MshModel, triangles: ArrayLike) -> I64:
    """Return the first slot that owns each triangle, -1 where none does (as :func:`owner_slots`).

    Args:
        triangles: (n,) rows of Res7.

    Returns:
        (n,) int64.
    """
    wanted = np.asarray(triangles, np.int64)
    owner = np.full(wanted.shape, -1, np.int64)
    starts, counts = model.slots["tri_start"].tolist(), model.slots["tri_count"].tolist()
    for slot in reversed(range(len(starts))):
        inside = (wanted >= starts[slot]) & (wanted < starts[slot] + counts[slot])
        owner[inside] = slot
    return owner


def neighbours(model: MshModel, triangle: int) -> list[tuple[int, int, int]]:
    """Return a triangle's neighbours: (edge, neighbour, that edge's index there).

    Edges without a neighbour are left out; a selector of 3 reads ``0xFFFF``. A model without Res7 has no neighbours.
    Raises IndexError: no such triangle.
    """
    if model.triangles is None:
        return []
    if not 0 <= triangle < len(model.triangles):
        raise IndexError(f"no triangle {triangle}")
    record = model.triangles[triangle]
    links: list[int] = record["link"].tolist()
    selectors = int(record["selectors"])
    found = []
    for edge, link in enumerate(links):
        if link != NONE16:
            selector = selectors >> 2 * edge & 3
            found.append((edge, link, NONE16 if selector == 3 else selector))
    return found


def world_bounds(model: MshModel, slot: int, matrix: ArrayLike) -> WorldBounds:
    """Return a slot's box and sphere after a transform.

    The box is that of the slot's eight transformed box corners. The sphere's radius grows by
    ``max(scaleX, scaleY, scaleZ)``, the length of the matrix' longest column.

    Args:
        slot: row of Res2.
        matrix: (4, 4), affine, for column vectors, translation in the last column.

    Raises:
        ConversionError: a matrix of another shape.
        IndexError: no such slot.
    """
    m = np.asarray(matrix, np.float64)
    if m.shape != (4, 4):
        raise ConversionError("matrix has another shape", value=m.shape, expected="(4, 4)")
    if not 0 <= slot < len(model.slots):
        raise IndexError(f"no slot {slot}")
    record = model.slots[slot]
    ends = np.stack([record["aabb_min"], record["aabb_max"]]).astype(np.float64)
    corners = ends[np.indices((2, 2, 2)).reshape(3, 8), np.arange(3)[:, None]].T
    moved = corners @ m[:3, :3].T + m[:3, 3]
    centre = m[:3, :3] @ record["sphere_center"].astype(np.float64) + m[:3, 3]
    scale = float(np.linalg.norm(m[:3, :3], axis=0).max())
    return WorldBounds(moved.min(0), moved.max(0), centre, float(record["sphere_radius"]) * scale)


def posed_matrices(model: MshModel, dialect: Dialect, time: float = 0.0) -> F64:
    """Return node space to model space, as the sampler poses the model, with unit quaternions.

    Args:
        model: the model; without keys every node lies at the origin, unturned.
        dialect: how keys are read.
        time: frames; out of range, the runtime's fallback keys pose it.

    Returns:
        (N, 4, 4) float64, for column vectors.

    Raises ConversionError: a legacy model.
    """
    _require_cells(model)
    tracks = dialects.tracks(model, dialect)
    if tracks is None:
        return np.tile(np.eye(4), (len(model.nodes), 1, 1))
    pose = sample(tracks, np.arange(len(model.nodes)), [time])
    translations = pose.position[:, 0].astype(np.float64)
    turned, moved = compose(model.parents, rotation(pose.quaternion[:, 0]), translations)
    return affine(rotation_matrix(turned), moved)


def pick(
    model: MshModel,
    dialect: Dialect,
    origin: ArrayLike,
    direction: ArrayLike,
    *,
    time: float = 0.0,
    lod: int = 0,
    group: int = 0,
    tri_forbidden: int = 0,
    batch_forbidden: int = 0,
) -> Hit | None:
    """Return the first triangle that a ray meets, from either side, ``None`` if it meets none.

    Of hits at exactly one distance, the lowest triangle. Cockpit nodes take part. Slots whose
    sphere the ray misses are skipped; a stored sphere that is too small is taken as large as
    its triangles need, so it hides none.

    Args:
        dialect: how keys and batch flags are read.
        origin: (3,) model space.
        direction: (3,) model space, any length but 0.
        time: frames; the pose of :func:`posed_matrices`.
        lod, group: as in :func:`walk_triangles`.
        tri_forbidden, batch_forbidden: triangles with any of these bits are passed through.

    Raises:
        ConversionError: a legacy model, a ray that is not finite or has no direction, or a mask
            that is not a 32-bit number.
        IndexError: a lod or group that does not exist.
    """
    start, ray = _ray(origin, direction)
    matrices = posed_matrices(model, dialect, time)
    walk = walk_triangles(
        model, dialect, lod=lod, group=group, tri_forbidden=tri_forbidden, batch_forbidden=batch_forbidden
    )
    near = _near(model, walk, matrices, start, ray)
    walk = TriangleWalk(*(column[near] for column in walk))
    turn, move = matrices[walk.node, :3, :3], matrices[walk.node, :3, 3]
    points = model.positions[walk.vertex].astype(np.float64)
    distance = _hit_distance(points @ turn.transpose(0, 2, 1) + move[:, None], start, ray)
    if not np.isfinite(distance).any():
        return None
    nearest = np.flatnonzero(distance == distance.min())
    at = nearest[np.argmin(walk.triangle[nearest])]
    node, slot, batch, triangle = (int(column[at]) for column in walk[:4])
    nearest_at = float(distance[at])
    return Hit(nearest_at, node, slot, batch=batch, triangle=triangle, point=start + nearest_at * ray)


def _ray(origin: ArrayLike, direction: ArrayLike) -> tuple[F64, F64]:
    """Origin and direction as (3,) each, checked."""
    start, ray = np.asarray(origin, np.float64), np.asarray(direction, np.float64)
    if start.shape != (3,) or ray.shape != (3,):
        raise ConversionError("ray has another shape", value=(start.shape, ray.shape))
    if not (np.isfinite(start).all() and np.isfinite(ray).all() and ray.any()):
        raise ConversionError("ray has no direction or is not finite", value=f"{start.tolist()}, {ray.tolist()}")
    return start, ray


def _near(model: MshModel, walk: TriangleWalk, matrices: F64, start: F64, ray: F64) -> Bools:
    """(T,) whether the ray meets the sphere of the triangle's posed slot."""
    nodes, first, part = np.unique(walk.node, return_index=True, return_inverse=True)
    slots = model.slots[walk.slot[first]]
    centre, radius = (slots[k].astype(np.float64) for k in ("sphere_center", "sphere_radius"))
    points = model.positions[walk.vertex].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # spheres may hold anything
        needed = np.linalg.norm(points - centre[part][:, None], axis=2).max(axis=1, initial=0)
        np.maximum.at(radius, part, needed)
        posed = (matrices[nodes, :3, :3] @ centre[..., None])[..., 0] + matrices[nodes, :3, 3]
        away = posed - start
        along = np.maximum(away @ ray / (ray @ ray), 0)
        gap = np.linalg.norm(away - along[:, None] * ray, axis=1)
        slack = 1e-9 * (radius + np.linalg.norm(away, axis=1))
        missed = gap > radius + slack  # False where a number is NaN
    near: Bools = ~missed[part]
    return near


def _hit_distance(points: F64, start: F64, ray: F64) -> F64:
    """Distance at which the ray meets each triangle, inf where it does not (Moeller-Trumbore).

    (T, 3, 3) corners -> (T,), in lengths of the ray.
    """
    side1, side2 = points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]
    across = np.cross(ray, side2)
    det = _dot(side1, across)
    scale = np.linalg.norm(ray) * np.linalg.norm(side1, axis=1) * np.linalg.norm(side2, axis=1)
    facing = np.abs(det) > _FLAT * scale
    det = np.where(facing, det, 1.0)
    away = start - points[:, 0]
    turned = np.cross(away, side1)
    u, v, distance = _dot(away, across) / det, _dot(turned, ray) / det, _dot(turned, side2) / det
    inside = (u >= -_EDGE) & (v >= -_EDGE) & (u + v <= 1 + _EDGE)
    return np.where(facing & inside & (distance >= 0), distance, np.inf)


def _dot(a: F64, b: F64) -> F64:
    total: F64 = (a * b).sum(axis=-1)
    return total


def _expand(counts: I64) -> tuple[I64, I64]:
    """Runs of these lengths, one after the other: (run, position in the run) of every item."""
    return np.repeat(np.arange(len(counts)), counts), ranges(np.zeros_like(counts), counts)


def _tri_flags(model: MshModel, triangle: I64) -> U32:
    flags = np.zeros(len(triangle), np.uint32)
    if model.triangles is not None:
        there = triangle < len(model.triangles)
        flags[there] = model.triangles["tri_flags"][triangle[there]]
    return flags


def _require_cells(model: MshModel) -> None:
    if model.legacy:
        problem = "legacy nodes have no known slots or poses"
        raise ConversionError(
            problem, file=model.archive.label, entry=model.entry, table=TABLES[StreamType.NODES].label
        )
