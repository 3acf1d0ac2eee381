"""Terrain queries equal a search over all faces, one by one."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import FINE, Terrain, read_terrain
from msh_gltf.converter.numeric.surfaces import FaceFlag
from msh_gltf.converter.queries.landscape import GROUND_NORMAL, TerrainQueries
from tests.support.maps import LEVELS, Level, level_called
from tests.support.terrain_maker import make_terrain

LEVEL = "spec__AutoMAP_00"


def load(level: Level) -> Terrain:
    return read_terrain(read_nres((level.folder / "Land.msh").read_bytes(), "Land.msh"), "Land.msh")


def made() -> Terrain:
    """A terrain that does not begin at 0."""
    return read_terrain(read_nres(make_terrain(5, across=4, down=3, steps=3), "x"), "x")


every_terrain = pytest.mark.parametrize("made", [*(partial(load, level) for level in LEVELS), made])


def probes(terrain: Terrain, count: int, seed: int = 0) -> np.ndarray:
    """Points all over a terrain, beyond it, on its vertices, edges and squares' borders."""
    chance = np.random.default_rng(seed)
    grid = terrain.grid
    extent = grid.size * [grid.across, grid.down]
    free = grid.low + (chance.random((count, 2)) * 1.1 - 0.05) * extent
    vertices = terrain.positions[chance.integers(0, len(terrain.positions), count), :2]
    faces = terrain.faces["vertex"][chance.integers(0, len(terrain.faces), count)]
    edges = terrain.positions[faces[:, :2], :2].astype("f8").mean(axis=1)
    borders = free.copy()
    borders[:, 0] = grid.low[0] + chance.integers(0, grid.across + 1, count) * grid.size[0]
    return np.concatenate([free, vertices, edges, borders])


class Brute:
    """Every face of a level, without its grid."""

    def __init__(self, terrain: Terrain) -> None:
        faces = terrain.faces[terrain.faces_of(FINE)]
        self.rows, self.flags = terrain.faces_of(FINE), faces["flags"]
        self.corners = terrain.positions[faces["vertex"]].astype(np.float64)
        self.is_steep = faces["normal"][:, 2] / 32767 <= GROUND_NORMAL

    def over(self, x: float, y: float, forbidden: int = 8) -> np.ndarray:
        """The heights of faces of ground at a point; of others -inf."""
        (a, b, c), at = self.corners.swapaxes(0, 1), (x, y)
        area = cross(b - a, c - a)
        with np.errstate(all="ignore"):
            u, v = cross(at - a[:, :2], c - a) / area, cross(b - a, at - a[:, :2]) / area
            hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (area != 0)
            heights = a[:, 2] + u * (b - a)[:, 2] + v * (c - a)[:, 2]
        return np.where(hit & ~self.is_steep & (self.flags & forbidden == 0), heights, -np.inf)

    def height(self, x: float, y: float, forbidden: int = 8) -> tuple[float, int]:
        heights = self.over(x, y, forbidden)
        best = int(heights.argmax())
        return float(heights[best]), int(self.rows[best]) if heights[best] > -np.inf else -1

    def trace(self, a: np.ndarray, b: np.ndarray, forbidden: int) -> tuple[float, int]:
        first, along = self.corners[:, 0], b - a
        normal = np.cross(self.corners[:, 1] - first, self.corners[:, 2] - first)
        with np.errstate(all="ignore"):
            part = ((first - a) * normal).sum(axis=1) / (normal @ along)
            to_point = a + part[:, None, None] * along - self.corners
            sides = np.cross(np.roll(self.corners, -1, 1) - self.corners, to_point) * normal[:, None]
            hit = sides.sum(axis=2).min(axis=1) >= -1e-9 * (normal * normal).sum(axis=1)
            hit &= (part >= 0) & (part <= 1) & (self.flags & forbidden == 0)
        parts = np.where(hit, part, np.inf)
        best = int(parts.argmin())
        return float(parts[best]), int(self.rows[best]) if parts[best] < np.inf else -1


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """In plan."""
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


@every_terrain
def test_heights(made: Callable[[], Terrain]) -> None:
    terrain = made()
    queries, brute = TerrainQueries(terrain), Brute(terrain)
    points = probes(terrain, 20)
    height, face = queries.height_at(points)
    for i, (x, y) in enumerate(points.tolist()):
        z, row = brute.height(x, y)
        assert (face[i] < 0) == (row < 0), points[i]
        if row >= 0:
            assert abs(height[i] - z) < 1e-6
            if face[i] != row:  # a corner of both
                assert abs(queries._heights(np.array([row]), points[i : i + 1])[0] - z) < 1e-6


def test_masks_and_levels() -> None:
    terrain = load(level_called(LEVEL))
    queries, brute = TerrainQueries(terrain), Brute(terrain)
    water = np.flatnonzero(terrain.faces["flags"] & FaceFlag.WATER)
    points = terrain.positions[terrain.faces["vertex"][water[:40]]].mean(axis=1)[:, :2]
    dry, _ = queries.height_at(points)
    wet, faces = queries.height_at(points, forbidden=0)
    assert (terrain.faces["flags"][faces] & FaceFlag.WATER).any()
    assert (wet >= dry).all()
    for i, (x, y) in enumerate(points.tolist()):
        assert abs(brute.height(x, y, forbidden=0)[0] - wet[i]) < 1e-6
    _, only = queries.height_at(points, required=int(FaceFlag.WATER), forbidden=0)
    assert (terrain.faces["flags"][only[only >= 0]] & FaceFlag.WATER).all()
    coarse = TerrainQueries(terrain, 1)
    _, face = coarse.height_at(probes(terrain, 50))
    assert np.isin(face[face >= 0], terrain.faces_of(1)).all()
    assert (face >= 0).any()
    z, _ = queries.height_at([[np.nan, 0], [1e30, 0], [-1e30, np.inf]])
    assert np.isnan(z).all()


