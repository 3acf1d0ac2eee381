"""Every record as one NumPy dtype, and the tables of models and terrains: what knows offsets.

All numbers are little-endian. Every byte of every record has a name, because NumPy drops the
bytes of unnamed gaps when it copies. Fields of unknown meaning are named by their offset.

The meaning of every field, and how it is known: docs/reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np


def field_offset(record: np.dtype[np.void], field: str) -> int:
    """Return where a field lies in a record, bytes."""
    assert record.fields is not None
    return int(record.fields[field][1])


#: "No lightmap": the high byte of a retail batch's material word.
NO_LIGHTMAP = 0xFF
LOD_COUNT = 3
GROUP_COUNT = 5

# ------------------------------------------------------------------ NRes, the container

NRES_MAGIC = b"NRes"
NRES_VERSION = 0x100
NAME_SIZE = 36

NRES_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V4"),  # +0   "NRes"
        ("version", "<u4"),  # +4   0x100
        ("entry_count", "<i4"),  # +8
        ("total_size", "<u4"),  # +12  the file's length
    ]
)
assert NRES_HEADER_DTYPE.itemsize == 16

NRES_ENTRY_DTYPE = np.dtype(
    [
        ("type_id", "<u4"),  # +0   a FourCC in archives, a small integer in a model
        ("attr1", "<u4"),  # +4   mostly a count
        ("attr2", "<u4"),  # +8
        ("size", "<u4"),  # +12  of the payload, bytes
        ("attr3", "<u4"),  # +16  mostly a stride
        ("name", "u1", (NAME_SIZE,)),  # +20  NUL-terminated; the tail after the NUL is kept
        ("data_offset", "<u4"),  # +56
        ("sort_index", "<u4"),  # +60  sorted position -> directory index
    ]
)
assert NRES_ENTRY_DTYPE.itemsize == 64


# ------------------------------------------------------------------ tables of a core model


class StreamType(IntEnum):
    """The type ids of the tables of a core model (decimal)."""

    NODES = 1
    SLOTS = 2
    POSITIONS = 3
    NORMALS = 4
    UV0 = 5
    INDICES = 6
    TRIANGLES = 7
    KEYS = 8
    NAMES = 9
    STRINGS = 10
    BATCHES = 13
    STREAM15 = 15
    TANGENTS = 16
    GRAPH = 17
    VERTEX_EXTRA = 18
    FRAME_MAP = 19
    TABLE20 = 20


NODE_DTYPE = np.dtype(
    [
        ("flags", "<u2"),  # +0  hdr0
        ("parent", "<u2"),  # +2  hdr1, 0xFFFF = root
        ("map_start", "<u2"),  # +4  hdr2, first word in Res19, 0xFFFF = no map
        ("fallback_key", "<u2"),  # +6  hdr3, index into Res8
        ("slot_index", "<u2", (LOD_COUNT, GROUP_COUNT)),  # +8  0xFFFF = no slot
    ]
)
assert NODE_DTYPE.itemsize == 38

#: The outlier (MTCHECK.MSH): no reader is known, so its words have no meaning here.
LEGACY_NODE_DTYPE = np.dtype([("words", "<u2", (12,))])  # +0
assert LEGACY_NODE_DTYPE.itemsize == 24

HEADER_DTYPE = np.dtype(
    [
        ("hull", "<f4", (8, 3)),  # +0    box corners in posed model space
        ("sphere_center", "<f4", (3,)),  # +96
        ("sphere_radius", "<f4"),  # +108
        ("cylinder_a", "<f4", (3,)),  # +112
        ("cylinder_b", "<f4", (3,)),  # +124
        ("cylinder_radius", "<f4"),  # +136
    ]
)
assert HEADER_DTYPE.itemsize == 0x8C

SLOT_DTYPE = np.dtype(
    [
        ("tri_start", "<u2"),  # +0   first row in Res7
        ("tri_count", "<u2"),  # +2
        ("batch_start", "<u2"),  # +4   first row in Res13
        ("batch_count", "<u2"),  # +6
        ("aabb_min", "<f4", (3,)),  # +8   node-local
        ("aabb_max", "<f4", (3,)),  # +20
        ("sphere_center", "<f4", (3,)),  # +32
        ("sphere_radius", "<f4"),  # +44
        ("area", "<f4"),  # +48  unk30: surface area of the slot's triangles
        ("volume", "<f4"),  # +52  unk34: volume of the AABB
        ("opaque56", "<u4"),  # +56  unk38
        ("opaque60", "<u4"),  # +60  unk3C
        ("opaque64", "<u4"),  # +64  unk40
    ]
)
assert SLOT_DTYPE.itemsize == 68

TRIANGLE_DTYPE = np.dtype(
    [
        ("tri_flags", "<u2"),  # +0
        ("link", "<u2", (3,)),  # +2   linkTri0..2, neighbour across edge k, 0xFFFF = none
        ("normal", "<i2", (3,)),  # +8   / 32767
        ("selectors", "<u2"),  # +14  selPacked: 2 bits an edge, 3 = none
    ]
)
assert TRIANGLE_DTYPE.itemsize == 16

KEY_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),  # +0
        ("time", "<f4"),  # +12  frames
        ("quaternion", "<i2", (4,)),  # +16  / 32767; the order is the dialect's
    ]
)
assert KEY_DTYPE.itemsize == 24

BATCH_DTYPE = np.dtype(
    [
        ("word0", "<u2"),  # +0   batchFlags; retail: low half of u32 flags
        ("word2", "<u2"),  # +2   spec: material row; retail: high half of the flags
        ("word4", "<u2"),  # +4   retail: material row | lightmap row << 8
        ("word6", "<u2"),  # +6   retail: node behind a portal, else 0xFFFF
        ("index_count", "<u2"),  # +8
        ("index_start", "<u4"),  # +10  in Res6 elements
        ("window", "<u2"),  # +14  unk14: largest relative index + 1
        ("base_vertex", "<u4"),  # +16
    ]
)
assert BATCH_DTYPE.itemsize == 20

GRAPH_POINT_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),  # +0   in the frame of the node
        ("flags", "<u4"),  # +12
        ("node", "<u4"),  # +16
    ]
)
assert GRAPH_POINT_DTYPE.itemsize == 20

GRAPH_LINK_DTYPE = np.dtype(
    [
        ("start", "<u4"),  # +0
        ("end", "<u4"),  # +4
        ("opaque8", "<u4", (8,)),  # +8   mostly 0xFFFFFFFF
    ]
)
assert GRAPH_LINK_DTYPE.itemsize == 40

NAME_DTYPE = np.dtype([("name", "u1", (32,))])  # +0  NUL-padded

POINT_DTYPE = np.dtype(  # of a .cpt, see converter.formats.control_points
    [
        ("opaque0", "<u4"),  # +0   0
        ("node", "<i4"),  # +4   the node that it is on
        ("second", "<i4"),  # +8   mostly the same node, else unknown
        ("position", "<f4", (3,)),  # +12  in that node's frame
        ("direction", "<f4", (3,)),  # +24  its length is a size of its own
    ]
)
assert POINT_DTYPE.itemsize == 36
TANGENT_DTYPE = np.dtype([("tangent", "i1", (4,)), ("bitangent", "i1", (4,))])  # +0, +4
assert TANGENT_DTYPE.itemsize == 8


# ------------------------------------------------------------------ areal map (Land.map, type 12)

AREAL_DTYPE = np.dtype(
    [
        ("anchor", "<f4", (3,)),  # +0
        ("opaque12", "<f4"),  # +12  0 in the game's files
        ("area", "<f4"),  # +16  area of the polygon seen from above
        ("normal", "<f4", (3,)),  # +20  unit
        ("logic", "<u4"),  # +32  0, 1 = walkable
        ("opaque36", "<u4"),  # +36  0 in the game's files
        ("class_id", "<u4"),  # +40  240, 242 = lake, else 1..29
        ("opaque44", "<u4"),  # +44  0 in the game's files
        ("vertex_count", "<u4"),  # +48
        ("poly_count", "<u4"),  # +52  0 in the game's files
    ]
)
assert AREAL_DTYPE.itemsize == 56

#: x, y, z of a vertex, map units.
AREAL_VERTEX_DTYPE = np.dtype(("<f4", (3,)))

AREAL_LINK_DTYPE = np.dtype(
    [
        ("areal", "<i4"),  # +0   the areal across the edge, -1 = none
        ("edge", "<i4"),  # +4   the same edge's index there, -1 = none
    ]
)
assert AREAL_LINK_DTYPE.itemsize == 8

#: A runtime cell word: this many bits for the count, the rest for the one-based start.
AREAL_CELL_COUNT_BITS = 10
AREAL_CELL_START_BITS = 22


# ------------------------------------------------------------------ terrain (Land.msh)


class TerrainStream(IntEnum):
    """The type ids of the tables of a terrain (decimal)."""

    SQUARES = 1
    SLOTS = 2
    POSITIONS = 3
    NORMALS = 4
    UV0 = 5
    DRAW_ORDER = 11
    BLEND = 14
    MICRO_UV = 18
    FACES = 21


FACE_DTYPE = np.dtype(
    [
        ("flags", "<u4"),  # +0   see converter.numeric.face_flags
        ("first", "u1"),  # +4   materialId: row of Land1.wea
        ("second", "u1"),  # +5   auxByte: row of Land1.wea laid over it, 0xFF = none
        ("opaque6", "<u2"),  # +6
        ("vertex", "<u2", (3,)),  # +8   i0..i2
        ("link", "<u2", (3,)),  # +14  n0..n2, neighbour across edge k, 0xFFFF = none
        ("normal", "<i2", (3,)),  # +20  / 32767
        ("selectors", "u1"),  # +26  edgeClass: 2 bits an edge, 3 = none
        ("opaque27", "u1"),  # +27
    ]
)
assert FACE_DTYPE.itemsize == 28

DRAW_DTYPE = np.dtype(
    [
        ("face", "<u2"),  # +0
        ("flags", "u1"),  # +2   0x48, and 0x10 on the first of a group
        ("opaque3", "u1"),  # +3
    ]
)
assert DRAW_DTYPE.itemsize == 4


# ------------------------------------------------------------------ materials (MAT0) and textures

MATERIAL_HEADER_DTYPE = np.dtype(
    [
        ("phase_count", "<u2"),  # +0
        ("track_count", "<u2"),  # +2
        ("surface", "u1"),  # +4   surface id
        ("opaque5", "u1"),  # +5
        ("opaque6", "<f4"),  # +6
        ("opaque10", "<u4"),  # +10
    ]
)
assert MATERIAL_HEADER_DTYPE.itemsize == 14

PHASE_DTYPE = np.dtype(
    [
        ("ambient", "u1", (4,)),  # +0   rgb is the self-light; +3 the alpha drawn, per cent
        ("diffuse", "u1", (4,)),  # +4   rgba
        ("specular", "u1", (4,)),  # +8   rgba
        ("emissive", "u1", (4,)),  # +12  rgba, never read by the game
        ("power", "u1"),  # +16
        ("cell", "i1"),  # +17  rectangle of the texture's Page, -1 = the whole texture
        ("texture", "u1", (16,)),  # +18  NUL-padded; no NUL where all 16 bytes are used
    ]
)
assert PHASE_DTYPE.itemsize == 34

MATERIAL_TRACK_DTYPE = np.dtype(
    [
        ("word", "<u4"),  # +0   mode in bits 0-2, lerp mask above
        ("key_count", "<u2"),  # +4
    ]
)
assert MATERIAL_TRACK_DTYPE.itemsize == 6

MATERIAL_KEY_DTYPE = np.dtype(
    [
        ("phase", "<u2"),  # +0   the entry: row of the phases
        ("end", "<u2"),  # +2   milliseconds
        ("opaque4", "<u2"),  # +4   0
    ]
)
assert MATERIAL_KEY_DTYPE.itemsize == 6

TEXM_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V4"),  # +0   "Texm"
        ("width", "<u4"),  # +4
        ("height", "<u4"),  # +8
        ("mips", "<u4"),  # +12  levels, the full size included
        ("word16", "<u4"),  # +16  32 with more than one level, else 0
        ("flags", "<u4"),  # +20
        ("opaque24", "<u4"),  # +24
        ("format", "<u4"),  # +28  0, 565, 556, 4444, 88, 888, 8888
    ]
)
assert TEXM_HEADER_DTYPE.itemsize == 32

PAGE_DTYPE = np.dtype(
    [
        ("x", "<u2"),  # +0   pixels
        ("width", "<u2"),  # +2
        ("y", "<u2"),  # +4
        ("height", "<u2"),  # +6
    ]
)
assert PAGE_DTYPE.itemsize == 8


class Presence(IntEnum):
    """How the game's loader takes a missing table (docs/reference/model.md, terrain.md)."""

    REQUIRED = 0
    USUAL = 1  # the source says "usually required": models without it exist
    STATIC_OPTIONAL = 2  # may be absent in static models
    OPTIONAL = 3
    NOT_LOADED = 4  # in the file, read by other parts of the game


