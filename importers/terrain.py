"""``Land.msh`` bytes to :class:`~converter.formats.terrain.Terrain` (docs/reference/terrain.md)."""

from __future__ import annotations

from ..converter.formats.archive import Archive
from ..converter.formats.tables import TERRAIN_TABLES
from ..converter.formats.terrain import TERRAIN_STRIDE, TERRAIN_TABLES_RULE, Terrain
from .tables import TableRules, read_tables

_RULES = TableRules(missing=TERRAIN_TABLES_RULE, size=TERRAIN_STRIDE, header=TERRAIN_TABLES_RULE)


def read_terrain(archive: Archive, name: str, *, cut: bool = False) -> Terrain:
    """The tables of a terrain's container; unknown entries stay in the container.

    Args:
        archive: the terrain's NRes container.
        name: the file's name.
        cut: tables that end inside a record are read up to it, and ``Terrain.cut`` says so.

    Raises:
        ConversionError: a required table is missing, or a size does not fit its records.
    """
    tables = read_tables(archive, TERRAIN_TABLES, what="terrain", rules=_RULES, cut=cut)
    return Terrain(name, archive, *tables)
