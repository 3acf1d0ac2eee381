"""A model's scene, a terrain and an areal map as glTF 2.0 (``docs/reference/gltf.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..converter.formats.areal_map import ArealMap
from ..converter.formats.gltf import Json, Mode
from ..converter.formats.terrain import COARSE, FINE, LEVELS, NO_MATERIAL
from ..converter.numeric.arrays import F32, F64, triangulate
from ..converter.numeric.pose import game_to_gltf
from ..converter.options import ExportOptions
from ..converter.scene.appearance import Appearance
from ..converter.scene.controller import PlayedRange, cut_tracks
from ..converter.scene.decode import rest_pose
from ..converter.scene.dialect import scene_name
from ..converter.scene.extras import MaterialExtras, MeshExtras, NodeExtras, SceneExtras, SourceExtras, to_extras
from ..converter.scene.landscape import MaterialPair, TerrainScene
from ..converter.scene.scene import Part, Scene
from .gltf_file import Builder, Document, row_colour
from .gltf_nodes import (
    Pictures,
    add_clip,
    add_primitives,
    material_object,
    mesh_text,
    node_objects,
    placed,
    set_appearance,
)


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

    Raises:
        ConversionError: the model outgrows what glTF can hold.
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
        first: Json = {"name": scene.name}
        if roots:
            first["nodes"] = roots
        file.scenes = [{**first, "extras": self._scene_extras(source)}]
        for name, parts in others:
            nodes = [self._add_part(part) for part in parts]
            file.scenes.append({"name": name, "nodes": nodes})
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
        return self.file.add_node(
            {
                "name": self._unique(name, f"#{part.node}"),
                "mesh": self.mesh_of[part.mesh],
                **self._placed_at_rest[part.node],
                "extras": to_extras(values),
            }
        )

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
        points = game_to_gltf(segments.reshape(-1, 3).astype(np.float32))
        position = self.file.add_vertices(points, bounds=True)
        name = self._unique("paths", "#")
        lines = {"attributes": {"POSITION": position}, "mode": Mode.LINES}
        mesh = self.file.add_mesh({"name": name, "primitives": [lines]})
        about = to_extras(NodeExtras(kind="paths"))
        return self.file.add_node({"name": name, "mesh": mesh, "extras": about})

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
        streams = self.scene.streams
        lit = streams.uv0 is not None and streams.uv1 is not None
        for material in self.scene.materials:
            self.file.add_material(material_object(material, pictures, lit))


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
        attributes = attributes or _attributes(file, scene)
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
            file.add_material(_material(pair, pictures))
    return nodes


def _attributes(file: Builder, scene: TerrainScene) -> Json:
    out = {
        "POSITION": file.add_vertices(game_to_gltf(scene.positions), bounds=True),
        "NORMAL": file.add_vertices(game_to_gltf(scene.normals)),
        "TEXCOORD_0": file.add_vertices(scene.uv0),
        "TEXCOORD_1": file.add_vertices(scene.micro_uv),
    }
    if scene.blend is not None:
        out["_MSH_BLEND"] = file.add_vertices(scene.blend)
    return out


def _material(pair: MaterialPair, pictures: Pictures) -> Json:
    """The first material; where there is a second, both textures in one (decision 0019)."""
    values = MaterialExtras(first=pair.first, second=pair.second, microtexture=pair.micro)
    if pair.second != NO_MATERIAL:
        values["microtexture2"] = pair.micro2
    out: Json = {
        "name": pair.name,
        "pbrMetallicRoughness": row_colour(
            pair.first if pair.second == NO_MATERIAL else 31 * pair.first + pair.second + 7
        ),
        "doubleSided": True,
    }
    shown, picture = pictures.appearance.of(pair.first)
    if shown is not None and shown.step != "missing":
        both = pictures.appearance.mixed.get((pair.first, pair.second), picture)
        set_appearance(out, values, shown, both, pictures=pictures)
    out["extras"] = to_extras(values)
    return out


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
        ends = file.add_vertices(game_to_gltf(border.reshape(-1, 3)), bounds=True)
        lines = {"attributes": {"POSITION": ends}, "mode": Mode.LINES}
        mesh = file.add_mesh({"name": "borders", "primitives": [lines]})
        extras = to_extras(NodeExtras(kind="borders"))
        file.add_node({"name": "borders", "mesh": mesh, "extras": extras})
    values = SceneExtras(format=1, kind="areal_map", cells_x=areals.cells_x, cells_y=areals.cells_y)
    scene: Json = {"name": name, "extras": to_extras({**values, **source})}
    if file.nodes:
        scene["nodes"] = list(range(len(file.nodes)))
    file.scenes.append(scene)
    return file.document()


def _normals(areals: ArealMap) -> F32:
    """The areals' normals, unit in float32. (N, 3)."""
    exact = areals.records["normal"].astype(np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    up = np.array([0.0, 0.0, 1.0])
    return np.where(length > 0, exact / np.maximum(length, 1e-30), up).astype(np.float32)


def _borders(areals: ArealMap) -> F32:
    """Edges without a neighbour, (B, 2, 3)."""
    count = np.diff(areals.vertex_start)
    following = np.arange(len(areals.vertices)) + 1
    last = areals.vertex_start[1:] - 1
    following[last[count > 0]] = areals.vertex_start[:-1][count > 0]
    open_ = np.flatnonzero((areals.links["areal"] == -1) & (areals.links["edge"] == -1))
    return np.stack([areals.vertices[open_], areals.vertices[following[open_]]], axis=1)
