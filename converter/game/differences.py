"""Differences between two versions of an entry or a file: the one format of undo and of mods."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from ..errors import Conflict
from .merge import WHOLE, Touched, conflict, merge, shared_places, touched_tables
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
from .table_changes import MEASURED, TableChanges, find_changes, fits, make_exactly, pack_changes, unpack_changes

__all__ = ["Conflict", "Touched", "apply", "conflict", "difference", "digests", "overlap", "touched"]


def difference(before: bytes | None, after: bytes, *, type_id: int | None = None, shared: bool = True) -> bytes:
    """Return what makes one version of an entry, or of a file, of another.

    Args:
        before: the base, as the original game has it; ``None``: there was nothing.
        after: what it is to be.
        type_id: the type of its directory entry, or of the entry that a file is like.
        shared: it may leave the game's folder, so bytes of the base that moved are not in it;
            finding them takes seconds for some megabytes.
    """
    facts = ("" if before is None else _digest(before), _digest(after), len(after))
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
    found = "" if before is None else _digest(before)
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
    if _digest(result) != packed.after:
        raise damaged("does not give what its digest says")
    return result


def touched(diff: bytes) -> list[Touched]:
    """Return what a difference changes, table by table.

    Raises:
        ConversionError: the difference is damaged.
    """
    packed = unpack(diff)
    changes = _changes(packed)
    if changes is not None:
        return touched_tables(changes)
    return [Touched(WHOLE, np.zeros(0, np.int64), str(packed.description["kind"]))]


def overlap(one: bytes, other: bytes) -> list[Touched]:
    """Return what two differences from the same base both change, and not to the same.

    Nothing: they can be applied in either order, and give the same.

    Raises:
        ConversionError: a difference is damaged.
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
        raise damaged(f"is of the unknown kind {str(kind)[:40]!r}")
    return None


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
