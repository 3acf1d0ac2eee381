"""Files for what glTF 2.0 demands of a reader: one for each row of the table in ``docs/reference/gltf.md``.

A row is *read* (a second reader shows the same), *refused* (in words) or *reported* (a line, and the
rest as the second reader shows it); nothing else.
"""

import json
import urllib.parse
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.foreign import (
    IMAGE,
    PNG,
    QUAD,
    REMOVED,
    UP,
    UV,
    Builder,
    Json,
    binary,
    glb,
    matrix_of,
    spelled,
    text,
)
from tests.support.gltf_codes import FILES

Build = Callable[[Builder], object]
STILL = np.eye(4).reshape(-1).tolist()


def nothing(_: Builder) -> None:
    """A document as it begins."""


def primitive(b: Builder) -> Json:
    found: Json = b.json["meshes"][0]["primitives"][0]
    return found


def plain(b: Builder, **more: Any) -> None:
    b.node(name="n", mesh=b.mesh(attributes={"NORMAL": b.accessor(UP), "TEXCOORD_0": b.accessor(UV)}), **more)


def textured(b: Builder, info: Json) -> None:
    b.put({"textures": [{}], "materials": [{"name": "m"}], "colour": {"baseColorTexture": info}})
    primitive(b)["material"] = 0


def painted(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})


def mesh(points: np.ndarray = QUAD, **more: Any) -> Build:
    return lambda b: b.node(name="n", mesh=b.mesh(points, **more))


def above(**more: Any) -> Build:
    """A node above another one."""

    def build(b: Builder) -> None:
        plain(b)
        b.put({"nodes.1": {"name": "above", "children": [0], **more}, "scenes.0.nodes": [1]})

    return build


def beside(b: Builder) -> None:
    plain(b)
    b.beside["куб 1.bin"] = b.data
    b.raw = text(lambda document: document["buffers"][0].update(uri=urllib.parse.quote("куб 1.bin")))


def interleaved(b: Builder) -> None:
    plain(b)
    rows = np.zeros((4, 8), np.float32)
    rows[:, 1:4] = QUAD * 2
    about = {"byteOffset": 4, "componentType": 5126, "count": 4, "type": "VEC3"}
    b.json["accessors"].append({"bufferView": b.view(rows.tobytes(), byteStride=32), **about})
    b.put({"POSITION": len(b.json["accessors"]) - 1})


def sparse(*rows: int, count: int = 0) -> Callable[[Builder], Json]:
    return lambda b: {
        "count": count or len(rows),
        "indices": {"bufferView": b.view(bytes(rows)), "componentType": 5121},
        "values": {"bufferView": b.view(np.float32([[5, 6, 7]] * len(rows)).tobytes())},
    }


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


def animated(b: Builder) -> None:
    plain(b)
    b.clip(0, "translation", [0, 1], [[0, 0, 0], [3, 0, 0]])


def moves(*clips: tuple[Any, ...], **more: Any) -> Build:
    """A node with clips: path, frames, values and how they are interpolated."""

    def build(b: Builder) -> None:
        plain(b, **more)
        for path, frames, values, *kind in clips:
            b.clip(0, path, np.array(frames) / 24, values, *kind)

    return build


def every_interpolation(b: Builder) -> None:
    plain(b, translation=[1, 0, 0], rotation=[0, 0, 0.6, 0.8])
    b.clip(0, "translation", [0.5, 1], [[1, 0, 0], [3, 0, 0]], "STEP")
    b.clip(0, "rotation", [0.5, 1], [[0] * 4, [0, 0, 0.6, 0.8], [0] * 4, [0] * 4, [0, 0, 0, 1], [0] * 4], "CUBICSPLINE")
    b.put({"nodes.1": {"name": "above", "children": [0], "translation": [0, 2, 0]}, "scenes.0.nodes": [1]})
    b.clip(1, "translation", [0.25, 0.5], [[0, 2, 0], [0, 3, 0]])


def two_curves(b: Builder) -> None:
    b.clip(0, "translation", [0, 1], [[0, 0, 0], [3, 0, 0]], "STEP")


def largest_index(b: Builder) -> None:
    places = np.zeros((256, 3), np.float32)
    places[:, 0] = np.arange(256) ** 2
    places[:, 1] = np.arange(256)
    b.node(name="n", mesh=b.mesh(places, np.uint8([0, 1, 255]), dtype=np.uint8))


