"""Broken tables of core models: directory, vertices, nodes, slots, header, names, graph."""

import struct

from tests.support.corruption.base import (
    INF,
    NAN,
    NONE,
    NotHere,
    Nres,
    change,
    cut,
    empty,
    need,
    of_model,
    pack,
    put,
    sound_nodes,
    swap,
    twice,
)

# fmt: off
of_model("model-tables", "no-batches", lambda box: box.remove(13))
of_model("model-tables", "no-nodes-table", lambda box: box.remove(1))
of_model("model-tables", "no-positions", lambda box: box.remove(3))
of_model("table-missing", "no-normals", lambda box: box.remove(4))
of_model("table-missing", "no-strings", lambda box: box.remove(10))
of_model("table-stride", "nodes-cut", lambda box: cut(box.entry(1).data, -1))
of_model("table-stride", "positions-cut", lambda box: cut(box.entry(3).data, -4))
of_model("table-stride", "keys-cut", lambda box: cut(box.entry(8).data, -8))
of_model("table-stride", "map-of-odd-bytes", lambda box: box.entry(19).data.extend(b"\0"))
of_model("table-stride", "batches-cut", lambda box: cut(box.entry(13).data, -2))
of_model("slots-size", "header-cut-off", lambda box: cut(box.entry(2).data, 100))
of_model("table-stride", "slot-cut-off", lambda box: cut(box.entry(2).data, -4))
of_model("entry-unknown", "table-99", lambda box: box.add(99, b"what is this"))
of_model("entry-attr1", "key-count-wrong", lambda box: change(box.entry(8), attr1=0xFFFFFFFF))
of_model("entry-attr2", "attr2-of-positions", lambda box: change(box.entry(3), attr2=7))
of_model("entry-attr3", "attr3-of-keys-is-the-stride", lambda box: change(box.entry(8), attr3=24))
of_model("entry-attr3", "attr3-of-batches", lambda box: change(box.entry(13), attr3=0))
of_model("vertex-finite", "position-nan", lambda box: box.table(3).set(1, 4, "f", NAN))
of_model("vertex-finite", "position-infinite", lambda box: box.table(3).set(0, 0, "f", -INF))
of_model("vertex-count", "normals-too-few", lambda box: cut(box.entry(4).data, -4))
of_model("vertex-count", "uv-empty", lambda box: box.entry(5).data.clear())
of_model("vertex-extra", "normals-too-many", lambda box: box.table(4).append())
of_model("node-parent", "parent-past-the-table", lambda box: sound_nodes(box).set(1, 2, "H", 60000))
of_model("node-cycle", "parent-is-itself", lambda box: sound_nodes(box).set(0, 2, "H", 0))
of_model("node-slot", "slot-index-past-the-slots", lambda box: sound_nodes(box).set(1, 8, "H", 60000))
of_model("node-slot", "slot-index-in-the-last-word", lambda box: sound_nodes(box).set(0, 36, "H", 0xFFFE))
of_model("slot-finite", "slot-box-nan", lambda box: box.table(2).set(0, 8, "f", NAN))
of_model("slot-finite", "slot-radius-negative", lambda box: box.table(2).set(0, 44, "f", -1.0))
of_model("slot-batches", "batches-past-the-table", lambda box: box.table(2).set(0, 4, "H", 60000))
of_model("slot-batches", "batch-count-huge", lambda box: box.table(2).set(0, 6, "H", 0xFFFF))
of_model("slot-sphere", "sphere-too-small", lambda box: box.table(2).set(_drawn(box), 44, "f", 0.0))
of_model("slot-sphere", "sphere-elsewhere", lambda box: box.table(2).set(_drawn(box), 32, "3f", 1e6, 0, 0))
of_model("slot-volume", "volume-negative", lambda box: box.table(2).set(_drawn(box), 52, "f", -1.0))
of_model("slot-volume", "volume-a-little-too-large",
    lambda box: box.table(2).change(_drawn(box), 52, "f", lambda volume: volume + max(0.5, volume * 0.02)))
