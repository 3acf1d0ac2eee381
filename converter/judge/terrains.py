"""What a terrain shows: in an edited file, and as it was decoded from its bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..edits.nodes import world_matrices
from ..formats.terrain import COARSE, FINE
from ..scene.landscape import TerrainScene
from ..scene.scene import ImportedScene
from .compare import Comparison
from .difference import COLOURS_LOST, Difference
from .looks import WrittenLooks, looks_of_file, named
from .shown import Shown, Thing, Triangles, shown_at_once

#: What objects and reports call the levels.
_OBJECTS, _LEVELS = ("terrain", "coarse"), ("fine level", "coarse level")
#: The channel of colours that a blend is in.
_BLEND = np.array([True, False, False, False])


def differences_of_terrain(
    seen: ImportedScene, written: TerrainScene, *, absent: bool, looks: WrittenLooks | None = None
) -> list[Difference]:
    """Return what a written terrain shows otherwise than the file.

    Args:
        seen: the file as it was read.
        written: the result, decoded from its bytes.
        absent: whether a level that the file does not have was never in it.
        looks: what its materials look like; ``None``: not known.
    """
    file, result = _file(seen if looks is None else looks.in_rectangles(seen)), _result(written)
    if looks is not None:
        file.looks = looks_of_file(seen.surfaces)
        result.looks = looks.of(named([pair.name for pair in written.material_pairs]))
    comparison = Comparison(file, result, absent)
    for cell in sorted(file.cells.keys() | result.cells.keys()):
        if cell in file.cells or not absent:
            comparison.cell(cell)
    comparison.found += [COLOURS_LOST] if _is_painted(seen) else []
    return comparison.found


def _is_painted(seen: ImportedScene) -> bool:
    """Whether a level has vertex colours besides its blend; white ones show nothing."""
    colours = seen.streams.colours
    meshes = [seen.meshes[item.mesh] for item in seen.nodes if item.mesh >= 0]
    rows = [slice(p.vertex_start, p.vertex_start + p.vertex_count) for mesh in meshes for p in mesh.primitives]
    return colours is not None and any((colours[at] != 255).any() for at in rows)


def _file(seen: ImportedScene) -> Shown:
    levels = [_level(item.name, item.extras.get("level")) for item in seen.nodes]
    names = [(item.name, _OBJECTS[at], _LEVELS[at]) for item, at in zip(seen.nodes, levels, strict=True)]
    blend = seen.streams.blend
    streams = replace(seen.streams, colours=None if blend is None else _as_colours(blend))
    cells = [(level, 0) for level in levels]
    out = shown_at_once(replace(seen, streams=streams), world_matrices(seen.nodes), cells, names)
    for (level, _), found in out.cells.items():
        if level == FINE and found.colours is not None:
            found.known = np.tile(_BLEND, (len(found), 1))
        else:
            found.colours = found.known = None
    return out


def _level(name: str, stated: int | None) -> int:
    if stated is not None:
        return COARSE if stated == COARSE else FINE
    return COARSE if name.partition(".")[0] == _OBJECTS[COARSE] else FINE


def _as_colours(blend: np.ndarray) -> np.ndarray:
    """Weights of second materials as the first channel of colours. (...) -> (..., 4)."""
    out = np.zeros((*blend.shape, 4), np.uint8)
    out[..., 0] = np.clip(np.round(blend * 255), 0, 255)
    return out


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
            found.colours, found.known = _as_colours(scene.blend[vertex]), np.tile(_BLEND, (len(vertex), 1))
        out.cells[level, 0] = found
        names = (_OBJECTS[level], _LEVELS[level])
        out.things.append(Thing(_OBJECTS[level], -1, np.eye(4)[None], {}, names))
    out.facts_of_materials, out.rows = [{} for _ in out.materials], [-1 for _ in out.materials]
    return out