@dataclass(frozen=True)
class TableSpec:
    """One table of a core model or a terrain: its records and what its directory entry says.

    Attributes:
        stream: the type id.
        title: what messages call it.
        dtype: the record; ``None`` for tables of variable records (Res10, 17, 20).
        presence: whether a file may lack it.
        attr3: the value of the directory's ``attr3``, mostly the stride.
        per_vertex: one record per vertex.
        header: a record of its own in front of the others, or ``None``.
        legacy: the record of files whose ``attr3`` is its size, or ``None``.
    """

    stream: StreamType | TerrainStream
    title: str
    dtype: np.dtype[np.generic] | None
    presence: Presence
    attr3: int
    per_vertex: bool = False
    header: np.dtype[np.void] | None = None
    legacy: np.dtype[np.void] | None = None

    @cached_property
    def label(self) -> str:
        """``Res13 (batches)``: number and name, since other tools count in hex."""
        return f"Res{self.stream.value} ({self.title})"

    @cached_property
    def start(self) -> int:
        """Where the first record lies in the table, bytes: the size of the header."""
        return 0 if self.header is None else self.header.itemsize

    def record(self, attr3: int) -> np.dtype[np.generic] | None:
        """The record of a table whose directory entry has this ``attr3``."""
        legacy = self.legacy
        return legacy if legacy is not None and attr3 == legacy.itemsize else self.dtype


