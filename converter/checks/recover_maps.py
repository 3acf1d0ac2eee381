"""Tolerant reading of terrains and areal maps; as ``converter.checks.recover`` of models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..findings import Finding, Mode, without_errors
from ..formats.areal_map import ArealMap
from ..formats.terrain import FINE, TERRAIN_GROUND, TERRAIN_STRIDE, Terrain, TerrainStream
from ..numeric.arrays import I64, NONE16, Bools
from ..scene.landscape import link_targets
from ..scene.scene import in_range
from .areal_map import (
    areal_anchor_finite,
    areal_cell_full,
    areal_cell_id,
    areal_link,
    areal_normal,
    areal_vertex_finite,
    areal_vertices,
    check_areal_map,
)
from .recover import Steps, filled, rows_of, setting, whole_streams, without_broken, without_links
from .terrain import (
    check_terrain,
    terrain_blend_finite,
    terrain_finite,
    terrain_slot_box,
    terrain_slot_faces,
    terrain_square_slot,
    terrain_vertex_count,
)
from .terrain_faces import terrain_face_link, terrain_face_vertex

_T = TerrainStream


def checked_terrain(terrain: Terrain, mode: Mode) -> tuple[Terrain, list[Finding]]:
    """A terrain that can be decoded, and what was found; as ``recover.checked_model``.

    Raises:
        ConversionError: the first finding that is refused; with what is broken nothing is left.
    """
    label = terrain.archive.label
    if mode != "tolerant":
        return terrain, without_errors(check_terrain(terrain), label, mode=mode)
    view, findings = without_broken(terrain, check_terrain, TERRAIN_STEPS, label)
    broken = [finding for finding in findings if finding.severity == "error"]
    if broken and not len(view.faces_of(FINE)):
        problem = f"without what {broken[0].code} concerns no ground is left to show"
        raise Finding(TERRAIN_GROUND, problem, broken[0].table).to_error().at(file=label)
    return view, findings


def checked_areals(areals: ArealMap, mode: Mode) -> tuple[ArealMap, list[Finding]]:
    """An areal map that can be shown, and what was found; as ``recover.checked_model``.

    Raises:
        ConversionError: the first finding that is refused.
    """
    label = areals.archive.label
    if mode != "tolerant":
        return areals, without_errors(check_areal_map(areals), label, mode=mode)
    return without_broken(areals, check_areal_map, AREAL_STEPS, label)


# ------------------------------------------------------------------ terrains


def _without_faces(terrain: Terrain, bad: Bools) -> Terrain:
    """Faces that are not shown; they keep their rows. (F,)."""
    faces = terrain.faces.copy()
    faces["vertex"][bad] = 0
    left_out = np.union1d(terrain.left_out, np.flatnonzero(bad))
    return replace(terrain.with_table(_T.FACES, faces), left_out=left_out)


def _no_face(terrain: Terrain, finding: Finding) -> Terrain:
    bad = np.zeros(len(terrain.faces), np.bool_)
    bad[rows_of(finding)] = True
    return _without_faces(terrain, bad)


def _no_vertex(terrain: Terrain, finding: Finding) -> Terrain:
    bad = np.zeros(NONE16 + 1, np.bool_)
    bad[rows_of(finding)] = True
    terrain = _without_faces(terrain, bad[terrain.faces["vertex"]].any(axis=1))
    return terrain.with_table(_T.POSITIONS, filled(terrain.positions))


def _no_blend(terrain: Terrain, finding: Finding) -> Terrain:
    assert terrain.blend is not None
    blend = terrain.blend.copy()
    rows = rows_of(finding)
    blend[rows[rows < len(blend)]] = 1  # what is too much of the stream is gone already
    return terrain.with_table(_T.BLEND, blend)


def _no_square_slot(terrain: Terrain, finding: Finding) -> Terrain:
    squares = terrain.squares.copy()
    words = squares["slot_index"][:, 0, :2]
    words[words >= len(terrain.slots)] = NONE16
    return terrain.with_table(_T.SQUARES, squares)


#: What is left out of a terrain, by the rule of the finding.
TERRAIN_STEPS: Steps[Terrain] = {
    TERRAIN_STRIDE: lambda terrain, finding: terrain.without_cut(),
    terrain_vertex_count.rule: whole_streams,
    terrain_square_slot.rule: _no_square_slot,
    terrain_slot_faces.rule: setting(_T.SLOTS, 0, "tri_start", "tri_count"),
    terrain_slot_box.rule: setting(_T.SLOTS, 0, "aabb_min", "aabb_max"),
    terrain_face_vertex.rule: _no_face,
    terrain_finite.rule: _no_vertex,
    terrain_face_link.rule: without_links(_T.FACES),
    terrain_blend_finite.rule: _no_blend,
}


# ------------------------------------------------------------------ areal maps


def _no_anchor(areals: ArealMap, finding: Finding) -> ArealMap:
    records = areals.records.copy()
    records["anchor"][rows_of(finding)] = 0
    return replace(areals, records=records)


def _no_normal(areals: ArealMap, finding: Finding) -> ArealMap:
    records = areals.records.copy()
    records["normal"][rows_of(finding)] = (0, 0, 1)
    return replace(areals, records=records)


def _no_link(areals: ArealMap, finding: Finding) -> ArealMap:
    return _with_links(areals, link_targets(areals) < 0)


def _with_links(areals: ArealMap, none: Bools) -> ArealMap:
    links = areals.links.copy()
    for name in ("areal", "edge"):
        links[name][none] = -1
    return replace(areals, links=links)


def _no_cell_list(areals: ArealMap, finding: Finding) -> ArealMap:
    return _with_ids(areals, ~np.isin(_cell_of(areals), rows_of(finding)))


def _no_cell_id(areals: ArealMap, finding: Finding) -> ArealMap:
    return _with_ids(areals, areals.cell_ids < len(areals.records))


def _cell_of(areals: ArealMap) -> I64:
    """The cell of every id. (C,)."""
    return np.repeat(np.arange(len(areals.cell_start) - 1), np.diff(areals.cell_start))


def _with_ids(areals: ArealMap, keep: Bools) -> ArealMap:
    counts = np.bincount(_cell_of(areals)[keep], minlength=len(areals.cell_start) - 1)
    start = np.concatenate([[0], np.cumsum(counts)])
    return replace(areals, cell_ids=areals.cell_ids[keep], cell_start=start)


def _without_areals(areals: ArealMap, keep: Bools) -> ArealMap:
    """All others move up: links and cells follow them."""
    number = np.where(keep, np.cumsum(keep) - 1, -1)
    linked = link_targets(areals) >= 0
    to = np.where(linked, areals.links["areal"], 0)
    areals = _with_links(areals, ~(linked & keep[to]))
    links = areals.links
    links["areal"] = np.where(links["areal"] < 0, -1, number[np.maximum(links["areal"], 0)])
    known = areals.cell_ids < len(keep)
    areals = _with_ids(areals, known & keep[np.where(known, areals.cell_ids, 0)])
    of_extra = np.repeat(np.arange(len(keep)), np.diff(areals.extra_start))

    def starts(start: I64) -> I64:
        return np.concatenate([[0], np.cumsum(np.diff(start)[keep])])

    return replace(
        areals,
        records=areals.records[keep],
        vertices=areals.vertices[keep[areals.owner]],
        vertex_start=starts(areals.vertex_start),
        links=links[keep[areals.owner]],
        extra_links=areals.extra_links[keep[of_extra]],
        extra_start=starts(areals.extra_start),
        polys=[poly for poly, kept in zip(areals.polys, keep.tolist(), strict=True) if kept],
        cell_ids=number[areals.cell_ids].astype(np.uint16),
    )


def _no_areals(areals: ArealMap, finding: Finding) -> ArealMap:
    """All that are no polygons, of both findings at once: what is left gets other numbers."""
    keep = np.diff(areals.vertex_start) >= 3
    keep[areals.owner[~in_range(areals.vertices)]] = False
    return areals if keep.all() else _without_areals(areals, keep)


#: What is left out of an areal map, by the rule of the finding; areals last, which renumbers.
AREAL_STEPS: Steps[ArealMap] = {
    areal_anchor_finite.rule: _no_anchor,
    areal_normal.rule: _no_normal,
    areal_link.rule: _no_link,
    areal_cell_full.rule: _no_cell_list,
    areal_cell_id.rule: _no_cell_id,
    areal_vertices.rule: _no_areals,
    areal_vertex_finite.rule: _no_areals,
}
