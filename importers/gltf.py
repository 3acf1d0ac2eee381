"""glTF 2.0 to :class:`~converter.scene.Scene` (``gltf-mapping`` page).

Reads ``.glb`` and ``.gltf`` with a buffer beside it or inside it. The document's objects are
pygltflib's dataclasses, built straight from the JSON; bulk data stays NumPy.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pygltflib
from numpy.typing import NDArray

from converter.axes import gltf_to_game, rotation_to_game
from converter.errors import ConversionError
from converter.quantize import normalise
from converter.scene import Material, Mesh, Node, Part, Primitive, Scene, Streams, Track
from importers.nres import map_file

Json = dict[str, Any]

_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_TRIANGLES = 4
_PART_NAME = re.compile(r"(?P<node>.*)\.lod(?P<lod>[0-2])\.group(?P<group>[0-4])(?:#\d+)*")
DEFAULT_FPS = 24.0


@dataclass
class GltfModel:
    """A scene and where it came from.

    Attributes:
        scene: every part of every glTF scene.
        info: the default scene's ``extras.msh``.
        shown: the cell (lod, group) that the default scene shows.
    """

    scene: Scene
    info: Json
    shown: tuple[int, int]


def read_gltf(path: Path) -> GltfModel:
    """Read a glTF file.

    Raises:
        ConversionError: no glTF, broken, or with features that cannot be read.
    """
    label = str(path)
    data = map_file(path)
    document, chunk = _split_glb(data, label) if bytes(data[:4]) == b"glTF" else (data, None)
    try:
        root = json.loads(bytes(document).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConversionError(
            "is not glTF: its JSON cannot be read", file=label, value=error
        ) from None
    if not isinstance(root, dict) or not isinstance(root.get("asset"), dict):
        raise ConversionError("is not glTF: it has no asset", file=label)
    if str(root["asset"].get("version")) != "2.0":
        raise ConversionError(
            "unknown glTF version", file=label, value=root["asset"].get("version"), expected="2.0"
        )
    if required := root.get("extensionsRequired"):
        raise ConversionError(
            "needs extensions that cannot be read yet", file=label, value=", ".join(required)
        )
    try:
        return _Reader(root, _buffers(root, chunk, path), label).model()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ConversionError(
            "is broken glTF", file=label, value=f"{type(error).__name__}: {error}"
        ) from error


def _split_glb(data: memoryview, label: str) -> tuple[memoryview, memoryview | None]:
    """The JSON chunk and the BIN chunk; unknown chunks are skipped."""
    size = int.from_bytes(data[8:12], "little")
    if int.from_bytes(data[4:8], "little") != 2 or size > len(data) or size < 20:
        raise ConversionError("broken .glb header", file=label, offset=4, value=bytes(data[4:12]))
    chunks: dict[bytes, memoryview] = {}
    at = 12
    while at + 8 <= size:
        length, kind = int.from_bytes(data[at : at + 4], "little"), bytes(data[at + 4 : at + 8])
        if at + 8 + length > size:
            raise ConversionError(
                "chunk runs past the .glb", file=label, offset=at, value=f"{length} bytes"
            )
        chunks.setdefault(kind, data[at + 8 : at + 8 + length])
        at += 8 + length
    if b"JSON" not in chunks:
        raise ConversionError(".glb has no JSON chunk", file=label, offset=12)
    return chunks[b"JSON"], chunks.get(b"BIN\0")


def _buffers(root: Json, chunk: memoryview | None, path: Path) -> list[memoryview]:
    """The bytes of every buffer; a URI may not leave the file's directory."""
    out = []
    for i, buffer in enumerate(root.get("buffers", [])):
        uri = buffer.get("uri")
        if uri is None:
            if chunk is None or i:
                raise ConversionError(f"buffer {i} has no data", file=str(path))
            data = chunk
        elif uri.startswith("data:"):
            try:
                data = memoryview(base64.b64decode(uri.partition(",")[2], validate=True))
            except binascii.Error as error:
                raise ConversionError(
                    f"data URI of buffer {i} cannot be read", file=str(path), value=error
                ) from None
        else:
            target = path.parent / unquote(uri, errors="surrogateescape")
            if not target.resolve().is_relative_to(path.parent.resolve()):
                raise ConversionError(
                    f"buffer {i} lies outside the file's directory", file=str(path), value=uri
                )
            data = map_file(target)
        if len(data) < buffer["byteLength"]:
            raise ConversionError(
                f"buffer {i} is cut",
                file=str(path),
                value=f"{len(data)} bytes",
                expected=buffer["byteLength"],
            )
        out.append(data)
    return out


