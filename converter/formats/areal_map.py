"""An areal map (``Land.map``) as arrays, and what follows from them.

Source: docs/reference/areal_map.md. Reading bytes is ``importers.areal_map``, writing them
``exporters.areal_map``, changing polygons ``converter.edits.areal_map``, the areal at a point and
paths ``converter.queries.areal_map``.

Coordinates are game axes and map units: x to the right, y forward, z up; an areal is a polygon
in x and y, counter-clockwise seen from above. Edge ``k`` of an areal runs from its vertex ``k``
to the next one (the last edge: back to vertex 0), so vertices, edges and links share one index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConversionError
from ..findings import Rule
from ..numeric.arrays import Bools, Floats, Ints, ranges
from .archive import Archive, Entry
from .tables import (
    AREAL_CELL_COUNT_BITS,
    AREAL_CELL_START_BITS,
    AREAL_DTYPE,
    AREAL_LINK_DTYPE,
    AREAL_MAP_TYPE,
    AREAL_VERTEX_DTYPE,
)

_rule = partial(Rule, "areal map", source="docs/reference/areal_map.md")

#: What messages call the three parts of the entry.
AREALS = "Type 12 (areals)"
LINKS = "Type 12 (links)"
CELLS = "Type 12 (cells)"

#: The most ids that a runtime cell word can count (docs/reference/areal_map.md).
CELL_LIMIT = (1 << AREAL_CELL_COUNT_BITS) - 1
_START_LIMIT = (1 << AREAL_CELL_START_BITS) - 1


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
    records: NDArray[np.void]
    vertices: NDArray[np.float32]
    vertex_start: Ints
    links: NDArray[np.void]
    extra_links: NDArray[np.void]
    extra_start: Ints
    polys: list[bytes]
    cells_x: int
    cells_y: int
    cell_start: Ints
    cell_ids: NDArray[np.uint16]

    @property
    def entry(self) -> Entry:
        """The entry that the map was read from (:func:`areal_entry`)."""
        return areal_entry(self.archive)

    @cached_property
    def owner(self) -> Ints:
        """(V,) the areal of every vertex, edge and link."""
        return np.repeat(np.arange(len(self.records)), np.diff(self.vertex_start))

    @cached_property
    def following(self) -> Ints:
        """(V,) the vertex at the other end of every edge: the next one of the polygon."""
        after = np.arange(len(self.vertices)) + 1
        some = np.diff(self.vertex_start) > 0
        after[self.vertex_start[1:][some] - 1] = self.vertex_start[:-1][some]
        return after

    @cached_property
    def record_offsets(self) -> Ints:
        """(N + 1,) where each record starts in the entry, bytes; last: where the grid starts."""
        polys = np.cumsum([0, *map(len, self.polys)])
        rows = np.arange(len(self.records) + 1) * AREAL_DTYPE.itemsize
        per_vertex = AREAL_VERTEX_DTYPE.itemsize + AREAL_LINK_DTYPE.itemsize
        per_extra = AREAL_LINK_DTYPE.itemsize
        links: Ints = per_vertex * self.vertex_start + per_extra * self.extra_start
        offsets: Ints = rows + links + polys
        return offsets

    @cached_property
    def extent(self) -> tuple[Floats, Floats]:
        """Lowest and highest x, y of all vertices, (2,) float64 each: what the grid spans.

        NaN where there are no vertices, or where one is not finite.
        """
        xy = game_xy(self.vertices)
        if not len(xy) or not np.isfinite(xy).all():
            return np.full(2, np.nan), np.full(2, np.nan)
        return xy.min(0), xy.max(0)


AREAL_ENTRY = _rule(
    "areal-entry",
    "error",
    "An areal map has an entry of type 12.",
    why='The game stops with "Cannot find chunk in resource".',
    fix="Take the file from a backup.",
)


def areal_entry(archive: Archive) -> Entry:
    """The areal map's entry: the first of type 12 (docs/reference/areal_map.md).

    Raises:
        ConversionError: there is none.
    """
    entry = archive.first_of_type(AREAL_MAP_TYPE)
    if entry is None:
        raise ConversionError(
            "holds no areal map",
            file=archive.label,
            table=AREALS,
            value=f"types {sorted(archive.type_ids)}",
            expected=f"an entry of type {AREAL_MAP_TYPE}",
            code=AREAL_ENTRY.code,
        )
    return entry


# What importers.areal_map refuses.
AREAL_SIZE = _rule(
    "areal-size",
    "error",
    "Areals and cells fit the entry.",
    why="The game would read past the entry.",
    fix="The entry was cut, or a count is wrong: take it from a backup.",
)
AREAL_TAIL = _rule(
    "areal-tail",
    "error",
    "Areals and cells fill the entry to its last byte.",
    why='The game stops with "Incorrect ArealMap".',
    fix="A count is wrong: take the entry from a backup.",
)


def game_xy(points: NDArray[np.float32]) -> Floats:
    """Return x and y of points in float64. (n, 3) -> (n, 2)."""
    with np.errstate(invalid="ignore"):  # a signalling NaN in the file
        return points[:, :2].astype(np.float64)


def signed_areas(areals: ArealMap) -> Floats:
    """(N,) float64: shoelace area of each polygon in x and y, negative if clockwise."""
    xy = game_xy(areals.vertices)
    with np.errstate(invalid="ignore"):
        # from the polygon's first vertex: far from the origin the products would cancel badly
        xy = xy - xy[areals.vertex_start[:-1][areals.owner]]
        following = xy[areals.following]
        twice = xy[:, 0] * following[:, 1] - xy[:, 1] * following[:, 0]
    return np.bincount(areals.owner, twice, minlength=len(areals.records)) / 2


def points_inside(xy: Floats, start: Ints, points: Floats, polygon: Ints) -> Bools:
    """Whether each point lies inside its polygon: even-odd, half-open.

    A point on an edge belongs to the polygon on the right of it (on a horizontal edge: above
    it). Both neighbours of an edge compute the same, so a point of a tiling is in exactly one.

    Args:
        xy: (V, 2) float64, vertices of all polygons end to end.
        start: (N + 1,) where each polygon starts.
        points: (K, 2) float64.
        polygon: (K,) which polygon each point is tested against.

    Returns:
        (K,) bool; false for points and polygons that are not finite.
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

    The runtime moves an anchor that does not: up to 100 random tries within about 30 units,
    then 200 within about 100 (docs/reference/areal_map.md). ``edits.areal_map.repair_anchors`` is
    deterministic.
    """
    return points_inside(
        game_xy(areals.vertices), areals.vertex_start, game_xy(areals.records["anchor"]), np.arange(len(areals.records))
    )


# ------------------------------------------------------------------ links


def link_targets(areals: ArealMap) -> Ints:
    """(V,) int64: the edge across each edge, as an index into ``links``.

    -1 where there is none, or where the link names no edge that exists.
    """
    areal, edge = (areals.links[k].astype(np.int64) for k in ("areal", "edge"))
    exists = (areal >= 0) & (areal < len(areals.records))
    areal = np.where(exists, areal, 0)
    exists &= (edge >= 0) & (edge < np.append(np.diff(areals.vertex_start), 0)[areal])
    return np.where(exists, areals.vertex_start[areal] + edge, -1)


def require_areal(areals: ArealMap, index: int) -> None:
    """Refuse an index that no areal has.

    Raises:
        ConversionError: there is no such areal.
    """
    if not 0 <= index < len(areals.records):
        raise ConversionError(
            "there is no such areal",
            file=areals.archive.label,
            table=AREALS,
            value=index,
            expected=f"0..{len(areals.records) - 1}",
        )


# ------------------------------------------------------------------ runtime cell words


def pack_cells(counts: ArrayLike, starts: ArrayLike) -> NDArray[np.uint32]:
    """The words which the runtime keeps per cell (docs/reference/areal_map.md).

    Args:
        counts: (n,) how many ids each cell lists: the high 10 bits.
        starts: (n,) one-based index of its first id in the pool of all ids: the low 22 bits.

    Returns:
        (n,) uint32.

    Raises:
        ConversionError: a count or start does not fit, named by its cell.
    """
    count, start = np.asarray(counts, np.int64), np.asarray(starts, np.int64)
    for value, bad, problem, expected in (
        (count, (count < 0) | (count > CELL_LIMIT), "too many ids in a cell", f"0..{CELL_LIMIT}"),
        (
            start,
            (start < (count > 0)) | (start > _START_LIMIT),
            "start of a cell's ids does not fit its word",
            f"1..{_START_LIMIT}",
        ),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            raise ConversionError(problem, table=CELLS, row=row, value=int(value[row]), expected=expected)
    return (count << AREAL_CELL_START_BITS | start).astype(np.uint32)


def unpack_cells(words: ArrayLike) -> tuple[Ints, Ints]:
    """Counts and one-based starts, (n,) int64 each, of runtime cell words (:func:`pack_cells`)."""
    word = np.asarray(words, np.uint32).astype(np.int64)
    return word >> AREAL_CELL_START_BITS, word & _START_LIMIT


def cell_words(areals: ArealMap) -> NDArray[np.uint32]:
    """(cells_x * cells_y,) uint32: the runtime's word of every cell.

    A cell without ids gets the start that a first id of it would have; the source does not say
    what the runtime leaves there, and with count 0 nothing reads it.

    Raises:
        ConversionError: a cell lists more than 1,023 ids, or there are more than 4,194,303.
    """
    try:
        return pack_cells(np.diff(areals.cell_start), areals.cell_start[:-1] + 1)
    except ConversionError as error:
        raise error.at(file=areals.archive.label) from None
