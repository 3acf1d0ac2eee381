"""``BuildDat.lst`` to :class:`~converter.formats.build_dat.BuildDat`.

Source: docs/reference/build_dat.md.
"""

from __future__ import annotations

from ..converter.errors import ConversionError
from ..converter.findings import Finding
from ..converter.formats.build_dat import TABLE, BuildDat


def read_build_dat(data: bytes, label: str, *, strict: bool = False) -> tuple[BuildDat, list[Finding]]:
    """Any bytes as the lines of the file; corrupted lines are kept and reported.

    Args:
        data: the file.
        label: what errors call it.
        strict: stop at the first error, as the game does.

    Returns:
        The lines, and the findings of :meth:`BuildDat.check`: their ``row`` is the line's
        number, counted from 1.

    Raises:
        ConversionError: ``strict``, and a finding is an error.
    """
    lines = BuildDat(tuple(bytes(data).splitlines(keepends=True)))
    findings = lines.check()
    for finding in findings:
        if strict and finding.severity == "error":
            raise ConversionError(
                f"{TABLE} is corrupted: {finding.problem}",
                file=label,
                table=finding.table,
                row=finding.row,
                value=finding.value,
                expected=finding.expected,
                hint="rows count lines from 1",
            )
    return lines, findings
