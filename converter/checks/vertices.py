"""The vertices of a core model: positions, vertex streams, what uses them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..findings import Finding, Rule, about_table, first_bad
from ..formats.model import TABLES, MshModel, StreamType
from ..numeric.arrays import NONE16, ranges
from ..scene.scene import MAX_COORDINATE
from .places import in_table
from .slots import vertices_by_slot

_rule = partial(Rule, "core model", source="docs/reference/model.md#vertex-streams")

VERTEX_FINITE = _rule(
    "vertex-finite",
    "error",
    "Positions are finite numbers of at most 1e12.",
    source="docs/reference/model.md#res3-positions",
    why="glTF cannot hold infinity or NaN, and every bound that has such a point is void.",
    fix="Move the vertex in the tool that wrote it.",
    drops="the triangles of the vertex",
)
VERTEX_COUNT = _rule(
    "vertex-count",
    "error",
    "Every vertex stream has at least one record per vertex.",
    why="The runtime indexes all streams with one number: it would read past the end.",
    fix="The table was cut: take it from a backup.",
    drops="the stream of those vertices: zeros, normals that point up",
)
VERTEX_EXTRA = _rule(
    "vertex-extra",
    "warning",
    "No vertex stream has more records than there are vertices.",
    why="The rest is never read; perhaps positions are missing.",
    fix="Convert to glTF and back without the sidecar.",
)


def check_vertex_tables(model: MshModel) -> Iterator[Finding]:
    """Yield positions that are not finite, and streams of another length."""
    count = len(model.positions)
    yield from first_bad(
        VERTEX_FINITE,
        ~(np.abs(model.positions) <= MAX_COORDINATE),
        "position is not finite, or too large",
        in_table(model, StreamType.POSITIONS),
        model.positions,
        f"at most {MAX_COORDINATE:g}",
    )
    for stream, table in model.streams.items():
        spec = TABLES[stream]
        if spec.per_vertex and len(table) != count:
            rule = VERTEX_COUNT if len(table) < count else VERTEX_EXTRA
            place = in_table(model, spec.stream)
            found = about_table(rule, "not one record per vertex", place, len(table), count)
            yield replace(found, rows=np.arange(len(table), count))


VERTEX_UNREACHED = _rule(
    "vertex-unreached", "note", "Every vertex is used by a batch.", why="It is never drawn.", fix="Nothing to do."
)
VERTEX_SHARED = _rule(
    "vertex-shared",
    "note",
    "A vertex is used by one node's slots only.",
    why="Moving it moves parts of two nodes; other tools may not expect that.",
    fix="Nothing to do.",
)


def check_vertex_use(model: MshModel) -> Iterator[Finding]:
    """Yield vertices that no batch uses, or that two nodes use."""
    count, batches = len(model.positions), model.batches
    place = in_table(model, StreamType.POSITIONS)
    length = batches["index_count"].astype(np.int64)
    at = ranges(batches["index_start"].astype(np.int64), length)
    vertex = model.indices[at] + np.repeat(batches["base_vertex"].astype(np.int64), length)
    used = np.zeros(count, np.bool_)
    used[vertex] = True
    yield from first_bad(VERTEX_UNREACHED, ~used, "no batch uses the vertex", place)
    if model.legacy or not len(model.nodes):
        return
    words = model.nodes["slot_index"].reshape(len(model.nodes), -1)
    node, column = np.nonzero(words != NONE16)
    slot = words[node, column]
    first = np.full(len(model.slots), len(model.nodes))
    last = np.full(len(model.slots), -1)
    np.minimum.at(first, slot, node)
    np.maximum.at(last, slot, node)
    corner, corners = vertices_by_slot(model)
    low, high = np.full(count, len(model.nodes)), np.full(count, -1)
    np.minimum.at(low, corner, np.repeat(first, corners))
    np.maximum.at(high, corner, np.repeat(last, corners))
    yield from first_bad(
        VERTEX_SHARED, low < high, "vertex belongs to two nodes", place, np.stack([low, high], axis=1), "one node"
    )