of_model("header-finite", "header-nan", lambda box: pack("<f", box.entry(2).data, 4, NAN))
of_model("header-finite", "header-radius-negative", lambda box: pack("<f", box.entry(2).data, 108, -5.0))
of_model("header-cylinder", "cylinder-of-a-point", lambda box: pack("<7f", box.entry(2).data, 112, *[0.0] * 7))
of_model("string-run", "string-longer-than-the-table", lambda box: pack("<I", box.entry(10).data, 0, 0xFFFFFFF0))
of_model("string-run", "strings-cut-off", lambda box: cut(box.entry(10).data, -1))
of_model("string-run", "no-strings-at-all", lambda box: box.entry(10).data.clear())
of_model("string-tail", "bytes-behind-the-strings", lambda box: box.entry(10).data.extend(b"tail"))
of_model("name-stride", "names-cut", lambda box: cut(box.entry(9).data, -1))
of_model("name-nul", "name-of-32-bytes", lambda box: put(box.entry(9).data, slice(None, 32), b"n" * 32))
of_model("graph-size", "graph-cut", lambda box: cut(_graph(box), -4))
of_model("graph-finite", "graph-point-nan", lambda box: pack("<f", _graph(box), 20, NAN))
of_model("graph-node", "graph-point-without-node", lambda box: pack("<I", _graph(box), 16, 0xFFFFFFFF))
of_model("graph-link", "graph-link-past-the-points", lambda box: pack("<I", _graph(box), 44, 2))
of_model("vertex-finite", "position-huge", lambda box: box.table(3).set(0, 0, "f", 3e38))
of_model("model-tables", "no-entries", lambda box: box.entries.clear())
of_model("entry-attr1", "slot-count-wrong", lambda box: change(box.entry(2), attr1=box.entry(2).attr1 + 1))
of_model("entry-attr1", "map-count-wrong", lambda box: change(box.entry(19), attr1=box.entry(19).attr1 + 7))
of_model("slot-triangles", "triangles-past-the-table", lambda box: (box.entry(7), box.table(2).set(0, 0, "H", 60000)))
of_model("slot-triangles", "triangle-count-huge", lambda box: (box.entry(7), box.table(2).set(0, 2, "H", 65535)))
of_model("slot-unused", "slot-nobody-uses", lambda box: (sound_nodes(box), box.table(2).append()))
of_model("name-count", "one-name-too-many", lambda box: (sound_nodes(box), box.table(9).append()))
of_model("graph-size", "graph-counts-huge", lambda box: (_graph(box), change(box.entry(17), attr1=4294967295)))
of_model("entry-twice", "two-position-tables", lambda box: twice(box, 3))
of_model("vertex-unreached", "vertex-nobody-uses",
    lambda box: [box.table(kind).append() for kind in (3, 4, 5, 15, 18) if box.has(kind)])
of_model("node-none", "no-node-records", lambda box: (sound_nodes(box), empty(box.entry(1))))
of_model("node-legacy", "nodes-of-24-bytes",
    lambda box: (nodes := sound_nodes(box), change(nodes.entry, data=bytearray(24 * len(nodes)), attr3=24)))
of_model("node-parent", "parent-just-past-the-table",
    lambda box: (nodes := sound_nodes(box)).set(0, 2, "H", len(nodes)))
of_model("node-cycle", "two-nodes-in-a-ring",
    lambda box: (nodes := sound_nodes(box), nodes.set(0, 2, "H", 1), nodes.set(1, 2, "H", 0)))
of_model("slot-cover", "one-triangle-less",
    lambda box: (box.entry(7), all := box.table(2), all.change(all.first(lambda r: all.get(r, 2) > 1), 2, "H",
    lambda n: n - 1)))
of_model("slot-box", "box-too-small",
    lambda box: (all := box.table(2)).set(row := _drawn(box), 20, "3f", *all.get(row, 8, "3f")))
of_model("slot-box", "box-elsewhere",
    lambda box: box.table(2).change(_drawn(box), 8, "6f", lambda box: [v + 1e6 for v in box]))
