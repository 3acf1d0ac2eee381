"""Steps of ``extension.py``: units, missions, and the asset library."""

from __future__ import annotations

import bpy
from extension_tools import (
    MISSION,
    UNIT,
    WALKER,
    at,
    changed_files,
    empty_file,
    error_of,
    module,
    preferences,
    put_back,
    read,
    reopen,
    said,
)


def _stated(thing):
    """What an object says of itself."""
    return {key: value for key, value in thing["msh"].items() if key != "properties"}


def _tree(collection):
    """The collections below one, with the objects that say that they are placed."""
    return {
        "objects": sorted(o.name for o in collection.objects if o.get("msh", {}).get("kind") == "object"),
        **{child.name: _tree(child) for child in collection.children},
    }


def units():
    scene = read(UNIT)
    state = scene.msh_gltf
    yield "state", [scene.name, state.source, state.kind, state.summary, state.sidecar.name]
    yield "frames", [scene.frame_start, scene.frame_end, scene.render.fps]
    yield "kinds", [len(said("unit")), sorted(one["msh"]["key"] for one in said("component"))]
    yield "untouched", put_back()
    gun = next(one for one in said("component") if one["msh"]["key"] == "e_gun_1")
    gun["msh"]["key"] = "s_rock"
    yield "exchanged", put_back()
    gun["msh"]["key"] = "e_gun_1"
    yield "undone", put_back()
    outside = "alone/робот.dat"
    yield "outside", error_of(bpy.ops.import_scene.msh, filepath=str(at(outside)))
    preferences().game = str(at("assembled"))
    empty_file()
    yield "named", read(outside).msh_gltf.summary
    preferences().game = ""


def missions():
    """Sorted by kind and clan; what objects are and where is as the game has it, and is kept in the .blend."""
    scene = read(MISSION)
    state, layers = scene.msh_gltf, bpy.context.view_layer.layer_collection.children
    yield "state", [scene.name, state.source, state.kind, state.summary]
    yield "switched off", {c.name: c.exclude for c in layers}
    yield "tree", _tree(scene.collection.children[0])
    stated = {o.name: _stated(o) for o in said()}
    for name, facts in stated.items():
        yield name, [facts, list(bpy.data.objects[name].matrix_world.translation)]
    yield "properties", dict(bpy.data.objects["Base"]["msh"]["properties"])
    yield "routes", sorted(one.name for one in said("route"))
    yield "collections that they show", sorted(o.instance_collection.name for o in said())
    reopen("mission.blend")
    yield "opened again", {o.name: _stated(o) for o in said()} == stated
    yield "rebuild", error_of(bpy.ops.export_scene.msh, filepath=str(at("x.msh")), rebuild=True)
    yield "untouched", put_back()
    yield "by its folder", error_of(bpy.ops.import_scene.msh, filepath=str(at(MISSION).parent))


def _thumbnail(asset):
    """Size of the asset's picture, and whether it shows something."""
    picture = asset.preview
    if picture is None or not picture.image_size[0]:
        return None
    return [*picture.image_size, 0.1 < sum(list(picture.image_pixels_float)[3::4]) / 128**2 < 0.9]


def assets():
    """The library is made beside an open model, which stays as it was."""
    library = at("библиотека.blend")
    yield "no game", error_of(bpy.ops.export_scene.msh_assets, filepath=str(library))
    walker = read(WALKER)
    drawn = module("assets").Thumbnails().draw(walker.objects)
    yield "drawn", [list(drawn.shape), bool(0.1 < drawn[..., 3].mean() < 0.9), drawn.reshape(-1, 4)[0].tolist()]
    before = [len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)]
    at("blender_assets.cats.txt").write_text("VERSION 1\n\nabc:mine:mine\n", "utf-8")
    changed_files()
    for _ in range(2):
        bpy.ops.export_scene.msh_assets(filepath=str(library), game=str(at("assembled")))
    after = [len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)]
    yield "same", [before == after, bpy.context.scene.name]
    yield "files", [name.partition(" ")[0] for name in changed_files()]
    rows = at("blender_assets.cats.txt").read_text("utf-8").splitlines()
    catalogs = {row.split(":")[0]: row.split(":")[1] for row in rows if ":" in row}
    yield "catalogs", [len(rows), *sorted(catalogs.values())]
    empty_file()
    with bpy.data.libraries.load(str(library), assets_only=True) as (found, wanted):
        wanted.collections = list(found.collections)
    shown = {one.name: sorted(o.data.name for o in one.all_objects if o.type == "MESH") for one in wanted.collections}
    for one in wanted.collections:
        (top,) = (o for o in one.objects if o.parent is None)
        yield one.name, [catalogs[one.asset_data.catalog_id], top.name, dict(top["msh"]), shown[one.name]]
    # Blender 5.0 and 5.1 drop them when they write a library
    yield "thumbnails", [_thumbnail(one) for one in wanted.collections]


def placing():
    """A library is made; a unit of it is dragged into a mission, another object is moved."""
    library = at("assets.blend")
    bpy.ops.export_scene.msh_assets(filepath=str(library), game=str(at("assembled")))
    scene = read(MISSION)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.collections = ["robot", "static/s_rock"]
    for number, one in enumerate(wanted.collections):
        drag = bpy.data.objects.new(one.name, None)  # what dragging an asset makes
        drag.instance_type, drag.instance_collection = "COLLECTION", one
        drag.location = 120 + 10 * number, 80, 9
        scene.collection.objects.link(drag)
    bpy.data.objects["Guard"].location.x += 7
    changed_files()
    yield "placed", put_back()
    empty_file()
    read(MISSION)
    yield "said", {o.name: [_stated(o).get("path"), list(o.matrix_world.translation)] for o in said()}
