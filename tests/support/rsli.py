"""RsLi libraries as bytes: a cipher and packers that share no code with the project."""

import struct
import zlib
from collections.abc import Sequence
from functools import cache

SEED = 0xAB12733E


def cipher(data: bytes, seed: int = SEED) -> bytes:
    """Byte by byte, as the format's description has it."""
    low, high = seed & 0xFF, seed >> 8 & 0xFF
    out = bytearray()
    for byte in data:
        low = high ^ ((low << 1) % 256)
        out.append(byte ^ low)
        high = low ^ (high >> 1)
    return bytes(out)


@cache
def lzss(data: bytes) -> bytes:
    """Greedy, overlapping copies too; byte i of the data is at place 0xFEE + i of the window."""
    tokens: list[tuple[bool, bytes]] = []
    at = 0
    while at < len(data):
        best, length = 0, 0
        for back in range(1, min(at, 4000) + 1):
            run = 0
            while run < 18 and at + run < len(data) and data[at + run - back] == data[at + run]:
                run += 1
            if run > length:
                best, length = back, run
        if length >= 3:
            place = (0xFEE + at - best) % 4096
            low_high = bytes([place & 0xFF, place >> 4 & 0xF0 | length - 3])
            tokens.append((False, low_high))
            at += length
        else:
            tokens.append((True, data[at : at + 1]))
            at += 1
    out = b""
    for i in range(0, len(tokens), 8):
        group = tokens[i : i + 8]
        out += bytes([sum(literal << bit for bit, (literal, _) in enumerate(group))])
        out += b"".join(raw for _, raw in group)
    return out


class Node:
    """A node of LZHUF's tree, or a leaf; ``sides`` are its children."""

    def __init__(self, *sides: "Node") -> None:
        self.weight, self.sides, self.above = sum(one.weight for one in sides) or 1, [*sides], None
        for one in sides:
            one.above = self


@cache
def lzhuf(data: bytes) -> bytes:
    """Bytes alone, no copies: at most 32,000, so that the tree is never made again."""
    leaves = [Node() for _ in range(314)]
    order = [*leaves]
    for first in range(0, 626, 2):
        order.append(Node(*order[first : first + 2]))
    for place, node in enumerate(order):
        node.place = place
    bits = ""
    for byte in data:
        node, code = leaves[byte], ""
        while node.above:
            code, node = str(node.above.sides.index(node)) + code, node.above
        bits += code
        node = leaves[byte]
        while node:
            node.weight += 1
            at = place = node.place
            while place < 626 and order[place + 1].weight < node.weight:
                place += 1
            other = order[place]
            if other is not node:
                order[at], order[place], node.place, other.place = other, node, place, at
                one, two = node.above, other.above
                i, j = one.sides.index(node), two.sides.index(other)
                one.sides[i], two.sides[j], node.above, other.above = other, node, two, one
            node = node.above
    return bytes(int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def packed(data: bytes, method: int) -> bytes:
    """Data as a method packs it."""
    if method & 0xC0:
        data = lzss(data) if method & 0x40 else lzhuf(data)
    if method == 0x100:
        return deflate(data)
    return cipher(data) if method & 0x20 else data


def library(entries: Sequence[tuple[str, bytes, int]], overlay: int | None = None) -> bytes:
    """A library of (name, content, method); an overlay is taken off the offsets."""
    rows, body = b"", b""
    start = 32 + 32 * len(entries)
    for row, (name, data, method) in enumerate(entries):
        raw = packed(data, method)
        offset = start + len(body) - (overlay or 0)
        fields = (method, row, len(data), offset, len(raw))
        rows += name.encode().ljust(12, b"\0") + struct.pack("<IHh3I", 0, *fields)
        body += raw
    head = b"NL\0\1" + struct.pack("<h8xHII8x", len(entries), 0xABBA, 0, SEED)
    trailer = b"" if overlay is None else b"AO" + struct.pack("<I", overlay)
    return head + cipher(rows) + body + trailer
