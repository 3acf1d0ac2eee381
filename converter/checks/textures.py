"""Textures that can be read (Texm)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..errors import plural
from ..findings import Finding, Rule, first_bad
from ..formats.texture import PAGE_DTYPE, PAGE_MAGIC, PALETTE_SIZE, TEXM_HEADER_DTYPE, Texm
from ..numeric.arrays import Records, field_offset
from .places import at_offsets

_rule = partial(Rule, "Texm", source="docs/reference/texture.md")

_TABLE = "Texm"
_WITH_MIPS = 32


def check_texm(texture: Texm) -> list[Finding]:
    """Return the findings about a texture."""
    end = TEXM_HEADER_DTYPE.itemsize + sum(level.nbytes for level in texture.levels)
    end += 4 * PALETTE_SIZE if texture.palette is not None else 0
    findings = [*_word16(texture)]
    if texture.rects is not None:
        end += len(PAGE_MAGIC) + 4
        findings += _rectangles(texture, texture.rects, end)
        end += texture.rects.nbytes
    return [*findings, *_trailing(texture, end)]


TEXM_WORD16 = _rule(
    "texm-word16",
    "note",
    "The word at +16 is 32 with more than one level, else 0.",
    why="Its effect is not known.",
    fix="Nothing to do.",
)


def _word16(texture: Texm) -> Iterator[Finding]:
    word, levels = int(texture.header["word16"][0]), len(texture.levels)
    wanted = _WITH_MIPS if levels > 1 else 0
    if word != wanted:
        offset = field_offset(TEXM_HEADER_DTYPE, "word16")
        problem = f"word +16 does not fit {levels} levels"
        yield Finding(TEXM_WORD16, problem, _TABLE, None, offset, word, wanted)


TEXM_PAGE = _rule(
    "texm-page",
    "warning",
    "A Page chunk is whole.",
    source="docs/reference/texture.md#page",
    why="Its rectangles are not found.",
    fix="Correct its count.",
)
TEXM_TAIL = _rule(
    "texm-tail",
    "warning",
    "Nothing but a Page chunk follows the levels.",
    why="It is never read; perhaps levels or a size are wrong.",
    fix="Nothing to do; it is kept.",
)


def _trailing(texture: Texm, end: int) -> Iterator[Finding]:
    if not texture.trailing:
        return
    value = plural(len(texture.trailing), "byte")
    if texture.trailing.startswith(PAGE_MAGIC) and texture.rects is None:
        expected = f"a count and {PAGE_DTYPE.itemsize} bytes each"
        yield Finding(TEXM_PAGE, "Page chunk is cut off", _TABLE, None, end, value, expected)
    else:
        yield Finding(TEXM_TAIL, "bytes after the levels are kept", _TABLE, None, end, value, "none")


TEXM_RECT = _rule(
    "texm-rect",
    "warning",
    "A Page's rectangles lie inside the picture.",
    source="docs/reference/texture.md#page",
    why="Something outside the picture is shown.",
    fix="Correct the rectangle.",
)


def _rectangles(texture: Texm, rects: Records, start: int) -> Iterator[Finding]:
    right, bottom = (rects[a].astype(np.int64) + rects[b] for a, b in (("x", "width"), ("y", "height")))
    yield from first_bad(
        TEXM_RECT,
        (right > texture.width) | (bottom > texture.height),
        "rectangle leaves the picture",
        at_offsets(f"{_TABLE} (Page)", start + PAGE_DTYPE.itemsize * np.arange(len(rects))),
        rects,
        f"inside {texture.width} x {texture.height}",
    )
