"""The batches and triangles of a core model: ranges, windows, materials, links, normals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import Bad, Finding
from ..formats.model import BATCH_LIGHTMAP, BATCH_PORTAL, NO_LIGHTMAP, TABLES, MshModel, StreamType, largest_indices
from ..numeric.arrays import NONE16, Bools, Floats, Ints, Records, beyond, cross_products, largest_known, ranges
from ..numeric.surfaces import NO_EDGE
from ..scene.dialect import BatchMaterials, Dialect, batch_materials
from .rules import Rules, why

_BATCHES, _TRIANGLES = StreamType.BATCHES, StreamType.TRIANGLES
#: How far a packed normal's length may be from 1, and the least cosine to the real one.
_LENGTH, _ALONG = 1e-2, 0.99


# ------------------------------------------------------------------ batches

rule = Rules("core model", "docs/reference/model.md#res13-batches")


def check_batches(model: MshModel) -> Iterator[Finding]:
    """Yield batches whose ranges leave their tables."""
    findings = [*batch_indices(model)]
    yield from findings
    if not findings:
        yield from batch_vertices(model)
        yield from batch_triangles(model)


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
        model: a valid model.
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


# ------------------------------------------------------------------ triangles

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
    batches = model.batches
    whole = (batches["index_count"] % 3 == 0) & (batches["index_start"] % 3 == 0)
    start, length = (batches[k][whole].astype(np.int64) for k in ("index_start", "index_count"))
    at = ranges(start, length)
    base = np.repeat(batches["base_vertex"][whole].astype(np.int64), length)
    vertex = (model.indices[at] + base).reshape(-1, 3)
    if not len(vertex):
        return
    points = model.positions[vertex].astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        side = cross_products(points)
        size = np.linalg.norm(side, axis=1)
        real = size > 1e-6 * np.square(np.abs(points - points[:, :1]).max(axis=(1, 2)))
        side = side / size[:, None]
    if model.triangles is not None and len(model.triangles):
        yield from triangle_normal(model, model.triangles, at[::3] // 3, side, real)
    if model.normals is not None and real.any():
        mean = model.normals[vertex, :3].astype(np.float64).sum(axis=1)
        yield from triangle_winding(model, (mean * side).sum(axis=1)[real] < 0)


@rule("triangle-normal", "note", "Descriptor normals point along the winding.")
@why(
    "The hit test uses the stored normal (8 of the game's triangles differ).",
    fix="Convert to glTF, touch the part and convert back.",
)
def triangle_normal(model: MshModel, triangles: Records, row: Ints, side: Floats, real: Bools) -> Iterator[Bad]:
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
