"""Findings: what a check reports about a file, and the registry of the rules that it checks.

The tables of rules stand with the checks (``converter.checks.rules``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks.rules import RULES, Mode, Rule, Severity, near
from .errors import ConversionError

__all__ = ["RULES", "Finding", "Mode", "Rule", "Severity", "more", "near", "told", "without_errors"]

#: How many rows a message lists.
_ROWS = 12


@dataclass(frozen=True)
class Finding:
    """One observation about a file: a rule that does not hold, and where.

    Attributes:
        code: a key of ``converter.findings.RULES``.
        problem: what is wrong, in a few words.
        table, row, offset, value, expected: as in :class:`ConversionError`, of the first place.
        rows: every row of the table that is concerned, where there may be several. A tolerant
            reader leaves out what :attr:`~converter.findings.Rule.drops` says of them.
        count: how many places are concerned.
    """

    code: str
    problem: str
    table: str | None = None
    row: int | None = None
    offset: int | None = None
    value: object = None
    expected: object = None
    rows: NDArray[np.int64] | None = field(default=None, repr=False, compare=False)
    count: int = 1

    @property
    def rule(self) -> Rule:
        """The rule that does not hold."""
        return RULES[self.code]

    @property
    def severity(self) -> Severity:
        """``error``, ``warning`` or ``note``."""
        return self.rule.severity

    def facts(self) -> dict[str, Any]:
        """The finding as plain JSON values; what is not known is left out."""
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
        """The finding as an error."""
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


def more(problem: str, count: int, what: str = "rows") -> str:
    """The problem, with in how many other places it is."""
    return problem + (f" (and in {count - 1} more {what})" if count > 1 else "")


def without_errors(
    findings: list[Finding], file: str, entry: str | None = None, mode: Mode = "default"
) -> list[Finding]:
    """The findings, none of them one that is refused.

    Args:
        findings: about a file.
        file, entry: what the message calls it.
        mode: what is refused (:meth:`~converter.findings.Rule.fails`).

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


def told(findings: list[Finding]) -> list[str]:
    """What the user of a conversion should know: warnings, and what a tolerant reader left out."""
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
