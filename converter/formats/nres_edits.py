"""Edits of NRes archives: entries replaced, added, removed; every other byte stays.

Also the canonical form of an archive, which new ones have (docs/reference/nres.md).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from ..errors import ConversionError, in_words, plural, printable
from .names import decode_text, fold_upper
from .nres import NAME_SIZE, NRES_ENTRY_DTYPE, NRES_HEADER_DTYPE, Archive, Entry, Fold

_ALIGN = 8


def sort_table(names: Sequence[bytes], fold: Fold = fold_upper) -> list[int]:
    """The sort table of a directory: row ``i`` = index of the ``i``-th name in sorted order.

    Stable, ASCII case-insensitive. It is not the rank of entry ``i``.
    """
    return sorted(range(len(names)), key=lambda i: fold(names[i]))


def name_field(name: bytes) -> bytes:
    """The 36-byte field of a name of at most 35 bytes, NUL-padded."""
    if len(name) >= NAME_SIZE:
        raise ValueError(f"entry name {in_words(name)} has {len(name)} bytes, at most {NAME_SIZE - 1}")
    return name.ljust(NAME_SIZE, b"\0")


class ArchiveEdits:
    """Edits of an archive, laid out when all are known: what one costs does not grow with the archive.

    Attributes:
        entries: as they are to be, new ones last; set by :meth:`put` and :meth:`add` alone. Offsets and the
            sort table are those of ``before``.
    """

    def __init__(self, archive: Archive) -> None:
        self.before, self.label = archive, archive.label
        self.entries, self.type_ids = list(archive.entries), archive.type_ids
        self._changed: dict[int, None] = {}
        self._added: dict[bytes, int] = {}
        self._journal: list[tuple[int, Entry | None]] = []

    @cached_property
    def _fold(self) -> Fold:
        return self.before.sort_table_fold() or fold_upper

    def find(self, name: bytes) -> int | None:
        """Return the index of the entry of a name, as :meth:`Archive.find` of what it is to be."""
        found = self.before.find(name)
        return self._added.get(self._fold(name)) if found is None and self._added else found

    def put(self, index: int, entry: Entry) -> None:
        """Replace an entry's payload and attributes. ``index``: in ``entries``. ``entry``: one of the same name."""
        self._journal.append((index, self.entries[index]))
        self.entries[index] = entry
        self.type_ids.add(entry.type_id)
        if index < len(self.before.entries):
            self._changed[index] = None

    def replace(self, index: int, payload: bytes, *, attr1: int | None = None, attr2: int | None = None) -> None:
        """Replace an entry's payload, and attributes that are not ``None``."""
        old = self.entries[index]
        attr1, attr2 = old.attr1 if attr1 is None else attr1, old.attr2 if attr2 is None else attr2
        self.put(index, replace(old, payload=payload, attr1=attr1, attr2=attr2))

    def add(self, name: bytes, type_id: int, payload: bytes, attributes: tuple[int, int, int] = (0, 0, 0)) -> None:
        """Add an entry, the last of the directory; ``type_id``: a FourCC as a number.

        Raises ConversionError: the name does not fit, or is there already.
        """
        if not 0 < len(name) < NAME_SIZE or b"\0" in name:
            what, found = "entry name does not fit", f"{in_words(decode_text(name))}, {plural(len(name), 'byte')}"
            raise ConversionError(what, file=self.label, value=found, expected=f"1 to {NAME_SIZE - 1} bytes of CP1251")
        if self.find(name) is not None:
            problem, value = "has an entry of this name already", printable(decode_text(name))
            raise ConversionError(problem, file=self.label, value=value, hint="give the new file another name")
        self._journal.append((len(self.entries), None))
        self._added[self._fold(name)] = len(self.entries)
        self.type_ids.add(type_id)
        self.entries.append(Entry(type_id, *attributes, name_field(name), 0, 0, payload))

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Make edits that belong together: where a ``ConversionError`` ends them, none is made."""
        start = len(self._journal)
        try:
            yield
        except ConversionError:
            while len(self._journal) > start:
                index, entry = self._journal.pop()
                if entry is None:
                    del self._added[self._fold(self.entries.pop().name_bytes)]
                else:
                    self.entries[index] = entry
            self.type_ids = {entry.type_id for entry in self.entries}
            raise

    def archive(self) -> Archive:
        """Return the archive with the edits; one that was not edited is the same object.

        A payload of the same size goes in place. Otherwise what follows moves by a multiple of 8 bytes: gaps and
        unindexed regions keep their bytes, except that a pure alignment gap (zeros up to the next multiple of 8) is cut
        or stretched. A payload that shares bytes with another entry is appended at the end of the data region, and the
        shared bytes stay; so is that of an empty entry whose offset is not a place between others. New entries follow,
        at multiples of 8, and the sort table is rebuilt: it keeps the folding that it obeys, else takes upper case
        (docs/reference/nres.md). Raises ConversionError: the archive would grow beyond the format.
        """
        archive = self.before
        shared = _shared(archive.entries) if self._changed else set()
        kept: dict[int, Entry] = {}
        alone: dict[int, Entry] = {}
        others: dict[int, Entry] = {}
        for i in self._changed:
            entry, old = self.entries[i], archive.entries[i]
            same = entry.size == old.size and entry.payload == old.payload
            (kept if same else alone if old.size and i not in shared else others)[i] = entry
        if kept:
            archive = replace(archive, entries=[kept.get(i, entry) for i, entry in enumerate(archive.entries)])
        if alone:
            archive = _in_place(archive, alone)
        for i, entry in others.items():
            has_place = i not in shared and _has_place(archive, archive.entries[i].data_offset)
            archive = (_in_place if has_place else _appended)(archive, {i: entry})
        return _added(archive, self.entries[len(archive.entries) :], self._fold) if self._added else archive


def replace_entry(
    archive: Archive, index: int, payload: bytes, *, attr1: int | None = None, attr2: int | None = None
) -> Archive:
    """Return the archive with one payload, and attributes that are not ``None``, replaced (:class:`ArchiveEdits`)."""
    edits = ArchiveEdits(archive)
    edits.replace(index, payload, attr1=attr1, attr2=attr2)
    return edits.archive()


def add_entry(
    archive: Archive, name: bytes, type_id: int, payload: bytes, attributes: tuple[int, int, int] = (0, 0, 0)
) -> Archive:
    """Return the archive with one more entry (:meth:`ArchiveEdits.add`)."""
    edits = ArchiveEdits(archive)
    edits.add(name, type_id, payload, attributes)
    return edits.archive()


def _shared(entries: Sequence[Entry]) -> set[int]:
    """The entries whose offset or bytes lie in another one."""
    spans = sorted((e.data_offset, e.data_offset + e.size, i) for i, e in enumerate(entries))
    shared = set()
    furthest = owner = -1
    for start, end, i in spans:
        if start < furthest:
            shared |= {i, owner} if end > start else {i}
        if end > furthest:
            furthest, owner = end, i
    return shared


def _in_place(archive: Archive, edits: Mapping[int, Entry]) -> Archive:
    """The archive with payloads in the places of others, which have these for themselves."""
    regions = dict(reversed(archive.unindexed))
    ends, shifts, moved = [], [0], 0
    for i in sorted(edits, key=lambda i: archive.entries[i].data_offset):
        old, size = archive.entries[i], edits[i].size
        end = old.data_offset + old.size
        gap = bytes(regions.get(end, b""))
        if not any(gap) and len(gap) == -end % _ALIGN:
            new_gap = bytes(-(old.data_offset + size) % _ALIGN)
        else:
            new_gap = gap + bytes((old.size - size) % _ALIGN)
        ends.append((end, old.data_offset + moved + size, new_gap))
        moved += size + len(new_gap) - old.size - len(gap)
        shifts.append(moved)
    at = [end for end, _, _ in ends]
    unindexed = [
        (offset + shifts[place], region)
        for offset, region in archive.unindexed
        if (place := bisect_left(at, offset)) == len(at) or at[place] != offset
    ]
    unindexed += [(offset, gap) for _, offset, gap in ends if gap]
    entries = list(archive.entries)
    for i, entry in enumerate(entries):
        own = i in edits and not entry.size
        offset = entry.data_offset + (0 if own else shifts[bisect_right(at, entry.data_offset)])
        if i in edits or offset != entry.data_offset:
            entries[i] = replace(edits.get(i, entry), data_offset=offset)
    return _checked(archive, entries, unindexed, archive.directory + moved)


def _has_place(archive: Archive, start: int) -> bool:
    """Whether an empty entry can be filled where it is: aligned, inside the data, between payloads."""
    inside = any(offset < start < offset + len(region) for offset, region in archive.unindexed)
    return NRES_HEADER_DTYPE.itemsize <= start <= archive.directory and start % _ALIGN == 0 and not inside


def _appended(archive: Archive, edits: Mapping[int, Entry]) -> Archive:
    """The archive with payloads at the end of the data region; the bytes in their places stay, unindexed."""
    entries = list(archive.entries)
    old = [(entries[i].data_offset, entries[i].payload) for i in edits if entries[i].size]
    offsets, gaps, end = _placed(archive.directory, [entry.size for entry in edits.values()])
    for (i, entry), offset in zip(edits.items(), offsets, strict=True):
        entries[i] = replace(entry, data_offset=offset)
    return _checked(archive, entries, [*archive.unindexed, *old, *gaps], end)


def _added(archive: Archive, new: Sequence[Entry], fold: Fold) -> Archive:
    """The archive with more entries, after all others."""
    offsets, gaps, end = _placed(archive.directory, [entry.size for entry in new])
    entries = [
        *archive.entries,
        *(replace(entry, data_offset=offset) for entry, offset in zip(new, offsets, strict=True)),
    ]
    order = sort_table([e.name_bytes for e in entries], fold)
    entries = [replace(e, sort_index=s) for e, s in zip(entries, order, strict=True)]
    return _checked(archive, entries, [*archive.unindexed, *gaps], end)


def _placed(end: int, sizes: Sequence[int]) -> tuple[list[int], list[tuple[int, bytes]], int]:
    """Where payloads of some sizes go after others that end somewhere; the gaps, and the new end."""
    offsets, gaps = [], []
    for size in (None, *sizes):
        if size is not None:
            offsets.append(end)
            end += size
        start = end
        end, pad = _padded(end)
        if pad:
            gaps.append((start, bytes(pad)))
    return offsets, gaps, end


def remove_entries(archive: Archive, away: Collection[int]) -> Archive:
    """Return the archive without some entries; the sort table keeps its order.

    Their bytes and their alignment gaps go, and what follows moves up, unless other entries share them. Every other
    byte stays. The last entries that were added go without a trace. ``archive``: what to change; it is not modified.
    """
    edits, gone = ArchiveEdits(archive), sorted(away)
    for index in gone:
        edits.replace(index, b"")
    archive = edits.archive()
    numbers = {*gone}
    order = [e.sort_index - bisect_left(gone, e.sort_index) for e in archive.entries if e.sort_index not in numbers]
    kept = [entry for i, entry in enumerate(archive.entries) if i not in numbers]
    entries = [replace(entry, sort_index=sort) for entry, sort in zip(kept, order, strict=True)]
    return _checked(archive, entries, list(archive.unindexed), archive.directory)


def repack(archive: Archive) -> Archive:
    """The canonical form: payloads in file order, 8-aligned, zero gaps, sort table rebuilt.

    Drops gap bytes and unindexed regions; everything else stays.
    """
    entries = list(archive.entries)
    cursor = NRES_HEADER_DTYPE.itemsize
    unindexed: list[tuple[int, memoryview | bytes]] = []
    for i in sorted(range(len(entries)), key=lambda i: (entries[i].data_offset, i)):
        entries[i] = replace(entries[i], data_offset=cursor)
        cursor, pad = _padded(cursor + entries[i].size)
        if pad:
            unindexed.append((cursor - pad, bytes(pad)))
    fold = archive.sort_table_fold() or fold_upper
    order = sort_table([entry.name_bytes for entry in entries], fold)
    entries = [replace(e, sort_index=s) for e, s in zip(entries, order, strict=True)]
    return _checked(archive, entries, unindexed, cursor)


def new_archive(entries: list[Entry], label: str) -> Archive:
    """An archive of new entries in canonical form (``data_offset``, ``sort_index`` ignored)."""
    # repack places payloads in the order of their offsets
    placed = [replace(entry, data_offset=i) for i, entry in enumerate(entries)]
    return repack(Archive(label, entries=placed))


def _padded(end: int) -> tuple[int, int]:
    pad = -end % _ALIGN
    return end + pad, pad


def _checked(
    archive: Archive, entries: list[Entry], unindexed: list[tuple[int, memoryview | bytes]], directory: int
) -> Archive:
    """An archive with other contents, refused where its size does not fit the header."""
    total = directory + NRES_ENTRY_DTYPE.itemsize * len(entries)
    if total > 0xFFFFFFFF:
        problem = "archive would grow beyond the format"
        raise ConversionError(problem, file=archive.label, value=plural(total, "byte"), expected="at most 4294967295")
    return replace(archive, entries=entries, unindexed=unindexed, total_size=total)
