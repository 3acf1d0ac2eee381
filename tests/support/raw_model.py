"""Second implementations of what one asks models, in plain numbers."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from msh_gltf.converter.formats.model import MshModel
from tests.second.model import rotation
from tests.support import scalar_sampler

V3 = np.ndarray
plus, minus, times, dot, cross = np.add, np.subtract, np.multiply, np.dot, np.cross

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
        return np.array(self.read(3, "<3f", 12 * row))

    def poses(self, time: float) -> list[tuple[V3, V3]]:
        """(rotation matrix, translation) of every node in model space."""
        count = self.count(1, 38)
        if not self.count(8, 24):
            return [(np.eye(3), np.zeros(3))] * count
        sampler = scalar_sampler.ScalarModel(
            self.bytes_of[1], self.bytes_of[8], self.bytes_of.get(19, b""), self.model.frame_count, self.retail
        )

        def world(node: int) -> tuple[V3, V3]:
            q, p = scalar_sampler.sample(sampler, node, time)
            rows, move = np.array(rotation(tuple(map(float, q)))), np.array(p, np.float64)
            parent = self.read(1, "<H", node * 38 + 2)[0]
            if parent == 0xFFFF:
                return rows, move
            above, shift = world(parent)
            return above @ rows, above @ move + shift

        return [world(node) for node in range(count)]


def apply(rows: V3, v: V3) -> V3:
    return rows @ v


def all_hits(raw: Raw, start: V3, ray: V3, time: float, lod: int = 0, group: int = 0) -> list[tuple[float, bool, Row]]:
    """(distance, off the edges, row) of every hit, no sphere looked at.

    Plane first, then the side of every edge: not the algorithm under test.
    """
    poses, rows = raw.poses(time), [*raw.walk(lod, group)]
    corners = np.array([[poses[row[0]][0] @ raw.vertex(v) + poses[row[0]][1] for v in row[4]] for row in rows])
    corners = corners.reshape(-1, 3, 3)
    edges = np.roll(corners, -1, axis=1) - corners
    normal = np.cross(edges[:, 0], -edges[:, 2])
    size, steep = (normal * normal).sum(axis=1), normal @ ray
    with np.errstate(all="ignore"):
        distance = (normal * (corners[:, 0] - start)).sum(axis=1) / steep
        point = start + np.multiply.outer(distance, ray)
        sides = (normal[:, None] * np.cross(edges, point[:, None] - corners)).sum(axis=2)
        share = sides.min(axis=1) / size  # the smallest barycentric coordinate
        hit = (np.abs(steep) > 1e-11 * np.sqrt(size * np.dot(ray, ray))) & (distance >= 0) & (share > -1e-7)
    return [(float(distance[i]), bool(share[i] > 1e-7), rows[i]) for i in np.flatnonzero(hit)]
