"""Small array operations against what they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from msh_gltf.converter.formats.model import BATCH_DTYPE, TRIANGLE_DTYPE
from msh_gltf.converter.formats.tables import KEY_DTYPE, SLOT_DTYPE
from msh_gltf.converter.numeric.arrays import concatenate_records, cross_products
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


@given(hnp.arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 5) | st.integers(0, 2**62)))
def test_stable_order(keys: np.ndarray) -> None:
    """Equal keys stay in order, also where keys leave no room for places."""
    assert _stable_order(keys).tolist() == sorted(range(len(keys)), key=lambda i: keys[i])
