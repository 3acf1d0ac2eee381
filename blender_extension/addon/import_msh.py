"""File > Import > Parkan MSH: files, archives with an entry picker, drag and drop; the scene's frames and markers."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import bpy
import numpy as np
from bpy.props import CollectionProperty, EnumProperty, StringProperty
from bpy_extras.io_utils import ImportHelper
from mathutils import Vector

from .converter.edits.areal_changes import class_of
from .converter.errors import ConversionError, printable
from .converter.files import read_file
from .converter.findings import messages
from .converter.formats.areal_map import ArealMap
from .converter.formats.kinds import ASSEMBLY_KINDS, Kind, archive_kind, assembly_kind, find_model, kind_at, models_in
from .converter.formats.names import stem
from .converter.formats.nres import Archive, read_nres
from .converter.formats.sidecar import SUFFIX, sha256
from .converter.kinds.base import LoadedScene, Source
from .converter.kinds.dispatch import load
from .converter.kinds.model import LoadedModel
from .converter.kinds.open_files import mission_in
from .converter.options import ExportOptions
from .converter.scene.companions import PlayedRange
from .converter.scene.extras import to_extras
from .converter.scene.scene import ImportedScene
from .editing import LOGIC, NUMBER
from .game import game_of_file
from .importers.gltf import read_gltf
from .importers.gltf_file import GltfFile, GltfInMemory, open_gltf
from .materials import Ground, bring_in, grounds_of
from .seen import remember_clans, remember_grid, remember_model
from .state import DIALECTS, TEXTURES, clear_report, game_folders, keep_sidecar, new_owner, show_cells, show_warnings
from .to_blender import BLEND, Builder
from .window import Step, Steps, paced, run, say, whole_or_nothing

_FILES = "*.msh;*.rlb;*.lib;*.map;*.dat;*.tma"


def open_archive(path: Path) -> Archive:
    """An NRes file. It is not mapped: Windows replaces no mapped file. Raises ConversionError: no NRes file."""
    return read_nres(bytes(read_file(path)), str(path))


def kind_of_assembly(path: Path) -> Kind | None:
    """Whether a file is a unit or a mission. Raises ConversionError: it cannot be read."""
    return assembly_kind(path.name, bytes(read_file(path)[:4]))


def choices(path: Path) -> list[int]:
    """The entries among which the user must choose; none where there is one model or an error.

    Raises ConversionError: no NRes file.
    """
    if kind_of_assembly(path) is not None:
        return []
    archive = open_archive(path)
    models = models_in(archive) if archive_kind(archive) is Kind.ARCHIVE else []
    return models if len(models) > 1 else []


@dataclass(frozen=True)
class _Document:
    """A file of the game, read: what it is, and its glTF.

    Attributes:
        raw_name: the entry's name, as hex.
        file: the glTF, with its pictures.
        given: what is in it.
        grounds: of its landscape, as of :func:`grounds_of`.
        sidecar: what comes with it.
    """

    loaded: LoadedScene
    index: int | None
    raw_name: str
    file: GltfFile
    given: ImportedScene
    grounds: dict[tuple[int, int], tuple[Ground, Ground]]
    sidecar: bytes

    @property
    def name(self) -> str:
        """What it is called."""
        loaded = self.loaded
        return loaded.assembly.name if loaded.kind in ASSEMBLY_KINDS else stem(loaded.name)


def _read(path: Path, entry: str | None, options: ExportOptions) -> _Document:
    """Read a file of the game; nothing of Blender is touched."""
    whole = entry is None and kind_of_assembly(path)
    if whole in ASSEMBLY_KINDS:
        loaded, index, raw_name = load(whole, Source(path), options), None, ""
    else:
        loaded, index, raw_name = _load(path, entry, options)
    target = Path("model.glb")  # in memory
    data = {file.suffix: data for file, data in loaded.files(target, options)}
    file = open_gltf(target, GltfInMemory(data[target.suffix]))
    level = loaded if loaded.kind is Kind.TERRAIN else loaded.terrain if loaded.kind is Kind.MISSION else None
    grounds = {} if level is None else grounds_of(level.appearance)
    return _Document(loaded, index, raw_name, file, read_gltf(target, file, all_scenes=True), grounds, data[SUFFIX])


def import_model(context: bpy.types.Context, path: Path, entry: str | None, options: ExportOptions) -> Steps:
    """Put a model into a scene of its own; its panel has the warnings.

    Args:
        path: a model, a terrain, an areal map, an archive, a unit, or a mission or its folder.
        entry: entry name or number.

    Raises ConversionError: unreadable, or several models to choose from.
    """
    if path.is_dir():
        path = mission_in(path) or path
    if entry is None and kind_of_assembly(path) in ASSEMBLY_KINDS:
        options = replace(options, game=str(game_of_file(context, path)))
    with whole_or_nothing(context):
        document = yield Step(f"reading {path.name}", partial(_read, path, entry, options))
        scene = _scene(context, document.name)
        yield from _build(scene, document)
        _remember(scene, document, path)
        context.window.scene = scene
        scene.frame_set(0)
        show_cells(scene)
        _frame(context)


def _build(scene: bpy.types.Scene, document: _Document) -> Steps:
    """Make the objects."""
    loaded, given = document.loaded, document.given
    kind = loaded.kind
    attribute = BLEND if given.streams.blend is not None else None
    materials, batches = bring_in(document.file, document.grounds, attribute)
    clans = [clan.title for clan in loaded.mission.clans] if kind is Kind.MISSION else []
    if kind is Kind.AREAL_MAP:
        _show_areals(scene, given, materials, loaded.areals)
    else:
        shares = Builder(scene, given, materials, batches, clans).build()
        yield from paced(shares, f"making objects of {loaded.name}")
    if given.info:
        scene["msh"] = to_extras(given.info)["msh"]
    if kind is Kind.MISSION:
        remember_clans(scene, clans)
    if kind is Kind.TERRAIN:
        remember_grid(scene, loaded.terrain.grid)


def _show_areals(
    scene: bpy.types.Scene, given: ImportedScene, materials: list[bpy.types.Material], areals: ArealMap
) -> None:
    """Make an object with a face for each areal, and the borders.

    Args:
        scene: what gets them.
        given: the map's document, which has an object for each class.
        materials: of the document.
    """
    borders = [item for item in given.nodes if item.extras.get("kind") == "borders"]
    for _ in Builder(scene, replace(given, nodes=borders), materials, [0] * len(materials)).build():
        pass
    if not len(areals.records):
        return
    of_class = {class_of(material.name, {}): material for material in materials}
    corners, start = areals.vertices + np.float32(0), areals.vertex_start
    points, vertex = np.unique(corners, axis=0, return_inverse=True)
    points, vertex = points.tolist(), vertex.reshape(-1)
    faces = []
    for own in np.split(vertex, start[1:-1]):
        if len(np.unique(own)) < len(own):  # it meets itself: Blender knows no such face
            own = np.arange(len(points), len(points) + len(own))
            points += corners[start[len(faces)] : start[len(faces) + 1]].tolist()
        faces.append(own.tolist())
    mesh = bpy.data.meshes.new("areals")
    mesh.from_pydata(points, [], faces)
    names = list(of_class)
    for name in names:
        mesh.materials.append(of_class[name])
    rows = [names.index(number) for number in areals.records["class_id"].tolist()]
    mesh.polygons.foreach_set("material_index", rows)
    numbers = np.arange(1, len(faces) + 1, dtype=np.float32)
    for name, values in ((NUMBER, numbers), (LOGIC, areals.records["logic"].astype(np.float32))):
        mesh.attributes.new(name, "FLOAT", "FACE").data.foreach_set("value", values)
    scene.collection.children[0].objects.link(bpy.data.objects.new("areals", mesh))


def _remember(scene: bpy.types.Scene, document: _Document, path: Path) -> None:
    """Keep in the scene what it is, and where it came from."""
    loaded, state = document.loaded, scene.msh_gltf
    clear_report(state)
    for name in ("written", "archive", "model", "tag", "recorded", "stage", "level"):  # of a former model
        state.property_unset(name)
    # from the start: what Put Back sets, Blender's undo takes away
    state.owner = new_owner()
    state.source, state.path, state.kind = loaded.name, str(path.absolute()), loaded.kind
    state.index = -1 if document.index is None else document.index
    state.raw_name = document.raw_name
    state.summary, state.digest = loaded.summary, sha256(loaded.stored)
    if isinstance(loaded, LoadedModel):
        remember_model(scene)
        state.dialect = loaded.decision.dialect.value
        scene.frame_end = max(loaded.scene.frame_count - 1, 1)
        _mark_ranges(scene, loaded.ranges)
    elif loaded.kind is Kind.UNIT:
        counts = [model.scene.frame_count for model in loaded.assembly.models]
        scene.frame_end = max(max(counts, default=0) - 1, 1)
        _mark_ranges(scene, next((model.ranges for model in loaded.models if model.ranges), []))
    keep_sidecar(scene, document.sidecar)
    show_warnings(state, messages(loaded.findings))


def _mark_ranges(scene: bpy.types.Scene, ranges: list[PlayedRange]) -> None:
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
    scene.name = name
    scene.render.fps, scene.render.fps_base = int(ExportOptions().fps), 1.0
    scene.unit_settings.scale_length = 1.0
    scene.frame_start = 0
    return scene


class MSH_OT_import(bpy.types.Operator, ImportHelper):
    """Open models, units, missions, landscapes and areal maps of Parkan: Iron Strategy"""

    bl_idname = "import_scene.msh"
    bl_label = "Import MSH"
    bl_options = {"REGISTER", "PRESET"}

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
        names = [file.name for file in self.files if file.name]
        paths = [Path(self.directory, name) for name in names] or [Path(self.filepath)]
        return _import(self, context, paths, self.entry or None)


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
    bl_options = {"REGISTER", "INTERNAL"}
    bl_property = "entry"

    filepath: StringProperty()
    entry: EnumProperty(name="Model", items=_entries)
    dialect: DIALECTS
    textures: TEXTURES

    def invoke(self, context, event):
        context.window_manager.invoke_search_popup(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        return _import(self, context, [Path(self.filepath)], self.entry)


def _import(operator, context, paths: list[Path], entry: str | None) -> set[str]:
    """Open files one after another; an archive of several models asks which one."""
    chosen = {"dialect": operator.dialect, "textures": operator.textures}

    def steps(reporter: bpy.types.Operator, path: Path) -> Steps:
        if not path.name:
            raise ConversionError("no file is named")
        if entry is None and not bpy.app.background and choices(path):
            bpy.ops.import_scene.msh_entry("INVOKE_DEFAULT", filepath=str(path), **chosen)
            return
        folders = game_folders(context) if chosen["textures"] else ()
        options = ExportOptions(chosen["dialect"], textures=folders, find_textures=chosen["textures"])
        yield from import_model(context, path, entry, options)
        state = context.scene.msh_gltf
        for warning in state.warnings:
            say(reporter, "WARNING", f"{path.name}: {warning.reason}")
        say(reporter, "INFO", f"{state.source}: {state.summary}")

    return run(operator, [partial(steps, path=path) for path in paths], undo=True)


class MSH_FH_import(bpy.types.FileHandler):
    """Files that are dropped on the 3D view or the outliner."""

    bl_idname = "MSH_FH_import"
    bl_label = "Parkan MSH"
    bl_import_operator = MSH_OT_import.bl_idname
    bl_file_extensions = _FILES.replace("*", "")

    @classmethod
    def poll_drop(cls, context):
        return context.area is not None and context.area.type in {"VIEW_3D", "OUTLINER"}


def _menu(menu, context):
    menu.layout.operator(MSH_OT_import.bl_idname, text="Parkan MSH (.msh, .rlb, .map, .dat, .tma)")


CLASSES = (MSH_OT_import, MSH_OT_import_entry, MSH_FH_import)
MENUS = (("TOPBAR_MT_file_import", _menu),)
