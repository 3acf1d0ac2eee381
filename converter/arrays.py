"""Small array operations that several formats need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """``start[i] .. start[i] + count[i]`` for every ``i``, end to end. (n,), (n,) -> (sum,)."""
    first = np.repeat(start - (np.cumsum(count) - count), count)
    return np.asarray(first + np.arange(int(count.sum())), np.int64)


def covered(starts: NDArray[Any], counts: NDArray[Any], size: int) -> NDArray[np.bool_]:
    """Which rows lie in any of some ranges. -> (size,)."""
    depth = np.zeros(size + 1, np.int64)
    begin = np.clip(starts.astype(np.int64), 0, size)
    end = np.clip(starts.astype(np.int64) + counts, 0, size)
    np.add.at(depth, begin, 1)
    np.add.at(depth, end, -1)
    return np.asarray(np.cumsum(depth)[:size] > 0)
