"""Paint over a stored texture: all that was not painted over stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .texture import PALETTE_SIZE, Pixels, Texm, packed

#: How many colours are compared with a palette at once.
_CHUNK = 1 << 14


def repainted(old: Texm, rgba: NDArray[np.uint8]) -> Texm:
    """Return a texture that shows other pixels.

    Pixels that show what they showed keep their stored words. Texels of the smaller levels that
    lie over others become the mean of what they lie over, channel by channel and rounded. New
    colours of an indexed texture take the free places of its palette; where those are too few, the
    colours that are nearest.

    Args:
        old: the texture.
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


def _mean(rgba: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    rows, columns = _starts(rgba.shape[0], shape[0]), _starts(rgba.shape[1], shape[1])
    sums = np.add.reduceat(np.add.reduceat(rgba.astype(np.uint64), rows, 0), columns, 1)
    counts = np.diff(rows, append=rgba.shape[0])[:, None] * np.diff(columns, append=rgba.shape[1])
    pixels = counts[..., None].astype(np.uint64)
    return ((sums + pixels // 2) // pixels).astype(np.uint8)


def _touched(painted: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    rows, columns = _starts(painted.shape[0], shape[0]), _starts(painted.shape[1], shape[1])
    return np.logical_or.reduceat(np.logical_or.reduceat(painted, rows, 0), columns, 1)


def _indexed(old: Texm, means: list[NDArray[np.uint8]], masks: list[NDArray[np.bool_]]) -> Texm:
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


def _colours(rgba: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Colours as a palette has them, without the highest byte."""
    wide = rgba.astype(np.uint32)
    return (wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]).astype(np.uint32)


def _fewer(rgba: NDArray[np.uint8], count: int) -> NDArray[np.uint32]:
    """At most ``count`` colours that stand for some pixels, (n, 4)."""
    if not count:
        return np.zeros(0, np.uint32)
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(rgba[None, :, :3])).quantize(count)
    colours = np.array(picture.getpalette() or [], np.uint8).reshape(-1, 3)[:count]
    return np.unique(_colours(colours))


def _nearest(rgba: NDArray[np.uint8], palette: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The palette's nearest colour of each pixel, (n, 4); the first of equal ones."""
    shades = np.stack([palette >> 16 & 255, palette >> 8 & 255, palette & 255], 1).astype(np.int32)
    colours, inverse = np.unique(rgba[:, :3], axis=0, return_inverse=True)
    found = np.zeros(len(colours), np.uint8)
    for start in range(0, len(colours), _CHUNK):
        apart = colours[start : start + _CHUNK, None].astype(np.int32) - shades
        found[start : start + _CHUNK] = (apart * apart).sum(2).argmin(1)
    return found[inverse.reshape(-1)]
