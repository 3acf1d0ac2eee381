"""Adaptive Huffman codes for bytes, lengths and places: the LZHUF of some entries of RsLi libraries.

Haruyasu Yoshizaki's LZHUF, which LHarc calls ``-lh1-``: a code for a byte or for the length of a copy,
whose tree follows what was met, and after a length a place of 12 bits, the upper six with a fixed code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    """Yield what a stream says: a byte and 0, or the distance of a copy and its length; ends with the stream.

    Args:
        data: the packed bytes.
    """
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
    """Return the stream of what :func:`decoded` yields.

    Args:
        steps: a byte and 0, or a distance (1 to 4,096) and a length (3 to 60).
    """
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
