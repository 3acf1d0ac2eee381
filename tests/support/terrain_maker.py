"""Random terrains, made with plain Python: no code of the project but the container's."""

import struct
from collections import defaultdict

import numpy as np

from msh_gltf.converter.formats.nres import Entry, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive


def make_terrain(
    seed: int, *, across: int = 3, down: int = 2, steps: int = 2, blend: bool = True, x_first: bool = True
) -> bytes:
    """A bumpy terrain of ``across x down`` squares, each cut into ``steps x steps`` quads."""
    chance = np.random.default_rng(seed)
    columns, rows = across * steps + 1, down * steps + 1
    low, size = chance.integers(-500, 500, 2), float(chance.choice([10, 62.5, 150]))
    positions = [
        (low[0] + x * size / steps, low[1] + y * size / steps, float(chance.normal(0, size / 20)))
        for y in range(rows)
        for x in range(columns)
    ]
    points = np.array(positions, "<f4")
    order = [(x, y) for y in range(down) for x in range(across)]
    if not x_first:
        order = [(x, y) for x in range(across) for y in range(down)]
    faces: list[tuple[int, int, int]] = []
    runs: list[tuple[int, int]] = []
    for step in (1, steps):  # fine, then coarse
        for x, y in order:
            start = len(faces)
            for j in range(y * steps, (y + 1) * steps, step):
                for i in range(x * steps, (x + 1) * steps, step):
                    a, b = j * columns + i, j * columns + i + step
                    c, d = b + step * columns, a + step * columns
                    faces += [(a, b, c), (a, c, d)]
            runs.append((start, len(faces) - start))
    fine = sum(count for _, count in runs[: len(order)])
    packed, draw = bytearray(), bytearray()
    neighbours = links(points, faces, fine)
    pairs = [(int(chance.integers(1, 5)), int(chance.choice([255, 255, 2, 3]))) for _ in faces]
    for i, face in enumerate(faces):
        a, b, c = points[list(face)].astype("f8")
        cross = np.cross(b - a, c - a)
        normal = np.trunc(np.abs(v := cross / np.linalg.norm(cross) * 32767) + 0.5) * np.sign(v)
        flags = 0x600 | (0x4 if pairs[i][1] != 255 else 0) | int(chance.choice([0x10, 0x10, 0x2, 0x41])) << 16
        link, edge = neighbours[i]
        packed += struct.pack(
            "<I2BH3H3H3hBB",
            flags,
            *pairs[i],
            int(chance.choice([0xFFFF, 0xFFFF, 7])),
            *face,
            *link,
            *map(int, normal),
            edge,
            int(chance.integers(0, 256)),
        )
    for start, count in runs:
        seen = list(dict.fromkeys(pairs[start : start + count]))
        backwards = -1 if chance.random() < 0.3 else 1
        for pair in seen[::backwards]:
            group = [i for i in range(start, start + count) if pairs[i] == pair][::backwards]
            draw += b"".join(struct.pack("<HBB", i, 0x58 if k == 0 else 0x48, 0) for k, i in enumerate(group))
    slots = bytearray()
    for k, (start, count) in enumerate(runs):
        first, number = runs[k % len(order)]
        used = points[np.unique([v for f in faces[first : first + number] for v in f])]
        box = used.min(0), used.max(0)
        center = ((box[0] + box[1]) * np.float32(0.5)).astype("<f4")
        radius = float(np.linalg.norm(np.maximum(*np.abs(np.array(box, "f8") - center))))
        up = np.nextafter(np.float32(radius), np.float32(np.inf))
        slots += struct.pack("<4H", start, count, 0, 0)
        slots += np.array([*box[0], *box[1], *center, up], "<f4").tobytes() + bytes(20)
    lo, hi = points.min(0), points.max(0)
    corners = ["lll", "hll", "hhl", "lhl", "lhh", "llh", "hlh", "hhh"]
    hull = [[(lo, hi)[c[k] == "h"][k] for k in range(3)] for c in corners]
    squares = b"".join(struct.pack("<6H", 0, 0xFFFF, 0, 0, k, len(order) + k) + b"\xff" * 26 for k in range(len(order)))
    count = len(points)
    tables = {
        1: (squares, across, 38),
        2: (np.array(hull, "<f4").tobytes() + bytes(44) + slots, 0, 68),
        3: (points.tobytes(), 0, 12),
        4: (unit(chance, count).tobytes(), 0, 4),
        5: (chance.integers(-4096, 4096, 2 * count).astype("<i2").tobytes(), 0, 4),
        18: (chance.integers(-32768, 32768, 2 * count).astype("<i2").tobytes(), 0, 4),
        14: (chance.random(count).astype("<f4").tobytes(), 0, 4),
        11: (bytes(draw), 0, 4),
        21: (bytes(packed), 0, 28),
    }
    if not blend:
        del tables[14]
    entries = []
    for kind, (data, attr2, stride) in tables.items():
        rows_ = (len(data) - (140 if kind == 2 else 0)) // stride
        entries.append(Entry(kind, rows_, attr2, stride, name_field(b"Land"), 0, 0, data))
    return write_nres(new_archive(entries, "Land.msh"))


def unit(chance: np.random.Generator, count: int) -> np.ndarray:
    """Normals that lean a little, and a fourth byte that nobody knows."""
    lean = chance.normal(0, 0.2, (count, 3)) + np.array([0, 0, 1])
    lean /= np.linalg.norm(lean, axis=1, keepdims=True)
    fourth = chance.integers(-128, 128, (count, 1))
    return np.concatenate([np.rint(lean * 127), fourth], axis=1).astype("i1")


def links(points: np.ndarray, faces: list[tuple[int, int, int]], fine: int) -> list[tuple[list[int], int]]:
    """Neighbours across every edge and packed selectors, inside a level, by position."""
    users: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for i, face in enumerate(faces):
        for k in range(3):
            ends = frozenset(tuple(points[face[m % 3]].tolist()) for m in (k, k + 1))
            users[i < fine, ends].append((i, k))
    out = [([0xFFFF] * 3, 0x3F) for _ in faces]
    for pair in users.values():
        if len(pair) == 2:
            for (i, k), (other, edge) in (pair, pair[::-1]):
                link, packed = out[i]
                link[k] = other
                out[i] = (link, packed & ~(3 << 2 * k) | edge << 2 * k)
    return out
