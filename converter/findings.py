"""Findings: what a check reports about a file, and the rules that it checks; what an import reports.

A rule is declared beside the check that finds where it is broken: in ``converter.checks``, or where
reading finds it, in ``converter.formats`` and ``converter.files``. ``checks.all_rules`` lists
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import ConversionError, called, few, in_a_line

Severity = Literal["error", "warning", "note"]
#: How a file is read (docs/checks.md#converting-a-broken-file).
Mode = Literal["default", "strict", "tolerant"]

#: The table that a check names (of a model or terrain its type, else what messages call it), or the
#: table and where: the name of a field, the byte offset of each row (n,), or one offset. ``None``: the
#: file as a whole.
At = str | int | tuple[str | int, str | int | NDArray[np.int64] | None] | None

#: How many rows a message lists.
_ROWS = 12


@dataclass(frozen=True)
class Rule:
    """One invariant of a format.

    Attributes:
        format: what kind of file or entry it is about.
        code: its stable name.
        severity: ``error``: the game stops at it, or it or a converter would read out of bounds,
            or glTF cannot hold the value; conversion refuses such a model, terrain or map.
            ``warning``: no valid file of the game is known to have it. ``note``: worth knowing,
            harmless.
        rule: what holds in a valid file, in one line.
        source: page and section below ``docs`` that states it and how it is known.
        why: what happens where it does not hold.
        fix: what to do about it.
        drops: what a tolerant reader can leave out to read all the rest; empty where the whole
            file cannot be read, or where nothing needs to be left out.
    """

    format: str
    code: str
    severity: Severity
    rule: str
    _: KW_ONLY
    source: str
    why: str
    fix: str
    drops: str = ""

    def fails(self, mode: Mode) -> bool:
        """Return whether a file that breaks the rule is refused: in ``strict`` mode any, notes apart; in ``tolerant``
        mode only errors that cannot be left out.
        """
        if mode == "strict":
            return self.severity != "note"
        return self.severity == "error" and not (mode == "tolerant" and self.drops)


@dataclass(frozen=True)
class Rules:
    """Declares the rules of one format.

    Attributes:
        format: what kind of file or entry they are about.
        source: page and section that states them, where a rule names no other.
    """

    format: str
    source: str

    def __call__(
        self, code: str, severity: Severity, text: str, place: str = "", *, drops: str = ""
    ) -> Callable[..., Rule]:
        """Return what makes the rule of its ``why`` and ``fix``; others as of :class:`Rule`.

        Args:
            text: what holds in a valid file, in one line.
            place: another source, or another section of the same page (``#section``).
        """
        page = self.source.partition("#")[0] if place.startswith("#") else ""
        return partial(Rule, self.format, code, severity, text, source=page + place or self.source, drops=drops)


@dataclass(frozen=True)
class Finding:
    """One observation about a file: a rule that does not hold, and where.

    Attributes:
        table, row, offset, value, expected: as in :class:`ConversionError`, of the first place.
        rows: every row of the table that is concerned, where there may be several. A tolerant
            reader leaves out what :attr:`Rule.drops` names of them.
    """

    rule: Rule
    problem: str
    table: str | None = None
    row: int | None = None
    offset: int | None = None
    value: object = None
    expected: object = None
    rows: NDArray[np.int64] | None = field(default=None, repr=False, compare=False)
    count: int = 1

    @property
    def code(self) -> str:
        """The rule's stable name."""
        return self.rule.code

    @property
    def severity(self) -> Severity:
        """``error``, ``warning`` or ``note``."""
        return self.rule.severity

    def facts(self) -> dict[str, str | int]:
        """Return the finding as plain JSON values; what is not known is left out."""
        facts = {
            "code": self.code,
            "severity": self.severity,
            "problem": self.problem,
            "table": self.table,
            "row": self.row,
            "offset": self.offset,
            "value": None if self.value is None else in_a_line(self.value),
            "expected": None if self.expected is None else in_a_line(self.expected),
            "count": self.count,
        }
        return {key: value for key, value in facts.items() if value is not None}

    def to_error(self) -> ConversionError:
        """Return the finding as an error."""
        return ConversionError(
            self.problem,
            table=self.table,
            row=self.row,
            offset=self.offset,
            value=self.value,
            expected=self.expected,
            code=self.code,
        )

    def __str__(self) -> str:
        return str(self.to_error())


class Place(NamedTuple):
    """A table, and where its rows lie. ``offset``: gives the byte offset of a row; ``None`` where it is not known."""

    table: str | None
    offset: Callable[[int], int | None]


@dataclass(eq=False, slots=True)
class Bad:
    """What a check yields: where its rule does not hold.

    Attributes:
        problem: what is wrong, of the first bad row.
        at: the table, and where in it.
        rows: (n,) which rows are bad, or (n, ...) which of their values: there is one finding, about
            the first, or none; the number of one bad row; ``None``: the table as a whole is.
        value, expected: where ``rows`` is a mask, an array with one item per row, a function of the
            row's number, or one value for all rows; else the value itself.
        count, concerns: as :attr:`Finding.count` and :attr:`Finding.rows`, where no mask says it.
    """

    problem: str
    at: At = None
    rows: NDArray[np.bool_] | np.bool_ | int | None = None
    value: object = None
    expected: object = None
    count: int = 1
    concerns: NDArray[np.int64] | None = None


def found(rule: Rule, bad: Bad, place_of: Callable[[At], Place]) -> Finding | None:
    """Return one finding about all rows that break a rule, which shows the first of them.

    Args:
        place_of: makes a place of :attr:`Bad.at`; asked only where there is something to find.

    Returns:
        ``None`` where the mask names no row.
    """
    if not isinstance(bad.rows, (np.ndarray, np.bool_)):
        table, offset = place_of(bad.at)
        at = offset(bad.rows or 0)
        return Finding(rule, bad.problem, table, bad.rows, at, bad.value, bad.expected, bad.concerns, bad.count)
    if not np.count_nonzero(bad.rows):
        return None
    rows = np.unique(np.nonzero(bad.rows)[0])
    row, (table, offset) = int(rows[0]), place_of(bad.at)
    value, expected = _of_row(bad.value, row), _of_row(bad.expected, row)
    return Finding(rule, more(bad.problem, rows.size), table, row, offset(row), value, expected, rows, rows.size)


def _of_row(values: object, row: int) -> object:
    if callable(values):
        values = values(row)
    elif isinstance(values, np.ndarray):
        values = values[row]
    return values.tolist() if isinstance(values, (np.ndarray, np.void)) else values


def more(problem: str, count: int, what: str = "rows") -> str:
    """Return the problem, with in how many other places it is."""
    return problem + (f" (and in {count - 1} more {what})" if count > 1 else "")


def without_errors(
    findings: list[Finding], file: str, entry: str | None = None, mode: Mode = "default"
) -> list[Finding]:
    """Return the findings, none of them one that is refused. Raises ConversionError: the first finding that is refused.

    Args:
        file, entry: what the message calls it.
        mode: what is refused (:meth:`Rule.fails`).
    """
    for finding in findings:
        if finding.rule.fails(mode):
            error = finding.to_error().at(file=file, entry=entry)
            if mode == "strict":
                error.hint = f"--strict refuses {finding.code}, {finding.severity}"
            elif finding.rule.drops:
                error.hint = f"msh2gltf --tolerant leaves out {finding.rule.drops}"
            raise error
    return findings


def without_new_errors(found: Iterable[Finding], before: Iterable[Finding], file: str) -> None:
    """Refuse in what was written what its reader refuses, but for what was so before. ``found``, ``before``: all about
    the written file, and about the stored one. Raises ConversionError: more places than before break a rule of errors.
    """
    known = Counter[str]()
    for finding in before:
        known[finding.code] += finding.count
    for finding in found:
        known[finding.code] -= finding.count
        if finding.severity == "error" and known[finding.code] < 0:
            raise finding.to_error().at(file=file)


def messages(findings: list[Finding]) -> list[str]:
    """Return what a user should know: warnings, and what a tolerant reader left out."""
    out = []
    for finding in findings:
        if finding.severity == "warning":
            out.append(str(finding))
        elif finding.severity == "error":
            out.append(f"left out {finding.rule.drops} ({finding.code}): {finding}{_rows(finding)}")
    return out


def _rows(finding: Finding) -> str:
    """The rows that are concerned, where there are several."""
    if finding.rows is None or len(finding.rows) < 2:
        return ""
    shown = ", ".join(map(str, finding.rows[:_ROWS].tolist()))
    return f"; rows {shown}{', ...' if len(finding.rows) > _ROWS else ''}"


# ------------------------------------------------------------------ what an import says


@dataclass(frozen=True)
class Change:
    """One difference that is applied: where (a node, part or animation) and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


#: What may differ between what a file shows and what the game will.
Kind = Literal[
    "node",
    "name",
    "fact",
    "place",
    "turn",
    "triangles",
    "normals",
    "texture coordinates",
    "lightmap coordinates",
    "vertex colours",
    "materials",
    "flags of materials",
    "look",
    "clip",
    "level",
]


class Subject(str):
    """What a line of a report is about: text for the user; its parts are what the judge pairs lines by.

    Attributes:
        noun: what it is, as ``node``.
        names: what it is called; of several, all names.
        cell: that of a part, as ``lod 1 group 0``.
    """

    noun: str
    names: tuple[str, ...]
    cell: str

    def __new__(cls, noun: str, *names: str | None, cell: str = "", text: str = "") -> Subject:
        """Return the subject of one thing, as ``part 'gun' lod 1 group 0``; ``text``: what else it is called."""
        out = super().__new__(cls, text or f"{noun} {called(names[0])}{f' {cell}' if cell else ''}")
        out.noun, out.names, out.cell = noun, tuple(filter(None, names)), cell
        return out

    def __getnewargs_ex__(self) -> tuple[tuple[str, ...], dict[str, str]]:
        return (self.noun, *self.names), {"cell": self.cell, "text": str(self)}

    @classmethod
    def of(cls, several: Sequence[Subject], most: int = 5) -> Subject:
        """Return one for several things, of which the text lists so many and counts the others."""
        names, cell = (name for one in several for name in one.names), several[0].cell if len(several) == 1 else ""
        return cls(several[0].noun, *names, cell=cell, text=few(several, most))


@dataclass(frozen=True)
class Explains:
    """What a line of a report explains, and of which objects.

    Attributes:
        kinds: kinds of difference; ``None``: those that lines about such an object are about.
        most: the largest amount of each: a distance, or a number of triangles.
        fact: what the objects state, where the line is about one fact.
        names: any of them is what one of the objects is called.
        noun, cell: as of :class:`Subject`.
    """

    kinds: tuple[Kind, ...] | None = None
    most: float = float("inf")
    fact: str = ""
    names: tuple[str, ...] = ()
    noun: str = ""
    cell: str = ""


@dataclass(frozen=True, kw_only=True)
class NotApplied:
    """One difference that is not applied; the first four fields are text for the user.

    Attributes:
        where: the object, as ``node 'gun'`` or ``material 'steel'``; a :class:`Subject` says so to the judge, too.
        what: the difference, as ``is missing``.
        why: the reason that it cannot be applied, or was not.
        instead: what to do.
        explains: what the judge takes it as a reason for.
    """

    where: str
    what: str
    why: str
    instead: str
    explains: Explains = Explains()

    def __post_init__(self) -> None:
        one, where = self.explains, self.where
        if isinstance(where, Subject):
            about = replace(one, names=(*where.names, *one.names), noun=where.noun, cell=where.cell)
        elif not one.noun:
            about = replace(one, names=(where, *one.names), noun=where)
        else:
            return
        object.__setattr__(self, "explains", about)
        object.__setattr__(self, "where", str(where))

    def facts(self) -> dict[str, str]:
        """Return its texts as plain JSON values."""
        return {"where": self.where, "what": self.what, "why": self.why, "instead": self.instead}

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.why}; {self.instead}"

    @property
    def line(self) -> str:
        """The line that commands print."""
        return f"not applied: {self}"


@dataclass(frozen=True)
class Explained:
    """What the judge made of a difference and a line of a report; ``line`` or ``difference`` is empty without one."""

    difference: str
    line: str

    def __str__(self) -> str:
        if not self.difference:
            return f"{self.line}: explains nothing that differs"
        return f"{self.difference}: {f'explained by {self.line}' if self.line else 'nothing explains it'}"


@dataclass
class Report:
    """What an import says about a file: created where the file is read, passed down, and filled.

    Attributes:
        not_applied: what differs and is not applied.
        concerned: what warnings explain.
        judged: what the judge compared with it; ``None``: no judge did.
    """

    changes: list[Change] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    concerned: list[Explains] = field(default_factory=list)
    judged: list[Explained] | None = None

    def changed(self, where: str, *what: str) -> None:
        """Add differences of one object that are applied."""
        self.changes += [Change(where, text) for text in what]

    def skipped(
        self,
        where: str,
        what: str,
        why: str,
        instead: str,
        *kinds: Kind,
        most: float = float("inf"),
        fact: str = "",
        names: Sequence[str] = (),
    ) -> None:
        """Add a difference that is not applied; the words are those of :class:`NotApplied` and :class:`Explains`."""
        explains = Explains(kinds or None, most, fact, tuple(names))
        self.not_applied.append(NotApplied(where=where, what=what, why=why, instead=instead, explains=explains))

    def concerns(self, names: Iterable[str], *kinds: Kind, most: float = float("inf")) -> None:
        """State what a warning explains of objects."""
        self.concerned += [Explains(kinds or None, most, names=(name,)) for name in names]

    def add(self, other: Report) -> None:
        """Add what was found earlier, and is told now."""
        self.changes += other.changes
        self.not_applied += other.not_applied
        self.warnings += other.warnings
        self.concerned += other.concerned
