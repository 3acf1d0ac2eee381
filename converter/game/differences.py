"""Differences between two versions of an entry or a file: the one format of undo and of mods."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from .byte_delta import SHORTEST, damaged, decode_delta, encode_delta, repeats_base
from .packing import Packed, most_bytes, pack, require_size, unpack

#: Above this size, bytes, it is not measured whether literals repeat the base.
_MEASURED = 1 << 22


class Conflict(ConversionError):
    """What a difference changes is neither as it was nor as it is to be.

    ``table`` and ``row`` are those of the first such place.

    Attributes:
        places: all of them.
    """

    places: tuple[Touched, ...] = ()


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
    rows: NDArray[np.int64]
    kind: str


def difference(before: bytes | None, after: bytes, *, type_id: int | None = None) -> bytes:
    """Return what makes one version of an entry, or of a file, of another.

    Args:
        before: the base, as the original game has it; ``None``: there was nothing.
        after: what it is to be.
        type_id: the type of its directory entry, where it has one.
    """
    old = b"" if before is None else before
    facts = ("" if before is None else _digest(before), _digest(after), len(after))
    if before is None:
        return pack(Packed(*facts, {"kind": "new"}, after))
    for shortest in SHORTEST:
        delta = encode_delta(old, after, shortest)
        bare = decode_delta(delta, bytes(len(old)), len(after))
        if len(old) > _MEASURED or not repeats_base(bare, old):
            break
    packed = pack(Packed(*facts, {"kind": "whole"}, delta))
    if len(after) > most_bytes(len(old) + len(packed)):  # nobody would apply it
        packed = pack(Packed(*facts, {"kind": "new"}, after))
    return packed


def apply(diff: bytes, before: bytes | None) -> bytes:
    """Return what a difference makes of a base.

    Of the base that it was made from, exactly what it was made from; the result's digest is
    checked. What it made already stays. Of any other base, a merge.

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
    if found == packed.after:
        assert before is not None
        return before
    if found != packed.before:
        raise Conflict("is neither as it was nor as it is to be", table="the whole entry")
    old = b"" if before is None else before
    require_size(packed.size, len(diff) + len(old))
    result = _exact(packed, old)
    if _digest(result) != packed.after:
        raise damaged("does not give what its digest says")
    return result


def touched(diff: bytes) -> list[Touched]:
    """Return what a difference changes, table by table.

    Raises:
        ConversionError: the difference is damaged.
    """
    kind = _kind(unpack(diff))
    return [Touched("the whole entry", np.zeros(0, np.int64), kind)]


def overlap(one: bytes, other: bytes) -> list[Touched]:
    """Return what two differences from the same base both change, and not to the same.

    Nothing: they can be applied in either order, and give the same.

    Raises:
        ConversionError: a difference is damaged.
    """
    if digests(one)[1] == digests(other)[1]:
        return []
    return touched(one)


def digests(diff: bytes) -> tuple[str, str]:
    """Return SHA-256 of the base (empty: there was nothing) and of the result, hex.

    Raises:
        ConversionError: the difference is damaged.
    """
    packed = unpack(diff)
    return packed.before, packed.after


def _exact(packed: Packed, before: bytes) -> bytes:
    if _kind(packed) == "new":
        return bytes(packed.payload)
    return decode_delta(packed.payload, before, packed.size)


def _kind(packed: Packed) -> str:
    kind = packed.description.get("kind")
    if kind not in ("new", "whole"):
        raise damaged(f"is of the unknown kind {str(kind)[:40]!r}")
    return str(kind)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
