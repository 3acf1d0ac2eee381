"""File > Export > Parkan MSH: to a file, or back into the game; *Put Into the Game*: a model made in Blender."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from .converter.errors import ConversionError, called
from .converter.findings import Subject
from .converter.formats.kinds import ASSEMBLY_KINDS, Kind
from .converter.formats.names import entry_name, escape, file_stem, stem
from .converter.formats.objects import TAGS
from .converter.game.games import Games, replace_model, replace_placed
from .converter.game.new_models import add_model, dialect_of, find_destination, plan_libraries
from .converter.kinds.appearance import with_libraries_around
from .converter.kinds.dispatch import import_scene
from .converter.kinds.import_result import ImportResult, companions_beside, placed_beside, wear_beside
from .converter.kinds.library import files_beside
from .converter.kinds.new_entries import NewEntries, entries_of_game
from .converter.kinds.registry import find_game, model_archives
from .converter.options import ImportOptions
from .converter.scene.scene import ImportedScene
from .converter.storage import write_outputs
from .editing import numbered
from .from_blender import everything, needs_gltf, read_scene
from .game import find_again, game_of_file, named_game, refresh, require_file
from .importers.gltf import read_gltf
from .materials import as_shown, split
from .seen import clans_of_collections, is_elsewhere, others_are_new, report_left_out, report_unread
from .state import DIALECTS, commit, game_folders, put_back, recorded, show_report, sidecar_bytes
from .to_blender import FPS, SWITCHED_OFF
from .window import Step, Steps, run, say, shown

#: What leaves Blender: every property that says what is what, this scene alone. Modifiers are
#: applied, because the game has none.
GLTF_OPTIONS = {
    "export_format": "GLB",
    "export_extras": True,
    "export_attributes": True,
    "export_apply": True,
    "use_active_scene": True,
}
REBUILD = BoolProperty(
    name="Rebuild Everything",
    description="Make a new model of what is seen, and leave the imported one aside",
    options={"SKIP_SAVE"},
)


def export_model(
    context: bpy.types.Context, name: str, dialect: str, rebuild: bool
) -> Generator[Step, Any, ImportResult]:
    """The scene's model as the game wants it, in steps.

    Args:
        context: Blender's; its scene is exported.
        rebuild: leave the sidecar aside.

    Raises ConversionError: the sidecar is missing, or an edit that the game cannot hold.
    """
    scene = context.scene
    if rebuild and scene.msh_gltf.kind in ASSEMBLY_KINDS:
        raise ConversionError(
            f"scene {called(scene.name)} is a {scene.msh_gltf.kind}, not one model", hint="untick Rebuild Everything"
        )
    use_sidecar = bool(scene.msh_gltf.source) and not rebuild
    kept = sidecar_bytes(scene) if use_sidecar else None
    if not scene.objects:
        raise ConversionError(f"scene {called(scene.name)} is empty")
    # everything is exported: what is missing was deleted
    options = ImportOptions(
        dialect,
        use_sidecar=use_sidecar,
        allow_delete=True,
        fps=FPS,
        own_materials=scene.msh_gltf.own_materials,
        game=_game_of(context),
    )
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"{file_stem(name)}.glb"
        try:
            given = _scene_of(context, target)
            job = partial(import_scene, target, given, kept, options, alone=True)
            return (yield Step(f"comparing scene {called(scene.name)} with the game", job, 0.3))
        except ConversionError as error:
            raise _in_words_of_blender(error, scene, folder) from None


def _scene_of(context: bpy.types.Context, target: Path) -> ImportedScene:
    """What the scene shows; by Blender's glTF add-on, where the bridge does not reach."""
    scene = context.scene
    lines = scene.msh_gltf.kind == Kind.MISSION  # routes are
    with _all_evaluated(context) as unkeyed, numbered(scene), clans_of_collections(scene), others_are_new(scene):
        if not needs_gltf(scene):
            given = read_scene(context, lines=lines)
        else:
            meshes = {one.data: None for one in everything(scene) if one.type == "MESH"}
            with _game_time(scene), split(meshes):
                bpy.ops.export_scene.gltf(filepath=str(target), use_mesh_edges=lines, **GLTF_OPTIONS)
                given = read_gltf(target, all_scenes=bool(scene.msh_gltf.source))
                as_shown(given)
                report_unread(given)
        report_left_out(scene, given)
    for one in unkeyed:
        why = "it has keys, and these count, as on every other frame"
        given.report.skipped(
            Subject("object", one.name), "was moved without a key", why, "insert a key (I) where it was moved"
        )
    return given


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
    render.fps, render.fps_base = FPS, 1.0
    try:
        yield
    finally:
        render.fps, render.fps_base = before


