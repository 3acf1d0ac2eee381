""":class:`~converter.formats.unit.Unit` to the bytes of a ``.dat``."""

from __future__ import annotations

import numpy as np

from ..converter.formats.assembly_tables import UNIT_HEADER_DTYPE
from ..converter.formats.unit import UNIT_MAGIC, Unit


def write_unit(unit: Unit) -> bytes:
    """Return the bytes of the file (docs/reference/unit.md)."""
    header = np.array([(UNIT_MAGIC, unit.type)], UNIT_HEADER_DTYPE)
    return header.tobytes() + unit.records.tobytes()
