"""Changes of the tables of one entry, row by row where their rows have a size or are lines; as they are stored.

Of a changed row only the bytes that differ are stored, and a check of what it was: so a difference
holds nothing of its base, and still knows another base's row for the same or another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import I64, U8, U16, U32, Bools
from ..scene.dialect import Dialect
from .packing import Reader, damaged, decode_delta, encode_delta, most_bytes, repeats_base, whole_number
from .split import CONTENTS, DERIVED, Table

#: A table that grows by more rows than this is another table.
_MOST_NEW = 64
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class RowChange:
    """The changed rows of one table whose rows have one size.

    Attributes:
        stride: size of a row.
        rows: (n,) ascending.
        was: (n,) check of the row before, derived bytes aside; 0 where only these change.
        rest: (n,) check of the bytes that do not change, derived bytes aside.
        mask: (n, stride) which bytes change.
        values: those bytes, row after row.
    """

    key: str
    count: int
    stride: int
    rows: I64
    was: U32
    rest: U16
    mask: Bools
    values: U8

    @property
    def copied(self) -> I64:
        """The rows that new ones are made of: none."""
        return self.rows[:0]

    @cached_property
    def _ends(self) -> I64:
        return np.asarray(np.cumsum(self.mask.sum(axis=1)))

    def own(self, derived: Bools | None) -> Bools:
        """Return which rows differ in more than derived bytes. (n,)."""
        if derived is None:
            return np.ones(len(self.rows), np.bool_)
        return np.asarray((self.mask & ~derived).any(axis=1))

    def result(self, at: int, derived: Bools | None) -> tuple[bytes, bytes]:
        """Return what tells one row's changes from others: which bytes, and their values."""
        mask, end = self.mask[at], int(self._ends[at])
        value = self.values[end - int(mask.sum()) : end]
        if derived is not None:
            value, mask = value[~derived[mask]], mask & ~derived
        return mask.tobytes(), value.tobytes()

    def written(self, table: Table, which: Bools, only: Bools | None = None) -> bytes:
        """Return a table with the new values of some rows. Raises ConversionError: the table has other rows.

        ``which``: (n,) which of the changed rows. ``only``: (stride,) write no other bytes.
        """
        if table.stride != self.stride:
            raise damaged("has rows of another size")
        if table.count != self.count:
            raise damaged("has another number of rows")
        written = self.mask & which[:, None]
        if only is not None:
            written &= only
        matrix = table.matrix.copy()
        rows = matrix[self.rows]
        rows[written] = self.values[written[self.mask]]
        matrix[self.rows] = rows
        return matrix.tobytes()

    def bare(self) -> list[bytes]:
        """Return what is stored, and the rows as zeros would become."""
        rows = np.zeros(self.mask.shape, np.uint8)
        rows[self.mask] = self.values
        return [self.values.tobytes(), rows.tobytes()]


