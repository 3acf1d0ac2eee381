"""Broken keys and maps of core models."""

from collections.abc import Callable

from tests.support.corruption.base import INF, NAN, NONE, Nres, Table, change, empty, need, of_model, sound_nodes


def _mapped(box: Nres, least: int = 0) -> int:
    """A node with a map, not before a row."""
    nodes = sound_nodes(box)
    return nodes.first(lambda row: row >= least and nodes.get(row, 4) != NONE)


def _map_at(box: Nres, least: int = 0) -> int:
    """Where its map starts."""
    return box.table(1).get(_mapped(box, least), 4)


def _last_time(box: Nres, new: Callable[[Table, int], float]) -> None:
    """Give its last key another time."""
    keys, last = box.table(8), box.table(1).get(_mapped(box), 6)
    keys.set(last, 12, "f", new(keys, last))


def _frames_of_static(box: Nres, count: int) -> None:
    need(set(sound_nodes(box).column(4)) == {NONE})
    box.entry(19).attr2 = count


# fmt: off
of_model("node-fallback", "fallback-past-the-keys", lambda box: sound_nodes(box).set(0, 6, "H", 65535))
of_model("node-map", "map-past-the-table", lambda box: sound_nodes(box).set(0, 4, "H", 65000))
of_model("node-map", "frame-count-huge", lambda box: (_mapped(box), change(box.entry(19), attr2=4294967295)))
of_model("key-finite", "key-time-infinite", lambda box: (sound_nodes(box), box.table(8).set(0, 12, "f", INF)))
of_model("key-finite", "key-position-nan", lambda box: (sound_nodes(box), box.table(8).set(0, 4, "f", NAN)))
of_model("key-zero", "rotation-of-zeros", lambda box: (sound_nodes(box), box.table(8).set(0, 16, "4h", 0, 0, 0, 0)))
of_model("frame-count", "no-frames", lambda box: (sound_nodes(box), change(box.entry(19), attr2=0)))
of_model("track-start", "run-starts-late", lambda box: (sound_nodes(box), box.table(8).set(0, 12, "f", 0.5)))
of_model("key-finite", "key-position-huge", lambda box: (sound_nodes(box), box.table(8).set(0, 4, "f", 3e38)))
of_model("map-tile", "map-nobody-uses", lambda box: (sound_nodes(box), box.table(19).append(b"\x00\x00")))
of_model("node-fallback", "fallback-just-past-the-keys",
    lambda box: (nodes := sound_nodes(box)).set(len(nodes) - 1, 6, "H", len(box.table(8))))
of_model("key-none", "map-without-keys", lambda box: (sound_nodes(box).set(0, 4, "H", 0), empty(box.entry(8))))
of_model("key-order", "two-keys-of-one-time",
    lambda box: _last_time(box, lambda keys, last: keys.get(last - 1, 12, "f")))
of_model("key-order", "times-backwards", lambda box: _last_time(box, lambda *_: -1.0))
of_model("key-time", "time-between-frames",
    lambda box: _last_time(box, lambda keys, last: keys.get(last, 12, "f") + 0.25))
of_model("key-unit", "rotation-of-half-length",
    lambda box: (sound_nodes(box), box.table(8).set(0, 16, "4h", *[8191] * 4)))
of_model("key-range", "rotation-below-the-range",
    lambda box: (sound_nodes(box), box.table(8).set(0, 16, "4h", -32768, 0, 0, 0)))
of_model("frame-end", "one-frame-less",
    lambda box: (_mapped(box), change(words := box.entry(19), attr2=words.attr2 - 1)))
of_model("frame-end", "static-model-of-ten-frames", lambda box: _frames_of_static(box, 10))
of_model("frame-end", "static-model-of-endless-frames", lambda box: _frames_of_static(box, 0xFFFFFFFF))
of_model("frame-cut", "half-of-the-frames",
    lambda box: (_mapped(box), change(words := box.entry(19), attr2=words.attr2 // 2)))
of_model("track-long", "keys-without-a-map", lambda box: sound_nodes(box).set(_mapped(box), 4, "H", NONE))
of_model("map-track", "map-of-another-nodes-keys", lambda box: box.table(19).set(_map_at(box, 1), 0, "H", 0))
of_model("map-key", "map-words-one-key-late",
    lambda box: (found := _long_map(box))[0].change(found[1], 0, "H", lambda word: word + 1))
of_model("key-empty", "no-keys-at-all", lambda box: (sound_nodes(box), empty(box.entry(8))))
of_model("map-words", "map-word-past-the-fallback", lambda box: box.table(19).set(_map_at(box), 0, "H", 0xFFFF))
# fmt: on


@of_model("track-order")
def fallbacks_fall(box: Nres) -> None:
    nodes = sound_nodes(box)
    need(len(nodes) > 2)
    nodes.set(1, 6, "H", nodes.get(2, 6))
    nodes.set(2, 6, "H", 0)


@of_model("track-short")
def map_for_one_key(box: Nres) -> None:
    nodes = sound_nodes(box)
    runs = [0, *(last + 1 for last in nodes.column(6))]
    single = nodes.first(lambda row: nodes.get(row, 4) == NONE and runs[row + 1] - runs[row] == 1)
    nodes.set(single, 4, "H", 0)
    if not box.entry(19).data:
        box.entry(19).data += b"\0\0"
        box.entry(19).attr1 = 1


def _long_map(box: Nres) -> tuple[Table, int, int]:
    """The map of a node with three keys or more: the words, where it starts, its frames."""
    nodes = sound_nodes(box)
    ends = [-1, *nodes.column(6)]
    row = nodes.first(lambda row: nodes.get(row, 4) != NONE and ends[row + 1] - ends[row] > 2)
    return box.table(19), nodes.get(row, 4), box.entry(19).attr2


@of_model("map-key")
def map_words_reversed(box: Nres) -> None:
    words, start, count = _long_map(box)
    block = [words.get(start + frame, 0) for frame in range(count)]
    for frame, word in enumerate(reversed(block)):
        words.set(start + frame, 0, "H", word)


@of_model("map-key")
def first_key_after_frame_0(box: Nres) -> None:
    row = _mapped(box)
    first = box.table(1).get(row - 1, 6) + 1 if row else 0
    need(box.table(19).get(_map_at(box), 0) == first)
    box.table(8).set(first, 12, "f", 0.5)
