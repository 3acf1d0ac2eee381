"""glTF files by hand straight from the specification, and what they show in world space."""

import base64
import copy
import json
import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

from msh_gltf.converter.numeric.pose import rotation_matrix
from msh_gltf.converter.scene.decode import rest_pose
from msh_gltf.converter.scene.scene import Scene

Json = dict[str, Any]

TO_GAME = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)

QUAD = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], np.float32)

KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}

UP = np.float32([[0, 0, 1]] * 4)

UV = QUAD[:, :2].copy()

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

IMAGE = "data:image/png;base64," + base64.b64encode(PNG).decode()

REMOVED = ...

#: What places of a document are called for short.
SHORT = {
    "node": "nodes.0",
    "primitive": "meshes.0.primitives.0",
    "material": "materials.0",
    "colour": "materials.0.pbrMetallicRoughness",
    "sampler": "animations.0.samplers.0",
    "channel": "animations.0.channels.0",
}

#: What makes other bytes of a document, whose buffer is a data URI, and the buffer's data.
Raw = Callable[[Json, bytes], bytes]

CODES = {"b": 5120, "B": 5121, "h": 5122, "H": 5123, "I": 5125, "f": 5126}


class Builder:
    """A glTF document written by hand; ``raw`` makes another file of it, ``beside`` are files in its folder."""

    def __init__(self) -> None:
        self.data, self.beside = b"", dict[str, bytes]()
        self.raw: Raw | None = None
        self.json: Json = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}]}
        self.json |= {"nodes": [], "meshes": [], "accessors": [], "bufferViews": []}

    def view(self, data: bytes, **more: Any) -> int:
        self.data += bytes(-len(self.data) % 4)
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), **more})
        self.data += data
        return len(self.json["bufferViews"]) - 1

    def accessor(self, array: np.ndarray, **more: Any) -> int:
        array = np.atleast_1d(array)
        width = int(np.prod(array.shape[1:], dtype=int)) or 1
        self.json["accessors"].append(
            {
                "bufferView": self.view(np.ascontiguousarray(array).tobytes()),
                "componentType": CODES[array.dtype.char],
                "count": len(array),
                "type": KINDS[width],
                **more,
            }
        )
        return len(self.json["accessors"]) - 1

    def mesh(self, positions: np.ndarray = QUAD, indices: Any = (0, 1, 2, 1, 3, 2), **more: Any) -> int:
        attributes = {"POSITION": self.accessor(positions)}
        primitive: Json = {"attributes": attributes | more.pop("attributes", {})}
        if indices is not None:
            primitive["indices"] = self.accessor(np.array(indices, more.pop("dtype", np.uint16)))
        self.json["meshes"].append({"name": "mesh", "primitives": [primitive | more]})
        return len(self.json["meshes"]) - 1

    def node(self, **data: Any) -> int:
        self.json["nodes"].append(data)
        return len(self.json["nodes"]) - 1

    def clip(self, node: int, path: str, seconds: Any, values: Any, kind: str = "LINEAR") -> None:
        sampler = {
            "input": self.accessor(np.array(seconds, np.float32)),
            "output": self.accessor(np.array(values, np.float32)),
            "interpolation": kind,
        }
        clips = self.json.setdefault("animations", [{"samplers": [], "channels": []}])
        clips[0]["channels"].append({"sampler": len(clips[0]["samplers"]), "target": {"node": node, "path": path}})
        clips[0]["samplers"].append(sampler)

    def put(self, changes: dict[str, Any]) -> None:
        """Set values at places: ``nodes.0.scale``, ``TEXCOORD_0`` (of the first primitive); ``REMOVED`` takes one away.

        An array becomes an accessor, and a function is called with this.
        """
        for place, value in changes.items():
            if place == "raw":
                self.raw = value
                continue
            first, dot, rest = (f"primitive.attributes.{place}" if place.isupper() else place).partition(".")
            keys = f"{SHORT.get(first, first)}{dot}{rest}".split(".")
            last = keys[-1]
            inside: Any = self.json
            for key, below in pairwise(keys):
                empty: Any = [] if below.isdigit() else {}
                inside = inside[int(key)] if isinstance(inside, list) else inside.setdefault(key, empty)
            value = value(self) if callable(value) else copy.deepcopy(value)
            value = self.accessor(value) if isinstance(value, np.ndarray) else value
            if isinstance(inside, list):
                inside[int(last) : int(last) + 1] = [value]
            elif value is REMOVED:
                del inside[last]
            else:
                inside[last] = value

    def document(self) -> Json:
        uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        buffers = [{"byteLength": len(self.data), "uri": uri}] if self.data else []
        return {k: v for k, v in (self.json | {"buffers": buffers}).items() if v != []}

    def save(self, folder: Path) -> Path:
        path = folder / "in.gltf"
        path.write_text(json.dumps(self.document()))
        for name, data in self.beside.items():
            (folder / name).write_bytes(data)
        if self.raw is not None:
            data = self.raw(self.document(), self.data)
            path = folder / ("raw.glb" if data[:4].lower() == b"gltf" else "raw.gltf")
            path.write_bytes(data)
        return path


