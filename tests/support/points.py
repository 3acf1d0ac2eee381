"""Control points as the game's files have them; the corpus has random bytes in their place."""

from __future__ import annotations

import struct

Point = tuple[str, int, tuple[float, float, float], tuple[float, float, float]]


def cpt(points: list[Point]) -> bytes:
    """The bytes of a ``.cpt``: name, node, position and direction of each point."""
    head = struct.pack("<I", len(points))
    records = [struct.pack("<Iii6f", 0, p[1], p[1], *p[2], *p[3]) for p in points]
    return b"".join([head, *records, *(p[0].encode("cp1251").ljust(32, b"\0") for p in points)])
