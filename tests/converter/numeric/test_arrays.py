"""Small array operations against what they stand for."""

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from msh_gltf.converter.formats.model import BATCH_DTYPE, TRIANGLE_DTYPE
from msh_gltf.converter.formats.tables import KEY_DTYPE, SLOT_DTYPE
from msh_gltf.converter.numeric import arrays
from msh_gltf.converter.numeric.arrays import (
    NONE16,
    beyond,
    concatenate_records,
    cross_products,
    largest_known,
    near_pairs,
    surface_distance,
)
from msh_gltf.converter.numeric.surfaces import _stable_order

CORNERS = st.sampled_from([np.float32, np.float64]).flatmap(
    lambda kind: hnp.arrays(
        kind, st.tuples(st.integers(0, 5), st.just(3), st.just(3)), elements=st.floats(-1e6, 1e6, width=32)
    )
)


@given(CORNERS)
def test_crosses(corners: np.ndarray) -> None:
    sides = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    expected = np.cross(*sides) if len(corners) else np.empty((0, 3), corners.dtype)
    assert cross_products(corners).tobytes() == expected.tobytes()
    assert cross_products(corners).dtype == corners.dtype


@pytest.mark.parametrize("dtype", [BATCH_DTYPE, KEY_DTYPE, SLOT_DTYPE, TRIANGLE_DTYPE])
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.data())
def test_joined(dtype: np.dtype, counts: list[int], data: st.DataObject) -> None:
    """Every byte stays, those of signalling NaNs too; also where a part is a stride of a table."""
    parts = []
    for count in counts:
        raw = data.draw(st.binary(min_size=2 * count * dtype.itemsize, max_size=2 * count * dtype.itemsize))
        parts.append(np.frombuffer(raw, dtype)[::2])
    assert concatenate_records(parts).dtype == dtype
    assert concatenate_records(parts).tobytes() == b"".join(part.tobytes() for part in parts)


@given(hnp.arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 5) | st.integers(0, 61).map(lambda n: 2**n)))
def test_stable_order(keys: np.ndarray) -> None:
    """Equal keys stay in order, also where keys leave no room for places."""
    assert _stable_order(keys).tolist() == sorted(range(len(keys)), key=lambda i: keys[i])


@given(hnp.arrays(np.uint16, st.integers(0, 4), elements=st.sampled_from([0, 1, 65533, 65534, NONE16])))
def test_indices_that_may_be_none(words: np.ndarray) -> None:
    known = [word for word in words.tolist() if word != NONE16]
    assert largest_known(words) == max(known, default=-1)
    for rows in (0, 1, 65534, 65535):
        assert beyond(words, rows).tolist() == [rows <= word != NONE16 for word in words.tolist()]


@given(st.integers(0, 2**32), st.lists(st.integers(0, 12), min_size=2, max_size=2))
def test_distance_of_surfaces(seed: int, counts: list[int]) -> None:
    """As trimesh has it, each corner and middle against each triangle; equal triangles left out."""
    chance = np.random.default_rng(seed)
    one, other = (chance.normal(0, chance.choice([1, 30]), (count, 3, 3)) for count in counts)
    one[: len(other) // 2] = np.roll(other[: min(len(other) // 2, len(one))], 1, axis=1)
    there, back = one_way(one, other), one_way(other, one)
    assert surface_distance(one, other) == pytest.approx(max(there, back))
    if len(one) and len(other):
        assert arrays._one_way(one, other) == pytest.approx(there)


def one_way(one: np.ndarray, other: np.ndarray) -> float:
    if not len(one) or not len(other):
        return 0.0 if len(one) == len(other) else np.inf
    known = {frozenset(map(tuple, triangle.tolist())) for triangle in other}
    found = 0.0
    for a, b, c in (triangle for triangle in one if frozenset(map(tuple, triangle.tolist())) not in known):
        for place in (a, b, c, (a + b) / 2, (b + c) / 2, (c + a) / 2, (a + b + c) / 3):
            nearest = trimesh.triangles.closest_point(other, np.tile(place, (len(other), 1)))
            found = max(found, np.linalg.norm(nearest - place, axis=1).min())
    return found


def test_near_pairs_are_those_of_all_pairs() -> None:
    points = np.random.default_rng(4).uniform(-1, 1, (200, 3))
    points[50:100] = points[:50] + np.random.default_rng(5).uniform(-0.12, 0.12, (50, 3))
    i, j = near_pairs(points, 0.1)
    apart = np.abs(points[:, None] - points[None]).max(axis=2)
    a, b = np.nonzero(np.triu(apart <= 0.1, 1))
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == sorted(zip(a.tolist(), b.tolist(), strict=True))
    assert near_pairs(np.empty((0, 3)), 0.1)[0].size == 0
