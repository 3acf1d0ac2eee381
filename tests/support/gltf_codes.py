"""Invalid files: one for each error code of the Khronos validator (its ``ISSUES.md``)."""

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.foreign import IMAGE, PNG, QUAD, REMOVED, UP, UV, Builder, Json, Raw, binary, glb, spelled, text

FLOATS, BYTES, MAT4 = 5126, 5121, np.eye(4, dtype=np.float32)
STILL = MAT4.reshape(-1).tolist()


def valid() -> Builder:
    """A skinned mesh with a texture, a clip, a camera; nothing is wrong with it."""
    b = Builder()
    streams = {"NORMAL": UP, "TEXCOORD_0": UV, "TANGENT": np.float32([[1, 0, 0, 1]] * 4)}
    streams |= {"JOINTS_0": np.zeros((4, 4), np.uint8), "WEIGHTS_0": np.float32([[1, 0, 0, 0]] * 4)}
    mesh = b.mesh(attributes={name: b.accessor(stream) for name, stream in streams.items()})
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


def data(accessor: int, array: Any, kind: Any = np.float32, **more: Any) -> Json:
    """Other data for an accessor; its stated bounds stay, unless they are given."""

    def replaced(b: Builder) -> Json:
        new = b.json["accessors"].pop(b.accessor(np.array(array, kind)))
        return {**b.json["accessors"][accessor], **new, **more}

    return {f"accessors.{accessor}": replaced}


def sparse(count: int, rows: list[int]) -> Json:
    return {
        "accessors.5.sparse.count": count,
        "accessors.5.sparse.indices": lambda b: {"bufferView": b.view(bytes(rows)), "componentType": BYTES},
        "accessors.5.sparse.values": lambda b: {"bufferView": b.view(bytes(12 * len(rows)))},
    }


def extension(name: str, place: str, value: Json) -> Json:
    return {"extensionsUsed": [name], f"{place}.extensions": {name: value}}


def laid_out(stride: int = 12, shift: int = 0) -> Json:
    """The same positions elsewhere in the buffer, so that only their layout is wrong."""

    def moved(b: Builder) -> Json:
        stated = b.json["bufferViews"][5]
        rows = np.frombuffer(b.data, np.uint8, stated["byteLength"], stated["byteOffset"]).reshape(-1, 12)
        b.data += bytes(-len(b.data) % 4 + shift)
        wide = np.pad(rows, ((0, 0), (0, stride - 12))).tobytes()
        b.data += wide
        return {"buffer": 0, "byteOffset": len(b.data) - len(wide), "byteLength": len(wide), "byteStride": stride}

    return {"bufferViews.5": moved}


