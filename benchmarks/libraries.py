"""The same models through pygltflib's objects, and through trimesh. What they get is ready."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pygltflib
import trimesh
from numpy.typing import NDArray
from trimesh.visual import TextureVisuals
from trimesh.visual.material import PBRMaterial

Json = dict[str, Any]
_ARRAYS = {5126: np.float32, 5123: np.uint16, 5125: np.uint32}
_WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


def parts(glb: bytes) -> tuple[Json, bytes]:
    """JSON and buffer of a GLB."""
    size = int.from_bytes(glb[12:16], "little")
    return json.loads(glb[20 : 20 + size]), glb[28 + size :]


# ------------------------------------------------------------------ pygltflib


def through_pygltflib(document: Json, buffer: bytes) -> bytes:
    """A document built of pygltflib's objects, as a GLB."""
    g = pygltflib
    made = g.GLTF2(
        asset=g.Asset(**document["asset"]),
        scene=document["scene"],
        scenes=[g.Scene(**scene) for scene in document["scenes"]],
        nodes=[g.Node(**node) for node in document["nodes"]],
        meshes=[
            g.Mesh(**mesh | {"primitives": [_primitive(p) for p in mesh["primitives"]]}) for mesh in document["meshes"]
        ],
        materials=[
            g.Material(
                **material | {"pbrMetallicRoughness": g.PbrMetallicRoughness(**material["pbrMetallicRoughness"])}
            )
            for material in document["materials"]
        ],
        accessors=[g.Accessor(**accessor) for accessor in document["accessors"]],
        bufferViews=[g.BufferView(**view) for view in document["bufferViews"]],
        animations=[_animation(animation) for animation in document.get("animations", [])],
        buffers=[g.Buffer(byteLength=len(buffer))],
    )
    made.set_binary_blob(buffer)
    return b"".join(made.save_to_bytes())


def _primitive(primitive: Json) -> pygltflib.Primitive:
    attributes = pygltflib.Attributes(**primitive["attributes"])
    return pygltflib.Primitive(**primitive | {"attributes": attributes})


def _animation(animation: Json) -> pygltflib.Animation:
    channels = [
        pygltflib.AnimationChannel(
            sampler=channel["sampler"], target=pygltflib.AnimationChannelTarget(**channel["target"])
        )
        for channel in animation["channels"]
    ]
    samplers = [pygltflib.AnimationSampler(**sampler) for sampler in animation["samplers"]]
    return pygltflib.Animation(**animation | {"channels": channels, "samplers": samplers})


# ------------------------------------------------------------------ trimesh


class Piece(NamedTuple):
    """One primitive as trimesh wants it: arrays of its own, and the nodes that show its mesh."""

    positions: NDArray[np.float32]
    normals: NDArray[np.float32]
    uv: NDArray[np.float32]
    faces: NDArray[np.int64]
    material: str
    nodes: list[str]


def pieces(document: Json, buffer: bytes) -> list[Piece]:
    """The primitives of a document."""
    accessors, views = document["accessors"], document["bufferViews"]

    def array(number: int) -> NDArray[Any]:
        accessor = accessors[number]
        view, width = views[accessor["bufferView"]], _WIDTH[accessor["type"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        kind = _ARRAYS[accessor["componentType"]]
        values = np.frombuffer(buffer, kind, accessor["count"] * width, start)
        return values.reshape(-1, width) if width > 1 else values

    shown: dict[int, list[str]] = {}
    for node in document["nodes"]:
        if "mesh" in node:
            shown.setdefault(node["mesh"], []).append(node["name"])
    return [
        Piece(
            array(primitive["attributes"]["POSITION"]).copy(),
            array(primitive["attributes"]["NORMAL"]).copy(),
            array(primitive["attributes"]["TEXCOORD_0"]).copy(),
            array(primitive["indices"]).reshape(-1, 3).astype(np.int64),
            document["materials"][primitive["material"]]["name"],
            shown[number],
        )
        for number, mesh in enumerate(document["meshes"])
        for primitive in mesh["primitives"]
    ]


def through_trimesh(model: list[Piece]) -> bytes:
    """A scene of trimesh's objects, as a GLB: geometry only, no clips and no hierarchy."""
    scene = trimesh.Scene()
    materials: dict[str, PBRMaterial] = {}
    for number, piece in enumerate(model):
        material = materials.setdefault(piece.material, PBRMaterial(name=piece.material))
        mesh = trimesh.Trimesh(
            piece.positions,
            piece.faces,
            vertex_normals=piece.normals,
            visual=TextureVisuals(piece.uv, material),
            process=False,
            validate=False,
        )
        for node in piece.nodes:
            scene.add_geometry(mesh, geom_name=f"piece_{number}", node_name=f"{node}.{number}")
    out = trimesh.exchange.gltf.export_glb(scene, include_normals=True)
    assert isinstance(out, bytes)
    return out
