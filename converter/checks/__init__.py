"""Every rule about a file as data above the function that checks it, and tolerant reading.

A module holds the rules about one thing, and runs their checks in order: first those that
conversion relies on, then those that only ``msh-inspect --check`` looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

from .. import files, findings, formats
from ..findings import At, Bad, Finding, Place, Rule, Severity, found
from ..formats.areal_map import AREAL_DTYPE, AREALS, ArealMap
from ..formats.nres import NRES_ENTRY_DTYPE, Archive
from ..formats.objects import COMPONENTS, offset_of
from ..formats.tables import TableFile
from ..numeric.arrays import I64, field_offset

#: What rules are about, in the order in which they are listed.
FORMATS = (
    "NRes",
    "core model",
    "core model (animation)",
    "terrain",
    "level",
    "areal map",
    "BuildDat.lst",
    "WEAR",
    "WEAR, MAT0",
    "MAT0",
    "Texm",
    "control points",
    "controller",
    "footings, node properties",
    "RsLi",
    "objects.rlb",
    "unit",
    "mission",
    "unit, mission",
)


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by its code, in the order in which they are listed.

    Looks into ``files`` and every module of ``formats``, where reading the bytes finds what is wrong, and then of
    this package; those of one format stay in the order of the modules' names.
    """
    rules: dict[str, Rule] = {}
    packages = (import_module(name) for name in (formats.__name__, __name__))
    names = [f"{package.__name__}.{module.name}" for package in packages for module in iter_modules(package.__path__)]
    for module in map(import_module, [files.__name__, *names]):
        for value in vars(module).values():
            if isinstance(value, Check) and value.function.__module__ == module.__name__:
                rules.setdefault(value.rule.code, value.rule)
            elif isinstance(value, Rule):
                rules.setdefault(value.code, value)
    return dict(sorted(rules.items(), key=lambda item: FORMATS.index(item[1].format)))


def similar_codes(code: str) -> list[str]:
    """Return known codes that look like one that does not exist, the nearest first."""
    from difflib import get_close_matches

    wanted, known = code.strip().lower(), all_rules()
    return get_close_matches(wanted, known, 4) or [each for each in known if wanted and wanted in each][:4]


P = ParamSpec("P")
Q = ParamSpec("Q")
T = TypeVar("T")

#: What messages call the directory of a container.
DIRECTORY = "NRes directory"


@dataclass(frozen=True)
class Rules:
    """A decorator that declares rules of one format, above :class:`why`; as :class:`converter.findings.Rules`."""

    format: str
    source: str

    def __call__(
        self, code: str, severity: Severity, text: str, place: str = "", *, drops: str = ""
    ) -> Callable[[Explained[P]], Check[P]]:
        """Return what makes a check of a function."""
        made = findings.Rules(self.format, self.source)(code, severity, text, place, drops=drops)
        return lambda given: Check(made(why=given.why, fix=given.fix), given.function)


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


def run(file: T, *checks: Callable[[T], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield what checks find about a file, one after another."""
    for check in checks:
        yield from check(file)


def place_of(file: object, at: At) -> Place:
    """Return where the rows lie that a check names; ``file`` is what it was called with."""
    table, where = at if isinstance(at, tuple) else (at, None)
    if isinstance(table, int):
        assert isinstance(file, TableFile)
        record = cast("np.dtype[np.void]", file.SPECS[table].dtype)
        within = field_offset(record, where) if isinstance(where, str) else cast(int, where or 0)
        return Place(file.label_of(table), lambda row: file.offset_of(table, row, within))
    if isinstance(where, str):
        return Place(table, _of_field(file, table, where))
    if isinstance(where, np.ndarray):
        return Place(table, lambda row: int(where[row]))
    return Place(table, lambda row: where)


def _of_field(file: Any, table: str | None, field: str) -> Callable[[int], int]:
    """The byte offset of a field of each row of a table that is no table of a model or terrain."""
    if table == COMPONENTS:
        return lambda row: offset_of(row, field)
    if table == AREALS:
        offsets = areal_offsets(file, field)
        return lambda row: int(offsets[row])
    assert table == DIRECTORY
    archive = file if isinstance(file, Archive) else file.archive
    start = archive.directory + field_offset(NRES_ENTRY_DTYPE, field)
    return lambda row: start + NRES_ENTRY_DTYPE.itemsize * row


def areal_offsets(areals: ArealMap, field: str = "anchor") -> I64:
    """Return the byte offset in the file of a field of each areal. (A,)."""
    within = field_offset(AREAL_DTYPE, field)
    return areals.record_offsets[:-1] + areals.entry.data_offset + within
