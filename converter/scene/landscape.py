"""Decode a terrain: vertex streams as floats, the faces of each level by material; polygons of its areal map.

Format-neutral, game axes (docs/reference/gltf.md, A terrain). ``exporters.gltf`` writes it,
``converter.edits.terrain`` compares a glTF file with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..formats.areal_map import ArealMap, game_xy
from ..formats.terrain import COARSE, FINE, NO_MATERIAL, Terrain
from ..numeric.arrays import F32, F64, I64, U16, Bools, ranges
from ..numeric.quantize import decode_normals, decode_uv, normalise


class MaterialPair(NamedTuple):
    """A pair of materials: what one primitive shows.

    Attributes:
        name: ``first`` or ``first+second``, from ``Land1.wea``.
        first, second: rows of it; 255 = no second.
        micro, micro2: the microtextures' names, from ``Land2.wea``.
    """

    name: str
    first: int
    second: int
    micro: str
    micro2: str


@dataclass
class TerrainScene:
    """A terrain as a scene.

    Attributes:
        positions, normals, uv0, micro_uv: (V, 3), (V, 3), (V, 2), (V, 2) float32.
        blend: (V,) float32 or ``None``: alpha of the second material.
        material_pairs: the material pairs, in order of first appearance.
        primitives: per level, ``(pair, faces)``: rows of the face table, in table order.
        vertex: (F, 3) vertices of every face.
    """

    name: str
    positions: F32
    normals: F32
    uv0: F32
    micro_uv: F32
    blend: F32 | None
    material_pairs: list[MaterialPair]
    primitives: list[list[tuple[int, I64]]]
    vertex: U16


def blend_weights(scene: TerrainScene) -> dict[tuple[int, int], float]:
    """Return the mean weight of each pair's second material on the fine level, 0..1.

    Returns:
        By (first, second) rows; pairs without a second one are left out.
    """
    out = {}
    for i, rows in scene.primitives[FINE]:
        pair = scene.material_pairs[i]
        if pair.second != NO_MATERIAL:
            blend = 1.0
            if scene.blend is not None:
                blend = float(scene.blend[scene.vertex[rows]].mean(dtype=np.float64))
            out[pair.first, pair.second] = min(1.0, max(0.0, blend))
    return out


def decode_terrain(terrain: Terrain, name: str, wear: list[str], micro: list[str]) -> TerrainScene:
    """Decode a valid terrain. ``wear``, ``micro``: names by row of ``Land1.wea`` and ``Land2.wea``."""
    faces = terrain.faces
    pair = faces["first"].astype(np.uint16) << 8 | faces["second"]  # few bits are sorted faster
    levels = [terrain.faces_of(level) for level in (FINE, COARSE)]
    shown, first_at = np.unique(pair[np.concatenate(levels)], return_index=True)
    pairs = shown[np.argsort(first_at)].tolist()
    material_pairs = [material_pair(key >> 8, key & 0xFF, wear, micro) for key in pairs]
    primitives = [
        [(i, rows[hit]) for i, key in enumerate(pairs) if (hit := pair[rows] == key).any()] for rows in levels
    ]
    return TerrainScene(
        name=name,
        positions=terrain.positions,
        normals=normalise(decode_normals(terrain.normals), (0, 0, 1)).astype(np.float32),
        uv0=decode_uv(terrain.uv0),
        micro_uv=decode_uv(terrain.micro_uv),
        blend=terrain.blend,
        material_pairs=material_pairs,
        primitives=primitives,
        vertex=faces["vertex"],
    )


def material_pair(first: int, second: int, wear: list[str], micro: list[str]) -> MaterialPair:
    """Return a pair of rows with its names; rows without a name are ``material_{row}``."""

    def named(names: list[str], row: int, missing: str) -> str:
        return names[row] if row < len(names) and names[row] else missing

    name = named(wear, first, f"material_{first}")
    if second == NO_MATERIAL:
        return MaterialPair(name, first, second, named(micro, first, ""), "")
    name += f"+{named(wear, second, f'material_{second}')}"
    return MaterialPair(name, first, second, named(micro, first, ""), named(micro, second, ""))


def signed_areas(areals: ArealMap) -> F64:
    """(N,) float64: shoelace area of each polygon in x and y, negative if clockwise."""
    xy = game_xy(areals.vertices)
    with np.errstate(invalid="ignore"):
        # from the polygon's first vertex: far from the origin the products would cancel badly
        xy = xy - xy[areals.vertex_start[:-1][areals.owner]]
        following = xy[areals.following]
        twice = xy[:, 0] * following[:, 1] - xy[:, 1] * following[:, 0]
    return np.bincount(areals.owner, twice, minlength=len(areals.records)) / 2


def points_inside(xy: F64, start: I64, points: F64, polygon: I64) -> Bools:
    """Whether each point lies inside its polygon: even-odd, half-open.

    A point on an edge belongs to the polygon on the right of it (on a horizontal edge: above
    it). Both neighbours of an edge compute the same, so a point of a tiling is in exactly one.

    Args:
        xy: (V, 2) float64, vertices of all polygons end to end.
        start: (N + 1,) where each polygon starts.
        points: (K, 2) float64.
        polygon: (K,) which polygon each point is tested against.

    Returns:
        (K,) bool; false for points and polygons that are not finite.
    """
    count = np.diff(start)[polygon]
    edge = ranges(start[:-1][polygon], count)
    pair = np.repeat(np.arange(len(points)), count)
    last = start[1:][polygon][pair] - 1
    a, b = xy[edge], xy[np.where(edge == last, start[:-1][polygon][pair], edge + 1)]
    p = points[pair]
    flip = (a[:, 1] > b[:, 1])[:, None]
    low, high = np.where(flip, b, a), np.where(flip, a, b)
    with np.errstate(invalid="ignore"):
        along, across = high - low, p - low
        spans = (low[:, 1] <= p[:, 1]) & (p[:, 1] < high[:, 1])
        left = across[:, 0] * along[:, 1] < across[:, 1] * along[:, 0]
    crossings = np.bincount(pair[spans & left], minlength=len(points))
    broken = np.bincount(pair[~np.isfinite(a).all(1)], minlength=len(points))
    return np.asarray((crossings % 2 == 1) & (broken == 0))


def anchor_inside(areals: ArealMap) -> Bools:
    """(N,) bool: whether each areal's anchor lies in its polygon (x and y).

    The runtime moves an anchor that does not: up to 100 random tries within about 30 units,
    then 200 within about 100 (docs/reference/areal_map.md). ``edits.areal_map.repair_anchors`` is
    deterministic.
    """
    return points_inside(
        game_xy(areals.vertices), areals.vertex_start, game_xy(areals.records["anchor"]), np.arange(len(areals.records))
    )


def link_targets(areals: ArealMap) -> I64:
    """(V,) int64: the edge across each edge, as an index into ``links``.

    -1 where there is none, or where the link names no edge that exists.
    """
    areal, edge = (areals.links[k].astype(np.int64) for k in ("areal", "edge"))
    exists = (areal >= 0) & (areal < len(areals.records))
    areal = np.where(exists, areal, 0)
    exists &= (edge >= 0) & (edge < np.append(np.diff(areals.vertex_start), 0)[areal])
    return np.where(exists, areals.vertex_start[areal] + edge, -1)
