"""A glTF 2.0 document in the making: buffer views, accessors, and the two containers.

What the documents of models, terrains and areal maps share. The document is plain JSON data.
"""

from __future__ import annotations

import colorsys
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ..converter import __version__
from ..converter.errors import ConversionError
from ..converter.scene.extras import BufferExtras, to_extras

Json = dict[str, Any]

BYTE, FLOAT, USHORT, UINT = 5121, 5126, 5123, 5125
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
LINES = 1
#: glTF reserves the largest index of a type for primitive restart.
RESTART16 = 0xFFFF


class Text(str):
    """JSON text that is ready. Thousands of accessors are alike but for their numbers: filled into
    a template, each costs a tenth of what it costs as an object that is encoded."""

    __slots__ = ()


class Document(NamedTuple):
    """A glTF document: JSON data (on top also :class:`Text`) without its buffer, and the buffer."""

    json: Json
    buffer: bytes


class Builder:
    """The buffer of a document: array after array, each at a multiple of 4."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._views: list[Json] = []
        self._accessors: list[Json | Text] = []
        self._ready = 0  # accessors in a text, beyond the first

    def view(self, array: NDArray[Any], **more: int) -> int:
        """A buffer view of an array's bytes, 4-byte aligned; returns its number."""
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        self._views.append({"buffer": 0, "byteOffset": self._size, "byteLength": len(data), **more})
        pad = -len(data) % 4
        self._chunks += [data, bytes(pad)]
        self._size += len(data) + pad
        return len(self._views) - 1

    def accessor(self, accessor: Json) -> int:
        """An accessor; returns its number."""
        self._accessors.append(accessor)
        return self._ready + len(self._accessors) - 1

    def accessors(self, text: Text, count: int) -> None:
        """The first accessors of the document: ``count`` of them, with commas between."""
        assert not self._accessors, "the text knows their numbers"
        self._accessors.append(text)
        self._ready = count - 1

    def vertices(self, array: NDArray[np.float32], *, bounds: bool = False) -> int:
        """An accessor of a whole vertex stream of its own: (n,) or (n, k) float32."""
        width = 1 if array.ndim == 1 else array.shape[1]
        kind = "SCALAR" if width == 1 else f"VEC{width}"
        view = self.view(array, target=ARRAY_BUFFER)
        out = {"bufferView": view, "componentType": FLOAT, "count": len(array), "type": kind}
        if bounds:
            out |= {"min": array.min(0).tolist(), "max": array.max(0).tolist()}
        return self.accessor(out)

    def indices(self, array: NDArray[Any], vertex_count: int) -> int:
        """An accessor of indices, u16 where the vertex count allows it."""
        wide = vertex_count > RESTART16
        view = self.view(array.astype("<u4" if wide else "<u2"), target=ELEMENT_ARRAY_BUFFER)
        kind = UINT if wide else USHORT
        return self.accessor(
            {"bufferView": view, "componentType": kind, "count": array.size, "type": "SCALAR"}
        )

    def document(self, data: Json) -> Document:
        """The document of some JSON data; empty lists are left out, as glTF wants it."""
        data = {"asset": {"version": "2.0", "generator": f"msh-gltf {__version__}"}, **data}
        data["accessors"] = list_text(self._accessors)
        data["bufferViews"] = self._views
        filled = {k: v for k, v in data.items() if k == "scene" or (v and v != "[]")}
        return Document(filled, b"".join(self._chunks))


def glb_bytes(document: Document) -> bytes:
    """The binary container: header, JSON chunk, BIN chunk (glTF 2.0, GLB)."""
    data = dict(document.json)
    if document.buffer:
        data["buffers"] = [{"byteLength": len(document.buffer)}]
    text = _dump(data)
    text += b" " * (-len(text) % 4)
    chunks = [len(text).to_bytes(4, "little"), b"JSON", text]
    if document.buffer:
        chunks += [len(document.buffer).to_bytes(4, "little"), b"BIN\0", document.buffer]
    size = 12 + sum(map(len, chunks))
    if size >= 2**32:
        raise ConversionError("glTF would outgrow a .glb", value=f"{size} bytes")
    return b"".join([b"glTF", (2).to_bytes(4, "little"), size.to_bytes(4, "little"), *chunks])


def gltf_bytes(document: Document, buffer_name: str) -> bytes:
    """The JSON file of a ``.gltf`` whose buffer lies beside it as ``buffer_name``; it has the
    buffer's digest, so that the buffer of another run is found out."""
    data = dict(document.json)
    if document.buffer:
        data["buffers"] = [
            {
                "uri": quote(buffer_name, errors="surrogateescape"),
                "byteLength": len(document.buffer),
                "extras": to_extras(
                    BufferExtras(digest=hashlib.sha256(document.buffer).hexdigest())
                ),
            }
        ]
    return _dump(data)


def _dump(data: Json) -> bytes:
    members = (f'"{key}":{json_text(value)}' for key, value in data.items())
    return f"{{{','.join(members)}}}".encode()


def json_text(value: Any) -> str:
    """A value as JSON, no shorter way to write it."""
    return value if isinstance(value, Text) else _ENCODER.encode(value)


def list_text(values: Sequence[Json | Text]) -> Text:
    """A JSON array of values, of which some are text already."""
    runs = groupby(values, key=lambda value: isinstance(value, Text))
    texts = [",".join(map(str, run)) if ready else json_text([*run])[1:-1] for ready, run in runs]
    return Text(f"[{','.join(texts)}]")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)


def row_colour(row: int) -> Json:
    """``pbrMetallicRoughness`` without textures: a stable, distinct colour per row."""
    return {
        "baseColorFactor": [*_colour(row), 1.0],
        "metallicFactor": 0.0,
        "roughnessFactor": 0.9,
    }


@lru_cache(maxsize=256)
def _colour(row: int) -> tuple[float, float, float]:
    red, green, blue = colorsys.hsv_to_rgb((0.08 + row * 0.6180339887) % 1.0, 0.7, 0.6)
    return round(red, 4), round(green, 4), round(blue, 4)
