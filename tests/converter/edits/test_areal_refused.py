"""Edits of areals that are refused, and anchors that are repaired."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.edits.areal_map import NewAreal, add_areal, remove_areals, repair_anchors, replace_polygons
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import AREALS, ArealMap, anchor_inside
from tests.support.areal_edits import lists, own, require_written, row_of
from tests.support.areals import brute_inside, sample, square, tiny

U = [(0, 0, 0), (9, 0, 0), (9, 9, 0), (8, 9, 0), (8, 1, 0), (1, 1, 0), (1, 9, 0), (0, 9, 0)]


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        (square(0, 0, 1)[::-1], "clockwise"),
        (square(0, 0, 1)[:2], "too few vertices"),
        (np.empty((0, 3)), "too few vertices"),
        ([(0, 0, 0), (1, 0, np.nan), (1, 1, 0)], "not finite"),
        ([(0, 0, 0), (1e39, 0, 0), (1, 1, 0)], "not finite"),
        ([(0, 0, 0), (1, 1, 0), (3, 3, 7)], "no area"),
        ([(7, 7, 0)] * 3, "no area"),
        ([(0, 0, 0), (1e5, 1e-9, 0), (2e5, 3e-9, 0)], "no area"),
        ([(0, 0), (1, 0), (1, 1)], "wrong shape"),
        ([1, 2, 3], "wrong shape"),
        ([(0, 0, 0), (9, 0, 0), (1, 4, 0), (8, 4, 0)], "edges of the polygon cross: 1 and 3"),
    ],
)
def test_refused_polygons(shape: list, problem: str) -> None:
    areals = row_of(2)
    for edit, row in (
        (lambda: replace_polygons(areals, {1: shape}), 1),
        (lambda: add_areal(areals, NewAreal(shape, 1, 0)), 2),
    ):
        with pytest.raises(ConversionError, match=problem) as caught:
            edit()
        error = caught.value
        assert (error.file, error.table, error.row) == (areals.archive.label, AREALS, row)
        assert "\n" not in str(error)


def test_touching_edges_are_no_crossing() -> None:
    pinched = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (2, 0, 0), (0, 4, 0)]
    assert len(replace_polygons(row_of(2), {1: pinched}).vertices) == 9


def test_crossing_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("msh_gltf.converter.numeric.surfaces._AT_ONCE", 5)
    with pytest.raises(ConversionError, match="cross: 1 and 3"):
        replace_polygons(row_of(2), {1: [(0, 0, 0), (9, 0, 0), (1, 4, 0), (8, 4, 0)]})
    assert len(replace_polygons(row_of(2), {1: U}).vertices) == 12


def test_other_refusals() -> None:
    areals = row_of(2)
    for edit, problem in (
        (lambda: replace_polygons(areals, {2: square(0, 0, 1)}), "no such areal: 2"),
        (lambda: replace_polygons(areals, {-1: square(0, 0, 1)}), "no such areal: -1"),
        (lambda: remove_areals(areals, [0, 2]), "no such areal: 2"),
        (lambda: remove_areals(areals, [0, 1]), "at least one areal: all 2"),
        (lambda: repair_anchors(areals, [5]), "no such areal: 5"),
        (lambda: add_areal(areals, NewAreal(U, -1, 0)), "class_id does not fit: -1"),
        (lambda: add_areal(areals, NewAreal(U, 0, 1 << 32)), "logic does not fit"),
        (lambda: add_areal(areals, NewAreal(U, 0, 0, (0, np.inf, 1))), "normal does not fit"),
    ):
        with pytest.raises(ConversionError, match=problem) as caught:
            edit()
        assert caught.value.table == AREALS
    broken = areals.vertices.copy()
    broken[5] = np.nan
    for edit in (lambda m: replace_polygons(m, {0: square(0, 0, 0.5)}), lambda m: remove_areals(m, [0])):
        with pytest.raises(ConversionError, match="not a finite number"):
            edit(replace(areals, vertices=broken))
    healed = remove_areals(replace(areals, vertices=broken), [1])
    assert lists(healed) == [[0]] * 9


def test_more_areals_than_ids() -> None:
    areals = row_of(1)
    many = replace(
        areals,
        records=np.repeat(areals.records, 0x10000),
        vertices=np.tile(areals.vertices, (0x10000, 1)),
        vertex_start=np.arange(0x10001) * 4,
        links=np.tile(areals.links, 0x10000),
        extra_start=np.zeros(0x10001, np.int64),
        polys=[b""] * 0x10000,
    )
    with pytest.raises(ConversionError, match="16-bit ids: 65537"):
        add_areal(many, NewAreal(square(0, 0, 1), 0, 0))


def test_polys_are_kept_and_not_invented() -> None:
    areals = sample("mixed__MULTI02")
    index = int(np.argmax(areals.records["poly_count"]))
    polygon = own(areals, index)
    raised = replace_polygons(areals, {index: polygon + np.float32(0.001)})
    assert raised.polys == areals.polys
    assert raised.extra_links.tobytes() == areals.extra_links.tobytes()
    require_written(raised)
    with pytest.raises(ConversionError, match="vertex count must stay") as caught:
        replace_polygons(areals, {index: polygon[:-1]})
    assert caught.value.row == index
    assert str(caught.value.expected) == str(len(polygon))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ((0, 0, 1), (0, 0, 1)),
        ((0, 3, 4), (0, 0.6, 0.8)),
        ((0, 0, 0), (0, 0, 1)),
        ((np.nan, 0, 1), (0, 0, 1)),
        ((0, 0, 1.00000012), (0, 0, 1.00000012)),  # unit as far as float32 goes: kept
    ],
)
def test_normal_follows(stored: tuple, expected: tuple) -> None:
    areals = row_of(2)
    records = areals.records.copy()
    records["normal"] = stored
    new = replace_polygons(replace(areals, records=records), {1: square(1, 0, 0.5)})
    np.testing.assert_array_equal(new.records["normal"][1], np.array(expected, np.float32))
    assert new.records["normal"][0].tobytes() == records["normal"][0].tobytes()


def anchored(shape: list, anchor: tuple[float, float, float]) -> ArealMap:
    areals = tiny(shape)
    areals.records["anchor"][0] = anchor
    return areals


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        (square(2, 4, 2), (3, 5)),  # the centroid
        (U, (0.5, 4.5)),  # the centroid is in the gap; of two spans as long, the first
        ([*U[:3], (7, 9, 0), (7, 1, 0), *U[5:]], (8, 4.5)),  # the right arm is wider
    ],
)
def test_repaired_anchor(shape: list, place: tuple[float, float]) -> None:
    areals = anchored(shape, (-50, 0, 7))
    fixed = repair_anchors(areals)
    assert fixed.records["anchor"][0].tolist() == [*place, 7]
    assert brute_inside([(x, y) for x, y, _ in shape], *place)
    assert areals.records["anchor"][0].tolist() == [-50, 0, 7]
    assert repair_anchors(fixed, [0]).records.tobytes() == fixed.records.tobytes()
    assert repair_anchors(areals, []).records.tobytes() == areals.records.tobytes()


def test_anchor_on_another_line() -> None:
    """Half the height cuts only through a corner: the next line has a span."""
    bow = [(0, 0, 0), (8, 0, 0), (4, 4, 0), (8, 8, 0), (0, 8, 0), (4, 4, 0)]
    fixed = repair_anchors(anchored(bow, (-50, 0, 7)))
    assert fixed.records["anchor"][0].tolist() == [4, 2, 7]


def test_anchor_without_room() -> None:
    flat = [(0, 0, 0), (4, 0, 0), (8, 0, 0)]
    for shape in (flat, [(0, 0, 0), (np.nan, 0, 0), (1, 1, 0)], flat[:2]):
        with pytest.raises(ConversionError, match="no room for an anchor") as caught:
            repair_anchors(anchored(shape, (-50, 0, 7)), [0])
        assert (caught.value.table, caught.value.row) == (AREALS, 0)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=8))
def test_repair_finds_a_place(corners: list[tuple[int, int]]) -> None:
    """Any polygon at all, crossing itself or not: inside, or refused because nothing is."""
    areals = anchored([(x, y, 0) for x, y in corners], (-50, 0, 7))
    try:
        fixed = repair_anchors(areals)
    except ConversionError:
        grid = np.arange(0, 8, 0.25) + 0.03
        assert not any(brute_inside([*corners], x, 4.0) for x in grid.tolist())
        return
    assert brute_inside([*corners], *fixed.records["anchor"][0, :2].astype(float).tolist())


def test_anchors_of_a_level() -> None:
    areals = sample("mixed__tut_1")
    records = areals.records.copy()
    records["anchor"][:, :2] -= 9000
    fixed = repair_anchors(replace(areals, records=records))
    assert anchor_inside(fixed).all()
    np.testing.assert_array_equal(fixed.records["anchor"][:, 2], areals.records["anchor"][:, 2])