def text(change: Callable[[Json], Any]) -> Raw:
    """A document that is changed at the end."""

    def make(document: Json, _: bytes) -> bytes:
        change(document)
        return json.dumps(document).encode()

    return make


def spelled(old: str, new: str) -> Raw:
    """A document whose text is another one."""
    return lambda document, _: json.dumps(document, ensure_ascii=False).replace(old, new, 1).encode()


Chunk = tuple[bytes, bytes]


def glb(*chunks: Chunk, size: int = 0, version: int = 2, after: bytes = b"") -> bytes:
    """A container; ``size``: another one than it has."""
    body = b"".join(struct.pack("<I", len(data)) + kind + data for kind, data in chunks) + after
    return struct.pack("<4sII", b"glTF", version, size or 12 + len(body)) + body


def binary(make: Callable[[Chunk, Chunk], bytes]) -> Raw:
    """A container, of its two chunks, both padded to 4 bytes."""

    def build(document: Json, data: bytes) -> bytes:
        del document["buffers"][0]["uri"]
        said = json.dumps(document).encode()
        return make((b"JSON", said + b" " * (-len(said) % 4)), (b"BIN\0", data + bytes(-len(data) % 4)))

    return build


def world(scene: Scene) -> np.ndarray:
    """(T, 3, 8): corners, normals and texture coordinates of the finest level in model space, game axes."""
    turn, shift = rest_pose(scene)
    out = [np.zeros((0, 3, 8))]
    for part in (part for part in scene.parts if part.lod == 0):
        matrix, streams = rotation_matrix(turn[part.node]), scene.streams
        for p in scene.meshes[part.mesh].primitives:
            index = streams.indices[p.index_start : p.index_start + p.index_count].astype(int) + p.vertex_start
            corners = streams.positions[index].astype(float) @ matrix.T + shift[part.node]
            uv = np.zeros((len(index), 2)) if streams.uv0 is None else streams.uv0[index]
            out.append(np.concatenate([corners, streams.normals[index] @ matrix.T, uv], axis=1).reshape(-1, 3, 8))
    return np.concatenate(out)


def matrix_of(translation=(0, 0, 0), axis=(0, 1, 0), angle=0.0, scale=(1, 1, 1)) -> np.ndarray:
    out = trimesh.transformations.rotation_matrix(angle, axis)
    out[:3, :3] = out[:3, :3] @ np.diag(scale)
    out[:3, 3] = translation
    return out


def quaternion(axis: tuple, angle: float) -> list[float]:
    w, x, y, z = trimesh.transformations.quaternion_about_axis(angle, axis)
    return [float(v) for v in (x, y, z, w)]
