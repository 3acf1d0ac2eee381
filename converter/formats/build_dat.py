"""``BuildDat.lst``: object categories of areals, every byte kept.

The file is text. Empty lines and lines that start with ``//`` are skipped; a header
``<Category> <count>`` is followed by exactly ``count`` other lines, each a path in double quotes;
the order of the paths matters (upgrade ladder; docs/reference/build_dat.md). Not established, and
assumed here: blanks at both ends of a line do not matter; category names compare exactly, letter
case included; of two headers with one name the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import ConversionError, printable
from ..findings import Finding, Rule, Rules
from .names import decode_text

_rule = Rules("BuildDat.lst", "docs/reference/build_dat.md#grammar")

#: What findings and errors call the file.
TABLE = "BuildDat.lst"

#: The twelve categories and their masks, in the order of docs/reference/build_dat.md.
CATEGORIES: dict[str, int] = {
    "Bunker_Small": 0x80010000,
    "Bunker_Medium": 0x80020000,
    "Bunker_Large": 0x80040000,
    "Generator": 0x80000002,
    "Mine": 0x80000004,
    "Storage": 0x80000008,
    "Plant": 0x80000010,
    "Hangar": 0x80000040,
    "MainTeleport": 0x80000200,
    "Institute": 0x80000400,
    "Tower_Medium": 0x80100000,
    "Tower_Large": 0x80200000,
}

_PATH = re.compile(rb'\s*"([^"]*)"\s*')
_HEADER = re.compile(rb"\s*(\S+)\s*(.*?)\s*", re.DOTALL)
_NUMBER = re.compile(rb"[+-]?[0-9]+")
_COUNT = re.compile(rb"[0-9]{1,9}")


@dataclass
class Section:
    """A header and the lines that belong to it; all numbers are line indices from 0.

    Attributes:
        name: the category as written, known or not.
        count: the header's count, ``None`` where it is not a number: then every line up to the
            next header belongs to the section.
        rows: the lines that the count covers, corrupted ones included.
        paths: those of them that hold a path in double quotes.
    """

    name: str
    header: int
    count: int | None
    rows: list[int] = field(default_factory=list)
    paths: list[int] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether the count covers one more line."""
        return self.count is None or len(self.rows) < self.count


@dataclass(frozen=True)
class BuildDat:
    """The lines of the file; ``lines``: the raw lines with their ends (CRLF, LF or CR; the last one may have none)."""

    lines: tuple[bytes, ...]

    @property
    def text(self) -> str:
        """The whole file as text (``archive.decode_text``: CP1251, else latin-1)."""
        return decode_text(b"".join(self.lines))

    @property
    def categories(self) -> dict[str, list[str]]:
        """Paths by category, both in the file's order; of the known categories that it has.

        Corrupted path lines are left out.
        """
        return {s.name: [self._path(row) for row in s.paths] for s in self._known()}

    def check(self) -> list[Finding]:
        """Findings in order of lines; ``row`` is the line's number, counted from 1.

        Errors: ``build-category`` (unknown name), ``build-count`` (no number, negative, or
        more than the path lines that follow), ``build-path`` (no path in double quotes where
        one is due), ``build-stray`` (a path that no count covers), ``build-line`` (neither
        header nor path). Warning: ``build-twice`` (a category's second header).
        """
        return scan(self.lines)[1]

    def _known(self) -> Iterator[Section]:
        """The first section of every known category."""
        seen: set[str] = set()
        for section in scan(self.lines)[0]:
            if section.name in CATEGORIES and section.name not in seen:
                seen.add(section.name)
                yield section

    def _path(self, row: int) -> str:
        match = _PATH.fullmatch(self.lines[row])
        assert match is not None
        return decode_text(match[1])


