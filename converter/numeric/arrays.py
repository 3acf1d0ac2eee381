"""Provide small array operations, and limits for untrusted input."""

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
#: How often a row of a table may be used on average, and how far payloads may overlap: valid
#: files use each once. What is made of a file then stays a small multiple of its size.
MAX_USES = 16
#: How many uses of a table are allowed whatever its size.
USES_FLOOR = 1 << 20

F = TypeVar("F", np.float32, np.float64)
_YZX, _ZXY = [1, 2, 0], [2, 0, 1]


def field_offset(record: np.dtype[np.void], field: str) -> int:
    """Return where a field lies in a record, bytes."""
    assert record.fields is not None
    return int(record.fields[field][1])


def ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all ``start[i] .. start[i] + count[i]``, end to end. (n,), (n,) -> (sum,)."""
    first = np.repeat(start - (np.cumsum(count) - count), count)
    return np.asarray(first + np.arange(int(count.sum())), np.int64)


def covered(starts: NDArray[np.integer], counts: NDArray[np.integer], size: int) -> NDArray[np.bool_]:
    """Return which rows lie in any of some ranges. (n,), (n,) -> (size,) bool."""
    depth = np.zeros(size + 1, np.int64)
    begin = np.clip(starts.astype(np.int64), 0, size)
    end = np.clip(starts.astype(np.int64) + counts, 0, size)
    np.add.at(depth, begin, 1)
    np.add.at(depth, end, -1)
    return np.asarray(np.cumsum(depth)[:size] > 0)


def cross_products(corners: NDArray[F]) -> NDArray[F]:
    """Return ``(p1 - p0) x (p2 - p0)`` of triangles, twice their area long. (T, 3, 3) -> (T, 3).

    As ``np.cross``, which takes ten times as long on few.
    """
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    out: NDArray[F] = a[:, _YZX] * b[:, _ZXY] - a[:, _ZXY] * b[:, _YZX]
    return out


def concatenate_records(parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Concatenate records of one dtype: ``np.concatenate`` promotes every field of every part."""
    dtype = parts[0].dtype
    plain = [np.ascontiguousarray(part).view(f"V{dtype.itemsize}") for part in parts]
    return np.concatenate(plain).view(dtype)


def fill_non_finite(rows: NDArray[F]) -> NDArray[F]:
    """Replace each row that is not finite by the finite one before it. (n, k).

    Those before the first finite one are as that one; without any, all are 0.
    """
    finite = np.isfinite(rows).all(axis=1)
    if not finite.any():
        return np.zeros_like(rows)
    before = np.maximum.accumulate(np.where(finite, np.arange(len(rows)), -1))
    return rows[np.where(before < 0, int(np.argmax(finite)), before)]


def max_uses(rows: int) -> int:
    """Return how often a file may use the rows of a table in all, before anything is made of it."""
    return max(USES_FLOOR, MAX_USES * rows)


def beyond(words: NDArray[np.uint16], rows: int) -> NDArray[np.bool_]:
    """Return which indices, ``NONE16`` aside, are past ``rows`` rows. Same shape."""
    return np.asarray(words + np.uint16(1) > rows)  # NONE16 becomes 0


def largest_known(words: NDArray[np.uint16]) -> int:
    """Return the largest index, ``NONE16`` aside; -1 where there is none."""
    return int(words[words != NONE16].max(initial=0)) if (words != NONE16).any() else -1
