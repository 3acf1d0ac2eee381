"""The slots and the header of a core model: ranges, boxes, spheres, area and volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..findings import Bad, Finding
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.tables import HEADER_DTYPE, bounding_header
from ..numeric.arrays import F32, F64, I64, NONE16, Bools, cross_products, field_offset, max_uses, ranges
from ..numeric.surfaces import hull
from ..scene.dialect import Decision, Dialect, posed_at_rest
from . import Rules, why

_SLOTS = StreamType.SLOTS
#: How far a slot's bounds may be off, over the size of the box: the rounding of binary32.
_BOUNDS = 1e-4
#: How far area and volume may be off, over their size.
_RATIO = 1e-2
#: How far geometry may stick out of the header's box, as in ``dialect.decide``.
_BOX = 0.05
#: How far the header's sphere and cylinder may be off, over the diagonal of the box.
_ROUND = 1e-3


rule = Rules("core model", "docs/reference/model.md#slots")


@rule("slot-batches", "error", "A slot's batches lie inside Res13.", drops="the slot")
@why("The runtime would read past the batches.", fix="Correct batchStart and batchCount.")
def slot_batches(model: MshModel) -> Iterator[Bad]:
    slots, most = model.slots, len(model.batches)
    end = slots["batch_start"].astype(np.int64) + slots["batch_count"]
    yield Bad("slot's batches run past the table", (_SLOTS, "batch_start"), end > most, end, f"at most {most}")


@rule(
    "model-reuse",
    "error",
    "Slots, batches, nodes and animated frames use the rows of their tables at most 16 times on "
    "average, or 1,048,576 rows in all.",
    "docs/limits.md",
)
@why(
    "A small file could be made to look like a huge one, and exhaust memory and time.",
    fix="Give every slot batches and every batch indices of its own.",
)
def model_reuse(model: MshModel) -> Iterator[Bad]:
    for stream, what, number, rows in _uses(model):
        if number > max_uses(rows):
            yield Bad(f"{what} too often", TABLES[stream].label, None, number, f"at most {max_uses(rows)}")
            return


def _uses(model: MshModel) -> Iterator[tuple[StreamType, str, int, int]]:
    """Table, what uses it, how many of its rows with repetition, and how many it has."""
    slots, batches = model.slots, model.batches
    corners = batches["index_count"].astype(np.int64)
    start, count = slots["batch_start"].astype(np.int64), slots["batch_count"].astype(np.int64)
    yield StreamType.BATCHES, "slots use batches", int(count.sum()), len(batches)
    yield StreamType.INDICES, "batches use indices", int(corners.sum()), len(model.indices)
    shown = np.empty(0, np.int64) if model.legacy else model.nodes["slot_index"][:, 0, 0]
    # no slot or node can use more than that: most models are done here
    bound = max(int(count.sum()), len(shown) * int(count.max(initial=0)))
    if bound * int(corners.max(initial=0)) > max_uses(len(model.indices)):
        before = np.concatenate([[0], np.cumsum(corners)])
        ends = np.minimum(start + count, len(batches))
        of_slot = before[ends] - before[np.minimum(start, ends)]
        of_node = of_slot[shown[shown < len(slots)]]
        yield StreamType.INDICES, "slots use indices", int(of_slot.sum()), len(model.indices)
        yield StreamType.INDICES, "nodes use indices", int(of_node.sum()), len(model.indices)
    if not model.legacy:
        first = model.nodes["map_start"].astype(np.int64)
        mapped = (first != NONE16) & (first + model.frame_count <= len(model.frame_map))
        moved = int(np.count_nonzero(mapped)) * model.frame_count
        yield StreamType.FRAME_MAP, "nodes use frames", moved, len(model.frame_map)


@rule("slot-triangles", "error", "A slot's triangles lie inside Res7.", drops="the slot's descriptors")
@why("Collision would read past the descriptors.", fix="Correct triStart and triCount.")
def slot_triangles(model: MshModel) -> Iterator[Bad]:
    if model.triangles is None:
        return
    slots, most = model.slots, len(model.triangles)
    end = slots["tri_start"].astype(np.int64) + slots["tri_count"]
    yield Bad("slot's triangles run past the table", (_SLOTS, "tri_start"), end > most, end, f"at most {most}")


@rule(
    "slot-cover",
    "warning",
    "A slot's batches cover its triangles exactly: triStart is the first batch's indexStart / 3.",
)
@why("What is hit is not what is drawn.", fix="Convert to glTF, touch the part and convert back: the slot is rebuilt.")
def slot_cover(model: MshModel) -> Iterator[Bad]:
    slots, batches = model.slots, model.batches
    if model.triangles is None or not len(slots):
        return
    first, count, tri_start, tri_count = (
        slots[key].astype(np.int64) for key in ("batch_start", "batch_count", "tri_start", "tri_count")
    )
    ends = np.concatenate([[0], np.cumsum(batches["index_count"], dtype=np.int64)])
    length = ends[first + count] - ends[first]
    own, start = count > 0, tri_start * 3
    start[own] = batches["index_start"][first[own]]
    bad = (tri_start * 3 != start) | (tri_count * 3 != length)
    stored, wanted = np.stack([tri_start, tri_count], axis=1), np.stack([start // 3, length // 3], axis=1)
    yield Bad("slot's triangles are not its batches'", (_SLOTS, "tri_start"), bad, stored, wanted)


@rule("slot-unused", "note", "Every slot is used by a node.", "docs/reference/model.md")
@why("It is never shown.", fix="Nothing to do.")
def slot_unused(model: MshModel) -> Iterator[Bad]:
    if model.legacy or not len(model.nodes):
        return
    used = np.zeros(len(model.slots), np.bool_)
    words = model.nodes["slot_index"].reshape(-1)
    used[words[words != NONE16]] = True
    yield Bad("no node uses the slot", _SLOTS, ~used)


@rule("slot-finite", "warning", "A slot's box and sphere are finite numbers, the radius not negative.")
@why(
    "The part is culled or hit at random.", fix="Convert to glTF, touch the part and convert back: bounds are computed."
)
def slot_finite(model: MshModel) -> Iterator[Bad]:
    slots = model.slots
    valid = np.isfinite(slots["sphere_radius"]) & (slots["sphere_radius"] >= 0)
    for field in ("aabb_min", "aabb_max", "sphere_center"):
        valid &= np.isfinite(slots[field]).all(axis=1)
    yield Bad("slot has no bounds", (_SLOTS, "aabb_min"), ~valid, slots["sphere_radius"], "finite")


def vertices_by_slot(model: MshModel) -> tuple[I64, I64]:
    """Return the vertices that each slot uses, slot by slot, and how many each uses."""
    slots, batches = model.slots, model.batches
    count = slots["batch_count"].astype(np.int64)
    row = ranges(slots["batch_start"].astype(np.int64), count)
    length = batches["index_count"].astype(np.int64)[row]
    at = ranges(batches["index_start"].astype(np.int64)[row], length)
    vertex = model.indices[at] + np.repeat(batches["base_vertex"].astype(np.int64)[row], length)
    total = np.concatenate([[0], np.cumsum(length)])
    ends = np.concatenate([[0], np.cumsum(count)])
    return np.asarray(vertex, np.int64), np.diff(total[ends])


class _Covered(NamedTuple):
    """What the slots that have vertices cover.

    Attributes:
        rows: (n,) those slots.
        corners: (n,) how many vertices each uses, with repetition.
        points: all of them, slot by slot.
        starts: (n,) where those of a slot start.
        low, high: (n, 3) their boxes.
        room: (n, 1) how far bounds may be off.
    """

    rows: I64
    corners: I64
    points: F64
    starts: I64
    low: F64
    high: F64
    room: F64

    def bad(self, model: MshModel, problem: str, field: str, broken: Bools, wanted: F64) -> Bad:
        """What is wrong with a field of some of them, and what it should be; both (n, ...)."""
        bad = np.zeros(len(model.slots), np.bool_)
        bad[self.rows] = broken
        expected = np.zeros((len(model.slots), *wanted.shape[1:]))
        expected[self.rows] = wanted
        return Bad(problem, (_SLOTS, field), bad, model.slots[field].astype(np.float64), expected)


def check_bounds(model: MshModel) -> Iterator[Finding]:
    """Yield slots whose bounds, area or volume are not those of their triangles."""
    vertex, count = vertices_by_slot(model)
    rows = np.flatnonzero(count)
    if not rows.size:
        return
    points = model.positions[vertex].astype(np.float64)
    starts = (np.cumsum(count) - count)[rows]
    low, high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
    room = _BOUNDS * (1e-3 + np.linalg.norm(high - low, axis=1))[:, None]
    covered = _Covered(rows, count[rows], points, starts, low, high, room)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is slot-finite
        yield from slot_box(model, covered)
        yield from slot_box_loose(model, covered)
        yield from slot_sphere(model, covered)
        yield from slot_volume(model, covered)
        if (count % 3 == 0).all():
            yield from slot_area(model, covered)


@rule("slot-box", "warning", "A slot's box contains its vertices.")
@why(
    "The part vanishes at the edge of the screen, or cannot be hit.",
    fix="Convert to glTF, touch the part and convert back: bounds are computed.",
)
def slot_box(model: MshModel, covered: _Covered) -> Iterator[Bad]:
    below, above = _outside(model, covered)
    problem = "slot's box does not contain its vertices"
    yield covered.bad(model, problem, "aabb_min", below, covered.low)
    yield covered.bad(model, problem, "aabb_max", above & ~below, covered.high)


def _outside(model: MshModel, covered: _Covered) -> tuple[Bools, Bools]:
    """Which boxes begin after their vertices, and which end before them."""
    box_low, box_high = _boxes(model, covered)
    below, above = covered.low >= box_low - covered.room, covered.high <= box_high + covered.room
    return np.asarray(~below.all(axis=1)), np.asarray(~above.all(axis=1))


def _boxes(model: MshModel, covered: _Covered) -> tuple[F64, F64]:
    low, high = (model.slots[key][covered.rows].astype(np.float64) for key in ("aabb_min", "aabb_max"))
    return low, high


@rule("slot-box-loose", "note", "A slot's box is the box of its vertices.")
@why("A larger box only costs time.", fix="Nothing to do.")
def slot_box_loose(model: MshModel, covered: _Covered) -> Iterator[Bad]:
    box_low, box_high = _boxes(model, covered)
    fits = ~np.logical_or(*_outside(model, covered))
    below = ~(covered.low <= box_low + covered.room).all(axis=1) & fits
    above = ~(covered.high >= box_high - covered.room).all(axis=1) & fits
    problem = "slot's box is larger than its vertices'"
    yield covered.bad(model, problem, "aabb_min", below, covered.low)
    yield covered.bad(model, problem, "aabb_max", above & ~below, covered.high)


@rule("slot-sphere", "warning", "A slot's sphere contains its vertices.")
@why(
    "The sphere is the broad phase: what lies outside cannot be hit.",
    fix="Convert to glTF, touch the part and convert back: bounds are computed.",
)
def slot_sphere(model: MshModel, covered: _Covered) -> Iterator[Bad]:
    slots = model.slots[covered.rows]
    center = np.repeat(slots["sphere_center"].astype(np.float64), covered.corners, axis=0)
    radius = np.maximum.reduceat(np.linalg.norm(covered.points - center, axis=1), covered.starts)
    far = ~(radius <= slots["sphere_radius"].astype(np.float64) + covered.room[:, 0])
    yield covered.bad(model, "sphere does not contain its vertices", "sphere_radius", far, radius)


@rule("slot-area", "note", "Word +48 of a slot is the surface area of its triangles.")
@why("Armour follows from it.", fix="Convert to glTF, touch the part and convert back.")
def slot_area(model: MshModel, covered: _Covered) -> Iterator[Bad]:
    sides = np.linalg.norm(cross_products(covered.points.reshape(-1, 3, 3)), axis=1)
    area = np.add.reduceat(sides / 2, covered.starts // 3)
    other = _differ(model.slots["area"][covered.rows], area)
    yield covered.bad(model, "word +48 is not the area of the triangles", "area", other, area)


@rule("slot-volume", "note", "Word +52 of a slot is the volume of its box.")
@why("Mass is density x volume.", fix="Convert to glTF, touch the part and convert back.")
def slot_volume(model: MshModel, covered: _Covered) -> Iterator[Bad]:
    low, high = _boxes(model, covered)
    volume = np.prod(high - low, axis=1)
    other = _differ(model.slots["volume"][covered.rows], volume)
    yield covered.bad(model, "word +52 is not the volume of the box", "volume", other, volume)


def _differ(stored: F32, computed: F64) -> Bools:
    off = np.abs(stored.astype(np.float64) - computed)
    return np.asarray(~(off <= _RATIO * np.abs(computed) + 1e-6))


rule = Rules("core model", "docs/reference/model.md#the-header")


def check_header(model: MshModel, decision: Decision) -> Iterator[Finding]:
    """Yield the findings about the header's bounds, which depend on the dialect."""
    findings = [*header_finite(model)]
    yield from findings
    if not findings:
        yield from header_corners(model)
        yield from header_flat(model, decision.dialect)
        yield from header_sphere(model, decision.dialect)
        yield from header_cylinder(model)
        yield from header_box(model, decision)


