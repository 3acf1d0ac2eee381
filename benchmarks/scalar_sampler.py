"""The sampler again, scalar, straight from the pseudocode of msh-animation (11, 4.4).

Reads the tables' bytes itself; shares nothing with the converter's sampler. Every operation on
``np.float32`` scalars is one binary32 operation.
"""

import math
import struct
import warnings
from dataclasses import dataclass

import numpy as np

F = np.float32
Vector = list[np.float32]


@dataclass
class ScalarModel:
    res1: bytes
    res8: bytes
    res19: bytes
    frame_count: int
    w_first: bool

    def key(self, index: int) -> tuple[Vector, Vector, np.float32]:
        """(quaternion [w, x, y, z], position, time) of a key."""
        position = [F(v) for v in np.frombuffer(self.res8, "<f4", 3, index * 24)]
        time = F(np.frombuffer(self.res8, "<f4", 1, index * 24 + 12)[0])
        words = struct.unpack_from("<4h", self.res8, index * 24 + 16)
        scale = F(1.0) / F(32767.0)
        q = [F(word) * scale for word in words]
        return (q if self.w_first else [q[3], q[0], q[1], q[2]]), position, time


def fistp_u32(t: np.float32) -> int:
    x = float(F(t) - F(0.5))
    if math.isnan(x) or abs(x) >= 2.0**63:
        return 0
    return round(x) & 0xFFFFFFFF  # Python rounds half to even


def dot4(a: Vector, b: Vector) -> np.float32:
    total = a[0] * b[0]
    for i in (1, 2, 3):
        total = total + a[i] * b[i]
    return total


def interpolate(q0: Vector, q1: Vector, a: np.float32) -> Vector:
    dot, sign = dot4(q0, q1), F(1.0)
    if dot < 0:
        dot, sign = -dot, F(-1.0)
    if F(1.0) - dot <= F(9.9999997e-6):
        w0, w1 = F(1.0) - a, a
    else:
        theta = F(math.acos(float(dot)))
        inverse = F(1.0) / F(math.sin(float(theta)))
        w1 = F(math.sin(float(a * theta))) * inverse
        w0 = F(math.cos(float(a * theta))) - w1 * dot
    w1 = w1 * sign
    return [w0 * x + w1 * y for x, y in zip(q0, q1, strict=True)]


def sample(model: ScalarModel, node: int, time: float) -> tuple[Vector, Vector]:
    t = F(time)
    map_start, fallback = struct.unpack_from("<HH", model.res1, node * 38 + 4)
    frame = fistp_u32(t)
    if frame >= model.frame_count or map_start == 0xFFFF:
        return model.key(fallback)[:2]
    word = struct.unpack_from("<H", model.res19, 2 * (map_start + frame))[0]
    if word >= fallback:
        return model.key(fallback)[:2]
    q0, p0, t0 = model.key(word)
    if t == t0:
        return q0, p0
    q1, p1, t1 = model.key(word + 1)
    if t == t1:
        return q1, p1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        a = (t - t0) / (t1 - t0)
        p = [x + (y - x) * a for x, y in zip(p0, p1, strict=True)]
    return interpolate(q0, q1, a), p
