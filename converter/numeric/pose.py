"""Poses: game axes and glTF axes, poses composed down the tree, animation sampled and blended as the runtime does.

``(x, y, z)`` of the game, Z up, is ``(x, z, -y)`` of glTF, Y up: a rotation, so handedness and winding stay; no other
module converts them. Exact on floats; ``-(0.0)`` is ``-0.0`` and comes back (docs/reference/conventions.md, Axes).

The sampler is exact to the bit. The engine runs the x87 with 24-bit precision, so every ``+ - * /`` is one binary32
operation, in the order of the source's formulas; ``acos``, ``sin`` and ``cos`` are computed in binary64 and rounded to
binary32 (docs/reference/animation.md, The runtime's sampler). It takes quaternions raw, and normalises none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConversionError
from .arrays import F32, F64, I64, NONE16, U16, U32, Bools
from .quantize import normalise

_Float = TypeVar("_Float", np.float32, np.float64)


def game_to_gltf(vectors: NDArray[_Float]) -> NDArray[_Float]:
    """Convert (..., 3) vectors from game axes to glTF axes."""
    out = np.empty_like(vectors)
    out[..., 0] = vectors[..., 0]
    out[..., 1] = vectors[..., 2]
    np.negative(vectors[..., 1], out=out[..., 2])
    return out


def gltf_to_game(vectors: NDArray[_Float]) -> NDArray[_Float]:
    """Convert (..., 3) vectors from glTF axes to game axes."""
    out = np.empty_like(vectors)
    out[..., 0] = vectors[..., 0]
    np.negative(vectors[..., 2], out=out[..., 1])
    out[..., 2] = vectors[..., 1]
    return out


def rotation_to_gltf(rotations: F64) -> F64:
    """Convert (..., 4) rotations [w, x, y, z] in game axes to glTF's [x, y, z, w].

    These are rotations in the textbook sense; a runtime quaternion is conjugated first
    (``converter.numeric.pose.rotation``).
    """
    out = np.empty_like(rotations)
    out[..., :3] = game_to_gltf(rotations[..., 1:])
    out[..., 3] = rotations[..., 0]
    return out


def rotation_to_game(rotations: F64) -> F64:
    """Convert (..., 4) glTF rotations [x, y, z, w] to [w, x, y, z] in game axes."""
    out = np.empty_like(rotations)
    out[..., 1:] = gltf_to_game(rotations[..., :3])
    out[..., 0] = rotations[..., 3]
    return out


_IDENTITY = (1.0, 0.0, 0.0, 0.0)


def rotation(quaternion: F32) -> F64:
    """Return the rotation that a runtime quaternion applies: its conjugate, unit length, float64.

    (..., 4) ``[w, x, y, z]``; an all-zero key is the identity.
    """
    unit = normalise(quaternion, _IDENTITY)
    unit[..., 1:] *= -1
    return unit


def rotation_matrix(rotations: F64) -> F64:
    """Return textbook matrices of unit rotations ``[w, x, y, z]``. (..., 4) -> (..., 3, 3)."""
    twice = rotations[..., :, None] * (2 * rotations)[..., None, :]
    wx, wy, wz = (twice[..., 0, i] for i in (1, 2, 3))
    xx, xy, xz = (twice[..., 1, i] for i in (1, 2, 3))
    yy, yz, zz = twice[..., 2, 2], twice[..., 2, 3], twice[..., 3, 3]
    m = np.empty((*rotations.shape[:-1], 3, 3))
    m[..., 0, 0] = 1 - (yy + zz)
    m[..., 0, 1] = xy - wz
    m[..., 0, 2] = xz + wy
    m[..., 1, 0] = xy + wz
    m[..., 1, 1] = 1 - (xx + zz)
    m[..., 1, 2] = yz - wx
    m[..., 2, 0] = xz - wy
    m[..., 2, 1] = yz + wx
    m[..., 2, 2] = 1 - (xx + yy)
    return m


def affine(linear: F64, translations: ArrayLike) -> F64:
    """Return matrices that turn and scale, then move, column vectors. (..., 3, 3), (..., 3) -> (..., 4, 4)."""
    out = np.zeros((*linear.shape[:-2], 4, 4))
    out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = linear, translations, 1.0
    return out


def rotation_in(linear: F64) -> F64:
    """Return the rotation of a polar decomposition; a mirror is taken for -1 times a rotation."""
    left, _, right = np.linalg.svd(linear)
    turn: F64 = left @ right
    return -turn if np.linalg.det(turn) < 0 else turn


def quaternion_of(matrix: F64) -> F64:
    """Return ``[w, x, y, z]`` of a rotation matrix."""
    m = matrix
    values = np.array(
        [
            1 + m[0, 0] + m[1, 1] + m[2, 2],
            1 + m[0, 0] - m[1, 1] - m[2, 2],
            1 - m[0, 0] + m[1, 1] - m[2, 2],
            1 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    k = int(values.argmax())
    s = 2 * float(np.sqrt(values[k]))
    w = [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]
    if k == 0:
        out = [s / 4, w[0] / s, w[1] / s, w[2] / s]
    else:
        i = k - 1
        j, n = (i + 1) % 3, (i + 2) % 3
        out = [w[i] / s, 0.0, 0.0, 0.0]
        out[1 + i] = s / 4
        out[1 + j] = (m[j, i] + m[i, j]) / s
        out[1 + n] = (m[n, i] + m[i, n]) / s
    return normalise(np.array(out), (1, 0, 0, 0))


def multiply(a: F64, b: F64) -> F64:
    """Return rotation ``b`` followed by ``a``. (..., 4) each."""
    aw, ax, ay, az = (a[..., i] for i in range(4))
    bw, bx, by, bz = (b[..., i] for i in range(4))
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def rotate(rotations: F64, vectors: F64) -> F64:
    """Rotate vectors. (..., 4), (..., 3) -> (..., 3)."""
    turned: F64 = (rotation_matrix(rotations) @ vectors[..., None])[..., 0]
    return turned


def parents_first(parents: Sequence[int], root: int = NONE16) -> list[int]:
    """Order node indices so that every parent comes before its children. ``root``: what a node without a parent has.

    A node on a cycle, or below one, is left out: the caller checks the length.
    """
    children: list[list[int]] = [[] for _ in parents]
    order: list[int] = []
    for node, parent in enumerate(parents):
        (order if parent == root else children[parent]).append(node)
    for node in order:  # grows while it is walked
        order.extend(children[node])
    return order


def compose(parents: Sequence[int], rotations: F64, translations: F64) -> tuple[F64, F64]:
    """Compose poses relative to the parent into model-space poses: parent ∘ child. (..., N, 4) unit, (..., N, 3); as
    many.

    ``parents``: parent index per node, ``0xFFFF`` = root; no cycles.
    """
    count = len(parents)
    if not rotations.size:
        return rotations.copy(), translations.copy()
    turns: list[list[list[float]]] = rotations.reshape(-1, count, 4).tolist()
    moves: list[list[list[float]]] = translations.reshape(-1, count, 3).tolist()
    order = [(node, up) for node in parents_first(parents) if (up := parents[node]) != NONE16]
    # a handful of numbers per node: an array operation costs more than all of its arithmetic
    for turn, move in zip(turns, moves, strict=True):
        for node, up in order:
            w, x, y, z = turn[up]
            a, b, c, d = turn[node]
            turn[node] = [
                w * a - x * b - y * c - z * d,
                w * b + x * a + y * d - z * c,
                w * c - x * d + y * a + z * b,
                w * d + x * c - y * b + z * a,
            ]
            px, py, pz = move[node]
            ox, oy, oz = move[up]
            move[node] = [
                ox + ((1 - 2 * (y * y + z * z)) * px + 2 * (x * y - w * z) * py + 2 * (x * z + w * y) * pz),
                oy + (2 * (x * y + w * z) * px + (1 - 2 * (x * x + z * z)) * py + 2 * (y * z - w * x) * pz),
                oz + (2 * (x * z - w * y) * px + 2 * (y * z + w * x) * py + (1 - 2 * (x * x + y * y)) * pz),
            ]
    return np.array(turns).reshape(rotations.shape), np.array(moves).reshape(translations.shape)


_HALF = np.float32(0.5)
_ONE = np.float32(1)
_TWO = np.float32(2)
_LERP_BELOW = np.float32(9.9999997e-6)


class Tracks(NamedTuple):
    """What the sampler reads of a model, whatever its dialect.

    Attributes:
        map_start: (N,) int64, first word of a node's map, ``0xFFFF`` = none.
        fallback: (N,) int64, the node's fallback key.
        map_words: (W,) uint16, Res19.
        frame_count: directory ``attr2`` of Res19.
        position: (K, 3) float32, key positions.
        time: (K,) float32, key times in frames.
        quaternion: (K, 4) float32, decoded ``[w, x, y, z]``.
    """

    map_start: I64
    fallback: I64
    map_words: U16
    frame_count: int
    position: F32
    time: F32
    quaternion: F32

    @property
    def animated(self) -> NDArray[np.intp]:
        """Indices of the nodes that have a map."""
        return np.flatnonzero(self.map_start != NONE16)


class Samples(NamedTuple):
    """Samples of n nodes at T times.

    ``quaternion`` (n, T, 4) and ``position`` (n, T, 3) float32; ``key`` (n, T) the index of the
    key that the runtime starts from; ``mapped`` (n, T) whether the map branch was taken.
    """

    quaternion: F32
    position: F32
    key: I64
    mapped: Bools


def frame_index(times: ArrayLike) -> U32:
    """Return ``FISTP(t - 0.5)``: the low 32 bits, as the unsigned number the runtime compares.

    The difference is rounded to binary32, then half to even to a 64-bit integer. What does
    not fit (and NaN) becomes the x87's integer indefinite, whose low half is 0.
    """
    rounded = np.rint(np.asarray(times, np.float32) - _HALF).astype(np.float64)
    fits = np.abs(rounded) < 2.0**63  # False for NaN
    return np.where(fits, rounded, 0.0).astype(np.int64).astype(np.uint32)


def interpolate(q0: F32, q1: F32, alpha: F32) -> F32:
    """Interpolate as ``quat_interp`` and ``quat_blend`` do (``g_FastProc[17]``, ``[22]``), without normalising.

    (..., 4), (..., 4), (...) float32 -> (..., 4) float32.
    """
    dot = dot4(q0, q1)
    sign = np.where(dot < 0, -_ONE, _ONE)
    dot = np.where(dot < 0, -dot, dot)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        theta = _via64(np.arccos, dot)
        inverse = _ONE / _via64(np.sin, theta)
        angle = alpha * theta
        slerp1 = _via64(np.sin, angle) * inverse
        slerp0 = _via64(np.cos, angle) - slerp1 * dot
        linear = _ONE - dot <= _LERP_BELOW
        w0 = np.where(linear, _ONE - alpha, slerp0)
        w1 = np.where(linear, alpha, slerp1) * sign
        return np.asarray(w0[..., None] * q0 + w1[..., None] * q1, np.float32)


def dot4(a: F32, b: F32) -> F32:
    """Return four products summed from the first to the last, each step in binary32."""
    p = a * b
    return np.asarray(((p[..., 0] + p[..., 1]) + p[..., 2]) + p[..., 3], np.float32)


def _via64(function: np.ufunc, values: F32) -> F32:
    return np.asarray(function(values.astype(np.float64)), np.float64).astype(np.float32)


def keys_at_rest(tracks: Tracks) -> I64 | None:
    """Return the key that each node has at frame 0, (N,); ``None``: one is between two keys.

    What :func:`sample` would give for frame 0, in a quarter of the time.
    """
    if not tracks.frame_count or not len(tracks.map_words):
        return tracks.fallback
    mapped = tracks.map_start != NONE16
    word = tracks.map_words[np.where(mapped, tracks.map_start, 0)]
    mapped &= word < tracks.fallback
    key = np.where(mapped, word, tracks.fallback)
    return None if np.count_nonzero(tracks.time[key][mapped]) else key


def sample(tracks: Tracks, nodes: ArrayLike, times: ArrayLike) -> Samples:
    """Sample nodes, (n,), at times, (T,) frames taken as float32, as the runtime does, raw (``sub_10012880``).

    ``tracks``: checked; maps and keys in range.
    """
    index = np.asarray(nodes, np.int64)
    t = np.asarray(times, np.float32)
    fallback = tracks.fallback[index][:, None]
    frame = frame_index(t).astype(np.int64)
    start = tracks.map_start[index][:, None]
    mapped = (start != NONE16) & (frame < tracks.frame_count)
    if mapped.any():
        word = tracks.map_words[np.where(mapped, start + frame, 0)].astype(np.int64)
        mapped &= word < fallback
        key = np.where(mapped, word, fallback)
    else:
        key = np.repeat(fallback, t.size, axis=1)

    quaternion = tracks.quaternion[key]
    position = tracks.position[key]
    rows, columns = np.nonzero(mapped & (t != tracks.time[key]))
    if rows.size:
        at_t = t[columns]
        k0 = key[rows, columns]
        k1 = k0 + 1
        t0, t1 = tracks.time[k0], tracks.time[k1]
        p0, p1 = tracks.position[k0], tracks.position[k1]
        q0, q1 = tracks.quaternion[k0], tracks.quaternion[k1]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            alpha = np.asarray((at_t - t0) / (t1 - t0), np.float32)
            p = p0 + (p1 - p0) * alpha[:, None]
        q = interpolate(q0, q1, alpha)
        on_key = (at_t == t1)[:, None]
        position[rows, columns] = np.where(on_key, p1, p)
        quaternion[rows, columns] = np.where(on_key, q1, q)
    return Samples(quaternion, position, key, mapped)


def quat_to_matrix(quaternion: F32) -> F32:
    """Return matrices as ``quat_to_matrix`` does (``g_FastProc[14]``). (..., 4) -> (..., 16).

    Row-major with the translation in 3, 7, 11: it multiplies column vectors and is the
    transpose of the textbook rotation.
    """
    w, x, y, z = (quaternion[..., i] for i in range(4))
    m = np.zeros((*quaternion.shape[:-1], 16), np.float32)
    m[..., 0] = _ONE - _TWO * (y * y + z * z)
    m[..., 1] = _TWO * (x * y + w * z)
    m[..., 2] = _TWO * (x * z - w * y)
    m[..., 4] = _TWO * (x * y - w * z)
    m[..., 5] = _ONE - _TWO * (x * x + z * z)
    m[..., 6] = _TWO * (y * z + w * x)
    m[..., 8] = _TWO * (x * z + w * y)
    m[..., 9] = _TWO * (y * z - w * x)
    m[..., 10] = _ONE - _TWO * (x * x + y * y)
    m[..., 15] = _ONE
    return m


def blend(tracks: Tracks, nodes: ArrayLike, time_a: float, time_b: float, weight: float) -> F32:
    """Blend two samples into a matrix per node, (n, 16) float32, row-major (``sub_10012560``).

    Args:
        time_a, time_b: frames; a negative time means that sample is not available.
        weight: 0 = A alone, 1 = B alone.

    Raises ConversionError: neither sample is available; the original leaves this undefined.
    """
    a, b, k = np.float32(time_a), np.float32(time_b), np.float32(weight)
    has_a = bool(k < 1 and a >= 0)
    has_b = bool(k > 0 and b >= 0)
    if not has_a and not has_b:
        problem, value = "blend has neither sample", f"tA={float(a)} tB={float(b)} blend={float(k)}"
        raise ConversionError(problem, value=value, expected="tA >= 0 and blend < 1, or tB >= 0 and blend > 0")
    if has_a != has_b:
        one = sample(tracks, nodes, [a if has_a else b])
        return _with_translation(quat_to_matrix(one.quaternion[:, 0]), one.position[:, 0])
    both = sample(tracks, nodes, [a, b])
    q_a, q_b = both.quaternion[:, 0], both.quaternion[:, 1]
    plus, minus = q_a + q_b, q_a - q_b
    q_b = np.where((dot4(plus, plus) < dot4(minus, minus))[:, None], -q_b, q_b)
    q = interpolate(q_a, q_b, np.broadcast_to(k, q_a.shape[:1]))
    p = (_ONE - k) * both.position[:, 0] + k * both.position[:, 1]
    return _with_translation(quat_to_matrix(q), np.asarray(p, np.float32))


def _with_translation(matrix: F32, position: F32) -> F32:
    matrix[..., 3], matrix[..., 7], matrix[..., 11] = (position[..., i] for i in range(3))
    return matrix
