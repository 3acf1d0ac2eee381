"""Which differences the report of an import explains, and lines for those that it does not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import plural, printable
from ..findings import Report
from .compare import Difference

#: Lines that a report gets at most.
MOST_LINES = 20
#: The reason of each line of the judge.
JUDGED = "no line of this report says why"
_INSTEAD = "make the edit in another way; what is not meant, undo"


def explained(difference: Difference, report: Report) -> bool:
    """Return whether a line of a report names the thing that a difference is about."""
    lines = [*report.warnings, *(str(one) for one in report.not_applied)]
    if difference.names & {name.casefold() for name in report.concerned}:
        return True
    if difference.moving and any(line.where.startswith("animation") for line in report.not_applied):
        return True
    names = {text for name in difference.names for text in (printable(name), repr(printable(name))[1:-1])}
    patterns = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in names]
    return any(re.search(pattern, line, re.IGNORECASE) for pattern in patterns for line in lines)


def tell(report: Report, differences: Sequence[Difference]) -> None:
    """Add a line for each difference that nothing explains, the largest first."""
    left = [one for one in differences if not explained(one, report)]
    left.sort(key=lambda one: -one.amount)
    lines: dict[str, list[Difference]] = {}
    for one in left:
        lines.setdefault(one.where, []).append(one)
    shown = [*lines.items()]
    if len(shown) > MOST_LINES:
        shown = shown[: MOST_LINES - 1]
    for where, found in shown:
        what = ", ".join(dict.fromkeys(one.what for one in found))
        report.skipped(where, what, JUDGED, _INSTEAD)
    if len(lines) > len(shown):
        rest = plural(len(lines) - len(shown), "other place")
        report.skipped(rest, "show something else in the game than in the file", JUDGED, _INSTEAD)
