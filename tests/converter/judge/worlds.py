"""Files of each kind with edits that are drawn (``tests.converter.judge.world``)."""

from __future__ import annotations

import copy
import io
import shutil
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image

from tests.converter.judge.grounds import Areals, Terrain
from tests.converter.judge.world import Assembly, Chance, Json, World, one_of
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.controller import walker
from tests.support.corpus import LIBS, sample_called
from tests.support.gltf_shown import trs
from tests.support.points import cpt

ROBOT_MODEL = "retail__system__R_H_002"


# ------------------------------------------------------------------ missions and units


class Mission(Assembly):
    """A mission of a base, robots, a rock, a route, a zone and a lode."""

    @staticmethod
    def make(folder: Path) -> Path:
        parts = GameParts()
        parts.placed[0]["properties"] = [*parts.placed[0]["properties"], (1, 50, "Health")]
        return parts.write(folder / "GAME")

    def edit_move_object(self, chance: Chance) -> None:
        node = self.of(chance, "object")
        node["translation"] = (chance.uniform(20, 150, 3) * [1, 0.05, -1]).tolist()

    def edit_turn_object(self, chance: Chance) -> None:
        half = chance.uniform(0.2, 1.2)
        self.object(chance, hosted=False)["rotation"] = [0.0, float(np.sin(half)), 0.0, float(np.cos(half))]

    def edit_nudge_object(self, chance: Chance) -> None:
        """By more than float32 rounds, and little more."""
        node = self.object(chance, hosted=False)
        node["translation"] = [v + 0.01 for v in node.get("translation", [0, 0, 0])]

    def edit_nudge_turn(self, chance: Chance) -> None:
        nudge_turn(self.object(chance, hosted=False))

    def edit_number_past_the_end(self, chance: Chance) -> None:
        for number, i in zip((len(self.things("object")), 10**40, -2), self.things("object"), strict=False):
            self.msh(self.nodes[i])["index"] = number

    def object(self, chance: Chance, *, hosted: bool = True) -> Json:
        found = [self.nodes[i] for i in self.things("object")]
        return one_of(chance, [node for node in found if hosted or "hosted" not in self.msh(node)])

    def edit_scale_rock(self, chance: Chance) -> None:
        rock = next(node for node in self.nodes if self.msh(node).get("path") == "S_ROCK")
        rock["scale"] = [float(chance.uniform(0.5, 3))] * 3

    def edit_exchange_object(self, chance: Chance) -> None:
        one = self.object(chance, hosted=False)["extras"]["msh"]
        one["path"] = ROBOT if one["path"] == "S_ROCK" else "S_ROCK"

    def edit_change_clan(self, chance: Chance) -> None:
        about = self.msh(self.object(chance))
        about["clan"] = 1 - about["clan"] if about["clan"] < 2 else 5

    def edit_change_property(self, chance: Chance) -> None:
        about = next(self.msh(n)["properties"] for n in self.nodes if "Health" in self.msh(n).get("properties", {}))
        about["Health"] = int(chance.integers(51, 99))

    def edit_move_root(self, chance: Chance) -> None:
        node = self.of(chance, "component")
        node["translation"] = chance.uniform(1, 5, 3).tolist()

    def edit_rename_object(self, chance: Chance) -> None:
        self.object(chance)["name"] = f"Fort {int(chance.integers(99))}"

    def edit_type_key_inside(self, chance: Chance) -> None:
        """Of a component of a unit, which a mission does not change."""
        self.msh(self.nodes[self.thing(chance, "component")])["label"] = f"other {int(chance.integers(99))}"

    def edit_sculpt_one_place(self, chance: Chance) -> None:
        """Of a model that is placed several times."""
        meshes = [node["mesh"] for node in self.drawn_nodes()]
        several = [node for node in self.drawn_nodes() if meshes.count(node["mesh"]) > 1]
        self.sculpt_mesh(chance, self.own_mesh(one_of(chance, several)))

    def edit_delete_object(self, chance: Chance) -> None:
        self.take_out(self.nodes.index(self.of(chance, "object")))

    def edit_copy_object(self, chance: Chance) -> None:
        node = self.object(chance, hosted=False)
        made = {key: value for key, value in copy.deepcopy(node).items() if key != "children"}
        self.file.append({**made, "name": f"{node['name']}.001", "translation": [30.0, 5.0, -40.0]})

    def route(self, chance: Chance) -> np.ndarray:
        """The points of a route."""
        mesh = self.file.json["meshes"][self.of(chance, "route")["mesh"]]
        return self.file.arrays[mesh["primitives"][0]["attributes"]["POSITION"]]

    def edit_move_route(self, chance: Chance) -> None:
        values = self.route(chance)
        first = values[0].copy()
        values[(values == first).all(axis=1)] += np.float32(1.5)

    def edit_nudge_route(self, chance: Chance) -> None:
        self.route(chance)[0] += np.float32(0.01)

    def edit_copy_route(self, _: Chance) -> None:
        route = next(node for node in self.nodes if self.msh(node).get("kind") == "route")
        self.file.append({**copy.deepcopy(route), "name": f"{route['name']}.001", "translation": [3.0, 0.0, 4.0]})

    def edit_tilt_object(self, chance: Chance) -> None:
        half = chance.choice([1e-5, 1e-3, 0.3])
        self.object(chance, hosted=False)["rotation"] = [float(np.sin(half)), 0.0, 0.0, float(np.cos(half))]

    def edit_move_zone(self, chance: Chance) -> None:
        self.of(chance, "zone")["translation"] = (chance.uniform(5, 60, 3) * [1, 0, -1]).tolist()

    def edit_resize_zone(self, chance: Chance) -> None:
        self.of(chance, "zone")["extras"]["msh"]["inner"] = float(chance.uniform(1, 4))

    def edit_move_lode(self, chance: Chance) -> None:
        self.of(chance, "lode")["translation"] = (chance.uniform(5, 60, 3) * [1, 0.1, -1]).tolist()

    def edit_change_amount(self, chance: Chance) -> None:
        self.of(chance, "lode")["extras"]["msh"]["amount"] = float(chance.uniform(10, 900))

    edit_change_colour = World.change_colour
    edit_sculpt_model = Assembly.sculpt
    edit_add_stray = Assembly.add_stray


