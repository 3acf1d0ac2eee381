""":class:`~converter.formats.texture.Texm` to bytes (docs/reference/texture.md)."""

from __future__ import annotations

from ..converter.formats.texture import PAGE_MAGIC, Texm


def write_texm(texm: Texm) -> bytes:
    """The bytes of a texture: those it was read from, where nothing was edited."""
    parts = [texm.header.tobytes()]
    if texm.palette is not None:
        parts.append(texm.palette.tobytes())
    parts += [level.tobytes() for level in texm.levels]
    if texm.rects is not None:
        parts += [PAGE_MAGIC, len(texm.rects).to_bytes(4, "little"), texm.rects.tobytes()]
    return b"".join([*parts, texm.trailing])
