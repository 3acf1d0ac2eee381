"""The side panel of the 3D view (N), tab MSH: the model, *Generate Levels*, the last report, the selected object."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any, NamedTuple, get_type_hints

import bpy
import numpy as np
from bpy.props import BoolProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from .assets import MSH_OT_assets
from .converter.errors import ConversionError, plural
from .converter.findings import Report
from .converter.formats.kinds import ASSEMBLY_KINDS
from .converter.formats.tables import LOD_COUNT
from .converter.rebuild.lods import generate_lods, level_of
from .converter.scene.dialect import VIEW, Dialect
from .converter.scene.extras import NodeExtras
from .converter.scene.scene import Node, Part, Scene
from .editing import MSH_OT_done_placed, MSH_OT_edit_placed, mount
from .export_msh import MSH_OT_export, MSH_OT_put_back, MSH_OT_put_new
from .from_blender import read_parts
from .import_msh import MSH_OT_import
from .seen import MODEL, MSH_OT_check
from .state import about, cell_of, clear_report, dialect_of, show_warnings
from .to_blender import new_mesh
from .window import SidePanel, doing, in_blender, say, shown


def make_levels(context: bpy.types.Context, ratios: tuple[float, ...], limit: float) -> Report:
    """Make levels 1, 2, ... of the selected parts, or of all where none is; those that are there stay.

    Args:
        ratios: of triangles to those of level 0, for each level.
        limit: largest distance of a level from its part, as a ratio of the diagonal of the part's box.

    Returns:
        What is stated of each.

    Raises ConversionError: no part is without levels, or the dialect has fewer of them.
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
        return context.mode == "OBJECT" and context.scene.msh_gltf.kind in ("", "model") and bool(context.scene.objects)

    @doing
    def execute(self, context):
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


_ICONS = {"kept": "CHECKMARK", "rebuilt": "MODIFIER", "new": "ADD", "deleted": "TRASH"}
_WIDTH = 50  # letters that fit a panel of the usual width, with its margins
_LETTER = 6.5  # pixels of one


class MSH_UL_rows(bpy.types.UIList):
    """Nodes and parts with what became of them."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0):
        layout.label(text=shown(f"{item.what} {item.name}".strip()), icon=_ICONS.get(item.status, "DOT"))
        layout.label(text=shown(item.status))


class MSH_PT_model(SidePanel, bpy.types.Panel):
    """The scene's model."""

    bl_label = "Model"
    bl_idname = "MSH_PT_model"

    def draw(self, context):
        layout, state = self.layout, context.scene.msh_gltf
        column = layout.column(align=True)
        if not state.source:
            column.label(text="Not an imported model")
            column.operator(MSH_OT_import.bl_idname, icon="IMPORT")
            if state.archive:
                column.label(text=f"{state.archive}: {state.model}", icon="FILE_3D")
            column.operator(MSH_OT_put_new.bl_idname, icon="LOOP_BACK")
            column.operator(MSH_OT_export.bl_idname, text="Export as a New Model", icon="EXPORT")
            _stages(column, state)
            column.operator(MSH_OT_assets.bl_idname, icon="ASSET_MANAGER")
            return
        column.label(text=state.place, icon="FILE_3D")
        _lines(column, state.summary)
        if state.dialect:
            column.label(text=shown(f"dialect {state.dialect}"))
        if state.sidecar is None:
            column.label(text="the sidecar is missing", icon="ERROR")
        if context.scene.render.fps != 24:
            column.label(text="not at 24 fps: plays at another speed", icon="INFO")
        if state.kind == "model":
            _stages(column, state)
        if state.kind in ASSEMBLY_KINDS:
            row = column.row(align=True)
            row.operator(MSH_OT_edit_placed.bl_idname, icon="EDITMODE_HLT")
            row.operator(MSH_OT_done_placed.bl_idname, icon="CHECKMARK")
        column.separator()
        column.prop(state, "own_materials")
        column.operator(MSH_OT_put_back.bl_idname, icon="LOOP_BACK")
        column.prop(state, "put_back_on_save")
        column.operator(MSH_OT_export.bl_idname, icon="EXPORT")
        column.operator(MSH_OT_assets.bl_idname, icon="ASSET_MANAGER")


def _stages(column, state) -> None:
    """What of the model is seen, and what makes levels of detail."""
    row = column.row(align=True)
    row.prop(state, "stage", slider=True)
    row.prop(state, "level", slider=True)
    column.operator(MSH_OT_levels.bl_idname, icon="MOD_DECIM")


class MSH_PT_report(SidePanel, bpy.types.Panel):
    """What the last export did."""

    bl_label = "Report"
    bl_idname = "MSH_PT_report"

    @classmethod
    def poll(cls, context):
        state = context.scene.msh_gltf
        return bool(state.outcome or state.warnings)

    def draw(self, context):
        layout, state = self.layout, context.scene.msh_gltf
        if state.outcome:
            layout.label(text=shown(state.outcome))
        if state.rows:
            counts = Counter(row.status for row in state.rows)
            layout.label(text=shown(", ".join(f"{n} {status}" for status, n in counts.items())))
            layout.template_list("MSH_UL_rows", "", state, "rows", state, "row", rows=4)
            if 0 <= state.row < len(state.rows):
                _lines(layout.column(align=True), state.rows[state.row].reason)
        for warning in state.warnings:
            _lines(layout.column(align=True), warning.reason, icon="ERROR")


