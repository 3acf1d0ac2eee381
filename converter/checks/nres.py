"""Containers: payloads, gaps, names, the sort table, entries of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..errors import plural, printable
from ..findings import Bad, Finding, more
from ..formats.names import fold_upper
from ..formats.nres import Archive
from ..numeric.arrays import Bools
from . import DIRECTORY, Rules, run, why

DATA = "NRes data region"
#: Payloads start at multiples of this.
ALIGNMENT = 8

rule = Rules("NRes", "docs/reference/nres.md#gaps")


def check_container(archive: Archive, *, by_name: bool) -> list[Finding]:
    """Return the findings about a container; ``by_name``: its entries are found by name, as in archives."""
    return [
        *run(archive, nres_alignment, nres_overlap, nres_gap, nres_region, nres_name, nres_name_tail),
        *(nres_name_twice(archive) if by_name else ()),
        *_sort_table(archive),
    ]


@rule("nres-overlap", "warning", "Payloads do not overlap.")
@why("Replacing one entry would change another.", fix="Pack the archive again: every entry gets bytes of its own.")
def nres_overlap(archive: Archive) -> Iterator[Bad]:
    entries = archive.entries
    used = [row for row, entry in enumerate(entries) if entry.size]
    bad, end = np.zeros(len(entries), np.bool_), 0
    for row in sorted(used, key=lambda row: (entries[row].data_offset, entries[row].size)):
        start = entries[row].data_offset
        bad[row] = start < end
        end = max(end, start + entries[row].size)
    place, expected = (DIRECTORY, "data_offset"), "bytes of its own"
    yield Bad("payload lies in another one", place, bad, lambda row: entries[row].data_offset, expected)


@rule("nres-alignment", "warning", "Payloads start at multiples of 8.")
@why("All files of the game keep it; other tools may rely on it.", fix="Pack the archive again.")
def nres_alignment(archive: Archive) -> Iterator[Bad]:
    entries = archive.entries
    bad = _mask(archive, (entry.size and entry.data_offset % ALIGNMENT for entry in entries))
    problem, expected = "payload does not start at a multiple of 8", "a multiple of 8"
    yield Bad(problem, (DIRECTORY, "data_offset"), bad, lambda row: entries[row].data_offset, expected)


@rule("nres-gap", "note", "Gaps between payloads are zero.")
@why("Files of the game have zeros there; other bytes are kept.", fix="Nothing to do.")
def nres_gap(archive: Archive) -> Iterator[Bad]:
    dirty = [(at, data) for at, data in archive.unindexed if len(data) < ALIGNMENT and any(data)]
    if dirty:
        at, data = dirty[0]
        problem = more("gap between payloads is not zero", len(dirty), "places")
        yield Bad(problem, (DATA, at), None, bytes(data).hex(" "), "zeros", len(dirty))


@rule("nres-region", "note", "Every 8 bytes or more before the directory belong to an entry.")
@why(
    "Forgotten data only takes space (one library of the game has much of it); it is kept.",
    fix="Nothing to do; a repack drops it.",
)
def nres_region(archive: Archive) -> Iterator[Bad]:
    large = [(at, data) for at, data in archive.unindexed if len(data) >= ALIGNMENT]
    if large:
        at, data = large[0]
        problem = more("bytes that belong to no entry", len(large), "places")
        yield Bad(problem, (DATA, at), None, plural(len(data), "byte"), "at most 7", len(large))


def _sort_table(archive: Archive) -> Iterator[Finding]:
    if archive.sort_table_fold() is None:
        order = [entry.sort_index for entry in archive.entries]
        broken = [*nres_sort(archive, order)]
        yield from broken or nres_order(archive, order)


@rule("nres-sort", "warning", "The sort table is a permutation of the directory's rows.", "#the-sort-table")
@why(
    "The game looks names up through it and will not find some entries.",
    fix="Pack the archive again: the sort table is rebuilt.",
)
def nres_sort(archive: Archive, order: Sequence[int]) -> Iterator[Bad]:
    count, seen = len(order), set[int]()
    wrong = np.zeros(count, np.bool_)
    for row, index in enumerate(order):
        wrong[row] = index >= count or index in seen
        seen.add(index)
    problem = "sort table is not a permutation: names are searched one by one"
    expected = f"every row below {count} once"
    yield Bad(problem, (DIRECTORY, "sort_index"), wrong, lambda row: order[row], expected)


@rule("nres-order", "warning", "The sort table lists the names in order, case folded up or down.", "#the-sort-table")
@why("The game's binary search misses entries.", fix="Pack the archive again: the sort table is rebuilt.")
def nres_order(archive: Archive, order: Sequence[int]) -> Iterator[Bad]:
    entries = [archive.entries[i] for i in order]
    folded = [fold_upper(entry.name_bytes) for entry in entries]
    row = next(i for i in range(1, len(order)) if folded[i - 1] > folded[i])
    problem = "sort table does not list the names in order: names are searched one by one"
    before, found = (printable(entry.name) for entry in entries[row - 1 : row + 1])
    yield Bad(problem, (DIRECTORY, "sort_index"), row, found, f"after {before}")


@rule("nres-name", "warning", "A name ends with a NUL inside its 36 bytes.", "#a-row-of-the-directory")
@why("The game would read on into the next field.", fix="Give the entry a name of at most 35 bytes.")
def nres_name(archive: Archive) -> Iterator[Bad]:
    entries = archive.entries
    bad = _mask(archive, (0 not in entry.raw_name for entry in entries))
    expected = "at most 35 bytes and a NUL"
    yield Bad("name has no NUL", (DIRECTORY, "name"), bad, lambda row: printable(entries[row].name), expected)


@rule("nres-name-tail", "note", "The bytes after a name's NUL are zero.", "#a-row-of-the-directory")
@why("They mean nothing and are kept.", fix="Nothing to do.")
def nres_name_tail(archive: Archive) -> Iterator[Bad]:
    tails = [entry.raw_name[len(entry.name_bytes) :] for entry in archive.entries]
    bad, problem = _mask(archive, map(any, tails)), "bytes after the name are not zero"
    yield Bad(problem, (DIRECTORY, "name"), bad, lambda row: tails[row].hex(), "zeros")


@rule("nres-name-twice", "warning", "No two entries of an archive have one name, whatever the case.", "#the-sort-table")
@why("A look-up by name finds only the first.", fix="Rename one of them.")
def nres_name_twice(archive: Archive) -> Iterator[Bad]:
    entries = archive.entries
    seen: set[bytes] = set()
    twice = np.zeros(len(entries), np.bool_)
    for row, entry in enumerate(entries):
        folded = fold_upper(entry.name_bytes)
        twice[row] = folded in seen
        seen.add(folded)
    problem, expected = "an earlier entry has this name", "names that differ in more than case"
    yield Bad(problem, (DIRECTORY, "name"), twice, lambda row: printable(entries[row].name), expected)


@rule(
    "archive-mesh",
    "warning",
    "An entry of type MESH is a core model in an NRes container.",
    "#which-archives-hold-what",
)
@why("The game would stop at it; this converter skips it.", fix="Replace the entry with a valid model.")
def archive_mesh(archive: Archive, broken: Iterable[int]) -> Iterator[Bad]:
    """Yield entries of type MESH that are not containers, whose rows are given."""
    for row in broken:
        yield Bad("entry of type MESH is not an NRes file", DIRECTORY, row, printable(archive.entries[row].name))


@rule("archive-nested", "note", "An archive holds no further archives.", "docs/reference/nres.md")
@why("It is not looked into.", fix="Unpack it to check what is in it.")
def archive_nested(archive: Archive, nested: Iterable[int]) -> Iterator[Bad]:
    """Yield entries that are archives, whose rows are given."""
    problem = "entry is an archive, whose entries are not checked"
    for row in nested:
        yield Bad(problem, DIRECTORY, row, printable(archive.entries[row].name))


def _mask(archive: Archive, bad: Iterable[object]) -> Bools:
    """Which rows of the directory are bad. (n,)."""
    return np.fromiter(map(bool, bad), np.bool_, len(archive.entries))
