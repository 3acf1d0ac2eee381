"""Files of each kind with edits that are drawn, and what they show before and after by a reader of their own.

``World.shown`` reads an edited glTF, ``World.arrived`` what came of its import; neither uses the product's
readers, comparators or judge.
"""

from __future__ import annotations

import copy
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ExportOptions, ImportOptions
from tests.support.assembled_game import GameParts
from tests.support.gltf_edit import reorder_nodes
from tests.support.gltf_shown import trs
from tests.support.random_edits import Edited
from tests.support.runs import convert

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
    options = {"textures": world.textures, "clips": world.clips, "parts": world.parts}
    return convert(source, Path(folder.name) / "out" / "first.glb", **options), folder


class World:
    """A file, to be edited and imported; ``edits``: its methods and its bases' that begin with ``edit_``, by name."""

    edits: ClassVar[dict[str, Callable[[Any, Chance], object]]]
    textures: ClassVar[tuple[Path, ...]] = ()
    clips: ClassVar[bool | str] = ExportOptions().clips
    parts: ClassVar[str | None] = None

    def __init_subclass__(cls) -> None:
        found = {name: one for base in reversed(cls.__mro__) for name, one in vars(base).items()}
        cls.edits = {
            name.removeprefix("edit_").replace("_", " "): one for name, one in found.items() if name.startswith("edit_")
        }

    @staticmethod
    def make(folder: Path) -> Path:
        """Write the source; returns its path."""
        raise NotImplementedError

    def __init__(self, folder: Path) -> None:
        first = exported(type(self))[0]
        shutil.copytree(first.parent, folder, dirs_exist_ok=True)
        self.open(folder / first.name)

    def open(self, path: Path) -> None:
        self.path, self.file = path, Edited(path)
        self.nodes = self.file.nodes

    @classmethod
    def of_file(cls, path: Path) -> World:
        """A glTF that somebody else exported."""
        world = cls.__new__(cls)
        world.open(path)
        return world

    def back(self) -> ImportResult:
        return import_gltf(self.file.save(self.path), None, ImportOptions())

    def msh(self, node: Json) -> Json:
        found: Json = node.get("extras", {}).get("msh", {})
        return found

    def of(self, chance: Chance, kind: str) -> Json:
        """A node of a kind."""
        return one_of(chance, [node for node in self.nodes if self.msh(node).get("kind") == kind])

    def take_out(self, number: int) -> None:
        """Delete a node, with all below it."""
        for holder in (*self.nodes, *self.file.scenes):
            for name in ("children", "nodes"):
                holder[name] = [one for one in holder.get(name, []) if one != number]

    def animate(self, node: int, values: np.ndarray) -> None:
        """Move a node from one place to another. (2, 3)."""
        times = self.file.add(np.array([[0.0], [1.0]], np.float32))
        sampler = {"input": times, "output": self.file.add(values.astype(np.float32))}
        clip = {"channels": [{"sampler": 0, "target": {"node": node, "path": "translation"}}], "samplers": [sampler]}
        self.file.json.setdefault("animations", []).append(clip)

    def materials(self, chance: Chance) -> list[Json]:
        """All materials of one name: the game has one for them."""
        used = sorted({p["material"] for p in self.file.primitives() if "indices" in p and "material" in p})
        found = [self.file.json["materials"][i] for i in used]
        name = one_of(chance, found)["name"]
        return [one for one in found if one["name"] == name]

    def change_colour(self, chance: Chance) -> None:
        some, colour = self.materials(chance), chance.uniform(0.1, 0.9, 3).tolist()
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
        self.sculpt_mesh(chance, one_of(chance, self.drawn_nodes())["mesh"])

    def drawn_nodes(self) -> list[Json]:
        """Nodes of models that have a mesh."""
        return [node for node in self.nodes if "mesh" in node and "node" in self.msh(node)]

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
        mesh = self.drawn_nodes()[0]["mesh"]
        self.file.append({"name": "stray", "mesh": mesh, "translation": chance.uniform(1, 9, 3).tolist()})

    def things(self, *kinds: str) -> list[int]:
        """The nodes of kinds; by default those that are objects or components."""
        wanted = kinds or ("object", "component")
        return [i for i, node in enumerate(self.nodes) if self.msh(node).get("kind") in wanted]

    def thing(self, chance: Chance, *kinds: str) -> int:
        return int(chance.choice(self.things(*kinds)))

    def inner(self, chance: Chance) -> int:
        """A node of a model that has nothing below it but points."""
        found = [
            i
            for i, node in enumerate(self.nodes)
            if "node" in (about := self.msh(node))
            and "kind" not in about
            and all(self.msh(self.nodes[k]).get("kind") == "point" for k in node.get("children", []))
        ]
        return int(chance.choice(found))

    def edit_rename_part(self, chance: Chance) -> None:
        self.nodes[self.thing(chance, "component")]["name"] = f"Part {int(chance.integers(99))}"

    def edit_rename_inner(self, chance: Chance) -> None:
        self.nodes[self.inner(chance)]["name"] = f"Bone {int(chance.integers(99))}"

    def edit_mirror(self, chance: Chance) -> None:
        self.nodes[self.thing(chance)]["scale"] = [-1.0, 1.0, 1.0]

    def edit_scale(self, chance: Chance) -> None:
        size = float(chance.uniform(0.5, 2))
        self.nodes[self.thing(chance)]["scale"] = [size, size, size * (1 + float(chance.integers(2)))]

    def edit_scale_inner(self, chance: Chance) -> None:
        self.nodes[self.inner(chance)]["scale"] = [float(chance.uniform(1.2, 2))] * 3

    def edit_move_inner(self, chance: Chance) -> None:
        node = self.nodes[self.inner(chance)]
        node["translation"] = (node.get("translation", [0, 0, 0]) + chance.uniform(0.5, 2, 3)).tolist()

    def edit_delete_inner(self, chance: Chance) -> None:
        """In one place, or in all."""
        number = self.inner(chance)
        about, mesh = self.msh(self.nodes[number]), self.nodes[number].get("mesh")
        everywhere = bool(chance.integers(2))
        for i, node in enumerate(self.nodes):
            if i == number or (everywhere and self.msh(node) == about and node.get("mesh") == mesh):
                self.take_out(i)

    def edit_copy_whole(self, chance: Chance) -> None:
        """A component or object with all below it, beside itself."""

        def copied(i: int) -> int:
            made = copy.deepcopy(self.nodes[i])
            if "children" in made:
                made["children"] = [copied(k) for k in made["children"]]
            self.nodes.append(made)
            return len(self.nodes) - 1

        number = self.thing(chance)
        made = copied(number)
        self.nodes[made]["name"] += ".001"
        self.nodes[made]["translation"] = chance.uniform(10, 30, 3).tolist()
        self.file.parent_list(number).append(made)

    def edit_copy_inner(self, chance: Chance) -> None:
        number = self.inner(chance)
        made = {key: value for key, value in copy.deepcopy(self.nodes[number]).items() if key != "children"}
        made["translation"] = chance.uniform(1, 4, 3).tolist()
        made["name"] += ".001"
        self.nodes.append(made)
        self.file.parent_list(number).append(len(self.nodes) - 1)

    def edit_assign_material(self, chance: Chance) -> None:
        names = [material["name"] for material in self.file.json["materials"]]
        drawn = [p for p in self.file.primitives() if "material" in p and "indices" in p]
        drawn = [p for p in drawn if not names[p["material"]].startswith("material_")]  # a row without a name
        one, other = (drawn[int(i)] for i in chance.choice(len(drawn), 2, replace=False))
        one["material"] = other["material"]

    def edit_write_as_pieces(self, chance: Chance) -> None:
        """As trimesh does: a node for each material of a mesh, matrices, and all in one scene."""
        moved = {c["target"]["node"] for clip in self.file.json.get("animations", []) for c in clip["channels"]}
        for i in range(len(self.nodes)):
            node = self.nodes[i]
            world = np.eye(4) if i in moved else trs(node)
            for name in ("translation", "rotation", "scale") if i not in moved else ():
                node.pop(name, None)
            if not np.array_equal(world, np.eye(4)):
                node["matrix"] = [*map(float, world.T.reshape(-1))]
            mesh = self.file.json["meshes"][node["mesh"]] if "mesh" in node else {"primitives": []}
            if len(mesh["primitives"]) < 2 or any("indices" not in p for p in mesh["primitives"]):
                continue
            del node["mesh"]
            for primitive in mesh["primitives"]:
                self.file.json["meshes"].append({"name": mesh["name"], "primitives": [primitive]})
                piece = {
                    "name": f"{node['name']}_{int(chance.integers(4096, 65536)):x}",
                    "extras": node.get("extras", {}),
                }
                self.nodes.append({**piece, "mesh": len(self.file.json["meshes"]) - 1})
                node.setdefault("children", []).append(len(self.nodes) - 1)

    def edit_reorder(self, chance: Chance) -> None:
        """Nodes and scenes in another order."""
        reorder_nodes(self.file, chance.permutation(len(self.nodes)).tolist())

    def edit_hide(self, chance: Chance) -> None:
        self.file.json.setdefault("extensionsUsed", []).append("KHR_node_visibility")
        self.nodes[self.thing(chance)].setdefault("extensions", {})["KHR_node_visibility"] = {"visible": False}

    def edit_type_property(self, chance: Chance) -> None:
        """As Blender's interface makes them: beside those of the export."""
        number = self.thing(chance)
        name, value = [("label", "typed"), ("class", 1), ("clan", 1), ("label", "other"), ("type", 1)][
            int(chance.integers(5))
        ]
        self.nodes[number].setdefault("extras", {})[name] = value

    def edit_animate(self, chance: Chance) -> None:
        """Something that does not move in the game."""
        values = chance.uniform(1, 3, (2, 3))
        free = [i for i in self.things() if "matrix" not in self.nodes[i]]
        self.animate(int(chance.choice(free)), values)

    def edit_move_key(self, chance: Chance) -> None:
        """Of a clip of a model that is placed, but for its first; where there is none, a node of it."""
        clips = self.file.json.get("animations", [])
        samplers = [
            c["samplers"][one["sampler"]] for c in clips for one in c["channels"] if one["target"]["path"][0] == "t"
        ]
        if not samplers:
            return self.edit_move_inner(chance)
        values = self.file.arrays[one_of(chance, samplers)["output"]]
        values[int(chance.integers(1, max(len(values), 2)))] += np.float32(chance.uniform(0.5, 2))
        return None

    def edit_hold_pose(self, chance: Chance) -> None:
        """One pose of what moves, from the beginning to after the end of its model's clip; else a node is moved."""
        moved = [(clip, one) for clip in self.file.json.get("animations", []) for one in clip["channels"]]
        if not moved:
            return self.edit_move_inner(chance)
        clip, channel = one_of(chance, moved)
        sampler = dict(clip["samplers"][channel["sampler"]])
        end = self.file.arrays[sampler["input"]][-1, 0] + np.float32(chance.uniform(0.2, 2))
        first = self.file.arrays[sampler["output"]][:1]
        sampler["input"] = self.file.add(np.array([[0.0], [end]], np.float32))
        sampler["output"] = self.file.add(np.concatenate([first, first]))
        channel["sampler"] = len(clip["samplers"])
        clip["samplers"].append(sampler)
        return None

    def edit_move_root_node(self, chance: Chance) -> None:
        """Of a model that is placed, beside an empty or not."""
        found = [
            (above, child)
            for above in self.things("component")
            for child in self.nodes[above].get("children", [])
            if "node" in self.msh(self.nodes[child]) and "kind" not in self.msh(self.nodes[child])
        ]
        if not found:
            return
        above, child = one_of(chance, found)
        self.nodes[child]["translation"] = chance.uniform(0.5, 2, 3).tolist()
        if chance.integers(2):
            self.file.append({"name": "empty"}, above)

    def edit_drop_animations(self, _: Chance) -> None:
        self.file.json.pop("animations", None)

    def edit_drop_scenes(self, chance: Chance) -> None:
        root = self.file.json
        root["scenes"], root["scene"] = [root["scenes"][root.get("scene", 0)]], 0

    def arrived(self, back: ImportResult) -> Facts:
        source = type(self).make(self.path.parent / "again")
        source.write_bytes(back.data)
        edited = {one.result.name: one.result.data for one in back.placed}
        companions = {one.result.name[:-4] + c.ending: c.data for one in back.placed for c in one.result.companions}
        GameParts().write_models(self.path.parent / "again" / "GAME", edited | companions)
        second = self.of_file(convert(source, self.path.parent / "second.glb"))
        placed, drawn = assembled(second)
        left = [one for one in self.drawn - drawn if not any(_is_near(one, other) for other in drawn)]
        return placed | {("not drawn", *one): 1 for one in left}


