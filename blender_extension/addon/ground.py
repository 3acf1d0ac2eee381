"""Terrains in Blender: corners that faces share are one vertex, so that the ground does not tear.

The importer merges vertices, but what they differ in, and Blender has per vertex, would be lost:
the blend of the second material (``_MSH_BLEND``). It goes to the faces' corners.
"""

import bpy
import numpy as np

from .converter.scene.terrain import TerrainScene
from .exporters.gltf import NODE_NAMES

BLEND = "_MSH_BLEND"


def split_blend(objects: list[bpy.types.Object], terrain: TerrainScene) -> bool:
    """Give every corner of a face its own blend, in the objects that the importer made.

    Returns:
        Whether the faces are those of the terrain; if not, nothing is changed.
    """
    if terrain.blend is None:
        return True
    work = []
    for one in objects:
        name = one.name.partition(".")[0]
        if one.type != "MESH" or name not in NODE_NAMES or BLEND not in one.data.attributes:
            continue
        rows = [rows for _, rows in terrain.primitives[NODE_NAMES.index(name)]]
        order = terrain.vertex[np.concatenate(rows)].reshape(-1)
        mesh = one.data
        vertex = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", vertex)
        points = np.empty((len(mesh.vertices), 3), np.float32)
        mesh.vertices.foreach_get("co", points.reshape(-1))
        same = len(order) == len(vertex)
        if not (same and np.array_equal(points[vertex], terrain.positions[order] + np.float32(0))):
            return False
        work.append((mesh, terrain.blend[order]))
    for mesh, values in work:
        mesh.attributes.remove(mesh.attributes[BLEND])
        mesh.attributes.new(BLEND, "FLOAT", "CORNER").data.foreach_set("value", values)
    return True
