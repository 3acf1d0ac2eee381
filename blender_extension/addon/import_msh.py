"""File > Import > Parkan MSH: files, archives with an entry picker, drag and drop."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import bpy
from bpy.props import CollectionProperty, EnumProperty, StringProperty
from bpy_extras.io_utils import ImportHelper
from mathutils import Vector

from .check import remember_grid
from .converter.errors import ConversionError, printable
from .converter.files import read_file
from .converter.findings import messages
from .converter.formats.kinds import ASSEMBLY_KINDS, Kind, archive_kind, assembly_kind, find_model, kind_at, models_in
from .converter.formats.names import stem
from .converter.formats.nres import Archive, read_nres
from .converter.formats.sidecar import SUFFIX, sha256
from .converter.kinds.base import LoadedScene, Source
from .converter.kinds.dispatch import load
from .converter.kinds.model import LoadedModel
from .converter.kinds.open_files import mission_in
from .converter.options import ExportOptions
from .converter.scene.controller import PlayedRange
from .converter.scene.extras import to_extras
from .importers.gltf import read_gltf
from .importers.gltf_file import GltfInMemory, open_gltf
from .landscapes import game_of_file, show_areals, sort_by_kind
from .language import say
from .materials import bring_in
from .seen import remember_clans, remember_model
from .stages import show_cells
from .state import DIALECTS, TEXTURES, clear_report, game_folders, guarded, keep_sidecar, new_owner, show_warnings
from .to_blender import Builder

_FILES = "*.msh;*.rlb;*.lib;*.map;*.dat;*.tma"


def open_archive(path: Path) -> Archive:
    """An NRes file. It is not mapped: Windows replaces no mapped file.

    Raises:
        ConversionError: no NRes file.
    """
    return read_nres(bytes(read_file(path)), str(path))


def kind_of_assembly(path: Path) -> Kind | None:
    """Whether a file is a unit or a mission.

    Raises:
        ConversionError: it cannot be read.
    """
    return assembly_kind(path.name, bytes(read_file(path)[:4]))


def choices(path: Path) -> list[int]:
    """The entries among which the user must choose; none where there is one model or an error.

    Raises:
        ConversionError: no NRes file.
    """
    if kind_of_assembly(path) is not None:
        return []
    archive = open_archive(path)
    models = models_in(archive) if archive_kind(archive) is Kind.ARCHIVE else []
    return models if len(models) > 1 else []


def import_model(context: bpy.types.Context, path: Path, entry: str | None, options: ExportOptions) -> None:
    """Put a model into a scene of its own; its panel has the warnings.

    Args:
        path: a model, a terrain, an areal map, an archive, a unit, or a mission or its folder.
        entry: entry name or number.

    Raises:
        ConversionError: unreadable, or several models to choose from.
    """
    if path.is_dir():
        path = mission_in(path) or path
    whole = entry is None and kind_of_assembly(path)
    index, raw_name = None, ""
    if whole in ASSEMBLY_KINDS:
        options = replace(options, game=str(game_of_file(context, path)))
        loaded = load(whole, Source(path), options)
        name = loaded.assembly.name
    else:
        loaded, index, raw_name = _load(path, entry, options)
        name = stem(loaded.name)
    kind = loaded.kind
    target = Path("model.glb")  # in memory
    data = {file.suffix: data for file, data in loaded.files(target, options)}
    document = GltfInMemory(data[target.suffix])
    given = read_gltf(target, document, all_scenes=True)
    scene = _scene(context, name)
    materials, batches = bring_in(open_gltf(target, document))
    if kind is Kind.AREAL_MAP:
        show_areals(scene, given, materials, loaded.areals)
    else:
        Builder(scene, given, materials, batches).build()
    if given.info:
        scene["msh"] = to_extras(given.info)["msh"]
    if kind is Kind.MISSION:
        clans = [clan.title for clan in loaded.mission.clans]
        sort_by_kind(scene, clans)
        remember_clans(scene, clans)
    if kind is Kind.TERRAIN:
        remember_grid(scene, loaded.terrain.grid)
    scene.frame_set(0)
    sidecar = data[SUFFIX]
    state = scene.msh_gltf
    clear_report(state)
    for name in ("written", "archive", "model", "tag", "recorded", "stage", "level"):  # of a former model
        state.property_unset(name)
    # from the start: what Put Back sets, Blender's undo takes away
    state.owner = new_owner()
    state.source, state.path, state.kind = loaded.name, str(path.absolute()), kind
    state.index = -1 if index is None else index
    state.raw_name = raw_name
    state.summary, state.digest = loaded.summary, sha256(loaded.stored)
    if isinstance(loaded, LoadedModel):
        remember_model(scene)
        state.dialect = loaded.decision.dialect.value
        scene.frame_end = max(loaded.scene.frame_count - 1, 1)
        _mark(scene, loaded.ranges)
    elif kind is Kind.UNIT:
        counts = [model.scene.frame_count for model in loaded.assembly.models]
        scene.frame_end = max(max(counts, default=0) - 1, 1)
        _mark(scene, next((model.ranges for model in loaded.models if model.ranges), []))
    show_cells(scene)
    _frame(context)
    keep_sidecar(scene, sidecar)
    show_warnings(state, messages(loaded.findings))


def _mark(scene: bpy.types.Scene, ranges: list[PlayedRange]) -> None:
    """Name the ranges that a controller plays on the timeline, where each begins; of a unit those of its chassis."""
    starts: dict[int, list[str]] = {}
    for played in ranges:
        starts.setdefault(round(played.range.first), []).append(played.line)
    for frame, lines in starts.items():
        scene.timeline_markers.new("; ".join(lines), frame=frame)


def _frame(context: bpy.types.Context) -> None:
    """Show all of the scene in the 3D views of the window, with textures, however large it is."""
    context.view_layer.update()
    meshes = [one for one in context.scene.objects if one.type == "MESH"]
    corners = [one.matrix_world @ Vector(corner) for one in meshes for corner in one.bound_box]
    if not corners or bpy.app.background:
        return
    size = max(max(values) - min(values) for values in zip(*corners, strict=True))
    for area in context.window.screen.areas:
        if area.type != "VIEW_3D":
            continue
        space = area.spaces.active
        space.clip_start, space.clip_end = max(size / 10_000, 0.001), max(size * 10, 100.0)
        space.shading.color_type = "TEXTURE"
        region = next(region for region in area.regions if region.type == "WINDOW")
        with context.temp_override(area=area, region=region):
            bpy.ops.view3d.view_all()


def _load(path: Path, entry: str | None, options: ExportOptions) -> tuple[LoadedScene, int | None, str]:
    """A model, a terrain or an areal map, its directory index, and the entry's name as hex."""
    archive = open_archive(path)
    if entry is None and archive_kind(archive) is Kind.ARCHIVE and (models := choices(path)):
        names = ", ".join(printable(archive.entries[i].name) for i in models[:8])
        more = ", ..." if len(models) > 8 else ""
        raise ConversionError(f"archive holds {len(models)} models", file=str(path), expected=f"one of {names}{more}")
    index = find_model(archive, entry)
    loaded = load(kind_at(archive, index), Source(path, archive, index), options)
    raw_name = "" if index is None else archive.entries[index].name_bytes.hex()
    return loaded, index, raw_name


