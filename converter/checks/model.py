"""Core models: the directory, vertices and nodes, and the order of all checks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import printable
from ..findings import Bad, Finding, without_errors
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.tables import GROUP_COUNT, LOD_COUNT, Presence, TableSpec
from ..numeric.arrays import MAX_USES, NONE16, beyond, largest_known, ranges
from ..numeric.pose import parents_first
from ..scene.dialect import Decision
from ..scene.scene import MAX_COORDINATE
from . import DIRECTORY, Rules, run, why
from .animation import check_animation, check_keys
from .model_bounds import (
    check_bounds,
    check_header,
    model_reuse,
    slot_batches,
    slot_cover,
    slot_finite,
    slot_triangles,
    slot_unused,
    vertices_by_slot,
)
from .model_tables import (
    batch_tile,
    batch_window,
    batch_window_end,
    check_batches,
    check_descriptors,
    check_graph,
    check_names,
    check_normals,
    check_strings,
    string_nul,
    triangle_link,
    triangle_mutual,
)

#: Tables whose attr2 has a meaning, or about which nothing is known.
_OTHER_ATTR2 = {1, 9, 17, 19, 20}
#: Tables whose attr1 is not known to be a number of records.
_OTHER_ATTR1 = {9, 17, 20}


def require_valid(model: MshModel) -> list[Finding]:
    """Return the model's findings, none of them an error. Raises ConversionError: the first error finding."""
    return without_errors(check_model(model), model.archive.label, entry_name(model))


def entry_name(model: MshModel) -> str | None:
    """Return what messages call the entry that a model was read from."""
    return None if model.entry is None else printable(model.entry)


def check_model(model: MshModel) -> list[Finding]:
    """Return the findings about what conversion relies on, in the order of the tables.

    Where rows are used so often that looking at them would take long, only that is reported.
    """
    findings = [*model.cut, *check_entries(model), *(reuse := [*model_reuse(model)])]
    if reuse:
        return findings
    return [
        *findings,
        *run(model, check_vertex_tables, _nodes, slot_batches, slot_triangles, check_batches, triangle_link),
        *run(model, check_keys, check_strings),
    ]


def check_model_further(model: MshModel, decision: Decision) -> list[Finding]:
    """Return the findings about what conversion does not need; ``model``: one without errors, of a decided dialect."""
    return [
        *run(model, check_attributes, _nodes_further, slot_unused, string_nul, check_names, check_graph),
        *check_header(model, decision),
        *run(model, check_animation, check_geometry),
    ]


def check_geometry(model: MshModel) -> list[Finding]:
    """Return the further findings about slots, batches, triangles and vertices."""
    findings = [
        *run(model, slot_finite, slot_cover, batch_tile, batch_window_end, check_descriptors, triangle_mutual),
        *batch_window(model),
    ]
    if _bounded(model):
        findings += [*check_bounds(model), *vertex_unreached(model), *vertex_shared(model), *check_normals(model)]
    return findings


def _bounded(model: MshModel) -> bool:
    """Whether ranges are used so seldom that what they cover is not much larger than the file."""
    batches, slots = model.batches, model.slots
    rows = int(slots["batch_count"].astype(np.int64).sum())
    if rows > MAX_USES * (len(batches) + 1):
        return False
    at = ranges(slots["batch_start"].astype(np.int64), slots["batch_count"].astype(np.int64))
    indices = batches["index_count"].astype(np.int64)
    most = MAX_USES * (len(model.indices) + 1)
    return int(indices.sum()) <= most and int(indices[at].sum()) <= most


rule = Rules("core model", "docs/reference/model.md#the-tables")


def check_entries(model: MshModel) -> Iterator[Finding]:
    """Yield unknown, duplicate and unusual entries, and tables that are usually present."""
    seen: set[int] = set()
    for row, entry in enumerate(model.archive.entries):
        spec = TABLES.get(entry.type_id)
        if spec is None:
            yield from entry_unknown(model, row)
        elif entry.type_id in seen:
            yield from entry_twice(model, row, spec)
        else:
            yield from entry_attr3(model, row, spec)
        seen.add(entry.type_id)
    yield from table_missing(model, seen)


