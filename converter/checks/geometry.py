"""Invariants of slots, batches and triangles (``evidence`` page, Core models)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..findings import Finding
from ..formats.model import MshModel
from ..formats.tables import TABLES, StreamType
from ..numeric.adjacency import NO_EDGE
from ..numeric.arrays import MAX_USES, NONE16, cross_products, ranges
from .model_structure import check_links, findings_at

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: How far bounds may be off, over the size of the box: what binary32 rounds.
_BOUNDS = 1e-4
#: How far area and volume may be off, over their size.
_SHARE = 1e-2
#: How far a packed normal's length may be from 1, and the least cosine to the real one.
_LENGTH, _ALONG = 1e-2, 0.99


def check_geometry(model: MshModel) -> list[Finding]:
    """Findings about slots, batches, triangles and vertices of a sound model."""
    findings = [*_slot_numbers(model), *_batches(model), *_descriptors(model), *check_links(model)]
    if _bounded(model):
        findings += [*_slots(model), *_vertices(model), *_normals(model)]
    return findings


def _bounded(model: MshModel) -> bool:
    """Whether ranges are used so seldom that what they reach is not much larger than the file."""
    batches, slots = model.batches, model.slots
    rows = int(slots["batch_count"].astype(np.int64).sum())
    if rows > MAX_USES * (len(batches) + 1):
        return False
    at = ranges(slots["batch_start"].astype(np.int64), slots["batch_count"].astype(np.int64))
    indices = batches["index_count"].astype(np.int64)
    most = MAX_USES * (len(model.indices) + 1)
    return int(indices.sum()) <= most and int(indices[at].sum()) <= most


def _slot_numbers(model: MshModel) -> Iterator[Finding]:
    """What a slot says of itself."""
    slots, batches = model.slots, model.batches
    bounds = ("aabb_min", "aabb_max", "sphere_center")
    sound = np.isfinite(slots["sphere_radius"]) & (slots["sphere_radius"] >= 0)
    for field in bounds:
        sound &= np.isfinite(slots[field]).all(axis=1)
    yield from findings_at(
        model, StreamType.SLOTS, ~sound, "slot-finite", "slot has no bounds",
        slots["sphere_radius"], "finite", "aabb_min",
    )  # fmt: skip
    if model.triangles is None or not len(slots):
        return
    first, count = (slots[k].astype(np.int64) for k in ("batch_start", "batch_count"))
    ends = np.concatenate([[0], np.cumsum(batches["index_count"], dtype=np.int64)])
    length = ends[first + count] - ends[first]
    starts = np.append(batches["index_start"], 0)[np.minimum(first, len(batches))]
    start = np.where(count > 0, starts, slots["tri_start"].astype(np.int64) * 3)
    covered = (slots["tri_start"].astype(np.int64) * 3 == start) & (
        slots["tri_count"].astype(np.int64) * 3 == length
    )
    yield from findings_at(
        model, StreamType.SLOTS, ~covered, "slot-cover", "slot's triangles are not its batches'",
        np.stack([slots["tri_start"], slots["tri_count"]], axis=1),
        np.stack([start // 3, length // 3], axis=1), "tri_start",
    )  # fmt: skip


def _batches(model: MshModel) -> Iterator[Finding]:
    batches = model.batches
    start = batches["index_start"].astype(np.int64)
    end = start + batches["index_count"]
    wanted = np.concatenate([[0], end[:-1]])
    bad = start != wanted
    yield from findings_at(
        model, StreamType.BATCHES, bad, "batch-tile", "batch does not follow the one before",
        start, wanted, "index_start",
    )  # fmt: skip
    if not bad.any() and len(end) and end[-1] != len(model.indices):
        yield Finding(
            "batch-tile", "batches do not reach the end of the indices",
            TABLES[StreamType.INDICES].label, int(end[-1]),
            model.offset_of(StreamType.INDICES, int(end[-1])), int(end[-1]), len(model.indices),
        )  # fmt: skip
    last = batches["base_vertex"].astype(np.int64) + batches["window"]
    yield from findings_at(
        model, StreamType.BATCHES, last > len(model.positions), "batch-window-end",
        "window reaches past the vertices", last, f"at most {len(model.positions)}", "window",
    )  # fmt: skip


def _descriptors(model: MshModel) -> Iterator[Finding]:
    if model.triangles is None:
        return
    triangles = model.triangles
    if 3 * len(triangles) != len(model.indices):
        yield Finding(
            "triangle-count", "not one descriptor per index triple",
            TABLES[StreamType.TRIANGLES].label, None, model.offset_of(StreamType.TRIANGLES),
            len(triangles), f"{len(model.indices) / 3:g}",
        )  # fmt: skip
    edge = triangles["selectors"][:, None] >> np.array([0, 2, 4]) & 3
    bad = ((triangles["link"] == NONE16) != (edge == NO_EDGE)).any(axis=1)
    yield from findings_at(
        model, StreamType.TRIANGLES, bad, "triangle-selector",
        "edge selector does not fit its link", edge, "3 exactly where there is no neighbour",
        "selectors",
    )  # fmt: skip
    length = np.sqrt((triangles["normal"].astype(np.float64) ** 2).sum(axis=1)) / 32767
    yield from findings_at(
        model, StreamType.TRIANGLES, np.abs(length - 1) > _LENGTH, "triangle-unit",
        "normal is not of unit length", length, "1", "normal",
    )  # fmt: skip


def _corners(model: MshModel) -> tuple[Ints, Ints]:
    """Vertices that each slot reaches, slot by slot, and how many each slot has."""
    slots, batches = model.slots, model.batches
    count = slots["batch_count"].astype(np.int64)
    row = ranges(slots["batch_start"].astype(np.int64), count)
    length = batches["index_count"].astype(np.int64)[row]
    at = ranges(batches["index_start"].astype(np.int64)[row], length)
    vertex = model.indices[at] + np.repeat(batches["base_vertex"].astype(np.int64)[row], length)
    total = np.concatenate([[0], np.cumsum(length)])
    ends = np.concatenate([[0], np.cumsum(count)])
    return np.asarray(vertex, np.int64), np.diff(total[ends])


def _slots(model: MshModel) -> Iterator[Finding]:
    """Bounds, area and volume against what the slot reaches."""
    slots = model.slots
    vertex, count = _corners(model)
    some = np.flatnonzero(count)
    if not some.size:
        return
    points = model.positions[vertex].astype(np.float64)
    starts = (np.cumsum(count) - count)[some]
    low = np.minimum.reduceat(points, starts)
    high = np.maximum.reduceat(points, starts)
    box_low, box_high = (slots[k][some].astype(np.float64) for k in ("aabb_min", "aabb_max"))
    room = _BOUNDS * (1e-3 + np.linalg.norm(high - low, axis=1))[:, None]

    def found(code: str, bad: Any, problem: str, value: Any, expected: Any, field: str) -> Any:
        rows = np.zeros(len(slots), np.bool_)
        rows[some] = bad
        shown, wanted = (_spread(v, some, len(slots)) for v in (value, expected))
        return findings_at(model, StreamType.SLOTS, rows, code, problem, shown, wanted, field)

    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite was said
        outside = ~((low >= box_low - room) & (high <= box_high + room)).all(axis=1)
        loose = ~((low <= box_low + room) & (high >= box_high - room)).all(axis=1)
        yield from found(
            "slot-box", outside, "slot's box does not contain its vertices", box_low, low,
            "aabb_min",
        )  # fmt: skip
        yield from found(
            "slot-box-loose", loose & ~outside, "slot's box is larger than its vertices'",
            box_low, low, "aabb_min",
        )  # fmt: skip
        center = np.repeat(slots["sphere_center"][some].astype(np.float64), count[some], axis=0)
        reach = np.maximum.reduceat(np.linalg.norm(points - center, axis=1), starts)
        radius = slots["sphere_radius"][some].astype(np.float64)
        yield from found(
            "slot-sphere", ~(reach <= radius + room[:, 0]), "sphere does not contain its vertices",
            radius, reach, "sphere_radius",
        )  # fmt: skip
        volume = np.prod(box_high - box_low, axis=1)
        stored = slots["volume"][some].astype(np.float64)
        yield from found(
            "slot-volume", ~_same(stored, volume), "word +52 is not the volume of the box",
            stored, volume, "volume",
        )  # fmt: skip
        if (count % 3 == 0).all():
            corners = points.reshape(-1, 3, 3)
            sides = cross_products(corners)
            area = np.add.reduceat(np.linalg.norm(sides, axis=1) / 2, starts // 3)
            stored = slots["area"][some].astype(np.float64)
            yield from found(
                "slot-area", ~_same(stored, area), "word +48 is not the area of the triangles",
                stored, area, "area",
            )  # fmt: skip


def _spread(values: Any, rows: Ints, count: int) -> Any:
    out = np.zeros((count, *values.shape[1:]), values.dtype)
    out[rows] = values
    return out


def _same(stored: Floats, computed: Floats) -> Any:
    return np.abs(stored - computed) <= _SHARE * np.abs(computed) + 1e-6


def _vertices(model: MshModel) -> Iterator[Finding]:
    count = len(model.positions)
    batches = model.batches
    length = batches["index_count"].astype(np.int64)
    at = ranges(batches["index_start"].astype(np.int64), length)
    vertex = model.indices[at] + np.repeat(batches["base_vertex"].astype(np.int64), length)
    reached = np.zeros(count, np.bool_)
    reached[vertex] = True
    yield from findings_at(
        model, StreamType.POSITIONS, ~reached, "vertex-unreached", "no batch reaches the vertex",
        None, None,
    )  # fmt: skip
    if model.legacy or not len(model.nodes):
        return
    words = model.nodes["slot_index"].reshape(len(model.nodes), -1)
    node, column = np.nonzero(words != NONE16)
    slot = words[node, column]
    first = np.full(len(model.slots), len(model.nodes))
    last = np.full(len(model.slots), -1)
    np.minimum.at(first, slot, node)
    np.maximum.at(last, slot, node)
    corner, corners = _corners(model)
    low, high = np.full(count, len(model.nodes)), np.full(count, -1)
    np.minimum.at(low, corner, np.repeat(first, corners))
    np.maximum.at(high, corner, np.repeat(last, corners))
    yield from findings_at(
        model, StreamType.POSITIONS, low < high, "vertex-shared", "vertex belongs to two nodes",
        np.stack([low, high], axis=1), "one node",
    )  # fmt: skip


def _normals(model: MshModel) -> Iterator[Finding]:
    """Descriptor and vertex normals against the winding."""
    batches, triangles = model.batches, model.triangles
    whole = (batches["index_count"] % 3 == 0) & (batches["index_start"] % 3 == 0)
    start, length = (batches[k][whole].astype(np.int64) for k in ("index_start", "index_count"))
    at = ranges(start, length)
    base = np.repeat(batches["base_vertex"][whole].astype(np.int64), length)
    vertex = (model.indices[at] + base).reshape(-1, 3)
    if not len(vertex):
        return
    points = model.positions[vertex].astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        side = cross_products(points)
        size = np.linalg.norm(side, axis=1)
        real = size > 1e-6 * np.square(np.abs(points - points[:, :1]).max(axis=(1, 2)))
        side = side / size[:, None]
    row = at[::3] // 3
    if triangles is not None and len(triangles):
        inside = real & (row < len(triangles))
        normal = triangles["normal"][row[inside]].astype(np.float64)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1)[:, None]
        bad = np.zeros(len(triangles), np.bool_)
        bad[row[inside]] = (normal * side[inside]).sum(axis=1) < _ALONG
        yield from findings_at(
            model, StreamType.TRIANGLES, bad, "triangle-normal",
            "normal does not point along the winding", triangles["normal"], None, "normal",
        )  # fmt: skip
    if model.normals is not None and real.any():
        mean = model.normals[vertex, :3].astype(np.float64).sum(axis=1)
        against = (mean * side).sum(axis=1)[real] < 0
        if 2 * int(against.sum()) > len(against):
            yield Finding(
                "triangle-winding", "winding does not agree with the vertex normals",
                TABLES[StreamType.INDICES].label, None, model.offset_of(StreamType.INDICES),
                f"{int(against.sum())} of {len(against)} triangles", "few", count=1,
            )  # fmt: skip