BUILD_CATEGORY = _rule(
    "build-category", "error", "A category is one of the twelve.", "docs/reference/build_dat.md", drops="the section"
)(why='The game stops with "BuildDat.lst is corrupted".', fix="Correct the name; case matters.")
BUILD_COUNT = _rule(
    "build-count", "error", "A category's count is the number of paths that follow.", drops="the section"
)(why='The game stops with "BuildDat.lst is corrupted".', fix="Correct the count.")
BUILD_PATH = _rule("build-path", "error", "Paths are in double quotes.", drops="the line")(
    why='The game stops with "BuildDat.lst is corrupted".', fix="Put the path in double quotes."
)
BUILD_EMPTY = _rule("build-empty", "warning", "A path is not empty.")(
    why="There is no such unit.", fix="Name a unit, or remove the line and lower the count."
)
BUILD_STRAY = _rule("build-stray", "error", "Every path is covered by a count.", drops="the line")(
    why='The game stops with "BuildDat.lst is corrupted".', fix="Raise the count, or remove the path."
)
BUILD_LINE = _rule("build-line", "error", "A line is empty, a comment, a header or a path.", drops="the line")(
    why='The game stops with "BuildDat.lst is corrupted".', fix="Start it with // or remove it."
)
BUILD_TWICE = _rule("build-twice", "warning", "A category has one header.")(
    why="Which one counts is not known; the first is used.", fix="Join the two."
)


def scan(lines: Sequence[bytes]) -> tuple[list[Section], list[Finding]]:
    """The sections of raw lines, and findings as of :meth:`BuildDat.check`."""
    sections: list[Section] = []
    findings: list[Finding] = []

    def find(rule: Rule, problem: str, row: int, value: object, expected: object = None) -> None:
        finding = Finding(rule, problem, TABLE, row + 1, value=value, expected=expected)
        findings.append(finding)

    for row, line in enumerate(lines):
        body = line.strip()
        if not body or body.startswith(b"//"):
            continue
        shown = printable(decode_text(body))
        header = _header(body)
        if header is not None:
            name, count = header
            valid = _COUNT.fullmatch(count) is not None
            sections.append(Section(name, row, int(count) if valid else None))
            if name not in CATEGORIES:
                find(BUILD_CATEGORY, "unknown category", row, printable(name))
            elif any(section.name == name for section in sections[:-1]):
                find(BUILD_TWICE, "category appears twice; the first one counts", row, name)
            if not valid:
                find(BUILD_COUNT, "count is not a number of lines", row, shown, "0 or more")
        elif sections and sections[-1].open:
            sections[-1].rows.append(row)
            if match := _PATH.fullmatch(body):
                sections[-1].paths.append(row)
                if not match[1].strip():
                    find(BUILD_EMPTY, "path is empty", row, shown)
            else:
                find(BUILD_PATH, "path is not in double quotes", row, shown)
        elif _PATH.fullmatch(body):
            find(BUILD_STRAY, "path belongs to no category: the category before it is full", row, shown)
        else:
            find(BUILD_LINE, "line is neither a header nor a path", row, shown)

    for section in sections:
        if section.count is not None and section.open:
            problem = f"too few paths follow {printable(section.name)}"
            find(BUILD_COUNT, problem, section.header, len(section.rows), section.count)
    return sections, sorted(findings, key=lambda finding: finding.row or 0)


def _header(body: bytes) -> tuple[str, bytes] | None:
    """Name and count text of a header line.

    A known name makes a header, whatever follows it; any other single word does with a whole
    number after it, unless it looks like a path.
    """
    match = _HEADER.fullmatch(body)
    assert match is not None
    name, count = decode_text(match[1]), match[2]
    if name in CATEGORIES or (_NUMBER.fullmatch(count) and not re.search(rb'["\\/]', match[1])):
        return name, count
    return None


def read_build_dat(data: bytes, label: str, *, strict: bool = False) -> tuple[BuildDat, list[Finding]]:
    """Any bytes as the lines of the file; corrupted lines are kept and reported.

    Args:
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


def write_build_dat(build_dat: BuildDat) -> bytes:
    """The bytes of the file: those it was read from, where nothing was edited."""
    return b"".join(build_dat.lines)
