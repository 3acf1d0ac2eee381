"""Edits of where objects stand as wholes: all scaled at once, transforms applied, origins set.

They are tried one by one (``PLACES``), and not drawn for trials of several edits.
"""

import copy

import numpy as np
from scipy.spatial.transform import Rotation

from tests.support.gltf_shown import trs
from tests.support.random_edits.base import Array, Edit, Edited, name_of, owner_name, turn, turned, vector

PLACES: dict[str, Edit] = {}


def place(function: Edit) -> Edit:
    PLACES[function.__name__.replace("_", " ")] = function
    return function


def keys(d: Edited, index: int, path: str) -> list[int]:
    """The accessors of a node's keys of a path."""
    return [
        clip["samplers"][channel["sampler"]]["output"]
        for clip in d.json.get("animations", [])
        for channel in clip["channels"]
        if (channel["target"].get("node"), channel["target"]["path"]) == (index, path)
    ]


def move(d: Edited, index: int, by: Array) -> None:
    """Move an object and its keys, in the frame that it stands in."""
    node = d.nodes[index]
    node["translation"] = (np.array(node.get("translation", [0, 0, 0])) + by).tolist()
    for output in keys(d, index, "translation"):
        d.arrays[output] = d.arrays[output] + np.float32(by)


def carry(d: Edited, index: int, matrix: Array) -> None:
    """Move and turn an object and its keys by a rigid (4, 4) matrix."""
    node, rotation = d.nodes[index], Rotation.from_matrix(matrix[:3, :3])
    stands = matrix @ trs(node)
    node["translation"] = stands[:3, 3].tolist()
    node["rotation"] = Rotation.from_matrix(stands[:3, :3]).as_quat().tolist()
    for output in keys(d, index, "translation"):
        d.arrays[output] = np.float32(rotation.apply(d.arrays[output]) + matrix[:3, 3])
    for output in keys(d, index, "rotation"):
        d.arrays[output] = np.float32((rotation * Rotation.from_quat(d.arrays[output])).as_quat())


def bake(d: Edited, index: int, matrix: Array) -> None:
    """Transform the vertices of an object, and what stands below it, by a rigid (4, 4) matrix."""
    mesh = copy.deepcopy(d.json["meshes"][d.nodes[index]["mesh"]])
    d.json["meshes"].append(mesh)
    d.nodes[index]["mesh"] = len(d.json["meshes"]) - 1
    for primitive in mesh["primitives"]:
        points = d.own(primitive, "POSITION")
        points[:] = points @ matrix[:3, :3].T + matrix[:3, 3]
        normals = d.own(primitive, "NORMAL")
        normals[:] = normals @ matrix[:3, :3].T
    for child in d.nodes[index].get("children", []):
        carry(d, child, matrix)


def apply_transform(d: Edited, index: int) -> list[str]:
    """As Blender does, which keeps what is below where it is."""
    bake(d, index, trs(d.nodes[index]))
    for key in ("translation", "rotation", "scale"):
        d.nodes[index].pop(key, None)
    return [name_of(d, index), owner_name(d, index)]


def scale(d: Edited, roots: list[int]) -> list[str]:
    """Scale objects about the model's origin."""
    for i in roots:
        node = d.nodes[i]
        node["translation"] = [1.5 * x for x in node.get("translation", [0, 0, 0])]
        node["scale"] = [1.5 * x for x in node.get("scale", [1, 1, 1])]
        for output in keys(d, i, "translation"):
            d.arrays[output] = d.arrays[output] * np.float32(1.5)
    return [name_of(d, i) for i in range(len(d.nodes))]


@place
def scale_all(d: Edited, chance: np.random.Generator) -> list[str]:
    return scale(d, sorted({i for scene in d.scenes for i in scene.get("nodes", [])}))


@place
def scale_the_first_scene(d: Edited, chance: np.random.Generator) -> list[str]:
    return scale(d, d.scenes[0]["nodes"])


@place
def move_node_and_its_parts_apart(d: Edited, chance: np.random.Generator) -> list[str]:
    part = d.some_part(chance)
    owner = owner_name(d, part)
    by = vector(chance, 0.2 * d.size)
    for i in d.listed():
        if owner in (name_of(d, i), owner_name(d, i) if d.is_part(i) else ""):
            move(d, i, by if d.is_part(i) else by / 2)
    return [owner, name_of(d, part)]


@place
def turn_part_object(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    d.nodes[i]["rotation"] = turned(d.nodes[i].get("rotation", [0, 0, 0, 1]), turn(chance))
    return [name_of(d, i), owner_name(d, i)]


@place
def apply_transform_of_a_node(d: Edited, chance: np.random.Generator) -> list[str]:
    return apply_transform(
        d, d.some(chance, lambda i: "mesh" in d.nodes[i] and not d.is_part(i) and not d.is_animated(i))
    )


@place
def apply_transform_of_a_part(d: Edited, chance: np.random.Generator) -> list[str]:
    return apply_transform(d, d.some_part(chance))


@place
def set_origin(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: "mesh" in d.nodes[i] and not d.is_part(i))
    back, offset = np.eye(4), vector(chance, 0.2 * d.size)
    back[:3, 3] = -offset
    bake(d, i, back)
    move(d, i, trs(d.nodes[i])[:3, :3] @ offset)
    return [name_of(d, i)]


@place
def set_origin_and_replace_the_mesh(d: Edited, chance: np.random.Generator) -> list[str]:
    """By one of another size, whose object is scaled: nothing says that the parts are meant, too."""
    (name,) = set_origin(d, chance)
    node = next(node for node in d.nodes if node.get("name") == name and "mesh" in node)
    for primitive in d.json["meshes"][node["mesh"]]["primitives"]:
        points = d.own(primitive, "POSITION")
        points[:] = 40 * points**3
    node["scale"] = [0.01, 0.01, 0.01]
    return [name]
