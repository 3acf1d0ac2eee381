"""What a .blend remembers of a model, and what was written in this session of Blender.

A scene per model: where it came from, its sidecar, the last report. The sidecar is a text datablock (base64),
which Blender saves, copies and appends like everything else; the scene points to it.

What was written is in the game's history, which Blender's undo does not touch: it takes back scenes, but no
files. The scene has what the history calls it, and the last report. Undo and redo put older values in their
place, so the session remembers both, and gives them back: the panel shows what was written last.

What goes wrong is one line in Blender's status bar, never a traceback.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import secrets
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, PointerProperty, StringProperty

from .converter.errors import ConversionError, called, printable
from .converter.files import inflate
from .converter.formats.names import stem
from .converter.formats.sidecar import SUFFIX
from .converter.formats.tables import LOD_COUNT
from .converter.game.games import Games, Origin
from .converter.kinds.import_result import ImportResult
from .converter.scene.dialect import VIEW, Dialect, read_part_name
from .importers.gltf_file import UNPACKED, UNPACKED_FLOOR
from .window import in_blender, message_of


def about(thing: bpy.types.ID) -> Mapping:
    """What a thing says of itself; empty where it says nothing."""
    found = thing.get("msh")
    return found if hasattr(found, "get") else {}


def plain_items(thing: bpy.types.ID) -> dict[str, Any]:
    """The custom properties of a thing, as plain values."""
    return {key: _plain(value) for key, value in thing.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return value.to_list() if hasattr(value, "to_list") else value


def dialect_of(scene: bpy.types.Scene) -> Dialect:
    """The dialect of a scene's model; of one that was made here, that of the game's."""
    return Dialect(scene.msh_gltf.dialect or Dialect.RETAIL)


def cell_of(one: bpy.types.Object, shown: tuple[int, int]) -> tuple[int, int] | None:
    """The row and column that an object's mesh is in, by what it says of itself or is called; ``None``: it has none.

    Args:
        shown: the cell whose parts are the meshes of the nodes themselves.
    """
    said = about(one)
    if one.type != "MESH":
        return None
    if "lod" not in said:
        named = read_part_name(one.name)
        return shown if named is None else (named.lod, named.group)
    cell = said.get("lod", 0), said.get("group", 0)
    return (cell[0], VIEW) if cell == shown else cell  # beside the node's own mesh: of the view from inside


def show_cells(scene: bpy.types.Scene) -> None:
    """Show the parts of the chosen stage and level, and hide the others; where there are none, of the one before it."""
    state, said = scene.msh_gltf, about(scene)
    if state.kind not in ("", "model"):
        return
    shown, retail = (said.get("lod", 0), said.get("group", 0)), dialect_of(scene) is Dialect.RETAIL
    cells = {one: cell for one in scene.objects if (cell := cell_of(one, shown)) is not None}
    there = {cell if retail else cell[::-1] for cell in cells.values()}
    stage = max((one for one, _ in there if one <= state.stage), default=state.stage)
    level = max((one for of, one in there if of == stage and one <= state.level), default=state.level)
    for name, value in (("stage", stage), ("level", level)):
        if getattr(state, name) != value:
            setattr(state, name, value)  # the slider stops at the last one
    wanted = (stage, level) if retail else (level, stage)
    for one, cell in cells.items():
        one.hide_render = cell != wanted
        for layer in scene.view_layers:  # the eye of the outliner: what it hides is evaluated all the same
            if one.name in layer.objects:
                one.hide_set(cell != wanted, view_layer=layer)


#: The outcome where an error stopped the export; the warning below it has the message.
FAILED = "the last export failed"
#: How many states of a model a scene remembers.
_MOST_WRITTEN = 200
#: Letters of a line of a sidecar's text.
_LINE = 100
_HEAD = "The sidecar of {name}: what glTF cannot hold. Leave it as it is; exporting needs it."


def _show_cells(state: MshState, context: bpy.types.Context) -> None:
    show_cells(state.id_data)


def _select_row(state: MshState, context: bpy.types.Context) -> None:
    """Select what the chosen row of the report names."""
    if context.mode != "OBJECT" or not 0 <= state.row < len(state.rows):
        return
    name = state.rows[state.row].name
    there = [one for one in context.view_layer.objects if one.name == name or called(one.name) in name]
    for one in context.selected_objects if there else ():
        one.select_set(False)
    for one in there:
        one.select_set(True)
        context.view_layer.objects.active = one


class MshRow(bpy.types.PropertyGroup):
    """What became of a node or a part, or a warning."""

    what: StringProperty()
    name: StringProperty()
    status: StringProperty()
    reason: StringProperty()


class MshState(bpy.types.PropertyGroup):
    """A scene's model. ``source`` is empty for a scene that was not imported."""

    source: StringProperty(description="The model's name")
    path: StringProperty(description="The file that it is, or is in")
    index: IntProperty(default=-1, description="Its entry; -1: the file is the model")
    raw_name: StringProperty(description="The entry's name, as hex")
    kind: StringProperty()
    summary: StringProperty()
    dialect: StringProperty()
    digest: StringProperty(description="SHA-256 of the model")
    owner: StringProperty(description="What the history of a game calls this model")
    written: StringProperty(description="SHA-256 of all that this .blend has put into the game")
    archive: StringProperty(description="The archive that a new model was put into")
    model: StringProperty(description="What it is called there")
    tag: StringProperty(description="What its object key says it is; NONE: it has no key")
    own_materials: BoolProperty(
        name="Own Materials", description="Put changed materials back as copies that only this model uses"
    )
    put_back_on_save: BoolProperty(
        name="Put Back on Save", description="Put this scene back into the game whenever the .blend is saved in it"
    )
    stage: IntProperty(
        name="Stage",
        description="The damage stage that is shown; 0: whole",
        min=0,
        max=LOD_COUNT - 1,
        update=_show_cells,
    )
    level: IntProperty(
        name="Level",
        description="The level of detail that is shown; 0: the finest, 4: the unit's own view",
        min=0,
        max=VIEW,
        update=_show_cells,
    )
    sidecar: PointerProperty(type=bpy.types.Text)
    outcome: StringProperty(description="The last export, in a line")
    recorded: StringProperty(description="Which export the scene knows of last")
    rows: CollectionProperty(type=MshRow)
    row: IntProperty(update=_select_row)
    warnings: CollectionProperty(type=MshRow)

    @property
    def origin(self) -> Origin:
        """Where the model came from."""
        index = None if self.index < 0 else self.index
        return Origin(Path(self.path), index, bytes.fromhex(self.raw_name))

    @property
    def place(self) -> str:
        """That in words: ``static.rlb: r_h_01.msh``."""
        file = Path(self.path).name
        return file if self.index < 0 else f"{file}: {self.source}"


