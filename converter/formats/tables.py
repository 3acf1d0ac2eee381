"""What core models and terrains have in common: an NRes container of tables, some records, the key pool.

The tables are those of a specification: ``model.TABLES``, ``terrain.TERRAIN_TABLES``.

All numbers are little-endian. Every byte of every record has a name, because NumPy drops the
bytes of unnamed gaps when it copies. Fields of unknown meaning are named by their offset.

The meaning of every field, and how it is known: docs/reference.

Res8, the key pool, has keys of 24 bytes: a position, a time in frames and a rotation of four words
(docs/reference/animation.md). Which word is which differs between files: the caller gives the columns of
``[w, x, y, z]`` (``scene.dialect.key_order``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, plural
from ..findings import Finding, Rule
from ..numeric.arrays import F32, F64, Records
from ..numeric.quantize import UNIT_SCALE, decode_unit
from ..numeric.surfaces import hull, round_down, round_up, sphere_radius
from .kinds import archive_kind
from .nres import Archive, write_nres
from .nres_edits import ArchiveEdits

LOD_COUNT = 3
GROUP_COUNT = 5
#: Type id of the slots.
_SLOTS = 2
_Array = TypeVar("_Array")

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

NAME_DTYPE = np.dtype([("name", "u1", (32,))])  # +0  NUL-padded


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
        dtype: the record; ``None`` for tables of variable records (Res10, 17, 20).
        presence: whether a file may lack it.
        attr3: the value of the directory's ``attr3``, mostly the stride.
        per_vertex: one record per vertex.
        header: a record of its own in front of the others, or ``None``.
        legacy: the record of files whose ``attr3`` is its size, or ``None``.
    """

    stream: IntEnum
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


def vector(kind: str, count: int) -> np.dtype[np.generic]:
    """The record of a table of so many numbers each."""
    return np.dtype((kind, (count,)))


def by_type(*specs: TableSpec) -> dict[int, TableSpec]:
    """Tables by their type ids, in this order."""
    return {int(spec.stream): spec for spec in specs}


def required(specs: Mapping[int, TableSpec]) -> list[int]:
    """The type ids of the tables that a file must have, sorted."""
    return sorted(i for i, spec in specs.items() if spec.presence is Presence.REQUIRED)


#: Rows of one table: records, or plain numbers.
Table = NDArray[np.generic]


class Stored(Generic[_Array]):
    """An attribute of a :class:`TableFile` that is one of its tables; one that may be missing then has a default."""

    def __init__(self, stream: int, *missing: _Array) -> None:
        self.stream, self.missing = stream, missing

    def __get__(self, file: TableFile | None, owner: type) -> _Array:
        if file is None:
            return cast(_Array, self)  # of the class
        found = file.streams.get(self.stream, *self.missing) if self.missing else file.streams[self.stream]
        return cast(_Array, found)

    def __set__(self, file: TableFile, table: Table) -> None:
        file.streams[self.stream] = table


@dataclass
class TableFile:
    """The tables of a core model or a terrain.

    Arrays that were read are views of the file and read-only: to change a table, replace it.

    Attributes:
        name: the file or entry name.
        archive: the container: entry order, attributes, names, gaps, unknown entries.
        header: Res2's first 140 bytes, one ``HEADER_DTYPE`` record.
        streams: the tables of fixed records by type id, dtypes as in ``SPECS``.
        cut: what a reader that was asked to found of tables that end inside a record.
    """

    #: The specification, by type id.
    SPECS: ClassVar[Mapping[int, TableSpec]]

    name: str
    archive: Archive
    header: Records
    streams: dict[int, Table] = field(default_factory=dict)
    cut: list[Finding] = field(default_factory=list)

    #: Res2 after its header, ``SLOT_DTYPE``.
    slots = Stored[Records](_SLOTS)

    def with_table(self, stream: int, table: Table) -> Self:
        """Return a copy with another table; all others are shared."""
        return replace(self, streams=self.streams | {stream: table})

    def label_of(self, stream: int) -> str:
        """Return what messages call a table."""
        return self.SPECS[stream].label

    def offset_of(self, stream: int, row: int = 0, within: int = 0) -> int | None:
        """Return the byte offset in the file of a table's row (plus ``within``), if it was read."""
        entry = self.archive.first_of_type(stream)
        if entry is None:
            return None
        spec = self.SPECS[stream]
        record = spec.record(entry.attr3)
        stride = spec.attr3 if record is None else record.itemsize
        return entry.data_offset + spec.start + stride * row + within


