"""A second reader of glTF: what the specification says that a file shows, in plain NumPy."""

from typing import Any

import numpy as np

from tests.support.gltf_shown import curve
from tests.support.gltf_view import GltfView, trs

Array = np.ndarray
Json = dict[str, Any]


class SecondReader(GltfView):
    """The triangles that a file shows at rest."""

    def accessor(self, index: int) -> Array:
        """An accessor as float64; normalised integers as the numbers that they stand for."""
        out = self.array(index)
        if self["accessors"][index].get("normalized"):
            return np.maximum(out / np.iinfo(out.dtype).max, -1)
        return out.astype(np.float64)

    def triangles(self) -> tuple[Array, Array, Array]:
        """Corners, normals and texture coordinates, (T, 3, n) each, glTF axes; coordinates may be NaN."""
        found: list[tuple[Array, Array, Array]] = []
        shown, waiting = set[int](), [*self["scenes"][self.json.get("scene", 0)].get("nodes", [])]
        while waiting:
            shown.add(i := waiting.pop())
            waiting += self["nodes"][i].get("children") or []
        for i in sorted(shown):
            node = self["nodes"][i]
            if node.get("mesh") is not None and not self._hidden(i):
                for primitive in self["meshes"][node["mesh"]]["primitives"]:
                    if primitive.get("mode", 4) in (4, 5, 6) and "POSITION" in primitive["attributes"]:
                        found += [self._drawn(primitive, node, matrix) for matrix in self._places(i)]
        empty = tuple(np.zeros((0, 3, n)) for n in (3, 3, 2))
        return tuple(np.concatenate([e, *parts]) for e, *parts in zip(empty, *found, strict=True))  # type: ignore

    def moved(self, seconds: float) -> dict[str, Array]:
        """The matrix of each animated node relative to the one above, by name, at a time."""
        posed: dict[int, Json] = {}
        for animation in self["animations"][:1]:
            for channel in animation["channels"]:
                node, path = channel["target"].get("node"), channel["target"]["path"]
                sampler = animation["samplers"][channel["sampler"]]
                if node is not None and path in ("translation", "rotation"):
                    times, values = self.accessor(sampler["input"])[:, 0], self.accessor(sampler["output"])
                    at = curve(times, values, sampler.get("interpolation", "LINEAR"), path, seconds)
                    posed.setdefault(node, {})[path] = at
        return {self["nodes"][i]["name"]: trs(self["nodes"][i] | values) for i, values in posed.items()}

    def _hidden(self, i: int) -> bool:
        state = self["nodes"][i].get("extensions", {}).get("KHR_node_visibility", {})
        above = self.parents()
        return state.get("visible") is False or (i in above and self._hidden(above[i]))

    def _places(self, i: int) -> list[Array]:
        extension = self["nodes"][i].get("extensions", {}).get("EXT_mesh_gpu_instancing")
        if extension is None:
            return [self.world(i)]
        streams = {name.lower(): self.accessor(k) for name, k in extension["attributes"].items()}
        count = len(next(iter(streams.values())))
        return [self.world(i) @ trs({k: v[row] for k, v in streams.items()}) for row in range(count)]

    def _drawn(self, primitive: Json, node: Json, matrix: Array) -> tuple[Array, Array, Array]:
        attributes = {name: self.accessor(k) for name, k in primitive["attributes"].items()}
        points = attributes["POSITION"]
        index = np.arange(len(points))
        if "indices" in primitive:
            index = self.accessor(primitive["indices"])[:, 0].astype(int)
        corners = {
            4: [index[k : k + 3] for k in range(0, len(index) - 2, 3)],
            5: [[index[k], index[k + 1 + k % 2], index[k + 2 - k % 2]] for k in range(len(index) - 2)],
            6: [[index[k + 1], index[k + 2], index[0]] for k in range(len(index) - 2)],
        }[primitive.get("mode", 4)]
        rows = np.array([row for row in np.array(corners).tolist() if len({*row}) == 3], int).reshape(-1, 3)
        matrices = np.tile(matrix, (len(rows), 1, 1))
        if "skin" in node:
            matrices = self._bones(self["skins"][node["skin"]], attributes, rows)
        shown = points[rows] @ matrices[:, :3, :3].transpose(0, 2, 1) + matrices[:, None, :3, 3]
        turned = np.linalg.inv(matrices[:, :3, :3])
        if "NORMAL" in attributes:
            normals = attributes["NORMAL"][rows] @ turned
        else:
            flat = np.cross(points[rows[:, 1]] - points[rows[:, 0]], points[rows[:, 2]] - points[rows[:, 0]])
            normals = np.repeat((flat[:, None] @ turned), 3, axis=1)
        normals = normals / np.linalg.norm(normals, axis=2, keepdims=True)
        mirrored = np.linalg.det(matrices[:, :3, :3]) < 0
        order = np.where(mirrored[:, None], [0, 2, 1], [0, 1, 2])
        uv = self._coordinates(primitive, attributes, len(points))[rows]
        parts = (shown, normals, uv)
        return tuple(np.take_along_axis(part, order[:, :, None], axis=1) for part in parts)  # type: ignore

    def _bones(self, skin: Json, attributes: dict[str, Array], rows: Array) -> Array:
        """The matrix of the joint that each triangle has most weight on, over all sets."""
        bind = np.tile(np.eye(4), (len(skin["joints"]), 1, 1))
        if "inverseBindMatrices" in skin:
            bind = self.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        out = []
        for triangle in rows:
            weight = np.zeros(len(skin["joints"]))
            for name in (n for n in attributes if n.startswith("JOINTS_")):
                for vertex in triangle:
                    for k in range(4):
                        joint = int(attributes[name][vertex, k])
                        weight[joint] += attributes[name.replace("JOINTS", "WEIGHTS")][vertex, k]
            best = int(weight.argmax())
            out.append(self.world(skin["joints"][best]) @ bind[best])
        return np.array(out)

    def _coordinates(self, primitive: Json, attributes: dict[str, Array], count: int) -> Array:
        material = self["materials"][primitive["material"]] if "material" in primitive else {}
        base = material.get("pbrMetallicRoughness", {}).get("baseColorTexture", {})
        transform = base.get("extensions", {}).get("KHR_texture_transform", {})
        name = f"TEXCOORD_{transform.get('texCoord', base.get('texCoord', 0))}"
        if name not in attributes:
            return np.full((count, 2), np.nan)
        angle = transform.get("rotation", 0)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        return (attributes[name] * transform.get("scale", [1, 1])) @ turn.T + transform.get("offset", [0, 0])
