"""File > Export > Parkan: a copy of the .blend without the game's original bytes, to give away."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import bpy
from bpy.props import StringProperty
from bpy_extras.io_utils import ExportHelper

from .converter.errors import ConversionError, plural
from .guard import guarded
from .state import is_sidecar


@contextlib.contextmanager
def without_sidecars() -> Iterator[int]:
    """Take every sidecar out of the open file; they come back. Yields how many there are."""
    scenes = {scene: scene.msh_gltf.sidecar for scene in bpy.data.scenes}
    used = {text.name for text in scenes.values() if text is not None}
    kept = [(text.name, text.as_string()) for text in bpy.data.texts if _is_own(text)]
    kept += [(name, bpy.data.texts[name].as_string()) for name in used - {name for name, _ in kept}]
    places = {scene: text.name for scene, text in scenes.items() if text is not None}
    for name, _ in kept:
        bpy.data.texts.remove(bpy.data.texts[name])
    try:
        yield len(kept)
    finally:
        made = {}
        for name, content in kept:
            text = made[name] = bpy.data.texts.new(name)
            text.write(content)
            text.current_line_index = 0
        for scene, name in places.items():
            scene.msh_gltf.sidecar = made[name]


def _is_own(text: bpy.types.Text) -> bool:
    return text.library is None and is_sidecar(text)


class MSH_OT_save_without_originals(bpy.types.Operator, ExportHelper):
    """Save a copy without the sidecars, which hold the original bytes of the game's models.

    What was imported cannot be put back from that copy."""

    bl_idname = "wm.msh_save_without_originals"
    bl_label = "Save a Copy Without Originals"

    filename_ext = ".blend"
    filter_glob: StringProperty(default="*.blend", options={"HIDDEN"})

    def execute(self, context):
        """Save the copy; the open file keeps everything."""

        def work() -> None:
            path = Path(bpy.path.abspath(self.filepath))
            if bpy.data.filepath and path.resolve() == Path(bpy.data.filepath).resolve():
                raise ConversionError(
                    "is the open file, which needs its sidecars",
                    file=str(path),
                    hint="choose another name for the copy",
                )
            with without_sidecars() as count:
                bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
            self.report({"INFO"}, f"{path.name} is saved without {plural(count, 'sidecar')}")

        return guarded(self, work)


def _menu(menu, context):
    menu.layout.operator(MSH_OT_save_without_originals.bl_idname, text="Blend Without the Game's Originals (.blend)")


def register() -> None:
    """The operator and the menu's line."""
    bpy.utils.register_class(MSH_OT_save_without_originals)
    bpy.types.TOPBAR_MT_file_export.append(_menu)


def unregister() -> None:
    """Take them away again."""
    bpy.types.TOPBAR_MT_file_export.remove(_menu)
    bpy.utils.unregister_class(MSH_OT_save_without_originals)
