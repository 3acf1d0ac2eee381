"""Build the node table, key pool and frame map of a changed hierarchy; ``rebuild.keys`` makes a node's keys."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..edits.nodes import POSE_NOISE
from ..edits.poses import poses_at, same_rotations
from ..errors import ConversionError
from ..formats.model import MshModel
from ..formats.tables import GROUP_COUNT, KEY_DTYPE, LOD_COUNT, NODE_DTYPE, encode_keys
from ..numeric.arrays import NONE16
from ..numeric.pose import rotation
from ..numeric.sampler import Samples, Tracks, sample
from ..scene import dialect as dialects
from ..scene.decode import rest_pose
from ..scene.scene import Track
from .keys import Run, frame_map, make_run
from .workspace import Cell, Rebuild

Records = NDArray[np.void]


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
    """Return the order of the new table: parents first, else stored nodes in their order.

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

    nodes: Records
    keys: Records
    frame_map: NDArray[np.uint16]
    frame_count: int


def build_nodes(
    edits: list[NodeEdit], order: list[int], model: MshModel | None, *, key_order: list[int], length: int | None
) -> NodeTables:
    """Build the node tables of a changed hierarchy.

    Args:
        edits: every node.
        order: from ``node_order``.
        model: the stored model, whose key runs and maps are kept where no run is given.
        key_order: columns of a stored key quaternion in ``[w, x, y, z]`` order.
        length: frames of the clip, ``None`` without one.

    Raises:
        ConversionError: more keys or map words than the format can address.
    """
    stored = _StoredRuns(model)
    row_of = {edit: row for row, edit in enumerate(order)}
    nodes = np.zeros(len(edits), NODE_DTYPE)
    for row, i in enumerate(order):
        edit = edits[i]
        nodes["flags"][row] = edit.flags
        nodes["parent"][row] = NONE16 if edit.parent < 0 else row_of[edit.parent]
        nodes["slot_index"][row] = edit.cells
    ordered = [edits[i] for i in order]
    runs = [_keys(edit, stored, key_order) for edit in ordered]
    pool = np.concatenate([*runs, stored.tail()])
    _require_at_most("too many keys", len(pool))
    ends = np.cumsum([len(run) for run in runs], dtype=np.int64)
    nodes["fallback_key"] = ends - 1
    animated = [
        row
        for row, edit in enumerate(ordered)
        if (edit.run.animated if edit.run is not None else stored.animated(edit.old))
    ]
    frame_count = max(1, length or 0) if animated else stored.timeline()
    _require_at_most("too many animated frames", len(animated) * frame_count, " map words")
    nodes["map_start"] = NONE16
    nodes["map_start"][animated] = np.arange(len(animated)) * frame_count
    maps = [np.zeros(0, np.int64)]
    for row in animated:
        edit, end = ordered[row], int(ends[row]) - 1
        first = end + 1 - len(runs[row])
        if edit.run is not None:
            maps.append(frame_map(edit.run.frames, first, frame_count))
        else:
            assert edit.old is not None
            maps.append(stored.map_words(edit.old, first, end, frame_count))
    return NodeTables(nodes, pool, np.concatenate(maps).astype("<u2"), frame_count)


def _require_at_most(problem: str, value: int, unit: str = "") -> None:
    """Refuse what 16-bit row numbers cannot count."""
    if value > NONE16:
        raise ConversionError(
            problem, value=value, expected=f"at most {NONE16}{unit}", hint="a shorter timeline or fewer animated nodes"
        )


def _keys(edit: NodeEdit, stored: _StoredRuns, key_order: list[int]) -> Records:
    """The key run of a node: the new one, else the stored one."""
    if edit.run is None:
        assert edit.old is not None
        return stored.keys(edit.old)
    return encode_keys(edit.run.positions, edit.run.frames, edit.run.words, key_order)


class _StoredRuns:
    """Key runs and maps of the stored model, by old node."""

    def __init__(self, model: MshModel | None) -> None:
        self.model = model
        if model is None or model.keys is None:
            self.pool: Records = np.zeros(0, KEY_DTYPE)
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

    def keys(self, node: int) -> Records:
        if not len(self.pool):
            return np.zeros(1, KEY_DTYPE)
        return self.pool[self.start[node] : self.fallback[node] + 1]

    def tail(self) -> Records:
        """Return the keys after the last run, which no node has."""
        if not len(self.pool):
            return np.zeros(0, KEY_DTYPE)
        return self.pool[int(self.fallback.max(initial=-1)) + 1 :]

    def timeline(self) -> int:
        """Return the frame count of a model in which nothing moves any more."""
        moved = any(self.animated(n) for n in range(len(self.fallback)))
        return self.count if len(self.pool) and not moved else 1

    def _block(self, node: int) -> NDArray[np.int64]:
        start = int(self.map_start[node])
        return self.words[start : start + self.count].astype(np.int64)

    def map_words(self, node: int, first: int, end: int, count: int) -> NDArray[np.int64]:
        """Return a node's map, its key numbers moved to where the run is now. (count,)."""
        block = self._block(node)[:count]
        moved = np.clip(block - self.start[node] + first, 0, NONE16)
        longer = np.full(max(0, count - len(block)), end, np.int64)
        return np.concatenate([moved, longer])