class MshPreferences(bpy.types.AddonPreferences):
    """Edit > Preferences > Add-ons > MSH."""

    bl_idname = __package__

    game: StringProperty(
        name="Game Folder",
        description="Textures are looked for here, before the model's own folder",
        subtype="DIR_PATH",
    )

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.prop(self, "game")


DIALECTS = EnumProperty(
    name="Dialect",
    description="How to read and write the fields that readers of the game disagree on",
    items=(
        ("auto", "Automatic", "Decided from the file"),
        ("spec", "Spec", "As the specification has them"),
        ("retail", "Retail", "As the files of the retail game have them"),
    ),
)
TEXTURES = BoolProperty(name="Textures", description="Look for the game's materials and textures", default=True)


def game_folders(context: bpy.types.Context) -> tuple[str, ...]:
    """Folders with the game's libraries, as the preferences name them.

    Raises ConversionError: there is no such folder.
    """
    addon = context.preferences.addons.get(__package__)
    folder = addon.preferences.game if addon is not None and addon.preferences else ""
    if not folder:
        return ()
    path = Path(bpy.path.abspath(folder))
    if not path.is_dir():
        raise ConversionError(
            "the game's folder is not there", file=str(path), hint="name another in Edit > Preferences > Add-ons > MSH"
        )
    return (str(path),)


