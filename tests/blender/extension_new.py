"""Steps of ``extension.py``: a model made in Blender goes into the game, and into a mission."""

from __future__ import annotations

import shutil
from pathlib import Path

import bpy
from extension_materials import put_back

from __main__ import ADDON, FILES, error_of, module, read, report


def cube(name):
    """A box with a material and a picture of its own."""
    bpy.ops.mesh.primitive_cube_add(size=2, location=(0, 0, 1))
    box = bpy.context.object
    box.name = name
    material = bpy.data.materials.new("MY_PLATE")
    material.use_nodes = True
    image = bpy.data.images.new("MY_PLATE", 8, 8)
    image.pixels = [0.5, 0.25, 0.125, 1.0] * 64
    image.pack()
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    shader = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
    material.node_tree.links.new(node.outputs["Color"], shader.inputs["Base Color"])
    box.data.materials.append(material)
    return box


def adding(out):
    """Put into the game, edited, renamed; then placed in a mission by a property of an empty."""
    put = bpy.ops.export_scene.msh_put_new
    game = shutil.copytree(FILES["assembled"], out / "game")
    for name in ("Material.lib", "Textures.lib"):
        shutil.copy(Path(FILES["game"]) / name, game / name)

    def keep(name):
        shutil.copytree(game, out / name)

    scene = bpy.context.scene
    scene.name = "my_box"
    cube("box")
    where = {"archive": "static.rlb", "model": "my_box", "tag": "STAT"}
    facts = {
        "no_game": error_of(put, **where),
        "no_archive": error_of(put, game=str(game)),
        "no_such": error_of(put, game=str(game), archive="nothing.rlb"),
        "taken": error_of(put, game=str(game), archive="static.rlb", model="s_rock", tag="STAT"),
    }
    keep("before")
    bpy.context.preferences.addons[ADDON].preferences.game = str(game)
    facts["archives"] = module("export_msh")._archives(type("", (), {"game": ""}), bpy.context, "")
    assert put(**where) == {"FINISHED"}
    facts["added"] = report()
    keep("added")
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "box.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(out / "box.blend"))
    assert put(**where) == {"FINISHED"}
    keep("again")
    bpy.data.objects["box"].data.vertices[0].co.z -= 0.5
    assert put(**where) == {"FINISHED"}
    keep("edited")
    assert put(**{**where, "model": "my_crate"}) == {"FINISHED"}
    keep("renamed")
    state = bpy.context.scene.msh_gltf
    facts["state"] = [state.archive, state.model, state.tag, state.source]
    facts["put_back"] = bpy.ops.export_scene.msh_put_back.poll()

    bpy.ops.wm.read_homefile(use_empty=True)
    mission = game / "MISSIONS/Single.01/data.tma"
    FILES["new_mission"] = str(mission)
    scene = read("new_mission")
    facts["imported"] = put.poll()
    empty = bpy.data.objects.new("Crate at the gate", None)
    empty["path"] = "my_crate"
    empty.location = 120, 80, 9
    scene.collection.objects.link(empty)
    guard = bpy.data.objects["Guard"]
    guard["clan"], guard["path"] = 0, "nothing.dat"
    facts["unknown"] = error_of(bpy.ops.export_scene.msh_put_back)
    del guard["path"]
    facts["placed"] = put_back(mission, out / "edited.tma")
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = read("new_mission")
    tops = [o for o in scene.objects if o.get("msh", {}).get("kind") == "object"]
    facts["said"] = {o.name: [o["msh"]["path"], o["msh"]["clan"]] for o in tops}
    crate = next(o for o in tops if o["msh"]["path"] == "my_crate")
    meshes = [o for o in crate.instance_collection.all_objects if o.type == "MESH"]
    facts["shown"] = [list(crate.matrix_world.translation), len(meshes)]
    bpy.context.preferences.addons[ADDON].preferences.game = ""
    return facts
