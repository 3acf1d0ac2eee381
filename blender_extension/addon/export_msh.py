"""File > Export > Parkan MSH: to a file, or back into the game."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bpy
from bpy.props import BoolProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from .areals import numbered
from .converter.batch.put_libraries import plan_libraries
from .converter.batch.replace_entry import replace_file, replace_model
from .converter.batch.written import History, history_text, read_history
from .converter.errors import ConversionError
from .converter.formats.kinds import ASSEMBLY_KINDS, Kind
from .converter.formats.names import file_stem, stem
from .converter.formats.sidecar import sidecar_path
from .converter.pipeline.appearance import with_libraries_around
from .converter.pipeline.companions import companions_beside, wear_beside
from .converter.pipeline.dispatch import import_gltf
from .converter.pipeline.import_result import ImportResult
from .converter.pipeline.library_edits import files_beside
from .converter.pipeline.new_entries import NewEntries, entries_of_game
from .converter.pipeline.options import ExportOptions, ImportOptions
from .converter.storage import write_outputs
from .guard import guarded
from .missions import game_of_file
from .state import DIALECTS, game_folders, show_report, sidecar_bytes

#: What leaves Blender: every property that says what is what, this scene alone. Modifiers are
#: applied, because the game has none.
GLTF_OPTIONS = {
    "export_format": "GLB",
    "export_extras": True,
    "export_attributes": True,
    "export_apply": True,
    "use_active_scene": True,
}
#: What the scene plays at while it is exported: a frame of Blender is a frame of the game.
GAME_FPS = int(ExportOptions().fps)
REBUILD = BoolProperty(
    name="Rebuild Everything",
    description="Make a new model of what is seen, and leave the imported one aside",
    options={"SKIP_SAVE"},
)


def export_model(
    context: bpy.types.Context, name: str, dialect: str, rebuild: bool
) -> ImportResult:
    """The scene's model as the game wants it, with the report in the scene.

    Args:
        context: Blender's; its scene is exported.
        name: what a new model is called.
        dialect: ``auto``, ``spec`` or ``retail``.
        rebuild: leave the sidecar aside.

    Raises:
        ConversionError: the sidecar is missing, or an edit that the game cannot hold.
    """
    scene = context.scene
    if rebuild and scene.msh_gltf.kind in ASSEMBLY_KINDS:
        raise ConversionError(
            f"scene {scene.name!r} is a {scene.msh_gltf.kind}, not one model",
            hint="untick Rebuild Everything",
        )
    use_sidecar = bool(scene.msh_gltf.source) and not rebuild
    kept = sidecar_bytes(scene) if use_sidecar else None
    if not scene.objects:
        raise ConversionError(f"scene {scene.name!r} is empty")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"{file_stem(name)}.glb"
        with _game_time(scene), _all_evaluated(context), numbered(scene):
            # routes of missions are lines
            lines = scene.msh_gltf.kind == Kind.MISSION
            bpy.ops.export_scene.gltf(filepath=str(target), use_mesh_edges=lines, **GLTF_OPTIONS)
        sidecar = None
        if kept is not None:
            sidecar = sidecar_path(target)
            sidecar.write_bytes(kept)
        try:
            # everything is exported: what is missing was deleted
            options = ImportOptions(
                dialect,
                use_sidecar=use_sidecar,
                allow_delete=True,
                fps=GAME_FPS,
                own_materials=scene.msh_gltf.own_materials,
                game=_game_of(context),
            )
            result = import_gltf(target, sidecar, options)
        except ConversionError as error:
            raise _in_words_of_blender(error, scene, folder) from None
    show_report(scene.msh_gltf, result)
    return result


def _game_of(context: bpy.types.Context) -> str | None:
    """The game whose models and units a mission can place."""
    state = context.scene.msh_gltf
    if state.kind not in ASSEMBLY_KINDS:
        return None
    return str(game_of_file(context, Path(state.path)))


@contextlib.contextmanager
def _game_time(scene: bpy.types.Scene) -> Iterator[None]:
    """A frame of Blender is a frame of the game, whatever the scene plays at."""
    render = scene.render
    before = render.fps, render.fps_base
    render.fps, render.fps_base = GAME_FPS, 1.0
    try:
        yield
    finally:
        render.fps, render.fps_base = before


@contextlib.contextmanager
def _all_evaluated(context: bpy.types.Context) -> Iterator[None]:
    """Everything of the scene in Blender's eyes, switched off or not; in object mode.

    Blender does not evaluate what is switched off: in a reopened .blend all levels of detail stand
    at the origin, and the glTF exporter writes them there.
    """
    scene, window = context.scene, context.window
    mode = "OBJECT" if context.object is None else context.object.mode
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    hidden = [
        thing
        for thing in (*scene.objects, *scene.collection.children_recursive)
        if thing.hide_viewport
    ]
    before, whole = window.view_layer, scene.view_layers.new("msh")
    try:
        for thing in hidden:
            thing.hide_viewport = False
        window.view_layer = whole
        whole.update()
        yield
    finally:
        window.view_layer = before
        scene.view_layers.remove(whole)
        for thing in hidden:
            thing.hide_viewport = True
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode=mode)


def _in_words_of_blender(
    error: ConversionError, scene: bpy.types.Scene, folder: str
) -> ConversionError:
    """The temporary file means nothing to the user: it is the scene."""
    if error.file is not None and error.file.startswith(folder):
        error.file = f"scene {scene.name!r}"
    return error


def report_result(operator, result: ImportResult, state) -> None:
    """Show what became of a model in Blender's status bar and its list of messages."""
    for warning in state.warnings:
        operator.report({"WARNING"}, warning.reason)
    operator.report({"INFO"}, f"{result.name}: {state.outcome}")


