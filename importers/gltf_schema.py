"""The rules of glTF 2.0 for a document: properties, their types and ranges, what they name; its extensions.

A document that keeps them can be read without a surprise; one that breaks them is refused with the
place, the value and what is expected (docs/reference/gltf.md, What glTF demands; glTF 2.0, 5).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..converter.errors import ConversionError, in_words, plural, printable
from ..converter.formats.gltf import TEXTURE_TRANSFORM, WIDTHS, ComponentType, Json, Mode

#: Checks a value of a document. Raises ``_Invalid``.
Check = Callable[[Any, Json], None]
_SHOWN = 60
DRACO, INSTANCING, VISIBILITY = "KHR_draco_mesh_compression", "EXT_mesh_gpu_instancing", "KHR_node_visibility"
POINTER = "KHR_animation_pointer"
#: How far the fourth row of a matrix may be from 0, 0, 0 and 1.
NOISE = 1e-4


class _Invalid(Exception):
    """A value that breaks a rule; the path grows as it is passed up."""

    def __init__(self, value: Any, expected: str) -> None:
        super().__init__(expected)
        self.value, self.expected = value, expected
        self.path: list[str | int] = []


def _is(kinds: type | tuple[type, ...], expected: str) -> Check:
    def check(value: Any, _: Json) -> None:
        if not isinstance(value, kinds):
            raise _Invalid(value, expected)

    return check


_text, _boolean, _object = _is(str, "a text"), _is(bool, "true or false"), _is(dict, "an object")


def _number(value: Any, _: Json) -> None:
    if type(value) is int and abs(value) > 1 << 53:
        raise _Invalid(value, "a number of at most 53 bits")
    if type(value) not in _NUMBERS:
        raise _Invalid(value, "a number")


_NUMBERS = (float, int)


def _is_whole(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


@dataclass(frozen=True)
class _Integer:
    """An integer, which may be written as 3.0."""

    least: int = 0
    most: int = 1 << 53

    def __call__(self, value: Any, _: Json) -> None:
        if not _is_whole(value) or not self.least <= value <= self.most:
            bound = f" up to {self.most:,}" if self.most < 1 << 53 else " or more"
            raise _Invalid(value, f"an integer, {self.least}{bound}")


def _choice(values: Iterable[Any]) -> Check:
    allowed = tuple(values)

    def check(value: Any, _: Json) -> None:
        if type(value) in (bool, list, dict) or value not in allowed:
            shown = [value if isinstance(value, str) else str(int(value)) for value in allowed]
            raise _Invalid(value, "one of " + ", ".join(shown))

    return check


@dataclass(frozen=True)
class _Index:
    """The number of an object in one of the document's arrays; it may be written as 3.0, too."""

    objects: str

    def __call__(self, value: Any, root: Json) -> None:
        there_are = root.get(self.objects)
        count = len(there_are) if isinstance(there_are, list) else 0
        if not _is_whole(value) or not 0 <= value < count:
            there = f"0 to {count - 1}" if count else "there are none"
            raise _Invalid(value, f"an index into {self.objects} ({there})")


_WHOLE = (_Integer, _Index)


def _make_integers(values: Any, keys: Iterable[Any]) -> None:
    """Make integers of values that have passed a check for integers."""
    for key in keys:
        if type(values[key]) is float:
            values[key] = int(values[key])


def _check_each(checked: Iterable[tuple[Any, Check, Any]], root: Json) -> None:
    """Check values that are in another; each: its key or index there, the check, and the value."""
    where: Any = None
    try:
        for where, check, one in checked:  # noqa: B007 (used where a check fails)
            check(one, root)
    except _Invalid as error:
        error.path.insert(0, where)
        raise


def _items(item: Check, least: int = 0, most: int | None = None, *, distinct: bool = False) -> Check:
    whole = isinstance(item, _WHOLE)

    def check(value: Any, root: Json) -> None:
        if not isinstance(value, list):
            raise _Invalid(value, "an array")
        if len(value) < least or (most is not None and len(value) > most):
            if least == most:
                raise _Invalid(value, f"an array of {plural(least, 'value')}")
            raise _Invalid(value, f"an array of at least {plural(least, 'value')}")
        _check_each(((i, item, one) for i, one in enumerate(value)), root)
        if whole:
            _make_integers(value, range(len(value)))
        if distinct and len(set(value)) < len(value):
            raise _Invalid(value, "each of them once")

    return check


