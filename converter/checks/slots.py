"""The slots of a core model: ranges, bounds, area and volume."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..findings import Finding, Rule, first_bad
from ..formats.model import TABLES, MshModel, StreamType
from ..numeric.arrays import NONE16, Bools, Floats, Ints, cross_products, max_uses, ranges
from .places import in_table

_rule = partial(Rule, "core model", source="docs/reference/model.md#slots")

#: How far bounds may be off, over the size of the box: the rounding of binary32.
_BOUNDS = 1e-4
#: How far area and volume may be off, over their size.
_RATIO = 1e-2


def check_slots(model: MshModel) -> Iterator[Finding]:
    """Yield slots whose ranges leave their tables."""
    yield from _batches(model)
    yield from _triangles(model)


def check_slots_further(model: MshModel) -> Iterator[Finding]:
    """Yield slots whose own numbers are unusual; their ranges must be valid."""
    yield from _finite(model)
    yield from _cover(model)


SLOT_BATCHES = _rule(
    "slot-batches",
    "error",
    "A slot's batches lie inside Res13.",
    why="The runtime would read past the batches.",
    fix="Correct batchStart and batchCount.",
    drops="the slot",
)


def _batches(model: MshModel) -> Iterator[Finding]:
    slots, most = model.slots, len(model.batches)
    end = slots["batch_start"].astype(np.int64) + slots["batch_count"]
    yield from first_bad(
        SLOT_BATCHES,
        end > most,
        "slot's batches run past the table",
        in_table(model, StreamType.SLOTS, "batch_start"),
        end,
        f"at most {most}",
    )


MODEL_REUSE = _rule(
    "model-reuse",
    "error",
    "Slots, batches, nodes and animated frames use the rows of their tables at most 16 times on "
    "average, or 1,048,576 rows in all.",
    source="docs/limits.md",
    why="A small file could be made to look like a huge one, and exhaust memory and time.",
    fix="Give every slot batches and every batch indices of its own.",
)


def check_reuse(model: MshModel) -> Iterator[Finding]:
    """Yield the first table whose rows are used too often: work is bounded by the file's size."""
    for stream, what, number, rows in _uses(model):
        if number > max_uses(rows):
            yield Finding(
                MODEL_REUSE,
                f"{what} too often",
                TABLES[stream].label,
                value=number,
                expected=f"at most {max_uses(rows)}",
            )
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


SLOT_TRIANGLES = _rule(
    "slot-triangles",
    "error",
    "A slot's triangles lie inside Res7.",
    why="Collision would read past the descriptors.",
    fix="Correct triStart and triCount.",
    drops="the slot's descriptors",
)


def _triangles(model: MshModel) -> Iterator[Finding]:
    if model.triangles is None:
        return
    slots, most = model.slots, len(model.triangles)
    end = slots["tri_start"].astype(np.int64) + slots["tri_count"]
    yield from first_bad(
        SLOT_TRIANGLES,
        end > most,
        "slot's triangles run past the table",
        in_table(model, StreamType.SLOTS, "tri_start"),
        end,
        f"at most {most}",
    )


SLOT_COVER = _rule(
    "slot-cover",
    "warning",
    "A slot's batches cover its triangles exactly: triStart is the first batch's indexStart / 3.",
    why="What is hit is not what is drawn.",
    fix="Convert to glTF, touch the part and convert back: the slot is rebuilt.",
)


