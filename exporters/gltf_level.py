"""A terrain and an areal map as glTF 2.0 (``docs/reference/gltf.md``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.areal_map import ArealMap
from ..converter.formats.gltf import Json, Mode
from ..converter.formats.terrain import COARSE, FINE, LEVELS, NO_MATERIAL
from ..converter.numeric.axes import game_to_gltf
from ..converter.numeric.polygons import triangulate
from ..converter.scene.appearance import Appearance
from ..converter.scene.extras import MaterialExtras, MeshExtras, NodeExtras, SceneExtras, SourceExtras, to_extras
from ..converter.scene.terrain import MaterialPair, TerrainScene
from .gltf_file import Builder, Document, row_colour
from .gltf_nodes import Pictures, set_appearance

#: Names of the nodes and meshes of the two levels.
NODE_NAMES = ("terrain", "coarse")


def export_terrain(
    scene: TerrainScene, source: SourceExtras, appearance: Appearance | None = None, *, visible_only: bool = False
) -> Document:
    """A terrain as a glTF document: scene 0 the fine level, scene ``coarse`` the other.

    All primitives use the same vertex streams; each has indices of its own.

    Args:
        scene: what to show.
        source: more of scene 0's ``extras.msh``: where the terrain comes from.
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
        file: the document.
        scene: the terrain.
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
    """Return an areal map: a node and a colour for each class, and the borders as lines.

    Args:
        areals: the map.
        name: of the scene.
        source: more of scene 0's ``extras.msh``: where the map comes from.
    """
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


def _normals(areals: ArealMap) -> NDArray[np.float32]:
    """The areals' normals, unit in float32. (N, 3)."""
    exact = areals.records["normal"].astype(np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    up = np.array([0.0, 0.0, 1.0])
    return np.where(length > 0, exact / np.maximum(length, 1e-30), up).astype(np.float32)


def _borders(areals: ArealMap) -> NDArray[np.float32]:
    """Edges without a neighbour, (B, 2, 3)."""
    count = np.diff(areals.vertex_start)
    following = np.arange(len(areals.vertices)) + 1
    last = areals.vertex_start[1:] - 1
    following[last[count > 0]] = areals.vertex_start[:-1][count > 0]
    open_ = np.flatnonzero((areals.links["areal"] == -1) & (areals.links["edge"] == -1))
    return np.stack([areals.vertices[open_], areals.vertices[following[open_]]], axis=1)