@every_terrain
def test_candidates(made: Callable[[], Terrain]) -> None:
    """Every face whose plan-view box touches the box is among them, and none twice."""
    terrain = made()
    queries = TerrainQueries(terrain)
    chance = np.random.default_rng(1)
    rows = terrain.faces_of(FINE)
    plan = terrain.positions[terrain.faces["vertex"][rows]][..., :2].astype("f8")
    low, high = plan.min(axis=1), plan.max(axis=1)
    grid = terrain.grid
    boxes = [np.sort(probes(terrain, 1, s)[[0, 3]], axis=0) for s in range(20)]
    corner = grid.low + grid.size
    boxes += [np.array([corner, corner]), np.array([grid.low, grid.low])]  # on squares' corners
    for a, b in boxes:
        forbidden = int(chance.choice([0, 8, 0x2000]))
        got = queries.candidates(a, b, forbidden=forbidden)
        assert (np.diff(got) > 0).all()
        assert not (terrain.faces["flags"][got] & forbidden).any()
        touching = rows[((low <= b) & (high >= a)).all(axis=1)]
        touching = touching[(terrain.faces["flags"][touching] & forbidden) == 0]
        assert np.isin(touching, got).all()


def test_the_grid() -> None:
    terrain = load(level_called(LEVEL))
    queries = TerrainQueries(terrain)
    assert queries.grid.low.tolist() == [0, 0]
    assert queries.inverse_size.tolist() == [1 / 150, 1 / 150]
    assert (queries.grid.across, queries.grid.down) == (8, 8)
    assert queries.cell_range((0, 0), (149.9, 150)) == (0, 0, 0, 1)
    assert queries.cell_range((-1e9, 300), (1e9, 460)) == (0, 7, 2, 3)
    start, entries = queries.cell_lists
    assert len(start) == 65
    assert not entries["aux"].any()
    square = np.repeat(np.arange(64), np.diff(start))
    own = terrain.square_of_face[entries["id"]]
    assert (own != square).all()
    low, high = terrain.grid.box(square)
    plan = terrain.positions[terrain.faces["vertex"][entries["id"]]][..., :2]
    assert (plan.min(axis=1) <= high + 1e-3).all()
    assert (plan.max(axis=1) >= low - 1e-3).all()


@every_terrain
def test_traces(made: Callable[[], Terrain]) -> None:
    terrain = made()
    queries, brute = TerrainQueries(terrain), Brute(terrain)
    chance = np.random.default_rng(2)
    grid = terrain.grid
    extent = np.append(grid.size * [grid.across, grid.down], 60)
    origin = np.append(grid.low, -30)
    hits = 0
    for i in range(12):
        a, b = origin + chance.random((2, 3)) * extent
        if i % 4 == 0:
            b[:2] = a[:2]  # straight down
        forbidden = int(chance.choice([0, 8]))
        hit = queries.trace(a, b, forbidden=forbidden)
        t, face = brute.trace(a, b, forbidden)
        assert (hit is None) == (face < 0)
        if hit is not None:
            hits += 1
            assert hit.fraction == pytest.approx(t, abs=1e-9)
            np.testing.assert_allclose(hit.point, a + t * (b - a), atol=1e-6)
    assert hits > 2


@every_terrain
def test_walks(made: Callable[[], Terrain]) -> None:
    """A walk ends where a search over all faces says, where there is one sheet of ground."""
    terrain = made()
    queries, brute = TerrainQueries(terrain), Brute(terrain)
    chance = np.random.default_rng(3)
    start = probes(terrain, 120, 4)[:120]
    _, faces = queries.height_at(start)
    walked = searched = 0
    for i in np.flatnonzero(faces >= 0)[:40].tolist():
        length = terrain.grid.size * chance.choice([0.05, 0.3, 4.0])
        end = start[i] + (chance.random(2) - 0.5) * 2 * length
        step = queries.walk(int(faces[i]), [*start[i], 5], [*end, 7])  # heights are not asked
        z, row = brute.height(*end.tolist())
        if row < 0:
            assert step.face == -1
            continue
        walked, searched = walked + (step.crossed > 0), searched + (step.crossed < 0)
        on_it = queries._heights(np.array([step.face]), end[None])[0]
        assert step.height == pytest.approx(on_it, abs=1e-9)
        sheets = (brute.over(*end.tolist()) > -np.inf).sum()
        if sheets == 1:
            assert step.face == row
        assert step.height == pytest.approx(z, abs=1e-6) or sheets > 1
        assert step.crossed < 24
    assert walked > 5
    assert searched > 0 or not isinstance(made, partial)  # the made one has no holes


def test_a_walk_that_stays_and_one_that_is_blocked() -> None:
    terrain = load(level_called(LEVEL))
    queries = TerrainQueries(terrain)
    inside = terrain.positions[terrain.faces["vertex"][0]][:, :2].astype("f8").mean(axis=0)
    face = int(queries.height_at(inside[None])[1][0])
    assert queries.walk(face, inside, inside + 1e-4).crossed == 0
    outside = terrain.grid.low - 50
    step = queries.walk(face, inside, outside)
    assert step.face == -1
    assert np.isnan(step.height)
