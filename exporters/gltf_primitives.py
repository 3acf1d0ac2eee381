"""Batches as glTF primitives (``docs/reference/gltf.md``, A core model).

Vertex streams become one buffer view each, and a primitive's accessors are windows into them, so
bulk data is converted once per model, not per batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.gltf import RESTART16, ComponentType, Json, Target
from ..converter.numeric.axes import game_to_gltf
from ..converter.scene.scene import Primitive, Streams
from .gltf_file import Builder
from .gltf_json import Text, json_rows


def add_primitives(file: Builder, streams: Streams, primitives: Sequence[Primitive]) -> list[str]:
    """Add the accessors of some primitives; returns the primitives as JSON text.

    Primitives with the same window of vertices have the same accessors.

    Args:
        file: the document.
        streams: vertices and indices of all primitives.
        primitives: at least one.
    """
    table = np.fromiter(chain.from_iterable(primitives), np.int64).reshape(len(primitives), -1)
    material, start, count, index_start, index_count = table.T[:5]
    positions = game_to_gltf(streams.positions)
    vertices = _vertex_accessors(file, streams, positions)
    index = _index_accessors(file, streams.indices, index_start, index_count, count > RESTART16)
    first: dict[int, int] = {}
    windows_of = enumerate((start << 32 | count).tolist())
    # the primitive that has this one's window first
    opener = np.array([first.setdefault(window, i) for i, window in windows_of])
    is_new = opener == np.arange(len(table))
    # the accessors of a primitive with a new window, then its indices
    last = np.cumsum(is_new * len(vertices) + 1) - 1

    start, count = start[is_new], count[is_new]
    low, high = _window_bounds(positions, start, count)
    windows = [{**accessor, "byteOffset": start * stride, "count": count} for _, stride, accessor in vertices]
    windows[0] |= {"min": low, "max": high}
    if is_new.all():
        texts = json_rows(*windows, index)
    else:
        opened = iter(json_rows(*windows))
        texts = [
            f"{next(opened)},{indices}" if new else indices
            for new, indices in zip(is_new.tolist(), json_rows(index), strict=True)
        ]
    last += file.add_accessors(Text(",".join(texts)), int(last[-1]) + 1)
    at = last[opener] - len(vertices)
    attributes = {name: at + k for k, (name, _, _) in enumerate(vertices)}
    return json_rows({"attributes": attributes, "indices": last, "material": material})


def _vertex_accessors(file: Builder, streams: Streams, positions: NDArray[np.float32]) -> list[tuple[str, int, Json]]:
    """Add the vertex streams; returns attribute, stride, and what all its accessors have."""
    normals = None if streams.normals is None else game_to_gltf(streams.normals)
    # glTF numbers texture coordinates without gaps
    second = "TEXCOORD_1" if streams.uv0 is not None else "TEXCOORD_0"
    number = {"componentType": int(ComponentType.FLOAT)}
    colour = {"componentType": int(ComponentType.UNSIGNED_BYTE), "normalized": True}
    arrays: list[tuple[str, NDArray[Any] | None, Json]] = [
        ("POSITION", positions, {**number, "type": "VEC3"}),
        ("NORMAL", normals, {**number, "type": "VEC3"}),
        ("TEXCOORD_0", streams.uv0, {**number, "type": "VEC2"}),
        (second, streams.uv1, {**number, "type": "VEC2"}),
        ("COLOR_0", streams.colours, {**colour, "type": "VEC4"}),
    ]
    out = []
    for name, array, accessor in arrays:
        if array is not None:
            stride = array.nbytes // max(1, len(array))
            view = file.add_buffer_view(array, target=Target.ARRAY_BUFFER, stride=stride)
            out.append((name, stride, {"bufferView": view, **accessor}))
    return out


def _index_accessors(
    file: Builder, indices: NDArray[Any], start: NDArray[np.int64], count: NDArray[np.int64], wide: NDArray[np.bool_]
) -> Json:
    """Add the indices as uint16, and as uint32 for primitives that need it; returns accessors."""
    target, wides = Target.ELEMENT_ARRAY_BUFFER, np.count_nonzero(wide)
    views = {}
    if wides < wide.size:
        views["<u2"] = file.add_buffer_view(indices.astype("<u2"), target=target)
    if wides:
        views["<u4"] = file.add_buffer_view(indices.astype("<u4"), target=target)
    if len(views) == 2:
        view: Any = np.where(wide, views["<u4"], views["<u2"])
        kind: Any = np.where(wide, ComponentType.UNSIGNED_INT, ComponentType.UNSIGNED_SHORT)
        size: Any = np.where(wide, 4, 2)
    else:
        [view] = views.values()
        kind = int(ComponentType.UNSIGNED_INT if wides else ComponentType.UNSIGNED_SHORT)
        size = 4 if wides else 2
    return {"bufferView": view, "byteOffset": start * size, "componentType": kind, "count": count, "type": "SCALAR"}


def _window_bounds(
    positions: NDArray[np.float32], start: NDArray[np.int64], count: NDArray[np.int64]
) -> list[NDArray[np.float32]]:
    """Exact minima and maxima of every window of vertices, (n, 3) each."""
    ends = np.stack([start, start + count], axis=1).ravel()
    # reduceat wants every bound inside the array; windows are never empty
    padded = np.concatenate([positions, positions[:1]])
    return [f.reduceat(padded, ends)[0::2] for f in (np.minimum, np.maximum)]
