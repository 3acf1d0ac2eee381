"""Steps of ``extension.py``, in every Blender: import, export, copies of scenes, archives, errors."""

from __future__ import annotations

import base64
import sys
import textwrap
import types
import zlib
from pathlib import Path

import bpy
from extension_tools import (
    ADDON,
    ARCHIVE,
    HANGAR,
    ROOM,
    TURRETS,
    WALKER,
    Recorder,
    at,
    context_of,
    drawn_by,
    empty_file,
    error_of,
    gltf,
    meshes,
    module,
    preferences,
    put_back,
    read,
    reopen,
    report,
    write,
)
from trial_tools import pick

UNTOUCHED = (
    *(WALKER, HANGAR, ROOM),
    "models/spec__system__a_bird_007.msh",
    "models/spec__system__R_H_002.msh",
    "models/mixed__odd__l_mast_058.msh",
    "models/retail__system__MTCHECK.msh",
)


def untouched():
    """Corners at one place are one vertex, but for faces that Blender cannot hold on the same vertices."""
    for path in UNTOUCHED:
        empty_file()
        bpy.context.scene.render.fps = 30
        scene = read(path)
        layers = bpy.context.view_layer.layer_collection.children
        state = scene.msh_gltf
        yield f"{path}: state", [state.source, state.kind, state.dialect, state.index, scene.name, len(bpy.data.scenes)]
        yield f"{path}: frames", [scene.frame_start, scene.frame_end, scene.frame_current, scene.render.fps]
        yield f"{path}: switched off", {c.name: c.exclude for c in layers}
        yield f"{path}: parents", {o.name: o.parent and o.parent.name for o in scene.objects}
        yield f"{path}: hidden", sorted(o.name for o in scene.objects if o.hide_get())
        places = [(len(one.data.vertices), len({tuple(v.co) for v in one.data.vertices})) for one in meshes()]
        yield f"{path}: vertices at one place", [a - b for a, b in places]
        yield path, write("same.msh")


def textured():
    def pictures():
        return {i.name: [*i.size, bool(i.packed_file)] for i in bpy.data.images if i.size[0]}

    scene = read("with_materials/room.msh")
    slots = {slot.material for one in scene.objects for slot in one.material_slots}
    nodes = [node for material in slots for node in material.node_tree.nodes if node.type == "TEX_IMAGE"]
    yield "images", pictures()
    yield "used", {node.image.name for node in nodes}
    read("with_materials/room.msh", textures=False)
    yield "bare", write("bare.msh")
    bpy.context.window.scene = scene
    yield "with materials", write("textured.msh")
    preferences().game = str(at("with_materials"))
    empty_file()
    read("bare/room.msh")
    yield "by preferences", pictures()
    preferences().game = str(at("nowhere"))
    yield "no folder", error_of(bpy.ops.import_scene.msh, filepath=str(at("bare/room.msh")))
    preferences().game = ""


def reopened():
    """Saved, closed, opened: the sidecar is in the .blend. What is switched off stays so, and does not move."""
    read(WALKER)
    level = "Base_TM.level1"
    for name in ("turret", level):
        bpy.data.objects[name].hide_viewport = True
    reopen("walker.blend")
    yield "same", write("same.msh")
    scene = bpy.context.scene
    yield "hidden", [sorted(o.name for o in scene.objects if o.hide_viewport), len(scene.view_layers)]
    bpy.data.objects[level].location.x += 1
    yield "moved", write("moved.msh")


def copied():
    """A scene appended to another file, and a full copy of it: the sidecar comes along."""
    read(WALKER)
    bpy.ops.wm.save_as_mainfile(filepath=str(at("walker.blend")))
    empty_file()
    with bpy.data.libraries.load(str(at("walker.blend"))) as (there, here):
        here.scenes = there.scenes
    bpy.context.window.scene = here.scenes[0]
    yield "appended", write("appended.msh")
    bpy.ops.scene.new(type="FULL_COPY")
    yield bpy.context.scene.name, write("copy.msh")


def moved():
    read(WALKER)
    bpy.data.objects["gun"].location.x += 0.5
    gltf("moved.glb")
    yield "moved", write("moved.msh")


def edited():
    """In edit mode, at another frame rate, with a modifier: as it is seen, also what is switched off."""
    scene = read(WALKER)
    pick("foot_l")
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.transform.translate(value=(0, 0, 0.25))
    scene.render.fps = 60
    for name in ("gun", "gun.level1"):
        bpy.data.objects[name].modifiers.new("mirror", "MIRROR")
    yield "edited", write("edited.msh")
    yield "mode", [bpy.context.object.mode, scene.render.fps]


