"""*Bake to Texture*: what nodes make of a picture becomes a picture; and the panel of the active material."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from .converter.errors import ConversionError, called
from .game_material import BLEND, HOLES, LIGHT_TEXTURE, SECOND, SECOND_COLOUR, TEXTURE, UV_NAMES, node_of, read
from .language import shown
from .materials import apart
from .state import guarded

#: Pixels of a side of what has no picture, and of a name of a picture of the game.
_SIDE, _NAME = 256, 10
_BAKED = "_baked"
#: Sockets that the panel leaves to the node editor.
_IN_NODES = (TEXTURE, HOLES, LIGHT_TEXTURE, SECOND, SECOND_COLOUR, BLEND)


def bake(context: bpy.types.Context, material: bpy.types.Material) -> bpy.types.Image:
    """Replace what is above the socket of the picture by a picture of it; returns that.

    Args:
        material: it is made of the game's group.

    Raises:
        ConversionError: nothing is above the socket.
    """
    node, seen = node_of(material), read(material)
    if node is None or seen is None or not node.inputs[TEXTURE].is_linked:
        raise ConversionError(f"material {called(material.name)} has no picture, and nothing to bake")
    sizes = [tuple(one.size) for one in seen.images if one.size[0]]
    size = sizes[0] if sizes else (_SIDE, _SIDE)
    pixels = _render(context, material, TEXTURE, size)
    if node.inputs[HOLES].is_linked:
        pixels[:, 3] = _render(context, material, HOLES, size, "Non-Color")[:, 0]
    name = seen.images[0].name.partition(".")[0].removesuffix(_BAKED) if seen.images else material.name
    image = bpy.data.images.new(f"{name[:_NAME]}{_BAKED}", *size, alpha=True)
    image.alpha_mode = "CHANNEL_PACKED"
    image.pixels.foreach_set(np.ascontiguousarray(pixels, np.float32).reshape(-1))
    image.update()
    image.pack()
    tree = material.node_tree
    made = tree.nodes.new("ShaderNodeTexImage")
    made.image, made.location = image, (node.location.x - 350, node.location.y)
    if seen.layer is not None:
        layer = tree.nodes.new("ShaderNodeUVMap")
        layer.uv_map = seen.layer
        tree.links.new(layer.outputs[0], made.inputs["Vector"])
    lit = {link.from_node for link in node.inputs[LIGHT_TEXTURE].links}
    follows = all(one.type != "TEX_IMAGE" or one.image in seen.images[:1] for one in lit)  # else it is a lightmap
    for foreign in seen.foreign:
        tree.nodes.remove(foreign)
    for output, socket in (("Color", TEXTURE), ("Alpha", HOLES), *((("Color", LIGHT_TEXTURE),) if follows else ())):
        tree.links.new(made.outputs[output], node.inputs[socket])
    tree.nodes.active = made
    return image


def _render(
    context: bpy.types.Context, material: bpy.types.Material, socket: str, size: tuple[int, int], space: str = "sRGB"
) -> NDArray[np.float32]:
    """What comes into a socket over the whole picture, (pixels, 4), by Cycles, on a square of its own."""
    copy = material.copy()
    target = bpy.data.images.new("bake", *size, alpha=True)
    target.colorspace_settings.name = space
    try:
        tree, node = copy.node_tree, node_of(copy)
        light, picture = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeTexImage")
        end = next(one for one in tree.nodes if one.type == "OUTPUT_MATERIAL" and one.is_active_output)
        tree.links.new(node.inputs[socket].links[0].from_socket, light.inputs["Color"])
        tree.links.new(light.outputs[0], end.inputs["Surface"])
        picture.image = target
        tree.nodes.active = picture
        with apart(context) as scene:
            mesh = bpy.data.meshes.new("bake")
            mesh.from_pydata([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [], [(0, 1, 2, 3)])
            named = (one.uv_map for one in tree.nodes if one.type == "UVMAP" and one.uv_map)
            for name in dict.fromkeys((*UV_NAMES, *named)):
                mesh.uv_layers.new(name=name).uv.foreach_set("vector", [0, 0, 1, 0, 1, 1, 0, 1])
            mesh.materials.append(copy)
            one = bpy.data.objects.new("bake", mesh)
            scene.collection.objects.link(one)
            scene.render.engine, scene.cycles.samples = "CYCLES", 1
            one.select_set(True)
            context.view_layer.objects.active = one
            bpy.ops.object.bake(type="EMIT", margin=0)
        pixels = np.empty(size[0] * size[1] * 4, np.float32)
        target.pixels.foreach_get(pixels)
        return pixels.reshape(-1, 4)
    finally:
        bpy.data.materials.remove(copy)
        bpy.data.images.remove(target)


class MSH_OT_bake(bpy.types.Operator):
    """Make one picture of what nodes make of the material's picture: the game can show that"""

    bl_idname = "object.msh_bake"
    bl_label = "Bake to Texture"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        """The active material is one of the game."""
        return context.mode == "OBJECT" and node_of(_active(context)) is not None

    def execute(self, context):
        """Bake the picture of the active material."""
        return guarded(self, lambda: bake(context, _active(context)) and None)


class MSH_PT_material(bpy.types.Panel):
    """The active material as the game has it."""

    bl_label = "Material"
    bl_idname = "MSH_PT_material"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MSH"

    @classmethod
    def poll(cls, context):
        """It is made of the game's group."""
        return node_of(_active(context)) is not None

    def draw(self, context):
        """Its colours, its pictures, and the nodes that the game has not."""
        material = _active(context)
        seen, node, column = read(material), node_of(material), self.layout.column()
        column.label(text=material.name, icon="MATERIAL", translate=False)
        for image in seen.images:
            column.label(text=image.name, icon="IMAGE_DATA", translate=False)
        for socket in node.inputs:
            if not socket.is_linked and socket.name not in _IN_NODES:
                column.prop(socket, "default_value", text=shown(socket.name))
        for one in seen.foreign:
            column.label(text=shown(f"the game has no node {one.label or one.name}"), icon="ERROR")
        if seen.foreign:
            column.operator(MSH_OT_bake.bl_idname, icon="RENDER_STILL")


def _active(context: bpy.types.Context) -> bpy.types.Material | None:
    return None if context.object is None else context.object.active_material


CLASSES = (MSH_OT_bake, MSH_PT_material)
