"""Runs in Blender's Python, with the extension installed: what a modder does, step by step.

    python extension.py ZIP OUT FILES.json STEP...

Installs the zip into ``BLENDER_USER_RESOURCES`` as *Install from Disk* does, switches it on, and
runs the steps, each from an empty file. ``FILES.json`` names the models. Writes what each step saw
to ``OUT/facts.json``; files go to ``OUT/STEP``.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import textwrap
import types
import zlib
from pathlib import Path

import bpy

ZIP, OUT, FILES, *STEPS = sys.argv[1:]
FILES = json.loads(Path(FILES).read_text("utf-8"))
ADDON = "bl_ext.user_default.msh_gltf"
OWN_NAMES = ("msh_gltf", "converter", "importers", "exporters")


def read(name, **options):
    assert bpy.ops.import_scene.msh(filepath=FILES[name], **options) == {"FINISHED"}
    return bpy.context.scene


def write(path, **options):
    assert bpy.ops.export_scene.msh(filepath=str(path), **options) == {"FINISHED"}
    return report()


def report(scene=None):
    state = (scene or bpy.context.scene).msh_gltf
    return {
        "outcome": state.outcome,
        "rows": [[r.what, r.name, r.status, r.reason] for r in state.rows],
        "warnings": [w.reason for w in state.warnings],
    }


def module(name):
    return sys.modules[f"{ADDON}.{name}"]


def error_of(operator, **options):
    """The line that Blender shows."""
    try:
        operator(**options)
    except RuntimeError as error:
        return str(error).strip()
    return ""


def gltf(path):
    """The scene as the extension hands it to the converter, for the command line to convert."""
    meshes = {one.data: None for one in bpy.context.scene.objects if one.type == "MESH"}
    with module("export_msh")._all_evaluated(bpy.context), module("materials").split(meshes):
        bpy.ops.export_scene.gltf(filepath=str(path), **module("export_msh").GLTF_OPTIONS)


def bomb(size):
    """A text of a sidecar that unpacks to very many zeros."""
    stream, block = zlib.compressobj(), bytes(1 << 20)
    packed = b"".join(stream.compress(block) for _ in range(size >> 20)) + stream.flush()
    text = bpy.data.texts.new("bomb.msh-sidecar")
    text.write("\n".join(["", *textwrap.wrap(base64.b64encode(packed).decode(), 100)]))
    return text


def peak_mib():
    """What this process has taken at most; no number where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def vertices(mesh):
    """How many vertices a mesh has, and at how many places."""
    return [len(mesh.vertices), len({tuple(v.co) for v in mesh.vertices})]


# ------------------------------------------------------------------ steps


def namespace(out):
    """Nothing of ours is called what others may be called."""
    return {
        "ours": [m for m in sys.modules if m.partition(".")[0] in OWN_NAMES and m not in DECOYS],
        "decoys": [name for name in OWN_NAMES if sys.modules[name] is DECOYS[name]],
        "used": [m for m in sys.modules if m.startswith(f"{ADDON}.converter")][:1],
        "numpy": sys.modules["numpy"].__version__,
    }


def untouched(out):
    facts = {}
    for name in FILES["untouched"]:
        bpy.ops.wm.read_homefile(use_empty=True)
        bpy.context.scene.render.fps = 30
        scene = read(name)
        layers = bpy.context.view_layer.layer_collection.children
        state = scene.msh_gltf
        facts[name] = {
            "scene": scene.name,
            "scenes": [s.name for s in bpy.data.scenes],
            "fps": scene.render.fps / scene.render.fps_base,
            "frames": [scene.frame_start, scene.frame_end, scene.frame_current],
            "collections": {c.name: c.exclude for c in layers},
            "parents": {o.name: o.parent and o.parent.name for o in scene.objects},
            "hidden": sorted(o.name for o in scene.objects if o.hide_get()),
            "vertices": [vertices(o.data) for o in scene.objects if o.type == "MESH"],
            "state": [state.source, state.kind, state.dialect, state.index],
        }
        facts[name]["report"] = write(out / f"{name}.msh")
    return facts


