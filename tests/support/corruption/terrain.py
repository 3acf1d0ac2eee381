"""Broken terrains."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.corruption.base import DATA, INF, NAN, NONE, Nres, Table, change, cut, kinds, pack, put


@dataclass(frozen=True)
class Land:
    """A bundled level."""

    folder: Path

    @property
    def id(self) -> str:
        return self.folder.name


def levels() -> list[Land]:
    return [Land(folder) for folder in sorted((DATA / "maps").iterdir())]


def write_terrain(folder: Path, sample: Land, change: Callable[[Nres], None]) -> Path:
    box = Nres.read((sample.folder / "Land.msh").read_bytes())
    change(box)
    path = folder / "Land.msh"
    path.write_bytes(box.write())
    return path


of_terrain = kinds("terrain", levels, write_terrain)


of_terrain.table(
    [
        ("terrain-tables", "no-microtexture", lambda box: box.remove(18)),
        ("terrain-tables", "no-faces", lambda box: box.remove(21)),
        ("terrain-tables", "no-uv", lambda box: box.remove(5)),
        ("terrain-stride", "faces-cut", lambda box: cut(box.entry(21).data, -1)),
        ("terrain-tables", "slots-without-a-header", lambda box: cut(box.entry(2).data, 100)),
        ("terrain-stride", "squares-cut", lambda box: cut(box.entry(1).data, -2)),
        ("terrain-order", "tables-in-another-order", lambda box: box.entries.reverse()),
        ("terrain-vertex-count", "uv-too-few", lambda box: cut(box.entry(5).data, -4)),
        ("terrain-tables", "positions-empty", lambda box: box.entry(3).data.clear()),
        ("terrain-finite", "ground-nan", lambda box: box.table(3).set(3, 8, "f", NAN)),
        ("terrain-blend-finite", "blend-infinite", lambda box: box.table(14).set(0, 0, "f", INF)),
        ("terrain-blend", "blend-of-two", lambda box: box.table(14).set(1, 0, "f", 2.0)),
        ("terrain-box", "whole-box-nan", lambda box: pack("<f", box.entry(2).data, 0, NAN)),
        ("terrain-opaque", "header-bytes-behind-the-corners", lambda box: put(box.entry(2).data, 100, 1)),
        ("terrain-opaque", "slot-tail-not-zero", lambda box: box.table(2).set(0, 64, "I", 5)),
        ("terrain-slot-faces", "faces-past-the-table", lambda box: box.table(2).set(0, 0, "H", 60000)),
        ("terrain-slot-box", "slot-box-nan", lambda box: box.table(2).set(0, 8, "f", NAN)),
        ("terrain-squares", "squares-across-zero", lambda box: change(box.entry(1), attr2=0)),
        ("terrain-squares", "squares-across-huge", lambda box: change(box.entry(1), attr2=0xFFFFFFFF)),
        ("terrain-square-slot", "square-slot-past-the-slots", lambda box: box.table(1).set(0, 8, "H", 60000)),
        ("terrain-square-words", "square-word-unusual", lambda box: box.table(1).set(0, 0, "H", 3)),
        ("terrain-face-vertex", "face-vertex-past-the-table", lambda box: box.table(21).set(0, 8, "H", 0xFFFF)),
        ("terrain-face-link", "face-link-past-the-table", lambda box: box.table(21).set(0, 14, "H", 0xFFFE)),
        ("terrain-lone-face", "face-without-neighbours", lambda box: box.table(21).set(0, 14, "3H", NONE, NONE, NONE)),
        ("terrain-normal", "face-normal-zero", lambda box: box.table(21).set(0, 20, "3h", 0, 0, 0)),
        ("terrain-footing", "face-of-row-0", lambda box: box.table(21).set(0, 4, "B", 0)),
        ("terrain-draw-order", "draw-order-empty", lambda box: box.entry(11).data.clear()),
        ("terrain-draw-group", "draw-flag-wrong", lambda box: box.table(11).set(0, 2, "B", 0)),
        ("nres-payload", "terrain-payload-outside", lambda box: change(box.entry(21), size=0x7FFFFFFF)),
        ("terrain-finite", "ground-huge", lambda box: box.table(3).set(0, 8, "f", 3e38)),
        ("terrain-attr1", "count-of-faces-wrong", lambda box: change(box.entry(21), attr1=0)),
        ("terrain-attr3", "stride-of-slots-wrong", lambda box: change(box.entry(2), attr3=64)),
        ("terrain-attr3", "stride-of-faces-wrong", lambda box: change(box.entry(21), attr3=0)),
        ("terrain-square-fine", "square-without-a-fine-slot", lambda box: box.table(1).set(0, 8, "H", NONE)),
        ("terrain-slot-count", "slot-count-wrong", lambda box: change(box.entry(2), attr1=box.entry(2).attr1 + 1)),
        ("terrain-attr1", "count-of-vertices-wrong", lambda box: change(box.entry(3), attr1=box.entry(3).attr1 + 1)),
    ]
)


@of_terrain("terrain-twice")
def two_position_tables(box: Nres) -> None:
    entry = box.entry(3)
    box.add(3, bytes(entry.data), entry.attr1, entry.attr2, entry.attr3)


@of_terrain("terrain-limits")
def too_many_vertices(box: Nres) -> None:
    for kind, stride in ((3, 12), (4, 4), (5, 4), (14, 4), (18, 4)):
        if box.has(kind):
            box.entry(kind).data += bytes(65536 * stride - len(box.entry(kind).data))


@of_terrain("terrain-faces")
def too_many_faces(box: Nres) -> None:
    faces = box.table(21)
    last = bytes(faces.entry.data[-28:])
    faces.entry.data += last * (32768 - len(faces))


@of_terrain("terrain-reuse")
def slots_share_all_faces(box: Nres) -> None:
    slots, faces = box.table(2), len(box.table(21))
    slots.set(0, 0, "HH", 0, faces)
    slots.entry.data += bytes(slots.entry.data[140:208]) * ((1 << 20) // faces + 16)
    slots.entry.attr1 = len(slots)


@of_terrain("terrain-slot-sphere")
def slot_radius_wrong(box: Nres) -> None:
    slots = box.table(2)
    slots.set(0, 44, "f", slots.get(0, 44, "f") * 3)


@of_terrain("terrain-slot-pair")
def coarse_box_moved(box: Nres) -> None:
    slots = box.table(2)
    row = len(slots) // 2
    slots.set(row, 28, "f", slots.get(row, 28, "f") + 1)


@of_terrain("terrain-slot-run")
def runs_do_not_chain(box: Nres) -> None:
    slots = box.table(2)
    row = slots.first(lambda r: r > 0 and slots.get(r, 2) > 1)
    slots.set(row, 2, "H", slots.get(row, 2) - 1)


def _linked(box: Nres) -> tuple[Table, int]:
    faces = box.table(21)
    return faces, faces.first(lambda row: faces.get(row, 14) != NONE)


@of_terrain("terrain-link-mutual")
def face_links_to_itself(box: Nres) -> None:
    faces, row = _linked(box)
    faces.set(row, 14, "H", row)


@of_terrain("terrain-edge-class")
def selector_none_with_a_neighbour(box: Nres) -> None:
    faces, row = _linked(box)
    faces.set(row, 26, "B", faces.get(row, 26, "B") | 3)


@of_terrain("terrain-face-square")
def vertex_far_away(box: Nres) -> None:
    faces, points = box.table(21), box.table(3)
    vertex = faces.get(0, 8)
    points.set(vertex, 0, "f", points.get(vertex, 0, "f") + 1e4)


@of_terrain("terrain-coarse-vertex")
def coarse_face_with_a_vertex_of_its_own(box: Nres) -> None:
    for kind in (3, 4, 5, 14, 18):
        if box.has(kind):
            box.table(kind).append()
    faces, slots = box.table(21), box.table(2)
    half = len(slots) // 2
    coarse = slots.first(lambda row: row >= half and slots.get(row, 2) > 0)
    faces.set(slots.get(coarse, 0), 8, "H", len(box.table(3)) - 1)


@of_terrain("terrain-normal")
def face_normal_down(box: Nres) -> None:
    faces = box.table(21)
    faces.set(0, 20, "3h", *(max(-32767, -v) for v in faces.get(0, 20, "3h")))


@of_terrain("terrain-flags")
def face_without_0x600(box: Nres) -> None:
    faces = box.table(21)
    faces.set(0, 0, "I", faces.get(0, 0, "I") & ~0x600)


@of_terrain("terrain-winding")
def face_turned_over(box: Nres) -> None:
    faces = box.table(21)
    faces.set(0, 8, "3H", *reversed(faces.get(0, 8, "3H")))


@of_terrain("terrain-corner")
def first_corner_elsewhere(box: Nres) -> None:
    data = box.entry(2).data
    data[0:12], data[24:36] = data[24:36], data[0:12]


@of_terrain("terrain-second-material")
def second_material_flag_flipped(box: Nres) -> None:
    faces = box.table(21)
    faces.set(0, 0, "I", faces.get(0, 0, "I") ^ 0x4)


@of_terrain("terrain-draw-order")
def faces_of_two_slots_exchanged(box: Nres) -> None:
    draw = box.table(11)
    first, last = draw.get(0, 0), draw.get(len(draw) - 1, 0)
    draw.set(0, 0, "H", last)
    draw.set(len(draw) - 1, 0, "H", first)


@of_terrain("terrain-draw-order")
def face_drawn_twice(box: Nres) -> None:
    draw = box.table(11)
    draw.set(0, 0, "H", draw.get(1, 0))


@of_terrain("terrain-attr1")
def counts_of_squares_wrong(box: Nres) -> None:
    box.entry(1).attr1 += box.entry(1).attr2


@of_terrain("terrain-attr1")
def count_of_drawn_faces_wrong(box: Nres) -> None:
    box.entry(11).attr1 -= 1


@of_terrain("terrain-slot-bounds")
def slot_box_of_zeros(box: Nres) -> None:
    slots = box.table(2)
    row = slots.first(lambda row: slots.get(row, 2) > 0 and any(slots.get(row, 8, "6f")))
    slots.set(row, 8, "6f", *[0.0] * 6)


@of_terrain("terrain-slot-bounds")
def slot_box_of_half_the_square(box: Nres) -> None:
    slots = box.table(2)
    row = slots.first(lambda row: slots.get(row, 2) > 0)
    low, high = slots.get(row, 8, "f"), slots.get(row, 20, "f")
    slots.set(row, 20, "f", (low + high) / 2)


@of_terrain("terrain-face-flat")
def face_without_area(box: Nres) -> None:
    faces = box.table(21)
    first = faces.get(0, 8)
    faces.set(0, 8, "3H", first, first, faces.get(0, 12))


@of_terrain("terrain-ground")
def no_face_has_its_vertices(box: Nres) -> None:
    faces = box.table(21)
    for row in range(len(faces)):
        faces.set(row, 8, "H", 0xFFFE)
