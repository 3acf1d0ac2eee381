"""Steps of ``extension.py``: what an artist does with materials, textures and their libraries."""

from __future__ import annotations

import bpy
import numpy as np
from extension_tools import BIRD, TURRETS, at, empty_file, look_of, meshes, module, put_back, read, sockets, write
from trial_tools import new_image, new_look


def materials():
    """A material renamed, put back, renamed again to what it was, and another one added."""
    read(TURRETS, entry="e_tur_01.msh")
    armour = [m for m in bpy.data.materials if m.name.partition(".")[0] == "armour"]
    for step, name in (("renamed", "rust"), ("undone", "armour")):
        for material in armour:
            material.name = name
        yield step, put_back()
    mesh = meshes()[0].data
    old = mesh.materials[0]
    for name in ("gold", "silver"):
        mesh.materials[0] = bpy.data.materials.new(name)
        yield name, put_back()
    mesh.materials[0] = old
    yield "removed", put_back()


def libraries():
    """Recolour, repaint, a new one, and all of it undone: each edit starts from the game."""
    read(TURRETS, entry="e_tur_01.msh")
    state = bpy.context.scene.msh_gltf
    yield "same", put_back()
    emission = sockets(look_of("glow"))["Own Light"]
    before = [*emission.default_value]
    emission.default_value = (0, 0, 0, 1)
    yield "recoloured", put_back()
    emission.default_value = before
    joint = look_of("joint")
    image = next(n.image for n in joint.node_tree.nodes if n.type == "TEX_IMAGE")
    pixels = list(image.pixels)
    image.pixels[:4] = (1, 0, 0, 1)
    image.update()
    yield "repainted", put_back()
    wide, high = image.size
    image.scale(100, 60)
    emission.default_value = (0, 0, 0, 1)
    yield "of an odd size", put_back()
    image.scale(wide, high)
    image.pixels[:] = [1, 0, 0, 1, *pixels[4:]]
    image.update()
    emission.default_value = before
    state.own_materials = True
    yield "own", put_back()
    state.own_materials = False
    image.pixels[:] = pixels
    image.update()
    yield "undone", put_back()
    mesh = meshes()[0].data
    old = mesh.materials[0]
    mesh.materials[0] = new_look("латунь", new_image("BRASS", (32, 32)))
    yield "new", put_back()
    at("wall").mkdir()
    at("wall/BRASS.0").write_bytes(b"mine")
    yield "exported", write("wall/turret.msh")
    mesh.materials[0] = joint
    yield "reassigned", put_back()
    mesh.materials[0] = old
    yield "removed", put_back()


def grouped():
    """One material for all batches that look alike; a node that the game has not, baked; a draw mode."""
    read(BIRD)
    yield "batches", {m.name: len(m.get("msh_batches", ())) for m in bpy.data.materials}
    empty_file()
    read(TURRETS, entry="e_tur_01.msh")
    materials = module("game_material")
    armour = bpy.data.materials["armour"]
    bpy.context.view_layer.objects.active = one = next(o for o in meshes() if o.active_material == armour)
    tree, socket = armour.node_tree, sockets(armour)["Texture"]
    node = tree.nodes.new("ShaderNodeInvert")
    tree.links.new(socket.links[0].from_socket, node.inputs["Color"])
    tree.links.new(node.outputs[0], socket)
    sockets(armour)["Draw Mode"].default_value = 3
    before = _pixels(materials.read(armour).images[0])
    yield "foreign", put_back()
    yield "marked", node.use_custom_color
    sockets(armour)["Draw Mode"].default_value = 0
    assert bpy.ops.object.msh_bake() == {"FINISHED"}
    (image,) = materials.read(armour).images
    change = abs(_pixels(image) - before)
    yield "pixels", [image.name, [*image.size], bool(change[:, :3].min() > 0), float(change[:, 3].max())]
    yield "baked", put_back().rpartition(" ")[0]
    assert bpy.ops.object.msh_bake() == {"FINISHED"}
    (again,) = materials.read(armour).images
    yield "again", float(abs(_pixels(again) - _pixels(image)).max())
    sockets(armour)["Colour"].default_value = (1, 0, 0, 1)  # which Blender's glTF add-on does not know
    one.modifiers.new("nodes", "NODES")
    yield "by glTF", put_back()


def _pixels(image):
    values = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(values)
    return values.reshape(-1, 4)


def namesakes():
    """Two files of Blender, each with a new material of one name and a colour of its own.

    The first model's second edit arrives; the second model's look is reported, not taken.
    """
    for entry, colours in (("e_tur_01.msh", ((1, 0, 0, 1), (0, 1, 0, 1))), ("e_tur_02.msh", ((0, 0, 1, 1),))):
        empty_file()
        read(TURRETS, entry=entry)
        meshes()[0].data.materials[0] = material = bpy.data.materials.new("namesake")
        material.use_nodes = True
        shader = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
        for colour in colours:
            shader.inputs["Base Color"].default_value = colour
            yield f"{entry}, {colour[:3]}", put_back()
