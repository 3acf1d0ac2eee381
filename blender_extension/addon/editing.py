"""What is edited in place: models that a mission or unit places, and the areals of a map.

What is placed is one thing: an empty that shows a collection, as every place of it does. A click selects it, and it is
moved, copied and deleted whole. *Edit This Model* takes the objects out of the collection, below the empty, where a
click finds each of them; *Done* puts them back, and all places show them. A part of a unit that carries others is such
a thing, too. What it carries is below its empty, and a constraint holds it to a socket, a node in the collection: the
socket's place there is the place below the empty, whatever the clip does.

An areal map's document has triangles, an object per class. Faces are what one splits, deletes and adds, so that one
object has a face per areal and a common corner is one vertex; their attributes go back to the converter
(docs/reference/gltf.md, An areal map).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import bmesh
import bpy
import numpy as np
from bpy.props import BoolProperty, IntProperty

from .converter.edits.areal_changes import PARTS, class_of
from .converter.errors import plural
from .converter.numeric.pose import parents_first
from .converter.scene.assembly import object_key
from .converter.scene.scene import ImportedNode
from .exporters.gltf_file import row_colour
from .state import about, plain_items
from .window import SidePanel, doing, say, shown

#: The constraint that holds a part of a unit to its socket.
_SOCKET = "MSH Socket"


@dataclass(frozen=True)
class Things:
    """The placed things of a file. ``first``: for each thing with nodes the first one that shows the same."""

    owner: list[int]
    first: dict[int, int]


def placed_things(nodes: Sequence[ImportedNode], animated: set[int]) -> Things:
    """Find the objects of a mission, and the parts of a unit.

    Args:
        nodes: of the file.
        animated: nodes that a clip moves: what they are of is shown once.
    """
    owner, below = [-1] * len(nodes), dict[int, list[int]]()
    for i in parents_first([node.parent for node in nodes], root=-1):
        above = nodes[i].parent
        if above < 0:
            continue
        owner[i], kind = owner[above], nodes[above].extras.get("kind")
        if owner[i] < 0 and kind in ("object", "component"):
            owner[i] = above
        if owner[i] >= 0 and _is_mounted(nodes, i, owner[i]):
            owner[i] = -1
        if owner[i] >= 0:
            below.setdefault(owner[i], []).append(i)
    alike: dict[object, int] = {}
    first = {}
    for thing, items in sorted(below.items()):
        look = _look(nodes, thing, items, thing if animated.intersection(items) else -1)
        first[thing] = alike.setdefault(look, thing)
    return Things(owner, first)


def _is_mounted(nodes: Sequence[ImportedNode], i: int, owner: int) -> bool:
    """Whether a node is a part on another part of a unit, which is selected by itself."""
    return nodes[i].extras.get("kind") == nodes[owner].extras.get("kind") == "component"


def _look(nodes: Sequence[ImportedNode], thing: int, items: list[int], number: int) -> object:
    """What a thing shows; its own number where no other may show it."""
    row = {item: i for i, item in enumerate(items)}
    found = [
        (
            row.get(node.parent, -1),
            node.translation.tobytes(),
            node.rotation.tobytes(),
            None if node.linear is None else node.linear.tobytes(),
            node.mesh,
            repr(node.extras),
            repr(node.typed),
        )
        for node in (nodes[item] for item in items)
    ]
    return object_key(nodes[thing].extras), number, tuple(found)


def show_thing(one: bpy.types.Object, home: bpy.types.Collection) -> None:
    """Let an empty show a collection."""
    one.instance_type, one.instance_collection = "COLLECTION", home


def is_thing(one: bpy.types.Object | None) -> bool:
    """Whether an object shows a collection that can be edited here."""
    return one is not None and one.instance_collection is not None and one.instance_collection.library is None


def is_open(one: bpy.types.Object | None) -> bool:
    """Whether what an object shows is below it, to be edited."""
    return is_thing(one) and one.instance_type == "NONE"


def open_of(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The things of a scene that are being edited."""
    return [one for one in scene.objects if one.instance_collection is not None and is_open(one)]


def mount(part: bpy.types.Object, number: int) -> None:
    """Hold a part to a node of the thing that it is below, by number; without such a node, to the thing itself."""
    nodes = _nodes(part.parent.instance_collection.objects) if is_thing(part.parent) else {}
    _hold(part, nodes.get(number))


def socket_of(part: bpy.types.Object) -> bpy.types.Object | None:
    """The node that a part is held to, in the collection that what it is below shows."""
    held = part.constraints.get(_SOCKET)
    return None if held is None else held.target


def free_constraints(one: bpy.types.Object) -> list[bpy.types.Constraint]:
    """The constraints of an object but the one that holds it to its socket."""
    return [held for held in one.constraints if held.name != _SOCKET]


def _nodes(things: Iterable[bpy.types.Object]) -> dict[int, bpy.types.Object]:
    """The nodes of a model by number."""
    return {about(one)["node"]: one for one in things if "node" in about(one) and "lod" not in about(one)}