def _in_header(field: str = "hull") -> tuple[StreamType, int]:
    """Where a field of the header lies: before the slots."""
    return _SLOTS, field_offset(HEADER_DTYPE, field) - HEADER_DTYPE.itemsize


def _room(model: MshModel) -> float:
    corners = model.header[0]["hull"]
    return _ROUND * (1e-3 + float(np.linalg.norm(corners.max(axis=0) - corners.min(axis=0))))


@rule("header-finite", "warning", "The header's box, sphere and cylinder are finite numbers, radii not negative.")
@why("The model is culled or hit at random.", fix="Convert to glTF and back after a change: the header is computed.")
def header_finite(model: MshModel) -> Iterator[Bad]:
    header = model.header[0]
    floats = np.frombuffer(model.header.tobytes(), "<f4")
    radii = np.array([header["sphere_radius"], header["cylinder_radius"]])
    infinite = floats[~np.isfinite(floats)]
    if infinite.size or (radii < 0).any():
        value = infinite[0] if infinite.size else radii[0]
        yield Bad("header has no valid bounds", _in_header(), None, value, "finite")


@rule("header-corners", "warning", "The header's corners are a box in the stated order.")
@why("The bottom ring is used as a footprint.", fix="Convert to glTF and back after a change: the header is computed.")
def header_corners(model: MshModel) -> Iterator[Bad]:
    corners = model.header[0]["hull"]
    if not np.array_equal(corners, hull(corners.min(axis=0), corners.max(axis=0))):
        problem, lowest = "header's corners are not a box in the usual order", corners.min(axis=0).tolist()
        yield Bad(problem, _in_header(), None, corners[0].tolist(), lowest)


