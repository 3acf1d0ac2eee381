"""``.bas`` and ``.ndp`` bytes to the data of :mod:`converter.formats.model_parts`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, plural
from ..converter.formats.model_parts import (
    FOOTING,
    FOOTING_SIZE,
    NODE_PROPERTIES,
    NODE_PROPERTIES_DTYPE,
    NODE_PROPERTIES_SIZE,
    Footing,
)
from ..converter.numeric.arrays import Records


def read_footing(data: memoryview | bytes, label: str) -> Footing:
    """The rings of a ``.bas``; arrays are views of ``data``.

    Args:
        data: the file.
        label: what messages call it.

    Raises:
        ConversionError: a ring is cut off, or bytes are left over.
    """
    view = memoryview(data)
    first, inner, at = _ring(view, 0, label)
    count = len(inner) - 1
    if 8 * count > len(view) - at:
        raise _bad(label, at, plural(len(view) - at, "byte"), f"{8 * count} of places")
    triangles = np.frombuffer(view[at : at + 4 * count], "<i4")
    corners = np.frombuffer(view[at + 4 * count : at + 8 * count], "<i4")
    second, outer, at = _ring(view, at + 8 * count, label)
    if at != len(view):
        raise _bad(label, at, plural(len(view) - at, "byte"), "the end of the file")
    return Footing((first, second), inner, triangles, corners, outer)


def _ring(view: memoryview, at: int, label: str) -> tuple[int, NDArray[np.float32], int]:
    """A word, a closed ring of points, and where it ends."""
    if len(view) - at < 8:
        raise _bad(label, at, plural(len(view) - at, "byte"), "a ring")
    word, count = np.frombuffer(view[at : at + 8], "<i4").tolist()
    most = (len(view) - at - 8) // 12 - 1
    if not 0 <= count <= most:
        raise _bad(label, at + 4, f"{count} points", f"0..{most}")
    end = at + 8 + 12 * (count + 1)
    return word, np.frombuffer(view[at + 8 : end], "<f4").reshape(-1, 3), end


def _bad(label: str, offset: int, value: object, expected: object) -> ConversionError:
    return ConversionError(
        "ring does not fit its file",
        file=label,
        table=FOOTING,
        offset=offset,
        value=value,
        expected=expected,
        code=FOOTING_SIZE.code,
    )


def read_node_properties(data: memoryview | bytes, label: str) -> Records:
    """The records of a ``.ndp``, ``NODE_PROPERTIES_DTYPE``, a view of ``data``.

    Args:
        data: the file.
        label: what messages call it.

    Raises:
        ConversionError: its size is not that of its count.
    """
    view = memoryview(data)
    count = int.from_bytes(view[:4], "little")
    size = 4 + count * NODE_PROPERTIES_DTYPE.itemsize
    if len(view) != size:
        raise ConversionError(
            f"size does not fit its count of {count} nodes",
            file=label,
            table=NODE_PROPERTIES,
            offset=0,
            value=plural(len(view), "byte"),
            expected=size,
            code=NODE_PROPERTIES_SIZE.code,
        )
    return np.frombuffer(view[4:], NODE_PROPERTIES_DTYPE)
