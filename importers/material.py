"""``MAT0`` entries to :class:`~converter.formats.material.Material`.

``evidence`` page, Text and materials.
"""

from __future__ import annotations

import numpy as np

from ..converter.errors import ConversionError, printable
from ..converter.formats.archive import Entry
from ..converter.formats.material import MATERIAL_TYPE, MATERIAL_VERSION, Material, Track
from ..converter.formats.tables import (
    MATERIAL_HEADER_DTYPE,
    MATERIAL_KEY_DTYPE,
    MATERIAL_TRACK_DTYPE,
    PHASE_DTYPE,
)


def read_material(entry: Entry, label: str) -> Material:
    """A material; its records are views of the entry's payload.

    Args:
        entry: an entry of ``Material.lib``.
        label: what messages call the archive.

    Raises:
        ConversionError: not a material, a version that is not 6, no phase, or counts that do not
            fit the bytes.
    """
    data = memoryview(entry.payload)

    def fail(
        code: str | None, problem: str, value: object, expected: object, **place: int
    ) -> ConversionError:
        return ConversionError(
            problem,
            file=label,
            entry=printable(entry.name),
            table="MAT0",
            offset=place.get("offset"),
            row=place.get("row"),
            value=value,
            expected=expected,
            code=code,
        )

    if entry.type_id != MATERIAL_TYPE:
        raise fail(None, "not a material", printable(entry.type_text), "type MAT0")
    if entry.attr2 != MATERIAL_VERSION:
        raise fail("material-version", "unknown version (attr2)", entry.attr2, MATERIAL_VERSION)
    if len(data) < MATERIAL_HEADER_DTYPE.itemsize:
        size = MATERIAL_HEADER_DTYPE.itemsize
        raise fail(
            "material-header",
            "too short for its header",
            f"{len(data)} bytes",
            f"at least {size}",
            offset=0,
        )
    at = MATERIAL_HEADER_DTYPE.itemsize
    header = np.frombuffer(data[:at], MATERIAL_HEADER_DTYPE)
    phase_count, track_count = int(header["phase_count"][0]), int(header["track_count"][0])
    room = (len(data) - at) // PHASE_DTYPE.itemsize
    if not 0 < phase_count <= room:
        raise fail(
            "material-phases", "phases do not fit the entry", phase_count, f"1..{room}", offset=0
        )
    end = at + phase_count * PHASE_DTYPE.itemsize
    phases = np.frombuffer(data[at:end], PHASE_DTYPE)

    tracks = []
    for row in range(track_count):
        at, end = end, end + MATERIAL_TRACK_DTYPE.itemsize
        if end > len(data):
            raise fail(
                "material-tracks",
                "tracks do not fit the entry",
                track_count,
                f"at most {row}",
                offset=2,
                row=row,
            )
        head = np.frombuffer(data[at:end], MATERIAL_TRACK_DTYPE)[0]
        word, keys = int(head["word"]), int(head["key_count"])
        at, end = end, end + keys * MATERIAL_KEY_DTYPE.itemsize
        if end > len(data):
            room = (len(data) - at) // MATERIAL_KEY_DTYPE.itemsize
            raise fail(
                "material-keys",
                "keys do not fit the entry",
                keys,
                f"at most {room}",
                offset=at - 2,
                row=row,
            )
        tracks.append(Track(word, np.frombuffer(data[at:end], MATERIAL_KEY_DTYPE)))
    return Material(entry.name, entry.attr1, header, phases, tracks, bytes(data[end:]))