# ------------------------------------------------------------------ what becomes of each node


#: Position tolerance of key reduction, relative to the model's extent.
_TOLERANCE = 1e-5


def node_edits(job: Rebuild, cells: dict[Cell, int]) -> list[NodeEdit]:
    """Return the edit of every node of the file.

    Args:
        job: the rebuild; its model still has the stored nodes.
        cells: slot of every cell of the file.
    """
    scene, plan, nodes = job.scene, job.plan, job.model.nodes
    tracks = {track.node: track for track in scene.tracks}
    tolerance = _TOLERANCE * _extent(job)
    stored = dialects.tracks(job.model, job.dialect) if job.stored is not None else None
    animated = set() if stored is None else set(stored.animated.tolist())
    out = []
    for i, node in enumerate(scene.nodes):
        k = plan.identified.stored_of.get(i)
        slots = [[cells.get((i, lod, group), NONE16) for group in range(GROUP_COUNT)] for lod in range(LOD_COUNT)]
        flags = node.flags
        if flags is None:
            flags = int(nodes["flags"][k]) if k is not None else 0
        run = None
        if i in plan.poses:
            still = i not in tracks or (k not in animated and not _moves(tracks[i]))
            frames = np.arange(float(1 if still else scene.frame_count))
            translations, turned = poses_at(tracks.get(i), node, frames)
            quaternions = turned * [1, -1, -1, -1]
            positions = translations.astype(np.float32) + np.float32(0)  # the sampler keeps no negative zeros
            if k is not None and stored is not None:
                noise = POSE_NOISE * plan.identified.size
                _take_stored(quaternions, positions, sample(stored, [k], frames), noise)
            run = make_run(quaternions, positions, tolerance, reduce=job.options.reduce)
            if k is not None and stored is not None and not run.animated:
                _keep_sign(run, stored, k)
        wanted = k if job.stored is not None else node.index
        table = np.array(slots, np.uint16)
        out.append(NodeEdit(k, wanted, node.parent, flags & 0xFFFF, run, table))
    return out


def _moves(track: Track) -> bool:
    """Whether the values of a track differ at all; one pose is enough for the others."""
    channels = (track.translation, track.rotation)
    return any((c.values != c.values[:1]).any() for c in channels if c is not None)


def _take_stored(
    quaternions: NDArray[np.float64], positions: NDArray[np.float32], samples: Samples, noise: float
) -> None:
    """Take the runtime's own numbers in frames that show what the runtime samples."""
    raw = samples.quaternion[0].astype(np.float64)
    same = same_rotations(quaternions * [1, -1, -1, -1], rotation(samples.quaternion[0]))
    signs = np.where(np.einsum("ti,ti->t", raw, quaternions) < 0, -1.0, 1.0)
    quaternions[same] = (raw * signs[:, None])[same]
    near = (np.abs(positions - samples.position[0]) <= noise).all(axis=1)
    positions[near] = samples.position[0][near]


def _keep_sign(run: Run, stored: Tracks, k: int) -> None:
    """Give a static key the sign of the stored one, so that an unturned key keeps its words."""
    old = stored.quaternion[int(stored.fallback[k])]
    if float(run.words[0].astype(np.float64) @ old) < 0:
        run.words = -run.words


def _extent(job: Rebuild) -> float:
    """The largest diagonal of a part's box and of the box round all nodes."""
    sizes = [1e-6]
    for part in job.plan.parts:
        if part.triangles is not None and len(part.triangles):
            points = part.triangles.positions.reshape(-1, 3).astype(np.float64)
            sizes.append(float(np.linalg.norm(points.max(axis=0) - points.min(axis=0))))
    if job.scene.nodes:
        _, world = rest_pose(job.scene)
        sizes.append(float(np.linalg.norm(world.max(axis=0) - world.min(axis=0))))
    return max(sizes)


# ------------------------------------------------------------------ fewer keys
