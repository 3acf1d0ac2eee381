"""Differences between two versions of an entry or a file, the one format of undo and of mods: made, applied, merged.

A merge goes row by row; then what follows from rows is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import Conflict, in_words
from ..formats.sidecar import sha256
from ..numeric.arrays import I64, Bools
from .derived import NotComputed, States, compute_again, dialect_of, states
from .packing import (
    SHORTEST,
    Packed,
    damaged,
    decode_delta,
    encode_delta,
    encode_in_place,
    most_bytes,
    pack,
    repeats_base,
    require_size,
    unpack,
)
from .rows import LineChange, RowChange, line_check, row_checks
from .split import Split, Table, label_of, split
from .table_changes import (
    MEASURED,
    REFERS,
    BytesChange,
    TableChanges,
    find_changes,
    fits,
    make_exactly,
    own_digest,
    pack_changes,
    short_digest,
    state_digest,
    unpack_changes,
)

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Touched:
    """What a difference changes of one table.

    Attributes:
        table: what messages call it: ``Res3 (positions)``.
        rows: (n,) ascending; empty where ``kind`` is not ``rows``.
        kind: ``rows``; ``bytes``: the table by a binary difference; ``whole``: all by one, without
            tables; ``new``: there was nothing.
    """

    table: str
    rows: I64
    kind: str


WHOLE, DIRECTORY, LAYOUT = "the whole entry", "the directory", "the layout"


def conflict(places: list[Touched]) -> Conflict:
    """Return the error about some places, at least one."""
    first = places[0]
    row = int(first.rows[0]) if len(first.rows) else None
    error = Conflict(
        "what the difference changes was changed by something else",
        table=first.table,
        row=row,
        hint="undo the other change first",
    )
    error.places = tuple(places)
    return error


def merge(changes: TableChanges, before: bytes) -> bytes:
    """Return another version of the base with the changes.

    Raises:
        Conflict: something is neither as it was nor as it is to be, or cannot be computed.
        ConversionError: the changes cannot be true.
    """
    current = split(changes.content, before)
    if current is None:
        raise conflict([Touched(WHOLE, _NONE, "whole")])
    state = states(changes.content, before)
    if changes.computed and not state:  # it has errors
        raise conflict([Touched(WHOLE, _NONE, "whole")])
    job = _Merge(changes, current, state)
    made = job.result()
    again = {key: rows for key, rows in job.again.items() if len(rows)}
    if not again:
        return made
    dialect = changes.dialect or dialect_of(changes.content, before)
    try:
        tables = compute_again(changes.content, made, dialect, again)
    except NotComputed as error:
        label = label_of(changes.content, error.key)
        raise conflict([Touched(label, np.array([error.row]), "rows")]) from None
    found = split(changes.content, made)
    assert found is not None
    return found.join(tables, {})


class _Merge:
    """One merge; ``again``: derived rows that both changed, by table."""

    def __init__(self, changes: TableChanges, current: Split, state: States) -> None:
        self.changes, self.current = changes, current
        self.places: list[Touched] = []
        self.again: dict[str, I64] = {}
        self._kept: dict[str, I64] = {}  # derived rows that only we changed
        self._states = state
        self._find_units()

    def result(self) -> bytes:
        """Return what comes out, before derived rows are computed."""
        changes, data = self.changes, {}
        for key, change in changes.rows.items():
            table = self._table(key)
            if table is not None and (new := self._rows(change, table)) is not None:
                data[key] = new
        for key, blob in changes.blobs.items():
            table = self._table(key)
            if table is None:
                continue
            digest = short_digest(table.data)
            if digest == blob.was and self._as_they_were(blob):
                data[key] = decode_delta(blob.delta, bytes(table.data), blob.size)
            elif digest != blob.becomes:
                self._refuse(key)
        for key, size in changes.sizes.items():
            table = self._table(key)
            if table is not None and len(table.data) != size:
                self._refuse(key)
        if changes.layout or self.current.frame != changes.frame:
            self.places.append(Touched(LAYOUT, _NONE, "bytes"))
        attributes = self._attributes()
        if self.places:
            raise conflict(self.places)
        return self.current.join(data, attributes)

    def _table(self, key: str) -> Table | None:
        if key not in self.current.tables:
            self._refuse(key)
            return None
        return self.current.tables[key]

    def _refuse(self, key: str, rows: I64 = _NONE) -> None:
        kind = "rows" if len(rows) else "bytes"
        self.places.append(Touched(label_of(self.changes.content, key), rows, kind))

    def _as_they_were(self, blob: BytesChange) -> bool:
        """Whether what names the rows of a table, and what its rows follow from, is unchanged."""
        if state_digest(self._states, blob.key) != blob.state:
            return False
        return all(
            key in self.current.tables and own_digest(self.current.tables[key], self.changes.derived.get(key)) == digest
            for key, digest in blob.near.items()
        )

    def _attributes(self) -> dict[int, tuple[int, int, int]]:
        out, now = {}, self.current.attributes
        wrong = []
        for index, (was, becomes) in self.changes.attributes.items():
            if index >= len(now) or now[index] not in (was, becomes):
                wrong.append(index)
            else:
                out[index] = becomes
        if wrong:
            self.places.append(Touched(DIRECTORY, np.array(sorted(wrong)), "rows"))
        return out

    def _rows(self, change: RowChange | LineChange, table: Table) -> bytes | None:
        derived = self.changes.derived.get(change.key)
        if isinstance(change, LineChange):
            return self._lines(change, table)
        if table.stride != change.stride or table.count != change.count:
            self._refuse(change.key)
            return None
        own = change.own(derived)
        bits = np.ones(change.stride, np.bool_) if derived is None else ~derived
        rows = table.matrix[change.rows]
        was = row_checks(rows * bits) == change.was
        rest = row_checks(rows * (bits & ~change.mask)).astype(np.uint16) == change.rest
        becomes = np.zeros_like(change.mask)
        becomes[change.mask] = change.values != rows[change.mask]
        there = rest & ~(becomes & bits).any(axis=1)
        bad = own & ~was & ~there
        if bad.any():
            self._refuse(change.key, change.rows[bad])
            return None
        new = change.written(table, own & ~there, bits)
        if derived is None:
            return new
        ours = np.isin(change.rows, self._kept.get(change.key, _NONE))
        return change.written(Table(new, table.stride), ours, derived)

    def _lines(self, change: LineChange, table: Table) -> bytes | None:
        if table.stride != 0:
            self._refuse(change.key)
            return None
        lines = table.lines
        checks = [line_check(line) for line in lines]
        becomes = [(int(c), int(size)) for c, size in zip(change.becomes, change.sizes, strict=True)]
        new = np.ones(len(change.rows), np.bool_)
        bad = []
        for at, (row, like) in enumerate(zip(change.rows.tolist(), change.like.tolist(), strict=True)):
            if row < len(lines) and (checks[row], len(lines[row])) == becomes[at]:
                new[at] = False  # it is there
            elif (
                (row >= change.count and len(lines) != change.count)
                or like >= len(lines)
                or (like >= 0 and checks[like] != int(change.was[at]))
            ):
                bad.append(row)
        if bad:
            self._refuse(change.key, np.array(bad))
            return None
        return change.written(table, new)

    # -------------------------------------------------------------- derived rows

    def _find_units(self) -> None:
        """Tell derived rows that only we changed from those that something else changed too."""
        now = self._states
        for key, unit in self.changes.units.items():
            table = self._table(key)
            if table is None:
                continue
            if len(table.data) != unit.size or key not in now or unit.rows[-1] >= len(now[key]):
                self._refuse(key)
                continue
            untouched = now[key][unit.rows] == unit.was
            self._kept[key] = unit.rows[untouched]
            self.again[key] = unit.rows[~untouched]


# ------------------------------------------------------------------ what two differences share


def touched_tables(changes: TableChanges) -> list[Touched]:
    """Return what changes of each table."""
    out = [Touched(label_of(changes.content, key), change.rows, "rows") for key, change in changes.rows.items()]
    out += [Touched(label_of(changes.content, key), _NONE, "bytes") for key in changes.blobs]
    if changes.attributes:
        out.append(Touched(DIRECTORY, np.array(sorted(changes.attributes)), "rows"))
    if changes.layout:
        out.append(Touched(LAYOUT, _NONE, "bytes"))
    return out


def shared_places(one: TableChanges, other: TableChanges) -> list[Touched]:
    """Return what two changes of the same base both change, and not to the same."""
    out: list[Touched] = []

    def label(key: str) -> str:
        return label_of(one.content, key)

    for key, change in one.rows.items():
        derived = one.derived.get(key)
        if key in other.rows:
            rows = _overlapping(change, other.rows[key], derived)
            if len(rows):
                out.append(Touched(label(key), rows, "rows"))
    for key, blob in one.blobs.items():
        if key in other.blobs and other.blobs[key].becomes != blob.becomes:
            out.append(Touched(label(key), _NONE, "bytes"))
    for a, b in ((one, other), (other, one)):
        for key in a.blobs:
            if key in b.rows:
                out.append(Touched(label(key), b.rows[key].rows, "rows"))
            elif key in b.units or _is_named(key, b):
                out.append(Touched(label(key), _NONE, "bytes"))
    wrong = [
        index
        for index in one.attributes.keys() & other.attributes.keys()
        if one.attributes[index] != other.attributes[index]
    ]
    if wrong:
        out.append(Touched(DIRECTORY, np.array(sorted(wrong)), "rows"))
    if one.layout or other.layout:
        out.append(Touched(LAYOUT, _NONE, "bytes"))
    return out


def _overlapping(one: RowChange | LineChange, other: RowChange | LineChange, derived: Bools | None) -> I64:
    """Return the rows of a table that two changes of it make something else of, or one copies."""
    out = []
    for row in np.intersect1d(one.rows[one.own(derived)], other.rows[other.own(derived)]).tolist():
        a, b = (c.result(int(np.searchsorted(c.rows, row)), derived) for c in (one, other))
        if a != b:
            out.append(row)
    out += [row for a, b in ((one, other), (other, one)) for row in np.intersect1d(a.copied, b.rows).tolist()]
    return np.unique(np.array(out, np.int64))


def _is_named(table: str, changes: TableChanges) -> bool:
    """Whether something that changes names rows of a table."""
    refers = REFERS.get(changes.content, {})
    changed = [key for key, change in changes.rows.items() if change.own(changes.derived.get(key)).any()]
    return any(table in refers.get(key, ()) for key in (*changed, *changes.blobs))


__all__ = ["Conflict", "Touched", "apply", "conflict", "difference", "digests", "overlap", "touched"]


def difference(before: bytes | None, after: bytes, *, type_id: int | None = None, shared: bool = True) -> bytes:
    """Return what makes one version of an entry, or of a file, of another.

    Args:
        before: the base, as the original game has it; ``None``: there was nothing.
        type_id: the type of its directory entry, or of the entry that a file is like.
        shared: it may leave the game's folder, so bytes of the base that moved are not in it;
            finding them takes seconds for some megabytes.
    """
    facts = ("" if before is None else sha256(before), sha256(after), len(after))
    if before is None:
        return pack(Packed(*facts, {"kind": "new"}, after))
    changes = find_changes(before, after, type_id) if before != after else None
    if changes is not None and fits(changes, len(after)):
        packed = pack(Packed(*facts, *pack_changes(changes)))
    else:
        packed = pack(Packed(*facts, {"kind": "whole"}, _whole_delta(before, after, shared)))
    if len(after) > most_bytes(len(before) + len(packed)):  # nobody would apply it
        packed = pack(Packed(*facts, {"kind": "new"}, after))
    return packed


def apply(diff: bytes, before: bytes | None) -> bytes:
    """Return what a difference makes of a base.

    Of the base that it was made from, exactly what it was made from; the result's digest is
    checked. What it made already stays. Of any other base, a merge: rows that it changes must be
    as they were, or as they are to be; bounds, normals and the header of models and terrains are
    computed again where both versions changed what they follow from.

    Args:
        diff: the difference; anybody's.
        before: the base; ``None``: there is nothing.

    Raises:
        Conflict: the base is another, and something that the difference changes is neither as it
            was nor as it is to be.
        ConversionError: the difference is damaged, or claims to be too large.
    """
    packed = unpack(diff)
    found = "" if before is None else sha256(before)
    if before is not None and found == packed.after:
        return before
    base = b"" if before is None else before
    require_size(packed.size, len(diff) + len(base))
    changes = _changes(packed)
    if found != packed.before:
        if changes is None or before is None:
            raise conflict([Touched(WHOLE, np.zeros(0, np.int64), "whole")])
        return merge(changes, before)
    if changes is not None:
        result = make_exactly(changes, base, packed.size)
    elif packed.description["kind"] == "new":
        result = bytes(packed.payload)
    else:
        result = decode_delta(packed.payload, base, packed.size)
    if sha256(result) != packed.after:
        raise damaged("does not give what its digest says")
    return result


def touched(diff: bytes) -> list[Touched]:
    """Return what a difference changes, table by table. Raises ConversionError: the difference is damaged."""
    packed = unpack(diff)
    changes = _changes(packed)
    if changes is not None:
        return touched_tables(changes)
    return [Touched(WHOLE, np.zeros(0, np.int64), str(packed.description["kind"]))]


def overlap(one: bytes, other: bytes) -> list[Touched]:
    """Return what two differences from the same base both change, and not to the same.

    Nothing: they can be applied in either order, and give the same. Raises ConversionError: a difference is damaged.
    """
    first, second = unpack(one), unpack(other)
    if first.after == second.after:
        return []
    mine, theirs = _changes(first), _changes(second)
    if mine is None or theirs is None or mine.content != theirs.content:
        return [Touched(WHOLE, np.zeros(0, np.int64), "whole")]
    return shared_places(mine, theirs)


def digests(diff: bytes) -> tuple[str, str]:
    """Return SHA-256 of the base (empty: there was nothing) and of the result, hex.

    Raises:
        ConversionError: the difference is damaged.
    """
    packed = unpack(diff)
    return packed.before, packed.after


def _whole_delta(before: bytes, after: bytes, shared: bool) -> bytes:
    if len(before) == len(after):  # a repainted texture, say
        delta = encode_in_place(before, after)
        bare = decode_delta(delta, bytes(len(before)), len(after))
        if not shared or len(before) > MEASURED or not repeats_base(bare, before):
            return delta
    delta = b""
    for shortest in SHORTEST:
        delta = encode_delta(before, after, shortest)
        bare = decode_delta(delta, bytes(len(before)), len(after))
        if len(before) > MEASURED or not repeats_base(bare, before):
            break
    return delta


def _changes(packed: Packed) -> TableChanges | None:
    """The changes of tables; ``None`` where there are none."""
    kind = packed.description.get("kind")
    if kind == "tables":
        changes = unpack_changes(packed.description, packed.payload)
        if not fits(changes, packed.size):
            raise damaged("makes tables that are larger than the whole")
        return changes
    if kind not in ("new", "whole"):
        raise damaged(f"is of the unknown kind {in_words(str(kind)[:40])}")
    return None
