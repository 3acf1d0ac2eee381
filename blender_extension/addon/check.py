"""*Check Faces*: what the game could not hold of the active mesh, selected while it is edited."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
from numpy.typing import NDArray

from .converter.errors import plural
from .converter.formats.terrain import MOST_VERTICES, Grid
from .language import say
from .stages import about
from .state import guarded

#: Custom property of the scene of a landscape: corner and size of its first square, squares along x and y.
GRID = "msh_grid"
#: Of the squared size of a face's box.
_FLAT = 1e-7


def remember_grid(scene: bpy.types.Scene, grid: Grid) -> None:
    """Keep the squares of a landscape."""
    scene[GRID] = [*grid.low.tolist(), *grid.size.tolist(), float(grid.across), float(grid.down)]


def flat_faces(mesh: bpy.types.Mesh) -> NDArray[np.bool_]:
    """Whether each face has no area."""
    area = np.empty(len(mesh.polygons), np.float32)
    mesh.polygons.foreach_get("area", area)
    ends = _corners(mesh)
    starts = np.empty(len(mesh.polygons), np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    low, high = np.minimum.reduceat(ends, starts), np.maximum.reduceat(ends, starts)
    return area <= _FLAT * ((high - low) ** 2).sum(axis=1)


def crossing_faces(mesh: bpy.types.Mesh, matrix: NDArray[np.float64], grid: Grid) -> NDArray[np.bool_]:
    """Whether each face crosses the border of a landscape's square.

    Args:
        matrix: (4, 4) its place.
        grid: of the landscape.
    """
    points = _corners(mesh) @ matrix[:3, :3].T + matrix[:3, 3]
    starts = np.empty(len(mesh.polygons), np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    counts = np.diff(np.r_[starts, len(points)])
    low, high = (way.reduceat(points, starts)[:, :2] for way in (np.minimum, np.maximum))
    middle = np.add.reduceat(points, starts)[:, :2] / counts[:, None]
    return grid.outside(np.stack([low, high], axis=1), grid.squares_at(middle)).any(axis=(1, 2))


def _corners(mesh: bpy.types.Mesh) -> NDArray[np.float64]:
    vertex, points = np.empty(len(mesh.loops), np.int32), np.empty(3 * len(mesh.vertices), np.float32)
    mesh.loops.foreach_get("vertex_index", vertex)
    mesh.vertices.foreach_get("co", points)
    return points.reshape(-1, 3).astype(np.float64)[vertex]


class MSH_OT_check(bpy.types.Operator):
    """Select the faces that the game cannot hold: without area, or across the border of a landscape's square"""

    bl_idname = "object.msh_check"
    bl_label = "Check Faces"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        """A mesh with faces is active."""
        one = context.object
        return one is not None and one.type == "MESH" and context.mode in ("OBJECT", "EDIT_MESH")

    def execute(self, context):
        """Select them in edit mode, and say how many there are."""
        return guarded(self, lambda: self._check(context))

    def _check(self, context) -> None:
        one = context.object
        if context.mode == "EDIT_MESH":
            bpy.ops.object.mode_set(mode="OBJECT")
        mesh = one.data
        flat = flat_faces(mesh) if len(mesh.polygons) else np.zeros(0, np.bool_)
        across = np.zeros_like(flat)
        if len(flat) and GRID in context.scene and "level" in about(one):
            x, y, wide, high, columns, rows = context.scene[GRID]
            grid = Grid(np.array([x, y]), np.array([wide, high]), int(columns), int(rows))
            across = crossing_faces(mesh, np.array(one.matrix_world, np.float64), grid)
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_mode(type="FACE")
        bpy.ops.mesh.select_all(action="DESELECT")
        shape = bmesh.from_edit_mesh(mesh)
        shape.faces.ensure_lookup_table()
        for row in np.flatnonzero(flat | across).tolist():
            shape.faces[row].select_set(True)
        bmesh.update_edit_mesh(mesh)
        kind = "WARNING" if (flat | across).any() else "INFO"
        say(self, kind, f"{plural(int(flat.sum()), 'face')} without area, {int(across.sum())} across a square's border")
        if len(mesh.vertices) > MOST_VERTICES:
            say(self, "WARNING", f"{len(mesh.vertices):,} vertices, the game holds {MOST_VERTICES:,} at most")


CLASSES = (MSH_OT_check,)
