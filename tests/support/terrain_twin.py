"""The rules of a rebuilt terrain, checked face by face in plain Python: no code of the project."""

import struct
from collections import defaultdict
from typing import Any

import numpy as np


class Tables:
    """A ``Land.msh`` read with ``struct`` alone."""

    def __init__(self, data: bytes) -> None:
        count, total = struct.unpack_from("<iI", data, 8)
        self.tables: dict[int, bytes] = {}
        self.attributes: dict[int, tuple[int, int]] = {}
        for i in range(count):
            at = total - 64 * (count - i)
            kind, attr1, attr2, size = struct.unpack_from("<4I", data, at)
            offset = struct.unpack_from("<I", data, at + 56)[0]
            self.tables[kind] = data[offset : offset + size]
            self.attributes[kind] = (attr1, attr2)
        self.positions = np.frombuffer(self.tables[3], "<f4").reshape(-1, 3)
        self.faces = [self.tables[21][i : i + 28] for i in range(0, len(self.tables[21]), 28)]
        self.vertex = [struct.unpack_from("<3H", f, 8) for f in self.faces]
        self.link = [struct.unpack_from("<3H", f, 14) for f in self.faces]
        self.edge = [[f[26] >> k & 3 for k in (0, 2, 4)] for f in self.faces]
        slots = self.tables[2][140:]
        self.slots = [slots[i : i + 68] for i in range(0, len(slots), 68)]
        self.runs = [struct.unpack_from("<2H", s, 0) for s in self.slots]
        words = [self.tables[1][i : i + 38] for i in range(0, len(self.tables[1]), 38)]
        self.squares = [struct.unpack_from("<2H", w, 8) for w in words]

    def hull(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.tables[2][:96], "<f4").reshape(8, 3)


def check(data: bytes) -> None:
    """Every rule of the ``rebuild`` page that a whole terrain must keep."""
    t = Tables(data)
    count = len(t.faces)
    assert t.attributes[2][0] == len(t.slots)
    # runs chain: the fine level square by square, then the coarse one
    order = [s[0] for s in t.squares] + [s[1] for s in t.squares]
    at = 0
    for slot in order:
        assert t.runs[slot][0] == at
        at += t.runs[slot][1]
    assert at == count
    fine = sum(t.runs[s[0]][1] for s in t.squares)
    check_links(t, 0, fine)
    check_links(t, fine, count)
    check_draw_order(t)
    check_squares(t)
    for i, face in enumerate(t.faces):
        flags = struct.unpack_from("<I", face)[0]
        assert bool(flags & 4) == (face[5] != 0xFF), i
        assert flags & 0x600 == 0x600
        normal = np.array(struct.unpack_from("<3h", face, 20)) / 32767
        a, b, c = t.positions[list(t.vertex[i])].astype(np.float64)
        cross = np.cross(b - a, c - a)
        assert np.abs(normal - cross / np.linalg.norm(cross)).max() < 1.01 / 32767, i


def check_links(t: Tables, first: int, last: int) -> None:
    """Links are mutual, selectors exact, and on an edge of two faces they link."""
    users: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for i in range(first, last):
        places = [tuple((t.positions[v] + np.float32(0)).tolist()) for v in t.vertex[i]]
        for k in range(3):
            users[frozenset((places[k], places[(k + 1) % 3]))].append((i, k))
            other, edge = t.link[i][k], t.edge[i][k]
            assert (other == 0xFFFF) == (edge == 3), (i, k)
            if other != 0xFFFF:
                assert first <= other < last
                assert t.link[other][edge] == i
                assert t.edge[other][edge] == k
    for sharers in users.values():
        if len(sharers) == 2 and sharers[0][0] != sharers[1][0]:
            (a, k), (b, m) = sharers
            assert (t.link[a][k], t.edge[a][k]) == (b, m)


def check_draw_order(t: Tables) -> None:
    """A permutation inside every run, with one group per material pair."""
    rows = [struct.unpack_from("<HBB", t.tables[11], i) for i in range(0, 4 * len(t.faces), 4)]
    assert len(t.tables[11]) == 4 * len(t.faces)
    for start, size in t.runs:
        run = rows[start : start + size]
        assert sorted(r[0] for r in run) == list(range(start, start + size))
        pairs = [tuple(t.faces[r[0]][4:6]) for r in run]
        begins = [i for i in range(size) if i == 0 or pairs[i] != pairs[i - 1]]
        assert len(begins) == len(set(pairs)), "the minimum number of groups"
        assert [r[1] for r in run] == [0x58 if i in begins else 0x48 for i in range(size)]


def check_squares(t: Tables) -> None:
    """Every face inside its square; boxes of both levels the fine faces' own."""
    hull = t.hull()
    low, high = hull.min(0).astype(np.float64), hull.max(0).astype(np.float64)
    across = t.attributes[1][1]
    size = (high - low)[:2] / [across, len(t.squares) // across]
    heights = []
    for number, (fine, coarse) in enumerate(t.squares):
        corner = low[:2] + size * [number % across, number // across]
        for slot in (fine, coarse):
            start, length = t.runs[slot]
            for i in range(start, start + length):
                points = t.positions[list(t.vertex[i])][:, :2]
                assert (points >= corner - 1e-3 * size).all(), i
                assert (points <= corner + 1.001 * size).all(), i
        start, length = t.runs[fine]
        if not length:
            continue
        points = np.concatenate([t.positions[list(v)] for v in t.vertex[start : start + length]])
        heights.append(points[:, 2])
        box = struct.unpack_from("<10f", t.slots[fine], 8)
        np.testing.assert_array_equal(np.array(box[:3], "<f4"), points.min(0))
        np.testing.assert_array_equal(np.array(box[3:6], "<f4"), points.max(0))
        away = np.linalg.norm(points.astype(np.float64) - box[6:9], axis=1)
        assert box[9] >= away.max()
        assert t.slots[coarse][8:48] == t.slots[fine][8:48]
    assert hull[:, 2].min() == min(h.min() for h in heights)
    assert hull[:, 2].max() == max(h.max() for h in heights)