def _cover(model: MshModel) -> Iterator[Finding]:
    slots, batches = model.slots, model.batches
    if model.triangles is None or not len(slots):
        return
    first, count, tri_start, tri_count = (
        slots[key].astype(np.int64) for key in ("batch_start", "batch_count", "tri_start", "tri_count")
    )
    ends = np.concatenate([[0], np.cumsum(batches["index_count"], dtype=np.int64)])
    length = ends[first + count] - ends[first]
    starts = np.append(batches["index_start"], 0)[np.minimum(first, len(batches))]
    start = np.where(count > 0, starts, tri_start * 3)
    yield from first_bad(
        SLOT_COVER,
        (tri_start * 3 != start) | (tri_count * 3 != length),
        "slot's triangles are not its batches'",
        in_table(model, StreamType.SLOTS, "tri_start"),
        np.stack([tri_start, tri_count], axis=1),
        np.stack([start // 3, length // 3], axis=1),
    )


SLOT_UNUSED = _rule(
    "slot-unused",
    "note",
    "Every slot is used by a node.",
    source="docs/reference/model.md",
    why="It is never shown.",
    fix="Nothing to do.",
)


def check_unused_slots(model: MshModel) -> Iterator[Finding]:
    """Yield slots that no node uses."""
    if model.legacy or not len(model.nodes):
        return
    used = np.zeros(len(model.slots), np.bool_)
    words = model.nodes["slot_index"].reshape(-1)
    used[words[words != NONE16]] = True
    place = in_table(model, StreamType.SLOTS)
    yield from first_bad(SLOT_UNUSED, ~used, "no node uses the slot", place)


SLOT_FINITE = _rule(
    "slot-finite",
    "warning",
    "A slot's box and sphere are finite numbers, the radius not negative.",
    why="The part is culled or hit at random.",
    fix="Convert to glTF, touch the part and convert back: bounds are computed.",
)


def _finite(model: MshModel) -> Iterator[Finding]:
    slots = model.slots
    valid = np.isfinite(slots["sphere_radius"]) & (slots["sphere_radius"] >= 0)
    for field in ("aabb_min", "aabb_max", "sphere_center"):
        valid &= np.isfinite(slots[field]).all(axis=1)
    yield from first_bad(
        SLOT_FINITE,
        ~valid,
        "slot has no bounds",
        in_table(model, StreamType.SLOTS, "aabb_min"),
        slots["sphere_radius"],
        "finite",
    )


def vertices_by_slot(model: MshModel) -> tuple[Ints, Ints]:
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


SLOT_BOX = _rule(
    "slot-box",
    "warning",
    "A slot's box contains its vertices.",
    why="The part vanishes at the edge of the screen, or cannot be hit.",
    fix="Convert to glTF, touch the part and convert back: bounds are computed.",
)
SLOT_BOX_LOOSE = _rule(
    "slot-box-loose",
    "note",
    "A slot's box is the box of its vertices.",
    why="A larger box only costs time.",
    fix="Nothing to do.",
)
SLOT_SPHERE = _rule(
    "slot-sphere",
    "warning",
    "A slot's sphere contains its vertices.",
    why="The sphere is the broad phase: what lies outside cannot be hit.",
    fix="Convert to glTF, touch the part and convert back: bounds are computed.",
)
SLOT_AREA = _rule(
    "slot-area",
    "note",
    "Word +48 of a slot is the surface area of its triangles.",
    why="Armour follows from it.",
    fix="Convert to glTF, touch the part and convert back.",
)
SLOT_VOLUME = _rule(
    "slot-volume",
    "note",
    "Word +52 of a slot is the volume of its box.",
    why="Mass is density x volume.",
    fix="Convert to glTF, touch the part and convert back.",
)


def check_bounds(model: MshModel) -> Iterator[Finding]:
    """Yield slots whose bounds, area or volume are not those of their triangles."""
    slots = model.slots
    vertex, count = vertices_by_slot(model)
    rows = np.flatnonzero(count)
    if not rows.size:
        return
    points = model.positions[vertex].astype(np.float64)
    starts = (np.cumsum(count) - count)[rows]
    low = np.minimum.reduceat(points, starts)
    high = np.maximum.reduceat(points, starts)
    box_low, box_high = (slots[k][rows].astype(np.float64) for k in ("aabb_min", "aabb_max"))
    room = _BOUNDS * (1e-3 + np.linalg.norm(high - low, axis=1))[:, None]
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is slot-finite
        outside = ~((low >= box_low - room) & (high <= box_high + room)).all(axis=1)
        loose = ~((low <= box_low + room) & (high >= box_high - room)).all(axis=1) & ~outside
        center = np.repeat(slots["sphere_center"][rows].astype(np.float64), count[rows], axis=0)
        radius = np.maximum.reduceat(np.linalg.norm(points - center, axis=1), starts)
        far = ~(radius <= slots["sphere_radius"][rows].astype(np.float64) + room[:, 0])
        volume = np.prod(box_high - box_low, axis=1)
        other = _differ(slots["volume"][rows], volume)
        found: list[tuple[Rule, str, str, Bools, Floats]] = [
            (SLOT_BOX, "slot's box does not contain its vertices", "aabb_min", outside, low),
            (SLOT_BOX_LOOSE, "slot's box is larger than its vertices'", "aabb_min", loose, low),
            (SLOT_SPHERE, "sphere does not contain its vertices", "sphere_radius", far, radius),
            (SLOT_VOLUME, "word +52 is not the volume of the box", "volume", other, volume),
        ]
        if (count % 3 == 0).all():
            sides = np.linalg.norm(cross_products(points.reshape(-1, 3, 3)), axis=1)
            area = np.add.reduceat(sides / 2, starts // 3)
            problem = "word +48 is not the area of the triangles"
            other = _differ(slots["area"][rows], area)
            found.append((SLOT_AREA, problem, "area", other, area))
        for rule, problem, field, bad, wanted in found:
            broken = np.zeros(len(slots), np.bool_)
            broken[rows] = bad
            expected = np.zeros((len(slots), *wanted.shape[1:]))
            expected[rows] = wanted
            place = in_table(model, StreamType.SLOTS, field)
            stored = slots[field].astype(np.float64)
            yield from first_bad(rule, broken, problem, place, stored, expected)


def _differ(stored: NDArray[np.float32], computed: Floats) -> Bools:
    off = np.abs(stored.astype(np.float64) - computed)
    return np.asarray(~(off <= _RATIO * np.abs(computed) + 1e-6))