def _map(item: Check) -> Check:
    whole = isinstance(item, _WHOLE)

    def check(value: Any, root: Json) -> None:
        _object(value, root)
        _check_each(((key, item, one) for key, one in value.items()), root)
        if whole:
            _make_integers(value, value)

    return check


def _fields(properties: dict[str, Check], required: str = "", *, extensions: dict[str, Check] | None = None) -> Check:
    """An object; a property of ``null`` is removed: it reads as if it were not there."""
    every = {"name": _text, "extensions": _extensions(extensions or {})} | properties
    whole = {key for key, one in every.items() if isinstance(one, _WHOLE)}
    needed = required.split()

    def check(value: Any, root: Json) -> None:
        _object(value, root)
        for key in [key for key, one in value.items() if one is None and key != "extras"]:
            del value[key]
        for key in needed:
            if key not in value:
                raise _Invalid(value, f"an object with {key}")
        _check_each(((key, every[key], one) for key, one in value.items() if key in every), root)
        _make_integers(value, value.keys() & whole)

    return check


def _extensions(known: dict[str, Check]) -> Check:
    def check(value: Any, root: Json) -> None:
        _object(value, root)
        for key in [key for key, one in value.items() if one is None]:
            del value[key]
        _check_each(((key, known.get(key, _object), one) for key, one in value.items()), root)
        declared = root.get("extensionsUsed")
        if isinstance(declared, list):
            declared += [key for key in value if key not in declared]

    return check


def _numbers(count: int) -> Check:
    return _items(_number, count, count)


_offset = _Integer()
_TEXTURE_INFO: dict[str, Check] = {
    "index": _Index("textures"),
    "texCoord": _Integer(-1),  # Blender's number for a UV map that the mesh does not have
    "scale": _number,
    "strength": _number,
}
_transform = _fields({"offset": _numbers(2), "scale": _numbers(2), "rotation": _number, "texCoord": _Integer()})
_texture_info = _fields(_TEXTURE_INFO, "index", extensions={TEXTURE_TRANSFORM: _transform})
_SOURCE = _fields({"source": _Index("images")})
_VIEW: dict[str, Check] = {"bufferView": _Index("bufferViews"), "byteOffset": _offset}
_attributes = _map(_Index("accessors"))
_PACKED: dict[str, Check] = {"bufferView": _Index("bufferViews"), "attributes": _map(_Integer())}
_indices = _fields({**_VIEW, "componentType": _choice((5121, 5123, 5125))}, "bufferView componentType")
_values = _fields(_VIEW, "bufferView")
_sparse = _fields({"count": _Integer(1), "indices": _indices, "values": _values}, "count indices values")
_target = _fields(
    {"node": _Index("nodes"), "path": _choice(("translation", "rotation", "scale", "weights", "pointer"))},
    "path",
    extensions={POINTER: _fields({"pointer": _text}, "pointer")},
)
_channel = _fields({"sampler": _Integer(), "target": _target}, "sampler target")
_ways = _choice(("LINEAR", "STEP", "CUBICSPLINE"))
_sampler = _fields(
    {"input": _Index("accessors"), "output": _Index("accessors"), "interpolation": _ways}, "input output"
)
_factors: dict[str, Check] = {"baseColorFactor": _numbers(4), "metallicFactor": _number, "roughnessFactor": _number}
_surface = _fields(_factors | dict.fromkeys(("baseColorTexture", "metallicRoughnessTexture"), _texture_info))
_primitive = _fields(
    {
        "attributes": _attributes,
        "indices": _Index("accessors"),
        "material": _Index("materials"),
        "mode": _choice(Mode),
        "targets": _items(_attributes),
    },
    "attributes",
    extensions={DRACO: _fields(_PACKED, "bufferView attributes")},
)

