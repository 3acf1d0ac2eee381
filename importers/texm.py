"""``Texm`` bytes to :class:`~converter.formats.texture.Texm` (docs/reference/texture.md)."""

from __future__ import annotations

import numpy as np

from ..converter.errors import ConversionError, plural, printable
from ..converter.findings import Rule
from ..converter.formats.archive import decode_text
from ..converter.formats.tables import PAGE_DTYPE, TEXM_HEADER_DTYPE, field_offset
from ..converter.formats.texture import (
    FORMATS,
    INDEXED,
    PAGE_MAGIC,
    PALETTE_SIZE,
    TEXM_FORMAT,
    TEXM_HEADER,
    TEXM_MAGIC,
    TEXM_MAGIC_RULE,
    TEXM_MIPS,
    TEXM_SIDES,
    TEXM_SIZE,
    Texm,
    level_shapes,
)
from ..converter.numeric.arrays import Records


def read_texm(data: memoryview | bytes, label: str) -> Texm:
    """Read a texture; its pixels are views of ``data``, nothing is copied.

    What follows the levels never fails: a whole ``Page`` chunk is read, anything else kept.

    Args:
        data: the entry's payload.
        label: what messages call it.

    Raises:
        ConversionError: not a texture, an unknown format, a size of 0, more levels than the size
            can be halved, or fewer bytes than the declared levels need.
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


def _palette_bytes(header: Records) -> int:
    return 4 * PALETTE_SIZE if int(header["format"][0]) == INDEXED else 0


def _read_header(view: memoryview, label: str) -> tuple[Records, list[tuple[int, int]]]:
    """The header, checked against the bytes, and the shapes of the levels."""

    def fail(rule: Rule, problem: str, field: str, value: object, expected: object) -> ConversionError:
        return ConversionError(
            problem,
            file=label,
            table="Texm header",
            offset=field_offset(TEXM_HEADER_DTYPE, field),
            value=value,
            expected=expected,
            code=rule.code,
        )

    if bytes(view[:4]) != TEXM_MAGIC:
        found = printable(decode_text(bytes(view[:4]))) if view else "no bytes"
        raise fail(TEXM_MAGIC_RULE, "not a texture", "magic", found, "Texm")
    start = TEXM_HEADER_DTYPE.itemsize
    if len(view) < start:
        problem = "too short for its header"
        raise fail(TEXM_HEADER, problem, "magic", plural(len(view), "byte"), f"at least {start}")
    header = np.frombuffer(view[:start], TEXM_HEADER_DTYPE)
    width, height, mips, kind = (int(header[k][0]) for k in ("width", "height", "mips", "format"))
    sides = f"{width} x {height}"
    if kind not in FORMATS:
        known = "one of " + ", ".join(map(str, FORMATS))
        raise fail(TEXM_FORMAT, "unknown format", "format", kind, known)
    if not width or not height:
        raise fail(TEXM_SIDES, "picture without pixels", "width", sides, "sides of 1 or more")
    most = max(width, height).bit_length()
    if not 0 < mips <= most:
        problem = "levels do not fit the size"
        raise fail(TEXM_MIPS, problem, "mips", mips, f"1..{most} at {sides}")
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
