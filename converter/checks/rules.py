"""How a rule is declared above the function that checks it, and where what it finds lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, cast

import numpy as np

from ..findings import Bad, Finding, Place, Rule, Severity, found
from ..formats.archive import Archive
from ..formats.areal_map import ArealMap
from ..formats.table_file import TableFile
from ..formats.tables import AREAL_DTYPE, NRES_ENTRY_DTYPE, field_offset
from ..formats.unit import COMPONENTS, offset_of
from ..numeric.arrays import Ints

P = ParamSpec("P")
Q = ParamSpec("Q")

#: What messages call the directory of a container.
DIRECTORY = "NRes directory"


@dataclass(frozen=True)
class Rules:
    """A decorator that declares rules of one format, above :class:`why`.

    Attributes:
        format: what kind of file or entry they are about.
        source: page and section that states them, where a rule names no other.
    """

    format: str
    source: str

    def __call__(
        self, code: str, severity: Severity, text: str, place: str = "", *, drops: str = ""
    ) -> Callable[[Explained[P]], Check[P]]:
        """Return what makes a check of a function.

        Args:
            code, severity, drops: as of :class:`Rule`.
            text: what holds in a valid file, in one line.
            place: another source, or another section of the same page (``#section``).
        """
        page = self.source.partition("#")[0] if place.startswith("#") else ""

        def check(given: Explained[P]) -> Check[P]:
            source = page + place or self.source
            rule = Rule(self.format, code, severity, text, source=source, why=given.why, fix=given.fix, drops=drops)
            return Check(rule, given.function)

        return check


@dataclass(frozen=True)
class Explained(Generic[P]):
    """A function that yields where a rule does not hold, what happens there, and what to do."""

    why: str
    fix: str
    function: Callable[P, Iterator[Bad]]


def why(text: str, *, fix: str) -> Callable[[Callable[P, Iterator[Bad]]], Explained[P]]:
    """Decorate a function: what happens where the rule does not hold, and what to do about it."""
    return lambda function: Explained(text, fix, function)


@dataclass(frozen=True)
class Check(Generic[P]):
    """A rule, and the function that yields where it does not hold: called, it yields findings.

    Attributes:
        rule: the rule.
        function: takes first the file that the places it yields are in.
    """

    rule: Rule
    function: Callable[P, Iterator[Bad]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Finding]:
        """Yield the findings about a file."""
        for bad in self.function(*args, **kwargs):
            finding = found(self.rule, bad, lambda at: place_of(args[0], at))
            if finding is not None:
                yield finding

    def also(self, function: Callable[Q, Iterator[Bad]]) -> Check[Q]:
        """Decorate a second function that finds where the rule does not hold."""
        return Check(self.rule, function)


def place_of(file: object, at: object) -> Place:
    """Return where the rows lie that a check names.

    Args:
        file: what it was called with.
        at: the table, or the table and where: the name of a field, the byte offset of each row
            (n,), or one offset. A table of a model or terrain is its type, others are what messages
            call them; ``None``: the file as a whole.
    """
    table, where = cast("tuple[Any, Any]", at if isinstance(at, tuple) else (at, None))
    if isinstance(table, int):
        assert isinstance(file, TableFile)
        within = where if isinstance(where, int) else 0
        if isinstance(where, str):
            within = field_offset(cast("np.dtype[np.void]", file.SPECS[table].dtype), where)
        return Place(file.label_of(table), lambda row: file.offset_of(table, row, within))
    if where is None:
        return Place(table, lambda row: None)
    if isinstance(where, int):
        return Place(table, lambda row: where)
    if table == DIRECTORY:
        archive = file if isinstance(file, Archive) else cast(TableFile, file).archive
        start = archive.directory + field_offset(NRES_ENTRY_DTYPE, where)
        return Place(table, lambda row: start + NRES_ENTRY_DTYPE.itemsize * row)
    if table == COMPONENTS:
        return Place(table, lambda row: offset_of(row, where))
    offsets = areal_offsets(file, where) if isinstance(file, ArealMap) and isinstance(where, str) else where
    return Place(table, lambda row: int(offsets[row]))


def areal_offsets(areals: ArealMap, field: str = "anchor") -> Ints:
    """Return the byte offset in the file of a field of each areal. (A,)."""
    within = field_offset(AREAL_DTYPE, field)
    return areals.record_offsets[:-1] + areals.entry.data_offset + within