@dataclass(frozen=True, eq=False)
class LineChange:
    """The changed rows of one table whose rows have sizes of their own: lines, placed objects.

    A row is a binary difference of itself as it was; a new one stands for itself, or, where it would
    give away a row that it is a copy of, is a difference of that.

    Attributes:
        count: its rows before; new ones follow them.
        rows: (n,) ascending.
        like: (n,) the row that each is a difference of; -1: of nothing.
        was, becomes: (n,) check of that row, and of the result.
        sizes, lengths: (n,) bytes of the result and of the difference.
        deltas: the differences (``packing``).
    """

    key: str
    count: int
    rows: I64
    like: I64
    was: U32
    becomes: U32
    sizes: I64
    lengths: I64
    deltas: U8
    stride: int = 0

    @property
    def copied(self) -> I64:
        """The rows that new ones are made of."""
        return self.like[(self.rows >= self.count) & (self.like >= 0)]

    def own(self, derived: Bools | None) -> Bools:
        """Return which rows differ: all. (n,)."""
        return np.ones(len(self.rows), np.bool_)

    def result(self, at: int, derived: Bools | None) -> tuple[int, int]:
        """Return what tells one row's changes from others: its check and its size."""
        return int(self.becomes[at]), int(self.sizes[at])

    def line(self, at: int, lines: Sequence[bytes]) -> bytes:
        """Return what a row becomes. Raises ConversionError: the table has other rows. ``lines``: the rows before."""
        like, end = int(self.like[at]), int(self.lengths[: at + 1].sum())
        if like >= len(lines):
            raise damaged("names a row that is not there")
        delta = self.deltas[end - int(self.lengths[at]) : end].tobytes()
        return decode_delta(delta, b"" if like < 0 else lines[like], int(self.sizes[at]))

    def written(self, table: Table, which: Bools, only: Bools | None = None) -> bytes:
        """Return a table with the new values of some rows (``only``: as of :class:`RowChange`).

        Raises:
            ConversionError: the table has other rows.
        """
        if table.stride != 0:
            raise damaged("has rows of another size")
        lines = list(table.lines)
        for at in np.flatnonzero(which).tolist():
            row = int(self.rows[at])
            if row > len(lines):
                raise damaged("leaves lines out")
            lines[row : row + 1] = [self.line(at, table.lines)]
        return b"".join(lines)

    def bare(self, table: Table) -> list[bytes]:
        """Return what is stored, and the rows as zeros would become."""
        zeros = [bytes(len(line)) for line in table.lines]
        return [self.deltas.tobytes(), b"".join(self.line(at, zeros) for at in range(len(self.rows)))]


def changed_rows(key: str, before: Table, after: Table, derived: Bools | None) -> RowChange | LineChange | None:
    """Return the rows that differ between two tables, ``None`` where they do not have the same.

    ``before``, ``after``: they differ. ``derived``: (stride,) which bytes of a row follow from other tables.
    """
    if before.stride is None or before.stride != after.stride:
        return None
    if not before.stride:
        return _changed_lines(key, before.lines, after.lines)
    if before.count != after.count:
        return None
    old, new = before.matrix, after.matrix
    rows = np.flatnonzero((old != new).any(axis=1))
    mask = old[rows] != new[rows]
    own = np.ones(before.stride, np.bool_) if derived is None else ~derived
    was = np.where((mask & own).any(axis=1), row_checks(old[rows] * own), 0)
    rest = row_checks(old[rows] * (own & ~mask)).astype(np.uint16)
    return RowChange(key, before.count, before.stride, rows, was.astype(np.uint32), rest, mask, new[rows][mask])


def _changed_lines(key: str, old: Sequence[bytes], new: Sequence[bytes]) -> LineChange | None:
    if not 0 <= len(new) - len(old) <= _MOST_NEW:
        return None
    rows = [i for i, line in enumerate(new) if i >= len(old) or line != old[i]]
    base = b"".join(old)
    copies = [i for i in rows if i >= len(old) and repeats_base(new[i], base)]
    like = [i if i < len(old) else _most_like(new[i], old) if i in copies else -1 for i in rows]
    bases = [b"" if i < 0 else old[i] for i in like]
    deltas = [encode_delta(base, new[i]) for base, i in zip(bases, rows, strict=True)]
    return LineChange(
        key,
        len(old),
        np.array(rows, np.int64),
        np.array(like, np.int64),
        np.array([line_check(base) for base in bases], np.uint32),
        np.array([line_check(new[i]) for i in rows], np.uint32),
        np.array([len(new[i]) for i in rows], np.int64),
        np.array([len(delta) for delta in deltas], np.int64),
        np.frombuffer(b"".join(deltas), np.uint8),
    )


def _most_like(line: bytes, lines: Sequence[bytes]) -> int:
    """The row that a new one has most in common with, at its start and its end."""

    def common(other: bytes) -> int:
        size = min(len(line), len(other))
        ends = [(line[:size], other[:size]), (line[len(line) - size :][::-1], other[len(other) - size :][::-1])]
        differ = [np.frombuffer(a, np.uint8) != np.frombuffer(b, np.uint8) for a, b in ends]
        return sum(int(np.argmax(np.append(each, True))) for each in differ)

    return max(range(len(lines)), key=lambda row: common(lines[row]))


