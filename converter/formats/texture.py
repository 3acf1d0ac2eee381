"""Textures (``Texm``): stored pixels, their decoding, new ones of pictures, painted ones; the ``Page`` of a new size.

Source: docs/reference/texture.md. Derived from the files and their recorded pixels:

- after the 32-byte header come the palette (format 0 only) and then the levels from the full size down, each side
  halved and at least 1, no padding between them;
- a pixel is a little-endian word: 8888 is ``AARRGGBB``, 888 the same with a byte that means nothing (so is an entry of
  a palette), 565, 556 and 4444 name the bits of (alpha,) red, green, blue from the top. 88 does not occur in the files
  at hand: luminance below, alpha above, as A8L8 is in Direct3D;
- the smallest level found is the one whose shorter side is 1;
- ``word16`` is 32 where there is more than one level and 0 where not; flags and ``opaque24`` are 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, plural, printable
from ..findings import Rule, Rules
from ..numeric.arrays import U8, U32, Bools, Records, field_offset
from .names import decode_text

TEXM_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V4"),  # +0   "Texm"
        ("width", "<u4"),  # +4
        ("height", "<u4"),  # +8
        ("mips", "<u4"),  # +12  levels, the full size included
        ("word16", "<u4"),  # +16  32 with more than one level, else 0
        ("flags", "<u4"),  # +20
        ("opaque24", "<u4"),  # +24
        ("format", "<u4"),  # +28  0, 565, 556, 4444, 88, 888, 8888
    ]
)
assert TEXM_HEADER_DTYPE.itemsize == 32

PAGE_DTYPE = np.dtype(
    [
        ("x", "<u2"),  # +0   pixels
        ("width", "<u2"),  # +2
        ("y", "<u2"),  # +4
        ("height", "<u2"),  # +6
    ]
)
assert PAGE_DTYPE.itemsize == 8

_rule = Rules("Texm", "docs/reference/texture.md")

TEXM_MAGIC = b"Texm"
#: Type of a texture's directory entry.
TEXM_TYPE = int.from_bytes(TEXM_MAGIC, "little")
PAGE_MAGIC = b"Page"
PALETTE_SIZE = 256
#: The format of indices into a palette.
INDEXED = 0

Channels = tuple[tuple[int, int] | None, ...]
#: Stored pixels: indices into a palette, or words of channels.
Pixels = NDArray[np.unsignedinteger]

_XRGB: Channels = ((16, 8), (8, 8), (0, 8), None)

#: Format -> (stored word of a pixel, channels red, green, blue, alpha as (lowest bit, bits);
#: ``None`` = 255). The channels of format 0 are those of its palette.
FORMATS: dict[int, tuple[np.dtype[np.unsignedinteger], Channels]] = {
    INDEXED: (np.dtype("u1"), _XRGB),
    565: (np.dtype("<u2"), ((11, 5), (5, 6), (0, 5), None)),
    556: (np.dtype("<u2"), ((11, 5), (6, 5), (0, 6), None)),
    4444: (np.dtype("<u2"), ((8, 4), (4, 4), (0, 4), (12, 4))),
    88: (np.dtype("<u2"), ((0, 8), (0, 8), (0, 8), (8, 8))),
    888: (np.dtype("<u4"), _XRGB),
    8888: (np.dtype("<u4"), ((16, 8), (8, 8), (0, 8), (24, 8))),
}
#: Formats that :func:`new_texm` makes.
WRITABLE_FORMATS = (8888, 888, 565, 556, 4444)

_WITH_MIPS = 32

TEXM_MAGIC_RULE = _rule("texm-magic", "error", "A texture starts with the four bytes Texm.")(
    why="It cannot be read.", fix="Take the entry from a backup."
)
TEXM_HEADER = _rule("texm-header", "error", "A texture has a header of 32 bytes.")(
    why="Its size is not there.", fix="The entry was cut: take it from a backup."
)
TEXM_FORMAT = _rule("texm-format", "error", "The format is 0, 565, 556, 4444, 88, 888 or 8888.", "#pixels")(
    why="The layout of a pixel is not known.", fix="Make the texture again."
)
TEXM_SIDES = _rule("texm-sides", "error", "Sides are 1 or more.")(
    why="The picture is empty.", fix="Make the texture again."
)
TEXM_MIPS = _rule("texm-mips", "error", "There are as many levels as the size can be halved, at least one.", "#pixels")(
    why="A level would have no size.", fix="Correct the count."
)
TEXM_SIZE = _rule("texm-size", "error", "Every declared level is there.")(
    why="The game would read past the entry.", fix="The entry was cut: take it from a backup."
)


@dataclass(frozen=True)
class Texm:
    """One texture.

    Attributes:
        header: one ``TEXM_HEADER_DTYPE`` record.
        palette: (256,) uint32, blue in the lowest byte; ``None`` where the format is not 0.
        levels: the stored pixels from the full size down, (height, width) words of ``FORMATS``.
        rects: ``PAGE_DTYPE``, the rectangles of the ``Page`` chunk; ``None`` = no such chunk.
    """

    label: str
    header: Records
    palette: U32 | None
    levels: list[Pixels]
    rects: Records | None = None
    trailing: bytes = b""

    @property
    def width(self) -> int:
        """Pixels across."""
        return int(self.header["width"][0])

    @property
    def height(self) -> int:
        """Pixels down."""
        return int(self.header["height"][0])

    @property
    def format(self) -> int:
        """A key of ``FORMATS``."""
        return int(self.header["format"][0])

    @property
    def has_alpha(self) -> bool:
        """Whether the format stores alpha; if not, it is 255."""
        return FORMATS[self.format][1][3] is not None

    @property
    def pages(self) -> Records:
        """``PAGE_DTYPE``: x, width, y, height in pixels of the full size; empty without chunk."""
        return np.zeros(0, PAGE_DTYPE) if self.rects is None else self.rects

    @property
    def rectangles(self) -> list[tuple[int, int, int, int]]:
        """Left, top, width and height of each of ``pages`` in pixels."""
        return [(int(r["x"]), int(r["y"]), int(r["width"]), int(r["height"])) for r in self.pages]

    def rgba(self, level: int = 0) -> U8:
        """The pixels of a level, (height, width, 4) uint8: red, green, blue, alpha, top row first.

        A channel of fewer bits is ``value * 255 / largest``, rounded. Raises IndexError: no such level.
        """
        words = self.levels[level]
        if self.palette is not None:
            known = _expanded(self.palette, self.format).view(np.uint32)[:, 0]
        elif words.dtype.itemsize == 2:
            known = _every_word(self.format)
        else:
            return _expanded(words, self.format)
        return known[words].view(np.uint8).reshape(*words.shape, 4)


def _expanded(words: Pixels, format: int) -> U8:
    """Pixels of stored words, or of a palette's: (..., 4) uint8; see :meth:`Texm.rgba`."""
    out = np.full((*words.shape, 4), 255, np.uint8)
    for i, channel in enumerate(FORMATS[format][1]):
        if channel is not None:
            low, bits = channel
            top = (1 << bits) - 1
            expanded = (np.arange(top + 1) * 255 + top // 2) // top
            out[..., i] = expanded.astype(np.uint8)[(words >> low) & top]
    return out


@lru_cache
def _every_word(format: int) -> U32:
    """The pixels of all words of 16 bits, each as one number: (65536,)."""
    return _expanded(np.arange(1 << 16, dtype=np.uint16), format).view(np.uint32)[:, 0]


def level_shapes(width: int, height: int, mips: int) -> list[tuple[int, int]]:
    """(height, width) of each level: halved, at least 1."""
    return [(max(1, height >> i), max(1, width >> i)) for i in range(mips)]


def texture_name(stem: str) -> str:
    """The entry name of a texture for a picture's name: ``WALL.0`` for ``WALL`` and ``WALL.0``.

    Names in the game's ``Textures.lib`` end in a number, which materials include (derived).
    """
    return stem if re.search(r"\.[0-9]+$", stem) else f"{stem}.0"


def exact_format(rgba: U8) -> int:
    """The format that loses nothing of a picture: 888, or 8888 where it has alpha."""
    return 888 if (rgba[..., 3] == 255).all() else 8888


def with_pages_of(texm: Texm, old: Texm) -> Texm | None:
    """A texture with the ``Page`` rectangles of the one that it replaces.

    Of one that is larger by a whole factor across and down, they are multiplied by these.
    ``None``: the old one has rectangles, which do not fit another size.
    """
    if old.rects is None:
        return texm
    across, left = divmod(texm.width, old.width)
    down, below = divmod(texm.height, old.height)
    rects = old.rects.copy()
    for name, factor in {"x": across, "width": across, "y": down, "height": down}.items():
        wide = old.rects[name].astype(np.int64) * factor
        if left or below or (wide > np.iinfo(np.uint16).max).any():
            return None
        rects[name] = wide
    return replace(texm, rects=rects)


def lost_alpha(rgba: U8, old: Texm) -> bool:
    """Return whether pixels are solid throughout, and those of the texture they replace are not."""
    return bool((rgba[..., 3] == 255).all()) and bool((old.rgba()[..., 3] != 255).any())


def with_alpha_of(rgba: U8, old: Texm) -> U8:
    """Return pixels with the alpha of the texture they replace where they lost it; of another size, the nearest."""
    if not lost_alpha(rgba, old):
        return rgba
    alpha, out = old.rgba()[..., 3], rgba.copy()
    down, across = (np.arange(now) * was // now for now, was in zip(rgba.shape, alpha.shape, strict=False))
    out[..., 3] = alpha[down[:, None], across]
    return out


def are_sides(width: int, height: int) -> bool:
    """Whether a new texture can have these sides: both are powers of two."""
    return width.bit_count() == height.bit_count() == 1


def new_texm(rgba: U8, format: int, levels: int | None = None, *, label: str = "new texture") -> Texm:
    """A texture of a picture, with a header as the game's files have it and no ``Page``.

    Smaller levels are means of blocks of the full size, channel by channel and rounded, down to
    the one whose shorter side is 1. A channel of fewer bits is the nearest value. Formats without
    alpha drop it.

    Args:
        rgba: (height, width, 4) uint8, top row first.
        format: one of ``WRITABLE_FORMATS``.
        levels: how many, the full size included; ``None``: as many as there can be.

    Raises:
        ConversionError: another format, a side that is not a power of two, or more levels than
            the size has.
        ValueError: ``rgba`` is of another shape or dtype.
    """
    if rgba.ndim != 3 or rgba.shape[2] != 4 or rgba.dtype != np.uint8:
        raise ValueError(f"rgba is {rgba.dtype} {rgba.shape}, not uint8 (height, width, 4)")
    height, width, _ = rgba.shape
    header = np.zeros(1, TEXM_HEADER_DTYPE)
    header["magic"] = np.void(TEXM_MAGIC)
    header["width"], header["height"], header["format"] = width, height, format
    header["mips"] = count = _require_writable(header, levels, label)
    header["word16"] = _WITH_MIPS if count > 1 else 0
    means = [rgba, *(_mean(rgba, shape) for shape in level_shapes(width, height, count)[1:])]
    return Texm(label, header, None, [packed(mean, format) for mean in means])


def _require_writable(header: Records, levels: int | None, label: str) -> int:
    """How many levels a new texture gets."""
    width, height, format = (int(header[name][0]) for name in ("width", "height", "format"))
    fail = partial(_refused, label, None)
    if format not in WRITABLE_FORMATS:
        known = ", ".join(map(str, WRITABLE_FORMATS))
        raise fail("textures of this format cannot be made", "format", format, f"one of {known}")
    sides = f"{width} x {height}"
    if not are_sides(width, height):
        error = fail("sides of a texture must be powers of two", "width", sides, "1, 2, 4, 8, ...")
        error.hint = "resize the picture"
        raise error
    most = min(width, height).bit_length()
    count = most if levels is None else levels
    if not 1 <= count <= most:
        raise fail("levels do not fit the size", "mips", count, f"1..{most} at {sides}")
    return count


def packed(rgba: U8, format: int) -> Pixels:
    """Return the stored words of pixels, (..., 4) uint8, in a format without a palette: the nearest value of each
    channel.

    Formats without alpha drop it, 88 stores the mean of the colours.
    """
    dtype, channels = FORMATS[format]
    if channels[0] == channels[1]:
        grey = np.rint(rgba[..., :3].mean(-1)).astype(np.uint8)
        rgba = np.stack([grey, grey, grey, rgba[..., 3]], -1)
    words = np.zeros(rgba.shape[:-1], np.uint32)
    for i, channel in enumerate(channels):
        if channel is not None:
            low, bits = channel
            top = (1 << bits) - 1
            nearest = (np.arange(256, dtype=np.uint32) * top + 127) // 255
            words |= nearest[rgba[..., i]] << low
    return words.astype(dtype)


def read_texm(data: memoryview | bytes, label: str) -> Texm:
    """Read a texture; its pixels are views of ``data``, nothing is copied.

    What follows the levels never fails: a whole ``Page`` chunk is read, anything else kept.

    Raises ConversionError: not a texture, an unknown format, a size of 0, more levels than the size can be halved, or
    fewer bytes than the declared levels need.
    """
    view = memoryview(data)
    header, shapes = _read_header(view, label)
    dtype, _ = FORMATS[int(header["format"][0])]
    at = header.nbytes
    palette = None
    if colours := _palette_bytes(header):
        palette = np.frombuffer(view[at : at + colours], "<u4")
        at += colours
    levels = []
    for shape in shapes:
        end = at + dtype.itemsize * shape[0] * shape[1]
        levels.append(np.frombuffer(view[at:end], dtype).reshape(shape))
        at = end
    rects, at = _read_page(view, at)
    return Texm(label, header, palette, levels, rects, bytes(view[at:]))


def _refused(
    label: str, rule: Rule | None, problem: str, field: str, value: object, expected: object
) -> ConversionError:
    """The error for a field of the header."""
    at, code = field_offset(TEXM_HEADER_DTYPE, field), None if rule is None else rule.code
    return ConversionError(
        problem, file=label, table="Texm header", offset=at, value=value, expected=expected, code=code
    )


def _palette_bytes(header: Records) -> int:
    return 4 * PALETTE_SIZE if int(header["format"][0]) == INDEXED else 0


def _read_header(view: memoryview, label: str) -> tuple[Records, list[tuple[int, int]]]:
    """The header, checked against the bytes, and the shapes of the levels."""
    fail = partial(_refused, label)
    if bytes(view[:4]) != TEXM_MAGIC:
        found = printable(decode_text(bytes(view[:4]))) if view else "no bytes"
        raise fail(TEXM_MAGIC_RULE, "not a texture", "magic", found, "Texm")
    start = TEXM_HEADER_DTYPE.itemsize
    if len(view) < start:
        raise fail(TEXM_HEADER, "too short for its header", "magic", plural(len(view), "byte"), f"at least {start}")
    header = np.frombuffer(view[:start], TEXM_HEADER_DTYPE)
    width, height, mips, kind = (int(header[k][0]) for k in ("width", "height", "mips", "format"))
    sides = f"{width} x {height}"
    if kind not in FORMATS:
        raise fail(TEXM_FORMAT, "unknown format", "format", kind, f"one of {', '.join(map(str, FORMATS))}")
    if not width or not height:
        raise fail(TEXM_SIDES, "picture without pixels", "width", sides, "sides of 1 or more")
    most = max(width, height).bit_length()
    if not 0 < mips <= most:
        raise fail(TEXM_MIPS, "levels do not fit the size", "mips", mips, f"1..{most} at {sides}")
    shapes = level_shapes(width, height, mips)
    pixels = sum(rows * across for rows, across in shapes)
    needed = start + _palette_bytes(header) + FORMATS[kind][0].itemsize * pixels
    if needed > len(view):
        problem = f"levels of {sides} pixels do not fit the data"
        raise fail(TEXM_SIZE, problem, "width", plural(len(view), "byte"), f"at least {needed}")
    return header, shapes


def _read_page(view: memoryview, at: int) -> tuple[Records | None, int]:
    """A ``Page`` chunk's rectangles and its end; ``None`` and ``at`` without a whole chunk."""
    start = at + len(PAGE_MAGIC) + 4
    if bytes(view[at : at + len(PAGE_MAGIC)]) != PAGE_MAGIC:
        return None, at
    end = start + PAGE_DTYPE.itemsize * int.from_bytes(view[start - 4 : start], "little")
    if end > len(view):
        return None, at
    return np.frombuffer(view[start:end], PAGE_DTYPE), end


def write_texm(texm: Texm) -> bytes:
    """The bytes of a texture: those it was read from, where nothing was edited."""
    parts = [texm.header.tobytes()]
    if texm.palette is not None:
        parts.append(texm.palette.tobytes())
    parts += [level.tobytes() for level in texm.levels]
    if texm.rects is not None:
        parts += [PAGE_MAGIC, len(texm.rects).to_bytes(4, "little"), texm.rects.tobytes()]
    return b"".join([*parts, texm.trailing])


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

    Raises ValueError: ``rgba`` is of another size.
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
    rows = zip(old.levels, means, masks, strict=True)
    return replace(old, levels=[np.where(mask, packed(mean, old.format), level) for level, mean, mask in rows])


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
    levels = [level.copy() for level in old.levels]
    for level, mean, mask in zip(levels, means, masks, strict=True):
        level[mask] = _nearest(mean[mask], palette)
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
