"""Random edits of glTF files, of every kind that artists make; they know nothing of the importer.

Each function changes a document and returns names of what it touched, or raises :class:`NotHere`
where the document has no place for it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import PART_NAME

Json = dict[str, Any]
Array = np.ndarray[Any, Any]
Edit = Callable[["Edited", np.random.Generator], list[str]]
#: Every kind by name.
EDITS: dict[str, Edit] = {}


class NotHere(Exception):
    """The document has no place for an edit."""


class Edited(Editable):
    """A document that knows which of its nodes were in the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.first = list(self.nodes)
        self._before = copy.deepcopy(self.nodes)

    @property
    def nodes(self) -> list[Json]:
        return self.json.setdefault("nodes", [])

    @property
    def scenes(self) -> list[Json]:
        return self.json["scenes"]

    @property
    def origin(self) -> dict[int, int]:
        """Node -> the node of the file that it was."""
        before = {id(node): i for i, node in enumerate(self.first)}
        return {i: before[id(n)] for i, n in enumerate(self.nodes) if id(n) in before}

    @property
    def renamed(self) -> frozenset[int]:
        """Nodes of the file that have another name, and the same custom properties."""
        return frozenset(
            i
            for i, k in self.origin.items()
            if self.nodes[i].get("name") != self._before[k].get("name")
            and self.nodes[i].get("extras") == self._before[k].get("extras")
        )

    @property
    def size(self) -> float:
        """Largest extent of what meshes and nodes hold, roughly that of the model."""
        lists = [self.arrays[p["attributes"]["POSITION"]] for p in self.primitives()]
        lists += [np.float32([n.get("translation", [0, 0, 0])]) for n in self.nodes]
        return max((float(np.ptp(a, axis=0).max()) for a in lists if len(a)), default=1.0) or 1.0

    # -------------------------------------------------------------- what there is

    def listed(self) -> list[int]:
        """Nodes that a scene shows."""
        out, waiting = [], [i for scene in self.scenes for i in scene.get("nodes", [])]
        while waiting:
            out.append(waiting.pop())
            waiting += self.nodes[out[-1]].get("children", [])
        return sorted(out)

    def is_part(self, index: int) -> bool:
        extras = self.nodes[index].get("extras", {}).get("msh", {})
        return "mesh" in self.nodes[index] and (
            "lod" in extras or PART_NAME.fullmatch(self.nodes[index].get("name", "")) is not None
        )

    def some(self, chance: np.random.Generator, fits: Callable[[int], Any]) -> int:
        """A node that a scene shows and that fits."""
        found = [i for i in self.listed() if fits(i)]
        if not found:
            raise NotHere
        return int(chance.choice(found))

    def some_node(self, chance: np.random.Generator) -> int:
        return self.some(chance, lambda i: not self.is_part(i))

    def some_part(self, chance: np.random.Generator) -> int:
        return self.some(chance, self.is_part)

    def some_object(self, chance: np.random.Generator) -> int:
        return self.some(chance, lambda i: "mesh" in self.nodes[i])

    def some_primitive(self, chance: np.random.Generator) -> tuple[int, Json]:
        """An object, and a primitive of its mesh, which it alone uses from here on."""
        index = self.some_object(chance)
        mesh = copy.deepcopy(self.json["meshes"][self.nodes[index]["mesh"]])
        self.json["meshes"].append(mesh)
        self.nodes[index]["mesh"] = len(self.json["meshes"]) - 1
        primitive = mesh["primitives"][int(chance.integers(len(mesh["primitives"])))]
        return index, primitive

    def parent_list(self, index: int) -> list[int]:
        """The list, of a node or a scene, that has a node."""
        for holder in (*self.nodes, *self.scenes):
            found = holder.get("children", holder.get("nodes", []))
            if index in found:
                return found
        raise AssertionError(index)

    def below(self, index: int) -> list[int]:
        return [k for c in self.nodes[index].get("children", []) for k in (c, *self.below(c))]

    def is_animated(self, index: int) -> bool:
        return any(
            channel["target"].get("node") == index
            for clip in self.json.get("animations", [])
            for channel in clip["channels"]
        )

    # -------------------------------------------------------------- changes

    def own(self, primitive: Json, name: str) -> Array:
        """A stream of a primitive, which is its alone from here on."""
        if name not in primitive["attributes"]:
            raise NotHere
        accessor = primitive["attributes"][name]
        fresh = self.add(self.arrays[accessor].copy())
        self.normalized[fresh] = self.normalized[accessor]
        primitive["attributes"][name] = fresh
        return self.arrays[fresh]

    def detach(self, index: int) -> None:
        self.parent_list(index).remove(index)

    def append(self, node: Json, below: int | None = None) -> int:
        self.nodes.append(node)
        holder = self.scenes[0] if below is None else self.nodes[below]
        holder.setdefault("nodes" if below is None else "children", []).append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def forget(self, indices: list[int]) -> None:
        """Drop the channels of nodes that are gone."""
        for clip in self.json.get("animations", []):
            clip["channels"] = [
                c for c in clip["channels"] if c["target"].get("node") not in indices
            ]
        self.json["animations"] = [c for c in self.json.get("animations", []) if c["channels"]]

    def save(self, path: Path, *, indent: int | None = None) -> Path:
        if not self.json.get("animations", True):
            del self.json["animations"]
        for holder in (*self.nodes, *self.scenes):
            for key in ("children", "nodes"):
                if key in holder and not holder[key]:
                    del holder[key]
        return super().save(path, indent=indent)