@contextlib.contextmanager
def _all_evaluated(context: bpy.types.Context) -> Iterator[list[bpy.types.Object]]:
    """Everything of the scene in Blender's eyes, switched off or not; in object mode.

    Yields what was moved beside its keys, which is where they say now.

    Blender does not evaluate what is switched off: in a reopened .blend all levels of detail stand
    at the origin, and the glTF exporter writes them there.
    """
    scene, window = context.scene, context.window
    mode = "OBJECT" if context.object is None else context.object.mode
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    hidden = [thing for thing in (*scene.objects, *scene.collection.children_recursive) if thing.hide_viewport]
    before, whole = window.view_layer, scene.view_layers.new("msh")
    try:
        for thing in hidden:
            thing.hide_viewport = False
        window.view_layer = whole
        whole.update()
        places = {one: one.matrix_basis.copy() for one in scene.objects if one.animation_data is not None}
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        yield [one for one, place in places.items() if is_elsewhere(one.matrix_basis, place)]
    finally:
        window.view_layer = before
        scene.view_layers.remove(whole)
        for thing in hidden:
            thing.hide_viewport = True
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode=mode)


def _in_words_of_blender(error: ConversionError, scene: bpy.types.Scene, folder: str) -> ConversionError:
    """The temporary file means nothing to the user: it is the scene."""
    if error.file is not None and error.file.startswith(folder):
        error.file = f"scene {called(scene.name)}"
    return error


def switched_off(context: bpy.types.Context) -> list[str]:
    """The collections with objects that the user switched off; these count as all others do."""
    waiting, found = [context.view_layer.layer_collection], []
    for layer in waiting:  # grows while it is walked
        home = layer.collection
        if layer.exclude and SWITCHED_OFF not in home and home.all_objects:
            found.append(home.name)
        waiting += [] if layer.exclude else layer.children
    return found


def report_result(operator, result: ImportResult, state) -> None:
    """Show what became of a model in Blender's status bar and its list of messages."""
    for warning in state.warnings:
        say(operator, "WARNING", warning.reason)
    say(operator, "INFO", f"{result.name}: {state.outcome}")


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
        chosen = Path(bpy.path.abspath(self.filepath)), self.dialect, self.rebuild
        return run(self, [lambda reporter: _write(reporter, context, *chosen)])


def _write(reporter: bpy.types.Operator, context: bpy.types.Context, path: Path, dialect: str, rebuild: bool) -> Steps:
    """Write the scene as a file, and what goes with it beside it."""
    with recorded(context.scene) as state:
        if not path.name:
            raise ConversionError("no file is named")
        result = yield from export_model(context, stem(path.name), dialect, rebuild)
        files = [(path, result.data), *companions_beside(path, result.companions), *placed_beside(path, result)]
        beside = files_beside(path, result, _game(context))
        there = [file for file in beside.files if file[0].is_file()]
        result.differences.not_applied += beside.not_applied
        if beside.files:
            names = ", ".join(file.name for file, _ in beside.files)
            known = bool(state.source)
            result.differences.warnings.append(
                f"{names}: entries for the game's Material.lib and Textures.lib"
                + ("; Put Back Into the Game writes them there" if known else "")
            )
        if result.wear is not None:
            hint = "delete it and export again to replace it"
            wear, messages = wear_beside(path, result.wear, force=False, hint=hint)
            files += wear
            result.differences.warnings += messages
        files += [file for file in beside.files if file not in there]
        # what the game has goes through its history
        there += [(f, data) for f, data in files if f.is_file() and find_game(f) is not None]
        write_outputs([file for file in files if file not in there], force=True)
        with Games(f"Blender: export {path.name}", "into") as games:
            for file, data in there:
                games.put(file, data, path.name)
            for file in games.commit():
                result.differences.warnings.append(
                    f"{file.name} was another one, perhaps of another model; the game's history has it"
                )
        result.differences.warnings += games.messages
        show_report(state, result)
        report_result(reporter, result, state)


class MSH_OT_put_back(bpy.types.Operator):
    """Write the model, its materials and textures where they came from; undo is in the panel"""

    bl_idname = "export_scene.msh_put_back"
    bl_label = "Put Back Into the Game"
    bl_options = {"REGISTER"}

    game: StringProperty(
        name="Game Folder",
        description="Where the game is now, if it is not where the model was imported from",
        subtype="DIR_PATH",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context):
        return bool(context.scene.msh_gltf.source)

    def invoke(self, context, event):
        """Ask first: the game's own file is changed. Ask where the game is, if it is gone."""
        if find_again(context) is None:
            return context.window_manager.invoke_props_dialog(self)
        state = context.scene.msh_gltf
        question = f"Write {state.place} in {Path(state.path).parent}?"
        if off := switched_off(context):
            question = f"{question} What is in {', '.join(off)} is switched off, and is written, too."
        return context.window_manager.invoke_confirm(self, event, message=shown(question))

    def execute(self, context):
        return run(self, [partial(_put_back, context=context, game=self.game)])


