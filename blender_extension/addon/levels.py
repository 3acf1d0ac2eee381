"""*Generate Levels*: coarser levels of detail of a model's parts, as objects below their nodes."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.props import FloatProperty, IntProperty

from .converter.errors import ConversionError, plural
from .converter.findings import Report
from .converter.formats.tables import LOD_COUNT
from .converter.rebuild.lods import generate_lods, level_of
from .converter.scene.dialect import VIEW, Dialect
from .converter.scene.scene import Node, Part, Scene
from .from_blender import read_parts
from .language import say
from .seen import MODEL
from .stages import about, cell_of, dialect_of
from .state import clear_report, guarded, show_warnings
from .to_blender import new_mesh
from .wording import in_blender


def make_levels(context: bpy.types.Context, ratios: tuple[float, ...], limit: float) -> Report:
    """Make levels 1, 2, ... of the selected parts, or of all where none is; those that are there stay.

    Args:
        context: Blender's, in object mode.
        ratios: of triangles to those of level 0, for each level.
        limit: largest distance of a level from its part, as a ratio of the diagonal of the part's box.

    Returns:
        What is stated of each.

    Raises:
        ConversionError: no part is without levels, or the dialect has fewer of them.
    """
    scene, report = context.scene, Report()
    dialect = dialect_of(scene)
    most = VIEW - 1 if dialect is Dialect.RETAIL else LOD_COUNT - 1
    if len(ratios) > most:
        raise ConversionError(f"a model of dialect {dialect.value} has {most} levels beside the first one")
    given, looks = read_parts(context)
    rows = {node.name: row for row, node in enumerate(given.nodes)}
    owners, parts = _parts(scene, rows, [node.mesh for node in given.nodes])
    chosen = {one: part for one, part in parts.items() if level_of(part, dialect) == 0}
    chosen = {one: part for one, part in chosen.items() if one.select_get()} or chosen
    work = Scene(scene.name, given.streams, meshes=given.meshes, parts=[*chosen.values()], dialect=dialect)
    work.nodes = [Node(node.name, None, node.parent, node.rotation, node.translation) for node in given.nodes]
    taken = {(part.node, part.lod, part.group) for part in parts.values()}
    generate_lods(work, ratios, taken, report, dialect, limit)
    if len(work.parts) == len(chosen):
        raise ConversionError("every part has these levels already", hint="delete those that are to be made again")
    of = {(part.node, part.lod if dialect is Dialect.RETAIL else part.group): one for one, part in chosen.items()}
    materials, batches = [look for look, _ in looks], np.array([batch for _, batch in looks], np.int32)
    for part in work.parts[len(chosen) :]:
        one = of[part.node, part.lod if dialect is Dialect.RETAIL else part.group]
        mesh = new_mesh(work.meshes[part.mesh], work.streams, materials, batches)
        _add(one, owners[one], mesh, (part.lod, part.group))
    return report


def _parts(
    scene: bpy.types.Scene, rows: dict[str, int], meshes: list[int]
) -> tuple[dict[bpy.types.Object, bpy.types.Object], dict[bpy.types.Object, Part]]:
    """The node of each part, and its cell."""
    said = about(scene)
    shown = said.get("lod", 0), said.get("group", 0)
    owners, parts = {}, {}
    for one in scene.objects:
        own = about(one)
        cell = (own["lod"], own["group"]) if "lod" in own else cell_of(one, shown)
        if cell is None or meshes[rows[one.name]] < 0:
            continue
        below = cell != shown or "lod" in own
        owners[one] = one.parent if below and one.parent is not None else one
        parts[one] = Part(rows[owners[one].name], *cell, meshes[rows[one.name]])
    return owners, parts


def _add(one: bpy.types.Object, owner: bpy.types.Object, mesh: bpy.types.Mesh, cell: tuple[int, int]) -> None:
    """Make the object of a level: it is where its part is, whatever that does."""
    made = bpy.data.objects.new(mesh.name, mesh)
    made.parent = owner
    if one != owner:
        made.matrix_parent_inverse, made.matrix_basis = one.matrix_parent_inverse, one.matrix_basis
    for home in one.users_collection:
        home.objects.link(made)
    if "node" in about(one):
        made["msh"] = {"node": about(one)["node"], "lod": cell[0], "group": cell[1]}
    if MODEL in one:
        made[MODEL] = mesh[MODEL] = one[MODEL]


class MSH_OT_levels(bpy.types.Operator):
    """Make coarser levels of detail of the selected parts, or of all; the slider Level shows them"""

    bl_idname = "object.msh_levels"
    bl_label = "Generate Levels"
    bl_options = {"REGISTER", "UNDO"}

    count: IntProperty(name="Levels", description="How many levels each part gets", default=2, min=1, max=VIEW - 1)
    ratio: FloatProperty(
        name="Ratio", description="Triangles of a level to those of the one before it", default=0.5, min=0.01, max=0.99
    )
    distance: FloatProperty(
        name="Distance",
        description="How far a level may be from its part at most, in per cent of the part's diagonal",
        default=5.0,
        min=0.0,
        max=100.0,
        subtype="PERCENTAGE",
    )

    @classmethod
    def poll(cls, context):
        """The scene is a model, imported or made here."""
        return context.mode == "OBJECT" and context.scene.msh_gltf.kind in ("", "model") and bool(context.scene.objects)

    def execute(self, context):
        """Make them, show the first one, and report how far each is from its part."""
        return guarded(self, lambda: self._make(context))

    def _make(self, context: bpy.types.Context) -> None:
        state = context.scene.msh_gltf
        report = make_levels(
            context, tuple(self.ratio**level for level in range(1, self.count + 1)), self.distance / 100
        )
        clear_report(state)
        state.outcome = f"made: {plural(len(report.changes), 'level')}"
        for change in report.changes:
            row = state.rows.add()
            row.what, row.name, row.status, row.reason = "", change.where, "new", in_blender(change.what)
        show_warnings(state, report.warnings)
        for warning in state.warnings:
            say(self, "WARNING", warning.reason)
        say(self, "INFO", state.outcome)
        state.level = 1


CLASSES = (MSH_OT_levels,)