def _hold(part: bpy.types.Object, socket: bpy.types.Object | None) -> None:
    held = part.constraints.get(_SOCKET)
    if held is not None:
        part.constraints.remove(held)
    if socket is not None:
        held = part.constraints.new("COPY_TRANSFORMS")
        held.name, held.target = _SOCKET, socket
        held.mix_mode, held.owner_space = "BEFORE_FULL", "LOCAL"


def _parts_on(one: bpy.types.Object) -> list[bpy.types.Object]:
    """The things below a thing that are selected by themselves."""
    waiting, found = [*one.children], []
    for child in waiting:  # grows while it is walked
        if about(child).get("kind") == about(one).get("kind", "object"):
            found.append(child)
        else:
            waiting += child.children
    return found


def open_thing(one: bpy.types.Object) -> list[bpy.types.Object]:
    """Put the objects of what a thing shows below it, and copies of them in their place; returns them."""
    home = one.instance_collection
    things = [*home.objects]
    copies = {thing: thing.copy() for thing in things}
    for thing, copy in copies.items():
        home.objects.link(copy)
        home.objects.unlink(thing)
        for where in one.users_collection:
            where.objects.link(thing)
    for thing, copy in copies.items():
        copy.parent = copies.get(thing.parent)
    for thing in things:
        if thing.parent not in copies:
            thing.parent = one
    for part in bpy.data.objects:
        socket = socket_of(part)
        if socket in copies and part.parent == one:
            _hold(part, None)
            part.parent = socket
        elif socket in copies:
            _hold(part, copies[socket])
    one.instance_type = "NONE"
    return things


def close_thing(one: bpy.types.Object) -> None:
    """Let a thing show what is below it, as all other places of it do."""
    home = one.instance_collection
    parts = {part: part.parent for part in _parts_on(one)}
    for part in parts:
        part.parent = one
    tops = [child for child in one.children if child not in parts]
    things = [below for top in tops for below in (top, *top.children_recursive)]
    nodes, copies = _nodes(things), {*home.objects}
    parts |= {
        part: nodes.get(about(socket)["node"]) for part in bpy.data.objects if (socket := socket_of(part)) in copies
    }
    for copy in copies:
        bpy.data.objects.remove(copy)
    for thing in things:
        for where in thing.users_collection:
            where.objects.unlink(thing)
        home.objects.link(thing)
    for top in tops:
        top.parent = None
    for part, socket in parts.items():
        _hold(part, None if socket == one else socket)
    show_thing(one, home)


class MSH_OT_edit_placed(bpy.types.Operator):
    """Make the parts of the selected object selectable where it stands; an edit changes it in all its places"""

    bl_idname = "object.msh_edit_placed"
    bl_label = "Edit This Model"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return is_thing(context.object) and not is_open(context.object)

    @doing
    def execute(self, context):
        one = context.object
        for other in open_of(context.scene):
            if other.instance_collection == one.instance_collection:
                close_thing(other)
        made = open_thing(one)
        one.select_set(False)
        meshes = [thing for thing in made if thing.type == "MESH"] or made
        context.view_layer.update()
        if meshes:
            meshes[0].select_set(True)
            context.view_layer.objects.active = meshes[0]


class MSH_OT_done_placed(bpy.types.Operator):
    """Let the object be one thing again; every place of it shows what was edited"""

    bl_idname = "object.msh_done_placed"
    bl_label = "Done"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return bool(open_of(context.scene))

    @doing
    def execute(self, context):
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for one in open_of(context.scene):
            close_thing(one)
            one.select_set(True)
            context.view_layer.objects.active = one


def _menu(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    if is_thing(context.object) and not is_open(context.object):
        menu.layout.operator(MSH_OT_edit_placed.bl_idname)
    if open_of(context.scene):
        menu.layout.operator(MSH_OT_done_placed.bl_idname, text="Done Editing This Model")


MENUS = (("VIEW3D_MT_object_context_menu", _menu),)


#: Attributes of faces: the number of the areal, from 1, and its logic flag.
NUMBER, LOGIC = "_MSH_AREAL", "_MSH_LOGIC"
#: What a field shows where the selected faces differ.
_VARIOUS = "several"
#: What it shows for -1.
_NONE = {"Areal": "new", "Class": "none"}


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

    @doing
    def execute(self, context):
        mesh = context.object.data
        seen = _Faces(mesh)
        slot = seen.slot(self.class_id)
        if seen.logic is None:
            seen.shape.faces.layers.float.new(LOGIC)
            seen = _Faces(mesh)  # a new layer moves all faces
        for face in seen.faces:
            face[seen.number], face[seen.logic], face.material_index = self.areal + 1, float(self.walkable), slot
        bmesh.update_edit_mesh(mesh)
        say(self, "INFO", f"{plural(len(seen.faces), 'face')}: class {self.class_id}")


class MSH_PT_areals(SidePanel, bpy.types.Panel):
    """What the selected faces of an areal map are."""

    bl_label = "Areals"
    bl_idname = "MSH_PT_areals"

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


CLASSES = (MSH_OT_edit_placed, MSH_OT_done_placed, MSH_OT_set_areal, MSH_PT_areals)
