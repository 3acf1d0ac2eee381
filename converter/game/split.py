"""Split an entry into tables of rows, and join them; which tables name rows of which: for differences and merges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

import numpy as np

from ..errors import ConversionError
from ..formats.areal_map import AREALS, CELLS, read_areal_map
from ..formats.kinds import AREAL_MAP_TYPE, Kind, archive_kind
from ..formats.material import MATERIAL_HEADER_DTYPE, MATERIAL_TRACK_DTYPE, MATERIAL_TYPE, PHASE_DTYPE
from ..formats.mission import FILE_VERSION, mission_records, read_mission
from ..formats.model import TABLES, TRIANGLE_DTYPE, StreamType
from ..formats.model_parts import POINT_DTYPE, POINTS_TYPE
from ..formats.nres import Archive, is_nres, read_nres, write_nres
from ..formats.nres_edits import ArchiveEdits
from ..formats.objects import (
    COMPONENT_DTYPE,
    COMPONENTS,
    REGISTRY_ROW_DTYPE,
    ROWS,
    TAG_TYPES,
    UNIT_HEADER_DTYPE,
    is_unit,
)
from ..formats.tables import HEADER_DTYPE, NAME_DTYPE, SLOT_DTYPE, TableSpec
from ..formats.terrain import FACE_DTYPE, TERRAIN_TABLES, TerrainStream
from ..formats.wear import WEAR_TYPE
from ..numeric.arrays import U8, Bools

_SPECS: dict[str, Mapping[int, TableSpec]] = {"model": TABLES, "terrain": TERRAIN_TABLES, "areal map": {}}
_CONTAINERS = {Kind.MODEL: "model", Kind.TERRAIN: "terrain", Kind.AREAL_MAP: "areal map"}
_BOX = ("aabb_min", "aabb_max", "sphere_center", "sphere_radius")


def _bytes_of(dtype: np.dtype[np.void], *names: str) -> Bools:
    """Which bytes of a record its fields of these names are."""
    out = np.zeros(dtype.itemsize, np.bool_)
    assert dtype.fields is not None
    for name in names:
        kind, at = dtype.fields[name][:2]
        out[at : at + kind.itemsize] = True
    return out


def _heights_of_hull() -> Bools:
    """Which bytes of a header are the z of its corners: x and y are the grid's."""
    at = _bytes_of(HEADER_DTYPE, "hull")
    return np.asarray(at & (np.arange(len(at)) % 12 >= 8))


def header_key(stream: int) -> str:
    """Return the key of the record in front of a table's rows."""
    return f"{int(stream)}.0h"


def table_key(stream: int) -> str:
    """Return the key of the first table of a type."""
    return f"{int(stream)}.0"


#: Bytes of rows that follow from other tables and are computed again after a merge.
DERIVED: dict[str, dict[str, Bools]] = {
    "model": {
        header_key(StreamType.SLOTS): np.ones(HEADER_DTYPE.itemsize, np.bool_),
        table_key(StreamType.SLOTS): _bytes_of(SLOT_DTYPE, *_BOX, "area", "volume"),
        table_key(StreamType.TRIANGLES): _bytes_of(TRIANGLE_DTYPE, "normal"),
    },
    "terrain": {
        header_key(TerrainStream.SLOTS): _heights_of_hull(),
        table_key(TerrainStream.SLOTS): _bytes_of(SLOT_DTYPE, *_BOX),
        table_key(TerrainStream.FACES): _bytes_of(FACE_DTYPE, "normal"),
    },
}


@dataclass(frozen=True)
class Table:
    """One table of an entry.

    Attributes:
        stride: size of a row; 0: rows have sizes of their own; ``None``: it has no rows.
        sizes: those sizes; ``None``: rows are lines of text.
    """

    data: memoryview | bytes
    stride: int | None
    sizes: tuple[int, ...] | None = None

    @property
    def count(self) -> int:
        """The number of rows."""
        if self.stride is None:
            return 0
        return len(self.data) // self.stride if self.stride else len(self.lines)

    @cached_property
    def lines(self) -> list[bytes]:
        """Rows that have sizes of their own; lines with their ends."""
        data = bytes(self.data)
        if self.sizes is None:
            return data.splitlines(keepends=True)
        ends = np.cumsum((0, *self.sizes)).tolist()
        return [data[start:end] for start, end in pairwise(ends)]

    @property
    def matrix(self) -> U8:
        """Rows of fixed size. (count, stride)."""
        assert self.stride
        return np.frombuffer(self.data, np.uint8).reshape(-1, self.stride)


