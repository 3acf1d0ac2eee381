"""An asset library of a game: a .blend with every model and unit, for Blender's Asset Browser.

Every asset is a collection; the top object in it says in its custom property ``msh`` what it is, as
the objects of a mission do. The library is made in the open .blend, written, and taken out again.
"""

import tempfile
import uuid
from pathlib import Path

import bpy
from bpy.props import StringProperty
from bpy_extras.io_utils import ExportHelper

from .converter.errors import ConversionError, plural
from .converter.formats.names import stem, without_number
from .converter.kinds.game_assets import GameAsset, game_assets
from .converter.options import ExportOptions
from .converter.storage import write_outputs
from .exporters.gltf_assembly import AssemblyOptions, export_assembly
from .exporters.gltf_file import glb_bytes
from .guard import guarded
from .missions import named_game
from .thumbnails import Thumbnails
from .wording import in_blender

CATALOGS = "blender_assets.cats.txt"
_HEAD = "# This is an Asset Catalog Definition file for Blender.\n\nVERSION 1\n\n"
_GROUPS = (
    "collections",
    "objects",
    "meshes",
    "materials",
    "images",
    "node_groups",
    "scenes",
    "cameras",
    "lights",
    "actions",
)


def catalog_id(catalog: str) -> str:
    """The id of a catalog: the same one whenever the library is made again."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"msh-gltf/{catalog}"))


def with_catalogs(text: str, catalogs: set[str]) -> str:
    """A catalog definition file with our catalogs added to what others have written there."""
    lines = text.splitlines() or _HEAD.splitlines()
    ours = {catalog_id(catalog): catalog for catalog in catalogs}
    kept = [line for line in lines if line.partition(":")[0] not in ours]
    made = [f"{id}:{name}:{name.replace('/', '-')}" for id, name in sorted(ours.items())]
    return "\n".join([*kept, *made]) + "\n"


def make_library(game: Path, target: Path) -> tuple[int, list[str]]:
    """Write the asset library of a game; returns the number of assets and what was left out.

    Args:
        game: the folder with ``objects.rlb``.
        target: the .blend.

    Raises:
        ConversionError: not a game, nothing in it, or the file cannot be written.
    """
    options = ExportOptions(points=False)
    found = game_assets(game, options)
    if not found.assets:
        raise ConversionError("has no models and no units", file=str(game))
    beside = target.with_name(CATALOGS)
    text = beside.read_text("utf-8", errors="replace") if beside.is_file() else ""
    catalogs = with_catalogs(text, {asset.catalog for asset in found.assets})
    document = export_assembly(found.assembly, AssemblyOptions(clips=False))
    before = {group: set(getattr(bpy.data, group)) for group in _GROUPS}
    scene = bpy.context.scene
    try:
        with tempfile.TemporaryDirectory() as folder:
            glb, blend = Path(folder) / "assets.glb", Path(folder) / target.name
            glb.write_bytes(glb_bytes(document))
            bpy.context.window.scene = bpy.data.scenes.new("assets")
            bpy.ops.import_scene.gltf(filepath=str(glb), merge_vertices=False)
            tops = [one for one in bpy.data.objects if one not in before["objects"] and one.parent is None]
            made = _collections(tops, found.assets)
            thumbnails = Thumbnails()
            bpy.context.view_layer.update()
            for one in made:
                thumbnails.set(one, one.objects)
            bpy.data.libraries.write(str(blend), made, fake_user=True, compress=True)
            write_outputs([(beside, catalogs.encode()), (target, blend.read_bytes())], force=True)
    finally:
        bpy.context.window.scene = scene
        bpy.data.batch_remove(
            [thing for group in _GROUPS for thing in getattr(bpy.data, group) if thing not in before[group]]
        )
    return len(made), found.left_out


def _collections(tops: list[bpy.types.Object], assets: list[GameAsset]) -> set[bpy.types.Collection]:
    """A marked collection for each asset, with the objects of its node."""
    named = {without_number(one.name): one for one in tops}
    made = set()
    for asset in assets:
        top = named[asset.node]
        home = bpy.data.collections.new(asset.name)
        for one in (top, *top.children_recursive):
            home.objects.link(one)  # the scene's own collection is not written
        path = asset.extras.get("path", "")
        top.name = stem(path.rpartition("\\")[2]) or asset.name
        home.asset_mark()
        home.asset_data.catalog_id = catalog_id(asset.catalog)
        home.asset_data.description = path or "no object key: missions cannot place it"
        made.add(home)
    return made


class MSH_OT_assets(bpy.types.Operator, ExportHelper):
    """Write every model and unit of the game into a .blend for the Asset Browser"""

    bl_idname = "export_scene.msh_assets"
    bl_label = "Make Asset Library"
    bl_options = {"REGISTER"}

    filename_ext = ".blend"
    filter_glob: StringProperty(default="*.blend", options={"HIDDEN"})
    game: StringProperty(
        name="Game Folder",
        description="The folder with objects.rlb; empty: that of the preferences",
        subtype="DIR_PATH",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context, event):
        """The file browser."""
        self.filepath = "parkan_assets.blend"
        return ExportHelper.invoke(self, context, event)

    def execute(self, context):
        """Write the library."""

        def work() -> None:
            target = Path(bpy.path.abspath(self.filepath))
            if not target.name:
                raise ConversionError("no file is named")
            game = named_game(context, self.game)
            count, left_out = make_library(game, target)
            for text in left_out:
                self.report({"WARNING"}, in_blender(text))
            self.report({"INFO"}, f"{target.name}: {plural(count, 'asset')} of {game}")

        return guarded(self, work)


def _menu(menu, context):
    menu.layout.operator(MSH_OT_assets.bl_idname, text="Parkan Asset Library (.blend)")


def register() -> None:
    """The operator and the menu's line."""
    bpy.utils.register_class(MSH_OT_assets)
    bpy.types.TOPBAR_MT_file_export.append(_menu)


def unregister() -> None:
    """Take them away again."""
    bpy.types.TOPBAR_MT_file_export.remove(_menu)
    bpy.utils.unregister_class(MSH_OT_assets)
