""":class:`~converter.formats.registry.Registry` to the bytes of ``objects.rlb``."""

from __future__ import annotations

from ..converter.formats.registry import Registry
from .nres import replace_entry, write_nres


def write_registry(registry: Registry) -> bytes:
    """Return the bytes of the file: entries whose rows were not edited keep theirs.

    An edited entry is replaced as in any archive (docs/reference/nres.md), and its ``attr1``
    becomes its number of rows.

    Raises:
        ConversionError: the archive would grow beyond the format.
    """
    archive = registry.archive
    for index, (rows, tail) in enumerate(zip(registry.rows, registry.tails, strict=True)):
        payload = rows.tobytes() + tail
        if payload != bytes(archive.entries[index].payload):
            archive = replace_entry(archive, index, payload, attr1=len(rows))
    return write_nres(archive)
