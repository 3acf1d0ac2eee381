"""A core model: every statement about its tables, one triangle at a time."""

import math
import struct
from collections import Counter
from itertools import pairwise
from typing import Any

from tests.second.container import Bad, Container, Problems, off_plane, rows, slots_of

NONE = 0xFFFF
V3 = tuple[float, ...]


class Model:
    """The tables of a model as tuples, and what is wrong with them."""

    def __init__(self, data: bytes) -> None:
        self.file = Container(data)
        t = self.tables = self.file.tables()
        if not {1, 2, 3, 6, 13} <= t.keys():
            raise Bad("core-tables")
        self.legacy = t[1].attr3 == 24
        self.nodes = rows(t[1], "<12H" if self.legacy else "<19H")
        self.slots = slots_of(t[2])
        self.header = struct.unpack_from("<35f", t[2].data)
        self.positions: list[V3] = rows(t[3], "<3f")
        self.indices: list[int] = [i for (i,) in rows(t[6], "<H")]
        self.triangles = rows(t.get(7), "<4H3hH")
        self.batches = rows(t[13], "<5HIHI")
        self.keys = rows(t.get(8), "<4f4h")
        self.map: list[int] = [i for (i,) in rows(t.get(19), "<H")]
        self.frames = t[19].attr2 if 19 in t else 1
        self.problems = self.file.problems

    def add(self, code: str, wrong: object) -> None:
        self.problems[code] += bool(wrong)

    def of_slot(self, slot: Any) -> list[tuple[int, list[int]]]:
        """Triangles of a slot by number, and their vertices."""
        found = []
        for batch in self.batches[slot[2] : slot[2] + slot[3]]:
            number, start, _, base = batch[4:8]
            for at in range(start, start + number, 3):
                found.append((slot[0] + len(found), [i + base for i in self.indices[at : at + 3]]))
        return found


def model_problems(data: bytes) -> Problems:
    """What is wrong with a model; a file that cannot be read is one code."""
    try:
        m = Model(data)
    except Bad as error:
        return Counter({str(error): 1})
    _attributes(m)
    if not m.legacy:
        _cells(m)
        _tracks(m)
    if _ranges(m):
        _triangles(m)
        _slots(m)
        _header(m)
    _names(m)
    _streams(m)
    return +m.problems


