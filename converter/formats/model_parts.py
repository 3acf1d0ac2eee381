"""``.bas`` and ``.ndp`` as data: small files of a model's name that point into the model.

A ``.bas`` holds two rings around a building, its outline and what is kept clear around it; a
``.ndp`` a record for each node (docs/reference/model_parts.md). Reading is
``importers.model_parts``, writing ``exporters.model_parts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..findings import Finding, Rule
from ..numeric.arrays import Records

_rule = partial(Rule, "footings, node properties", source="docs/reference/model_parts.md")

#: Endings of the files.
FOOTING_ENDING, NODE_PROPERTIES_ENDING = ".bas", ".ndp"
#: What messages call them.
FOOTING, NODE_PROPERTIES = "BAS", "NDP"

NODE_PROPERTIES_DTYPE = np.dtype(
    [
        ("flags", "<u4"),  # +0
        ("hit_points", "<f4"),  # +4
        ("density", "<f4"),  # +8
        ("archive", "u1", (32,)),  # +12 of the explosion
        ("explosion", "u1", (32,)),  # +44
    ]
)
assert NODE_PROPERTIES_DTYPE.itemsize == 76

FOOTING_SIZE = _rule(
    "footing-size",
    "warning",
    "A .bas is two closed rings, the first with places on the model.",
    why="The game reads past the file.",
    fix="Take the file from the game again.",
)
NODE_PROPERTIES_SIZE = _rule(
    "ndp-size",
    "warning",
    "A .ndp is its count and a record of 76 bytes for each.",
    why="The game reads past the file.",
    fix="Take the file from the game again.",
)
NODE_PROPERTIES_COUNT = _rule(
    "ndp-count",
    "warning",
    "A .ndp has a record for each node of the model.",
    why="Nodes without one have no hit points, or those of another node.",
    fix="Add the missing records.",
)


@dataclass(frozen=True)
class Footing:
    """The rings of a ``.bas``.

    Attributes:
        words: the word before each ring, 1 in the game's files. (2,)
        inner: the outline, (n + 1, 3) float32, the last point is the first again.
        triangles, corners: (n,) int32: where on the model each point was taken.
        outer: the clearance, (m + 1, 3) float32, closed too.
    """

    words: tuple[int, int]
    inner: NDArray[np.float32]
    triangles: NDArray[np.int32]
    corners: NDArray[np.int32]
    outer: NDArray[np.float32]


def other_count(records: Records, nodes: int) -> Finding:
    """Return the finding about a ``.ndp`` of another number of nodes than its model."""
    return Finding(
        NODE_PROPERTIES_COUNT,
        "records are not as many as the model's nodes",
        NODE_PROPERTIES,
        value=len(records),
        expected=nodes,
    )