def archive():
    yield "none", error_of(bpy.ops.import_scene.msh, filepath=str(at(ARCHIVE)))
    read(ARCHIVE, entry="R_H_002.msh")
    yield "state", [bpy.context.scene.msh_gltf.place, bpy.context.scene.msh_gltf.index]
    empty_file()
    entries = module("import_msh")._entries(types.SimpleNamespace(filepath=str(at(ARCHIVE))), bpy.context)
    yield "entries", [list(one) for one in entries]
    bird = next(one[0] for one in entries if one[1].startswith("пт"))
    assert bpy.ops.import_scene.msh_entry(filepath=str(at(ARCHIVE)), entry=bird) == {"FINISHED"}
    yield "same", put_back()
    yield "history of nothing", at("game/.msh-gltf").exists()
    node = next(o for o in bpy.context.scene.objects if o.parent is None)
    node.animation_data_clear()
    node.location.z += 1
    gltf("bird.glb")
    yield "changed", put_back()
    yield "again", put_back()
    bpy.context.scene.msh_gltf.owner = "blend:another"
    node.location.z += 1
    yield "another", put_back()


def turret():
    """The tutorial's way without commands: out of the archive, a second gun, put back."""
    from second_gun import GUNS, add_gun

    read(TURRETS, entry="e_tur_01.msh")
    yield "objects", [o.name for o in bpy.context.scene.objects]
    for name in GUNS:
        add_gun(bpy.data.objects[name])
    yield "two guns", put_back()


def new_model():
    bpy.ops.mesh.primitive_cube_add(size=2, location=(0, 0, 1))
    bpy.context.object.name = "box"
    gltf("new.glb")
    yield "new", write("new.msh", dialect="retail")
    yield "materials", at("new.wea").read_text("ascii")
    read(WALKER)
    yield "rebuilt", write("rebuilt.msh", rebuild=True)


def _bomb(size):
    """A text of a sidecar that unpacks to very many zeros."""
    stream, block = zlib.compressobj(), bytes(1 << 20)
    packed = b"".join(stream.compress(block) for _ in range(size >> 20)) + stream.flush()
    text = bpy.data.texts.new("bomb.msh-sidecar")
    text.write("\n".join(["", *textwrap.wrap(base64.b64encode(packed).decode(), 100)]))
    return text


