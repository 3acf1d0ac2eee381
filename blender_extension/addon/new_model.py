"""A model that was made in Blender, put into an archive of the game: *Put Into the Game*."""

import contextlib

import bpy
from bpy.props import EnumProperty, StringProperty

from .converter.errors import ConversionError
from .converter.formats.names import entry_name, escape, stem
from .converter.formats.registry import TAGS
from .converter.game.put_libraries import plan_libraries
from .converter.game.put_models import add_model, dialect_of, find_destination
from .converter.kinds.game import model_archives
from .export_msh import export_model, report_result
from .game import refresh
from .guard import guarded
from .missions import named_game
from .session import recorded
from .state import DIALECTS, MshState, commit, put_back, show_report

_NO_KEY = "NONE"
_HINT = "choose another name"


def _archives(operator, context, typed):
    """The archives of the game that have models, for the list below the field."""
    try:
        return model_archives(named_game(context, operator.game))
    except (ConversionError, OSError):
        return []  # putting it there says what is wrong


class MSH_OT_put_new(bpy.types.Operator):
    """Put this new model, its materials and textures into the game; undo is in the panel"""

    bl_idname = "export_scene.msh_put_new"
    bl_label = "Put Into the Game"
    bl_options = {"REGISTER"}

    archive: StringProperty(
        name="Archive", description="The archive of the game that gets the model, such as static.rlb", search=_archives
    )
    model: StringProperty(name="Name", description="What the model is called there")
    tag: EnumProperty(
        name="Object Key",
        description="What missions and units can place it as, by its name",
        items=(
            *((tag, f"{what.capitalize()} ({tag})", "") for tag, what in TAGS.items()),
            (_NO_KEY, "None", "Missions and units cannot place it"),
        ),
    )
    dialect: DIALECTS
    game: StringProperty(
        name="Game Folder",
        description="The folder with objects.rlb; empty: that of the preferences",
        subtype="DIR_PATH",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context):
        """What was imported has a place already."""
        return not context.scene.msh_gltf.source

    def invoke(self, context, event):
        """Ask where to; as the last time."""
        state = context.scene.msh_gltf
        self.archive, self.tag = state.archive, state.tag or _NO_KEY
        self.model = state.model or context.scene.name
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context):
        """Write the model's entry, what goes with it, and its key."""

        def work() -> None:
            with recorded(context.scene) as state:
                write(state)

        def write(state: MshState) -> None:
            game = named_game(context, self.game)
            if not self.archive:
                raise ConversionError("no archive is named", hint="choose one of the game")
            name = self.model or context.scene.name
            name = stem(name) if name.lower().endswith(".msh") else name
            tag = None if self.tag == _NO_KEY else self.tag
            to = find_destination(game / self.archive, entry_name(escape(name)), tag, game)
            dialect = dialect_of(to.archive) if self.dialect == "auto" else self.dialect
            result = export_model(context, name, dialect, False)
            with put_back(state, f"Blender: put {name} into {self.archive}") as games:
                plan = plan_libraries(games, to.folders, result)
                add_model(plan, to, result, hint=_HINT)
                plan.put()
                wrote, messages = commit(state, games)
            result.differences.not_applied += plan.not_applied
            result.differences.warnings += [*plan.messages, *messages]
            state.archive, state.model, state.tag = self.archive, name, self.tag
            show_report(state, result)
            report_result(self, result, state)
            with contextlib.suppress(ConversionError):
                refresh(context)
            place = f"{to.archive.name} has {name}"
            self.report({"INFO"}, f"{place} now" if wrote else f"{place} already")

        return guarded(self, work)


def register() -> None:
    """The operator."""
    bpy.utils.register_class(MSH_OT_put_new)


def unregister() -> None:
    """Take it away again."""
    bpy.utils.unregister_class(MSH_OT_put_new)
