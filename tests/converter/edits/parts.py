"""Parts (a cell of node, LOD and group each) that are missing, moved, copied, renamed, or stand elsewhere."""

from typing import Any

import numpy as np

from msh_gltf.converter.formats.model import MshModel
from msh_gltf.converter.numeric.arrays import NONE16
from tests.support.corpus import DATA, SAMPLES, sample_called
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import Shown, name_like
from tests.support.rebuilt import parse
from tests.support.recorded import Case, made

#: Six nodes; LOD 0 to 2 and groups 0 and 4 in use.
PLANT = "spec__odd__B_PLANT_008"
#: Two of its eight nodes are cockpit nodes.
COCKPIT = "retail__odd__s_rock_009"


def part_names(document: Editable) -> list[str]:
    """The objects of parts outside the default scene."""
    return [node["name"] for node in document.json["nodes"] if "lod" in node.get("extras", {})["msh"]]


def name_of(document: Editable, row: int, lod: int, group: int) -> str:
    """What the object of a part is called."""
    info = document.json["scenes"][0]["extras"]["msh"]
    form = ".stage0" if info["dialect"] == "retail" else ".lod0"
    return name_like(f"x{form}", document.json["nodes"][row]["name"], lod, group).replace(".stage0.", ".")


def cells_of(model: MshModel, lod: int, group: int) -> list[int]:
    return np.flatnonzero(model.nodes["slot_index"][:, lod, group] != NONE16).tolist()


BUNDLED = [sample.id for sample in SAMPLES if sample.path.parent == DATA and not sample.truth["legacy"]]
MODEL = parse(sample_called(PLANT).source)
#: Nodes with a part in LOD 2; of one of them the node is a root.
FAR = cells_of(MODEL, 2, 0)
ROOT = next(row for row in FAR if MODEL.nodes["parent"][row] == NONE16)
BOTH = cells_of(MODEL, 1, 4)[0]


def part(d: Editable, row: int = FAR[0], lod: int = 2, group: int = 0) -> dict[str, Any]:
    return d.node(name_of(d, row, lod, group))


def rename(d: Editable, row: int, old: tuple[int, int], new: tuple[int, int]) -> None:
    part(d, row, *old)["name"] = name_of(d, row, *new)


def delete(d: Editable, *names: str) -> None:
    d.take_out(*(d.json["nodes"].index(d.node(name)) for name in names))
    d.json["scenes"] = [scene for scene in d.json["scenes"] if "nodes" in scene]


def move_and_edit(d: Editable) -> None:
    """What no editor shows stays: flags of triangles, words of the slot, Res15."""
    rename(d, FAR[0], (2, 0), (2, 3))
    moved = part(d, FAR[0], 2, 3)
    moved["extras"]["msh"] |= {"lod": 2, "group": 3}
    attributes = d.json["meshes"][moved["mesh"]]["primitives"][0]["attributes"]
    d.arrays[attributes["POSITION"]] = d.arrays[attributes["POSITION"]].copy()
    d.arrays[attributes["POSITION"]][0, 0] += 0.25


def contradict(d: Editable) -> None:
    """The name says one cell, the extras another."""
    node = part(d)
    rename(d, FAR[0], (2, 0), (2, 3))
    node["extras"]["msh"] |= {"lod": 2, "group": 4}


def name_a_copy(d: Editable) -> None:
    """Flags alone do not make a node a copy: an editor dropped the extras, and somebody gave flags to one of two."""
    for node in d.json["nodes"]:
        node.pop("extras", None)
    node = d.node("Base_TM")
    d.put({key: value for key, value in node.items() if key != "children"} | {"name": "Base_TM.001"})
    node["extras"] = {"msh": {"tri_flags": 32}}


def shift(node: dict[str, Any]) -> None:
    node["translation"] = [x + 1 for x in node.get("translation", [0, 0, 0])]


def forget(d: Editable) -> None:
    """An empty without its name is known by its place."""
    node = d.node("Wheel_m4o1")
    del node["extras"]
    node["name"] = "other"


def two_in_one_cell(d: Editable) -> None:
    """A node of the cockpit has no mesh in the scene that is shown; its own part is an object of another scene."""
    view = d.node("CP_7.view")
    d.node("CP_7")["mesh"] = view["mesh"]
    d.take_out(d.json["nodes"].index(view))


def hide(d: Editable) -> None:
    """As *Visible Objects* exports it: nothing but the default scene's collection."""
    delete(d, *part_names(d))


def hide_and_add(d: Editable, group: int) -> None:
    """A new part does not make hidden ones deleted; nor does one in place of a hidden one."""
    row = next(r for r in FAR if r in cells_of(MODEL, 0, 0))
    there = part(d, row)
    hide(d)
    kept = {key: there[key] for key in ("translation", "rotation") if key in there}
    d.put({**kept, "name": name_of(d, row, 2, group), "mesh": d.json["nodes"][row]["mesh"]})
    there["name"] = "gone"


