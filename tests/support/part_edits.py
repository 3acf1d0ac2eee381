"""Edits of parts in a glTF file, and what an import makes of them."""

from collections.abc import Callable

import numpy as np

from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.numeric.arrays import NONE16
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import name_like

#: Six nodes; LOD 0 to 2 and groups 0 and 4 in use.
PLANT = "spec__odd__B_PLANT_008"
#: Two of its eight nodes are cockpit nodes.
COCKPIT = "retail__odd__s_rock_009"
Edit = Callable[[Editable], None]


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "x"), "x")


def delete(document: Editable, *names: str) -> None:
    """Take nodes out of every scene, as Blender leaves them."""
    nodes = document.json["nodes"]
    gone = {i for i, node in enumerate(nodes) if node["name"] in names}
    assert len(gone) == len(names)
    for scene in document.json["scenes"]:
        scene["nodes"] = [i for i in scene["nodes"] if i not in gone]
    document.json["scenes"] = [s for s in document.json["scenes"] if s["nodes"]]
    for node in nodes:
        if gone & set(node.get("children", [])):
            node["children"] = [i for i in node["children"] if i not in gone]


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
