"""Files for what glTF 2.0 says of text, containers, bounds, pictures and materials; rows of ``gltf_rules``.

A file that is not what :class:`Builder` writes is made from its document and buffer by ``json["raw"]``.
"""

from __future__ import annotations

import base64
import json
import struct
import urllib.parse
from typing import Any

import numpy as np

from tests.support.foreign import QUAD, Builder
from tests.support.gltf_extension_rules import ROWS
from tests.support.gltf_rules import UV, animated, plain, primitive, row, skinned, textured

__all__ = ["ROWS"]

JSON, BIN = b"JSON", b"BIN\0"
Chunk = tuple[bytes, bytes]


def glb(*chunks: Chunk, version: int = 2, more: int = 0) -> bytes:
    """A container; ``more``: what its length is off by."""
    body = b"".join(struct.pack("<I4s", len(data), kind) + data for kind, data in chunks)
    return struct.pack("<4sII", b"glTF", version, 12 + len(body) + more) + body


def chunks(document: dict[str, Any], data: bytes) -> tuple[Chunk, Chunk]:
    """The two chunks of a document whose buffer lies in the container."""
    text = json.dumps(document | {"buffers": [{"byteLength": len(data)}]}).encode()
    return (JSON, text + b" " * (-len(text) % 4)), (BIN, data + bytes(-len(data) % 4))


# ------------------------------------------------------------------ text


@row("integers with a fraction of 0, or an exponent")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][0]["count"] = 4.0
    b.json["raw"] = lambda document, _: json.dumps(document).replace('"count": 6', '"count": 6e0').encode()


@row("integers with another fraction", "accessors[0].count: 4.5 (expected")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][0]["count"] = 4.5


@row("byte order mark; names that are not ASCII")
def _(b: Builder) -> None:
    plain(b)
    b.json["nodes"][0]["name"] = "куб"
    b.json["raw"] = lambda document, _: b"\xef\xbb\xbf" + json.dumps(document, ensure_ascii=False).encode()


@row("a key twice: the last counts")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, _: json.dumps(document).replace("{", '{"scene": 9, ', 1).encode()


@row("paths of buffers, percent-encoded or not")
def _(b: Builder) -> None:
    plain(b)

    def raw(document: dict[str, Any], data: bytes) -> bytes:
        b.json["files"] = {"куб 1.bin": data}
        uri = urllib.parse.quote("куб 1.bin")
        return json.dumps(document | {"buffers": [{"byteLength": len(data), "uri": uri}]}).encode()

    b.json["raw"] = raw


@row("media type of a data URI")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, _: json.dumps(document).replace("octet-stream", "gltf-buffer").encode()


# ------------------------------------------------------------------ containers


@row("`BIN` chunk longer than its buffer by padding")
def _(b: Builder) -> None:
    plain(b)

    def raw(document: dict[str, Any], data: bytes) -> bytes:
        text, _ = chunks(document, data)
        return glb(text, (BIN, data + bytes(-len(data) % 4)))

    b.view(b"\0")
    b.json["raw"] = raw


@row("chunks of unknown types")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, data: glb(*chunks(document, data), (b"EXTR", b"1234"))


@row("container of another version", "unknown version of .glb: 1 (expected 2)")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, data: glb(*chunks(document, data), version=1)


@row("container that is longer than the file", "is cut")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, data: glb(*chunks(document, data), more=4)


@row("chunks in another order")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, data: glb(*chunks(document, data)[::-1])


@row("buffer without `uri` and without a `BIN` chunk", "buffer 0 has no data")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, data: glb(chunks(document, data)[0])


# ------------------------------------------------------------------ accessors


@row("`min` and `max`, missing or wrong")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][0] |= {"min": [9, 9, 9], "max": [-9, -9, -9]}


@row("count of a sparse accessor beyond the accessor", "sparse.count: 5 (expected at most 4)")
def _(b: Builder) -> None:
    plain(b)
    rows = {"bufferView": b.view(bytes(range(5))), "componentType": 5121}
    values = {"bufferView": b.view(bytes(60))}
    b.json["accessors"][0]["sparse"] = {"count": 5, "indices": rows, "values": values}