def extended(name: str, place: str, about: Any, *, required: bool = False) -> Json:
    """Changes: an extension, and what it says somewhere."""
    needs = {"extensionsRequired": [name]} if required else {}
    return {"extensionsUsed": [name], **needs, **({f"{place}.extensions": {name: about}} if place else {})}


def one_by_one(rows: Json) -> Callable[[Builder], Json]:
    """What a mesh is drawn at, as ``EXT_mesh_gpu_instancing`` says it."""
    return lambda b: {"EXT_mesh_gpu_instancing": {"attributes": {k: b.accessor(v) for k, v in rows.items()}}}


LIGHTS, VARIANTS, TRANSFORM = "KHR_lights_punctual", "KHR_materials_variants", "KHR_texture_transform"
INSTANCING, VISIBILITY, POINTER = "EXT_mesh_gpu_instancing", "KHR_node_visibility", "KHR_animation_pointer"
STANDS, BENT = [0, 0, 0], [0, 0, 30, -9]
TURN = {"offset": [0.5, 0.25], "scale": [2, 0.5], "rotation": np.pi / 2}
GHOST = {"name": "ghost", "mesh": 0, "translation": [5, 0, 0], "extensions": {VISIBILITY: {"visible": False}}}
ELSEWHERE = {"name": "elsewhere", "mesh": 0, "translation": [9, 9, 9]}
POINTS_AT = {"path": "pointer", "extensions": {POINTER: {"pointer": "/materials/0/alphaCutoff"}}}
SKIN = "skin of node 'body'"

