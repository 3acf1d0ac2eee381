"""A place in a file that moves on while it is read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import ConversionError, plural
from ..findings import Rule
from ..numeric.arrays import Records


class Cursor:
    """Reads a file from its start to its end; every size is compared with the bytes that are left.

    Attributes:
        at: where it is, bytes.
        table, row: what errors name.
    """

    def __init__(self, data: memoryview, rule: Rule) -> None:
        """Start at the first byte of ``data``; ``rule`` is what a size that does not fit breaks."""
        self.data = data
        self.rule = rule
        self.at = 0
        self.table: str | None = None
        self.row: int | None = None

    def take(self, size: int, what: str) -> memoryview:
        """So many bytes."""
        if size > len(self.data) - self.at:
            raise self.error(f"{what} is cut off", plural(len(self.data) - self.at, "byte"), size)
        self.at += size
        return self.data[self.at - size : self.at]

    def word(self, what: str) -> int:
        """A u32."""
        return int.from_bytes(self.take(4, what), "little")

    def count(self, what: str, least: int) -> int:
        """A number of records, each of at least so many bytes."""
        count = self.word(f"number of {what}")
        left = len(self.data) - self.at
        if count * least > left:
            self.at -= 4
            raise self.error(f"more {what} than the file has bytes for", count, left // least)
        return count

    def rows(self, what: str, least: int) -> Iterator[int]:
        """The rows of a table one by one; errors name the row."""
        for row in range(self.count(what, least)):
            self.row = row
            yield row

    def records(self, dtype: np.dtype[np.void], count: int, what: str) -> Records:
        """Records without texts between them, a view of the file."""
        return np.frombuffer(self.take(count * dtype.itemsize, what), dtype)

    def text(self, what: str) -> bytes:
        """A length and so many bytes."""
        return bytes(self.take(self.word(f"length of the {what}"), what))

    def error(self, problem: str, value: object, expected: object, rule: Rule | None = None) -> ConversionError:
        """An error at the place where it is."""
        return ConversionError(
            problem,
            table=self.table,
            row=self.row,
            offset=self.at,
            value=value,
            expected=expected,
            code=(rule or self.rule).code,
        )