@row("one buffer view for indices and vertices")
def _(b: Builder) -> None:
    plain(b)
    whole = b.view(QUAD.tobytes() + np.uint16([0, 1, 2, 1, 3, 2]).tobytes(), target=34962)
    attributes = primitive(b)["attributes"]
    b.json["accessors"][attributes["POSITION"]] |= {"bufferView": whole, "byteOffset": 0}
    b.json["accessors"][primitive(b)["indices"]] |= {"bufferView": whole, "byteOffset": 48}


@row("type of accessor that its use does not have", "POSITION of mesh 'mesh' does not fit its vertices: 4 x 2")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["POSITION"] = b.accessor(UV)


@row("`byteOffset` without a `bufferView`", "accessors[1].byteOffset: 4 (expected a bufferView beside it)")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][1] = {"byteOffset": 4, "componentType": 5126, "count": 4, "type": "VEC3"}


@row("data URI that is not base64, or is cut", "data URI of buffer 0 is not base64, or is cut")
def _(b: Builder) -> None:
    plain(b)
    b.json["raw"] = lambda document, _: json.dumps(document).replace(";base64,", ",").encode()


@row("buffer on the web, or outside the file's directory", "buffer 0 is on the web: https://")
def _(b: Builder) -> None:
    plain(b)
    elsewhere = {"byteLength": 400, "uri": "https://example.org/a.bin"}
    b.json["raw"] = lambda document, _: json.dumps(document | {"buffers": [elsewhere]}).encode()


# ------------------------------------------------------------------ meshes


@row("names with zeros before the number of a set", "what they hold is ignored: TEXCOORD_01")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["TEXCOORD_01"] = b.accessor(UV * 2)


@row("indices that are marked as normalised", "meshes[0].primitives[0].indices: 3 (expected integers as they are")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][primitive(b)["indices"]]["normalized"] = True


@row("types that only `KHR_mesh_quantization` allows, without it")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["POSITION"] = b.accessor((QUAD * 7).astype(np.int16))


@row("degenerate triangles", "1 degenerate triangle dropped")
def _(b: Builder) -> None:
    b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 1, 1, 3]))


@row("corners after the last whole triangle", "has 2 corners after its last triangle")
def _(b: Builder) -> None:
    b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 1, 3]))


@row("sets of attributes that do not follow one another", "what they hold is ignored: TEXCOORD_2")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["TEXCOORD_2"] = b.accessor(UV)


@row("colours without alpha, and beyond 1")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["attributes"]["COLOR_0"] = b.accessor(np.float32([[2, 0, -1]] * 4))


@row("a mesh of several nodes")
def _(b: Builder) -> None:
    plain(b)
    b.node(name="second", mesh=0, translation=[5, 0, 0], scale=[-1, 1, 1])
    b.json["scenes"][0]["nodes"] = [0, 1]


# ------------------------------------------------------------------ nodes and scenes


@row("scene that lists a child")
def _(b: Builder) -> None:
    plain(b)
    b.node(name="above", children=[0], translation=[1, 0, 0])
    b.json["scenes"][0]["nodes"] = [1, 0]


@row("no scene")
def _(b: Builder) -> None:
    plain(b)
    del b.json["scene"]


@row("list that names an object twice", "nodes[1].children: [0, 0] (expected each of them once)")
def _(b: Builder) -> None:
    plain(b)
    b.node(children=[0, 0])


@row("`matrix` that shears")
def _(b: Builder) -> None:
    plain(b, matrix=[1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])


@row("rotation that is not of length 1")
def _(b: Builder) -> None:
    plain(b, rotation=[0, 0, 1.2, 1.6])


@row("rotation of length 0, of a node or a key", "1 rotation of node 'n' of length 0: read as no rotation")
def _(b: Builder) -> None:
    plain(b, rotation=[0, 0, 0, 0])
    b.clip(0, "rotation", [0, 1], [[0, 0, 0, 0], [0, 0, 0, 1]])


@row("scale of 0, `matrix` that flattens", "node 'n' is flattened: 1.41 x 1 x 1.41")
def _(b: Builder) -> None:
    plain(b, matrix=[1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])


