"""The animation of a core model: keys, tracks, maps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..errors import plural
from ..findings import Finding, Rule, first_bad
from ..formats.model import TABLES, MshModel, StreamType
from ..numeric.arrays import MAX_USES, NONE16, Ints, Records
from ..scene.scene import MAX_COORDINATE, in_range
from .places import in_table

_rule = partial(Rule, "core model (animation)", source="docs/reference/animation.md#res8-keys")

_MAP = TABLES[StreamType.FRAME_MAP].label
#: How far a rotation's length may be from 1 (docs/reference/animation.md#res8-keys).
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
    findings = [*_none(model), *_empty(model), *_frames(model)]
    if model.keys is not None:
        findings += _words(model, model.keys)
        if len(model.keys) and len(model.nodes):
            findings += _tracks(model, model.keys["time"])
    return [*findings, *_maps(model)]


NODE_FALLBACK = _rule(
    "node-fallback",
    "error",
    "A fallback key is a key.",
    source="docs/reference/animation.md#the-runtimes-sampler",
    why="The runtime does not check: it would read past the keys. Every map word below it is then "
    "a key too, and so is the one after it.",
    fix="Correct hdr3.",
    drops="the node's keys: it stands still at its parent's origin",
)


def _fallback(model: MshModel, keys: Records) -> Iterator[Finding]:
    fallback = model.nodes["fallback_key"].astype(np.int64)
    yield from first_bad(
        NODE_FALLBACK,
        fallback >= len(keys),
        "fallback key is not a key",
        in_table(model, StreamType.NODES, "fallback_key"),
        fallback,
        f"below {len(keys)}",
    )


NODE_MAP = _rule(
    "node-map",
    "error",
    "A node's map lies inside Res19.",
    source="docs/reference/animation.md#the-runtimes-sampler",
    why="The runtime does not check: it would read past the map.",
    fix="Correct hdr2, or the frame count (attr2 of Res19).",
    drops="the node's map: it stands still",
)


def _map(model: MshModel) -> Iterator[Finding]:
    start = model.nodes["map_start"].astype(np.int64)
    frames = model.frame_count
    end = np.where(start == NONE16, 0, start + frames)
    words = len(model.frame_map)
    yield from first_bad(
        NODE_MAP,
        end > words,
        f"map of {frames} frames runs past the table",
        in_table(model, StreamType.NODES, "map_start"),
        end,
        f"at most {words}",
    )


KEY_FINITE = _rule(
    "key-finite",
    "error",
    "Keys are finite numbers, positions of at most 1e12.",
    source="docs/reference/conventions.md#divisors",
    why="glTF cannot hold infinity or NaN, and poses of such positions overflow.",
    fix="Correct the key in the tool that wrote it.",
    drops="the key: its nodes stand still",
)


def _finite(model: MshModel, keys: Records) -> Iterator[Finding]:
    finite = in_range(keys["position"]) & np.isfinite(keys["time"])

    def numbers(row: int) -> list[float]:
        return [*keys["position"][row].tolist(), float(keys["time"][row])]

    yield from first_bad(
        KEY_FINITE,
        ~finite,
        "key holds a number that is not finite, or too large",
        in_table(model, StreamType.KEYS),
        numbers,
        f"at most {MAX_COORDINATE:g}",
    )


KEY_NONE = _rule(
    "key-none",
    "warning",
    "A model with a map has keys.",
    source="docs/reference/animation.md#res19-the-frame-map",
    why="The map names keys that are not there.",
    fix="Take Res8 from a backup.",
)


def _none(model: MshModel) -> Iterator[Finding]:
    start = model.nodes["map_start"]
    if model.keys is None or not len(model.keys):
        yield from first_bad(
            KEY_NONE,
            start != NONE16,
            "node has a map, the model has no keys",
            in_table(model, StreamType.NODES, "map_start"),
            start,
            "0xFFFF",
        )


KEY_EMPTY = _rule(
    "key-empty",
    "warning",
    "A model whose nodes name keys has keys.",
    why="The runtime would read past the table; here the nodes stand at their parents' origins.",
    fix="Take Res8 from a backup.",
)


def _empty(model: MshModel) -> Iterator[Finding]:
    if model.keys is not None and not len(model.keys):
        fallback = model.nodes["fallback_key"]
        yield from first_bad(
            KEY_EMPTY,
            fallback != NONE16,
            "node names a key, and there are none",
            in_table(model, StreamType.NODES, "fallback_key"),
            fallback,
        )


KEY_ORDER = _rule(
    "key-order",
    "warning",
    "Times are strictly increasing inside a node's run of keys.",
    why="The runtime divides by the difference of two times.",
    fix="Convert to glTF, touch the node's animation and convert back.",
)


def _key_order(model: MshModel, time: Records, first: Ints, last: Ints) -> Iterator[Finding]:
    inside = np.ones(len(time), np.bool_)
    inside[first] = False
    inside[last[-1] + 1 :] = False
    yield from first_bad(
        KEY_ORDER,
        inside & (np.diff(time, prepend=np.float32(0)) <= 0),
        "time is not after that of the key before",
        in_table(model, StreamType.KEYS, "time"),
        time,
        "increasing",
    )


KEY_TIME = _rule(
    "key-time",
    "note",
    "Times are whole numbers from 0.",
    why="The canonical map cannot name such a key.",
    fix="Nothing to do.",
)
KEY_UNIT = _rule(
    "key-unit",
    "note",
    "Key rotations are of unit length.",
    why="The runtime does not normalise: the part is scaled (one key of the game is so).",
    fix="Convert to glTF, touch the node's animation and convert back.",
)
KEY_ZERO = _rule(
    "key-zero",
    "note",
    "Key rotations are not all zero.",
    why="It is read as identity (ten keys of the game are so).",
    fix="Nothing to do.",
)
KEY_RANGE = _rule(
    "key-range",
    "note",
    "Words of key rotations lie in -32767..32767.",
    source="docs/reference/conventions.md#divisors",
    why="-32768 decodes to less than -1.",
    fix="Nothing to do.",
)


def _words(model: MshModel, keys: Records) -> Iterator[Finding]:
    time, words = keys["time"], keys["quaternion"]
    yield from first_bad(
        KEY_TIME,
        (time < 0) | (time != np.floor(time)),
        "time is not a whole number from 0",
        in_table(model, StreamType.KEYS, "time"),
        time,
        "0, 1, 2 ...",
    )
    length = np.sqrt((words.astype(np.float64) ** 2).sum(axis=1)) / 32767
    bad = (np.abs(length - 1) > UNIT) & (length > 0)
    place = in_table(model, StreamType.KEYS, "quaternion")
    yield from first_bad(KEY_UNIT, bad, "rotation is not of unit length", place, length, "1")
    bad = (words == -32768).any(axis=1)
    yield from first_bad(KEY_RANGE, bad, "rotation has a word of -32768", place, words, "")


def _zero(model: MshModel, keys: Records) -> Iterator[Finding]:
    zero = np.ascontiguousarray(keys["quaternion"]).view("<u8")[:, 0] == 0  # all four words
    yield from first_bad(
        KEY_ZERO,
        zero,
        "all-zero quaternion, read as identity",
        in_table(model, StreamType.KEYS, "quaternion"),
        "0, 0, 0, 0",
        "unit length",
    )


FRAME_COUNT = _rule(
    "frame-count",
    "warning",
    "The frame count (attr2 of Res19) is above 0.",
    source="docs/reference/animation.md#res19-the-frame-map",
    why="No frame is ever inside the timeline.",
    fix="Set it to 1 for a static model.",
)
FRAME_CUT = _rule(
    "frame-cut",
    "warning",
    "No key of an animated node lies after the last frame.",
    source="docs/reference/animation.md#res19-the-frame-map",
    why="The clip ends before its last keys, or its maps are those of another length.",
    fix="Correct the frame count (attr2 of Res19).",
)
FRAME_END = _rule(
    "frame-end",
    "note",
    "The frame count is the last key's time + 1.",
    source="docs/reference/animation.md#res19-the-frame-map",
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
        if last > entry.attr2 and (model.nodes["map_start"] != NONE16).any():
            problem = "frame count (attr2) leaves out the last keys"
            yield Finding(FRAME_CUT, problem, _MAP, value=entry.attr2, expected=f"{last:g}")


def _runs(model: MshModel) -> tuple[Ints, Ints] | None:
    """First and last key of every node; ``None`` where fallbacks do not increase."""
    if model.keys is None or not len(model.keys) or not len(model.nodes):
        return None
    last = model.nodes["fallback_key"].astype(np.int64)
    first = np.concatenate([[0], last[:-1] + 1])
    return (first, last) if (last >= first).all() else None


TRACK_ORDER = _rule(
    "track-order",
    "note",
    "Fallback keys are increasing from node to node.",
    why="Runs of keys cannot be separated.",
    fix="Convert to glTF and back without the sidecar.",
)


def _tracks(model: MshModel, time: Records) -> Iterator[Finding]:
    """Runs of keys (docs/reference/animation.md#res8-keys)."""
    fallback = model.nodes["fallback_key"].astype(np.int64)
    yield from first_bad(
        TRACK_ORDER,
        np.diff(fallback, prepend=-1) <= 0,
        "fallback key is not after that of the node before",
        in_table(model, StreamType.NODES, "fallback_key"),
        fallback,
        "increasing",
    )
    if (runs := _runs(model)) is not None:
        first, last = runs
        yield from _track_lengths(model, last - first + 1)
        yield from _track_start(model, time[first])
        yield from _key_order(model, time, first, last)


TRACK_START = _rule(
    "track-start",
    "note",
    "A node's run of keys starts at time 0.",
    why="Before its first key the node takes its last.",
    fix="Convert to glTF and back without the sidecar.",
)


def _track_start(model: MshModel, start: Records) -> Iterator[Finding]:
    yield from first_bad(
        TRACK_START,
        start != 0,
        "node's keys do not start at 0",
        in_table(model, StreamType.NODES, "fallback_key"),
        start,
        0,
    )


TRACK_SHORT = _rule(
    "track-short",
    "warning",
    "A node with a map has at least two keys.",
    why="The map branch interpolates between two.",
    fix="Remove the map (hdr2 = 0xFFFF), or add a key.",
)
TRACK_LONG = _rule(
    "track-long", "note", "A node without a map has one key.", why="The others are never read.", fix="Nothing to do."
)


def _track_lengths(model: MshModel, count: Ints) -> Iterator[Finding]:
    mapped = model.nodes["map_start"] != NONE16
    place = in_table(model, StreamType.NODES, "fallback_key")
    yield from first_bad(TRACK_SHORT, mapped & (count < 2), "node with a map has one key", place, count, "2 or more")
    yield from first_bad(TRACK_LONG, ~mapped & (count > 1), "node without a map has several keys", place, count, 1)


MAP_TRACK = _rule(
    "map-track",
    "warning",
    "Map words below the fallback are keys of the node's own run.",
    source="docs/reference/animation.md#res19-the-frame-map",
    why="The node moves with another node's keys.",
    fix="Convert to glTF, touch the node's animation and convert back.",
)
MAP_WORDS = _rule(
    "map-words",
    "note",
    "Map words are those of the canonical writer: the left key of the frame, else the fallback.",
    source="docs/reference/animation.md#the-writers-map",
    why="The runtime reads them all the same.",
    fix="Nothing to do.",
)


MAP_KEY = _rule(
    "map-key",
    "warning",
    "A map word below the fallback names the key at or before its frame, the next one being after.",
    source="docs/reference/animation.md#the-runtimes-sampler",
    why="The runtime goes on past the two keys in a straight line: the node jumps.",
    fix="Convert to glTF, touch the node's animation and convert back.",
)


def _map_words(model: MshModel, mapped: Ints, first: Ints, last: Ints) -> Iterator[Finding]:
    assert model.keys is not None
    words, frames = model.frame_map, model.frame_count
    start = model.nodes["map_start"].astype(np.int64)
    other, unusual, off = np.zeros((3, len(words)), np.bool_)
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
        key = np.clip(found - begin, 0, max(0, end - begin - 1))
        after = (time[key] > times) | (time[np.minimum(key + 1, end - begin)] < times)
        off[block] |= (found >= begin) & (found < end) & after
    place = in_table(model, StreamType.FRAME_MAP)
    problem = "map word is another node's key"
    yield from first_bad(MAP_TRACK, other, problem, place, words, canonical)
    problem = "map word names a key that is not at its frame"
    yield from first_bad(MAP_KEY, off, problem, place, words, canonical)
    problem = "map word is not the canonical one"
    yield from first_bad(MAP_WORDS, unusual, problem, place, words, canonical)


MAP_TILE = _rule(
    "map-tile",
    "note",
    "Maps follow one another in Res19 without gap or overlap.",
    source="docs/reference/animation.md#res19-the-frame-map",
    why="The runtime reads them all the same.",
    fix="Nothing to do.",
)


def _maps(model: MshModel) -> Iterator[Finding]:
    """Blocks of Res19 (docs/reference/animation.md#res19-the-frame-map)."""
    words, frames = model.frame_map, model.frame_count
    start = model.nodes["map_start"].astype(np.int64)
    mapped = np.flatnonzero(start != NONE16)
    expected = np.arange(len(mapped)) * frames
    if not np.array_equal(start[mapped], expected) or len(words) != len(mapped) * frames:
        yield Finding(
            MAP_TILE,
            "maps do not follow one another",
            table=_MAP,
            row=None,
            offset=model.offset_of(StreamType.FRAME_MAP),
            value=plural(len(words), "word"),
            expected=f"{len(mapped)} maps of {frames} frames",
        )
    runs = _runs(model)
    if runs is not None and len(mapped) and len(mapped) * frames <= MAX_USES * len(words):
        yield from _map_words(model, mapped, *runs)