def hide_but_cockpit(d: Editable) -> None:
    """Cockpit parts are outside of the default scene: one of them that arrived shows that nothing was hidden."""
    rows = np.flatnonzero((parse(sample_called(COCKPIT).source).nodes["flags"] & 0x20) != 0).tolist()
    delete(d, *({*part_names(d)} - {name_of(d, row, 0, 0) for row in rows}))


def bare(d: Editable) -> None:
    del next(node for node in d.json["nodes"] if "mesh" in node)["mesh"]


def keep_two(d: Editable) -> None:
    """As *Selected Objects* leaves a file."""
    for node in d.json["nodes"]:
        node.pop("children", None)
    d.json["scenes"] = [{**d.json["scenes"][0], "nodes": [0, 1]}]


def to_the_origin(d: Editable) -> None:
    """What Blender makes of collections that are switched off in a reopened .blend."""
    for name in ("gun.level1", "turret.level1"):
        d.node(name)["translation"] = [0, 0, 0]
    d.node("shin_l.level1")["translation"][0] += 1


def last_part_gone(d: Editable) -> None:
    """What is left is a prefix of the old tables: they shrink all the same."""
    last = max(range(len(d.json["meshes"])), key=lambda i: d.json["meshes"][i]["extras"]["msh"].get("slot", -1))
    next(node for node in d.json["nodes"] if node.get("mesh") == last).pop("mesh")


def other_frame(document: Editable) -> None:
    """Blender exports the transform of the current frame, which may be any: a part of the node goes with frame 0."""
    node = document.node("shin_l")
    node["translation"] = [x + 0.5 for x in node.get("translation", [0, 0, 0])]
    node["rotation"] = [0.6, 0, 0, 0.8]


def part_moved(document: Editable) -> None:
    other_frame(document)
    document.node("shin_l.level1")["translation"][0] += 2


def part_with_its_node(document: Editable) -> None:
    other_frame(document)
    part, node = document.node("shin_l.level1"), document.json["nodes"].index(document.node("shin_l"))
    for path in ("translation", "rotation", "scale"):
        part.pop(path, None)
    part["matrix"] = Shown(document).poses(own=True)[node].T.reshape(-1).tolist()


VISIBLE = ("--parts", "visible")
CASES = {
    "parts came to the origin": Case(to_the_origin),
    "moved and edited": Case(move_and_edit, PLANT),
    "a node of a mesh that is there": Case(lambda d: d.put({"name": "antenna", "mesh": 0}), PLANT),
    "a name that is taken": Case(lambda d: part(d).update(name=name_of(d, FAR[0], 1, 0) + ".001"), PLANT),
    "a name of no part": Case(lambda d: part(d).update(name="far away"), PLANT),
    "name and extras": Case(contradict, PLANT),
    "a copy of a node, and flags": Case(name_a_copy),
    "moved with its node": Case(lambda d: [shift(node) for node in (d.json["nodes"][ROOT], part(d, ROOT))], PLANT),
    **{f"{name}, the last part gone": Case(last_part_gone, name) for name in BUNDLED},
    "an empty without its name": Case(forget, PLANT),
    "two in one cell": Case(two_in_one_cell, COCKPIT),
    "hidden": Case(hide, PLANT),
    "hidden, deleted": Case(hide, PLANT, options={"allow_delete": True}),
    "hidden, and one that was visible": Case(lambda d: (hide(d), bare(d)), PLANT),
    **{f"hidden, and a new one in group {k}": Case(lambda d, k=k: hide_and_add(d, k), PLANT) for k in (0, 3)},
    "hidden, but for the cockpit": Case(hide_but_cockpit, COCKPIT),
    "hidden, with the cockpit": Case(hide, COCKPIT),
    "only the visible exported": Case(lambda d: None, PLANT, VISIBLE),
    "only the visible exported, one deleted": Case(bare, PLANT, VISIBLE),
    # of a model of the default cell alone nothing can be hidden
    "of a model with nothing else": Case(bare, PLANT, before=made(lambda d: None, *VISIBLE, use_sidecar=False)),
    "most nodes gone": Case(keep_two, PLANT),
    "most nodes gone, allowed": Case(keep_two, PLANT, options={"allow_delete": True}),
    **{
        f"Base_TM.{name} is put where another one is{', alone' * alone}": Case(
            lambda d, name=name, cell=cell: d.node(f"Base_TM.{name}")["extras"]["msh"].update(cell), alone=alone
        )
        for name, cell in (("stage1", {"lod": 0, "group": 1}), ("level1", {"lod": 1, "group": 0}))
        for alone in (False, True)
    },
    # of nodes whose parts the file never had
    "node scaled whose parts are not there": Case(
        lambda d: d.node("leaf1").update(scale=[2.0, 2.0, 2.0]), "tree", VISIBLE
    ),
    "node moved whose parts are not there": Case(
        lambda d: d.node("leaf1").update(translation=[1.0, 2.0, 3.0]), "tree", VISIBLE
    ),
    "node at another frame, its part moved": Case(part_moved),
    "node at another frame, its part with it": Case(part_with_its_node),
}
