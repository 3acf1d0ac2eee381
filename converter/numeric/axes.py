"""Convert between game axes (Z up) and glTF axes (Y up); no other module knows both.

``(x, y, z)`` of the game is ``(x, z, -y)`` of glTF: a rotation, so handedness and winding stay.
Exact on floats; ``-(0.0)`` is ``-0.0`` and comes back (docs/reference/conventions.md, Axes).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import F64

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
