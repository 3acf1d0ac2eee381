"""The tables of a terrain, read without the project's code."""

import struct

import numpy as np

from tests.second.container import Container


class Tables:
    """A ``Land.msh``, by the second reader's container."""

    def __init__(self, data: bytes) -> None:
        found = Container(data).tables()
        self.tables = {kind: entry.data for kind, entry in found.items()}
        self.attributes = {kind: (entry.attr1, entry.attr2) for kind, entry in found.items()}
        self.positions = np.frombuffer(self.tables[3], "<f4").reshape(-1, 3)
        self.faces = [self.tables[21][i : i + 28] for i in range(0, len(self.tables[21]), 28)]
        self.vertex = [struct.unpack_from("<3H", f, 8) for f in self.faces]
        self.link = [struct.unpack_from("<3H", f, 14) for f in self.faces]
        self.edge = [[f[26] >> k & 3 for k in (0, 2, 4)] for f in self.faces]
        slots = self.tables[2][140:]
        self.slots = [slots[i : i + 68] for i in range(0, len(slots), 68)]
        self.runs = [struct.unpack_from("<2H", s, 0) for s in self.slots]
        self.squares = [words[:2] for words in struct.iter_unpack("<8x2H26x", self.tables[1])]

    def hull(self) -> np.ndarray:
        return np.frombuffer(self.tables[2][:96], "<f4").reshape(8, 3)
