"""Files for what glTF 2.0 demands of a reader: one for each row of the table in ``docs/reference/gltf.md``.

A row is *read* (a second reader shows the same), *refused* (in words) or *reported* (a line, and the
rest as the second reader shows it); nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.foreign import QUAD, Builder, matrix_of

Row = tuple[str, Callable[[Builder], Any]]
ROWS: dict[str, Row] = {}
UP = np.float32([[0, 0, 1]] * 4)
UV = QUAD[:, :2].copy()


def row(rule: str, words: str = "") -> Callable[[Callable[[Builder], Any]], Callable[[Builder], Any]]:
    def register(build: Callable[[Builder], Any]) -> Callable[[Builder], Any]:
        ROWS[rule] = words, build
        return build

    return register


def primitive(b: Builder) -> dict[str, Any]:
    return b.json["meshes"][0]["primitives"][0]


def plain(b: Builder, **more: Any) -> None:
    b.node(name="n", mesh=b.mesh(attributes={"NORMAL": b.accessor(UP), "TEXCOORD_0": b.accessor(UV)}), **more)


# ------------------------------------------------------------------ files


@row("asset.version", "unknown glTF version: 3.0 (expected 2.0)")
def _(b: Builder) -> None:
    plain(b)
    b.json["asset"]["version"] = "3.0"


@row("asset.minVersion", "needs glTF 2.1")
def _(b: Builder) -> None:
    plain(b)
    b.json["asset"] = {"version": "2.0", "minVersion": "2.1"}


@row("types and ranges of properties", "materials[0].doubleSided: yes (expected true or false)")
def _(b: Builder) -> None:
    plain(b)
    b.json["materials"] = [{"doubleSided": "yes"}]


@row("required properties", 'meshes[0].primitives[0]: {"indices": 3} (expected an object with attributes)')
def _(b: Builder) -> None:
    plain(b)
    del primitive(b)["attributes"]


@row("indices of objects", "nodes[0].mesh: 3 (expected an index into meshes (0 to 0))")
def _(b: Builder) -> None:
    plain(b)
    b.json["nodes"][0]["mesh"] = 3


@row("unknown properties and `extras`")
def _(b: Builder) -> None:
    plain(b, extras={"a": [1, {"b": None}]}, unheard={"of": 1})


@row("`null`, empty arrays")
def _(b: Builder) -> None:
    plain(b, children=[], translation=None, camera=None)
    b.json["cameras"] = []


@row("buffer shorter than `byteLength`", "buffer 0 is cut")
def _(b: Builder) -> None:
    plain(b)
    b.json["short"] = True


# ------------------------------------------------------------------ accessors


@row("buffer view beyond its buffer", "bufferViews[0].byteLength: 400 (expected at most")
def _(b: Builder) -> None:
    plain(b)
    b.json["bufferViews"][0]["byteLength"] = 400


@row("accessor beyond its buffer view", "runs past its buffer view")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][-1]["count"] = 99


@row("`byteStride`, `byteOffset`")
def _(b: Builder) -> None:
    plain(b)
    rows = np.zeros((4, 8), np.float32)
    rows[:, 1:4] = QUAD * 2
    view = b.view(rows.tobytes(), byteStride=32)
    about = {"bufferView": view, "byteOffset": 4, "componentType": 5126, "count": 4, "type": "VEC3"}
    b.json["accessors"].append(about)
    primitive(b)["attributes"]["POSITION"] = len(b.json["accessors"]) - 1


@row("normalised integers")
def _(b: Builder) -> None:
    plain(b)
    b.json["extensionsUsed"] = b.json["extensionsRequired"] = ["KHR_mesh_quantization"]
    attributes = primitive(b)["attributes"]
    attributes["TEXCOORD_0"] = b.accessor((UV * 255).astype(np.uint8).repeat(1, axis=1), normalized=True)
    attributes["NORMAL"] = b.accessor((UP * 127).astype(np.int8), normalized=True)


@row("normalised floats, or integers of 32 bits", "(expected integers of 8 or 16 bits: no others are normalised)")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][0]["normalized"] = True


@row("accessor without a buffer view: zeros")
def _(b: Builder) -> None:
    plain(b)
    del b.json["accessors"][1]["bufferView"]


@row("sparse accessors")
def _(b: Builder) -> None:
    plain(b)
    sparse(b, 3)


@row("sparse index beyond the accessor", "sparse accessor names an element past its end: 4 (expected below 4)")
def _(b: Builder) -> None:
    plain(b)
    sparse(b, 4)


@row("sparse indices that do not increase", "indices of a sparse accessor are not increasing")
def _(b: Builder) -> None:
    plain(b)
    sparse(b, 2, 2)


def sparse(b: Builder, *rows: int) -> None:
    b.json["accessors"][primitive(b)["attributes"]["POSITION"]]["sparse"] = {
        "count": len(rows),
        "indices": {"bufferView": b.view(bytes(rows)), "componentType": 5121},
        "values": {"bufferView": b.view(np.float32([[5, 6, 7]] * len(rows)).tobytes())},
    }


@row("numbers that are not finite", "POSITION is not finite")
def _(b: Builder) -> None:
    points = QUAD.copy()
    points[1, 1] = np.nan
    b.node(mesh=b.mesh(points), name="n")


# ------------------------------------------------------------------ meshes


@row("no `NORMAL`: flat normals")
def _(b: Builder) -> None:
    points = QUAD.copy()
    points[3, 2] = 1
    b.node(name="n", mesh=b.mesh(points))


@row("`NORMAL`, `TANGENT`")
def _(b: Builder) -> None:
    plain(b)
    slanted = np.float32([[0, 0.6, 0.8], [0.6, 0, 0.8], [0, 0, 1], [0, 1, 0]])
    primitive(b)["attributes"] |= {"NORMAL": b.accessor(slanted), "TANGENT": b.accessor(np.float32([[1, 0, 0, 1]] * 4))}


@row("triangle strip")
def _(b: Builder) -> None:
    b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 3], mode=5))


@row("triangle fan")
def _(b: Builder) -> None:
    b.node(name="n", mesh=b.mesh(indices=[0, 1, 3, 2], mode=6))


@row("no `indices`")
def _(b: Builder) -> None:
    b.node(name="n", mesh=b.mesh(indices=None, mode=5))


@row("points and lines", "has lines; the game draws nothing but triangles")
def _(b: Builder) -> None:
    plain(b)
    lines = copy.deepcopy(primitive(b)) | {"mode": 1}
    b.json["meshes"][0]["primitives"].append(lines)


@row("primitive without `POSITION`", "has no POSITION; a primitive without positions draws nothing")
def _(b: Builder) -> None:
    plain(b)
    b.json["meshes"][0]["primitives"].append({"attributes": {"NORMAL": 0}})


@row("index beyond the vertices", "has an index past its vertices: 65535")
def _(b: Builder) -> None:
    b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 65535, 1, 2]))


@row("largest index of its type, which restarts", "has an index past its vertices: 255 (expected below 255)")
def _(b: Builder) -> None:
    places = np.zeros((256, 3), np.float32)
    places[:, 0] = np.arange(256) ** 2
    places[:, 1] = np.arange(256)
    b.node(name="n", mesh=b.mesh(places))
    primitive(b)["indices"] = b.accessor(np.array([0, 1, 255], np.uint8))


@row("accessors of unequal count", "TEXCOORD_0 of mesh 'mesh' does not fit its vertices: 3 x 2 (expected 4 x 2)")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["TEXCOORD_0"] = b.accessor(UV[:3])


@row("morph targets", "has morph targets")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["targets"] = [{"POSITION": 0}]


@row("texture coordinates of the base colour texture")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0, "texCoord": 2})
    primitive(b)["attributes"] |= {"TEXCOORD_1": b.accessor(UV * 3), "TEXCOORD_2": b.accessor(UV + 2)}
    del primitive(b)["attributes"]["TEXCOORD_1"]


@row("further texture coordinates", "second set of texture coordinates: is in the file")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["TEXCOORD_1"] = b.accessor(UV * 3)


@row("texture coordinates that a texture needs and a mesh has not", "has no TEXCOORD_1, which the texture of material")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0, "texCoord": 1})


@row(
    "further colours, attributes of programs", "attributes are not read, and what they hold is ignored: COLOR_1, _WIND"
)
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"] |= {"COLOR_1": b.accessor(np.float32([[1, 0, 0]] * 4)), "_WIND": b.accessor(UV[:, 0])}


@row("`COLOR_0`")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["COLOR_0"] = b.accessor(np.float32([[1, 0, 0, 0.5]] * 4))


@row("no material, no texture")
def _(b: Builder) -> None:
    plain(b)
    b.json["materials"] = [{}]
    primitive(b)["material"] = 0


@row("texture that does not repeat", "has a texture that does not repeat")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["textures"], b.json["samplers"] = [{"sampler": 0}], [{"wrapS": 33071}]


@row("picture that cannot be read, or is not there", "picture without a name is new; picture is not there")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["images"] = [{"uri": "data:image/png;base64,AAAA"}]


@row("factors and textures that the game has no place for", "has normalTexture, metallic 0.5, roughness 0.1")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["materials"][0]["normalTexture"] = {"index": 0}
    b.json["materials"][0]["pbrMetallicRoughness"] |= {"metallicFactor": 0.5, "roughnessFactor": 0.1}


def textured(b: Builder, info: Any) -> None:
    b.json["textures"] = [{}]
    b.json["materials"] = [{"name": "m", "pbrMetallicRoughness": {"baseColorTexture": info}}]
    primitive(b)["material"] = 0


# ------------------------------------------------------------------ nodes


@row("hierarchy, TRS, scale, mirrors")
def _(b: Builder) -> None:
    plain(b, scale=[1, -2, 1], rotation=[0, 0.6, 0, 0.8])
    b.node(name="above", children=[0], translation=[1, 2, 3], scale=[2, 2, 2])
    b.json["scenes"][0]["nodes"] = [1]


@row("`matrix`")
def _(b: Builder) -> None:
    plain(b, matrix=matrix_of((1, 2, 3), (1, 1, 0), 0.7, (2, 2, -2)).T.reshape(-1).tolist())


@row("`matrix` beside TRS", "nodes[0].matrix:")
def _(b: Builder) -> None:
    plain(b, matrix=np.eye(4).reshape(-1).tolist(), scale=[2, 2, 2])


@row("node with two parents", "has two parents")
def _(b: Builder) -> None:
    plain(b)
    b.node(children=[0])
    b.node(children=[0])


@row("loop of nodes", "nodes form a loop")
def _(b: Builder) -> None:
    plain(b, children=[1])
    b.node(children=[0])


@row("nodes outside the scene")
def _(b: Builder) -> None:
    plain(b)
    b.node(name="elsewhere", mesh=0, translation=[9, 9, 9])
    b.json["scenes"].append({})


@row("several scenes", "2 scenes, only the default one is read")
def _(b: Builder) -> None:
    plain(b)
    b.node(name="elsewhere", mesh=0, translation=[9, 9, 9])
    b.json["scenes"].append({"nodes": [1]})


@row("cameras and lights")
def _(b: Builder) -> None:
    plain(b)
    b.json["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1, "znear": 1}}]
    b.json["extensionsUsed"] = ["KHR_lights_punctual"]
    b.json["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point"}]}}
    b.node(name="camera", camera=0)
    b.node(name="lamp", extensions={"KHR_lights_punctual": {"light": 0}})
    b.json["scenes"][0]["nodes"] = [0, 1, 2]


# ------------------------------------------------------------------ skins


def skinned(b: Builder, *, sets: int = 1, mirror: bool = False, joints: int = 2) -> None:
    """Two joints. In the first set each has the same weight; the second decides."""
    size = -1 if mirror else 1
    bind = np.stack([np.eye(4), matrix_of((-1, 0, 0), scale=(size, 1, 1))]).transpose(0, 2, 1)
    extra = {"NORMAL": b.accessor(UP)}
    for k in range(sets):
        weight = np.zeros((4, 4), np.float32)
        weight[:, 0] = [0.3, 0.3, 0.3, 0.3] if k == 0 and sets > 1 else [0.4, 0, 0.1, 0]
        weight[:, 1] = 0.6 - weight[:, 0]
        joint = np.zeros((4, 4), np.uint8)
        joint[:, 1] = joints - 1
        extra |= {f"JOINTS_{k}": b.accessor(joint), f"WEIGHTS_{k}": b.accessor(weight)}
    b.node(name="body", mesh=b.mesh(attributes=extra), skin=0, translation=[9, 9, 9])
    b.json["skins"] = [{"joints": [1, 2], "inverseBindMatrices": b.accessor(bind.astype(np.float32))}]
    b.node(name="hip", children=[2], rotation=[0, 0, 0.6, 0.8])
    b.node(name="knee", translation=[1, 0, 0])
    b.json["scenes"][0]["nodes"] = [0, 1]


@row("skins", "skin of node 'body': each triangle follows its dominant joint")
def _(b: Builder) -> None:
    skinned(b)


@row("all sets of joints and weights", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b, sets=2)


@row("mirrored joints", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b, mirror=True)


@row("joint beyond the skin's", "names a joint that its skin does not have: 2 (expected below 2)")
def _(b: Builder) -> None:
    skinned(b, joints=3)


@row("joints without weights", "has not weights for each set of joints")
def _(b: Builder) -> None:
    skinned(b)
    del primitive(b)["attributes"]["WEIGHTS_0"]


@row("skin on a mesh without joints", "its mesh has vertices without joints and weights")
def _(b: Builder) -> None:
    skinned(b)
    for name in ("JOINTS_0", "WEIGHTS_0"):
        del primitive(b)["attributes"][name]


# ------------------------------------------------------------------ animations


def animated(b: Builder) -> dict[str, Any]:
    plain(b)
    b.clip(0, "translation", [0, 1], [[0, 0, 0], [3, 0, 0]])
    return b.json["animations"][0]


@row("`LINEAR`, `STEP`, `CUBICSPLINE`; the first and the last key hold")
def _(b: Builder) -> None:
    plain(b, translation=[1, 0, 0], rotation=[0, 0, 0.6, 0.8])
    b.clip(0, "translation", [0.5, 1], [[1, 0, 0], [3, 0, 0]], "STEP")
    b.clip(0, "rotation", [0.5, 1], [[0] * 4, [0, 0, 0.6, 0.8], [0] * 4, [0] * 4, [0, 0, 0, 1], [0] * 4], "CUBICSPLINE")
    b.node(name="above", children=[0], translation=[0, 2, 0])
    b.json["scenes"][0]["nodes"] = [1]
    b.clip(1, "translation", [0.25, 0.5], [[0, 2, 0], [0, 3, 0]])


@row("two channels of one target", "has two curves for the translation of node 'n'")
def _(b: Builder) -> None:
    clip = animated(b)
    clip["samplers"].append({**clip["samplers"][0], "interpolation": "STEP"})
    clip["channels"].append({**clip["channels"][0], "sampler": 1})


@row("two channels of one target that say the same")
def _(b: Builder) -> None:
    animated(b)["channels"] *= 2


@row("channel of a node with a matrix", "(expected a node without a matrix)")
def _(b: Builder) -> None:
    animated(b)
    b.json["nodes"][0]["matrix"] = np.eye(4).reshape(-1).tolist()


@row("key times that do not increase", "key times are not increasing")
def _(b: Builder) -> None:
    animated(b)["samplers"][0]["input"] = b.accessor(np.float32([1, 1]))


@row("negative key times", "key times are negative")
def _(b: Builder) -> None:
    animated(b)["samplers"][0]["input"] = b.accessor(np.float32([-1, 1]))


@row("values that do not fit the key times", "has not as many values as key times: 2 (expected 3)")
def _(b: Builder) -> None:
    animated(b)["samplers"][0]["input"] = b.accessor(np.float32([0, 1, 2]))


@row("unknown interpolation", "samplers[0].interpolation: SPLINE (expected one of LINEAR, STEP, CUBICSPLINE)")
def _(b: Builder) -> None:
    animated(b)["samplers"][0]["interpolation"] = "SPLINE"


@row("channels of `weights`", "changes shape keys of 'n'; a model has none")
def _(b: Builder) -> None:
    animated(b)
    b.clip(0, "weights", [0, 1], [0, 1])
