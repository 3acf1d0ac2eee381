"""WEAR text (``.wea``): names of materials and lightmaps by row, every byte kept.

A count, then that many ``<id> <name>`` rows; where there are lightmaps, a blank line, the word
``LIGHTMAPS``, a count and rows of the same form (docs/reference/wear.md). Rows are selected by
position: ids have no effect.

Not stated there, and assumed here: a row's name is all that follows the id; lower case
``lightmaps`` counts too; lines of NUL bytes count as blank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..errors import ConversionError, in_words, printable
from ..findings import Finding, Rule, Rules, more
from .material import DEFAULT_MATERIAL
from .names import decode_text, encode_name
from .nres import NAME_SIZE

_rule = Rules("WEAR", "docs/reference/wear.md#grammar")

#: What findings and errors call the file.
TABLE = "WEAR"
#: Ending of a WEAR file.
WEAR_ENDING = ".wea"
#: What follows a terrain's stem in the names of its two: materials, microtextures.
LEVEL_ENDINGS = ("1.wea", "2.wea")
#: Type of a WEAR's directory entry.
WEAR_TYPE = int.from_bytes(b"WEAR", "little")

_LIGHTMAPS = "LIGHTMAPS"
#: More digits than this are not a count of rows (and Python refuses to read very long numbers).
_COUNT_DIGITS = 9


@dataclass(frozen=True)
class Wear:
    """The text of a WEAR.

    Attributes:
        text: the whole file, line ends included. It is what ``archive.decode_text`` makes of the
            bytes, and ``archive.encode_name`` makes the same bytes of it.
    """

    text: str
    label: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines with their ends; the last one may have none."""
        return self.text.splitlines(keepends=True)

    @property
    def materials(self) -> list[str]:
        """Names of the materials by row, ``""`` for a row that has none.

        The rows that the count covers, as far as they are there: a ``LIGHTMAPS`` line ends them.
        """
        return list(self._scanned[0])

    @property
    def lightmaps(self) -> list[str]:
        """Names of the lightmaps by row; empty where there is no such section."""
        return list(self._scanned[1])

    def check(self) -> list[Finding]:
        """Findings in order of lines; ``row`` is the line's number, counted from 1."""
        return list(self._scanned[2])

    @cached_property
    def _scanned(self) -> tuple[list[str], list[str], list[Finding]]:
        return _scan(self.text.splitlines())


def new_wear(materials: Sequence[str], lightmaps: Sequence[str] = (), label: str = "") -> Wear:
    """A WEAR of names by row in the form of the game's files: CRLF, ids equal to positions, no blank line at the end,
    no ``LIGHTMAPS`` section without lightmaps (derived from the files).

    Raises ConversionError: a name that would not come back: empty, with blanks at its ends, with a line break, or not
    CP1251.
    """
    text = _section(materials, "materials")
    if lightmaps:
        text += f"\r\n{_LIGHTMAPS}\r\n{_section(lightmaps, 'lightmaps')}"
    return Wear(text, label)


def edited_wear(wear: Wear, names: Mapping[int, str]) -> Wear:
    """Return a WEAR, which has no error findings, with other names of materials by row; everything else keeps its
    bytes.

    Rows that it lacks are added after its last one; those between that nobody names are ``DEFAULT``. Each name is one
    that :func:`is_row_name` accepts. Raises ConversionError: its text is not CP1251, and a name is not ASCII.
    """
    lines, count = wear.lines, len(wear.materials)
    for row in names.keys() & range(count):
        head, _, tail = _split_row(lines[1 + row])
        lines[1 + row] = f"{head}{names[row]}{tail}"
    if more_rows := range(count, max(names, default=-1) + 1):
        end = _line_end(lines[0]) or "\r\n"
        last = lines[count]
        added = [f"{row} {names.get(row, DEFAULT_MATERIAL)}{end}" for row in more_rows]
        if not _line_end(last):  # the text ends with its last row
            lines[count], added[-1] = last + end, added[-1].removesuffix(end)
        lines[1 + count : 1 + count] = added
        lines[0] = lines[0].replace(lines[0].strip(), str(more_rows.stop), 1)
    text = "".join(lines)
    if decode_text(encode_name(text)) != text:
        problem = "its text is not CP1251 and cannot hold a name that is not ASCII"
        raise ConversionError(problem, file=wear.label, value=", ".join(map(printable, names.values())))
    return replace(wear, text=text)


def is_material_name(name: str) -> bool:
    """Return whether a row and an entry of ``Material.lib`` can have a name."""
    return is_row_name(name) and len(encode_name(name)) < NAME_SIZE


def row_name(line: str) -> str:
    """The name in a ``<id> <name>`` row, ``""`` where there is none."""
    parts = line.split(None, 1)
    return parts[1].strip() if len(parts) == 2 else ""


def is_row_name(name: str) -> bool:
    """Whether a name comes back as it is: one line of CP1251 text without NUL and blanks around."""
    try:
        name.encode("cp1251")
    except UnicodeEncodeError:
        return False
    return len(name.splitlines()) == 1 and row_name(f"0 {name}") == name and "\0" not in name


def agrees(names: Sequence[str], wear: Sequence[str]) -> bool:
    """Whether an existing WEAR's rows name what a new one's ``names`` would, where these are not ``DEFAULT``."""
    return len(wear) >= len(names) and all(
        new.casefold() in (old.casefold(), DEFAULT_MATERIAL.casefold()) for new, old in zip(names, wear, strict=False)
    )


