"""Invariants of a core model's directory, nodes, names and header (core page, 5, 7, 8.2;
``evidence`` page, Core models)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..findings import Finding
from ..formats.model import MshModel
from ..formats.tables import (
    BATCH_LIGHTMAP,
    BATCH_PORTAL,
    GRAPH_LINK_DTYPE,
    GRAPH_POINT_DTYPE,
    HEADER_DTYPE,
    NO_LIGHTMAP,
    TABLES,
    StreamType,
)
from ..numeric.arrays import NONE16
from ..numeric.bounds import hull
from ..rebuild.header import bounding_header
from ..scene.dialect import Decision, Dialect, batch_materials, posed_at_rest
from .model_structure import findings_at

#: Tables whose attr2 means something, or of which nothing is known (core page, 8.2).
_OTHER_ATTR2 = {1, 9, 17, 19, 20}
#: Tables whose attr1 is no number of records that the source states.
_OTHER_ATTR1 = {9, 17, 20}
#: How far geometry may stick out of the header's box, as in ``dialect.decide``.
_BOX = 0.05
#: How far sphere and cylinder may be off, over the diagonal of the box.
_ROUND = 1e-3


def check_tables(model: MshModel, decision: Decision) -> list[Finding]:
    """Findings about directory attributes, nodes, names, path graph and header.

    Args:
        model: a sound model.
        decision: its dialect (``dialect.decide``), which the header's bounds depend on.
    """
    return [
        *_attributes(model),
        *_nodes(model),
        *_strings(model),
        *_names(model),
        *_graph(model),
        *_header(model, decision),
    ]


def _attributes(model: MshModel) -> Iterator[Finding]:
    counts = {stream: len(table) for stream, table in model.streams.items()}
    counts[StreamType.STRINGS] = len(model.nodes)
    seen: set[int] = set()
    for row, entry in enumerate(model.archive.entries):
        spec = TABLES.get(entry.type_id)
        if spec is None or entry.type_id in seen:
            continue
        seen.add(entry.type_id)
        place: dict[str, Any] = {"table": "NRes directory", "row": row}
        place["offset"] = model.archive.total_size - 64 * (len(model.archive.entries) - row) + 4
        count = counts.get(entry.type_id)
        if entry.type_id not in _OTHER_ATTR1 and count is not None and entry.attr1 != count:
            problem = f"attr1 of {spec.label} is not its count"
            yield Finding("entry-attr1", problem, **place, value=entry.attr1, expected=count)
        if entry.type_id not in _OTHER_ATTR2 and entry.attr2:
            place["offset"] += 4
            problem = f"attr2 of {spec.label} is not 0"
            yield Finding("entry-attr2", problem, **place, value=entry.attr2, expected=0)


def _nodes(model: MshModel) -> Iterator[Finding]:
    nodes, count = model.nodes, len(model.nodes)
    if not count:
        yield Finding("node-none", "model has no nodes: nothing is shown", TABLES[1].label)
    if model.legacy or not count:
        return

    def found(code: str, bad: Any, problem: str, value: Any, expected: str, field: str) -> Any:
        return findings_at(model, StreamType.NODES, bad, code, problem, value, expected, field)

    parent = nodes["parent"].astype(np.int64)
    late = (parent != NONE16) & (parent >= np.arange(count))
    yield from found("node-order", late, "parent comes later", parent, "an earlier node", "parent")
    filled = (nodes["slot_index"] != NONE16).any(axis=2)
    skipped = (filled[:, 1:] & ~filled[:, :-1]).any(axis=1)
    yield from found(
        "node-stage", skipped, "block of slot indices is filled, the one before is not", None,
        "filled in order", "slot_index",
    )  # fmt: skip
    used = np.zeros(len(model.slots), np.bool_)
    words = nodes["slot_index"].reshape(-1)
    used[words[words != NONE16]] = True
    yield from findings_at(
        model, StreamType.SLOTS, ~used, "slot-unused", "no node uses the slot", None, None
    )


def _strings(model: MshModel) -> Iterator[Finding]:
    if model.strings is None:
        return
    records = model.strings.records
    bad = np.array([bool(record) and record[-1] != 0 for record in records], np.bool_)
    rows = np.flatnonzero(bad)
    if rows.size:
        row = int(rows[0])
        at = sum(4 + len(record) for record in records[:row])
        start = model.offset_of(StreamType.STRINGS) or 0
        table = TABLES[StreamType.STRINGS].label
        yield Finding(
            "string-nul", "string has no NUL at its end", table, row, start + at + 4,
            f"{records[row][-1]:#04x}", "0", rows, rows.size,
        )  # fmt: skip


def _names(model: MshModel) -> Iterator[Finding]:
    entry = model.archive.first_of_type(StreamType.NAMES)
    if entry is None:
        return
    table, offset = TABLES[StreamType.NAMES].label, entry.data_offset
    names = model.names
    if names is None:
        yield Finding(
            "name-stride", "names cannot be read", table, None, offset, f"{entry.size} bytes",
            "a multiple of 32",
        )  # fmt: skip
        return
    if len(names) != len(model.nodes) and not model.legacy:
        yield Finding(
            "name-count", "not one name per node", table, None, offset, len(names),
            len(model.nodes),
        )  # fmt: skip
    full = (names["name"] != 0).all(axis=1)
    yield from findings_at(
        model, StreamType.NAMES, full, "name-nul", "name has no NUL", None, "at most 31 bytes"
    )


def _graph(model: MshModel) -> Iterator[Finding]:
    entry = model.archive.first_of_type(StreamType.GRAPH)
    if entry is None:
        return
    table, start = TABLES[StreamType.GRAPH].label, entry.data_offset
    graph, point, link = model.graph, GRAPH_POINT_DTYPE.itemsize, GRAPH_LINK_DTYPE.itemsize
    if graph is None:
        yield Finding(
            "graph-size", "path graph does not have attr1 points and attr2 links", table, None,
            start, f"{entry.size} bytes", f"{point} * {entry.attr1} + {link} * {entry.attr2}",
        )  # fmt: skip
        return
    ends = np.stack([graph.links["start"], graph.links["end"]], axis=1)
    links_at = start + point * len(graph.points)
    for code, problem, bad, first, stride, value, expected in (
        ("graph-finite", "point is not finite", ~np.isfinite(graph.points["position"]).all(axis=1),
         start, point, graph.points["position"], "finite"),
        ("graph-node", "point names no node", graph.points["node"] >= len(model.nodes),
         start + 16, point, graph.points["node"], f"below {len(model.nodes)}"),
        ("graph-link", "link joins no points", (ends >= len(graph.points)).any(axis=1),
         links_at, link, ends, f"below {len(graph.points)}"),
    ):  # fmt: skip
        rows = np.flatnonzero(bad)
        if rows.size:
            row = int(rows[0])
            yield Finding(
                code, problem, table, row, first + stride * row, value[row].tolist(), expected,
                rows, rows.size,
            )  # fmt: skip


def _header(model: MshModel, decision: Decision) -> Iterator[Finding]:
    table, offset = TABLES[StreamType.SLOTS].label, model.offset_of(StreamType.SLOTS)
    start = None if offset is None else offset - HEADER_DTYPE.itemsize
    header = model.header[0]
    floats = np.frombuffer(model.header.tobytes(), "<f4")
    radii = np.array([header["sphere_radius"], header["cylinder_radius"]])
    if not np.isfinite(floats).all() or (radii < 0).any():
        shown = floats[~np.isfinite(floats)] if not np.isfinite(floats).all() else radii
        yield Finding(
            "header-finite", "header holds no bounds", table, None, start, shown[0], "finite"
        )
        return
    corners = header["hull"]
    if not np.array_equal(corners, hull(corners.min(axis=0), corners.max(axis=0))):
        yield Finding(
            "header-corners", "header's corners are not a box in the usual order", table, None,
            start, corners[0].tolist(), corners.min(axis=0).tolist(),
        )  # fmt: skip
    yield from _round_bounds(model, decision.dialect, table, start)
    errors = decision.box_error
    if errors and min(errors.values()) > _BOX:
        yield Finding(
            "header-box", "header's box does not fit the geometry at rest", table, None, start,
            f"off by {min(errors.values()):.2g} of its diagonal", f"at most {_BOX}",
        )  # fmt: skip


def _round_bounds(
    model: MshModel, dialect: Dialect, table: str, start: int | None
) -> Iterator[Finding]:
    """The header's sphere and cylinder, which must be finite."""
    header = model.header[0]
    low, high = header["hull"].min(axis=0), header["hull"].max(axis=0)
    room = _ROUND * (1e-3 + float(np.linalg.norm(high - low)))
    points = posed_at_rest(model).get(dialect)
    if points is not None:
        center, radius = header["sphere_center"].astype(np.float64), float(header["sphere_radius"])
        reach = float(np.linalg.norm(points - center, axis=1).max())
        if not reach <= radius + room:
            yield Finding(
                "header-sphere", "header's sphere does not contain the geometry at rest", table,
                None, None if start is None else start + 96, radius, f"{reach:g}",
            )  # fmt: skip
    wanted = bounding_header(header["hull"].astype(np.float64))[0]
    for field in ("cylinder_a", "cylinder_b", "cylinder_radius"):
        if not (np.abs(header[field].astype(np.float64) - wanted[field]) <= room).all():
            yield Finding(
                "header-cylinder", "header's cylinder is not the one round its box", table, None,
                None if start is None else start + 112, header[field].tolist(),
                wanted[field].tolist(),
            )  # fmt: skip
            return


