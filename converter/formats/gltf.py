"""Numbers and names that glTF 2.0 defines, and what its materials show, for its reader and its writer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import F64, U8

#: An object of a document.
Json = dict[str, Any]


class ComponentType(IntEnum):
    """Type of an accessor's numbers (3.6.2.2)."""

    BYTE = 5120
    UNSIGNED_BYTE = 5121
    SHORT = 5122
    UNSIGNED_SHORT = 5123
    UNSIGNED_INT = 5125
    FLOAT = 5126


class Mode(IntEnum):
    """What a primitive draws (3.7.2.1)."""

    POINTS = 0
    LINES = 1
    LINE_LOOP = 2
    LINE_STRIP = 3
    TRIANGLES = 4
    TRIANGLE_STRIP = 5
    TRIANGLE_FAN = 6


class Target(IntEnum):
    """What a buffer view is used for (5.11.5)."""

    ARRAY_BUFFER = 34962
    ELEMENT_ARRAY_BUFFER = 34963


#: NumPy's name of a component type; the bytes are little-endian (3.6.1.1).
DTYPES: dict[int, str] = {
    ComponentType.BYTE: "<i1",
    ComponentType.UNSIGNED_BYTE: "<u1",
    ComponentType.SHORT: "<i2",
    ComponentType.UNSIGNED_SHORT: "<u2",
    ComponentType.UNSIGNED_INT: "<u4",
    ComponentType.FLOAT: "<f4",
}
#: How many numbers an element has (3.6.2.3); of one width, the last is what the writer calls it.
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "MAT2": 4, "VEC4": 4, "MAT3": 9, "MAT4": 16}
#: How a texture continues beyond its edge (5.26): it repeats.
REPEAT = 10497
#: The largest uint16 index starts a new primitive, so it names no vertex (3.7.2.1).
RESTART16 = 0xFFFF


#: The extension that shows a rectangle of a texture.
TEXTURE_TRANSFORM = "KHR_texture_transform"
P = TypeVar("P")
#: Where ``MASK`` cuts alpha, if a material does not say.
_CUTOFF = 0.5
#: Textures that the exporter never writes.
_MORE_TEXTURES = ("normalTexture", "occlusionTexture", "metallicRoughnessTexture")


class TextureTransform(NamedTuple):
    """What ``KHR_texture_transform`` does to texture coordinates: scale, turn, move.

    Attributes:
        u, v: offset.
        wide, high: scale.
        turn: rotation in radians.
    """

    u: float = 0.0
    v: float = 0.0
    wide: float = 1.0
    high: float = 1.0
    turn: float = 0.0

    @property
    def json(self) -> Json:
        """The extension's object, without a rotation."""
        return {"offset": [self.u, self.v], "scale": [self.wide, self.high]}

    def near(self, other: TextureTransform) -> bool:
        """Return whether both show the same rectangle; editors store single floats."""
        return all(abs(a - b) <= _SAME_RECTANGLE for a, b in zip(self, other, strict=True))

    def apply(self, uv: NDArray[Any]) -> F64:
        """Return texture coordinates as they are shown. (n, 2)."""
        u, v = (uv.astype(np.float64) * (self.wide, self.high)).T
        sine, cosine = np.sin(self.turn), np.cos(self.turn)
        return np.stack([cosine * u + sine * v + self.u, cosine * v - sine * u + self.v], axis=1)

    def undo(self, uv: F64) -> F64:
        """Return the coordinates that a rectangle, which is not turned, shows as these. (n, 2)."""
        return (uv - (self.u, self.v)) / (self.wide, self.high)


#: The whole of a texture.
WHOLE = TextureTransform()
#: Of numbers of two transforms: a hundredth of a texel of a texture of 1024.
_SAME_RECTANGLE = 1e-5


def read_rectangle(text: str) -> TextureTransform:
    """Return the transform that ``extras.msh.rectangle`` states; ``WHOLE`` where it states none."""
    try:
        u, v, wide, high = map(float, text.split())
    except ValueError:
        return WHOLE
    return TextureTransform(u, v, wide, high) if np.isfinite([u, v]).all() and wide > 0 and high > 0 else WHOLE


