"""Files of each kind with edits that are drawn, and what they show before and after by a reader of their own.

``World.shown`` reads an edited glTF, ``World.arrived`` what came of its import; neither uses the product's
readers, comparators or judge.
"""

from __future__ import annotations

import copy
import shutil
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from msh_gltf.converter.kinds.dispatch import gltf_files, import_gltf, load_file
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ExportOptions, ImportOptions
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.corpus import LIBS, sample_called
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import trs
from tests.support.maps import level_called
from tests.support.points import cpt

Json = dict[str, Any]
Chance = np.random.Generator
Facts = dict[tuple[object, ...], int]
LEVEL = "spec__AutoMAP_00"
ROBOT_MODEL = "retail__system__R_H_002"
#: Axes of glTF in those of the game.
AXES = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)


@cache
def exported(world: type[World]) -> tuple[Path, TemporaryDirectory[str]]:
    """A world's source and its glTF with the sidecar, in a folder."""
    folder = TemporaryDirectory()
    source = world.make(Path(folder.name))
    options = ExportOptions(textures=(LIBS,) if world is Materials else ())
    target = Path(folder.name) / "out" / "first.glb"
    target.parent.mkdir()
    for path, data in gltf_files(load_file(source, None, options), target, options):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return target, folder


class World:
    """A file, to be edited and imported."""

    edits: ClassVar[dict[str, Callable[[Any, Chance], object]]]

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

    def shown(self) -> Facts:
        """What the edited file shows: facts, and how often each is there."""
        raise NotImplementedError

    def arrived(self, back: ImportResult) -> Facts:
        """What the result shows, by the same facts."""
        raise NotImplementedError


def counted(facts: list[tuple[object, ...]]) -> Facts:
    out: Facts = {}
    for one in facts:
        out[one] = out.get(one, 0) + 1
    return out


def rounded(values: Any, digits: int = 3) -> tuple[float, ...]:
    return tuple((np.round(np.asarray(values, np.float64).reshape(-1), digits) + 0.0).tolist())


# ------------------------------------------------------------------ areal maps