def textured(out):
    scene = read("textured")
    images = {i.name: [*i.size, bool(i.packed_file)] for i in bpy.data.images if i.size[0]}
    used = {
        node.image.name
        for slot in scene.objects
        for m in slot.material_slots
        for node in m.material.node_tree.nodes
        if node.type == "TEX_IMAGE"
    }
    bare = read("textured", textures=False)
    facts = {"images": images, "used": sorted(used), "report": write(out / "bare.msh")}
    facts["bare"] = bare.name
    bpy.context.window.scene = scene
    facts["with_materials"] = write(out / "with_materials.msh")
    bpy.context.preferences.addons[ADDON].preferences.game = FILES["game"]
    bpy.ops.wm.read_homefile(use_empty=True)
    read("without_libraries")
    facts["by_preferences"] = sum(1 for i in bpy.data.images if i.packed_file)
    bpy.context.preferences.addons[ADDON].preferences.game = str(out / "nowhere")
    facts["no_folder"] = error_of(bpy.ops.import_scene.msh, filepath=FILES["without_libraries"])
    bpy.context.preferences.addons[ADDON].preferences.game = ""
    return facts


def reopened(out):
    """Saved, closed, opened: the sidecar is in the .blend. Switched off things do not move."""
    read("walker")
    bpy.data.objects["turret"].hide_viewport = True
    bpy.data.objects["Base_TM.level1"].hide_viewport = True
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "walker.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(out / "walker.blend"))
    bpy.ops.export_scene.gltf(filepath=str(out / "by_hand.glb"))
    facts = write(out / "same.msh")
    facts["hidden"] = sorted(o.name for o in bpy.context.scene.objects if o.hide_viewport)
    facts["view_layers"] = len(bpy.context.scene.view_layers)
    bpy.data.objects["Base_TM.level1"].location.x += 1
    facts["moved"] = write(out / "moved.msh")
    return facts


def copied(out):
    """A scene appended to another file, and a full copy of it."""
    read("walker")
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "walker.blend"))
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(out / "walker.blend")) as (there, here):
        here.scenes = there.scenes
    bpy.context.window.scene = here.scenes[0]
    facts = {"appended": write(out / "appended.msh")}
    bpy.ops.scene.new(type="FULL_COPY")
    facts["name"] = bpy.context.scene.name
    facts["copy"] = write(out / "copy.msh")
    return facts


def moved(out):
    read("walker")
    bpy.data.objects["gun"].location.x += 0.5
    gltf(out / "moved.glb")
    return write(out / "moved.msh")


def edited(out):
    """In edit mode, at another frame rate, with a modifier: as it is seen."""
    scene = read("walker")
    target = bpy.data.objects["foot_l"]
    bpy.ops.object.select_all(action="DESELECT")
    target.select_set(True)
    bpy.context.view_layer.objects.active = target
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.transform.translate(value=(0, 0, 0.25))
    scene.render.fps = 60
    for name in ("gun", "gun.level1"):
        bpy.data.objects[name].modifiers.new("mirror", "MIRROR")
    facts = write(out / "edited.msh")
    facts["mode"] = bpy.context.object.mode
    facts["fps"] = scene.render.fps
    return facts


def two_models(out):
    """The same model twice and another: each scene its own."""
    first, second, third = read("walker"), read("walker"), read("retail")
    facts = {"scenes": [s.name for s in bpy.data.scenes]}
    gun = next(o for o in second.objects if o.name.startswith("gun") and ".stage" not in o.name)
    facts["gun"] = gun.name
    gun.location.x += 0.5
    for name, scene in (("first", first), ("second", second), ("third", third)):
        bpy.context.window.scene = scene
        facts[name] = write(out / f"{name}.msh")
    return facts


