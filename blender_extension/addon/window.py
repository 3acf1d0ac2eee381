"""Blender's window: what is said there, and long work in steps, so that it lives, shows progress, and Esc stops it.

Messages of the converter speak of the commands and of the pages that come with them; who reads them in Blender has
neither, and may read another language: Blender's own, where there is a translation (``ru.po``).

A step is work that does not touch Blender, and is done in a thread. What touches Blender is done between steps, and
the game is written after the last one. Work that is stopped leaves nothing: its ``with`` blocks undo what was made.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial, wraps
from importlib.resources import files
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import bpy

from .converter.errors import ConversionError, MissingPackage, internal_error
from .converter.language import Catalogue

_PREFERENCES = "name the game's folder in Edit > Preferences > Add-ons > MSH"
#: Text of a message -> text that is shown instead; longer ones first where one begins another.
WORDS = {
    # which game, which files
    "--game DIR names the game's directory": _PREFERENCES,
    "--game DIR names the game": _PREFERENCES,
    "name the game's directory with --game DIR": _PREFERENCES,
    "convert the model again with --game or --textures": (
        f"import the model again with Textures ticked; {_PREFERENCES}"
    ),
    "give the file that msh2gltf wrote": "import the terrain again",
    "give a file; msh2gltf DIR --list shows the models below it": "choose a file in it",
    "the entries are listed by msh-inspect ": "leave Entry empty to choose from a list: ",
    "choose a texture with --entry NAME": "models and missions alone can be opened",
    "; --unpack DIR takes entries of any kind": "",
    "choose one with --entry NAME: ": "choose one under Entry: ",
    "; or all with -o DIR": "",
    # what goes into the libraries
    " (docs/materials.md)": "",
    "run gltf2msh on the file, or on a whole game": "put the model back into the game",
    "export the game's folder with msh2gltf, and put it back with --game or --in-place": (
        "put the model back into the game, instead of writing a file"
    ),
    ", or import it with --keep-alpha)": " to keep it)",
    # a new model instead of an edited one
    "put it back beside the file, or give it with --sidecar PATH": "import the model again",
    "keep the .msh-sidecar beside the file, or give it with --sidecar PATH": ("leave Rebuild Everything unticked"),
    "leave --dialect out to write ": "choose the dialect Automatic to write ",
    "; export the model again with msh2gltf --dialect ": "; import the model again with the dialect ",
    " if it was read wrongly, or make a new one with --no-sidecar": (
        " if it was read wrongly, or tick Rebuild Everything"
    ),
    "--dialect ": "the dialect ",
    "rebuild it with --no-sidecar, which writes one": "export it with Rebuild Everything ticked, which writes one",
    "rebuild the model with --no-sidecar": "export it with Rebuild Everything ticked",
    " (--no-sidecar makes a new model of the file as it is)": "",
    "--generate-lods: level ": "Generate Levels: level ",
    "away (--lod-error), or": "away (Distance), or",
    # animation
    "a shorter clip, or another --fps": "shorten the animation",
    "--clip NAME takes another; delete the one that is not meant": "delete the one not meant",
    "--clip NAME takes another": "delete those that are not meant",
    " (--clip NAME reads one alone)": "",
    "nodes of a model have none: --ignore-scale skips it": "delete the keys of its scale",
    "parts of a model are rigid: --rigid-skin binds each triangle to one joint": (
        "parts of a model are rigid: parent the objects to bones instead"
    ),
    # what was changed in a game
    "msh-mod status shows what is known": "Status in the panel shows what is known",
    "msh-mod restore brings it back": "put the file back where it was",
    "msh-mod status lists them": "Status in the panel shows them",
    "take that back first: msh-mod undo GAME ": "take that back first: change ",
    "run gltf2msh on the whole game": "Put Back Into the Game writes each into its archive",
    # what only a command can do, or tell more about
    "msh2gltf --tolerant leaves out ": "the converter's command line can open it without ",
    ", which msh-inspect --check names": "",
    "--no-verify writes it all the same": "undo the edits one by one to find the one that it is",
}


def in_blender(text: str) -> str:
    """Return a message as the extension shows it."""
    for of_commands, of_blender in WORDS.items():
        text = text.replace(of_commands, of_blender)
    return text


#: A text that is translated where Blender translates its interface.
_PROBE = "Put Back Into the Game"


def shown(text: str) -> str:
    """Return a message in the language of Blender's interface; Blender itself translates what is fixed."""
    translated = bpy.app.translations.pgettext_iface(_PROBE) != _PROBE
    return _catalogue().translated(text) if translated else text


@cache
def _catalogue() -> Catalogue:
    """The messages of the converter and of the extension in Russian."""
    return Catalogue("\n".join(map(_po, (Catalogue.__module__.rpartition(".")[0], __package__))))


def _po(package: str) -> str:
    """The translations of a package."""
    return files(package).joinpath("ru.po").read_text("utf-8")


def say(operator: bpy.types.Operator, kind: str, text: str) -> None:
    """Show a message in Blender's status bar. ``kind``: ``INFO``, ``WARNING`` or ``ERROR``."""
    operator.report({kind}, shown(text))


def start() -> None:
    """Blender knows the translation; labels of operators are looked up by themselves."""
    rows = Catalogue(_po(__package__)).rows
    table = {(context, text): there[0] for (text, _), there in rows.items() if text for context in ("*", "Operator")}
    bpy.app.translations.register(__package__, {"ru": table, "ru_RU": table})


def stop() -> None:
    """It does not any more."""
    bpy.app.translations.unregister(__package__)


def guarded(operator: bpy.types.Operator, work: Callable[[], None]) -> set[str]:
    """Do an operator's work; returns what its ``execute`` returns."""
    try:
        work()
    except Exception as error:
        if os.environ.get("MSH_GLTF_TRACEBACK") and not isinstance(error, ConversionError):
            traceback.print_exc()
        say(operator, "ERROR", message_of(error))
        return {"CANCELLED"}
    return {"FINISHED"}


def doing(work: Callable[[Any, bpy.types.Context], None]) -> Callable[[Any, bpy.types.Context], set[str]]:
    """Decorate an operator's ``execute`` that only does its work: what goes wrong is said."""

    @wraps(work)
    def execute(self, context):
        return guarded(self, lambda: work(self, context))

    return execute


def message_of(error: Exception) -> str:
    """What is shown of an error: a line."""
    if isinstance(error, MissingPackage):
        return _not_here(error)
    if isinstance(error, ConversionError):
        return in_blender(str(error))
    return internal_error(error)


def _not_here(error: MissingPackage) -> str:
    """What a package that is not in the zip was needed for."""
    if error.needs == "scipy":
        return (
            "a new material is called like several of the model's: use one of those, or call it "
            "material_ROW, after its row of the .wea"
        )
    return f"{error.problem}, which is not part of the extension"


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


class SidePanel:
    """Where panels are: in the side panel of the 3D view."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MSH"


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
