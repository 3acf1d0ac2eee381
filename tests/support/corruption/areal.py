"""Broken areal maps."""

import struct
from typing import Any

from tests.support.corruption.base import ALL, INF, NAN, NotHere, Nres, change, cut, kinds, need, put, written
from tests.support.corruption.terrain import levels


class Map:
    """The bytes of an areal map, and where its records and cells are."""

    def __init__(self, box: Nres) -> None:
        self.box = box
        self.entry = box.entry(12)
        self.data = self.entry.data
        self.records: list[int] = []
        at = 0
        for _ in range(self.entry.attr1):
            self.records.append(at)
            corners, polys = struct.unpack_from("<2I", self.data, at + 48)
            at += 56 + 20 * corners + 24 * polys
            for _ in range(polys):
                at += 4 * (3 * self.get(at) + 1)
        self.cells = at

    def get(self, at: int, form: str = "I") -> Any:
        return struct.unpack_from("<" + form, self.data, at)[0]

    def corners(self, row: int) -> int:
        return int(self.get(self.records[row] + 48))

    def links(self, row: int) -> int:
        """Where the links of an areal start."""
        return self.records[row] + 56 + 12 * self.corners(row)

    def put(self, at: int, form: str, *values: object) -> None:
        struct.pack_into("<" + form, self.data, at, *values)

    def linked(self) -> tuple[int, int]:
        """A link that leads somewhere: where it is, and the areal that it is of."""
        for row in range(len(self.records)):
            for at in range(self.links(row), self.links(row) + 8 * self.corners(row), 8):
                if self.get(at, "i") >= 0:
                    return at, row
        raise NotHere

    def full_cell(self, least: int = 1) -> int:
        """Where a cell that lists something starts."""
        at = self.cells + 8
        while at + 2 <= len(self.data):
            count = self.get(at, "H")
            if count >= least:
                return at
            at += 2 + 2 * count
        raise NotHere


#: The cells of a map that has one, which is empty.
ONE_CELL = struct.pack("<2I", 1, 1) + b"\0\0"

of_map = kinds(
    "areal map",
    lambda: levels("Land.map"),
    written("Land.map", lambda data: Map(Nres.read(data)), lambda land: land.box.write()),
)


# fmt: off
of_map("areal-entry", "no-type-12", lambda land: change(land.entry, type=13))
of_map("areal-twice", "two-areal-maps", lambda land: land.box.add(12, bytes(land.data), land.entry.attr1))
of_map("areal-size", "entry-cut", lambda land: cut(land.data, -1))
of_map("areal-size", "areal-count-huge", lambda land: change(land.entry, attr1=0xFFFFFFFF))
of_map("areal-size", "vertex-count-huge", lambda land: land.put(land.records[0] + 48, "I", 0xFFFFFFFF))
of_map("areal-size", "poly-count-huge", lambda land: land.put(land.records[0] + 52, "I", 0xFFFFFFFF))
of_map("areal-size", "cells-huge", lambda land: land.put(land.cells, "2I", 0xFFFFFFFF, 0xFFFFFFFF))
of_map("areal-size", "cell-count-huge", lambda land: land.put(land.full_cell(), "H", 0xFFFF))
of_map("areal-tail", "bytes-left", lambda land: land.data.extend(b"\0\0\0\0"))
of_map("areal-anchor-finite", "anchor-nan", lambda land: land.put(land.records[0], "f", NAN))
of_map("areal-anchor", "anchor-far-away", lambda land: land.put(land.records[0], "2f", 1e7, 1e7))
of_map("areal-normal", "normal-zero", lambda land: land.put(land.records[0] + 20, "3f", 0, 0, 0))
of_map("areal-normal", "normal-infinite", lambda land: land.put(land.records[1] + 20, "f", INF))
of_map("areal-logic", "logic-of-two", lambda land: land.put(land.records[0] + 32, "I", 2))
of_map("areal-class", "class-of-100", lambda land: land.put(land.records[0] + 40, "I", 100))
of_map("areal-opaque", "unknown-word-not-zero", lambda land: land.put(land.records[0] + 36, "I", 1))
of_map("areal-vertex-finite", "vertex-nan", lambda land: land.put(land.records[0] + 56 + 12, "f", NAN))
of_map("areal-tiling", "polygon-stretched", lambda land: land.put(land.records[0] + 56, "2f", -1e5, -1e5))
of_map("areal-link", "link-past-the-areals", lambda land: land.put(land.links(0), "2i", 0x7FFFFFFF, 0))
of_map("areal-link", "link-half-none", lambda land: land.put(land.links(0), "2i", -1, 0))
of_map("areal-link", "link-past-the-edges", lambda land: land.put(land.linked()[0] + 4, "i", 1000))
of_map("areal-cell-id", "cell-lists-no-areal", lambda land: land.put(land.full_cell() + 2, "H", 0xFFFF))
of_map("areal-vertex-finite", "vertex-huge", lambda land: land.put(land.records[0] + 56, "f", 3e38))
of_map("areal-size", "one-areal-too-many", lambda land: change(land.entry, attr1=land.entry.attr1 + 1))
of_map("areal-tail", "one-row-of-cells-less", lambda land: land.put(land.cells, "I", land.get(land.cells) - 1))
of_map("areal-none", "no-areals", lambda land: (change(land.entry, attr1=0), put(land.data, ALL, ONE_CELL)))
of_map("areal-grid", "no-cells", lambda land: put(land.data, slice(land.cells, None), bytes(8)))
of_map("areal-grid-size", "one-cell", lambda land: put(land.data, slice(land.cells, None), ONE_CELL))
of_map("areal-area", "area-ten-times",
    lambda land: land.put(at := land.records[0] + 16, "f", land.get(at, "f") * 10 + 1000))