def row_checks(rows: U8) -> U32:
    """Return a number for every row that tells it from others. (n, k) -> (n,)."""
    return (row_hashes(rows) >> np.uint64(32)).astype(np.uint32)


def row_hashes(rows: U8) -> NDArray[np.uint64]:
    """Return the same in 64 bits."""
    count, size = rows.shape
    padded = np.zeros((count, -(-size // 8) * 8), np.uint8)
    padded[:, :size] = rows
    out = np.full(count, size + 1, np.uint64) * _MIX
    for word in padded.view("<u8").T:
        out = (out ^ word) * _MIX
        out ^= out >> np.uint64(32)
    return out * _MIX


def line_check(line: bytes) -> int:
    """Return the number of a line."""
    return int.from_bytes(sha256(line).digest()[:4], "little")


def pack_rows(change: RowChange | LineChange, derived: Bools | None) -> tuple[dict[str, Any], bytes]:
    """Return a change's description and its columns."""
    columns: list[NDArray[Any]] = [np.diff(change.rows, prepend=0).astype("<u4")]
    if isinstance(change, LineChange):
        numbers = (change.like + 1, change.was, change.becomes, change.sizes, change.lengths)
        columns += [*(column.astype("<u4") for column in numbers), change.deltas]
    else:
        own = change.own(derived)
        shape = np.packbits(change.mask, axis=1, bitorder="little")
        columns += [shape, change.was[own].astype("<u4"), change.rest[own].astype("<u2"), change.values]
    about = {"n": change.count, "s": change.stride, "c": len(change.rows)}
    return about, b"".join(column.tobytes() for column in columns)


def unpack_rows(key: str, about: Mapping[str, Any], reader: Reader, derived: Bools | None) -> RowChange | LineChange:
    """Read what :func:`pack_rows` gave. Raises ConversionError: it cannot be true."""
    count, number = whole_number(about, "n"), whole_number(about, "c")
    stride = whole_number(about, "s", 1 << 12)
    if derived is not None and stride != len(derived):
        raise damaged("has rows of another size")
    if not number or number * stride > most_bytes(reader.size):
        raise damaged("has no rows, or too many")
    rows = np.cumsum(reader.column("<u4", number).astype(np.int64))
    if (np.diff(rows) <= 0).any() or (stride and (rows >= count).any()):
        raise damaged("has rows out of order")
    if not stride:
        return _unpack_lines(key, count, rows, reader)
    bits = reader.column("u1", number * -(-stride // 8)).reshape(number, -1)
    mask = np.unpackbits(bits, axis=1, count=stride, bitorder="little").view(np.bool_)
    own: Bools = np.ones(number, np.bool_)
    if derived is not None:
        own = np.asarray((mask & ~derived).any(axis=1))
    was, rest = np.zeros(number, np.uint32), np.zeros(number, np.uint16)
    was[own] = reader.column("<u4", int(own.sum()))
    rest[own] = reader.column("<u2", int(own.sum()))
    return RowChange(key, count, stride, rows, was, rest, mask, reader.column("u1", int(mask.sum())))


def _unpack_lines(key: str, count: int, rows: I64, reader: Reader) -> LineChange:
    new = rows >= count
    if (rows[new] != count + np.arange(new.sum())).any():
        raise damaged("leaves lines out")
    like, was, becomes, sizes, lengths = (reader.column("<u4", len(rows)).astype(np.int64) for _ in range(5))
    if (like[~new] != rows[~new] + 1).any() or (like > count).any():
        raise damaged("is made of a row that is not there")
    if int(sizes.sum()) > most_bytes(reader.size):
        raise damaged("makes rows that are too large")
    deltas = reader.column("u1", int(lengths.sum()))
    checks = was.astype(np.uint32), becomes.astype(np.uint32)
    return LineChange(key, count, rows, like - 1, *checks, sizes, lengths, deltas)


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

    ``size``: of the table before, bytes. ``was``: (n,) their state before (``converter.game.merging``).
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
