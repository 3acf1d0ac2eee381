"""What the cells of a node's slot table are called: by row and column, or as the game means them.

The addresses are those of the source documents, row (``lod``) and column (``group``). In the game a row is a
damage stage and columns 0 to 3 are levels of detail (docs/reference/model.md#the-slot-matrix): ``.stage1``,
``.level2`` and ``.view`` name the same cells.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: The column that the unit's own first-person view draws.
VIEW = 4
_ROW = r"\.lod(?P<lod>[0-2])(?:\.group(?P<group>[0-4]))?"
_STAGE = r"(?:\.stage(?P<stage>[0-2]))?(?:\.level(?P<level>[0-3])|(?P<view>\.view))?"
_PART_NAME = re.compile(rf"(?P<node>.+?)(?:{_ROW}|{_STAGE})(?:#\d+)*")


class PartName(NamedTuple):
    """What the name of a part's object states.

    Attributes:
        node: name of its node.
        lod, group: row and column.
        by_row: the row is called ``lod``, and no column is stated: the address of the exporter states both.
    """

    node: str
    lod: int
    group: int
    by_row: bool


def part_name(node: str, lod: int, group: int) -> str:
    """Return ``{node}.lod{l}.group{g}``, the name of a part's object."""
    return f"{node}.lod{lod}.group{group}"


def read_part_name(name: str) -> PartName | None:
    """Return what the name of an object states, in the terms of either dialect; ``None``: no cell."""
    found = _PART_NAME.fullmatch(name)
    if found is None or (found["lod"] is None and not any(found[key] for key in ("stage", "level", "view"))):
        return None
    if found["lod"] is not None:
        return PartName(found["node"], int(found["lod"]), int(found["group"] or 0), by_row=found["group"] is None)
    column = VIEW if found["view"] else int(found["level"] or 0)
    return PartName(found["node"], int(found["stage"] or 0), column, by_row=False)


def node_of_part(name: str) -> str:
    """Return the node that the name of a part begins with; other names as they are."""
    found = read_part_name(name)
    return name if found is None else found.node
