"""Registries, units and missions as bytes, by ``struct``: they share no code with the project."""

import struct
from collections.abc import Sequence

from msh_gltf.converter.formats.nres import Entry
from msh_gltf.converter.formats.nres_edits import name_field
from tests.support.game import archive

NONE = 0xFFFFFFFF
#: A row of a component: key, class, attachment, number of children.
Part = tuple[str, int, int, int]


def row(archive: str, member: str, leftovers: bytes = b"") -> bytes:
    return b"".join((text.encode("cp1251") + b"\0" + leftovers).ljust(32, b"\0")[:32] for text in (archive, member))


def registry(objects: dict[str, tuple[str, Sequence[tuple[str, str]]]]) -> bytes:
    """``objects.rlb``: key -> type and rows."""
    entries = []
    for key, (tag, rows) in objects.items():
        kind, payload = int.from_bytes(tag.encode(), "little"), b"".join(row(*r) for r in rows)
        name = name_field(key.encode("cp1251"))
        entries.append(Entry(kind, len(rows), 0, 0, name, 0, 0, payload))
    return archive(entries)


def component(key: str, part_class: int = 0, attach: int = -1, children: int = 0) -> bytes:
    """A record of a unit."""
    texts = [text.encode("cp1251").ljust(32, b"\0") for text in ("objects.rlb", key, f"the {key}")]
    numbers = struct.pack("<Ii", 1, attach)
    return texts[0] + texts[1] + numbers + texts[2] + struct.pack("<Ii", part_class, children)


def unit(parts: Sequence[Part], type: int = 0x4D70ECC2) -> bytes:
    records = [component(*part) for part in parts]
    return struct.pack("<2I", 0xF0F1, type) + b"".join(records)


def text(value: str | bytes) -> bytes:
    """A length and so many bytes."""
    raw = value.encode("cp1251") if isinstance(value, str) else value
    return struct.pack("<I", len(raw)) + raw


def clan(name: str, type: int = 1, zones: Sequence[Sequence[Sequence[float]]] = ()) -> bytes:
    """A clan; zones: groups of (x, y, z, inner, outer)."""
    out = text(name) + struct.pack("<i2fI", -1, 10.0, 20.0, type) + text("MISSIONS\\SCRIPTS\\a")
    out += struct.pack("<I", len(zones))
    for group in zones:
        out += struct.pack("<I", len(group)) + b"".join(struct.pack("<5f", *z) for z in group)
    out += text("MISSIONS\\SCRIPTS\\a.trf") + struct.pack("<I", 5)
    return out + struct.pack("<I", 1) + text(name) + struct.pack("<I", 1)


def placed(
    kind: int,
    path: str,
    *,
    version: int = 10,
    clan: int = 0,
    id: int = -1,
    place: Sequence[float] = (1.0, 2.0, 3.0),
    turn: float = 0.0,
    scale: float = 1.0,
    name: str = "",
    start: int = 0,
    host: tuple[int, int] = (-1, -1),
    properties: Sequence[tuple[int, float, str]] = (),
) -> bytes:
    """An object, as a version of the record has it."""
    out = struct.pack("<2I", kind, 0x80000002) + text(path)
    if version >= 3:
        out += struct.pack("<I", clan)
    if version >= 4:
        out += struct.pack("<i", id)
    out += struct.pack("<6f", *place, 0.0, 0.0, turn)
    if version >= 10:
        out += struct.pack("<3f", scale, scale, scale)
    if version >= 7:
        out += text(name)
    if version >= 8:
        out += struct.pack("<I", start)
    if version >= 9:
        out += struct.pack("<2i", *host)
    if version >= 6:
        out += struct.pack("<2I", 1, len(properties))
        for type, value, title in properties:
            out += struct.pack("<I", type)
            out += struct.pack("<3f" if type == 0 else "<3i", value, 0, 1) + text(title)
    return out


def mission(
    objects: Sequence[bytes] = (),
    *,
    version: int = 10,
    clans: Sequence[bytes] = (),
    routes: Sequence[tuple[int, Sequence[Sequence[float]]]] = (),
    lodes: Sequence[tuple[float, float, float, float]] = (),
    map: str = "DATA\\MAPS\\Tut_1\\Land",
    description: bytes = b"Hold the hill.",
) -> bytes:
    """A ``data.tma``."""
    out = struct.pack("<2I", 1, len(routes))
    for number, points in routes:
        out += struct.pack("<2I", number, len(points))
        out += b"".join(struct.pack("<3f", *point) for point in points)
    out += struct.pack("<2I", 6, len(clans)) + b"".join(clans)
    out += struct.pack("<2I", version, len(objects)) + b"".join(objects)
    out += text(map) + struct.pack("<I", 1) + text(description)
    out += struct.pack("<2I", 1, len(lodes))
    for x, y, z, amount in lodes:
        out += struct.pack("<3f2IfI", x, y, z, 0, 0x10001000, amount, 7)
    return out


def full_mission(version: int = 10) -> bytes:
    """A mission with something in every table."""
    clans = [clan("Nature", 0, [[(1, 2, 3, 4, 5)], [], [(5, 4, 3, 2, 1)] * 2]), clan("Игрок")]
    objects = [
        placed(
            0,
            "UNITS\\BUILDS\\base.dat",
            version=version,
            clan=1,
            id=100,
            name="Base",
            properties=[(1, 100, "LogicalID"), (0, 0.5, "MaxSpeedPercent")],
        ),
        placed(1, "units\\robot.DAT", version=version, clan=1, id=101, name="Герой", host=(100, 2)),
        placed(2, "s_tree", version=version, scale=1.5, turn=0.5),
        placed(3, "s_rock", version=version),
    ]
    return mission(
        objects,
        version=version,
        clans=clans,
        routes=[(7, [(0, 0, 0), (1, 1, 0)]), (8, [])],
        lodes=[(1.0, 2.0, 3.0, 5000.0)],
    )
