"""Broken batches, indices and triangle descriptors of core models."""

import struct

from tests.support.corruption.base import NONE, Nres, Table, empty, need, of_dialect, of_model


def _retail(box: Nres) -> Table:
    """The batches of a model that certainly has flags of this dialect."""
    of_dialect(box, "retail")
    return box.table(13)


def _drawing(box: Nres) -> int:
    """A batch with triangles."""
    batches = box.table(13)
    return batches.first(lambda row: batches.get(row, 8) > 0)


def _linked(box: Nres) -> int:
    """A triangle with a neighbour."""
    triangles = box.table(7)
    return triangles.first(lambda row: triangles.get(row, 2) != NONE)


# fmt: off
of_model("batch-indices", "indices-past-the-table", lambda box: box.table(13).set(0, 10, "I", 0xFFFFFFFF))
of_model("batch-indices", "index-count-huge", lambda box: box.table(13).set(0, 8, "H", 0xFFFF))
of_model("batch-vertices", "base-vertex-huge", lambda box: box.table(13).set(0, 16, "I", 0xFFFFFFFF))
of_model("batch-vertices", "base-vertices-huge-also-of-an-empty-batch",
    lambda box: (box.table(13).append(struct.pack("<10xIHI", len(box.table(6)), 0, 0xFFFFFFFF)),
    box.table(13).set(0, 16, "I", 0xFFFFFFFF)))
of_model("batch-vertices", "index-past-the-vertices", lambda box: box.table(6).set(0, 0, "H", 0xFFFF))
of_model("batch-window-end", "window-past-the-vertices", lambda box: box.table(13).set(0, 14, "H", 0xFFFF))
of_model("batch-tile", "batch-twice", lambda box: box.table(13).append())
of_model("triangle-count", "descriptor-too-many", lambda box: box.table(7).append())
of_model("triangle-link", "neighbour-past-the-table", lambda box: box.table(7).set(0, 2, "H", 0xFFFE))
of_model("triangle-unit", "normal-zero", lambda box: box.table(7).set(0, 8, "3h", 0, 0, 0))
of_model("lightmap-table", "lightmaps-without-coordinates", lambda box: (of_dialect(box, "retail"), box.remove(18)))
of_model("batch-indices", "index-table-empty", lambda box: empty(box.entry(6)))
of_model("batch-triangles", "count-no-multiple-of-3",
    lambda box: (all := box.table(13)).change(all.first(lambda r: all.get(r, 8) > 3), 8, "H", lambda n: n - 1))
of_model("batch-window", "window-zero", lambda box: (box.entry(7), box.table(13).set(_drawing(box), 14, "H", 0)))
of_model("batch-tile", "index-nobody-uses", lambda box: [box.table(6).append() for _ in range(3)])
of_model("batch-portal", "portal-to-nowhere",
    lambda box: (all := _retail(box), row := _drawing(box), all.change(row, 0, "H", lambda flags: flags | 8),
    all.set(row, 6, "H", 60000)))
of_model("batch-portal", "node-without-a-portal",
    lambda box: (all := _retail(box)).set(all.first(lambda r: all.get(r, 6) == NONE), 6, "H", 0))
of_model("batch-lightmap", "lightmap-flag-flipped",
    lambda box: _retail(box).change(0, 0, "H", lambda flags: flags ^ 0x2000))
of_model("model-lightmap", "lightmap-past-the-wear", lambda box: _retail(box).set(0, 5, "B", 200))
of_model("lightmap-uv", "lightmap-uv-above-1",
    lambda box: (of_dialect(box, "retail"), box.table(18).set(0, 0, "H", 60000)))
of_model("batch-flags", "flags-of-32-bits", lambda box: _retail(box).set(0, 2, "H", 0x4000))
of_model("triangle-count", "no-descriptors",
    lambda box: (empty(box.entry(7)), box.table(2).change_all(0, "2H", lambda _: (0, 0))))
of_model("triangle-link", "third-neighbour-past-the-table",
    lambda box: (all := box.table(7)).set(len(all) - 1, 6, "H", len(all)))
of_model("triangle-mutual", "neighbour-is-itself", lambda box: box.table(7).set(row := _linked(box), 2, "H", row))
of_model("triangle-selector", "selector-none-with-a-neighbour",
    lambda box: box.table(7).change(_linked(box), 14, "H", lambda word: word | 3))
of_model("triangle-normal", "normal-turned-round",
    lambda box: box.table(7).change_all(8, "3h", lambda normal: [max(-32767, -v) for v in normal]))
of_model("triangle-winding", "vertex-normals-turned-round",
    lambda box: box.table(4).change_all(0, "3b", lambda normal: [min(127, -v) for v in normal]))
# fmt: on


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


@of_model("model-material")
def material_past_the_wear(box: Nres) -> None:
    batches = box.table(13)
    if box.facts["dialect"] == "retail":
        batches.set(0, 4, "B", 250)
    else:
        of_dialect(box, "spec")
        batches.set(0, 2, "H", 60000)


@of_model("lightmap-table")
def lightmap_coordinates_without_lightmaps(box: Nres) -> None:
    of_dialect(box, "retail")
    need(not box.has(18))
    count = len(box.table(3))
    box.add(18, bytes(4 * count), count, 0, 4)


@of_model("triangle-mutual")
def selector_of_another_edge(box: Nres) -> None:
    triangles, row = box.table(7), _linked(box)
    word = triangles.get(row, 14)
    edge = word & 3
    need(edge != 3)
    triangles.set(row, 14, "H", word & ~3 | (edge + 1) % 3)