@row("`matrix` whose fourth row is not 0, 0, 0 and 1", "nodes[0].matrix: [0, 0, 0, 2] (expected a fourth row of")
def _(b: Builder) -> None:
    plain(b, matrix=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2])


@row("`weights` without `mesh`", "node 'empty': has weights and no mesh; there is nothing to shape")
def _(b: Builder) -> None:
    plain(b)
    b.node(name="empty", weights=[0.5])
    b.json["scenes"][0]["nodes"] = [0, 1]


# ------------------------------------------------------------------ skins


@row("`skin` without `mesh`", "node 1: has a skin and no mesh; there is nothing to shape")
def _(b: Builder) -> None:
    plain(b)
    b.node(skin=0)
    b.json["skins"] = [{"joints": [0]}]
    b.json["scenes"][0]["nodes"] = [0, 1]


@row("fourth row of inverse bind matrices that is not 0, 0, 0 and 1", "has no fourth row of 0, 0, 0 and 1")
def _(b: Builder) -> None:
    skinned(b)
    b.json["skins"][0]["inverseBindMatrices"] = b.accessor(np.float32([np.diag([1, 1, 1, 2])] * 2))


@row("joints as integers of 16 bits, weights as normalised ones", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b)
    attributes = primitive(b)["attributes"]
    attributes["JOINTS_0"] = b.accessor(np.uint16([[0, 1, 0, 0]] * 4))
    weights = np.uint8([[155, 100, 0, 0], [0, 255, 0, 0], [100, 155, 0, 0], [1, 254, 0, 0]])
    attributes["WEIGHTS_0"] = b.accessor(weights, normalized=True)


@row("joints outside the scene", "node 'hip' is a joint, and not in the scene that is read")
def _(b: Builder) -> None:
    skinned(b)
    b.json["scenes"] = [{"nodes": [0]}, {"nodes": [1]}]


@row("`skeleton`", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b)
    b.json["skins"][0]["skeleton"] = 1


@row("the place of a skinned node, which does not count", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b)
    b.json["nodes"][0] |= {"translation": [5, 6, 7], "scale": [2, 2, 2]}


@row("no inverse bind matrices: unit matrices", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b)
    del b.json["skins"][0]["inverseBindMatrices"]


@row("fewer inverse bind matrices than joints", "has not an inverse bind matrix for each joint")
def _(b: Builder) -> None:
    skinned(b)
    b.json["skins"][0]["inverseBindMatrices"] = b.accessor(np.eye(4, dtype=np.float32)[None])


@row("joints without a common root", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b)
    b.json["nodes"][1].pop("children")
    b.json["scenes"][0]["nodes"] = [0, 1, 2]


@row("weights that are negative, or do not add up to 1", "skin of node 'body'")
def _(b: Builder) -> None:
    skinned(b)
    primitive(b)["attributes"]["WEIGHTS_0"] = b.accessor(np.float32([[0.5, -0.25, 0, 0]] * 4))


# ------------------------------------------------------------------ textures and materials


def picture() -> str:
    from tests.support.gltf_codes import IMAGE

    return IMAGE


@row("picture of another type than it states")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["images"], b.json["textures"] = [{"uri": picture(), "mimeType": "image/jpeg"}], [{"source": 0}]


@row("picture of a buffer view without `mimeType`")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    view = b.view(base64.b64decode(picture().partition(",")[2]))
    b.json["images"], b.json["textures"] = [{"bufferView": view}], [{"source": 0}]


@row("filters of samplers")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["images"] = [{"uri": picture()}]
    b.json["textures"], b.json["samplers"] = [{"source": 0, "sampler": 0}], [{"magFilter": 9728, "minFilter": 9984}]


@row("`alphaCutoff` other than 0.5", "has alphaCutoff 0.25")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["materials"][0] |= {"alphaMode": "MASK", "alphaCutoff": 0.25}


@row("`alphaMode`; `doubleSided`: the game draws both sides")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["images"], b.json["textures"] = [{"uri": picture()}], [{"source": 0}]
    b.json["materials"][0] |= {"doubleSided": False, "alphaMode": "BLEND"}


# ------------------------------------------------------------------ animations


