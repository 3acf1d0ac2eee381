"""Importers that ignore a kind of edit: what is replaced by what, and the edits that are ignored then."""

from __future__ import annotations

from typing import Any

import numpy as np

from msh_gltf.converter.edits.poses import PoseChanges

EDITS = "msh_gltf.converter.edits"
UNCHANGED = f"{EDITS}.model.PartPlan.unchanged"


def nothing(*_: object, **__: object) -> None:
    return None


def _alike(a: Any, *_: object) -> Any:
    return np.zeros(a.shape[:-1], np.bool_)


#: What is replaced by what, and the edits that then are ignored.
MODELS: list[tuple[str, object, tuple[str, ...]]] = [
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move node", "turn node")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move key", "turn key")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("offset animation",)),
    (UNCHANGED, property(lambda _: True), ("move vertices", "delete triangles", "add triangles", "flip triangles")),
    (UNCHANGED, property(lambda _: True), ("change uv", "change lightmap uv", "change colours")),
    (UNCHANGED, property(lambda _: True), ("assign material",)),
    (f"{EDITS}.triangles.normals_apart", _alike, ("change normals",)),
    (f"{EDITS}.triangles.colours_apart", _alike, ("change colours",)),
    (f"{EDITS}.triangles.Match.compare_materials", nothing, ("assign material",)),
    ("msh_gltf.converter.rebuild.model.renumber", nothing, ("delete node but not its children",)),
    (f"{EDITS}.model._name_changes", nothing, ("rename node",)),
    (f"{EDITS}.model._label_changes", nothing, ("change label",)),
    (f"{EDITS}.model._node_changes", nothing, ("change flags", "reparent node", "make node a root")),
    (f"{EDITS}.node_roles._report_hidden", nothing, ("hide node",)),
    (f"{EDITS}.material_rows._ModelRows._add", nothing, ("assign new material",)),
    (f"{EDITS}.model.compare_parts", nothing, ("delete part", "move vertices", "move part to another cell")),
    (f"{EDITS}.model._missing_parts", nothing, ("delete part", "delete shown part")),
    ("msh_gltf.converter.kinds.import_model.place_parts", nothing, ("move part object", "scale part object")),
    (f"{EDITS}.nodes.rigid_part", lambda name, world, above: _rigid(world), ("mirror node", "scale node")),
]
#: The same, of edits that the export of a result does not show: a reader of it cannot see them.
UNSEEN: list[tuple[str, object, tuple[str, ...]]] = [
    (f"{EDITS}.triangles.Match.compare_flags", nothing, ("set tri flags of a material",)),
    (f"{EDITS}.triangles._stated_flags", nothing, ("set tri flags of an object",)),
    (f"{EDITS}.material_rows._ModelRows._rename", nothing, ("rename material",)),
    (f"{EDITS}.clips._report_second", nothing, ("second clip of the same nodes",)),
]


def _rigid(world: Any) -> Any:
    """A transform as if nothing in it was scaled."""
    return np.array([1.0, 0, 0, 0]), world[:3, 3].astype(np.float32), None, (np.array([1.0, 0, 0, 0]), world[:3, 3])
