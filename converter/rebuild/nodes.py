"""Build the node table, key pool and frame map of a changed hierarchy: keys that the runtime's sampler shows.

How poses become few keys: docs/reference/animation.md, What the writer does.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..edits.nodes import POSE_NOISE
from ..edits.poses import poses_at, same_rotations
from ..errors import ConversionError
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.nres_edits import add_entry
from ..formats.tables import GROUP_COUNT, KEY_DTYPE, LOD_COUNT, NODE_DTYPE, encode_keys
from ..numeric.arrays import F32, F64, I64, NONE16, U16, Bools, Records
from ..numeric.pose import Samples, Tracks, interpolate, rotation, sample
from ..numeric.quantize import decode_unit, encode_shown, encode_unit, normalise
from ..scene import dialect as dialects
from ..scene.decode import rest_pose
from ..scene.scene import Cell, Track
from .workspace import Rebuild

#: Tolerance of key reduction: half a quantisation step per quaternion word.
_WORD_TOLERANCE = 0.5 + 0.02  # the sampler's own binary32 noise on top


@dataclass
class Run:
    """The keys of one node; words in runtime order ``[w, x, y, z]``.

    ``frames`` (k,) int64 increasing from 0, ``positions`` (k, 3) float32, ``words`` (k, 4) int16.
    One key = a static node.
    """

    frames: I64
    positions: F32
    words: NDArray[np.int16]

    @property
    def animated(self) -> bool:
        """Whether the node needs a map."""
        return len(self.frames) > 1


def make_run(quaternions: F64, positions: F32, tolerance: float, *, reduce: bool = True) -> Run:
    """Return keys for the poses of one node at frames 0..N-1.

    Args:
        quaternions: (N, 4) runtime quaternions; unit where they come from outside.
        positions: (N, 3) float32.
        reduce: drop keys that the runtime sampler reproduces.
    """
    quaternions = _one_sign(quaternions)
    words = _settled_words(quaternions)
    same = (words[1:] == words[:-1]).all(axis=1) & (positions[1:] == positions[:-1]).all(axis=1)
    changing = np.flatnonzero(~same)
    if not changing.size:
        return Run(np.zeros(1, np.int64), positions[:1], words[:1])
    last = int(changing[-1]) + 1  # the last frame in which anything still changes
    full = Run(np.arange(last + 1), positions[: last + 1], words[: last + 1])
    if not reduce:
        return full
    run = _shown_keys(full, quaternions[: last + 1])
    if run is None:
        run = _reduced(full, quaternions[: last + 1], tolerance)
    for _ in range(_MOST_PASSES):  # until its own samples give the same keys
        samples = _sampled(run, full.frames.astype(np.float32))
        shown = normalise(samples.quaternion[0], (1, 0, 0, 0))
        words = _settled_words(shown)
        again = _shown_keys(Run(full.frames, samples.position[0], words), shown)
        if again is None or np.array_equal(again.frames, run.frames):
            break
        run = again
    return run


def _settled_words(unit: F64) -> NDArray[np.int16]:
    """Return words of unit quaternions that a file, which shows them normalised in float32, leads back to."""
    words: NDArray[np.int16] = encode_shown(unit, encode_unit)
    for _ in range(_MOST_PASSES):
        shown = normalise(decode_unit(words), (1, 0, 0, 0)).astype(np.float32)
        again: NDArray[np.int16] = encode_shown(shown.astype(np.float64), encode_unit)
        if np.array_equal(again, words):
            break
        words = again
    return words


def _one_sign(quaternions: F64) -> F64:
    """Signs such that neighbours have dot products >= 0, the first with w >= 0."""
    dots = np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1])
    signs = np.cumprod(np.concatenate([[1.0], np.where(dots < 0, -1.0, 1.0)]))
    if quaternions[0, 0] < 0:
        signs = -signs
    return quaternions * signs[:, None]


_MOST_PASSES = 16
#: How near a pose is to one that keys show exactly: float32 on its way through a file.
_EXACT = 1e-6


def _shown_keys(full: Run, quaternions: F64) -> Run | None:
    """Return the keys whose samples the poses are, frame by frame; ``None`` where there are hardly fewer.

    What keys show is not reduced again: each time it would move by up to the tolerance.
    """
    exact = normalise(quaternions, (1, 0, 0, 0))
    apart = np.abs(normalise(decode_unit(full.words), (1, 0, 0, 0)) - exact)
    stored = apart.max(axis=1) <= _EXACT
    ends = np.flatnonzero(stored)
    if not (stored[0] and stored[-1]):
        return None
    noise = _EXACT * (1 + np.abs(full.positions).max(axis=0))
    at, keep, block = 0, [0], _BLOCK
    while at < len(ends) - 1:
        begin = np.arange(at, min(at + block, len(ends) - 1))
        reaches = _reaches(full, exact, ends, begin, noise)
        while at < len(ends) - 1 and at - begin[0] < len(begin):
            reach = int(reaches[at - begin[0]])
            if not reach:
                return None
            at += reach
            keep.append(int(ends[at]))
        block = max(1, _BLOCK // reach)
    turns = (full.words != full.words[0]).any()  # words are coarser than poses of other programs
    if not turns and 2 * len(keep) > len(stored):
        return None
    return Run(full.frames[keep], full.positions[keep], full.words[keep])


#: Starts whose segments are looked for in one step, where segments are short.
_BLOCK = 64


def _reaches(full: Run, exact: F64, ends: I64, begin: I64, noise: F64) -> I64:
    """How many of the frames ``ends`` one segment of keys shows, with all between, from each of ``ends[begin]`` on."""
    reach, step = np.zeros(len(begin), np.int64), np.ones(len(begin), np.int64)
    while (active := np.flatnonzero(step)).size:
        start = begin[active]
        trial = np.minimum(reach[active] + step[active], len(ends) - 1 - start)
        good = trial > reach[active]
        good[good] = _shows(full, exact, ends[start[good]], ends[(start + trial)[good]], noise)
        reach[active] = np.where(good, trial, reach[active])
        step[active] = np.where(good, 2 * step[active], step[active] // 2)
    return reach


def _shows(full: Run, exact: F64, first: I64, last: I64, noise: F64) -> Bools:
    """Whether keys in two frames, (S,) each, show the poses of the frames between as :func:`sample` reads them."""
    counts = last - first - 1
    segment = np.repeat(np.arange(len(counts)), counts)
    step = 1 + np.arange(len(segment)) - np.repeat(np.cumsum(counts) - counts, counts)
    low, high = first[segment], last[segment]
    alpha = step.astype(np.float32) / (high - low).astype(np.float32)
    turned = interpolate(decode_unit(full.words[low]), decode_unit(full.words[high]), alpha)
    moved = full.positions[low] + (full.positions[high] - full.positions[low]) * alpha[:, None]
    apart = np.abs(normalise(turned, (1, 0, 0, 0)) - exact[low + step])
    near = (apart <= _EXACT).all(axis=1) & (np.abs(moved - full.positions[low + step]) <= noise).all(axis=1)
    shown = np.ones(len(counts), np.bool_)
    shown[segment[~near]] = False
    return shown


def _reduced(full: Run, quaternions: F64, tolerance: float) -> Run:
    """Drop keys that the runtime sampler reproduces, until no further one can go.

    Each pass drops every other key and takes back those whose segment leaves the tolerance at a
    frame or half frame; what is compared with are the poses before quantisation.
    """
    last = int(full.frames[-1])
    times = (np.arange(2 * last + 1) / 2).astype(np.float32)
    exact = quaternions.astype(np.float32)
    halves = np.full(last, 0.5, np.float32)
    middle = (full.positions[1:] + full.positions[:-1]) / 2
    wanted_q = _interleaved(exact, interpolate(exact[:-1], exact[1:], halves))
    wanted_p = _interleaved(full.positions, middle.astype(np.float32))
    keep = np.ones(last + 1, np.bool_)
    idle = 0
    parity = 1
    while idle < 2:
        frames = np.flatnonzero(keep)
        dropped = frames[1:-1][parity - 1 :: 2]
        trial = keep.copy()
        trial[dropped] = False
        got = _sampled(Run(full.frames[trial], full.positions[trial], full.words[trial]), times)
        wrong = (np.abs(got.quaternion[0] - wanted_q).max(axis=1) > _WORD_TOLERANCE / 32767) | ~(
            np.abs(got.position[0] - wanted_p).max(axis=1) <= tolerance
        )
        # every segment of the trial holds at most one dropped key
        segment = np.cumsum(trial)
        bad = np.zeros(int(segment[-1]) + 1, np.bool_)
        bad[segment[np.flatnonzero(wrong) // 2]] = True
        back = dropped[bad[segment[dropped]]]
        trial[back] = True
        idle = idle + 1 if trial.sum() == keep.sum() else 0
        keep, parity = trial, 3 - parity
    return Run(full.frames[keep], full.positions[keep], full.words[keep])


def _interleaved(whole: F32, half: F32) -> F32:
    """Values at 0, 0.5, 1, ... from those at whole and at half frames."""
    out = np.empty((len(whole) + len(half), whole.shape[1]), np.float32)
    out[0::2], out[1::2] = whole, half
    return out


def frame_map(frames: I64, start: int, count: int) -> I64:
    """Return the map of a run: the last key at or before each frame. (k,) key times -> (count,) indices in the pool.

    ``start``: of the run's first key.
    """
    return start + np.searchsorted(frames, np.arange(count), "right") - 1


def _sampled(run: Run, times: F32) -> Samples:
    last = int(run.frames[-1])
    words = frame_map(run.frames, 0, last + 1).astype(np.uint16)
    tracks = Tracks(
        map_start=np.array([0 if run.animated else NONE16]),
        fallback=np.array([len(run.frames) - 1]),
        map_words=words,
        frame_count=last + 1,
        position=run.positions,
        time=run.frames.astype(np.float32),
        quaternion=decode_unit(run.words),
    )
    return sample(tracks, [0], times)


@dataclass
class NodeEdit:
    """One node of the new hierarchy.

    Attributes:
        old: its row in the stored model, ``None`` for a new node.
        wanted: the row it would like, from its extras.
        parent: index in the list of edits, -1 = root.
        flags: hdr0.
        cells: (3, 5) slot per lod and group, 0xFFFF = none.
    """

    old: int | None
    wanted: int | None
    parent: int
    flags: int
    run: Run | None
    cells: U16


def node_order(edits: list[NodeEdit]) -> list[int]:
    """Return the order of the new table: parents first, else stored nodes in their order. Raises ConversionError:
    parents form a cycle.
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