def check_materials(
    model: MshModel, materials: Sequence[str], lightmaps: Sequence[str], dialect: Dialect | None
) -> list[Finding]:
    """Findings about what batches say of materials and rooms.

    Args:
        model: a sound model.
        materials, lightmaps: names by row of the model's WEAR; no materials: it has none.
        dialect: how to read the batches; ``None``: nobody knows, so nothing is said.
    """
    return [] if dialect is None else list(_materials(model, materials, lightmaps, dialect))


def _materials(
    model: MshModel, materials: Sequence[str], lightmaps: Sequence[str], dialect: Dialect
) -> Iterator[Finding]:
    meaning = batch_materials(model, dialect)
    drawn = model.batches["index_count"] > 0

    def found(code: str, bad: Any, problem: str, value: Any, expected: Any, field: str) -> Any:
        bad = bad & drawn
        return findings_at(model, StreamType.BATCHES, bad, code, problem, value, expected, field)

    retail = dialect is Dialect.RETAIL
    if materials:
        yield from found(
            "model-material", meaning.row >= len(materials), "material is no row of the WEAR",
            meaning.row, f"below {len(materials)}", "word4" if retail else "word2",
        )  # fmt: skip
    if not retail:
        return
    lit = meaning.lightmap != NO_LIGHTMAP
    if materials:
        yield from found(
            "model-lightmap", lit & (meaning.lightmap >= len(lightmaps)),
            "lightmap is no row of the WEAR", meaning.lightmap, f"below {len(lightmaps)}", "word4",
        )  # fmt: skip
    yield from found(
        "batch-flags", meaning.flags >> 16 != 0, "flags have a high half", meaning.flags,
        "below 0x10000", "word2",
    )  # fmt: skip
    flagged = (meaning.flags & BATCH_LIGHTMAP) != 0
    yield from found(
        "batch-lightmap", lit != flagged, "flag 0x2000 and the lightmap row do not agree",
        meaning.lightmap, None, "word0",
    )  # fmt: skip
    portal = (meaning.flags & BATCH_PORTAL) != 0
    beyond = model.batches["word6"].astype(np.int64)
    wrong = np.where(portal, beyond >= len(model.nodes), beyond != NONE16)
    yield from found(
        "batch-portal", wrong & (not model.legacy), "node behind a portal is no node", beyond,
        f"below {len(model.nodes)} on a portal, else {NONE16}", "word6",
    )  # fmt: skip
    if materials and (model.vertex_extra is not None) != bool(lightmaps):
        table = TABLES[StreamType.VERTEX_EXTRA].label
        said = f"WEAR has {len(lightmaps)} lightmaps"
        yield Finding(
            "lightmap-table",
            "lightmap coordinates and WEAR do not agree",
            table,
            value="no table" if model.vertex_extra is None else "a table",
            expected=said,
        )
    if model.vertex_extra is not None:
        words = model.vertex_extra.view("<u2")
        yield from findings_at(
            model, StreamType.VERTEX_EXTRA, (words > 1024).any(axis=1), "lightmap-uv",
            "lightmap coordinates lie outside 0..1", words / 1024, "0..1",
        )  # fmt: skip
