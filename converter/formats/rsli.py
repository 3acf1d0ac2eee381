"""RsLi libraries (``gamefont.rlb``, ``sprites.lib``) as data: the game's other container.

The table of entries is enciphered, the entries are packed in one of several ways
(docs/reference/rsli.md). Reading bytes is ``importers.rsli``; they are not written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..findings import Rule
from ..numeric.arrays import Records
from .archive import decode_text, encode_name, fold_upper

_rule = partial(Rule, "RsLi", source="docs/reference/rsli.md")

#: What a library starts with; the last byte is its version.
RSLI_MAGIC = b"NL\0\1"
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
#: Those that are not unpacked here.
NOT_UNPACKED = (HUFFMAN, XOR_HUFFMAN)
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
    "rsli-header",
    "error",
    "A library has a header of 32 bytes and so many rows of 32 as it says.",
    why="Without its table nothing in it can be found.",
    fix="Take the file from the game again.",
)
RSLI_ENTRY = _rule(
    "rsli-entry",
    "error",
    "An entry lies inside the file and unpacks to the size that it states.",
    source="docs/reference/rsli.md#entries",
    why="Its content is damaged.",
    fix="Take the file from the game again.",
    drops="the entry",
)
RSLI_METHOD = _rule(
    "rsli-method",
    "note",
    "An entry is stored, enciphered (XOR), packed with LZSS, or with Deflate.",
    source="docs/reference/rsli.md#entries",
    why="It is listed, and cannot be unpacked here.",
    fix="Nothing to do.",
)


@dataclass(frozen=True)
class RsliLibrary:
    """An RsLi file.

    Attributes:
        label: what messages call it.
        header: one ``RSLI_HEADER_DTYPE``.
        rows: ``RSLI_ENTRY_DTYPE``, (n,), deciphered.
        overlay: is added to each entry's offset; 0 without a trailer.
        data: the file.
    """

    label: str
    header: np.void
    rows: Records
    overlay: int
    data: memoryview

    def name(self, row: int) -> str:
        """Return the name of an entry."""
        return decode_text(self.rows["name"][row].tobytes().partition(b"\0")[0])

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
