"""Areal maps in Blender: an object with a face per areal; in edit mode, what the selected faces are.

A document has triangles of an areal map, an object per class. Faces are what one splits, deletes and adds, so that
one object has a face per areal and a common corner is one vertex; their attributes go back to the converter
(docs/reference/gltf.md, An areal map).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import bmesh
import bpy
import numpy as np
from bpy.props import BoolProperty, IntProperty

from .converter.edits.areal_polygons import PARTS, class_of
from .converter.errors import plural
from .converter.formats.areal_map import ArealMap
from .converter.scene.scene import ImportedScene
from .exporters.gltf_file import row_colour
from .language import say, shown
from .stages import plain_items
from .state import guarded
from .to_blender import Builder

#: Attributes of faces: the number of the areal, from 1, and its logic flag.
NUMBER, LOGIC = "_MSH_AREAL", "_MSH_LOGIC"
#: What a field shows where the selected faces differ.
_VARIOUS = "several"
#: What it shows for -1.
_NONE = {"Areal": "new", "Class": "none"}


def show_areals(
    scene: bpy.types.Scene, given: ImportedScene, materials: list[bpy.types.Material], areals: ArealMap
) -> None:
    """Make an object with a face for each areal, and the borders.

    Args:
        scene: what gets them.
        given: the map's document, which has an object for each class.
        materials: of the document.
    """
    borders = [item for item in given.nodes if item.extras.get("kind") == "borders"]
    for _ in Builder(scene, replace(given, nodes=borders), materials, [0] * len(materials)).build():
        pass
    if not len(areals.records):
        return
    of_class = {class_of(material.name, {}): material for material in materials}
    corners, start = areals.vertices + np.float32(0), areals.vertex_start
    points, vertex = np.unique(corners, axis=0, return_inverse=True)
    points, vertex = points.tolist(), vertex.reshape(-1)
    faces = []
    for own in np.split(vertex, start[1:-1]):
        if len(np.unique(own)) < len(own):  # it meets itself: Blender knows no such face
            own = np.arange(len(points), len(points) + len(own))
            points += corners[start[len(faces)] : start[len(faces) + 1]].tolist()
        faces.append(own.tolist())
    mesh = bpy.data.meshes.new("areals")
    mesh.from_pydata(points, [], faces)
    names = list(of_class)
    for name in names:
        mesh.materials.append(of_class[name])
    rows = [names.index(number) for number in areals.records["class_id"].tolist()]
    mesh.polygons.foreach_set("material_index", rows)
    numbers = np.arange(1, len(faces) + 1, dtype=np.float32)
    for name, values in ((NUMBER, numbers), (LOGIC, areals.records["logic"].astype(np.float32))):
        mesh.attributes.new(name, "FLOAT", "FACE").data.foreach_set("value", values)
    scene.collection.children[0].objects.link(bpy.data.objects.new("areals", mesh))


@contextlib.contextmanager
def numbered(scene: bpy.types.Scene) -> Iterator[None]:
    """Give every face of an areal map a number of its own, while the scene is exported.

    Faces that were split have the number of the areal: further ones get fractions. New faces have
    none: they get numbers below 0.
    """
    meshes = {one.data for one in scene.objects if one.type == "MESH"}
    before = []
    for mesh in sorted(meshes, key=lambda mesh: mesh.name):
        attribute = mesh.attributes.get(NUMBER)
        if attribute is not None and attribute.domain == "FACE":
            values = np.empty(len(attribute.data), np.float32)
            attribute.data.foreach_get("value", values)
            before.append((mesh, values))
    taken, new = {}, 0
    try:
        for mesh, values in before:
            out = values.copy()
            for row, value in enumerate(values.tolist()):
                part = taken[value] = taken.get(value, -1) + 1
                if value < 1 or part >= PARTS:
                    new += 1
                    out[row] = -new
                else:
                    out[row] = value + part / PARTS
            mesh.attributes[NUMBER].data.foreach_set("value", out)
        yield
    finally:
        for mesh, values in before:
            mesh.attributes[NUMBER].data.foreach_set("value", values)


def _is_map(context: bpy.types.Context) -> bool:
    one = context.object
    return one is not None and one.type == "MESH" and NUMBER in one.data.attributes


def _class_of(material: bpy.types.Material | None) -> int:
    return -1 if material is None else class_of(material.name, plain_items(material).get("msh", {}))


class _Faces:
    """The selected faces of the mesh in edit mode."""

    def __init__(self, mesh: bpy.types.Mesh) -> None:
        self.mesh, self.shape = mesh, bmesh.from_edit_mesh(mesh)
        layers = self.shape.faces.layers.float
        self.number, self.logic = layers.get(NUMBER), layers.get(LOGIC)
        self.faces = [face for face in self.shape.faces if face.select]

    def areals(self) -> set[int]:
        """Their areals; -1: a new one."""
        return {int(face[self.number]) - 1 for face in self.faces}

    def classes(self) -> set[int]:
        """Their classes; -1: none."""
        slots = [_class_of(one) for one in self.mesh.materials]
        return {slots[face.material_index] if face.material_index < len(slots) else -1 for face in self.faces}

    def walkable(self) -> set[bool]:
        """Whether units walk there."""
        return {self.logic is not None and face[self.logic] >= 0.5 for face in self.faces}

    def slot(self, number: int) -> int:
        """The material slot of a class, which is made where there is none."""
        slots = [_class_of(one) for one in self.mesh.materials]
        if number not in slots:
            material = bpy.data.materials.new(f"class_{number}")
            material.diffuse_color = row_colour(number)["baseColorFactor"]
            self.mesh.materials.append(material)
            return len(slots)
        return slots.index(number)


class MSH_OT_set_areal(bpy.types.Operator):
    """Set what areal the selected faces are, their class, and whether units walk there"""

    bl_idname = "mesh.msh_set_areal"
    bl_label = "Set Areal"
    bl_options = {"REGISTER", "UNDO"}

    areal: IntProperty(name="Areal", description="Number of the areal that the faces are; -1: new ones", min=-1)
    class_id: IntProperty(
        name="Class", description="Kind of areal: 240 and 242 are lakes, else 1 to 29", min=0, soft_max=255
    )
    walkable: BoolProperty(name="Walkable", description="The logic flag of the areal: units walk there")

    @classmethod
    def poll(cls, context):
        return context.mode == "EDIT_MESH" and _is_map(context)

    def invoke(self, context, event):
        seen = _Faces(context.object.data)
        if not seen.faces:
            say(self, "ERROR", "no face is selected")
            return {"CANCELLED"}
        self.areal, self.class_id = min(seen.areals()), max(min(seen.classes()), 0)
        self.walkable = any(seen.walkable())
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context):
        return guarded(self, lambda: self._set(context.object.data))

    def _set(self, mesh: bpy.types.Mesh) -> None:
        seen = _Faces(mesh)
        slot = seen.slot(self.class_id)
        if seen.logic is None:
            seen.shape.faces.layers.float.new(LOGIC)
            seen = _Faces(mesh)  # a new layer moves all faces
        for face in seen.faces:
            face[seen.number], face[seen.logic], face.material_index = self.areal + 1, float(self.walkable), slot
        bmesh.update_edit_mesh(mesh)
        say(self, "INFO", f"{plural(len(seen.faces), 'face')}: class {self.class_id}")


class MSH_PT_areals(bpy.types.Panel):
    """What the selected faces of an areal map are."""

    bl_label = "Areals"
    bl_idname = "MSH_PT_areals"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MSH"

    @classmethod
    def poll(cls, context):
        return _is_map(context)

    def draw(self, context):
        column = self.layout.column(align=True)
        if context.mode != "EDIT_MESH":
            column.label(text="Tab, and select faces", icon="INFO")
            return
        seen = _Faces(context.object.data)
        if not seen.faces:
            column.label(text="no face is selected", icon="INFO")
            return
        walkable = {"yes" if one else "no" for one in seen.walkable()}
        for name, values in (("Areal", seen.areals()), ("Class", seen.classes()), ("Walkable", walkable)):
            row = column.row()
            row.label(text=name)
            row.label(text=shown(_NONE[name] if values == {-1} else str(*values) if len(values) == 1 else _VARIOUS))
        column.operator(MSH_OT_set_areal.bl_idname, icon="FACESEL")


CLASSES = (MSH_OT_set_areal, MSH_PT_areals)