@rule("table-missing", "warning", "A core model has tables 4, 5, 7 and 10.")
@why(
    "They are usually required; the engine's fallback is not known.",
    fix="Convert to glTF and back without the sidecar: all tables are made.",
)
def table_missing(model: MshModel, present: set[int]) -> Iterator[Bad]:
    for spec in TABLES.values():
        if spec.presence is Presence.USUAL and spec.stream not in present:
            yield Bad(f"model has no {spec.label}", spec.label)


@rule("entry-unknown", "note", "The directory holds tables of known types.")
@why("Its purpose is not known; it is kept.", fix="Nothing to do.")
def entry_unknown(model: MshModel, row: int) -> Iterator[Bad]:
    entry = model.archive.entries[row]
    yield Bad(f"entry {printable(entry.name)} of unknown type is kept", DIRECTORY, row, entry.type_id)


@rule("entry-twice", "warning", "A type occurs once.", "docs/reference/nres.md#a-row-of-the-directory")
@why(
    "The game takes the first; the second is dead weight, or the one that was meant.",
    fix="Remove the one that is not wanted.",
)
def entry_twice(model: MshModel, row: int, spec: TableSpec) -> Iterator[Bad]:
    yield Bad(f"second {spec.label}; the first one counts", DIRECTORY, row)


def check_attributes(model: MshModel) -> Iterator[Finding]:
    """Yield the entries whose attributes are not those of their tables."""
    counts = {stream: len(table) for stream, table in model.streams.items()}
    counts[StreamType.STRINGS] = len(model.nodes)
    seen: set[int] = set()
    for row, entry in enumerate(model.archive.entries):
        spec = TABLES.get(entry.type_id)
        if spec is not None and entry.type_id not in seen:
            seen.add(entry.type_id)
            yield from entry_attr1(model, row, spec, counts.get(entry.type_id))
            yield from entry_attr2(model, row, spec)


@rule("entry-attr1", "warning", "attr1 is the number of records.")
@why(
    "The game may read the count from here instead of from the size.",
    fix="Convert to glTF and back; a rebuilt table gets its attributes.",
)
def entry_attr1(model: MshModel, row: int, spec: TableSpec, count: int | None) -> Iterator[Bad]:
    found = model.archive.entries[row].attr1
    if spec.stream not in _OTHER_ATTR1 and count is not None and found != count:
        yield Bad(f"attr1 of {spec.label} is not its count", (DIRECTORY, "attr1"), row, found, count)


@rule("entry-attr2", "note", "attr2 is 0 where it has no meaning (Res2 to Res7, 8, 10, 13, 15, 16, 18).")
@why("The files of the game have 0.", fix="Nothing to do.")
def entry_attr2(model: MshModel, row: int, spec: TableSpec) -> Iterator[Bad]:
    found = model.archive.entries[row].attr2
    if spec.stream not in _OTHER_ATTR2 and found:
        yield Bad(f"attr2 of {spec.label} is not 0", (DIRECTORY, "attr2"), row, found, 0)


@rule("entry-attr3", "warning", "attr3 is the table's stride or its constant (Res8: 4, Res10: 0).")
@why(
    "The game may step through the table with it.", fix="Convert to glTF and back; a rebuilt table gets its attributes."
)
def entry_attr3(model: MshModel, row: int, spec: TableSpec) -> Iterator[Bad]:
    found = model.archive.entries[row].attr3
    if found != spec.attr3 and not (model.legacy and spec.stream is StreamType.NODES):
        yield Bad(f"attr3 of {spec.label} is unusual", DIRECTORY, row, found, spec.attr3)


rule = Rules("core model", "docs/reference/model.md#vertex-streams")


