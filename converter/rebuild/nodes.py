"""Nodes, key pool, frame map and names of a changed hierarchy (``rebuild`` page, Nodes, tracks)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..formats.model import MshModel
from ..formats.tables import KEY_DTYPE, NODE_DTYPE
from ..numeric.arrays import NONE16
from .key_reduction import Run, frame_map

Rows = NDArray[np.void]


@dataclass
class NodeEdit:
    """One node of the new hierarchy.

    Attributes:
        old: its row in the stored model, ``None`` for a new node.
        wanted: the row it would like, from its extras.
        parent: index in the list of edits, -1 = root.
        flags: hdr0.
        run: new keys; ``None`` keeps the stored ones.
        cells: (3, 5) slot per lod and group, 0xFFFF = none.
    """

    old: int | None
    wanted: int | None
    parent: int
    flags: int
    run: Run | None
    cells: NDArray[np.uint16]


def node_order(edits: list[NodeEdit]) -> list[int]:
    """Order of the new table: parents first; old nodes keep their order where that allows.

    Raises:
        ConversionError: parents form a cycle.
    """
    children: list[list[int]] = [[] for _ in edits]
    ready: list[tuple[int, int]] = []

    def rank(i: int) -> tuple[int, int]:
        wanted = edits[i].wanted
        return (wanted if wanted is not None else len(edits) + NONE16, i)

    for i, edit in enumerate(edits):
        if edit.parent < 0:
            heapq.heappush(ready, rank(i))
        else:
            children[edit.parent].append(i)
    order = []
    while ready:
        i = heapq.heappop(ready)[1]
        order.append(i)
        for child in children[i]:
            heapq.heappush(ready, rank(child))
    if len(order) != len(edits):
        raise ConversionError("nodes form a cycle")
    return order


@dataclass
class NodeTables:
    """Res1, Res8, Res19 and the timeline."""

    nodes: Rows
    keys: Rows
    frame_map: NDArray[np.uint16]
    frame_count: int


def build_nodes(
    edits: list[NodeEdit],
    order: list[int],
    model: MshModel | None,
    key_order: list[int],
) -> NodeTables:
    """The node tables of a changed hierarchy.

    Args:
        edits: every node.
        order: from ``node_order``.
        model: the stored model, whose key runs and maps are kept where no run is given.
        key_order: columns of a stored key quaternion in ``[w, x, y, z]`` order.

    Raises:
        ConversionError: more keys or map words than the format can address.
    """
    stored = _StoredRuns(model)
    row_of = {edit: row for row, edit in enumerate(order)}
    nodes = np.zeros(len(edits), NODE_DTYPE)
    pieces: list[Rows] = []
    runs: list[tuple[int, int]] = []
    last_frame = 0
    size = 0
    for row, i in enumerate(order):
        edit = edits[i]
        nodes["flags"][row] = edit.flags
        nodes["parent"][row] = NONE16 if edit.parent < 0 else row_of[edit.parent]
        nodes["slot_index"][row] = edit.cells
        if edit.run is None:
            assert edit.old is not None
            keys = stored.keys(edit.old)
            if stored.animated(edit.old) and len(keys):
                last_frame = max(last_frame, int(keys["time"][-1]))
        else:
            keys = _encoded(edit.run, key_order)
            if edit.run.animated:
                last_frame = max(last_frame, int(edit.run.frames[-1]))
        pieces.append(keys)
        runs.append((size, size + len(keys) - 1))
        size += len(keys)
    tail = stored.tail()
    keys = np.concatenate([*pieces, tail]) if pieces else tail
    if len(keys) > NONE16:
        raise ConversionError(
            "too many keys", value=len(keys), expected=f"at most {NONE16}",
            hint="a shorter timeline or fewer animated nodes",
        )  # fmt: skip
    nodes["fallback_key"] = [end for _, end in runs]
    frame_count = stored.timeline(last_frame + 1)
    animated = []
    for row, i in enumerate(order):
        run = edits[i].run
        if run.animated if run is not None else stored.animated(edits[i].old):
            animated.append(row)
    blocks: list[NDArray[np.int64]] = []
    nodes["map_start"] = NONE16
    start = 0
    for row in animated:
        edit, (first, end) = edits[order[row]], runs[row]
        if edit.run is not None:
            words = frame_map(edit.run.frames, first, frame_count)
        else:
            assert edit.old is not None
            words = stored.map_words(edit.old, first, end, frame_count)
        if start + frame_count > NONE16:
            raise ConversionError(
                "too many animated frames", value=(len(animated)) * frame_count,
                expected=f"at most {NONE16} map words",
                hint="a shorter timeline or fewer animated nodes",
            )  # fmt: skip
        nodes["map_start"][row] = start
        blocks.append(words)
        start += frame_count
    table = np.concatenate(blocks) if blocks else np.zeros(0, np.int64)
    return NodeTables(nodes, keys, table.astype("<u2"), frame_count)


def _encoded(run: Run, key_order: list[int]) -> Rows:
    keys = np.zeros(len(run.frames), KEY_DTYPE)
    keys["position"] = run.positions
    keys["time"] = run.frames
    keys["quaternion"][:, key_order] = run.words
    return keys


class _StoredRuns:
    """Key runs and maps of the stored model, by old node."""

    def __init__(self, model: MshModel | None) -> None:
        self.model = model
        if model is None or model.keys is None:
            self.pool: Rows = np.zeros(0, KEY_DTYPE)
            self.fallback = self.start = np.zeros(0, np.int64)
            return
        self.pool = model.keys
        self.words = model.frame_map
        self.count = model.frame_count
        self.fallback = model.nodes["fallback_key"].astype(np.int64)
        self.map_start = model.nodes["map_start"].astype(np.int64)
        self.start = np.concatenate([[0], self.fallback[:-1] + 1])
        if (self.start > self.fallback).any():  # runs are shared or out of order
            self.start = self.fallback.copy()
        for node in range(len(self.fallback)):
            if self.animated(node):
                block = self._block(node)
                used = block[block < self.fallback[node]]
                self.start[node] = min(self.start[node], int(used.min(initial=NONE16)))

    def animated(self, node: int | None) -> bool:
        return node is not None and len(self.pool) > 0 and int(self.map_start[node]) != NONE16

    def keys(self, node: int) -> Rows:
        if not len(self.pool):
            return np.zeros(1, KEY_DTYPE)
        return self.pool[self.start[node] : self.fallback[node] + 1]

    def tail(self) -> Rows:
        """Keys behind the last run, which belong to nobody."""
        if not len(self.pool):
            return np.zeros(0, KEY_DTYPE)
        return self.pool[int(self.fallback.max(initial=-1)) + 1 :]

    def timeline(self, needed: int) -> int:
        """Frame count: as stored while it fits its rule or is long enough, else what is needed."""
        if not len(self.pool):
            return needed
        ends = [
            int(self.pool["time"][self.fallback[n]]) + 1
            for n in range(len(self.fallback))
            if self.animated(n)
        ]
        canonical = self.count == max([1, *ends])
        return needed if canonical else max(needed, self.count)

    def _block(self, node: int) -> NDArray[Any]:
        start = int(self.map_start[node])
        return self.words[start : start + self.count].astype(np.int64)

    def map_words(self, node: int, first: int, end: int, count: int) -> NDArray[np.int64]:
        """A node's map, its key numbers moved to where the run is now."""
        block = self._block(node)[:count]
        moved = np.clip(block - self.start[node] + first, 0, NONE16)
        longer = np.full(max(0, count - len(block)), end, np.int64)
        return np.concatenate([moved, longer])