def _put_back(reporter: bpy.types.Operator, context: bpy.types.Context, game: str) -> Steps:
    """Put the scene's model where it came from."""
    with recorded(context.scene) as state:
        state.path = str(require_file(context, game))
        result = yield from export_model(context, stem(state.source), "auto", False)
        companions = [*result.companions, *result.kept_companions]
        with put_back(state, f"Blender: put back {state.source}") as games:
            plan = plan_libraries(games, _library_folders(context), result)
            replace_model(games, state.origin, result.data, {state.digest}, companions)
            result.differences.not_applied += replace_placed(games, result)
            plan.put()
            games.take_back_rest(state.origin.path)
            wrote, messages = commit(state, games)
        result.differences.not_applied += plan.not_applied
        result.differences.warnings += [*plan.messages, *messages]
        show_report(state, result)
        report_result(reporter, result, state)
        with contextlib.suppress(ConversionError):
            refresh(context)
        place = os.path.basename(state.path)
        say(reporter, "INFO", f"{place} has it now" if wrote else f"{place} has it already")


def _menu(menu, context):
    menu.layout.operator(MSH_OT_export.bl_idname, text="Parkan MSH (.msh)")


_NO_KEY = "NONE"
_HINT = "choose another name"


def _archives(operator, context, typed):
    """The archives of the game that have models, for the list below the field."""
    try:
        return model_archives(named_game(context, operator.game))
    except (ConversionError, OSError):
        return []  # putting it there says what is wrong


class MSH_OT_put_new(bpy.types.Operator):
    """Put this new model, its materials and textures into the game; undo is in the panel"""

    bl_idname = "export_scene.msh_put_new"
    bl_label = "Put Into the Game"
    bl_options = {"REGISTER"}

    archive: StringProperty(
        name="Archive", description="The archive of the game that gets the model, such as static.rlb", search=_archives
    )
    model: StringProperty(name="Name", description="What the model is called there")
    tag: EnumProperty(
        name="Object Key",
        description="What missions and units can place it as, by its name",
        items=(
            *((tag, f"{what.capitalize()} ({tag})", "") for tag, what in TAGS.items()),
            (_NO_KEY, "None", "Missions and units cannot place it"),
        ),
    )
    dialect: DIALECTS
    game: StringProperty(
        name="Game Folder",
        description="The folder with objects.rlb; empty: that of the preferences",
        subtype="DIR_PATH",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context):
        return not context.scene.msh_gltf.source

    def invoke(self, context, event):
        state = context.scene.msh_gltf
        self.archive, self.tag = state.archive, state.tag or _NO_KEY
        self.model = state.model or context.scene.name
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context):
        asked = {name: getattr(self, name) for name in ("archive", "model", "tag", "dialect", "game")}
        return run(self, [partial(_put_new, context=context, asked=SimpleNamespace(**asked))])


def _put_new(reporter: bpy.types.Operator, context: bpy.types.Context, asked: SimpleNamespace) -> Steps:
    """Put the scene into the game as a new model."""
    with recorded(context.scene) as state:
        game = named_game(context, asked.game)
        if not asked.archive:
            raise ConversionError("no archive is named", hint="choose one of the game")
        name = asked.model or context.scene.name
        name = stem(name) if name.lower().endswith(".msh") else name
        tag = None if asked.tag == _NO_KEY else asked.tag
        to = find_destination(game / asked.archive, entry_name(escape(name)), tag, game)
        dialect = dialect_of(to.archive) if asked.dialect == "auto" else asked.dialect
        result = yield from export_model(context, name, dialect, False)
        with put_back(state, f"Blender: put {name} into {asked.archive}") as games:
            plan = plan_libraries(games, to.folders, result)
            add_model(plan, to, result, hint=_HINT)
            plan.put()
            wrote, messages = commit(state, games)
        result.differences.not_applied += plan.not_applied
        result.differences.warnings += [*plan.messages, *messages]
        state.archive, state.model, state.tag = asked.archive, name, asked.tag
        show_report(state, result)
        report_result(reporter, result, state)
        with contextlib.suppress(ConversionError):
            refresh(context)
        place = to.archive.name
        say(reporter, "INFO", f"{place} has {name} now" if wrote else f"{place} has {name} already")


CLASSES = (MSH_OT_export, MSH_OT_put_back, MSH_OT_put_new)
MENUS = (("TOPBAR_MT_file_export", _menu),)
