"""Areal maps and terrains with edits that are drawn (``tests.converter.judge.world``)."""

from pathlib import Path

import numpy as np

from msh_gltf.converter.kinds.import_result import ImportResult
from tests.converter.judge.world import AXES, Chance, Facts, Json, World, counted, one_of, rounded
from tests.second.container import Container
from tests.second.level import Land, areals_of
from tests.support.maps import level_called

LEVEL = "spec__AutoMAP_00"


# ------------------------------------------------------------------ areal maps


class Areals(World):
    """An areal map; triangles that share no corners, so that each may be edited alone."""

    @staticmethod
    def make(folder: Path) -> Path:
        return level_called(LEVEL).folder / "Land.map"

    def open(self, path: Path) -> None:
        super().open(path)
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

    def edit_move_corner(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        corner = self.faces()[at][1][rows[0], int(chance.integers(3))].copy()
        by = chance.uniform(-0.4, 0.4, 3).astype(np.float32)
        for _, positions, *_ in self.faces():
            positions[(positions == corner).all(axis=2)] += by

    def edit_raise_areal(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        self.faces()[at][1][rows, :, 1] += np.float32(chance.uniform(0.1, 3))

    def edit_change_flag(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        flags = self.faces()[at][3]
        flags[rows] = 1 - flags[rows]

    def edit_change_class(self, chance: Chance) -> None:
        material = one_of(chance, self.file.json["materials"])
        material["name"] = f"class_{int(chance.integers(1, 20))}"

    def edit_drop_material(self, chance: Chance) -> None:
        """The class is in the name of the node, too."""
        one_of(chance, self.faces())[0].pop("material", None)

    def edit_add_areal(self, chance: Chance) -> None:
        for _ in range(50):
            at, rows = self.areal(chance)
            if len(rows) > 1:
                self.faces()[at][2][rows[0]] = 0
                return

    def edit_delete_areal(self, chance: Chance) -> None:
        at, rows = self.areal(chance)
        primitive, *arrays = self.faces()[at]
        keep = np.setdiff1d(np.arange(len(arrays[0])), rows)
        if not len(keep):
            return  # the only one of its class, and an accessor needs an element
        for name, array in zip(("POSITION", "_MSH_AREAL", "_MSH_LOGIC"), arrays, strict=True):
            width = 3 if name == "POSITION" else 1
            primitive["attributes"][name] = self.file.add(array[keep].reshape(-1, width).copy())
        primitive["attributes"].pop("NORMAL", None)
        primitive["indices"] = self.file.add(np.arange(3 * len(keep), dtype=np.uint32)[:, None])

    def shown(self) -> Facts:
        """Corners of each class and flag; and the area of each class."""
        corners, areas = set[tuple[object, ...]](), dict[int, float]()
        for primitive, positions, _, flags in self.faces():
            number = int(self.file.json["materials"][primitive["material"]]["name"].partition("_")[2])
            points = positions.astype(np.float64) @ AXES.T
            a, b = (points[:, 1] - points[:, 0])[:, :2], (points[:, 2] - points[:, 0])[:, :2]
            areas[number] = areas.get(number, 0) + float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum() / 2)
            for triangle, flag in zip(points, flags, strict=True):
                corners |= {("corner", number, int(flag[0]), *rounded(point, 2)) for point in triangle}
        return dict.fromkeys(corners, 1) | {("area", n, round(area, 0)): 1 for n, area in areas.items()}

    def arrived(self, back: ImportResult) -> Facts:
        corners, areas = set[tuple[object, ...]](), dict[int, float]()
        entry = Container(back.data).tables()[12]
        for record, vertices, _ in areals_of(entry.data, entry.attr1)[0]:
            flag, number, points = record[8], record[10], np.array(vertices)
            x, y = (points - points[0])[:, :2].T
            area = abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2))
            areas[number] = areas.get(number, 0) + area
            corners |= {("corner", number, flag, *rounded(point, 2)) for point in points}
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

    def edit_raise_vertex(self, chance: Chance) -> None:
        self.stream("POSITION")[self.vertex(chance), 1] += np.float32(chance.uniform(0.2, 3))

    def edit_change_coordinates(self, chance: Chance) -> None:
        self.stream("TEXCOORD_0")[self.vertex(chance)] += np.float32(0.125)

    def edit_change_blend(self, chance: Chance) -> None:
        values = self.stream("_MSH_BLEND")
        at = self.vertex(chance)
        values[at] = 1.0 if values[at] < 0.5 else 0.0

    def edit_delete_face(self, chance: Chance) -> None:
        primitive = one_of(chance, self.fine())
        self._take_face(primitive, int(chance.integers(len(self.file.arrays[primitive["indices"]]) // 3)))

    def _take_face(self, primitive: Json, face: int) -> None:
        """Take a face away, and the primitive with its last one."""
        kept = np.delete(self.file.arrays[primitive["indices"]].reshape(-1, 3), face, axis=0)
        if len(kept):
            primitive["indices"] = self.file.add(kept.reshape(-1, 1))
            return
        for mesh in self.file.json["meshes"]:
            mesh["primitives"] = [one for one in mesh["primitives"] if one is not primitive]

    def edit_assign_material(self, chance: Chance) -> None:
        fine = self.fine()
        one, other = (fine[int(i)] for i in chance.choice(len(fine), 2, replace=False))
        index = self.file.arrays[one["indices"]].reshape(-1, 3)
        face = int(chance.integers(len(index)))
        whole = np.concatenate([self.file.arrays[other["indices"]].reshape(-1, 3), index[face : face + 1]])
        other["indices"] = self.file.add(whole.reshape(-1, 1))
        self._take_face(one, face)

    def edit_change_microtexture(self, chance: Chance) -> None:
        stated = [self.msh(one) for one in self.file.json["materials"]]
        old = one_of(chance, stated)["microtexture"]
        for one in stated:
            one.update({name: "MIC_NEW" for name, value in one.items() if value == old and "micro" in name})

    def edit_type_rows(self, _: Chance) -> None:
        """Of another material, whose name stays: the rows count."""
        stated = [self.msh(one) for one in self.file.json["materials"]]
        stated[0]["first"] = next(one["first"] for one in stated if one["first"] != stated[0]["first"])

    def edit_delete_coarse(self, chance: Chance) -> None:
        self.take_out(next(i for i, node in enumerate(self.nodes) if self.msh(node).get("level") == 1))

    def edit_add_empty(self, chance: Chance) -> None:
        self.file.append({"name": "Lamp", "translation": chance.uniform(1, 9, 3).tolist()})

    def edit_rename_level(self, chance: Chance) -> None:
        self.nodes[int(chance.integers(2))]["name"] = f"Hill {int(chance.integers(9))}"

    def edit_animate_level(self, chance: Chance) -> None:
        values = chance.uniform(1, 3, (2, 3))
        self.animate(int(chance.integers(2)), values)

    def edit_change_second_ground(self, chance: Chance) -> None:
        """The colour of a ground wherever the file shows it, which is second in some places."""
        stated = [self.msh(one) for one in self.file.json["materials"]]
        second = int(chance.choice(sorted({one["second"] for one in stated if one["second"] != 0xFFFF})))
        colour = [*chance.uniform(0.1, 0.9, 3).tolist(), 1.0]
        for one, about in zip(self.file.json["materials"], stated, strict=True):
            if second in (about["first"], about["second"]):
                one["pbrMetallicRoughness"]["baseColorFactor"] = colour

    edit_change_colour = World.change_colour

    def shown(self) -> Facts:
        """Faces of the fine level: corners and rows of materials."""
        out = []
        positions = self.stream("POSITION").astype(np.float64) @ AXES.T
        for primitive in self.fine():
            about = self.file.json["materials"][primitive["material"]]["extras"]["msh"]
            faces = self.file.arrays[primitive["indices"]].reshape(-1, 3)
            rows = about["first"], about["second"]
            out += [(*rows, *sorted(rounded(positions[v], 2) for v in face)) for face in faces]
        return counted(out)

    def arrived(self, back: ImportResult) -> Facts:
        land = Land(back.data)
        points, faces = np.array(land.points), [face for square in land.squares for face in land.run(square[4])]
        return counted([(*face[1:3], *sorted(rounded(points[v], 2) for v in face[4:7])) for face in faces])
