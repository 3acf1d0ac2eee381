"""``Land.msh`` bytes to :class:`~converter.formats.terrain.Terrain` (docs/reference/terrain.md)."""

from __future__ import annotations

from ..converter.formats.archive import Archive
from ..converter.formats.tables import TERRAIN_TABLES
from ..converter.formats.terrain import Terrain
from .tables import Codes, read_tables

_CODES = Codes(missing="terrain-tables", size="terrain-stride", header="terrain-stride")


def read_terrain(archive: Archive, name: str) -> Terrain:
    """The tables of a terrain's container; unknown entries stay in the container.

    Args:
        archive: the terrain's NRes container.
        name: the file's name.

    Raises:
        ConversionError: a required table is missing, or a size does not fit its records.
    """
    return Terrain(
        name, archive, *read_tables(archive, TERRAIN_TABLES, what="terrain", codes=_CODES)
    )
