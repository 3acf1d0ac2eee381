"""The objects of the game: ``objects.rlb``, which says what a key means, and units (``UNITS/**/*.dat``) made of keys.

``objects.rlb`` is an NRes archive; the entry's name is the key, its type says what the object is, its payload is rows
of an archive's name and a member's name: which model, material list and other files it has
(docs/reference/registry.md). ``kinds.registry`` opens what a key means.

A unit or building is a tree of components. Each names an object key and the node of its parent's model that it is
mounted on (docs/reference/unit.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..errors import ConversionError, in_words, plural, printable
from ..findings import Finding, Rule, Rules
from ..numeric.arrays import I64, Records, field_offset
from .names import field_text
from .nres import Archive, write_nres
from .nres_edits import ArchiveEdits

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

    Raises ConversionError: no root, a negative count, components left over or missing.
    """
    parents = np.empty(len(counts), np.int64)
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

    Raises ConversionError: another magic, a cut record, or child counts that make no tree.
    """
    view, start, size = memoryview(data), UNIT_HEADER_DTYPE.itemsize, COMPONENT_DTYPE.itemsize
    if not is_unit(view):
        problem, value = "is not a unit", f"0x{bytes(view[:4])[::-1].hex()}"
        expected = f"{UNIT_MAGIC:#x}"
        raise ConversionError(problem, file=label, offset=0, value=value, expected=expected, code=UNIT_MAGIC_RULE.code)
    if len(view) < start or (len(view) - start) % size:
        what, found = "size is not that of whole components", plural(len(view), "byte")
        wanted = f"{start} + {size} for each"
        raise ConversionError(what, file=label, table=COMPONENTS, value=found, expected=wanted, code=UNIT_SIZE.code)
    header = np.frombuffer(view[:start], UNIT_HEADER_DTYPE)[0]
    try:
        return Unit(int(header["type"]), np.frombuffer(view[start:], COMPONENT_DTYPE))
    except ConversionError as error:
        raise error.at(file=label) from None


def write_unit(unit: Unit) -> bytes:
    """Return the bytes of the file (docs/reference/unit.md)."""
    header = np.array([(UNIT_MAGIC, unit.type)], UNIT_HEADER_DTYPE)
    return header.tobytes() + unit.records.tobytes()


REGISTRY_ROW_DTYPE = np.dtype(
    [
        ("archive", "u1", (32,)),  # +0   NUL-terminated; what follows the NUL is kept
        ("member", "u1", (32,)),  # +32  the same
    ]
)
assert REGISTRY_ROW_DTYPE.itemsize == 64

_rule = Rules("objects.rlb", "docs/reference/registry.md#from-a-key-to-a-model")

#: The file's name; case does not matter.
REGISTRY = "objects.rlb"
#: What messages call the rows of an entry.
ROWS = "registry rows"
#: What an object is, by the type of its entry.
TAGS = {
    "STAT": "scenery",
    "INTO": "internal part",
    "EXTO": "external part",
    "BULL": "projectile",
    "BTLU": "creature",
    "FORT": "building",
    "WPNS": "weapon",
    "SUNO": "sun",
}
#: The same by type id.
TAG_TYPES = {int.from_bytes(tag.encode(), "little"): tag for tag in TAGS}
#: How many parents the game's readers follow one after the other.
MAX_HOPS = 3
#: How many parents of one key are followed in all: the game's entries have one or two.
MAX_PARENTS = 16


REGISTRY_SIZE = _rule(
    "registry-size", "warning", "An entry of objects.rlb is rows of 64 bytes.", "docs/reference/registry.md"
)(why="The last row is cut off and does not count.", fix="Take the file from a backup.")
REGISTRY_CYCLE = _rule("registry-cycle", "error", "No object is its own parent.", drops="the object")(
    why="A key in a circle has no model; the game follows 3 parents and gives up.", fix="Name another parent, or none."
)
REGISTRY_PARENT = _rule("registry-parent", "warning", "A parent is an entry of objects.rlb, at most 3 steps away.")(
    why="What the object lacks is not found.", fix="Correct the row's member."
)


@dataclass(frozen=True)
class Member:
    """A file that a row names. ``archive``: a path from the game's directory; empty in an empty slot."""

    archive: str
    name: str

    @property
    def ending(self) -> str:
        """``.msh`` in lower case; empty where there is none."""
        stem, dot, ending = self.name.rpartition(".")
        return dot + ending.lower() if stem or dot else ""

    @property
    def is_parent(self) -> bool:
        """Whether it names another entry of the registry, which gives what this one lacks."""
        file = self.archive.replace("\\", "/").rpartition("/")[2]
        return bool(self.name) and not self.ending and file.lower() == REGISTRY

    @property
    def place(self) -> tuple[str, str]:
        """Archive and name as they are compared: in lower case, with slashes."""
        return self.archive.replace("\\", "/").lower(), self.name.lower()

    def __str__(self) -> str:
        return f"{self.archive}::{self.name}"


@dataclass(frozen=True)
class Resolved:
    """What a key means.

    Attributes:
        key: as the registry spells it.
        index: directory index of its entry.
        tag: the type of its entry, a key of ``TAGS`` in the game's files.
        members: the first row of each ending, the entry's own before its parents'.
        chain: the parents that were followed, in that order; where they go in a circle, the
            last one is the one that was followed already.
        findings: circles, missing parents.
    """

    key: str
    index: int
    tag: str
    members: dict[str, Member]
    chain: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def model(self) -> Member | None:
        """The ``.msh``; ``None``: the object is not geometric."""
        return self.members.get(".msh")

    @property
    def wear(self) -> Member | None:
        """The ``.wea`` that the object uses, which need not be the model's stem."""
        return self.members.get(".wea")