class TableRules(NamedTuple):
    """The rules that the loader checks.

    Attributes:
        missing: a table that must be there is missing.
        size: the size of a table is not a multiple of its record.
        header: a table is shorter than its header.
    """

    missing: Rule
    size: Rule
    header: Rule


def read_tables(
    archive: Archive, specs: Mapping[int, TableSpec], *, what: str, rules: TableRules, cut: bool
) -> tuple[Records, dict[int, Table], list[Finding]]:
    """Read the tables of fixed records; nothing is copied.

    A table is found by its type, the first of it, as the runtime does; order means nothing
    (docs/reference/nres.md). Entries that no specification describes stay in the container.

    Args:
        specs: the tables, by type id; one of them has a header.
        what: what messages call the whole: ``core model``.
        rules: the rules that errors name.
        cut: tables whose size does not fit are read up to their last whole record.

    Returns:
        The header, the tables by type id in the order of ``specs``, read-only views, and a finding
        for each table that was cut.

    Raises ConversionError: a required table is missing, or a size does not fit its records.
    """
    first = {entry.type_id: entry for entry in reversed(archive.entries)}
    absent = [i for i, s in specs.items() if i not in first and s.presence is Presence.REQUIRED]
    if absent:
        needed = required(specs)
        labels = ", ".join(specs[i].label for i in sorted(absent))
        problem, value = f"not a {what}", f"{archive_kind(archive)} without {labels}"
        expected = f"tables {', '.join(map(str, needed[:-1]))} and {needed[-1]}"
        raise ConversionError(problem, file=archive.label, value=value, expected=expected, code=rules.missing.code)
    header: Records = np.empty(0, np.void)
    tables: dict[int, Table] = {}
    findings: list[Finding] = []
    for type_id, spec in specs.items():
        entry = first.get(type_id)
        if entry is None or (record := spec.record(entry.attr3)) is None:
            continue
        start, stride, size = spec.start, record.itemsize, entry.size
        if size < start or (size - start) % stride:
            # what the game's loader does not open may have any size: an unknown entry
            if spec.presence is Presence.NOT_LOADED:
                continue
            row = max(0, size - start) // stride
            finding = Finding(
                rules.header if size < start else rules.size,
                "size does not fit its records",
                spec.label,
                row,
                entry.data_offset,
                plural(size, "byte"),
                f"{start} + n * {stride}" if start else f"a multiple of {stride}",
                rows=np.array([row]),
            )
            if not cut or size < start:
                raise finding.to_error().at(file=archive.label)
            findings.append(finding)
            size = start + row * stride
        payload = entry.payload[:size]
        if spec.header is not None:
            header = np.frombuffer(payload[:start], spec.header)
        tables[type_id] = np.frombuffer(payload[start:] if start else payload, record)
    return header, tables, findings


def record_bytes(content: TableFile) -> dict[int, bytes]:
    """The payloads of the tables of fixed records, by type id."""
    out = {}
    for stream, table in content.streams.items():
        data = table.tobytes()
        out[stream] = content.header.tobytes() + data if content.SPECS[stream].header else data
    return out