class Unit(Assembly):
    """A robot of a chassis, a gun and a computer."""

    @staticmethod
    def make(folder: Path) -> Path:
        parts = GameParts()
        parts.objects["e_gun_2"] = parts.objects["e_gun_1"]
        parts.write(folder / "GAME")
        return folder / "GAME" / ROBOT.replace("\\", "/")

    def gun(self) -> Json:
        return next(n for n in self.nodes if self.msh(n).get("key") == "e_gun_1")

    def edit_exchange_part(self, chance: Chance) -> None:
        self.gun()["extras"]["msh"]["key"] = "e_gun_2"

    def edit_change_class_of_part(self, chance: Chance) -> None:
        self.gun()["extras"]["msh"]["class"] = int(chance.choice([0, 1, 2, 3, 7, 8]))

    def edit_change_label_of_part(self, chance: Chance) -> None:
        self.of(chance, "component")["extras"]["msh"]["label"] = f"part {int(chance.integers(99))}"

    def edit_remove_part(self, chance: Chance) -> None:
        self.take_out(self.nodes.index(self.gun()))

    def edit_mount_part(self, chance: Chance) -> None:
        """On another node of the model that it is on."""
        number = self.nodes.index(self.gun())
        socket = next((node for node in self.nodes if number in node.get("children", [])), None)
        if socket is None:
            return  # it was removed
        others = [node for node in self.nodes if socket is not node and "node" in self.msh(node)]
        others = [node for node in others if node["extras"]["msh"]["node"] < 8 and not self._is_below(number, node)]
        socket["children"].remove(number)
        one_of(chance, others).setdefault("children", []).append(number)

    def edit_mount_on_a_copy(self, _: Chance) -> None:
        """Of what the gun is mounted on: the copy says that it is the same part."""
        number, above = self.nodes.index(self.gun()), self.things("component")
        holder = next((i for i, node in enumerate(self.nodes) if number in node.get("children", [])), None)
        base = next((i for i in above if holder is not None and self._is_below(i, self.nodes[holder])), None)
        if holder is None or base is None:
            return  # the gun is elsewhere by now
        self.nodes.append({**self.nodes[base], "name": f"{self.nodes[base]['name']}.001", "children": [number]})
        self.nodes[holder]["children"].remove(number)
        unit = next(node for node in self.nodes if base in node.get("children", []))
        unit["children"].append(len(self.nodes) - 1)

    def _is_below(self, above: int, node: Json) -> bool:
        children = [self.nodes[i] for i in self.nodes[above].get("children", [])]
        return any(one is node or self._is_below(self.nodes.index(one), node) for one in children)

    def edit_dissolve(self, _: Chance) -> None:
        """Delete a node above the gun's socket: that moves up, and has another row."""
        above = {child: i for i, node in enumerate(self.nodes) for child in node.get("children", [])}
        number = above.get(above.get(self.nodes.index(self.gun()), -1), -1)
        if number not in above:
            return  # the gun is elsewhere by now
        gone, target = self.nodes[number], self.nodes[above[number]]
        for child in gone.pop("children"):
            matrix = trs(gone) @ trs(self.nodes[child])
            for name in ("translation", "rotation", "scale"):
                self.nodes[child].pop(name, None)
            self.nodes[child]["matrix"] = [*map(float, matrix.T.reshape(-1))]
            target["children"].append(child)
        self.take_out(number)

    def edit_number_past_the_end(self, chance: Chance) -> None:
        for number, i in zip((len(self.things("component")), 10**40), self.things("component")[1:], strict=False):
            self.msh(self.nodes[i])["index"] = number

    def edit_move_part(self, chance: Chance) -> None:
        self.of(chance, "component")["translation"] = chance.uniform(1, 3, 3).tolist()

    edit_change_colour = World.change_colour
    edit_sculpt_model = Assembly.sculpt
    edit_add_stray = Assembly.add_stray