@dataclass
class Registry:
    """The object registry. To edit it, put other arrays in ``rows``.

    Attributes:
        archive: the file as it was read; the names and types of the entries are there.
        rows: ``REGISTRY_ROW_DTYPE`` records of each entry, in directory order.
        tails: the bytes after the last whole row of each entry.
    """

    archive: Archive
    rows: list[Records]
    tails: list[bytes]
    _entries: dict[int, _Rows] = field(default_factory=dict, repr=False, compare=False)

    def keys(self) -> list[str]:
        """Return every key, in directory order."""
        return [entry.name for entry in self.archive.entries]

    def find(self, key: str | bytes) -> int | None:
        """Return the directory index of a key, case ignored; ``None``: there is none."""
        return self.archive.find(key)

    def members(self, index: int) -> list[Member]:
        """Return the rows of an entry, empty slots included."""
        return [Member(field_text(row["archive"]), field_text(row["member"])) for row in self.rows[index]]

    def resolve(self, key: str | bytes) -> Resolved | None:
        """Follow a key to its files: its own rows, then those of its parents, at most 3 deep; ``None``: there is no
        such key.

        At most ``MAX_PARENTS`` are followed, each once: parents of parents may be very many.
        """
        index = self.find(key)
        if index is None:
            return None
        entry = self.archive.entries[index]
        walk = _Walk(self)
        walk.follow(index, (index,))
        return Resolved(entry.name, index, entry.type_text, walk.members, tuple(walk.chain), tuple(walk.findings))

    def check(self) -> Iterator[Finding]:
        """Yield what is wrong with the entries themselves; files are not opened."""
        for index, entry in enumerate(self.archive.entries):
            if self.tails[index]:
                yield Finding(
                    REGISTRY_SIZE,
                    f"size of {in_words(entry.name)} is not a number of whole rows",
                    "NRes directory",
                    index,
                    value=plural(entry.size, "byte"),
                    expected=f"a multiple of {REGISTRY_ROW_DTYPE.itemsize}",
                )
            walk = _Walk(self)
            walk.follow(index, (index,))
            yield from walk.findings

    def rows_of(self, index: int) -> _Rows:
        """Return the rows of an entry by what they are for; read once."""
        found = self._entries.get(index)
        if found is None or found.source is not self.rows[index]:
            members = self.members(index)
            firsts: dict[str, Member] = {}
            for member in members:
                if member.ending:
                    firsts.setdefault(member.ending, member)
            parents = [(row, member) for row, member in enumerate(members) if member.is_parent]
            found = self._entries[index] = _Rows(self.rows[index], firsts, parents)
        return found


class _Rows(NamedTuple):
    """The rows of an entry: the first of each ending, and the parents with their rows."""

    source: Records
    firsts: dict[str, Member]
    parents: list[tuple[int, Member]]


class _Walk:
    """One resolution: what was found, and which entries were read."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.members: dict[str, Member] = {}
        self.chain: list[str] = []
        self.findings: list[Finding] = []
        self._seen: set[int] = set()

    def follow(self, index: int, path: tuple[int, ...]) -> None:
        """Take the rows of an entry, then of its parents; ``path`` leads to it, it included."""
        self._seen.add(index)
        rows = self.registry.rows_of(index)
        self.members = {**rows.firsts, **self.members}
        for row, member in rows.parents:
            if len(self.chain) == MAX_PARENTS:
                expected = f"at most {MAX_PARENTS}"
                self._find(REGISTRY_PARENT, "too many parents", row, path, None, expected)
                return
            self._follow_parent(member, row, path)

    def _follow_parent(self, member: Member, row: int, path: tuple[int, ...]) -> None:
        name, parent = printable(member.name), self.registry.find(member.name)
        if parent is None:
            self._find(REGISTRY_PARENT, "registry does not have the parent", row, path, name)
            return
        key = self.registry.archive.entries[parent].name
        if parent in path:
            self.chain.append(key)
            self._find(REGISTRY_CYCLE, "parents go in a circle", row, path, name)
        elif len(path) > MAX_HOPS:
            expected = f"at most {MAX_HOPS} steps"
            self._find(REGISTRY_PARENT, "parent is too far away", row, path, name, expected)
        elif parent not in self._seen:
            self.chain.append(key)
            self.follow(parent, (*path, parent))

    def _find(
        self, rule: Rule, problem: str, row: int, path: tuple[int, ...], value: str | None, expected: str | None = None
    ) -> None:
        if len(self.findings) < MAX_PARENTS:
            key = printable(self.registry.archive.entries[path[-1]].name)
            finding = Finding(rule, f"{problem} of {in_words(key)}", ROWS, row, None, value, expected)
            self.findings.append(finding)


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


def write_registry(registry: Registry) -> bytes:
    """Return the bytes of the file: entries whose rows were not edited keep theirs.

    An edited entry is replaced as in any archive (docs/reference/nres.md), and its ``attr1`` becomes its number of
    rows. Raises ConversionError: the archive would grow beyond the format.
    """
    edits = ArchiveEdits(registry.archive)
    for index, (rows, tail) in enumerate(zip(registry.rows, registry.tails, strict=True)):
        payload = rows.tobytes() + tail
        if payload != bytes(edits.entries[index].payload):
            edits.replace(index, payload, attr1=len(rows))
    return write_nres(edits.archive())
