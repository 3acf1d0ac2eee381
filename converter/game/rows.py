"""Rows of a table that a difference changes: which, what they were, and what they become.

Of a changed row only the bytes that differ are stored, and a check of what it was: so a difference
holds nothing of its base, and still knows another base's row for the same or another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .byte_delta import damaged
from .packing import most_bytes
from .split import Bools, Table

I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class RowChange:
    """The changed rows of one table.

    Attributes:
        key: of the table.
        count: its rows before; lines may be added after them.
        stride: size of a row, 0: lines.
        rows: (n,) ascending.
        was: (n,) check of the row before, derived bytes aside; 0 where only these change, and of
            lines that are new.
        rest: (n,) check of the bytes that do not change, derived bytes aside.
        mask: (n, stride) which bytes change; (0, 0) of lines.
        lengths: (n,) how many bytes of each row change; of lines, how long the new ones are.
        values: those bytes, row after row. (sum of lengths,).
    """

    key: str
    count: int
    stride: int
    rows: I64
    was: U32
    rest: NDArray[np.uint16]
    mask: Bools
    lengths: I64
    values: NDArray[np.uint8]

    @cached_property
    def _ends(self) -> I64:
        return np.asarray(np.cumsum(self.lengths))

    def value(self, at: int) -> bytes:
        """Return the changed bytes of one row, or one new line."""
        end = int(self._ends[at])
        return self.values[end - int(self.lengths[at]) : end].tobytes()

    def own(self, derived: Bools | None) -> Bools:
        """Return which rows differ in more than derived bytes. (n,)."""
        if derived is None or not self.stride:
            return np.ones(len(self.rows), np.bool_)
        return np.asarray((self.mask & ~derived).any(axis=1))

    def overlaps(self, other: RowChange, derived: Bools | None) -> I64:
        """Return the rows that another change of the table changes to something else."""
        mine, theirs = (change.rows[change.own(derived)] for change in (self, other))
        out = []
        for row in np.intersect1d(mine, theirs).tolist():
            a, b = (int(np.searchsorted(change.rows, row)) for change in (self, other))
            one, two = self._own_values(a, derived), other._own_values(b, derived)
            if one != two:
                out.append(row)
        return np.array(out, np.int64)

    def _own_values(self, at: int, derived: Bools | None) -> tuple[bytes, bytes]:
        if not self.stride:
            return b"", self.value(at)
        mask, value = self.mask[at], np.frombuffer(self.value(at), np.uint8)
        if derived is not None:
            value, mask = value[~derived[mask]], mask & ~derived
        return mask.tobytes(), value.tobytes()


def changed_rows(key: str, before: Table, after: Table, derived: Bools | None) -> RowChange | None:
    """Return the rows that differ between two tables, ``None`` where they do not have the same.

    Args:
        key: of the table.
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
    return RowChange(
        key, before.count, before.stride, rows, was.astype(np.uint32), rest, mask, mask.sum(axis=1), new[rows][mask]
    )


def _changed_lines(key: str, old: list[bytes], new: list[bytes]) -> RowChange | None:
    if len(new) < len(old):
        return None
    rows = [i for i, line in enumerate(new) if i >= len(old) or line != old[i]]
    was = np.array([line_check(old[i]) if i < len(old) else 0 for i in rows], np.uint32)
    return RowChange(
        key,
        len(old),
        0,
        np.array(rows, np.int64),
        was,
        np.zeros(len(rows), np.uint16),
        np.zeros((0, 0), np.bool_),
        np.array([len(new[i]) for i in rows], np.int64),
        np.frombuffer(b"".join(new[i] for i in rows), np.uint8),
    )


def row_checks(rows: NDArray[np.uint8]) -> U32:
    """Return a number for every row that tells it from others. (n, k) -> (n,)."""
    return (row_hashes(rows) >> np.uint64(32)).astype(np.uint32)


def row_hashes(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
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
    return int(row_checks(np.frombuffer(line, np.uint8)[None])[0])


def pack_rows(change: RowChange, derived: Bools | None) -> tuple[dict[str, Any], bytes]:
    """Return a change's description and its columns."""
    own = change.own(derived)
    if change.stride:
        shape = np.packbits(change.mask, axis=1, bitorder="little")
    else:
        shape = change.lengths.astype("<u4")
    columns: list[NDArray[Any]] = [
        np.diff(change.rows, prepend=0).astype("<u4"),
        shape,
        change.was[own].astype("<u4"),
        change.rest[own].astype("<u2"),
        change.values,
    ]
    about = {"n": change.count, "s": change.stride, "c": len(change.rows)}
    return about, b"".join(column.tobytes() for column in columns)


class Reader:
    """Reads columns of a payload in turn; nothing is read past its end."""

    def __init__(self, payload: memoryview | bytes) -> None:
        self.left = memoryview(payload)
        self.size = len(self.left)

    def take(self, size: int) -> memoryview:
        """Return the next bytes.

        Raises:
            ConversionError: there are not so many.
        """
        if not 0 <= size <= len(self.left):
            raise damaged("is cut short")
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def column(self, dtype: str, count: int) -> NDArray[Any]:
        """Return the next numbers."""
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count), dtype)


def whole_number(about: Mapping[str, Any], name: str, most: int = 2**32 - 1) -> int:
    """Return a number of a description.

    Raises:
        ConversionError: it is none, or out of range.
    """
    value = about.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise damaged(f"has no valid number {name!r}")
    return value


def unpack_rows(key: str, about: Mapping[str, Any], reader: Reader, derived: Bools | None) -> RowChange:
    """Read what :func:`pack_rows` gave.

    Raises:
        ConversionError: it cannot be true.
    """
    count, number = whole_number(about, "n"), whole_number(about, "c")
    stride = whole_number(about, "s", 1 << 12)
    if derived is not None and stride != len(derived):
        raise damaged("has rows of another size")
    if not number or number * stride > most_bytes(reader.size):
        raise damaged("has no rows, or too many")
    rows = np.cumsum(reader.column("<u4", number).astype(np.int64))
    if (np.diff(rows) <= 0).any() or (stride and (rows >= count).any()):
        raise damaged("has rows out of order")
    if not stride and (rows[rows >= count] != count + np.arange((rows >= count).sum())).any():
        raise damaged("leaves lines out")
    if stride:
        bits = reader.column("u1", number * -(-stride // 8)).reshape(number, -1)
        mask = np.unpackbits(bits, axis=1, count=stride, bitorder="little").view(np.bool_)
        lengths = mask.sum(axis=1)
    else:
        mask = np.zeros((0, 0), np.bool_)
        lengths = reader.column("<u4", number).astype(np.int64)
    own: Bools = np.ones(number, np.bool_)
    if stride and derived is not None:
        own = np.asarray((mask & ~derived).any(axis=1))
    was, rest = np.zeros(number, np.uint32), np.zeros(number, np.uint16)
    was[own] = reader.column("<u4", int(own.sum()))
    rest[own] = reader.column("<u2", int(own.sum()))
    values = reader.column("u1", int(lengths.sum()))
    return RowChange(key, count, stride, rows, was, rest, mask, lengths, values)
