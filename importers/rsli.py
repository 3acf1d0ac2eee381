"""RsLi bytes to :class:`~converter.formats.rsli.RsliLibrary` (docs/reference/rsli.md)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..converter.errors import ConversionError, plural, printable
from ..converter.findings import Finding
from ..converter.formats.rsli import (
    DEFLATE,
    ENTRIES,
    LZSS,
    METHODS,
    MOST_UNPACKED,
    NOT_UNPACKED,
    RSLI_ENTRY,
    RSLI_ENTRY_DTYPE,
    RSLI_HEADER_DTYPE,
    RSLI_HEADER_RULE,
    RSLI_MAGIC,
    RSLI_METHOD,
    STORED,
    XOR,
    XOR_LZSS,
    RsliLibrary,
)
from ..converter.storage import inflate

_HEADER, _ROW = RSLI_HEADER_DTYPE.itemsize, RSLI_ENTRY_DTYPE.itemsize
#: The window of LZSS: its size, where it starts, and what fills it.
_WINDOW, _START, _FILL = 4096, 0xFEE, 0x20


def is_rsli(data: memoryview | bytes) -> bool:
    """Tell by its first bytes whether a file is an RsLi library."""
    return bytes(data[:4]) == RSLI_MAGIC


def read_rsli(data: memoryview | bytes, label: str) -> RsliLibrary:
    """The table of a library; entries are unpacked by :func:`unpack`.

    Args:
        data: the file.
        label: what messages call it.

    Raises:
        ConversionError: not such a library, or its table is cut off.
    """
    view = memoryview(data)
    if not is_rsli(view) or len(view) < _HEADER:
        raise ConversionError(
            "is not an RsLi library",
            file=label,
            value=plural(len(view), "byte"),
            expected=f"{_HEADER} bytes that start with NL, 0, 1",
            code=RSLI_HEADER_RULE.code,
        )
    header = np.frombuffer(view[:_HEADER], RSLI_HEADER_DTYPE)[0]
    count = int(header["entry_count"])
    if not 0 <= count <= (len(view) - _HEADER) // _ROW:
        raise ConversionError(
            "table is cut off",
            file=label,
            table=ENTRIES,
            offset=4,
            value=count,
            expected=f"0..{(len(view) - _HEADER) // _ROW}",
            code=RSLI_HEADER_RULE.code,
        )
    table = decipher(view[_HEADER : _HEADER + count * _ROW], int(header["seed"]))
    trailer = bytes(view[-6:])
    overlay = int.from_bytes(trailer[2:], "little") if trailer[:2] == b"AO" else 0
    return RsliLibrary(label, header, np.frombuffer(table, RSLI_ENTRY_DTYPE), overlay, view)


def decipher(data: memoryview | bytes, seed: int) -> bytes:
    """Return bytes deciphered, or enciphered: the cipher is its own reverse.

    Args:
        data: the bytes.
        seed: the low 16 bits count.
    """
    low, high = seed & 0xFF, (seed >> 8) & 0xFF
    key = bytearray()
    met: dict[tuple[int, int], int] = {}
    while len(key) < len(data):
        if (start := met.setdefault((low, high), len(key))) < len(key):
            key += (key[start:] * (len(data) // (len(key) - start) + 1))[: len(data) - len(key)]
            break  # 16 bits of state: what follows repeats
        low = high ^ (low << 1) & 0xFF
        key.append(low)
        high = low ^ high >> 1
    return (np.frombuffer(data, np.uint8) ^ np.frombuffer(bytes(key), np.uint8)).tobytes()


def unpack(library: RsliLibrary, row: int) -> bytes:
    """Return the content of an entry.

    Raises:
        ConversionError: a method that is unknown or not supported, an entry past the end of the
            file, larger than ``MOST_UNPACKED`` or of another size than it states.
    """
    entry, method = library.rows[row], library.method(row)
    size, packed_size = int(entry["unpacked_size"]), int(entry["packed_size"])
    if method not in METHODS or method in NOT_UNPACKED:
        raise _error(
            library,
            row,
            "entry cannot be unpacked",
            library.method_name(row),
            "stored, XOR, LZSS or Deflate",
            RSLI_METHOD.code,
        )
    start = int(entry["data_offset"]) + library.overlay
    end = start + packed_size
    if method == DEFLATE and end == len(library.data) + 1:
        end -= 1  # one entry of the game's sprites.lib states a byte too much
    if end > len(library.data):
        raise _error(library, row, "entry lies outside the file", f"{start}..{end}", f"up to {len(library.data)}")
    if size > MOST_UNPACKED:
        raise _error(library, row, "entry is too large", plural(size, "byte"), MOST_UNPACKED)
    data = library.data[start:end]
    if method in (XOR, XOR_LZSS):
        data = memoryview(decipher(data, int(library.header["seed"])))
    if method in (LZSS, XOR_LZSS):
        content = _lzss(bytes(data), size)
    elif method == DEFLATE:
        content, _ = inflate(data, size + 1, raw=True)
    else:
        assert method in (STORED, XOR)
        content = bytes(data[:size])
    if len(content) != size:
        raise _error(library, row, "entry unpacks to another size", len(content), size)
    return content


def check_rsli(library: RsliLibrary) -> Iterator[Finding]:
    """Yield the entries that cannot be unpacked."""
    for row in range(len(library.rows)):
        try:
            unpack(library, row)
        except ConversionError as error:
            rule = RSLI_METHOD if error.code == RSLI_METHOD.code else RSLI_ENTRY
            yield Finding(rule, error.problem, ENTRIES, row, None, error.value, error.expected)


def _error(
    library: RsliLibrary, row: int, problem: str, value: object, expected: object, code: str = RSLI_ENTRY.code
) -> ConversionError:
    return ConversionError(
        problem,
        file=library.label,
        entry=printable(library.name(row)),
        table=ENTRIES,
        row=row,
        value=value,
        expected=expected,
        code=code,
    )


def _lzss(data: bytes, size: int) -> bytes:
    """Flag bytes, lowest bit first: 1 a byte, 0 a place in the window and a length from 3."""
    window = bytearray([_FILL]) * _WINDOW
    out = bytearray()
    at, place, bits = 0, _START, 1
    while len(out) < size:
        if bits == 1:
            if at >= len(data):
                break
            bits, at = data[at] | 0x100, at + 1
        literal, bits = bits & 1, bits >> 1
        if literal:
            if at >= len(data):
                break
            found, at = data[at : at + 1], at + 1
        else:
            if at + 2 > len(data):
                break
            low, high = data[at], data[at + 1]
            at += 2
            source = low | (high & 0xF0) << 4
            found = _copied(window, place, source, (high & 0x0F) + 3)
        for byte in found:
            window[place] = byte
            place = (place + 1) % _WINDOW
        out += found
    return bytes(out[:size])


def _copied(window: bytearray, place: int, source: int, length: int) -> bytes:
    """Bytes of the window, which is written while it is read: short distances repeat."""
    distance = (place - source) % _WINDOW
    step = min(distance or _WINDOW, length)
    first = bytes(window[(source + i) % _WINDOW] for i in range(step))
    return (first * (length // step + 1))[:length]
