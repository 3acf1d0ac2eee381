""":class:`~converter.formats.terrain.Terrain` to ``Land.msh`` bytes (terrain page, 6.2)."""

from __future__ import annotations

from ..converter.errors import ConversionError
from ..converter.formats.tables import TerrainStream
from ..converter.formats.terrain import Terrain, label
from .nres import replace_entry, write_nres


def write_terrain(terrain: Terrain) -> bytes:
    """The bytes of a terrain. Tables that were not changed keep every byte, place and gap.

    Raises:
        ConversionError: a table that the container does not have.
    """
    archive = terrain.archive
    tables = {stream: table.tobytes() for stream, table in terrain.streams.items()}
    tables[TerrainStream.SLOTS] = terrain.header.tobytes() + terrain.slots.tobytes()
    for stream, data in tables.items():
        index = next((i for i, e in enumerate(archive.entries) if e.type_id == stream), None)
        if index is None:
            raise ConversionError(
                "the terrain has no such table",
                file=archive.label,
                table=label(TerrainStream(stream)),
            )
        if archive.entries[index].payload != data:
            slots = stream == TerrainStream.SLOTS
            count = len(terrain.slots) if slots else len(terrain.streams[stream])
            archive = replace_entry(archive, index, data, attr1=count)
    return write_nres(archive)
