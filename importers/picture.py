"""PNG files to pixels, through Pillow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from converter.errors import ConversionError


def read_picture(path: Path) -> NDArray[np.uint8]:
    """The pixels of a PNG, (height, width, 4) uint8: red, green, blue, alpha, top row first.

    Palettes and shades of grey become colours; without alpha it is 255.

    Raises:
        ConversionError: unreadable, no PNG, or more than 8 bits a channel.
    """
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as picture:
            if any(
                str(tile.args).endswith(";16B") for tile in picture.tile
            ):  # Pillow would drop the lower bits
                raise ConversionError(
                    "picture has 16 bits a channel",
                    file=str(path),
                    hint="save it with 8 bits a channel",
                )
            return np.asarray(picture.convert("RGBA"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        said = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise ConversionError(f"cannot be read as PNG ({said})", file=str(path)) from error
