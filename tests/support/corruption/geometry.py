"""Broken batches, indices and triangle descriptors of core models."""

from tests.support.corruption.base import NONE, NotHere, Nres, of_dialect, of_model

of_model.table(
    [
        ("batch-indices", "indices-past-the-table", lambda box: box.table(13).set(0, 10, "I", 0xFFFFFFFF)),
        ("batch-indices", "index-count-huge", lambda box: box.table(13).set(0, 8, "H", 0xFFFF)),
        ("batch-vertices", "base-vertex-huge", lambda box: box.table(13).set(0, 16, "I", 0xFFFFFFFF)),
        ("batch-vertices", "index-past-the-vertices", lambda box: box.table(6).set(0, 0, "H", 0xFFFF)),
        ("batch-window-end", "window-past-the-vertices", lambda box: box.table(13).set(0, 14, "H", 0xFFFF)),
        ("batch-tile", "batch-twice", lambda box: box.table(13).append()),
        ("triangle-count", "descriptor-too-many", lambda box: box.table(7).append()),
        ("triangle-link", "neighbour-past-the-table", lambda box: box.table(7).set(0, 2, "H", 0xFFFE)),
        ("triangle-unit", "normal-zero", lambda box: box.table(7).set(0, 8, "3h", 0, 0, 0)),
        ("lightmap-table", "lightmaps-without-coordinates", lambda box: (of_dialect(box, "retail"), box.remove(18))),
    ]
)


@of_model("batch-indices")
def index_table_empty(box: Nres) -> None:
    entry = box.entry(6)
    entry.data.clear()
    entry.attr1 = 0


@of_model("model-reuse")
def batches_share_all_indices(box: Nres) -> None:
    batches, indices = box.table(13), box.table(6)
    batches.set(len(batches) - 1, 8, "HI", min(len(indices), 0xFFFF), 0)
    last = bytes(batches.entry.data[-20:])
    batches.entry.data += last * ((1 << 20) // len(indices) + 16)
    batches.entry.attr1 = len(batches)


@of_model("batch-overlap")
def broken_batches_share_all_indices(box: Nres) -> None:
    batches, count = box.table(13), min(len(box.table(6)), 0xFFFF)
    batches.set(len(batches) - 1, 8, "HIHI", count - count % 3, 0, 0, 0xFFFFFFFF)
    batches.entry.data += bytes(batches.entry.data[-20:]) * 200
    batches.entry.attr1 = len(batches)


@of_model("batch-triangles")
def count_no_multiple_of_3(box: Nres) -> None:
    batches = box.table(13)
    row = batches.first(lambda r: batches.get(r, 8) > 3)
    batches.set(row, 8, "H", batches.get(row, 8) - 1)


@of_model("batch-window")
def window_zero(box: Nres) -> None:
    batches = box.table(13)
    box.entry(7)
    batches.set(batches.first(lambda r: batches.get(r, 8) > 0), 14, "H", 0)


@of_model("batch-tile")
def index_nobody_uses(box: Nres) -> None:
    for _ in range(3):
        box.table(6).append()


@of_model("batch-portal")
def portal_to_nowhere(box: Nres) -> None:
    of_dialect(box, "retail")
    batches = box.table(13)
    row = batches.first(lambda r: batches.get(r, 8) > 0)
    batches.set(row, 0, "H", batches.get(row, 0) | 0x8)
    batches.set(row, 6, "H", 60000)


@of_model("batch-portal")
def node_without_a_portal(box: Nres) -> None:
    of_dialect(box, "retail")
    batches = box.table(13)
    batches.set(batches.first(lambda r: batches.get(r, 6) == NONE), 6, "H", 0)


@of_model("batch-lightmap")
def lightmap_flag_flipped(box: Nres) -> None:
    of_dialect(box, "retail")
    batches = box.table(13)
    batches.set(0, 0, "H", batches.get(0, 0) ^ 0x2000)


@of_model("model-material")
def material_past_the_wear(box: Nres) -> None:
    batches = box.table(13)
    if box.facts["dialect"] == "retail":
        batches.set(0, 4, "B", 250)
    else:
        of_dialect(box, "spec")
        batches.set(0, 2, "H", 60000)


@of_model("model-lightmap")
def lightmap_past_the_wear(box: Nres) -> None:
    of_dialect(box, "retail")
    box.table(13).set(0, 5, "B", 200)


@of_model("lightmap-uv")
def lightmap_uv_above_1(box: Nres) -> None:
    of_dialect(box, "retail")
    box.table(18).set(0, 0, "H", 60000)


@of_model("batch-flags")
def flags_of_32_bits(box: Nres) -> None:
    of_dialect(box, "retail")
    box.table(13).set(0, 2, "H", 0x4000)


@of_model("lightmap-table")
def lightmap_coordinates_without_lightmaps(box: Nres) -> None:
    of_dialect(box, "retail")
    if box.has(18):
        raise NotHere
    count = len(box.table(3))
    box.add(18, bytes(4 * count), count, 0, 4)


@of_model("triangle-count")
def no_descriptors(box: Nres) -> None:
    entry = box.entry(7)
    entry.data.clear()
    entry.attr1 = 0
    slots = box.table(2)
    for row in range(len(slots)):
        slots.set(row, 0, "2H", 0, 0)


@of_model("triangle-link")
def third_neighbour_past_the_table(box: Nres) -> None:
    triangles = box.table(7)
    triangles.set(len(triangles) - 1, 6, "H", len(triangles))


def _linked(box: Nres) -> int:
    triangles = box.table(7)
    return triangles.first(lambda row: triangles.get(row, 2) != NONE)


@of_model("triangle-mutual")
def neighbour_is_itself(box: Nres) -> None:
    row = _linked(box)
    box.table(7).set(row, 2, "H", row)


@of_model("triangle-mutual")
def selector_of_another_edge(box: Nres) -> None:
    triangles, row = box.table(7), _linked(box)
    word = triangles.get(row, 14)
    edge = word & 3
    if edge == 3:
        raise NotHere
    triangles.set(row, 14, "H", word & ~3 | (edge + 1) % 3)


@of_model("triangle-selector")
def selector_none_with_a_neighbour(box: Nres) -> None:
    triangles, row = box.table(7), _linked(box)
    triangles.set(row, 14, "H", triangles.get(row, 14) | 3)


@of_model("triangle-normal")
def normal_turned_round(box: Nres) -> None:
    triangles = box.table(7)
    for row in range(len(triangles)):
        triangles.set(row, 8, "3h", *(max(-32767, -v) for v in triangles.get(row, 8, "3h")))


@of_model("triangle-winding")
def vertex_normals_turned_round(box: Nres) -> None:
    normals = box.table(4)
    for row in range(len(normals)):
        normals.set(row, 0, "3b", *(min(127, -v) for v in normals.get(row, 0, "3b")))
