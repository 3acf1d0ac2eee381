"""Edits of parts in a glTF file, and what an import makes of them."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.differences import diff_models
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import name_like
from tests.support.runs import to_gltf

#: Six nodes; LOD 0 to 2 and groups 0 and 4 in use.
PLANT = "spec__odd__B_PLANT_008"
#: Two of its eight nodes are cockpit nodes.
COCKPIT = "retail__odd__s_rock_009"
Edit = Callable[[Editable], None]


class Outcome(NamedTuple):
    """What came back, the model before and after, and the rows that differ by table."""

    back: ImportResult
    old: MshModel
    new: MshModel
    tables: dict[str, list[int]]

    @property
    def changes(self) -> list[str]:
        return [str(change) for change in self.back.changes]

    def cell(self, row: int, lod: int, group: int) -> int:
        return int(self.new.nodes["slot_index"][row, lod, group])


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "x"), "x")


def edited(folder: Path, name: str, edit: Edit, *options: object, given: ImportOptions | None = None) -> Outcome:
    """Export a sample, edit the file, import it."""
    sample = sample_called(name)
    document = Editable(to_gltf(sample, folder / "m.glb", *options))
    edit(document)
    document.save(folder / "e.glb")
    back = import_gltf(folder / "e.glb", folder / "m.msh-sidecar", given)
    old, new = parse(sample.source), parse(back.data)
    tables: dict[str, list[int]] = {}
    for item in diff_models(old, new):
        tables.setdefault(item["table"].partition(" ")[0], []).extend(item.get("rows", [-1]))
    return Outcome(back, old, new, tables)


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
