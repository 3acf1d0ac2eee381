""":class:`~converter.scene.scene.Scene` to glTF 2.0 (``gltf-mapping`` page, Core model).

The document is plain JSON data. Vertex streams become one buffer view each, and a primitive's
accessors are windows into them, so bulk data is converted once per model, not per batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.numeric.axes import game_to_gltf, rotation_to_gltf
from ..converter.scene.appearance import Appearance
from ..converter.scene.decode import part_name, rest_pose
from ..converter.scene.extras import (
    MaterialExtras,
    NodeExtras,
    SceneExtras,
    SourceExtras,
    to_extras,
)
from ..converter.scene.scene import Channel, Material, Node, Part, Primitive, Scene
from .gltf_appearance import Pictures, set_appearance
from .gltf_file import (
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
    Text,
    json_text,
    list_text,
    row_colour,
)

#: What is alike in every primitive's accessors (see ``Text``).
#: The bounds are filled in when all else is.
_BOUNDS = ',"min":[%%r,%%r,%%r],"max":[%%r,%%r,%%r]'
_SLOT = ',"extras":{"msh":{"slot":%d,"lod":%d,"group":%d}}'
_INDICES = '{"bufferView":%d,"byteOffset":%d,"componentType":%d,"count":%d,"type":"SCALAR"}'


@dataclass(frozen=True)
class GltfOptions:
    """What to show and how.

    Attributes:
        fps: frames per second of the clip.
        lod, group: the cell that the default scene shows.
        visible_only: leave out every other cell.
        vertex_ids: add ``_MSH_VID``, the vertex index + 1.
        source: more of scene 0's ``extras.msh``: where the model comes from.
        dress: how the materials look; ``None``: a colour per row.
    """

    fps: float = 24.0
    lod: int = 0
    group: int = 0
    visible_only: bool = False
    vertex_ids: bool = False
    source: SourceExtras = field(default_factory=SourceExtras)
    dress: Appearance | None = None


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
        self.names = {node.name for node in scene.nodes}
        self.gltf_nodes: list[Json] = []

    def document(self) -> Document:
        scene = self.scene
        shown, others = self._cells()
        wanted = {part.mesh for part in [*shown.values(), *(p for _, ps in others for p in ps)]}
        meshes, index_of = self._meshes(sorted(wanted))
        self.gltf_nodes = self._nodes(shown, index_of)
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

        data: Json = {"scene": 0, "scenes": scenes, "nodes": self.gltf_nodes}
        data["meshes"] = list_text(meshes)
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
        values = SceneExtras(
            format=1,
            kind="model",
            fps=options.fps,
            frame_count=scene.frame_count,
            lod=options.lod,
            group=options.group,
        )
        if scene.legacy:
            values["legacy"] = 1
        return to_extras({**values, **options.source})

    def _nodes(self, shown: dict[int, Part], index_of: dict[int, int]) -> list[Json]:
        """The hierarchy."""
        nodes = self.scene.nodes
        if not nodes:
            return []
        placed = _placed(
            np.stack([node.translation for node in nodes]),
            np.stack([node.rotation for node in nodes]),
        )
        return [
            self._node(node, place, shown.get(i), index_of)
            for i, (node, place) in enumerate(zip(nodes, placed, strict=True))
        ]

    def _node(self, node: Node, place: Json, part: Part | None, index_of: dict[int, int]) -> Json:
        out: Json = {"name": node.name}
        if part is not None:
            out["mesh"] = index_of[part.mesh]
        out |= place
        values = NodeExtras()
        if node.index is not None:
            values["node"] = node.index
        if node.flags is not None:
            values["flags"] = node.flags
        if node.label:
            values["label"] = node.label
        if node.animated:
            values["fps"] = self.options.fps
            values["frame_count"] = self.scene.frame_count
        if values:
            out["extras"] = to_extras(values)
        return out

    def _points(self) -> None:
        """Control points, as nodes without a mesh below the nodes they are on."""
        for point in self.scene.points:
            moved = game_to_gltf(np.array(point.position, np.float32)).tolist()
            out: Json = {"name": point.name}
            if any(moved):
                out["translation"] = moved
            direction = " ".join(f"{value:.9g}" for value in point.direction)
            values = NodeExtras(kind="point", point=point.row, direction=direction)
            out["extras"] = to_extras(values)
            self.gltf_nodes[point.node].setdefault("children", []).append(len(self.gltf_nodes))
            self.gltf_nodes.append(out)

    def _part_scene(self, name: str, parts: list[Part], index_of: dict[int, int]) -> Json:
        first = len(self.gltf_nodes)
        for part in parts:
            node = self.scene.nodes[part.node]
            label = part_name(node.name, part.lod, part.group)
            while label in self.names:
                label += f"#{part.node}"
            self.names.add(label)
            values = NodeExtras(node=part.node, lod=part.lod, group=part.group)
            self.gltf_nodes.append(
                {
                    "name": label,
                    "mesh": index_of[part.mesh],
                    **self._placed_at_rest[part.node],
                    "extras": to_extras(values),
                }
            )
        return {"name": name, "nodes": list(range(first, len(self.gltf_nodes)))}

    @cached_property
    def _placed_at_rest(self) -> list[Json]:
        """Every node in model space, at rest."""
        rotations, translations = rest_pose(self.scene)
        return _placed(translations, rotations)

    # -------------------------------------------------------------- meshes

    def _meshes(self, wanted: list[int]) -> tuple[list[Json | Text], dict[int, int]]:
        """Meshes as text, and where each of the scene's is among them."""
        meshes = [self.scene.meshes[i] for i in wanted]
        primitives = [p for mesh in meshes for p in mesh.primitives]
        if not primitives:
            return [], {}
        packed = iter(self._primitives(primitives))
        out: list[Json | Text] = []
        for mesh in meshes:
            text = ",".join(islice(packed, len(mesh.primitives)))
            more = ""
            if mesh.slot is not None:
                more = _SLOT % (mesh.slot, mesh.lod or 0, mesh.group or 0)
            out.append(Text(f'{{"name":{json_text(mesh.name)},"primitives":[{text}]{more}}}'))
        return out, {mesh: i for i, mesh in enumerate(wanted)}

    def _primitives(self, primitives: list[Primitive]) -> list[str]:
        """Primitives as text: windows into the streams, made once each, and their indices."""
        attributes = self._vertex_views()
        table = np.fromiter(chain.from_iterable(primitives), np.int64).reshape(len(primitives), -1)
        material, start, count, index_start, index_count = table.T
        wide = count > RESTART16
        narrow_view, wide_view = self._index_views(wide)
        indices = [
            np.where(wide, wide_view, narrow_view),
            index_start * np.where(wide, 4, 2),
            np.where(wide, UINT, USHORT),
            index_count,
        ]
        _, first, same = np.unique(start << 32 | count, return_index=True, return_inverse=True)
        opener = first[same.reshape(-1)]  # the primitive that has this one's window first
        fresh = opener == np.arange(len(table))
        # accessors: those of a fresh window, then the indices
        number = np.cumsum(fresh * len(attributes) + 1) - 1
        at = number[opener] - len(attributes)

        places = [place for _, stride, _ in attributes for place in (start * stride, count)]
        bounds = _window_bounds(self.positions, start[fresh], count[fresh])
        window = ",".join(text for _, _, text in attributes)
        if fresh.all():
            accessors = _filled(f"{window},{_INDICES}", [*places, *indices])
        else:
            opened = iter(_filled(window, [place[fresh] for place in places]))
            accessors = [
                f"{next(opened)},{index}" if new else index
                for new, index in zip(fresh.tolist(), _filled(_INDICES, indices), strict=True)
            ]
        text = ",".join(accessors) % tuple(bounds.ravel().tolist())
        self.file.accessors(Text(text), int(number[-1]) + 1)
        shown = ",".join(f'"{name}":%d' for name, _, _ in attributes)
        template = f'{{"attributes":{{{shown}}},"indices":%d,"material":%d}}'
        columns = [at + k for k in range(len(attributes))]
        return _filled(template, [*columns, number, material])

    def _vertex_views(self) -> list[tuple[str, int, str]]:
        """Whole vertex streams: attribute, stride, and what an accessor of a window says."""
        streams = self.scene.streams
        self.positions = game_to_gltf(streams.positions)
        normals = None if streams.normals is None else game_to_gltf(streams.normals)
        ids = None
        if self.options.vertex_ids:
            ids = np.arange(1, len(streams.positions) + 1, dtype=np.float32)
        # glTF numbers texture coordinates without gaps
        second = "TEXCOORD_1" if streams.uv0 is not None else "TEXCOORD_0"
        arrays: list[tuple[str, NDArray[Any] | None, Json]] = [
            ("POSITION", self.positions, {"componentType": FLOAT, "type": "VEC3"}),
            ("NORMAL", normals, {"componentType": FLOAT, "type": "VEC3"}),
            ("TEXCOORD_0", streams.uv0, {"componentType": FLOAT, "type": "VEC2"}),
            (second, streams.uv1, {"componentType": FLOAT, "type": "VEC2"}),
            (
                "COLOR_0",
                streams.colours,
                {"componentType": BYTE, "normalized": True, "type": "VEC4"},
            ),
            ("_MSH_VID", ids, {"componentType": FLOAT, "type": "SCALAR"}),
        ]
        out = []
        for name, array, form in arrays:
            if array is not None:
                stride = array.nbytes // max(1, len(array))
                view = self.file.view(array, byteStride=stride, target=ARRAY_BUFFER)
                known = json_text({"bufferView": view, **form})[:-1]
                bounds = _BOUNDS if name == "POSITION" else ""
                out.append((name, stride, f'{known},"byteOffset":%d,"count":%d{bounds}}}'))
        return out

    def _index_views(self, wide: NDArray[np.bool_]) -> tuple[int, int]:
        """Views of the whole index array, u16, and u32 for primitives that need 65,535."""
        indices = self.scene.streams.indices
        views = [-1, -1]
        if not wide.all():
            views[0] = self.file.view(indices.astype("<u2"), target=ELEMENT_ARRAY_BUFFER)
        if wide.any():
            views[1] = self.file.view(indices.astype("<u4"), target=ELEMENT_ARRAY_BUFFER)
        return views[0], views[1]

    def _materials(self) -> Json:
        """Materials, and the pictures that they need, each once."""
        pictures = Pictures(self.file, self.options.dress or Appearance())
        lit = self.scene.streams.uv0 is not None and self.scene.streams.uv1 is not None
        materials = [_material(material, pictures, lit) for material in self.scene.materials]
        return {"materials": materials, **pictures.document()}

    def _paths(self, meshes: list[Json | Text], segments: NDArray[np.float64]) -> int:
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
            {"name": name, "mesh": len(meshes) - 1, "extras": to_extras(NodeExtras(kind="paths"))}
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


