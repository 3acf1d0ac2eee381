"""A model, a terrain, an areal map, a unit and a mission as glTF 2.0 (``docs/reference/gltf.md``).

Of a unit or a mission, a model's meshes, materials and textures are in the document once; each placement has nodes of
its own, which use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..converter.formats.areal_map import ArealMap
from ..converter.formats.gltf import Json, Mode
from ..converter.formats.terrain import COARSE, FINE, LEVELS
from ..converter.numeric.arrays import F32, F64, I64
from ..converter.numeric.pose import game_to_gltf
from ..converter.numeric.surfaces import triangulate
from ..converter.options import ExportOptions
from ..converter.scene.appearance import Appearance
from ..converter.scene.companions import PlayedRange, cut_tracks, range_name
from ..converter.scene.decode import TerrainScene, closed_sides, rest_pose, unique_label
from ..converter.scene.dialect import scene_name
from ..converter.scene.extras import MaterialExtras, MeshExtras, NodeExtras, SceneExtras, SourceExtras, to_extras
from ..converter.scene.scene import Part, Scene
from .gltf_file import Builder, Document, json_text, row_colour
from .gltf_materials import Pictures, material_object, terrain_material
from .gltf_nodes import add_clip, add_primitives, mesh_text, node_objects, placed, terrain_streams, used_windows

if TYPE_CHECKING:
    from ..converter.scene.assembly import AssembledModel, Assembly, Marker, Placement, Pose


def export_gltf(
    scene: Scene,
    options: ExportOptions,
    source: SourceExtras | None = None,
    appearance: Appearance | None = None,
    ranges: Sequence[PlayedRange] = (),
) -> Document:
    """Return a scene as a glTF document. The same scene gives the same bytes.

    Args:
        source: more of scene 0's ``extras.msh``: where the model comes from.
        appearance: of the materials; ``None``: a colour per row.
        ranges: of the clip, each to be an animation of its own, too.

    Raises ConversionError: the model outgrows what glTF can hold.
    """
    return _Writer(scene, options, appearance).document(source or SourceExtras(), ranges)


class _Writer:
    """Builds one document; holds what its steps have in common."""

    def __init__(self, scene: Scene, options: ExportOptions, appearance: Appearance | None) -> None:
        self.scene = scene
        self.options, self.appearance = options, appearance or Appearance()
        self.file = Builder()
        self.names = {node.name for node in scene.nodes}
        self.mesh_of: dict[int, int] = {}  # mesh of the scene -> of the file

    def document(self, source: SourceExtras, ranges: Sequence[PlayedRange]) -> Document:
        scene, file = self.scene, self.file
        shown, others = self._cells()
        parts = [*shown.values(), *(part for _, parts in others for part in parts)]
        self._add_meshes(sorted({part.mesh for part in parts}))
        for node in node_objects(scene, shown, self.mesh_of, (self.options.fps, scene.frame_count)):
            file.add_node(node)
        roots = [i for i, node in enumerate(scene.nodes) if node.parent < 0]
        if scene.paths is not None:
            roots.append(self._add_paths(scene.paths))
        first: Json = {"name": scene.name, **({"nodes": roots} if roots else {})}
        file.scenes = [{**first, "extras": self._scene_extras(source)}]
        for name, parts in others:
            file.scenes.append({"name": name, "nodes": [self._add_part(part) for part in parts]})
        if file.meshes:
            self._add_materials()
        add_clip(file, scene.name, [(0, scene.tracks)], self.options.fps)
        for one in ranges:
            add_clip(file, one.name, [(0, cut_tracks(scene.tracks, one.range.first, one.range.last))], self.options.fps)
        return file.document()

    def _cells(self) -> tuple[dict[int, Part], list[tuple[str, list[Part]]]]:
        """Parts of the default scene by node, and of the other scenes by name."""
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
        named = [(scene_name(*cell, self.scene.dialect), others[cell]) for cell in sorted(others)]
        return shown, [("cockpit", cockpit), *named] if cockpit else named

    def _scene_extras(self, source: SourceExtras) -> Json:
        scene, options = self.scene, self.options
        values = SceneExtras(
            format=1, kind="model", fps=options.fps, frame_count=scene.frame_count, lod=options.lod, group=options.group
        )
        if scene.legacy:
            values["legacy"] = 1
        return to_extras({**values, **source})

    def _add_part(self, part: Part) -> int:
        """A part outside the default scene, as a node of its own."""
        name = f"{self.scene.nodes[part.node].name}.{scene_name(part.lod, part.group, self.scene.dialect)}"
        values = NodeExtras(node=part.node, lod=part.lod, group=part.group)
        if flags := self.scene.meshes[part.mesh].common_flags:
            values["tri_flags"] = flags
        out: Json = {"name": self._unique(name, f"#{part.node}"), "mesh": self.mesh_of[part.mesh]}
        return self.file.add_node({**out, **self._placed_at_rest[part.node], "extras": to_extras(values)})

    def _unique(self, name: str, suffix: str) -> str:
        while name in self.names:
            name += suffix
        self.names.add(name)
        return name

    @cached_property
    def _placed_at_rest(self) -> list[Json]:
        """Every node in model space, at rest."""
        rotations, translations = rest_pose(self.scene)
        return placed(translations, rotations)

    def _add_paths(self, segments: F64) -> int:
        """The interior path graph as one node of lines; returns the node."""
        name = self._unique("paths", "#")
        mesh = _add_lines(self.file, name, segments.reshape(-1, 3).astype(np.float32))
        return self.file.add_node({"name": name, "mesh": mesh, "extras": to_extras(NodeExtras(kind="paths"))})

    def _add_meshes(self, wanted: Sequence[int]) -> None:
        """Meshes of the scene by their indices."""
        scene = self.scene
        primitives = [p for i in wanted for p in scene.meshes[i].primitives]
        if not primitives:
            return
        texts = iter(add_primitives(self.file, scene.streams, primitives))
        for i in wanted:
            self.mesh_of[i] = self.file.add_mesh(mesh_text(scene.meshes[i], texts))

    def _add_materials(self) -> None:
        """Materials, and the pictures that they need, each once."""
        pictures = Pictures(self.file, self.appearance)
        lit = self.scene.streams.uv1 is not None
        for material in self.scene.materials:
            self.file.add_material(material_object(material, pictures, lit))


def _add_lines(file: Builder, name: str, points: F32, ends: I64 | None = None) -> int:
    """Add a mesh of lines between each two points, or between those with the numbers ``ends``; returns it."""
    lines: Json = {"attributes": {"POSITION": file.add_vertices(game_to_gltf(points), bounds=True)}}
    if ends is not None:
        lines["indices"] = file.add_indices(ends, len(points))
    lines["mode"] = Mode.LINES
    return file.add_mesh({"name": name, "primitives": [lines]})


#: Names of the nodes and meshes of the two levels.
NODE_NAMES = ("terrain", "coarse")


def export_terrain(
    scene: TerrainScene, source: SourceExtras, appearance: Appearance | None = None, *, visible_only: bool = False
) -> Document:
    """A terrain as a glTF document: scene 0 the fine level, scene ``coarse`` the other.

    All primitives use the same vertex streams; each has indices of its own.

    Args:
        appearance: of the materials; ``None``: a colour per pair.
        visible_only: leave the coarse level out.
    """
    file = Builder()
    levels = (FINE,) if visible_only else (FINE, COARSE)
    nodes = add_levels(file, scene, Pictures(file, appearance or Appearance()), levels)
    for level in levels:
        out: Json = {"name": scene.name if level == FINE else LEVELS[COARSE]}
        if level == FINE:
            values = SceneExtras(format=1, kind="terrain")
            out["extras"] = to_extras({**values, **source})
        if level in nodes:
            out["nodes"] = [nodes[level]]
        file.scenes.append(out)
    return file.document()


def add_levels(file: Builder, scene: TerrainScene, pictures: Pictures, levels: Sequence[int]) -> dict[int, int]:
    """Add a node for each level of a terrain that has triangles, their meshes and materials.

    Args:
        pictures: the document's textures, and the appearance of the terrain's rows.
        levels: ``FINE``, ``COARSE`` or both.

    Returns:
        The node of each level in the document.
    """
    attributes: Json = {}
    nodes: dict[int, int] = {}
    first = len(file.materials)
    for level in levels:
        if not scene.primitives[level]:
            continue
        attributes = attributes or terrain_streams(file, scene)
        primitives = [
            {
                "attributes": attributes,
                "indices": file.add_indices(scene.vertex[rows].reshape(-1), len(scene.positions)),
                "material": first + material,
            }
            for material, rows in scene.primitives[level]
        ]
        name, extras = NODE_NAMES[level], to_extras(MeshExtras(level=level))
        mesh = file.add_mesh({"name": name, "primitives": primitives, "extras": extras})
        extras = to_extras(NodeExtras(level=level))
        nodes[level] = file.add_node({"name": name, "mesh": mesh, "extras": extras})
    if nodes:
        for pair in scene.material_pairs:
            file.add_material(terrain_material(pair, pictures))
    return nodes


def export_areal_map(areals: ArealMap, name: str, source: SourceExtras) -> Document:
    """Return an areal map: a node and a colour for each class, and the borders as lines."""
    file = Builder()
    start = areals.vertex_start
    corners = triangulate(areals.vertices[:, :2].astype(np.float64), start)
    classes, logic = areals.records["class_id"], areals.records["logic"].astype(np.float32)
    class_of = np.repeat(classes, np.maximum(np.diff(start) - 2, 0))
    positions, normals = game_to_gltf(areals.vertices), game_to_gltf(_normals(areals))
    place = np.empty(len(positions), np.int64)
    for number in np.unique(classes).tolist():
        shown = corners[class_of == number]
        if not shown.size:
            continue
        is_used = np.zeros(len(positions), np.bool_)
        is_used[shown] = True
        used = np.flatnonzero(is_used)
        place[used] = np.arange(len(used))
        areal = areals.owner[used]
        label, extras = f"class_{number}", to_extras(MaterialExtras(class_id=number))
        primitive = {
            "attributes": {
                "POSITION": file.add_vertices(positions[used], bounds=True),
                "NORMAL": file.add_vertices(normals[areal]),
                "_MSH_AREAL": file.add_vertices((areal + 1).astype(np.float32)),
                "_MSH_LOGIC": file.add_vertices(logic[areal]),
            },
            "indices": file.add_indices(place[shown].reshape(-1), len(used)),
            "material": file.add_material(
                {"name": label, "pbrMetallicRoughness": row_colour(number), "doubleSided": True, "extras": extras}
            ),
        }
        mesh = file.add_mesh({"name": label, "primitives": [primitive]})
        extras = to_extras(NodeExtras(class_id=number))
        file.add_node({"name": label, "mesh": mesh, "extras": extras})
    border = _borders(areals)
    if len(border):
        mesh = _add_lines(file, "borders", border.reshape(-1, 3))
        extras = to_extras(NodeExtras(kind="borders"))
        file.add_node({"name": "borders", "mesh": mesh, "extras": extras})
    values = SceneExtras(format=1, kind="areal_map", cells_x=areals.cells_x, cells_y=areals.cells_y)
    nodes = {"nodes": list(range(len(file.nodes)))} if file.nodes else {}
    file.scenes.append({"name": name, "extras": to_extras({**values, **source}), **nodes})
    return file.document()


def _normals(areals: ArealMap) -> F32:
    """The areals' normals, unit in float32. (N, 3)."""
    exact = areals.records["normal"].astype(np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    up = np.array([0.0, 0.0, 1.0])
    return np.where(length > 0, exact / np.maximum(length, 1e-30), up).astype(np.float32)


def _borders(areals: ArealMap) -> F32:
    """Edges without a neighbour, (B, 2, 3)."""
    open_ = np.flatnonzero(areals.is_border)
    return areals.vertices[np.stack([open_, areals.following[open_]], axis=1)]


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

    Raises ConversionError: a model outgrows what glTF can hold.
    """
    return _AssemblyWriter(assembly, options, clips, up).document(about or SceneExtras())


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


class _AssemblyWriter:
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
        shown = {part.node: part for part in scene.shown(options.lod, options.group)}
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
        lit = model.scene.streams.uv1 is not None
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
            sides = closed_sides(len(marker.outline)).reshape(-1)
            out["mesh"] = _add_lines(self.file, out["name"], marker.outline, sides)
        return self.file.add_node(out)

    def _node(self, name: str, pose: Pose) -> Json:
        """A node at a place, without what is the identity."""
        out: Json = {"name": unique_label(name, self.taken), **placed(pose.translation[None], pose.rotation[None])[0]}
        x, y, z = pose.scale.astype(np.float32).tolist()
        if (x, y, z) != (1.0, 1.0, 1.0):
            out["scale"] = [x, z, y]
        return out