@rule("header-flat", "warning", "The header's box is not flat, nor its sphere a point.")
@why(
    "The model is culled while it is in view, and cannot be hit.",
    fix="Convert to glTF and back after a change: the header is computed.",
)
def header_flat(model: MshModel, dialect: Dialect) -> Iterator[Bad]:
    points = posed_at_rest(model).get(dialect)
    if points is None or not len(points):
        return
    header, extent = model.header[0], np.ptp(points, axis=0)
    thick = np.ptp(header["hull"].astype(np.float64), axis=0)
    least = _ROUND * float(extent.max())
    if ((extent > least) & (thick == 0)).any():
        problem = "header's box is flat, the geometry is not"
        yield Bad(problem, _in_header(), None, *(size.round(6).tolist() for size in (thick, extent)))
    if extent.max() > 0 and header["sphere_radius"] == 0:
        yield Bad("header's sphere has no size", _in_header("sphere_radius"), None, 0, "a radius")


@rule("header-box", "note", "The header's box fits the geometry at rest.")
@why(
    "The model is culled too early or too late; the dialect cannot be read off it.",
    fix="Convert to glTF and back after a change: the header is computed.",
)
def header_box(model: MshModel, decision: Decision) -> Iterator[Bad]:
    least = min(decision.box_error.values(), default=0.0)
    if least > _BOX:
        problem, value = "header's box does not fit the geometry at rest", f"off by {least:.2g} of its diagonal"
        yield Bad(problem, _in_header(), None, value, f"at most {_BOX}")