# fmt: off
#: What a reader is asked for -> words of the report or the refusal, what is built, and what is changed in it then.
ROWS: dict[str, tuple[str, Build, Json]] = {
    # the file
    "asset.version": ("unknown glTF version: 3.0 (expected 2.0)", plain, {"asset.version": "3.0"}),
    "asset.minVersion": ("needs glTF 2.1", plain, {"asset.minVersion": "2.1"}),
    "types and ranges of properties": ("materials[0].doubleSided: yes (expected true or false)", plain,
        {"materials": [{"doubleSided": "yes"}]}),
    "required properties": ('meshes[0].primitives[0]: {"indices": 3} (expected an object with attributes)', plain,
        {"primitive.attributes": REMOVED}),
    "indices of objects": ("nodes[0].mesh: 3 (expected an index into meshes (0 to 0))", plain, {"node.mesh": 3}),
    "unknown properties and `extras`": ("", plain, {"node.extras": {"a": [1, {"b": None}]}, "node.unheard": {"of": 1}}),
    "`null`, empty arrays": ("", plain, {"node.children": [], "node.translation": None, "node.camera": None,
        "cameras": []}),
    "integers with a fraction of 0, or an exponent": ("", plain, {"accessors.0.count": 4.0,
        "raw": spelled('"count": 6', '"count": 6e0')}),
    "integers with another fraction": ("accessors[0].count: 4.5 (expected", plain, {"accessors.0.count": 4.5}),
    "byte order mark; names that are not ASCII": ("", plain, {"node.name": "куб", "raw": lambda document,
        _: b"\xef\xbb\xbf" + json.dumps(document, ensure_ascii=False).encode()}),
    "a key twice: the last counts": ("", plain, {"raw": spelled("{", '{"scene": 9, ')}),
    "chunks of unknown types": ("", plain, {"raw": binary(lambda *two: glb(*two, (b"EXTR", b"1234")))}),
    "container of another version": ("unknown version of .glb: 3 (expected 2)", plain,
        {"raw": FILES["GLB_INVALID_VERSION"]}),
    "container that is longer than the file": ("is cut", plain, {"raw": FILES["GLB_LENGTH_MISMATCH"]}),
    "chunks in another order": ("", plain, {"raw": FILES["GLB_UNEXPECTED_FIRST_CHUNK"]}),
    # buffers and accessors
    "media type of a data URI": ("", plain, {"raw": spelled("octet-stream", "gltf-buffer")}),
    "data URI that is not base64, or is cut": ("data URI of buffer 0 is not base64, or is cut", plain,
        {"raw": spelled(";base64,", ",")}),
    "paths of buffers, percent-encoded or not": ("", beside, {}),
    "buffer on the web, or outside the file's directory": ("buffer 0 is on the web: https://", plain,
        {"raw": text(lambda d: d.update(buffers=[{"byteLength": 400, "uri": "https://example.org/a.bin"}]))}),
    "buffer without `uri` and without a `BIN` chunk": ("buffer 0 has no data", plain,
        {"raw": FILES["BUFFER_MISSING_GLB_DATA"]}),
    "`BIN` chunk longer than its buffer by padding": ("", lambda b: (plain(b), b.view(b"\0")),
        {"raw": binary(lambda *two: glb(*two))}),
    "buffer shorter than `byteLength`": ("buffer 0 is cut", plain, {"raw": FILES["BUFFER_BYTE_LENGTH_MISMATCH"]}),
    "buffer view beyond its buffer": ("bufferViews[0].byteLength: 400 (expected at most", plain,
        {"bufferViews.0.byteLength": 400}),
    "one buffer view for indices and vertices": ("", plain,
        {"accessors.2.bufferView": lambda b: b.view(QUAD.tobytes() + np.uint16([0, 1, 2, 1, 3, 2]).tobytes(),
        target=34962), "accessors.3.bufferView": 4, "accessors.3.byteOffset": 48}),
    "accessor beyond its buffer view": ("runs past its buffer view", plain, {"accessors.3.count": 99}),
    "`byteStride`, `byteOffset`": ("", interleaved, {}),
    "`byteOffset` without a `bufferView`": ("accessors[1].byteOffset: 4 (expected a bufferView beside it)", plain,
        {"accessors.1": {"byteOffset": 4, "componentType": 5126, "count": 4, "type": "VEC3"}}),
    "numbers that are not finite": ("POSITION is not finite", plain, {"POSITION": np.where(QUAD, np.nan, QUAD)}),
    "normalised integers": ("", plain, {**extended("KHR_mesh_quantization", "", {}, required=True),
        "TEXCOORD_0": lambda b: b.accessor((UV * 255).astype(np.uint8).repeat(1, axis=1), normalized=True),
        "NORMAL": lambda b: b.accessor((UP * 127).astype(np.int8), normalized=True)}),
    "normalised floats, or integers of 32 bits": ("(expected integers of 8 or 16 bits: no others are normalised)",
        plain, {"accessors.0.normalized": True}),
    "accessor without a buffer view: zeros": ("", plain, {"accessors.1.bufferView": REMOVED}),
    "`min` and `max`, missing or wrong": ("", plain, {"accessors.0.min": [9] * 3, "accessors.0.max": [-9] * 3}),
    "sparse accessors": ("", plain, {"accessors.2.sparse": sparse(3)}),
    "sparse index beyond the accessor": ("sparse accessor names an element past its end: 4 (expected below 4)", plain,
        {"accessors.2.sparse": sparse(4)}),
    "sparse indices that do not increase": ("indices of a sparse accessor are not increasing", plain,
        {"accessors.2.sparse": sparse(2, 2)}),
    "count of a sparse accessor beyond the accessor": ("sparse.count: 5 (expected at most 4)", plain,
        {"accessors.0.sparse": sparse(0, 1, 2, 3, 4)}),
    "type of accessor that its use does not have": ("POSITION of mesh 'mesh' does not fit its vertices: 4 x 2", plain,
        {"POSITION": UV}),
    # meshes
    "`NORMAL`, `TANGENT`": ("", plain, {"NORMAL": np.float32([[0, 0.6, 0.8], [0.6, 0, 0.8], [0, 0, 1], [0, 1, 0]]),
        "TANGENT": np.float32([[1, 0, 0, 1]] * 4)}),
    "no `NORMAL`: flat normals": ("", mesh(QUAD + np.float32([[0] * 3] * 3 + [[0, 0, 1]])), {}),
    "triangle strip": ("", mesh(indices=[0, 1, 2, 3], mode=5), {}),
    "triangle fan": ("", mesh(indices=[0, 1, 3, 2], mode=6), {}),
    "no `indices`": ("", mesh(indices=None, mode=5), {}),
    "points and lines": ("has lines; the game draws nothing but triangles", plain,
        {"meshes.0.primitives.1": lambda b: primitive(b) | {"mode": 1}}),
    "primitive without `POSITION`": ("has no POSITION; a primitive without positions draws nothing", plain,
        {"meshes.0.primitives.1": {"attributes": {"NORMAL": 0}}}),
    "index beyond the vertices": ("has an index past its vertices: 65535", mesh(indices=[0, 1, 2, 65535, 1, 2]), {}),
    "largest index of its type, which restarts": ("has an index past its vertices: 255 (expected below 255)",
        largest_index, {}),
    "indices that are marked as normalised": ("meshes[0].primitives[0].indices: 3 (expected integers as they are",
        plain, {"accessors.3.normalized": True}),
    "accessors of unequal count": ("TEXCOORD_0 of mesh 'mesh' does not fit its vertices: 3 x 2 (expected 4 x 2)",
        plain, {"TEXCOORD_0": UV[:3]}),
    "names with zeros before the number of a set": ("what they hold is ignored: TEXCOORD_01", plain,
        {"TEXCOORD_01": UV * 2}),
    "sets of attributes that do not follow one another": ("what they hold is ignored: TEXCOORD_2", plain,
        {"TEXCOORD_2": UV}),
    "types that only `KHR_mesh_quantization` allows, without it": ("", plain,
        {"POSITION": (QUAD * 7).astype(np.int16)}),
    "degenerate triangles": ("1 degenerate triangle dropped", mesh(indices=[0, 1, 2, 1, 1, 3]), {}),
    "corners after the last whole triangle": ("has 2 corners after its last triangle", mesh(indices=[0, 1, 2, 1, 3]),
        {}),
    "morph targets": ("has morph targets", plain, {"primitive.targets": [{"POSITION": 0}]}),
    "texture coordinates of the base colour texture": ("", painted, {"colour.baseColorTexture.texCoord": 2,
        "TEXCOORD_2": UV + 2}),
    "further texture coordinates": ("second set of texture coordinates: is in the file", plain, {"TEXCOORD_1": UV * 3}),
    "texture coordinates that a texture needs and a mesh has not": ("has no TEXCOORD_1, which the texture of material",
        painted, {"colour.baseColorTexture.texCoord": 1}),
    "further colours, attributes of programs":
        ("attributes are not read, and what they hold is ignored: COLOR_1, _WIND", plain, {"COLOR_1": np.float32([[1,
        0, 0]] * 4), "_WIND": UV[:, 0]}),
    "`COLOR_0`": ("", plain, {"COLOR_0": np.float32([[1, 0, 0, 0.5]] * 4)}),
    "colours without alpha, and beyond 1": ("", plain, {"COLOR_0": np.float32([[2, 0, -1]] * 4)}),
    # materials
    "no material, no texture": ("", plain, {"materials": [{}], "primitive.material": 0}),
    "texture that does not repeat": ("has a texture that does not repeat", painted, {"textures.0.sampler": 0,
        "samplers": [{"wrapS": 33071}]}),
    "picture that cannot be read, or is not there": ("picture without a name is new; picture is not there", painted,
        {"images": [{"uri": "data:image/png;base64,AAAA"}]}),
    "picture of another type than it states": ("", painted, {"images": [{"uri": IMAGE, "mimeType": "image/jpeg"}],
        "textures.0.source": 0}),
    "picture of a buffer view without `mimeType`": ("", painted, {"images": lambda b: [{"bufferView": b.view(PNG)}],
        "textures.0.source": 0}),
    "filters of samplers": ("", painted, {"images": [{"uri": IMAGE}], "textures.0": {"source": 0, "sampler": 0},
        "samplers": [{"magFilter": 9728, "minFilter": 9984}]}),
    "factors and textures that the game has no place for": ("has normalTexture, metallic 0.5, roughness 0.1", painted,
        {"material.normalTexture": {"index": 0}, "colour.metallicFactor": 0.5, "colour.roughnessFactor": 0.1}),
    "`alphaCutoff` other than 0.5": ("has alphaCutoff 0.25", painted, {"material.alphaMode": "MASK",
        "material.alphaCutoff": 0.25}),
    "`alphaMode`; `doubleSided`: the game draws both sides": ("", painted, {"images": [{"uri": IMAGE}],
        "textures.0.source": 0, "material.doubleSided": False, "material.alphaMode": "BLEND"}),
    # nodes
    "hierarchy, TRS, scale, mirrors": ("", above(translation=[1, 2, 3], scale=[2, 2, 2]), {"node.scale": [1, -2, 1],
        "node.rotation": [0, 0.6, 0, 0.8]}),
    "`matrix`": ("", plain, {"node.matrix": matrix_of((1, 2, 3), (1, 1, 0), 0.7, (2, 2, -2)).T.reshape(-1).tolist()}),
    "`matrix` beside TRS": ("nodes[0].matrix:", plain, {"node.matrix": STILL, "node.scale": [2, 2, 2]}),
    "`matrix` that shears": ("", plain, {"node.matrix": [1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}),
    "rotation that is not of length 1": ("", plain, {"node.rotation": [0, 0, 1.2, 1.6]}),
    "rotation of length 0, of a node or a key": ("1 rotation of node 'n' of length 0: read as no rotation",
        moves(("rotation", [0, 24], [[0, 0, 0, 0], [0, 0, 0, 1]])), {"node.rotation": [0, 0, 0, 0]}),
    "scale of 0, `matrix` that flattens": ("node 'n' is flattened: 1.41 x 1 x 1.41", plain, {"node.matrix": [1, 1, 0,
        0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}),
    "`matrix` whose fourth row is not 0, 0, 0 and 1": ("nodes[0].matrix: [0.0, 0.0, 0.0, 2] (expected a fourth row of",
        plain, {"node.matrix": [*STILL[:15], 2]}),
    "node with two parents": ("has two parents", plain, {"nodes.1": {"children": [0]}, "nodes.2": {"children": [0]}}),
    "loop of nodes": ("nodes form a loop", plain, {"node.children": [1], "nodes.1": {"children": [0]}}),
    "list that names an object twice": ("nodes[1].children: [0, 0] (expected each of them once)", plain,
        {"nodes.1": {"children": [0, 0]}}),
    "a mesh of several nodes": ("", plain, {"scenes.0.nodes": [0, 1], "nodes.1": {"name": "second", "mesh": 0,
        "translation": [5, 0, 0], "scale": [-1, 1, 1]}}),
    "`weights` without `mesh`": ("node 'empty': has weights and no mesh; there is nothing to shape", plain,
        {"nodes.1": {"name": "empty", "weights": [0.5]}, "scenes.0.nodes": [0, 1]}),
    "`skin` without `mesh`": ("node 1: has a skin and no mesh; there is nothing to shape", plain,
        {"nodes.1": {"skin": 0}, "skins": [{"joints": [0]}], "scenes.0.nodes": [0, 1]}),
    "nodes outside the scene": ("", plain, {"nodes.1": ELSEWHERE, "scenes.1": {}}),
    "several scenes": ("2 scenes, only the default one is read", plain, {"nodes.1": ELSEWHERE,
        "scenes.1": {"nodes": [1]}}),
    "scene that lists a child": ("", above(translation=[1, 0, 0]), {"scenes.0.nodes": [1, 0]}),
    "no scene": ("", plain, {"scene": REMOVED}),
    "cameras and lights": ("", plain, {"scenes.0.nodes": [0, 1, 2], "extensionsUsed": [LIGHTS],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 1, "znear": 1}}],
        "extensions": {LIGHTS: {"lights": [{"type": "point"}]}}, "nodes.1": {"name": "camera", "camera": 0},
        "nodes.2": {"name": "lamp", "extensions": {LIGHTS: {"light": 0}}}}),
    # skins
    "skins": (f"{SKIN}: each triangle follows its dominant joint", skinned, {}),
    "all sets of joints and weights": (SKIN, lambda b: skinned(b, sets=2), {}),
    "mirrored joints": (SKIN, lambda b: skinned(b, mirror=True), {}),
    "joints as integers of 16 bits, weights as normalised ones": (SKIN, skinned, {"JOINTS_0": np.uint16([[0, 1, 0,
        0]] * 4), "WEIGHTS_0": lambda b: b.accessor(np.uint8([[155, 100, 0, 0], [0, 255, 0, 0], [100, 155, 0, 0], [1,
        254, 0, 0]]), normalized=True)}),
    "skin on a mesh without joints": ("its mesh has vertices without joints and weights", skinned,
        {"JOINTS_0": REMOVED, "WEIGHTS_0": REMOVED}),
    "joint beyond the skin's": ("names a joint that its skin does not have: 2 (expected below 2)", lambda b: skinned(b,
        joints=3), {}),
    "joints without weights": ("has not weights for each set of joints", skinned, {"WEIGHTS_0": REMOVED}),
    "joints outside the scene": ("node 'hip' is a joint, and not in the scene that is read", skinned,
        {"scenes": [{"nodes": [0]}, {"nodes": [1]}]}),
    "joints without a common root": (SKIN, skinned, {"nodes.1.children": REMOVED, "scenes.0.nodes": [0, 1, 2]}),
    "`skeleton`": (SKIN, skinned, {"skins.0.skeleton": 1}),
    "the place of a skinned node, which does not count": (SKIN, skinned, {"node.translation": [5, 6, 7],
        "node.scale": [2, 2, 2]}),
    "weights that are negative, or do not add up to 1": (SKIN, skinned, {"WEIGHTS_0": np.float32([[0.5, -0.25, 0,
        0]] * 4)}),
    "no inverse bind matrices: unit matrices": (SKIN, skinned, {"skins.0.inverseBindMatrices": REMOVED}),
    "fewer inverse bind matrices than joints": ("has not an inverse bind matrix for each joint", skinned,
        {"skins.0.inverseBindMatrices": np.eye(4, dtype=np.float32)[None]}),
    "fourth row of inverse bind matrices that is not 0, 0, 0 and 1": ("has no fourth row of 0, 0, 0 and 1", skinned,
        {"skins.0.inverseBindMatrices": np.float32([np.diag([1, 1, 1, 2])] * 2)}),
    # animations
    "`LINEAR`, `STEP`, `CUBICSPLINE`; the first and the last key hold": ("", every_interpolation, {}),
    "`CUBICSPLINE`: tangents a second; rotations of length 1": ("", moves(("translation", [0, 3, 7], [STANDS, STANDS,
        [9, 0, 0], [0, 9, 0], [1, 1, 1], *[STANDS] * 4], "CUBICSPLINE"), ("rotation", [0, 3, 7], [[0] * 4, [0, 0, 0,
        1], BENT, BENT, [0, 0, 0.6, 0.8], BENT, [0] * 4, [0.6, 0, 0, 0.8], [0] * 4], "CUBICSPLINE")), {}),
    "one key of `CUBICSPLINE`: its value": ("", moves(("translation", [0], [[5, 5, 5], [1, 2, 3], [5, 5, 5]],
        "CUBICSPLINE"), ("rotation", [0, 1, 4], [[0, 0, 0, 1]] * 3), translation=[1, 2, 3]), {}),
    "one key; keys of another path of unequal length": ("", moves(("translation", [0], [[0, 0, 0]]), ("rotation", [0,
        24, 48], [[0, 0, 0, 1]] * 3)), {}),
    "value at a key: the key's own": ("", moves(("translation", [0, 1, 3, 7], [[0, 0, 0], [0.1, 0.001, 3e4], [-0.3, 7,
        3e4], [1 / 3, 0, 0]]), ("rotation", [0, 2, 7], [[0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0.6, 0, 0, 0.8]])), {}),
    "rotations between keys take the short way": ("", moves(("rotation", [0, 3, 7], [[0, 0, 0, 1], [0, 0, -0.6, -0.8],
        [0.6, 0, 0, 0.8]])), {}),
    "rotations as normalised integers": ("", moves(("rotation", [0, 24], [[0, 0, 0, 1]] * 2)),
        {"sampler.output": lambda b: b.accessor(np.int16([[0, 0, 0, 32767], [0, 0, 19660, 26214]]), normalized=True)}),
    "two channels of one target": ("has two curves for the translation of node 'n'", lambda b: (animated(b),
        two_curves(b)), {}),
    "two channels of one target that say the same": ("", animated,
        {"animations.0.channels.1": lambda b: b.json["animations"][0]["channels"][0]}),
    "channel without a node": ("has 1 channel without a node", animated, {"animations.0.channels.1": {"sampler": 0,
        "target": {"path": "rotation"}}}),
    "channel of a node with a matrix": ("(expected a node without a matrix)", animated, {"node.matrix": STILL}),
    "unknown path of a channel": ("channels[0].target.path: colour (expected one of translation, rotation, scale",
        animated, {"channel.target.path": "colour"}),
    "unknown interpolation": ("samplers[0].interpolation: SPLINE (expected one of LINEAR, STEP, CUBICSPLINE)",
        animated, {"sampler.interpolation": "SPLINE"}),
    "key times that do not increase": ("key times are not increasing", animated, {"sampler.input": np.float32([1, 1])}),
    "negative key times": ("key times are negative", animated, {"sampler.input": np.float32([-1, 1])}),
    "key times that are not scalars of float32": ("animation of node 'n': key times are not float32 numbers", animated,
        {"sampler.input": np.uint16([0, 1])}),
    "values that do not fit the key times": ("has not as many values as key times: 2 (expected 3)", animated,
        {"sampler.input": np.float32([0, 1, 2])}),
    "values of another type than the path has": ("has values of another width: 2 (expected 3)", animated,
        {"sampler.output": np.float32([[0, 0], [3, 0]])}),
    "channels of `weights`": ("changes shape keys of 'n'; a model has none", lambda b: (animated(b), b.clip(0,
        "weights", [0, 1], [0, 1])), {}),
    "channels of `scale`": ("animated scale", lambda b: (animated(b), b.clip(0, "scale", [0, 1], [[1, 1, 1], [2, 2,
        2]])), {}),
    "several animations": ("a model has one clip, and 'first' is taken", animated, {"animations.0.name": "first",
        "animations.1": lambda b: {**b.json["animations"][0], "name": "second",
        "samplers": [{**b.json["animations"][0]["samplers"][0], "output": b.accessor(np.float32([[0, 0, 0], [0, 9,
        0]]))}]}}),
    # extensions
    "required extension that is not known": ("needs extensions that cannot be read: EXT_shape", plain,
        extended("EXT_shape", "", {}, required=True)),
    "`extensionsRequired` that `extensionsUsed` lacks": ("needs extensions that cannot be read: EXT_shape", plain,
        {"extensionsRequired": ["EXT_shape"]}),
    "extension that is not known": ("extensions are not read, and what they say is ignored: EXT_shape", plain,
        {"extensionsUsed": ["EXT_shape"]}),
    "extension that `extensionsUsed` does not name": ("and what they say is ignored: EXT_shape", plain,
        {"primitive.extensions": {"EXT_shape": {}}}),
    "`KHR_texture_transform`": ("", painted, extended(TRANSFORM, "colour.baseColorTexture", TURN)),
    "`KHR_mesh_quantization`": ("", plain, {**extended("KHR_mesh_quantization", "", {}, required=True),
        "node.scale": [0.002] * 3, "POSITION": (QUAD * 1000).astype(np.int16)}),
    "`EXT_mesh_gpu_instancing`": ("2 instances of its mesh became nodes", plain, {"extensionsUsed": [INSTANCING],
        "node.extensions": one_by_one({"TRANSLATION": np.float32([[0, 0, 0], [5, 0, 0]])})}),
    "`KHR_node_visibility`": ("is hidden and left out", plain, {"extensionsUsed": [VISIBILITY], "nodes.1": GHOST,
        "scenes.0.nodes": [0, 1]}),
    "`KHR_animation_pointer`": ("animates '/materials/0/alphaCutoff'", animated, {"extensionsUsed": [POINTER],
        "animations.0.channels.1": {"sampler": 0, "target": POINTS_AT}}),
    "`KHR_materials_*`": ("KHR_materials_clearcoat", painted, extended("KHR_materials_clearcoat", "material",
        {"clearcoatFactor": 1})),
    "`KHR_materials_variants`": ("and what they say is ignored: KHR_materials_variants", painted, {**extended(VARIANTS,
        "primitive", {"mappings": [{"material": 0, "variants": [0]}]}),
        "extensions": {VARIANTS: {"variants": [{"name": "red"}]}}}),
    "`EXT_texture_webp`, `EXT_texture_avif`, `KHR_texture_basisu`":
        ("picture without a name is new; picture: cannot be read", painted, {**extended("KHR_texture_basisu",
        "textures.0", {"source": 0}), "images": [{"uri": "data:image/ktx2;base64,q0tUWA=="}]}),
    "`KHR_meshopt_compression`, `EXT_meshopt_compression`": ("npx @gltf-transform/cli copy", plain,
        extended("EXT_meshopt_compression", "", {}, required=True)),
}
# fmt: on


def built(rule: str) -> Builder:
    """The file for a row."""
    b = Builder()
    _, build, changes = ROWS[rule]
    build(b)
    b.put(changes)
    return b
