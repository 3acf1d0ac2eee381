"""Broken terrains."""

from tests.support.corruption.base import (
    DATA,
    INF,
    NAN,
    NONE,
    Made,
    Nres,
    change,
    cut,
    kinds,
    pack,
    put,
    swap,
    twice,
    written,
)


def levels(name: str) -> list[Made]:
    """A file of each bundled level."""
    return [Made(folder.name, (folder / name).read_bytes()) for folder in sorted((DATA / "maps").iterdir())]


of_terrain = kinds("terrain", lambda: levels("Land.msh"), written("Land.msh", Nres.read, Nres.write))


def _linked(box: Nres) -> int:
    """A face with a neighbour."""
    faces = box.table(21)
    return faces.first(lambda row: faces.get(row, 14) != NONE)


# fmt: off
of_terrain("terrain-tables", "no-microtexture", lambda box: box.remove(18))
of_terrain("terrain-tables", "no-faces", lambda box: box.remove(21))
of_terrain("terrain-tables", "no-uv", lambda box: box.remove(5))
of_terrain("terrain-stride", "faces-cut", lambda box: cut(box.entry(21).data, -1))
of_terrain("terrain-tables", "slots-without-a-header", lambda box: cut(box.entry(2).data, 100))
of_terrain("terrain-stride", "squares-cut", lambda box: cut(box.entry(1).data, -2))
of_terrain("terrain-order", "tables-in-another-order", lambda box: box.entries.reverse())
of_terrain("terrain-vertex-count", "uv-too-few", lambda box: cut(box.entry(5).data, -4))
of_terrain("terrain-tables", "positions-empty", lambda box: box.entry(3).data.clear())
of_terrain("terrain-finite", "ground-nan", lambda box: box.table(3).set(3, 8, "f", NAN))
of_terrain("terrain-blend-finite", "blend-infinite", lambda box: box.table(14).set(0, 0, "f", INF))
of_terrain("terrain-blend", "blend-of-two", lambda box: box.table(14).set(1, 0, "f", 2.0))
of_terrain("terrain-box", "whole-box-nan", lambda box: pack("<f", box.entry(2).data, 0, NAN))
of_terrain("terrain-opaque", "header-bytes-behind-the-corners", lambda box: put(box.entry(2).data, 100, 1))
of_terrain("terrain-opaque", "slot-tail-not-zero", lambda box: box.table(2).set(0, 64, "I", 5))
of_terrain("terrain-slot-faces", "faces-past-the-table", lambda box: box.table(2).set(0, 0, "H", 60000))
of_terrain("terrain-slot-box", "slot-box-nan", lambda box: box.table(2).set(0, 8, "f", NAN))
of_terrain("terrain-squares", "squares-across-zero", lambda box: change(box.entry(1), attr2=0))
of_terrain("terrain-squares", "squares-across-huge", lambda box: change(box.entry(1), attr2=0xFFFFFFFF))
of_terrain("terrain-square-slot", "square-slot-past-the-slots", lambda box: box.table(1).set(0, 8, "H", 60000))
of_terrain("terrain-square-words", "square-word-unusual", lambda box: box.table(1).set(0, 0, "H", 3))
of_terrain("terrain-face-vertex", "face-vertex-past-the-table", lambda box: box.table(21).set(0, 8, "H", 0xFFFF))
of_terrain("terrain-face-link", "face-link-past-the-table", lambda box: box.table(21).set(0, 14, "H", 0xFFFE))
of_terrain("terrain-lone-face", "face-without-neighbours", lambda box: box.table(21).set(0, 14, "3H", NONE, NONE, NONE))
of_terrain("terrain-normal", "face-normal-zero", lambda box: box.table(21).set(0, 20, "3h", 0, 0, 0))
of_terrain("terrain-footing", "face-of-row-0", lambda box: box.table(21).set(0, 4, "B", 0))
of_terrain("terrain-draw-order", "draw-order-empty", lambda box: box.entry(11).data.clear())
of_terrain("terrain-draw-group", "draw-flag-wrong", lambda box: box.table(11).set(0, 2, "B", 0))
of_terrain("nres-payload", "terrain-payload-outside", lambda box: change(box.entry(21), size=0x7FFFFFFF))
of_terrain("terrain-finite", "ground-huge", lambda box: box.table(3).set(0, 8, "f", 3e38))
of_terrain("terrain-attr1", "count-of-faces-wrong", lambda box: change(box.entry(21), attr1=0))
of_terrain("terrain-attr3", "stride-of-slots-wrong", lambda box: change(box.entry(2), attr3=64))
of_terrain("terrain-attr3", "stride-of-faces-wrong", lambda box: change(box.entry(21), attr3=0))
of_terrain("terrain-square-fine", "square-without-a-fine-slot", lambda box: box.table(1).set(0, 8, "H", NONE))
of_terrain("terrain-slot-count", "slot-count-wrong", lambda box: change(box.entry(2), attr1=box.entry(2).attr1 + 1))
of_terrain("terrain-attr1", "count-of-vertices-wrong", lambda box: change(box.entry(3), attr1=box.entry(3).attr1 + 1))
of_terrain("terrain-twice", "two-position-tables", lambda box: twice(box, 3))
of_terrain("terrain-faces", "too-many-faces",
    lambda box: (all := box.table(21)).entry.data.extend(all.entry.data[-28:] * (32768 - len(all))))
