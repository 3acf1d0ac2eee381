"""Areal maps (``Land.map``) as arrays (docs/reference/areal_map.md).

Changing the polygons is ``edits.areal_map``, the areal at a point and paths ``queries.landscape``.

Coordinates are game axes and map units: x to the right, y forward, z up; an areal is a polygon
in x and y, counter-clockwise seen from above. Edge ``k`` of an areal runs from its vertex ``k``
to the next one (the last edge: back to vertex 0), so vertices, edges and links share one index.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from struct import Struct
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConversionError, plural
from ..findings import Rules
from ..numeric.arrays import F32, F64, I64, U16, Bools, Records, field_offset, ranges
from .kinds import AREAL_MAP_TYPE
from .nres import Archive, Entry, write_nres
from .nres_edits import replace_entry

AREAL_DTYPE = np.dtype(
    [
        ("anchor", "<f4", (3,)),  # +0
        ("opaque12", "<f4"),  # +12  0 in the game's files
        ("area", "<f4"),  # +16  area of the polygon seen from above
        ("normal", "<f4", (3,)),  # +20  unit
        ("logic", "<u4"),  # +32  0, 1 = walkable
        ("opaque36", "<u4"),  # +36  0 in the game's files
        ("class_id", "<u4"),  # +40  240, 242 = lake, else 1..29
        ("opaque44", "<u4"),  # +44  0 in the game's files
        ("vertex_count", "<u4"),  # +48
        ("poly_count", "<u4"),  # +52  0 in the game's files
    ]
)
assert AREAL_DTYPE.itemsize == 56

#: x, y, z of a vertex, map units.
AREAL_VERTEX_DTYPE = np.dtype(("<f4", (3,)))

AREAL_LINK_DTYPE = np.dtype(
    [
        ("areal", "<i4"),  # +0   the areal across the edge, -1 = none
        ("edge", "<i4"),  # +4   the same edge's index there, -1 = none
    ]
)
assert AREAL_LINK_DTYPE.itemsize == 8


_rule = Rules("areal map", "docs/reference/areal_map.md")

#: What messages call the three parts of the entry.
AREALS = "Type 12 (areals)"
LINKS = "Type 12 (links)"
CELLS = "Type 12 (cells)"

#: The most ids that a runtime cell word can count (docs/reference/areal_map.md).
CELL_LIMIT = (1 << 10) - 1

_Row = TypeVar("_Row", bound=np.generic)
#: Records that each poly adds to the links of its areal.
_LINKS_OF_POLY = 3
#: Of a record its numbers of vertices and of polys.
_COUNTS = Struct(f"<{field_offset(AREAL_DTYPE, 'vertex_count')}xII")
assert field_offset(AREAL_DTYPE, "poly_count") == _COUNTS.size - 4
#: Bytes after the record: of a vertex with its link, and of a poly's links.
_CORNER = AREAL_VERTEX_DTYPE.itemsize + AREAL_LINK_DTYPE.itemsize
_EXTRA = _LINKS_OF_POLY * AREAL_LINK_DTYPE.itemsize

AREAL_ENTRY = _rule("areal-entry", "error", "An areal map has an entry of type 12.")(
    why='The game stops with "Cannot find chunk in resource".', fix="Take the file from a backup."
)
AREAL_SIZE = _rule("areal-size", "error", "Areals and cells fit the entry.")(
    why="The game would read past the entry.", fix="The entry was cut, or a count is wrong: take it from a backup."
)
AREAL_TAIL = _rule("areal-tail", "error", "Areals and cells fill the entry to its last byte.")(
    why='The game stops with "Incorrect ArealMap".', fix="A count is wrong: take the entry from a backup."
)


@dataclass(frozen=True, eq=False)
class ArealMap:
    """All areals of a map end to end, and the grid of cells that lists them.

    N areals, V vertices (and edges, and links) of all areals together, E further links, C
    listed ids. Arrays are not to be written to: editing functions return a new map.

    Attributes:
        archive: the file: names, attributes, gaps and whatever other entries it has.
        records: (N,) ``AREAL_DTYPE``.
        vertices: (V, 3) float32, map units.
        vertex_start: (N + 1,) int64; areal ``i`` has the vertices
            ``vertex_start[i]:vertex_start[i + 1]``.
        links: (V,) ``AREAL_LINK_DTYPE``: what lies across each edge, -1/-1 = nothing.
        extra_links: (E,) ``AREAL_LINK_DTYPE``: the ``3 * poly_count`` records after the links of
            an areal; kept, not understood.
        extra_start: (N + 1,) int64, as ``vertex_start`` for ``extra_links``.
        polys: per areal the raw bytes of its ``poly_count`` branch; kept, not understood.
        cells_x, cells_y: size of the grid, which spans the vertices' extent.
        cell_start: (cells_x * cells_y + 1,) int64; cell (x, y) is row ``x * cells_y + y`` and
            lists ``cell_ids[cell_start[row]:cell_start[row + 1]]``.
        cell_ids: (C,) uint16, indices of areals.
    """

    archive: Archive
    records: Records
    vertices: F32
    vertex_start: I64
    links: Records
    extra_links: Records
    extra_start: I64
    polys: list[bytes]
    cells_x: int
    cells_y: int
    cell_start: I64
    cell_ids: U16

    @property
    def entry(self) -> Entry:
        """The entry that the map was read from (:func:`areal_entry`)."""
        return areal_entry(self.archive)

    @cached_property
    def owner(self) -> I64:
        """(V,) the areal of every vertex, edge and link."""
        return np.repeat(np.arange(len(self.records)), np.diff(self.vertex_start))

    @cached_property
    def is_border(self) -> Bools:
        """(V,) whether an edge's link says that it has no neighbour."""
        return np.asarray((self.links["areal"] == -1) & (self.links["edge"] == -1))

    @cached_property
    def following(self) -> I64:
        """(V,) the vertex at the other end of every edge: the next one of the polygon."""
        after = np.arange(len(self.vertices)) + 1
        some = np.diff(self.vertex_start) > 0
        after[self.vertex_start[1:][some] - 1] = self.vertex_start[:-1][some]
        return after

    @cached_property
    def record_offsets(self) -> I64:
        """(N + 1,) where each record starts in the entry, bytes; last: where the grid starts."""
        polys = np.cumsum([0, *map(len, self.polys)])
        rows = np.arange(len(self.records) + 1) * AREAL_DTYPE.itemsize
        links: I64 = _CORNER * self.vertex_start + AREAL_LINK_DTYPE.itemsize * self.extra_start
        return np.asarray(rows + links + polys)

    @cached_property
    def extent(self) -> tuple[F64, F64]:
        """Lowest and highest x, y of all vertices, (2,) float64 each: what the grid spans.

        NaN where there are no vertices, or where one is not finite.
        """
        xy = game_xy(self.vertices)
        if not len(xy) or not np.isfinite(xy).all():
            return np.full(2, np.nan), np.full(2, np.nan)
        return xy.min(0), xy.max(0)


