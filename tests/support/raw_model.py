"""Second implementations of what one asks models, in plain numbers."""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from msh_gltf.converter.formats.model import MshModel
from tests.support import scalar_sampler

V3 = tuple[float, float, float]

Row = tuple[int, int, int, int, tuple[int, int, int]]


@dataclass
class Raw:
    """The tables of a model as bytes, read record by record."""

    model: MshModel
    retail: bool

    @cached_property
    def bytes_of(self) -> dict[int, bytes]:
        return {kind: table.tobytes() for kind, table in self.model.streams.items()}

    def read(self, table: int, form: str, at: int) -> tuple:
        return struct.unpack_from(form, self.bytes_of[table], at)

    def count(self, table: int, stride: int) -> int:
        return len(self.bytes_of.get(table, b"")) // stride

    def cell(self, node: int, lod: int, group: int) -> int:
        return self.read(1, "<H", node * 38 + 8 + 2 * (lod * 5 + group))[0]

    def walk(self, lod=0, group=0, nodes=None, masks=(0, 0, 0, 0)) -> Iterator[Row]:
        need, clear, batch_need, batch_clear = masks
        for node in range(self.count(1, 38)) if nodes is None else nodes:
            slot = self.cell(node, lod, group)
            if slot == 0xFFFF:
                continue
            triangle, _, first, batches = self.read(2, "<4H", slot * 68)
            for batch in range(first, first + batches):
                low, high, _, _, count, start, _, base = self.read(13, "<HHHHHIHI", batch * 20)
                flags = low + high * 65536 if self.retail else low
                drawn = flags & batch_need == batch_need and not flags & batch_clear
                for k in range((count + 2) // 3):
                    bits = self.read(7, "<H", triangle * 16)[0] if self.has_row(triangle) else 0
                    whole = 3 * k + 3 <= count
                    if drawn and whole and bits & need == need and not bits & clear:
                        a, b, c = self.read(6, "<3H", 2 * (start + 3 * k))
                        yield node, slot, batch, triangle, (a + base, b + base, c + base)
                    triangle += 1

    def has_row(self, triangle: int) -> bool:
        return triangle < self.count(7, 16)

    def vertex(self, row: int) -> V3:
        return self.read(3, "<3f", 12 * row)

    def poses(self, time: float) -> list[tuple[list[list[float]], V3]]:
        """(rows of the rotation matrix, translation) of every node in model space."""
        count = self.count(1, 38)
        if not self.count(8, 24):
            return [([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], (0.0, 0.0, 0.0))] * count
        sampler = scalar_sampler.ScalarModel(
            self.bytes_of[1], self.bytes_of[8], self.bytes_of.get(19, b""), self.model.frame_count, self.retail
        )
        local = []
        for node in range(count):
            q, p = scalar_sampler.sample(sampler, node, time)
            local.append((runtime_rows([float(v) for v in q]), tuple(float(v) for v in p)))

        def world(node: int) -> tuple[list[list[float]], V3]:
            parent = self.read(1, "<H", node * 38 + 2)[0]
            if parent == 0xFFFF:
                return local[node]
            rows, move = world(parent)
            below, by = local[node]
            turned = [[sum(rows[i][k] * below[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
            return turned, plus(apply(rows, by), move)

        return [world(node) for node in range(count)]


def runtime_rows(q: list[float]) -> list[list[float]]:
    """The engine's ``quat_to_matrix`` of the unit quaternion (msh-animation, 4.4)."""
    length = math.sqrt(sum(v * v for v in q))
    w, x, y, z = [v / length for v in q] if length else [1.0, 0.0, 0.0, 0.0]
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
        [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
        [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
    ]


def apply(rows, v) -> V3:
    return tuple(sum(r * c for r, c in zip(row, v, strict=True)) for row in rows)  # type: ignore


def plus(a, b) -> V3:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def minus(a, b) -> V3:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def times(a, k: float) -> V3:
    return (a[0] * k, a[1] * k, a[2] * k)


def dot(a, b) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b) -> V3:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def meets(corners: list[V3], start: V3, ray: V3) -> tuple[float, bool] | None:
    """Distance, and whether the hit is off the edges.

    Plane first, then the side of every edge: not the algorithm under test.
    """
    a, b, c = corners
    normal = cross(minus(b, a), minus(c, a))
    steep = dot(normal, ray)
    if abs(steep) <= 1e-11 * math.sqrt(dot(normal, normal) * dot(ray, ray)):
        return None
    distance = dot(normal, minus(a, start)) / steep
    point = plus(start, times(ray, distance))
    side = min(dot(normal, cross(minus(q, p), minus(point, p))) for p, q in ((a, b), (b, c), (c, a)))
    share = side / dot(normal, normal)  # the smallest barycentric coordinate
    return (distance, share > 1e-7) if distance >= 0 and share > -1e-7 else None


def all_hits(raw: Raw, start: V3, ray: V3, time: float, lod=0, group=0):
    """(distance, off the edges, row) of every hit, no sphere looked at."""
    poses = raw.poses(time)
    found = []
    for row in raw.walk(lod, group):
        rows, move = poses[row[0]]
        corners = [plus(apply(rows, raw.vertex(v)), move) for v in row[4]]
        hit = meets(corners, start, ray)
        if hit is not None:
            found.append((*hit, row))
    return found
