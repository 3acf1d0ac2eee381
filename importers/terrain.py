"""``Land.msh`` bytes to :class:`~converter.formats.terrain.Terrain` (terrain page, 3 and 6.2)."""

from __future__ import annotations

import numpy as np

from ..converter.errors import ConversionError
from ..converter.formats.archive import Archive
from ..converter.formats.tables import HEADER_DTYPE, SLOT_DTYPE, TerrainStream
from ..converter.formats.terrain import TERRAIN_TABLES, Terrain, label


def read_terrain(archive: Archive, name: str) -> Terrain:
    """The tables of a terrain's container; unknown entries stay in the container.

    A table is found by its type, the first of it; order means nothing (``container`` page).

    Args:
        archive: the terrain's NRes container.
        name: the file's name.

    Raises:
        ConversionError: a required table is missing, or a size does not fit its stride.
    """
    missing = [s for s, (_, _, _, needed) in TERRAIN_TABLES.items() if needed]
    missing = [s for s in missing if s not in archive.type_ids]
    if missing:
        raise ConversionError(
            "not a terrain",
            file=archive.label,
            value=f"without {', '.join(label(stream) for stream in sorted(missing))}",
            expected="tables 1, 2, 3, 4, 5, 11, 18 and 21",
            code="terrain-tables",
        )
    header_size = HEADER_DTYPE.itemsize
    streams = {}
    for stream, (_, dtype, _, _) in TERRAIN_TABLES.items():
        entry = archive.first_of_type(stream)
        if entry is None:
            continue
        head = header_size if stream is TerrainStream.SLOTS else 0
        if entry.size < head or (entry.size - head) % dtype.itemsize:
            raise ConversionError(
                "size does not fit its records",
                file=archive.label,
                table=label(stream),
                row=max(0, entry.size - head) // dtype.itemsize,
                offset=entry.data_offset,
                value=f"{entry.size} bytes",
                expected=f"{f'{head} + ' if head else ''}n * {dtype.itemsize}",
                code="terrain-stride",
            )
        if not head:
            streams[int(stream)] = np.frombuffer(entry.payload, dtype)
    slots = archive.first_of_type(TerrainStream.SLOTS)
    assert slots is not None, "required tables were checked"
    return Terrain(
        name,
        archive,
        np.frombuffer(slots.payload[:header_size], HEADER_DTYPE),
        np.frombuffer(slots.payload[header_size:], SLOT_DTYPE),
        streams,
    )
