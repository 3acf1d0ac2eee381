"""A landscape and its areal map."""

import math
import struct
from collections import Counter
from typing import Any

from tests.second.container import Bad, Container, Problems, off_plane, rows, slots_of

NONE = 0xFFFF


class Land:
    """The tables of a ``Land.msh`` as tuples."""

    def __init__(self, data: bytes) -> None:
        self.file = Container(data)
        t = self.tables = self.file.tables()
        if not {1, 2, 3, 4, 5, 11, 18, 21} <= t.keys():
            raise Bad("terrain-tables")
        self.points = rows(t[3], "<3f")
        self.faces = rows(t[21], "<I2BH6H3hBB")
        self.order = rows(t[11], "<HBB")
        self.squares = rows(t[1], "<19H")
        self.slots = slots_of(t[2])
        self.problems = self.file.problems
        if any(v >= len(self.points) for face in self.faces for v in face[4:7]):
            raise Bad("terrain-vertex")
        if any(slot >= len(self.slots) for square in self.squares for slot in square[4:6]):
            raise Bad("terrain-square")

    def add(self, code: str, wrong: object) -> None:
        self.problems[code] += bool(wrong)

    def run(self, slot: int) -> list[Any]:
        first, count = self.slots[slot][:2]
        return self.faces[first : first + count]


def terrain_problems(data: bytes) -> Problems:
    """What is wrong with a ``Land.msh``; a file that cannot be read is one code."""
    try:
        land = Land(data)
    except Bad as error:
        return Counter({str(error): 1})
    t = land.tables
    for kind, stride in {1: 38, 3: 12, 4: 4, 5: 4, 14: 4, 18: 4, 21: 28}.items():
        if kind in t:
            land.add("table-attributes", t[kind].attr1 * stride != len(t[kind].data))
            land.add("stream-count", stride == 4 and len(t[kind].data) != 4 * len(land.points))
    land.add("table-attributes", t[2].attr1 != len(land.slots))
    land.add("not-finite", not all(math.isfinite(c) for p in land.points for c in p))
    _links(land)
    _runs(land)
    for face in land.faces:
        land.add("terrain-second-material", bool(face[0] & 4) != (face[2] != 0xFF))
        land.add("terrain-normal", off_plane([land.points[v] for v in face[4:7]], face[10:13]))
        land.add("terrain-flags", face[0] & 0x600 != 0x600)
    if not land.problems["terrain-runs"]:
        _unlinked(land)
        _boxes(land)
    return +land.problems


def _links(land: Land) -> None:
    faces, points = land.faces, land.points
    for i, face in enumerate(faces):
        for k in range(3):
            other, edge = face[7 + k], face[13] >> 2 * k & 3
            if other == NONE or edge == 3:
                land.add("terrain-selector", (other == NONE) != (edge == 3))
            elif other >= len(faces):
                land.add("terrain-link", True)
            else:
                back = faces[other]
                land.add("terrain-link", back[7 + edge] != i or back[13] >> 2 * edge & 3 != k)
                mine = {points[face[4 + k]], points[face[4 + (k + 1) % 3]]}
                land.add("terrain-edge", mine != {points[back[4 + edge]], points[back[4 + (edge + 1) % 3]]})


def _runs(land: Land) -> None:
    """Runs chain through all faces, fine level first; the draw order groups them by their materials."""
    at = 0
    for slot in [s[4] for s in land.squares] + [s[5] for s in land.squares]:
        first, count = land.slots[slot][:2]
        land.add("terrain-runs", first != at)
        at += count
        run = land.order[first : first + count]
        if sorted(row[0] for row in run) != list(range(first, first + count)) or first + count > len(land.faces):
            land.add("terrain-order", True)
            continue
        pairs = [land.faces[row[0]][1:3] for row in run]
        begins = [not i or pairs[i] != pairs[i - 1] for i in range(count)]
        land.add("terrain-groups", sum(begins) != len(set(pairs)))
        land.add("terrain-groups", [row[1] for row in run] != [0x58 if begin else 0x48 for begin in begins])
    land.add("terrain-runs", at != len(land.faces) or len(land.order) != len(land.faces))


def _unlinked(land: Land) -> None:
    """Two faces of a level that share an edge link to each other there."""
    fine = sum(land.slots[square[4]][1] for square in land.squares)
    users: dict[Any, list[tuple[int, int]]] = {}
    for i, face in enumerate(land.faces):
        ends = [tuple(c + 0.0 for c in land.points[v]) for v in face[4:7]]
        for k in range(3):
            users.setdefault((i < fine, frozenset((ends[k], ends[(k + 1) % 3]))), []).append((i, k))
            land.add("terrain-level", face[7 + k] != NONE and (face[7 + k] < fine) != (i < fine))
    for (i, k), (other, edge) in (pair for pair in users.values() if len(pair) == 2):
        face = land.faces[i]
        land.add("terrain-unlinked", i != other and (face[7 + k] != other or face[13] >> 2 * k & 3 != edge))


