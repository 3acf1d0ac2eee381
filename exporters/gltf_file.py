"""JSON text of glTF objects, fast where there are thousands that are alike; pictures as PNG.

Of a game's glTF files most of the text is accessors and primitives that differ in a few numbers.
:func:`json_rows` writes such objects by filling a template, which costs a tenth of encoding each.

A glTF document as objects of pygltflib, without its JSON loader, which takes 60 times as long.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_type_hints
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ..converter import __version__
from ..converter.errors import ConversionError, needed_for, plural
from ..converter.formats.gltf import (
    DTYPES,
    REPEAT,
    RESTART16,
    WIDTHS,
    Json,
    ShownPicture,
    Surface,
    Target,
    short_digest,
    surface_of,
)
from ..converter.numeric.arrays import F32, U8
from ..converter.numeric.quantize import colour_of_row
from ..converter.scene.extras import BufferExtras, to_extras

if TYPE_CHECKING:
    from pygltflib import GLTF2


@dataclass(frozen=True, slots=True)
class Text:
    """JSON text: a value that is encoded already, or several with commas between."""

    text: str


#: What stands for a :class:`Text` while the rest is encoded; no string of JSON holds such quotes.
_MARK: Json = {"": None}
_MARK_TEXT = '{"":null}'


def json_text(value: object) -> str:
    """Return a value as JSON text; any part of it may be a :class:`Text`."""
    parts: list[str] = []

    def keep(part: object) -> Json:
        assert isinstance(part, Text)
        parts.append(part.text)
        return _MARK

    encoder = json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False, default=keep
    )
    between = encoder.encode(value).split(_MARK_TEXT)
    return "".join(chain.from_iterable(zip(between, [*parts, ""], strict=True)))


def quoted(text: str) -> str:
    """Return a string as JSON text."""
    return encode_basestring(text)


def numbers_text(value: object) -> str:
    """Return a small object of objects and whole numbers as JSON text."""
    if not isinstance(value, dict):
        return str(value)
    return "{" + ",".join([f'"{key}":{numbers_text(part)}' for key, part in value.items()]) + "}"


def json_rows(*objects: Json) -> list[str]:
    """Return the texts of n times some objects, alike but for the values that are arrays.

    Args:
        objects: glTF objects. Where a value is an array, (n,) or (n, k), row i has its number i or
            its list of k numbers i.

    Returns:
        n texts, each of all the objects with commas between.
    """
    columns: list[NDArray[Any]] = []
    template = ",".join(_template(value, columns) for value in objects)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    texts = "\n".join([template] * len(columns[0])) % tuple(chain.from_iterable(rows))
    return texts.split("\n")


def _template(value: object, columns: list[NDArray[Any]]) -> str:
    """A format string of a value; appends the columns that fill it."""
    if isinstance(value, dict):
        members = (f'"{key}":{_template(part, columns)}' for key, part in value.items())
        return f"{{{','.join(members)}}}"
    if type(value) is int:
        return str(value)
    if type(value) is str:
        return quoted(value).replace("%", "%%")
    if not isinstance(value, np.ndarray):
        return json_text(value).replace("%", "%%")
    if value.ndim == 1:
        columns.append(value)
        return "%r"
    columns.extend(value.T)
    return f"[{','.join(['%r'] * value.shape[1])}]"


_COMPONENT_TYPES = {np.dtype(dtype): int(number) for number, dtype in DTYPES.items()}
_TYPES = {width: name for name, width in WIDTHS.items()}


class Document(NamedTuple):
    """A glTF document.

    Attributes:
        json: its data without the buffer, with :class:`Text` in it.
        buffer: the buffer.
        pixels: digests of the pixels of its images, hex.
    """

    json: Json
    buffer: bytes
    pixels: Sequence[str] = ()

    def surfaces(self) -> list[Surface[ShownPicture]]:
        """Return what each material shows."""
        data = self.json

        def picture(i: int) -> ShownPicture:
            image = data["images"][i]
            if "uri" in image:
                return ShownPicture(image["name"], image["uri"], "", self.pixels[i])
            view = data["bufferViews"][image["bufferView"]]
            start = view["byteOffset"]
            inside = memoryview(self.buffer)[start : start + view["byteLength"]]
            return ShownPicture(image["name"], "", short_digest(inside), self.pixels[i])

        textures = data.get("textures", [])
        return [surface_of(material, textures, picture) for material in data.get("materials", [])]


class Builder:
    """Collects the objects of a document; methods return the index of what they add.

    Objects are written as they are given, in JSON terms. Empty lists are left out, as glTF wants
    it.
    """

    def __init__(self) -> None:
        self._extensions: list[str] = []
        self.scenes: list[Json] = []
        self.nodes: list[Json] = []
        self.meshes: list[Json | Text] = []
        self.materials: list[Json] = []
        self.images: list[Json] = []
        self._pixels: list[str] = []
        self.animations: list[Json] = []
        self._accessors: list[Json | Text] = []
        self._accessor_count = 0
        self._views: list[Json] = []
        self._chunks: list[bytes] = []
        self._size = 0

    def add_buffer_view(self, array: NDArray[Any], *, target: Target | None = None, stride: int | None = None) -> int:
        """Append an array's bytes to the buffer, at a multiple of 4."""
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        view: Json = {"buffer": 0, "byteOffset": self._size, "byteLength": len(data)}
        if stride is not None:
            view["byteStride"] = stride
        if target is not None:
            view["target"] = int(target)
        self._views.append(view)
        pad = -len(data) % 4
        self._chunks += [data, bytes(pad)]
        self._size += len(data) + pad
        return len(self._views) - 1

    def add_accessor(self, array: NDArray[Any], *, target: Target | None = None, bounds: bool = False) -> int:
        """Add an array, (n,) or (n, k), as an accessor with a buffer view of its own."""
        width = 1 if array.ndim == 1 else array.shape[1]
        accessor: Json = {
            "bufferView": self.add_buffer_view(array, target=target),
            "componentType": _COMPONENT_TYPES[array.dtype],
            "count": len(array),
            "type": _TYPES[width],
        }
        if bounds:
            rows = array.reshape(len(array), width)
            accessor |= {"min": rows.min(0).tolist(), "max": rows.max(0).tolist()}
        self._accessors.append(accessor)
        self._accessor_count += 1
        return self._accessor_count - 1

    def add_accessors(self, text: Text, count: int) -> int:
        """Add ``count`` accessors that are JSON text; returns the index of the first."""
        self._accessors.append(text)
        self._accessor_count += count
        return self._accessor_count - count

    def add_vertices(self, array: F32, *, bounds: bool = False) -> int:
        """Add a vertex attribute, (n,) or (n, k) float32."""
        return self.add_accessor(array, target=Target.ARRAY_BUFFER, bounds=bounds)

    def add_indices(self, array: NDArray[Any], vertex_count: int) -> int:
        """Add indices, (n,), uint16 where the vertex count allows it."""
        dtype = "<u4" if vertex_count > RESTART16 else "<u2"
        return self.add_accessor(array.astype(dtype), target=Target.ELEMENT_ARRAY_BUFFER)

    def add_mesh(self, mesh: Json | Text) -> int:
        """Add a mesh; its primitives may be :class:`Text`."""
        self.meshes.append(mesh)
        return len(self.meshes) - 1

    def add_node(self, node: Json) -> int:
        """Add a node; its children may be added later."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def add_material(self, material: Json) -> int:
        """Add a material."""
        self.materials.append(material)
        return len(self.materials) - 1

    def add_texture(self, image: Json, pixels: str) -> int:
        """Add an image and the texture that repeats it; both have the same index.

        Args:
            pixels: digest of its pixels, hex.
        """
        self.images.append(image)
        self._pixels.append(pixels)
        return len(self.images) - 1

    def use_extension(self, name: str) -> None:
        """Name an extension that a viewer may do without."""
        if name not in self._extensions:
            self._extensions.append(name)

    def document(self) -> Document:
        """Return the document; its default scene is the first."""
        data: Json = {
            "asset": {"version": "2.0", "generator": f"msh-gltf {__version__}"},
            "extensionsUsed": self._extensions,
            "scene": 0,
            "scenes": self.scenes,
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "images": self.images,
            "samplers": [{"wrapS": REPEAT, "wrapT": REPEAT}] if self.images else [],
            "textures": [{"source": i, "sampler": 0} for i in range(len(self.images))],
            "animations": self.animations,
            "accessors": self._accessors,
            "bufferViews": self._views,
        }
        kept = {k: v for k, v in data.items() if v != []}
        return Document(kept, b"".join(self._chunks), self._pixels)


def glb_bytes(document: Document) -> bytes:
    """Return the binary container: header, JSON chunk, BIN chunk (glTF 2.0, GLB).

    Raises ConversionError: it would be larger than 4 GiB.
    """
    data = dict(document.json)
    if document.buffer:
        data["buffers"] = [{"byteLength": len(document.buffer)}]
    text = json_text(data).encode()
    text += b" " * (-len(text) % 4)
    chunks = [len(text).to_bytes(4, "little"), b"JSON", text]
    if document.buffer:
        chunks += [len(document.buffer).to_bytes(4, "little"), b"BIN\0", document.buffer]
    size = 12 + sum(map(len, chunks))
    if size >= 2**32:
        raise ConversionError("glTF would outgrow a .glb", value=plural(size, "byte"))
    return b"".join([b"glTF", (2).to_bytes(4, "little"), size.to_bytes(4, "little"), *chunks])


def gltf_bytes(document: Document, buffer_name: str) -> bytes:
    """Return the JSON file of a ``.gltf`` whose buffer lies beside it as ``buffer_name``.

    It has the buffer's digest, so that the buffer of another run is detected.
    """
    data = dict(document.json)
    if document.buffer:
        digest = hashlib.sha256(document.buffer).hexdigest()
        data["buffers"] = [
            {
                "uri": quote(buffer_name, errors="surrogateescape"),
                "byteLength": len(document.buffer),
                "extras": to_extras(BufferExtras(digest=digest)),
            }
        ]
    return json_text(data).encode()


def row_colour(row: int) -> Json:
    """Return ``pbrMetallicRoughness`` without textures: a stable, distinct colour per row."""
    return {"baseColorFactor": [*colour_of_row(row), 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.9}


def png_bytes(rgba: U8) -> bytes:
    """A PNG of some pixels; without alpha where every pixel is opaque.

    Rows are stored as what they differ from the row above, in runs: 0.4 of the time of Pillow's fastest level, and no
    larger where pictures are noisy (docs/performance.md). ``rgba``: (H, W, 4) uint8.
    """
    opaque = bool((rgba[..., 3] == 255).all())
    height, width, channels = *rgba.shape[:2], 3 if opaque else 4
    pixels = rgba[..., :channels].reshape(height, -1)
    rows = np.full((height, 1 + pixels.shape[1]), 2, np.uint8)  # how each row is stored: as a difference
    rows[:1, 1:] = pixels[:1]
    np.subtract(pixels[1:], pixels[:-1], out=rows[1:, 1:])
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    chunks = {
        b"IHDR": struct.pack(">2I5B", width, height, 8, 2 if opaque else 6, 0, 0, 0),
        b"IDAT": packer.compress(rows) + packer.flush(),
        b"IEND": b"",
    }
    out = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in chunks.items():
        out += [struct.pack(">I", len(data)), kind, data, struct.pack(">I", zlib.crc32(kind + data))]
    return b"".join(out)


#: Where the JSON of a ``.glb`` starts: after its header and that of the chunk.
_JSON_AT = 20


def gltf_objects(glb: bytes) -> GLTF2:
    """Return a ``.glb`` of this project as ``pygltflib.GLTF2``: what its loader makes of it, its blob set.

    Raises MissingPackage: pygltflib is not installed.
    """
    with needed_for("glTF as objects", "pygltflib"):
        import pygltflib

    end = _JSON_AT + int.from_bytes(glb[12:16], "little")
    out: GLTF2 = _object(pygltflib.GLTF2, json.loads(glb[_JSON_AT:end]))
    if blob := glb[end + 8 :]:
        out.set_binary_blob(blob)
    return out


def _object(kind: type, values: Json) -> Any:
    """Make an object of a class of pygltflib."""
    nested = _nested(kind)
    return kind(**{name: _value(nested.get(name), value) for name, value in values.items()})


def _value(kind: type | None, value: Any) -> Any:
    if kind is None:
        return value
    return [_object(kind, one) for one in value] if isinstance(value, list) else _object(kind, value)


@cache
def _nested(kind: type) -> dict[str, type]:
    """The fields of a class that hold objects of another class, or a list of such."""
    found = {name: _class_in(hint, kind.__module__) for name, hint in get_type_hints(kind).items()}
    return {name: cls for name, cls in found.items() if cls is not None}


def _class_in(hint: Any, module: str) -> type | None:
    """The class of pygltflib in a type as ``Optional[List[Node]]``."""
    if isinstance(hint, type) and hint.__module__ == module:
        return hint
    return next(filter(None, (_class_in(one, module) for one in get_args(hint))), None)
