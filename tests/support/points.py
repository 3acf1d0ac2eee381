"""Control points as the game's files have them; the corpus has random bytes in their place."""

import struct

from msh_gltf.converter.formats.model_parts import read_points

Point = tuple[str, int, tuple[float, float, float], tuple[float, float, float]]
CTPT = int.from_bytes(b"CTPT", "little")
#: Of the model retail__system__R_H_002.
POINTS: list[Point] = [
    ("CameraCenter", 2, (0.0, 0.0, 0.876), (0.0, 1.0, 0.0)),
    ("Dir_1", 0, (1.5, -2.25, 3.0), (0.0, 4.849, 0.0)),
    ("Свет", 3, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    ("gone", 3, (0.5, 0.25, -0.125), (0.0, 0.0, 0.42)),
]


def cpt(points: list[Point]) -> bytes:
    """The bytes of a ``.cpt``: name, node, position and direction of each point."""
    head = struct.pack("<I", len(points))
    records = [struct.pack("<Iii6f", 0, p[1], p[1], *p[2], *p[3]) for p in points]
    return b"".join([head, *records, *(p[0].encode("cp1251").ljust(32, b"\0") for p in points)])


def rows(data: bytes) -> list[str]:
    """What stands in the rows of a ``.cpt``."""
    found, out = read_points(data, "x"), []
    for i, row in enumerate(found.records):
        place, to = (row[key].astype(float).round(3).tolist() for key in ("position", "direction"))
        rest = f"{int(row['opaque0']):#x}, {bytes(found.names[i]['name'])[20:].hex()}"
        out.append(f"{found.name(i)!r} {int(row['node'])}/{int(row['second'])} at {place} to {to}, {rest}")
    return out
