"""What the materials of a glTF or an OBJ file show; pictures, through Pillow, are read when they are asked for."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

import numpy as np

from ..converter.errors import ConversionError, reason_of
from ..converter.files import read_file
from ..converter.formats.gltf import (
    TEXTURE_TRANSFORM,
    WHOLE,
    FilePicture,
    Json,
    Surface,
    pixel_digest,
    read_rectangle,
    short_digest,
    surface_of,
)
from ..converter.formats.names import decode_text
from ..converter.numeric.arrays import U8
from ..converter.numeric.quantize import to_linear
from ..converter.scene.extras import MaterialExtras, read_extras
from ..converter.scene.scene import Material
from ..converter.storage import absolute
from .gltf_file import GltfFile, file_of_uri
from .gltf_schema import GltfObject, embedded


def read_material(material: GltfObject) -> Material:
    """Return a material by its extras; numbers are -1 where they are gone."""
    extras = read_extras(MaterialExtras, material.extras)
    words = extras.get("w2", -1), extras.get("w4", -1), extras.get("w6", -1)
    row, lightmap, flags = extras.get("row", -1), extras.get("lightmap", -1), extras.get("batch_flags", -1)
    return Material(material.name or "", row, lightmap, flags, *words)


def read_surfaces(file: GltfFile) -> list[Surface[FilePicture]]:
    """Return what each material shows.

    Raises LookupError, TypeError, ValueError, AttributeError: the document is malformed.
    """
    textures: list[Json] = file.root.get("textures", [])
    images: list[Json] = file.root.get("images", [])

    @cache
    def picture(i: int) -> FilePicture:
        uri = images[i].get("uri", "") if 0 <= i < len(images) else ""
        place = "" if uri.startswith("data:") else uri
        name = str(images[i].get("name") or Path(place).stem) if 0 <= i < len(images) else ""
        return file_picture(name, place, lambda: _bytes(file, images[i]) if i >= 0 else b"")

    samplers: list[Json] = file.root.get("samplers", [])
    return [surface_of(m, textures, picture, samplers) for m in file.root.get("materials", [])]


def file_picture(name: str, place: str, read: Callable[[], bytes]) -> FilePicture:
    """Return a picture of a file, which is read when it is asked for.

    Args:
        place: where it lies, from the file; empty: inside it.
        read: reads it; empty bytes, or any error of a broken document: there is none.
    """

    @cache
    def data() -> bytes:
        try:
            return read()
        except (ConversionError, OSError, LookupError, TypeError, ValueError, AttributeError):
            return b""

    def digest() -> str:
        return short_digest(data()) if data() else ""

    def rgba() -> U8:
        if not data():
            hint = "put it beside the file, or export a .glb"
            raise ConversionError("picture is not there, or is outside the file's folder", hint=hint)
        return picture_of_bytes(data())

    return FilePicture(name, place, digest, lambda: _pixels(data()), rgba, lambda: is_lossy(data()))


def _bytes(file: GltfFile, image: Json) -> bytes:
    """The file of a picture, wherever it lies."""
    uri = image.get("uri")
    if not uri:
        return bytes(file.view(image["bufferView"]))
    if uri.startswith("data:"):
        return embedded(uri)
    target = None if file.folder is None else file_of_uri(uri, file.folder, file.folder)
    return b"" if target is None else bytes(read_file(target))


@lru_cache(maxsize=256)
def _pixels(data: bytes) -> str:
    """Digest of the pixels of a picture; empty where it cannot be read."""
    try:
        return pixel_digest(picture_of_bytes(data))
    except ConversionError:
        return ""


P = TypeVar("P")
#: An option of a picture, as ``-s 1 1 1``, before its path.
_OPTION = re.compile(r"-[a-zA-Z]+(?: +(?:on|off|[-+.0-9eE]+))* +")


def read_mtl(path: Path, name: str, *, own: bool) -> dict[str, Surface[FilePicture]] | None:
    """Read the materials that an OBJ names.

    Args:
        name: what it calls its ``.mtl``.
        own: whether ``msh2gltf`` wrote the OBJ.

    Returns:
        By name; ``None`` where there is no such file in its folder or below.
    """
    source = file_of_uri(quote(name, errors="surrogateescape"), path.parent, path.parent)
    if source is None or not os.path.isfile(source):  # a name may be longer than any file's
        return None

    def picture(place: str) -> FilePicture:
        target = file_of_uri(quote(place, errors="surrogateescape"), source.parent, path.parent)
        if target is None and Path(place).is_absolute():  # as Blender may write it
            inside = Path(place).is_relative_to(absolute(source.parent))
            target = Path(place) if inside else None

        def data() -> bytes:
            return b"" if target is None else bytes(read_file(target))

        return file_picture(Path(place).stem, Path(place).name, data)

    surfaces = surfaces_of(bytes(read_file(source)), picture)
    return {name: one._replace(own=own) for name, one in surfaces.items()}


def surfaces_of(data: bytes, picture: Callable[[str], P]) -> dict[str, Surface[P]]:
    """Return what the materials of an ``.mtl`` show, by name; ``picture``: makes a picture of a path."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = decode_text(data)
    found: dict[str, Json] = {}
    places: list[str] = []
    material: Json = {}
    for word, rest in _statements(text):
        if word == "newmtl":
            material = found[unquote(rest)] = {"pbrMetallicRoughness": {}}
        elif "pbrMetallicRoughness" in material:
            _fill(material, word, rest, places)
    textures: list[Json] = [{"source": i} for i in range(len(places))]
    return {name: surface_of(one, textures, lambda i: picture(places[i])) for name, one in found.items()}