def _peak_mib():
    """What this process has taken at most; no number where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def errors():
    """Each is one line, and leaves nothing behind."""
    imports, export = bpy.ops.import_scene.msh, bpy.ops.export_scene.msh
    for path in ("broken.msh", "game/OBJECTS.RLB", "game/DATA/notes.msh", "game", "gone.msh"):
        yield path, error_of(imports, filepath=str(at(path)))
    yield "entry", error_of(imports, filepath=str(at(ARCHIVE)), entry="nobody")
    yield "left over", [len(bpy.data.scenes), len(bpy.data.objects), len(bpy.data.texts)]
    yield "empty", error_of(export, filepath=str(at("empty.msh")))
    scene = read(WALKER)
    target = {"filepath": str(at("never.msh"))}
    kept, before = scene.msh_gltf.sidecar, _peak_mib()
    scene.msh_gltf.sidecar = _bomb(1 << 30)
    yield "bomb", error_of(export, **target)
    yield "it takes little memory", _peak_mib() - before < 160
    scene.msh_gltf.sidecar = kept
    scene.msh_gltf.sidecar.lines[3].body = "x" + scene.msh_gltf.sidecar.lines[3].body
    yield "edited sidecar", error_of(export, **target)
    bpy.data.texts.remove(scene.msh_gltf.sidecar)
    yield "no sidecar", error_of(export, **target)
    other = read(ROOM)
    scene.msh_gltf.sidecar = other.msh_gltf.sidecar
    bpy.context.window.scene = scene
    yield "other sidecar", error_of(export, **target)
    bpy.context.window.scene = other
    yield "no place", error_of(export, filepath=str(at("game/DATA/notes.msh/x.msh")))
    shape = next(o for o in other.objects if o.type == "MESH")
    shape.shape_key_add(name="basis")
    shape.shape_key_add(name="open").value = 0.5
    yield "shape keys", error_of(export, **target)
    yield "files", report()


def same_names():
    """New materials called like several old ones: the triangles tell which is meant, unless two were the same."""
    scene = read(ROOM)
    mesh = next(o for o in scene.objects if o.type == "MESH" and o.visible_get()).data
    mesh.materials[0] = bpy.data.materials.new("MTL_012")
    mesh.materials[0].roughness = 0.5  # as new ones have since Blender 5.0
    yield "alone", write("alone.msh")
    mesh.materials.append(bpy.data.materials.new("MTL_012"))
    polygons = [polygon for polygon in mesh.polygons if polygon.material_index == 0]
    for polygon in polygons[::2]:
        polygon.material_index = len(mesh.materials) - 1
    yield "two", error_of(bpy.ops.export_scene.msh, filepath=str(at("x.msh")))
    for polygon in polygons:
        polygon.material_index = 0
    mesh.materials.pop()
    mesh.materials[0].name = "material_2"
    yield "by number", write("x.msh")


def panel():
    parts = module("panel")
    yield "unknown", [drawn_by(parts.MSH_PT_model), drawn_by(parts.MSH_PT_report)]
    scene = read(WALKER)
    bpy.data.objects["gun"].location.x += 0.5
    write("moved.msh")
    scene.msh_gltf.warnings.add().reason = "a warning that is longer than a line of the panel is"
    scene.render.fps = 30
    yield "model", drawn_by(parts.MSH_PT_model)
    yield "report", drawn_by(parts.MSH_PT_report)
    layout = []
    for row in scene.msh_gltf.rows:
        parts.MSH_UL_rows.draw_item(None, bpy.context, Recorder(layout), None, row, 0, None, "")
    yield "rows", [len(scene.msh_gltf.rows), layout[:4]]
    yield "preferences", drawn_by(type(preferences()))
    menus = []
    for name in ("import_msh", "export_msh"):
        module(name)._menu(types.SimpleNamespace(layout=Recorder(menus)), bpy.context)
    yield "menus", menus
    handler = bpy.types.FileHandler.bl_rna_get_subclass_py("MSH_FH_import")
    yield "handler", [handler.bl_file_extensions, handler.bl_import_operator]


def dialogs():
    """What happens before ``execute``."""
    calls = []
    imports, exports = module("import_msh"), module("export_msh")
    for path in (WALKER, "level/Land.map"):
        empty_file()
        read(path)
        operator = types.SimpleNamespace(filepath="", check_extension=True)
        exports.MSH_OT_export.invoke(operator, context_of(calls), None)
        yield f"{path}: proposed", operator.filepath
        operator.filepath = "other"
        exports.MSH_OT_export.check(operator, context_of(calls))
        yield f"{path}: completed", operator.filepath
    imports.MSH_OT_import.invoke(types.SimpleNamespace(files=[], directory=""), context_of(calls), None)
    imports.MSH_OT_import_entry.invoke(None, context_of(calls), None)
    exports.MSH_OT_put_back.invoke(None, context_of(calls), None)
    yield "dialogs", calls

    picked = []
    scene_operators = types.SimpleNamespace(msh_entry=lambda *args, **options: picked.append([*args, sorted(options)]))
    real, fake_ops = imports.bpy, types.SimpleNamespace(import_scene=scene_operators)
    imports.bpy = types.SimpleNamespace(app=types.SimpleNamespace(background=False), ops=fake_ops, types=bpy.types)
    by_script = types.SimpleNamespace(is_invoke=False)
    operator = types.SimpleNamespace(
        files=[], entry="", filepath=str(at(ARCHIVE)), dialect="auto", textures=True, options=by_script
    )
    yield "an archive", [sorted(imports.MSH_OT_import.execute(operator, bpy.context)), picked]
    imports.bpy = real
    yield "unnamed", [error_of(bpy.ops.import_scene.msh), error_of(bpy.ops.export_scene.msh, filepath="")]


def dropped():
    """What drag and drop calls: a folder and names of files in it."""
    for names in (("walker.msh", "hangar.msh"), ("gone.msh", "tree.msh")):
        empty_file()
        files = [{"name": name} for name in names]
        options = {"directory": str(at("models")), "files": files}
        yield ", ".join(names), error_of(bpy.ops.import_scene.msh, "INVOKE_DEFAULT", **options)
        yield f"{', '.join(names)}: scenes", [s.name for s in bpy.data.scenes]


def switched_off():
    """Off and on again: the .blend still has everything."""
    read(WALKER)
    bpy.ops.preferences.addon_disable(module=ADDON)
    yield "gone", not hasattr(bpy.types.Scene, "msh_gltf")
    bpy.ops.preferences.addon_enable(module=ADDON)
    yield "same", write("same.msh")


sys.path.append(str(Path(__file__).parents[2] / "examples/blender"))  # what the tutorials use
