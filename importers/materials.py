"""What the materials of a glTF or an OBJ file show; pictures are read when they are asked for."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.formats.gltf import Json
from ..converter.formats.names import decode_text
from ..converter.formats.surface import FilePicture, Surface, pixel_digest, short_digest, surface_of
from ..converter.input_files import read_file
from ..converter.numeric.quantize import to_linear
from .gltf_file import GltfFile, file_of_uri
from .picture import is_lossy, picture_of_bytes


def read_surfaces(file: GltfFile) -> list[Surface[FilePicture]]:
    """Return what each material shows.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: the document is malformed.
    """
    textures: list[Json] = file.root.get("textures", [])
    images: list[Json] = file.root.get("images", [])

    @cache
    def picture(i: int) -> FilePicture:
        uri = images[i].get("uri", "") if 0 <= i < len(images) else ""
        name = str(images[i].get("name") or Path(uri).stem) if 0 <= i < len(images) else ""

        place = "" if uri.startswith("data:") else uri
        return file_picture(name, place, lambda: _bytes(file, images[i]))

    return [surface_of(m, textures, picture) for m in file.root.get("materials", [])]


def file_picture(name: str, place: str, read: Callable[[], bytes]) -> FilePicture:
    """Return a picture of a file, which is read when it is asked for.

    Args:
        name: its name.
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

    def rgba() -> NDArray[np.uint8]:
        if not data():
            raise ConversionError("picture is not there, or is outside the file's folder")
        return picture_of_bytes(data())

    return FilePicture(name, place, digest, lambda: _pixels(data()), rgba, lambda: is_lossy(data()))


def _bytes(file: GltfFile, image: Json) -> bytes:
    """The file of a picture, wherever it lies."""
    uri = image.get("uri")
    if uri is None:
        return bytes(file.view(image["bufferView"]))
    if uri.startswith("data:"):
        return base64.b64decode(uri.partition(",")[2], validate=True)
    path = Path(file.label)
    target = file_of_uri(path, uri, path.parent)
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
        path: the OBJ.
        name: what it calls its ``.mtl``.
        own: whether ``msh2gltf`` wrote the OBJ.

    Returns:
        By name; ``None`` where there is no such file in its folder or below.
    """
    source = file_of_uri(path, quote(name, errors="surrogateescape"), path.parent)
    if source is None or not source.is_file():
        return None

    def picture(place: str) -> FilePicture:
        target = file_of_uri(source, quote(place, errors="surrogateescape"), path.parent)
        if target is None and Path(place).is_absolute():  # as Blender may write it
            inside = Path(place).is_relative_to(source.parent.absolute())
            target = Path(place) if inside else None

        def data() -> bytes:
            return b"" if target is None else bytes(read_file(target))

        return file_picture(Path(place).stem, Path(place).name, data)

    surfaces = surfaces_of(bytes(read_file(source)), picture)
    return {name: one._replace(own=own) for name, one in surfaces.items()}


def surfaces_of(data: bytes, picture: Callable[[str], P]) -> dict[str, Surface[P]]:
    """Return what the materials of an ``.mtl`` show, by name.

    Args:
        data: its bytes.
        picture: makes a picture of a path.
    """
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


def _statements(text: str) -> Iterator[tuple[str, str]]:
    for line in filter(str.strip, text.splitlines()):
        word, *rest = line.split(None, 1)
        if not word.startswith("#"):
            yield word, rest[0].strip() if rest else ""


def _fill(material: Json, word: str, rest: str, places: list[str]) -> None:
    """Add what a statement says to a material; what cannot be understood says nothing."""
    surface = material["pbrMetallicRoughness"]
    colour = surface.setdefault("baseColorFactor", [1.0, 1.0, 1.0, 1.0])
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
