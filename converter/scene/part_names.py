"""Names of parts: of the node, the damage stage and the level of detail (docs/blender.md)."""

from __future__ import annotations

import re
from typing import NamedTuple

from .dialect import Dialect

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


def cell_name(lod: int, group: int, dialect: Dialect) -> str:
    """Return the name of a cell: ``lod1.group2``, in ``retail`` ``stage1.level2``, zeros left out."""
    if dialect is Dialect.SPEC:
        return f"lod{lod}.group{group}"
    column = "view" if group == VIEW else f"level{group}" if group else ""
    return ".".join(filter(None, (f"stage{lod}" if lod else "", column)))


def scene_name(lod: int, group: int, dialect: Dialect) -> str:
    """Return the name of a scene of parts of a cell."""
    return cell_name(lod, group, dialect) or "stage0"


def part_name(node: str, lod: int, group: int, dialect: Dialect) -> str:
    """Return the name of a part: its node's, and its cell's where that has one."""
    return ".".join(filter(None, (node, cell_name(lod, group, dialect))))


def part_key(node: str, lod: int, group: int) -> str:
    """Return what tells a part from all other parts and from its node, whatever the dialect."""
    return part_name(node, lod, group, Dialect.SPEC)


def cell_title(lod: int, group: int, dialect: Dialect) -> str:
    """Return a cell in words, for reports: ``lod 1 group 2``, in ``retail`` ``stage 1 level 2``."""
    if dialect is Dialect.SPEC:
        return f"lod {lod} group {group}"
    return f"stage {lod} view" if group == VIEW else f"stage {lod} level {group}"


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
