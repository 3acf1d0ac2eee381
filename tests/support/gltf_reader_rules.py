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
from tests.support.gltf_rules import IMAGE, ROWS, UV, animated, bare, plain, primitive, row, skinned, table, textured

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


@row("paths of buffers, percent-encoded or not")
def _(b: Builder) -> None:
    plain(b)

    def raw(document: dict[str, Any], data: bytes) -> bytes:
        b.json["files"] = {"куб 1.bin": data}
        uri = urllib.parse.quote("куб 1.bin")
        return json.dumps(document | {"buffers": [{"byteLength": len(data), "uri": uri}]}).encode()

    b.json["raw"] = raw


@row("`BIN` chunk longer than its buffer by padding")
def _(b: Builder) -> None:
    plain(b)

    def raw(document: dict[str, Any], data: bytes) -> bytes:
        text, _ = chunks(document, data)
        return glb(text, (BIN, data + bytes(-len(data) % 4)))

    b.view(b"\0")
    b.json["raw"] = raw


@row("one buffer view for indices and vertices")
def _(b: Builder) -> None:
    plain(b)
    whole = b.view(QUAD.tobytes() + np.uint16([0, 1, 2, 1, 3, 2]).tobytes(), target=34962)
    attributes = primitive(b)["attributes"]
    b.json["accessors"][attributes["POSITION"]] |= {"bufferView": whole, "byteOffset": 0}
    b.json["accessors"][primitive(b)["indices"]] |= {"bufferView": whole, "byteOffset": 48}


@row("`byteOffset` without a `bufferView`", "accessors[1].byteOffset: 4 (expected a bufferView beside it)")
def _(b: Builder) -> None:
    plain(b)
    b.json["accessors"][1] = {"byteOffset": 4, "componentType": 5126, "count": 4, "type": "VEC3"}


def in_frames(b: Builder, path: str, frames: Any, values: Any, kind: str = "LINEAR") -> None:
    b.clip(0, path, np.array(frames) / 24, values, kind)


@row("`CUBICSPLINE`: tangents a second; rotations of length 1")
def _(b: Builder) -> None:
    plain(b)
    still, bent = [0, 0, 0], [0, 0, 30, -9]
    in_frames(b, "translation", [0, 3, 7], [still, still, [9, 0, 0], [0, 9, 0], [1, 1, 1]] + [still] * 4, "CUBICSPLINE")
    turns = [[0] * 4, [0, 0, 0, 1], bent, bent, [0, 0, 0.6, 0.8], bent, [0] * 4, [0.6, 0, 0, 0.8], [0] * 4]
    in_frames(b, "rotation", [0, 3, 7], turns, "CUBICSPLINE")