def _lines(layout, text: str, icon: str = "NONE") -> None:
    """A text over several lines: labels do not wrap."""
    region = bpy.context.region
    letters = _WIDTH if region is None else int(region.width / (_LETTER * bpy.context.preferences.system.ui_scale))
    for number, line in enumerate(textwrap.wrap(shown(text), max(letters - 6, 20))):
        layout.label(text=line, icon="BLANK1" if number and icon != "NONE" else icon)


_TYPES = get_type_hints(NodeExtras)
_PROPERTIES = {float: FloatProperty, str: StringProperty}


class Field(NamedTuple):
    """A field: of which kind of object, its key, its name and tooltip; of a word of flags the one bit that it is."""

    kind: str
    key: str
    label: str
    tip: str
    bit: int = 0

    @property
    def name(self) -> str:
        """What the property is called."""
        return f"{self.kind}_{self.key}" + (f"_{self.bit}" if self.bit else "")

    @property
    def type(self) -> type:
        """What its value is."""
        return _TYPES[self.key] if _TYPES[self.key] in _PROPERTIES else int

    def property(self) -> Any:
        """The property of Blender, which reads and writes the custom property."""
        make = BoolProperty if self.bit else _PROPERTIES.get(self.type, IntProperty)
        # Blender takes functions, no methods
        return make(
            name=self.label,
            description=self.tip,
            get=lambda group: self._get(group),
            set=lambda group, value: self._set(group, value),
        )

    def value(self, one: bpy.types.Object) -> Any:
        """Its value; ``None``: the object does not say, or not as a value of its type."""
        found = one.get(self.key, about(one).get(self.key))
        if self.key == "tri_flags" and found is None:
            found = 0
        return found if isinstance(found, self.type) else None

    def _get(self, group: bpy.types.PropertyGroup) -> Any:
        found = self.value(group.id_data)
        found = self.type() if found is None else found
        return bool(found & self.bit) if self.bit else found

    def _set(self, group: bpy.types.PropertyGroup, value: Any) -> None:
        one = group.id_data
        if self.bit:
            word = self.value(one) or 0
            value = word | self.bit if value else word & ~self.bit
        there = one if self.key in one or self.key == "tri_flags" else one["msh"]
        there[self.key] = value
        if self.key == "attach":
            mount(one, value)


FIELDS = (
    Field("object", "path", "Shows", "What stands here: an object key, or the .dat of a unit or building"),
    Field(
        "object",
        "clan",
        "Clan",
        "Number of the clan that it belongs to; dragging it to a clan's collection does the same",
    ),
    Field("object", "logical_id", "Logical ID", "The number by which scripts and other objects name it; -1: none"),
    Field("object", "start", "Start", "The start flag of the object"),
    Field("object", "host", "Host", "Logical ID of the building that it starts in"),
    Field("object", "vertex", "Vertex", "The point of that building's paths where it starts"),
    Field("component", "key", "Object Key", "The object that this part shows"),
    Field("component", "attach", "Socket", "The node of the part that carries it; -1: none"),
    Field("component", "class", "Class", "The class word of the part"),
    Field("component", "label", "Label", "The label of the part"),
    Field("unit", "type", "Type", "The class word of the unit"),
    Field("zone", "inner", "Inner Radius", "Radius of the inner circle; the scale of the empty is the outer one"),
    Field("lode", "amount", "Amount", "How much the lode holds"),
    Field("lode", "type", "Type", "What the lode holds"),
    Field("lode", "found", "Found", "Whether the lode is known from the start"),
    Field("route", "route", "Number", "The number by which the mission names the route"),
    Field("node", "flags", "Flags", "The flags of the node, a 16-bit word"),
    Field("node", "tri_flags", "Triangle Flags", "Flags of all its triangles, a sum; 0: those that they have"),
    Field("node", "tri_flags", "Floor", "Units walk on its triangles", 2),
    Field("node", "tri_flags", "Foliage", "Shots and movers pass its triangles", 4),
    Field("node", "tri_flags", "Door", "Its triangles are the leaf of a door", 16),
    Field("node", "tri_flags", "Glass", "Its triangles are glass", 32),
    Field("point", "flags", "Flags", "The flags of the control point"),
)
MshFields = type(
    "MshFields", (bpy.types.PropertyGroup,), {"__annotations__": {field.name: field.property() for field in FIELDS}}
)


def fields_of(one: bpy.types.Object | None) -> list[Field]:
    """The fields that an object has."""
    said = {} if one is None else about(one)
    kind = said.get("kind", "node" if "node" in said else "")
    found = [field for field in FIELDS if field.kind == kind and field.value(one) is not None]
    return [field for field in found if field.key != "tri_flags" or one.type == "MESH"]


class MSH_PT_fields(SidePanel, bpy.types.Panel):
    """What the selected object is in the game."""

    bl_label = "Selected Object"
    bl_idname = "MSH_PT_fields"

    @classmethod
    def poll(cls, context):
        return bool(fields_of(context.object))

    def draw(self, context):
        self.layout.use_property_split = True
        column = self.layout.column()
        for field in fields_of(context.object):
            column.prop(context.object.msh_fields, field.name)
        if context.object.type == "MESH":
            column.operator(MSH_OT_check.bl_idname, icon="VIEWZOOM")


def start() -> None:
    """Objects have the fields."""
    bpy.types.Object.msh_fields = PointerProperty(type=MshFields)


def stop() -> None:
    """What objects say of themselves stays."""
    del bpy.types.Object.msh_fields


CLASSES = (MSH_UL_rows, MSH_PT_model, MSH_PT_report, MshFields, MSH_PT_fields, MSH_OT_levels)