def put_back(state: MshState, command: str) -> Games:
    """Return a transaction that takes back first what this scene has brought into the game.

    The history lies in the game, so Blender's undo does not touch it.
    """
    if not state.owner:  # of a new model, or of a .blend of an earlier version
        state.owner = new_owner()
    return Games(command, state.owner, takes_back=True)


def new_owner() -> str:
    """Return what histories call a model from now on: no other import has it."""
    return f"blend:{secrets.token_hex(8)}"


def commit(state: MshState, games: Games) -> tuple[list[Path], list[str]]:
    """Write what is planned; return the files, and what the user should know."""
    known = set(state.written.split())
    unknown = [layer for layer in games.in_force() if layer.after not in known]
    wrote = games.commit()
    messages = games.messages
    if wrote and unknown:
        numbers = ", ".join(map(str, sorted({layer.number for layer in unknown})))
        messages.append(
            f"replaced change {numbers} of the game, which another copy of this .blend put there, "
            "or this one before it was opened again; Undo in the panel brings it back"
        )
    # all of them: an undo in the game brings older ones back into force
    now = sorted({layer.after for layer in games.in_force()})
    state.written = " ".join([*dict.fromkeys([*state.written.split(), *now])][-_MOST_WRITTEN:])
    return wrote, messages


def keep_sidecar(scene: bpy.types.Scene, data: bytes) -> None:
    """Put a sidecar into the .blend."""
    name = scene.msh_gltf.source
    packed = base64.b64encode(zlib.compress(data)).decode()
    body = [packed[at : at + _LINE] for at in range(0, len(packed), _LINE)]
    text = bpy.data.texts.new(f"{stem(name)}{SUFFIX}")
    text.write("\n".join([_HEAD.format(name=printable(name)), *body]))
    text.current_line_index = 0
    scene.msh_gltf.sidecar = text


def is_sidecar(text: bpy.types.Text) -> bool:
    """Whether a text is a sidecar; Blender keeps texts whose scene is gone."""
    return SUFFIX in text.name or text.as_string().startswith(_HEAD.partition("{")[0])


def sidecar_bytes(scene: bpy.types.Scene) -> bytes:
    """The sidecar of a scene.

    Raises ConversionError: the text is gone, was edited, or unpacks to far more than it holds.
    """
    text = scene.msh_gltf.sidecar
    if text is None:
        raise ConversionError(
            f"the sidecar of scene {called(scene.name)} is missing from this .blend",
            hint="import the model again, or tick Rebuild Everything",
        )
    body = "".join(line.body for line in text.lines[1:])
    try:
        packed = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        packed = b""
    most = max(UNPACKED_FLOOR, UNPACKED * len(packed))  # as of what a glTF holds
    data, ended = inflate(packed, most + 1)
    if len(data) > most:
        raise ConversionError(
            f"the sidecar text {called(text.name)} unpacks to far more than it holds",
            expected=f"at most {UNPACKED} times its size",
            hint="it is not one that the extension made; import the model again",
        )
    if not ended:
        raise ConversionError(
            f"the sidecar text {called(text.name)} was edited", hint="undo that, or import the model again"
        )
    return data


def clear_report(state: MshState) -> None:
    """Leave no report in the panel."""
    state.outcome = ""
    state.rows.clear()
    state.warnings.clear()


def show_warnings(state: MshState, warnings: list[str]) -> None:
    """Replace the warnings of the panel."""
    state.warnings.clear()
    for text in warnings:
        state.warnings.add().reason = in_blender(text)


def show_report(state: MshState, result: ImportResult) -> None:
    """Replace the report of the panel."""
    state.outcome = result.verdict.replace("from the file", "from the scene")
    state.rows.clear()
    # what was kept is counted, what was not is listed
    for fact in sorted(result.report, key=lambda fact: fact["status"] == "kept"):
        row = state.rows.add()
        for key, value in fact.items():
            setattr(row, key, in_blender(value))
    in_rows = ("node ", "part ", "animation of node ") if result.report else ()
    for change in result.changes:
        if not change.where.startswith(in_rows):
            row = state.rows.add()
            row.what, row.name, row.status = "", change.where, "rebuilt"
            row.reason = in_blender(change.what)
    show_warnings(state, [*(one.line for one in result.not_applied), *result.warnings])