# fmt: off
table(
    (plain, "integers with a fraction of 0, or an exponent", "",
     lambda b: (b.json["accessors"][0].update(count=4.0), b.json.update(raw=lambda document,
      _: json.dumps(document).replace('"count": 6', '"count": 6e0').encode()))),
    (plain, "integers with another fraction", "accessors[0].count: 4.5 (expected",
     lambda b: b.json["accessors"][0].update(count=4.5)),
    (plain, "byte order mark; names that are not ASCII", "",
     lambda b: (b.json["nodes"][0].update(name="куб"), b.json.update(raw=lambda document,
      _: b"\xef\xbb\xbf" + json.dumps(document, ensure_ascii=False).encode()))),
    (plain, "a key twice: the last counts", "",
     lambda b: b.json.update(raw=lambda document, _: json.dumps(document).replace("{", '{"scene": 9, ', 1).encode())),
    (plain, "media type of a data URI", "",
     lambda b: b.json.update(raw=lambda document, _: json.dumps(document).replace("octet-stream",
      "gltf-buffer").encode())),
    (plain, "chunks of unknown types", "",
     lambda b: b.json.update(raw=lambda document, data: glb(*chunks(document, data), (b"EXTR", b"1234")))),
    (plain, "container of another version", "unknown version of .glb: 1 (expected 2)",
     lambda b: b.json.update(raw=lambda document, data: glb(*chunks(document, data), version=1))),
    (plain, "container that is longer than the file", "is cut",
     lambda b: b.json.update(raw=lambda document, data: glb(*chunks(document, data), more=4))),
    (plain, "chunks in another order", "",
     lambda b: b.json.update(raw=lambda document, data: glb(*chunks(document, data)[::-1]))),
    (plain, "buffer without `uri` and without a `BIN` chunk", "buffer 0 has no data",
     lambda b: b.json.update(raw=lambda document, data: glb(chunks(document, data)[0]))),
    (plain, "`min` and `max`, missing or wrong", "",
     lambda b: b.json["accessors"][0].update({"min": [9, 9, 9], "max": [-9, -9, -9]})),
    (plain, "count of a sparse accessor beyond the accessor", "sparse.count: 5 (expected at most 4)",
     lambda b: b.json["accessors"][0].update(sparse={"count": 5, "indices": {"bufferView": b.view(bytes(range(5))),
      "componentType": 5121}, "values": {"bufferView": b.view(bytes(60))}})),
    (plain, "type of accessor that its use does not have", "POSITION of mesh 'mesh' does not fit its vertices: 4 x 2",
     lambda b: primitive(b)["attributes"].update(POSITION=b.accessor(UV))),
    (plain, "data URI that is not base64, or is cut", "data URI of buffer 0 is not base64, or is cut",
     lambda b: b.json.update(raw=lambda document, _: json.dumps(document).replace(";base64,", ",").encode())),
    (plain, "buffer on the web, or outside the file's directory", "buffer 0 is on the web: https://",
     lambda b: b.json.update(raw=lambda document, _: json.dumps(document | {"buffers": [{"byteLength": 400,
      "uri": "https://example.org/a.bin"}]}).encode())),
    (plain, "names with zeros before the number of a set", "what they hold is ignored: TEXCOORD_01",
     lambda b: primitive(b)["attributes"].update(TEXCOORD_01=b.accessor(UV * 2))),
    (plain, "indices that are marked as normalised",
     "meshes[0].primitives[0].indices: 3 (expected integers as they are",
     lambda b: b.json["accessors"][primitive(b)["indices"]].update(normalized=True)),
    (plain, "types that only `KHR_mesh_quantization` allows, without it", "",
     lambda b: primitive(b)["attributes"].update(POSITION=b.accessor((QUAD * 7).astype(np.int16)))),
    (bare, "degenerate triangles", "1 degenerate triangle dropped",
     lambda b: b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 1, 1, 3]))),
    (bare, "corners after the last whole triangle", "has 2 corners after its last triangle",
     lambda b: b.node(name="n", mesh=b.mesh(indices=[0, 1, 2, 1, 3]))),
    (plain, "sets of attributes that do not follow one another", "what they hold is ignored: TEXCOORD_2",
     lambda b: primitive(b)["attributes"].update(TEXCOORD_2=b.accessor(UV))),
    (plain, "colours without alpha, and beyond 1", "",
     lambda b: primitive(b)["attributes"].update(COLOR_0=b.accessor(np.float32([[2, 0, -1]] * 4)))),
    (plain, "a mesh of several nodes", "",
     lambda b: (b.node(name="second", mesh=0, translation=[5, 0, 0], scale=[-1, 1, 1]),
      b.json["scenes"][0].update(nodes=[0, 1]))),
    (plain, "scene that lists a child", "",
     lambda b: (b.node(name="above", children=[0], translation=[1, 0, 0]), b.json["scenes"][0].update(nodes=[1, 0]))),
    (plain, "no scene", "", lambda b: b.json.pop("scene")),
    (plain, "list that names an object twice", "nodes[1].children: [0, 0] (expected each of them once)",
     lambda b: b.node(children=[0, 0])),
    (bare, "`matrix` that shears", "", lambda b: plain(b, matrix=[1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])),
    (bare, "rotation that is not of length 1", "", lambda b: plain(b, rotation=[0, 0, 1.2, 1.6])),
    (bare, "rotation of length 0, of a node or a key", "1 rotation of node 'n' of length 0: read as no rotation",
     lambda b: (plain(b, rotation=[0, 0, 0, 0]), b.clip(0, "rotation", [0, 1], [[0, 0, 0, 0], [0, 0, 0, 1]]))),
    (bare, "scale of 0, `matrix` that flattens", "node 'n' is flattened: 1.41 x 1 x 1.41",
     lambda b: plain(b, matrix=[1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])),
    (bare, "`matrix` whose fourth row is not 0, 0, 0 and 1", "nodes[0].matrix: [0, 0, 0, 2] (expected a fourth row of",
     lambda b: plain(b, matrix=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2])),
    (plain, "`weights` without `mesh`", "node 'empty': has weights and no mesh; there is nothing to shape",
     lambda b: (b.node(name="empty", weights=[0.5]), b.json["scenes"][0].update(nodes=[0, 1]))),
    (plain, "`skin` without `mesh`", "node 1: has a skin and no mesh; there is nothing to shape",
     lambda b: (b.node(skin=0), b.json.update(skins=[{"joints": [0]}]), b.json["scenes"][0].update(nodes=[0, 1]))),
    (skinned, "fourth row of inverse bind matrices that is not 0, 0, 0 and 1", "has no fourth row of 0, 0, 0 and 1",
     lambda b: b.json["skins"][0].update(inverseBindMatrices=b.accessor(np.float32([np.diag([1, 1, 1, 2])] * 2)))),
    (skinned, "joints as integers of 16 bits, weights as normalised ones", "skin of node 'body'",
     lambda b: (primitive(b)["attributes"].update(JOINTS_0=b.accessor(np.uint16([[0, 1, 0, 0]] * 4))),
      primitive(b)["attributes"].update(WEIGHTS_0=b.accessor(np.uint8([[155, 100, 0, 0], [0, 255, 0, 0], [100, 155, 0,
      0], [1, 254, 0, 0]]), normalized=True)))),
    (skinned, "joints outside the scene", "node 'hip' is a joint, and not in the scene that is read",
     lambda b: b.json.update(scenes=[{"nodes": [0]}, {"nodes": [1]}])),
    (skinned, "`skeleton`", "skin of node 'body'", lambda b: b.json["skins"][0].update(skeleton=1)),
    (skinned, "the place of a skinned node, which does not count", "skin of node 'body'",
     lambda b: b.json["nodes"][0].update({"translation": [5, 6, 7], "scale": [2, 2, 2]})),
    (skinned, "no inverse bind matrices: unit matrices", "skin of node 'body'",
     lambda b: b.json["skins"][0].pop("inverseBindMatrices")),
    (skinned, "fewer inverse bind matrices than joints", "has not an inverse bind matrix for each joint",
     lambda b: b.json["skins"][0].update(inverseBindMatrices=b.accessor(np.eye(4, dtype=np.float32)[None]))),
    (skinned, "joints without a common root", "skin of node 'body'",
     lambda b: (b.json["nodes"][1].pop("children"), b.json["scenes"][0].update(nodes=[0, 1, 2]))),
    (skinned, "weights that are negative, or do not add up to 1", "skin of node 'body'",
     lambda b: primitive(b)["attributes"].update(WEIGHTS_0=b.accessor(np.float32([[0.5, -0.25, 0, 0]] * 4)))),
    (plain, "picture of another type than it states", "",
     lambda b: (textured(b, {"index": 0}), b.json.update(images=[{"uri": IMAGE, "mimeType": "image/jpeg"}],
      textures=[{"source": 0}]))),
    (plain, "picture of a buffer view without `mimeType`", "",
     lambda b: (textured(b, {"index": 0}),
      b.json.update(images=[{"bufferView": b.view(base64.b64decode(IMAGE.partition(",")[2]))}],
      textures=[{"source": 0}]))),
    (plain, "filters of samplers", "",
     lambda b: (textured(b, {"index": 0}), b.json.update(images=[{"uri": IMAGE}]),
      b.json.update(textures=[{"source": 0, "sampler": 0}], samplers=[{"magFilter": 9728, "minFilter": 9984}]))),
    (plain, "`alphaCutoff` other than 0.5", "has alphaCutoff 0.25",
     lambda b: (textured(b, {"index": 0}), b.json["materials"][0].update({"alphaMode": "MASK", "alphaCutoff": 0.25}))),
    (plain, "`alphaMode`; `doubleSided`: the game draws both sides", "",
     lambda b: (textured(b, {"index": 0}), b.json.update(images=[{"uri": IMAGE}], textures=[{"source": 0}]),
      b.json["materials"][0].update({"doubleSided": False, "alphaMode": "BLEND"}))),
    (bare, "channel without a node", "has 1 channel without a node",
     lambda b: animated(b)["channels"].append({"sampler": 0, "target": {"path": "rotation"}})),
    (animated, "channels of `scale`", "animated scale", lambda b: b.clip(0, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]])),
    (plain, "rotations as normalised integers", "",
     lambda b: (b.clip(0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 0, 1]]),
      b.json["animations"][0]["samplers"][0].update(output=b.accessor(np.int16([[0, 0, 0, 32767], [0, 0, 19660,
      26214]]), normalized=True)))),
    (plain, "one key; keys of another path of unequal length", "",
     lambda b: (b.clip(0, "translation", [0], [[0, 0, 0]]), b.clip(0, "rotation", [0, 1, 2], [[0, 0, 0, 1]] * 3))),
    (bare, "values of another type than the path has", "has values of another width: 2 (expected 3)",
     lambda b: animated(b)["samplers"][0].update(output=b.accessor(np.float32([[0, 0], [3, 0]])))),
    (plain, "value at a key: the key's own", "",
     lambda b: (in_frames(b, "translation", [0, 1, 3, 7], [[0, 0, 0], [0.1, 0.001, 30000.0], [-0.3, 7, 30000.0],
      [1 / 3, 0, 0]]), in_frames(b, "rotation", [0, 2, 7], [[0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0.6, 0, 0, 0.8]]))),
    (plain, "rotations between keys take the short way", "",
     lambda b: in_frames(b, "rotation", [0, 3, 7], [[0, 0, 0, 1], [0, 0, -0.6, -0.8], [0.6, 0, 0, 0.8]])),
    (bare, "one key of `CUBICSPLINE`: its value", "",
     lambda b: (plain(b, translation=[1, 2, 3]), in_frames(b, "translation", [0], [[5, 5, 5], [1, 2, 3], [5, 5, 5]],
      "CUBICSPLINE"), in_frames(b, "rotation", [0, 1, 4], [[0, 0, 0, 1]] * 3))),
    (bare, "key times that are not scalars of float32", "animation of node 'n': key times are not float32 numbers",
     lambda b: animated(b)["samplers"][0].update(input=b.accessor(np.uint16([0, 1])))),
    (bare, "unknown path of a channel", "channels[0].target.path: colour (expected one of translation, rotation, scale",
     lambda b: animated(b)["channels"][0]["target"].update(path="colour")),
    (animated, "several animations", "a model has one clip, and 'first' is taken",
     lambda b: (b.json["animations"][0].update(name="first"), b.json["animations"].append({**b.json["animations"][0],
      "name": "second", "samplers": [{**b.json["animations"][0]["samplers"][0], "output": b.accessor(np.float32([[0,
      0, 0], [0, 9, 0]]))}]}))),
    (plain, "`extensionsRequired` that `extensionsUsed` lacks", "needs extensions that cannot be read: EXT_shape",
     lambda b: b.json.update(extensionsRequired=["EXT_shape"])),
)
# fmt: on