def _scene(context: bpy.types.Context, name: str) -> bpy.types.Scene:
    """The scene for a model: this one if it is empty, else a new one. 24 frames per second."""
    scene = context.scene
    if scene.objects or scene.collection.children or scene.msh_gltf.source:
        scene = bpy.data.scenes.new(name)
        context.window.scene = scene
    scene.name = name
    scene.render.fps, scene.render.fps_base = int(ExportOptions().fps), 1.0
    scene.unit_settings.scale_length = 1.0
    scene.frame_start = 0
    return scene


class MSH_OT_import(bpy.types.Operator, ImportHelper):
    """Open models, units, missions, landscapes and areal maps of Parkan: Iron Strategy"""

    bl_idname = "import_scene.msh"
    bl_label = "Import MSH"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    filename_ext = ".msh"
    filter_glob: StringProperty(default=_FILES, options={"HIDDEN"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    entry: StringProperty(
        name="Entry",
        description="Which model of an archive, by name or number; empty: choose from a list",
        options={"SKIP_SAVE"},
    )
    dialect: DIALECTS
    textures: TEXTURES

    def invoke(self, context, event):
        """The file browser; files that were dropped are opened at once."""
        if self.directory and self.files:
            return self.execute(context)
        return ImportHelper.invoke(self, context, event)

    def execute(self, context):
        """One scene per file."""
        names = [file.name for file in self.files if file.name]
        paths = [Path(self.directory, name) for name in names] or [Path(self.filepath)]
        options = {"dialect": self.dialect, "textures": self.textures}

        def one(path: Path) -> None:
            if not path.name:
                raise ConversionError("no file is named")
            if not self.entry and not bpy.app.background and choices(path):
                bpy.ops.import_scene.msh_entry("INVOKE_DEFAULT", filepath=str(path), **options)
            else:
                _import(self, context, path, self.entry or None)

        done = [guarded(self, partial(one, path)) for path in paths]
        return {"FINISHED"} if {"FINISHED"} in done else {"CANCELLED"}


_shown: list[tuple[str, str, str]] = []  # Blender does not keep the texts of a list alive


def _entries(operator, context):
    """The entries of the archive that the picker shows."""
    path = Path(operator.filepath)
    entries = open_archive(path).entries
    _shown[:] = [(str(i), printable(entries[i].name), f"{entries[i].size:,} bytes") for i in choices(path)]
    return _shown


class MSH_OT_import_entry(bpy.types.Operator):
    """Choose a model of an archive"""

    bl_idname = "import_scene.msh_entry"
    bl_label = "Model of the Archive"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}
    bl_property = "entry"

    filepath: StringProperty()
    entry: EnumProperty(name="Model", items=_entries)
    dialect: DIALECTS
    textures: TEXTURES

    def invoke(self, context, event):
        """A list to search in."""
        context.window_manager.invoke_search_popup(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        """Import the entry by its number."""
        return guarded(self, lambda: _import(self, context, Path(self.filepath), self.entry))


def _import(operator, context, path: Path, entry: str | None) -> None:
    folders = game_folders(context) if operator.textures else ()
    options = ExportOptions(operator.dialect, textures=folders, find_textures=operator.textures)
    import_model(context, path, entry, options)
    state = context.scene.msh_gltf
    for warning in state.warnings:
        say(operator, "WARNING", f"{path.name}: {warning.reason}")
    say(operator, "INFO", f"{state.source}: {state.summary}")


class MSH_FH_import(bpy.types.FileHandler):
    """Files that are dropped on the 3D view or the outliner."""

    bl_idname = "MSH_FH_import"
    bl_label = "Parkan MSH"
    bl_import_operator = MSH_OT_import.bl_idname
    bl_file_extensions = _FILES.replace("*", "")

    @classmethod
    def poll_drop(cls, context):
        """Where models may be dropped."""
        return context.area is not None and context.area.type in {"VIEW_3D", "OUTLINER"}


def _menu(menu, context):
    menu.layout.operator(MSH_OT_import.bl_idname, text="Parkan MSH (.msh, .rlb, .map, .dat, .tma)")


CLASSES = (MSH_OT_import, MSH_OT_import_entry, MSH_FH_import)
MENUS = (("TOPBAR_MT_file_import", _menu),)
