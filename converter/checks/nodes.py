"""The nodes of a core model: parents, slot indices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.tables import GROUP_COUNT, LOD_COUNT
from ..numeric.arrays import NONE16, beyond, largest_known
from ..numeric.pose import parents_first
from .places import in_table

_rule = partial(Rule, "core model", source="docs/reference/model.md#res1-nodes")

NODE_NONE = _rule(
    "node-none",
    "warning",
    "A model has nodes.",
    source="docs/reference/model.md",
    why="Slots are found through nodes: nothing is drawn.",
    fix="Add a node.",
)


def check_nodes_further(model: MshModel) -> Iterator[Finding]:
    """Yield what is unusual about nodes and harmless to conversion."""
    if not len(model.nodes):
        yield Finding(NODE_NONE, "model has no nodes: nothing is shown", TABLES[1].label)
    elif not model.legacy:
        yield from _order(model)
        yield from _stages(model)


NODE_LEGACY = _rule(
    "node-legacy",
    "warning",
    "Nodes are records of 38 bytes.",
    source="docs/reference/model.md#legacy-nodes",
    why="No reader of the stride-24 outlier is known: no hierarchy, poses or levels of detail.",
    fix="Nothing to do; a new model gets 38.",
)


def check_nodes(model: MshModel) -> Iterator[Finding]:
    """Yield nodes whose parents or slots do not exist."""
    if model.legacy:
        yield Finding(
            NODE_LEGACY,
            "nodes have the legacy stride of 24 bytes: no hierarchy, poses or LODs are known, all "
            "batches are shown in one node",
            TABLES[1].label,
        )
    else:
        yield from _parents(model)
        yield from _slot_indices(model)


NODE_PARENT = _rule(
    "node-parent",
    "error",
    "A parent is a node, or 0xFFFF.",
    why="The runtime would read past the node table.",
    fix="Point it to a node, or to 0xFFFF.",
    drops="the parent: the node becomes a root",
)
NODE_CYCLE = _rule(
    "node-cycle",
    "error",
    "Parents lead to a root.",
    why="A pose cannot be computed; the runtime would not come back.",
    fix="Make one of the nodes a root.",
    drops="the parent of the cycle's first node: it becomes a root",
)


def _parents(model: MshModel) -> Iterator[Finding]:
    count, parent = len(model.nodes), model.nodes["parent"]
    place = in_table(model, StreamType.NODES, "parent")
    bad = beyond(parent, count)
    yield from first_bad(NODE_PARENT, bad, "parent is not a node", place, parent, f"below {count}")
    if not np.count_nonzero(bad):
        above = parents_first(model.parents)
        looping = np.False_ if len(above) == count else ~np.isin(np.arange(count), above)
        yield from first_bad(NODE_CYCLE, looping, "parents form a cycle", place, parent, "a root above")


NODE_ORDER = _rule(
    "node-order",
    "warning",
    "A parent comes before its children.",
    why="The runtime may build its instances in one pass.",
    fix="Convert to glTF and back without the sidecar: parents come first.",
)


def _order(model: MshModel) -> Iterator[Finding]:
    parent = model.nodes["parent"].astype(np.int64)
    yield from first_bad(
        NODE_ORDER,
        (parent != NONE16) & (parent >= np.arange(len(parent))),
        "parent comes later",
        in_table(model, StreamType.NODES, "parent"),
        parent,
        "an earlier node",
    )


NODE_SLOT = _rule(
    "node-slot",
    "error",
    "A slot index is a slot, or 0xFFFF.",
    why="The runtime would read past the slots.",
    fix="Point it to a slot, or to 0xFFFF.",
    drops="the slot index: the part is not shown",
)


def _slot_indices(model: MshModel) -> Iterator[Finding]:
    slot = model.nodes["slot_index"].reshape(len(model.nodes), LOD_COUNT * GROUP_COUNT)
    yield from first_bad(
        NODE_SLOT,
        beyond(slot, len(model.slots)).any(1),
        "slot index is not a slot",
        in_table(model, StreamType.NODES, "slot_index"),
        lambda row: largest_known(slot[row]),
        f"below {len(model.slots)}",
    )


NODE_STAGE = _rule(
    "node-stage",
    "note",
    "A later block of five slot indices is filled only if the earlier one is.",
    source="docs/reference/model.md#the-slot-matrix",
    why="The game steps through them in order.",
    fix="Fill the earlier block too.",
)


def _stages(model: MshModel) -> Iterator[Finding]:
    filled = (model.nodes["slot_index"] != NONE16).any(axis=2)
    yield from first_bad(
        NODE_STAGE,
        (filled[:, 1:] & ~filled[:, :-1]).any(axis=1),
        "block of slot indices is filled, the one before is not",
        in_table(model, StreamType.NODES, "slot_index"),
        None,
        "filled in order",
    )
