"""Evaluate animation curves of glTF at any frames (glTF 2.0, Appendix C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numeric.quantize import normalise
from .scene import Channel

F64 = NDArray[np.float64]


def evaluate(channel: Channel, frames: ArrayLike, *, by_component: bool = False) -> F64:
    """Return the values of a curve; before its first and after its last key they stay.

    Args:
        channel: LINEAR (rotations along the shorter arc), STEP or CUBICSPLINE.
        frames: (T,) frames.
        by_component: interpolate rotations of LINEAR per component, as Blender does.

    Returns:
        (T, 3) translations or (T, 4) unit rotations.
    """
    keys, at = channel.frames, np.clip(frames, channel.frames[0], channel.frames[-1])
    left = np.clip(np.searchsorted(keys, at, "right") - 1, 0, max(0, len(keys) - 2))
    right = np.minimum(left + 1, len(keys) - 1)
    span = keys[right] - keys[left]
    t = np.divide(at - keys[left], span, out=np.zeros_like(at), where=span > 0)[:, None]
    is_rotation = channel.values.shape[1] == 4
    if channel.interpolation == "CUBICSPLINE":
        out = _cubic(channel.values, left, right, span[:, None], t)
    elif channel.interpolation == "STEP":
        out = channel.values[np.where(t[:, 0] >= 1, right, left)]
    elif is_rotation and not by_component:
        out = _slerp(channel.values[left], channel.values[right], t)
    else:
        a, b = channel.values[left], channel.values[right]
        if is_rotation:
            b = np.where(np.einsum("ti,ti->t", a, b)[:, None] < 0, -b, b)
        out = np.where(t >= 1, b, a + (b - a) * t)
    return normalise(out, (1, 0, 0, 0)) if is_rotation else out


def _slerp(a: F64, b: F64, t: F64) -> F64:
    dot = np.einsum("ti,ti->t", a, b)[:, None]
    b = np.where(dot < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0, 1))
    sine = np.sin(angle)
    close = sine < 1e-8
    safe = np.where(close, 1, sine)
    w0 = np.where(close, 1 - t, np.sin((1 - t) * angle) / safe)
    w1 = np.where(close, t, np.sin(t * angle) / safe)
    # on a key the key itself, so that what was not resampled compares exactly
    return np.where(t <= 0, a, np.where(t >= 1, b, w0 * a + w1 * b))


def _cubic(values: F64, left: NDArray[np.int64], right: NDArray[np.int64], span: F64, t: F64) -> F64:
    """Hermite spline: keys are (in-tangent, value, out-tangent)."""
    v0, out0 = values[3 * left + 1], values[3 * left + 2]
    in1, v1 = values[3 * right], values[3 * right + 1]
    t2, t3 = t * t, t * t * t
    return np.asarray(
        (2 * t3 - 3 * t2 + 1) * v0 + span * (t3 - 2 * t2 + t) * out0 + (3 * t2 - 2 * t3) * v1 + span * (t3 - t2) * in1
    )
