"""Importers that ignore a kind of edit: what is replaced by what, and the edits that are ignored then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from msh_gltf.converter.edits.points import PointEdit
from msh_gltf.converter.edits.poses import PoseChanges

EDITS = "msh_gltf.converter.edits"
UNCHANGED = f"{EDITS}.model.PartPlan.unchanged"
PLACED = "msh_gltf.converter.kinds.import_missions"
#: Both what carries a component's move to its object, and what names one that is not carried.
ROOTS = f"{EDITS}.placed_scene._Roots.run {EDITS}.placements.Placements._require_in_place"


def nothing(*_: object, **__: object) -> None:
    return None


def keep_point(plan: Any, _: object, point: Any, __: object, placed: Any, ___: object) -> None:
    plan.points.append(PointEdit(point.row, placed.node))


def always(*_: object) -> bool:
    return True


def same_words(*_: object) -> list[str]:
    return []


def _rigid(world: Any) -> Any:
    """A transform as if nothing in it was scaled."""
    return np.array([1.0, 0, 0, 0]), world[:3, 3].astype(np.float32), None, (np.array([1.0, 0, 0, 0]), world[:3, 3])


def _alike(a: Any, *_: object) -> Any:
    return np.zeros(a.shape[:-1], np.bool_)


#: What is replaced by what (a property, by its value), and the edits of models that are ignored then.
MODELS: list[tuple[str, object, tuple[str, ...]]] = [
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move node", "turn node")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move key", "turn key")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("offset animation",)),
    (UNCHANGED, True, ("move vertices", "delete triangles", "add triangles", "flip triangles")),
    (UNCHANGED, True, ("change uv", "change lightmap uv", "change colours")),
    (UNCHANGED, True, ("assign material",)),
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
    (f"{EDITS}.nodes.rigid_part", lambda _, world, __: _rigid(world), ("mirror node", "scale node")),
]
#: The same, of edits that the export of a result does not show: a reader of it cannot see them.
UNSEEN: list[tuple[str, object, tuple[str, ...]]] = [
    (f"{EDITS}.triangles.Match.compare_flags", nothing, ("set tri flags of a material",)),
    (f"{EDITS}.triangles._stated_flags", nothing, ("set tri flags of an object",)),
    (f"{EDITS}.material_rows._ModelRows._rename", nothing, ("rename material",)),
    (f"{EDITS}.clips._report_second", nothing, ("second clip of the same nodes",)),
]
#: What shows materials of models, or of the level.
_PLACED = ("terrain", "mission", "unit")
#: A world, what is replaced by what, and the edits that are ignored then.
WORLDS: list[tuple[str, str, object, tuple[str, ...]]] = [
    ("areal map", f"{EDITS}.areal_changes._compare", nothing, ("move corner", "change class", "change flag")),
    ("areal map", f"{EDITS}.areal_changes._add", nothing, ("add areal",)),
    ("areal map", f"{EDITS}.areal_changes.ArealPlan.shapes_change", False, ("delete areal", "move corner")),
    ("terrain", f"{EDITS}.terrain.LevelPlan.unchanged", True, ("raise vertex", "delete face", "change blend")),
    ("areal map", f"{EDITS}.areal_changes._same", always, ("raise areal",)),
    ("terrain", "msh_gltf.converter.kinds.landscape.settle_microtextures", nothing, ("change microtexture",)),
    ("terrain", f"{EDITS}.terrain._report_levels", nothing, ("delete coarse",)),
    ("terrain", f"{EDITS}.terrain.LevelPlan.unchanged", True, ("assign material", "change coordinates")),
    ("mission", f"{EDITS}.mission_objects._Objects._set_place", nothing, ("move object", "turn object")),
    ("mission", f"{EDITS}.mission_objects._Objects._set_words", nothing, ("change clan",)),
    ("mission", f"{EDITS}.mission_objects._Objects._set_properties", nothing, ("change property",)),
    ("mission", f"{EDITS}.mission_objects._Objects._turn", same_words, ("turn object",)),
    ("mission", f"{EDITS}.mission_objects._Objects._scale", same_words, ("scale rock",)),
    ("mission", f"{EDITS}.mission_objects._Objects._set_name", nothing, ("rename object",)),
    ("mission", f"{EDITS}.placed_scene.Copies.is_like", always, ("sculpt one place",)),
    *(
        (name, f"{EDITS}.placements.Placements._report_foreign", nothing, ("add stray",))
        for name in ("mission", "unit")
    ),
    ("mission", ROOTS, nothing, ("move root",)),
    ("mission", f"{EDITS}.mission._edit_routes", nothing, ("move route",)),
    ("mission", f"{EDITS}.mission._edit_zones", nothing, ("move zone", "resize zone")),
    ("mission", f"{EDITS}.mission._edit_lodes", nothing, ("move lode", "change amount")),
    ("mission", f"{PLACED}._Import.import_placed", nothing, ("sculpt model", "copy inner")),
    ("unit", f"{PLACED}._Import.import_placed", nothing, ("sculpt model", "copy inner")),
    ("unit", f"{EDITS}.unit._Parts._set_key", nothing, ("exchange part",)),
    ("unit", f"{EDITS}.unit._Parts._set_words", same_words, ("change class of part", "change label of part")),
    ("unit", f"{EDITS}.placements.Placements._require_in_place", nothing, ("move part",)),
    ("unit", f"{EDITS}.unit._Parts._mount", same_words, ("mount part",)),
    ("unit", f"{PLACED}._on_sockets", lambda _, unit, __: unit, ("dissolve",)),
    ("points", f"{EDITS}.points._compare", keep_point, ("move point", "turn point", "rename point")),
    ("points", f"{EDITS}.points._compare", keep_point, ("nudge turn", "nudge length", "change second node of point")),
    ("points", f"{EDITS}.points._add", nothing, ("add point",)),
    ("ranges", f"{EDITS}.controller._Range.changed", same_words, ("move key of range",)),
    ("materials", f"{EDITS}.looks._Comparison._compare_colours", nothing, ("change colour", "change light")),
    *((name, f"{EDITS}.looks._Comparison._compare_colours", nothing, ("change colour",)) for name in _PLACED),
    ("materials", f"{EDITS}.looks._Comparison._compare_mode", nothing, ("change mode",)),
    ("materials", f"{EDITS}.looks._Comparison._light", nothing, ("light of one colour",)),
    ("materials", f"{EDITS}.looks._Comparison._picture", nothing, ("assign picture",)),
    ("materials", f"{EDITS}.looks._Comparison._edit_texture", nothing, ("repaint picture",)),
    ("materials", "msh_gltf.converter.kinds.import_result.settle_coordinates", nothing, ("shift picture",)),
]


@contextmanager
def ignored(target: str, instead: object) -> Iterator[None]:
    """Replace functions, or properties by what they say."""
    with ExitStack() as stack:
        for one in target.split():
            stack.enter_context(mock.patch(one, instead if callable(instead) else property(lambda _: instead)))
        yield
