"""Changes of the tables of one entry: found, packed, and carried out on their base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from ..formats.model import StreamType
from ..formats.terrain import TerrainStream
from ..numeric.arrays import I64, U32, Bools
from ..scene.dialect import Dialect
from .derived import States, dialect_of, states
from .packing import SHORTEST, damaged, decode_delta, encode_delta, repeats_base
from .rows import LineChange, Reader, RowChange, changed_rows, pack_rows, unpack_rows, whole_number
from .split import CONTENTS, DERIVED, Split, Table, content_of, split, table_key

#: Above this size, bytes, it is not measured whether literals repeat the base.
MEASURED = 1 << 22
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
Attributes = tuple[int, int, int]


@dataclass(frozen=True)
class BytesChange:
    """A table that changes by a binary difference.

    Attributes:
        size: after, bytes.
        was, becomes: short digests of the table.
        near: short digests of the tables that name its rows: they must be as they were.
        state: short digest of the states of its derived rows, for the same reason.
        delta: ``packing``.
    """

    key: str
    size: int
    was: str
    becomes: str
    near: Mapping[str, str]
    state: str
    delta: memoryview | bytes


@dataclass(frozen=True, eq=False)
class Unit:
    """Derived rows that a difference changes, or changes what they follow from.

    Attributes:
        size: of the table before, bytes.
        was: (n,) their state before (``converter.game.derived``).
    """

    size: int
    rows: I64
    was: U32


@dataclass(frozen=True, eq=False)
class TableChanges:
    """What changes of an entry.

    Attributes:
        content: how it is split.
        frame: digest of what of it is not in tables.
        rows: changes of rows, by table.
        blobs: changes of whole tables.
        sizes: of the tables whose rows changed rows name, before, bytes.
        attributes: by directory index, before and after.
        computed: whether derived bytes can be computed; else they are as all others.
        dialect: of a model before; empty where it is not known, or nothing is computed.
        units: derived rows that change, by table.
        layout: binary difference of what the tables do not hold; empty where there is none.
    """

    content: str
    frame: str = ""
    rows: dict[str, RowChange | LineChange] = field(default_factory=dict)
    blobs: dict[str, BytesChange] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    attributes: dict[int, tuple[Attributes, Attributes]] = field(default_factory=dict)
    computed: bool = False
    dialect: str = ""
    units: dict[str, Unit] = field(default_factory=dict)
    layout: memoryview | bytes = b""

    @property
    def derived(self) -> Mapping[str, Bools]:
        """Which bytes of rows are derived; none where nothing can be computed."""
        return DERIVED.get(self.content, {}) if self.computed else {}


def short_digest(data: memoryview | bytes) -> str:
    """Return a digest that tells versions of one table apart."""
    return sha256(data).hexdigest()[:16]


def own_digest(table: Table, derived: Bools | None) -> str:
    """Return the same of a table without its derived bytes."""
    if derived is None or table.stride != len(derived):
        return short_digest(table.data)
    return short_digest((table.matrix * ~derived).tobytes())


def state_digest(state: States, key: str) -> str:
    """Return the same of the states of a table's derived rows; empty where it has none."""
    return short_digest(state[key].tobytes()) if key in state else ""