def _attributes(m: Model) -> None:
    """The three words of the directory for each table."""
    t = m.tables
    strides = {1: 24 if m.legacy else 38, 3: 12, 4: 4, 5: 4, 6: 2, 7: 16, 13: 20, 15: 8, 16: 8, 18: 4, 9: 32}
    wanted = {kind: (len(t[kind].data) // size, size) for kind, size in strides.items() if kind in t}
    wanted |= {2: (len(m.slots), 68), 8: (len(m.keys), 4), 19: (len(m.map), 2), 10: (len(m.nodes), 0)}
    for kind, words in wanted.items():
        m.add("table-attributes", kind in t and (t[kind].attr1, t[kind].attr3) != words)
        m.add("table-stride", kind in strides and len(t[kind].data) % strides[kind])


def _cells(m: Model) -> None:
    for i, node in enumerate(m.nodes):
        m.add("core-parent", node[1] != NONE and node[1] >= i)
        m.add("core-cell", any(word != NONE and word >= len(m.slots) for word in node[4:]))


def _tracks(m: Model) -> None:
    """Runs of keys follow each other; a map names the key whose time was reached."""
    if not m.keys:
        return
    start, last, blocks = 0, 0.0, []
    for node in m.nodes:
        end = node[3]
        if end >= len(m.keys) or end < start:
            m.add("anim-run", True)
            return
        times = [key[3] for key in m.keys[start : end + 1]]
        m.add("anim-times", times[0] != 0 or any(a >= b for a, b in pairwise(times)) or any(t % 1 for t in times))
        last = max(last, times[-1])
        if node[2] == NONE:
            m.add("anim-static", end != start)
        else:
            words = m.map[node[2] : node[2] + m.frames]
            blocks.append(node[2])
            m.add("anim-map", len(words) != m.frames or end == start)
            m.add("anim-words", words != [start + _left(times, frame) for frame in range(len(words))])
        start = end + 1
    m.add("anim-frames", m.frames < int(last) + 1)  # a still tail may be longer
    m.add("anim-unused", start != len(m.keys))
    m.add("anim-blocks", blocks != [k * m.frames for k in range(len(blocks))] or len(m.map) != len(blocks) * m.frames)


def _left(times: list[float], frame: int) -> int:
    """The key of a run that a map names at a frame."""
    end = len(times) - 1
    if frame < times[0] or frame >= times[end]:
        return end
    return max(k for k in range(end) if times[k] <= frame)


def _ranges(m: Model) -> bool:
    """Nothing points outside; the batches tile the indices. ``False``: too broken to go on."""
    at, sound = 0, True
    for batch in m.batches:
        number, start, window, base = batch[4:8]
        m.add("batch-tiles", start != at)
        at = start + number
        largest = max(m.indices[start:at], default=-1)
        m.add("batch-triangles", number % 3)
        m.add("batch-window", window != largest + 1)
        m.add("batch-range", at > len(m.indices) or base + largest >= len(m.positions))
        m.add("batch-vertices", base + window > len(m.positions))
        sound = sound and at <= len(m.indices) and base + largest < len(m.positions)
    m.add("batch-tiles", at != len(m.indices))
    count = len(m.triangles) if 7 in m.tables else len(m.indices) // 3
    for first, many, batch, batches, *_ in m.slots:
        inside = first + many <= count and batch + batches <= len(m.batches)
        m.add("slot-range", not inside)
        sound = sound and inside
        own = m.batches[batch : batch + batches]
        m.add("slot-triangles", (own and first * 3 != own[0][5]) or many * 3 != sum(b[4] for b in own))
    return sound


def _triangles(m: Model) -> None:
    """Links are mutual, lie across an edge of equal places, and selectors name that edge."""
    at: dict[int, list[Any]] = {}
    for slot in m.slots:
        for t, corners in m.of_slot(slot):
            at[t] = [tuple(c + 0.0 for c in m.positions[v]) for v in corners]
    for t, row in enumerate(m.triangles):
        links, normal, bits = row[1:4], row[4:7], row[7]
        m.add("core-normal-length", not 0.99 < math.hypot(*normal) / 32767 < 1.01)
        for k in range(3):
            other, edge = links[k], bits >> 2 * k & 3
            if other == NONE or edge == 3:
                m.add("core-selector", (other == NONE) != (edge == 3))
            elif other >= len(m.triangles):
                m.add("core-link", True)
            else:
                back = m.triangles[other]
                m.add("core-link", back[1 + edge] != t or back[7] >> 2 * edge & 3 != k)
                if t in at and other in at:
                    shared = {at[other][edge], at[other][(edge + 1) % 3]}
                    m.add("core-edge", shared != {at[t][k], at[t][(k + 1) % 3]})
        m.add("core-normal", t in at and off_plane(at[t], normal))


def _slots(m: Model) -> None:
    """A slot's box is that of its vertices, and its sphere holds them."""
    for slot in m.slots:
        points = [m.positions[v] for _, corners in m.of_slot(slot) for v in corners]
        if not points:
            continue
        low, high = (tuple(f(axis) for axis in zip(*points, strict=True)) for f in (min, max))
        m.add("slot-box", slot[4:7] != low or slot[7:10] != high)
        room = 1e-6 * max(1.0, *map(abs, (*low, *high)))
        m.add("slot-sphere", any(math.dist(p, slot[10:13]) > slot[13] + room for p in points))


def _header(m: Model) -> None:
    """The header's box is that of level 0 at rest, under one order of the quaternion's words."""
    corners = [m.header[3 * i : 3 * i + 3] for i in range(8)]
    low, high = (tuple(f(axis) for axis in zip(*corners, strict=True)) for f in (min, max))
    order = ["LLL", "HLL", "HHL", "LHL", "LHH", "LLH", "HLH", "HHH"]
    wanted = [tuple((low if c == "L" else high)[i] for i, c in enumerate(text)) for text in order]
    m.add("header-corners", corners != wanted)
    unknown = ("core-parent", "core-cell", "anim-run", "anim-map", "anim-words", "anim-times")
    finite = all(math.isfinite(c) for key in m.keys for c in key)
    if m.legacy or not m.keys or not finite or any(m.problems[code] for code in unknown):
        return
    errors = []
    for retail in (False, True):
        if points := _posed(m, retail):
            box = [f(axis) for f in (min, max) for axis in zip(*points, strict=True)]
            errors.append(max(abs(a - b) for a, b in zip(box, low + high, strict=True)))
    room = max(1e-3 * math.dist(low, high), 1e-6 * max(map(abs, (*low, *high))), 1e-12)  # rounding, if it has no size
    m.add("header-box", errors and min(errors) > room)


def _posed(m: Model, retail: bool) -> list[V3]:
    """The vertices of level 0 at rest, without cockpits."""
    worlds: list[Any] = []
    points: list[V3] = []
    for node in m.nodes:
        word = m.map[node[2]] if node[2] != NONE else NONE
        key = m.keys[min(word, node[3])]  # a word that is not below the run's last key means that key
        move, turn = key[:3], rotation(key[4:8] if retail else (key[7], *key[4:7]))
        if node[1] != NONE:
            above_turn, above_move = worlds[node[1]]
            move = tuple(a + b for a, b in zip(_times(above_turn, move), above_move, strict=True))
            columns = [_times(above_turn, column) for column in zip(*turn, strict=True)]
            turn = list(zip(*columns, strict=True))
        worlds.append((turn, move))
        if node[4] != NONE and not node[0] & 0x20:
            used = {v for _, corners in m.of_slot(m.slots[node[4]]) for v in corners}
            turned = [_times(turn, m.positions[v]) for v in used]
            points += [tuple(a + b for a, b in zip(point, move, strict=True)) for point in turned]
    return points


def rotation(q: V3) -> list[V3]:
    length = math.hypot(*q)
    w, x, y, z = (c / length for c in q) if length else (1.0, 0.0, 0.0, 0.0)
    return [
        (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)),
        (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)),
        (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)),
    ]