def _placed(translations: NDArray[Any], rotations: NDArray[np.float64]) -> list[Json]:
    """Translation and rotation of nodes in glTF axes, float32, without what is the identity.

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


def _filled(template: str, columns: list[NDArray[np.int64]]) -> list[str]:
    """A template filled with each row of some columns of integers, in one step."""
    rows = np.stack(columns, axis=1)
    every = "\n".join([template] * len(rows))
    return (every % tuple(rows.ravel().tolist())).split("\n")


def _window_bounds(
    positions: NDArray[np.float32], start: NDArray[np.int64], count: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Exact bounds of every window of vertices: three minima, three maxima. -> (n, 6)."""
    ends = np.stack([start, start + count], axis=1).ravel()
    # reduceat wants every bound inside the array; windows are never empty
    padded = np.concatenate([positions, positions[:1]])
    both = [f.reduceat(padded, ends)[0::2] for f in (np.minimum, np.maximum)]
    return np.concatenate(both, axis=1)


def _material(material: Material, pictures: Pictures, lit: bool) -> Json:
    """A material as its look says (``gltf-mapping`` page, Materials), else a colour per row.

    Args:
        material: the scene's material.
        pictures: the document's images, and the looks.
        lit: whether the model has lightmap coordinates.
    """
    values = MaterialExtras(
        row=material.row,
        lightmap=material.lightmap,
        batch_flags=material.batch_flags,
        w2=material.w2,
        w4=material.w4,
        w6=material.w6,
    )
    out: Json = {
        "name": material.name,
        "pbrMetallicRoughness": row_colour(material.row),
        "doubleSided": True,
    }
    look, picture = pictures.dress.of(material.row)
    if look is not None and look.step != "missing":
        light = pictures.dress.lightmaps.get(material.lightmap) if lit else None
        set_appearance(out, values, pictures, look, picture, light)
        if light is not None:
            values["light"] = light.name
    out["extras"] = to_extras(values)
    return out