def find_changes(before: bytes, after: bytes, type_id: int | None) -> TableChanges | None:
    """Return what changes by tables; ``None`` where that would not say all, or would say too much.

    Args:
        before, after: they differ.
        type_id: of the directory entry, where there is one.
    """
    content = content_of(before, type_id)
    if content is None or (old := split(content, before)) is None:
        return None
    if (new := split(content, after)) is None or list(old.tables) != list(new.tables):
        return None
    state, later = states(content, before), states(content, after)
    if bool(state) != bool(later):  # one of them has errors: no row of it can be trusted
        return None
    computed = bool(state)
    units = _units(old, state, later)
    dialect = dialect_of(content, before) or dialect_of(content, after) if units else ""
    found = TableChanges(content, frame=old.frame, computed=computed, dialect=dialect, units=units)
    for key, table in old.tables.items():
        other = new.tables[key]
        if table.data == other.data:
            continue
        derived = found.derived.get(key)
        change = changed_rows(key, table, other, derived)
        if change is not None and not _repeats_rows(change, table, before):
            found.rows[key] = change
            if not change.own(derived).any():
                continue
        elif (blob := _blob(key, table, other, before, old, found)) is not None:
            found.blobs[key] = replace(blob, state=state_digest(state, key))
        else:
            return None
        named = set(REFERS.get(content, {}).get(key, ())) & old.tables.keys()
        found.sizes.update((name, len(old.tables[name].data)) for name in sorted(named))
    found.attributes.update(
        (i, (a, b)) for i, (a, b) in enumerate(zip(old.attributes, new.attributes, strict=True)) if a != b
    )
    made = _joined(found, old)
    if made == after:
        return found
    delta = encode_delta(made, after)
    if len(before) <= MEASURED and repeats_base(decode_delta(delta, bytes(len(made)), len(after)), before):
        return None
    return replace(found, layout=delta)


def _units(old: Split, state: States, later: States) -> dict[str, Unit]:
    out = {}
    for key, was in state.items():
        now = later.get(key)
        if now is not None and len(now) == len(was) and (was != now).any():
            rows = np.flatnonzero(was != now)
            out[key] = Unit(len(old.tables[key].data), rows, was[rows])
    return out


def _repeats_rows(change: RowChange | LineChange, table: Table, before: bytes) -> bool:
    """Whether changed rows laid over zeros repeat the base."""
    if len(before) > MEASURED:
        return False
    made = change.bare(table) if isinstance(change, LineChange) else change.bare()
    return any(repeats_base(some, before) for some in made)


def _blob(key: str, table: Table, other: Table, before: bytes, old: Split, found: TableChanges) -> BytesChange | None:
    base, after = bytes(table.data), bytes(other.data)
    near = {
        name: own_digest(old.tables[name], found.derived.get(name))
        for name, named in REFERS.get(found.content, {}).items()
        if key in named and name != key and name in old.tables
    }
    for shortest in SHORTEST:
        delta = encode_delta(base, after, shortest)
        bare = decode_delta(delta, bytes(len(base)), len(after))
        if len(before) > MEASURED or not repeats_base(bare, before):
            digests = short_digest(base), short_digest(after)
            return BytesChange(key, len(after), *digests, near, "", delta)
    return None


def fits(changes: TableChanges, size: int) -> bool:
    """Whether the tables that are made as a whole are no larger than the entry, bytes."""
    return sum(blob.size for blob in changes.blobs.values()) <= size


def make_exactly(changes: TableChanges, before: bytes, size: int) -> bytes:
    """Return what changes make of the very entry that they were found in.

    Args:
        size: of the result, bytes.

    Raises:
        ConversionError: the changes cannot be true.
    """
    old = split(changes.content, before)
    if old is None:
        raise damaged("is not for such an entry")
    made = _joined(changes, old)
    return decode_delta(changes.layout, made, size) if changes.layout else made


def _joined(changes: TableChanges, old: Split) -> bytes:
    data: dict[str, bytes] = {}
    for key, change in changes.rows.items():
        data[key] = change.written(table_of(old, key), np.ones(len(change.rows), np.bool_))
    for key, blob in changes.blobs.items():
        data[key] = decode_delta(blob.delta, bytes(table_of(old, key).data), blob.size)
    for index in changes.attributes:
        if index >= len(old.attributes):
            raise damaged("has attributes of entries that are not there")
    return old.join(data, {index: now for index, (_, now) in changes.attributes.items()})


def table_of(entry: Split, key: str) -> Table:
    """Return a table that a difference names. Raises ConversionError: there is none."""
    if key not in entry.tables:
        raise damaged("names a table that is not there")
    return entry.tables[key]


# ------------------------------------------------------------------ as stored