class Areals(World):
    """An areal map; triangles that share no corners, so that each may be edited alone."""

    @staticmethod
    def make(folder: Path) -> Path:
        return level_called(LEVEL).folder / "Land.map"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for primitive in self.file.primitives():
            if "indices" not in primitive:
                continue
            index = self.file.arrays[primitive["indices"]].reshape(-1)
            for name, accessor in [*primitive["attributes"].items()]:
                primitive["attributes"][name] = self.file.add(self.file.arrays[accessor][index].copy())
            primitive["indices"] = self.file.add(np.arange(len(index), dtype=np.uint32)[:, None])

    def faces(self) -> list[tuple[Json, np.ndarray, np.ndarray, np.ndarray]]:
        """Primitives with positions (T, 3, 3), numbers of areals (T, 3), flags (T, 3): views."""
        out = []
        for primitive in self.file.primitives():
            if "indices" in primitive:
                of = primitive["attributes"]
                arrays = (self.file.arrays[of[name]] for name in ("POSITION", "_MSH_AREAL", "_MSH_LOGIC"))
                positions, numbers, flags = arrays
                out.append((primitive, positions.reshape(-1, 3, 3), numbers.reshape(-1, 3), flags.reshape(-1, 3)))
        return out

    def areal(self, chance: Chance) -> tuple[int, np.ndarray]:
        """A primitive, and the triangles of an areal of it."""
        faces = self.faces()
        at = int(chance.integers(len(faces)))
        numbers = faces[at][2][:, 0]
        return at, np.flatnonzero(numbers == numbers[int(chance.integers(len(numbers)))])

    def move_corner(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        corner = self.faces()[at][1][rows[0], int(chance.integers(3))].copy()
        by = chance.uniform(-0.4, 0.4, 3).astype(np.float32)
        for _, positions, *_ in self.faces():
            positions[(positions == corner).all(axis=2)] += by

    def raise_areal(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        self.faces()[at][1][rows, :, 1] += np.float32(chance.uniform(0.1, 3))

    def change_flag(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        flags = self.faces()[at][3]
        flags[rows] = 1 - flags[rows]

    def change_class(self, chance: Chance) -> None:
        material = self.file.json["materials"][int(chance.integers(len(self.file.json["materials"])))]
        material["name"] = f"class_{int(chance.integers(1, 20))}"

    def split(self, chance: Chance) -> None:
        for _ in range(50):
            at, rows = self.areal(chance)
            if len(rows) > 1:
                self.faces()[at][2][rows[0]] = 0
                return

    def delete_areal(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        primitive, *arrays = self.faces()[at]
        keep = np.setdiff1d(np.arange(len(arrays[0])), rows)
        for name, array in zip(("POSITION", "_MSH_AREAL", "_MSH_LOGIC"), arrays, strict=True):
            width = 3 if name == "POSITION" else 1
            primitive["attributes"][name] = self.file.add(array[keep].reshape(-1, width).copy())
        primitive["attributes"].pop("NORMAL", None)
        primitive["indices"] = self.file.add(np.arange(3 * len(keep), dtype=np.uint32)[:, None])

    edits: ClassVar = {
        "move corner": move_corner,
        "raise areal": raise_areal,
        "change flag": change_flag,
        "change class": change_class,
        "add areal": split,
        "delete areal": delete_areal,
    }

    def shown(self) -> Facts:
        """Corners of each class and flag; and the area of each class."""
        corners, areas = set[tuple[object, ...]](), dict[int, float]()
        for primitive, positions, _, flags in self.faces():
            number = int(self.file.json["materials"][primitive["material"]]["name"].partition("_")[2])
            points = positions.astype(np.float64) @ AXES.T
            a, b = (points[:, 1] - points[:, 0])[:, :2], (points[:, 2] - points[:, 0])[:, :2]
            areas[number] = areas.get(number, 0) + float(np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum() / 2)
            for triangle, flag in zip(points, flags, strict=True):
                corners |= {("corner", number, int(flag[0]), *rounded(point, 2)) for point in triangle}
        return dict.fromkeys(corners, 1) | {("area", n, round(area, 0)): 1 for n, area in areas.items()}

    def arrived(self, back: ImportResult) -> Facts:
        data, corners, areas = back.data, set[tuple[object, ...]](), dict[int, float]()
        count, total = struct.unpack_from("<iI", data, 8)
        heads = [struct.unpack_from("<4I", data, total - 64 * (count - i)) for i in range(count)]
        which = next(i for i, head in enumerate(heads) if head[0] == 12)
        at = struct.unpack_from("<I", data, total - 64 * (count - which) + 56)[0]
        for _ in range(heads[which][1]):
            flag, _, number, _, vertices, polys = struct.unpack_from("<6I", data, at + 32)
            points = np.frombuffer(data, "<f4", 3 * vertices, at + 56).reshape(-1, 3).astype(np.float64)
            x, y = points[:, 0] - points[0, 0], points[:, 1] - points[0, 1]
            area = abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2))
            areas[number] = areas.get(number, 0) + area
            corners |= {("corner", number, flag, *rounded(point, 2)) for point in points}
            at += 56 + 20 * vertices
            for _ in range(polys):
                at += 4 + 16 * struct.unpack_from("<I", data, at)[0]
        return dict.fromkeys(corners, 1) | {("area", n, round(area, 0)): 1 for n, area in areas.items()}


# ------------------------------------------------------------------ terrains


class Terrain(World):
    """A level's landscape."""

    @staticmethod
    def make(folder: Path) -> Path:
        return level_called(LEVEL).folder / "Land.msh"

    def fine(self) -> list[Json]:
        mesh = next(node for node in self.nodes if self.msh(node).get("level") == 0)["mesh"]
        found: list[Json] = self.file.json["meshes"][mesh]["primitives"]
        return found

    def vertex(self, chance: Chance) -> int:
        """A vertex of the fine level alone."""
        used = np.concatenate([self.file.arrays[p["indices"]].reshape(-1) for p in self.fine()])
        coarse = [p for p in self.file.primitives() if p not in self.fine()]
        other = np.concatenate([self.file.arrays[p["indices"]].reshape(-1) for p in coarse])
        return int(chance.choice(np.setdiff1d(used, other)))

    def stream(self, name: str) -> np.ndarray:
        return self.file.arrays[self.fine()[0]["attributes"][name]]

    def raise_vertex(self, chance: Chance) -> None:
        self.stream("POSITION")[self.vertex(chance), 1] += np.float32(chance.uniform(0.2, 3))

    def change_coordinates(self, chance: Chance) -> None:
        self.stream("TEXCOORD_0")[self.vertex(chance)] += np.float32(0.125)

    def change_blend(self, chance: Chance) -> None:
        values = self.stream("_MSH_BLEND")
        at = self.vertex(chance)
        values[at] = 1.0 if values[at] < 0.5 else 0.0

    def delete_face(self, chance: Chance) -> None:
        primitive = self.fine()[int(chance.integers(len(self.fine())))]
        index = self.file.arrays[primitive["indices"]].reshape(-1, 3)
        kept = np.delete(index, int(chance.integers(len(index))), axis=0)
        primitive["indices"] = self.file.add(kept.reshape(-1, 1))

    def assign_material(self, chance: Chance) -> None:
        fine = self.fine()
        one, other = (fine[int(i)] for i in chance.choice(len(fine), 2, replace=False))
        index = self.file.arrays[one["indices"]].reshape(-1, 3)
        face = int(chance.integers(len(index)))
        whole = np.concatenate([self.file.arrays[other["indices"]].reshape(-1, 3), index[face : face + 1]])
        other["indices"] = self.file.add(whole.reshape(-1, 1))
        one["indices"] = self.file.add(np.delete(index, face, axis=0).reshape(-1, 1))

    edits: ClassVar = {
        "raise vertex": raise_vertex,
        "delete face": delete_face,
        "change blend": change_blend,
        "assign material": assign_material,
        "change coordinates": change_coordinates,
    }

    def shown(self) -> Facts:
        """Faces of the fine level: corners, coordinates, rows of materials."""
        out = []
        positions, coordinates = self.stream("POSITION").astype(np.float64) @ AXES.T, self.stream("TEXCOORD_0")
        for primitive in self.fine():
            about = self.file.json["materials"][primitive["material"]]["extras"]["msh"]
            for face in self.file.arrays[primitive["indices"]].reshape(-1, 3).tolist():
                corners = sorted((*rounded(positions[v], 2), *rounded(coordinates[v], 2)) for v in face)
                out.append((about["first"], about["second"], *corners))
        return counted(out)

    def arrived(self, back: ImportResult) -> Facts:
        raise NotImplementedError


# ------------------------------------------------------------------ missions and units


class Mission(World):
    """A mission of a base, robots, a rock, a route, a zone and a lode."""

    @staticmethod
    def make(folder: Path) -> Path:
        parts = GameParts()
        parts.placed[0]["properties"] = [*parts.placed[0]["properties"], (1, 50, "Health")]
        return parts.write(folder / "GAME")

    def move_object(self, chance: Chance) -> None:
        node = self.of(chance, "object")
        node["translation"] = [float(v) for v in chance.uniform(20, 150, 3) * [1, 0.05, -1]]

    def turn_object(self, chance: Chance) -> None:
        half = chance.uniform(0.2, 1.2)
        self.object(chance, hosted=False)["rotation"] = [0.0, float(np.sin(half)), 0.0, float(np.cos(half))]

    def object(self, chance: Chance, *, hosted: bool = True) -> Json:
        found = [
            n for n in self.nodes if self.msh(n).get("kind") == "object" and (hosted or "hosted" not in self.msh(n))
        ]
        return found[int(chance.integers(len(found)))]

    def scale_rock(self, chance: Chance) -> None:
        rock = next(node for node in self.nodes if self.msh(node).get("path") == "S_ROCK")
        rock["scale"] = [float(chance.uniform(0.5, 3))] * 3

    def exchange_object(self, chance: Chance) -> None:
        one = self.object(chance, hosted=False)["extras"]["msh"]
        one["path"] = ROBOT if one["path"] == "S_ROCK" else "S_ROCK"

    def change_clan(self, chance: Chance) -> None:
        about = self.msh(self.object(chance))
        about["clan"] = 1 - about["clan"] if about["clan"] < 2 else 5

    def change_property(self, chance: Chance) -> None:
        about = next(self.msh(n)["properties"] for n in self.nodes if "Health" in self.msh(n).get("properties", {}))
        about["Health"] = int(chance.integers(51, 99))

    def move_root(self, chance: Chance) -> None:
        found = [n for n in self.nodes if self.msh(n).get("kind") == "component"]
        node = found[int(chance.integers(len(found)))]
        node["translation"] = [float(v) for v in chance.uniform(1, 5, 3)]

    def delete_object(self, chance: Chance) -> None:
        number = self.nodes.index(self.of(chance, "object"))
        for scene in self.file.json["scenes"]:
            scene["nodes"] = [one for one in scene.get("nodes", []) if one != number]

    def copy_object(self, chance: Chance) -> None:
        node = self.object(chance, hosted=False)
        made = {key: value for key, value in copy.deepcopy(node).items() if key != "children"}
        self.nodes.append({**made, "name": f"{node['name']}.001", "translation": [30.0, 5.0, -40.0]})
        self.file.json["scenes"][0]["nodes"].append(len(self.nodes) - 1)

    def move_route(self, chance: Chance) -> None:
        mesh = self.file.json["meshes"][self.of(chance, "route")["mesh"]]
        values = self.file.arrays[mesh["primitives"][0]["attributes"]["POSITION"]]
        first = values[0].copy()
        values[(values == first).all(axis=1)] += np.float32(1.5)

    def move_zone(self, chance: Chance) -> None:
        self.of(chance, "zone")["translation"] = [float(v) for v in chance.uniform(5, 60, 3) * [1, 0, -1]]

    def resize_zone(self, chance: Chance) -> None:
        self.of(chance, "zone")["extras"]["msh"]["inner"] = float(chance.uniform(1, 4))

    def move_lode(self, chance: Chance) -> None:
        self.of(chance, "lode")["translation"] = [float(v) for v in chance.uniform(5, 60, 3) * [1, 0.1, -1]]

    def change_amount(self, chance: Chance) -> None:
        self.of(chance, "lode")["extras"]["msh"]["amount"] = float(chance.uniform(10, 900))

    edits: ClassVar = {
        "move object": move_object,
        "turn object": turn_object,
        "scale rock": scale_rock,
        "exchange object": exchange_object,
        "change clan": change_clan,
        "change property": change_property,
        "move root": move_root,
        "delete object": delete_object,
        "copy object": copy_object,
        "move route": move_route,
        "move zone": move_zone,
        "resize zone": resize_zone,
        "move lode": move_lode,
        "change amount": change_amount,
    }


class Unit(World):
    """A robot of a chassis, a gun and a computer."""

    @staticmethod
    def make(folder: Path) -> Path:
        parts = GameParts()
        parts.objects["e_gun_2"] = parts.objects["e_gun_1"]
        parts.write(folder / "GAME")
        return folder / "GAME" / ROBOT.replace("\\", "/")

    def part(self, chance: Chance) -> Json:
        found = [n for n in self.nodes if self.msh(n).get("kind") == "component"]
        return found[int(chance.integers(len(found)))]

    def gun(self) -> Json:
        return next(n for n in self.nodes if self.msh(n).get("key") == "e_gun_1")

    def exchange_part(self, chance: Chance) -> None:
        self.gun()["extras"]["msh"]["key"] = "e_gun_2"

    def change_class(self, chance: Chance) -> None:
        self.gun()["extras"]["msh"]["class"] = int(chance.integers(5, 9))

    def change_label(self, chance: Chance) -> None:
        self.part(chance)["extras"]["msh"]["label"] = f"part {int(chance.integers(99))}"

    def remove_part(self, chance: Chance) -> None:
        number = self.nodes.index(self.gun())
        for node in self.nodes:
            if number in node.get("children", []):
                node["children"].remove(number)

    def move_part(self, chance: Chance) -> None:
        self.part(chance)["translation"] = [float(v) for v in chance.uniform(1, 3, 3)]

    edits: ClassVar = {
        "exchange part": exchange_part,
        "change class of part": change_class,
        "change label of part": change_label,
        "remove part": remove_part,
        "move part": move_part,
    }


# ------------------------------------------------------------------ points and materials


class Points(World):
    """A model with control points."""

    @staticmethod
    def make(folder: Path) -> Path:
        shutil.copy(sample_called(ROBOT_MODEL).path, folder / "robot.msh")
        rows = [
            ("Camera", 2, (0.0, 0.0, 0.876), (0.0, 1.0, 0.0)),
            ("Gun", 0, (1.5, -2.25, 3.0), (0.0, 4.849, 0.0)),
            ("Gun", 3, (0.5, 0.25, -0.125), (0.3, 0.0, -0.42)),
        ]
        (folder / "robot.cpt").write_bytes(cpt(rows))
        return folder / "robot.msh"

    def move_point(self, chance: Chance) -> None:
        node = self.of(chance, "point")
        node["translation"] = [float(v) for v in chance.uniform(1, 3, 3)]

    def turn_point(self, chance: Chance) -> None:
        half = chance.uniform(0.3, 1.2)
        self.of(chance, "point")["rotation"] = [float(np.sin(half)), 0.0, 0.0, float(np.cos(half))]

    def rename_point(self, chance: Chance) -> None:
        self.of(chance, "point")["name"] = f"Lamp{int(chance.integers(99))}.point"

    def add_point(self, chance: Chance) -> None:
        node = self.of(chance, "point")
        number = self.nodes.index(node)
        above = next(one for one in self.nodes if number in one.get("children", []))
        extras = {"msh": {"kind": "point", "length": 1.0}}
        self.nodes.append({"name": "Fresh.point", "translation": [1.0, 2.0, 3.0], "extras": extras})
        above["children"].append(len(self.nodes) - 1)

    def delete_point(self, chance: Chance) -> None:
        number = self.nodes.index(self.of(chance, "point"))
        for node in self.nodes:
            if number in node.get("children", []):
                node["children"].remove(number)

    edits: ClassVar = {
        "move point": move_point,
        "turn point": turn_point,
        "rename point": rename_point,
        "add point": add_point,
        "delete point": delete_point,
    }


class Materials(World):
    """A model with the colours and pictures of a game."""

    @staticmethod
    def make(folder: Path) -> Path:
        source = sample_called(ROBOT_MODEL).path
        shutil.copy(source, folder / "robot.msh")
        shutil.copy(source.with_suffix(".wea"), folder / "robot.wea")
        return folder / "robot.msh"

    def materials(self, chance: Chance) -> list[Json]:
        """All materials of one name: the game has one for them."""
        used = sorted({p["material"] for p in self.file.primitives()})
        found = [self.file.json["materials"][i] for i in used]
        name = found[int(chance.integers(len(found)))]["name"]
        return [one for one in found if one["name"] == name]

    def change_colour(self, chance: Chance) -> None:
        some, colour = self.materials(chance), [*map(float, chance.uniform(0.1, 0.9, 3))]
        for about in (one["pbrMetallicRoughness"] for one in some):
            about["baseColorFactor"] = [*colour, about.get("baseColorFactor", [1, 1, 1, 1])[3]]

    def change_light(self, chance: Chance) -> None:
        some, light = self.materials(chance), [*map(float, chance.uniform(0.1, 0.9, 3))]
        for one in some:
            one["emissiveFactor"] = light

    def change_mode(self, chance: Chance) -> None:
        some = self.materials(chance)
        mode = "BLEND" if some[0].get("alphaMode", "OPAQUE") == "OPAQUE" else "OPAQUE"
        for one in some:
            one["alphaMode"] = mode

    def assign_picture(self, chance: Chance) -> None:
        some, count = self.materials(chance), len(self.file.json["textures"])
        textures = [one["pbrMetallicRoughness"].get("baseColorTexture") for one in some]
        by = int(chance.integers(1, count))
        for texture in textures:
            if texture is not None:
                texture["index"] = (texture["index"] + by) % count

    edits: ClassVar = {
        "change colour": change_colour,
        "change light": change_light,
        "change mode": change_mode,
        "assign picture": assign_picture,
    }


WORLDS: dict[str, type[World]] = {
    "areal map": Areals,
    "terrain": Terrain,
    "mission": Mission,
    "unit": Unit,
    "points": Points,
    "materials": Materials,
}
