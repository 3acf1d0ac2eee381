"""What the values of a glTF document may be: extras, vectors, finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.formats.tables import GROUP_COUNT, LOD_COUNT
from ..converter.scene.scene import Imported, require_in_range
from .gltf_file import Json

#: What is a whole number in ``extras.msh``, with the largest; and what is a text.
_WORD, _DWORD = 0xFFFF, 0xFFFFFFFF
_NUMBERS = {
    "lod": LOD_COUNT - 1,
    "group": GROUP_COUNT - 1,
    **dict.fromkeys(("node", "slot", "flags", "level", "first", "second"), _WORD),
    **dict.fromkeys(("row", "lightmap", "w2", "w4", "w6"), _WORD),
    "batch_flags": _DWORD,
}
_TEXTS = frozenset({"source", "digest", "sidecar", "dialect", "kind", "label", "pair"})


def msh_extras(extras: Any) -> Json:
    """``extras.msh``, or nothing; its numbers as numbers.

    Raises:
        ValueError, TypeError, OverflowError: a value is not what it is named.
    """
    values = extras.get("msh") if isinstance(extras, dict) else None
    if not isinstance(values, dict):
        return {}
    numbers = {key: _number(values[key]) for key in _NUMBERS.keys() & values.keys()}
    for key, number in numbers.items():
        if not -1 <= number <= _NUMBERS[key]:
            raise ValueError(f"extras.msh.{key} is {number}")
    for key in _TEXTS & values.keys():
        if not isinstance(values[key], str):
            raise TypeError(f"extras.msh.{key} is no text")
    if values.get("dialect", "spec") not in ("spec", "retail"):
        raise ValueError(f"extras.msh.dialect is {values['dialect']!r}")
    return {**values, **numbers}


def _number(value: int | float | str) -> int:
    """An integer that may have become hex text or a float on its way."""
    return int(value, 16) if isinstance(value, str) else int(value)


def vector(values: Any, width: int) -> NDArray[np.float64]:
    """Numbers of a JSON list, (width,) float64.

    Raises:
        ValueError, TypeError: not so many, or none.
    """
    numbers = np.array(values, np.float64)
    if numbers.shape != (width,):
        raise ValueError(f"{values} are not {width} numbers")
    return numbers


def require_finite(read: Imported, label: str) -> None:
    """Refuse a file whose numbers no model can have.

    Raises:
        ConversionError: a number that is not finite, or that became so as float32; or out of reach.
    """
    streams = read.streams
    require_in_range("a position", streams.positions, label)
    named: dict[str, NDArray[Any] | None] = {
        "a normal": streams.normals,
        "a texture coordinate": streams.uv0,
        "a lightmap coordinate": streams.uv1,
        "a blend": streams.blend,
    }
    for item in read.items:
        for part in (item.translation, item.rotation, item.linear):
            if part is not None:
                require_in_range(f"the transform of node {item.name!r}", part, label)
    for track in [*read.tracks, *read.other_tracks]:
        node = f"the animation of node {read.items[track.node].name!r}"
        for channel in (track.translation, track.rotation):
            if channel is not None:
                require_in_range(f"a time of {node}", channel.frames, label)
                require_in_range(f"a value of {node}", channel.values, label)
    for what, values in named.items():
        if values is not None and not np.isfinite(values).all():
            raise ConversionError(f"{what} is not finite", file=label, expected="a float32")
