"""Files of each kind with edits that are drawn, and what they show before and after by a reader of their own.

``World.shown`` reads an edited glTF, ``World.arrived`` what came of its import; neither uses the product's
readers, comparators or judge.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ExportOptions, ImportOptions
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import trs

Json = dict[str, Any]
Chance = np.random.Generator
Facts = dict[tuple[object, ...], int]
#: Axes of glTF in those of the game.
AXES = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)


@cache
def exported(world: type[World]) -> tuple[Path, TemporaryDirectory[str]]:
    """A world's source and its glTF with the sidecar, in a folder."""
    folder = TemporaryDirectory()
    source = world.make(Path(folder.name))
    options = ExportOptions(textures=world.textures)
    target = Path(folder.name) / "out" / "first.glb"
    target.parent.mkdir()
    for path, data in load_file(source, None, options).files(target, options):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return target, folder


class World:
    """A file, to be edited and imported."""

    edits: ClassVar[dict[str, Callable[[Any, Chance], object]]]
    textures: ClassVar[tuple[Path, ...]] = ()

    @staticmethod
    def make(folder: Path) -> Path:
        """Write the source; returns its path."""
        raise NotImplementedError

    def __init__(self, folder: Path) -> None:
        first = exported(type(self))[0]
        shutil.copytree(first.parent, folder, dirs_exist_ok=True)
        self.path = folder / first.name
        self.file = Editable(self.path)
        self.nodes: list[Json] = self.file.json["nodes"]

    def back(self) -> ImportResult:
        return import_gltf(self.file.save(self.path), None, ImportOptions())

    def msh(self, node: Json) -> Json:
        found: Json = node.get("extras", {}).get("msh", {})
        return found

    def of(self, chance: Chance, kind: str) -> Json:
        """A node of a kind."""
        found = [node for node in self.nodes if self.msh(node).get("kind") == kind]
        return found[int(chance.integers(len(found)))]

    def world(self) -> list[np.ndarray]:
        """The matrices of nodes, glTF axes."""
        above = {child: i for i, node in enumerate(self.nodes) for child in node.get("children", [])}

        def of(i: int) -> np.ndarray:
            own = trs(self.nodes[i])
            return of(above[i]) @ own if i in above else own

        return [of(i) for i in range(len(self.nodes))]

    def materials(self, chance: Chance) -> list[Json]:
        """All materials of one name: the game has one for them."""
        used = sorted({p["material"] for p in self.file.primitives() if "indices" in p and "material" in p})
        found = [self.file.json["materials"][i] for i in used]
        name = found[int(chance.integers(len(found)))]["name"]
        return [one for one in found if one["name"] == name]

    def change_colour(self, chance: Chance) -> None:
        some, colour = self.materials(chance), [*map(float, chance.uniform(0.1, 0.9, 3))]
        for about in (one["pbrMetallicRoughness"] for one in some):
            about["baseColorFactor"] = [*colour, about.get("baseColorFactor", [1, 1, 1, 1])[3]]

    def shown(self) -> Facts:
        """What the edited file shows: facts, and how often each is there."""
        raise NotImplementedError

    def arrived(self, back: ImportResult) -> Facts:
        """What the result shows, by the same facts."""
        raise NotImplementedError


class Assembly(World):
    """A unit or mission: what is placed, and where what is drawn stands.

    The result is exported again, and both files are read in the same way. What is drawn below a placement
    counts where the file has it: a copy without what is below it shows that in the game.
    """

    def shown(self) -> Facts:
        placed, self.drawn = assembled(self)
        return placed

    def sculpt(self, chance: Chance) -> None:
        """Move a vertex of a model, wherever it is shown."""
        drawn = [node["mesh"] for node in self.nodes if "mesh" in node and "node" in self.msh(node)]
        self.sculpt_mesh(chance, drawn[int(chance.integers(len(drawn)))])

    def sculpt_mesh(self, chance: Chance, number: int) -> None:
        primitive = self.file.json["meshes"][number]["primitives"][0]
        first = int(self.file.arrays[primitive["indices"]].reshape(-1)[0])
        self.file.arrays[primitive["attributes"]["POSITION"]][first] += np.float32(chance.uniform(0.3, 1))

    def own_mesh(self, node: Json) -> int:
        """Give a node a mesh of its own, as it is."""
        meshes = self.file.json["meshes"]
        meshes.append(copy.deepcopy(meshes[node["mesh"]]))
        for primitive in meshes[-1]["primitives"]:
            of = primitive["attributes"]
            of["POSITION"] = self.file.add(self.file.arrays[of["POSITION"]].copy())
        node["mesh"] = len(meshes) - 1
        return len(meshes) - 1

    def add_stray(self, chance: Chance) -> None:
        """Add an object that nothing places."""
        drawn = [node["mesh"] for node in self.nodes if "mesh" in node and "node" in self.msh(node)]
        self.nodes.append({"name": "stray", "mesh": drawn[0], "translation": [*map(float, chance.uniform(1, 9, 3))]})
        self.file.json["scenes"][0]["nodes"].append(len(self.nodes) - 1)

    def arrived(self, back: ImportResult) -> Facts:
        source = type(self).make(self.path.parent / "again")
        source.write_bytes(back.data)
        target = self.path.parent / "second.glb"
        for path, data in load_file(source, None, ExportOptions()).files(target, ExportOptions()):
            path.write_bytes(data)
        second = copy.copy(self)
        second.file = Editable(target)
        second.nodes = second.file.json["nodes"]
        placed, drawn = assembled(second)
        left = [one for one in self.drawn - drawn if not any(_is_near(one, other) for other in drawn)]
        return placed | {("not drawn", *one): 1 for one in left}


#: What placed things state, and what decides where they are.
_STATED = ("key", "class", "label", "clan", "inner", "amount", "type")
#: Properties that follow what else an object states.
_OF_ONE = ("ClanID", "LogicalID")


def assembled(world: World) -> tuple[Facts, set[tuple[object, ...]]]:
    """What nodes of objects, components, zones and lodes state, and the places of all that is drawn."""
    places, placed, drawn = world.world(), [], set[tuple[object, ...]]()
    listed = [(i, False) for scene in world.file.json["scenes"] for i in scene.get("nodes", [])]
    while listed:
        i, inside = listed.pop()
        node = world.nodes[i]
        about = world.msh(node)
        inside |= "hosted" in about  # in its building, wherever that is
        listed += [(child, inside) for child in node.get("children", [])]
        at = rounded(places[i][:3, 3], 2)
        if about.get("kind") in ("object", "component", "zone", "lode"):
            stated = [f"{v:.4g}" if isinstance(v := about.get(name), float) else str(v) for name in _STATED]
            own = {name: v for name, v in about.get("properties", {}).items() if name not in _OF_ONE}
            stated.append(str(own))
            where = at if about["kind"] in ("zone", "lode") else ()
            placed.append((about["kind"], *stated, *where))
        elif "mesh" in node and "node" in about and not inside:
            drawn.add((about["node"], *at))
    return counted(placed), drawn


def counted(facts: list[tuple[object, ...]]) -> Facts:
    out: Facts = {}
    for one in facts:
        out[one] = out.get(one, 0) + 1
    return out


def _is_near(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether places that were rounded are of one, on both sides of a step."""
    return one[0] == other[0] and bool(np.abs(np.subtract(one[1:], other[1:])).max() < 0.011)


def rounded(values: Any, digits: int = 3) -> tuple[float, ...]:
    return tuple((np.round(np.asarray(values, np.float64).reshape(-1), digits) + 0.0).tolist())
