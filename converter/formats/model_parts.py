"""``.bas`` and ``.ndp``: small files of a model's name that point into the model.

A ``.bas`` holds two rings around a building, its outline and what is kept clear around it; a
``.ndp`` a record for each node (docs/reference/model_parts.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, plural
from ..findings import Finding, Rules
from ..numeric.arrays import F32, Records

_rule = Rules("footings, node properties", "docs/reference/model_parts.md")

#: Endings of the files.
FOOTING_ENDING, NODE_PROPERTIES_ENDING = ".bas", ".ndp"
#: Types of their entries, where an archive has none of that name.
FOOTING_TYPE, NODE_PROPERTIES_TYPE = (int.from_bytes(code, "little") for code in (b"BASE", b"NDPR"))
#: What messages call them.
FOOTING, NODE_PROPERTIES = "BAS", "NDP"

NODE_PROPERTIES_DTYPE = np.dtype(
    [
        ("flags", "<u4"),  # +0
        ("hit_points", "<f4"),  # +4
        ("density", "<f4"),  # +8
        ("archive", "u1", (32,)),  # +12 of the explosion
        ("explosion", "u1", (32,)),  # +44
    ]
)
assert NODE_PROPERTIES_DTYPE.itemsize == 76

FOOTING_SIZE = _rule("footing-size", "warning", "A .bas is two closed rings, the first with places on the model.")(
    why="The game reads past the file.", fix="Take the file from the game again."
)
NODE_PROPERTIES_SIZE = _rule("ndp-size", "warning", "A .ndp is its count and a record of 76 bytes for each.")(
    why="The game reads past the file.", fix="Take the file from the game again."
)
NODE_PROPERTIES_COUNT = _rule("ndp-count", "warning", "A .ndp has a record for each node of the model.")(
    why="Nodes without one have no hit points, or those of another node.", fix="Add the missing records."
)


@dataclass(frozen=True)
class Footing:
    """The rings of a ``.bas``.

    Attributes:
        words: the word before each ring, 1 in the game's files. (2,)
        inner: the outline, (n + 1, 3) float32, the last point is the first again.
        triangles, corners: (n,) int32: where on the model each point was taken.
        outer: the clearance, (m + 1, 3) float32, closed too.
    """

    words: tuple[int, int]
    inner: F32
    triangles: NDArray[np.int32]
    corners: NDArray[np.int32]
    outer: F32


def other_count(records: Records, nodes: int) -> Finding:
    """Return the finding about a ``.ndp`` of another number of nodes than its model."""
    return Finding(
        NODE_PROPERTIES_COUNT,
        "records are not as many as the model's nodes",
        NODE_PROPERTIES,
        value=len(records),
        expected=nodes,
    )


def read_footing(data: memoryview | bytes, label: str) -> Footing:
    """The rings of a ``.bas``; arrays are views of ``data``.

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


def _ring(view: memoryview, at: int, label: str) -> tuple[int, F32, int]:
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


def write_footing(footing: Footing) -> bytes:
    """Return the bytes of a ``.bas`` (docs/reference/model_parts.md)."""
    places = footing.triangles.tobytes() + footing.corners.tobytes()
    first, second = footing.words
    return _ring_bytes(first, footing.inner) + places + _ring_bytes(second, footing.outer)


def _ring_bytes(word: int, points: F32) -> bytes:
    return np.array([word, len(points) - 1], "<i4").tobytes() + points.tobytes()


def write_node_properties(records: Records) -> bytes:
    """Return the bytes of a ``.ndp`` (docs/reference/model_parts.md)."""
    return len(records).to_bytes(4, "little") + records.tobytes()