def picture(content: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


SPOT = {"type": "spot", "spot": {"innerConeAngle": 1, "outerConeAngle": 0.5}}
LIGHTS, VARIANTS, WEBP = "KHR_lights_punctual", "KHR_materials_variants", "EXT_texture_webp"
POINTER = {"KHR_animation_pointer": {"pointer": "/nodes/2/translation"}}
ONE_WEBP = base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
# fmt: off
#: Accessors of :func:`valid`: 5 has positions, 6 indices, 7 bind matrices, 8 and 9 the first clip.
#: The changes of the valid document that break the rule of a code.
CODES: dict[str, Json] = {
    # the document
    "ARRAY_LENGTH_NOT_IN_LIST": {"accessors.5.min": [0, 0, 0, 0, 0]},
    "ARRAY_TYPE_MISMATCH": {"channel": 1},
    "DUPLICATE_ELEMENTS": {"scenes.0.nodes": [0, 1, 1]},
    "EMPTY_ENTITY": {"colour.extensions": {}, "nodes.3.children": []},
    "INVALID_INDEX": {"node.mesh": -1},
    "INVALID_URI": {"images.0.uri": "http://[::1"},
    "ONE_OF_MISMATCH": {"images.0.bufferView": 0, "images.0.mimeType": "image/png"},
    "PATTERN_MISMATCH": {"asset.minVersion": "two"},
    "TYPE_MISMATCH": {"node.name": 5},
    "UNDEFINED_PROPERTY": {"accessors.5.count": REMOVED},
    "UNSATISFIED_DEPENDENCY": {"nodes.2.weights": [0.5]},
    "VALUE_MULTIPLE_OF": laid_out(stride=14),
    "VALUE_NOT_IN_RANGE": {"colour.metallicFactor": 2},
    "ASSET_MIN_VERSION_GREATER_THAN_VERSION": {"asset.minVersion": "2.1"},
    "UNKNOWN_ASSET_MAJOR_VERSION": {"asset.version": "3.0"},
    "UNRESOLVED_REFERENCE": {"node.skin": 4},
    "UNDECLARED_EXTENSION": {"node.extensions": {"KHR_node_visibility": {"visible": True}}},
    "UNEXPECTED_EXTENSION_OBJECT": extension("KHR_texture_transform", "node", {}),
    "UNUSED_EXTENSION_REQUIRED": {"extensionsRequired": ["KHR_texture_transform"]},
    "NON_REQUIRED_EXTENSION": {"extensionsUsed": ["KHR_mesh_quantization"]},
    # accessors
    "ACCESSOR_MATRIX_ALIGNMENT": {"accessors.12": {"bufferView": 7, "byteOffset": 1, "componentType": BYTES,
        "count": 1, "type": "MAT2"}},
    "ACCESSOR_NORMALIZED_INVALID": {"accessors.5.normalized": True},
    "ACCESSOR_OFFSET_ALIGNMENT": {"accessors.5.byteOffset": 2, "bufferViews.5.byteLength": 50},
    "ACCESSOR_TOTAL_OFFSET_ALIGNMENT": laid_out(shift=2),
    "ACCESSOR_SPARSE_COUNT_OUT_OF_RANGE": sparse(5, [0, 1, 2, 3, 4]),
    "ACCESSOR_SPARSE_INDEX_OOB": sparse(1, [4]),
    "ACCESSOR_SPARSE_INDICES_NON_INCREASING": sparse(2, [1, 1]),
    "ACCESSOR_SMALL_BYTESTRIDE": {"bufferViews.5.byteStride": 8},
    "ACCESSOR_TOO_LONG": {"accessors.5.count": 99},
    "ACCESSOR_USAGE_OVERRIDE": {"primitive.indices": 3},
    "ACCESSOR_ELEMENT_OUT_OF_MAX_BOUND": {"accessors.5.max": [0.5, 1, 0]},
    "ACCESSOR_ELEMENT_OUT_OF_MIN_BOUND": {"accessors.5.min": [0.5, 0, 0]},
    "ACCESSOR_MAX_MISMATCH": {"accessors.5.max": [2, 1, 0]},
    "ACCESSOR_MIN_MISMATCH": {"accessors.5.min": [-1, 0, 0]},
    "ACCESSOR_INVALID_FLOAT": data(5, [[0, 0, 0], [1, np.nan, 0], [0, 1, 0], [1, 1, 0]]),
    "ACCESSOR_INVALID_IBM": data(7, [np.diag([1, 1, 1, 2])] * 2),
    "ACCESSOR_INVALID_SIGN": data(2, [[1, 0, 0, 0.5]] * 4),
    "ACCESSOR_VECTOR3_NON_UNIT": data(0, [[0, 0, 3]] * 4),
    "ACCESSOR_NON_CLAMPED": {"COLOR_0": np.float32([[2, 0, 0]] * 4)},
    "ACCESSOR_INDEX_OOB": data(6, [0, 1, 9, 1, 3, 2], np.uint16),
    "ACCESSOR_INDEX_PRIMITIVE_RESTART": data(6, [0, 1, 65535, 1, 3, 2], np.uint16),
    "ACCESSOR_JOINTS_INDEX_DUPLICATE": data(3, [[1, 1, 0, 0]] * 4, np.uint8) | data(4, [[0.5, 0.5, 0, 0]] * 4),
    "ACCESSOR_JOINTS_INDEX_OOB": data(3, [[7, 0, 0, 0]] * 4, np.uint8),
    "ACCESSOR_WEIGHTS_NEGATIVE": data(4, [[-1, 1, 1, 0]] * 4),
    "ACCESSOR_WEIGHTS_NON_NORMALIZED": data(4, [[3, 0, 0, 0]] * 4),
    "ACCESSOR_ANIMATION_INPUT_NEGATIVE": data(8, [-1, 1]),
    "ACCESSOR_ANIMATION_INPUT_NON_INCREASING": data(8, [1, 1]),
    "ACCESSOR_ANIMATION_SAMPLER_OUTPUT_NON_NORMALIZED_QUATERNION": data(9, [[0, 0, 0, 1], [0, 0, 3, 4]]),
    # buffers and pictures
    "BUFFER_VIEW_INVALID_BYTE_STRIDE": {"bufferViews.5.byteStride": 12, "bufferViews.5.target": 34963},
    "BUFFER_VIEW_TOO_BIG_BYTE_STRIDE": {"bufferViews.12": {"buffer": 0, "byteLength": 8, "byteStride": 252}},
    "BUFFER_VIEW_TARGET_OVERRIDE": {"bufferViews.5.target": 34963},
    "BUFFER_VIEW_TOO_LONG": {"bufferViews.5.byteLength": 1 << 20},
    "IMAGE_BUFFER_VIEW_WITH_BYTESTRIDE": {"images.0": lambda b: {"bufferView": b.view(PNG, byteStride=4),
        "mimeType": "image/png"}},
    "IMAGE_DATA_INVALID": {"images.0.uri": picture(PNG[:8] + bytes([0, 0, 0, 14]) + PNG[12:])},
    "IMAGE_UNEXPECTED_EOS": {"images.0.uri": picture(PNG[:20])},
    "IMAGE_MIME_TYPE_INVALID": {"images.0": lambda b: {"bufferView": b.view(PNG), "mimeType": "image/jpeg"}},
    "IMAGE_NON_ENABLED_MIME_TYPE": {"images.0.uri": picture(ONE_WEBP, "webp")},
    "TEXTURE_INVALID_IMAGE_MIME_TYPE": {"extensionsUsed": [WEBP], "textures.0": {"extensions": {WEBP: {"source": 0}}}},
    "IO_ERROR": {"images.0.uri": "nowhere.png"},
    # cameras and lights
    "CAMERA_XMAG_YMAG_ZERO": {"cameras.0": {"type": "orthographic", "orthographic": {"xmag": 0, "ymag": 1, "znear": 1,
        "zfar": 2}}},
    "CAMERA_ZFAR_LEQUAL_ZNEAR": {"cameras.0.perspective.zfar": 0.5},
    "KHR_LIGHTS_PUNCTUAL_LIGHT_SPOT_ANGLES": {"extensionsUsed": [LIGHTS], "extensions": {LIGHTS: {"lights": [SPOT]}},
        "nodes.3": {"extensions": {LIGHTS: {"light": 0}}}},
    # meshes
    "MESH_INVALID_WEIGHTS_COUNT": {"meshes.0.weights": [1]},
    "MESH_PRIMITIVES_UNEQUAL_TARGETS_COUNT":
        {"meshes.0.primitives.1": lambda b: {**b.json["meshes"][0]["primitives"][0], "targets": [{"POSITION": 5}]}},
    "MESH_PRIMITIVE_INDEXED_SEMANTIC_CONTINUITY": {"TEXCOORD_2": 1},
    "MESH_PRIMITIVE_INVALID_ATTRIBUTE": {"primitive.attributes.position": 5},
    "MESH_PRIMITIVE_JOINTS_WEIGHTS_MISMATCH": {"WEIGHTS_0": REMOVED},
    "MESH_PRIMITIVE_ACCESSOR_UNALIGNED": data(3, np.zeros((4, 4)), np.uint8, byteOffset=1, count=3),
    "MESH_PRIMITIVE_ACCESSOR_WITHOUT_BYTESTRIDE": {"accessors.0.bufferView": 5},
    "MESH_PRIMITIVE_ATTRIBUTES_ACCESSOR_INVALID_FORMAT": {"accessors.0.type": "VEC2"},
    "MESH_PRIMITIVE_ATTRIBUTES_ACCESSOR_UNSIGNED_INT": {"_OWN": np.uint32([0, 1, 2, 3])},
    "MESH_PRIMITIVE_INDICES_ACCESSOR_INVALID_FORMAT": {"accessors.6.componentType": 5122},
    "MESH_PRIMITIVE_INDICES_ACCESSOR_WITH_BYTESTRIDE": {"bufferViews.6.byteStride": 4, "accessors.6.count": 3},
    "MESH_PRIMITIVE_MORPH_TARGET_INVALID_ATTRIBUTE_COUNT":
        {"primitive.targets": lambda b: [{"POSITION": b.accessor(QUAD[:3], min=[0, 0, 0], max=[1, 1, 0])}]},
    "MESH_PRIMITIVE_MORPH_TARGET_NO_BASE_ACCESSOR": {"primitive.targets": [{"COLOR_0": 2}]},
    "MESH_PRIMITIVE_NO_TANGENT_SPACE": {"TANGENT": REMOVED, "NORMAL": REMOVED, **extension("KHR_materials_anisotropy",
        "material", {"anisotropyTexture": {"index": 0}})},
    "MESH_PRIMITIVE_POSITION_ACCESSOR_WITHOUT_BOUNDS": {"accessors.5.min": REMOVED},
    "MESH_PRIMITIVE_TOO_FEW_TEXCOORDS": {"colour.baseColorTexture.texCoord": 1},
    "MESH_PRIMITIVE_UNEQUAL_ACCESSOR_COUNT": {"accessors.1.count": 3},
    "KHR_MATERIALS_VARIANTS_NON_UNIQUE_VARIANT": {"extensions": {VARIANTS: {"variants": [{"name": "a"}]}},
        **extension(VARIANTS, "primitive", {"mappings": [{"material": 0, "variants": [0]}] * 2})},
    # nodes and skins
    "NODE_LOOP": {"nodes.2.children": [1], "scenes.0.nodes": [0, 3]},
    "NODE_PARENT_OVERRIDE": {"nodes.3.children": [2]},
    "NODE_MATRIX_NON_TRS": {"nodes.3.matrix": [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]},
    "NODE_MATRIX_TRS": {"nodes.3.matrix": STILL, "nodes.3.scale": [1, 2, 1]},
    "NODE_SKIN_NO_SCENE": {"scenes.0.nodes": [0], "scenes.1": {"nodes": [1]}},
    "NODE_SKIN_WITH_NON_SKINNED_MESH": {"JOINTS_0": REMOVED, "WEIGHTS_0": REMOVED},
    "NODE_WEIGHTS_INVALID": {"node.weights": [1]},
    "ROTATION_NON_UNIT": {"nodes.2.rotation": [0, 0, 0.9, 0.9]},
    "SCENE_NON_ROOT_NODE": {"scenes.0.nodes": [0, 1, 2]},
    "SKIN_NO_COMMON_ROOT": {"skins.0.joints": [1, 3]},
    "SKIN_SKELETON_INVALID": {"skins.0.skeleton": 3},
    "INVALID_IBM_ACCESSOR_COUNT": {"accessors.7.count": 1},
    "SKIN_IBM_ACCESSOR_WITH_BYTESTRIDE": {"bufferViews.7.byteStride": 64},
    "SKIN_IBM_INVALID_FORMAT": {"skins.0.inverseBindMatrices": 5},
    # animations
    "ANIMATION_CHANNEL_TARGET_NODE_MATRIX": {"nodes.1.matrix": STILL},
    "ANIMATION_CHANNEL_TARGET_NODE_WEIGHTS_NO_MORPHS": {"channel.target": {"node": 0, "path": "weights"}},
    "ANIMATION_DUPLICATE_TARGETS": {"animations.0.channels.1.target": {"node": 1, "path": "rotation"}},
    "ANIMATION_SAMPLER_ACCESSOR_WITH_BYTESTRIDE": {"bufferViews.8.byteStride": 4},
    "ANIMATION_SAMPLER_INPUT_ACCESSOR_INVALID_FORMAT": data(8, [0, 1], np.uint16, min=[0], max=[1]),
    "ANIMATION_SAMPLER_INPUT_ACCESSOR_TOO_FEW_ELEMENTS": {"sampler.interpolation": "CUBICSPLINE", **data(8, [0],
        min=[0], max=[0]), **data(9, [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])},
    "ANIMATION_SAMPLER_INPUT_ACCESSOR_WITHOUT_BOUNDS": {"accessors.8.min": REMOVED},
    "ANIMATION_SAMPLER_OUTPUT_ACCESSOR_INVALID_COUNT": {"accessors.9.count": 1},
    "ANIMATION_SAMPLER_OUTPUT_ACCESSOR_INVALID_FORMAT": {"sampler.output": 11},
    "KHR_ANIMATION_POINTER_ANIMATION_CHANNEL_TARGET_NODE": {"extensionsUsed": ["KHR_animation_pointer"],
        "animations.0.channels.1.target": {"node": 2, "path": "pointer", "extensions": POINTER}},
    "KHR_ANIMATION_POINTER_ANIMATION_CHANNEL_TARGET_PATH": {"extensionsUsed": ["KHR_animation_pointer"],
        "animations.0.channels.1.target": {"path": "translation", "extensions": POINTER}},
}
# fmt: on


def _parts(make: Callable[[bytes, bytes], bytes]) -> Raw:
    """Make a container of the contents of its two chunks."""
    return binary(lambda document, data: make(document[1], data[1]))


J, B = b"JSON", b"BIN\0"
# fmt: off
#: What breaks a rule for the bytes of a file.
FILES: dict[str, Raw] = {
    "INVALID_JSON": lambda document, _: json.dumps(document).encode()[:-9],
    "BUFFER_DATA_URI_MIME_TYPE_INVALID": spelled("application/octet-stream", "image/png"),
    "BUFFER_BYTE_LENGTH_MISMATCH": text(lambda d: d["buffers"][0].update(byteLength=d["buffers"][0]["byteLength"] + 4)),
    "BUFFER_MISSING_GLB_DATA": binary(lambda document, _: glb(document)),
    "GLB_CHUNK_LENGTH_UNALIGNED": _parts(lambda text, data: glb((J, text + b" "), (B, data))),
    "GLB_CHUNK_TOO_BIG": _parts(lambda text, _: glb(after=struct.pack("<I", len(text) + 96) + J + text)),
    "GLB_DUPLICATE_CHUNK": binary(lambda document, data: glb(document, data, data)),
    "GLB_EMPTY_CHUNK": binary(lambda _, data: glb((J, b""), data)),
    "GLB_INVALID_MAGIC": binary(lambda *two: b"GLTF" + glb(*two)[4:]),
    "GLB_INVALID_VERSION": binary(lambda *two: glb(*two, version=3)),
    "GLB_LENGTH_MISMATCH": binary(lambda *two: glb(*two, size=1 << 20)),
    "GLB_LENGTH_TOO_SMALL": binary(lambda *two: glb(*two, size=8)),
    "GLB_UNEXPECTED_BIN_CHUNK": binary(lambda document, data: glb(document, (b"OTHR", bytes(4)), data)),
    "GLB_UNEXPECTED_END_OF_CHUNK_DATA": binary(lambda document, data: glb(document, after=struct.pack("<I",
        len(data[1])) + B + data[1][:8])),
    "GLB_UNEXPECTED_END_OF_CHUNK_HEADER": binary(lambda document, _: glb(document, after=bytes(4))),
    "GLB_UNEXPECTED_END_OF_HEADER": lambda *_: b"glTF\2\0\0",
    "GLB_UNEXPECTED_FIRST_CHUNK": binary(lambda document, data: glb(data, document)),
}
# fmt: on


def invalid(code: str) -> bytes:
    """Return a file that breaks the rule of a code."""
    b = valid()
    b.put(CODES.get(code, {}))
    return FILES.get(code, text(lambda _: None))(b.document(), b.data)
