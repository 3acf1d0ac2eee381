"""PNG files to pixels, through Pillow."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError

#: Of a texture: 4096 x 4096; the game's are 256 x 256.
MOST_PIXELS = 1 << 24
#: Rows that become colours together, so that only the largest picture and its colours take much.
_ROWS = 256


def picture_of_bytes(data: bytes) -> NDArray[np.uint8]:
    """Return the pixels of a picture that a glTF holds; as of :func:`read_picture`, also of JPEG
    and WebP."""
    return _pixels(data, "picture", ("PNG", "JPEG", "WEBP"))


def is_lossy(data: bytes) -> bool:
    """Return whether a picture's format keeps its pixels only roughly: JPEG, or lossy WebP."""
    webp = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    return data[:3] == b"\xff\xd8\xff" or (webp and b"VP8L" not in data[12:64])


def read_picture(path: Path) -> NDArray[np.uint8]:
    """Return the pixels of a PNG, (height, width, 4) uint8: red, green, blue, alpha, top row first.

    Palettes and shades of grey become colours; without alpha it is 255.

    Raises:
        ConversionError: unreadable, not a PNG, more than 8 bits a channel, or more than
            ``MOST_PIXELS``.
    """
    return _pixels(path, str(path), ("PNG",))


def _pixels(source: Path | bytes, label: str, formats: tuple[str, ...]) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        # not from the file itself: of it Python reads as much as a chunk claims to have
        file = BytesIO(source.read_bytes() if isinstance(source, Path) else source)
        # a warning is not enough: Pillow itself would unpack 89 million pixels of a small file
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(file, formats=formats)
        with picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise ConversionError(
                    "picture is too large",
                    file=label,
                    value=f"{picture.width} x {picture.height}",
                    expected=f"at most {MOST_PIXELS:,} pixels",
                )
            if any(str(tile.args).endswith(";16B") for tile in picture.tile):  # Pillow would drop the lower bits
                raise ConversionError("picture has 16 bits a channel", file=label, hint="save it with 8 bits a channel")
            picture.load()
            out = np.empty((picture.height, picture.width, 4), np.uint8)
            for top in range(0, picture.height, _ROWS):
                rows = (0, top, picture.width, min(top + _ROWS, picture.height))
                out[top : top + _ROWS] = np.asarray(picture.crop(rows).convert("RGBA"))
            return out
    except (ConversionError, MemoryError):
        raise
    except Exception as error:  # Pillow raises whatever a broken chunk leads to
        message = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise ConversionError(f"cannot be read as {formats[0]} ({message})", file=label) from error
