"""Invalid files: one for each error code of the Khronos validator (its ``ISSUES.md``)."""

import base64
import copy
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.foreign import QUAD, Builder, Json
from tests.support.gltf_rules import IMAGE, PNG, UP, UV

REMOVED = ...
WEBP = base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
FLOATS, BYTES, MAT4 = 5126, 5121, np.eye(4, dtype=np.float32)
#: Places in the document of :func:`valid`.
POINTS, INDICES, MOVE, BIND = 0, 6, 8, 7
BODY, SKIN, MESH, PRIMITIVE = "nodes.0", "skins.0", "meshes.0", "meshes.0.primitives.0"
CLIP, CHANNEL, MATERIAL = "animations.0", "animations.0.channels.0", "materials.0"


def valid() -> Builder:
    """A skinned mesh with a texture, a clip, a camera; nothing is wrong with it."""
    b = Builder()
    joints, weights = np.zeros((4, 4), np.uint8), np.float32([[1, 0, 0, 0]] * 4)
    mesh = b.mesh(
        attributes={
            "NORMAL": b.accessor(UP),
            "TEXCOORD_0": b.accessor(UV),
            "TANGENT": b.accessor(np.float32([[1, 0, 0, 1]] * 4)),
            "JOINTS_0": b.accessor(joints),
            "WEIGHTS_0": b.accessor(weights),
        }
    )
    b.json["meshes"][0]["primitives"][0]["material"] = 0
    b.node(name="body", mesh=mesh, skin=0)
    b.node(name="hip", children=[2])
    b.node(name="knee", translation=[1, 0, 0])
    b.node(name="eye", camera=0)
    b.json["skins"] = [{"joints": [1, 2], "inverseBindMatrices": b.accessor(np.stack([MAT4, MAT4]))}]
    b.json["scenes"] = [{"nodes": [0, 1, 3]}]
    b.clip(1, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 0.6, 0.8]])
    b.clip(2, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.json["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1, "znear": 1}}]
    b.json["images"], b.json["textures"] = [{"uri": IMAGE}], [{"source": 0}]
    b.json["materials"] = [{"name": "m", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    for accessor in b.json["accessors"]:
        kind = {5126: "<f4", 5121: "u1", 5123: "<u2"}[accessor["componentType"]]
        view = b.json["bufferViews"][accessor["bufferView"]]
        data = np.frombuffer(b.data, kind, view["byteLength"] // np.dtype(kind).itemsize, view["byteOffset"])
        rows = data.reshape(accessor["count"], -1)
        accessor |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
    return b


def put(b: Builder, *changes: tuple[str, Any]) -> None:
    """Set values at places (``nodes.0.scale``); ``REMOVED`` takes them away."""
    for place, value in changes:
        *above, last = place.split(".")
        inside: Any = b.json
        for key in above:
            inside = inside[int(key)] if isinstance(inside, list) else inside.setdefault(key, {})
        if isinstance(inside, list):
            inside[int(last) : int(last) + 1] = [value]
        elif value is REMOVED:
            del inside[last]
        else:
            inside[last] = value


def set_data(b: Builder, accessor: int, array: np.ndarray, **more: Any) -> None:
    """Other data for an accessor; its stated bounds stay, unless they are given."""
    number = b.accessor(array)
    new = b.json["accessors"].pop(number)
    b.json["accessors"][accessor] |= new | more


def _data(accessor: int, array: Any, kind: Any = np.float32, **more: Any) -> Callable[[Builder], None]:
    return lambda b: set_data(b, accessor, np.array(array, kind), **more)


def _sparse(count: int, rows: list[int]) -> Callable[[Builder], None]:
    def change(b: Builder) -> None:
        indices = {"bufferView": b.view(bytes(rows)), "componentType": BYTES}
        values = {"bufferView": b.view(bytes(12 * len(rows)))}
        put(b, ("accessors.5.sparse", {"count": count, "indices": indices, "values": values}))

    return change


def _extension(name: str, place: str, value: Json, *more: tuple[str, Any]) -> list[tuple[str, Any]]:
    return [("extensionsUsed", [name]), (f"{place}.extensions", {name: value}), *more]


def _laid_out(view: int, stride: int = 12, shift: int = 0) -> Callable[[Builder], None]:
    """The same rows of three floats elsewhere in the buffer, so that only their layout is wrong."""

    def change(b: Builder) -> None:
        stated = b.json["bufferViews"][view]
        rows = np.frombuffer(b.data, np.uint8, stated["byteLength"], stated["byteOffset"]).reshape(-1, 12)
        b.data += bytes(-len(b.data) % 4 + shift)
        data = np.pad(rows, ((0, 0), (0, stride - 12))).tobytes()
        stated |= {"byteOffset": len(b.data), "byteLength": len(data), "byteStride": stride}
        b.data += data

    return change


_ATTRIBUTES = f"{PRIMITIVE}.attributes"
_LIGHT = {"type": "spot", "spot": {"innerConeAngle": 1, "outerConeAngle": 0.5}}
_POINTER = {"KHR_animation_pointer": {"pointer": "/nodes/2/translation"}}
_VARIANTS = "KHR_materials_variants"

#: The change of the valid document that breaks the rule of a code.
CODES: dict[str, list[tuple[str, Any]] | Callable[[Builder], Any]] = {
    # the document
    "ARRAY_LENGTH_NOT_IN_LIST": [("accessors.5.min", [0, 0, 0, 0, 0])],
    "ARRAY_TYPE_MISMATCH": [(f"{CHANNEL}", 1)],
    "DUPLICATE_ELEMENTS": [("scenes.0.nodes", [0, 1, 1])],
    "EMPTY_ENTITY": [("materials.0.pbrMetallicRoughness.extensions", {}), ("nodes.3.children", [])],
    "INVALID_INDEX": [("nodes.0.mesh", -1)],
    "INVALID_URI": [("images.0.uri", "http://[::1")],
    "ONE_OF_MISMATCH": [("images.0.bufferView", 0), ("images.0.mimeType", "image/png")],
    "PATTERN_MISMATCH": [("asset.minVersion", "two")],
    "TYPE_MISMATCH": [("nodes.0.name", 5)],
    "UNDEFINED_PROPERTY": [("accessors.5.count", REMOVED)],
    "UNSATISFIED_DEPENDENCY": [("nodes.2.weights", [0.5])],
    "VALUE_MULTIPLE_OF": _laid_out(5, stride=14),
    "VALUE_NOT_IN_RANGE": [(f"{MATERIAL}.pbrMetallicRoughness.metallicFactor", 2)],
    "ASSET_MIN_VERSION_GREATER_THAN_VERSION": [("asset.minVersion", "2.1")],
    "UNKNOWN_ASSET_MAJOR_VERSION": [("asset.version", "3.0")],
    "UNRESOLVED_REFERENCE": [(f"{BODY}.skin", 4)],
    "UNDECLARED_EXTENSION": [(f"{BODY}.extensions", {"KHR_node_visibility": {"visible": True}})],
    "UNEXPECTED_EXTENSION_OBJECT": _extension("KHR_texture_transform", "nodes.0", {}),
    "UNUSED_EXTENSION_REQUIRED": [("extensionsRequired", ["KHR_texture_transform"])],
    "NON_REQUIRED_EXTENSION": [("extensionsUsed", ["KHR_mesh_quantization"])],
    # accessors
    "ACCESSOR_MATRIX_ALIGNMENT": [
        ("accessors.12", {"bufferView": 7, "byteOffset": 1, "componentType": BYTES, "count": 1, "type": "MAT2"})
    ],
    "ACCESSOR_NORMALIZED_INVALID": [("accessors.5.normalized", True)],
    "ACCESSOR_OFFSET_ALIGNMENT": [("accessors.5.byteOffset", 2), ("bufferViews.5.byteLength", 50)],
    "ACCESSOR_TOTAL_OFFSET_ALIGNMENT": _laid_out(5, shift=2),
    "ACCESSOR_SPARSE_COUNT_OUT_OF_RANGE": _sparse(5, [0, 1, 2, 3, 4]),
    "ACCESSOR_SPARSE_INDEX_OOB": _sparse(1, [4]),
    "ACCESSOR_SPARSE_INDICES_NON_INCREASING": _sparse(2, [1, 1]),
    "ACCESSOR_SMALL_BYTESTRIDE": [("bufferViews.5.byteStride", 8)],
    "ACCESSOR_TOO_LONG": [("accessors.5.count", 99)],
    "ACCESSOR_USAGE_OVERRIDE": [(f"{PRIMITIVE}.indices", 3)],
    "ACCESSOR_ELEMENT_OUT_OF_MAX_BOUND": [("accessors.5.max", [0.5, 1, 0])],
    "ACCESSOR_ELEMENT_OUT_OF_MIN_BOUND": [("accessors.5.min", [0.5, 0, 0])],
    "ACCESSOR_MAX_MISMATCH": [("accessors.5.max", [2, 1, 0])],
    "ACCESSOR_MIN_MISMATCH": [("accessors.5.min", [-1, 0, 0])],
    "ACCESSOR_INVALID_FLOAT": _data(POINTS + 5, [[0, 0, 0], [1, np.nan, 0], [0, 1, 0], [1, 1, 0]]),
    "ACCESSOR_INVALID_IBM": _data(BIND, [np.diag([1, 1, 1, 2])] * 2),
    "ACCESSOR_INVALID_SIGN": _data(2, [[1, 0, 0, 0.5]] * 4),
    "ACCESSOR_VECTOR3_NON_UNIT": _data(0, [[0, 0, 3]] * 4),
    "ACCESSOR_NON_CLAMPED": lambda b: put(b, (f"{_ATTRIBUTES}.COLOR_0", b.accessor(np.float32([[2, 0, 0]] * 4)))),
    "ACCESSOR_INDEX_OOB": _data(INDICES, [0, 1, 9, 1, 3, 2], np.uint16),
    "ACCESSOR_INDEX_PRIMITIVE_RESTART": _data(INDICES, [0, 1, 65535, 1, 3, 2], np.uint16),
    "ACCESSOR_JOINTS_INDEX_DUPLICATE": lambda b: (
        set_data(b, 3, np.uint8([[1, 1, 0, 0]] * 4)),
        set_data(b, 4, np.float32([[0.5, 0.5, 0, 0]] * 4)),
    ),
    "ACCESSOR_JOINTS_INDEX_OOB": _data(3, [[7, 0, 0, 0]] * 4, np.uint8),
    "ACCESSOR_WEIGHTS_NEGATIVE": _data(4, [[-1, 1, 1, 0]] * 4),
    "ACCESSOR_WEIGHTS_NON_NORMALIZED": _data(4, [[3, 0, 0, 0]] * 4),
    "ACCESSOR_ANIMATION_INPUT_NEGATIVE": _data(MOVE, [-1, 1]),
    "ACCESSOR_ANIMATION_INPUT_NON_INCREASING": _data(MOVE, [1, 1]),
    "ACCESSOR_ANIMATION_SAMPLER_OUTPUT_NON_NORMALIZED_QUATERNION": _data(9, [[0, 0, 0, 1], [0, 0, 3, 4]]),
    # buffers and pictures
    "BUFFER_VIEW_INVALID_BYTE_STRIDE": [("bufferViews.5.byteStride", 12), ("bufferViews.5.target", 34963)],
    "BUFFER_VIEW_TOO_BIG_BYTE_STRIDE": [("bufferViews.12", {"buffer": 0, "byteLength": 8, "byteStride": 252})],
    "BUFFER_VIEW_TARGET_OVERRIDE": [("bufferViews.5.target", 34963)],
    "BUFFER_VIEW_TOO_LONG": [("bufferViews.5.byteLength", 1 << 20)],
    "IMAGE_BUFFER_VIEW_WITH_BYTESTRIDE": lambda b: put(
        b, ("images.0", {"bufferView": b.view(PNG, byteStride=4), "mimeType": "image/png"})
    ),
    "IMAGE_DATA_INVALID": [
        (
            "images.0.uri",
            "data:image/png;base64," + base64.b64encode(PNG[:8] + bytes([0, 0, 0, 14]) + PNG[12:]).decode(),
        )
    ],
    "IMAGE_UNEXPECTED_EOS": [("images.0.uri", "data:image/png;base64," + base64.b64encode(PNG[:20]).decode())],
    "IMAGE_MIME_TYPE_INVALID": lambda b: put(b, ("images.0", {"bufferView": b.view(PNG), "mimeType": "image/jpeg"})),
    "IMAGE_NON_ENABLED_MIME_TYPE": [("images.0.uri", "data:image/webp;base64," + base64.b64encode(WEBP).decode())],
    "TEXTURE_INVALID_IMAGE_MIME_TYPE": [
        ("extensionsUsed", ["EXT_texture_webp"]),
        ("textures.0", {"extensions": {"EXT_texture_webp": {"source": 0}}}),
    ],
    "IO_ERROR": [("images.0.uri", "nowhere.png")],
    # cameras and lights
    "CAMERA_XMAG_YMAG_ZERO": [
        ("cameras.0", {"type": "orthographic", "orthographic": {"xmag": 0, "ymag": 1, "znear": 1, "zfar": 2}})
    ],
    "CAMERA_ZFAR_LEQUAL_ZNEAR": [("cameras.0.perspective.zfar", 0.5)],
    "KHR_LIGHTS_PUNCTUAL_LIGHT_SPOT_ANGLES": [
        ("extensionsUsed", ["KHR_lights_punctual"]),
        ("extensions", {"KHR_lights_punctual": {"lights": [_LIGHT]}}),
        ("nodes.3", {"extensions": {"KHR_lights_punctual": {"light": 0}}}),
    ],
    # meshes
    "MESH_INVALID_WEIGHTS_COUNT": [(f"{MESH}.weights", [1])],
    "MESH_PRIMITIVES_UNEQUAL_TARGETS_COUNT": lambda b: put(
        b,
        (f"{MESH}.primitives.1", copy.deepcopy(b.json["meshes"][0]["primitives"][0]) | {"targets": [{"POSITION": 5}]}),
    ),
    "MESH_PRIMITIVE_INDEXED_SEMANTIC_CONTINUITY": [(f"{_ATTRIBUTES}.TEXCOORD_2", 1)],
    "MESH_PRIMITIVE_INVALID_ATTRIBUTE": [(f"{_ATTRIBUTES}.position", 5)],
    "MESH_PRIMITIVE_JOINTS_WEIGHTS_MISMATCH": [(f"{_ATTRIBUTES}.WEIGHTS_0", REMOVED)],
    "MESH_PRIMITIVE_ACCESSOR_UNALIGNED": _data(3, np.zeros((4, 4)), np.uint8, byteOffset=1, count=3),
    "MESH_PRIMITIVE_ACCESSOR_WITHOUT_BYTESTRIDE": [("accessors.0.bufferView", 5)],
    "MESH_PRIMITIVE_ATTRIBUTES_ACCESSOR_INVALID_FORMAT": [("accessors.0.type", "VEC2")],
    "MESH_PRIMITIVE_ATTRIBUTES_ACCESSOR_UNSIGNED_INT": lambda b: put(
        b, (f"{_ATTRIBUTES}._OWN", b.accessor(np.uint32([0, 1, 2, 3])))
    ),
    "MESH_PRIMITIVE_INDICES_ACCESSOR_INVALID_FORMAT": [("accessors.6.componentType", 5122)],
    "MESH_PRIMITIVE_INDICES_ACCESSOR_WITH_BYTESTRIDE": [("bufferViews.6.byteStride", 4), ("accessors.6.count", 3)],
    "MESH_PRIMITIVE_MORPH_TARGET_INVALID_ATTRIBUTE_COUNT": lambda b: put(
        b, (f"{PRIMITIVE}.targets", [{"POSITION": b.accessor(QUAD[:3], min=[0, 0, 0], max=[1, 1, 0])}])
    ),
    "MESH_PRIMITIVE_MORPH_TARGET_NO_BASE_ACCESSOR": [(f"{PRIMITIVE}.targets", [{"COLOR_0": 2}])],
    "MESH_PRIMITIVE_NO_TANGENT_SPACE": [
        (f"{_ATTRIBUTES}.TANGENT", REMOVED),
        (f"{_ATTRIBUTES}.NORMAL", REMOVED),
        ("extensionsUsed", ["KHR_materials_anisotropy"]),
        (f"{MATERIAL}.extensions", {"KHR_materials_anisotropy": {"anisotropyTexture": {"index": 0}}}),
    ],
    "MESH_PRIMITIVE_POSITION_ACCESSOR_WITHOUT_BOUNDS": [("accessors.5.min", REMOVED)],
    "MESH_PRIMITIVE_TOO_FEW_TEXCOORDS": [(f"{MATERIAL}.pbrMetallicRoughness.baseColorTexture.texCoord", 1)],
    "MESH_PRIMITIVE_UNEQUAL_ACCESSOR_COUNT": [("accessors.1.count", 3)],
    "KHR_MATERIALS_VARIANTS_NON_UNIQUE_VARIANT": [
        ("extensionsUsed", [_VARIANTS]),
        ("extensions", {_VARIANTS: {"variants": [{"name": "a"}]}}),
        (f"{PRIMITIVE}.extensions", {_VARIANTS: {"mappings": [{"material": 0, "variants": [0]}] * 2}}),
    ],
    # nodes and skins
    "NODE_LOOP": [("nodes.2.children", [1]), ("scenes.0.nodes", [0, 3])],
    "NODE_PARENT_OVERRIDE": [("nodes.3.children", [2])],
    "NODE_MATRIX_NON_TRS": [("nodes.3.matrix", [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])],
    "NODE_MATRIX_TRS": [("nodes.3.matrix", np.eye(4).reshape(-1).tolist()), ("nodes.3.scale", [1, 2, 1])],
    "NODE_SKIN_NO_SCENE": [("scenes.0.nodes", [0]), ("scenes.1", {"nodes": [1]})],
    "NODE_SKIN_WITH_NON_SKINNED_MESH": [(f"{_ATTRIBUTES}.{name}_0", REMOVED) for name in ("JOINTS", "WEIGHTS")],
    "NODE_WEIGHTS_INVALID": [(f"{BODY}.weights", [1])],
    "ROTATION_NON_UNIT": [("nodes.2.rotation", [0, 0, 0.9, 0.9])],
    "SCENE_NON_ROOT_NODE": [("scenes.0.nodes", [0, 1, 2])],
    "SKIN_NO_COMMON_ROOT": [(f"{SKIN}.joints", [1, 3])],
    "SKIN_SKELETON_INVALID": [(f"{SKIN}.skeleton", 3)],
    "INVALID_IBM_ACCESSOR_COUNT": [("accessors.7.count", 1)],
    "SKIN_IBM_ACCESSOR_WITH_BYTESTRIDE": [("bufferViews.7.byteStride", 64)],
    "SKIN_IBM_INVALID_FORMAT": [(f"{SKIN}.inverseBindMatrices", 5)],
    # animations
    "ANIMATION_CHANNEL_TARGET_NODE_MATRIX": [("nodes.1.matrix", np.eye(4).reshape(-1).tolist())],
    "ANIMATION_CHANNEL_TARGET_NODE_WEIGHTS_NO_MORPHS": [(f"{CHANNEL}.target", {"node": 0, "path": "weights"})],
    "ANIMATION_DUPLICATE_TARGETS": [(f"{CLIP}.channels.1.target", {"node": 1, "path": "rotation"})],
    "ANIMATION_SAMPLER_ACCESSOR_WITH_BYTESTRIDE": [("bufferViews.8.byteStride", 4)],
    "ANIMATION_SAMPLER_INPUT_ACCESSOR_INVALID_FORMAT": _data(MOVE, [0, 1], np.uint16, min=[0], max=[1]),
    "ANIMATION_SAMPLER_INPUT_ACCESSOR_TOO_FEW_ELEMENTS": lambda b: (
        put(b, (f"{CLIP}.samplers.0.interpolation", "CUBICSPLINE")),
        set_data(b, 8, np.float32([0]), min=[0], max=[0]),
        set_data(b, 9, np.float32([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])),
    ),
    "ANIMATION_SAMPLER_INPUT_ACCESSOR_WITHOUT_BOUNDS": [("accessors.8.min", REMOVED)],
    "ANIMATION_SAMPLER_OUTPUT_ACCESSOR_INVALID_COUNT": [("accessors.9.count", 1)],
    "ANIMATION_SAMPLER_OUTPUT_ACCESSOR_INVALID_FORMAT": [(f"{CLIP}.samplers.0.output", 11)],
    "KHR_ANIMATION_POINTER_ANIMATION_CHANNEL_TARGET_NODE": [
        ("extensionsUsed", ["KHR_animation_pointer"]),
        (f"{CLIP}.channels.1.target", {"node": 2, "path": "pointer", "extensions": _POINTER}),
    ],
    "KHR_ANIMATION_POINTER_ANIMATION_CHANNEL_TARGET_PATH": [
        ("extensionsUsed", ["KHR_animation_pointer"]),
        (f"{CLIP}.channels.1.target", {"path": "translation", "extensions": _POINTER}),
    ],
}


def _text(change: Callable[[Json], Any]) -> Callable[[Json, bytes], bytes]:
    def make(document: Json, data: bytes) -> bytes:
        change(document)
        return json.dumps(document).encode()

    return make


def _uri(document: Json) -> str:
    return str(document["buffers"][0]["uri"])


def _glb(chunks: list[tuple[bytes, bytes]], *, size: int = 0, version: int = 2, after: bytes = b"") -> bytes:
    body = b"".join(struct.pack("<I", len(data)) + kind + data for kind, data in chunks) + after
    return struct.pack("<4sII", b"glTF", version, size or 12 + len(body)) + body


def _binary(make: Callable[[bytes, bytes], bytes]) -> Callable[[Json, bytes], bytes]:
    """Make a ``.glb`` of its JSON and its data, both padded to 4 bytes."""

    def build(document: Json, data: bytes) -> bytes:
        del document["buffers"][0]["uri"]
        text = json.dumps(document).encode()
        return make(text + b" " * (-len(text) % 4), data + bytes(-len(data) % 4))

    return build


_J, _B = b"JSON", b"BIN\0"
#: What breaks a rule for the bytes of a file: made of the valid document, whose buffer is a data URI, and its data.
FILES: dict[str, Callable[[Json, bytes], bytes]] = {
    "INVALID_JSON": lambda document, _: json.dumps(document).encode()[:-9],
    "BUFFER_DATA_URI_MIME_TYPE_INVALID": _text(
        lambda d: d["buffers"][0].update(uri=_uri(d).replace("application/octet-stream", "image/png"))
    ),
    "BUFFER_BYTE_LENGTH_MISMATCH": _text(
        lambda d: d["buffers"][0].update(byteLength=d["buffers"][0]["byteLength"] + 4)
    ),
    "BUFFER_MISSING_GLB_DATA": _binary(lambda text, _: _glb([(_J, text)])),
    "GLB_CHUNK_LENGTH_UNALIGNED": _binary(lambda text, data: _glb([(_J, text + b" "), (_B, data)])),
    "GLB_CHUNK_TOO_BIG": _binary(lambda text, _: _glb([], after=struct.pack("<I", len(text) + 96) + _J + text)),
    "GLB_DUPLICATE_CHUNK": _binary(lambda text, data: _glb([(_J, text), (_B, data), (_B, data)])),
    "GLB_EMPTY_CHUNK": _binary(lambda text, data: _glb([(_J, b""), (_B, data)])),
    "GLB_INVALID_MAGIC": _binary(lambda text, data: b"GLTF" + _glb([(_J, text), (_B, data)])[4:]),
    "GLB_INVALID_VERSION": _binary(lambda text, data: _glb([(_J, text), (_B, data)], version=3)),
    "GLB_LENGTH_MISMATCH": _binary(lambda text, data: _glb([(_J, text), (_B, data)], size=1 << 20)),
    "GLB_LENGTH_TOO_SMALL": _binary(lambda text, data: _glb([(_J, text), (_B, data)], size=8)),
    "GLB_UNEXPECTED_BIN_CHUNK": _binary(lambda text, data: _glb([(_J, text), (b"OTHR", bytes(4)), (_B, data)])),
    "GLB_UNEXPECTED_END_OF_CHUNK_DATA": _binary(
        lambda text, data: _glb([(_J, text)], after=struct.pack("<I", len(data)) + _B + data[:8])
    ),
    "GLB_UNEXPECTED_END_OF_CHUNK_HEADER": _binary(lambda text, _: _glb([(_J, text)], after=b"\0\0\0\0")),
    "GLB_UNEXPECTED_END_OF_HEADER": lambda *_: b"glTF\2\0\0",
    "GLB_UNEXPECTED_FIRST_CHUNK": _binary(lambda text, data: _glb([(_B, data), (_J, text)])),
}


def invalid(code: str) -> bytes:
    """Return a file that breaks the rule of a code."""
    b = valid()
    change = CODES.get(code, [])
    if callable(change):
        change(b)
    else:
        put(b, *copy.deepcopy(change))
    document = b.document()
    return FILES[code](document, b.data) if code in FILES else json.dumps(document).encode()
