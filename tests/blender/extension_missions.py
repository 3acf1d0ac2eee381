"""Steps of ``extension.py``: units, missions, and the asset library."""

from __future__ import annotations

from pathlib import Path

import bpy

from __main__ import ADDON, FILES, error_of, read


def said(thing):
    """What an object says of itself."""
    return {key: value for key, value in thing["msh"].items() if key != "properties"}


def tree(collection):
    """The collections below one, with the objects that say that they are placed."""
    return {
        "objects": sorted(
            o.name for o in collection.objects if o.get("msh", {}).get("kind") == "object"
        ),
        **{child.name: tree(child) for child in collection.children},
    }


def units(out):
    scene = read("unit")
    kinds = [o["msh"]["kind"] for o in scene.objects if "kind" in o.get("msh", {})]
    state = scene.msh_gltf
    facts = {
        "scene": scene.name,
        "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "frames": [scene.frame_start, scene.frame_end, scene.render.fps],
        "state": [state.source, state.kind, state.summary, state.sidecar.name],
        "keys": sorted(
            o["msh"]["key"] for o in scene.objects if o.get("msh", {}).get("kind") == "component"
        ),
    }
    facts["outside"] = error_of(bpy.ops.import_scene.msh, filepath=FILES["unit_outside"])
    bpy.context.preferences.addons[ADDON].preferences.game = FILES["assembled"]
    bpy.ops.wm.read_homefile(use_empty=True)
    facts["named"] = read("unit_outside").msh_gltf.summary
    bpy.context.preferences.addons[ADDON].preferences.game = ""
    return facts


def missions(out):
    scene = read("mission")
    top = {o.name: o for o in scene.objects if o.get("msh", {}).get("kind") == "object"}
    layers = bpy.context.view_layer.layer_collection.children
    facts = {
        "scene": scene.name,
        "collections": {c.name: c.exclude for c in layers},
        "tree": tree(scene.collection.children[0]),
        "said": {name: said(o) for name, o in top.items()},
        "places": {name: list(o.matrix_world.translation) for name, o in top.items()},
        "properties": dict(top["Base"]["msh"]["properties"]),
        "state": [scene.msh_gltf.source, scene.msh_gltf.kind, scene.msh_gltf.summary],
        "routes": sorted(o.name for o in scene.objects if o.get("msh", {}).get("kind") == "route"),
    }
    meshes = [o.data.name for o in scene.objects if o.type == "MESH"]
    facts["shared"] = [len(meshes), len(set(meshes))]
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "mission.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(out / "mission.blend"))
    facts["reopened"] = {name: said(bpy.data.objects[name]) for name in facts["said"]}
    before = Path(FILES["mission"]).read_bytes()
    facts["put_back"] = error_of(bpy.ops.export_scene.msh_put_back)
    facts["rebuild"] = error_of(bpy.ops.export_scene.msh, filepath=str(out / "x.msh"), rebuild=True)
    facts["same"] = Path(FILES["mission"]).read_bytes() == before
    facts["folder"] = bpy.ops.import_scene.msh(filepath=str(Path(FILES["mission"]).parent)) == {
        "FINISHED"
    }
    return facts
