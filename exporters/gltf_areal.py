"""An areal map as glTF 2.0 (``docs/reference/gltf.md``, An areal map)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.areal_map import ArealMap
from ..converter.formats.gltf import Json, Mode
from ..converter.numeric.axes import game_to_gltf
from ..converter.numeric.triangulate import triangulate
from ..converter.scene.extras import MaterialExtras, NodeExtras, SceneExtras, SourceExtras, to_extras
from .gltf_file import Builder, Document, row_colour


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
