"""Res8, the key pool: encoding and decoding of its keys (24 bytes each).

A key is a position, a time in frames and a rotation of four words (docs/reference/animation.md).
Which word is which differs between files: the caller gives the columns of ``[w, x, y, z]``
(``scene.dialect.key_order``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import Records
from ..numeric.quantize import UNIT_SCALE, decode_unit

KEY_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),  # +0
        ("time", "<f4"),  # +12  frames
        ("quaternion", "<i2", (4,)),  # +16  / 32767; the order is the dialect's
    ]
)
assert KEY_DTYPE.itemsize == 24


class Keys(NamedTuple):
    """Decoded keys.

    Attributes:
        position: (K, 3) float32, game axes.
        time: (K,) float32, frames.
        quaternion: (K, 4) float32, ``[w, x, y, z]``.
    """

    position: NDArray[np.float32]
    time: NDArray[np.float32]
    quaternion: NDArray[np.float32]


def decode_keys(pool: Records, order: Sequence[int]) -> Keys:
    """Decode a key pool.

    Args:
        pool: (K,) ``KEY_DTYPE``.
        order: the columns of ``[w, x, y, z]`` in a stored rotation.
    """
    return Keys(pool["position"], pool["time"], decode_unit(pool["quaternion"])[:, order])


def encode_keys(
    position: NDArray[np.float32], time: NDArray[np.integer], words: NDArray[np.int16], order: Sequence[int]
) -> Records:
    """Encode keys.

    Args:
        position: (K, 3).
        time: (K,) frames.
        words: (K, 4) ``[w, x, y, z]`` as of ``numeric.quantize.encode_unit``.
        order: the columns of ``[w, x, y, z]`` in a stored rotation.

    Returns:
        (K,) ``KEY_DTYPE``.
    """
    pool = np.zeros(len(time), KEY_DTYPE)
    pool["position"], pool["time"] = position, time
    pool["quaternion"][:, order] = words
    return pool


def count_identities(pool: Records, *orders: Sequence[int]) -> list[int]:
    """Return how many keys are not rotated at all, words read in each order."""
    # four words compared as one number
    words = np.ascontiguousarray(pool["quaternion"]).view("<u8")
    return [int(np.count_nonzero(words == UNIT_SCALE << 16 * order[0])) for order in orders]
