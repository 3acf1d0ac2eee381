"""Small array operations that several formats need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """``start[i] .. start[i] + count[i]`` for every ``i``, end to end. (n,), (n,) -> (sum,)."""
    first = np.repeat(start - (np.cumsum(count) - count), count)
    return np.asarray(first + np.arange(int(count.sum())), np.int64)