#: A comment of ``msh2gltf``: what a material shows of its texture, which is in the coordinates.
_RECTANGLE = "# msh-gltf rectangle "


def _statements(text: str) -> Iterator[tuple[str, str]]:
    for line in filter(str.strip, text.splitlines()):
        if line.startswith(_RECTANGLE):
            yield "rectangle", line.removeprefix(_RECTANGLE)
            continue
        word, *rest = line.split(None, 1)
        if not word.startswith("#"):
            yield word, rest[0].strip() if rest else ""


def _fill(material: Json, word: str, rest: str, places: list[str]) -> None:
    """Add what a statement says to a material; what cannot be understood says nothing."""
    surface = material["pbrMetallicRoughness"]
    colour = surface.setdefault("baseColorFactor", [1.0, 1.0, 1.0, 1.0])
    if word == "rectangle":
        transform = read_rectangle(rest)
        if transform != WHOLE and "baseColorTexture" in surface:
            surface["baseColorTexture"]["extensions"] = {TEXTURE_TRANSFORM: transform.json}
        return
    if word in ("map_Kd", "map_d"):
        place = _OPTION.sub("", f"{rest} ").strip()
        if word == "map_d":
            material["alphaMode"] = "BLEND"
        elif place:
            places.append(place.replace("\\", "/"))
            surface["baseColorTexture"] = {"index": len(places) - 1}
        return
    try:
        numbers = [min(1.0, max(0.0, float(text))) for text in rest.split()]
    except ValueError:
        return
    if word in ("Kd", "Ke") and len(numbers) == 1:
        numbers *= 3  # a grey
    if word == "Kd" and len(numbers) == 3:
        colour[:3] = to_linear(numbers)
    elif word == "Ke" and len(numbers) == 3:
        material["emissiveFactor"] = to_linear(numbers)
    elif word in ("d", "Tr") and len(numbers) == 1:
        colour[3] = numbers[0] if word == "d" else 1.0 - numbers[0]
        if colour[3] < 1:
            material["alphaMode"] = "BLEND"


#: Of a texture: 4096 x 4096; the game's are 256 x 256.
MOST_PIXELS = 1 << 24
#: Rows that become colours together, so that only the largest picture and its colours take much.
_ROWS = 256


def picture_of_bytes(data: bytes) -> U8:
    """Return the pixels of a picture that a glTF holds; as of :func:`read_picture`, also of JPEG
    and WebP."""
    return _decoded(data, "picture", ("PNG", "JPEG", "WEBP"))


def is_lossy(data: bytes) -> bool:
    """Return whether a picture's format keeps its pixels only roughly: JPEG, or lossy WebP."""
    webp = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    return data[:3] == b"\xff\xd8\xff" or (webp and b"VP8L" not in data[12:64])


def read_picture(path: Path) -> U8:
    """Return the pixels of a PNG, (height, width, 4) uint8: red, green, blue, alpha, top row first.

    Palettes and shades of grey become colours; without alpha it is 255. Raises ConversionError: unreadable, not a PNG,
    more than 8 bits a channel, or more than ``MOST_PIXELS``.
    """
    return _decoded(path, str(path), ("PNG",))


def _decoded(source: Path | bytes, label: str, formats: tuple[str, ...]) -> U8:
    from PIL import Image

    try:
        # not from the file itself: of it Python reads as much as a chunk claims to have
        file = BytesIO(source.read_bytes() if isinstance(source, Path) else source)
        # a warning is not enough: Pillow itself would unpack 89 million pixels of a small file
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(file, formats=formats)
        with picture:
            if picture.width * picture.height > MOST_PIXELS:
                problem, value = "picture is too large", f"{picture.width} x {picture.height}"
                raise ConversionError(problem, file=label, value=value, expected=f"at most {MOST_PIXELS:,} pixels")
            if any(str(tile.args).endswith(";16B") for tile in picture.tile):  # Pillow would drop the lower bits
                raise ConversionError("picture has 16 bits a channel", file=label, hint="save it with 8 bits a channel")
            picture.load()
            out = np.empty((picture.height, picture.width, 4), np.uint8)
            for top in range(0, picture.height, _ROWS):
                rows = (0, top, picture.width, min(top + _ROWS, picture.height))
                out[top : top + _ROWS] = np.asarray(picture.crop(rows).convert("RGBA"))
            return out
    except (ConversionError, MemoryError):
        raise
    except Exception as error:  # Pillow raises whatever a broken chunk leads to
        hint = "save the picture again"
        raise ConversionError(f"cannot be read as {formats[0]} ({reason_of(error)})", file=label, hint=hint) from error
