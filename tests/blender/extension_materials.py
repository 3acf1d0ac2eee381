"""Steps of ``extension.py``: what an artist does with materials, textures and their libraries."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

from __main__ import FILES, module, read, report, write


def materials(out):
    """A material renamed, put back, renamed again to what it was, and another one added."""
    read("reskinned", entry="e_tur_01.msh")
    path = Path(FILES["reskinned"])
    armour = [m for m in bpy.data.materials if m.name.partition(".")[0] == "armour"]
    for material in armour:
        material.name = "rust"
    facts = {"renamed": put_back(path, out / "renamed.rlb")}
    for material in armour:
        material.name = "armour"
    facts["undone"] = put_back(path, out / "undone.rlb")
    meshes = [o for o in bpy.context.scene.objects if o.type == "MESH"]
    old = meshes[0].data.materials[0]
    meshes[0].data.materials[0] = bpy.data.materials.new("gold")
    facts["added"] = put_back(path, out / "added.rlb")
    meshes[0].data.materials[0] = bpy.data.materials.new("silver")
    facts["again"] = put_back(path, out / "again.rlb")
    meshes[0].data.materials[0] = old
    facts["removed"] = put_back(path, out / "removed.rlb")
    return facts


def libraries(out):
    """What an artist does with materials: recolour, repaint, a new one, and all of it undone."""
    read("painted", entry="e_tur_01.msh")
    folder = Path(FILES["painted"]).parent
    state = bpy.context.scene.msh_gltf

    def put(name):
        assert bpy.ops.export_scene.msh_put_back() == {"FINISHED"}
        (out / name).mkdir(parents=True)
        for file in ("turrets.rlb", "Material.lib", "Textures.lib"):
            (out / name / file).write_bytes((folder / file).read_bytes())
        return report()

    def images(material):
        return [n for n in material.node_tree.nodes if n.type == "TEX_IMAGE"]

    facts = {"same": put("same")}
    glow = next(m for m in bpy.data.materials if m.name.partition(".")[0] == "glow")
    emission = sockets(glow)["Own Light"]
    before = [*emission.default_value]
    emission.default_value = (0, 0, 0, 1)
    facts["recoloured"] = put("recoloured")
    emission.default_value = before
    joint = [m for m in bpy.data.materials if m.name.partition(".")[0] == "joint"]
    image = images(joint[0])[0].image
    pixels = list(image.pixels)
    image.pixels[:4] = (1, 0, 0, 1)
    image.update()
    facts["repainted"] = put("repainted")
    wide, high = image.size
    image.scale(100, 60)
    emission.default_value = (0, 0, 0, 1)
    facts["odd"] = put("odd")
    image.scale(wide, high)
    image.pixels[:] = [1, 0, 0, 1, *pixels[4:]]
    image.update()
    emission.default_value = before
    state.own_materials = True
    facts["own"] = put("own")
    state.own_materials = False
    image.pixels[:] = pixels
    image.update()
    facts["undone"] = put("undone")
    mesh = next(o for o in bpy.context.scene.objects if o.type == "MESH").data
    old = mesh.materials[0]
    mesh.materials[0] = new_look("латунь", "BRASS", 32)
    facts["new"] = put("new")
    (out / "wall").mkdir()
    (out / "wall/BRASS.0").write_bytes(b"mine")
    facts["exported"] = write(out / "wall/turret.msh")
    mesh.materials[0] = joint[0]
    facts["reassigned"] = put("reassigned")
    mesh.materials[0] = old
    facts["removed"] = put("removed")
    return facts


def grouped(out):
    """One material for all batches that look alike; a node that the game has not, baked; a draw mode."""
    read("spec")
    batches = {m.name: len(m["msh_batches"]) for m in bpy.data.materials if "msh_batches" in m}
    facts = {"batches": batches, "materials": [m.name for m in bpy.data.materials]}
    bpy.ops.wm.read_homefile(use_empty=True)
    read("painted", entry="e_tur_01.msh")
    path, materials = Path(FILES["painted"]), module("game_material")
    armour = bpy.data.materials["armour"]
    bpy.context.view_layer.objects.active = one = next(
        o for o in bpy.context.scene.objects if o.active_material == armour
    )
    tree, socket = armour.node_tree, sockets(armour)["Texture"]
    node = tree.nodes.new("ShaderNodeInvert")
    tree.links.new(socket.links[0].from_socket, node.inputs["Color"])
    tree.links.new(node.outputs[0], socket)
    sockets(armour)["Draw Mode"].default_value = 3
    before = pixels(materials.read(armour).images[0])
    facts["foreign"] = put_back(path, out / "foreign.rlb")["warnings"]
    facts["marked"] = node.use_custom_color
    sockets(armour)["Draw Mode"].default_value = 0
    assert bpy.ops.object.msh_bake() == {"FINISHED"}
    facts["baked"] = put_back(path, out / "baked.rlb")
    (out / "Textures.lib").write_bytes(path.with_name("Textures.lib").read_bytes())
    (image,) = materials.read(armour).images
    change = pixels(image) - before
    facts["pixels"] = [image.name, [*image.size], float(abs(change[:, :3]).min()), float(abs(change[:, 3]).max())]
    assert bpy.ops.object.msh_bake() == {"FINISHED"}
    (again,) = materials.read(armour).images
    facts["again"] = float(abs(pixels(again) - pixels(image)).max())
    sockets(armour)["Colour"].default_value = (1, 0, 0, 1)
    one.modifiers.new("nodes", "NODES")
    facts["by_gltf"] = put_back(path, out / "by_gltf.rlb")["warnings"]
    (out / "Material.lib").write_bytes(path.with_name("Material.lib").read_bytes())
    return facts


def pixels(image):
    values = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(values)
    return values.reshape(-1, 4)


def namesakes(out):
    """Two files of Blender, each with a new material of one name and a colour of its own."""
    facts, folder = {}, Path(FILES["turrets"]).parent

    def put(name):
        assert bpy.ops.export_scene.msh_put_back() == {"FINISHED"}
        (out / f"{name}.lib").write_bytes((folder / "Material.lib").read_bytes())
        facts[name] = report()

    for entry, colour in (("e_tur_01.msh", (1, 0, 0, 1)), ("e_tur_02.msh", (0, 0, 1, 1))):
        bpy.ops.wm.read_homefile(use_empty=True)
        scene = read("turrets", entry=entry)
        mesh = next(o for o in scene.objects if o.type == "MESH").data
        material = bpy.data.materials.new("namesake")
        material.use_nodes = True
        shader = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
        shader.inputs["Base Color"].default_value = colour
        mesh.materials[0] = material
        put(entry)
        if entry == "e_tur_01.msh":
            shader.inputs["Base Color"].default_value = (0, 1, 0, 1)
            put("again")
    return facts


def new_look(name, image_name, size):
    """A new material with a new picture, as the shader editor makes it."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    image = bpy.data.images.new(image_name, size, size)
    image.pixels[:] = [0.5, 0.25, 0, 1] * size * size
    image.pack()
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    shader = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
    material.node_tree.links.new(node.outputs["Color"], shader.inputs["Base Color"])
    return material


def sockets(material):
    """Those of the game's group."""
    return module("game_material").node_of(material).inputs


def put_back(path, copy):
    assert bpy.ops.export_scene.msh_put_back() == {"FINISHED"}
    copy.write_bytes(path.read_bytes())
    return report()
