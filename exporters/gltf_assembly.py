"""A unit or a mission as glTF 2.0 (``docs/reference/gltf.md``, Units and missions).

A model's meshes, materials and textures are in the document once; each placement has nodes of its
own, which use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..converter.formats.gltf import Json, Mode
from ..converter.formats.terrain import FINE
from ..converter.numeric.arrays import I64, ranges
from ..converter.numeric.pose import game_to_gltf, rotation_to_gltf
from ..converter.options import ExportOptions
from ..converter.scene.appearance import Appearance
from ..converter.scene.assembly import AssembledModel, Assembly, Marker, Placement, Pose, closed_sides, unique_label
from ..converter.scene.controller import cut_tracks, range_name
from ..converter.scene.extras import SceneExtras, SourceExtras, to_extras
from ..converter.scene.scene import Part, Primitive, Scene, Streams
from .gltf import add_levels
from .gltf_file import Builder, Document, json_text
from .gltf_nodes import Pictures, add_clip, add_primitives, material_object, mesh_text, node_objects


def export_assembly(
    assembly: Assembly,
    options: ExportOptions,
    about: SourceExtras | SceneExtras | None = None,
    *,
    clips: bool = True,
    up: str | None = None,
) -> Document:
    """Return an assembly as a glTF document. The same assembly gives the same bytes.

    Args:
        options: what to show: a cell of each model, and a clip for each range that a controller plays.
        about: more of scene 0's ``extras.msh``: what it is, where it comes from.
        clips: whether there is a clip.
        up: see :class:`~converter.scene.appearance.Appearance`.

    Raises:
        ConversionError: a model outgrows what glTF can hold.
    """
    return _Writer(assembly, options, clips, up).document(about or SceneExtras())


@dataclass
class _Template:
    """The nodes of a model as every copy of it has them.

    Attributes:
        nodes: its nodes and control points; children are numbered from the first node.
        roots: those without a parent.
        played: what its controller plays.
    """

    scene: Scene
    nodes: list[Json]
    roots: list[int]
    played: SourceExtras


class _Writer:
    """Builds one document; holds what its steps have in common."""

    def __init__(self, assembly: Assembly, options: ExportOptions, clips: bool, up: str | None) -> None:
        self.assembly = assembly
        self.options, self.clips, self.up = options, clips, up
        self.file = Builder()
        self.taken: dict[str, int] = {}
        self.pictures = Pictures(self.file, Appearance())
        self.materials: dict[str, int] = {}

    def document(self, about: SourceExtras | SceneExtras) -> Document:
        assembly, options, file = self.assembly, self.options, self.file
        roots = self._add_terrain()
        templates = [self._template(model) for model in assembly.models]
        own: list[int] = []  # node of each placement
        moved: list[tuple[int, int]] = []  # first node and model of each placement
        for placement in assembly.placements:
            template = None if placement.model is None else templates[placement.model]
            number = self._add_placement(placement, template)
            if placement.parent < 0:
                roots.append(number)
            else:
                above = own[placement.parent]
                socket = 0 if placement.socket is None else 1 + placement.socket
                file.nodes[above + socket].setdefault("children", []).append(number)
            own.append(number)
            if placement.model is not None and self.clips:
                moved.append((number + 1, placement.model))
        add_clip(file, assembly.name, [(base, templates[row].scene.tracks) for base, row in moved], options.fps)
        ranges = self._add_ranges(moved) if options.clips == "states" else []
        first: Json = {"name": assembly.name, **({"nodes": roots} if roots else {})}
        file.scenes = [{**first, "extras": self._scene_extras(ranges, about)}]
        for name, markers in assembly.markers.items():
            nodes = [self._add_marker(marker) for marker in markers]
            file.scenes.append({"name": name, **({"nodes": nodes} if nodes else {})})
        return file.document()

    def _add_ranges(self, moved: Sequence[tuple[int, int]]) -> list[str]:
        """Add an animation for each range of the clip of a model, of all its placements; returns their names."""
        names: list[str] = []
        taken: dict[str, int] = {}
        for row, model in enumerate(self.assembly.models):
            bases = [base for base, placed_row in moved if placed_row == row]
            if not (bases and model.ranges):
                continue
            of = unique_label(model.scene.name, taken)
            for one in model.ranges:
                tracks = cut_tracks(model.scene.tracks, one.range.first, one.range.last)
                names.append(range_name(of, one))
                add_clip(self.file, names[-1], [(base, tracks) for base in bases], self.options.fps)
        return names

    def _scene_extras(self, ranges: Sequence[str], about: SourceExtras | SceneExtras) -> Json:
        options = self.options
        values = SceneExtras(format=1, lod=options.lod, group=options.group)
        if self.clips:
            values["fps"] = options.fps
            lengths = [model.scene.frame_count for model in self.assembly.models]
            values["frame_count"] = max(lengths, default=1)
        if ranges:
            values["range_clips"] = "\n".join(ranges)
        return to_extras({**values, **about})

    def _add_terrain(self) -> list[int]:
        if self.assembly.terrain is None:
            return []
        scene, appearance = self.assembly.terrain
        nodes = add_levels(self.file, scene, self._pictures(appearance), (FINE,))
        for number in nodes.values():
            unique_label(self.file.nodes[number]["name"], self.taken)
        return [*nodes.values()]

    def _pictures(self, appearance: Appearance | None) -> Pictures:
        """The textures of the document for the materials of a model."""
        shown = Appearance() if appearance is None else appearance
        return self.pictures.of(replace(shown, up=self.up))

    # -------------------------------------------------------------- models

    def _template(self, model: AssembledModel) -> _Template:
        """Add the meshes and materials of a model."""
        scene, options = model.scene, self.options
        here = options.lod, options.group
        shown: dict[int, Part] = {
            part.node: part
            for part in scene.parts
            if (part.lod, part.group) == here and not scene.nodes[part.node].cockpit
        }
        mesh_of = self._add_meshes(model, sorted({part.mesh for part in shown.values()}))
        clip = (options.fps, scene.frame_count) if self.clips else None
        roots = [i for i, node in enumerate(scene.nodes) if node.parent < 0]
        return _Template(scene, node_objects(scene, shown, mesh_of, clip), roots, model.played)

    def _add_meshes(self, model: AssembledModel, wanted: Sequence[int]) -> dict[int, int]:
        """Add meshes of a scene with their materials; returns their numbers in the document."""
        scene = model.scene
        primitives = [p for i in wanted for p in scene.meshes[i].primitives]
        if not primitives:
            return {}
        streams = scene.streams
        material = self._add_materials(model, sorted({p.material for p in primitives}))
        primitives = [p._replace(material=material[p.material]) for p in primitives]
        texts = iter(add_primitives(self.file, *used_windows(streams, primitives)))
        return {i: self.file.add_mesh(mesh_text(scene.meshes[i], texts)) for i in wanted}

    def _add_materials(self, model: AssembledModel, wanted: Sequence[int]) -> dict[int, int]:
        """Add materials of a scene that the document does not have yet; returns their numbers."""
        streams = model.scene.streams
        lit = streams.uv0 is not None and streams.uv1 is not None
        pictures = self._pictures(model.appearance)
        numbers = {}
        for i in wanted:
            out = material_object(model.scene.materials[i], pictures, lit)
            text = json_text(out)
            if text not in self.materials:
                self.materials[text] = self.file.add_material(out)
            numbers[i] = self.materials[text]
        return numbers

    # -------------------------------------------------------------- nodes

    def _add_placement(self, placement: Placement, template: _Template | None) -> int:
        """Add a placement's own node, then those of its model; returns the first."""
        out = self._node(placement.name, placement.pose)
        if extras := {**placement.extras, **(template.played if template else {})}:
            out["extras"] = to_extras(extras)
        number = self.file.add_node(out)
        if template is None:
            return number
        base = number + 1
        if template.roots:
            out["children"] = [base + root for root in template.roots]
        for node in template.nodes:
            copy = {**node, "name": unique_label(node["name"], self.taken)}
            if "children" in node:
                copy["children"] = [base + child for child in node["children"]]
            self.file.add_node(copy)
        return number

    def _add_marker(self, marker: Marker) -> int:
        out = self._node(marker.name, marker.pose)
        out["extras"] = to_extras(marker.extras)
        if marker.outline is not None and len(marker.outline) > 1:
            count = len(marker.outline)
            position = self.file.add_vertices(game_to_gltf(marker.outline), bounds=True)
            indices = self.file.add_indices(closed_sides(count).reshape(-1), count)
            lines = {"attributes": {"POSITION": position}, "indices": indices, "mode": Mode.LINES}
            out["mesh"] = self.file.add_mesh({"name": out["name"], "primitives": [lines]})
        return self.file.add_node(out)

    def _node(self, name: str, pose: Pose) -> Json:
        """A node at a place, without what is the identity."""
        out: Json = {"name": unique_label(name, self.taken)}
        moved = game_to_gltf(pose.translation).astype(np.float32).tolist()
        turned = rotation_to_gltf(pose.rotation).astype(np.float32).tolist()
        x, y, z = pose.scale.astype(np.float32).tolist()
        if any(moved):
            out["translation"] = moved
        if turned != [0.0, 0.0, 0.0, 1.0]:
            out["rotation"] = turned
        if (x, y, z) != (1.0, 1.0, 1.0):
            out["scale"] = [x, z, y]
        return out


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
