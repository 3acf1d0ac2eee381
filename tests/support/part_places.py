"""Where a glTF file of a model shows every part: plain JSON and matrices, no code of the project.

And edits that move parts, nodes, or the origin of a node below its mesh, as Blender's *Apply* and
*Set Origin* do.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from tests.support.gltf_edit import Editable
from tests.support.gltf_view import trs

Json = dict[str, Any]
Array = np.ndarray[Any, Any]
#: Row of a node, LOD, group.
Cell = tuple[int, int, int]


def matrix_of(node: Json, pose: Json | None = None) -> Array:
    """The (4, 4) matrix of a node, ``pose`` having what its clip says instead."""
    return trs(node | (pose or {}))


class Places:
    """A file at the start of its clip.

    Attributes:
        world: (n, 4, 4) matrices from nodes to the model.
        cells: object -> the part that it shows; objects without a mesh are not in it.
        rows: row of the model -> node of the hierarchy.
    """

    def __init__(self, document: Editable) -> None:
        self.document, self.items = document, document.json["nodes"]
        self.channels: dict[tuple[int, str], int] = {}
        for clip in document.json.get("animations", []):
            for channel in clip["channels"]:
                target = channel["target"]
                output = clip["samplers"][channel["sampler"]]["output"]
                self.channels.setdefault((target["node"], target["path"]), output)
        parent = {c: i for i, node in enumerate(self.items) for c in node.get("children", [])}
        poses: list[Json] = [{} for _ in self.items]
        for (i, path), output in self.channels.items():
            poses[i][path] = document.arrays[output][0].tolist()
        self.local = np.array([matrix_of(*both) for both in zip(self.items, poses, strict=True)])
        self.world = self.local.copy()
        for i in range(len(self.items)):
            up = parent.get(i)
            while up is not None:
                self.world[i] = self.local[up] @ self.world[i]
                up = parent.get(up)
        shown = document.json["scenes"][0].get("extras", {}).get("msh", {})
        cell = shown.get("lod", 0), shown.get("group", 0)
        self.rows: dict[int, int] = {}
        self.cells: dict[int, Cell] = {}
        for i, node in enumerate(self.items):
            extras = node.get("extras", {}).get("msh", {})
            is_part = "lod" in extras
            if "node" in extras and not is_part:
                self.rows[extras["node"]] = i
            if "node" in extras and "mesh" in node:
                here = (extras["lod"], extras["group"]) if is_part else cell
                self.cells[i] = extras["node"], *here

    def parts_of(self, row: int) -> list[int]:
        """The objects of a node's other cells."""
        own = self.rows[row]
        return [i for i, cell in self.cells.items() if cell[0] == row and i != own]

    def points(self) -> dict[Cell, Array]:
        """The vertices that each part uses, in the model. (n, 3) each"""
        out = {}
        for i, cell in self.cells.items():
            found = []
            for primitive in self.document.json["meshes"][self.items[i]["mesh"]]["primitives"]:
                positions = self.document.arrays[primitive["attributes"]["POSITION"]]
                used = np.unique(self.document.arrays[primitive["indices"]].reshape(-1))
                found.append(positions[used].astype(np.float64))
            matrix = self.world[i]
            out[cell] = np.concatenate(found) @ matrix[:3, :3].T + matrix[:3, 3]
        return out


def displaced(edited: Editable, again: Editable) -> dict[Cell, float]:
    """How far parts of one file are from where the other shows them, of the size of the model."""
    a, b = Places(edited).points(), Places(again).points()
    size = max(float(np.abs(points).max()) for points in a.values())
    out = {}
    for cell in a.keys() | b.keys():
        if cell not in a or cell not in b:
            out[cell] = float("inf")
            continue
        there, here = (
            cKDTree(one).query(two)[0] for one, two in ((a, b), (b, a)) for one, two in ((one[cell], two[cell]),)
        )
        out[cell] = max(float(there.max()), float(here.max())) / size
    return out


# ------------------------------------------------------------------ edits

#: An edit of the node of a row; which cells it touches.
PartEdit = Callable[[Editable, int], None]
EDITS: dict[str, PartEdit] = {}


def _edit(function: PartEdit) -> PartEdit:
    EDITS[function.__name__] = function
    return function


def _move(document: Editable, i: int, by: Array) -> None:
    """Move an object, and its keys, in the frame that it stands in."""
    node, key = document.json["nodes"][i], (i, "translation")
    node["translation"] = (np.array(node.get("translation", [0, 0, 0])) + by).tolist()
    if (output := Places(document).channels.get(key)) is not None:
        document.arrays[output] = document.arrays[output] + np.asarray(by, np.float32)


def _scale(document: Editable, i: int, by: float) -> None:
    """Scale an object about the model's origin."""
    node = document.json["nodes"][i]
    node["translation"] = [by * x for x in node.get("translation", [0, 0, 0])]
    node["scale"] = [by * x for x in node.get("scale", [1, 1, 1])]
    if (output := Places(document).channels.get((i, "translation"))) is not None:
        document.arrays[output] = document.arrays[output] * np.float32(by)


