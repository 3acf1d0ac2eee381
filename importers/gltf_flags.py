"""Flags of triangles (``tri_flags``) that objects and materials of a glTF file state."""

from __future__ import annotations

from ..converter.errors import printable
from ..converter.findings import Report
from ..converter.numeric.arrays import NONE16
from ..converter.scene.extras import NAMESPACE
from ..converter.scene.scene import StatedFlags

#: The custom property; the exporter writes it under ``extras.msh``, people as one of its own.
_KEY = "tri_flags"


def read_flags(extras: object, where: str, report: Report) -> StatedFlags:
    """Return the flags that an object states; what is not a number of 16 bits is reported.

    Args:
        extras: the object's ``extras``: any JSON.
        where: what messages call it.
        report: of the import.
    """
    own = extras if isinstance(extras, dict) else {}
    exported = own.get(NAMESPACE)
    found: list[int | None] = []
    for values in (own, exported if isinstance(exported, dict) else {}):
        value = values.get(_KEY)
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
        if 0 <= number <= NONE16 and number == int(number):
            found.append(int(number))
            continue
        found.append(None)
        if value is not None:
            report.skipped(
                where,
                f"has {_KEY} {printable(str(value))}",
                f"the flags of a triangle are an integer from 0 to {NONE16}",
                "write the sum of the flags, as 2 for a floor to walk on",
            )
    return StatedFlags(*found)
