"""Differences between two versions of an entry or a file, the one format of undo and of mods: made, applied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import in_words
from ..formats.sidecar import sha256
from ..numeric.arrays import I64, Bools
from .changes import BytesChange, LineChange, RowChange, TableChanges, Unit, changed_rows, pack_changes, unpack_changes
from .merging import (
    DIRECTORY,
    LAYOUT,
    NO_ROWS,
    WHOLE,
    States,
    Touched,
    conflict,
    dialect_of,
    merge,
    state_digest,
    states,
)
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
from .split import REFERS, Split, Table, content_of, label_of, own_digest, short_digest, split

#: Above this size, bytes, it is not measured whether literals repeat the base.
MEASURED = 1 << 22


def find_changes(before: bytes, after: bytes, type_id: int | None) -> TableChanges | None:
    """Return what changes by tables; ``None`` where that would not say all, or would say too much.

    ``before``, ``after``: they differ. ``type_id``: of the directory entry, where there is one.
    """
    content = content_of(before, type_id)
    if content is None or (old := split(content, before)) is None:
        return None
    if (new := split(content, after)) is None or list(old.tables) != list(new.tables):
        return None
    state, later = states(content, before), states(content, after)
    if bool(state) != bool(later):  # one of them has errors: no row of it can be trusted
        return None
    computed = bool(state)
    units = _units(old, state, later)
    dialect = dialect_of(content, before) or dialect_of(content, after) if units else ""
    found = TableChanges(content, frame=old.frame, computed=computed, dialect=dialect, units=units)
    for key, table in old.tables.items():
        other = new.tables[key]
        if table.data == other.data:
            continue
        derived = found.derived.get(key)
        change = changed_rows(key, table, other, derived)
        if change is not None and not _repeats_rows(change, table, before):
            found.rows[key] = change
            if not change.own(derived).any():
                continue
        elif (blob := _blob(key, table, other, before, old, found)) is not None:
            found.blobs[key] = replace(blob, state=state_digest(state, key))
        else:
            return None
        named = set(REFERS.get(content, {}).get(key, ())) & old.tables.keys()
        found.sizes.update((name, len(old.tables[name].data)) for name in sorted(named))
    found.attributes.update(
        (i, (a, b)) for i, (a, b) in enumerate(zip(old.attributes, new.attributes, strict=True)) if a != b
    )
    made = _joined(found, old)
    if made == after:
        return found
    delta = encode_delta(made, after)
    return None if _gives_away(delta, len(made), len(after), before) else replace(found, layout=delta)


def _units(old: Split, state: States, later: States) -> dict[str, Unit]:
    out = {}
    for key, was in state.items():
        now = later.get(key)
        if now is not None and len(now) == len(was) and (was != now).any():
            rows = np.flatnonzero(was != now)
            out[key] = Unit(len(old.tables[key].data), rows, was[rows])
    return out


def _gives_away(delta: bytes, size: int, made: int, before: bytes) -> bool:
    """Whether a delta laid over zeros repeats the base; ``size``, ``made``: bytes that it is applied to, and makes."""
    return len(before) <= MEASURED and repeats_base(decode_delta(delta, bytes(size), made), before)


def _repeats_rows(change: RowChange | LineChange, table: Table, before: bytes) -> bool:
    """Whether changed rows laid over zeros repeat the base."""
    if len(before) > MEASURED:
        return False
    made = change.bare(table) if isinstance(change, LineChange) else change.bare()
    return any(repeats_base(some, before) for some in made)


def _blob(key: str, table: Table, other: Table, before: bytes, old: Split, found: TableChanges) -> BytesChange | None:
    base, after = bytes(table.data), bytes(other.data)
    near = {
        name: own_digest(old.tables[name], found.derived.get(name))
        for name, named in REFERS.get(found.content, {}).items()
        if key in named and name != key and name in old.tables
    }
    for shortest in SHORTEST:
        delta = encode_delta(base, after, shortest)
        if not _gives_away(delta, len(base), len(after), before):
            digests = short_digest(base), short_digest(after)
            return BytesChange(key, len(after), *digests, near, "", delta)
    return None


def fits(changes: TableChanges, size: int) -> bool:
    """Whether the tables that are made as a whole are no larger than the entry, bytes."""
    return sum(blob.size for blob in changes.blobs.values()) <= size


def make_exactly(changes: TableChanges, before: bytes, size: int) -> bytes:
    """Return what changes make of the very entry that they were found in.

    ``size``: of the result, bytes. Raises ConversionError: the changes cannot be true.
    """
    old = split(changes.content, before)
    if old is None:
        raise damaged("is not for such an entry")
    made = _joined(changes, old)
    return decode_delta(changes.layout, made, size) if changes.layout else made


def _joined(changes: TableChanges, old: Split) -> bytes:
    data: dict[str, bytes] = {}
    for key, change in changes.rows.items():
        data[key] = change.written(table_of(old, key), np.ones(len(change.rows), np.bool_))
    for key, blob in changes.blobs.items():
        data[key] = decode_delta(blob.delta, bytes(table_of(old, key).data), blob.size)
    for index in changes.attributes:
        if index >= len(old.attributes):
            raise damaged("has attributes of entries that are not there")
    return old.join(data, {index: now for index, (_, now) in changes.attributes.items()})


def table_of(entry: Split, key: str) -> Table:
    """Return a table that a difference names. Raises ConversionError: there is none."""
    if key not in entry.tables:
        raise damaged("names a table that is not there")
    return entry.tables[key]


# ------------------------------------------------------------------ what two differences share


def shared_places(one: TableChanges, other: TableChanges) -> list[Touched]:
    """Return what two changes of the same base both change, and not to the same."""
    out: list[Touched] = []

    for key, change in one.rows.items():
        derived = one.derived.get(key)
        if key in other.rows:
            rows = _overlapping(change, other.rows[key], derived)
            if len(rows):
                out.append(Touched(label_of(one.content, key), rows, "rows"))
    for key, blob in one.blobs.items():
        if key in other.blobs and other.blobs[key].becomes != blob.becomes:
            out.append(Touched(label_of(one.content, key), NO_ROWS, "bytes"))
    for a, b in ((one, other), (other, one)):
        for key in a.blobs:
            if key in b.rows:
                out.append(Touched(label_of(one.content, key), b.rows[key].rows, "rows"))
            elif key in b.units or _is_named(key, b):
                out.append(Touched(label_of(one.content, key), NO_ROWS, "bytes"))
    wrong = [
        index
        for index in one.attributes.keys() & other.attributes.keys()
        if one.attributes[index] != other.attributes[index]
    ]
    if wrong:
        out.append(Touched(DIRECTORY, np.array(sorted(wrong)), "rows"))
    if one.layout or other.layout:
        out.append(Touched(LAYOUT, NO_ROWS, "bytes"))
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
            raise conflict([Touched(WHOLE, NO_ROWS, "whole")])
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
    if changes is None:
        return [Touched(WHOLE, NO_ROWS, str(packed.description["kind"]))]
    out = [Touched(label_of(changes.content, key), change.rows, "rows") for key, change in changes.rows.items()]
    out += [Touched(label_of(changes.content, key), NO_ROWS, "bytes") for key in changes.blobs]
    if changes.attributes:
        out.append(Touched(DIRECTORY, np.array(sorted(changes.attributes)), "rows"))
    if changes.layout:
        out.append(Touched(LAYOUT, NO_ROWS, "bytes"))
    return out


def overlap(one: bytes, other: bytes) -> list[Touched]:
    """Return what two differences from the same base both change, and not to the same.

    Nothing: they can be applied in either order, and give the same. Raises ConversionError: a difference is damaged.
    """
    first, second = unpack(one), unpack(other)
    if first.after == second.after:
        return []
    mine, theirs = _changes(first), _changes(second)
    if mine is None or theirs is None or mine.content != theirs.content:
        return [Touched(WHOLE, NO_ROWS, "whole")]
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
        if not shared or not _gives_away(delta, len(before), len(after), before):
            return delta
    for shortest in SHORTEST:
        delta = encode_delta(before, after, shortest)
        if not _gives_away(delta, len(before), len(after), before):
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
