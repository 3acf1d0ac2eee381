"""Read the polygons of areals from an edited file, and find out what it changes of the stored map.

``_MSH_AREAL`` numbers them (docs/reference/gltf.md, An areal map): areal + 1; another number is a new areal. Triangles
of one number and one class that share edges are one polygon: its edges are those that only one of them has. Equal
positions are one corner. Without ``_MSH_AREAL`` nobody knows which areal a triangle belongs to: ``kinds.landscape``
refuses such a file in one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import ConversionError, in_words, plural
from ..findings import Report
from ..formats.areal_map import ArealMap, link_targets
from ..formats.names import without_number
from ..numeric.arrays import F32, F64, I64, Bools
from ..numeric.surfaces import crossing_edges, left_over, position_ids
from ..options import ImportOptions
from ..scene.scene import ImportedNode, ImportedScene, Part, Scene
from .areal_map import MATCH_DISTANCE, NewAreal, require_polygon
from .nodes import world_matrices
from .triangles import concatenate, triangle_list

#: Parts of an areal that Blender's extension tells apart, as fractions of its number.
PARTS = 64
_PLACE_NOISE = 1e-6
_LARGEST = 0xFFFFFFFF
_CLASS_NAME = re.compile(r"class_(\d+)")


@dataclass(frozen=True, eq=False)
class Shape:
    """A polygon of the file.

    Attributes:
        number: the areal that it was; -1: a new one.
        logic: its logic flag; ``None``: the file does not say.
        corners: (T, 3) position numbers of its triangles.
        edges: (E, 2) position numbers of its edges, in no order, the polygon on their left.
        area: of its triangles, seen from above; negative where they are seen from below.
    """

    number: int
    class_id: int
    logic: float | None
    corners: I64
    edges: I64
    area: float


@dataclass(frozen=True, eq=False)
class Shapes:
    """All polygons of a file.

    Attributes:
        shapes: the polygons.
        positions: (P, 3) float32 by position number.
        stored: (V,) position numbers of the map's vertices.
    """

    shapes: list[Shape]
    positions: F32
    stored: I64


def class_of(name: str, extras: object) -> int:
    """Return the class that a material or an object names, -1 = none: the name counts."""
    named = _CLASS_NAME.fullmatch(without_number(name))
    number = extras.get("class_id", -1) if isinstance(extras, dict) else -1
    if named and len(named[1]) < len(str(_LARGEST)) + 1:
        number = int(named[1])
    return int(number) if isinstance(number, int | float) and 0 <= number <= _LARGEST else -1


def read_shapes(edited: ImportedScene, areals: ArealMap) -> Shapes:
    """Return the polygons of a file whose triangles are each of one areal (:func:`mixed_face`). ``areals``: the stored
    map, whose vertices share the numbers of positions. Raises ConversionError: an object without a class.
    """
    streams = edited.streams
    points, vertex, class_ids = _drawn(edited)
    numbers = _numbers(edited, vertex)
    joined = np.concatenate([points.reshape(-1, 3), areals.vertices]) + np.float32(0)
    padding = -len(joined) % 3
    filled = np.concatenate([joined, joined[:1].repeat(padding, axis=0)])
    ids = position_ids(filled.reshape(-1, 3, 3)).reshape(-1)[: len(joined)]
    positions = np.zeros((int(ids.max(initial=-1)) + 1, 3), np.float32)
    positions[ids] = joined
    corners = ids[: points.size // 3].reshape(-1, 3)
    piece = _pieces(corners, numbers[:, 0], class_ids)
    order = np.argsort(piece, kind="stable")
    starts = np.flatnonzero(np.diff(piece[order], prepend=-1))
    shapes = []
    local = positions[corners].astype(np.float64)[:, :, :2]
    across = local[:, 1:] - local[:, :1]
    area = (across[:, 0, 0] * across[:, 1, 1] - across[:, 0, 1] * across[:, 1, 0]) / 2
    for rows in np.split(order, starts[1:]) if len(order) else []:
        value = int(np.floor(numbers[rows[0], 0])) - 1
        shapes.append(
            Shape(
                value if 0 <= value < len(areals.records) else -1,
                int(class_ids[rows[0]]),
                _logic(streams.logic, vertex[rows], points[rows[0], 0]),
                corners[rows],
                _outline(corners[rows]),
                float(area[rows].sum()),
            )
        )
    return Shapes(shapes, positions, ids[points.size // 3 :])


def mixed_face(edited: ImportedScene) -> str | None:
    """Return where a triangle has corners of several areals, ``None`` where none has."""
    points, vertex, _ = _drawn(edited, classes=False)
    numbers = _numbers(edited, vertex)
    mixed = (numbers != numbers[:, :1]).any(axis=1)
    return _place(points[np.argmax(mixed), 0]) if mixed.any() else None


def _numbers(edited: ImportedScene, vertex: I64) -> F64:
    """The numbers of areals at some vertices; Blender blurs them where it cuts edges."""
    assert edited.streams.areal is not None
    return np.rint(edited.streams.areal[vertex].astype(np.float64) * PARTS) / PARTS


def _drawn(edited: ImportedScene, *, classes: bool = True) -> tuple[F32, I64, I64]:
    """Positions, (T, 3, 3), and vertices, (T, 3), of all triangles, and the class of each."""
    scene = Scene(edited.name, edited.streams, meshes=edited.meshes)
    world = world_matrices(edited.nodes)
    by_material = [
        class_of(material.name, extras)
        for material, extras in zip(edited.materials, edited.material_extras, strict=True)
    ]
    lists, class_ids = [], []
    for i, node in enumerate(edited.nodes):
        if node.mesh < 0 or not edited.meshes[node.mesh].drawn:
            continue
        moved = np.abs(world[i] - np.eye(4)).max() > _PLACE_NOISE
        part = Part(i, 0, 0, node.mesh, matrix=world[i] if moved else None)
        one = triangle_list(scene, part, lightmap=False)
        lists.append(one)
        own = class_of(node.name, node.extras)
        class_ids.append(np.array([*by_material, -1], np.int64)[one.material])
        class_ids[-1][class_ids[-1] < 0] = own
        if classes:
            _require_class(node, class_ids[-1])
    if not lists:
        none = np.empty((0, 3), np.int64)
        return np.empty((0, 3, 3), np.float32), none, none[:, 0]
    joined = concatenate(lists)
    return joined.positions, joined.vertex, np.concatenate(class_ids)


def _require_class(node: ImportedNode, class_ids: I64) -> None:
    if (class_ids < 0).any():
        count = int(np.count_nonzero(class_ids < 0))
        raise ConversionError(
            "an object has no class of areals",
            value=f"{plural(count, 'face')} of {in_words(node.name)}",
            expected="a material called class_NUMBER",
            hint="give its faces the material of their class, as class_3",
        )


def _pieces(corners: I64, numbers: F64, class_ids: I64) -> I64:
    """Number the polygons: triangles of one number and class that share edges. (T,)."""
    count = len(corners)
    start, end = corners.reshape(-1), corners[:, [1, 2, 0]].reshape(-1)
    owner = np.repeat(np.arange(count), 3)
    keys = (np.maximum(start, end), np.minimum(start, end), class_ids[owner], numbers[owner])
    order = np.lexsort(keys)
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    a, b = owner[order][:-1][same], owner[order][1:][same]
    label = np.arange(count)
    while len(a):
        low = np.minimum(label[a], label[b])
        before = label.copy()
        np.minimum.at(label, label[a], low)
        np.minimum.at(label, label[b], low)
        label = label[label]
        if np.array_equal(label, before) and (label[a] == label[b]).all():
            break
    return label


def _outline(corners: I64) -> I64:
    """Edges that the triangles of a polygon do not share, each as often as it is left over."""
    edges = np.stack([corners, corners[:, [1, 2, 0]]], axis=2).reshape(-1, 2)
    return left_over(edges)


def stored_outlines(areals: ArealMap, ids: I64) -> list[I64]:
    """Return the edges of every stored areal as :class:`Shape` has them. ``ids``: (V,) position numbers of its
    vertices.
    """
    edges = np.stack([ids, ids[areals.following]], axis=1)
    return [left_over(part) for part in np.split(edges, areals.vertex_start[1:-1])]


def polygon_of(shapes: Shapes, shape: Shape, first: I64) -> F32:
    """Return the corners of a polygon in order, counter-clockwise, (n, 3). ``first``: position numbers; it starts at
    the first of them that it has, as the stored one. Raises ConversionError: it has a hole or no border, touches
    itself, or lies twice in the file.
    """
    edges = shape.edges if shape.area > 0 else shape.edges[:, ::-1]
    after = dict(edges.tolist())
    what = name_of(shape)
    if not len(edges):
        raise ConversionError(f"{what} has no border", value="its faces cover one another", hint="delete them")

    def refuse(problem: str, point: int, hint: str) -> ConversionError:
        where = f"at {_place(shapes.positions[point])}"
        return ConversionError(f"{what} {problem}", value=where, hint=hint)

    if len(after) != len(edges):
        points, count = np.unique(edges[:, 0], return_counts=True)
        place = int(points[np.argmax(count)])
        hint = "move its corners apart, or delete the face that is there twice"
        raise refuse("touches itself, or lies there twice", place, hint)
    start = next((point for point in first.tolist() if point in after), edges[0, 0].item())
    loop = [start]
    while (point := after[loop[-1]]) != start:
        loop.append(point)
    if len(loop) < len(edges):
        inside = next(point for point in after if point not in loop)
        raise refuse("has a hole", inside, "cut it from the hole to its border: two areals")
    return shapes.positions[loop]


def name_of(shape: Shape) -> str:
    """Return what messages call a polygon."""
    return f"areal {shape.number}" if shape.number >= 0 else f"new areal of class {shape.class_id}"


def _logic(stream: F32 | None, vertex: I64, place: F32) -> float | None:
    """The logic flag that the corners of a polygon state, ``None`` where none does."""
    if stream is None:
        return None
    values = np.unique(stream[vertex])
    values = values[values >= 0]
    if len(values) > 1:
        raise ConversionError(
            "corners of one areal have different logic flags",
            value=f"{values[0]:g} and {values[1]:g} at {_place(place)}",
            expected="one value of _MSH_LOGIC at all its corners",
        )
    return float(values[0]) if len(values) else None


def _place(point: F32) -> str:
    return f"({_text(point.tolist())})"


def _text(point: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in point)


#: Polygons with more corners are not turned: pairs of all would take too much memory.
_MANY = 512
#: The most corners of an edited areal: whether its edges cross is found out in pairs of all.
MAX_CORNERS = 4096
#: Areals that a warning names.
_REPORTED = 5


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
            what = f"{what}; {plural(len(fresh), 'new corner')}, the first at ({_text(fresh[0])})"
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
    what = f"is new, {plural(len(polygon), 'corner')} from ({_text(polygon[0].tolist())})"
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
    try:
        require_polygon(areals, 0, polygon)  # the row is named below
    except ConversionError as error:
        xy = polygon[:, :2].astype(np.float64)
        place = polygon[(crossing_edges(xy - xy[0]) or (0,))[0]]
        raise ConversionError(f"{name_of(shape)}: {error.problem}", value=f"at ({_text(place.tolist())})") from None
    return polygon


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
    reported = [f"areal {areal} near ({_text(places[areal].tolist())})" for areal in sorted(places)]
    more = f" and {plural(len(reported) - _REPORTED, 'more areal')}" if len(reported) > _REPORTED else ""
    report.warnings.append(
        f"{', '.join(reported[:_REPORTED])}{more} lost a neighbour: units cannot cross where the corners of two areals "
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
