"""The game that a scene's model is in: where it is now, what was changed in it, and undo.

The history lies in the game, with its originals (``converter.game``). Blender's own undo does not
touch it. File > Export > Parkan: a copy of the .blend without the game's original bytes, to give away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

import bpy
from bpy.props import IntProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from .converter.errors import ConversionError, plural, printable
from .converter.files import in_any_case
from .converter.game.edits import GameEdits
from .converter.game.undo import Status, status, undo
from .converter.game.vault import find_root
from .converter.kinds.registry import find_game
from .state import clear_report, game_folders, is_sidecar, remember, show_warnings
from .window import SidePanel, doing, guarded, say, shown

_MOST = 12  # lines of the list that are shown

#: What the panel shows, by what :func:`_place` says; read by *Status*, not while drawing.
_shown: dict[str, Status] = {}


def game_of_file(context: bpy.types.Context, path: Path) -> Path:
    """The game that a unit or a mission is resolved in: the one around it, else the preferences'.

    Raises ConversionError: there is none.
    """
    found = find_game(path)
    for folder in game_folders(context) if found is None else ():
        found = find_game(Path(folder))
    if found is None:
        raise ConversionError(
            "lies in no game: no folder around it has objects.rlb",
            file=str(path),
            hint="name the game's folder in Edit > Preferences > Add-ons > MSH",
        )
    return found


def named_game(context: bpy.types.Context, named: str) -> Path:
    """The game's folder: as named, that of the preferences, or the one around the open model.

    Raises ConversionError: there is none.
    """
    folders = [bpy.path.abspath(named)] if named else [*game_folders(context)]
    if not folders and context.scene.msh_gltf.path:
        folders = [context.scene.msh_gltf.path]
    for folder in folders:
        found = find_game(Path(folder))
        if found is not None:
            return found
    raise ConversionError(
        "has no objects.rlb" if folders else "no game's folder is named",
        file=folders[0] if folders else None,
        hint="name the game's folder in Edit > Preferences > Add-ons > MSH",
    )


def find_again(context: bpy.types.Context, folder: str = "", known: str | None = None) -> Path | None:
    """The file that the scene's model is in: where it was, or below the game's folder of today.

    Args:
        folder: where the game is; empty: where the preferences say.
        known: where the file was; ``None``: where the scene says.
    """
    known = context.scene.msh_gltf.path if known is None else known
    if Path(known).is_file():
        return Path(known)
    folders: tuple[str, ...] = (bpy.path.abspath(folder),) if folder else ()
    with contextlib.suppress(ConversionError):
        folders = folders or game_folders(context)
    parts = PureWindowsPath(known).parts  # takes the slashes of both
    below = [parts[start:] for start in range(1, len(parts))]
    found = (in_any_case(Path(one), names) for one in folders for names in below)
    return next((path for path in found if path.is_file()), None)


def require_file(context: bpy.types.Context, folder: str = "") -> Path:
    """The file that the scene's model is in.

    Raises ConversionError: it is neither where it was nor in the game's folder.
    """
    found = find_again(context, folder)
    if found is None:
        raise ConversionError(
            "is not where it was" if not folder else f"is not in {folder} either",
            file=context.scene.msh_gltf.path,
            hint="choose the game's folder with Find the Game",
        )
    return found


def refresh(context: bpy.types.Context) -> Status:
    """Read the status of the scene's game again, for the panel.

    Raises ConversionError: there is no game, or its history is damaged.
    """
    found = _shown[_place(context)] = status(_root(context))
    return found


def _place(context: bpy.types.Context) -> str:
    """What the scene says of where its game is; without a look at the disk."""
    if context.scene.msh_gltf.source:
        return context.scene.msh_gltf.path
    addon = context.preferences.addons.get(__package__)
    return addon.preferences.game if addon is not None and addon.preferences else ""


def _root(context: bpy.types.Context) -> Path:
    """The folder with the history of the scene's game. Raises ConversionError: there is no such game."""
    if context.scene.msh_gltf.source:
        return find_root(require_file(context))
    folders = game_folders(context)
    if not folders:
        raise ConversionError(
            "no game's folder is named", hint="name the game's folder in Edit > Preferences > Add-ons > MSH"
        )
    return find_root(Path(folders[0]))


class MSH_OT_status(bpy.types.Operator):
    """Show what differs from the originals of the game"""

    bl_idname = "wm.msh_game_status"
    bl_label = "Status"

    @doing
    def execute(self, context):
        """Read the history of the game; nothing is written."""
        found = refresh(context)
        say(self, "INFO", f"{found.root}: {_summary(found)}")


