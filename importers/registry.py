"""``objects.rlb`` to :class:`~converter.formats.registry.Registry` (docs/reference/registry.md)."""

from __future__ import annotations

import numpy as np

from ..converter.formats.archive import Archive
from ..converter.formats.assembly_tables import REGISTRY_ROW_DTYPE
from ..converter.formats.registry import TAG_TYPES, Registry


def is_registry(archive: Archive) -> bool:
    """Tell whether an archive is an object registry: it has entries of the registry's types."""
    return not archive.type_ids.isdisjoint(TAG_TYPES)


def read_registry(archive: Archive) -> Registry:
    """Any archive as a registry; what is left over in an entry after the last row is kept."""
    size = REGISTRY_ROW_DTYPE.itemsize
    rows, tails = [], []
    for entry in archive.entries:
        payload = memoryview(entry.payload)
        whole = len(payload) // size * size
        rows.append(np.frombuffer(payload[:whole], REGISTRY_ROW_DTYPE))
        tails.append(bytes(payload[whole:]))
    return Registry(archive, rows, tails)
