"""Areal maps for tests, and second implementations of what one asks them."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.areal_map import ArealMap, read_areal_map, signed_areas
from msh_gltf.converter.formats.nres import read_nres
from tests.support.maps import level_called

LEVEL = "spec__AutoMAP_00"


@cache
def read(path: Path) -> ArealMap:
    return read_areal_map(read_nres(read_file(path), str(path)))


def sample(name: str = LEVEL) -> ArealMap:
    return read(level_called(name).folder / "Land.map")


def polygons(areals: ArealMap) -> list[list[tuple[float, float]]]:
    corners, start = areals.vertices[:, :2].tolist(), areals.vertex_start.tolist()
    return [[(x, y) for x, y in corners[a:b]] for a, b in pairwise(start)]


def own(areals: ArealMap, index: int) -> np.ndarray:
    """The vertices of an areal, (n, 3)."""
    return areals.vertices[areals.vertex_start[index] : areals.vertex_start[index + 1]]


def lists(areals: ArealMap) -> list[list[int]]:
    """The areals that each cell lists."""
    start, ids = areals.cell_start.tolist(), areals.cell_ids.tolist()
    return [ids[a:b] for a, b in pairwise(start)]


def inner(areals: ArealMap, count: int, seed: int) -> list[int]:
    """Some areals that lie inside the map."""
    (low, high), rows = areals.extent, range(len(areals.records))
    corners = [own(areals, row)[:, :2] for row in rows]
    fits = [row for row in rows if (corners[row] > low).all() and (corners[row] < high).all()]
    return np.random.default_rng(seed).choice(fits, count, replace=False).tolist()


def brute_inside(polygon: list[tuple[float, float]], x: float, y: float) -> bool:
    """Even-odd in exact fractions: edges that pass strictly left of, or through, the point."""
    inside = False
    for (ax, ay), (bx, by) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if (ay <= y) != (by <= y):
            t = (Fraction(y) - Fraction(ay)) / (Fraction(by) - Fraction(ay))
            if Fraction(ax) + t * (Fraction(bx) - Fraction(ax)) <= Fraction(x):
                inside = not inside
    return inside


def areal_at_brute(areals: ArealMap, points: np.ndarray) -> list[int]:
    """Every polygon is asked about every point."""
    boxed = [(p, *np.ptp(p, 0).tolist(), *np.min(p, 0).tolist()) for p in polygons(areals)]
    out = []
    for x, y in points.tolist():
        hit = (
            i
            for i, (polygon, width, height, left, bottom) in enumerate(boxed)
            if left <= x <= left + width and bottom <= y <= bottom + height
            if brute_inside(polygon, x, y)
        )
        out.append(next(hit, -1))
    return out


def probes(areals: ArealMap, seed: int, count: int = 150) -> np.ndarray:
    """Anywhere and outside; vertices; middles of edges; borders and corners of cells."""
    rng = np.random.default_rng(seed)
    low, high = areals.vertices[:, :2].min(0), areals.vertices[:, :2].max(0)
    size = (high.astype(float) - low) / (areals.cells_x, areals.cells_y)
    anywhere = rng.uniform(low - size, high + size, (count, 2))
    corner = rng.integers(0, len(areals.vertices), count)
    inner = corner[~np.isin(corner + 1, areals.vertex_start)]
    a, b = areals.vertices[inner, :2].astype(float), areals.vertices[inner + 1, :2].astype(float)
    crossing = low + size * rng.integers(0, 129, (count, 2))
    border = anywhere.copy()
    border[::2, 0], border[1::2, 1] = crossing[::2, 0], crossing[1::2, 1]
    ends = np.array([low, high, (low[0], high[1]), (high[0], low[1])])
    return np.concatenate([anywhere, a, (a + b) / 2, crossing, border, ends])


def square(x: float, y: float, side: float) -> list[tuple[float, float, float]]:
    return [(x, y, 0), (x + side, y, 0), (x + side, y + side, 0), (x, y + side, 0)]


def tiny(*shapes: list[tuple[float, float, float]], cells: int = 1) -> ArealMap:
    """A map of polygons; every cell lists every areal, the last one first."""
    base = sample()
    lengths = [len(shape) for shape in shapes]
    records = np.zeros(len(shapes), base.records.dtype)
    records["vertex_count"], records["normal"] = lengths, (0, 0, 1)
    areals = replace(
        base,
        records=records,
        vertices=np.array([v for shape in shapes for v in shape], np.float32).reshape(-1, 3),
        vertex_start=np.cumsum([0, *lengths]),
        links=np.full(sum(lengths), -1, base.links.dtype),
        extra_start=np.zeros(len(shapes) + 1, np.int64),
        polys=[b""] * len(shapes),
        cells_x=cells,
        cells_y=cells,
        cell_start=np.arange(cells * cells + 1) * len(shapes),
        cell_ids=np.tile(np.arange(len(shapes))[::-1], cells * cells).astype(np.uint16),
    )
    records["area"] = signed_areas(areals)
    for row, shape in enumerate(shapes):
        records["anchor"][row] = np.mean(shape, 0) if shape else 0
    return areals


def linked(areals: ArealMap, pairs: dict[int, tuple[int, int]]) -> ArealMap:
    links = areals.links.copy()
    for edge, link in pairs.items():
        links[edge] = link
    return replace(areals, links=links)


S = sample()