of_terrain("terrain-slot-sphere", "slot-radius-wrong",
    lambda box: box.table(2).change(0, 44, "f", lambda radius: radius * 3))
of_terrain("terrain-slot-pair", "coarse-box-moved",
    lambda box: (all := box.table(2)).change(len(all) // 2, 28, "f", lambda z: z + 1))
of_terrain("terrain-slot-run", "runs-do-not-chain",
    lambda box: (all := box.table(2)).change(all.first(lambda r: r > 0 and all.get(r, 2) > 1), 2, "H", lambda n: n - 1))
of_terrain("terrain-link-mutual", "face-links-to-itself",
    lambda box: box.table(21).set(row := _linked(box), 14, "H", row))
of_terrain("terrain-edge-class", "selector-none-with-a-neighbour",
    lambda box: box.table(21).change(_linked(box), 26, "B", lambda selectors: selectors | 3))
of_terrain("terrain-face-square", "vertex-far-away",
    lambda box: box.table(3).change(box.table(21).get(0, 8), 0, "f", lambda x: x + 1e4))
of_terrain("terrain-normal", "face-normal-down",
    lambda box: box.table(21).change(0, 20, "3h", lambda normal: [max(-32767, -v) for v in normal]))
of_terrain("terrain-flags", "face-without-0x600",
    lambda box: box.table(21).change(0, 0, "I", lambda flags: flags & ~0x600))
of_terrain("terrain-winding", "face-turned-over",
    lambda box: box.table(21).change(0, 8, "3H", lambda corners: corners[::-1]))
of_terrain("terrain-corner", "first-corner-elsewhere", lambda box: swap(box.entry(2).data, 0, 24))
of_terrain("terrain-second-material", "second-material-flag-flipped",
    lambda box: box.table(21).change(0, 0, "I", lambda flags: flags ^ 0x4))
of_terrain("terrain-draw-order", "face-drawn-twice", lambda box: (all := box.table(11)).set(0, 0, "H", all.get(1, 0)))
of_terrain("terrain-attr1", "counts-of-squares-wrong",
    lambda box: change(one := box.entry(1), attr1=one.attr1 + one.attr2))
of_terrain("terrain-attr1", "count-of-drawn-faces-wrong", lambda box: change(one := box.entry(11), attr1=one.attr1 - 1))
of_terrain("terrain-slot-bounds", "slot-box-of-zeros",
    lambda box: (all := box.table(2)).set(all.first(lambda r: all.get(r, 2) > 0 and any(all.get(r, 8, "6f"))), 8,
    "6f", *[0.0] * 6))
of_terrain("terrain-slot-bounds", "slot-box-of-half-the-square",
    lambda box: (all := box.table(2)).change(all.first(lambda r: all.get(r, 2) > 0), 8, "4f", lambda box: [*box[:3],
    (box[0] + box[3]) / 2]))
of_terrain("terrain-face-flat", "face-without-area",
    lambda box: (all := box.table(21)).set(0, 8, "2H", all.get(0, 8), all.get(0, 8)))
of_terrain("terrain-ground", "no-face-has-its-vertices", lambda box: box.table(21).change_all(8, "H", lambda _: 0xFFFE))
# fmt: on


@of_terrain("terrain-limits")
def too_many_vertices(box: Nres) -> None:
    for kind, stride in ((3, 12), (4, 4), (5, 4), (14, 4), (18, 4)):
        if box.has(kind):
            box.entry(kind).data += bytes(65536 * stride - len(box.entry(kind).data))


@of_terrain("terrain-reuse")
def slots_share_all_faces(box: Nres) -> None:
    slots, faces = box.table(2), len(box.table(21))
    slots.set(0, 0, "HH", 0, faces)
    slots.entry.data += bytes(slots.entry.data[140:208]) * ((1 << 20) // faces + 16)
    slots.entry.attr1 = len(slots)


@of_terrain("terrain-coarse-vertex")
def coarse_face_with_a_vertex_of_its_own(box: Nres) -> None:
    for kind in (3, 4, 5, 14, 18):
        if box.has(kind):
            box.table(kind).append()
    faces, slots = box.table(21), box.table(2)
    half = len(slots) // 2
    coarse = slots.first(lambda row: row >= half and slots.get(row, 2) > 0)
    faces.set(slots.get(coarse, 0), 8, "H", len(box.table(3)) - 1)


@of_terrain("terrain-draw-order")
def faces_of_two_slots_exchanged(box: Nres) -> None:
    draw = box.table(11)
    first, last = draw.get(0, 0), draw.get(len(draw) - 1, 0)
    draw.set(0, 0, "H", last)
    draw.set(len(draw) - 1, 0, "H", first)
