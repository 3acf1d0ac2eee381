"""Broken terrains."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.corruption.base import DATA, INF, NAN, NONE, Nres, Table, kinds


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


@of_terrain("terrain-tables")
def no_microtexture(box: Nres) -> None:
    box.remove(18)


@of_terrain("terrain-tables")
def no_faces(box: Nres) -> None:
    box.remove(21)


@of_terrain("terrain-tables")
def no_uv(box: Nres) -> None:
    box.remove(5)


@of_terrain("terrain-stride")
def faces_cut(box: Nres) -> None:
    del box.entry(21).data[-1:]


@of_terrain("terrain-tables")
def slots_without_a_header(box: Nres) -> None:
    del box.entry(2).data[100:]


@of_terrain("terrain-stride")
def squares_cut(box: Nres) -> None:
    del box.entry(1).data[-2:]


@of_terrain("terrain-order")
def tables_in_another_order(box: Nres) -> None:
    box.entries.reverse()


@of_terrain("terrain-twice")
def two_position_tables(box: Nres) -> None:
    entry = box.entry(3)
    box.add(3, bytes(entry.data), entry.attr1, entry.attr2, entry.attr3)


@of_terrain("terrain-vertex-count")
def uv_too_few(box: Nres) -> None:
    del box.entry(5).data[-4:]


@of_terrain("terrain-tables")
def positions_empty(box: Nres) -> None:
    box.entry(3).data.clear()


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


@of_terrain("terrain-finite")
def ground_nan(box: Nres) -> None:
    box.table(3).set(3, 8, "f", NAN)


@of_terrain("terrain-blend-finite")
def blend_infinite(box: Nres) -> None:
    box.table(14).set(0, 0, "f", INF)


@of_terrain("terrain-blend")
def blend_of_two(box: Nres) -> None:
    box.table(14).set(1, 0, "f", 2.0)


@of_terrain("terrain-box")
def whole_box_nan(box: Nres) -> None:
    struct.pack_into("<f", box.entry(2).data, 0, NAN)


@of_terrain("terrain-opaque")
def header_bytes_behind_the_corners(box: Nres) -> None:
    box.entry(2).data[100] = 1


@of_terrain("terrain-opaque")
def slot_tail_not_zero(box: Nres) -> None:
    box.table(2).set(0, 64, "I", 5)


@of_terrain("terrain-slot-count")
def slot_count_wrong(box: Nres) -> None:
    box.entry(2).attr1 += 1


@of_terrain("terrain-slot-faces")
def faces_past_the_table(box: Nres) -> None:
    box.table(2).set(0, 0, "H", 60000)


@of_terrain("terrain-reuse")
def slots_share_all_faces(box: Nres) -> None:
    slots, faces = box.table(2), len(box.table(21))
    slots.set(0, 0, "HH", 0, faces)
    slots.entry.data += bytes(slots.entry.data[140:208]) * ((1 << 20) // faces + 16)
    slots.entry.attr1 = len(slots)


@of_terrain("terrain-slot-box")
def slot_box_nan(box: Nres) -> None:
    box.table(2).set(0, 8, "f", NAN)


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


@of_terrain("terrain-squares")
def squares_across_zero(box: Nres) -> None:
    box.entry(1).attr2 = 0


@of_terrain("terrain-squares")
def squares_across_huge(box: Nres) -> None:
    box.entry(1).attr2 = 0xFFFFFFFF


@of_terrain("terrain-square-slot")
def square_slot_past_the_slots(box: Nres) -> None:
    box.table(1).set(0, 8, "H", 60000)


@of_terrain("terrain-square-words")
def square_word_unusual(box: Nres) -> None:
    box.table(1).set(0, 0, "H", 3)


@of_terrain("terrain-face-vertex")
def face_vertex_past_the_table(box: Nres) -> None:
    box.table(21).set(0, 8, "H", 0xFFFF)


@of_terrain("terrain-face-link")
def face_link_past_the_table(box: Nres) -> None:
    box.table(21).set(0, 14, "H", 0xFFFE)


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


@of_terrain("terrain-lone-face")
def face_without_neighbours(box: Nres) -> None:
    box.table(21).set(0, 14, "3H", NONE, NONE, NONE)


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


@of_terrain("terrain-normal")
def face_normal_zero(box: Nres) -> None:
    box.table(21).set(0, 20, "3h", 0, 0, 0)


@of_terrain("terrain-flags")
def face_without_0x600(box: Nres) -> None:
    faces = box.table(21)
    faces.set(0, 0, "I", faces.get(0, 0, "I") & ~0x600)


@of_terrain("terrain-winding")
def face_turned_over(box: Nres) -> None:
    faces = box.table(21)
    faces.set(0, 8, "3H", *reversed(faces.get(0, 8, "3H")))


@of_terrain("terrain-footing")
def face_of_row_0(box: Nres) -> None:
    box.table(21).set(0, 4, "B", 0)


@of_terrain("terrain-corner")
def first_corner_elsewhere(box: Nres) -> None:
    data = box.entry(2).data
    data[0:12], data[24:36] = data[24:36], data[0:12]


@of_terrain("terrain-second-material")
def second_material_flag_flipped(box: Nres) -> None:
    faces = box.table(21)
    faces.set(0, 0, "I", faces.get(0, 0, "I") ^ 0x4)


@of_terrain("terrain-draw-order")
def face_drawn_twice(box: Nres) -> None:
    draw = box.table(11)
    draw.set(0, 0, "H", draw.get(1, 0))


@of_terrain("terrain-draw-order")
def draw_order_empty(box: Nres) -> None:
    box.entry(11).data.clear()


@of_terrain("terrain-draw-group")
def draw_flag_wrong(box: Nres) -> None:
    box.table(11).set(0, 2, "B", 0)


@of_terrain("nres-payload")
def terrain_payload_outside(box: Nres) -> None:
    box.entry(21).size = 0x7FFFFFFF


@of_terrain("terrain-finite")
def ground_huge(box: Nres) -> None:
    box.table(3).set(0, 8, "f", 3e38)


@of_terrain("terrain-attr1")
def counts_of_squares_wrong(box: Nres) -> None:
    box.entry(1).attr1 += box.entry(1).attr2


@of_terrain("terrain-attr1")
def count_of_vertices_wrong(box: Nres) -> None:
    box.entry(3).attr1 += 1


@of_terrain("terrain-attr1")
def count_of_drawn_faces_wrong(box: Nres) -> None:
    box.entry(11).attr1 -= 1


@of_terrain("terrain-attr1")
def count_of_faces_wrong(box: Nres) -> None:
    box.entry(21).attr1 = 0


@of_terrain("terrain-attr3")
def stride_of_slots_wrong(box: Nres) -> None:
    box.entry(2).attr3 = 64


@of_terrain("terrain-attr3")
def stride_of_faces_wrong(box: Nres) -> None:
    box.entry(21).attr3 = 0


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


@of_terrain("terrain-square-fine")
def square_without_a_fine_slot(box: Nres) -> None:
    box.table(1).set(0, 8, "H", NONE)


@of_terrain("terrain-ground")
def no_face_has_its_vertices(box: Nres) -> None:
    faces = box.table(21)
    for row in range(len(faces)):
        faces.set(row, 8, "H", 0xFFFE)
