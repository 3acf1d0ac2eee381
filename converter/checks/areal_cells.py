"""The links between areals, and the cells that list them.

Whether a cell lists every areal that overlaps it is not checked: which areals the game's own tools
list is not established.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad, more
from ..formats.areal_map import CELL_LIMIT, CELLS, LINKS, ArealMap, link_targets
from ..formats.tables import AREAL_DTYPE, AREAL_LINK_DTYPE, AREAL_VERTEX_DTYPE
from ..numeric.arrays import Bools
from .places import at_offsets, record_offsets

_rule = partial(Rule, "areal map", source="docs/reference/areal_map.md#one-areal")

AREAL_LINK = _rule(
    "areal-link", "error", "A link is -1/-1, or an edge of an areal.",
    why="Ways would be searched past the areals.", fix="Set it to -1/-1.",
    drops="the link: the edge has no neighbour",
)  # fmt: skip
AREAL_LINK_MUTUAL = _rule(
    "areal-link-mutual", "warning", "A link leads to an edge that links back.",
    why="One can go there and not come back.", fix="Link both edges to one another.",
)  # fmt: skip


def check_links(areals: ArealMap) -> Iterator[Finding]:
    """Yield links to edges that do not exist, or do not link back."""
    links, target = areals.links, link_targets(areals)
    none = (links["areal"] == -1) & (links["edge"] == -1)
    yield from _about_links(
        areals, AREAL_LINK, (target < 0) & ~none, "links to an edge that does not exist",
        "(-1, -1) or an areal's edge",
    )  # fmt: skip
    one_way = (target >= 0) & (target[target] != np.arange(len(links)))
    problem = "links to an edge that does not link back"
    yield from _about_links(areals, AREAL_LINK_MUTUAL, one_way, problem, "both")


def _about_links(
    areals: ArealMap, rule: Rule, bad: Bools, problem: str, expected: str
) -> Iterator[Finding]:
    if not bad.any():
        return
    edge = np.arange(len(areals.links)) - areals.vertex_start[areals.owner]
    # the links of an areal lie after all of its vertices
    begin = (
        record_offsets(areals)
        + AREAL_DTYPE.itemsize
        + AREAL_VERTEX_DTYPE.itemsize * np.diff(areals.vertex_start)
    )
    place = at_offsets(LINKS, begin[areals.owner] + AREAL_LINK_DTYPE.itemsize * edge)
    row = int(np.argmax(bad))
    problem = f"edge {edge[row]} of areal {areals.owner[row]} {problem}"
    yield from first_bad(rule, bad, problem, place, areals.links, expected)


def check_cells(areals: ArealMap) -> Iterator[Finding]:
    """Yield cells that list too many areals, or some that do not exist."""
    start = areals.entry.data_offset + int(areals.record_offsets[-1]) + 8
    yield from _full(areals, start)
    yield from _ids(areals, start)


AREAL_CELL_FULL = _rule(
    "areal-cell-full", "error", "A cell lists at most 1,023 areals.",
    source="docs/reference/areal_map.md#cells", why="The runtime counts them with 10 bits.",
    fix="Use fewer, larger areals there.", drops="the cell's list",
)  # fmt: skip


def _full(areals: ArealMap, start: int) -> Iterator[Finding]:
    counts = np.diff(areals.cell_start)
    at = start + 2 * (np.arange(len(counts)) + areals.cell_start[:-1])
    yield from first_bad(
        AREAL_CELL_FULL, counts > CELL_LIMIT,
        "cell lists more areals than the runtime's word can count", at_offsets(CELLS, at), counts,
        f"at most {CELL_LIMIT}",
    )  # fmt: skip


AREAL_CELL_ID = _rule(
    "areal-cell-id", "error", "A cell lists areals that exist.",
    source="docs/reference/areal_map.md#cells", why="The game would read past the areals.",
    fix="Remove the id.", drops="the id",
)  # fmt: skip


def _ids(areals: ArealMap, start: int) -> Iterator[Finding]:
    bad = np.flatnonzero(areals.cell_ids >= len(areals.records))
    if bad.size:
        cells = np.searchsorted(areals.cell_start, bad, "right") - 1
        first, row = int(bad[0]), int(cells[0])
        yield Finding(
            AREAL_CELL_ID, more("cell lists an areal that does not exist", bad.size, "ids"),
            table=CELLS, row=row, offset=start + 2 * (row + 1 + first),
            value=int(areals.cell_ids[first]), expected=f"below {len(areals.records)}",
            rows=np.unique(cells), count=bad.size,
        )  # fmt: skip