@cache
def _known(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))


def _typed(kind: type, objects: list[Json] | None) -> list[Any]:
    """pygltflib objects of JSON objects; properties it does not know are left out."""
    known = _known(kind)
    return [kind(**{k: v for k, v in data.items() if k in known}) for data in objects or []]


def _msh(extras: Any) -> Json:
    """``extras.msh``, or nothing."""
    values = extras.get("msh") if isinstance(extras, dict) else None
    return values if isinstance(values, dict) else {}


class _Reader:
    """Reads one document; holds what its steps share."""

    def __init__(self, root: Json, buffers: list[memoryview], label: str) -> None:
        self.label = label
        self.buffers = buffers
        self.scenes = _typed(pygltflib.Scene, root.get("scenes"))
        self.nodes = _typed(pygltflib.Node, root.get("nodes"))
        self.meshes = _typed(pygltflib.Mesh, root.get("meshes"))
        self.materials = _typed(pygltflib.Material, root.get("materials"))
        self.animations = _typed(pygltflib.Animation, root.get("animations"))
        self.accessors = _typed(pygltflib.Accessor, root.get("accessors"))
        self.views = _typed(pygltflib.BufferView, root.get("bufferViews"))
        self.default_scene = int(root.get("scene") or 0)
        self.arrays: dict[int, NDArray[Any]] = {}

    def model(self) -> GltfModel:
        scene = self.scenes[self.default_scene] if self.scenes else pygltflib.Scene()
        info = _msh(scene.extras)
        parents = self._parents()
        roles = [self._part_cell(i, parents) for i in range(len(self.nodes))]
        index_of: dict[int, int] = {}  # glTF node -> Scene.nodes
        for i, cell in enumerate(roles):
            if cell is None and _msh(self.nodes[i].extras).get("kind") != "paths":
                index_of[i] = len(index_of)

        out = Scene(scene.name or "", Streams(np.empty((0, 3), np.float32), np.empty(0, "<u4")))
        out.frame_count = int(info.get("frame_count", 1))
        out.legacy = bool(info.get("legacy"))
        out.nodes = [self._node(i, index_of.get(parents[i], -1)) for i in index_of]
        out.materials = [_material(material) for material in self.materials]
        out.meshes, out.streams = self._meshes(_used_meshes(self.nodes, index_of, roles))

        shown = (int(info.get("lod", 0)), int(info.get("group", 0)))
        by_index = {node.index: i for i, node in enumerate(out.nodes) if node.index is not None}
        by_name = {node.name: i for i, node in enumerate(out.nodes)}
        for i, node in enumerate(self.nodes):
            if node.mesh is None:
                continue
            if i in index_of:
                out.parts.append(Part(index_of[i], *shown, node.mesh))
            elif (cell := roles[i]) is not None:
                owner, lod, group = cell
                at = by_index.get(owner) if isinstance(owner, int) else by_name.get(owner)
                if at is None:
                    raise ConversionError(
                        f"part {node.name!r} belongs to no node", file=self.label, value=owner
                    )
                out.parts.append(Part(at, lod, group, node.mesh))
        fps = float(info.get("fps") or DEFAULT_FPS)
        if fps <= 0:
            raise ConversionError("fps is not positive", file=self.label, value=fps)
        out.tracks = self._tracks(index_of, fps)
        return GltfModel(out, info, shown)

    # -------------------------------------------------------------- nodes

    def _parents(self) -> list[int]:
        parents = [-1] * len(self.nodes)
        for i, node in enumerate(self.nodes):
            for child in node.children or []:
                if parents[child] >= 0 or child == i:
                    raise ConversionError(
                        f"node {child} has two parents", file=self.label, value=f"{i}"
                    )
                parents[child] = i
        return parents

    def _part_cell(self, i: int, parents: list[int]) -> tuple[int | str, int, int] | None:
        """(owner, lod, group) of a node that shows a part; ``None`` for an MSH node.

        Extras decide; where they are gone, the name of a root node with a mesh does.
        """
        node = self.nodes[i]
        extras = _msh(node.extras)
        if "lod" in extras and "group" in extras and "node" in extras:
            return int(extras["node"]), int(extras["lod"]), int(extras["group"])
        if extras or parents[i] >= 0 or node.mesh is None:
            return None
        match = _PART_NAME.fullmatch(node.name or "")
        if match and any(other.name == match["node"] for other in self.nodes):
            return match["node"], int(match["lod"]), int(match["group"])
        return None

    def _node(self, i: int, parent: int) -> Node:
        node = self.nodes[i]
        if node.matrix is not None or (node.scale or [1, 1, 1]) != [1, 1, 1]:
            raise ConversionError(
                f"node {node.name!r} has a matrix or scale; that needs the rebuild, which is "
                "not there yet",
                file=self.label,
            )
        extras = _msh(node.extras)
        rotation = np.array(node.rotation or [0, 0, 0, 1], np.float64)
        flags, index = extras.get("flags"), extras.get("node")
        return Node(
            name=node.name or f"node_{i}",
            index=None if index is None else int(index),
            parent=parent,
            rotation=rotation_to_game(normalise(rotation, (0, 0, 0, 1))),
            translation=gltf_to_game(np.array(node.translation or [0, 0, 0], np.float32)),
            flags=None if flags is None else int(flags),
            label=str(extras.get("label", "")),
            animated="frame_count" in extras,
        )

    # -------------------------------------------------------------- meshes

    def _meshes(self, used: set[int]) -> tuple[list[Mesh], Streams]:
        """Every mesh, its vertices laid end to end in common streams."""
        meshes: list[Mesh] = []
        pieces: dict[str, list[NDArray[Any]]] = {}
        indices: list[NDArray[Any]] = []
        vertex_start = index_start = 0
        wanted = {name for m in self.meshes for p in m.primitives for name in p["attributes"]}
        for number, mesh in enumerate(self.meshes):
            extras = _msh(mesh.extras)
            cell = (extras.get(key) for key in ("slot", "lod", "group"))
            meshes.append(Mesh(mesh.name or "", [], *cell))
            for data in mesh.primitives if number in used else []:
                if data.get("mode", _TRIANGLES) != _TRIANGLES:
                    raise ConversionError(
                        f"mesh {mesh.name!r} is not made of triangles",
                        file=self.label,
                        value=f"mode {data['mode']}",
                        expected=_TRIANGLES,
                    )
                attributes = {k: self._array(v) for k, v in data["attributes"].items()}
                count = len(attributes["POSITION"])
                if "indices" in data:
                    index = self._array(data["indices"]).reshape(-1)
                else:
                    index = np.arange(count, dtype="<u4")
                if len(index) % 3 or (len(index) and int(index.max()) >= count):
                    raise ConversionError(
                        f"indices of mesh {mesh.name!r} are no triangles of its vertices",
                        file=self.label,
                    )
                for name in wanted:
                    part = attributes.get(name)
                    pieces.setdefault(name, []).append(
                        part if part is not None else _absent(name, count)
                    )
                indices.append(index)
                meshes[-1].primitives.append(
                    Primitive(
                        -1 if data.get("material") is None else int(data["material"]),
                        vertex_start,
                        count,
                        index_start,
                        len(index),
                    )
                )
                vertex_start += count
                index_start += len(index)
        joined = {name: np.concatenate(parts) for name, parts in pieces.items()}
        positions = joined.get("POSITION", np.empty((0, 3), np.float32))
        normals = joined.get("NORMAL")
        return meshes, Streams(
            gltf_to_game(positions.astype(np.float32)),
            np.concatenate(indices).astype("<u4") if indices else np.empty(0, "<u4"),
            None if normals is None else gltf_to_game(normals.astype(np.float32)),
            joined.get("TEXCOORD_0"),
            joined.get("TEXCOORD_1"),
            _colours(joined.get("COLOR_0")),
        )

    # -------------------------------------------------------------- animation

    def _tracks(self, index_of: dict[int, int], fps: float) -> list[Track]:
        """The first animation's translations and rotations, by node."""
        if not self.animations:
            return []
        clip = self.animations[0]
        samplers = _typed(pygltflib.AnimationSampler, clip.samplers)
        out: dict[int, Track] = {}
        for channel in clip.channels:
            target, path = channel["target"].get("node"), channel["target"]["path"]
            if target not in index_of or path not in ("translation", "rotation"):
                continue
            sampler = samplers[channel["sampler"]]
            if (sampler.interpolation or "LINEAR") != "LINEAR":
                raise ConversionError(
                    f"animation of node {self.nodes[target].name!r} needs the rebuild, which is "
                    "not there yet",
                    file=self.label,
                    value=sampler.interpolation,
                    expected="LINEAR",
                )
            frames = _snap(self._array(sampler.input).reshape(-1).astype(np.float64) * fps)
            values = self._array(sampler.output)
            track = out.setdefault(target, Track(index_of[target], frames, None, None))
            if path == "translation":
                track.translations = gltf_to_game(values.astype(np.float32))
            else:
                unit = normalise(values.astype(np.float64), (0, 0, 0, 1))
                track.rotations = rotation_to_game(unit)
            if len(values) != len(frames) or len(track.frames) != len(frames):
                raise ConversionError(
                    f"animation of node {self.nodes[target].name!r} has uneven keys",
                    file=self.label,
                    value=len(values),
                    expected=len(track.frames),
                )
        return list(out.values())

    # -------------------------------------------------------------- accessors

    def _array(self, index: int) -> NDArray[Any]:
        """An accessor's elements, (n, width), normalised integers as floats (glTF 2.0, 3.6.2)."""
        if index not in self.arrays:
            accessor = self.accessors[index]
            stored = np.dtype(_COMPONENTS[accessor.componentType])
            width = _WIDTHS[accessor.type]
            values = self._elements(
                accessor.bufferView, accessor.byteOffset or 0, accessor.count, stored, width
            )
            if accessor.sparse is not None:
                values = self._with_sparse(values, accessor.sparse, stored, width)
            if accessor.normalized and stored.kind in "iu":
                scaled = values.astype(np.float32) / np.float32(np.iinfo(stored).max)
                values = np.maximum(scaled, np.float32(-1))
            self.arrays[index] = values
        return self.arrays[index]

    def _elements(
        self, view_index: int | None, offset: int, count: int, stored: np.dtype[Any], width: int
    ) -> NDArray[Any]:
        """``count`` elements of a buffer view; zeros where there is none."""
        size = stored.itemsize * width
        if view_index is None:
            return np.zeros((count, width), stored)
        view = self.views[view_index]
        start = (view.byteOffset or 0) + offset
        end = (view.byteOffset or 0) + view.byteLength
        stride = view.byteStride or size
        buffer = self.buffers[view.buffer]
        needed = start + stride * (count - 1) + size
        if count < 1 or offset < 0 or stride < size or needed > end or end > len(buffer):
            raise ConversionError(
                "accessor runs past its buffer view",
                file=self.label,
                value=f"{count} elements from byte {start}",
                expected=f"an end at byte {end} or before",
            )
        raw = np.frombuffer(buffer[start:needed], np.uint8)
        rows = np.lib.stride_tricks.as_strided(raw, (count, size), (stride, 1), writeable=False)
        return np.ascontiguousarray(rows).view(stored)

    def _with_sparse(
        self, values: NDArray[Any], sparse: Json, stored: np.dtype[Any], width: int
    ) -> NDArray[Any]:
        count, where, what = sparse["count"], sparse["indices"], sparse["values"]
        kind = np.dtype(_COMPONENTS[where["componentType"]])
        rows = self._elements(where["bufferView"], where.get("byteOffset", 0), count, kind, 1)
        new = self._elements(what["bufferView"], what.get("byteOffset", 0), count, stored, width)
        values = values.copy()
        values[rows[:, 0]] = new
        return values