def archive(out):
    facts = {"none": error_of(bpy.ops.import_scene.msh, filepath=FILES["archive"])}
    read("archive", entry="R_H_002.msh")
    facts["state"] = [bpy.context.scene.msh_gltf.place, bpy.context.scene.msh_gltf.index]
    bpy.ops.wm.read_homefile(use_empty=True)
    picker = types.SimpleNamespace(filepath=FILES["archive"])
    facts["entries"] = [list(e) for e in module("import_msh")._entries(picker, bpy.context)]
    bird = next(e[0] for e in facts["entries"] if e[1].startswith("пт"))
    assert bpy.ops.import_scene.msh_entry(filepath=FILES["archive"], entry=bird) == {"FINISHED"}
    assert bpy.ops.export_scene.msh_put_back() == {"FINISHED"}
    facts["same"] = report()
    facts["history_of_nothing"] = Path(FILES["archive"]).with_name(".msh-gltf").exists()
    node = next(o for o in bpy.context.scene.objects if o.parent is None)
    node.location.z += 1
    gltf(out / "bird.glb")
    if node.animation_data:
        node.animation_data_clear()
        node.location.z += 1
        gltf(out / "bird.glb")
    assert bpy.ops.export_scene.msh_put_back() == {"FINISHED"}
    facts["changed"] = report()
    assert bpy.ops.export_scene.msh_put_back() == {"FINISHED"}
    bpy.context.scene.msh_gltf.owner = "blend:another"
    node.location.z += 1
    facts["another"] = error_of(bpy.ops.export_scene.msh_put_back)
    return facts


def turret(out):
    """The tutorial's way without commands: out of the archive, a second gun, put back."""
    sys.path.insert(0, FILES["scripts"])
    from second_gun import GUNS, add_gun

    read("turrets", entry="e_tur_01.msh")
    names = [o.name for o in bpy.context.scene.objects]
    for name in GUNS:
        add_gun(bpy.data.objects[name])
    assert bpy.ops.export_scene.msh_put_back() == {"FINISHED"}
    return {"objects": names, "report": report()}


def new_model(out):
    bpy.ops.mesh.primitive_cube_add(size=2, location=(0, 0, 1))
    bpy.context.object.name = "box"
    gltf(out / "new.glb")
    facts = write(out / "new.msh", dialect="retail")
    read("walker")
    facts["rebuilt"] = write(out / "rebuilt.msh", rebuild=True)
    return facts


def errors(out):
    imports, export = bpy.ops.import_scene.msh, bpy.ops.export_scene.msh
    facts = {name: error_of(imports, filepath=FILES[name]) for name in ("broken", "no_models", "text", "directory")}
    facts["gone"] = error_of(imports, filepath=str(out / "gone.msh"))
    facts["entry"] = error_of(imports, filepath=FILES["archive"], entry="nobody")
    facts["left_over"] = [len(bpy.data.scenes), len(bpy.data.objects), len(bpy.data.texts)]
    facts["empty"] = error_of(export, filepath=str(out / "empty.msh"))
    scene = read("walker")
    target = {"filepath": str(out / "never.msh")}
    kept, before = scene.msh_gltf.sidecar, peak_mib()
    scene.msh_gltf.sidecar = bomb(1 << 30)
    facts["bomb"] = error_of(export, **target)
    facts["bomb_mib"] = peak_mib() - before
    scene.msh_gltf.sidecar = kept
    scene.msh_gltf.sidecar.lines[3].body = "x" + scene.msh_gltf.sidecar.lines[3].body
    facts["edited_sidecar"] = error_of(export, **target)
    bpy.data.texts.remove(scene.msh_gltf.sidecar)
    facts["no_sidecar"] = error_of(export, **target)
    other = read("retail")
    scene.msh_gltf.sidecar = other.msh_gltf.sidecar
    bpy.context.window.scene = scene
    facts["other_sidecar"] = error_of(export, **target)
    bpy.context.window.scene = other
    facts["no_place"] = error_of(export, filepath=str(Path(FILES["text"]) / "x.msh"))
    shape = next(o for o in other.objects if o.type == "MESH")
    shape.shape_key_add(name="basis")
    shape.shape_key_add(name="open").value = 0.5
    facts["shape_keys"] = error_of(export, **target)
    return facts


