"""Entries of ``Material.lib`` and ``Textures.lib`` that a glTF shows, edits of them, textures painted over."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, plural
from ..numeric.arrays import U8, U32, Bools, field_offset
from .material import MATERIAL_HEADER_DTYPE, PHASE_DTYPE
from .texture import FORMATS, INDEXED, PALETTE_SIZE, TEXM_HEADER_DTYPE, Pixels, Texm, level_shapes, packed

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
    """Return an entry of its JSON values. Raises LookupError, TypeError, ValueError: they are not one."""
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
    rgba: U8 = field(compare=False, repr=False)


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
    rgba: U8 | None = field(default=None, compare=False, repr=False)
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


#: How many colours are compared with a palette at once.
_CHUNK = 1 << 14


def repainted(old: Texm, rgba: U8) -> Texm:
    """Return a texture that shows other pixels.

    Pixels that show what they showed keep their stored words. Texels of the smaller levels that
    lie over others become the mean of what they lie over, channel by channel and rounded. New
    colours of an indexed texture take the free places of its palette; where those are too few, the
    colours that are nearest.

    Args:
        rgba: (height, width, 4) uint8, top row first, of the texture's size.

    Raises:
        ValueError: ``rgba`` is of another size.
    """
    before = old.rgba()
    if rgba.shape != before.shape:
        raise ValueError(f"{rgba.shape} is not the texture's {before.shape}")
    means = [rgba, *(_mean(rgba, level.shape) for level in old.levels[1:])]
    visible = rgba[..., :3] != before[..., :3]
    painted = visible.any(2)
    if old.has_alpha:
        painted |= rgba[..., 3] != before[..., 3]
    masks = [painted, *(_touched(painted, level.shape) for level in old.levels[1:])]
    if old.palette is not None:
        return _indexed(old, means, masks)
    levels = [
        np.where(mask, packed(mean, old.format), level)
        for level, mean, mask in zip(old.levels, means, masks, strict=True)
    ]
    return replace(old, levels=levels)


def _starts(full: int, side: int) -> NDArray[np.intp]:
    """Where the texels of a level begin on a side of the full size."""
    return -(-np.arange(side) * full // side)


def _mean(rgba: U8, shape: tuple[int, ...]) -> U8:
    rows, columns = _starts(rgba.shape[0], shape[0]), _starts(rgba.shape[1], shape[1])
    sums = np.add.reduceat(np.add.reduceat(rgba.astype(np.uint64), rows, 0), columns, 1)
    counts = np.diff(rows, append=rgba.shape[0])[:, None] * np.diff(columns, append=rgba.shape[1])
    pixels = counts[..., None].astype(np.uint64)
    return ((sums + pixels // 2) // pixels).astype(np.uint8)


def _touched(painted: Bools, shape: tuple[int, ...]) -> Bools:
    rows, columns = _starts(painted.shape[0], shape[0]), _starts(painted.shape[1], shape[1])
    return np.logical_or.reduceat(np.logical_or.reduceat(painted, rows, 0), columns, 1)


def _indexed(old: Texm, means: list[U8], masks: list[Bools]) -> Texm:
    assert old.palette is not None
    palette = old.palette.copy()
    kept = [level[~mask] for level, mask in zip(old.levels, masks, strict=True)]
    used = np.zeros(PALETTE_SIZE, np.bool_)
    used[np.concatenate(kept)] = True
    wanted = np.unique(_colours(means[0][masks[0]]))
    known = palette & np.uint32(0xFFFFFF)
    used |= np.isin(known, wanted)
    missing = wanted[~np.isin(wanted, known)]
    free = np.flatnonzero(~used)
    if len(missing) > len(free):
        new = means[0][masks[0]]
        missing = _fewer(new[np.isin(_colours(new), missing)], len(free))
    places = free[: len(missing)]
    palette[places] = (palette[places] & np.uint32(0xFF000000)) | missing
    levels: list[Pixels] = []
    for level, mean, mask in zip(old.levels, means, masks, strict=True):
        out = level.copy()
        out[mask] = _nearest(mean[mask], palette)
        levels.append(out)
    return replace(old, palette=palette, levels=levels)


def _colours(rgba: U8) -> U32:
    """Colours as a palette has them, without the highest byte."""
    wide = rgba.astype(np.uint32)
    return (wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]).astype(np.uint32)


def _fewer(rgba: U8, count: int) -> U32:
    """At most ``count`` colours that stand for some pixels, (n, 4)."""
    if not count:
        return np.zeros(0, np.uint32)
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(rgba[None, :, :3])).quantize(count)
    colours = np.array(picture.getpalette() or [], np.uint8).reshape(-1, 3)[:count]
    return np.unique(_colours(colours))


def _nearest(rgba: U8, palette: U32) -> U8:
    """The palette's nearest colour of each pixel, (n, 4); the first of equal ones."""
    shades = np.stack([palette >> 16 & 255, palette >> 8 & 255, palette & 255], 1).astype(np.int32)
    colours, inverse = np.unique(rgba[:, :3], axis=0, return_inverse=True)
    found = np.zeros(len(colours), np.uint8)
    for start in range(0, len(colours), _CHUNK):
        apart = colours[start : start + _CHUNK, None].astype(np.int32) - shades
        found[start : start + _CHUNK] = (apart * apart).sum(2).argmin(1)
    return found[inverse.reshape(-1)]
