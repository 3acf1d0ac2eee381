"""Broken keys and maps of core models."""

from tests.support.corruption.base import INF, NAN, NONE, NotHere, Nres, Table, change, of_model, sound_nodes


def _mapped(box: Nres, least: int = 0) -> tuple[Table, int]:
    """A node with a map, not before a row."""
    nodes = sound_nodes(box)
    return nodes, nodes.first(lambda row: row >= least and nodes.get(row, 4) != NONE)


of_model.table(
    [
        ("node-fallback", "fallback-past-the-keys", lambda box: sound_nodes(box).set(0, 6, "H", 65535)),
        ("node-map", "map-past-the-table", lambda box: sound_nodes(box).set(0, 4, "H", 65000)),
        ("node-map", "frame-count-huge", lambda box: (_mapped(box), change(box.entry(19), attr2=4294967295))),
        ("key-finite", "key-time-infinite", lambda box: (sound_nodes(box), box.table(8).set(0, 12, "f", INF))),
        ("key-finite", "key-position-nan", lambda box: (sound_nodes(box), box.table(8).set(0, 4, "f", NAN))),
        ("key-zero", "rotation-of-zeros", lambda box: (sound_nodes(box), box.table(8).set(0, 16, "4h", 0, 0, 0, 0))),
        ("frame-count", "no-frames", lambda box: (sound_nodes(box), change(box.entry(19), attr2=0))),
        ("track-start", "run-starts-late", lambda box: (sound_nodes(box), box.table(8).set(0, 12, "f", 0.5))),
        ("key-finite", "key-position-huge", lambda box: (sound_nodes(box), box.table(8).set(0, 4, "f", 3e38))),
        ("map-tile", "map-nobody-uses", lambda box: (sound_nodes(box), box.table(19).append(b"\x00\x00"))),
    ]
)


@of_model("node-fallback")
def fallback_just_past_the_keys(box: Nres) -> None:
    nodes = sound_nodes(box)
    nodes.set(len(nodes) - 1, 6, "H", len(box.table(8)))


@of_model("key-none")
def map_without_keys(box: Nres) -> None:
    nodes = sound_nodes(box)
    entry = box.entry(8)
    entry.data.clear()
    entry.attr1 = 0
    nodes.set(0, 4, "H", 0)


@of_model("key-order")
def two_keys_of_one_time(box: Nres) -> None:
    nodes, row = _mapped(box)
    keys = box.table(8)
    last = nodes.get(row, 6)
    keys.set(last, 12, "f", keys.get(last - 1, 12, "f"))


@of_model("key-order")
def times_backwards(box: Nres) -> None:
    nodes, row = _mapped(box)
    box.table(8).set(nodes.get(row, 6), 12, "f", -1.0)


@of_model("key-time")
def time_between_frames(box: Nres) -> None:
    nodes, row = _mapped(box)
    keys = box.table(8)
    last = nodes.get(row, 6)
    keys.set(last, 12, "f", keys.get(last, 12, "f") + 0.25)


@of_model("key-unit")
def rotation_of_half_length(box: Nres) -> None:
    sound_nodes(box)
    box.table(8).set(0, 16, "4h", 8191, 8191, 8191, 8191)


@of_model("key-range")
def rotation_below_the_range(box: Nres) -> None:
    sound_nodes(box)
    box.table(8).set(0, 16, "4h", -32768, 0, 0, 0)


@of_model("frame-end")
def one_frame_less(box: Nres) -> None:
    _mapped(box)
    box.entry(19).attr2 -= 1


@of_model("frame-end")
def static_model_of_ten_frames(box: Nres) -> None:
    nodes = sound_nodes(box)
    if set(nodes.column(4)) != {NONE}:
        raise NotHere
    box.entry(19).attr2 = 10


@of_model("frame-end")
def static_model_of_endless_frames(box: Nres) -> None:
    nodes = sound_nodes(box)
    if set(nodes.column(4)) != {NONE}:
        raise NotHere
    box.entry(19).attr2 = 0xFFFFFFFF


@of_model("frame-cut")
def half_of_the_frames(box: Nres) -> None:
    _mapped(box)
    box.entry(19).attr2 //= 2


@of_model("track-order")
def fallbacks_fall(box: Nres) -> None:
    nodes = sound_nodes(box)
    if len(nodes) < 3:
        raise NotHere
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


@of_model("track-long")
def keys_without_a_map(box: Nres) -> None:
    nodes, row = _mapped(box)
    nodes.set(row, 4, "H", NONE)


@of_model("map-track")
def map_of_another_nodes_keys(box: Nres) -> None:
    nodes, row = _mapped(box, 1)
    box.table(19).set(nodes.get(row, 4), 0, "H", 0)


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
def map_words_one_key_late(box: Nres) -> None:
    words, start, _ = _long_map(box)
    words.set(start, 0, "H", words.get(start, 0) + 1)


@of_model("map-key")
def first_key_after_frame_0(box: Nres) -> None:
    nodes, row = _mapped(box)
    runs = [0, *(last + 1 for last in nodes.column(6))]
    if box.table(19).get(nodes.get(row, 4), 0) != runs[row]:
        raise NotHere
    box.table(8).set(runs[row], 12, "f", 0.5)


@of_model("key-empty")
def no_keys_at_all(box: Nres) -> None:
    sound_nodes(box)
    entry = box.entry(8)
    entry.data.clear()
    entry.attr1 = 0


@of_model("map-words")
def map_word_past_the_fallback(box: Nres) -> None:
    nodes, row = _mapped(box)
    box.table(19).set(nodes.get(row, 4), 0, "H", 0xFFFF)
