"""Invariants of a terrain, as data (terrain page, 3.2, 3.3, 6.2; ``evidence`` page, Terrain).

Severities are those of ``converter.checks.rules``. What conversion does not need is in
``converter.checks.terrain``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..findings import Finding, more
from ..formats.tables import TERRAIN_TABLES, TerrainStream
from ..formats.terrain import (
    BORDER,
    COARSE,
    FINE,
    LEVELS,
    MOST_FACES,
    MOST_VERTICES,
    NO_MATERIAL,
    Terrain,
)
from ..numeric.adjacency import NO_EDGE
from ..numeric.arrays import NONE16, max_uses
from ..numeric.face_flags import FaceFlag

_T = TerrainStream


def check_terrain(terrain: Terrain) -> list[Finding]:
    """Every finding about a terrain; those that need sound tables only where they are sound."""
    findings = [*_tables(terrain), *_faces(terrain), *_squares(terrain)]
    if any(finding.severity == "error" for finding in findings):
        return findings
    return [*findings, *_links(terrain), *_runs(terrain), *_draw_order(terrain), *_looks(terrain)]


def find_rows(
    terrain: Terrain,
    code: str,
    stream: TerrainStream,
    problem: str,
    bad: Any = None,
    within: int = 0,
    value: object = None,
    expected: object = None,
) -> Iterator[Finding]:
    """A finding about the first bad row of a table, with the number of all; none if all is well.

    ``bad`` is a boolean per row; without it the finding is about the table.
    """
    row = rows = None
    if bad is not None:
        if not np.any(bad):
            return
        row = int(np.argmax(bad))
        rows = np.flatnonzero(bad)
    offset = terrain.offset_of(stream, row or 0, within)
    shown = value[row] if row is not None and isinstance(value, np.ndarray) else value
    if isinstance(shown, np.ndarray):
        shown = shown.tolist()
    count = 1 if rows is None else rows.size
    yield Finding(
        code,
        more(problem, count),
        terrain.label_of(stream),
        row,
        offset,
        shown,
        expected,
        rows,
        count,
    )


def _tables(terrain: Terrain) -> Iterator[Finding]:
    count = len(terrain.positions)
    for stream, table in terrain.streams.items():
        rows = len(table)
        if TERRAIN_TABLES[stream].per_vertex and rows != count:
            yield from find_rows(
                terrain, "terrain-vertex-count", TerrainStream(stream),
                "not one row per vertex", value=rows, expected=count,
            )  # fmt: skip
    if count > MOST_VERTICES:
        yield from find_rows(
            terrain, "terrain-limits", _T.POSITIONS, "more vertices than faces can name",
            value=count, expected=f"at most {MOST_VERTICES}",
        )  # fmt: skip
    if len(terrain.faces) > MOST_FACES:
        yield from find_rows(
            terrain, "terrain-faces", _T.FACES, "more faces than the game's files have",
            value=len(terrain.faces), expected=f"at most {MOST_FACES}",
        )  # fmt: skip
    finite = np.isfinite(terrain.positions).all(axis=1)
    yield from find_rows(
        terrain, "terrain-finite", _T.POSITIONS, "position is not finite", ~finite,
        value=terrain.positions,
    )  # fmt: skip
    if terrain.blend is not None:
        blend = terrain.blend
        yield from find_rows(
            terrain, "terrain-blend-finite", _T.BLEND, "blend is not finite",
            ~np.isfinite(blend), value=blend,
        )  # fmt: skip
        yield from find_rows(
            terrain, "terrain-blend", _T.BLEND, "blend is not between 0 and 1",
            np.isfinite(blend) & ((blend < 0) | (blend > 1)), value=blend,
        )  # fmt: skip
    if not np.isfinite(terrain.header["hull"]).all():
        yield from find_rows(terrain, "terrain-box", _T.SLOTS, "the whole box is not finite")
    entry = terrain.archive.first_of_type(_T.SLOTS)
    if entry is not None and entry.attr1 != len(terrain.slots):
        yield from find_rows(
            terrain, "terrain-slot-count", _T.SLOTS,
            "attr1 is not the number of slots", value=entry.attr1, expected=len(terrain.slots),
        )  # fmt: skip


def _faces(terrain: Terrain) -> Iterator[Finding]:
    faces, count = terrain.faces, len(terrain.faces)
    vertex, link = faces["vertex"], faces["link"]
    yield from find_rows(
        terrain, "terrain-face-vertex", _T.FACES, "face has a vertex past the table",
        (vertex >= len(terrain.positions)).any(axis=1), 8, vertex,
        f"below {len(terrain.positions)}",
    )  # fmt: skip
    yield from find_rows(
        terrain, "terrain-face-link", _T.FACES, "face links past the table",
        ((link >= count) & (link != NONE16)).any(axis=1), 14, link, f"below {count}, or 65535",
    )  # fmt: skip


def _squares(terrain: Terrain) -> Iterator[Finding]:
    squares, slots = len(terrain.squares), terrain.slots
    across = terrain.across
    if not squares or across <= 0 or squares % across:
        yield from find_rows(
            terrain, "terrain-squares", _T.SQUARES,
            "attr2 is not a number of squares across", value=across,
            expected=f"a divisor of {squares}",
        )  # fmt: skip
        return
    words = terrain.squares["slot_index"][:, 0, :2]
    yield from find_rows(
        terrain, "terrain-square-slot", _T.SQUARES, "square has a slot past the table",
        ((words >= len(slots)) & (words != NONE16)).any(axis=1), 8, words, f"below {len(slots)}",
    )  # fmt: skip
    end = slots["tri_start"].astype(np.int64) + slots["tri_count"]
    yield from find_rows(
        terrain, "terrain-slot-faces", _T.SLOTS, "slot reaches past the faces",
        end > len(terrain.faces), 0, end, f"at most {len(terrain.faces)}",
    )  # fmt: skip
    reached, most = int(slots["tri_count"].sum(dtype=np.int64)), max_uses(len(terrain.faces))
    if reached > most:
        yield from find_rows(
            terrain, "terrain-reuse", _T.SLOTS, "slots reach the same faces too often",
            value=reached, expected=f"at most {most}",
        )  # fmt: skip
    boxes = np.stack([slots["aabb_min"], slots["aabb_max"]], axis=1)
    yield from find_rows(
        terrain, "terrain-slot-box", _T.SLOTS, "slot's box is not finite",
        ~np.isfinite(boxes).all(axis=(1, 2)), 8,
    )  # fmt: skip


def _links(terrain: Terrain) -> Iterator[Finding]:
    faces = terrain.faces
    link = faces["link"].astype(np.int64)
    edge = faces["selectors"][:, None] >> np.array([0, 2, 4]) & 3
    none = link == NONE16
    safe = np.where(none, 0, link)
    back = np.take_along_axis(link[safe], np.minimum(edge, 2)[..., None], axis=2)[..., 0]
    mutual = none | ((edge < NO_EDGE) & (back == np.arange(len(faces))[:, None]))
    yield from find_rows(
        terrain, "terrain-link-mutual", _T.FACES,
        "the face across an edge does not link back", ~mutual.all(axis=1), 14, link,
    )  # fmt: skip
    yield from find_rows(
        terrain, "terrain-edge-class", _T.FACES,
        "edge selector does not fit its link", (none != (edge == NO_EDGE)).any(axis=1), 26, edge,
        "3 exactly where there is no neighbour",
    )  # fmt: skip


def _runs(terrain: Terrain) -> Iterator[Finding]:
    slots = terrain.slots
    start, count = (slots[k].astype(np.int64) for k in ("tri_start", "tri_count"))
    chained = np.concatenate([[0], np.cumsum(count)[:-1]])
    yield from find_rows(
        terrain, "terrain-slot-run", _T.SLOTS,
        "slots' runs of faces do not follow one another", start != chained, 0, start,
    )  # fmt: skip
    if int(count.sum()) != len(terrain.faces):
        yield from find_rows(
            terrain, "terrain-slot-run", _T.SLOTS,
            "slots do not have every face once", value=int(count.sum()),
            expected=len(terrain.faces),
        )  # fmt: skip
    square = terrain.square_of_face
    vertices = terrain.positions[terrain.faces["vertex"]][..., :2].astype(np.float64)
    low, high = terrain.grid.box(np.maximum(square, 0))
    room = BORDER * terrain.grid.size
    outside = (vertices < (low - room)[:, None]) | (vertices > (high + room)[:, None])
    yield from find_rows(
        terrain, "terrain-face-square", _T.FACES, "face crosses its square's border",
        outside.any(axis=(1, 2)) & (square >= 0), 8, square, "inside the square that has it",
    )  # fmt: skip
    fine = np.zeros(len(terrain.positions), np.bool_)
    fine[terrain.faces["vertex"][terrain.faces_of(FINE)]] = True
    coarse = terrain.faces_of(COARSE)
    alien = np.zeros(len(terrain.faces), np.bool_)
    alien[coarse] = ~fine[terrain.faces["vertex"][coarse]].all(axis=1)
    yield from find_rows(
        terrain, "terrain-coarse-vertex", _T.FACES,
        f"{LEVELS[COARSE]} face has a vertex that the {LEVELS[FINE]} level does not use", alien, 8,
        terrain.faces["vertex"],
    )  # fmt: skip


def _draw_order(terrain: Terrain) -> Iterator[Finding]:
    rows = terrain.draw_order
    count = len(terrain.faces)
    if len(rows) != count or not np.array_equal(np.sort(rows["face"]), np.arange(count)):
        yield from find_rows(
            terrain, "terrain-draw-order", _T.DRAW_ORDER,
            "draw order is not a permutation of the faces", value=len(rows), expected=count,
        )  # fmt: skip
        return
    square = terrain.square_of_face
    slot = np.repeat(np.arange(len(terrain.slots)), terrain.slots["tri_count"])
    if len(slot) == count and (square >= 0).all():
        yield from find_rows(
            terrain, "terrain-draw-order", _T.DRAW_ORDER,
            "draw order leaves its slot's run", slot[rows["face"]] != slot, 0, rows["face"],
        )  # fmt: skip


def _looks(terrain: Terrain) -> Iterator[Finding]:
    faces = terrain.faces
    second = faces["second"] != NO_MATERIAL
    flagged = (faces["flags"] & np.uint32(FaceFlag.SECOND_MATERIAL)) != 0
    yield from find_rows(
        terrain, "terrain-second-material", _T.FACES,
        "flag 0x4 and the second material do not agree", second != flagged, 0, faces["flags"],
    )  # fmt: skip
