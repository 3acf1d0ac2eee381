"""Objects of a glTF document, as far as they are read: properties, and what absent ones mean.

Nothing is checked here: a malformed document may lack a required property, which is no attribute
then, or have a value of another type. What Python raises is reported as broken glTF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ..converter.formats.gltf import Json


class GltfObject:
    """An object of a document: its properties are attributes.

    Raises:
        AttributeError, TypeError: not a JSON object, or a name that is not a text.
    """

    name: str | None = None
    extras: object = None
    extensions: Json | None = None

    def __init__(self, data: Json) -> None:
        vars(self).update(data.items())
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"a name is {self.name!r}")


class GltfScene(GltfObject):
    """A scene."""

    nodes: list[int] | None = None


class GltfNode(GltfObject):
    """A node; its placement is a matrix, or the other three."""

    children: list[int] | None = None
    mesh: int | None = None
    skin: int | None = None
    camera: int | None = None
    matrix: list[float] | None = None
    translation: list[float] | None = None
    rotation: list[float] | None = None
    scale: list[float] | None = None


class GltfPrimitive(TypedDict, total=False):
    """A primitive, as JSON."""

    attributes: dict[str, int]
    indices: int
    material: int | None
    mode: int
    targets: list[Json]
    extensions: Json | None


class GltfMesh(GltfObject):
    """A mesh."""

    primitives: Sequence[GltfPrimitive] = ()


class GltfMaterial(GltfObject):
    """A material."""

    pbrMetallicRoughness: Json | None = None


class GltfSkin(GltfObject):
    """A skin."""

    joints: Sequence[int] = ()
    inverseBindMatrices: int | None = None


class GltfTarget(TypedDict, total=False):
    """What a channel moves."""

    node: int
    path: str


class GltfChannel(TypedDict):
    """A channel of an animation, as JSON."""

    sampler: int
    target: GltfTarget


class GltfAnimation(GltfObject):
    """An animation."""

    channels: Sequence[GltfChannel] = ()
    samplers: Sequence[Json] = ()


class GltfSampler(GltfObject):
    """A sampler of an animation."""

    input: int
    output: int
    interpolation: str | None = None


class GltfAccessor(GltfObject):
    """An accessor."""

    bufferView: int | None = None
    byteOffset: int | None = None
    componentType: int
    normalized: bool = False
    count: int
    type: str
    sparse: Json | None = None


class GltfBufferView(GltfObject):
    """A buffer view."""

    buffer: int
    byteOffset: int | None = None
    byteLength: int
    byteStride: int | None = None