def _boxes(land: Land) -> None:
    """Both boxes of a square are that of its fine faces, which lie within it, and the sphere holds them."""
    hull = list(struct.iter_unpack("<3f", land.tables[2].data[:96]))
    (left, right), (back, front), (low, high) = ((min(axis), max(axis)) for axis in zip(*hull, strict=True))
    across = max(1, land.tables[1].attr2)
    down = max(1, len(land.squares) // across)
    wide, deep = (right - left) / across or 1.0, (front - back) / down or 1.0
    heights: list[float] = []
    outside = [0, 0]  # where squares go by rows, or by columns
    for number, square in enumerate(land.squares):
        fine, coarse = land.slots[square[4]], land.slots[square[5]]
        used = [land.points[v] for face in land.run(square[4]) for v in face[4:7]]
        for at in (*used, *(land.points[v] for face in land.run(square[5]) for v in face[4:7])):
            x, y = (at[0] - left) / wide, (at[1] - back) / deep
            for order, (column, row) in enumerate(((number % across, number // across), divmod(number, down))):
                outside[order] += max(abs(x - column - 0.5), abs(y - row - 0.5)) > 0.501
        if used:
            heights += [at[2] for at in used]
            box = tuple(f(axis) for f in (min, max) for axis in zip(*used, strict=True))
            land.add("terrain-box", fine[4:10] != box)
            land.add("terrain-sphere", any(math.dist(at, fine[10:13]) > fine[13] * (1 + 1e-6) for at in used))
            land.add("terrain-coarse-box", coarse[4:14] != fine[4:14])
    land.add("terrain-square-faces", min(outside))
    land.add("terrain-hull", heights and (low, high) != (min(heights), max(heights)))


def areal_problems(data: bytes) -> Problems:
    """What is wrong with a ``Land.map``; a file that cannot be read is one code."""
    try:
        file = Container(data)
        entry = file.tables().get(12)
        if entry is None or not entry.attr1:
            raise Bad("areal-entry")
        areals, cells = areals_of(entry.data, entry.attr1)
    except Bad as error:
        return Counter({str(error): 1})
    except struct.error:
        return Counter({"areal-end": 1})
    found = file.problems
    for i, (record, corners, links) in enumerate(areals):
        found["areal-normal"] += abs(math.hypot(*record[5:8]) - 1) > 1e-3
        ring = zip(corners, corners[1:] + corners[:1], strict=True)
        area = sum(a[0] * b[1] - b[0] * a[1] for a, b in ring) / 2
        found["areal-area"] += abs(record[4] - abs(area)) > 0.02 * abs(area) + 1
        for edge, (other, back_edge) in enumerate(links):
            if (other, back_edge) == (-1, -1):
                continue
            if not 0 <= other < len(areals) or not 0 <= back_edge < len(areals[other][2]):
                found["areal-link"] += 1
            else:
                found["areal-mutual"] += areals[other][2][back_edge] != (i, edge)
    for ids in cells:
        found["areal-cell"] += any(i >= len(areals) for i in ids)
        found["areal-cell-list"] += len(set(ids)) != len(ids) or len(ids) > 1023
    return +found


def areals_of(data: bytes, count: int) -> tuple[list[Any], list[tuple[int, ...]]]:
    """The record, corners and links of each areal, and what each cell lists."""
    at, areals = 0, []
    for _ in range(count):
        record = struct.unpack_from("<8f6I", data, at)
        vertices, polygons = record[12], record[13]
        at += 56
        corners = [struct.unpack_from("<3f", data, at + 12 * i) for i in range(vertices)]
        at += 12 * vertices
        links = [struct.unpack_from("<2i", data, at + 8 * i) for i in range(vertices)]
        at += 8 * (vertices + 3 * polygons)
        for _ in range(polygons):
            at += 4 * (3 * struct.unpack_from("<I", data, at)[0] + 1)
        areals.append((record, corners, links))
    across, down = struct.unpack_from("<2I", data, at)
    if not across or not down:
        raise Bad("areal-grid")
    at += 8
    cells: list[tuple[int, ...]] = []
    for _ in range(across * down):
        (hits,) = struct.unpack_from("<H", data, at)
        cells.append(struct.unpack_from(f"<{hits}H", data, at + 2))
        at += 2 + 2 * hits
    if at != len(data):
        raise Bad("areal-end")
    return areals, cells