@dataclass(frozen=True)
class Split:
    """An entry as tables.

    Attributes:
        content: one of ``CONTENTS``.
        tables: by key, in their order.
        archive: the container, of those that are one.
    """

    content: str
    tables: dict[str, Table]
    archive: Archive | None = None
    _entries: dict[str, int] = field(default_factory=dict)

    @property
    def attributes(self) -> list[tuple[int, int, int]]:
        """The attributes of every directory entry."""
        entries = () if self.archive is None else self.archive.entries
        return [(e.attr1, e.attr2, e.attr3) for e in entries]

    @property
    def frame(self) -> str:
        """A short digest of what no table holds: names, the sort table, forgotten data."""
        if self.archive is None:
            return ""
        out = sha256()
        for entry in self.archive.entries:
            out.update(entry.raw_name + f"{entry.type_id} {entry.sort_index} ".encode())
        for _, region in self.archive.unindexed:
            out.update(bytes(region).strip(b"\0"))
        return out.hexdigest()[:16]

    def join(self, changed: Mapping[str, bytes], attributes: Mapping[int, tuple[int, int, int]]) -> bytes:
        """Return the bytes of the entry with other tables and attributes.

        ``changed``: bytes of tables by key. ``attributes``: new ones by directory index.
        """
        data = {key: changed.get(key, table.data) for key, table in self.tables.items()}
        if self.archive is None:
            return b"".join(data.values())
        edits = ArchiveEdits(self.archive)
        for index, (attr1, attr2, attr3) in attributes.items():
            edits.put(index, replace(edits.entries[index], attr1=attr1, attr2=attr2, attr3=attr3))
        payloads: dict[int, list[memoryview | bytes]] = {}
        for key, index in self._entries.items():
            payloads.setdefault(index, []).append(data[key])
        for index in sorted({self._entries[key] for key in changed}):
            edits.replace(index, b"".join(payloads[index]))
        return write_nres(edits.archive())


def label_of(content: str, key: str) -> str:
    """Return what messages call a table."""
    stream, _, occurrence = key.partition(".")
    spec = _SPECS.get(content, {}).get(int(stream) if stream.isdecimal() else -1)
    if spec is not None and occurrence in ("0", "0h"):
        return f"Res{stream} (header)" if occurrence == "0h" else spec.label
    return f"entry {occurrence} of type {stream}" if occurrence else key


def split(content: str, data: bytes) -> Split | None:
    """Return the tables of an entry; ``None`` where it is not what it should be."""
    if content in _SPECS:
        if not is_nres(data):
            return None
        try:
            archive = read_nres(data, "")
        except ConversionError:
            return None
        return _container(content, archive) if _CONTAINERS.get(archive_kind(archive)) == content else None
    tables = _PLAIN[content](data)
    return None if tables is None else Split(content, tables)


def content_of(data: bytes, type_id: int | None) -> str | None:
    """Return what an entry is split as, or ``None``: it has no tables."""
    if is_nres(data):
        try:
            return _CONTAINERS.get(archive_kind(read_nres(data, "")))
        except ConversionError:
            return None
    if is_unit(data):
        return "unit"
    if not type_id and data[:4] == FILE_VERSION.to_bytes(4, "little") and _mission(data) is not None:
        return "mission"
    return _OF_TYPE.get(type_id or 0)


def _container(content: str, archive: Archive) -> Split:
    specs = _SPECS[content]
    tables: dict[str, Table] = {}
    entries: dict[str, int] = {}
    seen: dict[int, int] = {}
    for index, entry in enumerate(archive.entries):
        number = seen.get(entry.type_id, 0)
        seen[entry.type_id] = number + 1
        if entry.type_id == AREAL_MAP_TYPE and not number and (found := _areals(archive)) is not None:
            tables |= found
            entries |= dict.fromkeys(found, index)
            continue
        key, spec = f"{entry.type_id}.{number}", specs.get(entry.type_id)
        payload, stride = memoryview(entry.payload), None
        if spec is not None and number == 0 and (record := spec.record(entry.attr3)) is not None:
            if len(payload) >= spec.start and (len(payload) - spec.start) % record.itemsize == 0:
                stride = record.itemsize
            if spec.start and len(payload) >= spec.start:
                tables[f"{key}h"] = Table(payload[: spec.start], spec.start)
                entries[f"{key}h"] = index
                payload = payload[spec.start :]
        tables[key], entries[key] = Table(payload, stride), index
    return Split(content, tables, archive, entries)


def _wear(data: bytes) -> dict[str, Table] | None:
    """The line of the count, materials, and from the line ``LIGHTMAPS`` on the rest."""
    lines = data.splitlines(keepends=True)
    if not lines or not lines[0].strip().isdigit():
        return None
    end = next((i for i, row in enumerate(lines) if row.strip().upper() == b"LIGHTMAPS"), None)
    end = len(lines) if end is None else end
    return {
        "count of materials": Table(lines[0], 0),
        "materials": Table(b"".join(lines[1:end]), 0),
        "lightmaps": Table(b"".join(lines[end:]), 0),
    }


