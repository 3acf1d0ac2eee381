"""Small array operations that several formats need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: Structured rows.
Records = NDArray[np.void]


#: "No slot", "no parent", "no map", "no neighbour".
NONE16 = 0xFFFF
#: Rows of a table may be reached this often on the mean, and payloads lie in one another: sound
#: files use each once. What is made of a file then stays a small multiple of its size.
MAX_USES = 16
#: A table may be reached so often whatever its size.
USES_FLOOR = 1 << 20

F = TypeVar("F", np.float32, np.float64)
_YZX, _ZXY = [1, 2, 0], [2, 0, 1]


def ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """``start[i] .. start[i] + count[i]`` for every ``i``, end to end. (n,), (n,) -> (sum,)."""
    first = np.repeat(start - (np.cumsum(count) - count), count)
    return np.asarray(first + np.arange(int(count.sum())), np.int64)


def covered(
    starts: NDArray[np.integer], counts: NDArray[np.integer], size: int
) -> NDArray[np.bool_]:
    """Which rows lie in any of some ranges. -> (size,)."""
    depth = np.zeros(size + 1, np.int64)
    begin = np.clip(starts.astype(np.int64), 0, size)
    end = np.clip(starts.astype(np.int64) + counts, 0, size)
    np.add.at(depth, begin, 1)
    np.add.at(depth, end, -1)
    return np.asarray(np.cumsum(depth)[:size] > 0)


def cross_products(corners: NDArray[F]) -> NDArray[F]:
    """``(p1 - p0) x (p2 - p0)`` of triangles, twice as long as they are large. (T, 3, 3) -> (T, 3).

    As ``np.cross``, which takes ten times as long on few.
    """
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    out: NDArray[F] = a[:, _YZX] * b[:, _ZXY] - a[:, _ZXY] * b[:, _YZX]
    return out


def concatenate_records(parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Records of one dtype end to end: ``np.concatenate`` promotes every field of every part."""
    dtype = parts[0].dtype
    plain = [np.ascontiguousarray(part).view(f"V{dtype.itemsize}") for part in parts]
    return np.concatenate(plain).view(dtype)


def fill_non_finite(rows: NDArray[F]) -> NDArray[F]:
    """Rows of which those that are not finite are as the finite one before them. (n, k).

    Those before the first finite one are as that one; without any, all are 0.
    """
    finite = np.isfinite(rows).all(axis=1)
    if not finite.any():
        return np.zeros_like(rows)
    before = np.maximum.accumulate(np.where(finite, np.arange(len(rows)), -1))
    return rows[np.where(before < 0, int(np.argmax(finite)), before)]


def max_uses(rows: int) -> int:
    """How often a file may reach the rows of a table in all, before anything is made of them."""
    return max(USES_FLOOR, MAX_USES * rows)
