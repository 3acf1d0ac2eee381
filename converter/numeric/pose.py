"""Convert between game axes (Z up) and glTF axes (Y up), which no other module does, and compose poses.

``(x, y, z)`` of the game is ``(x, z, -y)`` of glTF: a rotation, so handedness and winding stay.
Exact on floats; ``-(0.0)`` is ``-0.0`` and comes back (docs/reference/conventions.md, Axes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import F32, F64, NONE16
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
    """Order node indices so that every parent comes before its children.

    A node on a cycle, or below one, is left out: the caller checks the length.

    Args:
        root: what a node without a parent has instead of one.
    """
    children: list[list[int]] = [[] for _ in parents]
    order: list[int] = []
    for node, parent in enumerate(parents):
        (order if parent == root else children[parent]).append(node)
    for node in order:  # grows while it is walked
        order.extend(children[node])
    return order


def compose(parents: Sequence[int], rotations: F64, translations: F64) -> tuple[F64, F64]:
    """Compose poses relative to the parent into model-space poses: parent ∘ child.

    Args:
        parents: parent index per node, ``0xFFFF`` = root; no cycles.
        rotations: (..., N, 4) unit rotations.
        translations: (..., N, 3).

    Returns:
        World rotations and translations of the same shapes.
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
