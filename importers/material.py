"""``MAT0`` entries to :class:`~converter.formats.material.Material`.

Source: docs/reference/material.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..converter.errors import ConversionError, plural, printable
from ..converter.formats.archive import Entry
from ..converter.formats.material import (
    MATERIAL_HEADER,
    MATERIAL_KEYS,
    MATERIAL_PHASES,
    MATERIAL_TRACKS,
    MATERIAL_TYPE,
    MATERIAL_VERSION,
    MATERIAL_VERSION_RULE,
    Material,
    Track,
)
from ..converter.formats.tables import (
    MATERIAL_HEADER_DTYPE,
    MATERIAL_KEY_DTYPE,
    MATERIAL_TRACK_DTYPE,
    PHASE_DTYPE,
    field_offset,
)


def read_material(entry: Entry, label: str) -> Material:
    """Read a material; its records are views of the entry's payload.

    Args:
        entry: an entry of ``Material.lib``.
        label: what messages call the archive.

    Raises:
        ConversionError: not a material, a version that is not 6, no phase, or counts that do not
            fit the bytes.
    """
    data = memoryview(entry.payload)
    fail = partial(ConversionError, file=label, entry=printable(entry.name), table="MAT0")
    if entry.type_id != MATERIAL_TYPE:
        raise fail("not a material", value=printable(entry.type_text), expected="type MAT0")
    if entry.attr2 != MATERIAL_VERSION:
        raise fail(
            "unknown version (attr2)", value=entry.attr2, expected=MATERIAL_VERSION, code=MATERIAL_VERSION_RULE.code
        )
    at = MATERIAL_HEADER_DTYPE.itemsize
    if len(data) < at:
        raise fail(
            "too short for its header",
            offset=0,
            value=plural(len(data), "byte"),
            expected=f"at least {at}",
            code=MATERIAL_HEADER.code,
        )
    header = np.frombuffer(data[:at], MATERIAL_HEADER_DTYPE)
    phase_count = int(header["phase_count"][0])
    room = (len(data) - at) // PHASE_DTYPE.itemsize
    if not 0 < phase_count <= room:
        raise fail(
            "phases do not fit the entry", offset=0, value=phase_count, expected=f"1..{room}", code=MATERIAL_PHASES.code
        )
    end = at + phase_count * PHASE_DTYPE.itemsize
    phases = np.frombuffer(data[at:end], PHASE_DTYPE)
    tracks, end = _read_tracks(data, end, int(header["track_count"][0]), fail)
    return Material(entry.name, entry.attr1, header, phases, tracks, bytes(data[end:]))


def _read_tracks(
    data: memoryview, at: int, count: int, fail: Callable[..., ConversionError]
) -> tuple[list[Track], int]:
    """The tracks at an offset, each followed by its keys, and where they end."""
    tracks = []
    for row in range(count):
        end = at + MATERIAL_TRACK_DTYPE.itemsize
        if end > len(data):
            raise fail(
                "tracks do not fit the entry",
                row=row,
                offset=field_offset(MATERIAL_HEADER_DTYPE, "track_count"),
                value=count,
                expected=f"at most {row}",
                code=MATERIAL_TRACKS.code,
            )
        head = np.frombuffer(data[at:end], MATERIAL_TRACK_DTYPE)[0]
        word, keys = int(head["word"]), int(head["key_count"])
        room = (len(data) - end) // MATERIAL_KEY_DTYPE.itemsize
        if keys > room:
            raise fail(
                "keys do not fit the entry",
                row=row,
                offset=at + field_offset(MATERIAL_TRACK_DTYPE, "key_count"),
                value=keys,
                expected=f"at most {room}",
                code=MATERIAL_KEYS.code,
            )
        at, end = end, end + keys * MATERIAL_KEY_DTYPE.itemsize
        tracks.append(Track(word, np.frombuffer(data[at:end], MATERIAL_KEY_DTYPE)))
        at = end
    return tracks, at
