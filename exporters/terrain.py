""":class:`~converter.formats.terrain.Terrain` to ``Land.msh`` bytes (docs/reference/terrain.md)."""

from __future__ import annotations

from ..converter.formats.terrain import Terrain
from .tables import table_bytes, write_tables


def write_terrain(terrain: Terrain) -> bytes:
    """The bytes of a terrain. Tables that were not changed keep every byte, place and gap.

    Raises:
        ConversionError: a table that the container does not have.
    """
    counts = {stream: len(table) for stream, table in terrain.streams.items()}
    return write_tables(terrain, table_bytes(terrain), counts)
