"""Small glTF documents that together use every feature that is read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Json = dict[str, Any]

_KINDS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class _Maker:
    """Puts a document and its buffer together."""

    def __init__(self) -> None:
        self.binary = b""
        self.tree: Json = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": []}

    def view(self, data: bytes) -> int:
        self.binary += b"\0" * (-len(self.binary) % 4)
        place = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(data)}
        self.tree["bufferViews"].append(place)
        self.binary += data
        return len(self.tree["bufferViews"]) - 1

    def array(self, values: Any, dtype: str, **more: Any) -> int:
        array = np.array(values, f"<{dtype}")
        width = 1 if array.ndim == 1 else array.shape[1]
        accessor = {"bufferView": self.view(array.tobytes()), "componentType": _KINDS[dtype]}
        accessor |= {"count": len(array), "type": _TYPES[width], **more}
        self.tree["accessors"].append(accessor)
        return len(self.tree["accessors"]) - 1

    def done(self) -> tuple[Json, bytes]:
        self.tree["buffers"] = [{"byteLength": len(self.binary)}]
        return self.tree, self.binary


_QUAD = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.5]]
_UV = [[0, 0], [1, 0], [1, 1], [0, 1]]


def documents() -> Sequence[tuple[Json, bytes]]:
    """``(document, buffer)`` each."""
    return [_plain(), _animated(), _skinned(), _sparse(), *_draco()]


def _plain() -> tuple[Json, bytes]:
    make = _Maker()
    full = {
        "POSITION": make.array(_QUAD, "f4"),
        "NORMAL": make.array([[0, 0, 1]] * 4, "f4"),
        "TEXCOORD_0": make.array(_UV, "f4"),
        "TEXCOORD_1": make.array(np.array(_UV) * 65535, "u2", normalized=True),
        "COLOR_0": make.array([[1, 0, 0, 1]] * 4, "f4"),
    }
    bare = {"POSITION": full["POSITION"], "COLOR_0": make.array([[255, 0, 0, 255]] * 4, "u1", normalized=True)}
    index = make.array([0, 1, 2, 0, 2, 3], "u2")
    strip = make.array([0, 1, 3, 2], "u1")
    primitives = [
        {"attributes": full, "indices": index, "material": 0},
        {"attributes": bare, "indices": strip, "mode": 5},
        {"attributes": bare, "mode": 6},
        {"attributes": bare, "mode": 1},
    ]
    transform = {"offset": [0.5, 0], "scale": [2, 2], "rotation": 0.1}
    texture = {"index": 0, "extensions": {"KHR_texture_transform": transform}}
    msh = {"row": 1, "lightmap": -1, "batch_flags": "0x8", "w2": 0, "w4": 1.0, "w6": 65535}
    make.tree |= {
        "scene": 0,
        "scenes": [{"name": "one", "nodes": [0]}, {"nodes": [2]}],
        "nodes": [
            {"name": "root", "children": [1, 3], "scale": [2, 2, 2]},
            {"name": "root.lod0.group0", "mesh": 0, "rotation": [0, 0, 0.7, 0.7], "translation": [1, 2, 3]},
            {"name": "other", "mesh": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1]},
            {"name": "lamp", "camera": 0},
        ],
        "meshes": [{"name": "m", "primitives": primitives, "extras": {"msh": {"slot": 0, "lod": 0, "group": 0}}}],
        "materials": [{"name": "a", "extras": {"msh": msh}, "pbrMetallicRoughness": {"baseColorTexture": texture}}],
        "cameras": [{"type": "perspective"}],
        "textures": [{}],
        "extensionsUsed": ["KHR_texture_transform"],
    }
    return make.done()


def _animated() -> tuple[Json, bytes]:
    make = _Maker()
    times = make.array([0, 0.5, 1], "f4")
    one = make.array([[0, 0, 0], [1, 0, 0], [0, 2, 0]], "f4")
    turn = make.array([[0, 0, 0, 1], [0, 0, 0.7, 0.7], [0, 0, 1, 0]], "f4")
    cubic = make.array([[0, 0, 0]] * 9, "f4")
    short = make.array([[0, 0, 0, 32767]] * 3, "i2", normalized=True)
    mesh = {"attributes": {"POSITION": make.array(_QUAD, "f4")}, "indices": make.array([0, 1, 2], "u2")}
    info = {"fps": 24, "lod": 0, "group": 0, "dialect": "retail", "source": "a.msh"}
    samplers = [
        {"input": times, "output": one},
        {"input": times, "output": turn, "interpolation": "STEP"},
        {"input": times, "output": cubic, "interpolation": "CUBICSPLINE"},
        {"input": times, "output": short},
    ]
    channels = [
        {"sampler": 0, "target": {"node": 0, "path": "translation"}},
        {"sampler": 1, "target": {"node": 0, "path": "rotation"}},
        {"sampler": 2, "target": {"node": 1, "path": "translation"}},
        {"sampler": 3, "target": {"node": 1, "path": "rotation"}},
        {"sampler": 0, "target": {"node": 1, "path": "scale"}},
    ]
    make.tree |= {
        "scenes": [{"name": "s", "nodes": [0], "extras": {"msh": info}}],
        "nodes": [{"name": "a", "children": [1], "extras": {"msh": {"node": 0, "flags": 0}}}, {"name": "b", "mesh": 0}],
        "meshes": [{"primitives": [mesh]}],
        "animations": [
            {"name": "walk", "samplers": samplers, "channels": channels[:3]},
            {"samplers": samplers, "channels": channels[3:]},
        ],
    }
    return make.done()


def _skinned() -> tuple[Json, bytes]:
    make = _Maker()
    attributes = {
        "POSITION": make.array(_QUAD, "f4"),
        "JOINTS_0": make.array([[0, 1, 0, 0]] * 4, "u1"),
        "WEIGHTS_0": make.array([[0.75, 0.25, 0, 0], [0.25, 0.75, 0, 0]] * 2, "f4"),
    }
    inverse = make.array([np.eye(4).reshape(-1).tolist()] * 2, "f4")
    primitive = {"attributes": attributes, "indices": make.array([0, 1, 2, 1, 2, 3], "u4")}
    make.tree |= {
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"name": "body", "mesh": 0, "skin": 0},
            {"name": "hip", "children": [2]},
            {"name": "knee", "translation": [0, 0, 1]},
        ],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": inverse}],
        "meshes": [{"name": "skin", "primitives": [primitive]}],
    }
    return make.done()


def _sparse() -> tuple[Json, bytes]:
    make = _Maker()
    positions = make.array(_QUAD, "f4")
    where = make.view(np.array([1, 3], "<u2").tobytes())
    what = make.view(np.array([[5, 5, 5], [6, 6, 6]], "<f4").tobytes())
    make.tree["accessors"][positions]["sparse"] = {
        "count": 2,
        "indices": {"bufferView": where, "componentType": 5123},
        "values": {"bufferView": what},
    }
    make.tree["accessors"].append({"componentType": 5126, "count": 4, "type": "VEC2"})
    wide = np.zeros((4, 4), "<f4")
    wide[:, :3] = _QUAD
    make.tree["bufferViews"].append({"buffer": 0, "byteOffset": 0, "byteLength": 0, "byteStride": 16})
    at = make.view(wide.tobytes())
    make.tree["bufferViews"][-2] |= make.tree["bufferViews"][at] | {"byteStride": 16}
    accessor = {"bufferView": at - 1, "componentType": 5126, "count": 4, "type": "VEC3"}
    make.tree["accessors"].append(accessor)
    attributes = {"POSITION": positions, "TEXCOORD_0": 1, "NORMAL": 2}
    primitive = {"attributes": attributes, "indices": make.array([0, 1, 2, 1, 2, 3], "u2")}
    make.tree |= {"nodes": [{"mesh": 0}], "meshes": [{"name": "s", "primitives": [primitive]}]}
    return make.done()


def _draco() -> list[tuple[Json, bytes]]:
    """A packed mesh, where the extra is installed."""
    try:
        import DracoPy
    except ImportError:
        return []
    make = _Maker()
    data = DracoPy.encode(np.array(_QUAD, "f4"), np.array([[0, 1, 2], [0, 2, 3]], "u4"))
    packed = {"bufferView": make.view(data), "attributes": {"POSITION": 0}}
    make.tree["accessors"] = [
        {"componentType": 5126, "count": 4, "type": "VEC3"},
        {"componentType": 5123, "count": 6, "type": "SCALAR"},
    ]
    primitive = {"attributes": {"POSITION": 0}, "indices": 1, "extensions": {"KHR_draco_mesh_compression": packed}}
    make.tree |= {
        "nodes": [{"name": "d", "mesh": 0}],
        "meshes": [{"name": "d", "primitives": [primitive]}],
        "extensionsRequired": ["KHR_draco_mesh_compression"],
    }
    return [make.done()]