of_map("areal-link-mutual", "link-one-way", lambda land: land.put(land.linked()[0], "2i", -1, -1))
of_map("areal-cell-wrong", "cell-lists-an-areal-far-away",
    lambda land: land.put(land.full_cell() + 2, "H", len(land.records) - 1))
# fmt: on


@of_map("areal-polys")
def a_poly(land: Map) -> None:
    at = land.records[0]
    need(not land.get(at + 52))
    land.put(at + 52, "I", 1)
    end = land.links(0) + 8 * land.corners(0)
    land.data[end:end] = bytes(24) + struct.pack("<I", 0)


@of_map("areal-vertices")
def two_vertices(land: Map) -> None:
    at, corners = land.records[0], land.corners(0)
    links = land.links(0)
    del land.data[links + 16 : links + 8 * corners]
    del land.data[at + 56 + 24 : at + 56 + 12 * corners]
    land.put(at + 48, "I", 2)


@of_map("areal-winding")
def polygon_turned_round(land: Map) -> None:
    at, corners = land.records[0] + 56, land.corners(0)
    points = [bytes(land.data[at + 12 * i : at + 12 * i + 12]) for i in range(corners)]
    land.data[at : at + 12 * corners] = b"".join(reversed(points))


@of_map("areal-cell-full")
def cell_of_1024(land: Map) -> None:
    at = land.full_cell()
    count = land.get(at, "H")
    land.data[at : at + 2 + 2 * count] = struct.pack("<H", 1024) + bytes(2 * 1024)


@of_map("areal-link-ends")
def linked_edge_moved(land: Map) -> None:
    _, row = land.linked()
    start = land.records[row] + 56
    for at in range(start, start + 12 * land.corners(row), 12):
        land.put(at, "f", land.get(at, "f") + 3)


@of_map("areal-cell-twice")
def cell_lists_an_areal_twice(land: Map) -> None:
    at = land.full_cell()
    first = land.data[at + 2 : at + 4]
    land.put(at, "H", land.get(at, "H") + 1)
    land.data[at + 2 : at + 2] = first


@of_map("areal-cell-order")
def cell_lists_backwards(land: Map) -> None:
    at = land.full_cell(2)
    form = f"{land.get(at, 'H')}H"
    land.put(at + 2, form, *reversed(struct.unpack_from("<" + form, land.data, at + 2)))


@of_map("areal-cell-empty")
def cell_lists_nothing(land: Map) -> None:
    at = land.full_cell()
    del land.data[at + 2 : at + 2 + 2 * land.get(at, "H")]
    land.put(at, "H", 0)
