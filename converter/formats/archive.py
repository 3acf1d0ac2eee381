"""NRes archives as data: entries, names, the sort table (docs/reference/nres.md).

Reading bytes is ``importers.nres``, writing them ``exporters.nres``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import le

from ..findings import Rule
from .tables import NAME_SIZE, NRES_ENTRY_DTYPE, NRES_HEADER_DTYPE, NRES_VERSION

_rule = partial(Rule, "NRes", source="docs/reference/nres.md#header")

Fold = Callable[[bytes], bytes]

# What importers.nres refuses.
UNREADABLE = _rule(
    "unreadable",
    "error",
    "A file can be opened and read.",
    source="docs/recovery.md",
    why="What cannot be read cannot be checked.",
    fix="Check that the file exists, is not a directory and may be read.",
)
NRES_MAGIC_RULE = _rule(
    "nres-magic",
    "error",
    "A container starts with the four bytes NRes.",
    why="Content decides what a file is; without the magic nothing in it can be found.",
    fix="Give the right file; a file that was an archive once is damaged: take it from a backup.",
)
NRES_HEADER = _rule(
    "nres-header",
    "error",
    "A container has a header of 16 bytes.",
    why="A shorter file does not hold the place of its entries.",
    fix="The file was cut off: copy it again.",
)
NRES_VERSION_RULE = _rule(
    "nres-version",
    "error",
    "The version word is 0x100.",
    why="Another version may lay out everything else in another way.",
    fix="Take the file from the game again; no other version is known.",
)
NRES_SIZE = _rule(
    "nres-size",
    "error",
    "total_size is the length of the file.",
    why="The directory lies at the end: a wrong length means that it is looked for in the wrong place.",
    fix="The file was cut off or something was appended: copy it again.",
)
NRES_TRAILING = _rule(
    "nres-trailing",
    "error",
    "Nothing follows the directory.",
    why="The directory is looked for at the end of the file.",
    fix="Something was appended: copy the file again.",
    drops="what follows the directory",
)
NRES_COUNT = _rule(
    "nres-count",
    "error",
    "entry_count is not negative, and so many directory rows of 64 bytes fit after the header.",
    why="The directory would start before the data.",
    fix="Take the file from a backup, or pack it again.",
)
NRES_PAYLOAD = _rule(
    "nres-payload",
    "error",
    "Every payload lies between the header and the directory.",
    source="docs/reference/nres.md#a-row-of-the-directory",
    why="Reading it would leave the file.",
    fix="Pack the archive again from its entries.",
)
NRES_REUSE = _rule(
    "nres-reuse",
    "error",
    "All payloads together are at most 16 times the file, or 1,048,576 bytes.",
    source="docs/limits.md",
    why="A small file could be made to look like a huge one, and exhaust memory and time.",
    fix="Pack the archive again: every entry gets bytes of its own.",
)


def fold_upper(name: bytes) -> bytes:
    """ASCII upper case; other bytes stay (docs/reference/nres.md: no Unicode folding)."""
    return name.upper()


def fold_lower(name: bytes) -> bytes:
    """ASCII lower case; other bytes stay."""
    return name.lower()


def decode_text(raw: bytes) -> str:
    """Text view of bytes from the game: CP1251, or latin-1 where CP1251 lacks a byte."""
    try:
        return raw.decode("cp1251")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


@dataclass(frozen=True)
class Later:
    """A payload that is read on access, each time again, so that nothing of a large archive stays
    in memory.

    Attributes:
        size: its bytes.
        read: reads a part: where it starts, and how many bytes.
    """

    size: int
    read: Callable[[int, int], memoryview | bytes]


class _Payload:
    """Reads a :class:`Later` payload when ``Entry.payload`` is accessed."""

    def __get__(self, entry: Entry | None, kind: type[Entry]) -> memoryview | bytes:
        if entry is None:
            raise AttributeError("no default")
        stored: memoryview | bytes | Later = entry.__dict__["_payload"]
        return stored.read(0, stored.size) if isinstance(stored, Later) else stored

    def __set__(self, entry: Entry, value: memoryview | bytes | Later) -> None:
        entry.__dict__["_payload"] = value


@dataclass
class Entry:
    """One directory entry and its payload.

    Attributes:
        type_id: a FourCC as a little-endian number in archives, a small integer in models.
        attr1, attr2, attr3: directory attributes.
        raw_name: the 36 bytes of the name field, tail after the NUL included.
        data_offset: where the payload starts in the file it was read from.
        sort_index: this row of the sort table.
        payload: the bytes; a view of the file where the entry was read from one. Set to a
            :class:`Later`, it is read from the file when it is asked for.
    """

    type_id: int
    attr1: int
    attr2: int
    attr3: int
    raw_name: bytes
    data_offset: int
    sort_index: int
    payload: _Payload = _Payload()

    @property
    def name_bytes(self) -> bytes:
        """The name without its NUL and tail."""
        return self.raw_name.partition(b"\0")[0]

    @property
    def name(self) -> str:
        """The name as text (``decode_text``)."""
        return decode_text(self.name_bytes)

    @property
    def size(self) -> int:
        """Payload size in bytes."""
        stored = self.__dict__["_payload"]
        return stored.size if isinstance(stored, Later) else len(stored)

    def start(self, count: int) -> bytes:
        """The first bytes of the payload, as many as there are; the rest is not read."""
        return bytes(self.part(0, count))

    def part(self, start: int, count: int) -> memoryview | bytes:
        """Bytes of the payload from an offset on, as many as there are; the rest is not read."""
        stored = self.__dict__["_payload"]
        if isinstance(stored, Later):
            return stored.read(start, max(0, min(count, stored.size - start)))
        return stored[start : start + count]  # type: ignore[no-any-return]

    @property
    def type_text(self) -> str:
        """``MESH`` for a FourCC, else the number."""
        raw = self.type_id.to_bytes(4, "little")
        return raw.decode("ascii") if raw.isalnum() else str(self.type_id)


#: Regions of a file that no payload covers: where each starts, and its bytes.
Regions = Sequence[tuple[int, memoryview | bytes]]


class _Regions:
    """Reads regions that were given as a function when ``Archive.unindexed`` is accessed."""

    def __get__(self, archive: Archive | None, kind: type[Archive]) -> Regions:
        if archive is None:
            return ()  # the default
        stored: Regions | Callable[[], Regions] = archive.__dict__["_unindexed"]
        return stored() if callable(stored) else stored

    def __set__(self, archive: Archive, value: Regions | Callable[[], Regions]) -> None:
        archive.__dict__["_unindexed"] = value


@dataclass
class Archive:
    """An NRes file, without loss: entries in directory order plus every byte between payloads.

    Attributes:
        label: what messages call it (a path, or ``path, entry name``).
        version: the header's version word.
        entries: in directory order.
        unindexed: ``(offset, bytes)`` of every region before the directory that no payload
            covers: alignment gaps and forgotten data alike. Set to a function, they are read
            from the file when they are asked for.
        total_size: length of the file in bytes.
        trailing: bytes after the directory that a reader that was asked to left out.
        read_from: the bytes that it was read from, whatever was replaced since; none of a new one.
    """

    label: str
    version: int = NRES_VERSION
    entries: list[Entry] = field(default_factory=list)
    unindexed: _Regions = _Regions()
    total_size: int = NRES_HEADER_DTYPE.itemsize
    trailing: int = 0
    read_from: memoryview | bytes = field(default=b"", repr=False, compare=False)

    @property
    def type_ids(self) -> set[int]:
        """The type ids that occur."""
        return {entry.type_id for entry in self.entries}

    @property
    def directory(self) -> int:
        """Where the directory lies in the file, bytes: after all payloads."""
        return self.total_size - NRES_ENTRY_DTYPE.itemsize * len(self.entries)

    def sort_table_fold(self) -> Fold | None:
        """The case folding under which the sort table is sorted, or ``None``.

        ``None``: it is not a permutation, or sorted under neither folding; a lookup then
        scans. Archives of the game obey one or the other; if both fit, upper case.
        """
        return self._sorted[0]

    @cached_property
    def _sorted(self) -> tuple[Fold | None, list[int], list[bytes]]:
        """The folding, the sort table, and its folded names; both empty where there is none.

        Entries may be replaced, but not renamed: a renamed entry needs a new archive.
        """
        order = [entry.sort_index for entry in self.entries]
        if sorted(order) == list(range(len(order))):
            names = [self.entries[i].name_bytes for i in order]
            for fold in (fold_upper, fold_lower):
                keys = [fold(name) for name in names]
                if all(map(le, keys, keys[1:])):
                    return fold, order, keys
        return None, [], []

    def find(self, name: str | bytes) -> int | None:
        """Directory index of the entry called ``name``, ASCII case-insensitively.

        Binary search through the sort table, as the game does; a linear scan where the
        table is not a sorted permutation. Of several entries of one name, the sort table's
        first. ``None`` if there is none.
        """
        raw = encode_name(name) if isinstance(name, str) else name
        fold, order, keys = self._sorted
        if fold is None:
            wanted = fold_upper(raw)
            return next((i for i, e in enumerate(self.entries) if fold_upper(e.name_bytes) == wanted), None)
        wanted = fold(raw)
        at = bisect_left(keys, wanted)
        return order[at] if at < len(order) and keys[at] == wanted else None

    def first_of_type(self, type_id: int) -> Entry | None:
        """The first entry of a type in directory order: how the runtime finds tables."""
        for entry in self.entries:
            if entry.type_id == type_id:
                return entry
        return None


def encode_name(name: str) -> bytes:
    """Bytes of an entry name: CP1251, or latin-1 for text that only latin-1 can hold."""
    try:
        return name.encode("cp1251")
    except UnicodeEncodeError:
        return name.encode("latin-1", "replace")


def sort_table(names: Sequence[bytes], fold: Fold = fold_upper) -> list[int]:
    """The sort table of a directory: row ``i`` = index of the ``i``-th name in sorted order.

    Stable, ASCII case-insensitive. It is not the rank of entry ``i``.
    """
    return sorted(range(len(names)), key=lambda i: fold(names[i]))


def name_field(name: bytes) -> bytes:
    """The 36-byte field of a name of at most 35 bytes, NUL-padded."""
    if len(name) >= NAME_SIZE:
        raise ValueError(f"entry name {name!r} has {len(name)} bytes, at most {NAME_SIZE - 1}")
    return name.ljust(NAME_SIZE, b"\0")
