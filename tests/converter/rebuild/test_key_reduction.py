"""Key reduction against the runtime sampler, maps, static runs."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.numeric.pose import Tracks, interpolate, sample
from msh_gltf.converter.numeric.quantize import decode_unit, encode_unit, normalise
from msh_gltf.converter.rebuild.nodes import Run, frame_map, make_run

TOLERANCE = 1e-4


def sampled(run: Run, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    last = int(run.frames[-1])
    got = sample(
        Tracks(
            np.array([0 if run.animated else NONE16]),
            np.array([len(run.frames) - 1]),
            frame_map(run.frames, 0, last + 1).astype(np.uint16),
            last + 1,
            run.positions,
            run.frames.astype(np.float32),
            decode_unit(run.words),
        ),
        [0],
        times,
    )
    return got.quaternion[0], got.position[0]


@example(4444, 25, False)
@example(1550, 41, True)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.booleans())
def test_reduced_runs_stay_within_tolerance(seed: int, count: int, keyed: bool) -> None:
    """At every frame and half frame, for random poses and for sampled sparse keys."""
    rng = np.random.default_rng(seed)
    quaternions = normalise(rng.normal(size=(count, 4)), (1, 0, 0, 0))
    positions = rng.normal(size=(count, 3)).astype(np.float32)
    if keyed:
        at = np.unique([0, count - 1, *rng.integers(0, count, 4)])
        source = Run(at, positions[at], encode_unit(quaternions[at]))
        q, positions = sampled(source, np.arange(count, dtype=np.float32))
        quaternions = q.astype(np.float64)
    run = make_run(quaternions, positions, TOLERANCE)
    assert run.frames[0] == 0
    assert (np.diff(run.frames) > 0).all()
    q, p = sampled(run, np.arange(count, dtype=np.float32))
    sign = np.sign(np.einsum("ti,ti->t", q, quaternions))[:, None]
    assert np.abs(q * sign - quaternions).max() * 32767 <= 0.53
    assert np.abs(p - positions).max() <= TOLERANCE
    chained = (quaternions * sign).astype(np.float32)
    half = np.full(count - 1, 0.5, np.float32)
    wanted = interpolate(chained[:-1], chained[1:], half)
    q, _ = sampled(run, np.arange(count - 1, dtype=np.float32) + np.float32(0.5))
    # between two rounded keys a quarter turn apart: 0.71 of a step, and the angle is rounded too
    # half a turn apart, rounding decides which way round: either is right
    dots = np.einsum("ti,ti->t", chained[:-1], chained[1:])
    clear = np.abs(dots) > 2e-4
    assert np.abs(q - wanted)[clear].max(initial=0) * 32767 <= 1.0
    if keyed:
        # rounding may split a segment that turns far, seldom more than two
        assert len(run.frames) <= 2 * len(at)


def test_last_change_is_kept() -> None:
    """Nothing moves after frame 4: that is the last key."""
    positions = np.zeros((9, 3), np.float32)
    positions[4:, 0] = 1
    run = make_run(np.tile([1.0, 0, 0, 0], (9, 1)), positions, 1e-6)
    assert run.frames.tolist() == [0, 3, 4]
    everything = make_run(np.tile([1.0, 0, 0, 0], (9, 1)), positions, 1e-6, reduce=False)
    assert everything.frames.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("frames", "count", "expected"),
    [
        ([0, 2, 5], 6, [7, 7, 8, 8, 8, 9]),  # msh-animation, 5.4
        ([0, 2], 6, [7, 7, 8, 8, 8, 8]),  # after the last key: the fallback
        ([0], 2, [7, 7]),
    ],
)
def test_canonical_map(frames: list[int], count: int, expected: list[int]) -> None:
    assert frame_map(np.array(frames), 7, count).tolist() == expected


@pytest.mark.parametrize(("steps", "kept"), [(0.4, False), (0.8, True), (1.2, True), (-0.8, True)])
def test_a_key_stays_where_leaving_it_out_shows_by_more_than_half_a_step(steps: float, kept: bool) -> None:
    """The middle of a slow turn is some quantisation steps off the way between its neighbours."""
    angles = np.array([0.0, 0.05, 0.1])
    quaternions = np.stack([np.cos(angles), 0 * angles, 0 * angles, np.sin(angles)], axis=1)
    # the ends are what words can hold, so that only the middle is off
    quaternions[[0, 2]] = decode_unit(encode_unit(quaternions[[0, 2]]))
    middle = interpolate(*(quaternions[[i]].astype(np.float32) for i in (0, 2)), np.float32([0.5]))
    quaternions[1] = middle[0].astype(np.float64)
    quaternions[1, 1] += steps / 32767
    run = make_run(quaternions, np.zeros((3, 3), np.float32), TOLERANCE)
    assert (1 in run.frames) == kept
