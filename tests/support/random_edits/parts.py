"""Edits of parts: levels of detail and groups."""

import copy

import numpy as np

from tests.support.gltf_shown import name_like, part_of_name
from tests.support.random_edits.base import Edited, NotHere, edit, name_of, of_part, owner_name, vector


@edit
def move_part_to_another_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    """By custom properties, or by name where there are none."""
    i = d.some_part(chance)
    name, extras = name_of(d, i), d.nodes[i].get("extras", {}).get("msh", {})
    match = part_of_name(name)
    owner = match[0] if match else name
    taken = {part_of_name(name_of(d, k)) for k in d.listed()}
    free = [(a, b) for a in range(3) for b in range(5) if (a, b) != (0, 0)]
    free = [(a, b) for a, b in free if (owner, a, b) not in taken]
    lod, group = free[int(chance.integers(len(free)))]
    if "lod" in extras:
        extras |= {"lod": lod, "group": group}
    if match:
        d.nodes[i]["name"] = name_like(name, owner, lod, group)
    return [name, name_of(d, i), owner]


@edit
def move_part_into_the_first_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    """Of a node that shows nothing there: its mesh becomes the node's."""

    def fits(i: int) -> bool:
        owner = owner_name(d, i)
        return d.is_part(i) and any(name_of(d, k) == owner and "mesh" not in d.nodes[k] for k in d.listed())

    i = d.some(chance, fits)
    owner = next(k for k in d.listed() if name_of(d, k) == owner_name(d, i) and not d.is_part(k))
    d.nodes[owner]["mesh"] = d.nodes[i]["mesh"]
    d.detach(i)
    return [name_of(d, i), name_of(d, owner)]


@edit
def move_part_to_another_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    before, match = name_of(d, i), part_of_name(name_of(d, i))
    if match is None:
        raise NotHere
    extras = d.nodes[i].get("extras", {}).get("msh", {})
    taken = {part_of_name(name_of(d, k)) for k in d.listed()}

    def fits(k: int) -> bool:
        row = d.nodes[k].get("extras", {}).get("msh", {}).get("node")
        return (
            not d.is_part(k) and (name_of(d, k), *match[1:]) not in taken and ("node" not in extras or row is not None)
        )

    other = d.some(chance, fits)
    if "node" in extras:
        extras["node"] = d.nodes[other]["extras"]["msh"]["node"]
    d.nodes[i]["name"] = name_like(before, name_of(d, other), *match[1:])
    return [before, name_of(d, i), name_of(d, other)]


@edit
def copy_part_to_another_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    new = copy.deepcopy(d.nodes[i])
    match = part_of_name(name_of(d, i))
    extras = new.get("extras", {}).get("msh", {})
    lod = int(chance.integers(1, 3))
    if match is None or (match[0], lod, 4) in [part_of_name(name_of(d, k)) for k in d.listed()]:
        raise NotHere
    name = name_like(name_of(d, i), match[0], lod, 4)
    if "lod" in extras:
        extras |= {"lod": lod, "group": 4}
    new["name"] = name
    d.append(new)
    return [name, match[0]]


@of_part
def delete_part(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.detach(i)


@edit
def delete_shown_part(d: Edited, chance: np.random.Generator) -> list[str]:
    """The mesh of a node goes, the node stays."""
    i = d.some(chance, lambda i: not d.is_part(i) and "mesh" in d.nodes[i])
    del d.nodes[i]["mesh"]
    return [name_of(d, i)]


@edit
def delete_a_whole_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    scenes = [s for s in d.scenes[1:] if s.get("nodes")]
    if not scenes:
        raise NotHere
    scene = scenes[int(chance.integers(len(scenes)))]
    gone = scene["nodes"]
    d.scenes.remove(scene)
    return [n for i in gone for n in (name_of(d, i), owner_name(d, i))]


@edit
def drop_all_other_scenes(d: Edited, chance: np.random.Generator) -> list[str]:
    """As *Visible Objects* exports."""
    gone = [i for s in d.scenes[1:] for i in s.get("nodes", [])]
    if not gone:
        raise NotHere
    del d.scenes[1:]
    return [n for i in gone for n in (name_of(d, i), owner_name(d, i))]


@edit
def put_all_into_the_first_scene(d: Edited, chance: np.random.Generator) -> list[str]:
    """As Blender does; nothing is changed by it."""
    for scene in d.scenes[1:]:
        d.scenes[0].setdefault("nodes", []).extend(scene.get("nodes", []))
        scene["nodes"] = []
    return []


@of_part
def move_part_object(d: Edited, i: int, chance: np.random.Generator) -> None:
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    d.nodes[i]["translation"] = (start + vector(chance, 0.2 * d.size)).tolist()


@of_part
def scale_part_object(d: Edited, i: int, chance: np.random.Generator) -> None:
    d.nodes[i]["scale"] = chance.uniform(0.5, 2, 3).tolist()


@edit
def use_another_mesh(d: Edited, chance: np.random.Generator) -> list[str]:
    i, k = d.some_object(chance), d.some_object(chance)
    d.nodes[i]["mesh"] = d.nodes[k]["mesh"]
    return [name_of(d, i), owner_name(d, i)]


@edit
def rename_part_against_its_extras(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: "lod" in d.nodes[i].get("extras", {}).get("msh", {}))
    before, match = name_of(d, i), part_of_name(name_of(d, i))
    if match is None:
        raise NotHere
    name = name_like(before, match[0], (match[1] + 1) % 3 or 1, match[2])
    if name in [name_of(d, k) for k in d.listed()] or name == before:
        raise NotHere
    d.nodes[i]["name"] = name
    return [before, name, match[0]]


@of_part
def put_part_below_another_node(d: Edited, i: int, chance: np.random.Generator) -> None:
    """It stays where it was, or nearly."""
    above = d.some(chance, lambda k: not d.is_part(k))
    worlds = d.worlds()
    matrix = np.linalg.inv(worlds[above]) @ worlds[i]
    matrix[:3, 3] += vector(chance, 0.1 * d.size) * chance.integers(2)
    d.detach(i)
    d.nodes[above].setdefault("children", []).append(i)
    for name in ("translation", "rotation", "scale"):
        d.nodes[i].pop(name, None)
    d.nodes[i]["matrix"] = [*map(float, matrix.T.reshape(-1))]
