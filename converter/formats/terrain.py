"""Terrains (``Land.msh``): their tables, plus every unknown entry; and ``BuildDat.lst``, categories of what is built.

Source: docs/reference/terrain.md. Two levels follow each other in the same tables: the first half of the slots and
their faces are the fine one, the second half the coarse one, which uses vertices of the fine one. Faces run square by
square.

``BuildDat.lst``, categories of objects of areals, is text, of which every byte is kept. Empty lines and lines that
start with ``//`` are skipped; a header ``<Category> <count>`` is followed by exactly ``count`` other lines, each a path
in double quotes; the order of the paths matters (upgrade ladder; docs/reference/build_dat.md). Not established, and
assumed here: blanks at both ends of a line do not matter; category names compare exactly, letter case included; of two
headers with one name the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, printable
from ..findings import Finding, Rule, Rules
from ..numeric.arrays import F32, F64, I64, NONE16, Bools, Records, covered, ranges
from .names import decode_text
from .nres import Archive
from .tables import (
    HEADER_DTYPE,
    NODE_DTYPE,
    SLOT_DTYPE,
    Presence,
    Stored,
    TableFile,
    TableRules,
    TableSpec,
    by_type,
    read_tables,
    record_bytes,
    vector,
    write_tables,
)


class TerrainStream(IntEnum):
    """The type ids of the tables of a terrain (decimal)."""

    SQUARES = 1
    SLOTS = 2
    POSITIONS = 3
    NORMALS = 4
    UV0 = 5
    DRAW_ORDER = 11
    BLEND = 14
    MICRO_UV = 18
    FACES = 21


FACE_DTYPE = np.dtype(
    [
        ("flags", "<u4"),  # +0   see converter.numeric.surfaces
        ("first", "u1"),  # +4   materialId: row of Land1.wea
        ("second", "u1"),  # +5   auxByte: row of Land1.wea laid over it, 0xFF = none
        ("opaque6", "<u2"),  # +6
        ("vertex", "<u2", (3,)),  # +8   i0..i2
        ("link", "<u2", (3,)),  # +14  n0..n2, neighbour across edge k, 0xFFFF = none
        ("normal", "<i2", (3,)),  # +20  / 32767
        ("selectors", "u1"),  # +26  edgeClass: 2 bits an edge, 3 = none
        ("opaque27", "u1"),  # +27
    ]
)
assert FACE_DTYPE.itemsize == 28

DRAW_DTYPE = np.dtype(
    [
        ("face", "<u2"),  # +0
        ("flags", "u1"),  # +2   0x48, and 0x10 on the first of a group
        ("opaque3", "u1"),  # +3
    ]
)
assert DRAW_DTYPE.itemsize == 4

_T = TerrainStream

#: Type id -> table of a terrain, in the game's order of loading (docs/reference/terrain.md).
TERRAIN_TABLES = by_type(
    TableSpec(_T.POSITIONS, "positions", vector("<f4", 3), Presence.REQUIRED, 12, True),
    TableSpec(_T.NORMALS, "normals", vector("i1", 4), Presence.REQUIRED, 4, True),
    TableSpec(_T.UV0, "UV0", vector("<i2", 2), Presence.REQUIRED, 4, True),
    TableSpec(_T.MICRO_UV, "microtexture UV", vector("<i2", 2), Presence.REQUIRED, 4, True),
    TableSpec(_T.BLEND, "blend", np.dtype("<f4"), Presence.OPTIONAL, 4, True),
    TableSpec(_T.FACES, "faces", FACE_DTYPE, Presence.REQUIRED, 28),
    TableSpec(_T.SLOTS, "slots", SLOT_DTYPE, Presence.REQUIRED, 68, header=HEADER_DTYPE),
    TableSpec(_T.SQUARES, "squares", NODE_DTYPE, Presence.REQUIRED, 38),
    TableSpec(_T.DRAW_ORDER, "draw order", DRAW_DTYPE, Presence.REQUIRED, 4),
)

_rule = Rules("terrain", "docs/reference/terrain.md#the-tables")

MOST_VERTICES = 0xFFFF
MOST_FACES = 0x7FFF
#: How far a vertex may lie outside its square, in squares: what float32 rounds.
BORDER = 1e-4

FINE, COARSE = 0, 1
LEVELS = ("fine", "coarse")
#: "No second material".
NO_MATERIAL = 0xFF

TERRAIN_TABLES_RULE = _rule("terrain-tables", "error", "A terrain has tables 1, 2, 3, 4, 5, 11, 18 and 21.")(
    why='The game stops with "Unable to open file" or "Unable to find microtexture mapping chunk".',
    fix="Take the file from a backup.",
)
TERRAIN_STRIDE = _rule(
    "terrain-stride",
    "error",
    "The size of a table is a multiple of its record (Res2: after 140 bytes).",
    drops="the last record",
)(why="The last record would be read past the end.", fix="The table was cut: take it from a backup.")
_RULES = TableRules(missing=TERRAIN_TABLES_RULE, size=TERRAIN_STRIDE, header=TERRAIN_TABLES_RULE)
# What a tolerant reader refuses.
TERRAIN_GROUND = _rule(
    "terrain-ground", "error", "Not all of the ground is broken.", "docs/checks.md#converting-a-broken-file"
)(why="Nothing is left to show.", fix="Take the file from a backup.")


@dataclass
class Grid:
    """The grid of squares (docs/reference/terrain.md).

    Attributes:
        low: (2,) float64, corner of the first square: x, y.
        size: (2,) float64, size of a square.
        across, down: squares along x and y.
        x_first: whether square 1 is the second along x, not along y.
    """

    low: F64
    size: F64
    across: int
    down: int
    x_first: bool = True

    def number(self, column: I64, row: I64) -> I64:
        """Square numbers of columns (along x) and rows (along y)."""
        return row * self.across + column if self.x_first else column * self.down + row

    def place(self, square: I64) -> tuple[I64, I64]:
        """Columns and rows of square numbers."""
        if self.x_first:
            return square % self.across, square // self.across
        return square // self.down, square % self.down

    def squares_at(self, points: NDArray[np.floating]) -> I64:
        """Square of each point, ``floor((p - low) / size)`` inside the grid. (..., 2+) -> (...)."""
        cell = np.floor((points[..., :2].astype(np.float64) - self.low) / self.size)
        column = np.clip(cell[..., 0], 0, self.across - 1).astype(np.int64)
        row = np.clip(cell[..., 1], 0, self.down - 1).astype(np.int64)
        return self.number(column, row)

    def box(self, square: I64) -> tuple[F64, F64]:
        """Low and high corners of squares, (..., 2) each."""
        column, row = self.place(square)
        corner = self.low + np.stack([column, row], axis=-1) * self.size
        return corner, corner + self.size

    def outside(self, points: F64, square: I64) -> Bools:
        """Which coordinates of faces lie beyond the border of a square: (n, corners, 2), (n,) -> (n, corners, 2)."""
        low, high = self.box(square)
        room = BORDER * self.size
        return np.asarray((points < (low - room)[:, None]) | (points > (high + room)[:, None]))


@dataclass
class Terrain(TableFile):
    """The tables of a terrain; the hull of its header is the box of the whole.

    Attributes:
        left_out: rows of faces that a tolerant reader does not show
            (``converter.checks.terrain``).
    """

    SPECS: ClassVar[Mapping[int, TableSpec]] = TERRAIN_TABLES

    left_out: I64 = field(default_factory=lambda: np.empty(0, np.int64))

    #: Res3, (V, 3) float32, game axes.
    positions = Stored[F32](_T.POSITIONS)
    #: Res4, (V, 4) int8.
    normals = Stored[NDArray[np.int8]](_T.NORMALS)
    #: Res5, (V, 2) int16 / 1024, of the material's texture.
    uv0 = Stored[NDArray[np.int16]](_T.UV0)
    #: Res18, (V, 2) int16 / 1024, of the microtexture; the words wrap.
    micro_uv = Stored[NDArray[np.int16]](_T.MICRO_UV)
    #: Res14, (V,) float32 0..1, alpha of the second material over the first.
    blend = Stored[F32 | None](_T.BLEND, None)
    #: Res21, ``FACE_DTYPE``.
    faces = Stored[Records](_T.FACES)
    #: Res1, ``NODE_DTYPE``: ``slot_index[0, 0]`` fine, ``[0, 1]`` coarse.
    squares = Stored[Records](_T.SQUARES)
    #: Res11, ``DRAW_DTYPE``.
    draw_order = Stored[Records](_T.DRAW_ORDER)

    @property
    def across(self) -> int:
        """Squares along x: ``attr2`` of Res1's directory entry."""
        entry = self.archive.first_of_type(_T.SQUARES)
        return entry.attr2 if entry else 0

    @property
    def down(self) -> int:
        """Squares along y: ``attr1 / attr2``."""
        return len(self.squares) // self.across if self.across else 0

    def without_cut(self) -> Terrain:
        """Return it as if no table had been cut: squares missing in a row have no slots."""
        squares, across = self.squares, self.across
        missing = -len(squares) % across if 0 < across <= len(squares) else 0
        empty = np.zeros(missing, squares.dtype)
        empty["slot_index"] = NONE16
        made = self.with_table(TerrainStream.SQUARES, np.concatenate([squares, empty]))
        return replace(made, cut=[])

    def square_slots(self, level: int) -> I64:
        """Slot of every square on a level, -1 = none. (S,)."""
        words = self.squares["slot_index"][:, 0, level].astype(np.int64)
        return np.where(words == NONE16, -1, words)

    def faces_of(self, level: int) -> I64:
        """Rows of the faces that a level's squares show, in table order."""
        slots = self.square_slots(level)
        shown = self.slots[slots[slots >= 0]]
        is_shown = covered(shown["tri_start"], shown["tri_count"], len(self.faces))
        is_shown[self.left_out] = False
        return np.flatnonzero(is_shown)

    @cached_property
    def square_of_face(self) -> I64:
        """Square of every face, by the slot that has it; -1 = none. (F,)."""
        out = np.full(len(self.faces), -1, np.int64)
        for level in (COARSE, FINE):
            slots = self.square_slots(level)
            square = np.flatnonzero(slots >= 0)
            start, count = (self.slots[k][slots[square]].astype(np.int64) for k in ("tri_start", "tri_count"))
            out[ranges(start, count)] = np.repeat(square, count)
        return out

    @cached_property
    def grid(self) -> Grid:
        """The squares: the box of the header, cut into ``across`` x ``down``.

        Which axis runs faster is read off the fine slots' boxes; x where they do not tell.
        """
        hull = self.header["hull"][0].astype(np.float64)
        low, high = hull.min(0)[:2], hull.max(0)[:2]
        across, down = max(self.across, 1), max(self.down, 1)
        size = (high - low) / [across, down]
        grid = Grid(low, np.where(size > 0, size, 1.0), across, down)
        slots = self.square_slots(FINE)
        square = np.flatnonzero(slots >= 0)
        box = self.slots[slots[square]]
        middle = (box["aabb_min"].astype(np.float64) + box["aabb_max"])[:, :2] / 2
        misses = []
        for x_first in (True, False):
            grid.x_first = x_first
            misses.append(int((grid.squares_at(middle) != square).sum()))
        grid.x_first = misses[0] <= misses[1]
        return grid


