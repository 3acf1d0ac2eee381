"""Reduce sampled poses to keys that the runtime's sampler shows (docs/reference/animation.md, What the writer does)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import NONE16
from ..numeric.quantize import decode_unit, encode_shown, encode_unit, normalise
from ..numeric.sampler import Samples, Tracks, interpolate, sample

#: Tolerance of key reduction: half a quantisation step per quaternion word.
_WORD_TOLERANCE = 0.5 + 0.02  # the sampler's own binary32 noise on top


@dataclass
class Run:
    """The keys of one node; words in runtime order ``[w, x, y, z]``.

    ``frames`` (k,) int64 increasing from 0, ``positions`` (k, 3) float32, ``words`` (k, 4) int16.
    One key = a static node.
    """

    frames: NDArray[np.int64]
    positions: NDArray[np.float32]
    words: NDArray[np.int16]

    @property
    def animated(self) -> bool:
        """Whether the node needs a map."""
        return len(self.frames) > 1


def make_run(
    quaternions: NDArray[np.float64], positions: NDArray[np.float32], tolerance: float, *, reduce: bool = True
) -> Run:
    """Return keys for the poses of one node at frames 0..N-1.

    Args:
        quaternions: (N, 4) runtime quaternions; unit where they come from outside.
        positions: (N, 3) float32.
        tolerance: position tolerance per coordinate.
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


def _settled_words(unit: NDArray[np.float64]) -> NDArray[np.int16]:
    """Return words of unit quaternions that a file, which shows them normalised in float32, leads back to."""
    words: NDArray[np.int16] = encode_shown(unit, encode_unit)
    for _ in range(_MOST_PASSES):
        shown = normalise(decode_unit(words), (1, 0, 0, 0)).astype(np.float32)
        again: NDArray[np.int16] = encode_shown(shown.astype(np.float64), encode_unit)
        if np.array_equal(again, words):
            break
        words = again
    return words


def _one_sign(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Signs such that neighbours have dot products >= 0, the first with w >= 0."""
    dots = np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1])
    signs = np.cumprod(np.concatenate([[1.0], np.where(dots < 0, -1.0, 1.0)]))
    if quaternions[0, 0] < 0:
        signs = -signs
    return quaternions * signs[:, None]


_MOST_PASSES = 16
#: How near a pose is to one that keys show exactly: float32 on its way through a file.
_EXACT = 1e-6


def _shown_keys(full: Run, quaternions: NDArray[np.float64]) -> Run | None:
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


def _reaches(
    full: Run, exact: NDArray[np.float64], ends: NDArray[np.int64], begin: NDArray[np.int64], noise: NDArray[np.float64]
) -> NDArray[np.int64]:
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


def _shows(
    full: Run, exact: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64], noise: NDArray[np.float64]
) -> NDArray[np.bool_]:
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


def _reduced(full: Run, quaternions: NDArray[np.float64], tolerance: float) -> Run:
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


def _interleaved(whole: NDArray[np.float32], half: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values at 0, 0.5, 1, ... from those at whole and at half frames."""
    out = np.empty((len(whole) + len(half), whole.shape[1]), np.float32)
    out[0::2], out[1::2] = whole, half
    return out


def frame_map(frames: NDArray[np.int64], start: int, count: int) -> NDArray[np.int64]:
    """Return the map of a run: the last key at or before each frame. (count,) key indices.

    Args:
        frames: (k,) key times.
        start: index of the run's first key in the pool.
        count: frames of the timeline.
    """
    left = np.searchsorted(frames, np.arange(count), "right") - 1
    return start + np.minimum(left, len(frames) - 1)


def _sampled(run: Run, times: NDArray[np.float32]) -> Samples:
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