def _material(data: bytes) -> dict[str, Table] | None:
    start = MATERIAL_HEADER_DTYPE.itemsize
    end = start + PHASE_DTYPE.itemsize * int.from_bytes(data[:2], "little")
    if len(data) < end or len(data) < start:
        return None
    rest = len(data) - (len(data) - end) % MATERIAL_TRACK_DTYPE.itemsize
    return {
        "header": Table(data[:start], start),
        "phases": Table(data[start:end], PHASE_DTYPE.itemsize),
        "tracks and keys": Table(data[end:rest], MATERIAL_TRACK_DTYPE.itemsize),
        "rest": Table(data[rest:], None),
    }


def _points(data: bytes) -> dict[str, Table] | None:
    count = int.from_bytes(data[:4], "little")
    end = 4 + count * POINT_DTYPE.itemsize
    if len(data) < 4 or len(data) != end + count * NAME_DTYPE.itemsize:
        return None
    return {
        "count of points": Table(data[:4], 4),
        "points": Table(data[4:end], POINT_DTYPE.itemsize),
        "names": Table(data[end:], NAME_DTYPE.itemsize),
    }


def _areals(archive: Archive) -> dict[str, Table] | None:
    """An areal is a row with its polygon and its links, a cell one with the areals in it."""
    try:
        areals = read_areal_map(archive)
    except ConversionError:
        return None
    data, starts = memoryview(areals.entry.payload), areals.record_offsets
    grid = int(starts[-1])
    return {
        AREALS: Table(data[:grid], 0, tuple(np.diff(starts).tolist())),
        "grid": Table(data[grid : grid + 8], 8),
        CELLS: Table(data[grid + 8 :], 0, tuple((2 + 2 * np.diff(areals.cell_start)).tolist())),
    }


def _mission(data: bytes) -> dict[str, Table] | None:
    try:
        records = mission_records(read_mission(data, ""))
    except ConversionError:
        return None
    tables = {key: Table(b"".join(rows), 0, tuple(map(len, rows))) for key, rows in records.items()}
    return tables if b"".join(table.data for table in tables.values()) == data else None


def _unit(data: bytes) -> dict[str, Table] | None:
    start = UNIT_HEADER_DTYPE.itemsize
    if (len(data) - start) % COMPONENT_DTYPE.itemsize:
        return None
    return {"header": Table(data[:start], start), COMPONENTS: Table(data[start:], COMPONENT_DTYPE.itemsize)}


def _registry(data: bytes) -> dict[str, Table] | None:
    size = REGISTRY_ROW_DTYPE.itemsize
    return None if len(data) % size else {ROWS: Table(data, size)}


_PLAIN: dict[str, Callable[[bytes], dict[str, Table] | None]] = {
    "wear": _wear,
    "material": _material,
    "points": _points,
    "mission": _mission,
    "unit": _unit,
    "registry": _registry,
}
_OF_TYPE = {WEAR_TYPE: "wear", MATERIAL_TYPE: "material", POINTS_TYPE: "points"} | dict.fromkeys(TAG_TYPES, "registry")
CONTENTS = (*_SPECS, *_PLAIN)

_S, _T = StreamType, TerrainStream
_REFERS: dict[str, dict[int, tuple[int, ...]]] = {
    "model": {
        _S.NODES: (_S.NODES, _S.SLOTS, _S.KEYS, _S.FRAME_MAP),
        _S.SLOTS: (_S.BATCHES, _S.TRIANGLES),
        _S.BATCHES: (_S.INDICES, _S.POSITIONS),
        _S.INDICES: (_S.POSITIONS,),
        _S.TRIANGLES: (_S.TRIANGLES, _S.INDICES),
        _S.NAMES: (_S.NODES,),
        _S.STRINGS: (_S.NODES,),
        _S.GRAPH: (_S.NODES,),
    },
    "terrain": {
        _T.SQUARES: (_T.SLOTS,),
        _T.SLOTS: (_T.FACES,),
        _T.FACES: (_T.POSITIONS, _T.FACES),
        _T.DRAW_ORDER: (_T.FACES,),
    },
}
#: Table -> those whose rows it names by number, or by its own order.
REFERS: dict[str, dict[str, tuple[str, ...]]] = {
    content: {table_key(one): tuple(map(table_key, others)) for one, others in tables.items()}
    for content, tables in _REFERS.items()
} | {"material": {"tracks and keys": ("phases",)}}


def short_digest(data: memoryview | bytes) -> str:
    """Return a digest that tells versions of one table apart."""
    return sha256(data).hexdigest()[:16]


def own_digest(table: Table, derived: Bools | None) -> str:
    """Return the same of a table without its derived bytes."""
    if derived is None or table.stride != len(derived):
        return short_digest(table.data)
    return short_digest((table.matrix * ~derived).tobytes())