def areal_entry(archive: Archive) -> Entry:
    """The areal map's entry: the first of type 12 (docs/reference/areal_map.md).

    Raises ConversionError: there is none.
    """
    entry = archive.first_of_type(AREAL_MAP_TYPE)
    if entry is None:
        problem, value = "holds no areal map", f"types {sorted(archive.type_ids)}"
        expected = f"an entry of type {AREAL_MAP_TYPE}"
        raise ConversionError(
            problem, file=archive.label, table=AREALS, value=value, expected=expected, code=AREAL_ENTRY.code
        )
    return entry


def game_xy(points: F32) -> F64:
    """Return x and y of points in float64. (n, 3) -> (n, 2)."""
    with np.errstate(invalid="ignore"):  # a signalling NaN in the file
        return points[:, :2].astype(np.float64)


def require_areal(areals: ArealMap, index: int) -> None:
    """Refuse an index that no areal has."""
    if not 0 <= index < len(areals.records):
        problem, expected = "there is no such areal", f"0..{len(areals.records) - 1}"
        raise ConversionError(problem, file=areals.archive.label, table=AREALS, value=index, expected=expected)


def read_areal_map(archive: Archive) -> ArealMap:
    """Read the first entry of type 12; the directory's ``attr1`` is the number of areals. Arrays are read-only copies.

    Every count is checked against the bytes that are left before anything is made from it, and all bytes must be
    consumed: the runtime stops with "Incorrect ArealMap" where they are not. What parses but cannot be right is for
    ``converter.checks.areal_map``.

    Raises ConversionError: no entry of type 12, or its size does not fit its counts; with the row and the byte offset
    in the file.
    """
    entry = areal_entry(archive)
    data = _Data(memoryview(entry.payload), archive.label, entry.data_offset)
    data.require(entry.attr1 * AREAL_DTYPE.itemsize, 0, 0, f"{entry.attr1} areals (attr1)")
    starts, polys, at = _find_areals(data, entry.attr1)
    records = _joined(data, starts, np.ones_like(starts), AREAL_DTYPE)
    corners, extra = (records[k].astype(np.int64) for k in ("vertex_count", "poly_count"))
    extra *= _LINKS_OF_POLY
    at_vertices = starts + AREAL_DTYPE.itemsize
    at_links = at_vertices + corners * AREAL_VERTEX_DTYPE.itemsize
    at_extra = at_links + corners * AREAL_LINK_DTYPE.itemsize
    size, cell_start, cell_ids = _read_grid(data, at)
    return ArealMap(
        archive,
        records,
        _joined(data, at_vertices, corners, AREAL_VERTEX_DTYPE),
        _frozen(np.append(0, np.cumsum(corners))),
        _joined(data, at_links, corners, AREAL_LINK_DTYPE),
        _joined(data, at_extra, extra, AREAL_LINK_DTYPE),
        _frozen(np.append(0, np.cumsum(extra))),
        polys,
        *size,
        _frozen(cell_start),
        _frozen(cell_ids),
    )


