"""The file format of differences: a description and raw bytes, compressed, of bounded size.

Nothing in it is executed, and every size is checked before anything of that size is made.

Byte strings as copies from another one and literals: what binary differences are made of.

Matching is exhaustive: a literal holds no stretch of the base that a copy could have named, so a
difference gives away nothing of what it is applied to (:func:`repeats_base` measures it).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, plural
from ..files import read_json
from ..numeric.arrays import I64, U8

MAGIC = b"MSHDIFF\x1a"
VERSION = 1
_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V8"),  # +0
        ("version", "<u4"),  # +8
        ("description_size", "<u4"),  # +12
        ("payload_size", "<u8"),  # +16
    ]
)
assert _HEADER_DTYPE.itemsize == 24
#: In front of the description: SHA-256 before and after, and the size after.
_FACTS_DTYPE = np.dtype([("before", "V32"), ("after", "V32"), ("size", "<u8")])
assert _FACTS_DTYPE.itemsize == 72
#: What a difference may unpack to, whatever its size: no entry of the game comes near it.
UNPACKED_FLOOR = 1 << 24
#: Beyond that, how many times the size of the difference and its base.
UNPACKED_TIMES = 16
#: The longest description, bytes.
MOST_TEXT = 1 << 20


@dataclass(frozen=True)
class Packed:
    """A difference as it is stored.

    Attributes:
        before: SHA-256 of the base, hex; empty where there is none.
        after: SHA-256 of the result, hex.
        size: of the result, bytes.
        description: what the payload holds (``converter.game.differences``).
        payload: raw bytes.
    """

    before: str
    after: str
    size: int
    description: Mapping[str, Any]
    payload: memoryview | bytes


def most_bytes(stored: int) -> int:
    """Return how much may be made of this many bytes."""
    return max(UNPACKED_FLOOR, UNPACKED_TIMES * stored)


def pack(packed: Packed) -> bytes:
    """Return the bytes of a difference; the same input gives the same bytes.

    Raises:
        ConversionError: the description is too long.
    """
    facts = np.zeros(1, _FACTS_DTYPE)
    for name, digest in (("before", packed.before), ("after", packed.after)):
        facts[name] = np.void(bytes.fromhex(digest or "0" * 64))
    facts["size"] = packed.size
    text = json.dumps(packed.description, separators=(",", ":"), sort_keys=True).encode()
    if len(text) > MOST_TEXT:
        raise _too_large(len(text), MOST_TEXT)
    header = np.array((MAGIC, VERSION, len(text), len(packed.payload)), _HEADER_DTYPE)
    raw = b"".join([facts.tobytes(), text, packed.payload])
    best = zlib.compress(raw, 9)
    if len(raw) > most_bytes(len(best)):  # what nobody would unpack is stored as it is
        best = zlib.compress(raw, 0)
    return header.tobytes() + best


def unpack(data: memoryview | bytes) -> Packed:
    """Read the bytes of a difference.

    Raises:
        ConversionError: not a difference, a newer version, damaged, or it claims too much.
    """
    view = memoryview(data)
    size = _HEADER_DTYPE.itemsize
    if len(view) < size or bytes(view[:8]) != MAGIC:
        raise ConversionError("is not a difference of msh-gltf")
    header = np.frombuffer(view[:size], _HEADER_DTYPE)[0]
    if int(header["version"]) != VERSION:
        problem = "version of a difference is not known"
        raise ConversionError(problem, value=int(header["version"]), expected=VERSION, hint="update msh-gltf")
    facts_size, text_size = _FACTS_DTYPE.itemsize, int(header["description_size"])
    total = facts_size + text_size + int(header["payload_size"])
    require_size(total, len(view))
    if text_size > MOST_TEXT:
        raise _too_large(text_size, MOST_TEXT)
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(view[size:], total + 1)
    except zlib.error:
        raise damaged("cannot be unpacked") from None
    if len(raw) != total or not unpacker.eof or unpacker.unused_data:
        raise damaged("has not the size that it states")
    facts = np.frombuffer(raw[:facts_size], _FACTS_DTYPE)[0]
    end = facts_size + text_size
    try:
        description = read_json(raw[facts_size:end])
    except ValueError:
        description = None
    if not isinstance(description, dict):
        raise damaged("has no description")
    before, after = (facts[name].tobytes() for name in ("before", "after"))
    return Packed(
        before.hex() if any(before) else "", after.hex(), int(facts["size"]), description, memoryview(raw)[end:]
    )


def require_size(size: int, stored: int) -> None:
    """Refuse to make more of some stored bytes than differences may."""
    if size > most_bytes(stored):
        raise _too_large(size, most_bytes(stored))


def _too_large(size: int, most: int) -> ConversionError:
    return ConversionError(
        "the difference claims to be too large", value=plural(size, "byte"), expected=f"at most {most:,}"
    )


#: Shortest copies, bytes, the first choice and the one where literals still repeat the base.
SHORTEST = (8, 4)
#: Up to this size every offset of the base is indexed, beyond it every eighth.
_DENSE = 1 << 22
#: How many windows of the target are looked up at a time, after a match and at most.
_FIRST_CHUNK, _CHUNK = 1 << 9, 1 << 16
#: How many copies are made at a time.
_ROWS = 1 << 12
#: What must not be repeated: this many bytes with more than so many different values.
WINDOW, FEW_VALUES = 64, 8


def encode_delta(before: bytes, after: bytes, shortest: int = SHORTEST[0]) -> bytes:
    """Return the copies and literals that make ``after`` of ``before``.

    Args:
        shortest: length of the shortest copy, 4 or 8 bytes.
    """
    base, target = np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)
    finder = _Finder(base, target, shortest)
    literal, start, length = [], [], []
    done = at = 0
    while (found := finder.next_match(at, done)) is not None:
        place, source, size = found
        literal.append(place - done)
        start.append(source)
        length.append(size)
        done = at = place + size
    literal.append(len(target) - done)
    start.append(0)
    length.append(0)
    copies = np.array([literal, start, length], "<u4")
    values, at = [], 0
    for gap, size in zip(literal, length, strict=True):
        values.append(after[at : at + gap])
        at += gap + size
    return b"".join([len(literal).to_bytes(4, "little"), copies.tobytes(), *values])


def encode_in_place(before: bytes, after: bytes) -> bytes:
    """Return a delta of two strings of one length that copies only what stays at its place.

    It needs no index of the base, so it is quick; bytes that moved become literals.
    """
    base, target = np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], base == target, [False]])))
    start, end = edges[::2], edges[1::2]
    long = end - start >= SHORTEST[0]
    start, end = start[long], end[long]
    literal = np.append(start, len(target)) - np.append(0, end)
    copies = np.array([literal, np.append(start, 0), np.append(end - start, 0)], "<u4")
    changed = np.zeros(len(target) + 1, np.int8)
    np.add.at(changed, start, 1)
    np.add.at(changed, end, -1)
    values = target[np.cumsum(changed[:-1]) == 0]
    return b"".join([copies.shape[1].to_bytes(4, "little"), copies.tobytes(), values.tobytes()])


def decode_delta(delta: memoryview | bytes, before: bytes, size: int) -> bytes:
    """Return what :func:`encode_delta` was given as ``after``. Raises ConversionError: the delta cannot be true.

    ``delta``: its result. ``size``: length of the result, bytes; who calls has bounded it.
    """
    view = memoryview(delta)
    count = int.from_bytes(view[:4], "little")
    end = 4 + 12 * count
    if end > len(view):
        raise damaged("is cut short")
    copies = np.frombuffer(view[4:end], "<u4").reshape(3, count).astype(np.int64)
    literal, start, length = copies
    if int(literal.sum()) != len(view) - end or int(literal.sum() + length.sum()) != size:
        raise damaged("does not give the size that it states")
    if (start + length > len(before)).any():
        raise damaged("copies from past the end of its base")
    out, base, to, at = bytearray(size), memoryview(before), 0, end
    for first in range(0, count, _ROWS):
        for gap, source, run in copies[:, first : first + _ROWS].T.tolist():
            out[to : to + gap] = view[at : at + gap]
            at, to = at + gap, to + gap
            out[to : to + run] = base[source : source + run]
            to += run
    return bytes(out)


def damaged(problem: str) -> ConversionError:
    """Return the error about a difference that cannot be true."""
    return ConversionError("the difference is damaged", value=f"it {problem}", hint="take it from its source again")


class _Finder:
    """Finds the next stretch of a target that its base has too."""

    def __init__(self, base: U8, target: U8, shortest: int) -> None:
        self.base, self.target, self.shortest = base, target, shortest
        self.shift = 0  # of the last copy: where it came from less where it went
        self.windows = _windows(target, shortest)
        self._step = 1 if len(base) <= _DENSE else 8
        self._index: tuple[NDArray[np.unsignedinteger], I64] | None = None
        self._from = self._until = 0
        self._chunk = _FIRST_CHUNK
        self._hits = self._first = np.zeros(0, np.int64)

    def next_match(self, at: int, done: int) -> tuple[int, int, int] | None:
        """Return where the next match is in the target and the base, and its length.

        Args:
            done: up to where the target is written: a match may not begin before it.
        """
        here = self._on_diagonal(at)
        if here is not None:
            return here
        while at < len(self.windows):
            hit = self._hit_from(at)
            if hit is None:
                at = self._until
                continue
            place, low = hit
            source, size = self._best(place, low)
            self.shift, self._chunk = source - place, _FIRST_CHUNK
            while place > done and source > 0 and self.base[source - 1] == self.target[place - 1]:
                place, source, size = place - 1, source - 1, size + 1
            return place, source, size
        return None

    def _on_diagonal(self, at: int) -> tuple[int, int, int] | None:
        """The match that goes on where the last one would be, after a replaced stretch or none."""
        source = at + self.shift
        if not 0 <= source < len(self.base) or at >= len(self.target):
            return None
        size = _common(self.base, source, self.target, at)
        return (at, source, size) if size >= self.shortest else None

    def _hit_from(self, at: int) -> tuple[int, int] | None:
        """The first window from an offset on that the base has, and its row in the index."""
        if not self._from <= at < self._until:
            self._look_up(at)
        row = int(np.searchsorted(self._hits, at - self._from))
        if row == len(self._hits):
            return None
        return int(self._hits[row]) + self._from, int(self._first[row])

    def _look_up(self, at: int) -> None:
        words, _ = self._words()
        some = np.array(self.windows[at : at + self._chunk])
        self._chunk = min(4 * self._chunk, _CHUNK)
        self._from, self._until = at, at + len(some)
        low = np.searchsorted(words, some)
        inside = np.minimum(low, len(words) - 1)
        found = (words[inside] == some) if len(words) else np.zeros(len(some), np.bool_)
        self._hits = np.flatnonzero(found)
        self._first = low[self._hits]

    def _words(self) -> tuple[NDArray[np.unsignedinteger], I64]:
        if self._index is None:
            words = np.array(_windows(self.base, self.shortest)[:: self._step])
            order = np.argsort(words, kind="stable")
            self._index = words[order], order * self._step
        return self._index

    def _best(self, place: int, low: int) -> tuple[int, int]:
        """The longest of some occurrences of a window: the first, and those near the diagonal."""
        words, offsets = self._words()
        high = int(np.searchsorted(words, words[low], "right"))
        near = low + int(np.searchsorted(offsets[low:high], place + self.shift))
        rows = sorted({low, high - 1, max(near - 1, low), min(near, high - 1)})
        sources = [int(offsets[row]) for row in rows]
        sizes = [_common(self.base, source, self.target, place) for source in sources]
        best = max(range(len(rows)), key=lambda k: sizes[k])
        return sources[best], sizes[best]


def _windows(data: U8, width: int) -> NDArray[np.unsignedinteger]:
    """Every window of 4 or 8 bytes as a number; nothing is copied. (n,) -> (n - width + 1,)."""
    count = max(0, len(data) - width + 1)
    out: NDArray[np.unsignedinteger] = np.ndarray(
        (count,), f"<u{width}", np.ascontiguousarray(data).data if count else None, strides=(1,)
    )
    return out


def _common(base: U8, source: int, target: U8, at: int) -> int:
    """How many bytes are equal from two offsets on."""
    most = min(len(base) - source, len(target) - at)
    done, step = 0, 64
    while done < most:
        size = min(step, most - done)
        differ = base[source + done : source + done + size] != target[at + done : at + done + size]
        first = int(differ.argmax())
        if differ[first]:
            return done + first
        done += size
        step = min(4 * step, 1 << 20)
    return most


def repeats_base(data: bytes, base: bytes) -> bool:
    """Whether a window of 64 bytes with more than eight values is one of the base's windows."""
    if min(len(data), len(base)) < WINDOW:
        return False
    own, other = (np.frombuffer(each, np.uint8) for each in (data, base))
    filled = np.concatenate([[0], np.cumsum(own != 0)])
    at = np.flatnonzero(filled[WINDOW:] - filled[:-WINDOW] >= FEW_VALUES)
    if not len(at):
        return False
    hashes = _hashes(own)[at]
    order = np.argsort(hashes)
    known, wanted = hashes[order], _hashes(other)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    checked = set()
    for offset in np.flatnonzero(known[place] == wanted).tolist():
        window = base[offset : offset + WINDOW]
        if window not in checked and len(set(window)) > FEW_VALUES and window in data:
            return True
        checked.add(window)
    return False


def _hashes(data: U8) -> NDArray[np.uint64]:
    """A number for every window of 64 bytes; equal windows have equal numbers."""
    words = _windows(data, 8)
    count = len(data) - WINDOW + 1
    out = np.zeros(count, np.uint64)
    factor = 0x9E3779B97F4A7C15
    for k in range(0, WINDOW, 8):
        out = out * np.uint64(factor) + words[k : k + count]
        out ^= out >> np.uint64(29)
    return out


class Reader:
    """Reads columns of a payload in turn; nothing is read past its end."""

    def __init__(self, payload: memoryview | bytes) -> None:
        self.left = memoryview(payload)
        self.size = len(self.left)

    def take(self, size: int) -> memoryview:
        """Return the next bytes. Raises ConversionError: there are not so many."""
        if not 0 <= size <= len(self.left):
            raise damaged("is cut short")
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def column(self, dtype: str, count: int) -> NDArray[Any]:
        """Return the next numbers."""
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count), dtype)


def whole_number(about: Mapping[str, Any], name: str, most: int = 2**32 - 1) -> int:
    """Return a number of a description. Raises ConversionError: it is none, or out of range."""
    value = about.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise damaged(f"has no valid number {name}")
    return value
