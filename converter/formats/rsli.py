"""RsLi libraries (``gamefont.rlb``, ``sprites.lib``): the game's other container.

The table of entries is enciphered, the entries are packed in one of several ways
(docs/reference/rsli.md). What is not replaced keeps its bytes. The Huffman codes are those of Haruyasu Yoshizaki's
LZHUF, which LHarc calls ``-lh1-``: for a byte or the length of a copy, whose tree follows what was met, and after a
length for a place of 12 bits, the upper six with a fixed code.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..errors import ConversionError, plural, printable
from ..files import inflate
from ..findings import Finding, Rules
from ..numeric.arrays import Records
from .kinds import is_rsli
from .names import encode_name, field_text, fold_upper

#: The longest copy, and the shortest.
MOST_COPIED, LEAST_COPIED = 60, 3
_LEAVES = 256 + MOST_COPIED - LEAST_COPIED + 1
_NODES = 2 * _LEAVES - 1
_ROOT = _NODES - 1
#: Above it all frequencies are halved.
_MOST = 0x8000
#: Length of the code of each upper half of a place; the codes themselves follow one another.
_PLACE_LENGTHS = [3] + [4] * 3 + [5] * 8 + [6] * 12 + [7] * 24 + [8] * 16
#: By the first eight bits of a place: its upper half.
_PLACES = [upper for upper, length in enumerate(_PLACE_LENGTHS) for _ in range(1 << 8 - length)]
_PLACE_CODES = [_PLACES.index(upper) >> 8 - length for upper, length in enumerate(_PLACE_LENGTHS)]


class _Tree:
    """The tree of codes: nodes in the order of their frequencies, pairs of children side by side.

    Attributes:
        child: the first of the two children of a node; of a leaf ``_NODES`` + its symbol.
        parent: the node above a node, and above ``_NODES`` + a symbol the leaf itself.
    """

    def __init__(self) -> None:
        self.weight = [1] * _LEAVES + [0] * (_NODES - _LEAVES) + [0xFFFF]
        self.child = [_NODES + symbol for symbol in range(_LEAVES)] + [0] * (_NODES - _LEAVES)
        self.parent = [0] * (_NODES + _LEAVES)
        for node in range(_LEAVES, _NODES):
            first = 2 * (node - _LEAVES)
            self.weight[node] = self.weight[first] + self.weight[first + 1]
            self.child[node] = first
        self._link()

    def _link(self) -> None:
        for node, child in enumerate(self.child):
            self.parent[child] = node
            if child < _NODES:
                self.parent[child + 1] = node
        self.parent[_ROOT] = 0

    def count(self, symbol: int) -> None:
        """Count a symbol once more; nodes that outgrow their neighbours change places."""
        if self.weight[_ROOT] == _MOST:
            self._halve()
        weight, child, parent = self.weight, self.child, self.parent
        node = parent[_NODES + symbol]
        while True:
            weight[node] += 1
            now, place = weight[node], node + 1
            if now > weight[place]:
                while now > weight[place + 1]:
                    place += 1
                weight[node], weight[place] = weight[place], now
                child[node], child[place] = child[place], child[node]
                for moved in (node, place):
                    below = child[moved]
                    parent[below] = moved
                    if below < _NODES:
                        parent[below + 1] = moved
                node = place
            node = parent[node]
            if not node:
                return

    def _halve(self) -> None:
        """Halve the frequencies of the leaves, and make the tree of them again."""
        leaves = [(self.weight[node] + 1 >> 1, child) for node, child in enumerate(self.child) if child >= _NODES]
        weight, children = [one for one, _ in leaves], [child for _, child in leaves]
        for first in range(0, 2 * (_NODES - _LEAVES), 2):
            total, place = weight[first] + weight[first + 1], len(weight)
            while total < weight[place - 1]:
                place -= 1
            weight.insert(place, total)
            children.insert(place, first)
        self.weight, self.child = [*weight, 0xFFFF], children
        self._link()


def decoded(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield what a stream says: a byte and 0, or the distance of a copy and its length; ends with the stream."""
    tree, value = _Tree(), int.from_bytes(data, "big")
    bits, at = f"{value:0{8 * len(data)}b}" if data else "", 0
    while True:
        node = tree.child[_ROOT]
        try:
            while node < _NODES:
                node = tree.child[node + (bits[at] == "1")]
                at += 1
        except IndexError:
            return
        symbol = node - _NODES
        tree.count(symbol)
        if symbol < 256:
            yield symbol, 0
            continue
        if at + 8 > len(bits):
            return
        upper = _PLACES[int(bits[at : at + 8], 2)]
        end = at + _PLACE_LENGTHS[upper] + 6
        if end > len(bits):
            return
        yield (upper << 6 | int(bits[end - 6 : end], 2)) + 1, symbol - 256 + LEAST_COPIED
        at = end


