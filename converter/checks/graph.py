"""The path graph of a core model (Res17)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..errors import plural
from ..findings import Finding, Rule, first_bad
from ..formats.model import GRAPH_LINK_DTYPE, GRAPH_POINT_DTYPE, TABLES, MshModel, PathGraph, StreamType
from ..numeric.arrays import field_offset
from ..scene.scene import MAX_COORDINATE, in_range
from .places import at_offsets

_rule = partial(Rule, "core model", source="docs/reference/model.md#res17-paths-inside")

_TABLE = TABLES[StreamType.GRAPH].label
_POINT, _LINK = GRAPH_POINT_DTYPE.itemsize, GRAPH_LINK_DTYPE.itemsize


GRAPH_SIZE = _rule(
    "graph-size",
    "warning",
    "Res17 has attr1 points of 20 bytes and attr2 links of 40 bytes.",
    why="The path graph cannot be read; the table is kept.",
    fix="Take it from a backup.",
)


def check_graph(model: MshModel) -> Iterator[Finding]:
    """Yield the findings about the path graph, where the model has one."""
    entry = model.archive.first_of_type(StreamType.GRAPH)
    if entry is None:
        return
    if model.graph is None:
        yield Finding(
            GRAPH_SIZE,
            "path graph does not have attr1 points and attr2 links",
            table=_TABLE,
            offset=entry.data_offset,
            value=plural(entry.size, "byte"),
            expected=f"{_POINT} * {entry.attr1} + {_LINK} * {entry.attr2}",
        )
        return
    yield from _points(model.graph, entry.data_offset, len(model.nodes))
    start = entry.data_offset + _POINT * len(model.graph.points)
    yield from _links(model.graph, start, len(model.nodes))


GRAPH_FINITE = _rule(
    "graph-finite",
    "warning",
    "Points of the path graph are finite, and at most 1e12.",
    why="No path can lead there.",
    fix="Take it from a backup.",
)
GRAPH_NODE = _rule(
    "graph-node",
    "warning",
    "A point of the path graph names a node.",
    why="Its frame is unknown.",
    fix="Take it from a backup.",
)


def _points(graph: PathGraph, start: int, nodes: int) -> Iterator[Finding]:
    position, node = graph.points["position"], graph.points["node"]
    offsets = start + _POINT * np.arange(len(node))
    yield from first_bad(
        GRAPH_FINITE,
        ~in_range(position),
        "point is not finite, or too large",
        at_offsets(_TABLE, offsets),
        position,
        f"at most {MAX_COORDINATE:g}",
    )
    place = at_offsets(_TABLE, offsets + field_offset(GRAPH_POINT_DTYPE, "node"))
    problem = "point is on a node that does not exist"
    yield from first_bad(GRAPH_NODE, node >= nodes, problem, place, node, f"below {nodes}")


GRAPH_LINK = _rule(
    "graph-link",
    "warning",
    "A link of the path graph joins two of its points.",
    why="The game would read past the points.",
    fix="Take it from a backup.",
)


GRAPH_TAIL = _rule(
    "graph-tail",
    "note",
    "The last eight words of a link are 0xFFFFFFFF or below the node count.",
    why="Their meaning is not known; node numbers would fit. They are kept.",
    fix="Nothing to do.",
)


def _links(graph: PathGraph, start: int, nodes: int) -> Iterator[Finding]:
    tail = graph.links["opaque8"]
    offsets = start + _LINK * np.arange(len(tail))
    yield from first_bad(
        GRAPH_TAIL,
        ((tail >= nodes) & (tail != 0xFFFFFFFF)).any(axis=1),
        "last words of the link are unusual",
        at_offsets(_TABLE, offsets + field_offset(GRAPH_LINK_DTYPE, "opaque8")),
        tail,
        f"4294967295, or below {nodes}",
    )
    ends = np.stack([graph.links["start"], graph.links["end"]], axis=1)
    points = len(graph.points)
    yield from first_bad(
        GRAPH_LINK,
        (ends >= points).any(axis=1),
        "link ends at a point that does not exist",
        at_offsets(_TABLE, start + _LINK * np.arange(len(ends))),
        ends,
        f"below {points}",
    )
