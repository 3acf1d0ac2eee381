"""Neighbour links of one slot: time at 65,000 triangles, and how it grows from 1,000.

    .venv/bin/python benchmarks/neighbours.py

A closed grid (a torus), triangles in random order; medians. The aims are 50 ms and an exponent of
at most 1.1.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from converter.rebuild.adjacency import links

SIZES = (1000, 2000, 4000, 8000, 16000, 32000, 65000)
ROUNDS = 7


def torus(count: int) -> np.ndarray:
    """About ``count`` triangles, (T, 3, 3) float32."""
    rows = int(np.sqrt(count / 2))
    columns = count // (2 * rows)
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")

    def point(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        u, v = 2 * np.pi * (a % rows) / rows, 2 * np.pi * (b % columns) / columns
        reach = 3 + np.cos(v)
        return np.stack([reach * np.cos(u), reach * np.sin(u), np.sin(v)], axis=-1)

    a, b, c, d = point(i, j), point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)
    quads = [np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)]
    triangles = np.concatenate(quads).reshape(-1, 3, 3).astype(np.float32)
    return np.random.default_rng(0).permutation(triangles)


def main() -> None:
    medians = []
    for size in SIZES:
        corners = torus(size)
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            link, _ = links(corners)
            times.append(time.perf_counter() - start)
        assert (link != 0xFFFF).all(), "a torus is closed"
        medians.append(statistics.median(times))
        print(f"{len(corners):7,} triangles {medians[-1] * 1000:8.2f} ms")
    exponent = np.polyfit(np.log(SIZES), np.log(medians), 1)[0]
    print(f"growth: time ~ triangles ^ {exponent:.2f}")


if __name__ == "__main__":
    main()