@dataclass(frozen=True)
class _Data:
    """The entry's bytes, and where they lie in the file."""

    bytes: memoryview
    label: str
    offset: int

    def require(self, size: int, at: int, row: int, what: str, table: str = AREALS) -> None:
        """Refuse what would run past the entry."""
        if size > len(self.bytes) - at:
            raise ConversionError(
                f"{what} would run past the entry",
                file=self.label,
                table=table,
                row=row,
                offset=self.offset + at,
                value=plural(size, "byte"),
                expected=f"at most {len(self.bytes) - at}",
                code=AREAL_SIZE.code,
            )


def _find_areals(data: _Data, count: int) -> tuple[I64, list[bytes], int]:
    """Where each areal starts, what polys each has, and where the grid starts, in bytes."""
    given, starts, polys, at = data.bytes, [], [], 0
    for row in range(count):
        starts.append(at)
        data.require(AREAL_DTYPE.itemsize, at, row, "an areal")
        corners, parts = _COUNTS.unpack_from(given, at)
        at += AREAL_DTYPE.itemsize
        size = corners * _CORNER + parts * _EXTRA
        if size + 4 * parts > len(given) - at:
            data.require(size + 4 * parts, at, row, f"{corners} vertices and {parts} polys")
        end = at = at + size
        for _ in range(parts):
            words = 3 * int.from_bytes(given[at : at + 4], "little") + 1
            data.require(4 * words, at, row, "a poly")
            at += 4 * words
        polys.append(bytes(given[end:at]))
    return np.array(starts, np.int64), polys, at


