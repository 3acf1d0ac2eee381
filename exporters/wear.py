""":class:`~converter.formats.wear.Wear` to ``.wea`` bytes (docs/reference/wear.md)."""

from __future__ import annotations

from ..converter.formats.archive import encode_name
from ..converter.formats.wear import Wear


def write_wear(wear: Wear) -> bytes:
    """The bytes of a WEAR: those it was read from, where nothing was edited."""
    return encode_name(wear.text)