def rectangle_transform(
    rectangles: Sequence[tuple[int, int, int, int]], size: tuple[int, int], cell: int
) -> TextureTransform:
    """Return the texture transform that shows a rectangle of a ``Page`` (docs/reference/texture.md#page).

    Args:
        rectangles: left, top, width and height in pixels.
        size: width and height of the texture.
        cell: the rectangle; -1, or one that is missing, empty or outside: :data:`WHOLE`.
    """
    if not 0 <= cell < len(rectangles):
        return WHOLE
    left, top, width, height = rectangles[cell]
    across, down = size
    if not (width and height and left + width <= across and top + height <= down):
        return WHOLE
    return TextureTransform(left / across, top / down, width / across, height / down)


def transform_of(info: Json | None) -> TextureTransform:
    """Return the transform of a texture of a material. Raises LookupError, TypeError, ValueError: it is malformed."""
    values = ((info or {}).get("extensions") or {}).get(TEXTURE_TRANSFORM)
    if values is None:
        return WHOLE
    offset, scale = _numbers(values.get("offset", [0, 0]), 2), _numbers(values.get("scale", [1, 1]), 2)
    return TextureTransform(offset[0], offset[1], scale[0], scale[1], float(values.get("rotation", 0)))


class ShownPicture(NamedTuple):
    """A picture as it was exported.

    Attributes:
        name: the image's name.
        uri: where it lies, from the glTF; empty: inside it.
        digest: as of :func:`short_digest`, of the file that is inside; else empty.
        pixels: as of :func:`pixel_digest`.
    """

    name: str
    uri: str
    digest: str
    pixels: str


class FilePicture(NamedTuple):
    """A picture of a file that is read.

    Attributes:
        name: the image's name.
        uri: where it lies, from the glTF; empty: inside it.
        digest, pixels: make what :class:`ShownPicture` has; empty where it cannot be read.
        rgba: makes its pixels, (height, width, 4) uint8; raises a ``ConversionError`` where it
            cannot be read.
        lossy: whether its format, JPEG or lossy WebP, changes pixels that nobody touched.
    """

    name: str
    uri: str
    digest: Callable[[], str]
    pixels: Callable[[], str]
    rgba: Callable[[], U8]
    lossy: Callable[[], bool]


class Surface(NamedTuple, Generic[P]):
    """What a material shows.

    Attributes:
        colour: base colour factor, linear, red, green, blue, alpha.
        emission: emissive factor, linear.
        metallic, roughness: factors.
        alpha_mode: ``OPAQUE``, ``MASK`` or ``BLEND``.
        double_sided: whether back faces are drawn.
        picture: base colour texture.
        light: emissive texture.
        others: names of extensions and of textures that the exporter never writes.
        definition: entry of ``Material.lib`` that the exporter took; empty: none.
        own: whether that entry has the material's name, or the first one's of two.
        transform: of the base colour texture.
        light_transform: of the emissive texture.
    """

    colour: tuple[float, ...]
    emission: tuple[float, ...]
    metallic: float
    roughness: float
    alpha_mode: str
    double_sided: bool
    picture: P | None
    light: P | None
    others: tuple[str, ...] = ()
    definition: str = ""
    own: bool = False
    transform: TextureTransform = WHOLE
    light_transform: TextureTransform = WHOLE

    def row(self) -> list[object]:
        """Return it as JSON values, without transforms where there are none."""
        return [*self] if (self.transform, self.light_transform) != (WHOLE, WHOLE) else [*self[:-2]]


