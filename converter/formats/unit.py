"""Unit and building assemblies (``UNITS/**/*.dat``): a tree of components.

A component names an object key and the node of its parent's model that it is mounted on
(docs/reference/unit.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import ConversionError, plural
from ..findings import Rules
from ..numeric.arrays import I64, Records, field_offset
from .names import field_text

UNIT_HEADER_DTYPE = np.dtype(
    [
        ("magic", "<u4"),  # +0  0xF0F1
        ("type", "<u4"),  # +4  a class word
    ]
)
assert UNIT_HEADER_DTYPE.itemsize == 8

COMPONENT_DTYPE = np.dtype(
    [
        ("archive", "u1", (32,)),  # +0   objects.rlb
        ("key", "u1", (32,)),  # +32  object key
        ("flags", "<u4"),  # +64  1
        ("attach", "<i4"),  # +68  node of the parent's model, or a slot of its controller
        ("label", "u1", (32,)),  # +72  display name; may fill all 32 bytes
        ("part_class", "<u4"),  # +104 see CLASSES
        ("child_count", "<i4"),  # +108 so many subtrees follow
    ]
)
assert COMPONENT_DTYPE.itemsize == 112

_rule = Rules("unit", "docs/reference/unit.md")

#: The first word of the file.
UNIT_MAGIC = 0x0000F0F1
#: The folder of units in a game; case does not matter.
UNITS = "UNITS"
#: Ending of a unit's file.
UNIT_ENDING = ".dat"
#: What messages call the records.
COMPONENTS = "components"
#: What a part is, by its class.
CLASSES = ("chassis", "turret", "armour", "internal", "gun", "ammunition")
CHASSIS, TURRET, ARMOUR, INTERNAL, GUN, AMMUNITION = range(6)
#: Keys of class 2 that are guns all the same; case does not matter.
_GUN_KEY = "e_gun_"

UNIT_MAGIC_RULE = _rule("unit-magic", "error", "A unit starts with the word 0xF0F1.")(
    why="It is a file of another kind.", fix="Give the right file."
)
UNIT_SIZE = _rule("unit-size", "error", "A unit is 8 bytes and a record of 112 for each component.")(
    why="A component would be read past the end.", fix="Take the file from a backup."
)
UNIT_TREE = _rule("unit-tree", "error", "The child counts make one tree of all components.", "#the-tree")(
    why="The game reads past the file, or leaves components out.", fix="Correct the child counts."
)


@dataclass(frozen=True)
class Unit:
    """An assembly of components, depth first: the root, its first child, that one's children.

    Attributes:
        type: the unit's class word.
        records: ``COMPONENT_DTYPE``, (n,); the child counts make one tree of them.
        parents: (n,) row of each component's parent, -1 for the root; made of the child counts.
    """

    type: int
    records: Records
    parents: I64 = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tree_parents(self.records["child_count"]))

    def __len__(self) -> int:
        return len(self.records)

    def archive(self, row: int) -> str:
        """Return the archive of a component's key: ``objects.rlb``."""
        return field_text(self.records["archive"][row])

    def key(self, row: int) -> str:
        """Return the object key of a component."""
        return field_text(self.records["key"][row])

    def label(self, row: int) -> str:
        """Return the display name of a component."""
        return field_text(self.records["label"][row])

    def part_class(self, row: int) -> int:
        """Return the class of a component, an index of ``CLASSES`` in valid files."""
        return int(self.records["part_class"][row])

    def attach(self, row: int) -> int:
        """Return what a component is mounted on: a node of its parent's model, or a slot."""
        return int(self.records["attach"][row])

    def is_gun(self, row: int) -> bool:
        """Tell whether a component is a gun: some are written as armour."""
        part = self.part_class(row)
        return part == GUN or (part == ARMOUR and self.key(row).lower().startswith(_GUN_KEY))

    def is_shown(self, row: int) -> bool:
        """Tell whether a component is seen from outside: chassis, turrets and guns are."""
        return self.part_class(row) in (CHASSIS, TURRET) or self.is_gun(row)


def offset_of(row: int, name: str = "archive") -> int:
    """Return where a field of a component lies in the file, bytes."""
    size = UNIT_HEADER_DTYPE.itemsize
    return size + row * COMPONENT_DTYPE.itemsize + field_offset(COMPONENT_DTYPE, name)


def tree_parents(counts: I64) -> I64:
    """Return the parent of each component of a tree that is written depth first. (n,) -> (n,).

    Raises:
        ConversionError: no root, a negative count, components left over or missing.
    """
    parents = np.full(len(counts), -1, np.int64)
    open_rows: list[list[int]] = [[-1, 1]]  # row, and how many children are still to come
    for row, count in enumerate(counts.tolist()):
        while open_rows and not open_rows[-1][1]:
            open_rows.pop()
        if not open_rows:
            raise _broken("component is outside the tree", row, None, "the end of the file")
        if count < 0:
            raise _broken("child count is negative", row, count, "0 or more")
        parents[row] = open_rows[-1][0]
        open_rows[-1][1] -= 1
        open_rows.append([row, count])
    missing = [(row, left) for row, left in open_rows if left]
    if missing:
        row, left = missing[-1]
        if row < 0:
            raise _broken("has no component", None, 0, "at least 1")
        count = int(counts[row])
        raise _broken("component has too few children", row, count - left, count)
    return parents


def _broken(problem: str, row: int | None, value: object, expected: object) -> ConversionError:
    return ConversionError(
        problem,
        table=COMPONENTS,
        row=row,
        offset=None if row is None else offset_of(row, "child_count"),
        value=value,
        expected=expected,
        code=UNIT_TREE.code,
    )


def is_unit(data: memoryview | bytes) -> bool:
    """Tell by its first word whether a file is a unit."""
    return bytes(data[:4]) == UNIT_MAGIC.to_bytes(4, "little")


def read_unit(data: memoryview | bytes, label: str) -> Unit:
    """The components of a unit; the records are a view of ``data``.

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


def write_unit(unit: Unit) -> bytes:
    """Return the bytes of the file (docs/reference/unit.md)."""
    header = np.array([(UNIT_MAGIC, unit.type)], UNIT_HEADER_DTYPE)
    return header.tobytes() + unit.records.tobytes()
