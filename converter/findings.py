"""Findings: what a check reports about a file, and the rules that it checks.

A rule is declared beside the check that finds where it is broken: in ``converter.checks``, or where
reading finds it, in ``converter.formats`` and ``converter.input_files``. ``checks.all_rules`` lists
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import ConversionError

Severity = Literal["error", "warning", "note"]
#: How a file is read (docs/checks.md#converting-a-broken-file).
Mode = Literal["default", "strict", "tolerant"]

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
        """Return whether a file that breaks the rule is refused.

        Args:
            mode: ``strict``: any violation is, notes apart; ``tolerant``: only what cannot be left
                out; ``default``: every error.
        """
        if mode == "strict":
            return self.severity != "note"
        return self.severity == "error" and not (mode == "tolerant" and self.drops)


@dataclass(frozen=True)
class Finding:
    """One observation about a file: a rule that does not hold, and where.

    Attributes:
        rule: the rule.
        problem: what is wrong, in a few words.
        table, row, offset, value, expected: as in :class:`ConversionError`, of the first place.
        rows: every row of the table that is concerned, where there may be several. A tolerant
            reader leaves out what :attr:`Rule.drops` names of them.
        count: how many places are concerned.
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
            "value": None if self.value is None else str(self.value),
            "expected": None if self.expected is None else str(self.expected),
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
    """A table, and where its rows lie.

    Attributes:
        table: what messages call it.
        offset: gives the byte offset of a row; ``None`` where it is not known.
    """

    table: str
    offset: Callable[[int], int | None]


def first_bad(
    rule: Rule,
    bad: NDArray[np.bool_] | np.bool_,
    problem: str,
    place: Place,
    value: object = None,
    expected: object = None,
) -> Iterator[Finding]:
    """Yield one finding about all rows that break a rule, which shows the first of them.

    Args:
        rule: the rule.
        bad: (n,) which rows break it, or (n, ...) which of their values; ``np.False_``: none does.
        problem: what is wrong with the first row; how many more there are is appended.
        place: where the rows lie.
        value, expected: an array with one item per row, a function of the row's number, or one
            value for all rows.
    """
    if not np.count_nonzero(bad):
        return
    rows = np.unique(np.nonzero(bad)[0])
    row = int(rows[0])
    yield Finding(
        rule,
        more(problem, rows.size),
        table=place.table,
        row=row,
        offset=place.offset(row),
        value=_of_row(value, row),
        expected=_of_row(expected, row),
        rows=rows,
        count=rows.size,
    )


def _of_row(values: object, row: int) -> object:
    if callable(values):
        values = values(row)
    elif isinstance(values, np.ndarray):
        values = values[row]
    return values.tolist() if isinstance(values, (np.ndarray, np.void)) else values


def about_table(rule: Rule, problem: str, place: Place, value: object = None, expected: object = None) -> Finding:
    """Return a finding about a table as a whole; arguments as of :func:`first_bad`."""
    return Finding(rule, problem, table=place.table, row=None, offset=place.offset(0), value=value, expected=expected)


def more(problem: str, count: int, what: str = "rows") -> str:
    """Return the problem, with in how many other places it is."""
    return problem + (f" (and in {count - 1} more {what})" if count > 1 else "")


def without_errors(
    findings: list[Finding], file: str, entry: str | None = None, mode: Mode = "default"
) -> list[Finding]:
    """Return the findings, none of them one that is refused.

    Args:
        findings: about a file.
        file, entry: what the message calls it.
        mode: what is refused (:meth:`Rule.fails`).

    Raises:
        ConversionError: the first finding that is refused.
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
