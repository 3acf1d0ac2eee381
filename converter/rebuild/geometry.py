"""Build vertices, indices, batches and descriptors of slots from triangles.

The rules are in docs/reference/model.md, What the writer does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..formats.model import BATCH_DTYPE, TRIANGLE_DTYPE, MshModel
from ..formats.tables import HEADER_DTYPE, SLOT_DTYPE
from ..numeric.arrays import F32, F64, I64, NONE16, U16, Records, concatenate_records, cross_products, row_ids
from ..numeric.pose import compose, rotate, rotation, sample
from ..numeric.quantize import decode_normals, encode_unit, normalise
from ..numeric.surfaces import hull, neighbour_links, round_down, round_up, slot_bounds, sphere_radius
from ..scene import dialect as dialects
from ..scene.dialect import Dialect

#: One vertex as stored, all streams side by side; streams that the model lacks stay zero.
VERTEX_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),
        ("normal", "i1", (4,)),
        ("uv0", "<i2", (2,)),
        ("extra", "u1", (4,)),
        ("stream15", "u1", (8,)),
        ("tangents", "u1", (8,)),
    ]
)
assert VERTEX_DTYPE.itemsize == 40

#: The words of a batch that make its material; two batches of one material may differ in none.
BATCH_WORDS = ("word0", "word2", "word4", "word6")

_MOST_INDICES = 65535


@dataclass
class SlotGeometry:
    """The tables of one or more slots, all ranges counted from their own first row.

    Attributes:
        vertices: (V,) ``VERTEX_DTYPE``.
        indices: (3T,) uint16, relative to each batch's ``base_vertex``.
        batches: (B,) ``BATCH_DTYPE``.
        triangles: (T,) ``TRIANGLE_DTYPE``, links inside each slot.
        zero_area: triangles whose normal had to be made up.
    """

    vertices: Records
    indices: U16
    batches: Records
    triangles: Records
    slots: Records
    zero_area: int = 0

    @classmethod
    def empty(cls) -> SlotGeometry:
        """Return the geometry of a slot that draws nothing."""
        return cls(
            np.zeros(0, VERTEX_DTYPE),
            np.zeros(0, np.uint16),
            np.zeros(0, BATCH_DTYPE),
            np.zeros(0, TRIANGLE_DTYPE),
            np.zeros(1, SLOT_DTYPE),
        )


@dataclass
class Corners:
    """T triangles with stored words per corner.

    Attributes:
        vertices: (T, 3) ``VERTEX_DTYPE``.
        material: (T,) row of ``words``.
        words: (M, 4) uint16, batch words +0, +2, +4, +6 per material.
        flags: (T,) uint16 triFlags.
    """

    vertices: Records
    material: I64
    words: U16
    flags: U16


def build_slots(parts: Sequence[Corners]) -> SlotGeometry:
    """Build a slot of each part by the canonical rules.

    Triangles are grouped by material in order of first appearance; vertices are welded when all their stored bytes are
    equal and laid down per batch in order of first use. Raises ConversionError: more triangles than a model can have.
    """
    sizes = [len(part.material) for part in parts]
    if max(sizes) > NONE16:
        raise too_many("triangles", max(sizes))
    # a material of one part is none of another's
    before = np.cumsum([0, *(len(part.words) for part in parts)])
    material = np.concatenate([p.material + n for p, n in zip(parts, before[:-1], strict=True)])
    order = np.argsort(first_appearance(material)[0], kind="stable")
    vertices = concatenate_records([part.vertices for part in parts])[order]
    material, owner = material[order], np.repeat(np.arange(len(parts)), sizes)
    raw = np.ascontiguousarray(vertices).view(np.uint8).reshape(-1, VERTEX_DTYPE.itemsize)
    ids = row_ids(raw.view("<u8")).reshape(-1, 3)

    bounds = _batch_bounds(material)
    counts = np.diff(bounds)
    corners_of = 3 * counts
    batch = np.repeat(np.arange(len(counts)), corners_of)
    # every batch has vertices of its own, in order of first use
    used, place = first_appearance(batch * (3 * len(ids)) + ids.reshape(-1))
    window = np.bincount(batch[place])
    base = np.cumsum(window) - window

    batches = np.zeros(len(counts), BATCH_DTYPE)
    words = np.concatenate([part.words for part in parts])[material[bounds[:-1]]]
    for name, column in zip(BATCH_WORDS, words.T, strict=True):
        batches[name] = column
    batches["index_count"], batches["index_start"] = corners_of, 3 * bounds[:-1]
    batches["window"], batches["base_vertex"] = window, base

    flags = np.concatenate([part.flags for part in parts])[order]
    triangles, zero_area = describe(vertices, flags, owner)
    return SlotGeometry(
        vertices.reshape(-1)[place],
        (used - base[batch]).astype(np.uint16),
        batches,
        triangles,
        _slot_records(vertices["position"], sizes, np.bincount(owner[bounds[:-1]], minlength=len(parts))),
        zero_area,
    )


def _slot_records(positions: F32, sizes: list[int], batch_counts: I64) -> Records:
    """The slots of triangles that lie one slot after the other."""
    ends = np.cumsum(sizes)
    pieces = zip(np.split(positions, ends[:-1]), batch_counts.tolist(), strict=True)
    slots = concatenate_records([slot_record(piece, batches) for piece, batches in pieces])
    slots["tri_start"] = ends - sizes
    slots["batch_start"] = np.cumsum(batch_counts) - batch_counts
    return slots


def too_many(title: str, value: int) -> ConversionError:
    """Return the error for a table that outgrows its 16-bit row numbers."""
    hints = {"triangles": "remove detail, or split the model in two", "batches": "use fewer materials"}
    return ConversionError(
        f"too many {title} for a model",
        value=f"{value:,}",
        expected=f"at most {NONE16:,}",
        hint=hints.get(title, "split the model in two"),
    )


def slot_record(positions: F32, batch_count: int) -> Records:
    """Return the slot of some triangles, its ranges starting at 0. (T, 3, 3) -> one record."""
    slot = np.zeros(1, SLOT_DTYPE)
    slot["tri_count"], slot["batch_count"] = len(positions), batch_count
    for name, value in slot_bounds(positions).items():
        slot[name] = value
    return slot


def describe(vertices: Records, flags: U16, slot: I64) -> tuple[Records, int]:
    """Return the descriptors of triangles, and how many have no area.

    Args:
        vertices: (T, 3) ``VERTEX_DTYPE``.
        flags: (T,) uint16.
        slot: (T,) which slot they are in.

    Returns:
        (T,) ``TRIANGLE_DTYPE``.
    """
    out = np.zeros(len(vertices), TRIANGLE_DTYPE)
    positions = np.ascontiguousarray(vertices["position"])
    out["tri_flags"] = flags
    out["link"], out["selectors"] = neighbour_links(positions, slot)
    normals, zero_area = triangle_normals(positions, vertices["normal"])
    out["normal"] = normals
    return out, zero_area


def triangle_normals(positions: F32, normals: NDArray[np.int8]) -> tuple[NDArray[np.int16], int]:
    """Return stored triangle normals, (T, 3), and how many triangles have no area.

    ``normalize(cross(p1-p0, p2-p0))`` in float64. Zero area (|cross| <= 1e-12 x longest edge
    squared): the mean of the vertex normals, else (0, 0, 32767).

    Args:
        positions: (T, 3, 3) float32.
        normals: (T, 3, 4) int8 vertex normals.
    """
    p = positions.astype(np.float64)
    cross = cross_products(p)
    edges = p[:, [1, 2, 0]] - p
    longest = np.einsum("tei,tei->te", edges, edges).max(axis=1, initial=0)
    flat = np.sqrt(np.einsum("ti,ti->t", cross, cross)) <= 1e-12 * longest
    unit = normalise(cross, (0, 0, 1))
    if flat.any():
        mean = decode_normals(normals[flat]).astype(np.float64).mean(axis=1)
        unit[flat] = normalise(mean, (0, 0, 1))
    return encode_unit(unit), int(flat.sum())


def first_appearance(values: I64) -> tuple[I64, I64]:
    """Number values in order of first appearance.

    Returns:
        (n,) the number of each value, and (k,) where each number appears first.
    """
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    return rank[inverse.reshape(-1)], first[order]


def _batch_bounds(material: I64) -> I64:
    """Where batches begin, and the end: one per material, split where indices would not fit; so vertices fit, too."""
    most = _MOST_INDICES // 3
    bounds = [0, *(np.flatnonzero(np.diff(material)) + 1).tolist(), len(material)]
    starts = [at for first, last in pairwise(bounds) for at in range(first, last, most)]
    return np.array([*starts, len(material)], np.int64)


def bounding_header(points: F64) -> Records:
    """Return the header of a model from its posed vertices, one ``HEADER_DTYPE`` record.

    The box faces are rounded outward; the cylinder lies along the axis that gives the smallest volume (ties: z, then y,
    then x). ``points``: (n, 3) float64, model space; none: an all-zero header.
    """
    out = np.zeros(1, HEADER_DTYPE)
    if not len(points):
        return out
    low = np.array([round_down(v) for v in points.min(axis=0)], np.float32)
    high = np.array([round_up(v) for v in points.max(axis=0)], np.float32)
    out["hull"][0] = hull(low, high)
    center = ((low + high) * np.float32(0.5)).astype(np.float32)
    out["sphere_center"], out["sphere_radius"] = center, sphere_radius(center, points)

    size = high.astype(np.float64) - low.astype(np.float64)
    across = [np.delete(size, axis) for axis in range(3)]
    volumes = [float((pair**2).sum() * size[axis]) for axis, pair in enumerate(across)]
    axis = min((2, 1, 0), key=lambda a: volumes[a])
    a, b = center.copy(), center.copy()
    a[axis], b[axis] = low[axis], high[axis]
    out["cylinder_a"], out["cylinder_b"] = a, b
    corners = np.stack([low, high]).astype(np.float64) - center.astype(np.float64)
    extent = np.delete(np.abs(corners).max(axis=0), axis)
    out["cylinder_radius"] = round_up(float(np.sqrt((extent**2).sum())))
    return out


def posed_header(model: MshModel, dialect: Dialect) -> Records:
    """Return the header of a model: LOD 0, group 0 without cockpits, posed at t = 0."""
    vertices, nodes, counts = dialects.header_vertices(model)
    owner = np.repeat(nodes, counts)
    points = model.positions[vertices].astype(np.float64)
    tracks = dialects.tracks(model, dialect)
    if tracks is None or not len(points):
        return bounding_header(points)
    rest = sample(tracks, np.arange(len(model.nodes)), [0.0])
    world_r, world_t = compose(model.parents, rotation(rest.quaternion[:, 0]), rest.position[:, 0].astype(np.float64))
    return bounding_header(rotate(world_r[owner], points) + world_t[owner])
