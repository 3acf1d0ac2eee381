"""What random edits have in common: documents that know their nodes, and a list of all kinds.

Each function changes a document and returns names of what it touched, or raises :class:`NotHere`
where the document has no place for it.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import part_of_name, trs

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
            "lod" in extras or part_of_name(self.nodes[index].get("name", "")) is not None
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

    def worlds(self) -> list[Array]:
        """The matrix of each node, (4, 4)."""
        above = {child: i for i, node in enumerate(self.nodes) for child in node.get("children", [])}

        def of(i: int) -> Array:
            own = trs(self.nodes[i])
            return np.asarray(of(above[i]) @ own) if i in above else own

        return [of(i) for i in range(len(self.nodes))]

    def below(self, index: int) -> list[int]:
        return [k for c in self.nodes[index].get("children", []) for k in (c, *self.below(c))]

    def require_more_than(self, gone: list[int]) -> None:
        """Raise where some nodes are all that a model could be made of."""
        extensions = [self.nodes[k].get("extensions", {}) for k in self.listed()]
        hidden = any("KHR_node_visibility" in found for found in extensions)
        if hidden or not [k for k in self.listed() if k not in gone and not self.is_part(k)]:
            raise NotHere

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
            clip["channels"] = [c for c in clip["channels"] if c["target"].get("node") not in indices]
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


def name_of(d: Edited, index: int) -> str:
    return str(d.nodes[index].get("name", ""))


def vector(chance: np.random.Generator, length: float) -> Array:
    direction = chance.normal(size=3)
    return length * direction / np.linalg.norm(direction)


def turn(chance: np.random.Generator) -> Array:
    """A quaternion of some 20 to 90 degrees."""
    half = chance.uniform(0.2, 0.8)
    return np.append(np.sin(half) * vector(chance, 1), np.cos(half))


def turned(a: Any, b: Any) -> list[float]:
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


def owner_name(d: Edited, index: int) -> str:
    row = d.nodes[index].get("extras", {}).get("msh", {}).get("node")
    match = part_of_name(name_of(d, index))
    if row is not None and row < len(d.first):
        return str(d.first[row].get("name", ""))
    return match[0] if match else ""


def extras_of(d: Edited, index: int) -> Json:
    found: Json = d.nodes[index].setdefault("extras", {}).setdefault("msh", {})
    return found


def _of(
    find: Callable[[Edited, np.random.Generator], Any], *names: Callable[[Edited, int], str]
) -> Callable[[Callable[[Edited, Any, np.random.Generator], object]], Edit]:
    """What notes edits of what is found: a node, or a node and a primitive of its mesh; ``names``: of the node."""

    def note(function: Callable[[Edited, Any, np.random.Generator], object]) -> Edit:
        def found_and_edited(d: Edited, chance: np.random.Generator) -> list[str]:
            found = find(d, chance)
            index, thing = found if isinstance(found, tuple) else (found, found)
            function(d, thing, chance)
            return [name(d, index) for name in names]

        found_and_edited.__name__ = function.__name__
        return edit(found_and_edited)

    return note


of_node = _of(Edited.some_node, name_of)
of_still_node = _of(lambda d, chance: d.some(chance, lambda i: not d.is_part(i) and not d.is_animated(i)), name_of)
of_part = _of(Edited.some_part, name_of, owner_name)
of_primitive = _of(Edited.some_primitive, name_of, owner_name)