def write_tables(content: TableFile, payloads: dict[int, bytes], counts: dict[int, int]) -> bytes:
    """The bytes of a container with these tables, by type id; all that did not change keeps its bytes.

    ``counts``: ``attr1`` of each (docs/reference/model.md): how many records it has. A table that the container does
    not have, and an edit fills, comes after all others. Raises ConversionError: an entry of another type has its name.
    """
    archive = content.archive
    edits = ArchiveEdits(archive)
    for stream, data in payloads.items():
        index = next((i for i, e in enumerate(archive.entries) if e.type_id == stream), None)
        if index is None:
            if data:
                edits.add(b"Res%d" % stream, stream, data, (counts[stream], 0, content.SPECS[stream].attr3))
        elif archive.entries[index].payload != data:
            edits.replace(index, data, attr1=counts[stream])
    return write_nres(edits.archive())


KEY_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),  # +0
        ("time", "<f4"),  # +12  frames
        ("quaternion", "<i2", (4,)),  # +16  / 32767; the order is the dialect's
    ]
)
assert KEY_DTYPE.itemsize == 24


def bounding_header(points: F64) -> Records:
    """Return the header of a model from its posed vertices, one ``HEADER_DTYPE`` record.

    The box faces are rounded outward; the cylinder lies along the axis that gives the smallest volume (ties: z, then y,
    then x). ``points``: (n, 3) float64, model space; none: an all-zero header.
    """
    out = np.zeros(1, HEADER_DTYPE)
    if not len(points):
        return out
    low = np.array([round_down(v) for v in points.min(axis=0)], np.float32)
    high = np.array([round_up(v) for v in points.max(axis=0)], np.float32)
    out["hull"][0] = hull(low, high)
    center = ((low + high) * np.float32(0.5)).astype(np.float32)
    out["sphere_center"], out["sphere_radius"] = center, sphere_radius(center, points)

    size = high.astype(np.float64) - low.astype(np.float64)
    across = [np.delete(size, axis) for axis in range(3)]
    volumes = [float((pair**2).sum() * size[axis]) for axis, pair in enumerate(across)]
    axis = min((2, 1, 0), key=lambda a: volumes[a])
    a, b = center.copy(), center.copy()
    a[axis], b[axis] = low[axis], high[axis]
    out["cylinder_a"], out["cylinder_b"] = a, b
    corners = np.stack([low, high]).astype(np.float64) - center.astype(np.float64)
    extent = np.delete(np.abs(corners).max(axis=0), axis)
    out["cylinder_radius"] = round_up(float(np.sqrt((extent**2).sum())))
    return out


class Keys(NamedTuple):
    """Decoded keys.

    Attributes:
        position: (K, 3) float32, game axes.
        time: (K,) float32, frames.
        quaternion: (K, 4) float32, ``[w, x, y, z]``.
    """

    position: F32
    time: F32
    quaternion: F32


def decode_keys(pool: Records, order: Sequence[int]) -> Keys:
    """Decode a key pool. (K,) ``KEY_DTYPE``; ``order``: the columns of ``[w, x, y, z]`` in a stored rotation."""
    return Keys(pool["position"], pool["time"], decode_unit(pool["quaternion"])[:, order])


def encode_keys(position: F32, time: NDArray[np.integer], words: NDArray[np.int16], order: Sequence[int]) -> Records:
    """Encode keys: (K, 3), (K,) frames, (K, 4) ``[w, x, y, z]`` as of ``numeric.quantize.encode_unit`` -> (K,)
    ``KEY_DTYPE``.

    ``order``: the columns of ``[w, x, y, z]`` in a stored rotation.
    """
    pool = np.zeros(len(time), KEY_DTYPE)
    pool["position"], pool["time"] = position, time
    pool["quaternion"][:, order] = words
    return pool


def count_identities(pool: Records, *orders: Sequence[int]) -> list[int]:
    """Return how many keys are not rotated at all, words read in each order."""
    # four words compared as one number
    words = np.ascontiguousarray(pool["quaternion"]).view("<u8")
    return [int(np.count_nonzero(words == UNIT_SCALE << 16 * order[0])) for order in orders]
