"""MSH: models of Parkan: Iron Strategy in Blender, and back.

The extension calls the converter's library and Blender's own glTF importer and exporter. What it
knows of its own is how a model lives in a .blend: a scene per model, which carries its sidecar.
"""

import bpy

from . import assets, editing, export_msh, game, import_msh, materials, panel, seen, state, window

_PARTS = (state, window, import_msh, export_msh, assets, game, panel, editing, materials, seen)
_MENUS = (*import_msh.MENUS, *export_msh.MENUS, *assets.MENUS, *editing.MENUS, *game.MENUS)


def register() -> None:
    """Called by Blender when the extension is switched on."""
    for part in _PARTS:
        for each in part.CLASSES:
            bpy.utils.register_class(each)
    for menu, line in _MENUS:
        getattr(bpy.types, menu).append(line)
    window.start()
    state.start()
    panel.start()


def unregister() -> None:
    """Called by Blender when the extension is switched off."""
    panel.stop()
    state.stop()
    window.stop()
    game.stop()
    for menu, line in reversed(_MENUS):
        getattr(bpy.types, menu).remove(line)
    for part in reversed(_PARTS):
        for each in reversed(part.CLASSES):
            bpy.utils.unregister_class(each)