def _read_grid(data: _Data, at: int) -> tuple[tuple[int, int], I64, U16]:
    """The grid at an offset: its size, where each cell's ids start, and the ids."""
    data.require(8, at, 0, "the grid's size", CELLS)
    across, down = np.frombuffer(data.bytes[at : at + 8], "<u4").tolist()
    at += 8
    data.require(2 * across * down, at, 0, f"{across} x {down} cells", CELLS)
    words = np.frombuffer(data.bytes[at : at + (len(data.bytes) - at) // 2 * 2], "<u2")
    heads = _cell_heads(words, across * down)
    short = heads[1:] > len(words)
    if short.any():
        row = int(np.argmax(short))
        head = int(heads[row])
        data.require(2, at + 2 * head, row, "a cell", CELLS)
        data.require(2 + 2 * int(words[head]), at + 2 * head, row, "a cell", CELLS)
    end = at + 2 * int(heads[-1])
    if end != len(data.bytes):
        raise ConversionError(
            "areal map has bytes left after its last cell",
            file=data.label,
            table=CELLS,
            row=across * down,
            offset=data.offset + end,
            value=plural(len(data.bytes) - end, "byte"),
            expected="none: the runtime stops with Incorrect ArealMap",
            code=AREAL_TAIL.code,
        )
    listed = np.ones(len(words), np.bool_)
    listed[heads[:-1]] = False
    return (across, down), heads - np.arange(len(heads)), words[listed]


def _cell_heads(words: U16, cells: int) -> I64:
    """Where each of a chain of ``count, id, id, ...`` lists starts, and where the last ends. (W,) -> (cells + 1,).

    The start of a list follows from the one before it, which would be a loop over all cells. Doubling avoids it: the
    first ``n`` heads and the step over ``n`` lists give ``2 n`` heads; ``W + 1`` from where the words do not suffice.
    """
    size = len(words)
    step = np.append(np.arange(size) + 1 + words, [size + 1, size + 1])
    step = np.minimum(step, size + 1)
    heads = np.zeros(1, np.int64)
    while len(heads) < cells + 1:
        heads = np.append(heads, step.take(heads))
        step = step.take(step)
    return heads[: cells + 1]


def _joined(data: _Data, start: I64, count: I64, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The rows that lie in several places of the entry, read-only. (n,) places in bytes, (n,) rows of each."""
    # up to the grid, the entry consists of 32-bit words
    words = np.frombuffer(data.bytes[: len(data.bytes) // 4 * 4], "<u4")
    taken = words[ranges(start // 4, count * (dtype.itemsize // 4))]
    return np.frombuffer(taken.tobytes(), dtype)


def _frozen(array: NDArray[_Row]) -> NDArray[_Row]:
    array.flags.writeable = False
    return array


def areal_payload(areals: ArealMap) -> bytes:
    """The bytes of the entry of type 12.

    A map that was read and not changed gives the bytes it was read from. Raises ConversionError: counts and arrays of
    the map contradict each other, or a cell lists more ids than its count word can hold.
    """
    _require_consistent(areals)
    parts: list[bytes] = []
    corners, extras = areals.vertex_start.tolist(), areals.extra_start.tolist()
    for i, poly in enumerate(areals.polys):
        own, extra = slice(corners[i], corners[i + 1]), slice(extras[i], extras[i + 1])
        parts += [
            areals.records[i : i + 1].tobytes(),
            areals.vertices[own].tobytes(),
            areals.links[own].tobytes(),
            areals.extra_links[extra].tobytes(),
            poly,
        ]
    counts = np.diff(areals.cell_start)
    heads = areals.cell_start[:-1] + np.arange(len(counts))
    words = np.empty(len(counts) + len(areals.cell_ids), "<u2")
    listed = np.ones(len(words), np.bool_)
    listed[heads] = False
    words[heads] = counts
    words[listed] = areals.cell_ids
    size = np.array([areals.cells_x, areals.cells_y], "<u4")
    return b"".join([*parts, size.tobytes(), words.tobytes()])


def write_areal_map(areals: ArealMap) -> bytes:
    """The whole file: its entry of type 12 replaced if it changed, with ``attr1`` (docs/reference/areal_map.md), every
    other byte kept. Raises ConversionError: as :func:`areal_payload`; or the file has no such entry.
    """
    payload, entry, count = areal_payload(areals), areals.entry, len(areals.records)
    archive = areals.archive
    if entry.payload != payload or entry.attr1 != count:
        index = next(i for i, e in enumerate(archive.entries) if e is entry)
        archive = replace_entry(archive, index, payload, attr1=count)
    return write_nres(archive)


def _require_consistent(areals: ArealMap) -> None:
    def fail(problem: str, table: str, value: object, expected: object) -> ConversionError:
        label = areals.archive.label
        return ConversionError(problem, file=label, table=table, value=value, expected=expected)

    for field, per, start, arrays in (
        ("vertex_count", 1, areals.vertex_start, [areals.vertices, areals.links]),
        ("poly_count", _LINKS_OF_POLY, areals.extra_start, [areals.extra_links]),
    ):
        counts = per * areals.records[field].astype(np.int64)
        if not np.array_equal(np.diff(start), counts) or any(len(a) != start[-1] for a in arrays):
            lengths = [len(array) for array in arrays]
            raise fail(f"{field} does not fit the arrays", AREALS, lengths, int(counts.sum()))
    if len(areals.polys) != len(areals.records):
        raise fail("polys do not fit", AREALS, len(areals.polys), len(areals.records))
    cells = areals.cells_x * areals.cells_y
    if len(areals.cell_start) != cells + 1 or areals.cell_start[-1] != len(areals.cell_ids):
        raise fail("cells do not fit the grid", CELLS, len(areals.cell_start) - 1, cells)
    most = int(np.diff(areals.cell_start).max(initial=0))
    if most > 0xFFFF:
        raise fail("too many ids in a cell", CELLS, most, "at most 65535")


def signed_areas(areals: ArealMap) -> F64:
    """(N,) float64: shoelace area of each polygon in x and y, negative if clockwise."""
    xy = game_xy(areals.vertices)
    with np.errstate(invalid="ignore"):
        # from the polygon's first vertex: far from the origin the products would cancel badly
        xy = xy - xy[areals.vertex_start[:-1][areals.owner]]
        following = xy[areals.following]
        twice = xy[:, 0] * following[:, 1] - xy[:, 1] * following[:, 0]
    return np.bincount(areals.owner, twice, minlength=len(areals.records)) / 2


def points_inside(xy: F64, start: I64, points: F64, polygon: I64) -> Bools:
    """Whether each point lies inside its polygon: even-odd, half-open; no point or polygon that is not finite does.

    A point on an edge belongs to the polygon on the right of it (on a horizontal edge: above it). Both neighbours of an
    edge compute the same, so a point of a tiling is in exactly one.

    Args:
        xy, start: (V, 2) vertices of all polygons end to end, (N + 1,) where each starts.
        points, polygon: (K, 2), (K,) which polygon each is tested against.
    """
    count = np.diff(start)[polygon]
    edge = ranges(start[:-1][polygon], count)
    pair = np.repeat(np.arange(len(points)), count)
    last = start[1:][polygon][pair] - 1
    a, b = xy[edge], xy[np.where(edge == last, start[:-1][polygon][pair], edge + 1)]
    p = points[pair]
    flip = (a[:, 1] > b[:, 1])[:, None]
    low, high = np.where(flip, b, a), np.where(flip, a, b)
    with np.errstate(invalid="ignore"):
        along, across = high - low, p - low
        spans = (low[:, 1] <= p[:, 1]) & (p[:, 1] < high[:, 1])
        left = across[:, 0] * along[:, 1] < across[:, 1] * along[:, 0]
    crossings = np.bincount(pair[spans & left], minlength=len(points))
    broken = np.bincount(pair[~np.isfinite(a).all(1)], minlength=len(points))
    return np.asarray((crossings % 2 == 1) & (broken == 0))


def anchor_inside(areals: ArealMap) -> Bools:
    """(N,) bool: whether each areal's anchor lies in its polygon (x and y).

    The runtime moves one that does not at random (docs/reference/areal_map.md), ``edits.areal_map.repair_anchors`` not.
    """
    return points_inside(
        game_xy(areals.vertices), areals.vertex_start, game_xy(areals.records["anchor"]), np.arange(len(areals.records))
    )


def link_targets(areals: ArealMap) -> I64:
    """(V,) int64: the edge across each edge, as an index into ``links``.

    -1 where there is none, or where the link names no edge that exists.
    """
    areal, edge = (areals.links[k].astype(np.int64) for k in ("areal", "edge"))
    exists = (areal >= 0) & (areal < len(areals.records))
    areal = np.where(exists, areal, 0)
    exists &= (edge >= 0) & (edge < np.append(np.diff(areals.vertex_start), 0)[areal])
    return np.where(exists, areals.vertex_start[areal] + edge, -1)


def numbers_without(keep: Bools, of: ArrayLike) -> I64:
    """Return the numbers that areals have without those that are not kept; -1 = removed, or there is no such areal."""
    number = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    return np.asarray(number[np.clip(np.asarray(of, np.int64), -1, len(keep))])


def without_areals(areals: ArealMap, keep: Bools) -> ArealMap:
    """Return the map without some areals, (N,) bool; links to them, or to no edge, become -1/-1, ids of such go."""
    links, targets = areals.links.copy(), link_targets(areals)
    links["areal"] = numbers_without(keep, np.where(targets < 0, -1, areals.owner[targets]))
    links["edge"][links["areal"] < 0] = -1
    left, of_extra = keep[areals.owner], np.repeat(np.arange(len(keep)), np.diff(areals.extra_start))
    ids = numbers_without(keep, areals.cell_ids)
    cells = len(areals.cell_start) - 1
    cell = np.repeat(np.arange(cells), np.diff(areals.cell_start))
    return replace(
        areals,
        records=areals.records[keep],
        vertices=areals.vertices[left],
        vertex_start=np.append(0, np.cumsum(np.diff(areals.vertex_start)[keep])),
        links=links[left],
        extra_links=areals.extra_links[keep[of_extra]],
        extra_start=np.append(0, np.cumsum(np.diff(areals.extra_start)[keep])),
        polys=[areals.polys[i] for i in np.flatnonzero(keep)],
        cell_start=np.append(0, np.cumsum(np.bincount(cell[ids >= 0], minlength=cells))),
        cell_ids=ids[ids >= 0].astype(np.uint16),
    )