def encoded(steps: Iterable[tuple[int, int]]) -> bytes:
    """Return the stream of what :func:`decoded` yields: bytes, and distances (1 to 4,096) with lengths (3 to 60)."""
    tree, out = _Tree(), list[str]()
    for value, length in steps:
        symbol = 256 - LEAST_COPIED + length if length else value
        node, code = tree.parent[_NODES + symbol], ""
        while node != _ROOT:
            above = tree.parent[node]
            code = "01"[node != tree.child[above]] + code
            node = above
        tree.count(symbol)
        out.append(code)
        if length:
            upper, lower = divmod(value - 1, 64)
            out.append(f"{_PLACE_CODES[upper]:0{_PLACE_LENGTHS[upper]}b}{lower:06b}")
    bits = "".join(out)
    count = -(-len(bits) // 8)
    return int(bits.ljust(8 * count, "0") or "0", 2).to_bytes(count, "big")


_rule = Rules("RsLi", "docs/reference/rsli.md")

#: What messages call the table.
ENTRIES = "RsLi table"
#: The bits of an entry's flags that say how it is packed.
METHOD_MASK = 0x1E0
STORED, XOR, LZSS, XOR_LZSS, HUFFMAN, XOR_HUFFMAN, DEFLATE = (0x000, 0x020, 0x040, 0x060, 0x080, 0x0A0, 0x100)
METHODS = {
    STORED: "stored",
    XOR: "XOR",
    LZSS: "LZSS",
    XOR_LZSS: "XOR, LZSS",
    HUFFMAN: "LZSS with adaptive Huffman codes",
    XOR_HUFFMAN: "XOR, LZSS with adaptive Huffman codes",
    DEFLATE: "Deflate",
}
_KNOWN = "stored, XOR, LZSS, Huffman or Deflate"
#: The largest entry that is unpacked, bytes.
MOST_UNPACKED = 1 << 24

RSLI_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V4"),  # +0  "NL", 0, version 1
        ("entry_count", "<i2"),  # +4
        ("opaque6", "u1", (8,)),  # +6
        ("presorted", "<u2"),  # +14 0xABBA: the sort words are set
        ("opaque16", "<u4"),  # +16
        ("seed", "<u4"),  # +20 the low half starts the cipher
        ("opaque24", "u1", (8,)),  # +24
    ]
)
assert RSLI_HEADER_DTYPE.itemsize == 32

RSLI_ENTRY_DTYPE = np.dtype(
    [
        ("name", "u1", (12,)),  # +0  NUL-padded, upper case
        ("opaque12", "<u4"),  # +12
        ("flags", "<u2"),  # +16 METHOD_MASK: how it is packed
        ("sort_index", "<i2"),  # +18 sorted position -> row
        ("unpacked_size", "<u4"),  # +20
        ("data_offset", "<u4"),  # +24 to which the trailer's number is added
        ("packed_size", "<u4"),  # +28
    ]
)
assert RSLI_ENTRY_DTYPE.itemsize == 32

RSLI_HEADER_RULE = _rule(
    "rsli-header", "error", "A library has a header of 32 bytes and so many rows of 32 as it says."
)(why="Without its table nothing in it can be found.", fix="Take the file from the game again.")
RSLI_ENTRY = _rule(
    "rsli-entry",
    "error",
    "An entry lies inside the file and unpacks to the size that it states.",
    "#entries",
    drops="the entry",
)(why="Its content is damaged.", fix="Take the file from the game again.")
RSLI_METHOD = _rule(
    "rsli-method",
    "note",
    "An entry is stored, enciphered (XOR), or packed with LZSS, Huffman codes or Deflate.",
    "#entries",
)(why="It is listed, and cannot be unpacked here.", fix="Nothing to do.")


