"""Links of edited areals: which edge is matched with which."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.edits.areal_map import replace_polygons
from msh_gltf.converter.formats.areal_map import ArealMap
from tests.support.areal_edits import own, require_mutual, row_of
from tests.support.areals import linked, square, tiny


@pytest.mark.parametrize(
    ("shift", "found"),
    [
        ((0.0009, 0, 0), True),
        ((0.0009, -0.0009, 0.0009), True),
        ((0.0012, 0, 0), False),
        ((0, 0.0012, 0), False),
        ((0, 0, 0.0012), False),
    ],
)
def test_distance_of_a_match(shift: tuple[float, float, float], found: bool) -> None:
    areals = tiny(square(0, 0, 1), square(5, 0, 1))
    moved = np.array(square(1, 0, 1)) + np.array(shift)
    links = replace_polygons(areals, {1: moved}).links.tolist()
    assert links[1] == ((1, 3) if found else (-1, -1))
    assert links[7] == ((0, 1) if found else (-1, -1))
    assert sum(link != (-1, -1) for link in links) == 2 * found


def test_which_edge_is_matched() -> None:
    """Linked before, then opposite, then same direction; by areal and edge; never twice."""
    same = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]  # runs (1, 0) to (1, 1) like areal 3
    other = [(1, 1, 0), (1, 0, 0), (2, 0, 0)]  # runs it the other way
    away = square(9, 9, 1)
    areals = tiny(same, other, other, away)
    new = replace_polygons(areals, {3: square(0, 0, 1)})
    assert new.links.tolist()[10] == (1, 0)  # opposite and first, not areal 0, not areal 2
    assert new.links.tolist()[3] == (3, 1)
    assert new.links.tolist()[1] == new.links.tolist()[6] == (-1, -1)
    alone = replace_polygons(tiny(same, away), {1: square(0, 0, 1)})
    assert alone.links.tolist()[4] == (0, 1)  # the same direction is better than nothing
    known = linked(tiny(same, other, other, square(0, 0, 1)), {10: (2, 0), 6: (3, 1)})
    raised = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 5)]
    kept = replace_polygons(known, {3: raised})
    assert kept.links.tolist()[10] == (2, 0)  # areal 1 would be first, but was not linked
    assert kept.links.tolist()[3] == (-1, -1)


def test_links_of_others_are_not_taken() -> None:
    """A second areal in one place: it gets the border edges, not those that are linked."""
    areals = row_of(3)
    new = replace_polygons(tiny_with(areals, square(9, 9, 1)), {3: square(1, 0, 1)})
    taken = dict(enumerate(areals.links.tolist())) | {4: (3, 0), 6: (3, 2)}
    assert new.links.tolist() == [*taken.values(), (1, 0), (-1, -1), (1, 2), (-1, -1)]
    require_mutual(new)


@pytest.mark.parametrize("gone", [0, 2])
def test_where_an_areal_goes_away_its_neighbour_has_a_border(gone: int) -> None:
    new = replace_polygons(row_of(3), {gone: square(9, 9, 1)})
    require_mutual(new)
    assert sum(link != (-1, -1) for link in new.links.tolist()) == 2


def tiny_with(areals: ArealMap, shape: list) -> ArealMap:
    count = len(areals.records)
    shapes = [own(areals, i).tolist() for i in range(count)]
    new = tiny(*shapes, shape)
    return linked(new, dict(enumerate(areals.links.tolist())))


def test_an_areal_is_no_neighbour_of_its_own() -> None:
    """Two edges of one areal on the same line: a slit."""
    slit = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (2, 4, 0), (2, 2, 0), (2, 4, 0), (0, 4, 0)]
    areals = replace_polygons(tiny(square(0, 0, 4), square(6, 6, 1)), {0: slit})
    assert areals.links.tolist() == [(-1, -1)] * 11


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_greedy_pairs(places: list[int]) -> None:
    """Squares in few places, many on top of each other: pairs as a plain loop would take them."""
    away = tiny(*(square(20 + 3 * i, 20, 1) for i in range(len(places))))
    shapes = [square(place, 0, 1) for place in places]
    new = replace_polygons(away, dict(enumerate(shapes)))
    edges = [(i, k) for i in range(len(places)) for k in range(4)]
    ends = {(i, k): (shapes[i][k], shapes[i][(k + 1) % 4]) for i, k in edges}
    expected = dict.fromkeys(edges, (-1, -1))
    for turned in (True, False):
        for one in edges:
            for two in edges:
                fits = ends[one] == (ends[two][::-1] if turned else ends[two])
                free = expected[one] == expected[two] == (-1, -1)
                if fits and free and one[0] < two[0]:
                    expected[one], expected[two] = two, one
    assert new.links.tolist() == [expected[edge] for edge in edges]