def _used_meshes(nodes: list[Any], index_of: dict[int, int], roles: list[Any]) -> set[int]:
    return {
        node.mesh
        for i, node in enumerate(nodes)
        if node.mesh is not None and (i in index_of or roles[i] is not None)
    }


def _absent(name: str, count: int) -> NDArray[Any]:
    """What stands in for an attribute that only other primitives have."""
    width = {"NORMAL": 3, "COLOR_0": 4}.get(name, 2 if name.startswith("TEXCOORD") else 1)
    return np.full((count, width), 1 if name == "COLOR_0" else 0, np.float32)


def _colours(values: NDArray[Any] | None) -> NDArray[np.uint8] | None:
    """COLOR_0 as (V, 4) RGBA bytes."""
    if values is None:
        return None
    if values.shape[1] == 3:
        values = np.concatenate([values, np.ones((len(values), 1), values.dtype)], axis=1)
    return np.clip(np.rint(values.astype(np.float64) * 255), 0, 255).astype(np.uint8)


def _snap(frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frames within 1e-3 of a whole one become it (``conventions`` page, Time)."""
    whole = np.rint(frames)
    return np.where(np.abs(frames - whole) <= 1e-3, whole, frames)


def _material(material: Any) -> Material:
    """A material by its extras; numbers are -1 where they are gone."""
    extras = _msh(material.extras)
    numbers: Iterator[int] = (
        _number(extras.get(key, -1)) for key in ("row", "lightmap", "batch_flags", "w2", "w4", "w6")
    )
    return Material(material.name or "", *numbers)


def _number(value: int | float | str) -> int:
    """An integer that may have become hex text or a float on its way."""
    return int(value, 16) if isinstance(value, str) else int(value)
