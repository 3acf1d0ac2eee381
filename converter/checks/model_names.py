"""What the nodes of a core model are called, and the paths inside it: Res10, Res9, Res17."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import plural
from ..findings import Bad, Finding
from ..formats.model import GRAPH_LINK_DTYPE, GRAPH_POINT_DTYPE, TABLES, MshModel, PathGraph, StreamType, StringTable
from ..formats.nres import Entry
from ..formats.tables import NAME_DTYPE
from ..numeric.arrays import Ints, field_offset
from ..scene.scene import MAX_COORDINATE, in_range
from .rules import Rules, why

_STRINGS, _NAMES, _GRAPH = (TABLES[k].label for k in (StreamType.STRINGS, StreamType.NAMES, StreamType.GRAPH))


# ------------------------------------------------------------------ names

rule = Rules("core model", "docs/reference/model.md#res10-strings")


def check_strings(model: MshModel) -> Iterator[Finding]:
    """Yield strings that are missing, and bytes after the last one."""
    if model.strings is not None:
        if len(model.strings.records) < len(model.nodes):
            yield from string_run(model, model.strings)
        else:
            yield from string_tail(model, model.strings)


@rule("string-run", "error", "Every string of Res10 lies inside the table.", drops="the string and those after it")
@why("The runtime would read past the table.", fix="The table was cut: take it from a backup.")
def string_run(model: MshModel, strings: StringTable) -> Iterator[Bad]:
    records, tail = strings.records, strings.tail
    length = int.from_bytes(tail[:4], "little")
    place = _STRINGS, model.offset_of(StreamType.STRINGS, 0, sum(4 + len(record) for record in records))
    value = f"length {length}" if len(tail) >= 4 else "no length word"
    expected = f"at most {max(0, len(tail) - 5)} bytes of {len(tail)} left"
    concerns = np.arange(len(records), len(model.nodes))
    yield Bad("string runs past the table", place, len(records), value, expected, concerns=concerns)


@rule("string-nul", "warning", "A string of Res10 ends with a NUL.")
@why("The runtime would read on into the next record.", fix="Convert to glTF, rename the node and convert back.")
def string_nul(model: MshModel) -> Iterator[Bad]:
    if model.strings is None:
        return
    records = model.strings.records
    start = model.offset_of(StreamType.STRINGS) or 0
    offsets = start + 4 + np.cumsum([0, *(4 + len(record) for record in records)])
    bad = np.array([bool(record) and record[-1] != 0 for record in records], np.bool_)
    yield Bad("string has no NUL at its end", (_STRINGS, offsets), bad, lambda row: f"{records[row][-1]:#04x}", "0")


@rule("string-tail", "warning", "Res10 holds one record per node and nothing after them.")
@why("The rest is never read; perhaps nodes are missing.", fix="Nothing to do; it is kept.")
def string_tail(model: MshModel, strings: StringTable) -> Iterator[Bad]:
    if strings.tail:
        problem, value = "bytes after the last string are kept", plural(len(strings.tail), "byte")
        yield Bad(problem, _STRINGS, None, value, "none")


def check_names(model: MshModel) -> Iterator[Finding]:
    """Yield a table of names that cannot be read, or does not fit the nodes."""
    entry = model.archive.first_of_type(StreamType.NAMES)
    if entry is not None and model.names is None:
        yield from name_stride(model, entry)
    elif entry is not None:
        yield from name_count(model, entry)
        yield from name_nul(model)


@rule("name-stride", "warning", "Res9 holds names of 32 bytes.", "#res9-names")
@why("The names cannot be read; the table is kept.", fix="Take it from a backup.")
def name_stride(model: MshModel, entry: Entry) -> Iterator[Bad]:
    value, expected = plural(entry.size, "byte"), f"a multiple of {NAME_DTYPE.itemsize}"
    yield Bad("names cannot be read", (_NAMES, entry.data_offset), None, value, expected)


@rule("name-count", "warning", "Res9 holds one name per node.", "#res9-names")
@why("Names belong to the wrong nodes, or nodes have none.", fix="Convert to glTF and back without the sidecar.")
def name_count(model: MshModel, entry: Entry) -> Iterator[Bad]:
    count, nodes = 0 if model.names is None else len(model.names), len(model.nodes)
    if count != nodes and not model.legacy:
        yield Bad("not one name per node", (_NAMES, entry.data_offset), None, count, nodes)


@rule("name-nul", "warning", "A name of Res9 ends with a NUL inside its 32 bytes.", "#res9-names")
@why("It would run into the next one.", fix="Give the node a name of at most 31 bytes.")
def name_nul(model: MshModel) -> Iterator[Bad]:
    if model.names is not None:
        full = (model.names["name"] != 0).all(axis=1)
        yield Bad("name has no NUL", StreamType.NAMES, full, None, "at most 31 bytes")


# ------------------------------------------------------------------ graph

rule = Rules("core model", "docs/reference/model.md#res17-paths-inside")


_POINT, _LINK = GRAPH_POINT_DTYPE.itemsize, GRAPH_LINK_DTYPE.itemsize


def check_graph(model: MshModel) -> Iterator[Finding]:
    """Yield the findings about the path graph, where the model has one."""
    entry, graph, nodes = model.archive.first_of_type(StreamType.GRAPH), model.graph, len(model.nodes)
    if entry is None:
        return
    if graph is None:
        yield from graph_size(model, entry)
        return
    points = entry.data_offset + _POINT * np.arange(len(graph.points))
    links = entry.data_offset + _POINT * len(points) + _LINK * np.arange(len(graph.links))
    yield from graph_finite(graph, points)
    yield from graph_node(graph, points, nodes)
    yield from graph_tail(graph, links, nodes)
    yield from graph_link(graph, links)


@rule("graph-size", "warning", "Res17 has attr1 points of 20 bytes and attr2 links of 40 bytes.")
@why("The path graph cannot be read; the table is kept.", fix="Take it from a backup.")
def graph_size(model: MshModel, entry: Entry) -> Iterator[Bad]:
    problem = "path graph does not have attr1 points and attr2 links"
    expected = f"{_POINT} * {entry.attr1} + {_LINK} * {entry.attr2}"
    yield Bad(problem, (_GRAPH, entry.data_offset), None, plural(entry.size, "byte"), expected)


@rule("graph-finite", "warning", "Points of the path graph are finite, and at most 1e12.")
@why("No path can lead there.", fix="Take it from a backup.")
def graph_finite(graph: PathGraph, offsets: Ints) -> Iterator[Bad]:
    position, expected = graph.points["position"], f"at most {MAX_COORDINATE:g}"
    yield Bad("point is not finite, or too large", (_GRAPH, offsets), ~in_range(position), position, expected)


@rule("graph-node", "warning", "A point of the path graph names a node.")
@why("Its frame is unknown.", fix="Take it from a backup.")
def graph_node(graph: PathGraph, offsets: Ints, nodes: int) -> Iterator[Bad]:
    node, place = graph.points["node"], (_GRAPH, offsets + field_offset(GRAPH_POINT_DTYPE, "node"))
    yield Bad("point is on a node that does not exist", place, node >= nodes, node, f"below {nodes}")


@rule("graph-link", "warning", "A link of the path graph joins two of its points.")
@why("The game would read past the points.", fix="Take it from a backup.")
def graph_link(graph: PathGraph, offsets: Ints) -> Iterator[Bad]:
    ends, points = np.stack([graph.links["start"], graph.links["end"]], axis=1), len(graph.points)
    bad = (ends >= points).any(axis=1)
    yield Bad("link ends at a point that does not exist", (_GRAPH, offsets), bad, ends, f"below {points}")


@rule("graph-tail", "note", "The last eight words of a link are 0xFFFFFFFF or below the node count.")
@why("Their meaning is not known; node numbers would fit. They are kept.", fix="Nothing to do.")
def graph_tail(graph: PathGraph, offsets: Ints, nodes: int) -> Iterator[Bad]:
    tail, place = graph.links["opaque8"], (_GRAPH, offsets + field_offset(GRAPH_LINK_DTYPE, "opaque8"))
    bad = ((tail >= nodes) & (tail != 0xFFFFFFFF)).any(axis=1)
    yield Bad("last words of the link are unusual", place, bad, tail, f"4294967295, or below {nodes}")
