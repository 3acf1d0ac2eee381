"""Broken tables of core models: directory, vertices, nodes, slots, header, names, graph."""

import struct

from tests.support.corruption.base import INF, NAN, NONE, NotHere, Nres, change, cut, of_model, pack, put, sound_nodes

of_model.table(
    [
        ("model-tables", "no-batches", lambda box: box.remove(13)),
        ("model-tables", "no-nodes-table", lambda box: box.remove(1)),
        ("model-tables", "no-positions", lambda box: box.remove(3)),
        ("table-missing", "no-normals", lambda box: box.remove(4)),
        ("table-missing", "no-strings", lambda box: box.remove(10)),
        ("table-stride", "nodes-cut", lambda box: cut(box.entry(1).data, -1)),
        ("table-stride", "positions-cut", lambda box: cut(box.entry(3).data, -4)),
        ("table-stride", "keys-cut", lambda box: cut(box.entry(8).data, -8)),
        ("table-stride", "map-of-odd-bytes", lambda box: box.entry(19).data.extend(b"\0")),
        ("table-stride", "batches-cut", lambda box: cut(box.entry(13).data, -2)),
        ("slots-size", "header-cut-off", lambda box: cut(box.entry(2).data, 100)),
        ("table-stride", "slot-cut-off", lambda box: cut(box.entry(2).data, -4)),
        ("entry-unknown", "table-99", lambda box: box.add(99, b"what is this")),
        ("entry-attr1", "key-count-wrong", lambda box: change(box.entry(8), attr1=0xFFFFFFFF)),
        ("entry-attr2", "attr2-of-positions", lambda box: change(box.entry(3), attr2=7)),
        ("entry-attr3", "attr3-of-keys-is-the-stride", lambda box: change(box.entry(8), attr3=24)),
        ("entry-attr3", "attr3-of-batches", lambda box: change(box.entry(13), attr3=0)),
        ("vertex-finite", "position-nan", lambda box: box.table(3).set(1, 4, "f", NAN)),
        ("vertex-finite", "position-infinite", lambda box: box.table(3).set(0, 0, "f", -INF)),
        ("vertex-count", "normals-too-few", lambda box: cut(box.entry(4).data, -4)),
        ("vertex-count", "uv-empty", lambda box: box.entry(5).data.clear()),
        ("vertex-extra", "normals-too-many", lambda box: box.table(4).append()),
        ("node-parent", "parent-past-the-table", lambda box: sound_nodes(box).set(1, 2, "H", 60000)),
        ("node-cycle", "parent-is-itself", lambda box: sound_nodes(box).set(0, 2, "H", 0)),
        ("node-slot", "slot-index-past-the-slots", lambda box: sound_nodes(box).set(1, 8, "H", 60000)),
        ("node-slot", "slot-index-in-the-last-word", lambda box: sound_nodes(box).set(0, 36, "H", 0xFFFE)),
        ("slot-finite", "slot-box-nan", lambda box: box.table(2).set(0, 8, "f", NAN)),
        ("slot-finite", "slot-radius-negative", lambda box: box.table(2).set(0, 44, "f", -1.0)),
        ("slot-batches", "batches-past-the-table", lambda box: box.table(2).set(0, 4, "H", 60000)),
        ("slot-batches", "batch-count-huge", lambda box: box.table(2).set(0, 6, "H", 0xFFFF)),
        ("slot-sphere", "sphere-too-small", lambda box: box.table(2).set(_drawn(box), 44, "f", 0.0)),
        ("slot-sphere", "sphere-elsewhere", lambda box: box.table(2).set(_drawn(box), 32, "3f", 1e6, 0, 0)),
        ("slot-volume", "volume-negative", lambda box: box.table(2).set(_drawn(box), 52, "f", -1.0)),
        ("header-finite", "header-nan", lambda box: pack("<f", box.entry(2).data, 4, NAN)),
        ("header-finite", "header-radius-negative", lambda box: pack("<f", box.entry(2).data, 108, -5.0)),
        ("header-cylinder", "cylinder-of-a-point", lambda box: pack("<7f", box.entry(2).data, 112, *[0.0] * 7)),
        ("string-run", "string-longer-than-the-table", lambda box: pack("<I", box.entry(10).data, 0, 0xFFFFFFF0)),
        ("string-run", "strings-cut-off", lambda box: cut(box.entry(10).data, -1)),
        ("string-run", "no-strings-at-all", lambda box: box.entry(10).data.clear()),
        ("string-tail", "bytes-behind-the-strings", lambda box: box.entry(10).data.extend(b"tail")),
        ("name-stride", "names-cut", lambda box: cut(box.entry(9).data, -1)),
        ("name-nul", "name-of-32-bytes", lambda box: put(box.entry(9).data, slice(None, 32), b"n" * 32)),
        ("graph-size", "graph-cut", lambda box: cut(_graph(box), -4)),
        ("graph-finite", "graph-point-nan", lambda box: pack("<f", _graph(box), 20, NAN)),
        ("graph-node", "graph-point-without-node", lambda box: pack("<I", _graph(box), 16, 0xFFFFFFFF)),
        ("graph-link", "graph-link-past-the-points", lambda box: pack("<I", _graph(box), 44, 2)),
        ("vertex-finite", "position-huge", lambda box: box.table(3).set(0, 0, "f", 3e38)),
        ("model-tables", "no-entries", lambda box: box.entries.clear()),
        ("entry-attr1", "slot-count-wrong", lambda box: change(box.entry(2), attr1=box.entry(2).attr1 + 1)),
        ("entry-attr1", "map-count-wrong", lambda box: change(box.entry(19), attr1=box.entry(19).attr1 + 7)),
        ("slot-triangles", "triangles-past-the-table", lambda box: (box.entry(7), box.table(2).set(0, 0, "H", 60000))),
        ("slot-triangles", "triangle-count-huge", lambda box: (box.entry(7), box.table(2).set(0, 2, "H", 65535))),
        ("slot-unused", "slot-nobody-uses", lambda box: (sound_nodes(box), box.table(2).append())),
        ("name-count", "one-name-too-many", lambda box: (sound_nodes(box), box.table(9).append())),
        ("graph-size", "graph-counts-huge", lambda box: (_graph(box), change(box.entry(17), attr1=4294967295))),
    ]
)


