"""What a terrain shows: in an edited file, and as it was decoded from its bytes."""

from __future__ import annotations

import numpy as np

from ..edits.nodes import world_matrices
from ..formats.terrain import COARSE, FINE
from ..scene.landscape import TerrainScene
from ..scene.scene import ImportedScene
from .compare import Comparison, Difference
from .shown import Bools, Shown, Thing, Triangles, joined, triangles_of, vertices_of, ways

#: What objects and reports call the levels.
_OBJECTS, _LEVELS = ("terrain", "coarse"), ("fine level", "coarse level")


def differences_of_terrain(seen: ImportedScene, written: TerrainScene, *, absent: bool) -> list[Difference]:
    """Return what a written terrain shows otherwise than the file.

    Args:
        seen: the file as it was read.
        written: the result, decoded from its bytes.
        absent: whether a level that the file does not have was never in it.
    """
    file, result = _file(seen), _result(written)
    comparison = Comparison(file, result, absent)
    for cell in sorted(file.cells.keys() | result.cells.keys()):
        if cell in file.cells or not absent:
            comparison.cell(cell)
    return comparison.found


def _file(seen: ImportedScene) -> Shown:
    out = Shown(materials=[ways(material.name) for material in seen.materials])
    world = world_matrices(seen.nodes)
    lists: dict[tuple[int, int], list[Triangles]] = {}
    for i, item in enumerate(seen.nodes):
        if item.mesh < 0 or not seen.meshes[item.mesh].drawn:
            continue
        level = _level(item.name, item.extras.get("level"))
        found = triangles_of(seen.streams, seen.meshes[item.mesh], len(out.things), world[i, :3, :3])
        found.colours = found.known = None
        if seen.streams.blend is not None and level == FINE:
            found.colours, found.known = _as_colours(
                seen.streams.blend[vertices_of(seen.streams, seen.meshes[item.mesh])]
            )
        lists.setdefault((level, 0), []).append(found)
        names = (item.name, _OBJECTS[level], _LEVELS[level])
        out.things.append(Thing(item.name, -1, world[i][None], {}, names))
    out.cells = {cell: joined(found) for cell, found in lists.items()}
    out.facts_of_materials, out.rows = [{} for _ in out.materials], [-1 for _ in out.materials]
    return out


def _level(name: str, stated: int | None) -> int:
    if stated is not None:
        return COARSE if stated == COARSE else FINE
    return COARSE if name.partition(".")[0] == _OBJECTS[COARSE] else FINE


def _as_colours(blend: np.ndarray) -> tuple[np.ndarray, Bools]:
    """Weights of second materials as the first channel of colours. (N, 3) -> (N, 3, 4), (N, 4)."""
    out = np.zeros((*blend.shape, 4), np.uint8)
    out[..., 0] = np.clip(np.round(blend * 255), 0, 255)
    return out, np.tile(np.array([True, False, False, False]), (len(blend), 1))


def _result(scene: TerrainScene) -> Shown:
    out = Shown(materials=[{pair.name.casefold()} for pair in scene.material_pairs])
    for level, primitives in enumerate(scene.primitives):
        rows = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in primitives)])
        vertex = scene.vertex[rows].astype(np.int64)
        material = np.repeat(np.array([pair for pair, _ in primitives], np.int64), [len(r) for _, r in primitives])
        found = Triangles(
            scene.positions[vertex].astype(np.float64),
            np.full(len(rows), len(out.things)),
            material,
            scene.normals[vertex].astype(np.float64) if level == FINE else None,
            scene.uv0[vertex],
            scene.micro_uv[vertex],
        )
        if scene.blend is not None and level == FINE:
            found.colours, found.known = _as_colours(scene.blend[vertex])
        out.cells[level, 0] = found
        names = (_OBJECTS[level], _LEVELS[level])
        out.things.append(Thing(_OBJECTS[level], -1, np.eye(4)[None], {}, names))
    out.facts_of_materials, out.rows = [{} for _ in out.materials], [-1 for _ in out.materials]
    return out