def _turn(node: Json) -> None:
    """Turn an object by 30 degrees about its own axis."""
    x, y, z, w = node.get("rotation", [0, 0, 0, 1])
    s, c = np.sin(np.pi / 12), np.cos(np.pi / 12)
    node["rotation"] = [x * c - z * s, y * c + w * s, z * c + x * s, w * c - y * s]


def _bake(document: Editable, i: int, matrix: Array) -> None:
    """Transform the vertices of an object, and what stands below it, by a (4, 4) matrix."""
    node = document.json["nodes"][i]
    if "mesh" in node:
        mesh = json.loads(json.dumps(document.json["meshes"][node["mesh"]]))
        document.json["meshes"].append(mesh)
        node["mesh"] = len(document.json["meshes"]) - 1
        for primitive in mesh["primitives"]:
            attributes = primitive["attributes"]
            points = document.arrays[attributes["POSITION"]].astype(np.float64)
            moved = points @ matrix[:3, :3].T + matrix[:3, 3]
            attributes["POSITION"] = document.add(moved.astype(np.float32))
            if "NORMAL" in attributes:
                turned = document.arrays[attributes["NORMAL"]] @ matrix[:3, :3].T
                attributes["NORMAL"] = document.add(turned.astype(np.float32))
    for child in node.get("children", []):
        _carry(document, child, matrix)


def _carry(document: Editable, i: int, matrix: Array) -> None:
    """Move and turn an object, and its keys, by a rigid (4, 4) matrix."""
    node, turn = document.json["nodes"][i], Rotation.from_matrix(matrix[:3, :3])
    place = matrix @ matrix_of(node)
    node["translation"] = place[:3, 3].tolist()
    node["rotation"] = Rotation.from_matrix(place[:3, :3]).as_quat().tolist()
    channels = Places(document).channels
    if (output := channels.get((i, "translation"))) is not None:
        moved = turn.apply(document.arrays[output]) + matrix[:3, 3]
        document.arrays[output] = moved.astype(np.float32)
    if (output := channels.get((i, "rotation"))) is not None:
        turned = turn * Rotation.from_quat(document.arrays[output])
        document.arrays[output] = turned.as_quat().astype(np.float32)


@_edit
def scale_all(document: Editable, row: int) -> None:
    for i in sorted({i for scene in document.json["scenes"] for i in scene.get("nodes", [])}):
        _scale(document, i, 1.5)


@_edit
def scale_the_default_scene(document: Editable, row: int) -> None:
    for i in document.json["scenes"][0]["nodes"]:
        _scale(document, i, 1.5)


@_edit
def scale_the_node(document: Editable, row: int) -> None:
    document.json["nodes"][Places(document).rows[row]]["scale"] = [2.0, 2.0, 2.0]


@_edit
def move_node_and_parts_apart(document: Editable, row: int) -> None:
    places = Places(document)
    _move(document, places.rows[row], np.array([1, 0, 0]))
    for i in places.parts_of(row):
        _move(document, i, np.array([2, 0, 0]))


@_edit
def move_the_node(document: Editable, row: int) -> None:
    _move(document, Places(document).rows[row], np.array([1, 0, 0]))


@_edit
def move_a_part(document: Editable, row: int) -> None:
    _move(document, Places(document).parts_of(row)[0], np.array([0, 1, 0]))


@_edit
def turn_the_node(document: Editable, row: int) -> None:
    _turn(document.json["nodes"][Places(document).rows[row]])


@_edit
def turn_a_part(document: Editable, row: int) -> None:
    _turn(document.json["nodes"][Places(document).parts_of(row)[0]])


@_edit
def scale_a_part(document: Editable, row: int) -> None:
    document.json["nodes"][Places(document).parts_of(row)[0]]["scale"] = [0.5, 0.5, 0.5]


@_edit
def apply_transforms(document: Editable, row: int) -> None:
    """As Blender does, which keeps what is below where it is."""
    i = Places(document).rows[row]
    node = document.json["nodes"][i]
    _bake(document, i, matrix_of(node))
    for key in ("translation", "rotation", "scale"):
        node.pop(key, None)


@_edit
def apply_transforms_of_a_part(document: Editable, row: int) -> None:
    i = Places(document).parts_of(row)[0]
    node = document.json["nodes"][i]
    _bake(document, i, matrix_of(node))
    for key in ("translation", "rotation", "scale"):
        node.pop(key, None)


@_edit
def set_origin(document: Editable, row: int) -> None:
    i, offset = Places(document).rows[row], np.array([0.25, 0.5, -1.0])
    back = np.eye(4)
    back[:3, 3] = -offset
    _bake(document, i, back)
    moved = matrix_of(document.json["nodes"][i])[:3, :3] @ offset
    _move(document, i, moved)


def is_animated(places: Places, row: int) -> bool:
    """Whether a node has keys."""
    return any(i == places.rows[row] for i, _ in places.channels)
