""":class:`~converter.scene.Scene` to glTF 2.0 (``gltf-mapping`` page, Core model).

The document is plain JSON data. Vertex streams become one buffer view each, and a primitive's
accessors are windows into them, so bulk data is converted once per model, not per batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.axes import game_to_gltf, rotation_to_gltf
from converter.decode import part_name, rest_pose
from converter.looks import Dress
from converter.scene import Channel, Material, Part, Primitive, Scene
from exporters.gltf_file import (
    ARRAY_BUFFER,
    BYTE,
    ELEMENT_ARRAY_BUFFER,
    FLOAT,
    LINES,
    RESTART16,
    UINT,
    USHORT,
    Builder,
    Document,
    Json,
    extras,
    row_colour,
)
from exporters.gltf_looks import Pictures, dress_material


@dataclass(frozen=True)
class GltfOptions:
    """What to show and how.

    Attributes:
        fps: frames per second of the clip.
        lod, group: the cell that the default scene shows.
        visible_only: leave out every other cell.
        vertex_ids: add ``_MSH_VID``, the vertex index + 1.
        extras: more of scene 0's ``extras.msh``: source, digest, dialect, sidecar.
        dress: how the materials look; ``None``: a colour per row.
    """

    fps: float = 24.0
    lod: int = 0
    group: int = 0
    visible_only: bool = False
    vertex_ids: bool = False
    extras: Json = field(default_factory=dict)
    dress: Dress | None = None


def export_gltf(scene: Scene, options: GltfOptions) -> Document:
    """A scene as a glTF document. The same scene gives the same bytes.

    Raises:
        ConversionError: the model outgrows what glTF can hold.
    """
    return _Writer(scene, options).document()


class _Writer:
    """Builds one document; holds what its steps share."""

    def __init__(self, scene: Scene, options: GltfOptions) -> None:
        self.scene = scene
        self.options = options
        self.file = Builder()
        self.windows: dict[tuple[int, int], dict[str, int]] = {}
        self.names = {node.name for node in scene.nodes}
        self.gltf_nodes: list[Json] = []

    def document(self) -> Document:
        scene = self.scene
        shown, others = self._cells()
        wanted = {part.mesh for part in [*shown.values(), *(p for _, ps in others for p in ps)]}
        meshes, index_of = self._meshes(sorted(wanted))
        self.gltf_nodes = [self._node(i, shown.get(i), index_of) for i in range(len(scene.nodes))]
        for i, node in enumerate(scene.nodes):
            if node.parent >= 0:
                self.gltf_nodes[node.parent].setdefault("children", []).append(i)
        self._points()
        roots = [i for i, node in enumerate(scene.nodes) if node.parent < 0]
        if scene.paths is not None:
            roots.append(self._paths(meshes, scene.paths))
        first: Json = {"name": scene.name, "nodes": roots, "extras": self._scene_extras()}
        if not roots:
            del first["nodes"]
        scenes = [first, *(self._part_scene(name, parts, index_of) for name, parts in others)]

        data: Json = {"scene": 0, "scenes": scenes, "nodes": self.gltf_nodes, "meshes": meshes}
        data |= self._materials() if meshes else {}
        data["animations"] = self._animations()
        return self.file.document(data)

    # -------------------------------------------------------------- scenes and nodes

    def _cells(self) -> tuple[dict[int, Part], list[tuple[str, list[Part]]]]:
        """Parts of the default scene by node, and the other scenes by name."""
        here = (self.options.lod, self.options.group)
        shown: dict[int, Part] = {}
        cockpit: list[Part] = []
        others: dict[tuple[int, int], list[Part]] = {}
        for part in self.scene.parts:
            if (part.lod, part.group) != here:
                others.setdefault((part.lod, part.group), []).append(part)
            elif self.scene.nodes[part.node].cockpit:
                cockpit.append(part)
            else:
                shown[part.node] = part
        if self.options.visible_only:
            return shown, []
        named = [(f"lod{lod}.group{group}", others[lod, group]) for lod, group in sorted(others)]
        return shown, [("cockpit", cockpit), *named] if cockpit else named

    def _scene_extras(self) -> Json:
        scene, options = self.scene, self.options
        values: Json = {"format": 1, "kind": "model", "fps": options.fps}
        values["frame_count"] = scene.frame_count
        values |= {"lod": options.lod, "group": options.group}
        if scene.legacy:
            values["legacy"] = 1
        return extras(**values, **options.extras)

    def _node(self, i: int, part: Part | None, index_of: dict[int, int]) -> Json:
        node = self.scene.nodes[i]
        out: Json = {"name": node.name}
        if part is not None:
            out["mesh"] = index_of[part.mesh]
        out |= _placed(node.translation.astype(np.float64), node.rotation)
        values: Json = {}
        if node.index is not None:
            values["node"] = node.index
        if node.flags is not None:
            values["flags"] = node.flags
        if node.label:
            values["label"] = node.label
        if node.animated:
            values |= {"fps": self.options.fps, "frame_count": self.scene.frame_count}
        if values:
            out["extras"] = extras(**values)
        return out

    def _points(self) -> None:
        """Control points, as nodes without a mesh below the nodes they are on."""
        for point in self.scene.points:
            moved = game_to_gltf(np.array(point.position, np.float32)).tolist()
            out: Json = {"name": point.name}
            if any(moved):
                out["translation"] = moved
            direction = " ".join(f"{value:.9g}" for value in point.direction)
            out["extras"] = extras(kind="point", point=point.row, direction=direction)
            self.gltf_nodes[point.node].setdefault("children", []).append(len(self.gltf_nodes))
            self.gltf_nodes.append(out)

    def _part_scene(self, name: str, parts: list[Part], index_of: dict[int, int]) -> Json:
        world_r, world_t = self._rest
        first = len(self.gltf_nodes)
        for part in parts:
            node = self.scene.nodes[part.node]
            label = part_name(node.name, part.lod, part.group)
            while label in self.names:
                label += f"#{part.node}"
            self.names.add(label)
            self.gltf_nodes.append(
                {
                    "name": label,
                    "mesh": index_of[part.mesh],
                    **_placed(world_t[part.node], world_r[part.node]),
                    "extras": extras(node=part.node, lod=part.lod, group=part.group),
                }
            )
        return {"name": name, "nodes": list(range(first, len(self.gltf_nodes)))}

    @property
    def _rest(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not hasattr(self, "_rest_pose"):
            self._rest_pose = rest_pose(self.scene)
        return self._rest_pose

    # -------------------------------------------------------------- meshes

    def _meshes(self, wanted: list[int]) -> tuple[list[Json], dict[int, int]]:
        meshes = [self.scene.meshes[i] for i in wanted]
        primitives = [p for mesh in meshes for p in mesh.primitives]
        if not primitives:
            return [], {}
        attributes = self._vertex_views()
        bounds = _window_bounds(self.positions, primitives)
        views = self._index_views(primitives)
        packed = iter(
            self._primitive(p, attributes, low, high, views)
            for p, low, high in zip(primitives, *bounds, strict=True)
        )
        out = []
        for mesh in meshes:
            data: Json = {"name": mesh.name, "primitives": [next(packed) for _ in mesh.primitives]}
            if mesh.slot is not None:
                data["extras"] = extras(slot=mesh.slot, lod=mesh.lod or 0, group=mesh.group or 0)
            out.append(data)
        return out, {mesh: i for i, mesh in enumerate(wanted)}

    def _vertex_views(self) -> list[tuple[str, int, Json]]:
        """Whole vertex streams: (attribute, stride, accessor without window) each."""
        streams = self.scene.streams
        self.positions = game_to_gltf(streams.positions)
        arrays: list[tuple[str, NDArray[Any] | None, Json]] = [
            ("POSITION", self.positions, {"componentType": FLOAT, "type": "VEC3"}),
            ("NORMAL", None, {"componentType": FLOAT, "type": "VEC3"}),
            ("TEXCOORD_0", streams.uv0, {"componentType": FLOAT, "type": "VEC2"}),
            # glTF numbers texture coordinates without gaps
            (
                "TEXCOORD_1" if streams.uv0 is not None else "TEXCOORD_0",
                streams.uv1,
                {"componentType": FLOAT, "type": "VEC2"},
            ),
            (
                "COLOR_0",
                streams.colours,
                {"componentType": BYTE, "normalized": True, "type": "VEC4"},
            ),
        ]
        if streams.normals is not None:
            arrays[1] = ("NORMAL", game_to_gltf(streams.normals), arrays[1][2])
        if self.options.vertex_ids:
            ids = np.arange(1, len(streams.positions) + 1, dtype=np.float32)
            arrays.append(("_MSH_VID", ids, {"componentType": FLOAT, "type": "SCALAR"}))
        out = []
        for name, array, form in arrays:
            if array is not None:
                stride = array.nbytes // max(1, len(array))
                view = self.file.view(array, byteStride=stride, target=ARRAY_BUFFER)
                out.append((name, stride, {"bufferView": view, **form}))
        return out

    def _index_views(self, primitives: list[Primitive]) -> tuple[int | None, int | None]:
        """Views of the whole index array, u16, and u32 where a primitive needs 65,535."""
        indices = self.scene.streams.indices
        narrow = wide = None
        if any(p.vertex_count <= RESTART16 for p in primitives):
            narrow = self.file.view(indices.astype("<u2"), target=ELEMENT_ARRAY_BUFFER)
        if any(p.vertex_count > RESTART16 for p in primitives):
            wide = self.file.view(indices.astype("<u4"), target=ELEMENT_ARRAY_BUFFER)
        return narrow, wide

    def _primitive(
        self,
        primitive: Primitive,
        attributes: list[tuple[str, int, Json]],
        low: list[float],
        high: list[float],
        views: tuple[int | None, int | None],
    ) -> Json:
        material, start, count, index_start, index_count = primitive
        window = self.windows.get((start, count))
        if window is None:
            window = {}
            for name, stride, form in attributes:
                accessor = {**form, "byteOffset": start * stride, "count": count}
                if name == "POSITION":
                    accessor |= {"min": low, "max": high}
                window[name] = self.file.accessor(accessor)
            self.windows[start, count] = window
        wide = count > RESTART16
        indices = self.file.accessor(
            {
                "bufferView": views[wide],
                "byteOffset": index_start * (4 if wide else 2),
                "componentType": UINT if wide else USHORT,
                "count": index_count,
                "type": "SCALAR",
            }
        )
        return {"attributes": window, "indices": indices, "material": material}

    def _materials(self) -> Json:
        """Materials, and the pictures that they need, each once."""
        pictures = Pictures(self.file, self.options.dress or Dress())
        lit = self.scene.streams.uv0 is not None and self.scene.streams.uv1 is not None
        materials = [_material(material, pictures, lit) for material in self.scene.materials]
        return {"materials": materials, **pictures.document()}

    def _paths(self, meshes: list[Json], segments: NDArray[np.float64]) -> int:
        """The interior path graph as one node of lines; returns the node."""
        points = game_to_gltf(segments.reshape(-1, 3).astype(np.float32))
        accessor = self.file.accessor(
            {
                "bufferView": self.file.view(points, target=ARRAY_BUFFER),
                "componentType": FLOAT,
                "count": len(points),
                "type": "VEC3",
                "min": points.min(0).tolist(),
                "max": points.max(0).tolist(),
            }
        )
        name = "paths"
        while name in self.names:
            name += "#"
        self.names.add(name)
        meshes.append(
            {"name": name, "primitives": [{"attributes": {"POSITION": accessor}, "mode": LINES}]}
        )
        self.gltf_nodes.append(
            {"name": name, "mesh": len(meshes) - 1, "extras": extras(kind="paths")}
        )
        return len(self.gltf_nodes) - 1

    # -------------------------------------------------------------- animation

    def _animations(self) -> list[Json]:
        """One clip; tracks with the same frames share their time accessor."""
        samplers: list[Json] = []
        channels: list[Json] = []
        times: dict[bytes, int] = {}
        for track in self.scene.tracks:
            for path, channel in (
                ("translation", track.translation),
                ("rotation", track.rotation),
            ):
                if channel is None or not len(channel.frames):
                    continue
                key = channel.frames.tobytes()
                if key not in times:
                    times[key] = self._times(channel.frames)
                target = {"node": track.node, "path": path}
                channels.append({"sampler": len(samplers), "target": target})
                samplers.append({"input": times[key], "output": self._output(path, channel)})
        if not channels:
            return []
        return [{"name": self.scene.name, "channels": channels, "samplers": samplers}]

    def _times(self, frames: NDArray[np.float64]) -> int:
        seconds = (frames / self.options.fps).astype(np.float32)
        return self.file.accessor(
            {
                "bufferView": self.file.view(seconds),
                "componentType": FLOAT,
                "count": len(seconds),
                "type": "SCALAR",
                "min": [float(seconds[0])],
                "max": [float(seconds[-1])],
            }
        )

    def _output(self, path: str, channel: Channel) -> int:
        turn = game_to_gltf if path == "translation" else rotation_to_gltf
        values = turn(channel.values).astype(np.float32)
        kind = "VEC3" if path == "translation" else "VEC4"
        form = {"componentType": FLOAT, "count": len(values), "type": kind}
        return self.file.accessor({"bufferView": self.file.view(values), **form})


def _placed(translation: NDArray[Any], rotation: NDArray[np.float64]) -> Json:
    """Translation and rotation in glTF axes, float32, left out where they are the identity."""
    moved = game_to_gltf(translation.astype(np.float32)).tolist()
    turned = rotation_to_gltf(rotation).astype(np.float32).tolist()
    out: Json = {}
    if any(moved):
        out["translation"] = moved
    if turned != [0.0, 0.0, 0.0, 1.0]:
        out["rotation"] = turned
    return out


def _window_bounds(
    positions: NDArray[np.float32], primitives: list[Primitive]
) -> tuple[list[list[float]], list[list[float]]]:
    """Exact minimum and maximum of every primitive's vertex window."""
    bounds = np.empty(2 * len(primitives), np.int64)
    bounds[0::2] = [p.vertex_start for p in primitives]
    bounds[1::2] = bounds[0::2] + [p.vertex_count for p in primitives]
    # reduceat wants every bound inside the array; windows are never empty
    padded = np.concatenate([positions, positions[:1]])
    low: list[list[float]] = np.minimum.reduceat(padded, bounds)[0::2].tolist()
    high: list[list[float]] = np.maximum.reduceat(padded, bounds)[0::2].tolist()
    return low, high


def _material(material: Material, pictures: Pictures, lit: bool) -> Json:
    """A material as its look says (``gltf-mapping`` page, Materials), else a colour per row.

    Args:
        material: the scene's material.
        pictures: the document's images, and the looks.
        lit: whether the model has lightmap coordinates.
    """
    about: dict[str, int | float | str] = {
        "row": material.row,
        "lightmap": material.lightmap,
        "batch_flags": material.batch_flags,
        "w2": material.w2,
        "w4": material.w4,
        "w6": material.w6,
    }
    out: Json = {
        "name": material.name,
        "pbrMetallicRoughness": row_colour(material.row),
        "doubleSided": True,
    }
    look, picture = pictures.dress.of(material.row)
    if look is not None and look.step != "missing":
        light = pictures.dress.lightmaps.get(material.lightmap) if lit else None
        about |= dress_material(out, pictures, look, picture, light)
        if light is not None:
            about["light"] = light.name
    out["extras"] = extras(**about)
    return out
