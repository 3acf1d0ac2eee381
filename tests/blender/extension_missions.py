"""Steps of ``extension.py``: units, missions, and the asset library."""

from __future__ import annotations

from pathlib import Path

import bpy
from extension_materials import put_back

from __main__ import ADDON, FILES, error_of, module, read


def said(thing):
    """What an object says of itself."""
    return {key: value for key, value in thing["msh"].items() if key != "properties"}


def tree(collection):
    """The collections below one, with the objects that say that they are placed."""
    return {
        "objects": sorted(o.name for o in collection.objects if o.get("msh", {}).get("kind") == "object"),
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
        "keys": sorted(o["msh"]["key"] for o in scene.objects if o.get("msh", {}).get("kind") == "component"),
    }
    path = Path(FILES["unit"])
    (out / "before.dat").write_bytes(path.read_bytes())
    facts["untouched"] = put_back(path, out / "same.dat")
    gun = next(o for o in scene.objects if o.get("msh", {}).get("key") == "e_gun_1")
    gun["msh"]["key"] = "s_rock"
    facts["exchanged"] = put_back(path, out / "exchanged.dat")
    gun["msh"]["key"] = "e_gun_1"
    facts["undone"] = put_back(path, out / "undone.dat")
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
    homes = [o.instance_collection.name for o in top.values()]
    facts["shared"] = [len(homes), len(set(homes))]
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "mission.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(out / "mission.blend"))
    facts["reopened"] = {name: said(bpy.data.objects[name]) for name in facts["said"]}
    facts["rebuild"] = error_of(bpy.ops.export_scene.msh, filepath=str(out / "x.msh"), rebuild=True)
    (out / "before.tma").write_bytes(Path(FILES["mission"]).read_bytes())
    facts["untouched"] = put_back(Path(FILES["mission"]), out / "same.tma")
    facts["folder"] = bpy.ops.import_scene.msh(filepath=str(Path(FILES["mission"]).parent)) == {"FINISHED"}
    return facts


def thumbnail(asset):
    """Size of the asset's picture, and how much of it shows something."""
    picture = asset.preview
    if picture is None or not picture.image_size[0]:
        return None
    return [*picture.image_size, sum(list(picture.image_pixels_float)[3::4]) / 128**2]


def assets(out):
    """The library is made beside an open model, which stays as it was."""
    library = out / "библиотека.blend"
    facts = {"no_game": error_of(bpy.ops.export_scene.msh_assets, filepath=str(library))}
    walker = read("walker")
    drawn = module("assets").Thumbnails().draw(walker.objects)
    facts["drawn"] = [list(drawn.shape), float(drawn[..., 3].mean()), drawn.reshape(-1, 4)[0].tolist()]
    before = [len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)]
    (out / "blender_assets.cats.txt").write_text("VERSION 1\n\nabc:mine:mine\n", "utf-8")
    for _ in range(2):
        bpy.ops.export_scene.msh_assets(filepath=str(library), game=FILES["assembled"])
    after = [len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)]
    facts["same"] = [before == after, bpy.context.scene.name]
    facts["files"] = sorted(path.name for path in out.iterdir())
    facts["catalogs"] = (out / "blender_assets.cats.txt").read_text("utf-8")
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(library), assets_only=True) as (found, wanted):
        wanted.collections = list(found.collections)
    facts["version"] = list(bpy.app.version)
    facts["assets"] = {
        one.name: {
            "catalog": one.asset_data.catalog_id,
            "top": [[o.name, dict(o.get("msh", {}))] for o in one.objects if o.parent is None],
            "meshes": sorted(o.data.name for o in one.all_objects if o.type == "MESH"),
            "thumbnail": thumbnail(one),
            "triangles": sum(len(o.data.polygons) for o in one.all_objects if o.type == "MESH"),
        }
        for one in wanted.collections
    }
    return facts


def placing(out):
    """A library is made; a unit of it is dragged into a mission, another object is moved."""
    library, mission = out / "assets.blend", Path(FILES["mission"])
    bpy.ops.export_scene.msh_assets(filepath=str(library), game=FILES["assembled"])
    scene = read("mission")
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.collections = ["robot", "static/s_rock"]
    for number, one in enumerate(wanted.collections):
        drag = bpy.data.objects.new(one.name, None)  # what dragging an asset makes
        drag.instance_type, drag.instance_collection = "COLLECTION", one
        drag.location = 120 + 10 * number, 80, 9
        scene.collection.objects.link(drag)
    bpy.data.objects["Guard"].location.x += 7
    facts = put_back(mission, out / "edited.tma")
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = read("mission")
    facts["said"] = {
        o.name: [said(o).get("path"), list(o.matrix_world.translation)]
        for o in scene.objects
        if o.get("msh", {}).get("kind") == "object"
    }
    return facts