def _u(kind: str, count: int) -> np.dtype[np.generic]:
    return np.dtype((kind, (count,)))


def _by_type(*specs: TableSpec) -> dict[int, TableSpec]:
    return {int(spec.stream): spec for spec in specs}


#: Type id -> table of a core model, in the game's order of loading (docs/reference/model.md).
TABLES = _by_type(
    TableSpec(StreamType.NODES, "nodes", NODE_DTYPE, Presence.REQUIRED, 38, legacy=LEGACY_NODE_DTYPE),
    TableSpec(StreamType.SLOTS, "slots", SLOT_DTYPE, Presence.REQUIRED, 68, header=HEADER_DTYPE),
    TableSpec(StreamType.POSITIONS, "positions", _u("<f4", 3), Presence.REQUIRED, 12, True),
    TableSpec(StreamType.NORMALS, "normals", _u("i1", 4), Presence.USUAL, 4, True),
    TableSpec(StreamType.UV0, "UV0", _u("<i2", 2), Presence.USUAL, 4, True),
    TableSpec(StreamType.STRINGS, "strings", None, Presence.USUAL, 0),
    TableSpec(StreamType.KEYS, "key pool", KEY_DTYPE, Presence.STATIC_OPTIONAL, 4),
    TableSpec(StreamType.FRAME_MAP, "frame map", np.dtype("<u2"), Presence.STATIC_OPTIONAL, 2),
    TableSpec(StreamType.TRIANGLES, "triangle descriptors", TRIANGLE_DTYPE, Presence.USUAL, 16),
    TableSpec(StreamType.BATCHES, "batches", BATCH_DTYPE, Presence.REQUIRED, 20),
    TableSpec(StreamType.INDICES, "indices", np.dtype("<u2"), Presence.REQUIRED, 2),
    TableSpec(StreamType.STREAM15, "vertex stream 15", _u("u1", 8), Presence.OPTIONAL, 8, True),
    TableSpec(StreamType.TANGENTS, "tangents", TANGENT_DTYPE, Presence.OPTIONAL, 8, True),
    TableSpec(StreamType.VERTEX_EXTRA, "vertex extra", _u("u1", 4), Presence.OPTIONAL, 4, True),
    TableSpec(StreamType.TABLE20, "table 20", None, Presence.OPTIONAL, 0),
    TableSpec(StreamType.NAMES, "names", NAME_DTYPE, Presence.NOT_LOADED, 32),
    TableSpec(StreamType.GRAPH, "path graph", None, Presence.NOT_LOADED, 0),
)

