"""Files for what glTF 2.0 demands of a reader: one for each row of the table in ``docs/reference/gltf.md``.

A row is *read* (a second reader shows the same), *refused* (in words) or *reported* (a line, and the
rest as the second reader shows it); nothing else.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.foreign import QUAD, Builder, matrix_of

Row = tuple[str, Callable[[Builder], Any]]
ROWS: dict[str, Row] = {}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = "data:image/png;base64," + base64.b64encode(PNG).decode()
UP = np.float32([[0, 0, 1]] * 4)
UV = QUAD[:, :2].copy()


def row(rule: str, words: str = "") -> Callable[[Callable[[Builder], Any]], Callable[[Builder], Any]]:
    def register(build: Callable[[Builder], Any]) -> Callable[[Builder], Any]:
        ROWS[rule] = words, build
        return build

    return register


def table(*rows: tuple[Callable[[Builder], Any], str, str, Callable[[Builder], Any]]) -> None:
    """Rows of one expression: what the file begins as, the rule, words of the report, what is changed in it."""
    for start, rule, words, change in rows:
        ROWS[rule] = words, lambda b, start=start, change=change: (start(b), change(b))


def bare(b: Builder) -> None:
    """Nothing yet."""


def primitive(b: Builder) -> dict[str, Any]:
    return b.json["meshes"][0]["primitives"][0]


def plain(b: Builder, **more: Any) -> None:
    b.node(name="n", mesh=b.mesh(attributes={"NORMAL": b.accessor(UP), "TEXCOORD_0": b.accessor(UV)}), **more)


@row("`byteStride`, `byteOffset`")
def _(b: Builder) -> None:
    plain(b)
    rows = np.zeros((4, 8), np.float32)
    rows[:, 1:4] = QUAD * 2
    view = b.view(rows.tobytes(), byteStride=32)
    about = {"bufferView": view, "byteOffset": 4, "componentType": 5126, "count": 4, "type": "VEC3"}
    b.json["accessors"].append(about)
    primitive(b)["attributes"]["POSITION"] = len(b.json["accessors"]) - 1


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


@row("no `NORMAL`: flat normals")
def _(b: Builder) -> None:
    points = QUAD.copy()
    points[3, 2] = 1
    b.node(name="n", mesh=b.mesh(points))


@row("largest index of its type, which restarts", "has an index past its vertices: 255 (expected below 255)")
def _(b: Builder) -> None:
    places = np.zeros((256, 3), np.float32)
    places[:, 0] = np.arange(256) ** 2
    places[:, 1] = np.arange(256)
    b.node(name="n", mesh=b.mesh(places))
    primitive(b)["indices"] = b.accessor(np.array([0, 1, 255], np.uint8))


def textured(b: Builder, info: Any) -> None:
    b.json["textures"] = [{}]
    b.json["materials"] = [{"name": "m", "pbrMetallicRoughness": {"baseColorTexture": info}}]
    primitive(b)["material"] = 0


@row("cameras and lights")
def _(b: Builder) -> None:
    plain(b)
    b.json["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1, "znear": 1}}]
    b.json["extensionsUsed"] = ["KHR_lights_punctual"]
    b.json["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point"}]}}
    b.node(name="camera", camera=0)
    b.node(name="lamp", extensions={"KHR_lights_punctual": {"light": 0}})
    b.json["scenes"][0]["nodes"] = [0, 1, 2]


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


@row("skin on a mesh without joints", "its mesh has vertices without joints and weights")
def _(b: Builder) -> None:
    skinned(b)
    for name in ("JOINTS_0", "WEIGHTS_0"):
        del primitive(b)["attributes"][name]


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


# fmt: off
table(
    (plain, "asset.version", "unknown glTF version: 3.0 (expected 2.0)",
     lambda b: b.json["asset"].update(version="3.0")),
    (plain, "asset.minVersion", "needs glTF 2.1",
     lambda b: b.json.update(asset={"version": "2.0", "minVersion": "2.1"})),
    (plain, "types and ranges of properties", "materials[0].doubleSided: yes (expected true or false)",
     lambda b: b.json.update(materials=[{"doubleSided": "yes"}])),
    (plain, "required properties", 'meshes[0].primitives[0]: {"indices": 3} (expected an object with attributes)',
     lambda b: primitive(b).pop("attributes")),
    (plain, "indices of objects", "nodes[0].mesh: 3 (expected an index into meshes (0 to 0))",
     lambda b: b.json["nodes"][0].update(mesh=3)),
    (bare, "unknown properties and `extras`", "",
     lambda b: plain(b, extras={"a": [1, {"b": None}]}, unheard={"of": 1})),
    (bare, "`null`, empty arrays", "",
     lambda b: (plain(b, children=[], translation=None, camera=None), b.json.update(cameras=[]))),
    (plain, "buffer shorter than `byteLength`", "buffer 0 is cut", lambda b: b.json.update(short=True)),
    (plain, "buffer view beyond its buffer", "bufferViews[0].byteLength: 400 (expected at most",
     lambda b: b.json["bufferViews"][0].update(byteLength=400)),
    (plain, "accessor beyond its buffer view", "runs past its buffer view",
     lambda b: b.json["accessors"][-1].update(count=99)),
    (plain, "normalised integers", "",
     lambda b: ( b.json.update(extensionsUsed=["KHR_mesh_quantization"],
      extensionsRequired=["KHR_mesh_quantization"]),
      primitive(b)["attributes"].update(TEXCOORD_0=b.accessor((UV * 255).astype(np.uint8).repeat(1, axis=1),
      normalized=True)), primitive(b)["attributes"].update(NORMAL=b.accessor((UP * 127).astype(np.int8),
      normalized=True)))),
    (plain, "normalised floats, or integers of 32 bits",
     "(expected integers of 8 or 16 bits: no others are normalised)",
     lambda b: b.json["accessors"][0].update(normalized=True)),
    (plain, "accessor without a buffer view: zeros", "", lambda b: b.json["accessors"][1].pop("bufferView")),
    (plain, "sparse accessors", "", lambda b: sparse(b, 3)),
    (plain, "sparse index beyond the accessor", "sparse accessor names an element past its end: 4 (expected below 4)",
     lambda b: sparse(b, 4)),
    (plain, "sparse indices that do not increase", "indices of a sparse accessor are not increasing",
     lambda b: sparse(b, 2, 2)),
    (plain, "`NORMAL`, `TANGENT`", "",
     lambda b: primitive(b)["attributes"].update({"NORMAL": b.accessor(np.float32([[0, 0.6, 0.8], [0.6, 0, 0.8], [0,
      0, 1], [0, 1, 0]])), "TANGENT": b.accessor(np.float32([[1, 0, 0, 1]] * 4))})),
    (bare, "triangle strip", "", lambda b: b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 3], mode=5))),
    (bare, "triangle fan", "", lambda b: b.node(name="n", mesh=b.mesh(indices=[0, 1, 3, 2], mode=6))),
    (bare, "no `indices`", "", lambda b: b.node(name="n", mesh=b.mesh(indices=None, mode=5))),
    (plain, "points and lines", "has lines; the game draws nothing but triangles",
     lambda b: b.json["meshes"][0]["primitives"].append(copy.deepcopy(primitive(b)) | {"mode": 1})),
    (plain, "primitive without `POSITION`", "has no POSITION; a primitive without positions draws nothing",
     lambda b: b.json["meshes"][0]["primitives"].append({"attributes": {"NORMAL": 0}})),
    (bare, "index beyond the vertices", "has an index past its vertices: 65535",
     lambda b: b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 65535, 1, 2]))),
    (plain, "accessors of unequal count", "TEXCOORD_0 of mesh 'mesh' does not fit its vertices: 3 x 2 (expected 4 x 2)",
     lambda b: primitive(b)["attributes"].update(TEXCOORD_0=b.accessor(UV[:3]))),
    (plain, "morph targets", "has morph targets", lambda b: primitive(b).update(targets=[{"POSITION": 0}])),
    (plain, "texture coordinates of the base colour texture", "",
     lambda b: (textured(b, {"index": 0, "texCoord": 2}),
      primitive(b)["attributes"].update({"TEXCOORD_1": b.accessor(UV * 3), "TEXCOORD_2": b.accessor(UV + 2)}),
      primitive(b)["attributes"].pop("TEXCOORD_1"))),
    (plain, "further texture coordinates", "second set of texture coordinates: is in the file",
     lambda b: primitive(b)["attributes"].update(TEXCOORD_1=b.accessor(UV * 3))),
    (plain, "texture coordinates that a texture needs and a mesh has not",
     "has no TEXCOORD_1, which the texture of material",
     lambda b: textured(b, {"index": 0, "texCoord": 1})),
    (plain, "further colours, attributes of programs",
     "attributes are not read, and what they hold is ignored: COLOR_1, _WIND",
     lambda b: primitive(b)["attributes"].update({"COLOR_1": b.accessor(np.float32([[1, 0, 0]] * 4)),
      "_WIND": b.accessor(UV[:, 0])})),
    (plain, "`COLOR_0`", "",
     lambda b: primitive(b)["attributes"].update(COLOR_0=b.accessor(np.float32([[1, 0, 0, 0.5]] * 4)))),
    (plain, "no material, no texture", "", lambda b: (b.json.update(materials=[{}]), primitive(b).update(material=0))),
    (plain, "texture that does not repeat", "has a texture that does not repeat",
     lambda b: (textured(b, {"index": 0}), b.json.update(textures=[{"sampler": 0}], samplers=[{"wrapS": 33071}]))),
    (plain, "picture that cannot be read, or is not there", "picture without a name is new; picture is not there",
     lambda b: (textured(b, {"index": 0}), b.json.update(images=[{"uri": "data:image/png;base64,AAAA"}]))),
    (plain, "factors and textures that the game has no place for", "has normalTexture, metallic 0.5, roughness 0.1",
     lambda b: (textured(b, {"index": 0}), b.json["materials"][0].update(normalTexture={"index": 0}),
      b.json["materials"][0]["pbrMetallicRoughness"].update({"metallicFactor": 0.5, "roughnessFactor": 0.1}))),
    (bare, "hierarchy, TRS, scale, mirrors", "",
     lambda b: (plain(b, scale=[1, -2, 1], rotation=[0, 0.6, 0, 0.8]), b.node(name="above", children=[0],
      translation=[1, 2, 3], scale=[2, 2, 2]), b.json["scenes"][0].update(nodes=[1]))),
    (bare, "`matrix`", "",
     lambda b: plain(b, matrix=matrix_of((1, 2, 3), (1, 1, 0), 0.7, (2, 2, -2)).T.reshape(-1).tolist())),
    (bare, "`matrix` beside TRS", "nodes[0].matrix:",
     lambda b: plain(b, matrix=np.eye(4).reshape(-1).tolist(), scale=[2, 2, 2])),
    (plain, "node with two parents", "has two parents", lambda b: (b.node(children=[0]), b.node(children=[0]))),
    (bare, "loop of nodes", "nodes form a loop", lambda b: (plain(b, children=[1]), b.node(children=[0]))),
    (plain, "nodes outside the scene", "",
     lambda b: (b.node(name="elsewhere", mesh=0, translation=[9, 9, 9]), b.json["scenes"].append({}))),
    (plain, "several scenes", "2 scenes, only the default one is read",
     lambda b: (b.node(name="elsewhere", mesh=0, translation=[9, 9, 9]), b.json["scenes"].append({"nodes": [1]}))),
    (skinned, "skins", "skin of node 'body': each triangle follows its dominant joint", lambda b: None),
    (bare, "all sets of joints and weights", "skin of node 'body'", lambda b: skinned(b, sets=2)),
    (bare, "mirrored joints", "skin of node 'body'", lambda b: skinned(b, mirror=True)),
    (bare, "joint beyond the skin's", "names a joint that its skin does not have: 2 (expected below 2)",
     lambda b: skinned(b, joints=3)),
    (skinned, "joints without weights", "has not weights for each set of joints",
     lambda b: primitive(b)["attributes"].pop("WEIGHTS_0")),
    (animated, "channel of a node with a matrix", "(expected a node without a matrix)",
     lambda b: b.json["nodes"][0].update(matrix=np.eye(4).reshape(-1).tolist())),
    (bare, "key times that do not increase", "key times are not increasing",
     lambda b: animated(b)["samplers"][0].update(input=b.accessor(np.float32([1, 1])))),
    (bare, "negative key times", "key times are negative",
     lambda b: animated(b)["samplers"][0].update(input=b.accessor(np.float32([-1, 1])))),
    (bare, "values that do not fit the key times", "has not as many values as key times: 2 (expected 3)",
     lambda b: animated(b)["samplers"][0].update(input=b.accessor(np.float32([0, 1, 2])))),
    (bare, "unknown interpolation", "samplers[0].interpolation: SPLINE (expected one of LINEAR, STEP, CUBICSPLINE)",
     lambda b: animated(b)["samplers"][0].update(interpolation="SPLINE")),
    (animated, "channels of `weights`", "changes shape keys of 'n'; a model has none",
     lambda b: b.clip(0, "weights", [0, 1], [0, 1])),
)
# fmt: on


# ------------------------------------------------------------------ extensions


@row("`KHR_materials_variants`", "and what they say is ignored: KHR_materials_variants")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["extensionsUsed"] = ["KHR_materials_variants"]
    b.json["extensions"] = {"KHR_materials_variants": {"variants": [{"name": "red"}]}}
    primitive(b)["extensions"] = {"KHR_materials_variants": {"mappings": [{"material": 0, "variants": [0]}]}}


@row(
    "`EXT_texture_webp`, `EXT_texture_avif`, `KHR_texture_basisu`",
    "picture without a name is new; picture: cannot be read",
)
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["extensionsUsed"] = ["KHR_texture_basisu"]
    b.json["images"] = [{"uri": "data:image/ktx2;base64,q0tUWA=="}]
    b.json["textures"] = [{"extensions": {"KHR_texture_basisu": {"source": 0}}}]


# fmt: off
table(
    (plain, "required extension that is not known", "needs extensions that cannot be read: EXT_shape",
     lambda b: b.json.update(extensionsUsed=["EXT_shape"], extensionsRequired=["EXT_shape"])),
    (plain, "extension that is not known", "extensions are not read, and what they say is ignored: EXT_shape",
     lambda b: b.json.update(extensionsUsed=["EXT_shape"])),
    (plain, "extension that `extensionsUsed` does not name", "and what they say is ignored: EXT_shape",
     lambda b: primitive(b).update(extensions={"EXT_shape": {}})),
    (plain, "`KHR_texture_transform`", "",
     lambda b: (b.json.update(extensionsUsed=["KHR_texture_transform"]), textured(b, {"index": 0,
      "extensions": {"KHR_texture_transform": {"offset": [0.5, 0.25], "scale": [2, 0.5], "rotation": np.pi / 2}}}))),
    (bare, "`KHR_mesh_quantization`", "",
     lambda b: (plain(b, scale=[0.002] * 3), b.json.update(extensionsUsed=["KHR_mesh_quantization"],
      extensionsRequired=["KHR_mesh_quantization"]),
      primitive(b)["attributes"].update(POSITION=b.accessor((QUAD * 1000).astype(np.int16))))),
    (bare, "`EXT_mesh_gpu_instancing`", "2 instances of its mesh became nodes",
     lambda b: (b.json.update(extensionsUsed=["EXT_mesh_gpu_instancing"]), plain(b,
      extensions={"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": b.accessor(np.float32([[0, 0, 0], [5, 0,
      0]]))}}}))),
    (plain, "`KHR_node_visibility`", "is hidden and left out",
     lambda b: (b.json.update(extensionsUsed=["KHR_node_visibility"]), b.node(name="ghost", mesh=0, translation=[5,
      0, 0], extensions={"KHR_node_visibility": {"visible": False}}), b.json["scenes"][0].update(nodes=[0, 1]))),
    (bare, "`KHR_animation_pointer`", "animates '/materials/0/alphaCutoff'",
     lambda b: (b.json.update(extensionsUsed=["KHR_animation_pointer"]),
      animated(b)["channels"].append({"sampler": 0, "target": {"path": "pointer",
      "extensions": {"KHR_animation_pointer": {"pointer": "/materials/0/alphaCutoff"}}}}))),
    (plain, "`KHR_materials_*`", "KHR_materials_clearcoat",
     lambda b: (textured(b, {"index": 0}),
      b.json["materials"][0].update(extensions={"KHR_materials_clearcoat": {"clearcoatFactor": 1}}),
      b.json.update(extensionsUsed=["KHR_materials_clearcoat"]))),
    (plain, "`KHR_meshopt_compression`, `EXT_meshopt_compression`", "npx @gltf-transform/cli copy",
     lambda b: b.json.update(extensionsUsed=["EXT_meshopt_compression"],
      extensionsRequired=["EXT_meshopt_compression"])),
)
# fmt: on
