"""What the materials of a glTF file show; its pictures are read when they are asked for."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.formats.gltf import Json
from ..converter.formats.surface import FilePicture, Surface, pixel_digest, short_digest, surface_of
from ..converter.input_files import read_file
from .gltf_file import GltfFile, Objects, file_of_uri
from .picture import is_lossy, picture_of_bytes


def read_surfaces(file: GltfFile) -> list[Surface[FilePicture]]:
    """Return what each material shows.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: the document is malformed.
    """
    textures: list[Json] = Objects(file.root.get("textures", []))
    images: list[Json] = Objects(file.root.get("images", []))

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
