"""Long work: in steps, so that Blender's window lives, shows what is done, and Esc stops it.

A step is work that does not touch Blender, and is done in a thread. What touches Blender is done between steps, and
the game is written after the last one. Work that is stopped leaves nothing: its ``with`` blocks undo what was made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import bpy

from .language import say, shown
from .state import guarded

T = TypeVar("T")


class Step(NamedTuple):
    """What is done now, in words; the work, whose result is sent back; how much is done before it, from 0 to 1."""

    what: str
    job: Callable[[], Any]
    done: float = 0.0


Steps = Generator[Step, Any, None]
#: Work, which gets the operator that reports for it.
Work = Callable[[bpy.types.Operator], Steps]
#: Seconds between two looks at a step.
_EVERY = 0.05
#: Seconds of work in the scene without a pause.
_PAUSE = 0.2
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
    "texts",
)

_pool = ThreadPoolExecutor(1, "msh")
_waiting: list[tuple[str, bool, list[Work]]] = []


def run(operator: bpy.types.Operator, works: Sequence[Work], *, undo: bool = False) -> set[str]:
    """Do long work: beside an operator that was chosen in a window, else, as for scripts, at once.

    Args:
        works: one after another; where one fails the others are done.
        undo: whether Blender's undo takes them back.

    Returns:
        What the operator's ``execute`` returns.
    """
    if operator.options.is_invoke and not bpy.app.background:
        _waiting.append((operator.bl_label, undo, [*works]))
        bpy.ops.wm.msh_work("INVOKE_DEFAULT")
        return {"FINISHED"}
    done = [guarded(operator, lambda work=work: at_once(work(operator))) for work in works]
    return {"FINISHED"} if {"FINISHED"} in done else {"CANCELLED"}


def at_once(steps: Generator[Step, Any, T]) -> T:
    """Do work without a pause; returns what it returns."""
    go_on = partial(steps.send, None)
    while True:
        try:
            step = go_on()
        except StopIteration as end:
            return end.value
        try:
            go_on = partial(steps.send, step.job())
        except Exception as error:
            go_on = partial(steps.throw, error)  # as where a window waits: the work may put it into other words


def paced(shares: Iterator[float], what: str) -> Steps:
    """Work in the scene as steps: a pause now and then, in which Blender looks for Esc."""
    then = monotonic()
    for share in shares:
        if monotonic() - then > _PAUSE:
            yield Step(what, lambda: None, 0.5 + share / 2)
            then = monotonic()


class MSH_OT_work(bpy.types.Operator):
    """Do what takes long; Esc stops it"""

    bl_idname = "wm.msh_work"
    bl_label = "Parkan MSH"
    bl_options = {"INTERNAL"}

    def invoke(self, context, event):
        if not _waiting:
            return {"CANCELLED"}
        self.title, self.undo, self.works = _waiting.pop()
        self.steps, self.step, self.any_done = None, None, False
        manager = context.window_manager
        self.timer = manager.event_timer_add(_EVERY, window=context.window)
        manager.progress_begin(0, 100)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """Go on where a step is done; nothing else reaches Blender meanwhile."""
        if event.type == "ESC" and event.value == "PRESS":
            if self.steps is not None:
                self.steps.close()
            say(self, "WARNING", f"{self.title}: stopped, nothing was changed")
            return self._end(context)
        if event.type == "TIMER" and (self.step is None or self.step.done()):
            if self.steps is None and not self.works:
                return self._end(context)
            if "CANCELLED" in guarded(self, partial(self._go_on, context)):
                self.steps = self.step = None
        return {"RUNNING_MODAL"}

    def _go_on(self, context: bpy.types.Context) -> None:
        """Begin the next step, or the next work."""
        if self.steps is None:
            self.steps = self.works.pop(0)(self)
        error = None if self.step is None else self.step.exception()
        try:
            if error is None:
                next_one = self.steps.send(None if self.step is None else self.step.result())
            else:
                next_one = self.steps.throw(error)
        except StopIteration:
            self.steps, self.step, self.any_done = None, None, True
            return
        self.step = _pool.submit(next_one.job)
        context.window_manager.progress_update(100 * next_one.done)
        context.workspace.status_text_set(shown(f"{self.title}: {next_one.what} (Esc stops it)"))

    def _end(self, context: bpy.types.Context) -> set[str]:
        context.window_manager.event_timer_remove(self.timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        for area in context.screen.areas:
            area.tag_redraw()  # the panel has a report
        if self.undo and self.any_done:
            bpy.ops.ed.undo_push(message=self.title)
        return {"FINISHED"}  # Blender shows no message of what is cancelled


@contextlib.contextmanager
def whole_or_nothing(context: bpy.types.Context, *, keep: bool = True) -> Iterator[None]:
    """Take out again what is made in the .blend where the work is stopped or fails; ``keep=False``: always."""
    window = context.window
    scene, layer, name = window.scene, window.view_layer, window.scene.name
    before = {group: set(getattr(bpy.data, group)) for group in _GROUPS}
    try:
        yield
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            window.scene, window.view_layer = scene, layer
            new = [thing for group in _GROUPS for thing in getattr(bpy.data, group) if thing not in before[group]]
            bpy.data.batch_remove(new)
            scene.name = name


CLASSES = (MSH_OT_work,)
