"""Edits of nodes and their places."""

import copy
from typing import Any

import numpy as np

from tests.support.random_edits.base import (
    Edited,
    NotHere,
    edit,
    name_of,
    of_node,
    of_still_node,
    owner_name,
    turn,
    turned,
    vector,
)


@of_still_node
def move_node(d: Edited, i: int, chance: np.random.Generator) -> None:
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    d.nodes[i]["translation"] = (start + vector(chance, 0.1 * d.size)).tolist()


@of_still_node
def turn_node(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.nodes[i]["rotation"] = turned(d.nodes[i].get("rotation", [0, 0, 0, 1]), turn(chance))


@edit
def scale_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.nodes[i]["scale"] = chance.uniform(0.5, 2, 1 if chance.random() < 0.5 else 3).tolist()
    d.nodes[i]["scale"] = (d.nodes[i]["scale"] * 3)[:3]
    return [name_of(d, k) for k in (i, *d.below(i))]


@of_node
def mirror_node(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.nodes[i]["scale"] = [-1.0, 1.0, 1.0][:: int(chance.choice([-1, 1]))]


@of_node
def scale_to_nothing(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.nodes[i]["scale"] = [0.0, 1.0, 1.0]


@edit
def rename_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    before = name_of(d, i)
    d.nodes[i]["name"] = (
        str(chance.choice(["turret", "Башня", "a", "n" * 31]))
        + str(chance.integers(10) if before else "")[: int(chance.integers(2))]
    )
    if d.nodes[i]["name"] in [name_of(d, k) for k in d.listed() if k != i]:
        raise NotHere
    return [before, name_of(d, i)]


@of_node
def rename_node_too_long(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.nodes[i]["name"] = "long" * 12


@of_node
def rename_node_beyond_cp1251(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.nodes[i]["name"] = "塔" + str(i)


@of_node
def reparent_node(d: Edited, i: int, chance: np.random.Generator) -> None:
    taken = {i, *d.below(i)}
    above = d.some(chance, lambda k: k not in taken and not d.is_part(k))
    d.detach(i)
    d.nodes[above].setdefault("children", []).append(i)


@of_node
def make_node_a_root(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.detach(i)
    d.scenes[0].setdefault("nodes", []).append(i)


@edit
def delete_node(d: Edited, chance: np.random.Generator) -> list[str]:
    """With all below it; its parts in other scenes stay, as in Blender."""
    i = d.some_node(chance)
    gone = [i, *d.below(i)]
    d.require_more_than(gone)
    d.detach(i)
    d.forget(gone)
    return [name_of(d, k) for k in gone]


@edit
def delete_node_and_its_parts(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    gone = [i, *d.below(i)]
    names = {name_of(d, k) for k in gone}
    d.require_more_than(gone)
    parts = [k for k in d.listed() if d.is_part(k) and owner_name(d, k) in names]
    for k in (i, *parts):
        d.detach(k)
    d.forget(gone)
    return [*names, *(name_of(d, k) for k in parts)]


@edit
def delete_node_but_not_its_children(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: d.nodes[i].get("children"))
    at = d.parent_list(i)
    at.remove(i)
    at += d.nodes[i].pop("children")
    d.forget([i])
    return [name_of(d, i)]


@edit
def duplicate_node(d: Edited, chance: np.random.Generator) -> list[str]:
    """Shift-D: a copy with the same mesh and extras."""
    i = d.some_node(chance)
    new = copy.deepcopy({k: v for k, v in d.nodes[i].items() if k != "children"})
    new["name"] = name_of(d, i) + ".001"
    new["translation"] = vector(chance, d.size).tolist()
    if new["name"] in [name_of(d, k) for k in d.listed()]:
        raise NotHere
    d.append(new)
    return [new["name"]]


@edit
def duplicate_tree(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: not d.is_part(i) and d.nodes[i].get("children"))

    def copied(k: int) -> int:
        new = copy.deepcopy(d.nodes[k])
        new["name"] = name_of(d, k) + ".002"
        new["children"] = [copied(c) for c in d.nodes[k].get("children", [])]
        d.nodes.append(new)
        return len(d.nodes) - 1

    top = copied(i)
    d.nodes[top]["translation"] = vector(chance, d.size).tolist()
    d.scenes[0]["nodes"].append(top)
    return [name_of(d, top)]


@edit
def new_empty(d: Edited, chance: np.random.Generator) -> list[str]:
    place = vector(chance, d.size).tolist()
    d.append({"name": "socket9", "translation": place}, d.some_node(chance))
    return ["socket9"]


def _cube(d: Edited, chance: np.random.Generator, **more: Any) -> int:
    """A mesh of one pyramid."""
    points = chance.uniform(-0.2, 0.2, (4, 3)) * d.size
    face = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
    if np.linalg.det(points[1:] - points[0]) < 0:
        face = [f[::-1] for f in face]
    corners = points[face].reshape(-1, 3)
    normal = np.cross(points[face][:, 1] - points[face][:, 0], points[face][:, 2] - points[face][:, 0])
    normal = np.repeat(normal / np.linalg.norm(normal, axis=1, keepdims=True), 3, axis=0)
    uv = chance.uniform(0, 1, (12, 2))
    attributes = {
        "POSITION": d.add(corners.astype(np.float32)),
        "NORMAL": d.add(normal.astype(np.float32)),
        "TEXCOORD_0": d.add(uv.astype(np.float32)),
    }
    primitive = {"attributes": attributes, "indices": d.add(np.arange(12, dtype=np.uint16)[:, None])}
    d.json.setdefault("meshes", []).append({"name": "Pyramid", "primitives": [primitive | more]})
    return len(d.json["meshes"]) - 1


@edit
def new_object(d: Edited, chance: np.random.Generator) -> list[str]:
    material = int(chance.integers(len(d.json["materials"])))
    mesh = _cube(d, chance, material=material)
    below = d.some_node(chance) if chance.random() < 0.7 else None
    d.append({"name": "Pyramid", "mesh": mesh, "translation": vector(chance, d.size).tolist()}, below)
    return ["Pyramid"]


@edit
def new_object_without_material(d: Edited, chance: np.random.Generator) -> list[str]:
    d.append({"name": "Bare", "mesh": _cube(d, chance)})
    return ["Bare", "Pyramid"]


@edit
def object_without_name(d: Edited, chance: np.random.Generator) -> list[str]:
    material = int(chance.integers(len(d.json["materials"])))
    below = d.some_node(chance)
    d.append({"mesh": _cube(d, chance, material=material)}, below)
    return ["Pyramid"]
