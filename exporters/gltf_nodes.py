"""Nodes, primitives and clips of a glTF document, alone and assembled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.gltf import RESTART16, ComponentType, Json, Target
from ..converter.formats.model_parts import ControlPoint
from ..converter.numeric.arrays import F32, F64, I64, Bools, ranges
from ..converter.numeric.pose import game_to_gltf, rotation_to_gltf
from ..converter.scene.companions import length_of, rotation_of
from ..converter.scene.decode import TerrainScene
from ..converter.scene.extras import MeshExtras, NodeExtras, to_extras
from ..converter.scene.scene import Channel, Mesh, Node, Part, Primitive, Scene, Streams, Track
from .gltf_file import Builder, Text, json_rows, numbers_text, quoted


def add_primitives(file: Builder, streams: Streams, primitives: Sequence[Primitive]) -> list[str]:
    """Add the accessors of some primitives; returns the primitives as JSON text.

    Primitives with the same window of vertices have the same accessors.

    Args:
        streams: vertices and indices of all primitives.
    """
    table = np.fromiter(chain.from_iterable(primitives), np.int64).reshape(len(primitives), -1)
    material, start, count, index_start, index_count = table.T[:5]
    positions = game_to_gltf(streams.positions)
    vertices = _vertex_accessors(file, streams, positions)
    index = _index_accessors(file, streams.indices, index_start, index_count, count > RESTART16)
    first: dict[int, int] = {}
    windows_of = enumerate((start << 32 | count).tolist())
    # the primitive that has this one's window first
    opener = np.array([first.setdefault(window, i) for i, window in windows_of])
    is_new = opener == np.arange(len(table))
    # the accessors of a primitive with a new window, then its indices
    last = np.cumsum(is_new * len(vertices) + 1) - 1

    start, count = start[is_new], count[is_new]
    low, high = _window_bounds(positions, start, count)
    windows = [{**accessor, "byteOffset": start * stride, "count": count} for _, stride, accessor in vertices]
    windows[0] |= {"min": low, "max": high}
    if is_new.all():
        texts = json_rows(*windows, index)
    else:
        opened = iter(json_rows(*windows))
        texts = [
            f"{next(opened)},{indices}" if new else indices
            for new, indices in zip(is_new.tolist(), json_rows(index), strict=True)
        ]
    last += file.add_accessors(Text(",".join(texts)), int(last[-1]) + 1)
    at = last[opener] - len(vertices)
    attributes = {name: at + k for k, (name, _, _) in enumerate(vertices)}
    return json_rows({"attributes": attributes, "indices": last, "material": material})


def _vertex_accessors(file: Builder, streams: Streams, positions: F32) -> list[tuple[str, int, Json]]:
    """Add the vertex streams; returns attribute, stride, and what all its accessors have."""
    normals = None if streams.normals is None else game_to_gltf(streams.normals)
    number = {"componentType": int(ComponentType.FLOAT)}
    colour = {"componentType": int(ComponentType.UNSIGNED_BYTE), "normalized": True}
    # glTF numbers texture coordinates without gaps: where there are only the second, the first are zeros
    uv0 = streams.uv0 if streams.uv0 is not None or streams.uv1 is None else np.zeros_like(streams.uv1)
    arrays: list[tuple[str, NDArray[Any] | None, Json]] = [
        ("POSITION", positions, {**number, "type": "VEC3"}),
        ("NORMAL", normals, {**number, "type": "VEC3"}),
        ("TEXCOORD_0", uv0, {**number, "type": "VEC2"}),
        ("TEXCOORD_1", streams.uv1, {**number, "type": "VEC2"}),
        ("COLOR_0", streams.colours, {**colour, "type": "VEC4"}),
    ]
    out = []
    for name, array, accessor in arrays:
        if array is not None:
            stride = array.nbytes // max(1, len(array))
            view = file.add_buffer_view(array, target=Target.ARRAY_BUFFER, stride=stride)
            out.append((name, stride, {"bufferView": view, **accessor}))
    return out


def _index_accessors(file: Builder, indices: NDArray[Any], start: I64, count: I64, wide: Bools) -> Json:
    """Add the indices as uint16, and as uint32 for primitives that need it; returns accessors."""
    target, wides = Target.ELEMENT_ARRAY_BUFFER, np.count_nonzero(wide)
    views = {}
    if wides < wide.size:
        views["<u2"] = file.add_buffer_view(indices.astype("<u2"), target=target)
    if wides:
        views["<u4"] = file.add_buffer_view(indices.astype("<u4"), target=target)
    if len(views) == 2:
        view: Any = np.where(wide, views["<u4"], views["<u2"])
        kind: Any = np.where(wide, ComponentType.UNSIGNED_INT, ComponentType.UNSIGNED_SHORT)
        size: Any = np.where(wide, 4, 2)
    else:
        [view] = views.values()
        kind = int(ComponentType.UNSIGNED_INT if wides else ComponentType.UNSIGNED_SHORT)
        size = 4 if wides else 2
    return {"bufferView": view, "byteOffset": start * size, "componentType": kind, "count": count, "type": "SCALAR"}


def _window_bounds(positions: F32, start: I64, count: I64) -> list[F32]:
    """Exact minima and maxima of every window of vertices, (n, 3) each."""
    ends = np.stack([start, start + count], axis=1).ravel()
    # reduceat wants every bound inside the array; windows are never empty
    padded = np.concatenate([positions, positions[:1]])
    return [f.reduceat(padded, ends)[0::2] for f in (np.minimum, np.maximum)]


def used_windows(streams: Streams, primitives: Sequence[Primitive]) -> tuple[Streams, list[Primitive]]:
    """Return the vertices and indices that some primitives use, and the primitives in them.

    A model's other levels of detail are half of it. What overlaps so much that it would grow is
    returned as it is.

    Args:
        streams: of a whole model.
        primitives: windows into them.
    """
    vertices = _Packed((p.vertex_start, p.vertex_count) for p in primitives)
    indices = _Packed((p.index_start, p.index_count) for p in primitives)
    if vertices.size >= len(streams.positions) or indices.size > len(streams.indices):
        return streams, list(primitives)
    return streams.taken(vertices.rows(), streams.indices[indices.rows()]), [
        p._replace(
            vertex_start=vertices.starts[p.vertex_start, p.vertex_count],
            index_start=indices.starts[p.index_start, p.index_count],
        )
        for p in primitives
    ]


class _Packed:
    """Windows, each once, one after the other. ``starts``: where each begins. ``size``: their sum."""

    def __init__(self, windows: Iterable[tuple[int, int]]) -> None:
        self.starts: dict[tuple[int, int], int] = {}
        self.size = 0
        for window in windows:
            if window not in self.starts:
                self.starts[window] = self.size
                self.size += window[1]

    def rows(self) -> I64:
        """The rows of all windows in that order."""
        windows = np.array([*self.starts], np.int64).reshape(-1, 2)
        return ranges(windows[:, 0], windows[:, 1])


def node_objects(
    scene: Scene, shown: Mapping[int, Part], mesh_of: Mapping[int, int], clip: tuple[float, int] | None
) -> list[Json]:
    """Return the nodes of a model, then its control points; children are numbered from the first node.

    Args:
        shown: the part of each node that has one.
        mesh_of: mesh of the scene -> of the document.
        clip: frames per second and length of the clip in frames; ``None``: there is none.
    """
    if not scene.nodes:
        return []
    places = placed(np.stack([one.translation for one in scene.nodes]), np.stack([one.rotation for one in scene.nodes]))
    out = []
    for i, (node, place) in enumerate(zip(scene.nodes, places, strict=True)):
        part = shown.get(i)
        mesh = None if part is None else mesh_of[part.mesh]
        flags = None if part is None else scene.meshes[part.mesh].common_flags
        out.append(_node_object(node, place, mesh, clip, flags))
    for i, node in enumerate(scene.nodes):
        if node.parent >= 0:
            out[node.parent].setdefault("children", []).append(i)
    for point in scene.points:
        out[point.node].setdefault("children", []).append(len(out))
        out.append(_point_object(point))
    return out


def _node_object(node: Node, place: Json, mesh: int | None, clip: tuple[float, int] | None, flags: int | None) -> Json:
    """A node of a model; ``place``: of :func:`placed`, ``flags``: what all triangles of its mesh have."""
    out: Json = {"name": node.name}
    if mesh is not None:
        out["mesh"] = mesh
    out |= place
    values = NodeExtras()
    if node.index is not None:
        values["node"] = node.index
    if node.flags is not None:
        values["flags"] = node.flags
    if node.label:
        values["label"] = node.label
    if node.animated and clip is not None:
        values["fps"], values["frame_count"] = clip
    if flags:
        values["tri_flags"] = flags
    return {**out, "extras": to_extras(values)} if values else out


def _point_object(point: ControlPoint) -> Json:
    """Return a control point as a node without a mesh."""
    moved = game_to_gltf(np.array(point.position, np.float32)).tolist()
    out: Json = {"name": point.name}
    if any(moved):
        out["translation"] = moved
    turned = rotation_to_gltf(rotation_of(point.direction)).tolist()
    if turned != [0, 0, 0, 1]:
        out["rotation"] = turned
    row, direction = point.row, " ".join(f"{value:.9g}" for value in point.direction)
    values = NodeExtras(kind="point", point=row, index=row, direction=direction, length=length_of(point.direction))
    values["flags"], values["node2"] = point.flags, point.node2
    return {**out, "extras": to_extras(values)}


def mesh_text(mesh: Mesh, primitives: Iterator[str]) -> Text:
    """Return a mesh; takes its primitives, as JSON text, from those of the model."""
    own = ",".join(islice(primitives, len(mesh.primitives)))
    extras = ""
    if mesh.slot is not None:
        values = MeshExtras(slot=mesh.slot, lod=mesh.lod or 0, group=mesh.group or 0)
        extras = f',"extras":{numbers_text(to_extras(values))}'
    return Text(f'{{"name":{quoted(mesh.name)},"primitives":[{own}]{extras}}}')


def placed(translations: NDArray[Any], rotations: F64) -> list[Json]:
    """Return translation and rotation of nodes in glTF axes, float32, without the identity.

    Args:
        translations: (N, 3), game axes.
        rotations: (N, 4), game axes.
    """
    moved = game_to_gltf(translations.astype(np.float32)).tolist()
    turned = rotation_to_gltf(rotations).astype(np.float32).tolist()
    out: list[Json] = []
    for move, turn in zip(moved, turned, strict=True):
        place: Json = {}
        if any(move):
            place["translation"] = move
        if turn != [0.0, 0.0, 0.0, 1.0]:
            place["rotation"] = turn
        out.append(place)
    return out


def terrain_streams(file: Builder, scene: TerrainScene) -> Json:
    """Add the vertex streams of a terrain; returns the attributes of its primitives."""
    out = {
        "POSITION": file.add_vertices(game_to_gltf(scene.positions), bounds=True),
        "NORMAL": file.add_vertices(game_to_gltf(scene.normals)),
        "TEXCOORD_0": file.add_vertices(scene.uv0),
        "TEXCOORD_1": file.add_vertices(scene.micro_uv),
    }
    if scene.blend is not None:
        out["_MSH_BLEND"] = file.add_vertices(scene.blend)
    return out


def add_clip(file: Builder, name: str, moved: Iterable[tuple[int, Sequence[Track]]], fps: float) -> None:
    """Add one animation; channels with the same frames have the same time accessor.

    Args:
        moved: the first node of a model in the document, and the model's tracks. Models that
            have the same tracks have the same samplers.
    """
    samplers: list[Json] = []
    channels: list[Json] = []
    times: dict[bytes, int] = {}
    known: dict[int, int] = {}  # sampler of a channel, by identity
    for base, tracks in moved:
        for track in tracks:
            for path, channel in (("translation", track.translation), ("rotation", track.rotation)):
                if channel is None or not len(channel.frames):
                    continue
                if id(channel) not in known:
                    key = channel.frames.tobytes()
                    if key not in times:
                        seconds = (channel.frames / fps).astype(np.float32)
                        times[key] = file.add_accessor(seconds, bounds=True)
                    known[id(channel)] = len(samplers)
                    output = file.add_accessor(_values(path, channel))
                    samplers.append({"input": times[key], "output": output})
                target = {"node": base + track.node, "path": path}
                channels.append({"sampler": known[id(channel)], "target": target})
    if channels:
        file.animations.append({"name": name, "channels": channels, "samplers": samplers})


def _values(path: str, channel: Channel) -> F32:
    """Values of a channel in glTF axes, float32."""
    if path == "translation":
        return game_to_gltf(channel.values).astype(np.float32)
    return rotation_to_gltf(channel.values).astype(np.float32)
