"""What an OBJ shows: triangles in model space, posed at one frame, and what they look like."""

from __future__ import annotations

import numpy as np

from ..edits.nodes import world_matrices
from ..scene.scene import ImportedScene, Scene
from .compare import Comparison
from .difference import Difference
from .looks import WrittenLooks, looks_of_file
from .models import shown_by_scene
from .shown import F64, Names, shown_at_once


def differences_of_obj(
    seen: ImportedScene,
    written: Scene,
    poses: F64,
    *,
    cell: tuple[int, int],
    loose: float,
    looks: WrittenLooks | None = None,
) -> list[Difference]:
    """Return what a written model shows otherwise than an OBJ, or another file without nodes of its own.

    Args:
        seen: the file as it was read, in model space.
        written: the result, decoded from its bytes.
        poses: (N, 4, 4) where its nodes are at the frame of the file.
        cell: what of the model the file shows.
        loose: how far the decimals of the file may move a corner.
        looks: what the materials of the result look like; ``None``: not known.
    """
    names: list[Names] = [(item.name, "" if item.mesh < 0 else seen.meshes[item.mesh].name) for item in seen.nodes]
    file = shown_at_once(seen, world_matrices(seen.nodes), [cell] * len(seen.nodes), names)
    result = shown_by_scene(written)
    node_of = [k if k < len(written.nodes) else thing.above for k, thing in enumerate(result.things)]
    for node, thing in zip(node_of, result.things, strict=True):
        thing.world, thing.move, thing.turn = poses[node][None], loose, 0.0  # an OBJ has no poses to round
    if (found := result.cells.get(cell)) is not None:  # what a cockpit shows is in a scene of its own
        cockpit = np.array([written.nodes[node].cockpit for node in node_of], np.bool_)
        result.cells = {cell: found.select(~cockpit[found.owner])}
    if looks is not None:
        file.looks, result.looks = looks_of_file(seen.surfaces, of_obj=True), looks.of(written.materials)
    comparison = Comparison(file, result)
    comparison.cell(cell)
    return comparison.found
