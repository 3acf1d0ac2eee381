"""Edits of custom properties, and what glTF can have besides."""

import copy

import numpy as np

from tests.support.random_edits.base import Edited, edit, extras_of, name_of, owner_name


def stored_node(d: Edited, chance: np.random.Generator) -> int:
    """A node of the file whose custom properties are still there."""
    return d.some(
        chance, lambda i: not d.is_part(i) and "node" in d.nodes[i].get("extras", {}).get("msh", {}) and i in d.origin
    )


@edit
def change_flags(d: Edited, chance: np.random.Generator) -> list[str]:
    i = stored_node(d, chance)
    extras_of(d, i)["flags"] = extras_of(d, i).get("flags", 0) ^ int(chance.choice([1, 2, 0x4000]))
    return [name_of(d, i)]


@edit
def change_label(d: Edited, chance: np.random.Generator) -> list[str]:
    i = stored_node(d, chance)
    extras_of(d, i)["label"] = "ключ_7"
    return [name_of(d, i)]


@edit
def set_tri_flags_of_an_object(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: "mesh" in d.nodes[i])
    extras_of(d, i)["tri_flags"] = int(chance.choice([2, 4, 16, 32]))
    return [name_of(d, i), owner_name(d, i)]


@edit
def set_tri_flags_of_a_material(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    material = copy.deepcopy(d.json["materials"][primitive.get("material", 0)])
    material.setdefault("extras", {}).setdefault("msh", {})["tri_flags"] = 2
    d.json["materials"].append(material)
    primitive["material"] = len(d.json["materials"]) - 1
    return [name_of(d, i), owner_name(d, i), material["name"]]


@edit
def instances(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: "mesh" in d.nodes[i] and not d.is_part(i))
    count = int(chance.integers(2, 4))
    places = chance.normal(0, d.size, (count, 3)).astype(np.float32)
    copies = {"attributes": {"TRANSLATION": d.add(places)}}
    d.nodes[i].setdefault("extensions", {})["EXT_mesh_gpu_instancing"] = copies
    d.json.setdefault("extensionsUsed", []).append("EXT_mesh_gpu_instancing")
    return [name_of(d, i)]


@edit
def hide_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.require_more_than([i, *d.below(i)])
    d.nodes[i].setdefault("extensions", {})["KHR_node_visibility"] = {"visible": False}
    d.json.setdefault("extensionsUsed", []).append("KHR_node_visibility")
    names = [name_of(d, k) for k in (i, *d.below(i))]
    d.forget([i, *d.below(i)])
    return names


@edit
def require_unlit(d: Edited, chance: np.random.Generator) -> list[str]:
    """It only changes how things look."""
    material = d.json["materials"][int(chance.integers(len(d.json["materials"])))]
    material.setdefault("extensions", {})["KHR_materials_unlit"] = {}
    for key in ("extensionsUsed", "extensionsRequired"):
        d.json.setdefault(key, []).append("KHR_materials_unlit")
    return ["KHR_materials_unlit", material["name"]]


@edit
def morph_target(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    points = d.arrays[primitive["attributes"]["POSITION"]]
    target = d.add(chance.normal(0, 0.1 * d.size, points.shape).astype(np.float32))
    mesh = d.json["meshes"][d.nodes[i]["mesh"]]
    for other in mesh["primitives"]:
        other["targets"] = [{"POSITION": target}] if other is primitive else [{}]
    mesh["weights"] = [0.0]
    return [name_of(d, i), owner_name(d, i), mesh.get("name", "")]


@edit
def skin(d: Edited, chance: np.random.Generator) -> list[str]:
    """All of a mesh on one bone, where it stands."""
    i, _ = d.some_primitive(chance)
    mesh = d.json["meshes"][d.nodes[i]["mesh"]]
    for part in mesh["primitives"]:
        count = len(d.arrays[part["attributes"]["POSITION"]])
        part["attributes"]["JOINTS_0"] = d.add(np.zeros((count, 4), np.uint8))
        weights = np.float32([[1, 0, 0, 0]]).repeat(count, axis=0)
        part["attributes"]["WEIGHTS_0"] = d.add(weights)
    bone = d.append({"name": "Bone9"})
    d.json.setdefault("skins", []).append({"joints": [bone]})
    d.nodes[i]["skin"] = len(d.json["skins"]) - 1
    return [name_of(d, i), owner_name(d, i), mesh.get("name", "")]
