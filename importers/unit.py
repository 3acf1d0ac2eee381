"""``.dat`` bytes to :class:`~converter.formats.unit.Unit` (docs/reference/unit.md)."""

from __future__ import annotations

import numpy as np

from ..converter.errors import ConversionError, plural
from ..converter.formats.assembly_tables import COMPONENT_DTYPE, UNIT_HEADER_DTYPE
from ..converter.formats.unit import COMPONENTS, UNIT_MAGIC, UNIT_MAGIC_RULE, UNIT_SIZE, Unit


def is_unit(data: memoryview | bytes) -> bool:
    """Tell by its first word whether a file is a unit."""
    return bytes(data[:4]) == UNIT_MAGIC.to_bytes(4, "little")


def read_unit(data: memoryview | bytes, label: str) -> Unit:
    """The components of a unit; the records are a view of ``data``.

    Args:
        data: the file.
        label: what messages call it.

    Raises:
        ConversionError: another magic, a cut record, or child counts that make no tree.
    """
    view, start, size = memoryview(data), UNIT_HEADER_DTYPE.itemsize, COMPONENT_DTYPE.itemsize
    if not is_unit(view):
        raise ConversionError(
            "is not a unit",
            file=label,
            offset=0,
            value=f"0x{bytes(view[:4])[::-1].hex()}",
            expected=f"{UNIT_MAGIC:#x}",
            code=UNIT_MAGIC_RULE.code,
        )
    if len(view) < start or (len(view) - start) % size:
        raise ConversionError(
            "size is not that of whole components",
            file=label,
            table=COMPONENTS,
            value=plural(len(view), "byte"),
            expected=f"{start} + {size} for each",
            code=UNIT_SIZE.code,
        )
    header = np.frombuffer(view[:start], UNIT_HEADER_DTYPE)[0]
    try:
        return Unit(int(header["type"]), np.frombuffer(view[start:], COMPONENT_DTYPE))
    except ConversionError as error:
        raise error.at(file=label) from None
