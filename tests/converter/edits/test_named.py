"""Edits of a model that are not applied, and what an exporter leaves out: each is named, and nothing else is.

What comes of each stands in ``named.txt``; ``python -m tests.converter.edits.test_named`` writes it again, for you to
read what became different.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.edits.unit import new_title
from tests.support.corpus import LIBS
from tests.support.gltf_edit import Editable
from tests.support.recorded import Case, Recorded

NAMED = Recorded(__file__, "named.txt")
#: Models with lightmaps, with a path graph, and of 24-byte nodes.
ROBOT, ROOM, LEGACY = "retail__system__R_H_002", "retail__static__i_room_006", "retail__system__MTCHECK"
Json = dict[str, Any]


def turned(values: np.ndarray) -> np.ndarray:
    """Game axes instead of those of glTF."""
    out = values.copy()
    out[..., 1], out[..., 2] = -values[..., 2], values[..., 1]
    return out


def without(d: Editable, attribute: str, meshes: int | None = None) -> None:
    """Take an attribute from all meshes, or from the first ones."""
    drawn = [mesh for mesh in d.json["meshes"] if mesh["primitives"][0].get("mode", 4) == 4]
    for primitive in (p for mesh in drawn[:meshes] for p in mesh["primitives"]):
        primitive["attributes"].pop(attribute, None)


def nodes_alone_z_up(d: Editable) -> None:
    """Where the meshes are symmetric, only the places of the nodes tell."""
    for node in d.json["nodes"]:
        for path in {"translation", "rotation"} & node.keys():
            node[path] = turned(np.array(node[path])).tolist()
    for clip in d.json.get("animations", []):
        for accessor in {sampler["output"] for sampler in clip["samplers"]}:
            d.arrays[accessor] = turned(d.arrays[accessor])


def flattened(d: Editable) -> None:
    for node in d.json["nodes"]:
        node.pop("children", None)
    d.json["scenes"][0]["nodes"] = [*range(len(d.json["nodes"]))]


def part_on_purpose(d: Editable) -> None:
    accessor = d.primitives()[0]["attributes"]["POSITION"]
    d.arrays[accessor] = turned(d.arrays[accessor])


def no_materials(d: Editable) -> None:
    del d.json["materials"]
    for primitive in d.primitives():
        primitive.pop("material", None)


def bare_box(d: Editable) -> None:
    primitive = {key: value for key, value in d.primitives()[0].items() if key != "material"}
    d.json["meshes"].append({"name": "box", "primitives": [primitive]})
    d.json["nodes"].append({"name": "box", "mesh": len(d.json["meshes"]) - 1})
    d.json["scenes"][0]["nodes"].append(len(d.json["nodes"]) - 1)


def looks(edit: Callable[[Json], object]) -> Callable[[Editable], None]:
    """An edit of all materials of one name, which has a picture where any has: without extras any of them would do."""

    def edit_all(d: Editable) -> None:
        used = [d.json["materials"][p["material"]] for p in d.primitives()]
        used.sort(key=lambda m: "baseColorTexture" not in m["pbrMetallicRoughness"])
        for material in d.json["materials"]:
            if material["name"] == used[0]["name"]:
                edit(material)

    return edit_all


def row_of_its_own(d: Editable) -> None:
    """One of two materials of a row is called otherwise."""
    first, *others = (d.json["materials"][p["material"]] for p in d.primitives())
    row = first["extras"]["msh"]["row"]
    next(m for m in others if m["extras"]["msh"]["row"] == row and m is not first)["name"] = "rust"


def after_its_node(d: Editable) -> None:
    """Who renames a node need not rename its parts; one that is moved to another cell by its name moves."""
    part = d.node("Wheel_c_m1o1.level1")
    part["name"] = "Wheel_c_m1o1.stage2.level1"
    d.json["nodes"][part["extras"]["msh"]["node"]]["name"] = "another"


LOOKS: dict[str, Callable[[Json], object]] = {
    "colour": lambda m: m["pbrMetallicRoughness"].update(baseColorFactor=[0.25, 0.5, 0.75, 1]),
    "emission": lambda m: m.update(emissiveFactor=[0.25, 0.5, 0.75]),
    "alpha mode": lambda m: m.update(alphaMode="MASK"),
    "back faces": lambda m: m.update(doubleSided=False),
    "metal": lambda m: m["pbrMetallicRoughness"].update(metallicFactor=1, roughnessFactor=0.25),
    "unlit": lambda m: m.update(extensions={"KHR_materials_unlit": {}}),
}
PLAIN, PICTURES, UNWRITTEN = ("--no-textures",), ("--textures", LIBS), {"libraries": False}
CASES = {
    "z up, nodes alone": Case(nodes_alone_z_up, ROBOT),
    "flattened": Case(flattened, ROBOT),
    "a part turned on purpose": Case(part_on_purpose, ROBOT),
    "no texture coordinates": Case(lambda d: without(d, "TEXCOORD_0"), ROBOT),
    "no normals": Case(lambda d: without(d, "NORMAL"), ROBOT),
    **{
        f"no normals in {count} meshes{', alone' * alone}": Case(
            lambda d, count=count: without(d, "NORMAL", count), ROOM, alone=alone
        )
        for count in (1, 5, 6)
        for alone in (False, True)
    },
    "faces without a material": Case(lambda d: d.primitives()[0].pop("material"), ROBOT, PLAIN),
    "no materials": Case(no_materials, ROBOT, PLAIN),
    "a new object without a material": Case(bare_box, ROBOT, PLAIN),
    **{
        f"{name}{', no extras' * bare}": Case(
            looks(edit), ROBOT, PICTURES, extras=not bare, options={"libraries": False}
        )
        for name, edit in (LOOKS | {"no picture": lambda m: m["pbrMetallicRoughness"].pop("baseColorTexture")}).items()
        for bare in (False, True)
    },
    **{f"{name}, alone": Case(looks(edit), ROBOT, PLAIN, alone=True) for name, edit in LOOKS.items()},
    "legacy nodes, alone": Case(lambda d: None, LEGACY, alone=True),
    "a path graph": Case(lambda d: None, ROOM, ("--paths",)),
    "a path graph, alone": Case(lambda d: None, ROOM, ("--paths",), alone=True),
    "a name on a row, alone": Case(row_of_its_own, ROBOT, alone=True),
    "a part is called after its node, alone": Case(after_its_node, ROBOT, alone=True),
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    NAMED.require(name, CASES[name].found(tmp_path))


@pytest.mark.parametrize(
    ("name", "label", "title"),
    [
        ("tower", "tower", None),
        ("tower.001", "tower", None),
        ("tower#2.001", "tower", None),
        ("", "tower", None),
        ("tower#x", "tower", "tower#x"),
        ("Fort.001", "tower", "Fort"),
        ("t" * 50, "t" * 56, None),  # a name of 63 bytes at most, with what makes it unique, was cut off
        ("t" * 50, "t" * 55, "t" * 50),
        ("s" + "t" * 50, "t" * 56, "s" + "t" * 50),
    ],
)
def test_names_that_the_export_made_are_no_new_ones(name: str, label: str, title: str | None) -> None:
    assert new_title(name, label) == title


if __name__ == "__main__":
    NAMED.write_each(CASES, lambda name, folder: CASES[name].found(folder))