of_model("slot-box-loose", "box-too-large",
    lambda box: box.table(2).change(_drawn(box), 8, "6f",
    lambda box: [2 * box[i % 6] - box[i % 6 + 3] if i < 3 else box[i] for i in range(6)]))
of_model("slot-area", "area-doubled", lambda box: box.table(2).change(_drawn(box), 48, "f", lambda area: area * 2 + 1))
of_model("header-corners", "corners-swapped", lambda box: swap(box.entry(2).data, 0, 12))
of_model("header-box", "header-ten-times-as-large",
    lambda box: (need(box.facts["dialect"]), pack("<24f", header := box.entry(2).data, 0, *(10 * v
    for v in struct.unpack_from("<24f", header)))))
of_model("header-sphere", "sphere-of-a-point",
    lambda box: (need(box.facts["dialect"]), pack("<f", box.entry(2).data, 108, 0.0)))
of_model("model-tables", "no-known-table", lambda box: [change(entry, type=entry.type + 1000) for entry in box.entries])
of_model("header-flat", "header-box-flat",
    lambda box: (sound_nodes(box), [pack("<f", box.entry(2).data, 12 * corner + 8, 1.0) for corner in range(8)]))
of_model("header-flat", "header-radius-zero", lambda box: (sound_nodes(box), pack("<f", box.entry(2).data, 108, 0.0)))
of_model("graph-tail", "link-tail-of-a-node-that-is-not",
    lambda box: (graph := box.entry(17), need(graph.attr2), pack("<I", graph.data, 20 * graph.attr1 + 8, 0x10000)))
# fmt: on


@of_model("vertex-shared")
def slot_of_two_nodes(box: Nres) -> None:
    nodes = sound_nodes(box)
    filled = [row for row in range(len(nodes)) if nodes.get(row, 8) != NONE]
    slots = box.table(2)
    filled = [row for row in filled if slots.get(nodes.get(row, 8), 6)]
    need(len(filled) > 1 and nodes.get(filled[0], 8) != nodes.get(filled[1], 8))
    nodes.set(filled[1], 8, "H", nodes.get(filled[0], 8))


@of_model("node-order")
def child_before_its_parent(box: Nres) -> None:
    nodes = sound_nodes(box)
    parents = nodes.column(2)

    def leads_to(row: int, goal: int) -> bool:
        while row != NONE:
            if row == goal:
                return True
            row = parents[row]
        return False

    for late in range(len(nodes) - 1, 0, -1):
        for early in range(1, late):
            if not leads_to(late, early):
                nodes.set(early, 2, "H", late)
                return
    raise NotHere


@of_model("node-stage")
def later_block_only(box: Nres) -> None:
    nodes = sound_nodes(box)
    row = nodes.first(lambda r: nodes.get(r, 8, "5H") != (NONE,) * 5)
    nodes.set(row, 28, "5H", *nodes.get(row, 8, "5H"))
    nodes.set(row, 8, "10H", *[NONE] * 10)


def _drawn(box: Nres) -> int:
    """A slot with geometry of some size."""
    slots = box.table(2)

    def wanted(row: int) -> bool:
        low, high = slots.get(row, 8, "3f"), slots.get(row, 20, "3f")
        return bool(slots.get(row, 6)) and all(b - a > 1e-3 for a, b in zip(low, high, strict=True))

    return slots.first(wanted)


@of_model("string-nul")
def string_without_end(box: Nres) -> None:
    data, at = box.entry(10).data, 0
    while at + 4 <= len(data):
        length = struct.unpack_from("<I", data, at)[0]
        if length:
            data[at + 4 + length] = ord("x")
            return
        at += 4
    raise NotHere


def _graph(box: Nres) -> bytearray:
    """Two points and a link, valid."""
    entry = box.entry(17)
    points = struct.pack("<3fII", 0, 0, 0, 0, 0) * 2
    entry.data[:] = points + struct.pack("<10I", 0, 1, *[0xFFFFFFFF] * 8)
    entry.attr1, entry.attr2 = 2, 1
    return entry.data