def surface_of(
    material: Json, textures: list[Json], picture_of: Callable[[int], P], samplers: Sequence[Json] = ()
) -> Surface[P]:
    """Return what a material of a document shows (glTF 2.0, 3.9).

    Args:
        picture_of: makes a picture of the index of an image, also of one that an extension
            brings; -1 = there is none.

    Raises LookupError, TypeError, ValueError: the document is malformed.
    """

    def repeats(info: Json | None) -> bool:
        number = info["index"] if info else -1
        sampler = textures[number].get("sampler") if 0 <= number < len(textures) else None
        how = samplers[sampler] if sampler is not None and samplers else {}
        return all(how.get(side, REPEAT) == REPEAT for side in ("wrapS", "wrapT"))

    def picture(info: Json | None) -> P | None:
        if info is None:
            return None
        number = info["index"]
        texture = textures[number] if 0 <= number < len(textures) else {}
        brought = [one["source"] for one in (texture.get("extensions") or {}).values() if "source" in one]
        return picture_of(texture.get("source", brought[0] if brought else -1))

    base = material.get("pbrMetallicRoughness") or {}
    extras = material.get("extras")
    stated = extras.get("msh") if isinstance(extras, dict) else None
    definition = str(stated.get("material", "")) if isinstance(stated, dict) else ""
    name = str(material.get("name", "")).lower()
    others = [name for name in _MORE_TEXTURES if name in material or name in base]
    cutoff = float(material.get("alphaCutoff", _CUTOFF))
    others += [f"alphaCutoff {cutoff:g}"] if material.get("alphaMode") == "MASK" and cutoff != _CUTOFF else []
    others += [] if repeats(base.get("baseColorTexture")) else ["a texture that does not repeat"]
    return Surface(
        _numbers(base.get("baseColorFactor", [1, 1, 1, 1]), 4),
        _numbers(material.get("emissiveFactor", [0, 0, 0]), 3),
        float(base.get("metallicFactor", 1)),
        float(base.get("roughnessFactor", 1)),
        str(material.get("alphaMode", "OPAQUE")),
        bool(material.get("doubleSided", False)),
        picture(base.get("baseColorTexture")),
        picture(material.get("emissiveTexture")),
        (*others, *map(str, sorted(material.get("extensions") or {}))),
        definition,
        bool(definition) and f"{name}+".startswith(f"{definition.lower()}+"),
        transform_of(base.get("baseColorTexture")),
        transform_of(material.get("emissiveTexture")),
    )


def _numbers(values: Any, count: int) -> tuple[float, ...]:
    numbers = tuple(map(float, values))
    if len(numbers) != count:
        raise ValueError(f"{values} are not {count} numbers")
    return numbers


def read_surface(row: list[Any]) -> Surface[ShownPicture]:
    """Return a surface of the JSON that a sidecar has of it.

    Raises LookupError, TypeError, ValueError: it is not one.
    """
    colour, emission, metallic, roughness, mode, double, picture, light, others, *found = row
    definition, own, *transforms = found  # older sidecars have no transforms
    return Surface(
        _numbers(colour, 4),
        _numbers(emission, 3),
        float(metallic),
        float(roughness),
        str(mode),
        bool(double),
        None if picture is None else ShownPicture(*map(str, picture)),
        None if light is None else ShownPicture(*map(str, light)),
        tuple(map(str, others)),
        str(definition),
        bool(own),
        *(TextureTransform(*_numbers(values, 5)) for values in transforms),
    )


def same_picture(new: FilePicture, old: ShownPicture) -> bool:
    """Return whether a picture is the one that was exported: the same file, or the same pixels."""
    if old.uri and new.uri == old.uri and not new.digest():
        return True  # it lies outside the file's folder, an item of its run
    return bool(old.digest and new.digest() == old.digest) or new.pixels() == old.pixels


def is_image(name: str, stored: str) -> bool:
    """Return whether an image's name is a stored one; Blender drops what follows its last dot."""
    return name.lower() in (stored.lower(), stored.lower().rpartition(".")[0])


def pixel_digest(rgba: U8) -> str:
    """Return the digest of the size and the pixels of a picture. (H, W, 4) uint8."""
    return short_digest(f"{rgba.shape[1]}x{rgba.shape[0]}:".encode(), np.ascontiguousarray(rgba).data)


def short_digest(*parts: bytes | memoryview) -> str:
    """Return the first 64 bits of the SHA-256 of some bytes, hex."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]
