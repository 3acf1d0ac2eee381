"""The animation of a core model: keys, tracks, maps (animation page, 5, 7 and 9)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..findings import Finding, Rule, first_bad
from ..formats.model import MshModel
from ..formats.tables import TABLES, StreamType
from ..numeric.arrays import MAX_USES, NONE16, Ints, Records
from .places import in_table

_MAP = TABLES[StreamType.FRAME_MAP].label
#: How far a rotation's length may be from 1 (``evidence`` page, Res8).
UNIT = 1e-3


def check_keys(model: MshModel) -> Iterator[Finding]:
    """Yield keys and maps that would be read past their tables, or hold no numbers."""
    if not model.legacy and model.keys is not None and len(model.keys):
        yield from _finite(model, model.keys)
        yield from _fallback(model, model.keys)
        yield from _map(model)
        yield from _zero(model, model.keys)


def check_animation(model: MshModel) -> list[Finding]:
    """Return the findings about animation that the runtime does not rely on.

    Args:
        model: a valid model; of 24-byte nodes nothing is checked.
    """
    if model.legacy:
        return []
    findings = [*_none(model), *_frames(model)]
    if model.keys is not None:
        findings += [*_time(model, model.keys), *_unit(model, model.keys)]
        findings += _range(model, model.keys)
        if len(model.keys) and len(model.nodes):
            findings += _tracks(model, model.keys["time"])
    return [*findings, *_maps(model)]


NODE_FALLBACK = Rule(
    "node-fallback",
    "error",
    "core model (animation)",
    rule="A fallback key is a key.",
    source="animation page, 9 (2) and 9 (4)",
    why=(
        "The runtime does not check: it would read past the keys. Every map word below it is "
        "then a key too, and so is the one after it."
    ),
    fix="Correct hdr3.",
    drops="the node's keys: it stands still at its parent's origin",
)


def _fallback(model: MshModel, keys: Records) -> Iterator[Finding]:
    fallback = model.nodes["fallback_key"].astype(np.int64)
    yield from first_bad(
        NODE_FALLBACK, fallback >= len(keys), "fallback key is not a key",
        in_table(model, StreamType.NODES, "fallback_key"), fallback, f"below {len(keys)}",
    )  # fmt: skip


NODE_MAP = Rule(
    "node-map",
    "error",
    "core model (animation)",
    rule="A node's map lies inside Res19.",
    source="animation page, 9 (3)",
    why="The runtime does not check: it would read past the map.",
    fix="Correct hdr2, or the frame count (attr2 of Res19).",
    drops="the node's map: it stands still",
)


def _map(model: MshModel) -> Iterator[Finding]:
    start = model.nodes["map_start"].astype(np.int64)
    end = np.where(start == NONE16, 0, start + model.frame_count)
    words = len(model.frame_map)
    yield from first_bad(
        NODE_MAP, end > words, f"map of {model.frame_count} frames runs past the table",
        in_table(model, StreamType.NODES, "map_start"), end, f"at most {words}",
    )  # fmt: skip


KEY_FINITE = Rule(
    "key-finite",
    "error",
    "core model (animation)",
    rule="Keys are finite numbers.",
    source="animation page, 2.1",
    why="glTF cannot hold infinity or NaN.",
    fix="Correct the key in the tool that wrote it.",
    drops="the key: its nodes stand still",
)


def _finite(model: MshModel, keys: Records) -> Iterator[Finding]:
    finite = np.isfinite(keys["position"]).all(1) & np.isfinite(keys["time"])
    yield from first_bad(
        KEY_FINITE, ~finite, "key holds a number that is not finite",
        in_table(model, StreamType.KEYS), "inf or NaN", "finite",
    )  # fmt: skip


KEY_NONE = Rule(
    "key-none",
    "warning",
    "core model (animation)",
    rule="A model with a map has keys.",
    source="animation page, 2.3",
    why="The map names keys that are not there.",
    fix="Take Res8 from a backup.",
)


def _none(model: MshModel) -> Iterator[Finding]:
    start = model.nodes["map_start"]
    if model.keys is None or not len(model.keys):
        yield from first_bad(
            KEY_NONE, start != NONE16, "node has a map, the model has no keys",
            in_table(model, StreamType.NODES, "map_start"), start, "0xFFFF",
        )  # fmt: skip


KEY_ORDER = Rule(
    "key-order",
    "warning",
    "core model (animation)",
    rule="Times are strictly increasing inside a node's run of keys.",
    source="animation page, 9 (5)",
    why="The runtime divides by the difference of two times.",
    fix="Convert to glTF, touch the node's animation and convert back.",
)


def _key_order(model: MshModel, time: Records, first: Ints, last: Ints) -> Iterator[Finding]:
    inside = np.ones(len(time), np.bool_)
    inside[first] = False
    inside[last[-1] + 1 :] = False
    yield from first_bad(
        KEY_ORDER, inside & (np.diff(time, prepend=np.float32(0)) <= 0),
        "time is not after that of the key before", in_table(model, StreamType.KEYS, "time"), time,
        "increasing",
    )  # fmt: skip


KEY_TIME = Rule(
    "key-time",
    "note",
    "core model (animation)",
    rule="Times are whole numbers from 0.",
    source="animation page, 5.2",
    why="The canonical map cannot name such a key.",
    fix="Nothing to do.",
)


def _time(model: MshModel, keys: Records) -> Iterator[Finding]:
    time = keys["time"]
    yield from first_bad(
        KEY_TIME, (time < 0) | (time != np.floor(time)), "time is not a whole number from 0",
        in_table(model, StreamType.KEYS, "time"), time, "0, 1, 2 ...",
    )  # fmt: skip


KEY_UNIT = Rule(
    "key-unit",
    "note",
    "core model (animation)",
    rule="Key rotations are of unit length.",
    source="evidence page, Core models (Res8)",
    why="The runtime does not normalise: the part is scaled (one key of the game is so).",
    fix="Convert to glTF, touch the node's animation and convert back.",
)


def _unit(model: MshModel, keys: Records) -> Iterator[Finding]:
    length = np.sqrt((keys["quaternion"].astype(np.float64) ** 2).sum(axis=1)) / 32767
    yield from first_bad(
        KEY_UNIT, (np.abs(length - 1) > UNIT) & (length > 0), "rotation is not of unit length",
        in_table(model, StreamType.KEYS, "quaternion"), length, "1",
    )  # fmt: skip


KEY_ZERO = Rule(
    "key-zero",
    "note",
    "core model (animation)",
    rule="Key rotations are not all zero.",
    source="evidence page, Core models (Res8)",
    why="It is read as identity (ten keys of the game are so).",
    fix="Nothing to do.",
)


def _zero(model: MshModel, keys: Records) -> Iterator[Finding]:
    yield from first_bad(
        KEY_ZERO, ~keys["quaternion"].any(1), "all-zero quaternion, read as identity",
        in_table(model, StreamType.KEYS, "quaternion"), "0, 0, 0, 0", "unit length",
    )  # fmt: skip


KEY_RANGE = Rule(
    "key-range",
    "note",
    "core model (animation)",
    rule="Words of key rotations lie in -32767..32767.",
    source="animation page, 10.4",
    why="-32768 decodes to less than -1.",
    fix="Nothing to do.",
)


def _range(model: MshModel, keys: Records) -> Iterator[Finding]:
    words = keys["quaternion"]
    yield from first_bad(
        KEY_RANGE, (words == -32768).any(axis=1), "rotation has a word of -32768",
        in_table(model, StreamType.KEYS, "quaternion"), words, "",
    )  # fmt: skip


FRAME_COUNT = Rule(
    "frame-count",
    "warning",
    "core model (animation)",
    rule="The frame count (attr2 of Res19) is above 0.",
    source="animation page, 9 (6)",
    why="No frame is ever inside the timeline.",
    fix="Set it to 1 for a static model.",
)
FRAME_END = Rule(
    "frame-end",
    "note",
    "core model (animation)",
    rule="The frame count is the last key's time + 1.",
    source="animation page, 9, recommended (3)",
    why="The clip ends early, or stands still at its end.",
    fix="Convert to glTF, touch the animation and convert back.",
)


def _frames(model: MshModel) -> Iterator[Finding]:
    entry = model.archive.first_of_type(StreamType.FRAME_MAP)
    if entry is None:
        return
    if not entry.attr2:
        yield Finding(FRAME_COUNT, "model has no frames (attr2)", _MAP, value=0, expected="1")
    elif model.keys is not None and len(model.keys) and len(model.nodes):
        with np.errstate(invalid="ignore"):
            last = float(model.keys["time"][model.nodes["fallback_key"]].max()) + 1
        if last != entry.attr2:
            problem = "frame count (attr2) is not the last key's time + 1"
            yield Finding(FRAME_END, problem, _MAP, value=entry.attr2, expected=f"{last:g}")


def _runs(model: MshModel) -> tuple[Ints, Ints] | None:
    """First and last key of every node; ``None`` where fallbacks do not increase."""
    if model.keys is None or not len(model.keys) or not len(model.nodes):
        return None
    last = model.nodes["fallback_key"].astype(np.int64)
    first = np.concatenate([[0], last[:-1] + 1])
    return (first, last) if (last >= first).all() else None


TRACK_ORDER = Rule(
    "track-order",
    "note",
    "core model (animation)",
    rule="Fallback keys are increasing from node to node.",
    source="animation page, 9, recommended (1)",
    why="Runs of keys cannot be told apart.",
    fix="Convert to glTF and back without the sidecar.",
)


def _tracks(model: MshModel, time: Records) -> Iterator[Finding]:
    """Runs of keys (animation page, 5.1, 5.2)."""
    fallback = model.nodes["fallback_key"].astype(np.int64)
    yield from first_bad(
        TRACK_ORDER, np.diff(fallback, prepend=-1) <= 0,
        "fallback key is not after that of the node before",
        in_table(model, StreamType.NODES, "fallback_key"), fallback, "increasing",
    )  # fmt: skip
    if (runs := _runs(model)) is not None:
        first, last = runs
        yield from _track_lengths(model, last - first + 1)
        yield from _track_start(model, time[first])
        yield from _key_order(model, time, first, last)


TRACK_START = Rule(
    "track-start",
    "note",
    "core model (animation)",
    rule="A node's run of keys starts at time 0.",
    source="animation page, 9, recommended (2)",
    why="Before its first key the node takes its last.",
    fix="Convert to glTF and back without the sidecar.",
)


def _track_start(model: MshModel, start: Records) -> Iterator[Finding]:
    yield from first_bad(
        TRACK_START, start != 0, "node's keys do not start at 0",
        in_table(model, StreamType.NODES, "fallback_key"), start, 0,
    )  # fmt: skip


TRACK_SHORT = Rule(
    "track-short",
    "warning",
    "core model (animation)",
    rule="A node with a map has at least two keys.",
    source="animation page, 9 (5)",
    why="The map branch interpolates between two.",
    fix="Remove the map (hdr2 = 0xFFFF), or add a key.",
)
TRACK_LONG = Rule(
    "track-long",
    "note",
    "core model (animation)",
    rule="A node without a map has one key.",
    source="animation page, 5.1",
    why="The others are never read.",
    fix="Nothing to do.",
)


def _track_lengths(model: MshModel, count: Ints) -> Iterator[Finding]:
    mapped = model.nodes["map_start"] != NONE16
    place = in_table(model, StreamType.NODES, "fallback_key")
    yield from first_bad(
        TRACK_SHORT, mapped & (count < 2), "node with a map has one key", place, count, "2 or more"
    )
    yield from first_bad(
        TRACK_LONG, ~mapped & (count > 1), "node without a map has several keys", place, count, 1
    )


MAP_TRACK = Rule(
    "map-track",
    "warning",
    "core model (animation)",
    rule="Map words below the fallback are keys of the node's own run.",
    source="animation page, 7 (4)",
    why="The node moves with another node's keys.",
    fix="Convert to glTF, touch the node's animation and convert back.",
)
MAP_WORDS = Rule(
    "map-words",
    "note",
    "core model (animation)",
    rule=(
        "Map words are those of the canonical writer: the left key of the frame, else the fallback."
    ),
    source="animation page, 5.4; evidence page, Core models (key times)",
    why="The runtime reads them all the same.",
    fix="Nothing to do.",
)


def _map_words(model: MshModel, mapped: Ints, first: Ints, last: Ints) -> Iterator[Finding]:
    assert model.keys is not None
    words, frames = model.frame_map, model.frame_count
    start = model.nodes["map_start"].astype(np.int64)
    other, unusual = np.zeros(len(words), np.bool_), np.zeros(len(words), np.bool_)
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
        other[block] |= found < begin
        unusual[block] |= (found != wanted) & (found >= begin)
    place = in_table(model, StreamType.FRAME_MAP)
    problem = "map word is another node's key"
    yield from first_bad(MAP_TRACK, other, problem, place, words, canonical)
    problem = "map word is not the canonical one"
    yield from first_bad(MAP_WORDS, unusual, problem, place, words, canonical)


MAP_TILE = Rule(
    "map-tile",
    "note",
    "core model (animation)",
    rule="Maps follow one another in Res19 without gap or overlap.",
    source="animation page, 9, recommended (4)",
    why="The runtime reads them all the same.",
    fix="Nothing to do.",
)


def _maps(model: MshModel) -> Iterator[Finding]:
    """Blocks of Res19 (animation page, 5.3, 5.4, 7)."""
    words, frames = model.frame_map, model.frame_count
    start = model.nodes["map_start"].astype(np.int64)
    mapped = np.flatnonzero(start != NONE16)
    expected = np.arange(len(mapped)) * frames
    if not np.array_equal(start[mapped], expected) or len(words) != len(mapped) * frames:
        yield Finding(
            MAP_TILE, "maps do not follow one another", table=_MAP, row=None,
            offset=model.offset_of(StreamType.FRAME_MAP), value=f"{len(words)} words",
            expected=f"{len(mapped)} maps of {frames} frames",
        )  # fmt: skip
    runs = _runs(model)
    if runs is not None and len(mapped) and len(mapped) * frames <= MAX_USES * len(words):
        yield from _map_words(model, mapped, *runs)
