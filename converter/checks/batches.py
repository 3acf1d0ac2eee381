"""The batches of a core model: ranges, windows, portals, materials, lightmaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad
from ..formats.model import BATCH_LIGHTMAP, BATCH_PORTAL, NO_LIGHTMAP, TABLES, MshModel, StreamType, largest_indices
from ..numeric.arrays import NONE16, Bools
from ..scene.dialect import BatchMaterials, Dialect, batch_materials
from .places import in_table

_rule = partial(Rule, "core model", source="docs/reference/model.md#res13-batches")


def check_batches(model: MshModel) -> Iterator[Finding]:
    """Yield batches whose ranges leave their tables."""
    findings = [*_indices(model)]
    yield from findings
    if not findings:
        yield from _vertices(model)
        yield from _triangles(model)


BATCH_INDICES = _rule(
    "batch-indices",
    "error",
    "A batch's indices lie inside Res6.",
    why="The runtime would read past the indices.",
    fix="Correct indexStart and indexCount.",
    drops="the batch",
)


def _indices(model: MshModel) -> Iterator[Finding]:
    batches, total = model.batches, len(model.indices)
    end = batches["index_start"].astype(np.int64) + batches["index_count"]
    yield from first_bad(
        BATCH_INDICES,
        end > total,
        "batch's indices run past the table",
        in_table(model, StreamType.BATCHES, "index_start"),
        end,
        f"at most {total}",
    )


BATCH_VERTICES = _rule(
    "batch-vertices",
    "error",
    "A batch's largest vertex lies inside Res3.",
    why="The runtime would read past the vertices.",
    fix="Correct baseVertex, or the indices.",
    drops="the triangles that use vertices past the table",
)


def _vertices(model: MshModel) -> Iterator[Finding]:
    batches, count = model.batches, len(model.positions)
    largest = batches["base_vertex"].astype(np.int64) + largest_indices(model)
    bad = largest >= count
    if np.count_nonzero(bad):
        bad &= batches["index_count"] > 0
    yield from first_bad(
        BATCH_VERTICES,
        bad,
        "batch uses a vertex past the table",
        in_table(model, StreamType.BATCHES, "base_vertex"),
        largest,
        f"below {count}",
    )


BATCH_TRIANGLES = _rule(
    "batch-triangles",
    "warning",
    "A batch's index count is a multiple of 3.",
    why="The rest makes no triangle and is not shown.",
    fix="Correct indexCount.",
)


def _triangles(model: MshModel) -> Iterator[Finding]:
    count = model.batches["index_count"]
    yield from first_bad(
        BATCH_TRIANGLES,
        count % np.uint16(3) != 0,
        "index count is not a multiple of 3; the rest is not shown",
        in_table(model, StreamType.BATCHES, "index_count"),
        count,
        "a multiple of 3",
    )


BATCH_WINDOW = _rule(
    "batch-window",
    "warning",
    "Word +14 of a batch is its largest relative index + 1.",
    why="It is the vertex window of the draw call: too small draws garbage.",
    fix="Convert to glTF, touch the part and convert back.",
)


def check_windows(model: MshModel) -> Iterator[Finding]:
    """Yield batches whose window is not what their indices need; the ranges must be valid."""
    if model.triangles is None or not len(model.triangles):
        return
    window = largest_indices(model) + (model.batches["index_count"] > 0)
    yield from first_bad(
        BATCH_WINDOW,
        model.batches["window"] != window & 0xFFFF,
        "window is not the largest index + 1",
        in_table(model, StreamType.BATCHES, "window"),
        model.batches["window"],
        window,
    )


BATCH_WINDOW_END = _rule(
    "batch-window-end",
    "warning",
    "baseVertex + the window is not past the vertices.",
    why="The draw call would take vertices that are not there.",
    fix="Convert to glTF, touch the part and convert back.",
)


def check_window_ends(model: MshModel) -> Iterator[Finding]:
    """Yield batches whose window ends past the vertices."""
    last = model.batches["base_vertex"].astype(np.int64) + model.batches["window"]
    most = len(model.positions)
    yield from first_bad(
        BATCH_WINDOW_END,
        last > most,
        "window ends past the vertices",
        in_table(model, StreamType.BATCHES, "window"),
        last,
        f"at most {most}",
    )


BATCH_TILE = _rule(
    "batch-tile",
    "warning",
    "Batches follow one another in Res6 without gap or overlap.",
    why="Descriptor i belongs to index triple 3i: two batches would share it, or none have it.",
    fix="Convert to glTF and back without the sidecar.",
)


def check_tiling(model: MshModel) -> Iterator[Finding]:
    """Yield gaps and overlaps between batches."""
    start = model.batches["index_start"].astype(np.int64)
    end, total = start + model.batches["index_count"], len(model.indices)
    wanted = np.concatenate([[0], end[:-1]])
    bad = start != wanted
    yield from first_bad(
        BATCH_TILE,
        bad,
        "batch does not follow the one before",
        in_table(model, StreamType.BATCHES, "index_start"),
        start,
        wanted,
    )
    if not bad.any() and len(end) and end[-1] != total:
        place, row = in_table(model, StreamType.INDICES), int(end[-1])
        problem = "batches do not cover the end of the indices"
        yield Finding(
            BATCH_TILE, problem, table=place.table, row=row, offset=place.offset(row), value=row, expected=total
        )


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
        yield from _material(model, used, drawn, len(materials), "word4" if retail else "word2")
    if not retail:
        return
    if materials:
        yield from _lightmap(model, used, drawn, len(lightmaps))
    yield from _flags(model, used, drawn)
    yield from _lightmap_flag(model, used, drawn)
    yield from _portal(model, used, drawn)
    yield from _coordinates(model, bool(materials), len(lightmaps))


BATCH_PORTAL_RULE = _rule(
    "batch-portal",
    "warning",
    "The word at +6 is a node on portals (flag 0x8) and 0xFFFF elsewhere.",
    why="The game would look into a room that is not there.",
    fix="Set it to the node of the room beyond.",
)


def _portal(model: MshModel, used: BatchMaterials, drawn: Bools) -> Iterator[Finding]:
    portal = (used.flags & BATCH_PORTAL) != 0
    room, nodes = model.batches["word6"].astype(np.int64), len(model.nodes)
    wrong = np.where(portal, room >= nodes, room != NONE16)
    yield from first_bad(
        BATCH_PORTAL_RULE,
        wrong & drawn & (not model.legacy),
        "portal leads to a node that does not exist",
        in_table(model, StreamType.BATCHES, "word6"),
        room,
        f"below {nodes} on a portal, else {NONE16}",
    )


BATCH_LIGHTMAP_RULE = _rule(
    "batch-lightmap",
    "warning",
    "Flag 0x2000 is set exactly where there is a lightmap row.",
    source="docs/reference/model.md#flags-of-a-batch",
    why="The lightmap is not taken, or one that is not there is.",
    fix="Correct flag or row.",
)


def _lightmap_flag(model: MshModel, used: BatchMaterials, drawn: Bools) -> Iterator[Finding]:
    lit, flagged = used.lightmap != NO_LIGHTMAP, (used.flags & BATCH_LIGHTMAP) != 0
    yield from first_bad(
        BATCH_LIGHTMAP_RULE,
        (lit != flagged) & drawn,
        "flag 0x2000 and the lightmap row do not agree",
        in_table(model, StreamType.BATCHES, "word0"),
        used.lightmap,
    )


BATCH_FLAGS = _rule(
    "batch-flags",
    "note",
    "The high half of a batch's flags is 0.",
    why="No batch of the game has such a flag; it is kept.",
    fix="Nothing to do.",
)


def _flags(model: MshModel, used: BatchMaterials, drawn: Bools) -> Iterator[Finding]:
    yield from first_bad(
        BATCH_FLAGS,
        (used.flags >> 16 != 0) & drawn,
        "flags have a high half",
        in_table(model, StreamType.BATCHES, "word2"),
        used.flags,
        "below 0x10000",
    )


MODEL_MATERIAL = _rule(
    "model-material",
    "warning",
    "A batch's material is a row of the model's WEAR.",
    why="The game reads a name past the list.",
    fix="Add rows to the WEAR, or correct the batch.",
)


def _material(model: MshModel, used: BatchMaterials, drawn: Bools, rows: int, field: str) -> Iterator[Finding]:
    yield from first_bad(
        MODEL_MATERIAL,
        (used.row >= rows) & drawn,
        "material is not a row of the WEAR",
        in_table(model, StreamType.BATCHES, field),
        used.row,
        f"below {rows}",
    )


MODEL_LIGHTMAP = _rule(
    "model-lightmap",
    "warning",
    "A batch's lightmap is a row of the WEAR's LIGHTMAPS.",
    why="The game reads a name past the list.",
    fix="Add rows to the WEAR, or correct the batch.",
)


def _lightmap(model: MshModel, used: BatchMaterials, drawn: Bools, rows: int) -> Iterator[Finding]:
    bad = (used.lightmap != NO_LIGHTMAP) & (used.lightmap >= rows) & drawn
    yield from first_bad(
        MODEL_LIGHTMAP,
        bad,
        "lightmap is not a row of the WEAR",
        in_table(model, StreamType.BATCHES, "word4"),
        used.lightmap,
        f"below {rows}",
    )


LIGHTMAP_UV = _rule(
    "lightmap-uv",
    "warning",
    "Lightmap coordinates (Res18) lie inside 0..1.",
    source="docs/reference/model.md#res18-lightmap-coordinates-or-colours",
    why="A lightmap does not repeat.",
    fix="Map the surface into the lightmap.",
)
LIGHTMAP_TABLE = _rule(
    "lightmap-table",
    "note",
    "A model has lightmap coordinates (Res18) exactly if its WEAR has LIGHTMAPS.",
    source="docs/reference/model.md#res18-lightmap-coordinates-or-colours",
    why="Lightmaps are not shown, or their coordinates are missing.",
    fix="Add the section to the WEAR, or remove it.",
)


def _coordinates(model: MshModel, materials: bool, lightmaps: int) -> Iterator[Finding]:
    if materials and (model.vertex_extra is not None) != bool(lightmaps):
        yield Finding(
            LIGHTMAP_TABLE,
            "lightmap coordinates and WEAR do not agree",
            TABLES[StreamType.VERTEX_EXTRA].label,
            value="no table" if model.vertex_extra is None else "a table",
            expected=f"WEAR has {lightmaps} lightmaps",
        )
    if model.vertex_extra is not None:
        words = model.vertex_extra.view("<u2")
        yield from first_bad(
            LIGHTMAP_UV,
            (words > 1024).any(axis=1),
            "lightmap coordinates lie outside 0..1",
            in_table(model, StreamType.VERTEX_EXTRA),
            words / 1024,
            "0..1",
        )