def nudge_turn(node: Json) -> None:
    """Turn a node by more than float32 rounds, and little more."""
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    node["rotation"] = [x + 1e-3 * w, y + 1e-3 * z, z - 1e-3 * y, w - 1e-3 * x]


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
        points = cpt(rows)
        (folder / "robot.cpt").write_bytes(points[:12] + b"\1" + points[13:])  # the second node of the first
        return folder / "robot.msh"

    def edit_move_point(self, chance: Chance) -> None:
        node = self.of(chance, "point")
        node["translation"] = chance.uniform(1, 3, 3).tolist()

    def edit_turn_point(self, chance: Chance) -> None:
        half = chance.uniform(0.3, 1.2)
        self.of(chance, "point")["rotation"] = [float(np.sin(half)), 0.0, 0.0, float(np.cos(half))]

    def edit_rename_point(self, chance: Chance) -> None:
        self.of(chance, "point")["name"] = f"Lamp{int(chance.integers(99))}.point"

    def edit_nudge_turn(self, chance: Chance) -> None:
        nudge_turn(self.of(chance, "point"))

    def edit_nudge_length(self, chance: Chance) -> None:
        self.msh(self.of(chance, "point"))["length"] *= 1.001

    def edit_draw_point(self, chance: Chance) -> None:
        """Give a point a mesh, with flags."""
        point = self.of(chance, "point")
        point["mesh"] = next(node["mesh"] for node in self.nodes if "mesh" in node)
        point["extras"]["tri_flags"] = 5

    def edit_take_out_point(self, chance: Chance) -> None:
        """Of its node, into the scene, as it is."""
        number = self.nodes.index(self.of(chance, "point"))
        self.take_out(number)
        self.file.scenes[0]["nodes"].append(number)

    def edit_change_flags_of_point(self, chance: Chance) -> None:
        self.of(chance, "point")["extras"]["msh"]["flags"] = int(chance.integers(1, 99))

    def edit_change_second_node_of_point(self, chance: Chance) -> None:
        self.of(chance, "point")["extras"]["msh"]["node2"] = int(chance.integers(1, 4))

    def edit_add_point(self, chance: Chance, *, copied: bool = False) -> None:
        node = self.of(chance, "point")
        number = self.nodes.index(node)
        above = next((i for i, one in enumerate(self.nodes) if number in one.get("children", [])), 0)
        extras = node["extras"] if copied else {"msh": {"kind": "point", "length": 1.0}}
        self.file.append({"name": "Fresh.point", "translation": [1.0, 2.0, 3.0], "extras": extras}, above)

    def edit_delete_point(self, chance: Chance) -> None:
        self.take_out(self.nodes.index(self.of(chance, "point")))

    def edit_copy_point(self, chance: Chance) -> None:
        self.edit_add_point(chance, copied=True)