def edit(function: Edit) -> Edit:
    EDITS[function.__name__.replace("_", " ")] = function
    return function


def _name(d: Edited, index: int) -> str:
    return str(d.nodes[index].get("name", ""))


def _vector(chance: np.random.Generator, length: float) -> Array:
    direction = chance.normal(size=3)
    return length * direction / np.linalg.norm(direction)


def _turn(chance: np.random.Generator) -> Array:
    """A quaternion of some 20 to 90 degrees."""
    half = chance.uniform(0.2, 0.8)
    return np.append(np.sin(half) * _vector(chance, 1), np.cos(half))


def _turned(a: Any, b: Any) -> list[float]:
    """The product of two quaternions."""
    (x, y, z, w), (p, q, r, s) = a, b
    return [
        float(v)
        for v in (
            w * p + x * s + y * r - z * q,
            w * q - x * r + y * s + z * p,
            w * r + x * q - y * p + z * s,
            w * s - x * p - y * q - z * r,
        )
    ]


# ------------------------------------------------------------------ nodes


@edit
def move_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: not d.is_part(i) and not d.is_animated(i))
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    d.nodes[i]["translation"] = (start + _vector(chance, 0.1 * d.size)).tolist()
    return [_name(d, i)]


@edit
def turn_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: not d.is_part(i) and not d.is_animated(i))
    d.nodes[i]["rotation"] = _turned(d.nodes[i].get("rotation", [0, 0, 0, 1]), _turn(chance))
    return [_name(d, i)]


@edit
def scale_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.nodes[i]["scale"] = chance.uniform(0.5, 2, 1 if chance.random() < 0.5 else 3).tolist()
    d.nodes[i]["scale"] = (d.nodes[i]["scale"] * 3)[:3]
    return [_name(d, k) for k in (i, *d.below(i))]


@edit
def mirror_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.nodes[i]["scale"] = [-1.0, 1.0, 1.0][:: int(chance.choice([-1, 1]))]
    return [_name(d, i)]


