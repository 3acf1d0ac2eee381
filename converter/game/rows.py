"""Rows of a table that a difference changes: which, what they were, and what they become.

Of a changed row only the bytes that differ are stored, and a check of what it was: so a difference
holds nothing of its base, and still knows another base's row for the same or another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import I64, U8, U16, U32, Bools
from .packing import damaged, decode_delta, encode_delta, most_bytes, repeats_base
from .split import Table

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

        Args:
            which: (n,) which of the changed rows.
            only: (stride,) write no other bytes.
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

    Args:
        before, after: they differ.
        derived: (stride,) which bytes of a row follow from other tables.
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


class Reader:
    """Reads columns of a payload in turn; nothing is read past its end."""

    def __init__(self, payload: memoryview | bytes) -> None:
        self.left = memoryview(payload)
        self.size = len(self.left)

    def take(self, size: int) -> memoryview:
        """Return the next bytes. Raises ConversionError: there are not so many."""
        if not 0 <= size <= len(self.left):
            raise damaged("is cut short")
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def column(self, dtype: str, count: int) -> NDArray[Any]:
        """Return the next numbers."""
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count), dtype)


def whole_number(about: Mapping[str, Any], name: str, most: int = 2**32 - 1) -> int:
    """Return a number of a description. Raises ConversionError: it is none, or out of range."""
    value = about.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise damaged(f"has no valid number {name}")
    return value


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
