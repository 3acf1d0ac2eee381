"""Entries of ``Material.lib`` and ``Textures.lib`` that a glTF shows, and edits of them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, plural
from ..numeric.arrays import field_offset
from .material import MATERIAL_HEADER_DTYPE, PHASE_DTYPE
from .texture import FORMATS, INDEXED, PALETTE_SIZE, TEXM_HEADER_DTYPE, level_shapes

#: The game's libraries; their case does not matter.
MATERIALS, TEXTURES, LIGHTMAPS = "Material.lib", "Textures.lib", "lightmap.lib"
#: Of a texture that is made again from its header: 4096 x 4096.
_MOST_PIXELS = 1 << 24
#: Bytes of the first phase by what an edit calls them: offset and number.
_FIELDS = {
    "light": (field_offset(PHASE_DTYPE, "ambient"), 3),
    "alpha": (field_offset(PHASE_DTYPE, "ambient") + 3, 1),
    "colour": (field_offset(PHASE_DTYPE, "diffuse"), 3),
    "cell": (field_offset(PHASE_DTYPE, "cell"), 1),
    "texture": (field_offset(PHASE_DTYPE, "texture"), 16),
}
#: Bytes of a texture's name in a material.
TEXTURE_NAME_ROOM = PHASE_DTYPE["texture"].itemsize
#: The whole of a texture.
_NO_CELL = b"\xff"


class LibraryEntry(NamedTuple):
    """An entry of a library as it was exported.

    Attributes:
        library: its name.
        name: the entry's name.
        kind: the directory's attr1.
        digest: SHA-256 of the payload, hex.
        data: the payload; of a texture without its pixels, see :func:`blank_texture`.
    """

    library: str
    name: str
    kind: int
    digest: str
    data: bytes

    @property
    def key(self) -> tuple[str, str]:
        """What tells entries apart."""
        return entry_key(self.library, self.name)

    def row(self) -> list[object]:
        """Return it as JSON values."""
        return [*self[:-1], b64encode(self.data).decode()]


def entry_key(library: str, name: str) -> tuple[str, str]:
    """Return what tells entries apart; case does not matter."""
    return library, name.lower()


def read_entry_row(row: list[Any]) -> LibraryEntry:
    """Return an entry of its JSON values.

    Raises:
        LookupError, TypeError, ValueError: they are not one.
    """
    library, name, kind, digest, data = row
    return LibraryEntry(str(library), str(name), int(kind), str(digest), b64decode(data, validate=True))


@dataclass(frozen=True)
class NewPicture:
    """A picture that the game does not have and that becomes a texture.

    Attributes:
        name: the image's name; its texture is called like it.
        digest: of its pixels.
        rgba: its pixels, (height, width, 4) uint8, top row first.
    """

    name: str
    digest: str
    rgba: NDArray[np.uint8] = field(compare=False, repr=False)


@dataclass(frozen=True)
class LibraryEdit:
    """What a file changes of an entry of a library.

    Attributes:
        entry: the entry as it was exported.
        where: what shows it, as ``material 'steel'``.
        what: the difference, in words.
        values: the new values by field: of a material bytes of its first phase (``colour``,
            ``light``, ``alpha``, ``texture``) or its draw mode (``kind``); of a texture the digest
            of its ``pixels``.
        rgba: the new pixels of a texture, (height, width, 4) uint8, top row first.
        picture: what a material shows and the game does not have; ``values`` have its digest as
            ``picture``, until its texture has a name.
    """

    entry: LibraryEntry
    where: str
    what: str
    values: Mapping[str, bytes]
    rgba: NDArray[np.uint8] | None = field(default=None, compare=False, repr=False)
    picture: NewPicture | None = None

    @property
    def kind(self) -> int | None:
        """The new draw mode; ``None``: it does not change."""
        return self.values["kind"][0] if "kind" in self.values else None


def first_phase(data: bytes | memoryview, name: str) -> bytes:
    """Return a field of a material's first phase; ``name`` as in :class:`LibraryEdit`."""
    start, size = _FIELDS[name]
    start += MATERIAL_HEADER_DTYPE.itemsize
    return bytes(data[start : start + size])


def with_values(data: bytes | memoryview, values: Mapping[str, bytes], phases: int = 1) -> bytes:
    """Return a material with other values; every other byte stays.

    Args:
        data: a valid material.
        values: as of :class:`LibraryEdit`.
        phases: how many phases get them, from the first.
    """
    out = bytearray(data)
    values = {"cell": _NO_CELL, **values} if "texture" in values else values
    for name in values.keys() & _FIELDS.keys():
        first, size = _FIELDS[name]
        first += MATERIAL_HEADER_DTYPE.itemsize
        for start in range(first, first + phases * PHASE_DTYPE.itemsize, PHASE_DTYPE.itemsize):
            out[start : start + size] = values[name].ljust(size, b"\0")
    return bytes(out)


def texture_head(data: bytes | memoryview) -> bytes:
    """Return a texture's bytes without its pixels: header, palette, what follows the levels.

    Args:
        data: a valid texture.
    """
    start, pixels = _pixel_range(data)
    return bytes(data[:start]) + bytes(data[start + pixels :])


def blank_texture(head: bytes) -> bytes:
    """Return a texture of :func:`texture_head` whose stored pixels are all 0.

    Raises:
        ConversionError: it is not the head of a texture, or the texture would be too large.
    """
    start, pixels = _pixel_range(head)
    return head[:start] + bytes(pixels) + head[start:]


def _pixel_range(data: bytes | memoryview) -> tuple[int, int]:
    """Where the levels start, and how many bytes they have."""
    start = TEXM_HEADER_DTYPE.itemsize
    if len(data) < start:
        raise ConversionError("is not the head of a texture", value=plural(len(data), "byte"))
    header = np.frombuffer(data[:start], TEXM_HEADER_DTYPE)[0]
    width, height, mips, form = (int(header[k]) for k in ("width", "height", "mips", "format"))
    if form not in FORMATS or width * height > _MOST_PIXELS or mips > 32:
        raise ConversionError("is not the head of a texture", value=f"{width} x {height}, format {form}")
    count = sum(rows * across for rows, across in level_shapes(width, height, mips))
    start += 4 * PALETTE_SIZE if form == INDEXED else 0
    return start, count * FORMATS[form][0].itemsize
