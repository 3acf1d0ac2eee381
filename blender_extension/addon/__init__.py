"""MSH: models of Parkan: Iron Strategy in Blender, and back.

The extension calls the converter's library and Blender's own glTF importer and exporter. What it
knows of its own is how a model lives in a .blend: a scene per model, which carries its sidecar.
"""

from . import assets, export_msh, game, import_msh, new_model, originals, panel, session, state

_PARTS = (state, session, import_msh, export_msh, new_model, assets, game, originals, panel)


def register() -> None:
    """Called by Blender when the extension is switched on."""
    for part in _PARTS:
        part.register()


def unregister() -> None:
    """Called by Blender when the extension is switched off."""
    for part in reversed(_PARTS):
        part.unregister()