@rule("header-sphere", "note", "The header's sphere contains the geometry at rest.")
@why("It is the collision radius.", fix="Convert to glTF and back after a change: the header is computed.")
def header_sphere(model: MshModel, dialect: Dialect) -> Iterator[Bad]:
    header = model.header[0]
    points = posed_at_rest(model).get(dialect)
    if points is None:
        return
    center, radius = header["sphere_center"].astype(np.float64), float(header["sphere_radius"])
    needed = float(np.linalg.norm(points - center, axis=1).max())
    if not needed <= radius + _room(model):
        problem = "header's sphere does not contain the geometry at rest"
        yield Bad(problem, _in_header("sphere_center"), None, radius, f"{needed:g}")


@rule("header-cylinder", "note", "The header's cylinder encloses its box along the axis of the smallest volume.")
@why(
    "Collision is looser or tighter than the box.",
    fix="Convert to glTF and back after a change: the header is computed.",
)
def header_cylinder(model: MshModel) -> Iterator[Bad]:
    header, room = model.header[0], _room(model)
    wanted = bounding_header(header["hull"].astype(np.float64))[0]
    for field in ("cylinder_a", "cylinder_b", "cylinder_radius"):
        if not (np.abs(header[field].astype(np.float64) - wanted[field]) <= room).all():
            problem, place = "header's cylinder is not the one around its box", _in_header("cylinder_a")
            yield Bad(problem, place, None, header[field].tolist(), wanted[field].tolist())
            return