#: The arrays of a document, and what is in each of them.
_OBJECTS: dict[str, Check] = {
    "accessors": _fields(
        {
            **_VIEW,
            "componentType": _choice(ComponentType),
            "normalized": _boolean,
            "count": _Integer(1),
            "type": _choice(WIDTHS),
            "min": _items(_number),
            "max": _items(_number),
            "sparse": _sparse,
        },
        "componentType count type",
    ),
    "animations": _fields({"channels": _items(_channel), "samplers": _items(_sampler)}, "channels samplers"),
    "buffers": _fields({"uri": _text, "byteLength": _Integer(1)}, "byteLength"),
    "bufferViews": _fields(
        {
            "buffer": _Index("buffers"),
            "byteOffset": _offset,
            "byteLength": _Integer(1),
            "byteStride": _Integer(4, 252),
            "target": _Integer(),
        },
        "buffer byteLength",
    ),
    "cameras": _fields({"type": _text}),
    "images": _fields({"uri": _text, "mimeType": _text, "bufferView": _Index("bufferViews")}),
    "materials": _fields(
        {
            "pbrMetallicRoughness": _surface,
            **dict.fromkeys(("normalTexture", "occlusionTexture", "emissiveTexture"), _texture_info),
            "emissiveFactor": _numbers(3),
            "alphaMode": _choice(("OPAQUE", "MASK", "BLEND")),
            "alphaCutoff": _number,
            "doubleSided": _boolean,
        }
    ),
    "meshes": _fields({"primitives": _items(_primitive), "weights": _items(_number)}, "primitives"),
    "nodes": _fields(
        {
            "camera": _Index("cameras"),
            "children": _items(_Index("nodes"), distinct=True),
            "skin": _Index("skins"),
            "matrix": _numbers(16),
            "mesh": _Index("meshes"),
            "rotation": _numbers(4),
            "scale": _numbers(3),
            "translation": _numbers(3),
            "weights": _items(_number),
        },
        extensions={
            VISIBILITY: _fields({"visible": _boolean}),
            INSTANCING: _fields({"attributes": _attributes}, "attributes"),
        },
    ),
    "samplers": _fields({"magFilter": _Integer(), "minFilter": _Integer(), "wrapS": _Integer(), "wrapT": _Integer()}),
    "scenes": _fields({"nodes": _items(_Index("nodes"), distinct=True)}),
    "skins": _fields(
        {
            "inverseBindMatrices": _Index("accessors"),
            "skeleton": _Index("nodes"),
            "joints": _items(_Index("nodes"), 1, distinct=True),
        },
        "joints",
    ),
    "textures": _fields(
        {"sampler": _Index("samplers"), "source": _Index("images")},
        extensions=dict.fromkeys(("EXT_texture_webp", "KHR_texture_basisu", "EXT_texture_avif"), _SOURCE),
    ),
}
_names = _items(_text)
_document = _fields(
    {
        **{name: _items(one) for name, one in _OBJECTS.items()},
        "extensionsUsed": _names,
        "extensionsRequired": _names,
        "scene": _Index("scenes"),
        "asset": _fields({"version": _text, "minVersion": _text, "generator": _text, "copyright": _text}, "version"),
    },
    "asset",
)


def require_valid(root: Json, label: str) -> None:
    """Refuse a document that breaks the rules of glTF 2.0 in what this project reads or follows.

    Properties that are ``null`` are removed from it, integers that are written as 3.0 become such,
    and extensions that it uses without declaring them are declared; empty arrays and texts are accepted.

    Args:
        root: the document; changed in place.

    Raises ConversionError: names the place, the value and what is expected.
    """
    if root.get("extensionsUsed") is None:
        root["extensionsUsed"] = []
    try:
        _document(root, root)
        _require_consistent(root)
    except _Invalid as error:
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{printable(key)}" for key in error.path)
        shown = error.value if isinstance(error.value, str) else in_words(error.value)
        problem = f"is not valid glTF 2.0: {place.removeprefix('.') or 'the document'}"
        value = printable(shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}...")
        hint = "export it again; a glTF validator lists all errors"
        raise ConversionError(problem, file=label, value=value, expected=error.expected, hint=hint) from None