_VALUES = ("owner", "written", "archive", "model", "tag", "outcome", "recorded")
_ROW = ("what", "name", "status", "reason")


@dataclass(frozen=True)
class _Record:
    """What a scene knew after an export; ``recorded`` among its values tells records apart."""

    values: dict[str, str]
    rows: list[tuple[str, ...]]
    warnings: list[tuple[str, ...]]


#: By scene and the model in it: undo may leave another one in the same scene.
_records: dict[tuple, _Record] = {}


def _key(scene: bpy.types.Scene) -> tuple:
    state = scene.msh_gltf
    # the same over undo, renames and redo, and never another scene's; Blender 4.2 has names only
    number = getattr(scene, "session_uid", scene.name)
    return number, state.source, state.index, state.raw_name, state.digest


@contextlib.contextmanager
def recorded(scene: bpy.types.Scene) -> Iterator[MshState]:
    """Export a scene: its report is of this export, shown when it is done, and outlives undo.

    Where an error stops it, the panel says so; where the user does, the report stays.
    """
    _bring_back(scene)
    state = scene.msh_gltf
    before = _record_of(state)
    clear_report(state)
    try:
        yield state
    except GeneratorExit:
        _give(state, before)
        raise
    except Exception as error:
        clear_report(state)
        state.outcome = FAILED
        state.warnings.add().reason = message_of(error)
        raise
    finally:
        remember(scene)


def remember(scene: bpy.types.Scene) -> None:
    """Keep what a scene knows now over Blender's undo and redo."""
    state = scene.msh_gltf
    state.recorded = uuid.uuid4().hex
    _records[_key(scene)] = _record_of(state)


def _record_of(state: MshState) -> _Record:
    return _Record(
        {name: getattr(state, name) for name in _VALUES},
        [tuple(getattr(row, name) for name in _ROW) for row in state.rows],
        [tuple(getattr(row, name) for name in _ROW) for row in state.warnings],
    )


def _give(state: MshState, record: _Record) -> None:
    for name, value in record.values.items():
        setattr(state, name, value)
    for there, rows in ((state.rows, record.rows), (state.warnings, record.warnings)):
        there.clear()
        for row in rows:
            new = there.add()
            for name, value in zip(_ROW, row, strict=True):
                setattr(new, name, value)


def _bring_back(scene: bpy.types.Scene) -> None:
    """Give a scene what it knew after its last export."""
    record = _records.get(_key(scene))
    if record is not None and record.values["recorded"] != scene.msh_gltf.recorded:
        _give(scene.msh_gltf, record)


@persistent
def _after_undo(*_: object) -> None:
    for scene in bpy.data.scenes:
        _bring_back(scene)


@persistent
def _after_load(*_: object) -> None:
    _records.clear()  # another file; Blender 4.2 may call a scene of it the same


@persistent
def _before_save(*_: object) -> None:
    """Put back what the scene shows, so that the .blend knows of it."""
    state = bpy.context.scene.msh_gltf
    if state.put_back_on_save and state.sidecar is not None:  # a copy to give away has none
        with contextlib.suppress(RuntimeError):  # the report says why
            bpy.ops.export_scene.msh_put_back()


_HANDLERS = {"save_pre": _before_save, "undo_post": _after_undo, "redo_post": _after_undo, "load_post": _after_load}


CLASSES = (MshRow, MshState, MshPreferences)


def start() -> None:
    """Scenes know of models; Blender calls after every undo and redo, and after a file is opened."""
    bpy.types.Scene.msh_gltf = PointerProperty(type=MshState)
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)


def stop() -> None:
    """Scenes keep what they have, but nobody reads it."""
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(handler)
    _records.clear()
    del bpy.types.Scene.msh_gltf
