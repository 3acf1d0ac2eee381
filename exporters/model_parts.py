"""The data of :mod:`converter.formats.model_parts` to ``.bas`` and ``.ndp`` bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.model_parts import Footing
from ..converter.numeric.arrays import Records


def write_footing(footing: Footing) -> bytes:
    """Return the bytes of a ``.bas`` (docs/reference/model_parts.md)."""
    places = footing.triangles.tobytes() + footing.corners.tobytes()
    first, second = footing.words
    return _ring(first, footing.inner) + places + _ring(second, footing.outer)


def _ring(word: int, points: NDArray[np.float32]) -> bytes:
    return np.array([word, len(points) - 1], "<i4").tobytes() + points.tobytes()


def write_node_properties(records: Records) -> bytes:
    """Return the bytes of a ``.ndp`` (docs/reference/model_parts.md)."""
    return len(records).to_bytes(4, "little") + records.tobytes()
