"""Neighbour links and selectors: a brute-force reference, recorded truth, invariants."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.numeric.surfaces import neighbour_links
from tests.support.corpus import Sample, every_sample


def brute_force(corners: np.ndarray) -> tuple[list[list[int]], list[list[int]]]:
    """The rule as the page states it, pair by pair."""
    points = [[tuple(float(x) + 0.0 for x in corner) for corner in t] for t in corners]
    edges: dict[frozenset | tuple, list[tuple[int, int, bool]]] = {}
    for t, p in enumerate(points):
        for k in range(3):
            a, b = p[k], p[(k + 1) % 3]
            edges.setdefault(tuple(sorted((a, b))), []).append((t, k, a <= b))
    link = [[NONE16] * 3 for _ in points]
    sel = [[3] * 3 for _ in points]
    for members in edges.values():
        for opposite in (True, False):
            pairs = sorted(
                (min(x[0], y[0]), max(x[0], y[0]), x, y)
                for i, x in enumerate(members)
                for y in members[i + 1 :]
                if x[0] != y[0] and (x[2] != y[2]) == opposite
            )
            for _, _, (t, k, _d), (u, m, _e) in pairs:
                if link[t][k] == NONE16 and link[u][m] == NONE16:
                    link[t][k], sel[t][k], link[u][m], sel[u][m] = u, m, t, k
    return link, sel


GRID = hnp.arrays(
    np.float32, st.tuples(st.integers(0, 9), st.just(3), st.just(3)), elements=st.sampled_from([-1.0, -0.0, 0.0, 1.0])
)


def unpack(selectors: np.ndarray) -> np.ndarray:
    return np.stack([selectors >> 2 * k & 3 for k in range(3)], axis=1)


@given(GRID)
def test_invariants(corners: np.ndarray) -> None:
    """Mutual, exact, never to itself, on any triangles: non-manifold, duplicate, degenerate."""
    link, selectors = neighbour_links(corners)
    edge = unpack(selectors)
    assert not (selectors >> 6).any()
    for t in range(len(corners)):
        for k in range(3):
            u, m = int(link[t, k]), int(edge[t, k])
            assert (u == NONE16) == (m == 3)
            if u != NONE16:
                assert u != t
                assert (link[u, m], edge[u, m]) == (t, k)
                mine = {tuple(corners[t, k] + 0), tuple(corners[t, (k + 1) % 3] + 0)}
                assert mine == {tuple(corners[u, m] + 0), tuple(corners[u, (m + 1) % 3] + 0)}


def flat(corners: np.ndarray) -> np.ndarray:
    """Triangles with two equal corners: their collapsed edges have no direction."""
    return (corners + 0 == np.roll(corners + 0, 1, axis=1)).all(-1).any(-1)


@given(st.lists(GRID, min_size=1, max_size=4))
def test_links_of_several_slots_are_those_of_each(parts: list[np.ndarray]) -> None:
    slot = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    link, selectors = neighbour_links(np.concatenate(parts), slot)
    first = 0
    for part in parts:
        own, edges = neighbour_links(part)
        rows = slice(first, first + len(part))
        moved = np.where(own == NONE16, NONE16, own.astype(np.int64) + first)
        assert (link[rows] == moved).all()
        assert (selectors[rows] == edges).all()
        first += len(part)


@given(GRID)
def test_brute_force(corners: np.ndarray) -> None:
    corners = corners[~flat(corners)]
    link, selectors = neighbour_links(corners)
    expected_link, expected_sel = brute_force(corners)
    np.testing.assert_array_equal(link.reshape(-1, 3), np.array(expected_link).reshape(-1, 3))
    np.testing.assert_array_equal(unpack(selectors), np.array(expected_sel).reshape(-1, 3))


@every_sample
def test_recorded_descriptors(sample: Sample) -> None:
    truth = sample.arrays
    for start, count, _, _ in truth["slot_range"].tolist():
        rows = slice(start, start + count)
        link, selectors = neighbour_links(truth["vertex_pos"][truth["tri_vertex"][rows]])
        moved = np.where(link == NONE16, NONE16, link.astype(int) + start)
        np.testing.assert_array_equal(moved, truth["desc_link"][rows])
        np.testing.assert_array_equal(selectors, truth["desc_sel"][rows])


def test_edge_with_many_triangles() -> None:
    """Five triangles on one edge: opposite directions first, the odd one out has none."""
    a, b = (0, 0, 0), (1, 0, 0)
    tips = [(0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (0, 1, 1)]
    forward = [(a, b, t) for t in tips[:3]]
    backward = [(b, a, t) for t in tips[3:]]
    link, _ = neighbour_links(np.array([*forward, *backward], np.float32))
    assert link[:, 0].tolist() == [3, 4, NONE16, 0, 1]
    one_way, _ = neighbour_links(np.array(forward, np.float32))
    assert one_way[:, 0].tolist() == [1, 0, NONE16]
    flat, _ = neighbour_links(np.array([(a, b, a), (a, b, tips[0])], np.float32))
    assert flat[:, :2].tolist() == [[NONE16, 1], [0, NONE16]]  # not to itself; opposite directions first here, too
