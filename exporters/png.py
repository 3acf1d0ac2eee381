"""Pixels to PNG bytes, through Pillow."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from numpy.typing import NDArray


def png_bytes(rgba: NDArray[np.uint8]) -> bytes:
    """A PNG of some pixels; without alpha where every pixel is opaque.

    Args:
        rgba: (H, W, 4) uint8.
    """
    from PIL import Image

    opaque = bool((rgba[..., 3] == 255).all())
    pixels = np.ascontiguousarray(rgba[..., :3] if opaque else rgba)
    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG", optimize=False)
    return out.getvalue()