def _times(matrix: Any, v: V3) -> V3:
    return tuple(sum(a * b for a, b in zip(row, v, strict=True)) for row in matrix)


def _names(m: Model) -> None:
    if (names := m.tables.get(9)) is not None:
        m.add("names-count", len(names.data) != 32 * len(m.nodes))
        m.add("names-end", any(b"\0" not in names.data[i : i + 32] for i in range(0, len(names.data), 32)))
    if (strings := m.tables.get(10)) is not None:
        at, data = 0, strings.data
        for _ in m.nodes:
            size = struct.unpack_from("<I", data, at)[0] if at + 4 <= len(data) else 0
            at += 4 + (size + 1 if size else 0)
            if at > len(data) or (size and data[at - 1]):
                m.add("strings-end", True)
                return
        m.add("strings-tail", at != len(data))


def _streams(m: Model) -> None:
    """A value per vertex in every stream; the paths of buildings."""
    for kind, stride in ((4, 4), (5, 4), (15, 8), (16, 8), (18, 4)):
        entry = m.tables.get(kind)
        m.add("stream-count", entry and entry.data and len(entry.data) != stride * len(m.positions))
    m.add("not-finite", not all(math.isfinite(c) for p in m.positions for c in p))
    if (paths := m.tables.get(17)) is not None:
        size = 20 * paths.attr1
        if len(paths.data) != size + 40 * paths.attr2:
            m.add("paths-size", True)
            return
        for at in range(0, size, 20):
            m.add("paths-node", struct.unpack_from("<I", paths.data, at + 16)[0] >= len(m.nodes))
        for at in range(size, len(paths.data), 40):
            m.add("paths-link", max(struct.unpack_from("<2I", paths.data, at)) >= paths.attr1)