_T = TerrainStream

#: Type id -> table of a terrain, in the game's order of loading (docs/reference/terrain.md).
TERRAIN_TABLES = _by_type(
    TableSpec(_T.POSITIONS, "positions", _u("<f4", 3), Presence.REQUIRED, 12, True),
    TableSpec(_T.NORMALS, "normals", _u("i1", 4), Presence.REQUIRED, 4, True),
    TableSpec(_T.UV0, "UV0", _u("<i2", 2), Presence.REQUIRED, 4, True),
    TableSpec(_T.MICRO_UV, "microtexture UV", _u("<i2", 2), Presence.REQUIRED, 4, True),
    TableSpec(_T.BLEND, "blend", np.dtype("<f4"), Presence.OPTIONAL, 4, True),
    TableSpec(_T.FACES, "faces", FACE_DTYPE, Presence.REQUIRED, 28),
    TableSpec(_T.SLOTS, "slots", SLOT_DTYPE, Presence.REQUIRED, 68, header=HEADER_DTYPE),
    TableSpec(_T.SQUARES, "squares", NODE_DTYPE, Presence.REQUIRED, 38),
    TableSpec(_T.DRAW_ORDER, "draw order", DRAW_DTYPE, Presence.REQUIRED, 4),
)

#: The order in which the core loader opens the tables (docs/reference/model.md).
LOAD_ORDER: tuple[int, ...] = tuple(
    number for number, spec in TABLES.items() if spec.presence is not Presence.NOT_LOADED
)


def required(specs: Mapping[int, TableSpec]) -> list[int]:
    """The type ids of the tables that a file must have, sorted."""
    return sorted(i for i, spec in specs.items() if spec.presence is Presence.REQUIRED)


#: A payload with these types is a core model (docs/reference/nres.md).
CORE_MODEL_TYPES = frozenset(required(TABLES))
#: A payload with these types and without 6 is a terrain.
TERRAIN_TYPES = frozenset({1, 2, 3, 11, 21})
#: A payload with this type is an areal map.
AREAL_MAP_TYPE = 12

#: Directory attributes that the runtime reads: (table, attribute, meaning).
RUNTIME_ATTRIBUTES = (
    (StreamType.FRAME_MAP, "attr2", "frame count of the model's timeline"),
    (StreamType.TABLE20, "attr1", "a count, meaning unknown"),
)

# Node flags (hdr0)
NODE_COCKPIT = 0x20
# Batch flags
BATCH_PORTAL = 0x8
BATCH_LIGHTMAP = 0x2000