def too_many(what: str, value: int, most: int) -> ConversionError:
    """The error for a terrain that outgrows its 16-bit numbers (docs/levels.md)."""
    return ConversionError(f"too many {what} for a terrain", value=f"{value:,}", expected=f"at most {most:,}")


def read_terrain(archive: Archive, name: str, *, cut: bool = False) -> Terrain:
    """The tables of a terrain's container; unknown entries stay in the container. ``cut``: tables that end inside a
    record are read up to it, and ``Terrain.cut`` says so.

    Raises ConversionError: a required table is missing, or a size does not fit its records.
    """
    tables = read_tables(archive, TERRAIN_TABLES, what="terrain", rules=_RULES, cut=cut)
    return Terrain(name, archive, *tables)


def write_terrain(terrain: Terrain) -> bytes:
    """The bytes of a terrain. Tables that were not changed keep every byte, place and gap."""
    counts = {stream: len(table) for stream, table in terrain.streams.items()}
    return write_tables(terrain, record_bytes(terrain), counts)


_rule = Rules("BuildDat.lst", "docs/reference/build_dat.md#grammar")

#: What findings and errors call the file.
BUILD_DAT = "BuildDat.lst"

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
    def categories(self) -> dict[str, list[str]]:
        """Paths by category, both in the file's order; of the known categories that it has.

        Corrupted path lines are left out.
        """
        found: dict[str, list[str]] = {}
        for section in scan(self.lines)[0]:
            if section.name in CATEGORIES:
                found.setdefault(section.name, [self._path(row) for row in section.paths])
        return found

    def check(self) -> list[Finding]:
        """Findings in order of lines; ``row`` is the line's number, counted from 1."""
        return scan(self.lines)[1]

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
        findings.append(Finding(rule, problem, BUILD_DAT, row + 1, value=value, expected=expected))

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
    """Any bytes as the lines of the file; corrupted lines are kept and reported, as of :meth:`BuildDat.check`.

    Raises ConversionError: ``strict``, which stops at the first error, as the game does.
    """
    lines = BuildDat(tuple(bytes(data).splitlines(keepends=True)))
    findings = lines.check()
    for one in findings:
        if strict and one.severity == "error":
            problem, hint = f"{BUILD_DAT} is corrupted: {one.problem}", "rows count lines from 1"
            raise ConversionError(
                problem, file=label, table=one.table, row=one.row, value=one.value, expected=one.expected, hint=hint
            )
    return lines, findings


def write_build_dat(build_dat: BuildDat) -> bytes:
    """The bytes of the file: those it was read from, where nothing was edited."""
    return b"".join(build_dat.lines)
