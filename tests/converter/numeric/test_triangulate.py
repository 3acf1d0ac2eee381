"""Ear clipping: triangles fill their polygons, as those of a reference implementation."""

from itertools import pairwise

import numpy as np
import pytest

from msh_gltf.converter.numeric.surfaces import triangulate, triangulate_flat


def stars(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Star-shaped polygons of 3 to 40 corners, counter-clockwise; some corners are in a line."""
    chance = np.random.default_rng(seed)
    shapes = []
    for _ in range(count):
        corners = int(chance.integers(3, 41))
        angle = 2 * np.pi * (np.arange(corners) + chance.uniform(0, 0.9, corners)) / corners
        shape = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        shape *= chance.uniform(0.3, 1, (corners, 1))
        shape[1::3] = (shape[0::3][: len(shape[1::3])] + shape[1::3]) / 2
        shapes.append(shape)
    return np.concatenate(shapes), np.cumsum([0, *map(len, shapes)])


def cut(points: np.ndarray, low: int, high: int) -> list[tuple[int, int, int]]:
    """The reference implementation: a fan if it is one, else the first ear, one by one."""

    def side(i: int, j: int, k: int) -> float:
        (ax, ay), (bx, by), (px, py) = points[[i, j, k]].tolist()
        return (bx - ax) * (py - ay) - (by - ay) * (px - ax)

    def is_ear(i: int) -> bool:
        a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
        return side(a, b, c) > 0 and not any(
            side(a, b, k) >= 0 and side(b, c, k) >= 0 and side(c, a, k) >= 0 for k in left if k not in (a, b, c)
        )

    fan = [(low, low + k, low + k + 1) for k in range(1, high - low - 1)]
    if all(side(*triangle) > 0 for triangle in fan):
        return fan
    left, out = list(range(low, high)), []
    while len(left) > 3:
        ear = next((i for i in range(len(left)) if is_ear(i)), 1)
        out.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    return [*out, (left[0], left[1], left[2])]


def test_polygons_lose_their_first_ear_one_by_one() -> None:
    points, start = stars(2, 100)
    wild = np.random.default_rng(3).normal(size=points.shape)  # edges cross: any answer, but one
    for given in (points, wild, np.round(wild)):
        wanted = [t for low, high in pairwise(start.tolist()) for t in cut(given, low, high)]
        assert np.array_equal(triangulate(given, start), wanted)


def test_polygons_without_triangles_have_none() -> None:
    points = np.array([[0, 0], [1, 0], [0, 0], [2, 0], [0, 1]], float)
    assert triangulate(points, np.array([0, 2, 2, 5])).tolist() == [[2, 3, 4]]
    assert triangulate(points[:0], np.array([0])).shape == (0, 3)


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("normal", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -2, 3], [-3, 1, 0.5]])
def test_a_polygon_in_space_that_is_not_convex_is_covered_once(normal: list[float], way: int) -> None:
    """A dart and its mirror image, on any plane: all triangles turn as the polygon does."""
    dart = np.array([[0, 0], [2, 0], [2, 2], [1, 0.2], [0, 2]], np.float64)[::way]
    out = np.array(normal) / np.linalg.norm(normal)
    first = np.cross(out, [0.3, 0.7, -0.2])
    first /= np.linalg.norm(first)
    corners = dart @ np.stack([first, np.cross(out, first)])
    rows = triangulate_flat(corners[None])
    a, b, c = (corners[rows[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a) @ out / 2
    assert (areas * way > 0).all()
    np.testing.assert_allclose(abs(areas.sum()), 2.2)
