"""Decode a terrain: vertex streams as floats, and the faces of each level by material.

Format-neutral, game axes (docs/reference/gltf.md, A terrain). ``exporters.gltf`` writes it,
``converter.edits.terrain`` compares a glTF file with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..formats.terrain import COARSE, FINE, NO_MATERIAL, Terrain
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
        name: the terrain's name.
        positions, normals, uv0, micro_uv: (V, 3), (V, 3), (V, 2), (V, 2) float32.
        blend: (V,) float32 or ``None``: alpha of the second material.
        material_pairs: the material pairs, in order of first appearance.
        primitives: per level, ``(pair, faces)``: rows of the face table, in table order.
        vertex: (F, 3) vertices of every face.
    """

    name: str
    positions: NDArray[np.float32]
    normals: NDArray[np.float32]
    uv0: NDArray[np.float32]
    micro_uv: NDArray[np.float32]
    blend: NDArray[np.float32] | None
    material_pairs: list[MaterialPair]
    primitives: list[list[tuple[int, NDArray[np.int64]]]]
    vertex: NDArray[np.uint16]


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
    """Decode a valid terrain.

    Args:
        terrain: the tables.
        name: the scene's name.
        wear, micro: names by row of ``Land1.wea`` and ``Land2.wea``.
    """
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