def pack_changes(changes: TableChanges) -> tuple[dict[str, Any], bytes]:
    """Return the description and the payload of changes."""
    tables, parts = [], []
    for key, change in changes.rows.items():
        about, columns = pack_rows(change, changes.derived.get(key))
        tables.append({"k": key, **about})
        parts.append(columns)
    for key, blob in changes.blobs.items():
        tables.append(
            {
                "k": key,
                "z": blob.size,
                "w": blob.was,
                "i": blob.becomes,
                "b": len(blob.delta),
                "near": dict(blob.near),
                "state": blob.state,
            }
        )
        parts.append(bytes(blob.delta))
    units = []
    for key, unit in changes.units.items():
        units.append([key, unit.size, len(unit.rows)])
        parts.append(np.diff(unit.rows, prepend=0).astype("<u4").tobytes())
        parts.append(unit.was.astype("<u4").tobytes())
    about = {
        "kind": "tables",
        "content": changes.content,
        "frame": changes.frame,
        "tables": tables,
        "sizes": changes.sizes,
        "attributes": [[i, *map(list, both)] for i, both in changes.attributes.items()],
        "computed": changes.computed,
        "dialect": changes.dialect,
        "units": units,
        "layout": len(changes.layout),
    }
    return {k: v for k, v in about.items() if v}, b"".join([*parts, changes.layout])


def unpack_changes(about: Mapping[str, Any], payload: memoryview | bytes) -> TableChanges:
    """Read what :func:`pack_changes` gave. Raises ConversionError: it cannot be true."""
    reader = Reader(payload)
    content = about.get("content")
    if content not in CONTENTS:
        raise damaged("is for an unknown kind of entry")
    try:
        stored = [(str(key), int(size), int(count)) for key, size, count in about.get("units", [])]
        tables = [dict(table) for table in about.get("tables", [])]
        sizes = {str(key): int(size) for key, size in about.get("sizes", {}).items()}
        attributes = {int(i): (_attributes(was), _attributes(now)) for i, was, now in about.get("attributes", [])}
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise damaged("has a description that cannot be read") from None
    computed = about.get("computed") is True
    dialect = about.get("dialect", "")
    if dialect not in ("", *Dialect):
        raise damaged("is of an unknown dialect")
    changes = TableChanges(
        content, str(about.get("frame", "")), sizes=sizes, attributes=attributes, computed=computed, dialect=dialect
    )
    for table in tables:
        key = str(table.get("k"))
        if "b" in table:
            changes.blobs[key] = _unpack_blob(key, table, reader)
        else:
            changes.rows[key] = unpack_rows(key, table, reader, changes.derived.get(key))
    for key, size, count in stored:
        if key not in changes.derived or count < 1 or size < 0:
            raise damaged("computes what is not computed")
        rows = np.cumsum(reader.column("<u4", count).astype(np.int64))
        if (np.diff(rows) <= 0).any():
            raise damaged("has rows out of order")
        changes.units[key] = Unit(size, rows, reader.column("<u4", count))
    layout = reader.take(whole_number({"layout": 0, **about}, "layout"))
    if len(reader.left):
        raise damaged("is longer than it states")
    if any(index < 0 for index in attributes):
        raise damaged("has attributes of entries that are not there")
    return replace(changes, layout=layout)


def _unpack_blob(key: str, table: Mapping[str, Any], reader: Reader) -> BytesChange:
    near = table.get("near", {})
    if not isinstance(near, dict):
        raise damaged("has a description that cannot be read")
    size, length = whole_number(table, "z"), whole_number(table, "b")
    was, becomes, state = (str(table.get(name)) for name in ("w", "i", "state"))
    return BytesChange(key, size, was, becomes, near, state, reader.take(length))


def _attributes(values: Any) -> Attributes:
    a, b, c = (int(value) for value in values)
    if not all(0 <= value < 2**32 for value in (a, b, c)):
        raise ValueError("out of range")
    return a, b, c
