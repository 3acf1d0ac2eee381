"""Find out what an edited file changes of an areal map, and refuse what does not fit.

Without ``_MSH_AREAL`` (docs/reference/gltf.md) nobody knows which areal a triangle belongs to:
``kinds.landscape`` refuses such a file in one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import ConversionError, plural
from ..findings import Report
from ..formats.areal_map import ArealMap, link_targets
from ..numeric.arrays import F32, F64, I64, Bools, triangulate
from ..numeric.surfaces import shared_area
from ..options import ImportOptions
from ..scene.scene import ImportedScene
from .areal_map import MATCH_DISTANCE, NewAreal
from .areal_polygons import (
    Shape,
    Shapes,
    crossing_edges,
    name_of,
    polygon_of,
    read_shapes,
    require_polygon,
    stored_outlines,
)

#: Polygons with more corners are not turned: pairs of all would take too much memory.
_MANY = 512
#: The most corners of an edited areal: whether its edges cross is found out in pairs of all.
MAX_CORNERS = 4096
#: Areals that a warning names.
_TOLD = 5


@dataclass
class ArealPlan:
    """What a file changes of a map.

    Attributes:
        polygons: new corners by areal, (n, 3).
        classes, logic: new values by areal.
    """

    report: Report
    removed: list[int] = field(default_factory=list)
    polygons: dict[int, F32] = field(default_factory=dict)
    added: list[NewAreal] = field(default_factory=list)
    classes: dict[int, int] = field(default_factory=dict)
    logic: dict[int, int] = field(default_factory=dict)

    @property
    def shapes_change(self) -> bool:
        """Whether more changes than classes and flags."""
        return bool(self.removed or self.polygons or self.added)


def plan_areals(edited: ImportedScene, areals: ArealMap, options: ImportOptions) -> ArealPlan:
    """Compare a file that has ``_MSH_AREAL`` with the stored map. Raises ConversionError: a polygon that no map can
    have: a hole, crossing edges, no area.
    """
    shapes, plan = read_shapes(edited, areals), ArealPlan(edited.report)
    outlines = stored_outlines(areals, shapes.stored)
    kept = _keepers(shapes, areals, outlines)
    for number, shape in kept.items():
        _compare(plan, shapes, shape, areals, outlines[number])
    for shape in shapes.shapes:
        if kept.get(shape.number) is not shape:
            _add(plan, shapes, shape, areals)
    missing = sorted(set(range(len(areals.records))) - kept.keys())
    if 2 * len(missing) > len(areals.records) and not options.allow_delete:
        plan.report.skipped(
            "areal map",
            f"{len(missing)} of {plural(len(outlines), 'areal')} are missing",
            "that looks like a part of the scene that was exported alone",
            "export all of it; --allow-delete deletes what is missing",
        )
    else:
        plan.removed = missing
        for number in missing:
            plan.report.changed(f"areal {number}", "is deleted")
    return plan


def _keepers(shapes: Shapes, areals: ArealMap, outlines: Sequence[I64]) -> dict[int, Shape]:
    """The polygon that each areal became, where several have its number the most alike."""
    kept: dict[int, tuple[tuple[bool, int, float], Shape]] = {}
    for shape in shapes.shapes:
        if shape.number < 0:
            continue
        outline = outlines[shape.number]
        common = np.isin(np.unique(shape.edges), outline).sum()
        rank = _same(shape, outline), int(common), abs(shape.area)
        if shape.number not in kept or rank > kept[shape.number][0]:
            kept[shape.number] = rank, shape
    return {number: shape for number, (_, shape) in sorted(kept.items())}


def _same(shape: Shape, outline: I64) -> bool:
    if np.array_equal(shape.edges, outline):
        return True
    turned = shape.edges[:, ::-1]
    return np.array_equal(turned[np.lexsort((turned[:, 1], turned[:, 0]))], outline)


def _compare(plan: ArealPlan, shapes: Shapes, shape: Shape, areals: ArealMap, outline: I64) -> None:
    number, where = shape.number, name_of(shape)
    record = areals.records[number]
    if not _same(shape, outline):
        corners = slice(areals.vertex_start[number], areals.vertex_start[number + 1])
        polygon = _checked(shapes, shape, areals, shapes.stored[corners])
        polygon = _turned(polygon, areals.vertices[corners])
        plan.polygons[number] = polygon
        old, new = len(areals.vertices[corners]), len(polygon)
        was = areals.vertices[corners].tolist()
        fresh = [point for point in polygon.tolist() if point not in was]
        what = f"{plural(old, 'corner')} become {new}" if old != new else "corners differ"
        if fresh:
            text = ", ".join(f"{value:g}" for value in fresh[0])
            what = f"{what}; {plural(len(fresh), 'new corner')}, the first at ({text})"
        plan.report.changed(where, what)
    if shape.class_id != (before := int(record["class_id"])):
        plan.classes[number] = shape.class_id
        plan.report.changed(where, f"class {before} becomes {shape.class_id}")
    stored = int(record["logic"])
    if shape.logic is not None and shape.logic != float(np.float32(stored)):
        plan.logic[number] = _flag(shape)
        plan.report.changed(where, f"logic flag {stored} becomes {plan.logic[number]}")


def _turned(polygon: F32, old: F32) -> F32:
    """A polygon that starts where the old one does, so that links keep their edges.

    Where all corners moved, that is the start that leaves them the nearest.
    """
    count = len(polygon)
    if count != len(old) or count > _MANY:
        return polygon
    away = polygon.astype(np.float64)[:, None] - old.astype(np.float64)[None]
    squares = (away**2).sum(axis=2)
    rows = np.arange(count)
    sums = [float(squares[(rows + start) % count, rows].sum()) for start in range(count)]
    return np.roll(polygon, -int(np.argmin(sums)), axis=0)


def _add(plan: ArealPlan, shapes: Shapes, shape: Shape, areals: ArealMap) -> None:
    """Plan a new areal; a part of another one takes its normal and flag."""
    polygon = _checked(shapes, shape, areals, np.empty(0, np.int64))
    parent = areals.records[shape.number] if shape.number >= 0 else None
    logic = 0 if parent is None else int(parent["logic"])
    if shape.logic is not None and shape.logic != float(np.float32(logic)):
        logic = _flag(shape)
    normal = (0.0, 0.0, 1.0) if parent is None else parent["normal"].tolist()
    plan.added.append(NewAreal(polygon, shape.class_id, logic, normal))
    number = len(areals.records) + len(plan.added) - 1
    origin = "" if parent is None else f", split from areal {shape.number}"
    text = ", ".join(f"{value:g}" for value in polygon[0].tolist())
    what = f"is new, {plural(len(polygon), 'corner')} from ({text})"
    where = f"areal of class {shape.class_id}" if plan.removed else f"areal {number}"
    plan.report.changed(where, f"{what}, class {shape.class_id}{origin}")


def _flag(shape: Shape) -> int:
    assert shape.logic is not None
    return round(min(shape.logic, 2.0**32 - 1))


def _checked(shapes: Shapes, shape: Shape, areals: ArealMap, first: I64) -> F32:
    """The polygon of a shape. Raises ConversionError: no map can have it."""
    if len(shape.edges) > MAX_CORNERS:
        raise ConversionError(
            f"{name_of(shape)} has too many corners",
            value=len(shape.edges),
            expected=f"at most {MAX_CORNERS}",
            hint="split it",
        )
    polygon = polygon_of(shapes, shape, first)
    xy = polygon[:, :2].astype(np.float64)
    place, problem = polygon[0], ""
    try:
        require_polygon(areals, max(shape.number, 0), polygon)
    except ConversionError as error:
        problem = error.problem
        if crossing := crossing_edges(xy - xy[0]):
            place = polygon[crossing[0]]
    if problem:
        text = ", ".join(f"{value:g}" for value in place.tolist())
        raise ConversionError(f"{name_of(shape)}: {problem}", value=f"at ({text})")
    return polygon


def require_no_overlap(old: ArealMap, new: ArealMap, before: Mapping[int, int]) -> None:
    """Refuse edited areals that lie over others, more than they did.

    What two areals share along their border, no deeper than ``MATCH_DISTANCE``, does not count. ``before``: each edited
    areal, and which of the old map it was, -1: new.
    """
    number = {after: was for after, was in before.items() if was >= 0}
    low, high = _boxes(new)
    lengths = _perimeters(new)
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
    polygon = new.vertices[new.vertex_start[other] : new.vertex_start[other + 1]].tobytes()
    for candidate in range(min(other, len(old.records) - 1), len(old.records)):
        span = slice(old.vertex_start[candidate], old.vertex_start[candidate + 1])
        if old.vertices[span].tobytes() == polygon:
            return candidate
    return None


def _boxes(areals: ArealMap) -> tuple[F64, F64]:
    xy, start = areals.vertices[:, :2].astype(np.float64), areals.vertex_start[:-1]
    return np.minimum.reduceat(xy, start), np.maximum.reduceat(xy, start)


def _perimeters(areals: ArealMap) -> F64:
    xy = areals.vertices[:, :2].astype(np.float64)
    length = np.hypot(*(xy[areals.following] - xy).T)
    return np.bincount(areals.owner, length, minlength=len(areals.records)).astype(np.float64)


def _overlap(areals: ArealMap, one: int, other: int) -> tuple[float, F64]:
    """The area that two areals share, and a place in it."""
    a, b = (_triangles(areals, k) for k in (one, other))
    area, centre = shared_area(np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1, 1)))
    return float(area.sum()), centre[np.argmax(area)]


def _triangles(areals: ArealMap, index: int) -> F64:
    polygon = areals.vertices[areals.vertex_start[index] : areals.vertex_start[index + 1], :2]
    xy = polygon.astype(np.float64)
    return xy[triangulate(xy, np.array([0, len(xy)]))]


def warn_of_lost_neighbours(report: Report, old: ArealMap, new: ArealMap, removed: Sequence[int]) -> None:
    """Warn of edges that had a neighbour, or lie on one, and have none now.

    Args:
        new: the map with the edits; the areals that are left come first, in their order.
        removed: areals of the old map that were deleted: their neighbours are not warned of.
    """
    left = np.delete(np.arange(len(old.records)), removed)
    had, has = link_targets(old) >= 0, link_targets(new) >= 0
    gone = np.isin(old.links["areal"], removed)
    per_areal = np.zeros(len(new.records), np.int64)
    old_open = np.bincount(old.owner[~had | gone], minlength=len(old.records))
    per_areal[: len(left)] = old_open[left]
    new_open = np.bincount(new.owner[~has], minlength=len(new.records))
    rows = np.flatnonzero(new_open > per_areal)
    known = {_ends(old, edge) for edge in np.flatnonzero(~had | gone).tolist()}
    places: dict[int, F64] = {}
    for edge in np.flatnonzero(~has).tolist():
        if _ends(new, edge) in known:
            continue
        areal, on = int(new.owner[edge]), _lies_on(new, edge, ~has)
        if on is not None:
            places[areal] = on
        elif areal in rows[rows < len(left)]:
            places.setdefault(areal, new.vertices[edge] / 2 + new.vertices[new.following[edge]] / 2)
    if not places:
        return
    told = [f"areal {areal} near ({', '.join(f'{v:g}' for v in places[areal].tolist())})" for areal in sorted(places)]
    more = f" and {plural(len(told) - _TOLD, 'more areal')}" if len(told) > _TOLD else ""
    report.warnings.append(
        f"{', '.join(told[:_TOLD])}{more} lost a neighbour: units cannot cross where the corners of two areals "
        "do not meet; give both the same corners"
    )


def _ends(areals: ArealMap, edge: int) -> frozenset[bytes]:
    return frozenset(areals.vertices[k].tobytes() for k in (edge, areals.following[edge]))


def _lies_on(areals: ArealMap, edge: int, others: Bools) -> F64 | None:
    """The middle of what an edge has in common with one of some edges of other areals. (3,)."""
    start = areals.vertices.astype(np.float64)
    end, at = start[areals.following], start[edge]
    along = (end[edge] - at)[:2]
    length = float(np.hypot(*along))
    if length <= MATCH_DISTANCE:
        return None
    along /= length
    first, second = (start - at)[:, :2], (end - at)[:, :2]
    apart = np.maximum(*(np.abs(one @ [-along[1], along[0]]) for one in (first, second)))
    one, other = first @ along, second @ along
    low, high = np.maximum(np.minimum(one, other), 0), np.minimum(np.maximum(one, other), length)
    common = np.where(others & (areals.owner != areals.owner[edge]) & (apart <= MATCH_DISTANCE), high - low, 0)
    best = int(np.argmax(common))
    if common[best] <= MATCH_DISTANCE:
        return None
    return np.asarray(at + (end[edge] - at) * ((low[best] + high[best]) / 2 / length))
