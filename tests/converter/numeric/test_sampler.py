"""The runtime's sampler and blend: recorded samples bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric import pose as sampler
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.scene.dialect import Dialect, tracks
from tests.support.corpus import SAMPLES, Sample

POSED = [s for s in SAMPLES if not s.truth["legacy"]]
posed = pytest.mark.parametrize("sample", POSED, ids=[s.id for s in POSED])


def loaded(sample: Sample) -> sampler.Tracks:
    model = read_msh(sample.path, sample.entry)
    out = tracks(model, Dialect(sample.dialect))
    assert out is not None
    return out


def bits(values: object) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


@posed
def test_recorded_samples(sample: Sample) -> None:
    truth = sample.arrays
    nodes = np.arange(len(sample.truth["nodes"]))
    got = sampler.sample(loaded(sample), nodes, truth["times"])
    np.testing.assert_array_equal(got.key, truth["key"])
    np.testing.assert_array_equal(got.mapped, truth["mapped"])
    np.testing.assert_array_equal(bits(got.quaternion), bits(truth["quat"]))
    np.testing.assert_array_equal(bits(got.position), bits(truth["pos"]))


@posed
def test_recorded_blends(sample: Sample) -> None:
    track, truth = loaded(sample), sample.arrays
    nodes = np.arange(len(sample.truth["nodes"]))
    for i, (a, b, k) in enumerate(truth["blend_args"]):
        if np.isnan(truth["blend"][:, i]).any():
            with pytest.raises(ConversionError, match="neither sample"):
                sampler.blend(track, nodes, a, b, k)
        else:
            got = sampler.blend(track, nodes, a, b, k)
            np.testing.assert_array_equal(bits(got), bits(truth["blend"][:, i]))


@pytest.mark.parametrize(
    ("time", "frame"),
    [
        (0.0, 0),
        (0.5, 0),
        (1.0, 0),
        (1.5, 1),
        (2.0, 2),
        (2.5, 2),
        (3.0, 2),
        (-0.5, 2**32 - 1),
        (-0.49, 2**32 - 1),
        (-1e-9, 0),  # in binary64 the difference is below -0.5, in binary32 it is -0.5
        (4294967808.0, 512),  # the low 32 bits count
        (1e30, 0),
        (float("inf"), 0),
        (float("nan"), 0),  # integer indefinite: low half 0
    ],
)
def test_frame_rounding(time: float, frame: int) -> None:
    """Worked vectors of docs/reference/animation.md, the runtime's arithmetic."""
    assert sampler.frame_index([time])[0] == frame


@given(st.data())
def test_at_rest_is_frame_0(data: st.DataObject) -> None:
    """The short way to frame 0 finds the keys that the sampler starts from."""
    keys, count, frames = 4, 3, data.draw(st.integers(0, 2))
    words = data.draw(st.lists(st.integers(0, 0xFFFF) | st.integers(0, keys), min_size=2))
    starts = st.sampled_from([NONE16, *range(max(0, len(words) - frames + 1))])
    times = st.sampled_from([0.0, -0.0, 1.0])
    track = sampler.Tracks(
        map_start=np.array(data.draw(st.lists(starts, min_size=count, max_size=count))),
        fallback=np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))),
        map_words=np.array(words, np.uint16),
        frame_count=frames,
        position=np.arange(3 * keys, dtype=np.float32).reshape(keys, 3),
        time=np.array(data.draw(st.lists(times, min_size=keys, max_size=keys)), np.float32),
        quaternion=np.eye(4, dtype=np.float32),
    )
    wanted = sampler.sample(track, range(count), [0.0])
    between = track.time[wanted.key[wanted.mapped]].any()
    found = sampler.keys_at_rest(track)
    assert (found is None) == between
    if found is not None:
        np.testing.assert_array_equal(found, wanted.key[:, 0])
        np.testing.assert_array_equal(track.position[found], wanted.position[:, 0])
