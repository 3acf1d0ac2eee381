"""Edits of NRes archives: entries replaced, added, removed; every other byte stays.

Also the canonical form of an archive, which new ones have (docs/reference/nres.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ConversionError, plural, printable
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
        raise ValueError(f"entry name {name!r} has {len(name)} bytes, at most {NAME_SIZE - 1}")
    return name.ljust(NAME_SIZE, b"\0")


def replace_entry(
    archive: Archive, index: int, payload: bytes, *, attr1: int | None = None, attr2: int | None = None
) -> Archive:
    """The archive with one payload replaced and every other byte kept.

    A payload of the same size goes in place. Otherwise what follows moves by a multiple
    of 8 bytes: gaps and unindexed regions keep their bytes, except that a pure alignment gap
    (zeros up to the next multiple of 8) is cut or stretched. A payload that shares bytes with
    another entry is appended at the end of the data region, and the shared bytes stay; so is that of
    an empty entry whose offset is not a place between others.

    Args:
        archive: what to change; it is not modified.
        index: directory index of the entry.
        attr1, attr2: their new values, where they change too.
    """
    old = archive.entries[index]
    old = replace(old, attr1=old.attr1 if attr1 is None else attr1, attr2=old.attr2 if attr2 is None else attr2)
    start, end = old.data_offset, old.data_offset + old.size
    shared = any(
        e.data_offset < end and start < e.data_offset + e.size
        for i, e in enumerate(archive.entries)
        if i != index and e.size
    )
    if shared or not (old.size or _has_place(archive, start)):
        return _appended(archive, index, old, payload)
    gap = next((bytes(r) for o, r in archive.unindexed if o == end), b"")
    is_alignment = not any(gap) and len(gap) == -end % _ALIGN
    if is_alignment:
        new_end = start + len(payload)
        new_gap = bytes(-new_end % _ALIGN)
    else:
        grown = len(payload) - old.size
        new_gap = gap + bytes(-grown % _ALIGN)
    shift = len(payload) + len(new_gap) - old.size - len(gap)
    unindexed = [(o + shift if o > end else o, region) for o, region in archive.unindexed if o != end]
    if new_gap:
        unindexed.append((start + len(payload), new_gap))
    entries = [
        replace(entry, data_offset=entry.data_offset + shift) if entry.data_offset >= end else entry
        for entry in archive.entries
    ]
    entries[index] = replace(old, payload=payload)
    return _checked(archive, entries, unindexed, archive.directory + shift)


def _has_place(archive: Archive, start: int) -> bool:
    """Whether an empty entry can be filled where it is: aligned, inside the data, between payloads."""
    inside = any(offset < start < offset + len(region) for offset, region in archive.unindexed)
    return NRES_HEADER_DTYPE.itemsize <= start <= archive.directory and start % _ALIGN == 0 and not inside


def _appended(archive: Archive, index: int, old: Entry, payload: bytes) -> Archive:
    """The archive with a payload at the end of the data region; its old bytes stay, unindexed."""
    offset, gap = _padded(archive.directory)
    end, pad = _padded(offset + len(payload))
    unindexed = list(archive.unindexed)
    if old.size:
        unindexed.append((old.data_offset, old.payload))
    if gap:
        unindexed.append((archive.directory, bytes(gap)))
    if pad:
        unindexed.append((end - pad, bytes(pad)))
    entries = list(archive.entries)
    entries[index] = replace(old, payload=payload, data_offset=offset)
    return _checked(archive, entries, unindexed, end)


def add_entry(
    archive: Archive, name: bytes, type_id: int, payload: bytes, attributes: tuple[int, int, int] = (0, 0, 0)
) -> Archive:
    """The archive with one more entry, the last of its directory; the sort table is rebuilt.

    The payload goes after all others, at a multiple of 8; every other byte stays. The sort
    table keeps the folding that it obeys, else takes upper case (docs/reference/nres.md).

    Args:
        archive: what to change; it is not modified.
        name: at most 35 bytes.
        type_id: a FourCC as a number.
        attributes: the directory's attr1, attr2 and attr3.

    Raises:
        ConversionError: the name does not fit, or is there already.
    """
    if not 0 < len(name) < NAME_SIZE or b"\0" in name:
        raise ConversionError(
            "entry name does not fit",
            file=archive.label,
            value=f"{printable(decode_text(name))!r}, {plural(len(name), 'byte')}",
            expected=f"1 to {NAME_SIZE - 1} bytes of CP1251",
        )
    if archive.find(name) is not None:
        raise ConversionError(
            "has an entry of this name already",
            file=archive.label,
            value=printable(decode_text(name)),
            hint="give the new file another name",
        )
    offset, gap = _padded(archive.directory)
    end, pad = _padded(offset + len(payload))
    unindexed = list(archive.unindexed)
    if gap:
        unindexed.append((archive.directory, bytes(gap)))
    if pad:
        unindexed.append((end - pad, bytes(pad)))
    new = Entry(type_id, *attributes, name_field(name), offset, 0, payload)
    entries = [*archive.entries, new]
    order = sort_table([e.name_bytes for e in entries], archive.sort_table_fold() or fold_upper)
    entries = [replace(e, sort_index=s) for e, s in zip(entries, order, strict=True)]
    return _checked(archive, entries, unindexed, end)


def remove_entry(archive: Archive, index: int) -> Archive:
    """The archive without one entry; the sort table keeps its order.

    Its bytes and their alignment gap go, and what follows moves up, unless other entries share
    them. Every other byte stays. The last entry that :func:`add_entry` added goes without a trace.

    Args:
        archive: what to change; it is not modified.
        index: directory index of the entry.
    """
    old = archive.entries[index]
    if old.size:
        archive = replace_entry(archive, index, b"")
    entries = [
        replace(entry, sort_index=sort - (sort > index))
        for entry, sort in zip(
            [entry for i, entry in enumerate(archive.entries) if i != index],
            [entry.sort_index for entry in archive.entries if entry.sort_index != index],
            strict=True,
        )
    ]
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
        raise ConversionError(
            "archive would grow beyond the format",
            file=archive.label,
            value=plural(total, "byte"),
            expected="at most 4294967295",
        )
    return replace(archive, entries=entries, unindexed=unindexed, total_size=total)