class Ranges(World):
    """A walker whose controller plays a range of its clip."""

    clips: ClassVar = "states"

    @staticmethod
    def make(folder: Path) -> Path:
        shutil.copy(sample_called("retail__odd__s_rock_009").path, folder / "robot.msh")
        (folder / "robot.ctl").write_bytes(walker(9, node=3))
        return folder / "robot.msh"

    def range_keys(self) -> np.ndarray:
        clip = self.file.json["animations"][-1]
        channel = [one for one in clip["channels"] if one["target"]["path"] == "translation"][-1]
        return self.file.arrays[clip["samplers"][channel["sampler"]]["output"]]

    def edit_move_key_of_range(self, chance: Chance) -> None:
        self.range_keys()[4] += np.float32(chance.uniform(0.5, 2))

    def edit_move_last_key_of_range(self, chance: Chance) -> None:
        self.range_keys()[-1] += np.float32(chance.uniform(0.5, 2))

    def edit_move_key_of_range_alone(self, chance: Chance) -> None:
        """In a file of the range, without the whole clip."""
        self.edit_move_key_of_range(chance)
        self.file.json["animations"] = self.file.json["animations"][-1:]


class Visible(World):
    """A model of which the default scene alone was exported."""

    parts: ClassVar = "visible"

    @staticmethod
    def make(folder: Path) -> Path:
        shutil.copy(sample_called(ROBOT_MODEL).path, folder / "robot.msh")
        return folder / "robot.msh"

    def edit_delete_face(self, chance: Chance) -> None:
        one = one_of(chance, self.file.primitives())
        one["indices"] = self.file.add(self.file.arrays[one["indices"]][3:])

    def edit_delete_mesh(self, chance: Chance) -> None:
        del one_of(chance, [node for node in self.nodes if "mesh" in node])["mesh"]


class Materials(World):
    """A model with the colours and pictures of a game."""

    textures: ClassVar = (LIBS,)

    @staticmethod
    def make(folder: Path) -> Path:
        source = sample_called(ROBOT_MODEL).path
        shutil.copy(source, folder / "robot.msh")
        shutil.copy(source.with_suffix(".wea"), folder / "robot.wea")
        return folder / "robot.msh"

    def edit_change_every_colour(self, _: Chance) -> None:
        names = [one["name"] for one in self.file.json["materials"]]
        for one in self.file.json["materials"]:
            of_name = names.index(one["name"])
            one["pbrMetallicRoughness"]["baseColorFactor"] = [0.1 + of_name / 50, 0.5, 0.5, 1.0]

    def edit_change_light(self, chance: Chance) -> None:
        some, light = self.materials(chance), chance.uniform(0.1, 0.9, 3).tolist()
        for one in some:
            one["emissiveFactor"] = light

    def edit_light_of_one_colour(self, chance: Chance) -> None:
        for one in self.materials(chance):
            del one["emissiveTexture"]

    def edit_change_mode(self, chance: Chance) -> None:
        some = self.materials(chance)
        mode = "BLEND" if some[0].get("alphaMode", "OPAQUE") == "OPAQUE" else "OPAQUE"
        for one in some:
            one["alphaMode"] = mode

    def edit_assign_picture(self, chance: Chance) -> None:
        some, count = self.materials(chance), len(self.file.json["textures"])
        textures = [one["pbrMetallicRoughness"].get("baseColorTexture") for one in some]
        by = int(chance.integers(1, count))
        for texture in textures:
            if texture is not None:
                texture["index"] = (texture["index"] + by) % count

    def edit_shift_picture(self, chance: Chance) -> None:
        """By a texture transform."""
        self.file.json.setdefault("extensionsUsed", []).append("KHR_texture_transform")
        for one in self.materials(chance):
            shift = {"offset": chance.uniform(0.1, 0.4, 2).tolist()}
            for shown in (one["pbrMetallicRoughness"].get("baseColorTexture"), one.get("emissiveTexture")):
                if shown is not None:
                    shown["extensions"] = {"KHR_texture_transform": shift}

    def edit_repaint_picture(self, chance: Chance) -> None:
        """One that no material shines through."""
        root = self.file.json
        shining = {
            root["textures"][m["emissiveTexture"]["index"]]["source"]
            for m in root["materials"]
            if "emissiveTexture" in m
        }
        number = min(self.file.pictures.keys() - shining)
        with Image.open(io.BytesIO(self.file.pictures[number])) as image:
            out = io.BytesIO()
            Image.new("RGBA", image.size, (int(chance.integers(256)), 90, 30, 255)).save(out, "PNG")
        self.file.pictures[number] = out.getvalue()

    edit_change_colour = World.change_colour


WORLDS: dict[str, type[World]] = {
    "areal map": Areals,
    "terrain": Terrain,
    "mission": Mission,
    "unit": Unit,
    "points": Points,
    "ranges": Ranges,
    "visible": Visible,
    "materials": Materials,
}
