"""Objects of a glTF document, as far as they are read: what pygltflib's classes have, with types.

A malformed document may have other values; what Python raises then is reported as broken glTF.
"""

from __future__ import annotations

from typing import Protocol, TypedDict

from ..converter.formats.gltf import Json


class GltfScene(Protocol):
    """A scene."""

    name: str | None
    nodes: list[int] | None
    extras: object


class GltfNode(Protocol):
    """A node; its placement is a matrix, or the other three."""

    name: str | None
    children: list[int] | None
    mesh: int | None
    skin: int | None
    camera: int | None
    matrix: list[float] | None
    translation: list[float] | None
    rotation: list[float] | None
    scale: list[float] | None
    extensions: Json | None
    extras: object


class GltfPrimitive(TypedDict, total=False):
    """A primitive, as JSON."""

    attributes: dict[str, int]
    indices: int
    material: int | None
    mode: int
    targets: list[Json]
    extensions: Json | None


class GltfMesh(Protocol):
    """A mesh."""

    name: str | None
    primitives: list[GltfPrimitive]
    extras: object


class GltfMaterial(Protocol):
    """A material."""

    name: str | None
    pbrMetallicRoughness: Json | None
    extras: object


class GltfSkin(Protocol):
    """A skin."""

    joints: list[int]
    inverseBindMatrices: int | None


class GltfTarget(TypedDict, total=False):
    """What a channel moves."""

    node: int
    path: str


class GltfChannel(TypedDict):
    """A channel of an animation, as JSON."""

    sampler: int
    target: GltfTarget


class GltfAnimation(Protocol):
    """An animation."""

    name: str | None
    channels: list[GltfChannel]
    samplers: list[Json]


class GltfSampler(Protocol):
    """A sampler of an animation."""

    input: int
    output: int
    interpolation: str | None


class GltfAccessor(Protocol):
    """An accessor."""

    bufferView: int | None
    byteOffset: int | None
    componentType: int
    normalized: bool
    count: int
    type: str
    sparse: Json | None


class GltfBufferView(Protocol):
    """A buffer view."""

    buffer: int
    byteOffset: int | None
    byteLength: int
    byteStride: int | None
    extensions: Json | None