@of_model("entry-twice")
def two_position_tables(box: Nres) -> None:
    entry = box.entry(3)
    box.add(3, bytes(entry.data), entry.attr1, entry.attr2, entry.attr3)


@of_model("vertex-unreached")
def vertex_nobody_uses(box: Nres) -> None:
    for kind in (3, 4, 5, 15, 18):
        if box.has(kind):
            box.table(kind).append()


@of_model("vertex-shared")
def slot_of_two_nodes(box: Nres) -> None:
    nodes = sound_nodes(box)
    filled = [row for row in range(len(nodes)) if nodes.get(row, 8) != NONE]
    slots = box.table(2)
    filled = [row for row in filled if slots.get(nodes.get(row, 8), 6)]
    if len(filled) < 2 or nodes.get(filled[0], 8) == nodes.get(filled[1], 8):
        raise NotHere
    nodes.set(filled[1], 8, "H", nodes.get(filled[0], 8))


@of_model("node-none")
def no_node_records(box: Nres) -> None:
    entry = box.entry(1)
    sound_nodes(box)
    entry.data.clear()
    entry.attr1 = 0


@of_model("node-legacy")
def nodes_of_24_bytes(box: Nres) -> None:
    entry = box.entry(1)
    sound_nodes(box)
    count = len(entry.data) // 38
    entry.data = bytearray(24 * count)
    entry.attr3 = 24


@of_model("node-parent")
def parent_just_past_the_table(box: Nres) -> None:
    nodes = sound_nodes(box)
    nodes.set(0, 2, "H", len(nodes))


@of_model("node-cycle")
def two_nodes_in_a_ring(box: Nres) -> None:
    nodes = sound_nodes(box)
    nodes.set(0, 2, "H", 1)
    nodes.set(1, 2, "H", 0)


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


@of_model("slot-cover")
def one_triangle_less(box: Nres) -> None:
    slots = box.table(2)
    box.entry(7)
    row = slots.first(lambda r: slots.get(r, 2) > 1)
    slots.set(row, 2, "H", slots.get(row, 2) - 1)


@of_model("slot-box")
def box_too_small(box: Nres) -> None:
    slots, row = box.table(2), _drawn(box)
    slots.set(row, 20, "3f", *slots.get(row, 8, "3f"))


@of_model("slot-box")
def box_elsewhere(box: Nres) -> None:
    slots, row = box.table(2), _drawn(box)
    slots.set(row, 8, "6f", *(value + 1e6 for value in slots.get(row, 8, "6f")))


@of_model("slot-box-loose")
def box_too_large(box: Nres) -> None:
    slots, row = box.table(2), _drawn(box)
    low, high = slots.get(row, 8, "3f"), slots.get(row, 20, "3f")
    slots.set(row, 8, "3f", *(2 * a - b for a, b in zip(low, high, strict=True)))


@of_model("slot-area")
def area_doubled(box: Nres) -> None:
    slots, row = box.table(2), _drawn(box)
    slots.set(row, 48, "f", slots.get(row, 48, "f") * 2 + 1)


@of_model("header-corners")
def corners_swapped(box: Nres) -> None:
    data = box.entry(2).data
    data[0:12], data[12:24] = data[12:24], data[0:12]


@of_model("header-box")
def header_ten_times_as_large(box: Nres) -> None:
    if box.facts["dialect"] is None:
        raise NotHere
    data = box.entry(2).data
    corners = struct.unpack_from("<24f", data)
    struct.pack_into("<24f", data, 0, *(10 * value for value in corners))


@of_model("header-sphere")
def sphere_of_a_point(box: Nres) -> None:
    if box.facts["dialect"] is None:
        raise NotHere
    struct.pack_into("<f", box.entry(2).data, 108, 0.0)


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


@of_model("model-tables")
def no_known_table(box: Nres) -> None:
    for entry in box.entries:
        entry.type += 1000


@of_model("header-flat")
def header_box_flat(box: Nres) -> None:
    sound_nodes(box)
    data = box.entry(2).data
    for corner in range(8):
        struct.pack_into("<f", data, 12 * corner + 8, 1.0)


@of_model("header-flat")
def header_radius_zero(box: Nres) -> None:
    sound_nodes(box)
    struct.pack_into("<f", box.entry(2).data, 96 + 12, 0.0)


@of_model("graph-tail")
def link_tail_of_a_node_that_is_not(box: Nres) -> None:
    entry = box.entry(17)
    if not entry.attr2:
        raise NotHere
    struct.pack_into("<I", entry.data, 20 * entry.attr1 + 8, 0x10000)
