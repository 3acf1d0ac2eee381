"""Byte strings as copies from another one and literals: what binary differences are made of.

Matching is exhaustive: a literal holds no stretch of the base that a copy could have named, so a
difference gives away nothing of what it is applied to (:func:`repeats_base` measures it).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError

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

Bytes = NDArray[np.uint8]


def encode_delta(before: bytes, after: bytes, shortest: int = SHORTEST[0]) -> bytes:
    """Return the copies and literals that make ``after`` of ``before``.

    Args:
        before: the base; may be empty.
        after: the target.
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
    """Return what :func:`encode_delta` was given as ``after``.

    Args:
        delta: its result.
        before: the base.
        size: length of the result, bytes; who calls has bounded it.

    Raises:
        ConversionError: the delta cannot be true.
    """
    view = memoryview(delta)
    count = int.from_bytes(view[:4], "little")
    end = 4 + 12 * count
    if len(view) < 4 or end > len(view):
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

    def __init__(self, base: Bytes, target: Bytes, shortest: int) -> None:
        self.base, self.target, self.shortest = base, target, shortest
        self.shift = 0  # of the last copy: where it came from less where it went
        self.windows = _windows(target, shortest)
        step = 1 if len(base) <= _DENSE else 8
        self._step = step
        self._index: tuple[NDArray[np.unsignedinteger], NDArray[np.int64]] | None = None
        self._from = self._until = 0
        self._chunk = _FIRST_CHUNK
        self._hits = self._first = np.zeros(0, np.int64)

    def next_match(self, at: int, done: int) -> tuple[int, int, int] | None:
        """Return where the next match is in the target and the base, and its length.

        Args:
            at: where to look from.
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
            back = 0
            while place - back > done and source > back and self._same(source, place, back + 1):
                back += 1
            self.shift, self._chunk = source - place, _FIRST_CHUNK
            return place - back, source - back, size + back
        return None

    def _on_diagonal(self, at: int) -> tuple[int, int, int] | None:
        """The match that goes on where the last one would be, after a replaced stretch or none."""
        source = at + self.shift
        if not 0 <= source < len(self.base) or at >= len(self.target):
            return None
        size = _common(self.base, source, self.target, at)
        return (at, source, size) if size >= self.shortest else None

    def _same(self, source: int, place: int, back: int) -> bool:
        return bool(self.base[source - back] == self.target[place - back])

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

    def _words(self) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]:
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


def _windows(data: Bytes, width: int) -> NDArray[np.unsignedinteger]:
    """Every window of 4 or 8 bytes as a number; nothing is copied. (n,) -> (n - width + 1,)."""
    count = max(0, len(data) - width + 1)
    out: NDArray[np.unsignedinteger] = np.ndarray(
        (count,), f"<u{width}", np.ascontiguousarray(data).data if count else None, strides=(1,)
    )
    return out


def _common(base: Bytes, source: int, target: Bytes, at: int) -> int:
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


def _hashes(data: Bytes) -> NDArray[np.uint64]:
    """A number for every window of 64 bytes; equal windows have equal numbers."""
    words = _windows(data, 8)
    count = len(data) - WINDOW + 1
    out = np.zeros(count, np.uint64)
    factor = 0x9E3779B97F4A7C15
    for k in range(0, WINDOW, 8):
        out = out * np.uint64(factor) + words[k : k + count]
        out ^= out >> np.uint64(29)
    return out