def same_names(out):
    """New materials that are called like several old ones: the triangles tell which one is meant,
    unless two of them were the same."""
    scene = read("retail")
    mesh = next(o for o in scene.objects if o.type == "MESH" and o.visible_get()).data
    mesh.materials[0] = bpy.data.materials.new("MTL_012")
    facts = {"alone": write(out / "alone.msh")}
    mesh.materials.append(bpy.data.materials.new("MTL_012"))
    polygons = [polygon for polygon in mesh.polygons if polygon.material_index == 0]
    for polygon in polygons[::2]:
        polygon.material_index = len(mesh.materials) - 1
    facts["error"] = error_of(bpy.ops.export_scene.msh, filepath=str(out / "x.msh"))
    for polygon in polygons:
        polygon.material_index = 0
    mesh.materials.pop()
    mesh.materials[0].name = "material_2"
    facts["fixed"] = write(out / "x.msh")
    return facts


class Recorder:
    """Stands in for a layout: knows what was drawn."""

    def __init__(self, drawn):
        self.drawn = drawn

    def __getattr__(self, name):
        def call(*args, **options):
            self.drawn.append([name, *map(str, args), *(f"{k}={v}" for k, v in options.items())])
            return Recorder(self.drawn)

        return call


def drawn_by(cls, **options):
    drawn = []
    bl_self = types.SimpleNamespace(layout=Recorder(drawn), **options)
    if not hasattr(cls, "poll") or cls.poll(bpy.context):
        cls.draw(bl_self, bpy.context)
    return [" ".join(line) for line in drawn]


def panel(out):
    parts = module("panel")
    facts = {"unknown": drawn_by(parts.MSH_PT_model), "silent": drawn_by(parts.MSH_PT_report)}
    scene = read("walker")
    bpy.data.objects["gun"].location.x += 0.5
    write(out / "moved.msh")
    scene.msh_gltf.warnings.add().reason = "a warning that is longer than a line of the panel is"
    scene.render.fps = 30
    facts["model"] = drawn_by(parts.MSH_PT_model)
    facts["report"] = drawn_by(parts.MSH_PT_report)
    layout = []
    rows = scene.msh_gltf.rows
    for row in rows:
        parts.MSH_UL_rows.draw_item(None, bpy.context, Recorder(layout), None, row, 0, None, "")
    facts["rows"] = len(rows)
    facts["labels"] = [" ".join(line) for line in layout[:2]]
    preferences = bpy.context.preferences.addons[ADDON].preferences
    type(preferences).draw(types.SimpleNamespace(layout=Recorder(layout)), bpy.context)
    facts["preferences"] = layout[-1][0]
    menus = []
    fake = types.SimpleNamespace(layout=Recorder(menus))
    module("import_msh")._menu(fake, bpy.context)
    module("export_msh")._menu(fake, bpy.context)
    facts["menus"] = [" ".join(line) for line in menus]
    handler = bpy.types.FileHandler.bl_rna_get_subclass_py("MSH_FH_import")
    facts["handler"] = [handler.bl_file_extensions, handler.bl_import_operator]
    return facts


