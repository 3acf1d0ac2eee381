"""The animation of a core model: keys, tracks, maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import plural
from ..findings import Bad, Finding
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.nres import Entry
from ..numeric.arrays import I64, MAX_USES, NONE16, Bools, Records
from ..scene.scene import MAX_COORDINATE, in_range
from . import Rules, run, why

_NODES, _KEYS = StreamType.NODES, StreamType.KEYS
_MAP = TABLES[StreamType.FRAME_MAP].label
#: How far a rotation's length may be from 1 (docs/reference/animation.md#res8-keys).
UNIT = 1e-3


rule = Rules("core model (animation)", "docs/reference/animation.md#res8-keys")


def check_keys(model: MshModel) -> Iterator[Finding]:
    """Yield keys and maps that would be read past their tables, or hold no numbers."""
    if not model.legacy and model.keys is not None and len(model.keys):
        yield from key_finite(model, model.keys)
        yield from node_fallback(model, model.keys)
        yield from node_map(model)
        yield from key_zero(model, model.keys)


def check_animation(model: MshModel) -> Iterator[Finding]:
    """Yield the findings about animation that the runtime does not rely on. ``model``: a valid one."""
    if model.legacy:
        return
    yield from run(model, key_none, key_empty)
    if (entry := model.archive.first_of_type(StreamType.FRAME_MAP)) is not None:
        yield from _frames(model, entry)
    if model.keys is not None:
        yield from key_time(model, model.keys)
        yield from key_unit(model, model.keys)
        yield from key_range(model, model.keys)
        if len(model.keys) and len(model.nodes):
            yield from _tracks(model, model.keys["time"])
    yield from run(model, map_tile, _map_words)


@rule(
    "node-fallback",
    "error",
    "A fallback key is a key.",
    "#the-runtimes-sampler",
    drops="the node's keys: it stands still at its parent's origin",
)
@why(
    "The runtime does not check: it would read past the keys. Every map word below it is then "
    "a key too, and so is the one after it.",
    fix="Correct hdr3.",
)
def node_fallback(model: MshModel, keys: Records) -> Iterator[Bad]:
    fallback = model.nodes["fallback_key"].astype(np.int64)
    yield Bad(
        "fallback key is not a key", (_NODES, "fallback_key"), fallback >= len(keys), fallback, f"below {len(keys)}"
    )


@rule(
    "node-map",
    "error",
    "A node's map lies inside Res19.",
    "#the-runtimes-sampler",
    drops="the node's map: it stands still",
)
@why(
    "The runtime does not check: it would read past the map.", fix="Correct hdr2, or the frame count (attr2 of Res19)."
)
def node_map(model: MshModel) -> Iterator[Bad]:
    start = model.nodes["map_start"].astype(np.int64)
    frames = model.frame_count
    end = np.where(start == NONE16, 0, start + frames)
    words = len(model.frame_map)
    yield Bad(
        f"map of {frames} frames runs past the table", (_NODES, "map_start"), end > words, end, f"at most {words}"
    )


@rule(
    "key-finite",
    "error",
    "Keys are finite numbers, positions of at most 1e12.",
    "docs/reference/conventions.md#divisors",
    drops="the key: its nodes stand still",
)
@why(
    "glTF cannot hold infinity or NaN, and poses of such positions overflow.",
    fix="Correct the key in the tool that wrote it.",
)
def key_finite(model: MshModel, keys: Records) -> Iterator[Bad]:
    finite = in_range(keys["position"]) & np.isfinite(keys["time"])

    def numbers(row: int) -> list[float]:
        return [*keys["position"][row].tolist(), float(keys["time"][row])]

    problem, expected = "key holds a number that is not finite, or too large", f"at most {MAX_COORDINATE:g}"
    yield Bad(problem, _KEYS, ~finite, numbers, expected)


@rule("key-none", "warning", "A model with a map has keys.", "#res19-the-frame-map")
@why("The map names keys that are not there.", fix="Take Res8 from a backup.")
def key_none(model: MshModel) -> Iterator[Bad]:
    start = model.nodes["map_start"]
    if model.keys is None or not len(model.keys):
        yield Bad("node has a map, the model has no keys", (_NODES, "map_start"), start != NONE16, start, "0xFFFF")


@rule("key-empty", "warning", "A model whose nodes name keys has keys.")
@why(
    "The runtime would read past the table; here the nodes stand at their parents' origins.",
    fix="Take Res8 from a backup.",
)
def key_empty(model: MshModel) -> Iterator[Bad]:
    if model.keys is not None and not len(model.keys):
        fallback = model.nodes["fallback_key"]
        yield Bad("node names a key, and there are none", (_NODES, "fallback_key"), fallback != NONE16, fallback)


@rule("key-order", "warning", "Times are strictly increasing inside a node's run of keys.")
@why(
    "The runtime divides by the difference of two times.",
    fix="Convert to glTF, touch the node's animation and convert back.",
)
def key_order(model: MshModel, time: Records, first: I64, last: I64) -> Iterator[Bad]:
    inside = np.ones(len(time), np.bool_)
    inside[first] = False
    inside[last[-1] + 1 :] = False
    bad = inside & (np.diff(time, prepend=np.float32(0)) <= 0)
    yield Bad("time is not after that of the key before", (_KEYS, "time"), bad, time, "increasing")


@rule("key-time", "note", "Times are whole numbers from 0.")
@why("The canonical map cannot name such a key.", fix="Nothing to do.")
def key_time(model: MshModel, keys: Records) -> Iterator[Bad]:
    time = keys["time"]
    bad = (time < 0) | (time != np.floor(time))
    yield Bad("time is not a whole number from 0", (_KEYS, "time"), bad, time, "0, 1, 2 ...")


@rule("key-unit", "note", "Key rotations are of unit length.")
@why(
    "The runtime does not normalise: the part is scaled (one key of the game is so).",
    fix="Convert to glTF, touch the node's animation and convert back.",
)
def key_unit(model: MshModel, keys: Records) -> Iterator[Bad]:
    length = np.sqrt((keys["quaternion"].astype(np.float64) ** 2).sum(axis=1)) / 32767
    bad = (np.abs(length - 1) > UNIT) & (length > 0)
    yield Bad("rotation is not of unit length", (_KEYS, "quaternion"), bad, length, "1")


@rule("key-zero", "note", "Key rotations are not all zero.")
@why("It is read as identity (ten keys of the game are so).", fix="Nothing to do.")
def key_zero(model: MshModel, keys: Records) -> Iterator[Bad]:
    zero = np.ascontiguousarray(keys["quaternion"]).view("<u8")[:, 0] == 0  # all four words
    yield Bad("all-zero quaternion, read as identity", (_KEYS, "quaternion"), zero, "0, 0, 0, 0", "unit length")


@rule("key-range", "note", "Words of key rotations lie in -32767..32767.", "docs/reference/conventions.md#divisors")
@why("-32768 decodes to less than -1.", fix="Nothing to do.")
def key_range(model: MshModel, keys: Records) -> Iterator[Bad]:
    words = keys["quaternion"]
    bad = (words == -32768).any(axis=1)
    yield Bad("rotation has a word of -32768", (_KEYS, "quaternion"), bad, words, "-32767..32767")


def _frames(model: MshModel, entry: Entry) -> Iterator[Finding]:
    yield from frame_count(model, entry)
    if entry.attr2 and model.keys is not None and len(model.keys) and len(model.nodes):
        with np.errstate(invalid="ignore"):
            last = float(model.keys["time"][model.nodes["fallback_key"]].max()) + 1
        yield from frame_end(model, entry, last)
        yield from frame_cut(model, entry, last)


@rule("frame-count", "warning", "The frame count (attr2 of Res19) is above 0.", "#res19-the-frame-map")
@why("No frame is ever inside the timeline.", fix="Set it to 1 for a static model.")
def frame_count(model: MshModel, entry: Entry) -> Iterator[Bad]:
    if not entry.attr2:
        yield Bad("model has no frames (attr2)", _MAP, None, 0, "1")


@rule("frame-cut", "warning", "No key of an animated node lies after the last frame.", "#res19-the-frame-map")
@why(
    "The clip ends before its last keys, or its maps are those of another length.",
    fix="Correct the frame count (attr2 of Res19).",
)
def frame_cut(model: MshModel, entry: Entry, last: float) -> Iterator[Bad]:
    if last > entry.attr2 and (model.nodes["map_start"] != NONE16).any():
        yield Bad("frame count (attr2) leaves out the last keys", _MAP, None, entry.attr2, f"{last:g}")


@rule("frame-end", "note", "The frame count is the last key's time + 1.", "#res19-the-frame-map")
@why("The clip ends early, or stands still at its end.", fix="Convert to glTF, touch the animation and convert back.")
def frame_end(model: MshModel, entry: Entry, last: float) -> Iterator[Bad]:
    if last != entry.attr2:
        yield Bad("frame count (attr2) is not the last key's time + 1", _MAP, None, entry.attr2, f"{last:g}")


def _runs(model: MshModel) -> tuple[I64, I64] | None:
    """First and last key of every node; ``None`` where fallbacks do not increase."""
    if model.keys is None or not len(model.keys) or not len(model.nodes):
        return None
    last = model.nodes["fallback_key"].astype(np.int64)
    first = np.concatenate([[0], last[:-1] + 1])
    return (first, last) if (last >= first).all() else None


def _tracks(model: MshModel, time: Records) -> Iterator[Finding]:
    yield from track_order(model)
    if (runs := _runs(model)) is not None:
        first, last = runs
        yield from track_short(model, last - first + 1)
        yield from track_long(model, last - first + 1)
        yield from track_start(model, time[first])
        yield from key_order(model, time, first, last)


@rule("track-order", "note", "Fallback keys are increasing from node to node.")
@why("Runs of keys cannot be separated.", fix="Convert to glTF and back without the sidecar.")
def track_order(model: MshModel) -> Iterator[Bad]:
    fallback = model.nodes["fallback_key"].astype(np.int64)
    problem = "fallback key is not after that of the node before"
    yield Bad(problem, (_NODES, "fallback_key"), np.diff(fallback, prepend=-1) <= 0, fallback, "increasing")


@rule("track-start", "note", "A node's run of keys starts at time 0.")
@why("Before its first key the node takes its last.", fix="Convert to glTF and back without the sidecar.")
def track_start(model: MshModel, start: Records) -> Iterator[Bad]:
    yield Bad("node's keys do not start at 0", (_NODES, "fallback_key"), start != 0, start, 0)


@rule("track-short", "warning", "A node with a map has at least two keys.")
@why("The map branch interpolates between two.", fix="Remove the map (hdr2 = 0xFFFF), or add a key.")
def track_short(model: MshModel, count: I64) -> Iterator[Bad]:
    bad = (model.nodes["map_start"] != NONE16) & (count < 2)
    yield Bad("node with a map has one key", (_NODES, "fallback_key"), bad, count, "2 or more")


@rule("track-long", "note", "A node without a map has one key.")
@why("The others are never read.", fix="Nothing to do.")
def track_long(model: MshModel, count: I64) -> Iterator[Bad]:
    bad = (model.nodes["map_start"] == NONE16) & (count > 1)
    yield Bad("node without a map has several keys", (_NODES, "fallback_key"), bad, count, 1)


class _MapWords(NamedTuple):
    """The words of Res19 (W,): which break which rule, and what the canonical writer would have."""

    canonical: I64
    other: Bools
    unusual: Bools
    off: Bools


def _map_words(model: MshModel) -> Iterator[Finding]:
    mapped, runs = np.flatnonzero(model.nodes["map_start"] != NONE16), _runs(model)
    if runs is not None and len(mapped) and len(mapped) * model.frame_count <= MAX_USES * len(model.frame_map):
        found = _judged(model, mapped, *runs)
        yield from map_track(model, found)
        yield from map_key(model, found)
        yield from map_words(model, found)


def _judged(model: MshModel, mapped: I64, first: I64, last: I64) -> _MapWords:
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
    return _MapWords(canonical, other, unusual, off)


@rule("map-track", "warning", "Map words below the fallback are keys of the node's own run.", "#res19-the-frame-map")
@why("The node moves with another node's keys.", fix="Convert to glTF, touch the node's animation and convert back.")
def map_track(model: MshModel, found: _MapWords) -> Iterator[Bad]:
    yield Bad("map word is another node's key", StreamType.FRAME_MAP, found.other, model.frame_map, found.canonical)


@rule(
    "map-words",
    "note",
    "Map words are those of the canonical writer: the left key of the frame, else the fallback.",
    "#the-writers-map",
)
@why("The runtime reads them all the same.", fix="Nothing to do.")
def map_words(model: MshModel, found: _MapWords) -> Iterator[Bad]:
    problem = "map word is not the canonical one"
    yield Bad(problem, StreamType.FRAME_MAP, found.unusual, model.frame_map, found.canonical)


@rule(
    "map-key",
    "warning",
    "A map word below the fallback names the key at or before its frame, the next one being after.",
    "#the-runtimes-sampler",
)
@why(
    "The runtime goes on past the two keys in a straight line: the node jumps.",
    fix="Convert to glTF, touch the node's animation and convert back.",
)
def map_key(model: MshModel, found: _MapWords) -> Iterator[Bad]:
    problem = "map word names a key that is not at its frame"
    yield Bad(problem, StreamType.FRAME_MAP, found.off, model.frame_map, found.canonical)


@rule("map-tile", "note", "Maps follow one another in Res19 without gap or overlap.", "#res19-the-frame-map")
@why("The runtime reads them all the same.", fix="Nothing to do.")
def map_tile(model: MshModel) -> Iterator[Bad]:
    words, frames = model.frame_map, model.frame_count
    start = model.nodes["map_start"].astype(np.int64)
    mapped = np.flatnonzero(start != NONE16)
    expected = np.arange(len(mapped)) * frames
    if not np.array_equal(start[mapped], expected) or len(words) != len(mapped) * frames:
        value, wanted = plural(len(words), "word"), f"{len(mapped)} maps of {frames} frames"
        yield Bad("maps do not follow one another", StreamType.FRAME_MAP, None, value, wanted)
