"""Invariants of NRes containers (``container`` page)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import printable
from ..findings import Finding, more
from ..formats.archive import Archive, fold_upper

DIRECTORY = "NRes directory"
DATA = "NRes data region"
#: Payloads start at multiples of this.
ALIGNMENT = 8


def check_container(archive: Archive, *, by_name: bool) -> list[Finding]:
    """Findings about a container: payloads, what lies between them, names, the sort table.

    Args:
        archive: the container.
        by_name: whether its entries are found by name, not by type, as in archives.
    """
    return [
        *_payloads(archive),
        *_regions(archive),
        *_names(archive, by_name),
        *_sort_table(archive),
    ]


def _row_offset(archive: Archive, row: int, within: int) -> int:
    return archive.total_size - 64 * (len(archive.entries) - row) + within


def _at_rows(
    archive: Archive,
    code: str,
    problem: str,
    rows: list[int],
    within: int,
    value: object = None,
    expected: object = None,
) -> Iterator[Finding]:
    if rows:
        offset = _row_offset(archive, rows[0], within)
        at = np.array(rows, np.int64)
        count = len(rows)
        yield Finding(
            code, more(problem, count), DIRECTORY, rows[0], offset, value, expected, at, count
        )


def _payloads(archive: Archive) -> Iterator[Finding]:
    entries = archive.entries
    crooked = [i for i, e in enumerate(entries) if e.size and e.data_offset % ALIGNMENT]
    yield from _at_rows(
        archive,
        "nres-alignment",
        "payload does not start at a multiple of 8",
        crooked,
        56,
        entries[crooked[0]].data_offset if crooked else None,
        "a multiple of 8",
    )
    order = sorted((i for i, e in enumerate(entries) if e.size), key=lambda i: _place(archive, i))
    overlapping, end = [], 0
    for i in order:
        start, size = _place(archive, i)
        if start < end:
            overlapping.append(i)
        end = max(end, start + size)
    yield from _at_rows(
        archive,
        "nres-overlap",
        "payload lies in another one",
        overlapping,
        56,
        entries[overlapping[0]].data_offset if overlapping else None,
        "bytes of its own",
    )


def _place(archive: Archive, row: int) -> tuple[int, int]:
    entry = archive.entries[row]
    return entry.data_offset, entry.size


def _regions(archive: Archive) -> Iterator[Finding]:
    """What no payload covers: up to 7 bytes are a gap."""
    dirty, large = [], []
    for start, data in archive.unindexed:
        if len(data) >= ALIGNMENT:
            large.append((start, len(data)))
        elif any(data):
            dirty.append((start, bytes(data)))
    for code, problem, found, expected in (
        ("nres-gap", "gap between payloads is not zero", dirty, "zeros"),
        ("nres-region", "bytes that belong to no entry", large, "at most 7"),
    ):
        if found:
            start, what = found[0]
            value = what.hex(" ") if isinstance(what, bytes) else f"{what} bytes"
            problem = more(problem, len(found), "places")
            yield Finding(code, problem, DATA, None, start, value, expected, count=len(found))


def _names(archive: Archive, by_name: bool) -> Iterator[Finding]:
    entries = archive.entries
    full = [i for i, e in enumerate(entries) if 0 not in e.raw_name]
    yield from _at_rows(
        archive,
        "nres-name",
        "name has no NUL",
        full,
        20,
        printable(entries[full[0]].name) if full else None,
        "at most 35 bytes and a NUL",
    )
    tails = [i for i, e in enumerate(entries) if any(e.raw_name[len(e.name_bytes) :])]
    yield from _at_rows(
        archive,
        "nres-name-tail",
        "bytes behind the name are not zero",
        tails,
        20,
        entries[tails[0]].raw_name[len(entries[tails[0]].name_bytes) :].hex() if tails else None,
        "zeros",
    )
    if by_name:
        seen: set[bytes] = set()
        twice = []
        for i, entry in enumerate(entries):
            folded = fold_upper(entry.name_bytes)
            if folded in seen:
                twice.append(i)
            seen.add(folded)
        yield from _at_rows(
            archive,
            "nres-name-twice",
            "an earlier entry has this name",
            twice,
            20,
            printable(entries[twice[0]].name) if twice else None,
            "names that differ in more than case",
        )


def _sort_table(archive: Archive) -> Iterator[Finding]:
    order = [entry.sort_index for entry in archive.entries]
    if archive.sort_table_fold() is not None:
        return
    count, seen = len(order), set[int]()
    wrong = []
    for row, index in enumerate(order):
        if index >= count or index in seen:
            wrong.append(row)
        seen.add(index)
    if wrong:
        yield from _at_rows(
            archive,
            "nres-sort",
            "sort table is no permutation: names are looked for one by one",
            wrong,
            60,
            order[wrong[0]],
            f"every row below {count} once",
        )
        return
    names = [archive.entries[i].name_bytes for i in order]
    row = next(i for i in range(1, count) if fold_upper(names[i - 1]) > fold_upper(names[i]))
    yield Finding(
        "nres-order",
        "sort table does not list the names in order: names are looked for one by one",
        DIRECTORY,
        row,
        _row_offset(archive, row, 60),
        printable(archive.entries[order[row]].name),
        f"behind {printable(archive.entries[order[row - 1]].name)}",
    )
