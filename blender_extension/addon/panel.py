"""The side panel of the 3D view (N), tab MSH: the model, and what the last export did."""

import textwrap
from collections import Counter

import bpy

from .assets import MSH_OT_assets
from .converter.formats.kinds import ASSEMBLY_KINDS
from .export_msh import MSH_OT_export, MSH_OT_put_back, MSH_OT_put_new
from .import_msh import MSH_OT_import
from .language import shown
from .levels import MSH_OT_levels
from .placed import MSH_OT_done_placed, MSH_OT_edit_placed

_ICONS = {"kept": "CHECKMARK", "rebuilt": "MODIFIER", "new": "ADD", "deleted": "TRASH"}
_WIDTH = 50  # letters that fit a panel of the usual width, with its margins
_LETTER = 6.5  # pixels of one


class MSH_UL_rows(bpy.types.UIList):
    """Nodes and parts with what became of them."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0):
        """One of them; the reason of the chosen one is shown below the list."""
        layout.label(text=shown(f"{item.what} {item.name}".strip()), icon=_ICONS.get(item.status, "DOT"))
        layout.label(text=shown(item.status))


class MSH_PT_model(bpy.types.Panel):
    """The scene's model."""

    bl_label = "Model"
    bl_idname = "MSH_PT_model"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MSH"

    def draw(self, context):
        """Where it came from, and the two ways back."""
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


class MSH_PT_report(bpy.types.Panel):
    """What the last export did."""

    bl_label = "Report"
    bl_idname = "MSH_PT_report"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MSH"

    @classmethod
    def poll(cls, context):
        """There is one."""
        state = context.scene.msh_gltf
        return bool(state.outcome or state.warnings)

    def draw(self, context):
        """A line, the counts, the list, the warnings."""
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


CLASSES = (MSH_UL_rows, MSH_PT_model, MSH_PT_report)
