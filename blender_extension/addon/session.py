"""What was written in this session of Blender: its undo takes back scenes, but no files.

What was written is in the game's history, which Blender's undo does not touch. The scene has what
the history calls it, and the last report. Undo and redo put older values in their place, so the
session remembers both, and gives them back: the panel shows what was written last.
"""

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import bpy
from bpy.app.handlers import persistent

from .guard import message_of
from .state import FAILED, MshState, clear_report

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

    Where an error stops it, the panel says so.
    """
    _bring_back(scene)
    state = scene.msh_gltf
    clear_report(state)
    try:
        yield state
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
    _records[_key(scene)] = _Record(
        {name: getattr(state, name) for name in _VALUES},
        [tuple(getattr(row, name) for name in _ROW) for row in state.rows],
        [tuple(getattr(row, name) for name in _ROW) for row in state.warnings],
    )


def _bring_back(scene: bpy.types.Scene) -> None:
    """Give a scene what it knew after its last export."""
    state = scene.msh_gltf
    record = _records.get(_key(scene))
    if record is None or record.values["recorded"] == state.recorded:
        return
    for name, value in record.values.items():
        setattr(state, name, value)
    for there, rows in ((state.rows, record.rows), (state.warnings, record.warnings)):
        there.clear()
        for row in rows:
            new = there.add()
            for name, value in zip(_ROW, row, strict=True):
                setattr(new, name, value)


@persistent
def _after_undo(*_: object) -> None:
    for scene in bpy.data.scenes:
        _bring_back(scene)


@persistent
def _after_load(*_: object) -> None:
    _records.clear()  # another file; Blender 4.2 may call a scene of it the same


_HANDLERS = {"undo_post": _after_undo, "redo_post": _after_undo, "load_post": _after_load}


def register() -> None:
    """Blender calls after every undo and redo, and after a file is opened."""
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """It does not any more."""
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(handler)
    _records.clear()