class MSH_OT_undo(bpy.types.Operator):
    """Take the last change of the game back; Blender's undo does not"""

    bl_idname = "wm.msh_game_undo"
    bl_label = "Undo in the Game"

    number: IntProperty(name="Change", description="Which one; 0: the last one", options={"SKIP_SAVE", "HIDDEN"})

    def invoke(self, context, event):

        def work() -> None:
            with GameEdits(_root(context), "Blender: undo", "blender", dry_run=True) as door:
                self.number = undo(door)
                record = door.history.record(self.number)
                self.message = f"Take change {self.number} back: {_command(record)}?"

        if "CANCELLED" in guarded(self, work):
            return {"CANCELLED"}
        return context.window_manager.invoke_confirm(self, event, message=shown(self.message))

    @doing
    def execute(self, context):
        """One transaction, which can be taken back itself."""
        with GameEdits(_root(context), "Blender: undo", "blender") as door:
            number = undo(door, self.number or None)
            command = _command(door.history.record(number))
            door.commit("undo", undoes=number)
        done = f"change {number} ({command}) is taken back"
        state = context.scene.msh_gltf
        clear_report(state)
        state.outcome = done
        show_warnings(state, door.messages)
        remember(context.scene)
        refresh(context)
        say(self, "INFO", done)


class MSH_OT_find_game(bpy.types.Operator):
    """Say where the game is now: it was moved, or this .blend is from somebody else"""

    bl_idname = "wm.msh_find_game"
    bl_label = "Find the Game"

    directory: StringProperty(name="Game Folder", subtype="DIR_PATH", options={"SKIP_SAVE"})
    filter_folder: bpy.props.BoolProperty(default=True, options={"HIDDEN"})

    @classmethod
    def poll(cls, context):
        return bool(context.scene.msh_gltf.source)

    def invoke(self, context, event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    @doing
    def execute(self, context):
        """Every scene whose file is there knows its new place."""
        own = require_file(context, self.directory)
        for scene in bpy.data.scenes:
            state = scene.msh_gltf
            if state.source:
                found = find_again(context, self.directory, state.path)
                state.path = str(found or state.path)
        say(self, "INFO", f"{context.scene.msh_gltf.source} is in {own}")


class MSH_PT_game(SidePanel, bpy.types.Panel):
    """What was changed in the game."""

    bl_label = "Game"
    bl_idname = "MSH_PT_game"

    @classmethod
    def poll(cls, context):
        return bool(_place(context))

    def draw(self, context):
        column = self.layout.column(align=True)
        state = context.scene.msh_gltf
        if state.source and not Path(state.path).is_file():
            column.label(text="the game is not where it was", icon="ERROR")
            column.operator(MSH_OT_find_game.bl_idname, icon="FILE_FOLDER")
        found = _shown.get(_place(context))
        if found is not None:
            column.label(text=shown(_summary(found)))
            for line in _lines(found):
                column.label(text=shown(line))
        column.operator(MSH_OT_status.bl_idname, icon="INFO")
        column.operator(MSH_OT_undo.bl_idname, icon="LOOP_BACK")


def _summary(found: Status) -> str:
    if not found.changes:
        return "as it was" if found.transactions else "nothing was changed here"
    return f"{plural(len(found.changes), 'change')} in force"


def _lines(found: Status) -> list[str]:
    lines = [
        f"{one.number}: {printable(one.file)}" + (f": {one.entry}" if one.entry else "")
        for one in sorted(found.changes, key=lambda one: -one.number)
    ]
    lines += [f"{printable(file)} {what}" for file, what in sorted(found.foreign.items())]
    more = [f"and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return [*lines[:_MOST], *more]


def _command(record: dict[str, object] | None) -> str:
    return printable(str((record or {}).get("command", "")))


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
    """Save a copy without the game's own bytes (the sidecars); what was imported cannot be put back from it"""

    bl_idname = "wm.msh_save_without_originals"
    bl_label = "Save a Copy Without Originals"

    filename_ext = ".blend"
    filter_glob: StringProperty(default="*.blend", options={"HIDDEN"})

    @doing
    def execute(self, context):
        """Save the copy; the open file keeps everything."""
        path = Path(bpy.path.abspath(self.filepath))
        if bpy.data.filepath and path.resolve() == Path(bpy.data.filepath).resolve():
            raise ConversionError(
                "is the open file, which needs its sidecars", file=str(path), hint="choose another name for the copy"
            )
        with without_sidecars() as count:
            bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
        say(self, "INFO", f"{path.name} is saved without {plural(count, 'sidecar')}")


def _menu(menu, context):
    menu.layout.operator(MSH_OT_save_without_originals.bl_idname, text="Blend Without the Game's Originals (.blend)")


CLASSES = (MSH_OT_status, MSH_OT_undo, MSH_OT_find_game, MSH_PT_game, MSH_OT_save_without_originals)
MENUS = (("TOPBAR_MT_file_export", _menu),)


def stop() -> None:
    """Forget what the panel showed."""
    _shown.clear()