#: What placed things state, and what decides where they are.
_STATED = ("key", "class", "label", "clan", "inner", "amount", "type")
#: Properties that follow what else an object states.
_OF_ONE = ("ClanID", "LogicalID")


def assembled(world: World) -> tuple[Facts, set[tuple[object, ...]]]:
    """What nodes of objects, components, zones and lodes state, and the places of all that is drawn."""
    places, placed, boxes = world.file.worlds(), [], dict[tuple[object, ...], np.ndarray]()
    names = dict[tuple[object, ...], set[str]]()
    listed = [(i, False) for scene in world.file.json["scenes"] for i in scene.get("nodes", [])]
    while listed:
        i, inside = listed.pop()
        node = world.nodes[i]
        about = world.msh(node)
        inside |= "hosted" in about  # in its building, wherever that is
        listed += [(child, inside) for child in node.get("children", [])]
        at = rounded(places[i][:3, 3], 2)
        if about.get("kind") in ("object", "component", "zone", "lode"):
            typed = {name: node["extras"].get(name, value) for name, value in about.items()}
            stated = [f"{v:.4g}" if isinstance(v := typed.get(name), float) else str(v) for name in _STATED]
            own = {name: v for name, v in about.get("properties", {}).items() if name not in _OF_ONE}
            stated.append(str(own))
            where = at if about["kind"] in ("zone", "lode") else ()
            placed.append((about["kind"], *stated, *where))
        elif "mesh" in node and "node" in about and not inside:
            low, high = box(world, node, places[i])
            key = (*at, float(np.sign(np.linalg.det(places[i][:3, :3]))))
            had = boxes.get(key, np.array([low, high]))
            boxes[key] = np.array([np.minimum(low, had[0]), np.maximum(high, had[1])])
            used = [p["material"] for p in world.file.json["meshes"][node["mesh"]]["primitives"] if "material" in p]
            names.setdefault(key, set()).update(world.file.json["materials"][m]["name"].partition("#")[0] for m in used)
    drawn = {(tuple(sorted(names[key])), *key, *rounded(corners, 2)) for key, corners in boxes.items()}
    return counted(placed), drawn


def box(world: World, node: Json, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The box of what a node draws, in the world."""
    primitives = world.file.json["meshes"][node["mesh"]]["primitives"]
    drawn = [p for p in primitives if "indices" in p]
    arrays = [
        world.file.arrays[p["attributes"]["POSITION"]][world.file.arrays[p["indices"]].reshape(-1)] for p in drawn
    ]
    points = np.concatenate(arrays) @ place[:3, :3].T + place[:3, 3]
    return points.min(axis=0), points.max(axis=0)


def counted(facts: list[tuple[object, ...]]) -> Facts:
    return dict(Counter(facts))


def one_of(chance: Chance, found: Sequence[Any]) -> Any:
    return found[int(chance.integers(len(found)))]


def _is_near(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether places that were rounded are of one, on both sides of a step."""
    return one[0] == other[0] and bool(np.abs(np.subtract(one[1:], other[1:])).max() < 0.011)


def rounded(values: Any, digits: int = 3) -> tuple[float, ...]:
    return tuple((np.round(np.asarray(values, np.float64).reshape(-1), digits) + 0.0).tolist())
