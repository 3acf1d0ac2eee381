"""Ground heights: 100,000 points on a terrain of 9,000 faces, against a search over all faces.

    .venv/bin/python benchmarks/terrain.py

The search is the same test in NumPy, without an index, in blocks that fit the caches. The aim is
50 times.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import numpy as np

from converter.archive import Entry, name_field
from converter.rebuild.bounds import hull
from converter.rebuild.geometry import triangle_normals
from converter.tables import (
    FACE_DTYPE,
    HEADER_DTYPE,
    NODE_DTYPE,
    NONE16,
    SLOT_DTYPE,
    TerrainStream,
)
from converter.terrain import Terrain
from converter.terrain_queries import GROUND_NORMAL, TerrainQueries
from exporters.nres import new_archive

POINTS, ROUNDS = 100_000, 7
SQUARES = 8


def terrain() -> Terrain:
    """Bumpy ground of about 9,000 faces in 8 x 8 squares."""
    chance = np.random.default_rng(0)
    lines = np.unique(np.concatenate([np.linspace(0, 8, 60), np.arange(9)]))
    x, y = np.meshgrid(lines, lines)
    points = np.stack([x, y, chance.normal(0, 0.02, x.shape)], axis=-1).reshape(-1, 3)
    n = len(lines)
    i, j = np.meshgrid(np.arange(n - 1), np.arange(n - 1))
    corner = (j * n + i).reshape(-1)
    square = (lines[j].astype(int) * SQUARES + lines[i].astype(int)).reshape(-1)
    quads = [np.stack([corner, corner + 1, corner + n + 1], axis=1)]
    quads += [np.stack([corner, corner + n + 1, corner + n], axis=1)]
    vertex, square = np.concatenate(quads), np.concatenate([square, square])
    order = np.argsort(square, kind="stable")
    faces = np.zeros(len(order), FACE_DTYPE)
    faces["vertex"], faces["flags"], faces["link"] = vertex[order], 0x100600, NONE16
    positions = points.astype(np.float32)
    corners = positions[faces["vertex"]]
    faces["normal"], _ = triangle_normals(corners, np.zeros((len(faces), 3, 4), np.int8))
    slots = np.zeros(2 * SQUARES**2, SLOT_DTYPE)
    count = np.bincount(square, minlength=SQUARES**2)
    slots["tri_count"][: SQUARES**2] = count
    slots["tri_start"][: SQUARES**2] = np.cumsum(count) - count
    squares = np.zeros(SQUARES**2, NODE_DTYPE)
    squares["slot_index"] = NONE16
    squares["slot_index"][:, 0, 0] = np.arange(SQUARES**2)
    header = np.zeros(1, HEADER_DTYPE)
    header["hull"][0] = hull(positions.min(axis=0), positions.max(axis=0))
    entry = Entry(1, len(squares), SQUARES, 38, name_field(b"Land"), 0, 0, squares.tobytes())
    archive = new_archive([replace(entry)], "benchmark")
    streams = {TerrainStream.POSITIONS: positions, TerrainStream.FACES: faces}
    streams[TerrainStream.SQUARES] = squares
    return Terrain("Land.msh", archive, header, slots, {int(k): v for k, v in streams.items()})


def brute(ground: Terrain, points: np.ndarray) -> np.ndarray:
    """Heights by a search over all faces, 64 points at a time."""
    corner = ground.positions[ground.faces["vertex"]].astype(np.float64)
    corner = corner[ground.faces["normal"][:, 2] / 32767 > GROUND_NORMAL]
    a, first, second = corner[:, 0], corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    out = np.empty(len(points))
    for at in range(0, len(points), 64):
        away = points[at : at + 64, None] - a[None, :, :2]
        u = (away[..., 0] * second[:, 1] - away[..., 1] * second[:, 0]) / area
        v = (first[:, 0] * away[..., 1] - first[:, 1] * away[..., 0]) / area
        inside = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
        height = a[:, 2] + u * first[:, 2] + v * second[:, 2]
        out[at : at + 64] = np.where(inside, height, -np.inf).max(axis=1)
    return out


def main() -> None:
    ground = terrain()
    points = np.random.default_rng(1).random((POINTS, 2)) * 8
    started = time.perf_counter()
    expected = brute(ground, points)
    slow = time.perf_counter() - started
    times = []
    for _ in range(ROUNDS):
        queries = TerrainQueries(ground)
        started = time.perf_counter()
        height, _ = queries.height_at(points)
        times.append(time.perf_counter() - started)
    assert np.abs(height - expected).max() < 1e-9
    fast = statistics.median(times)
    print(f"{len(ground.faces):,} faces, {POINTS:,} points")
    print(f"search over all faces   {slow * 1000:9.0f} ms")
    print(f"height_at, index built  {fast * 1000:9.0f} ms   {slow / fast:.0f} x")


if __name__ == "__main__":
    main()