def history_of(text: str) -> History:
    """What was put back, as a scene keeps it."""
    return read_history(text, "what was put back") if text else {}


def _library_folders(context: bpy.types.Context) -> list[Path]:
    """Where the game's libraries are, as the import looks for them."""
    own = Path(context.scene.msh_gltf.path).parent
    return with_libraries_around(own, [Path(folder) for folder in game_folders(context)])


def _game(context: bpy.types.Context) -> NewEntries | None:
    """The game's libraries, where the preferences name its folder."""
    folders = game_folders(context)
    return entries_of_game(Path(folders[0])) if folders else None


def _ending(scene: bpy.types.Scene) -> str:
    ending = Path(scene.msh_gltf.source).suffix.lower()
    return ending if ending in (".map", ".dat", ".tma") else ".msh"


class MSH_OT_export(bpy.types.Operator, ExportHelper):
    """Write the scene as a model of Parkan: Iron Strategy"""

    bl_idname = "export_scene.msh"
    bl_label = "Export MSH"
    bl_options = {"REGISTER", "PRESET"}

    filename_ext = ".msh"
    filter_glob: StringProperty(default="*.msh;*.map;*.dat;*.tma", options={"HIDDEN"})
    dialect: DIALECTS
    rebuild: REBUILD

    def invoke(self, context, event):
        """The file browser, with the model's own name."""
        source = context.scene.msh_gltf.source
        self.filename_ext = _ending(context.scene)
        self.filepath = f"{stem(file_stem(source or context.scene.name))}{self.filename_ext}"
        return ExportHelper.invoke(self, context, event)

    def check(self, context):
        """Called by the file browser: the file's ending."""
        self.filename_ext = _ending(context.scene)
        return ExportHelper.check(self, context)

    def execute(self, context):
        """Write the file; the file browser has asked about one that is there."""

        def work() -> None:
            path = Path(bpy.path.abspath(self.filepath))
            if not path.name:
                raise ConversionError("no file is named")
            result = export_model(context, stem(path.name), self.dialect, self.rebuild)
            files = [(path, result.data), *companions_beside(path, result.companions)]
            beside = files_beside(path, result, _game(context))
            there = [file for file in beside.files if file[0].is_file()]
            files += [file for file in beside.files if file not in there]
            result.not_applied += beside.not_applied
            if beside.files:
                names = ", ".join(file.name for file, _ in beside.files)
                known = bool(context.scene.msh_gltf.source)
                result.warnings.append(
                    f"{names}: entries for the game's Material.lib and Textures.lib"
                    + ("; Put Back Into the Game writes them there" if known else "")
                )
            if result.wear is not None:
                hint = "delete it and export again to replace it"
                wear, messages = wear_beside(path, result.wear, force=False, hint=hint)
                files += wear
                result.warnings += messages
            write_outputs(files, force=True)
            for file, data in there:  # it may be the game's: NAME.bak keeps it
                if file.read_bytes() != data:
                    replace_file(file, data)
            show_report(context.scene.msh_gltf, result)
            report_result(self, result, context.scene.msh_gltf)

        return guarded(self, work)


class MSH_OT_put_back(bpy.types.Operator):
    """Write the model, its materials and textures where they came from; files are kept as .bak"""

    bl_idname = "export_scene.msh_put_back"
    bl_label = "Put Back Into the Game"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context):
        """Only what was imported has a place."""
        return bool(context.scene.msh_gltf.source)

    def invoke(self, context, event):
        """Ask first: the game's own file is changed."""
        return context.window_manager.invoke_confirm(self, event)

    def execute(self, context):
        """Replace the entries that changed and nothing else."""

        def work() -> None:
            state = context.scene.msh_gltf
            result = export_model(context, stem(state.source), "auto", False)
            known = {state.digest, *state.written.split()} - {""}
            companions = [*result.companions, *result.kept_companions]
            history = history_of(state.history)
            libraries = history_of(state.libraries)
            plan = plan_libraries(_library_folders(context), result, libraries)
            result.not_applied += plan.not_applied
            result.warnings += plan.messages
            wrote = replace_model(state.origin, result.data, known, companions, history)
            state.history = history_text(history)
            wrote = bool(plan.write()) or wrote
            state.libraries = history_text(libraries)
            show_report(state, result)
            report_result(self, result, state)
            place = f"{os.path.basename(state.path)} has it"
            self.report({"INFO"}, f"{place} now" if wrote else f"{place} already")

        return guarded(self, work)


def _menu(menu, context):
    menu.layout.operator(MSH_OT_export.bl_idname, text="Parkan MSH (.msh)")


_CLASSES = (MSH_OT_export, MSH_OT_put_back)


def register() -> None:
    """Operators and the menu's line."""
    for one in _CLASSES:
        bpy.utils.register_class(one)
    bpy.types.TOPBAR_MT_file_export.append(_menu)


def unregister() -> None:
    """Take them away again."""
    bpy.types.TOPBAR_MT_file_export.remove(_menu)
    for one in reversed(_CLASSES):
        bpy.utils.unregister_class(one)
