"""The tables of a core model: names and paths inside (Res10, Res9, Res17), batches and triangles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import plural
from ..findings import Bad, Finding
from ..formats.model import (
    BATCH_LIGHTMAP,
    BATCH_PORTAL,
    GRAPH_LINK_DTYPE,
    GRAPH_POINT_DTYPE,
    NO_LIGHTMAP,
    TABLES,
    MshModel,
    PathGraph,
    StreamType,
    StringTable,
    drawn_triangles,
    largest_indices,
)
from ..formats.nres import Entry
from ..formats.tables import NAME_DTYPE
from ..numeric.arrays import F64, I64, NONE16, Bools, Records, beyond, cross_products, field_offset, largest_known
from ..numeric.surfaces import NO_EDGE
from ..scene.dialect import BatchMaterials, Dialect, batch_materials
from ..scene.scene import MAX_COORDINATE, in_range
from . import Rules, run, why

_STRINGS, _NAMES, _GRAPH = (TABLES[k].label for k in (StreamType.STRINGS, StreamType.NAMES, StreamType.GRAPH))


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
def graph_finite(graph: PathGraph, offsets: I64) -> Iterator[Bad]:
    position, expected = graph.points["position"], f"at most {MAX_COORDINATE:g}"
    yield Bad("point is not finite, or too large", (_GRAPH, offsets), ~in_range(position), position, expected)


@rule("graph-node", "warning", "A point of the path graph names a node.")
@why("Its frame is unknown.", fix="Take it from a backup.")
def graph_node(graph: PathGraph, offsets: I64, nodes: int) -> Iterator[Bad]:
    node, place = graph.points["node"], (_GRAPH, offsets + field_offset(GRAPH_POINT_DTYPE, "node"))
    yield Bad("point is on a node that does not exist", place, node >= nodes, node, f"below {nodes}")


@rule("graph-link", "warning", "A link of the path graph joins two of its points.")
@why("The game would read past the points.", fix="Take it from a backup.")
def graph_link(graph: PathGraph, offsets: I64) -> Iterator[Bad]:
    ends, points = np.stack([graph.links["start"], graph.links["end"]], axis=1), len(graph.points)
    bad = (ends >= points).any(axis=1)
    yield Bad("link ends at a point that does not exist", (_GRAPH, offsets), bad, ends, f"below {points}")


@rule("graph-tail", "note", "The last eight words of a link are 0xFFFFFFFF or below the node count.")
@why("Their meaning is not known; node numbers would fit. They are kept.", fix="Nothing to do.")
def graph_tail(graph: PathGraph, offsets: I64, nodes: int) -> Iterator[Bad]:
    tail, place = graph.links["opaque8"], (_GRAPH, offsets + field_offset(GRAPH_LINK_DTYPE, "opaque8"))
    bad = ((tail >= nodes) & (tail != 0xFFFFFFFF)).any(axis=1)
    yield Bad("last words of the link are unusual", place, bad, tail, f"4294967295, or below {nodes}")


_BATCHES, _TRIANGLES = StreamType.BATCHES, StreamType.TRIANGLES
#: How far a packed normal's length may be from 1, and the least cosine to the real one.
_LENGTH, _ALONG = 1e-2, 0.99


rule = Rules("core model", "docs/reference/model.md#res13-batches")


def check_batches(model: MshModel) -> Iterator[Finding]:
    """Yield batches whose ranges leave their tables."""
    findings = [*batch_indices(model)]
    yield from findings
    if not findings:
        yield from run(model, batch_vertices, batch_triangles)


@rule("batch-indices", "error", "A batch's indices lie inside Res6.", drops="the batch")
@why("The runtime would read past the indices.", fix="Correct indexStart and indexCount.")
def batch_indices(model: MshModel) -> Iterator[Bad]:
    batches, total = model.batches, len(model.indices)
    end = batches["index_start"].astype(np.int64) + batches["index_count"]
    yield Bad("batch's indices run past the table", (_BATCHES, "index_start"), end > total, end, f"at most {total}")


@rule(
    "batch-vertices",
    "error",
    "A batch's largest vertex lies inside Res3.",
    drops="the triangles that use vertices past the table",
)
@why("The runtime would read past the vertices.", fix="Correct baseVertex, or the indices.")
def batch_vertices(model: MshModel) -> Iterator[Bad]:
    batches, count = model.batches, len(model.positions)
    largest = batches["base_vertex"].astype(np.int64) + largest_indices(model)
    bad = largest >= count
    if np.count_nonzero(bad):
        bad &= batches["index_count"] > 0
    yield Bad("batch uses a vertex past the table", (_BATCHES, "base_vertex"), bad, largest, f"below {count}")


@rule("batch-triangles", "warning", "A batch's index count is a multiple of 3.")
@why("The rest makes no triangle and is not shown.", fix="Correct indexCount.")
def batch_triangles(model: MshModel) -> Iterator[Bad]:
    count = model.batches["index_count"]
    problem = "index count is not a multiple of 3; the rest is not shown"
    yield Bad(problem, (_BATCHES, "index_count"), count % np.uint16(3) != 0, count, "a multiple of 3")


@rule("batch-window", "warning", "Word +14 of a batch is its largest relative index + 1.")
@why(
    "It is the vertex window of the draw call: too small draws garbage.",
    fix="Convert to glTF, touch the part and convert back.",
)
def batch_window(model: MshModel) -> Iterator[Bad]:
    if model.triangles is None or not len(model.triangles):
        return
    window = largest_indices(model) + (model.batches["index_count"] > 0)
    bad = model.batches["window"] != window & 0xFFFF
    yield Bad("window is not the largest index + 1", (_BATCHES, "window"), bad, model.batches["window"], window)


@rule("batch-window-end", "warning", "baseVertex + the window is not past the vertices.")
@why("The draw call would take vertices that are not there.", fix="Convert to glTF, touch the part and convert back.")
def batch_window_end(model: MshModel) -> Iterator[Bad]:
    last = model.batches["base_vertex"].astype(np.int64) + model.batches["window"]
    most = len(model.positions)
    yield Bad("window ends past the vertices", (_BATCHES, "window"), last > most, last, f"at most {most}")


@rule("batch-tile", "warning", "Batches follow one another in Res6 without gap or overlap.")
@why(
    "Descriptor i belongs to index triple 3i: two batches would share it, or none have it.",
    fix="Convert to glTF and back without the sidecar.",
)
def batch_tile(model: MshModel) -> Iterator[Bad]:
    start = model.batches["index_start"].astype(np.int64)
    end, total = start + model.batches["index_count"], len(model.indices)
    wanted = np.concatenate([[0], end[:-1]])
    bad = start != wanted
    yield Bad("batch does not follow the one before", (_BATCHES, "index_start"), bad, start, wanted)
    if not bad.any() and len(end) and end[-1] != total:
        row = int(end[-1])
        yield Bad("batches do not cover the end of the indices", StreamType.INDICES, row, row, total)


def check_materials(
    model: MshModel, materials: Sequence[str], lightmaps: Sequence[str], dialect: Dialect | None
) -> Iterator[Finding]:
    """Yield batches whose materials, lightmaps or rooms do not exist.

    Args:
        materials, lightmaps: names by row of the model's WEAR; no materials: it has none.
        dialect: how to read the batches; ``None``: not known, so nothing is checked.
    """
    if dialect is None:
        return
    retail = dialect is Dialect.RETAIL
    used = batch_materials(model, dialect)
    drawn = model.batches["index_count"] > 0
    if materials:
        yield from model_material(model, used, drawn, len(materials), "word4" if retail else "word2")
    if not retail:
        return
    if materials:
        yield from model_lightmap(model, used, drawn, len(lightmaps))
    yield from batch_flags(model, used, drawn)
    yield from batch_lightmap(model, used, drawn)
    yield from batch_portal(model, used, drawn)
    if materials:
        yield from lightmap_table(model, len(lightmaps))
    yield from lightmap_uv(model)


@rule("batch-portal", "warning", "The word at +6 is a node on portals (flag 0x8) and 0xFFFF elsewhere.")
@why("The game would look into a room that is not there.", fix="Set it to the node of the room beyond.")
def batch_portal(model: MshModel, used: BatchMaterials, drawn: Bools) -> Iterator[Bad]:
    portal = (used.flags & BATCH_PORTAL) != 0
    room, nodes = model.batches["word6"].astype(np.int64), len(model.nodes)
    wrong = np.where(portal, room >= nodes, room != NONE16)
    bad, problem = wrong & drawn & (not model.legacy), "portal leads to a node that does not exist"
    yield Bad(problem, (_BATCHES, "word6"), bad, room, f"below {nodes} on a portal, else {NONE16}")


@rule("batch-lightmap", "warning", "Flag 0x2000 is set exactly where there is a lightmap row.", "#flags-of-a-batch")
@why("The lightmap is not taken, or one that is not there is.", fix="Correct flag or row.")
def batch_lightmap(model: MshModel, used: BatchMaterials, drawn: Bools) -> Iterator[Bad]:
    lit, flagged = used.lightmap != NO_LIGHTMAP, (used.flags & BATCH_LIGHTMAP) != 0
    yield Bad(
        "flag 0x2000 and the lightmap row do not agree", (_BATCHES, "word0"), (lit != flagged) & drawn, used.lightmap
    )


@rule("batch-flags", "note", "The high half of a batch's flags is 0.")
@why("No batch of the game has such a flag; it is kept.", fix="Nothing to do.")
def batch_flags(model: MshModel, used: BatchMaterials, drawn: Bools) -> Iterator[Bad]:
    yield Bad(
        "flags have a high half", (_BATCHES, "word2"), (used.flags >> 16 != 0) & drawn, used.flags, "below 0x10000"
    )


@rule("model-material", "warning", "A batch's material is a row of the model's WEAR.")
@why("The game reads a name past the list.", fix="Add rows to the WEAR, or correct the batch.")
def model_material(model: MshModel, used: BatchMaterials, drawn: Bools, rows: int, field: str) -> Iterator[Bad]:
    yield Bad(
        "material is not a row of the WEAR", (_BATCHES, field), (used.row >= rows) & drawn, used.row, f"below {rows}"
    )


@rule("model-lightmap", "warning", "A batch's lightmap is a row of the WEAR's LIGHTMAPS.")
@why("The game reads a name past the list.", fix="Add rows to the WEAR, or correct the batch.")
def model_lightmap(model: MshModel, used: BatchMaterials, drawn: Bools, rows: int) -> Iterator[Bad]:
    bad = (used.lightmap != NO_LIGHTMAP) & (used.lightmap >= rows) & drawn
    yield Bad("lightmap is not a row of the WEAR", (_BATCHES, "word4"), bad, used.lightmap, f"below {rows}")


@rule(
    "lightmap-uv", "warning", "Lightmap coordinates (Res18) lie inside 0..1.", "#res18-lightmap-coordinates-or-colours"
)
@why("A lightmap does not repeat.", fix="Map the surface into the lightmap.")
def lightmap_uv(model: MshModel) -> Iterator[Bad]:
    if model.vertex_extra is not None:
        words, problem = model.vertex_extra.view("<u2"), "lightmap coordinates lie outside 0..1"
        yield Bad(problem, StreamType.VERTEX_EXTRA, (words > 1024).any(axis=1), words / 1024, "0..1")


@rule(
    "lightmap-table",
    "note",
    "A model has lightmap coordinates (Res18) exactly if its WEAR has LIGHTMAPS.",
    "#res18-lightmap-coordinates-or-colours",
)
@why("Lightmaps are not shown, or their coordinates are missing.", fix="Add the section to the WEAR, or remove it.")
def lightmap_table(model: MshModel, lightmaps: int) -> Iterator[Bad]:
    if (model.vertex_extra is not None) != bool(lightmaps):
        problem, table = "lightmap coordinates and WEAR do not agree", TABLES[StreamType.VERTEX_EXTRA].label
        value = "no table" if model.vertex_extra is None else "a table"
        yield Bad(problem, table, None, value, f"WEAR has {lightmaps} lightmaps")


rule = Rules("core model", "docs/reference/model.md#res7-triangle-descriptors")


def check_descriptors(model: MshModel) -> Iterator[Finding]:
    """Yield descriptors that do not fit the indices, and unusual selectors and normals."""
    if model.triangles is not None:
        yield from triangle_count(model, model.triangles)
        yield from triangle_selector(model, model.triangles)
        yield from triangle_unit(model, model.triangles)


@rule("triangle-count", "warning", "There is one descriptor per index triple.")
@why(
    "Descriptor i belongs to indices 3i..3i+2: hits report the wrong triangle.",
    fix="Convert to glTF and back without the sidecar.",
)
def triangle_count(model: MshModel, triangles: Records) -> Iterator[Bad]:
    if 3 * len(triangles) != len(model.indices):
        yield Bad(
            "not one descriptor per index triple", _TRIANGLES, None, len(triangles), f"{len(model.indices) / 3:g}"
        )


@rule("triangle-link", "error", "A neighbour is a triangle, or 0xFFFF.", drops="the link: the edge has no neighbour")
@why("Collision would read past the descriptors.", fix="Set it to 0xFFFF, or rebuild the part.")
def triangle_link(model: MshModel) -> Iterator[Bad]:
    if model.triangles is None:
        return
    link = model.triangles["link"]
    bad = beyond(link, len(link))
    rows = bad.any(1) if np.count_nonzero(bad) else np.False_
    expected = f"below {len(link)}"
    yield Bad("neighbour is not a triangle", (_TRIANGLES, "link"), rows, lambda row: largest_known(link[row]), expected)


@rule("triangle-mutual", "warning", "A neighbour links back across the edge that the selector names.", "#neighbours")
@why("Walks over the surface go astray.", fix="Convert to glTF, touch the part and convert back.")
def triangle_mutual(model: MshModel) -> Iterator[Bad]:
    if model.triangles is None or not len(model.triangles):
        return
    stored = model.triangles["link"]
    link = stored.astype(np.int64)
    linked = link != NONE16
    selectors = model.triangles["selectors"].astype(np.int64)
    edge = np.stack([selectors >> 2 * k & 3 for k in range(3)], axis=1)
    inside = linked & (link < len(link)) & (edge < 3)
    back = link[np.where(inside, link, 0), np.where(inside, edge, 0)]
    bad = linked & ~(inside & (back == np.arange(len(link))[:, None]))
    problem = "neighbour does not link back across the edge that the selector names"
    yield Bad(problem, (_TRIANGLES, "link"), bad.any(axis=1), lambda row: largest_known(stored[row]), "mutual links")


@rule("triangle-selector", "warning", "An edge selector is 3 exactly where there is no neighbour.", "#neighbours")
@why("Walks over the surface go astray.", fix="Convert to glTF, touch the part and convert back.")
def triangle_selector(model: MshModel, triangles: Records) -> Iterator[Bad]:
    edge = triangles["selectors"][:, None] >> np.array([0, 2, 4]) & 3
    bad = ((triangles["link"] == NONE16) != (edge == NO_EDGE)).any(axis=1)
    problem = "edge selector does not fit its link"
    yield Bad(problem, (_TRIANGLES, "selectors"), bad, edge, "3 exactly where there is no neighbour")


@rule("triangle-unit", "warning", "Descriptor normals are unit vectors.")
@why("The hit test uses the stored normal.", fix="Convert to glTF, touch the part and convert back.")
def triangle_unit(model: MshModel, triangles: Records) -> Iterator[Bad]:
    length = np.sqrt((triangles["normal"].astype(np.float64) ** 2).sum(axis=1)) / 32767
    yield Bad("normal is not of unit length", (_TRIANGLES, "normal"), np.abs(length - 1) > _LENGTH, length, "1")


def check_normals(model: MshModel) -> Iterator[Finding]:
    """Yield descriptor and vertex normals that do not agree with the winding."""
    vertex, rows = drawn_triangles(model)
    if not len(vertex):
        return
    points = model.positions[vertex].astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        side = cross_products(points)
        size = np.linalg.norm(side, axis=1)
        real = size > 1e-6 * np.square(np.abs(points - points[:, :1]).max(axis=(1, 2)))
        side = side / size[:, None]
    if model.triangles is not None and len(model.triangles):
        yield from triangle_normal(model, model.triangles, rows, side, real)
    if model.normals is not None and real.any():
        mean = model.normals[vertex, :3].astype(np.float64).sum(axis=1)
        yield from triangle_winding(model, (mean * side).sum(axis=1)[real] < 0)


@rule("triangle-normal", "note", "Descriptor normals point along the winding.")
@why(
    "The hit test uses the stored normal (8 of the game's triangles differ).",
    fix="Convert to glTF, touch the part and convert back.",
)
def triangle_normal(model: MshModel, triangles: Records, row: I64, side: F64, real: Bools) -> Iterator[Bad]:
    inside = real & (row < len(triangles))
    normal = triangles["normal"][row[inside]].astype(np.float64)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1)[:, None]
    bad = np.zeros(len(triangles), np.bool_)
    bad[row[inside]] = (normal * side[inside]).sum(axis=1) < _ALONG
    yield Bad("normal does not point along the winding", (_TRIANGLES, "normal"), bad, triangles["normal"])


@rule("triangle-winding", "note", "Winding agrees with the vertex normals.", "docs/reference/conventions.md#axes")
@why("The model may be inside out (one of the game's is).", fix="Flip the faces, or the normals.")
def triangle_winding(model: MshModel, against: Bools) -> Iterator[Bad]:
    wrong = int(against.sum())
    if 2 * wrong > len(against):
        problem = "winding does not agree with the vertex normals"
        yield Bad(problem, StreamType.INDICES, None, f"{wrong} of {len(against)} triangles", "few")
