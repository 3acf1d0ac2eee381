""":class:`~converter.formats.material.Material` to bytes (docs/reference/material.md)."""

from __future__ import annotations

import numpy as np

from ..converter.formats.material import Material
from ..converter.formats.tables import MATERIAL_TRACK_DTYPE


def write_material(material: Material) -> bytes:
    """The payload of a material: the bytes it was read from, where nothing was edited.

    The header's counts are those of the phases and tracks.
    """
    header = material.header.copy()
    header["phase_count"] = len(material.phases)
    header["track_count"] = len(material.tracks)
    parts = [header.tobytes(), material.phases.tobytes()]
    for track in material.tracks:
        head = np.zeros(1, MATERIAL_TRACK_DTYPE)
        head["word"], head["key_count"] = track.word, len(track.keys)
        parts += [head.tobytes(), track.keys.tobytes()]
    return b"".join([*parts, material.trailing])
