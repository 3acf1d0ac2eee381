"""What the selected object says of itself, as fields with names: the keys of its custom property ``msh``."""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from .check import MSH_OT_check
from .converter.scene.extras import NodeExtras
from .placed import mount
from .stages import about

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


class MSH_PT_fields(bpy.types.Panel):
    """What the selected object is in the game."""

    bl_label = "Selected Object"
    bl_idname = "MSH_PT_fields"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MSH"

    @classmethod
    def poll(cls, context):
        """It says something of itself."""
        return bool(fields_of(context.object))

    def draw(self, context):
        """The table."""
        self.layout.use_property_split = True
        column = self.layout.column()
        for field in fields_of(context.object):
            column.prop(context.object.msh_fields, field.name)
        if context.object.type == "MESH":
            column.operator(MSH_OT_check.bl_idname, icon="VIEWZOOM")


CLASSES = (MshFields, MSH_PT_fields)


def start() -> None:
    """Objects have the fields."""
    bpy.types.Object.msh_fields = PointerProperty(type=MshFields)


def stop() -> None:
    """What objects say of themselves stays."""
    del bpy.types.Object.msh_fields