@edit
def scale_to_nothing(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.nodes[i]["scale"] = [0.0, 1.0, 1.0]
    return [_name(d, i)]


@edit
def rename_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    before = _name(d, i)
    d.nodes[i]["name"] = (
        str(chance.choice(["turret", "Башня", "a", "n" * 31]))
        + str(chance.integers(10) if before else "")[: int(chance.integers(2))]
    )
    if d.nodes[i]["name"] in [_name(d, k) for k in d.listed() if k != i]:
        raise NotHere
    return [before, _name(d, i)]


@edit
def rename_node_too_long(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.nodes[i]["name"] = "long" * 12
    return [_name(d, i)]


@edit
def rename_node_beyond_cp1251(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.nodes[i]["name"] = "塔" + str(i)
    return [_name(d, i)]


@edit
def reparent_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    taken = {i, *d.below(i)}
    above = d.some(chance, lambda k: k not in taken and not d.is_part(k))
    d.detach(i)
    d.nodes[above].setdefault("children", []).append(i)
    return [_name(d, i)]


@edit
def make_node_a_root(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.detach(i)
    d.scenes[0].setdefault("nodes", []).append(i)
    return [_name(d, i)]


@edit
def delete_node(d: Edited, chance: np.random.Generator) -> list[str]:
    """With all below it; its parts in other scenes stay, as in Blender."""
    i = d.some_node(chance)
    gone = [i, *d.below(i)]
    d.detach(i)
    d.forget(gone)
    return [_name(d, k) for k in gone]


@edit
def delete_node_and_its_parts(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    gone = [i, *d.below(i)]
    names = {_name(d, k) for k in gone}
    if not [k for k in d.listed() if k not in gone and not d.is_part(k)]:
        raise NotHere  # nothing is left
    parts = [k for k in d.listed() if d.is_part(k) and _owner_name(d, k) in names]
    for k in (i, *parts):
        d.detach(k)
    d.forget(gone)
    return [*names, *(_name(d, k) for k in parts)]


def _owner_name(d: Edited, index: int) -> str:
    row = d.nodes[index].get("extras", {}).get("msh", {}).get("node")
    match = PART_NAME.fullmatch(_name(d, index))
    if row is not None and row < len(d.first):
        return str(d.first[row].get("name", ""))
    return match["owner"] if match else ""


@edit
def delete_node_but_not_its_children(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: d.nodes[i].get("children"))
    at = d.parent_list(i)
    at.remove(i)
    at += d.nodes[i].pop("children")
    d.forget([i])
    return [_name(d, i)]


@edit
def duplicate_node(d: Edited, chance: np.random.Generator) -> list[str]:
    """Shift-D: a copy with the same mesh and extras."""
    i = d.some_node(chance)
    new = copy.deepcopy({k: v for k, v in d.nodes[i].items() if k != "children"})
    new["name"] = _name(d, i) + ".001"
    new["translation"] = _vector(chance, d.size).tolist()
    if new["name"] in [_name(d, k) for k in d.listed()]:
        raise NotHere
    d.append(new)
    return [new["name"]]


@edit
def duplicate_tree(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: not d.is_part(i) and d.nodes[i].get("children"))

    def copied(k: int) -> int:
        new = copy.deepcopy(d.nodes[k])
        new["name"] = _name(d, k) + ".002"
        new["children"] = [copied(c) for c in d.nodes[k].get("children", [])]
        d.nodes.append(new)
        return len(d.nodes) - 1

    top = copied(i)
    d.nodes[top]["translation"] = _vector(chance, d.size).tolist()
    d.scenes[0]["nodes"].append(top)
    return [_name(d, top)]


@edit
def new_empty(d: Edited, chance: np.random.Generator) -> list[str]:
    place = _vector(chance, d.size).tolist()
    d.append({"name": "socket9", "translation": place}, d.some_node(chance))
    return ["socket9"]


def _cube(d: Edited, chance: np.random.Generator, **more: Any) -> int:
    """A mesh of one pyramid."""
    points = chance.uniform(-0.2, 0.2, (4, 3)) * d.size
    face = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
    if np.linalg.det(points[1:] - points[0]) < 0:
        face = [f[::-1] for f in face]
    corners = points[face].reshape(-1, 3)
    normal = np.cross(
        points[face][:, 1] - points[face][:, 0], points[face][:, 2] - points[face][:, 0]
    )
    normal = np.repeat(normal / np.linalg.norm(normal, axis=1, keepdims=True), 3, axis=0)
    uv = chance.uniform(0, 1, (12, 2))
    attributes = {
        "POSITION": d.add(corners.astype(np.float32)),
        "NORMAL": d.add(normal.astype(np.float32)),
        "TEXCOORD_0": d.add(uv.astype(np.float32)),
    }
    primitive = {
        "attributes": attributes,
        "indices": d.add(np.arange(12, dtype=np.uint16)[:, None]),
    }
    d.json.setdefault("meshes", []).append({"name": "Pyramid", "primitives": [primitive | more]})
    return len(d.json["meshes"]) - 1


@edit
def new_object(d: Edited, chance: np.random.Generator) -> list[str]:
    material = int(chance.integers(len(d.json["materials"])))
    mesh = _cube(d, chance, material=material)
    below = d.some_node(chance) if chance.random() < 0.7 else None
    d.append(
        {"name": "Pyramid", "mesh": mesh, "translation": _vector(chance, d.size).tolist()}, below
    )
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


# ------------------------------------------------------------------ parts


@edit
def move_part_to_another_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    """By custom properties, or by name where there are none."""
    i = d.some_part(chance)
    name, extras = _name(d, i), d.nodes[i].get("extras", {}).get("msh", {})
    match = PART_NAME.fullmatch(name)
    owner = match["owner"] if match else name
    taken = {_name(d, k) for k in d.listed()}
    free = [(a, b) for a in range(3) for b in range(5) if (a, b) != (0, 0)]
    free = [(a, b) for a, b in free if f"{owner}.lod{a}.group{b}" not in taken]
    lod, group = free[int(chance.integers(len(free)))]
    if "lod" in extras:
        extras |= {"lod": lod, "group": group}
    if match:
        d.nodes[i]["name"] = f"{owner}.lod{lod}.group{group}"
    return [name, _name(d, i), owner]


@edit
def move_part_into_the_first_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    """Of a node that shows nothing there: its mesh becomes the node's."""

    def fits(i: int) -> bool:
        owner = _owner_name(d, i)
        return d.is_part(i) and any(
            _name(d, k) == owner and "mesh" not in d.nodes[k] for k in d.listed()
        )

    i = d.some(chance, fits)
    owner = next(k for k in d.listed() if _name(d, k) == _owner_name(d, i) and not d.is_part(k))
    d.nodes[owner]["mesh"] = d.nodes[i]["mesh"]
    d.detach(i)
    return [_name(d, i), _name(d, owner)]


@edit
def move_part_to_another_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    before, match = _name(d, i), PART_NAME.fullmatch(_name(d, i))
    if match is None:
        raise NotHere
    extras = d.nodes[i].get("extras", {}).get("msh", {})
    taken = {_name(d, k) for k in d.listed()}

    def fits(k: int) -> bool:
        row = d.nodes[k].get("extras", {}).get("msh", {}).get("node")
        return (
            not d.is_part(k)
            and _part_of(d, k, match) not in taken
            and ("node" not in extras or row is not None)
        )

    other = d.some(chance, fits)
    if "node" in extras:
        extras["node"] = d.nodes[other]["extras"]["msh"]["node"]
    d.nodes[i]["name"] = _part_of(d, other, match)
    return [before, _name(d, i), _name(d, other)]


def _part_of(d: Edited, owner: int, match: Any) -> str:
    return f"{_name(d, owner)}.lod{match['lod']}.group{match['group'] or 0}"


@edit
def copy_part_to_another_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    new = copy.deepcopy(d.nodes[i])
    match = PART_NAME.fullmatch(_name(d, i))
    extras = new.get("extras", {}).get("msh", {})
    lod = int(chance.integers(1, 3))
    name = f"{match['owner'] if match else 'x'}.lod{lod}.group4"
    if match is None or name in [_name(d, k) for k in d.listed()]:
        raise NotHere
    if "lod" in extras:
        extras |= {"lod": lod, "group": 4}
    new["name"] = name
    d.append(new)
    return [name, match["owner"]]


@edit
def delete_part(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    d.detach(i)
    return [_name(d, i), _owner_name(d, i)]


@edit
def delete_shown_part(d: Edited, chance: np.random.Generator) -> list[str]:
    """The mesh of a node goes, the node stays."""
    i = d.some(chance, lambda i: not d.is_part(i) and "mesh" in d.nodes[i])
    del d.nodes[i]["mesh"]
    return [_name(d, i)]


@edit
def delete_a_whole_cell(d: Edited, chance: np.random.Generator) -> list[str]:
    scenes = [s for s in d.scenes[1:] if s.get("nodes")]
    if not scenes:
        raise NotHere
    scene = scenes[int(chance.integers(len(scenes)))]
    gone = scene["nodes"]
    d.scenes.remove(scene)
    return [n for i in gone for n in (_name(d, i), _owner_name(d, i))]


@edit
def drop_all_other_scenes(d: Edited, chance: np.random.Generator) -> list[str]:
    """As *Visible Objects* exports."""
    gone = [i for s in d.scenes[1:] for i in s.get("nodes", [])]
    if not gone:
        raise NotHere
    del d.scenes[1:]
    return [n for i in gone for n in (_name(d, i), _owner_name(d, i))]


@edit
def put_all_into_the_first_scene(d: Edited, chance: np.random.Generator) -> list[str]:
    """As Blender does; nothing is changed by it."""
    for scene in d.scenes[1:]:
        d.scenes[0].setdefault("nodes", []).extend(scene.get("nodes", []))
        scene["nodes"] = []
    return []


@edit
def move_part_object(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    d.nodes[i]["translation"] = (start + _vector(chance, 0.2 * d.size)).tolist()
    return [_name(d, i), _owner_name(d, i)]


@edit
def scale_part_object(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_part(chance)
    d.nodes[i]["scale"] = chance.uniform(0.5, 2, 3).tolist()
    return [_name(d, i), _owner_name(d, i)]


@edit
def use_another_mesh(d: Edited, chance: np.random.Generator) -> list[str]:
    i, k = d.some_object(chance), d.some_object(chance)
    d.nodes[i]["mesh"] = d.nodes[k]["mesh"]
    return [_name(d, i), _owner_name(d, i)]


@edit
def rename_part_against_its_extras(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: "lod" in d.nodes[i].get("extras", {}).get("msh", {}))
    before, match = _name(d, i), PART_NAME.fullmatch(_name(d, i))
    if match is None:
        raise NotHere
    lod = (int(match["lod"]) + 1) % 3 or 1
    name = f"{match['owner']}.lod{lod}.group{match['group']}"
    if name in [_name(d, k) for k in d.listed()] or name == before:
        raise NotHere
    d.nodes[i]["name"] = name
    return [before, name, match["owner"]]


# ------------------------------------------------------------------ geometry


@edit
def move_vertices(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    points = d.own(primitive, "POSITION")
    pick = chance.random(len(points)) < chance.choice([0.1, 0.5, 1.0])
    pick[0] = True
    points[pick] += _vector(chance, 0.1 * d.size).astype(np.float32)
    return [_name(d, i), _owner_name(d, i)]


@edit
def delete_triangles(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    index = d.arrays[primitive["indices"]].reshape(-1, 3)
    keep = chance.random(len(index)) < 0.7
    keep[0] = False
    if not keep.any():
        raise NotHere
    primitive["indices"] = d.add(index[keep].reshape(-1, 1))
    return [_name(d, i), _owner_name(d, i)]


@edit
def add_triangles(d: Edited, chance: np.random.Generator) -> list[str]:
    """Over the primitive's vertices."""
    i, primitive = d.some_primitive(chance)
    index = d.arrays[primitive["indices"]].reshape(-1, 3)
    count = len(d.arrays[primitive["attributes"]["POSITION"]])
    if count < 3:
        raise NotHere
    new = np.stack([chance.choice(count, 3, replace=False) for _ in range(3)]).astype(index.dtype)
    primitive["indices"] = d.add(np.concatenate([index, new]).reshape(-1, 1))
    return [_name(d, i), _owner_name(d, i)]


@edit
def flip_triangles(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    index = d.arrays[primitive["indices"]].reshape(-1, 3).copy()
    index[: 1 + len(index) // 3] = index[: 1 + len(index) // 3, ::-1]
    primitive["indices"] = d.add(index.reshape(-1, 1))
    return [_name(d, i), _owner_name(d, i)]


@edit
def change_normals(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    normals = d.own(primitive, "NORMAL")
    pick = chance.random(len(normals)) < 0.5
    pick[0] = True
    normals[pick] = _vector(chance, 1).astype(np.float32)
    return [_name(d, i), _owner_name(d, i)]


@edit
def change_uv(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    uv = d.own(primitive, "TEXCOORD_0")
    uv[chance.random(len(uv)) < 0.5] += chance.uniform(-1, 1, 2).astype(np.float32)
    return [_name(d, i), _owner_name(d, i)]


@edit
def move_uv_far(d: Edited, chance: np.random.Generator) -> list[str]:
    """Whole turns away: it looks the same."""
    i, primitive = d.some_primitive(chance)
    d.own(primitive, "TEXCOORD_0")[:] += np.float32(chance.choice([-100, 40, 1000]))
    return [_name(d, i), _owner_name(d, i)]


@edit
def stretch_uv_far(d: Edited, chance: np.random.Generator) -> list[str]:
    """More turns on one triangle than words can hold."""
    i, primitive = d.some_primitive(chance)
    d.own(primitive, "TEXCOORD_0")[:] *= np.float32(200)
    return [_name(d, i), _owner_name(d, i)]


@edit
def change_lightmap_uv(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    d.own(primitive, "TEXCOORD_1")[:] = chance.uniform(0, 1, 2).astype(np.float32)
    return [_name(d, i), _owner_name(d, i)]


@edit
def change_colours(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    colours = d.own(primitive, "COLOR_0")
    colours[:, :3] = chance.integers(0, 200, 3)
    return [_name(d, i), _owner_name(d, i)]


@edit
def split_vertices(d: Edited, chance: np.random.Generator) -> list[str]:
    """Every triangle has corners of its own; nothing is changed by it."""
    _, primitive = d.some_primitive(chance)
    index = d.arrays[primitive["indices"]].reshape(-1).astype(int)
    for name, accessor in primitive["attributes"].items():
        fresh = d.add(d.arrays[accessor][index])
        d.normalized[fresh] = d.normalized[accessor]
        primitive["attributes"][name] = fresh
    primitive["indices"] = d.add(np.arange(len(index), dtype=np.uint32)[:, None])
    return []


# ------------------------------------------------------------------ materials


@edit
def assign_material(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    primitive["material"] = int(chance.integers(len(d.json["materials"])))
    return [_name(d, i), _owner_name(d, i)]


@edit
def assign_new_material(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    d.json["materials"].append({"name": "R_RED"})
    primitive["material"] = len(d.json["materials"]) - 1
    return [_name(d, i), _owner_name(d, i), "R_RED"]


@edit
def remove_material(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    del primitive["material"]
    return [_name(d, i), _owner_name(d, i)]


@edit
def rename_material(d: Edited, chance: np.random.Generator) -> list[str]:
    material = d.json["materials"][int(chance.integers(len(d.json["materials"])))]
    before = material["name"]
    material["name"] = "R_BLUE"
    return [before, "R_BLUE"]


@edit
def recolour_material(d: Edited, chance: np.random.Generator) -> list[str]:
    material = d.json["materials"][int(chance.integers(len(d.json["materials"])))]
    shown = material.setdefault("pbrMetallicRoughness", {})
    shown["baseColorFactor"] = [0.9, 0.1, 0.2, 1.0]
    return [material["name"]]


# ------------------------------------------------------------------ animation


def _clip(d: Edited) -> Json:
    if not d.json.get("animations"):
        raise NotHere
    clip: Json = d.json["animations"][0]
    return clip


def _channel(d: Edited, chance: np.random.Generator, path: str) -> tuple[int, Json]:
    """A channel's node and its sampler, whose values are its alone from here on."""
    clip = _clip(d)
    found = [c for c in clip["channels"] if c["target"]["path"] == path]
    if not found:
        raise NotHere
    channel = found[int(chance.integers(len(found)))]
    sampler = dict(clip["samplers"][channel["sampler"]])
    sampler["output"] = d.add(d.arrays[sampler["output"]].copy())
    clip["samplers"].append(sampler)
    channel["sampler"] = len(clip["samplers"]) - 1
    return channel["target"]["node"], sampler


@edit
def move_key(d: Edited, chance: np.random.Generator) -> list[str]:
    node, sampler = _channel(d, chance, "translation")
    values = d.arrays[sampler["output"]]
    values[chance.integers(len(values))] += _vector(chance, 0.1 * d.size).astype(np.float32)
    return [_name(d, node)]


@edit
def turn_key(d: Edited, chance: np.random.Generator) -> list[str]:
    node, sampler = _channel(d, chance, "rotation")
    values = d.arrays[sampler["output"]]
    at = chance.integers(len(values))
    values[at] = _turned(values[at].tolist(), _turn(chance))
    return [_name(d, node)]


@edit
def offset_animation(d: Edited, chance: np.random.Generator) -> list[str]:
    """Every key of a node moves."""
    node, sampler = _channel(d, chance, "translation")
    d.arrays[sampler["output"]] += _vector(chance, 0.1 * d.size).astype(np.float32)
    return [_name(d, node)]


def _cut(d: Edited, keep: int) -> None:
    for clip in d.json["animations"]:
        for sampler in clip["samplers"]:
            for key in ("input", "output"):
                sampler[key] = d.add(d.arrays[sampler[key]][:keep])


@edit
def shorten_clip(d: Edited, chance: np.random.Generator) -> list[str]:
    count = min(len(d.arrays[s["input"]]) for s in _clip(d)["samplers"])
    if count < 3:
        raise NotHere
    _cut(d, int(chance.integers(2, count)))
    return ["clip", _clip(d)["name"]]


@edit
def lengthen_clip(d: Edited, chance: np.random.Generator) -> list[str]:
    """By a hold at the end."""
    step = int(chance.integers(2, 20))
    for sampler in _clip(d)["samplers"]:
        times, values = d.arrays[sampler["input"]], d.arrays[sampler["output"]]
        later = times[-1:] + np.float32(step / 24)
        sampler["input"] = d.add(np.concatenate([times, later]))
        sampler["output"] = d.add(np.concatenate([values, values[-1:]]))
    return ["clip", _clip(d)["name"]]


@edit
def delete_clip(d: Edited, chance: np.random.Generator) -> list[str]:
    clip = _clip(d)
    del d.json["animations"]
    return ["clip", clip["name"], *(_name(d, c["target"]["node"]) for c in clip["channels"])]


@edit
def delete_channel(d: Edited, chance: np.random.Generator) -> list[str]:
    clip = _clip(d)
    channel = clip["channels"].pop(int(chance.integers(len(clip["channels"]))))
    if not clip["channels"]:
        raise NotHere
    return [_name(d, channel["target"]["node"])]


@edit
def animate_node(d: Edited, chance: np.random.Generator) -> list[str]:
    """Keys for a node that had none, in the file's clip or in one of its own, as Blender writes."""
    i = d.some(chance, lambda i: not d.is_part(i) and not d.is_animated(i))
    count = 9
    own = chance.random() < 0.5 or not d.json.get("animations")
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    values = start + np.cumsum(chance.normal(0, 0.05 * d.size, (count, 3)), axis=0)
    values[0] = start
    sampler = {
        "input": d.add((np.arange(count) / 24).astype(np.float32)[:, None]),
        "output": d.add(values.astype(np.float32)),
    }
    if own:
        d.json.setdefault("animations", []).append(
            {"name": "Action", "channels": [], "samplers": []}
        )
    clip = d.json["animations"][-1 if own else 0]
    clip["samplers"].append(sampler)
    target = {"node": i, "path": "translation"}
    clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": target})
    return [_name(d, i)]


@edit
def second_clip_of_the_same_nodes(d: Edited, chance: np.random.Generator) -> list[str]:
    other = copy.deepcopy(_clip(d))
    other["name"] = "SecondAction"
    for sampler in other["samplers"]:
        values = d.arrays[sampler["output"]]
        sampler["output"] = d.add(values[::-1].copy())
    d.json["animations"].append(other)
    return ["SecondAction"]


@edit
def change_rest_pose_of_animated_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, d.is_animated)
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    d.nodes[i]["translation"] = (start + _vector(chance, 0.2 * d.size)).tolist()
    d.nodes[i]["rotation"] = _turned(d.nodes[i].get("rotation", [0, 0, 0, 1]), _turn(chance))
    return [_name(d, i)]


@edit
def animate_scale(d: Edited, chance: np.random.Generator) -> list[str]:
    clip, i = _clip(d), d.some_node(chance)
    values = np.float32([[1, 1, 1], [2, 2, 2], [1, 1, 1]])
    times = d.add((np.arange(3) / 24).astype(np.float32)[:, None])
    clip["samplers"].append({"input": times, "output": d.add(values)})
    target = {"node": i, "path": "scale"}
    clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": target})
    return [_name(d, i)]


@edit
def step_interpolation(d: Edited, chance: np.random.Generator) -> list[str]:
    """The same keys without anything between; whole frames show the same."""
    for sampler in _clip(d)["samplers"]:
        sampler["interpolation"] = "STEP"
    return []


@edit
def cubic_interpolation(d: Edited, chance: np.random.Generator) -> list[str]:
    node, sampler = _channel(d, chance, "translation")
    times, values = d.arrays[sampler["input"]], d.arrays[sampler["output"]]
    pick = slice(None, None, 2)
    tangents = chance.normal(0, d.size, (len(values[pick]), 2, 3)).astype(np.float32)
    keys = np.stack([tangents[:, 0], values[pick], tangents[:, 1]], axis=1)
    sampler |= {"input": d.add(times[pick]), "output": d.add(keys.reshape(-1, 3))}
    sampler["interpolation"] = "CUBICSPLINE"
    return [_name(d, node)]


# ------------------------------------------------------------------ custom properties


def _extras(d: Edited, index: int) -> Json:
    found: Json = d.nodes[index].setdefault("extras", {}).setdefault("msh", {})
    return found


def _stored(d: Edited, chance: np.random.Generator) -> int:
    """A node of the file whose custom properties are still there."""
    return d.some(
        chance,
        lambda i: (
            not d.is_part(i)
            and "node" in d.nodes[i].get("extras", {}).get("msh", {})
            and i in d.origin
        ),
    )


@edit
def change_flags(d: Edited, chance: np.random.Generator) -> list[str]:
    i = _stored(d, chance)
    _extras(d, i)["flags"] = _extras(d, i).get("flags", 0) ^ int(chance.choice([1, 2, 0x4000]))
    return [_name(d, i)]


@edit
def change_label(d: Edited, chance: np.random.Generator) -> list[str]:
    i = _stored(d, chance)
    _extras(d, i)["label"] = "ключ_7"
    return [_name(d, i)]


@edit
def set_tri_flags_of_an_object(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: "mesh" in d.nodes[i])
    _extras(d, i)["tri_flags"] = int(chance.choice([2, 4, 16, 32]))
    return [_name(d, i), _owner_name(d, i)]


@edit
def set_tri_flags_of_a_material(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    material = copy.deepcopy(d.json["materials"][primitive.get("material", 0)])
    material.setdefault("extras", {}).setdefault("msh", {})["tri_flags"] = 2
    d.json["materials"].append(material)
    primitive["material"] = len(d.json["materials"]) - 1
    return [_name(d, i), _owner_name(d, i), material["name"]]


# ------------------------------------------------------------------ what glTF can have besides


@edit
def instances(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, lambda i: "mesh" in d.nodes[i] and not d.is_part(i))
    count = int(chance.integers(2, 4))
    places = chance.normal(0, d.size, (count, 3)).astype(np.float32)
    copies = {"attributes": {"TRANSLATION": d.add(places)}}
    d.nodes[i].setdefault("extensions", {})["EXT_mesh_gpu_instancing"] = copies
    d.json.setdefault("extensionsUsed", []).append("EXT_mesh_gpu_instancing")
    return [_name(d, i)]


@edit
def hide_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some_node(chance)
    d.nodes[i].setdefault("extensions", {})["KHR_node_visibility"] = {"visible": False}
    d.json.setdefault("extensionsUsed", []).append("KHR_node_visibility")
    names = [_name(d, k) for k in (i, *d.below(i))]
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
    return [_name(d, i), _owner_name(d, i), mesh.get("name", "")]


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
    return [_name(d, i), _owner_name(d, i), mesh.get("name", "")]


def describe(document: Edited) -> str:
    """The nodes of a document in a line, for failures."""
    return json.dumps([n.get("name") for n in document.nodes], ensure_ascii=False)
