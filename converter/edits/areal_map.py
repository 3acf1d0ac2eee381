"""Change the areals of a map: area, normal, anchor, links and cells follow together.

The rules are in docs/reference/areal_map.md, What the writer does. Nothing here writes to the map that it is given.
What is not understood is kept: the unknown words of a record, and the further links and polys of an areal with
``poly_count`` > 0, even where these name areals by number. Lists of cells that change become ascending.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConversionError
from ..formats.areal_map import (
    AREAL_DTYPE,
    AREAL_LINK_DTYPE,
    AREALS,
    CELL_LIMIT,
    CELLS,
    ArealMap,
    anchor_inside,
    link_targets,
    numbers_without,
    points_inside,
    require_areal,
    signed_areas,
    without_areals,
)
from ..numeric.arrays import F32, F64, I64, Bools, Records, near_pairs
from ..numeric.surfaces import cells_under, crossing_edges, shared_area, triangulate

_Kind = TypeVar("_Kind", bound=np.generic)

#: End points this close, in every coordinate, are the same.
MATCH_DISTANCE = 1e-3
#: The largest difference from length 1 which float32 leaves on a unit vector.
_UNIT = 1e-6


@dataclass(frozen=True, eq=False)
class NewAreal:
    """An areal to add.

    Attributes:
        vertices: (n, 3) x, y, z in map units, counter-clockwise.
        class_id: 240, 242 = lake, else 1..29 in the game's files.
        logic: the logic flag, 0 or 1 in the game's files.
        normal: (3,), normalised.
    """

    vertices: ArrayLike
    class_id: int
    logic: int
    normal: ArrayLike = (0.0, 0.0, 1.0)


def replace_polygons(areals: ArealMap, polygons: Mapping[int, ArrayLike]) -> ArealMap:
    """Return the map with the vertices of some areals replaced, as :func:`edit_areals` does."""
    return edit_areals(areals, polygons=polygons)[0]


def add_areal(areals: ArealMap, added: NewAreal) -> ArealMap:
    """Return the map with one more areal, the last, as :func:`edit_areals` does."""
    return edit_areals(areals, added=[added])[0]


def remove_areals(areals: ArealMap, indices: Iterable[int]) -> ArealMap:
    """Return the map without some areals, as :func:`edit_areals` does."""
    return edit_areals(areals, removed=indices)[0]


def edit_areals(
    areals: ArealMap,
    *,
    removed: Iterable[int] = (),
    polygons: Mapping[int, ArrayLike] | None = None,
    added: Sequence[NewAreal] = (),
) -> tuple[ArealMap, dict[int, int]]:
    """Return the map with many edits at once; cells that no edit concerns keep their lists.

    An areal whose vertices are what they were is not edited. An anchor stays unless it is no longer inside
    (:func:`repair_anchors`, which finds that of a new areal too, at the mean height of the vertices). Areals after a
    removed one move up; links to it become -1/-1. Unknown words of a new areal are 0, and it has no polys.

    Args:
        removed: areals; a number may come twice.
        polygons: areal -> (n, 3) x, y, z in map units, counter-clockwise, as float32; none of the removed.
        added: areals to add, after all others.

    Returns:
        The map, and the areals of it that are edited or new with their old number, -1: new.

    Raises:
        ConversionError: no such areal; none would be left, or more than a cell's 16-bit ids can name; no polygon
            (shape, fewer than 3 vertices, not finite, no area, clockwise, edges that cross); another vertex count for
            an areal with polys; a number that does not fit; a cell would list more than 1,023 areals.
    """
    keep = np.ones(len(areals.records), np.bool_)
    for index in removed:
        require_areal(areals, index)
        keep[index] = False
    if keep.size and not keep.any():
        raise refused(areals, None, "a map needs at least one areal", value=f"all {len(keep)} removed")
    number = numbers_without(keep, np.arange(len(keep)))
    new = without_areals(areals, keep)
    corners, edited = [_own(new, new.vertices, row) for row in range(len(new.records))], list[int]()
    before: dict[int, int] = {}
    for index, value in (polygons or {}).items():
        polygon, row = _replacement(areals, index, value), int(number[index])
        before[row] = index
        if polygon is not None:
            corners[row] = polygon
            edited.append(row)
    records = [new.records]
    for one in added:
        row = len(corners)
        if row > 0xFFFF:
            raise refused(areals, None, "too many areals for the cells' 16-bit ids", value=row + 1, expected=65536)
        polygon = vertices_of(areals, row, one.vertices)
        require_polygon(areals, row, polygon)
        records.append(_new_record(areals, row, one, float(polygon[:, 2].astype(np.float64).mean())))
        corners.append(polygon)
        before[row] = -1
        edited.append(row)
    rows, counts = np.concatenate(records), [*map(len, corners)]
    stays = rows["vertex_count"] == counts
    stays[len(new.records) :] = False
    rows["vertex_count"] = counts
    links = np.full(sum(counts), -1, AREAL_LINK_DTYPE)
    links[np.repeat(stays, counts)] = new.links[stays[new.owner]]
    new = replace(
        new,
        records=rows,
        vertices=np.concatenate([new.vertices[:0], *corners]),
        vertex_start=np.cumsum([0, *counts]),
        links=links,
        extra_start=np.append(new.extra_start, new.extra_start[-1:].repeat(len(added))),
        polys=[*new.polys, *[b""] * len(added)],
    )
    new = _finished(new, np.array(sorted(edited), np.int64))
    ids = numbers_without(keep, areals.cell_ids)
    return _with_cells(areals, new, np.array(sorted(before), np.int64), ids), before


def _replacement(areals: ArealMap, index: int, value: ArrayLike) -> F32 | None:
    """The new vertices of an areal, (n, 3); ``None``: as stored. Raises ConversionError: it cannot have them."""
    require_areal(areals, index)
    polygon, stored = vertices_of(areals, index, value), _own(areals, areals.vertices, index)
    if polygon.tobytes() == stored.tobytes():
        return None
    require_polygon(areals, index, polygon)
    if len(polygon) != len(stored) and areals.records["poly_count"][index]:
        problem = "areal has polys, whose meaning is not known: its vertex count must stay"
        raise refused(areals, index, problem, value=f"{len(polygon)} vertices", expected=len(stored))
    return polygon


def _new_record(areals: ArealMap, row: int, added: NewAreal, height: float) -> Records:
    """The record of a new areal, (1,); its anchor is nowhere yet. Raises ConversionError: a number does not fit."""
    for name, number in (("class_id", added.class_id), ("logic", added.logic)):
        if not 0 <= number <= 0xFFFFFFFF:
            raise refused(areals, row, f"{name} does not fit", value=number, expected="0..4294967295")
    with np.errstate(over="ignore"):
        normal = np.asarray(added.normal, np.float32)
    if normal.shape != (3,) or not np.isfinite(normal).all():
        raise refused(areals, row, "normal does not fit", value=normal.tolist(), expected="3 finite numbers")
    record = np.zeros(1, AREAL_DTYPE)
    record["class_id"], record["logic"], record["normal"] = added.class_id, added.logic, normal
    record["anchor"] = np.nan, np.nan, height
    return record


def repair_anchors(areals: ArealMap, which: Iterable[int] | None = None) -> ArealMap:
    """Return the map with anchors moved into their polygons, at a fixed place; z stays.

    The place is the polygon's centroid if that is inside, else the middle of the longest span inside on the horizontal
    line at half of the polygon's height, or on further lines at fixed fractions. Anchors that are inside stay. The
    runtime would move them at random. ``which``: the areals to look at; default: all. Raises ConversionError: no such
    areal, or a polygon so thin that no place is inside.
    """
    outside = ~anchor_inside(areals)
    rows = np.flatnonzero(outside).tolist() if which is None else which
    records = areals.records.copy()
    for row in rows:
        require_areal(areals, row)
        if outside[row]:
            place = inner_point(_own(areals, areals.vertices, row)[:, :2].astype(np.float64))
            if place is None:
                raise refused(areals, int(row), "polygon has no room for an anchor", hint="give it more area")
            records["anchor"][row, :2] = place
    return replace(areals, records=records)


def _own(areals: ArealMap, array: NDArray[_Kind], index: int) -> NDArray[_Kind]:
    """The part of a per-vertex array that belongs to one areal."""
    return array[areals.vertex_start[index] : areals.vertex_start[index + 1]]


def _finished(areals: ArealMap, edited: I64) -> ArealMap:
    """Return the map with all that follows from new vertices of areals but the cells. ``edited``: (K,) ascending."""
    broken = ~np.isfinite(areals.vertices).all(1)
    if broken.any():
        row = int(areals.owner[np.argmax(broken)])
        raise refused(areals, row, "vertex is not a finite number", value="inf or NaN", expected="finite")
    records = areals.records.copy()
    records["area"][edited] = signed_areas(areals)[edited]
    normal = records["normal"][edited].astype(np.float64)
    length = np.sqrt((normal**2).sum(1, keepdims=True))
    known = np.isfinite(length) & (length > 0)
    unit = np.where(known, normal / np.where(known, length, 1), (0.0, 0.0, 1.0))
    # a stored unit vector keeps its bytes
    records["normal"][edited] = np.where(np.abs(length - 1) <= _UNIT, normal, unit)
    areals = repair_anchors(replace(areals, records=records), edited.tolist())
    return replace(areals, links=_relinked(areals, edited))


def _relinked(areals: ArealMap, edited: I64) -> Records:
    """Return the links after an edit."""
    links, owner, count = areals.links.copy(), areals.owner, len(areals.records)
    is_edited = np.zeros(count, np.bool_)
    is_edited[edited] = True
    ours = is_edited[owner]
    exists = (links["areal"] >= 0) & (links["areal"] < count)
    led_here = exists & is_edited[np.where(exists, links["areal"], 0)]
    edges = np.flatnonzero(ours | led_here | areals.is_border)
    before = link_targets(areals)

    a = areals.vertices[edges].astype(np.float64)
    b = areals.vertices[areals.following[edges]].astype(np.float64)
    # middles of edges that match are as close as their ends; twice that leaves room for rounding
    i, j = near_pairs((a + b) / 2, 2 * MATCH_DISTANCE)

    def same(p: F64, q: F64) -> Bools:
        return np.asarray((np.abs(p - q) <= MATCH_DISTANCE).all(1))

    opposite = same(a[i], b[j]) & same(b[i], a[j])
    fits = opposite | (same(a[i], a[j]) & same(b[i], b[j]))
    fits &= (ours[edges[i]] | ours[edges[j]]) & (owner[edges[i]] != owner[edges[j]])
    i, j, opposite = edges[i[fits]], edges[j[fits]], opposite[fits]
    linked = (before[i] == j) | (before[j] == i)
    first, second = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((second, first, ~opposite, ~linked))
    first, second = first[order], second[order]

    links[ours | led_here] = np.array((-1, -1), AREAL_LINK_DTYPE)
    # in rounds: whatever pair comes first for both of its edges is one that greed would take
    while len(first):
        rank = np.arange(len(first))
        best = np.full(len(links), len(first))
        np.minimum.at(best, first, rank)
        np.minimum.at(best, second, rank)
        take = (best[first] == rank) & (best[second] == rank)
        for edge, other in ((first[take], second[take]), (second[take], first[take])):
            links["areal"][edge] = owner[other]
            links["edge"][edge] = other - areals.vertex_start[owner[other]]
        used = np.zeros(len(links), np.bool_)
        used[first[take]] = used[second[take]] = True
        left = ~(used[first] | used[second])
        first, second = first[left], second[left]
    return links


def _with_cells(old: ArealMap, new: ArealMap, edited: I64, ids: I64) -> ArealMap:
    """The new map with the cells that follow from its polygons.

    Args:
        old: the map whose cells are known.
        new: the map with its new polygons; its cells are ignored.
        edited: indices into ``new``.
        ids: (C,) ``old.cell_ids`` by the new numbers, -1 = removed.
    """
    cells = new.cells_x * new.cells_y
    if not cells:
        return new
    cell = np.repeat(np.arange(cells), np.diff(old.cell_start))
    moved = not np.array_equal(old.extent, new.extent)
    if moved:
        edited = np.arange(len(new.records))
        cell, ids = cell[:0], ids[:0]
    low, high = new.extent
    borders = [np.linspace(low[k], high[k], count + 1) for k, count in enumerate((new.cells_x, new.cells_y))]
    touched, overlapped = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for index in edited.tolist():
        polygon = _own(new, new.vertices, index)[:, :2].astype(np.float64)
        at, touch, overlap = cells_under(polygon, borders[0], borders[1])
        touched.append(index * cells + at[touch])
        overlapped.append(index * cells + at[overlap])
    code = ids * cells + cell
    lost = (ids < 0) | (np.isin(ids, edited) & ~np.isin(code, np.concatenate(touched)))
    gained = np.concatenate(overlapped)
    gained = gained[~np.isin(gained, code)]
    changed = np.zeros(cells, np.bool_)
    changed[cell[lost]] = True
    changed[gained % cells] = True

    cell = np.append(cell[~lost], gained % cells)
    ids = np.append(ids[~lost], gained // cells)
    counts = np.bincount(cell, minlength=cells)
    full = changed & (counts > CELL_LIMIT)
    if full.any():
        row = int(np.argmax(full))
        x, y = divmod(row, new.cells_y)
        raise ConversionError(
            f"cell {x}, {y} would list too many areals",
            file=new.archive.label,
            table=CELLS,
            row=row,
            value=int(counts[row]),
            expected=f"at most {CELL_LIMIT}",
        )
    # lists that did not change keep their order, whatever it is
    order = np.lexsort((np.where(changed[cell], ids, np.arange(len(ids))), cell))
    return replace(new, cell_start=np.append(0, np.cumsum(counts)), cell_ids=ids[order].astype(np.uint16))


#: A polygon of less than this part of its extent's square has no area.
_FLAT = 1e-9
#: Where an anchor is looked for, as fractions of the polygon's height.
_LINES = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8, 1 / 16, 15 / 16)


def vertices_of(areals: ArealMap, row: int, value: ArrayLike) -> F32:
    """Return (n, 3) float32 vertices. Raises ConversionError: another shape."""
    with np.errstate(over="ignore"):  # becomes infinite, which is refused
        polygon = np.array(value, np.float32)
    if polygon.ndim != 2 or polygon.shape[1] != 3:
        raise refused(areals, row, "polygon has a wrong shape", value=polygon.shape, expected="(n, 3)")
    return polygon


def require_polygon(areals: ArealMap, row: int, polygon: F32) -> None:
    """Refuse what is not a simple, counter-clockwise polygon with an area. (n, 3) float32."""
    if len(polygon) < 3:
        raise refused(areals, row, "polygon has too few vertices", value=len(polygon), expected="at least 3")
    if not np.isfinite(polygon).all():
        raise refused(areals, row, "polygon is not finite", value="inf or NaN", expected="finite")
    xy = polygon[:, :2].astype(np.float64)
    xy -= xy[0]
    following = np.roll(xy, -1, 0)
    area = float((xy[:, 0] * following[:, 1] - xy[:, 1] * following[:, 0]).sum() / 2)
    if abs(area) <= _FLAT * float(np.ptp(xy, 0).max()) ** 2:
        raise refused(areals, row, "polygon has no area", value=area, expected="a positive area")
    if area < 0:
        expected, hint = "counter-clockwise", "give the vertices counter-clockwise, seen from above"
        raise refused(areals, row, "polygon is clockwise", value=f"area {area:g}", expected=expected, hint=hint)
    crossing = crossing_edges(xy)
    if crossing is not None:
        text = f"{crossing[0]} and {crossing[1]}"
        raise refused(areals, row, "edges of the polygon cross", value=text, expected="none")


def refused(
    areals: ArealMap,
    row: int | None,
    problem: str,
    value: object = None,
    expected: object = None,
    hint: str | None = None,
) -> ConversionError:
    """Return the error for an areal, or a map, that an edit cannot have."""
    file = areals.archive.label
    return ConversionError(problem, file=file, table=AREALS, row=row, value=value, expected=expected, hint=hint)


def inner_point(xy: F64) -> F32 | None:
    """Return a place inside a polygon, exact in float32; ``None`` where there is no room.

    Its centroid if that is inside, else the middle of the longest span inside on the horizontal
    line at half of its height, or on further lines at fixed fractions. (n, 2) float64.
    """
    start = np.array([0, len(xy)])

    def inside(place: F64) -> F32 | None:
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = place.astype(np.float32)
        hit = points_inside(xy, start, rounded[None].astype(np.float64), np.zeros(1, np.int64))
        return rounded if hit[0] else None

    if len(xy) < 3 or not np.isfinite(xy).all():
        return None
    following = np.roll(xy, -1, 0)
    local, ahead = xy - xy[0], following - xy[0]
    weight = local[:, 0] * ahead[:, 1] - local[:, 1] * ahead[:, 0]
    if weight.sum() != 0:
        centroid = (weight[:, None] * (local + ahead)).sum(0) / (3 * weight.sum()) + xy[0]
        if (place := inside(centroid)) is not None:
            return place
    low, high = xy[:, 1].min(), xy[:, 1].max()
    for fraction in _LINES:
        y = low + fraction * (high - low)
        cut = (xy[:, 1] <= y) != (following[:, 1] <= y)
        a, b = xy[cut], following[cut]
        x = np.sort(a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1]))
        if len(x):
            longest = int(np.argmax(x[1::2] - x[::2]))
            middle = (x[2 * longest] + x[2 * longest + 1]) / 2
            if (place := inside(np.array([middle, y]))) is not None:
                return place
    return None


def require_no_overlap(old: ArealMap, new: ArealMap, before: Mapping[int, int]) -> None:
    """Refuse edited areals that lie over others, more than they did.

    What two areals share along their border, no deeper than ``MATCH_DISTANCE``, does not count. ``before``: each edited
    areal, and which of the old map it was, -1: new.
    """
    number = {after: was for after, was in before.items() if was >= 0}
    xy, start = new.vertices[:, :2].astype(np.float64), new.vertex_start[:-1]
    low, high = np.minimum.reduceat(xy, start), np.maximum.reduceat(xy, start)
    lengths = np.bincount(new.owner, np.hypot(*(xy[new.following] - xy).T), minlength=len(new.records))
    unmoved = np.ones(len(new.records), np.bool_)
    unmoved[list(before)] = False
    for areal in sorted(before):
        near = ((low < high[areal]) & (high > low[areal])).all(axis=1)
        near[areal] = False
        near &= unmoved | (np.arange(len(near)) > areal)
        for other in np.flatnonzero(near).tolist():
            area, place = _overlap(new, areal, other)
            allowed = MATCH_DISTANCE * min(lengths[areal], lengths[other])
            if area <= allowed:
                continue
            if areal in number and (was := _old_number(other, number, old, new)) is not None:
                area -= _overlap(old, number[areal], was)[0]
            if area > allowed:
                raise ConversionError(
                    f"areals {areal} and {other} overlap",
                    value=f"{area:g} square units at ({place[0]:g}, {place[1]:g})",
                    hint="move their common corners together, or cut the border of one",
                )


def _old_number(other: int, number: Mapping[int, int], old: ArealMap, new: ArealMap) -> int | None:
    """Which areal of the old map one of the new map is, if it is known and not moved."""
    if other in number:
        return number[other]
    polygon = _own(new, new.vertices, other).tobytes()
    among = range(min(other, len(old.records) - 1), len(old.records))
    return next((k for k in among if _own(old, old.vertices, k).tobytes() == polygon), None)


def _overlap(areals: ArealMap, one: int, other: int) -> tuple[float, F64]:
    """The area that two areals share, and a place in it."""
    a, b = (_triangles(areals, k) for k in (one, other))
    area, centre = shared_area(np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1, 1)))
    return float(area.sum()), centre[np.argmax(area)]


def _triangles(areals: ArealMap, index: int) -> F64:
    xy = _own(areals, areals.vertices, index)[:, :2].astype(np.float64)
    return xy[triangulate(xy, np.array([0, len(xy)]))]
