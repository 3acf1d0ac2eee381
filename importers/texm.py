"""``Texm`` bytes to :class:`~converter.formats.texture.Texm` (``evidence`` page, Text)."""

from __future__ import annotations

import numpy as np

from ..converter.errors import ConversionError, printable
from ..converter.formats.archive import decode_text
from ..converter.formats.tables import PAGE_DTYPE, TEXM_HEADER_DTYPE
from ..converter.formats.texture import (
    FORMATS,
    INDEXED,
    PAGE_MAGIC,
    PALETTE_SIZE,
    TEXM_MAGIC,
    Texm,
    level_shapes,
)
from ..converter.numeric.arrays import Records


def read_texm(data: memoryview | bytes, label: str) -> Texm:
    """A texture; its pixels are views of ``data``, nothing is copied.

    What follows the levels never fails: a whole ``Page`` chunk is read, anything else kept.

    Args:
        data: the entry's payload.
        label: what messages call it.

    Raises:
        ConversionError: not a texture, an unknown format, a size of 0, more levels than the size
            can be halved, or fewer bytes than the declared levels need.
    """
    view = memoryview(data)

    def fail(
        code: str, problem: str, offset: int, value: object, expected: object
    ) -> ConversionError:
        return ConversionError(
            problem,
            file=label,
            table="Texm header",
            offset=offset,
            value=value,
            expected=expected,
            code=code,
        )

    if bytes(view[:4]) != TEXM_MAGIC:
        found = printable(decode_text(bytes(view[:4]))) if view else "no bytes"
        raise fail("texm-magic", "not a texture", 0, found, "Texm")
    at = TEXM_HEADER_DTYPE.itemsize
    if len(view) < at:
        raise fail(
            "texm-header", "too short for its header", 0, f"{len(view)} bytes", f"at least {at}"
        )
    header = np.frombuffer(view[:at], TEXM_HEADER_DTYPE)
    width, height, mips, kind = (int(header[k][0]) for k in ("width", "height", "mips", "format"))
    if kind not in FORMATS:
        raise fail(
            "texm-format", "unknown format", 28, kind, "one of " + ", ".join(map(str, FORMATS))
        )
    if not width or not height:
        raise fail(
            "texm-sides", "picture of no pixels", 4, f"{width} x {height}", "sides of 1 or more"
        )
    most = max(width, height).bit_length()
    if not 0 < mips <= most:
        raise fail(
            "texm-mips", "levels do not fit the size", 12, mips, f"1..{most} at {width} x {height}"
        )
    dtype, _ = FORMATS[kind]
    shapes = level_shapes(width, height, mips)
    colours = 4 * PALETTE_SIZE if kind == INDEXED else 0
    needed = at + colours + dtype.itemsize * sum(rows * across for rows, across in shapes)
    if needed > len(view):
        problem = f"levels of {width} x {height} pixels do not fit the data"
        raise fail("texm-size", problem, 4, f"{len(view)} bytes", f"at least {needed}")

    palette = None
    if colours:
        palette = np.frombuffer(view[at : at + colours], "<u4")
        at += colours
    levels = []
    for shape in shapes:
        end = at + dtype.itemsize * shape[0] * shape[1]
        levels.append(np.frombuffer(view[at:end], dtype).reshape(shape))
        at = end
    rects, at = _read_page(view, at)
    return Texm(label, header, palette, levels, rects, bytes(view[at:]))


def _read_page(view: memoryview, at: int) -> tuple[Records | None, int]:
    """A ``Page`` chunk's rectangles and its end; ``None`` and ``at`` without a whole chunk."""
    start = at + len(PAGE_MAGIC) + 4
    if bytes(view[at : at + len(PAGE_MAGIC)]) != PAGE_MAGIC:
        return None, at
    end = start + PAGE_DTYPE.itemsize * int.from_bytes(view[start - 4 : start], "little")
    if end > len(view):
        return None, at
    return np.frombuffer(view[start:end], PAGE_DTYPE), end
