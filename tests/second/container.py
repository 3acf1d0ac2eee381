"""NRes, read with ``struct`` alone."""

import itertools
import struct
from collections import Counter
from typing import Any, NamedTuple

Problems = Counter[str]


class Bad(Exception):
    """The file does not hold together; its text is the code."""


class Entry(NamedTuple):
    kind: int
    attr1: int
    attr2: int
    attr3: int
    name: bytes
    data: bytes
    offset: int


class Container:
    """Entries in the order of the directory, and what is wrong with the frame round them."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"NRes" or len(data) < 16:
            raise Bad("nres-magic")
        version, count, total = struct.unpack_from("<IiI", data, 4)
        directory = total - 64 * count
        if version != 0x100 or count < 0 or total != len(data) or directory < 16:
            raise Bad("nres-header")
        self.entries: list[Entry] = []
        self.problems: Problems = Counter()
        self.order: list[int] = []
        for i in range(count):
            row = data[directory + 64 * i : directory + 64 * i + 64]
            kind, attr1, attr2, size, attr3 = struct.unpack_from("<5I", row)
            offset, position = struct.unpack_from("<2I", row, 56)
            if offset < 16 or offset + size > directory:
                raise Bad("nres-range")
            name, end, _ = row[20:56].partition(b"\0")
            self.problems["nres-name"] += not end
            self.problems["nres-alignment"] += offset % 8 > 0
            self.entries.append(Entry(kind, attr1, attr2, attr3, name, data[offset : offset + size], offset))
            self.order.append(position)
        places = sorted((e.offset, len(e.data)) for e in self.entries if e.data)
        self.problems["nres-overlap"] += sum(a + n > b for (a, n), (b, _) in itertools.pairwise(places))
        if sorted(self.order) != list(range(count)):
            self.problems["nres-order"] += 1
            return
        names = [self.entries[i].name for i in self.order]
        self.problems["nres-sorted"] += names not in (sorted(names, key=bytes.upper), sorted(names, key=bytes.lower))

    def tables(self) -> dict[int, Entry]:
        """The first entry of each kind."""
        found: dict[int, Entry] = {}
        for entry in self.entries:
            found.setdefault(entry.kind, entry)
        return found


def archive_problems(data: bytes) -> Problems:
    """What is wrong with the frame of an archive; one that cannot be read is one code."""
    try:
        return +Container(data).problems
    except Bad as error:
        return Counter({str(error): 1})


def rows(entry: Entry | None, form: str) -> list[Any]:
    """The records of a table; none where it is missing."""
    if entry is None:
        return []
    if len(entry.data) % struct.calcsize(form):
        raise Bad("table-stride")
    return list(struct.iter_unpack(form, entry.data))


def slots_of(entry: Entry) -> list[Any]:
    """The records behind the header of table 2."""
    if len(entry.data) < 140 or (len(entry.data) - 140) % 68:
        raise Bad("table-stride")
    return list(struct.iter_unpack("<4H10f20s", entry.data[140:]))


def off_plane(points: list[Any], normal: Any) -> bool:
    """Whether a stored normal is not that of the triangle's plane, where it has one."""
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = points
    u, v = (bx - ax, by - ay, bz - az), (cx - ax, cy - ay, cz - az)
    cross = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    area = sum(c * c for c in cross) ** 0.5
    longest = max(sum(c * c for c in side) for side in (u, v))
    if not 1e-5 * longest < area < float("inf"):
        return False
    return any(abs(n / 32767 - c / area) > 2e-3 for n, c in zip(normal, cross, strict=True))