def dialogs(out):
    """What happens before ``execute``; without a window, Blender's dialogs are stood in for."""
    calls = []

    class Manager:
        def __getattr__(self, name):
            return lambda *args, **options: calls.append(" ".join([name, *map(str, options.values())]))

    def context():
        seen = bpy.context
        return types.SimpleNamespace(
            window_manager=Manager(), scene=seen.scene, view_layer=seen.view_layer, blend_data=bpy.data
        )

    imports, exports = module("import_msh"), module("export_msh")
    facts = {"file": [], "extension": []}
    for name in ("walker", "areals"):
        bpy.ops.wm.read_homefile(use_empty=True)
        read(name)
        operator = types.SimpleNamespace(filepath="", check_extension=True)
        exports.MSH_OT_export.invoke(operator, context(), None)
        facts["file"].append(operator.filepath)
        operator.filepath = "other"
        exports.MSH_OT_export.check(operator, context())
        facts["extension"].append(operator.filepath)
    imports.MSH_OT_import.invoke(types.SimpleNamespace(files=[], directory=""), context(), None)
    imports.MSH_OT_import_entry.invoke(None, context(), None)
    exports.MSH_OT_put_back.invoke(None, context(), None)
    facts["calls"] = calls

    picked = []
    scene_operators = types.SimpleNamespace(msh_entry=lambda *args, **options: picked.append([*args, sorted(options)]))
    real, fake_ops = imports.bpy, types.SimpleNamespace(import_scene=scene_operators)
    imports.bpy = types.SimpleNamespace(app=types.SimpleNamespace(background=False), ops=fake_ops, types=bpy.types)
    by_script = types.SimpleNamespace(is_invoke=False)
    operator = types.SimpleNamespace(
        files=[], entry="", filepath=FILES["archive"], dialect="auto", textures=True, options=by_script
    )
    facts["done"] = sorted(imports.MSH_OT_import.execute(operator, bpy.context))
    imports.bpy = real
    facts["picked"] = picked
    facts["unnamed"] = [error_of(bpy.ops.import_scene.msh), error_of(bpy.ops.export_scene.msh, filepath="")]
    return facts


def dropped(out):
    """What drag and drop calls: a folder and names of files in it."""
    folder = Path(FILES["walker"]).parent
    files = [{"name": "walker.msh"}, {"name": "hangar.msh"}]
    options = {"directory": str(folder), "files": files}
    done = bpy.ops.import_scene.msh("INVOKE_DEFAULT", **options)
    facts = {"done": sorted(done), "scenes": [s.name for s in bpy.data.scenes]}
    bpy.ops.wm.read_homefile(use_empty=True)
    options["files"] = [{"name": "gone.msh"}, {"name": "tree.msh"}]
    facts["one_of_two"] = error_of(bpy.ops.import_scene.msh, **options)
    facts["the_other"] = [s.name for s in bpy.data.scenes]
    return facts


def switched_off(out):
    """Off and on again: the .blend still has everything."""
    read("walker")
    bpy.ops.preferences.addon_disable(module=ADDON)
    facts = {"gone": not hasattr(bpy.types.Scene, "msh_gltf")}
    bpy.ops.preferences.addon_enable(module=ADDON)
    facts["report"] = write(out / "same.msh")
    return facts


# steps, which use this file
from extension_bridge import beyond, cells, corner, levels, stopped, turned, unkeyed  # noqa: E402, F401
from extension_clips import clips, marked  # noqa: E402, F401
from extension_game import exported_over, given_away, moved_game, on_save, panel_of_game, unsaved  # noqa: E402, F401
from extension_maps import areals, ground, maps, two_grounds  # noqa: E402, F401
from extension_materials import grouped, libraries, materials, namesakes  # noqa: E402, F401
from extension_missions import assets, missions, placing, units  # noqa: E402, F401
from extension_new import adding  # noqa: E402, F401
from extension_placed import by_gltf, carried, fielded, opened, things  # noqa: E402, F401
from extension_points import points  # noqa: E402, F401
from extension_undo import failing, new_models, other_models, several, undone  # noqa: E402, F401

# modules of somebody else's extension
DECOYS = {name: types.ModuleType(name) for name in OWN_NAMES}
sys.modules.update(DECOYS)

bpy.ops.extensions.package_install_files(filepath=ZIP, repo="user_default", enable_on_install=True)
assert ADDON in bpy.context.preferences.addons, "the extension was not switched on"
facts = {}
for step in STEPS:
    folder = Path(OUT) / step
    folder.mkdir(parents=True)
    bpy.ops.wm.read_homefile(use_empty=True)
    facts[step] = globals()[step](folder)
(Path(OUT) / "facts.json").write_text(json.dumps(facts, ensure_ascii=False, indent=1), "utf-8")
sys.stdout.flush()
os._exit(0)  # bpy 4.2 crashes when the interpreter ends
