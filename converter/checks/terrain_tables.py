"""The tables of a terrain: entries, lengths, vertices, the header."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, about_table, first_bad
from ..formats.tables import HEADER_DTYPE
from ..formats.terrain import MOST_FACES, MOST_VERTICES, TERRAIN_TABLES, TERRAIN_TABLES_RULE, Terrain, TerrainStream
from ..numeric.arrays import field_offset
from ..scene.scene import MAX_COORDINATE, in_range
from .places import DIRECTORY, in_directory, in_table

_rule = partial(Rule, "terrain", source="docs/reference/terrain.md#res2-the-whole-box")

_T = TerrainStream
#: The order of the tables in the game's files (docs/reference/terrain.md#the-tables).
_ORDER = [1, 2, 3, 4, 5, 18, 14, 11, 21]


def check_tables(terrain: Terrain) -> Iterator[Finding]:
    """Yield tables of a wrong length, and vertices that are not finite."""
    yield from _vertex_tables(terrain)
    yield from _limits(terrain)
    yield from _finite(terrain)
    yield from _blend(terrain)
    yield from _box(terrain)


TERRAIN_ORDER = _rule(
    "terrain-order",
    "note",
    "Tables come in the order 1, 2, 3, 4, 5, 18, 14, 11, 21.",
    source="docs/reference/terrain.md#the-tables",
    why="Order means nothing; all files of the game keep it.",
    fix="Nothing to do.",
)


TERRAIN_TWICE = _rule(
    "terrain-twice",
    "warning",
    "A type occurs once.",
    source="docs/reference/nres.md#a-row-of-the-directory",
    why="The game takes the first.",
    fix="Remove the one that is not wanted.",
)


TERRAIN_ATTR1 = _rule(
    "terrain-attr1",
    "warning",
    "attr1 of Res1, Res3, Res11 and Res21 is the number of records.",
    source="docs/reference/terrain.md#the-tables",
    why="The game may read the count from here instead of from the size.",
    fix="Correct attr1.",
)
TERRAIN_ATTR3 = _rule(
    "terrain-attr3",
    "warning",
    "attr3 of Res2 and Res21 is the size of a record, 68 and 28.",
    source="docs/reference/terrain.md#the-tables",
    why="The game may step through the table with it.",
    fix="Correct attr3.",
)


def _attributes(terrain: Terrain) -> Iterator[Finding]:
    """Attributes of the first entry of each type but attr1 of Res2 (``terrain-slot-count``)."""
    archive = terrain.archive
    attr1, attr3 = (in_directory(archive, field).offset for field in ("attr1", "attr3"))
    rows = {entry.type_id: row for row, entry in reversed([*enumerate(archive.entries)])}
    for stream in (_T.SQUARES, _T.POSITIONS, _T.DRAW_ORDER, _T.FACES):
        if stream in rows and stream in terrain.streams:
            row, count = rows[stream], len(terrain.streams[stream])
            if (found := archive.entries[row].attr1) != count:
                problem = f"attr1 of {terrain.label_of(stream)} is not its count"
                yield Finding(TERRAIN_ATTR1, problem, DIRECTORY, row, attr1(row), found, count)
    for stream in (_T.SLOTS, _T.FACES):
        if stream in rows:
            row, stride = rows[stream], TERRAIN_TABLES[stream].attr3
            if (found := archive.entries[row].attr3) != stride:
                problem = f"attr3 of {terrain.label_of(stream)} is not the size of a record"
                yield Finding(TERRAIN_ATTR3, problem, DIRECTORY, row, attr3(row), found, stride)


def check_entries(terrain: Terrain) -> Iterator[Finding]:
    """Yield duplicate tables, tables in an unusual order, attributes that do not fit."""
    yield from _attributes(terrain)
    types = [entry.type_id for entry in terrain.archive.entries]
    first = list(dict.fromkeys(types))
    if len(first) != len(types):
        row = next(i for i, type_id in enumerate(types) if type_id in types[:i])
        yield Finding(
            TERRAIN_TWICE,
            "second entry of a type; the first one counts",
            DIRECTORY,
            row,
            value=types[row],
            count=len(types) - len(first),
        )
    known = [type_id for type_id in _ORDER if type_id in first]
    if [type_id for type_id in first if type_id in _ORDER] != known:
        problem = "tables are in another order"
        yield Finding(TERRAIN_ORDER, problem, DIRECTORY, value=first, expected=known)


TERRAIN_VERTEX_COUNT = _rule(
    "terrain-vertex-count",
    "error",
    "Every vertex stream has one record per vertex.",
    source="docs/reference/terrain.md#the-tables",
    why="The runtime indexes all streams with one number.",
    fix="Take the file from a backup.",
    drops="what is too much or missing: zeros, normals that point up",
)


def _vertex_tables(terrain: Terrain) -> Iterator[Finding]:
    count = len(terrain.positions)
    if not count and any(len(terrain.streams[s]) for s in (_T.NORMALS, _T.UV0)):
        place = in_table(terrain, _T.POSITIONS)
        yield about_table(TERRAIN_TABLES_RULE, "terrain has no positions", place, 0)
        return
    for stream, table in terrain.streams.items():
        if TERRAIN_TABLES[stream].per_vertex and len(table) != count:
            yield about_table(
                TERRAIN_VERTEX_COUNT, "not one row per vertex", in_table(terrain, stream), len(table), count
            )


TERRAIN_LIMITS = _rule(
    "terrain-limits",
    "error",
    "A terrain has at most 65,535 vertices.",
    source="docs/reference/terrain.md#what-the-writer-does",
    why="A face names vertices with 16 bits, and 0xFFFF is none.",
    fix="Simplify it.",
)
TERRAIN_FACES = _rule(
    "terrain-faces",
    "warning",
    "A terrain has at most 32,767 faces.",
    source="docs/reference/terrain.md#what-the-writer-does",
    why="No file of the game has more.",
    fix="Simplify it.",
)


def _limits(terrain: Terrain) -> Iterator[Finding]:
    vertices, faces = len(terrain.positions), len(terrain.faces)
    if vertices > MOST_VERTICES:
        yield about_table(
            TERRAIN_LIMITS,
            "more vertices than faces can name",
            in_table(terrain, _T.POSITIONS),
            vertices,
            f"at most {MOST_VERTICES}",
        )
    if faces > MOST_FACES:
        yield about_table(
            TERRAIN_FACES,
            "more faces than the game's files have",
            in_table(terrain, _T.FACES),
            faces,
            f"at most {MOST_FACES}",
        )


TERRAIN_FINITE = _rule(
    "terrain-finite",
    "error",
    "Positions are finite numbers of at most 1e12.",
    source="docs/reference/conventions.md#divisors",
    why="glTF cannot hold infinity or NaN.",
    fix="Move the vertex in the tool that wrote it.",
    drops="the faces of the vertex",
)


def _finite(terrain: Terrain) -> Iterator[Finding]:
    yield from first_bad(
        TERRAIN_FINITE,
        ~in_range(terrain.positions),
        "position is not finite, or too large",
        in_table(terrain, _T.POSITIONS),
        terrain.positions,
        f"at most {MAX_COORDINATE:g}",
    )


TERRAIN_BLEND_FINITE = _rule(
    "terrain-blend-finite",
    "error",
    "Blend values are finite numbers.",
    source="docs/reference/terrain.md#res14-blend",
    why="glTF cannot hold infinity or NaN.",
    fix="Paint the place again.",
    drops="the blend: 1 is taken",
)
TERRAIN_BLEND = _rule(
    "terrain-blend",
    "warning",
    "Blend values lie in 0..1.",
    source="docs/reference/terrain.md#res14-blend",
    why="It is an alpha.",
    fix="Paint the place again.",
)


def _blend(terrain: Terrain) -> Iterator[Finding]:
    if (blend := terrain.blend) is None:
        return
    place, finite = in_table(terrain, _T.BLEND), np.isfinite(blend)
    yield from first_bad(TERRAIN_BLEND_FINITE, ~finite, "blend is not finite", place, blend)
    outside = finite & ((blend < 0) | (blend > 1))
    yield from first_bad(TERRAIN_BLEND, outside, "blend is not between 0 and 1", place, blend)


TERRAIN_BOX = _rule(
    "terrain-box",
    "error",
    "The header's box is finite.",
    why="Its corner is the grid's origin: no square can be found.",
    fix="Take the file from a backup.",
)


def _box(terrain: Terrain) -> Iterator[Finding]:
    if not np.isfinite(terrain.header["hull"]).all():
        place = in_table(terrain, _T.SLOTS)
        yield about_table(TERRAIN_BOX, "the whole box is not finite", place)


TERRAIN_CORNER = _rule(
    "terrain-corner",
    "note",
    "Corner 0 of the header is the lowest in x and y: the grid's origin.",
    why="Squares are counted from here.",
    fix="Take the file from a backup.",
)
TERRAIN_OPAQUE = _rule(
    "terrain-opaque",
    "note",
    "The bytes after the header's corners, and the unknown bytes of slots, are zero.",
    why="They mean nothing that is known, and are kept.",
    fix="Nothing to do.",
)


def check_header(terrain: Terrain) -> Iterator[Finding]:
    """Yield unusual corners, and unknown bytes that are not zero."""
    slots, hull = terrain.slots, terrain.header["hull"][0]
    table = terrain.label_of(_T.SLOTS)
    start = (terrain.offset_of(_T.SLOTS) or 0) - HEADER_DTYPE.itemsize
    if (hull[0, :2] != hull[:, :2].min(axis=0)).any():
        yield Finding(
            TERRAIN_CORNER,
            "corner 0 is not the grid's origin",
            table=table,
            offset=start,
            value=hull[0].tolist(),
            expected=hull.min(axis=0).tolist(),
        )
    within = field_offset(HEADER_DTYPE, "sphere_center")
    if terrain.header.tobytes()[within:].strip(b"\0"):
        problem = "bytes after the header's corners are not zero"
        yield Finding(TERRAIN_OPAQUE, problem, table, None, start + within)
    unknown = np.zeros(len(slots), np.bool_)
    for key in ("batch_start", "batch_count", "area", "volume", "opaque56", "opaque60", "opaque64"):
        unknown |= slots[key] != 0
    yield from first_bad(
        TERRAIN_OPAQUE, unknown, "slot's unknown bytes are not zero", in_table(terrain, _T.SLOTS, "batch_start")
    )
