"""Containers: payloads, gaps, names, the sort table, entries of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from ..errors import plural, printable
from ..findings import Finding, Rule, first_bad, more
from ..formats.names import fold_upper
from ..formats.nres import Archive, Entry
from ..numeric.arrays import Bools
from .places import DIRECTORY, in_directory

_rule = partial(Rule, "NRes", source="docs/reference/nres.md#gaps")

DATA = "NRes data region"
#: Payloads start at multiples of this.
ALIGNMENT = 8


def check_container(archive: Archive, *, by_name: bool) -> list[Finding]:
    """Return the findings about a container.

    Args:
        archive: the container.
        by_name: whether its entries are found by name, not by type, as in archives.
    """
    return [
        *_alignment(archive),
        *_overlap(archive),
        *_regions(archive),
        *_names(archive),
        *(_twice(archive) if by_name else ()),
        *_sort_table(archive),
    ]


def _mask(entries: list[Entry], bad: Iterable[object]) -> Bools:
    """Which rows of the directory are bad. (n,)."""
    return np.fromiter(map(bool, bad), np.bool_, len(entries))


NRES_OVERLAP = _rule(
    "nres-overlap",
    "warning",
    "Payloads do not overlap.",
    why="Replacing one entry would change another.",
    fix="Pack the archive again: every entry gets bytes of its own.",
)


def _overlap(archive: Archive) -> Iterator[Finding]:
    entries = archive.entries
    used = [row for row, entry in enumerate(entries) if entry.size]
    overlapping, end = np.zeros(len(entries), np.bool_), 0
    for row in sorted(used, key=lambda row: (entries[row].data_offset, entries[row].size)):
        start = entries[row].data_offset
        overlapping[row] = start < end
        end = max(end, start + entries[row].size)
    yield from first_bad(
        NRES_OVERLAP,
        overlapping,
        "payload lies in another one",
        in_directory(archive, "data_offset"),
        lambda row: entries[row].data_offset,
        "bytes of its own",
    )


NRES_ALIGNMENT = _rule(
    "nres-alignment",
    "warning",
    "Payloads start at multiples of 8.",
    why="All files of the game keep it; other tools may rely on it.",
    fix="Pack the archive again.",
)


def _alignment(archive: Archive) -> Iterator[Finding]:
    entries = archive.entries
    yield from first_bad(
        NRES_ALIGNMENT,
        _mask(entries, (e.size and e.data_offset % ALIGNMENT for e in entries)),
        "payload does not start at a multiple of 8",
        in_directory(archive, "data_offset"),
        lambda row: entries[row].data_offset,
        "a multiple of 8",
    )


NRES_GAP = _rule(
    "nres-gap",
    "note",
    "Gaps between payloads are zero.",
    why="Files of the game have zeros there; other bytes are kept.",
    fix="Nothing to do.",
)
NRES_REGION = _rule(
    "nres-region",
    "note",
    "Every 8 bytes or more before the directory belong to an entry.",
    why="Forgotten data only takes space (one library of the game has much of it); it is kept.",
    fix="Nothing to do; a repack drops it.",
)


def _regions(archive: Archive) -> Iterator[Finding]:
    """What no payload covers: up to 7 bytes are a gap."""
    dirty, large = [], []
    for start, data in archive.unindexed:
        if len(data) >= ALIGNMENT:
            large.append((start, plural(len(data), "byte")))
        elif any(data):
            dirty.append((start, bytes(data).hex(" ")))
    for rule, problem, found, expected in (
        (NRES_GAP, "gap between payloads is not zero", dirty, "zeros"),
        (NRES_REGION, "bytes that belong to no entry", large, "at most 7"),
    ):
        if found:
            start, value = found[0]
            problem = more(problem, len(found), "places")
            yield Finding(rule, problem, table=DATA, offset=start, value=value, expected=expected, count=len(found))


NRES_SORT = _rule(
    "nres-sort",
    "warning",
    "The sort table is a permutation of the directory's rows.",
    source="docs/reference/nres.md#the-sort-table",
    why="The game looks names up through it and will not find some entries.",
    fix="Pack the archive again: the sort table is rebuilt.",
)
NRES_ORDER = _rule(
    "nres-order",
    "warning",
    "The sort table lists the names in order, case folded up or down.",
    source="docs/reference/nres.md#the-sort-table",
    why="The game's binary search misses entries.",
    fix="Pack the archive again: the sort table is rebuilt.",
)


def _sort_table(archive: Archive) -> Iterator[Finding]:
    if archive.sort_table_fold() is not None:
        return
    entries, place = archive.entries, in_directory(archive, "sort_index")
    order = [entry.sort_index for entry in entries]
    count, seen = len(order), set[int]()
    wrong = np.zeros(count, np.bool_)
    for row, index in enumerate(order):
        wrong[row] = index >= count or index in seen
        seen.add(index)
    if wrong.any():
        yield from first_bad(
            NRES_SORT,
            wrong,
            "sort table is not a permutation: names are searched one by one",
            place,
            lambda row: order[row],
            f"every row below {count} once",
        )
        return
    names = [entries[i].name_bytes for i in order]
    row = next(i for i in range(1, count) if fold_upper(names[i - 1]) > fold_upper(names[i]))
    yield Finding(
        NRES_ORDER,
        "sort table does not list the names in order: names are searched one by one",
        table=DIRECTORY,
        row=row,
        offset=place.offset(row),
        value=printable(entries[order[row]].name),
        expected=f"after {printable(entries[order[row - 1]].name)}",
    )


NRES_NAME = _rule(
    "nres-name",
    "warning",
    "A name ends with a NUL inside its 36 bytes.",
    source="docs/reference/nres.md#a-row-of-the-directory",
    why="The game would read on into the next field.",
    fix="Give the entry a name of at most 35 bytes.",
)
NRES_NAME_TAIL = _rule(
    "nres-name-tail",
    "note",
    "The bytes after a name's NUL are zero.",
    source="docs/reference/nres.md#a-row-of-the-directory",
    why="They mean nothing and are kept.",
    fix="Nothing to do.",
)


def _names(archive: Archive) -> Iterator[Finding]:
    entries, place = archive.entries, in_directory(archive, "name")
    yield from first_bad(
        NRES_NAME,
        _mask(entries, (0 not in e.raw_name for e in entries)),
        "name has no NUL",
        place,
        lambda row: printable(entries[row].name),
        "at most 35 bytes and a NUL",
    )
    tails = [e.raw_name[len(e.name_bytes) :] for e in entries]
    yield from first_bad(
        NRES_NAME_TAIL,
        _mask(entries, map(any, tails)),
        "bytes after the name are not zero",
        place,
        lambda row: tails[row].hex(),
        "zeros",
    )


NRES_NAME_TWICE = _rule(
    "nres-name-twice",
    "warning",
    "No two entries of an archive have one name, whatever the case.",
    source="docs/reference/nres.md#the-sort-table",
    why="A look-up by name finds only the first.",
    fix="Rename one of them.",
)


def _twice(archive: Archive) -> Iterator[Finding]:
    entries = archive.entries
    seen: set[bytes] = set()
    twice = np.zeros(len(entries), np.bool_)
    for row, entry in enumerate(entries):
        folded = fold_upper(entry.name_bytes)
        twice[row] = folded in seen
        seen.add(folded)
    yield from first_bad(
        NRES_NAME_TWICE,
        twice,
        "an earlier entry has this name",
        in_directory(archive, "name"),
        lambda row: printable(entries[row].name),
        "names that differ in more than case",
    )


ARCHIVE_MESH = _rule(
    "archive-mesh",
    "warning",
    "An entry of type MESH is a core model in an NRes container.",
    source="docs/reference/nres.md#which-archives-hold-what",
    why="The game would stop at it; this converter skips it.",
    fix="Replace the entry with a valid model.",
)
ARCHIVE_NESTED = _rule(
    "archive-nested",
    "note",
    "An archive holds no further archives.",
    source="docs/reference/nres.md",
    why="It is not looked into.",
    fix="Unpack it to check what is in it.",
)


def check_members(archive: Archive, broken: Iterable[int], nested: Iterable[int]) -> Iterator[Finding]:
    """Yield the findings about what the entries of an archive hold.

    Args:
        archive: the archive.
        broken: rows of entries of type MESH that are not containers.
        nested: rows of entries that are archives.
    """
    for rule, problem, rows in (
        (ARCHIVE_MESH, "entry of type MESH is not an NRes file", broken),
        (ARCHIVE_NESTED, "entry is an archive, whose entries are not checked", nested),
    ):
        for row in rows:
            name = printable(archive.entries[row].name)
            yield Finding(rule, problem, DIRECTORY, row, value=name)