@dataclass(frozen=True)
class RsliLibrary:
    """An RsLi file.

    Attributes:
        header: one ``RSLI_HEADER_DTYPE``.
        rows: ``RSLI_ENTRY_DTYPE``, (n,), deciphered.
        overlay: is added to each entry's offset; 0 without a trailer.
    """

    label: str
    header: np.void
    rows: Records
    overlay: int
    data: memoryview

    def name(self, row: int) -> str:
        """Return the name of an entry."""
        return field_text(self.rows["name"][row])

    def method(self, row: int) -> int:
        """Return how an entry is packed, a key of ``METHODS`` where it is known."""
        return int(self.rows["flags"][row]) & METHOD_MASK

    def method_name(self, row: int) -> str:
        """Return the name of an entry's method."""
        method = self.method(row)
        return METHODS.get(method, f"unknown method {method:#05x}")

    def find(self, name: str) -> int | None:
        """Return the row of a name, case ignored, or of a number; ``None``: there is none."""
        wanted = fold_upper(encode_name(name))
        for row, raw in enumerate(self.rows["name"]):
            if fold_upper(raw.tobytes().partition(b"\0")[0]) == wanted:
                return row
        number = int(name) if name.isascii() and name.isdecimal() and len(name) < 6 else -1
        return number if 0 <= number < len(self.rows) else None


_HEADER, _ROW = RSLI_HEADER_DTYPE.itemsize, RSLI_ENTRY_DTYPE.itemsize
#: The window of LZSS: its size, where it starts, and what fills it.
_WINDOW, _START, _FILL = 4096, 0xFEE, 0x20
#: No byte of a content takes more bytes with Huffman codes.
_LONGEST_CODE = 8


def read_rsli(data: memoryview | bytes, label: str) -> RsliLibrary:
    """The table of a library; entries are unpacked by :func:`unpack`.

    Raises ConversionError: not such a library, or its table is cut off.
    """
    view = memoryview(data)
    refuse = partial(ConversionError, file=label, code=RSLI_HEADER_RULE.code)
    if not is_rsli(view) or len(view) < _HEADER:
        expected = f"{_HEADER} bytes that start with NL, 0, 1"
        raise refuse("is not an RsLi library", value=plural(len(view), "byte"), expected=expected)
    header = np.frombuffer(view[:_HEADER], RSLI_HEADER_DTYPE)[0]
    count, most = int(header["entry_count"]), (len(view) - _HEADER) // _ROW
    if not 0 <= count <= most:
        raise refuse("table is cut off", table=ENTRIES, offset=4, value=count, expected=f"0..{most}")
    table = decipher(view[_HEADER : _HEADER + count * _ROW], int(header["seed"]))
    trailer = bytes(view[-6:])
    overlay = int.from_bytes(trailer[2:], "little") if trailer[:2] == b"AO" else 0
    return RsliLibrary(label, header, np.frombuffer(table, RSLI_ENTRY_DTYPE), overlay, view)