def build_nodes(job: Rebuild, edits: list[NodeEdit], order: list[int]) -> None:
    """Build the node tables of a changed hierarchy: Res1, Res8, Res19 and the timeline.

    Where no run is given, those of the stored model are kept. Raises ConversionError: more keys or map words than the
    format can address.
    """
    model, key_order = job.model, dialects.key_order(job.dialect)
    stored = _StoredRuns(model if job.stored is not None else None)
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
    length = job.scene.frame_count if job.scene.tracks else 0
    frame_count = max(1, length) if animated else stored.timeline()
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
    model.nodes, model.streams[StreamType.KEYS] = nodes, pool
    model.streams[StreamType.FRAME_MAP] = np.concatenate(maps).astype("<u2")
    set_frame_count(model, frame_count)


def set_frame_count(model: MshModel, count: int) -> None:
    """State the frames of a model in its directory, where it has a frame map."""
    entries = model.archive.entries
    for i, entry in enumerate(entries):
        if entry.type_id == StreamType.FRAME_MAP:
            entries[i] = replace(entry, attr2=count)
            return
    if len(model.frame_map):
        attributes = 0, count, TABLES[StreamType.FRAME_MAP].attr3
        model.archive = add_entry(model.archive, b"Res19", StreamType.FRAME_MAP, b"", attributes)


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
        return self.pool[int(self.fallback.max(initial=-1)) + 1 :]

    def timeline(self) -> int:
        """Return the frame count of a model in which nothing moves any more."""
        moved = any(self.animated(n) for n in range(len(self.fallback)))
        return self.count if len(self.pool) and not moved else 1

    def _block(self, node: int) -> I64:
        start = int(self.map_start[node])
        return self.words[start : start + self.count].astype(np.int64)

    def map_words(self, node: int, first: int, end: int, count: int) -> I64:
        """Return a node's map, its key numbers moved to where the run is now. (count,)."""
        block = self._block(node)[:count]
        moved = np.clip(block - self.start[node] + first, 0, NONE16)
        longer = np.full(max(0, count - len(block)), end, np.int64)
        return np.concatenate([moved, longer])


#: Position tolerance of key reduction, relative to the model's extent.
_TOLERANCE = 1e-5


def node_edits(job: Rebuild, cells: dict[Cell, int]) -> list[NodeEdit]:
    """Return the edit of every node of the file. ``cells``: slot of every cell of the file."""
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
            run = make_run(quaternions, positions, tolerance, reduce=job.reduce)
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


def _take_stored(quaternions: F64, positions: F32, samples: Samples, noise: float) -> None:
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
