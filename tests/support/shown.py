"""What a model shows, read off its bytes with ``struct``: a reference of tolerant reading.

Ranges that leave their table are skipped one by one (docs/checks.md); nothing here
shares code with the project.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.corruption.base import NONE, STRIDES, Nres
from tests.support.gltf_view import TO_GAME, GltfView

Cell = tuple[int, int, int]
Corner = tuple[float, ...]
Triangles = list[tuple[Corner, ...]]


def rows(box: Nres, type: int, form: str) -> list[tuple[Any, ...]]:
    """The records of a table; ``form`` names the fields, the rest of a record is skipped."""
    stride, start = STRIDES[type]
    form = f"<{form}"
    pad = stride - struct.calcsize(form)
    data = box.entry(type).data[start:]
    whole = len(data) // stride * stride
    return list(struct.iter_unpack(f"{form}{pad}x", data[:whole]))


def shown(data: bytes, legacy: bool) -> dict[Cell, Triangles]:
    """The triangles of every part that shows any, as corners in the node's frame."""
    box = Nres.read(data)
    points = rows(box, 3, "3f")
    indices = [row[0] for row in rows(box, 6, "H")]
    batches = rows(box, 13, "4HHIHI")

    def of_batch(row: int) -> Triangles:
        count, start, _, base = batches[row][4:]
        if start + count > len(indices):
            return []
        out = []
        for at in range(start, start + count // 3 * 3, 3):
            corners = [index + base for index in indices[at : at + 3]]
            if all(c < len(points) and all(abs(x) <= 1e12 for x in points[c]) for c in corners):
                out.append(tuple(points[c] for c in corners))
        return out

    if legacy:
        every = [triangle for row in range(len(batches)) for triangle in of_batch(row)]
        return {(0, 0, 0): every} if every else {}
    slots = rows(box, 2, "4H")
    out: dict[Cell, Triangles] = {}
    for node, words in enumerate(rows(box, 1, "19H")):
        for cell, slot in enumerate(words[4:]):
            if slot == NONE or slot >= len(slots):
                continue
            _, _, first, count = slots[slot]
            if first + count > len(batches):
                continue
            part = [t for row in range(first, first + count) for t in of_batch(row)]
            if part:
                out[node, cell // 5, cell % 5] = part
    return out


def in_gltf(path: Path) -> dict[Cell, Triangles]:
    """The same of a glTF file."""
    view = GltfView(path)
    out: dict[Cell, Triangles] = {}
    for cell, node in view.scene_parts().items():
        triangles: Triangles = []
        for primitive in view["meshes"][view["nodes"][node]["mesh"]]["primitives"]:
            index = view.array(primitive["indices"]).reshape(-1, 3).astype(int)
            points = view.array(primitive["attributes"]["POSITION"]) @ TO_GAME.T
            triangles += [tuple(tuple(c) for c in t) for t in np.asarray(points[index]).tolist()]
        out[cell] = triangles
    return out
