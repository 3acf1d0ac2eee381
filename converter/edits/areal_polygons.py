"""Read the polygons of areals from the triangles of an edited file, check them, find a place inside.

The vertex attribute ``_MSH_AREAL`` numbers them (docs/reference/gltf.md, An areal map): areal + 1;
another number is a new areal. Triangles of one number and one class that share edges are one
polygon: its edges are those that only one of them has. Equal positions are one corner, however
the file holds its vertices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ConversionError, in_words, plural
from ..formats.areal_map import AREALS, ArealMap, points_inside
from ..formats.names import without_number
from ..numeric.arrays import F32, F64, I64
from ..numeric.surfaces import position_ids
from ..scene.scene import ImportedNode, ImportedScene, Part, Scene
from .nodes import world_matrices
from .triangles import concatenate, triangle_list

#: A polygon of less than this part of its extent's square has no area.
_FLAT = 1e-9
#: Where an anchor is looked for, as fractions of the polygon's height.
_LINES = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8, 1 / 16, 15 / 16)
#: Elements of one round of an all-pairs computation, which bounds its memory.
_AT_ONCE = 1 << 20


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
        expected = "counter-clockwise"
        error = refused(areals, row, "polygon is clockwise", value=f"area {area:g}", expected=expected)
        error.hint = "give the vertices counter-clockwise, seen from above"
        raise error
    crossing = crossing_edges(xy)
    if crossing is not None:
        text = f"{crossing[0]} and {crossing[1]}"
        raise refused(areals, row, "edges of the polygon cross", value=text, expected="none")


def refused(areals: ArealMap, row: int, problem: str, *, value: object, expected: object) -> ConversionError:
    """Return the error for an areal that an edit cannot have."""
    label = areals.archive.label
    return ConversionError(problem, file=label, table=AREALS, row=row, value=value, expected=expected)


def crossing_edges(xy: F64) -> tuple[int, int] | None:
    """Return two edges of a polygon that cross in a point inside both; touching does not count.

    (n, 2) float64.
    """
    following = np.roll(xy, -1, 0)
    along = following - xy

    def sides(edges: I64, points: F64) -> F64:
        across = points[None] - xy[edges, None]
        cross = along[edges, None, 0] * across[..., 1] - along[edges, None, 1] * across[..., 0]
        return np.sign(cross)

    every = np.arange(len(xy))
    for edges in np.array_split(every, 1 + len(xy) ** 2 // _AT_ONCE):
        apart = sides(edges, xy) * sides(edges, following) < 0  # their ends, seen from ours
        mine = sides(every, xy[edges]) * sides(every, following[edges]) < 0
        hits = np.argwhere(apart & mine.T)
        if len(hits):
            return int(edges[hits[0, 0]]), int(hits[0, 1])
    return None


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
    points, vertex, class_ids = _triangles(edited)
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
    points, vertex, _ = _triangles(edited, classes=False)
    numbers = _numbers(edited, vertex)
    mixed = (numbers != numbers[:, :1]).any(axis=1)
    return _place(points[np.argmax(mixed), 0]) if mixed.any() else None


def _numbers(edited: ImportedScene, vertex: I64) -> F64:
    """The numbers of areals at some vertices; Blender blurs them where it cuts edges."""
    assert edited.streams.areal is not None
    return np.rint(edited.streams.areal[vertex].astype(np.float64) * PARTS) / PARTS


def _triangles(edited: ImportedScene, *, classes: bool = True) -> tuple[F32, I64, I64]:
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


def left_over(edges: I64) -> I64:
    """Return edges without those that another one runs back, sorted. (E, 2) -> (B, 2)."""
    edges = edges[edges[:, 0] != edges[:, 1]]
    if not len(edges):
        return edges
    backward = edges[:, 0] > edges[:, 1]
    both, place = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    net = np.bincount(place.reshape(-1), np.where(backward, -1, 1), len(both)).astype(np.int64)
    rows = np.where((net < 0)[:, None], both[:, ::-1], both)
    out = rows.repeat(np.abs(net), axis=0)
    return np.asarray(out[np.lexsort((out[:, 1], out[:, 0]))], np.int64)


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
    return "({})".format(", ".join(f"{value:g}" for value in point.tolist()))
