"""Invariants of keys and maps that the runtime does not rest on (animation page, 5 and 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..findings import Finding
from ..formats.model import MshModel
from ..formats.tables import TABLES, StreamType
from ..numeric.arrays import MAX_USES, NONE16
from .model_structure import findings_at

Ints = NDArray[np.int64]

#: How far a rotation's length may be from 1 (``evidence`` page, Res8).
UNIT = 1e-3


def check_animation(model: MshModel) -> list[Finding]:
    """Findings about the animation of a sound model that has 38-byte nodes."""
    if model.legacy:
        return []
    return [*_timeline(model), *_keys(model), *_tracks(model), *_maps(model)]


def _timeline(model: MshModel) -> Iterator[Finding]:
    entry = model.archive.first_of_type(StreamType.FRAME_MAP)
    mapped = model.nodes["map_start"] != NONE16
    if model.keys is None or not len(model.keys):
        yield from findings_at(
            model, StreamType.NODES, mapped, "key-none", "node has a map, the model no keys",
            model.nodes["map_start"], "0xFFFF", "map_start",
        )  # fmt: skip
    if entry is None:
        return
    table = TABLES[StreamType.FRAME_MAP].label
    if not entry.attr2:
        yield Finding("frame-count", "model has no frames (attr2)", table, value=0, expected="1")
    elif model.keys is not None and len(model.keys) and len(model.nodes):
        with np.errstate(invalid="ignore"):
            last = float(model.keys["time"][model.nodes["fallback_key"]].max()) + 1
        if last != entry.attr2:
            yield Finding(
                "frame-end",
                "frame count (attr2) is not the last key's time + 1",
                table,
                value=entry.attr2,
                expected=f"{last:g}",
            )


def _keys(model: MshModel) -> Iterator[Finding]:
    if model.keys is None:
        return
    time, words = model.keys["time"], model.keys["quaternion"]

    def found(code: str, bad: Any, problem: str, value: Any, expected: str, field: str) -> Any:
        return findings_at(model, StreamType.KEYS, bad, code, problem, value, expected, field)

    bad = (time < 0) | (time != np.floor(time))
    yield from found("key-time", bad, "time is no whole number from 0", time, "0, 1, 2 ...", "time")
    length = np.sqrt((words.astype(np.float64) ** 2).sum(axis=1)) / 32767
    bad = (np.abs(length - 1) > UNIT) & (length > 0)
    yield from found("key-unit", bad, "rotation is not of unit length", length, "1", "quaternion")
    bad = (words == -32768).any(axis=1)
    yield from found("key-range", bad, "rotation has a word of -32768", words, "", "quaternion")


def _runs(model: MshModel) -> tuple[Ints, Ints] | None:
    """First and last key of every node; ``None`` where fallbacks do not rise."""
    if model.keys is None or not len(model.keys) or not len(model.nodes):
        return None
    last = model.nodes["fallback_key"].astype(np.int64)
    first = np.concatenate([[0], last[:-1] + 1])
    return (first, last) if (last >= first).all() else None


def _tracks(model: MshModel) -> Iterator[Finding]:
    """Runs of keys (animation page, 5.1, 5.2)."""
    if model.keys is None or not len(model.keys) or not len(model.nodes):
        return
    nodes, time = model.nodes, model.keys["time"]
    fallback = nodes["fallback_key"].astype(np.int64)

    def found(code: str, bad: Any, problem: str, value: Any, expected: Any, field: str) -> Any:
        return findings_at(model, StreamType.NODES, bad, code, problem, value, expected, field)

    falling = np.diff(fallback, prepend=-1) <= 0
    yield from found(
        "track-order", falling, "fallback key is not behind that of the node before", fallback,
        "rising", "fallback_key",
    )  # fmt: skip
    runs = _runs(model)
    if runs is None:
        return
    first, last = runs
    mapped = nodes["map_start"] != NONE16
    count = last - first + 1
    yield from found(
        "track-short", mapped & (count < 2), "node with a map has one key", count, "2 or more",
        "fallback_key",
    )  # fmt: skip
    yield from found(
        "track-long", ~mapped & (count > 1), "node without a map has several keys", count, 1,
        "fallback_key",
    )  # fmt: skip
    yield from found(
        "track-start", time[first] != 0, "node's keys do not start at 0", time[first], 0,
        "fallback_key",
    )  # fmt: skip
    inside = np.ones(len(time), np.bool_)
    inside[first] = False
    inside[last[-1] + 1 :] = False
    yield from findings_at(
        model, StreamType.KEYS, inside & (np.diff(time, prepend=np.float32(0)) <= 0), "key-order",
        "time is not behind that of the key before", time, "rising", "time",
    )  # fmt: skip


def _maps(model: MshModel) -> Iterator[Finding]:
    """Blocks of Res19 (animation page, 5.3, 5.4, 7)."""
    words, frames = model.frame_map, model.frame_count
    start = model.nodes["map_start"].astype(np.int64)
    mapped = np.flatnonzero(start != NONE16)
    expected = np.arange(len(mapped)) * frames
    table = TABLES[StreamType.FRAME_MAP].label
    if not np.array_equal(start[mapped], expected) or len(words) != len(mapped) * frames:
        yield Finding(
            "map-tile",
            "maps do not follow one another",
            table,
            None,
            model.offset_of(StreamType.FRAME_MAP),
            f"{len(words)} words",
            f"{len(mapped)} maps of {frames} frames",
        )
    runs = _runs(model)
    if runs is None or model.keys is None or not len(mapped):
        return
    if len(mapped) * frames > MAX_USES * len(words):
        return
    first, last = runs
    bad = {"map-track": np.zeros(len(words), np.bool_), "map-words": np.zeros(len(words), np.bool_)}
    canonical = words.astype(np.int64)
    times = np.arange(frames)
    for node in mapped.tolist():
        begin, end = int(first[node]), int(last[node])
        time = model.keys["time"][begin : end + 1]
        left = np.searchsorted(time, times, "right") - 1
        wanted = np.where((left < 0) | (left >= end - begin), end, begin + left)
        block = slice(int(start[node]), int(start[node]) + frames)
        found = words[block].astype(np.int64)
        canonical[block] = wanted
        bad["map-track"][block] |= found < begin
        bad["map-words"][block] |= (found != wanted) & (found >= begin)
    for code, problem in (
        ("map-track", "map word is another node's key"),
        ("map-words", "map word is not the canonical one"),
    ):
        yield from findings_at(
            model, StreamType.FRAME_MAP, bad[code], code, problem, words, canonical
        )