def check_vertex_tables(model: MshModel) -> Iterator[Finding]:
    """Yield positions that are not finite, and streams of another length."""
    yield from vertex_finite(model)
    count = len(model.positions)
    for stream, table in model.streams.items():
        if TABLES[stream].per_vertex and len(table) != count:
            yield from (vertex_count if len(table) < count else vertex_extra)(model, stream, len(table))


@rule(
    "vertex-finite",
    "error",
    "Positions are finite numbers of at most 1e12.",
    "#res3-positions",
    drops="the triangles of the vertex",
)
@why(
    "glTF cannot hold infinity or NaN, and every bound that has such a point is void.",
    fix="Move the vertex in the tool that wrote it.",
)
def vertex_finite(model: MshModel) -> Iterator[Bad]:
    bad, expected = ~(np.abs(model.positions) <= MAX_COORDINATE), f"at most {MAX_COORDINATE:g}"
    yield Bad("position is not finite, or too large", StreamType.POSITIONS, bad, model.positions, expected)


@rule(
    "vertex-count",
    "error",
    "Every vertex stream has at least one record per vertex.",
    drops="the stream of those vertices: zeros, normals that point up",
)
@why(
    "The runtime indexes all streams with one number: it would read past the end.",
    fix="The table was cut: take it from a backup.",
)
def vertex_count(model: MshModel, stream: int, rows: int) -> Iterator[Bad]:
    count = len(model.positions)
    yield Bad("not one record per vertex", stream, None, rows, count, concerns=np.arange(rows, count))


@rule("vertex-extra", "warning", "No vertex stream has more records than there are vertices.")
@why("The rest is never read; perhaps positions are missing.", fix="Convert to glTF and back without the sidecar.")
def vertex_extra(model: MshModel, stream: int, rows: int) -> Iterator[Bad]:
    count = len(model.positions)
    yield Bad("not one record per vertex", stream, None, rows, count, concerns=np.arange(rows, count))


@rule("vertex-unreached", "note", "Every vertex is used by a batch.")
@why("It is never drawn.", fix="Nothing to do.")
def vertex_unreached(model: MshModel) -> Iterator[Bad]:
    batches = model.batches
    length = batches["index_count"].astype(np.int64)
    at = ranges(batches["index_start"].astype(np.int64), length)
    vertex = model.indices[at] + np.repeat(batches["base_vertex"].astype(np.int64), length)
    used = np.zeros(len(model.positions), np.bool_)
    used[vertex] = True
    yield Bad("no batch uses the vertex", StreamType.POSITIONS, ~used)


@rule("vertex-shared", "note", "A vertex is used by one node's slots only.")
@why("Moving it moves parts of two nodes; other tools may not expect that.", fix="Nothing to do.")
def vertex_shared(model: MshModel) -> Iterator[Bad]:
    nodes, count = len(model.nodes), len(model.positions)
    if model.legacy or not nodes:
        return
    words = model.nodes["slot_index"].reshape(nodes, -1)
    node, column = np.nonzero(words != NONE16)
    slot = words[node, column]
    first, last = np.full(len(model.slots), nodes), np.full(len(model.slots), -1)
    np.minimum.at(first, slot, node)
    np.maximum.at(last, slot, node)
    corner, corners = vertices_by_slot(model)
    low, high = np.full(count, nodes), np.full(count, -1)
    np.minimum.at(low, corner, np.repeat(first, corners))
    np.maximum.at(high, corner, np.repeat(last, corners))
    both = np.stack([low, high], axis=1)
    yield Bad("vertex belongs to two nodes", StreamType.POSITIONS, low < high, both, "one node")


rule = Rules("core model", "docs/reference/model.md#res1-nodes")


def _nodes(model: MshModel) -> Iterator[Finding]:
    """Nodes whose parents or slots do not exist."""
    yield from node_legacy(model)
    if not model.legacy:
        broken = [*node_parent(model)]
        yield from broken or node_cycle(model)
        yield from node_slot(model)