def _require_consistent(root: Json) -> None:
    """Check the rules that concern several properties of one object."""
    for i, node in enumerate(root.get("nodes", [])):
        last = node.get("matrix", [])[3::4]
        if "matrix" in node and node.keys() & {"translation", "rotation", "scale"}:
            raise _at(node["matrix"], "a matrix, or translation, rotation and scale", "nodes", i, "matrix")
        if any(abs(a - b) > NOISE for a, b in zip(last, (0, 0, 0, 1), strict=False)):
            raise _at(last, "a fourth row of 0, 0, 0 and 1", "nodes", i, "matrix")
    sizes = [buffer["byteLength"] for buffer in root.get("buffers", [])]
    for i, view in enumerate(root.get("bufferViews", [])):
        room = sizes[view["buffer"]] - view.get("byteOffset", 0)
        if view["byteLength"] > room:
            expected = f"at most {max(room, 0)}, to the end of buffer {view['buffer']}"
            raise _at(view["byteLength"], expected, "bufferViews", i, "byteLength")
    for i, accessor in enumerate(root.get("accessors", [])):
        sparse = accessor.get("sparse")
        if sparse is not None and sparse["count"] > accessor["count"]:
            raise _at(sparse["count"], f"at most {accessor['count']}", "accessors", i, "sparse", "count")
        wide = accessor["componentType"] in (ComponentType.FLOAT, ComponentType.UNSIGNED_INT)
        if wide and accessor.get("normalized"):
            raise _at(True, "integers of 8 or 16 bits: no others are normalised", "accessors", i, "normalized")
        if accessor.get("byteOffset") and "bufferView" not in accessor:
            raise _at(accessor["byteOffset"], "a bufferView beside it", "accessors", i, "byteOffset")
    for i, mesh in enumerate(root.get("meshes", [])):
        for k, primitive in enumerate(mesh["primitives"]):
            if "indices" in primitive and root["accessors"][primitive["indices"]].get("normalized"):
                where = "meshes", i, "primitives", k, "indices"
                raise _at(primitive["indices"], "integers as they are, not normalised", *where)
    for i, animation in enumerate(root.get("animations", [])):
        for k, channel in enumerate(animation["channels"]):
            place = ("animations", i, "channels", k)
            count = len(animation["samplers"])
            if channel["sampler"] >= count:
                raise _at(channel["sampler"], f"an index into its {count} samplers", *place, "sampler")
            target = channel["target"]
            node = target.get("node")
            moves = node is not None and target["path"] in ("translation", "rotation", "scale")
            if moves and "matrix" in root["nodes"][node]:
                raise _at(target, "a node without a matrix", *place, "target")


def _at(value: Any, expected: str, *path: str | int) -> _Invalid:
    error = _Invalid(value, expected)
    error.path = list(path)
    return error


class GltfObject:
    """An object of a document (``gltf_schema`` has checked it): its properties are attributes, else ``None``."""

    def __init__(self, data: Json) -> None:
        vars(self).update(data)

    def __getattr__(self, name: str) -> Any:
        return None


def embedded(uri: str) -> bytes:
    """Return what a data URI holds. Raises binascii.Error: it is not base64, or is cut."""
    about, _, text = uri.partition(",")
    return base64.b64decode(text if about.endswith(";base64") else "-", validate=True)


#: Extensions that are read, or that say nothing about a model.
_READABLE = {
    "KHR_mesh_quantization",
    TEXTURE_TRANSFORM,
    "KHR_lights_punctual",
    "KHR_texture_basisu",
    "EXT_texture_webp",
    DRACO,
    INSTANCING,
    VISIBILITY,
    POINTER,
}
#: How the names of those begin that change the appearance of a surface, not its shape.
_APPEARANCE = (
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_",
    "KHR_xmp",
    "EXT_materials_",
    "EXT_texture_",
    "EXT_lights_",
    "ADOBE_materials_",
    "MSFT_texture_",
    "MSFT_packing_",
)
#: Begins like one of the appearance; its materials are named by meshes.
_VARIANTS = "KHR_materials_variants"
_UNPACK = "clear Compression in Blender's glTF exporter, or unpack it: npx @gltf-transform/cli copy in.glb out.glb"
#: What to do about an extension that cannot be read.
UNPACK_HINTS = {"EXT_meshopt_compression": _UNPACK, "KHR_meshopt_compression": _UNPACK}


def check_extensions(root: Json, label: str) -> list[str]:
    """Refuse required extensions that change a shape and are not read; ``label``: the file.

    Returns:
        Warnings of the others that are not read. Those of materials that the file can do without are
        reported where materials are compared.

    Raises ConversionError: the document needs what cannot be read.
    """
    required, used = ([n for n in root.get(f"extensions{k}", []) if n not in _READABLE] for k in ("Required", "Used"))
    refused = [name for name in required if not name.startswith(_APPEARANCE)]
    if refused:
        problem, hint = "needs extensions that cannot be read", UNPACK_HINTS.get(refused[0], "export it without them")
        raise ConversionError(problem, file=label, value=printable(", ".join(refused)), hint=hint)
    ignored = [name for name in used if not name.startswith(_APPEARANCE) or name == _VARIANTS]
    return [
        f"{what}: {printable(', '.join(names))}"
        for names, what in (
            (required, "extensions of the appearance are needed and not read, the shape is"),
            (ignored, "extensions are not read, and what they say is ignored"),
        )
        if names
    ]