def decipher(data: memoryview | bytes, seed: int) -> bytes:
    """Return bytes deciphered, or enciphered: the cipher is its own reverse; ``seed``: the low 16 bits count."""
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

    Raises ConversionError: a method that is unknown or not supported, an entry past the end of the file, larger than
    ``MOST_UNPACKED`` or of another size than it states.
    """
    entry, method = library.rows[row], library.method(row)
    size, packed_size = int(entry["unpacked_size"]), int(entry["packed_size"])
    if method not in METHODS:
        raise _error(library, row, "entry cannot be unpacked", library.method_name(row), _KNOWN, RSLI_METHOD.code)
    start = int(entry["data_offset"]) + library.overlay
    end = start + packed_size
    if method == DEFLATE and end == len(library.data) + 1:
        end -= 1  # one entry of the game's sprites.lib states a byte too much
    if end > len(library.data):
        raise _error(library, row, "entry lies outside the file", f"{start}..{end}", f"up to {len(library.data)}")
    if size > MOST_UNPACKED:
        raise _error(library, row, "entry is too large", plural(size, "byte"), MOST_UNPACKED)
    data = library.data[start:end]
    if method & XOR:
        data = memoryview(decipher(data, int(library.header["seed"])))
    if method in (LZSS, XOR_LZSS):
        content = _lzss(bytes(data), size)
    elif method in (HUFFMAN, XOR_HUFFMAN):
        content = _lzhuf(bytes(data[: _LONGEST_CODE * size]), size)
    elif method == DEFLATE:
        content, _ = inflate(data, size + 1, raw=True)
    else:
        assert method in (STORED, XOR)
        content = bytes(data[:size])
    if len(content) != size:
        raise _error(library, row, "entry unpacks to another size", len(content), size)
    return content


def with_contents(library: RsliLibrary, contents: Mapping[int, bytes]) -> bytes:
    """Return a library with other contents in some entries, by row, packed as the old ones were.

    An entry stays in its place where the new one is not longer; else it goes to the end, before the trailer. Raises
    ConversionError: a method that cannot be written, or a content that is too large.
    """
    data, rows = bytearray(library.data), library.rows.copy()
    trailer = bytes(data[-6:]) if library.overlay or data[-6:-4] == b"AO" else b""
    del data[len(data) - len(trailer) :]
    for row, content in contents.items():
        packed, entry = _packed(library, row, content), rows[row]
        start = int(entry["data_offset"]) + library.overlay
        if len(packed) > int(entry["packed_size"]) or start + len(packed) > len(data):
            start = len(data)
            data += bytes(len(packed))
        data[start : start + len(packed)] = packed
        sizes = {"unpacked_size": len(content), "data_offset": start - library.overlay, "packed_size": len(packed)}
        for name, value in sizes.items():
            rows[name][row] = value
    data[_HEADER : _HEADER + rows.nbytes] = decipher(rows.tobytes(), int(library.header["seed"]))
    return bytes(data) + trailer


def _packed(library: RsliLibrary, row: int, content: bytes) -> bytes:
    """A content as the method of an entry stores it."""
    method = library.method(row)
    if method not in METHODS or len(content) > MOST_UNPACKED:
        problem = "entry is too large" if len(content) > MOST_UNPACKED else "entry cannot be packed"
        raise _error(library, row, problem, library.method_name(row), _KNOWN, RSLI_METHOD.code)
    if method == DEFLATE:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        return deflate.compress(content) + deflate.flush()
    packed = content
    if method in (LZSS, XOR_LZSS):
        packed = _to_lzss(content)
    elif method in (HUFFMAN, XOR_HUFFMAN):
        packed = encoded(
            (content[at] if not length else at - before, length) for at, before, length in _steps(content, MOST_COPIED)
        )
    return decipher(packed, int(library.header["seed"])) if method & XOR else packed


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


def _lzhuf(data: bytes, size: int) -> bytes:
    """The same with adaptive Huffman codes; places are distances here."""
    out = bytearray([_FILL]) * _WINDOW
    for value, length in decoded(data):
        if len(out) >= size + _WINDOW:
            break
        if length:
            start = len(out) - value
            first = out[start : start + length]
            out += (first * (length // len(first) + 1))[:length]
        else:
            out.append(value)
    return bytes(out[_WINDOW : size + _WINDOW])


def _steps(data: bytes, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield place, place of the copied bytes and their number, 0 for a byte; each takes the last place with three."""
    met, at = dict[bytes, int](), 0
    while at < len(data):
        before, length = met.get(data[at : at + 3], -1), 0
        if before >= 0 and at - before < _WINDOW:
            end = min(most, len(data) - at)
            length = next((n for n in range(3, end) if data[before + n] != data[at + n]), end)
        if length < LEAST_COPIED:
            length = 0
        yield at, before, length
        for step in range(at, at + (length or 1)):
            met[data[step : step + 3]] = step
        at += length or 1


def _to_lzss(data: bytes) -> bytes:
    """The reverse of :func:`_lzss`."""
    out, steps = bytearray(), list(_steps(data, 18))
    for start in range(0, len(steps), 8):
        flags, items = 0, bytearray()
        for bit, (at, before, length) in enumerate(steps[start : start + 8]):
            if length:
                source = (_START + before) % _WINDOW
                items += bytes((source & 0xFF, (source >> 4) & 0xF0 | length - 3))
            else:
                flags |= 1 << bit
                items.append(data[at])
        out.append(flags)
        out += items
    return bytes(out)