def _section(names: Sequence[str], title: str) -> str:
    for row, name in enumerate(names):
        if not is_row_name(name):
            problem, value = "name cannot be written", f"{in_words(name)}"
            expected = "one line of CP1251 text without blanks at its ends"
            raise ConversionError(problem, table=f"{TABLE} ({title})", row=row, value=value, expected=expected)
    rows = "".join(f"{row} {name}\r\n" for row, name in enumerate(names))
    return f"{len(names)}\r\n{rows}"


def _split_row(line: str) -> tuple[str, str, str]:
    """What stands before a row's name, the name, and what follows it."""
    found = re.fullmatch(r"(\s*\S+\s+)(.*?)(\s*)", line, re.DOTALL)
    assert found is not None, "rows without a name are errors"
    return found[1], found[2], found[3]


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _is_blank(line: str) -> bool:
    return not line.replace("\0", "").strip()


WEAR_COUNT = _rule(
    "wear-count", "error", "The first line is the number of rows that follow.", drops="the rows that are missing"
)(why="Rows are selected by position: names are missing.", fix="Correct the count.")
WEAR_ROW = _rule("wear-row", "error", "A row is an id and a name.", drops="the row")(
    why="The row has no material.", fix="Add the name."
)
WEAR_ID = _rule("wear-id", "warning", "A row's id is its position.")(
    why="Rows are selected by position: the id misleads.", fix="Number the rows from 0."
)
WEAR_EXTRA = _rule("wear-extra", "warning", "Nothing follows the rows but LIGHTMAPS.")(
    why="It is never read; perhaps the count is too small.", fix="Raise the count, or remove the lines."
)
WEAR_BLANK = _rule("wear-blank", "warning", "A blank line precedes LIGHTMAPS.")(
    why="The game may take the word for a row.", fix="Add a blank line."
)


def _scan(lines: Sequence[str]) -> tuple[list[str], list[str], list[Finding]]:
    """Materials, lightmaps and findings of lines without their ends."""
    findings: list[Finding] = []
    words = [line.strip().upper() == _LIGHTMAPS for line in lines]
    border = words.index(True) if True in words else len(lines)
    materials = _read_section(lines, 0, border, findings)
    lightmaps: list[str] = []
    if border < len(lines):
        if border and not _is_blank(lines[border - 1]):
            problem = f"no blank line before {_LIGHTMAPS}"
            findings.append(Finding(WEAR_BLANK, problem, TABLE, border + 1))
        head = border + 1
        while head < len(lines) and _is_blank(lines[head]):
            head += 1
        lightmaps = _read_section(lines, head, len(lines), findings)
    return materials, lightmaps, sorted(findings, key=lambda finding: finding.row or 0)


def _read_section(lines: Sequence[str], head: int, border: int, findings: list[Finding]) -> list[str]:
    """Names of the rows after the count in line ``head``, which end before ``border``."""

    def find(rule: Rule, problem: str, at: int, value: object, expected: object, count: int = 1) -> None:
        finding = Finding(rule, problem, TABLE, at + 1, None, value, expected, count=count)
        findings.append(finding)

    if head >= border:
        find(WEAR_COUNT, "count is missing", head, None, "a number of rows")
        return []
    text = lines[head].strip()
    if not text.isdecimal() or len(text) > _COUNT_DIGITS:
        find(WEAR_COUNT, "count is not a number of rows", head, printable(text), "0 or more")
        return []
    count = int(text)
    first = head + 1
    end = min(first + count, border)
    extra = [at for at in range(end, border) if not _is_blank(lines[at])]
    while end > first and _is_blank(lines[end - 1]):
        end -= 1  # so that a count that is too large does not make rows of blank lines
    if end - first < count:
        find(WEAR_COUNT, "fewer rows than the count", head, end - first, count)
    wrong = []
    for row, line in enumerate(lines[first:end]):
        if not row_name(line):
            find(WEAR_ROW, "row has no name", first + row, printable(line), "<id> <name>")
        elif (line.split()[0].lstrip("0") or "0") != str(row):
            wrong.append(row)
    if wrong:
        row = wrong[0]
        problem = more("id is not the row's position", len(wrong))
        shown = printable(lines[first + row].split()[0])
        find(WEAR_ID, problem, first + row, shown, row, len(wrong))
    if extra:
        problem = more("line after the rows is not read", len(extra), "lines")
        shown = printable(lines[extra[0]])
        find(WEAR_EXTRA, problem, extra[0], shown, f"{count} rows", len(extra))
    return [row_name(line) for line in lines[first:end]]


def read_wear(data: memoryview | bytes, label: str) -> tuple[Wear, list[Finding]]:
    """Read any bytes as a WEAR; what is invalid is kept and reported, as of :meth:`Wear.check`."""
    wear = Wear(decode_text(bytes(data)), label)
    return wear, wear.check()


def read_wear_names(data: memoryview | bytes) -> list[str]:
    """The material names by row; empty where the text is not a WEAR.

    Every line that the count covers is a row here, whatever it holds;
    :attr:`Wear.materials` stops at ``LIGHTMAPS``. Without error findings both are the same.
    """
    lines = decode_text(bytes(data)).splitlines()
    if not lines or not lines[0].strip().isdecimal():
        return []
    count = lines[0].strip()
    last = 1 + int(count) if len(count) < 10 else len(lines)
    return [row_name(line) for line in lines[1:last]]


def read_lightmap_names(data: memoryview | bytes) -> list[str]:
    """The lightmap names by row; empty where there is no such section."""
    text = bytes(data)
    return Wear(decode_text(text)).lightmaps if b"LIGHTMAPS" in text.upper() else []


def write_wear(wear: Wear) -> bytes:
    """The bytes of a WEAR: those it was read from, where nothing was edited."""
    return encode_name(wear.text)
