"""Numbers and names that glTF 2.0 defines, for its reader and its writer."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

#: An object of a document.
Json = dict[str, Any]


class ComponentType(IntEnum):
    """Type of an accessor's numbers (3.6.2.2)."""

    BYTE = 5120
    UNSIGNED_BYTE = 5121
    SHORT = 5122
    UNSIGNED_SHORT = 5123
    UNSIGNED_INT = 5125
    FLOAT = 5126


class Mode(IntEnum):
    """What a primitive draws (3.7.2.1)."""

    POINTS = 0
    LINES = 1
    LINE_LOOP = 2
    LINE_STRIP = 3
    TRIANGLES = 4
    TRIANGLE_STRIP = 5
    TRIANGLE_FAN = 6


class Target(IntEnum):
    """What a buffer view is used for (5.11.5)."""

    ARRAY_BUFFER = 34962
    ELEMENT_ARRAY_BUFFER = 34963


#: NumPy's name of a component type; the bytes are little-endian (3.6.1.1).
DTYPES: dict[int, str] = {
    ComponentType.BYTE: "<i1",
    ComponentType.UNSIGNED_BYTE: "<u1",
    ComponentType.SHORT: "<i2",
    ComponentType.UNSIGNED_SHORT: "<u2",
    ComponentType.UNSIGNED_INT: "<u4",
    ComponentType.FLOAT: "<f4",
}
#: How many numbers an element has (3.6.2.3); of one width, the last is what the writer calls it.
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "MAT2": 4, "VEC4": 4, "MAT3": 9, "MAT4": 16}
#: How a texture continues beyond its edge (5.26): it repeats.
REPEAT = 10497
#: The largest uint16 index starts a new primitive, so it names no vertex (3.7.2.1).
RESTART16 = 0xFFFF
