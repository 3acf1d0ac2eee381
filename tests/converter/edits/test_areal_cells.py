"""Cells of edited areals: which areals lie under a cell of the grid."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.edits.areal_map import replace_polygons
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import CELLS
from msh_gltf.converter.numeric.surfaces import cells_under
from msh_gltf.converter.queries.landscape import areal_at
from tests.support.areal_edits import (
    brute_cells,
    inner,
    lists,
    meets,
    own,
    require_valid,
    require_written,
    row_of,
    shared,
)
from tests.support.areals import areal_at_brute, probes, sample, square, tiny


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=7, unique=True))
def test_cells_under_equal_brute_force(corners: list[tuple[int, int]]) -> None:
    """Star-shaped polygons round the grid's middle, on and off the borders of cells."""
    middle = np.array((4.1, 3.9))
    spokes = np.array(corners) - middle
    order = np.argsort(np.arctan2(spokes[:, 1], spokes[:, 0]))
    polygon = np.array(corners, np.float64)[order]
    following = np.roll(polygon, -1, 0)
    if (polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]).sum() <= 0:
        return
    borders = np.linspace(-1, 9, 6)
    rows, touch, overlap = cells_under(polygon, borders, borders)
    shape = [(x, y) for x, y in polygon.tolist()]
    for x in range(5):
        for y in range(5):
            low, high = (borders[x], borders[y]), (borders[x + 1], borders[y + 1])
            at = np.flatnonzero(rows == 5 * x + y)
            assert (at.size and touch[at[0]]) == meets(shape, low, high)
            assert (at.size and overlap[at[0]]) == (shared(shape, low, high) > 4e-9)


def test_cells_under_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    polygon = own(sample(), 3)[:, :2].astype(np.float64)
    borders = np.linspace(0, 1200, 129)
    whole = cells_under(polygon, borders, borders)
    monkeypatch.setattr("msh_gltf.converter.numeric.surfaces._AT_ONCE", 5)
    for a, b in zip(whole, cells_under(polygon, borders, borders), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(whole[0]) > 9


def test_lists_keep_what_they_may() -> None:
    """The map's cells list everything, backwards: an edit leaves what it may leave."""
    areals = row_of(3)  # x cells and squares coincide: every square fills 3 cells
    new = replace_polygons(areals, {2: [(2, 0, 0), (2.5, 0, 0), (3, 1, 0), (2, 1, 0)]})
    rest = [2, 1, 0]
    assert lists(new) == [[0, 1]] * 3 + [rest] * 6  # areal 2 touches column 1 at x = 2
    again = replace_polygons(new, {0: [(0, 0, 0), (1.5, 0, 0), (1.5, 1, 0), (0, 1, 0)]})
    assert lists(again) == [[0, 1]] * 3 + [rest] * 3 + [[1, 2]] * 3
    back = replace_polygons(again, {2: [(1.5, 0, 0), (3, 0, 0), (3, 1, 0), (1.5, 1, 0)]})
    assert lists(back) == [[0, 1]] * 3 + [rest] * 3 + [[1, 2]] * 3


@pytest.mark.parametrize("shift", [(0.5, 0), (0, -0.5)])
def test_moved_grid(shift: tuple[float, float]) -> None:
    """The extent changes, so every cell does: all lists by exact overlap."""
    areals = row_of(3, cells=4)
    shape = np.array(square(2, 0, 1), np.float64)
    shape[1, :2] += shift
    new = replace_polygons(areals, {2: shape})
    brute = {i: brute_cells(new, i)[0] for i in range(3)}
    assert lists(new) == [sorted(i for i in brute if row in brute[i]) for row in range(16)]
    require_written(new)
    unmoved = replace_polygons(areals, {1: [(x, y, 9) for x, y, _ in square(1, 0, 1)]})
    # height is no extent: the lists stay, backwards, but for the edited areal
    assert lists(unmoved) == [[0, 2]] * 4 + [[2, 1, 0]] * 8 + [[0, 2]] * 4


def test_moved_grid_of_a_level() -> None:
    areals = sample()
    index = int(areals.owner[np.argmax(areals.vertices[:, 0])])
    polygon = own(areals, index).copy()
    polygon[np.argmax(polygon[:, 0]), 0] += 37
    new = replace_polygons(areals, {index: polygon})
    require_valid(new)
    require_written(new)
    listed = lists(new)
    for i in [index, *inner(areals, 6, 3)]:
        assert {row for row, ids in enumerate(listed) if i in ids} == brute_cells(new, i)[0]
    assert sum(map(len, listed)) == len(new.cell_ids)
    assert all(ids == sorted(set(ids)) for ids in listed)
    points = probes(new, 5, 60)
    assert areal_at(new, points).tolist() == areal_at_brute(new, points)


def test_full_cell() -> None:
    areals = tiny(square(0, 0, 4), square(0, 0, 1), cells=2)
    ids = np.zeros(1023 + 3, np.uint16)  # cell 1, 1 lists areal 0 so often
    crowded = replace(areals, cell_start=np.array([0, 1, 2, 3, 1026]), cell_ids=ids)
    assert len(replace_polygons(crowded, {1: square(0, 0, 1.5)}).cell_ids) == 1027
    with pytest.raises(ConversionError, match="cell 1, 1 would list too many") as caught:
        replace_polygons(crowded, {1: square(2.5, 2.5, 1)})
    error = caught.value
    assert (error.table, error.row, error.value) == (CELLS, 3, 1024)
    assert str(error.expected) == "at most 1023"