def _nodes_further(model: MshModel) -> Iterator[Finding]:
    """What is unusual about nodes and harmless to conversion."""
    yield from node_none(model)
    if len(model.nodes) and not model.legacy:
        yield from run(model, node_order, node_stage)


@rule("node-none", "warning", "A model has nodes.", "docs/reference/model.md")
@why("Slots are found through nodes: nothing is drawn.", fix="Add a node.")
def node_none(model: MshModel) -> Iterator[Bad]:
    if not len(model.nodes):
        yield Bad("model has no nodes: nothing is shown", TABLES[1].label)


@rule("node-legacy", "warning", "Nodes are records of 38 bytes.", "#legacy-nodes")
@why(
    "No reader of the stride-24 outlier is known: no hierarchy, poses or levels of detail.",
    fix="Nothing to do; a new model gets 38.",
)
def node_legacy(model: MshModel) -> Iterator[Bad]:
    if model.legacy:
        problem = "nodes have the legacy stride of 24 bytes: no hierarchy, poses or LODs are known, all "
        yield Bad(problem + "batches are shown in one node", TABLES[1].label)


@rule("node-parent", "error", "A parent is a node, or 0xFFFF.", drops="the parent: the node becomes a root")
@why("The runtime would read past the node table.", fix="Point it to a node, or to 0xFFFF.")
def node_parent(model: MshModel) -> Iterator[Bad]:
    count, parent = len(model.nodes), model.nodes["parent"]
    yield Bad("parent is not a node", (StreamType.NODES, "parent"), beyond(parent, count), parent, f"below {count}")


@rule("node-cycle", "error", "Parents lead to a root.", drops="the parent of the cycle's first node: it becomes a root")
@why("A pose cannot be computed; the runtime would not come back.", fix="Make one of the nodes a root.")
def node_cycle(model: MshModel) -> Iterator[Bad]:
    """Yield nodes of which no root is above; every parent must be a node."""
    count, above = len(model.nodes), parents_first(model.parents)
    looping = np.False_ if len(above) == count else ~np.isin(np.arange(count), above)
    yield Bad("parents form a cycle", (StreamType.NODES, "parent"), looping, model.nodes["parent"], "a root above")


@rule("node-order", "warning", "A parent comes before its children.")
@why(
    "The runtime may build its instances in one pass.",
    fix="Convert to glTF and back without the sidecar: parents come first.",
)
def node_order(model: MshModel) -> Iterator[Bad]:
    parent = model.nodes["parent"].astype(np.int64)
    bad = (parent != NONE16) & (parent >= np.arange(len(parent)))
    yield Bad("parent comes later", (StreamType.NODES, "parent"), bad, parent, "an earlier node")


@rule("node-slot", "error", "A slot index is a slot, or 0xFFFF.", drops="the slot index: the part is not shown")
@why("The runtime would read past the slots.", fix="Point it to a slot, or to 0xFFFF.")
def node_slot(model: MshModel) -> Iterator[Bad]:
    slot = model.nodes["slot_index"].reshape(len(model.nodes), LOD_COUNT * GROUP_COUNT)
    bad = beyond(slot, len(model.slots)).any(1)
    problem = "slot index is not a slot"
    expected = f"below {len(model.slots)}"
    yield Bad(problem, (StreamType.NODES, "slot_index"), bad, lambda row: largest_known(slot[row]), expected)


@rule(
    "node-stage", "note", "A later block of five slot indices is filled only if the earlier one is.", "#the-slot-matrix"
)
@why("The game steps through them in order.", fix="Fill the earlier block too.")
def node_stage(model: MshModel) -> Iterator[Bad]:
    filled = (model.nodes["slot_index"] != NONE16).any(axis=2)
    problem, expected = "block of slot indices is filled, the one before is not", "filled in order"
    yield Bad(problem, (StreamType.NODES, "slot_index"), (filled[:, 1:] & ~filled[:, :-1]).any(axis=1), None, expected)