@row("channel without a node", "has 1 channel without a node")
def _(b: Builder) -> None:
    clip = animated(b)
    clip["channels"].append({"sampler": 0, "target": {"path": "rotation"}})


@row("channels of `scale`", "animated scale")
def _(b: Builder) -> None:
    animated(b)
    b.clip(0, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]])


@row("rotations as normalised integers")
def _(b: Builder) -> None:
    plain(b)
    b.clip(0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 0, 1]])
    turned = b.accessor(np.int16([[0, 0, 0, 32767], [0, 0, 19660, 26214]]), normalized=True)
    b.json["animations"][0]["samplers"][0]["output"] = turned


@row("one key; keys of another path of unequal length")
def _(b: Builder) -> None:
    plain(b)
    b.clip(0, "translation", [0], [[0, 0, 0]])
    b.clip(0, "rotation", [0, 1, 2], [[0, 0, 0, 1]] * 3)


@row("values of another type than the path has", "has values of another width: 2 (expected 3)")
def _(b: Builder) -> None:
    animated(b)["samplers"][0]["output"] = b.accessor(np.float32([[0, 0], [3, 0]]))


def in_frames(b: Builder, path: str, frames: Any, values: Any, kind: str = "LINEAR") -> None:
    b.clip(0, path, np.array(frames) / 24, values, kind)


@row("value at a key: the key's own")
def _(b: Builder) -> None:
    plain(b)
    in_frames(b, "translation", [0, 1, 3, 7], [[0, 0, 0], [0.1, 1e-3, 3e4], [-0.3, 7, 3e4], [1 / 3, 0, 0]])
    in_frames(b, "rotation", [0, 2, 7], [[0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0.6, 0, 0, 0.8]])


@row("rotations between keys take the short way")
def _(b: Builder) -> None:
    plain(b)
    in_frames(b, "rotation", [0, 3, 7], [[0, 0, 0, 1], [0, 0, -0.6, -0.8], [0.6, 0, 0, 0.8]])


@row("`CUBICSPLINE`: tangents a second; rotations of length 1")
def _(b: Builder) -> None:
    plain(b)
    still, bent = [0, 0, 0], [0, 0, 30, -9]
    in_frames(b, "translation", [0, 3, 7], [still, still, [9, 0, 0], [0, 9, 0], [1, 1, 1]] + [still] * 4, "CUBICSPLINE")
    turns = [[0] * 4, [0, 0, 0, 1], bent, bent, [0, 0, 0.6, 0.8], bent, [0] * 4, [0.6, 0, 0, 0.8], [0] * 4]
    in_frames(b, "rotation", [0, 3, 7], turns, "CUBICSPLINE")


@row("one key of `CUBICSPLINE`: its value")
def _(b: Builder) -> None:
    plain(b, translation=[1, 2, 3])
    in_frames(b, "translation", [0], [[5, 5, 5], [1, 2, 3], [5, 5, 5]], "CUBICSPLINE")
    in_frames(b, "rotation", [0, 1, 4], [[0, 0, 0, 1]] * 3)


@row("key times that are not scalars of float32", "animation of node 'n': key times are not float32 numbers")
def _(b: Builder) -> None:
    animated(b)["samplers"][0]["input"] = b.accessor(np.uint16([0, 1]))


@row("unknown path of a channel", "channels[0].target.path: colour (expected one of translation, rotation, scale")
def _(b: Builder) -> None:
    animated(b)["channels"][0]["target"]["path"] = "colour"


@row("several animations", "a model has one clip, and 'first' is taken")
def _(b: Builder) -> None:
    animated(b)
    b.json["animations"][0]["name"] = "first"
    sampler = {**b.json["animations"][0]["samplers"][0], "output": b.accessor(np.float32([[0, 0, 0], [0, 9, 0]]))}
    b.json["animations"].append({**b.json["animations"][0], "name": "second", "samplers": [sampler]})


# ------------------------------------------------------------------ extensions


@row("`extensionsRequired` that `extensionsUsed` lacks", "needs extensions that cannot be read: EXT_shape")
def _(b: Builder) -> None:
    plain(b)
    b.json["extensionsRequired"] = ["EXT_shape"]
