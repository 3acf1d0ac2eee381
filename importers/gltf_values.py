"""What the values of a glTF document may be: vectors, finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.scene.scene import ImportedScene, require_in_range


def vector(values: Any, width: int) -> NDArray[np.float64]:
    """Numbers of a JSON list, (width,) float64.

    Raises:
        ValueError, TypeError: not so many, or none.
    """
    numbers = np.array(values, np.float64)
    if numbers.shape != (width,):
        raise ValueError(f"{values} are not {width} numbers")
    return numbers


def require_finite(read: ImportedScene, label: str) -> None:
    """Refuse a file whose numbers no model can have.

    Raises:
        ConversionError: a number that is not finite, or that became so as float32; or out of range.
    """
    streams = read.streams
    require_in_range("a position", streams.positions, label)
    named: dict[str, NDArray[Any] | None] = {
        "a normal": streams.normals,
        "a texture coordinate": streams.uv0,
        "a lightmap coordinate": streams.uv1,
        "a blend": streams.blend,
        "a number of an areal": streams.areal,
        "a logic flag": streams.logic,
    }
    for item in read.nodes:
        for part in (item.translation, item.rotation, item.linear):
            if part is not None:
                require_in_range(f"the transform of node {item.name!r}", part, label)
    for track in [track for clip in read.clips for track in clip.tracks]:
        node = f"the animation of node {read.nodes[track.node].name!r}"
        for channel in (track.translation, track.rotation):
            if channel is not None:
                require_in_range(f"a time of {node}", channel.frames, label)
                require_in_range(f"a value of {node}", channel.values, label)
    for what, values in named.items():
        if values is not None and not np.isfinite(values).all():
            raise ConversionError(f"{what} is not finite", file=label, expected="a float32")
