"""A second reader of glTF, for tests only: plain JSON and matrices, no code of the project."""

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
#: glTF axes to game axes, as a matrix.
TO_GAME = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)


def trs(node: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The (4, 4) matrix of a node by its own transform."""
    if "matrix" in node:
        return np.array(node["matrix"], np.float64).reshape(4, 4).T
    x, y, z, w = unit(np.array(node.get("rotation", [0, 0, 0, 1]), np.float64))
    out = np.eye(4)
    out[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    out[:3, :3] *= np.array(node.get("scale", [1, 1, 1]), np.float64)
    out[:3, 3] = node.get("translation", [0, 0, 0])
    return out


def unit(vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return vector / (np.linalg.norm(vector) or 1)


class GltfView:
    """A parsed .glb or .gltf."""

    def __init__(self, path: Path) -> None:
        raw = path.read_bytes()
        if raw[:4] == b"glTF":
            length = struct.unpack_from("<I", raw, 12)[0]
            self.json: dict[str, Any] = json.loads(raw[20 : 20 + length])
            self.buffers = [raw[20 + length + 8 :]]
        else:
            self.json = json.loads(raw)
            self.buffers = [self._content(path, buffer["uri"]) for buffer in self["buffers"]]

    @staticmethod
    def _content(path: Path, uri: str) -> bytes:
        return base64.b64decode(uri.partition(",")[2]) if uri.startswith("data:") else (path.parent / uri).read_bytes()

    @property
    def buffer(self) -> bytes:
        return self.buffers[0]

    def __getitem__(self, key: str) -> Any:
        return self.json.get(key, [])

    @property
    def info(self) -> dict[str, Any]:
        """Scene 0's extras.msh."""
        return dict(self["scenes"][0]["extras"]["msh"])

    def array(self, index: int) -> np.ndarray[Any, Any]:
        about = self["accessors"][index]
        out = self._rows(about, about["componentType"], int(about["count"]), _WIDTH[about["type"]])
        if sparse := about.get("sparse"):
            rows = self._rows(sparse["indices"], sparse["indices"]["componentType"], sparse["count"], 1)[:, 0]
            out[rows] = self._rows(sparse["values"], about["componentType"], sparse["count"], out.shape[1])
        return out

    def _rows(self, about: dict[str, Any], kind: int, count: int, width: int) -> np.ndarray[Any, Any]:
        """Rows of the buffer view that is named, zeros where none is."""
        dtype = np.dtype(_TYPES[kind])
        if "bufferView" not in about:
            return np.zeros((count, width), dtype)
        view = self["bufferViews"][about["bufferView"]]
        step = view.get("byteStride", width * dtype.itemsize)
        start = view.get("byteOffset", 0) + about.get("byteOffset", 0)
        return np.ndarray((count, width), dtype, self.buffers[view["buffer"]], start, (step, dtype.itemsize)).copy()

    def picture(self, image: dict[str, Any]) -> bytes:
        """The bytes of an image that lies in the buffer."""
        view = self["bufferViews"][image["bufferView"]]
        start = view.get("byteOffset", 0)
        return bytes(self.buffers[view["buffer"]][start : start + view["byteLength"]])

    def local(self, node: int, frame: int | None = None) -> np.ndarray[Any, Any]:
        """4x4 matrix of a node, at rest or at a key of the clip."""
        data = {name: value for name, value in self["nodes"][node].items() if value is not None}
        if frame is not None and self["animations"]:
            clip = self["animations"][0]
            for channel in clip["channels"]:
                if channel["target"]["node"] == node:
                    output = self.array(clip["samplers"][channel["sampler"]]["output"])
                    data[channel["target"]["path"]] = output[frame]
        return trs(data)

    def parents(self) -> dict[int, int]:
        return {c: i for i, n in enumerate(self["nodes"]) for c in n.get("children") or []}

    def world(self, node: int, frame: int | None = None) -> np.ndarray[Any, Any]:
        """4x4 matrix from the node to the model, glTF axes."""
        parents = self.parents()
        out = self.local(node, frame)
        while node in parents:
            node = parents[node]
            out = self.local(node, frame) @ out
        return out

    def game_world(self, node: int, frame: int | None = None) -> np.ndarray[Any, Any]:
        """4x4 matrix from the node to the scene, game axes on both sides."""
        turn = np.eye(4)
        turn[:3, :3] = TO_GAME
        return np.asarray(turn @ self.world(node, frame) @ turn.T)

    def extras(self, node: int) -> dict[str, Any]:
        """A node's extras.msh; empty if it has none."""
        return dict(self["nodes"][node].get("extras", {}).get("msh", {}))

    def below(self, node: int, kind: str) -> dict[int, int]:
        """Nodes of a kind below a node, by their index in the extras."""
        out, waiting = {}, list(self["nodes"][node].get("children", []))
        while waiting:
            one = waiting.pop()
            waiting += self["nodes"][one].get("children", [])
            if (extras := self.extras(one)).get("kind") == kind:
                out[extras["index"]] = one
        return out

    def own_meshes(self, node: int) -> list[int]:
        """Nodes with a mesh below a placed node, without those of what is mounted on it."""
        out, waiting = [], list(self["nodes"][node].get("children", []))
        while waiting:
            one = waiting.pop()
            if self.extras(one).get("kind") == "component":
                continue
            waiting += self["nodes"][one].get("children", [])
            out += [one] if "mesh" in self["nodes"][one] else []
        return out

    def scene_parts(self) -> dict[tuple[int, int, int], int]:
        """(MSH node, lod, group) -> glTF node, over all scenes."""
        out = {}
        shown = (self.info.get("lod", 0), self.info.get("group", 0))
        for number, scene in enumerate(self["scenes"]):
            waiting = list(scene.get("nodes", []))
            while waiting:
                index = waiting.pop()
                node = self["nodes"][index]
                waiting += node.get("children", [])
                extras = node.get("extras", {}).get("msh", {})
                if "mesh" not in node or extras.get("kind") == "paths":
                    continue
                if number == 0:
                    out[(extras.get("node", 0), *shown)] = index
                else:
                    out[extras["node"], extras["lod"], extras["group"]] = index
        return out

    def triangles(self, node: int) -> dict[str, np.ndarray[Any, Any]]:
        """Posed corners of a node's mesh in game axes: pos, nrm, uv, more, material."""
        matrix = self.world(node)
        turn = TO_GAME @ matrix[:3, :3]
        shift = TO_GAME @ matrix[:3, 3]
        out: dict[str, list[np.ndarray[Any, Any]]] = {}
        for primitive in self["meshes"][self["nodes"][node]["mesh"]]["primitives"]:
            index = self.array(primitive["indices"]).reshape(-1, 3).astype(int)
            arrays = {k: self.array(v)[index] for k, v in primitive["attributes"].items()}
            arrays["POSITION"] = arrays["POSITION"].astype(np.float64) @ turn.T + shift
            arrays["NORMAL"] = arrays["NORMAL"].astype(np.float64) @ turn.T
            arrays["material"] = np.full(len(index), primitive["material"])
            for key, value in arrays.items():
                out.setdefault(key, []).append(value)
        return {key: np.concatenate(parts) for key, parts in out.items()}
