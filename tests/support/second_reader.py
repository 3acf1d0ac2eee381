"""A second reader of glTF: what the specification says that a file shows, by pygltflib and plain NumPy."""

import base64
from pathlib import Path

import numpy as np
import pygltflib

from tests.support.gltf_shown import curve, trs

Array = np.ndarray
KINDS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class SecondReader:
    """The triangles that a file shows at rest."""

    def __init__(self, path: Path) -> None:
        self.file = pygltflib.GLTF2().load_json(str(path))
        self.bytes = [base64.b64decode(buffer.uri.partition(",")[2]) for buffer in self.file.buffers]

    def numbers(self, view: int | None, offset: int | None, count: int, kind: int, width: int) -> Array:
        """Elements of a buffer view, one by one."""
        dtype = np.dtype(KINDS[kind])
        if view is None:
            return np.zeros((count, width), dtype)
        about = self.file.bufferViews[view]
        step = about.byteStride or dtype.itemsize * width
        start = (about.byteOffset or 0) + (offset or 0)
        data = self.bytes[about.buffer]
        return np.stack([np.frombuffer(data, dtype, width, start + i * step) for i in range(count)])

    def accessor(self, index: int) -> Array:
        """An accessor as float64; normalised integers as the numbers that they stand for."""
        about = self.file.accessors[index]
        width, kind = WIDTHS[about.type], about.componentType
        out = self.numbers(about.bufferView, about.byteOffset, about.count, kind, width).copy()
        if about.sparse is not None:
            where, what = about.sparse.indices, about.sparse.values
            rows = self.numbers(where.bufferView, where.byteOffset, about.sparse.count, where.componentType, 1)
            out[rows[:, 0]] = self.numbers(what.bufferView, what.byteOffset, about.sparse.count, kind, width)
        if about.normalized:
            return np.maximum(out / np.iinfo(out.dtype).max, -1)
        return out.astype(np.float64)

    def triangles(self) -> tuple[Array, Array, Array]:
        """Corners, normals and texture coordinates, (T, 3, n) each, glTF axes; coordinates may be NaN."""
        found: list[tuple[Array, Array, Array]] = []
        nodes = self.file.scenes[self.file.scene or 0].nodes or []
        waiting = [(i, np.eye(4)) for i in nodes]
        self.world: dict[int, Array] = {}
        while waiting:
            i, above = waiting.pop()
            self.world[i] = above @ trs({k: v for k, v in vars(self.file.nodes[i]).items() if v is not None})
            waiting += [(child, self.world[i]) for child in self.file.nodes[i].children or []]
        for i in sorted(self.world):
            node = self.file.nodes[i]
            if node.mesh is not None and not self._hidden(i):
                for primitive in self.file.meshes[node.mesh].primitives:
                    if primitive.mode in (None, 4, 5, 6) and primitive.attributes.POSITION is not None:
                        found += [self._drawn(primitive, node, matrix) for matrix in self._places(i)]
        empty = tuple(np.zeros((0, 3, n)) for n in (3, 3, 2))
        return tuple(np.concatenate([e, *parts]) for e, *parts in zip(empty, *found, strict=True))  # type: ignore

    def moved(self, seconds: float) -> dict[str, Array]:
        """The matrix of each animated node relative to the one above, by name, at a time."""
        posed: dict[int, dict[str, list[float]]] = {}
        for animation in self.file.animations[:1]:
            for channel in animation.channels:
                node, path, sampler = channel.target.node, channel.target.path, animation.samplers[channel.sampler]
                if node is not None and path in ("translation", "rotation"):
                    times, values = self.accessor(sampler.input)[:, 0], self.accessor(sampler.output)
                    at = curve(times, values, sampler.interpolation or "LINEAR", path, seconds)
                    posed.setdefault(node, {})[path] = at
        own = {i: {k: v for k, v in vars(self.file.nodes[i]).items() if v is not None} for i in posed}
        return {self.file.nodes[i].name: trs(own[i] | values) for i, values in posed.items()}

    def _hidden(self, i: int) -> bool:
        state = (self.file.nodes[i].extensions or {}).get("KHR_node_visibility", {})
        above = [k for k, node in enumerate(self.file.nodes) if i in (node.children or [])]
        return state.get("visible") is False or any(map(self._hidden, above))

    def _places(self, i: int) -> list[Array]:
        extension = (self.file.nodes[i].extensions or {}).get("EXT_mesh_gpu_instancing")
        if extension is None:
            return [self.world[i]]
        streams = {name.lower(): self.accessor(k) for name, k in extension["attributes"].items()}
        count = len(next(iter(streams.values())))
        return [self.world[i] @ trs({k: v[row] for k, v in streams.items()}) for row in range(count)]

    def _drawn(self, primitive: pygltflib.Primitive, node: pygltflib.Node, matrix: Array) -> tuple[Array, Array, Array]:
        attributes = {k: self.accessor(v) for k, v in vars(primitive.attributes).items() if v is not None}
        points = attributes["POSITION"]
        index = np.arange(len(points))
        if primitive.indices is not None:
            index = self.accessor(primitive.indices)[:, 0].astype(int)
        corners = {
            4: [index[k : k + 3] for k in range(0, len(index) - 2, 3)],
            5: [[index[k], index[k + 1 + k % 2], index[k + 2 - k % 2]] for k in range(len(index) - 2)],
            6: [[index[k + 1], index[k + 2], index[0]] for k in range(len(index) - 2)],
        }[4 if primitive.mode is None else primitive.mode]
        rows = np.array([row for row in np.array(corners).tolist() if len({*row}) == 3], int).reshape(-1, 3)
        matrices = np.tile(matrix, (len(rows), 1, 1))
        if node.skin is not None:
            matrices = self._bones(self.file.skins[node.skin], attributes, rows)
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

    def _bones(self, skin: pygltflib.Skin, attributes: dict[str, Array], rows: Array) -> Array:
        """The matrix of the joint that each triangle has most weight on, over all sets."""
        bind = np.tile(np.eye(4), (len(skin.joints), 1, 1))
        if skin.inverseBindMatrices is not None:
            bind = self.accessor(skin.inverseBindMatrices).reshape(-1, 4, 4).transpose(0, 2, 1)
        out = []
        for triangle in rows:
            weight = np.zeros(len(skin.joints))
            for name in (n for n in attributes if n.startswith("JOINTS_")):
                for vertex in triangle:
                    for k in range(4):
                        joint = int(attributes[name][vertex, k])
                        weight[joint] += attributes[name.replace("JOINTS", "WEIGHTS")][vertex, k]
            best = int(weight.argmax())
            out.append(self.world[skin.joints[best]] @ bind[best])
        return np.array(out)

    def _coordinates(self, primitive: pygltflib.Primitive, attributes: dict[str, Array], count: int) -> Array:
        material = None if primitive.material is None else self.file.materials[primitive.material]
        base = material and material.pbrMetallicRoughness and material.pbrMetallicRoughness.baseColorTexture
        transform = ((base and base.extensions) or {}).get("KHR_texture_transform", {})
        name = f"TEXCOORD_{transform.get('texCoord', (base and base.texCoord) or 0)}"
        if name not in attributes:
            return np.full((count, 2), np.nan)
        angle = transform.get("rotation", 0)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        return (attributes[name] * transform.get("scale", [1, 1])) @ turn.T + transform.get("offset", [0, 0])
