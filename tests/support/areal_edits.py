"""What edits of areals are compared with: second implementations, and what must hold after."""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from msh_gltf.converter.checks.areal_map import check_areal_map
from msh_gltf.converter.formats.areal_map import ArealMap, read_areal_map, write_areal_map
from msh_gltf.converter.formats.nres import read_nres
from tests.support.areals import brute_inside, linked, square, tiny

Point = tuple[float, float]


def own(areals: ArealMap, index: int) -> np.ndarray:
    return areals.vertices[areals.vertex_start[index] : areals.vertex_start[index + 1]]


def record_bytes(areals: ArealMap, payload: bytes) -> list[bytes]:
    at = areals.record_offsets.tolist()
    return [payload[a:b] for a, b in pairwise(at)]


def lists(areals: ArealMap) -> list[list[int]]:
    start, ids = areals.cell_start.tolist(), areals.cell_ids.tolist()
    return [ids[a:b] for a, b in pairwise(start)]


def shared(polygon: list[Point], low: Point, high: Point) -> float:
    """Area that a polygon shares with a rectangle: cut by its four sides, one after another."""
    for axis, limit, sign in ((0, low[0], 1), (0, high[0], -1), (1, low[1], 1), (1, high[1], -1)):
        kept: list[Point] = []
        for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
            u, v = sign * (a[axis] - limit), sign * (b[axis] - limit)
            if u >= 0:
                kept.append(a)
            if u * v < 0:
                t = u / (u - v)
                kept.append((a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))
        polygon = kept
    pairs = zip(polygon, [*polygon[1:], *polygon[:1]], strict=True)
    return sum((a[0] - low[0]) * (b[1] - low[1]) - (b[0] - low[0]) * (a[1] - low[1]) for a, b in pairs) / 2


def meets(polygon: list[Point], low: Point, high: Point) -> bool:
    """Whether a polygon and a closed rectangle share a point, in exact fractions."""
    for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        first, last = Fraction(0), Fraction(1)
        for axis in (0, 1):
            start, step = Fraction(a[axis]), Fraction(b[axis]) - Fraction(a[axis])
            if not step:
                if not low[axis] <= start <= high[axis]:
                    last = Fraction(-1)
                continue
            ends = sorted((Fraction(side[axis]) - start) / step for side in (low, high))
            first, last = max(first, ends[0]), min(last, ends[1])
        if first <= last:
            return True
    return brute_inside(polygon, *low)


def brute_cells(areals: ArealMap, index: int) -> tuple[set[int], set[int]]:
    """The cells that an areal overlaps, and those that it touches, one by one."""
    (left, bottom), (right, top) = (e.tolist() for e in areals.extent)
    width, height = (right - left) / areals.cells_x, (top - bottom) / areals.cells_y
    polygon = [(x, y) for x, y, _ in own(areals, index).tolist()]
    xs, ys = zip(*polygon, strict=True)
    overlaps, touches = set(), set()
    for x in range(areals.cells_x):
        for y in range(areals.cells_y):
            low = (left + x * width, bottom + y * height)
            high = (left + (x + 1) * width, bottom + (y + 1) * height)
            if max(xs) < low[0] or min(xs) > high[0] or max(ys) < low[1] or min(ys) > high[1]:
                continue
            if shared(polygon, low, high) > 1e-9 * width * height:
                overlaps.add(x * areals.cells_y + y)
            if meets(polygon, low, high):
                touches.add(x * areals.cells_y + y)
    return overlaps, touches


def require_valid(areals: ArealMap) -> None:
    assert [f for f in check_areal_map(areals) if f.severity != "note"] == []


def require_written(areals: ArealMap) -> None:
    """What is written is read back the same."""
    again = read_areal_map(read_nres(write_areal_map(areals), "again"))
    for name, value in vars(areals).items():
        if isinstance(value, np.ndarray) and name in vars(again):
            assert value.dtype == getattr(again, name).dtype, name
            assert value.tobytes() == getattr(again, name).tobytes(), name
    assert again.polys == areals.polys
    assert again.entry.attr1 == len(areals.records)


def inner(areals: ArealMap, count: int, seed: int) -> list[int]:
    """Some areals that lie inside the map."""
    low, high = areals.extent
    fits = [
        i
        for i in range(len(areals.records))
        if (own(areals, i)[:, :2] > low).all() and (own(areals, i)[:, :2] < high).all()
    ]
    return np.random.default_rng(seed).choice(fits, count, replace=False).tolist()


def compare_cells(old: ArealMap, new: ArealMap, edited: list[int]) -> None:
    """Cells by the rule, from brute force; lists that did not change keep their order."""
    brute = {i: brute_cells(new, i) for i in edited}
    for row, (was, now) in enumerate(zip(lists(old), lists(new), strict=True)):
        wanted = {i for i in was if i not in brute or row in brute[i][1]}
        wanted |= {i for i in brute if row in brute[i][0]}
        assert now == (was if wanted == set(was) else sorted(wanted)), row


def row_of(count: int, cells: int = 3) -> ArealMap:
    """Unit squares side by side, linked; every cell lists every areal."""
    areals = tiny(*(square(i, 0, 1) for i in range(count)), cells=cells)
    pairs = {}
    for i in range(count - 1):
        pairs[4 * i + 1], pairs[4 * i + 7] = (i + 1, 3), (i, 1)
    return linked(areals, pairs)


def require_mutual(areals: ArealMap) -> None:
    codes = {f.code for f in check_areal_map(areals)}
    assert not codes & {"areal-link", "areal-link-mutual"}
